"""Enrichment of confusion matrices: how long it takes with many items.

python benchmarks/confusion.py
"""

from __future__ import annotations

from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

import ogive as og
from common import machine, print_table

N_MODELS, N_POOL = 10, 200


def measure(n_items: int, n_classes: int) -> tuple[object, ...]:
    """Return time calibration, enrichment with 1,000 resamples of the items, and one figure."""
    random = np.random.default_rng(0)
    responses = og.simulate("2pl", N_POOL, n_items, random_state=0).responses
    truth = random.integers(n_classes, size=n_items)
    models = {
        f"model {k}": np.where(
            random.random(n_items) < 0.5 + 0.04 * k, truth, (truth + 1) % n_classes
        )
        for k in range(N_MODELS)
    }
    spent = [perf_counter()]
    calibration = og.calibrate(responses, "2pl")
    spent.append(perf_counter())
    curves = og.enrich_confusion(calibration, truth, models)
    spent.append(perf_counter())
    cells = curves.cells
    spent.append(perf_counter())
    with TemporaryDirectory() as folder:
        curves.plot("cells", "model 5").save(f"{folder}/cells.png")
    spent.append(perf_counter())
    name = f"{n_items:,} items, {n_classes} classes"
    return name, *(f"{value:.2f}" for value in np.diff(spent)), len(cells)


def main() -> None:
    print(f"\n## Confusion\n\n{machine()}.")
    print_table(
        f"Seconds; {N_POOL} members of the pool, {N_MODELS} models, 1,000 resamples of the items",
        ("job", "calibrate, 2PL", "enrich", "cells", "figure", "rows of cells"),
        [measure(n, k) for n, k in ((81, 2), (1_000, 2), (10_000, 2), (10_000, 10))],
    )


if __name__ == "__main__":
    main()

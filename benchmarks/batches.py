"""Items in batches and all at once: time, and agreement with the true difficulties.

Batches were a workaround for programs that could not calibrate many items. Here, all items at once
take seconds. Batches are still quicker, because a few items determine abilities less precisely than
many and a coarser grid is enough; the smaller the batches, the more accuracy they cost.

python benchmarks/batches.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import ogive as og
from common import machine, print_table

SIZES = ((100, 20_000, 20), (1000, 20_000, 20), (60, 2000, 20), (60, 2000, 100))


def compared(n_respondents: int, n_items: int, batches: int, model: str) -> list[object]:
    """Return times and rank correlations with the true difficulties, and between both ways."""
    responses, truth = og.simulate("2pl", n_respondents, n_items, random_state=0)
    true = truth.items["difficulty"].to_numpy()
    cells: list[object] = [f"{model.upper()} {n_respondents:,} × {n_items:,}", batches]
    found = []
    for count in (None, batches):
        begin = perf_counter()
        targets = og.difficulty_targets(responses, methods=model, batches=count)
        seconds = perf_counter() - begin
        found.append(targets.difficulties[model])
        cells += [f"{seconds:.1f}", f"{ranked(found[-1], true):.3f}"]
    return [*cells, f"{ranked(*found):.3f}"]


def ranked(one: np.ndarray, other: np.ndarray) -> float:
    places = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.corrcoef(*places)[0, 1])


def main() -> None:
    print(f"\n## Batches\n\n{machine()}.")
    header = ("model, respondents × items", "batches", "at once, s", "ρ with truth")
    more = ("in batches, s", "ρ with truth", "ρ between both")
    rows = [compared(*size, model) for size in SIZES for model in ("1pl", "2pl")]
    print_table("Items at once and in batches", (*header, *more), rows)


if __name__ == "__main__":
    main()

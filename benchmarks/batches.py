"""Items in batches against all at once: seconds, and how near each comes to the truth.

Batches were a way around programs that could not calibrate many items at all. Here all of them at
once take seconds. Batches are still quicker, since few items place respondents less sharply than
many and a coarser grid will do; the smaller they are, the more accuracy that costs.

python benchmarks/batches.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import itemwise as iw
from common import machine, print_table

SIZES = ((100, 20_000, 20), (1000, 20_000, 20), (60, 2000, 20), (60, 2000, 100))


def compared(n_respondents: int, n_items: int, batches: int, model: str) -> list[object]:
    """Seconds and rank correlation with the true difficulties, both ways, and with each other."""
    responses, truth = iw.simulate("2pl", n_respondents, n_items, random_state=0)
    true = truth.items["difficulty"].to_numpy()
    cells: list[object] = [f"{model.upper()} {n_respondents:,} × {n_items:,}", batches]
    found = []
    for count in (None, batches):
        begin = perf_counter()
        targets = iw.difficulty_targets(responses, methods=model, batches=count)
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
    more = ("in batches, s", "ρ with truth", "ρ of both")
    rows = [compared(*size, model) for size in SIZES for model in ("1pl", "2pl")]
    print_table("Items at once and in batches", (*header, *more), rows)


if __name__ == "__main__":
    main()

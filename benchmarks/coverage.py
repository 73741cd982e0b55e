"""Whether nominal 95 % intervals of difficulty contain the true value 95 % of the time.

python benchmarks/coverage.py [REPLICATIONS]
"""

from __future__ import annotations

import sys

import numpy as np

import itemwise as iw
from common import machine, print_table

JOBS = [
    ("1pl", 500, 30, 0.0),
    ("2pl", 1_000, 40, 0.0),
    ("2pl", 1_000, 40, 0.2),
    ("2pl", 500, 120, 0.0),
    ("3pl", 5_000, 40, 0.0),
]
REACH = 1.959964


def covered(
    model: str, n_respondents: int, n_items: int, missing: float, replications: int
) -> tuple[object, ...]:
    """Return the coverage of the intervals; abilities vary over replications, items are fixed."""
    items = iw.simulate(model, 1, n_items, random_state=0).truth.items
    hits = []
    for seed in range(replications):
        responses, truth = iw.simulate(
            model, n_respondents, items=items, missing=missing, random_state=1_000 + seed
        )
        found = iw.calibrate(responses, model).items
        off = np.abs(found["difficulty"] - truth.items["difficulty"])
        hits.append((off <= REACH * found["difficulty_se"]).to_numpy())
    share = np.array(hits)
    by_item = share.mean(axis=0)
    label = f"{model.upper()} {n_respondents:,} × {n_items}, {missing:.0%} missing"
    figures = share.mean(), by_item.min(), by_item.max()
    return label, replications, *(f"{figure:.3f}" for figure in figures)


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"\n## Coverage\n\n{machine()}. Default priors, simulated truth.")
    print_table(
        "Nominal 95 % intervals of difficulty",
        ("job", "replications", "covered", "lowest item", "highest item"),
        [covered(*job, replications) for job in JOBS],
    )


if __name__ == "__main__":
    main()

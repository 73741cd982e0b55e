"""Repeated answers: whether intervals of abilities hold if answers to one item are alike.

python benchmarks/repeated.py [REPETITIONS]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import expit

import ogive as og
from common import machine, print_table
from ogive.irt.calibration import Calibration

SIZES = ((200, 30, 5), (30, 60, 5), (200, 30, 20))
SPREADS = (0.0, 1.0, 2.0)  # of what an item means to one respondent, in log-odds


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"# Repeated answers\n\n{machine()}")
    rows = [
        (*size, f"{spread:g}", *figures(*size, spread, repetitions))
        for size in SIZES
        for spread in SPREADS
    ]
    header = (
        "respondents",
        "items",
        "tries",
        "spread",
        "correlation",
        "worth",
        "coverage, independent",
        "coverage",
    )
    print_table(f"95 % intervals of abilities, 2PL, {repetitions} tables each", header, rows)


def figures(n: int, m: int, tries: int, spread: float, repetitions: int) -> tuple[str, ...]:
    """Correlation, what the tries are worth, and coverage with tries as they are and as found."""
    found = []
    for seed in range(repetitions):
        random = np.random.default_rng(seed)
        ability, place = random.standard_normal(n), random.standard_normal(m)
        more = spread * random.standard_normal((n, m))
        right = random.binomial(tries, expit(1.2 * (ability[:, None] - place) + more))
        table = og.Responses(right / tries, tries=tries)
        bank = og.calibrate(table, "2pl", progress=False)
        plain = og.EM().fit(table.cells, bank.model, tries=table.tries)
        taken = Calibration(
            *(bank.model, bank.item_names, plain.coords, plain.uncertainty, plain.population),
            *(plain.log_likelihood, n, plain.iterations, plain.converged, "em"),
            responses=table,
        )
        worth = tries / (1 + (tries - 1) * bank.dependence)
        found.append((bank.dependence, worth, held(taken, ability), held(bank, ability)))
    return tuple(f"{one:.3f}" for one in np.mean(found, axis=0))


def held(bank: Calibration, ability: np.ndarray) -> float:
    scored = bank.abilities()
    return float((np.abs(scored["ability"] - ability) < 1.96 * scored["se"]).mean())


if __name__ == "__main__":
    main()

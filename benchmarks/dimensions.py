"""Several dimensions: speed, coverage, and how often they are said to predict better than one.

python benchmarks/dimensions.py [REPLICATIONS]
"""

from __future__ import annotations

import sys
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from scipy.special import expit

import ogive as og
from common import HERE, SHARED, machine, print_table
from ogive.stats.array_backend import Floats


def drawn(
    n_respondents: int, sizes: list[int], correlation: float, seed: int, categories: int = 2
) -> tuple[Floats, Floats, Floats, list[str]]:
    """Answers, abilities and loadings of items that load on one dimension each; their names."""
    random = np.random.default_rng(seed)
    spread = np.full((len(sizes), len(sizes)), correlation)
    np.fill_diagonal(spread, 1.0)
    abilities = random.multivariate_normal(np.zeros(len(sizes)), spread, n_respondents)
    own = np.repeat(np.arange(len(sizes)), sizes)
    loadings, at = random.uniform(0.7, 1.8, own.size), random.normal(0, 1, own.size)
    cuts = np.linspace(0.5, -0.5, categories - 1) * (categories - 2) + at[:, None]
    more = expit((loadings * abilities[:, own])[:, :, None] + cuts)
    grades = (random.random((n_respondents, own.size))[:, :, None] < more).sum(axis=-1)
    return grades * 1.0, abilities, loadings, [f"d{k}" for k in own]


SPEEDS = [
    ("1,000 × 100, 2 correlated", 1000, [50] * 2, "correlated", 2),
    ("1,000 × 100, 3 correlated", 1000, [34, 33, 33], "correlated", 2),
    ("1,000 × 60, 3 correlated, 4 grades", 1000, [20] * 3, "correlated", 4),
    ("1,000 × 100, 5 correlated", 1000, [20] * 5, "correlated", 2),
    ("1,000 × 100, bifactor with 5", 1000, [20] * 5, "bifactor", 2),
    ("1,000 × 100, bifactor with 9", 1000, [12] * 8 + [4], "bifactor", 2),
    ("50 × 400, 3 correlated", 50, [134, 133, 133], "correlated", 2),
]


def speed() -> list[tuple[str, ...]]:
    """Return the fit with its errors and abilities; and with five folds of held-out answers."""
    rows = []
    for name, n_respondents, sizes, structure, categories in SPEEDS:
        answers, _, _, names = drawn(n_respondents, sizes, 0.5, 1, categories)
        row = [name]
        for cv in (None, 5):
            clock, cpu = perf_counter(), process_time()
            og.dimension_scale(answers, names, structure=structure, cv=cv, progress=False)
            row.append(f"{perf_counter() - clock:.1f} ({process_time() - cpu:.1f})")
        rows.append(tuple(row))
    return rows


def coverage(replications: int) -> list[tuple[str, ...]]:
    """Return how often 95 % intervals hold loadings, correlations and abilities."""
    rows = []
    for n_respondents, each, correlation in [(40, 30, 0.5), (200, 15, 0.5), (800, 10, 0.8)]:
        held: list[list[float]] = []
        for seed in range(replications):
            answers, abilities, loadings, names = drawn(
                n_respondents, [each] * 2, correlation, 1000 + seed
            )
            found = og.dimension_scale(answers, names, cv=None, progress=False)
            kept = found.loadings["item"].str.removeprefix("item_").astype(int) - 1
            held.append(
                [
                    float(_inside(found.loadings, loadings[kept]).mean()),
                    float(_inside(found.correlations, np.array([correlation])).mean()),
                    float(_inside(found.abilities, abilities.ravel()).mean()),
                ]
            )
        means = [f"{value:.3f}" for value in np.mean(held, axis=0)]
        rows.append((f"{n_respondents} × {2 * each}", f"{correlation}", *means))
    return rows


def _inside(frame: pd.DataFrame, truth: Floats) -> pd.Series:
    return (frame["low"] < truth) & (truth < frame["high"])


def verdicts(replications: int) -> list[tuple[str, ...]]:
    """Return how often several dimensions are said to predict better, and the mean gain."""
    rows = []
    for n_respondents, each in [(40, 30), (200, 15)]:
        for correlation in (1.0, 0.9, 0.6):
            pays, gain = [], []
            for seed in range(replications):
                answers, _, _, names = drawn(n_respondents, [each] * 2, correlation, 2000 + seed)
                found = og.dimension_scale(answers, names, progress=False)
                pays.append(found.pays)
                gain.append(found.comparison.loc["difference", "log_score"])
            size = f"{n_respondents} × {2 * each}"
            rows.append((size, f"{correlation}", f"{np.mean(pays):.2f}", f"{np.mean(gain):+.4f}"))
    return rows


SAT12 = "23233212111313121133113133132312"  # the groups of mirt's own example


def witnesses() -> list[tuple[str, ...]]:
    """Log-likelihoods without priors beside those of R's mirt 1.45.1, noted when it was asked."""
    sys.path.insert(0, str(HERE.parent / "tests" / "reference"))
    import made_tables as made

    halves, quarters = ["a"] * 5 + ["b"] * 5, ["a"] * 4 + ["b"] * 4
    cases = [
        ("two correlated, 500 × 10", made.two_dimensions(), halves, "correlated", -2982.2021),
        ("the same as bifactor", made.two_dimensions(), halves, "bifactor", -2976.9621),
        (
            "two correlated, 400 × 8, grades",
            *(made.grades_of_two_dimensions(), quarters, "correlated", -3071.6749),
        ),
    ]
    table = SHARED / "reference" / "data" / "SAT12.csv"
    if table.exists():
        scored = pd.read_csv(table)
        cases += [
            ("SAT12, bifactor in halves", scored, ["a"] * 16 + ["b"] * 16, "bifactor", -9450.3148),
            ("SAT12, bifactor with three", scored, list(SAT12), "bifactor", -9435.0510),
        ]
    rows = []
    for name, answers, dimensions, structure, theirs in cases:
        begin = process_time()
        found = og.dimension_scale(
            answers, dimensions, structure=structure, priors=None, cv=None, progress=False
        )
        took = process_time() - begin
        rows.append((name, f"{found.log_likelihood:.4f}", f"{theirs:.4f}", f"{took:.1f}"))
    return rows


def main(replications: int) -> None:
    print(machine())
    print_table(
        "Log-likelihoods",
        ("table", "ogive", "R mirt", "CPU seconds of ogive"),
        witnesses(),
    )
    print_table(
        "Seconds on the clock (and of the processor)",
        ("respondents × items", "fit", "with five folds"),
        speed(),
    )
    print_table(
        f"Coverage of 95 % intervals, {replications} replications",
        ("respondents × items", "correlation", "loadings", "correlation held", "abilities"),
        coverage(replications),
    )
    print_table(
        f"Two dimensions or one, {replications} replications",
        ("respondents × items", "true correlation", "said to pay", "gain per answer (nats)"),
        verdicts(replications),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)

"""Whether nominal 95 % intervals contain the true value 95 % of the time.

Abilities, and differences of two respondents, with items taken as known (before) and with the
errors of items and scale counted (after); then difficulties.

python benchmarks/coverage.py [REPLICATIONS] [--quick] [--abilities] [MODEL ...]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import ogive as og
from common import machine, print_table

# Model, respondents, items, share missing, whether abilities are skewed.
ABILITY_JOBS = [
    ("1pl", 20, 200, 0.0, False),
    ("2pl", 20, 200, 0.0, False),
    ("2pl", 20, 200, 0.3, False),
    ("3pl", 20, 200, 0.0, False),
    ("4pl", 20, 200, 0.0, False),
    ("graded", 20, 100, 0.0, False),
    ("gpcm", 20, 100, 0.0, False),
    ("continuous", 20, 200, 0.0, False),
    ("beta", 20, 200, 0.0, False),
    ("beta", 20, 200, 0.3, False),
    ("1pl", 50, 500, 0.0, False),
    ("2pl", 50, 500, 0.0, False),
    ("2pl", 50, 500, 0.3, False),
    ("2pl", 50, 500, 0.0, True),
    ("3pl", 50, 500, 0.0, False),
    ("4pl", 50, 500, 0.0, False),
    ("graded", 50, 100, 0.3, False),
    ("continuous", 50, 100, 0.0, False),
    ("beta", 50, 100, 0.0, False),
    ("2pl", 200, 500, 0.0, False),
    ("2pl", 200, 500, 0.3, False),
    ("4pl", 200, 500, 0.0, False),
    ("continuous", 200, 100, 0.0, False),
    ("2pl", 1_000, 50, 0.0, False),
]
QUICK = ("1pl 20", "2pl 20", "2pl 50", "graded 20", "continuous 50", "2pl 200")
DIFFICULTY_JOBS = [
    ("1pl", 500, 30, 0.0),
    ("2pl", 1_000, 40, 0.0),
    ("2pl", 1_000, 40, 0.2),
    ("2pl", 500, 120, 0.0),
    ("3pl", 5_000, 40, 0.0),
]
REACH = 1.959964
MOST_PAIRS = 5_000


def drawn_abilities(n: int, random: np.random.Generator, *, skewed: bool) -> Any:
    """Draw abilities of mean 0 and sd 1 in the population; skewed ones from a gamma."""
    if skewed:
        return (random.gamma(2.0, size=n) - 2.0) / np.sqrt(2.0)
    return random.normal(size=n)


def hits(model: str, shape: tuple[int, int], seed: int, missing: float, *, skewed: bool) -> Any:
    """Return the share of intervals that hold: (before, after) x (given, aligned, difference)."""
    random = np.random.default_rng(10_000 + seed)
    truth = drawn_abilities(shape[0], random, skewed=skewed)
    responses, _ = og.simulate(
        model, abilities=truth, n_items=shape[1], missing=missing, random_state=seed
    )
    cal = og.calibrate(responses, model, progress=False)
    first, second = np.triu_indices(shape[0], 1)
    if first.size > MOST_PAIRS:
        some = random.choice(first.size, MOST_PAIRS, replace=False)
        first, second = first[some], second[some]
    found = []
    for items_known in (True, False):
        errors = cal.ability_covariance(items_known=items_known)
        slope, start = np.polyfit(truth, errors.ability, 1)
        off = errors.ability - truth
        aligned = (errors.ability - start) / slope - truth
        apart = off[first] - off[second]
        within = [
            np.abs(off) <= REACH * errors.se,
            np.abs(aligned) <= REACH * errors.se / slope,
            np.abs(apart) <= REACH * errors.difference_se(first, second),
        ]
        found.append([share.mean() for share in within])
    return np.array(found)


def covered_abilities(
    job: tuple[str, int, int, float, bool], replications: int
) -> tuple[object, ...]:
    """Return a row: coverage before and after, and the standard error of the last."""
    model, n_respondents, n_items, missing, skewed = job
    shape = n_respondents, n_items
    seeds = range(replications)
    found = np.array([hits(model, shape, seed, missing, skewed=skewed) for seed in seeds])
    before, after = found.mean(axis=0)
    error = found[:, 1, 2].std(ddof=1) / np.sqrt(replications)
    label = f"{model} {n_respondents:,} × {n_items}"
    label += f", {missing:.0%} missing" if missing else ""
    label += ", skewed" if skewed else ""
    figures = [f"{share:.2f}" for share in (*before, *after[:2])]
    return label, replications, *figures, f"{after[2]:.3f} ± {error:.3f}"


def covered_difficulties(
    model: str, n_respondents: int, n_items: int, missing: float, replications: int
) -> tuple[object, ...]:
    """Return the coverage of the intervals; abilities vary over replications, items are fixed."""
    items = og.simulate(model, 1, n_items, random_state=0).truth.items
    hits = []
    for seed in range(replications):
        responses, truth = og.simulate(
            model, n_respondents, items=items, missing=missing, random_state=1_000 + seed
        )
        found = og.calibrate(responses, model).items
        off = np.abs(found["difficulty"] - truth.items["difficulty"])
        hits.append((off <= REACH * found["difficulty_se"]).to_numpy())
    share = np.array(hits)
    by_item = share.mean(axis=0)
    label = f"{model.upper()} {n_respondents:,} × {n_items}, {missing:.0%} missing"
    figures = share.mean(), by_item.min(), by_item.max()
    return label, replications, *(f"{figure:.3f}" for figure in figures)


def main() -> None:
    quick = "--quick" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    replications = numbers[0] if numbers else 10 if quick else 50
    print(f"\n## Coverage\n\n{machine()}. Default priors, simulated truth.")
    jobs = ABILITY_JOBS
    if quick:
        jobs = [job for job in jobs if f"{job[0]} {job[1]}" in QUICK]
    models = [word for word in sys.argv[1:] if any(word == job[0] for job in jobs)]
    if models:
        jobs = [job for job in jobs if job[0] in models]
    print_table(
        "Nominal 95 % intervals of ability, items known and not: as given, after aligning the "
        "scale, and of the difference of two respondents",
        (
            "job",
            "replications",
            *("given, items known", "aligned, items known", "difference, items known"),
            *("given", "aligned", "difference"),
        ),
        [covered_abilities(job, replications) for job in jobs],
    )
    if quick or "--abilities" in sys.argv:
        return
    print_table(
        "Nominal 95 % intervals of difficulty",
        ("job", "replications", "covered", "lowest item", "highest item"),
        [covered_difficulties(*job, numbers[0] if numbers else 200) for job in DIFFICULTY_JOBS],
    )


if __name__ == "__main__":
    main()

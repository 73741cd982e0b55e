"""Pools that are not normal: how often `population="auto"` says so, and what it is worth.

python benchmarks/populations.py [REPLICATIONS]
"""

from __future__ import annotations

import sys

import numpy as np

import ogive as og
from common import machine, print_table

SIZES = [(20, 200), (50, 500), (200, 500), (1_000, 50)]
REACH = 1.959964


def drawn(shape: str, n_respondents: int, n_items: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return responses of the 2PL, and the discriminations behind them.

    Abilities have mean 0 and standard deviation 1; skewed ones are gamma, of skewness 1.6.
    """
    random = np.random.default_rng(seed)
    if shape == "skewed":
        ability = (random.gamma(1.5, size=n_respondents) - 1.5) / np.sqrt(1.5)
    else:
        ability = random.normal(size=n_respondents)
    slope = np.exp(random.normal(0, 0.3, n_items))
    chance = 1 / (1 + np.exp(-slope * (ability[:, None] - random.normal(size=n_items))))
    return (random.random(chance.shape) < chance).astype(float), slope


def measured(shape: str, n_respondents: int, n_items: int, replications: int) -> tuple[object, ...]:
    """Return how often each population converged, and covered the discriminations."""
    fired, ended, hits = 0, 0, {"normal": [], "histogram": [], "auto": []}
    for seed in range(replications):
        responses, slope = drawn(shape, n_respondents, n_items, seed)
        for population, kept in hits.items():
            found = og.calibrate(responses, "2pl", population=population, progress=False)
            off = np.abs(found.items["discrimination"] - slope)
            kept.append(float((off <= REACH * found.items["discrimination_se"]).mean()))
            ended += population == "histogram" and found.converged
            fired += population == "auto" and not isinstance(
                found.population, og.scoring.NormalPopulation
            )
    covered = (f"{np.mean(kept):.3f}" for kept in hits.values())
    label = f"{n_respondents:,} × {n_items}, {shape}"
    return (
        label,
        replications,
        f"{ended} of {replications}",
        f"{fired / replications:.3f}",
        *covered,
    )


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    print(f"\n## Pools that are not normal\n\n{machine()}. 2PL, default priors.")
    print_table(
        "Nominal 95 % intervals of discrimination",
        (
            "respondents × items",
            "replications",
            "histogram converged",
            "auto refutes the normal",
            "covered, normal",
            "histogram",
            "auto",
        ),
        [measured(shape, *size, replications) for shape in ("normal", "skewed") for size in SIZES],
    )


if __name__ == "__main__":
    main()

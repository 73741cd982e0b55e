"""The continuous model: a fit of a million respondents compared with one pass over the same array.

python benchmarks/scores.py
"""

from __future__ import annotations

import numpy as np

import ogive as og
from common import best_of, machine, print_table

N_ITEMS = 50


def measure(n_respondents: int, missing: float = 0.0) -> tuple[object, ...]:
    simulated = og.simulate("continuous", n_respondents, N_ITEMS, missing=missing, random_state=1)
    responses, table = simulated.responses, simulated.responses.values
    look = best_of(5, lambda: (table.mean(axis=0), np.cov(table, rowvar=False)))
    fits = []
    fit = best_of(5, lambda: fits.append(og.calibrate(responses, "continuous")))
    found = fits[-1]
    whole = best_of(3, lambda: og.calibrate(og.Responses(table, kind="continuous"), "continuous"))
    error = np.abs(found.items["discrimination"] - simulated.truth.items["discrimination"]).max()
    name = f"{n_respondents:,} × {N_ITEMS}" + (f", {missing:.0%} missing" if missing else "")
    seen = (
        ("–", "–", "–") if missing else (f"{look:.3f}", f"{fit / look:.2f}", f"{whole / look:.2f}")
    )
    return name, f"{fit:.3f}", found.iterations, found.converged, *seen, f"{error:.3f}"


def main() -> None:
    print(f"\n## Scores\n\n{machine()}. Mean and covariance by NumPy, with its own threads.")
    print_table(
        "Continuous model to a Newton decrement of 1e-6",
        (
            "job",
            "fit, s",
            "E-steps",
            "converged",
            "mean and covariance, s",
            "fit / mean and covariance",
            "with Responses / mean and covariance",
            "largest error of discrimination",
        ),
        [measure(10_000), measure(100_000), measure(1_000_000), measure(100_000, 0.1)],
    )


if __name__ == "__main__":
    main()

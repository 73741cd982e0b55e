"""What individual decisions of the engine are worth, each switched off in turn.

python benchmarks/choices.py
"""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

import ogive as og
from common import machine, print_table
from ogive.irt.estimation import acceleration, objective, standard_errors

ITERATIONS = 200


def climbing(n_respondents: int, n_items: int) -> tuple[object, ...]:
    """Count the iterations of a 3PL with full M-steps and with one Newton step per iteration."""
    responses, _ = og.simulate("3pl", n_respondents, n_items, random_state=3)
    climbed = og.calibrate(responses, "3pl", max_iterations=ITERATIONS)

    def one_step(_model, _data, coords, step, *_):  # type: ignore[no-untyped-def]
        return coords + step

    with patch.object(acceleration, "_item_maxima", one_step):
        stepped = og.calibrate(responses, "3pl", max_iterations=ITERATIONS)
    shown = (
        f"{f.iterations}{'' if f.converged else ', not converged'}" for f in (climbed, stepped)
    )
    return f"3PL {n_respondents:,} × {n_items:,}", *shown


def priors_once(n_respondents: int, n_items: int) -> tuple[object, ...]:
    """Return the spread of abilities and the error of difficulties, with both weights of priors."""
    responses, truth = og.simulate("2pl", n_respondents, n_items, random_state=3)
    once = og.calibrate(responses, "2pl")
    with patch.object(
        objective, "count_priors_once", lambda _model, _directions, prior_grad, _: 0 * prior_grad
    ):
        full = og.calibrate(responses, "2pl")
    figures: list[str] = []
    for fit in (once, full):
        found = fit.abilities()
        spread = np.sqrt(found["ability"].var(ddof=0) + (found["se"] ** 2).mean())
        error = fit.items["difficulty"] - truth.items["difficulty"]
        middle = np.abs(fit.items["difficulty"]) < 6
        figures += [f"{spread:.2f}", f"{np.sqrt((error[middle] ** 2).mean()):.3f}"]
    return f"2PL {n_respondents:,} × {n_items:,}", *figures


def structure(model: str, n_respondents: int, n_items: int) -> tuple[object, ...]:
    """Compare standard errors of difficulty from the structured and the full matrix."""
    responses, _ = og.simulate(model, n_respondents, n_items, random_state=3)
    errors = []
    for most in (0, 10_000):
        with patch.object(standard_errors, "MAX_EXACT", most):
            errors.append(og.calibrate(responses, model).items["difficulty_se"].to_numpy())
    off = np.abs(errors[0] / errors[1] - 1)
    label = f"{model.upper()} {n_respondents:,} × {n_items:,}"
    return label, f"{np.median(off):.2%}", f"{off.max():.2%}"


def main() -> None:
    print(f"\n## Choices\n\n{machine()}. Default priors, simulated responses.")
    print_table(
        "Iterations: a full M-step for every item, or one Newton step",
        ("job", "full M-step", "one step"),
        [climbing(*size) for size in [(1_000, 100), (200, 500), (50, 500)]],
    )
    print_table(
        "Priors along the scale: counted once, or once per item",
        (
            "job",
            "sd of abilities, once",
            "RMSE difficulty",
            "sd of abilities, per item",
            "RMSE difficulty",
        ),
        [priors_once(*size) for size in [(1_000, 100), (200, 500), (100, 2_000)]],
    )
    print_table(
        "Standard errors of difficulty: structured against the full matrix",
        ("job", "median", "largest"),
        [
            structure(*size)
            for size in [
                ("2pl", 3_000, 100),
                ("2pl", 2_000, 400),
                ("3pl", 2_000, 400),
                ("2pl", 200, 500),
            ]
        ],
    )


if __name__ == "__main__":
    main()

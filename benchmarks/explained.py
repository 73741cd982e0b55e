"""Groups on one scale and latent regression: how often intervals hold the truth.

python benchmarks/explained.py [REPLICATIONS]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

import ogive as og
from common import print_table
from ogive.stats.array_backend import Floats

NEW = 8  # respondents or items per replication that were not in the table


def regression(replications: int) -> list[tuple[str, ...]]:
    """Return ability = 0.4 log compute + 0.3 if tuned + noise of 0.6."""
    cases = [(15, 100, 0.0, ""), (30, 300, 0.0, ""), (30, 300, 0.0, "skewed"), (100, 50, 0.3, "")]
    rows = []
    for n_respondents, n_items, missing, shape in [*cases, (400, 20, 0.0, "")]:
        inside: dict[str, list[float]] = {
            "slope": [],
            "group": [],
            "r2": [],
            "new": [],
            "naive": [],
        }
        for seed in range(replications):
            random = np.random.default_rng(seed)

            def draw(n: int, random: np.random.Generator = random, shape: str = shape) -> Floats:
                return random.exponential(1.0, n) + 22 if shape else random.uniform(20, 26, n)

            compute, tuned = draw(n_respondents), random.random(n_respondents) < 0.4
            if tuned.all() or not tuned.any():
                continue
            line = 0.4 * (compute - 23) + 0.3 * tuned
            ability = line + random.normal(0, 0.6, n_respondents)
            unit, center = np.sqrt(line.var() + 0.36), line.mean()
            table = og.simulate(
                "2pl", abilities=ability, n_items=n_items, missing=missing, random_state=seed
            ).responses.described(respondents={"compute": compute, "tuned": tuned * 1.0})
            found = og.explain_ability(table, ["compute", "tuned"], progress=False)
            note_coefficients(inside, found, {"compute": 0.4 / unit, "tuned": 0.3 / unit})
            note_share(inside, found, line.var() / unit**2)
            new = draw(NEW)
            truth = (0.4 * (new - 23) + random.normal(0, 0.6, NEW) - center) / unit
            band = found.predict(pd.DataFrame({"compute": new, "tuned": 0.0 * new}))
            inside["new"].append(np.mean((band["low"] < truth) & (truth < band["high"])))
            design = np.stack([np.ones(n_respondents), compute, tuned], axis=1)
            eap = found.calibration.score(table)["ability"].to_numpy()
            fit, left, *_ = np.linalg.lstsq(design, eap, rcond=None)
            error = np.sqrt(left[0] / (n_respondents - 3) * np.linalg.inv(design.T @ design)[1, 1])
            inside["naive"].append(abs(fit[1] - 0.4 / unit) < 1.96 * error)
        rows.append((size(n_respondents, n_items, missing, shape), *shares(inside)))
    return rows


def difficulty(replications: int) -> list[tuple[str, ...]]:
    """Return difficulty = 0.5 length + 0.4 if law + scatter of 0.7; length is skewed."""
    cases = [(15, 100, 0.0), (15, 20, 0.0), (30, 300, 0.0), (100, 50, 0.3), (400, 20, 0.0)]
    rows = []
    for n_respondents, n_items, missing in [*cases, (400, 100, 0.0)]:
        inside: dict[str, list[float]] = {
            "slope": [],
            "group": [],
            "r2": [],
            "new": [],
            "naive": [],
        }
        for seed in range(replications):
            random = np.random.default_rng(seed)
            length, law = random.exponential(1, n_items), random.random(n_items) < 0.4
            if law.all() or not law.any():
                continue
            line, ability = 0.5 * (length - 1) + 0.4 * law, random.normal(0, 1, n_respondents)
            spread = 0.0 if n_respondents < 100 else 0.3  # few respondents are given the 1pl model
            items = {
                "difficulty": line + random.normal(0, 0.7, n_items),
                "discrimination": 1.3 * np.exp(random.normal(0, spread, n_items)),
            }
            table = og.simulate(
                "2pl", abilities=ability, items=items, missing=missing, random_state=seed
            ).responses.described(items={"length": length, "law": law * 1.0})
            found = og.explain_items(table, ["length", "law"], progress=False)
            unit, center = ability.std(), ability.mean()
            note_coefficients(inside, found, {"length": 0.5 / unit, "law": 0.4 / unit})
            note_share(inside, found, line.var() / (line.var() + 0.49))
            new = random.exponential(1, NEW)
            truth = (0.5 * (new - 1) + random.normal(0, 0.7, NEW) - center) / unit
            band = found.predict(pd.DataFrame({"length": new, "law": 0.0 * new}))
            inside["new"].append(np.mean((band["low"] < truth) & (truth < band["high"])))
            known = found.calibration.items[["difficulty", "difficulty_se"]].to_numpy().T
            inside["naive"].append(weighted_slope_holds(*known, length, law, 0.5 / unit))
        rows.append((size(n_respondents, n_items, missing), *shares(inside)))
    return rows


def weighted_slope_holds(y: Floats, se: Floats, length: Floats, law: Floats, truth: float) -> bool:
    """Return least squares of estimates, weighted by their standard errors."""
    design, weights = np.stack([np.ones(y.size), length, law], axis=1), 1 / se**2
    inverse = np.linalg.inv(design.T @ (weights[:, None] * design))
    fit = inverse @ design.T @ (weights * y)
    left = (weights * (y - design @ fit) ** 2).sum() / (y.size - 3)
    return bool(abs(fit[1] - truth) < 1.96 * np.sqrt(left * inverse[1, 1]))


def note_coefficients(inside: dict[str, list[float]], found: Any, truths: dict[str, float]) -> None:
    for word, (name, truth) in zip(("slope", "group"), truths.items(), strict=True):
        row = found.coefficients.loc[name]
        inside[word].append(row["low"] < truth < row["high"])


def note_share(inside: dict[str, list[float]], found: Any, truth: float) -> None:
    low, high = found.r2_interval
    inside["r2"].append(low < truth < high)


def size(n_respondents: int, n_items: int, missing: float, shape: str = "") -> str:
    words = [f"{missing:.0%} missing"] * bool(missing) + [f"{shape} compute"] * bool(shape)
    return ", ".join([f"{n_respondents} × {n_items}", *words])


def shares(inside: dict[str, list[float]]) -> list[str]:
    return [f"{np.mean(each):.3f}" for each in inside.values()]


def groups(replications: int) -> list[tuple[str, ...]]:
    """Return a second group with mean 0.5 and standard deviation 1.3 of the first."""
    rows = []
    for each, n_items in [(40, 100), (150, 30), (500, 15)]:
        inside: dict[str, list[float]] = {"mean": [], "sd": [], "alarm": []}
        for seed in range(replications):
            random = np.random.default_rng(seed)
            ability = np.concatenate([random.normal(0, 1, each), random.normal(0.5, 1.3, each)])
            table = og.simulate("2pl", abilities=ability, n_items=n_items, random_state=seed)
            names = ["old"] * each + ["new"] * each
            found = og.group_scale(table.responses, names, reference="old", progress=False)
            row = found.populations.loc["new"]
            inside["mean"].append(abs(row["mean"] - 0.5) < 1.96 * row["mean_se"])
            inside["sd"].append(abs(row["sd"] - 1.3) < 1.96 * row["sd_se"])
            inside["alarm"].append(found.p < 0.05 if found.p == found.p else np.nan)
        rows.append((f"2 × {each} × {n_items}", *(f"{np.mean(v):.3f}" for v in inside.values())))
    return rows


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("\n## Groups and facts\n")
    print_table(
        f"Latent regression: coverage of 95 % intervals, {replications} replications",
        (
            *("respondents × items", "slope", "group", "R²", "a new respondent"),
            "slope, if abilities were taken as known",
        ),
        regression(replications),
    )
    print_table(
        f"Difficulty on facts of items: coverage of 95 % intervals, {replications} replications",
        (
            *("respondents × items", "slope", "group", "R²", "a new item"),
            "slope, if estimates were weighted by their errors",
        ),
        difficulty(replications),
    )
    print_table(
        f"Two groups with equal items: coverage of 95 % intervals, {replications} replications",
        ("respondents × items", "mean", "standard deviation", "items said to differ, at 5 %"),
        groups(replications),
    )


if __name__ == "__main__":
    main()

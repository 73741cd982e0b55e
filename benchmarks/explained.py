"""Groups on one scale and latent regression: how often intervals hold the truth.

python benchmarks/explained.py [REPLICATIONS]
"""

from __future__ import annotations

import sys

import numpy as np

import itemwise as iw
from common import print_table


def regression(replications: int) -> list[tuple[str, ...]]:
    """Ability = 0.4 log compute + 0.3 if tuned + noise of 0.6."""
    rows = []
    for n_respondents, n_items, missing in [(30, 300, 0.0), (100, 50, 0.3), (400, 20, 0.0)]:
        inside: dict[str, list[float]] = {
            "slope": [],
            "group": [],
            "r2": [],
            "new": [],
            "naive": [],
        }
        for seed in range(replications):
            random = np.random.default_rng(seed)
            compute, tuned = (
                random.uniform(20, 26, n_respondents),
                random.random(n_respondents) < 0.4,
            )
            line = 0.4 * (compute - 23) + 0.3 * tuned
            ability = line + random.normal(0, 0.6, n_respondents)
            unit, center = np.sqrt(line.var() + 0.36), line.mean()
            table = iw.simulate(
                "2pl", abilities=ability, n_items=n_items, missing=missing, random_state=seed
            ).responses.described(respondents={"compute": compute, "tuned": tuned * 1.0})
            found = iw.explain_ability(table, ["compute", "tuned"], progress=False)
            frame = found.coefficients
            for word, name, truth in [("slope", "compute", 0.4), ("group", "tuned", 0.3)]:
                row = frame.loc[name]
                inside[word].append(row["low"] < truth / unit < row["high"])
            share = line.var() / unit**2
            low, high = found.r2_interval
            inside["r2"].append(low < share < high)
            truth = (0.4 * (24.5 - 23) + random.normal(0, 0.6) - center) / unit
            new = found.predict(frame_of(24.5)).iloc[0]
            inside["new"].append(new["low"] < truth < new["high"])
            design = np.stack([np.ones(n_respondents), compute, tuned], axis=1)
            eap = found.calibration.score(table)["ability"].to_numpy()
            fit, left, *_ = np.linalg.lstsq(design, eap, rcond=None)
            error = np.sqrt(left[0] / (n_respondents - 3) * np.linalg.inv(design.T @ design)[1, 1])
            inside["naive"].append(abs(fit[1] - 0.4 / unit) < 1.96 * error)
        size = f"{n_respondents} × {n_items}" + (f", {missing:.0%} missing" if missing else "")
        rows.append((size, *(f"{np.mean(each):.3f}" for each in inside.values())))
    return rows


def frame_of(compute: float) -> object:
    import pandas as pd

    return pd.DataFrame({"compute": [compute], "tuned": [0.0]})


def groups(replications: int) -> list[tuple[str, ...]]:
    """A second group with mean 0.5 and standard deviation 1.3 of the first."""
    rows = []
    for each, n_items in [(40, 100), (150, 30), (500, 15)]:
        inside: dict[str, list[float]] = {"mean": [], "sd": [], "alarm": []}
        for seed in range(replications):
            random = np.random.default_rng(seed)
            ability = np.concatenate([random.normal(0, 1, each), random.normal(0.5, 1.3, each)])
            table = iw.simulate("2pl", abilities=ability, n_items=n_items, random_state=seed)
            names = ["old"] * each + ["new"] * each
            found = iw.group_scale(table.responses, names, reference="old", progress=False)
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
        f"Two groups with equal items: coverage of 95 % intervals, {replications} replications",
        ("respondents × items", "mean", "standard deviation", "items said to differ, at 5 %"),
        groups(replications),
    )


if __name__ == "__main__":
    main()

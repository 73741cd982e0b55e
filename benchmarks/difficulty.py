"""Difficulty from features: speed at size, and quality beside the published figures.

python benchmarks/difficulty.py [data set ...]

The second part reads the data sets of ITEMWISE_SHARED, the folder of shared data.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import itemwise as iw
from common import SHARED, machine, print_table
from itemwise.pools.random_configurations import algorithm_classes, configurations

N_ITEMS, N_FEATURES = 100_000, 100
DATASETS = ("letter", "segment", "vehicle", "diabetes", "kc1", "liver-disorders")
MOST_ITEMS = 4_000
# Twenty classifiers, quick ones, since each predicts the whole data set out of its folds.
POOL = {
    "decision tree": 6,
    "nearest neighbours": 5,
    "random forest": 3,
    "LDA": 3,
    "bagging": 3,
}
PRINTED = {"stepwise": "lm", "elastic-net": "elasticNet"}
TABLES = {
    "2pl": "002_table5_difficulty_prediction_2pl.csv",
    "average_error": "002_table6_difficulty_prediction_average_error.csv",
}
ABNORMAL = 6.0  # difficulties beyond are left out, as in the paper


def at_size(calibration: float) -> tuple[object, ...]:
    """Seconds to fit and to predict with intervals."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ITEMS, N_FEATURES))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.5 * random.normal(size=N_ITEMS)
    spent = [perf_counter()]
    regressor = iw.DifficultyRegressor("gbm", calibration=calibration).fit(X, y)
    spent.append(perf_counter())
    regressor.predict(X)
    spent.append(perf_counter())
    low, high = regressor.predict_interval(X)
    spent.append(perf_counter())
    name = f"{calibration} folds" if isinstance(calibration, int) else f"{calibration} held out"
    return name, *(f"{value:.1f}" for value in np.diff(spent)), f"{np.mean(high - low):.2f}"


def load(folder: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    (path,) = (folder / "data" / "tabular").glob(f"{name}.csv*")
    frame = pd.read_csv(path)
    if len(frame) > MOST_ITEMS:
        frame = frame.sample(MOST_ITEMS, random_state=0).reset_index(drop=True)
    return frame.iloc[:, :-1], frame.iloc[:, -1].astype(str)


def responses(X: pd.DataFrame, y: pd.Series) -> np.ndarray:
    """Whether each classifier is right on each item, by a copy that never saw it.

    As in the paper, one that is always right, one always wrong and one random by priors join them.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classes, taken, right = algorithm_classes(), dict.fromkeys(POOL, 0), []
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for algorithm, settings in configurations():
        if taken.get(algorithm, np.inf) >= POOL.get(algorithm, 0):
            continue
        taken[algorithm] += 1
        made = classes[algorithm](**settings)
        if "random_state" in made.get_params():
            made.set_params(random_state=0)
        found = cross_val_predict(make_pipeline(StandardScaler(), made), X, y, cv=folds)
        right.append(found == y.to_numpy())
    by_prior = np.random.default_rng(0).permutation(y.to_numpy())
    artificial = [np.ones(len(y)), np.zeros(len(y)), by_prior == y.to_numpy()]
    return np.array([*right, *artificial], dtype=float)


def targets(right: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """Difficulty by 1PL, 2PL and average error; which items have negative discrimination."""
    columns: dict[str, Any] = {}
    for model in ("1pl", "2pl"):
        items = iw.calibrate(right, model).items
        value = items["difficulty"].to_numpy()
        columns[model] = np.where(np.abs(value) <= ABNORMAL, value, np.nan)
    columns["average_error"] = 1.0 - right.mean(axis=0)
    return pd.DataFrame(columns), (items["discrimination"] < 0).to_numpy()


def published(folder: Path) -> pd.DataFrame:
    parts = [
        pd.read_csv(folder / "data" / "paper_tables" / file).assign(target=target)
        for target, file in TABLES.items()
    ]
    return pd.concat(parts).set_index(["dataset", "target", "regressor"])


def quality(folder: Path, name: str) -> list[tuple[object, ...]]:
    begin = perf_counter()
    X, y = load(folder, name)
    right = responses(X, y)
    values, negative = targets(right)
    pooled = perf_counter() - begin
    found = iw.evaluate_difficulty(X, values, repeats=1, n_jobs=2)
    spent = perf_counter() - begin - pooled
    abnormal = values[["1pl", "2pl"]].isna().mean()
    print(
        f"\n{name}: {len(X):,} items, mean accuracy {right.mean():.2f}, {negative.mean():.1%} of "
        f"negative discrimination, left out beyond ±{ABNORMAL:g}: {abnormal['1pl']:.1%} (1PL), "
        f"{abnormal['2pl']:.1%} (2PL); responses {pooled:.0f} s, evaluation {spent:.0f} s."
    )
    print(found.meaning)
    printed, rows = published(folder), []
    for row in found.to_frame().itertuples():
        key = (name, row.target, PRINTED.get(row.regressor, row.regressor))
        there = printed.loc[key] if key in printed.index else None
        rows.append(
            (
                name,
                row.target,
                f"**{row.regressor}**" if row.best else row.regressor,
                f"{row.nrmse:.2f} ± {row.nrmse_sd:.2f}",
                f"{row.spearman:.2f} ({row.spearman_low:.2f} to {row.spearman_high:.2f})",
                "–" if there is None else f"{there.nrmse:.2f} ± {there.nrmse_sd:.2f}",
                "–" if there is None else f"{there.spearman:.2f}",
            )
        )
    return rows


def main() -> None:
    print(f"\n## Difficulty\n\n{machine()}.")
    if len(sys.argv) == 1:
        print_table(
            f"Seconds for {N_ITEMS:,} items × {N_FEATURES} features, gbm",
            ("calibration", "fit", "predict", "intervals", "width of intervals"),
            [at_size(5), at_size(0.2)],
        )
    folder = SHARED
    if not (folder / "data" / "tabular").is_dir():
        print("\nNo shared data: set ITEMWISE_SHARED to compare with the published figures.")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row for name in sys.argv[1:] or DATASETS for row in quality(folder, name)]
    print_table(
        f"Difficulty by a pool of {sum(POOL.values())} classifiers, predicted from features; "
        "five folds, bold: the smallest error",
        (
            "data set",
            "target",
            "regressor",
            "NRMSE",
            "Spearman",
            "published NRMSE",
            "published Spearman",
        ),
        rows,
    )


if __name__ == "__main__":
    main()

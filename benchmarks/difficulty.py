"""Difficulty from features: speed on large data, and quality compared with published figures.

python benchmarks/difficulty.py [data set ...]

The second part reads the data sets of OGIVE_SHARED, the folder of shared data.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import ogive as og
from common import SHARED, machine, print_table
from ogive.data.pools.published_pools import algorithm_classes, configurations
from ogive.difficulty.regressor_evaluation import ALL, WITHOUT_NEGATIVE

N_ITEMS, N_FEATURES = 100_000, 100
DATASETS = ("letter", "segment", "vehicle", "diabetes", "kc1", "liver-disorders")
MOST_ITEMS = 4_000
# Twenty quick classifiers, because each predicts the whole data set out of fold.
POOL = {
    "decision tree": 6,
    "nearest neighbours": 5,
    "random forest": 3,
    "LDA": 3,
    "bagging": 3,
}
PRINTED = {"stepwise": "lm", "elastic-net": "elasticNet"}
TABLES = {
    (ALL, "2pl"): "002_table5_difficulty_prediction_2pl.csv",
    (ALL, "average_error"): "002_table6_difficulty_prediction_average_error.csv",
    (WITHOUT_NEGATIVE, "average_error"): (
        "002_table8_difficulty_prediction_average_error_no_negative_discrimination.csv"
    ),
}
HEADS = (
    "data set",
    "target",
    "regressor",
    "NRMSE",
    "Spearman",
    "published NRMSE",
    "published Spearman",
)
ABNORMAL = 6.0  # difficulties beyond this are left out, as in the paper


def at_size(**settings: float) -> tuple[object, ...]:
    """Return time fitting, and predicting with intervals."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ITEMS, N_FEATURES))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.5 * random.normal(size=N_ITEMS)
    spent = [perf_counter()]
    regressor = og.DifficultyRegressor("gbm", confidence=0.9, **settings).fit(X, y)
    spent.append(perf_counter())
    regressor.predict(X)
    spent.append(perf_counter())
    low, high = regressor.predict_interval(X)
    spent.append(perf_counter())
    name = f"{settings['cv']} folds" if "cv" in settings else f"{settings['test_size']} held out"
    return name, *(f"{value:.1f}" for value in np.diff(spent)), f"{np.mean(high - low):.2f}"


def load(folder: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    (path,) = (folder / "data" / "tabular").glob(f"{name}.csv*")
    frame = pd.read_csv(path)
    if len(frame) > MOST_ITEMS:
        frame = frame.sample(MOST_ITEMS, random_state=0).reset_index(drop=True)
    return frame.iloc[:, :-1], frame.iloc[:, -1].astype(str)


def responses(X: pd.DataFrame, y: pd.Series) -> np.ndarray:
    """Return whether each classifier is right on each item, out of fold.

    As in the paper, one respondent that is always right, one that is always wrong and one that
    guesses by class frequency are added.
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


def targets(right: np.ndarray) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Return difficulty by 1PL, 2PL and average error, and the items of negative discrimination.

    The last value names the models that did not converge.
    """
    columns: dict[str, Any] = {}
    stuck = []
    for model in ("1pl", "2pl"):
        found = og.calibrate(right, model)
        stuck += [] if found.converged else [model]
        items = found.items
        value = items["difficulty"].to_numpy()
        columns[model] = np.where(np.abs(value) <= ABNORMAL, value, np.nan)
    columns["average_error"] = 1.0 - right.mean(axis=0)
    return pd.DataFrame(columns), (items["discrimination"] < 0).to_numpy(), stuck


def published(folder: Path) -> pd.DataFrame:
    parts = [
        pd.read_csv(folder / "data" / "paper_tables" / file).assign(
            training=training, target=target
        )
        for (training, target), file in TABLES.items()
    ]
    return pd.concat(parts).set_index(["dataset", "training", "target", "regressor"])


def published_shift(folder: Path) -> str:
    """Say how the published figures without items of negative discrimination differ."""
    rows = published(folder).xs("average_error", level="target")
    shift = (rows.xs(WITHOUT_NEGATIVE, level="training") - rows.xs(ALL, level="training")).round(2)
    usual = shift[["nrmse", "spearman"]].mode().iloc[0]
    count = (shift[usual.index] == usual).sum()
    return (
        f"The published table 8 is table 6 with {usual['nrmse']:+.2f} on NRMSE in "
        f"{count['nrmse']} of {len(shift)} rows and {usual['spearman']:+.2f} on Spearman in "
        f"{count['spearman']}: leaving out items is unlikely to give so uniform a shift."
    )


def quality(folder: Path, name: str) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows for all items, and for training without items of negative discrimination."""
    X, y = load(folder, name)
    right = responses(X, y)
    values, negative, stuck = targets(right)
    found = og.evaluate_difficulty(X, values, negative=negative, n_resamples=1, n_jobs=2)
    abnormal = values[["1pl", "2pl"]].isna().mean()
    print(
        f"\n{name}: {len(X):,} items, mean accuracy {right.mean():.2f}, {negative.sum()} with "
        f"negative discrimination, left out beyond ±{ABNORMAL:g}: {abnormal['1pl']:.1%} (1PL), "
        f"{abnormal['2pl']:.1%} (2PL); not converged: {', '.join(stuck) or 'none'}."
    )
    print(found.meaning)
    printed, frame = published(folder), found.to_frame()
    # The 1PL has no discrimination; the paper has no such table either.
    frame = frame[(frame["training"] == ALL) | (frame["target"] != "1pl")]
    return {
        training: [printed_row(name, row, printed) for row in part.itertuples()]
        for training, part in frame.groupby("training", sort=False)
    }


def printed_row(name: str, row: Any, printed: pd.DataFrame) -> tuple[object, ...]:
    key = (name, row.training, row.target, PRINTED.get(row.regressor, row.regressor))
    there = printed.loc[key] if key in printed.index else None
    return (
        name,
        row.target,
        f"**{row.regressor}**" if row.best else row.regressor,
        f"{row.nrmse:.2f} ± {row.nrmse_sd:.2f}",
        f"{row.spearman:.2f} ({row.spearman_low:.2f} to {row.spearman_high:.2f})",
        "–" if there is None else f"{there.nrmse:.2f} ± {there.nrmse_sd:.2f}",
        "–" if there is None else f"{there.spearman:.2f}",
    )


def main() -> None:
    print(f"\n## Difficulty\n\n{machine()}.")
    if len(sys.argv) == 1:
        print_table(
            f"Seconds for {N_ITEMS:,} items × {N_FEATURES} features, gbm",
            ("calibration", "fit", "predict", "intervals", "width of intervals"),
            [at_size(cv=5), at_size(test_size=0.2)],
        )
    folder = SHARED
    if not (folder / "data" / "tabular").is_dir():
        print("\nNo shared data: set OGIVE_SHARED to compare with the published figures.")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [quality(folder, name) for name in sys.argv[1:] or DATASETS]
    pool = f"Difficulty by a pool of {sum(POOL.values())} classifiers, predicted from features"
    for training, what in {
        ALL: "five folds; the smallest error is bold",
        WITHOUT_NEGATIVE: "items with negative discrimination are tested on, but not learned from",
    }.items():
        print_table(f"{pool}; {what}", HEADS, [row for part in found for row in part[training]])
    print(f"\n{published_shift(folder)}")


if __name__ == "__main__":
    main()

"""What the folds of a cross-validation say of regressors: their errors, and which are the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import reach_of_parts
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.numerics.rankings import correlation_interval
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

FEWEST_DIFFERENCES = 6  # over folds, below which no signed-rank test is significant
LEVEL = 0.05
CONFIDENCE = 0.95
KEYS = ["target", "training", "regressor"]


def compared_regressors(folds: pd.DataFrame) -> pd.DataFrame:
    """One row per target, set of training items, and regressor: errors, and who is best."""
    import pandas as pd

    found = [
        _summary(dict(zip(KEYS, names, strict=True)), part)
        for names, part in folds.groupby(KEYS, sort=False)
    ]
    tables = pd.DataFrame(found).groupby(["target", "training"], sort=False)
    return pd.concat([_compared(part, folds) for _, part in tables], ignore_index=True)


def said_of_regressors(frame: pd.DataFrame, folds: pd.DataFrame) -> str:
    """Which regressor is best, how good it is, and which do not differ significantly."""
    best = frame[frame["best"]]
    if best.empty:
        return "In every target all items are equally hard: there is nothing to predict."
    top = best.iloc[int(best["spearman"].argmax())]
    own = folds[(folds[KEYS] == top[KEYS]).all(axis=1)]
    said = _said(top, surely=_error_ends(own, 1 - LEVEL / len(frame))[1] < 1)
    if len(best) == 1:
        said = f"{said}{_said_of_rivals(frame[~frame['best']])}."
        return said[0].upper() + said[1:] if top["nrmse"] >= 1 else said
    wins = best["regressor"].value_counts()
    lead = "the best ranking of items: " if top["nrmse"] < 1 else ""
    return (
        f"{wins.index[0]} has the smallest error in {wins.iloc[0]} of {len(best)} tables; "
        f"{lead}{said}."
    )


def _said(row: pd.Series[Any], *, surely: bool) -> str:
    """How large the least error is, whether it is surely below 1, and how well it ranks."""
    interval = f", 95 % interval {row['nrmse_low']:.2f} to {row['nrmse_high']:.2f}"
    if np.isnan(row["nrmse_low"]):
        interval = ""
    if not row["nrmse"] < 1:
        return (
            f"no regressor predicts {row['target']} better than its mean (the best, "
            f"{row['regressor']}: an error of {row['nrmse']:.2f} standard deviations{interval})"
        )
    verdict = "significantly better" if surely else "not significantly better"
    ends = f" ({interval.removeprefix(', ')})" if interval else ""
    return (
        f"{row['regressor']} predicts {row['target']} with an error of {row['nrmse']:.2f} standard "
        f"deviations{ends}, where always predicting the mean has about 1: {verdict}. "
        f"It ranks {counted(row['n'], 'item')} with a Spearman correlation of "
        f"{row['spearman']:.2f} ({row['spearman_low']:.2f} to {row['spearman_high']:.2f})"
    )


def _said_of_rivals(rivals: pd.DataFrame) -> str:
    """Who is not significantly worse than the best, or that folds are too few to say."""
    if not len(rivals):
        return ""
    if rivals["p"].isna().all():
        return "; folds are too few to say whether others are worse"
    near = rivals[~(rivals["p_adjusted"] < LEVEL)]["regressor"].tolist()
    return f"; not significantly worse: {listed(near, 'other')}" if near else ""


def _summary(names: dict[str, Any], part: pd.DataFrame) -> dict[str, Any]:
    once = part[part["repeat"] == 0]
    mean = float(part["spearman"].mean())
    low, high = correlation_interval(mean, float((once["n"] - 3).sum() + 3), ranks=True)
    ends = _error_ends(part, CONFIDENCE)
    return {
        **names,
        "n": int(once["n"].sum()),
        "nrmse": part["nrmse"].mean(),
        "nrmse_sd": part["nrmse"].std(),
        "nrmse_low": ends[0],
        "nrmse_high": ends[1],
        "spearman": mean,
        "spearman_low": low,
        "spearman_high": high,
    }


def _error_ends(part: pd.DataFrame, confidence: float) -> tuple[float, float]:
    """Interval of the mean error over folds, by the corrected resampled t-test.

    Folds share training items, so that errors are correlated, about as much as the share of items
    that a fold tests (Nadeau and Bengio, 2003). A fold whose items are equally hard has no error.
    """
    errors = part["nrmse"].dropna().to_numpy()
    if errors.size < 2:
        return np.nan, np.nan
    tested = 1 / part["fold"].nunique()
    shared = 1 / errors.size + tested / (1 - tested)
    reach = reach_of_parts(errors.size, confidence) * np.std(errors, ddof=1) * np.sqrt(shared)
    return max(float(errors.mean() - reach), 0.0), float(errors.mean() + reach)


def _compared(rows: pd.DataFrame, folds: pd.DataFrame) -> pd.DataFrame:
    """The rows of one table, with the best marked and all others compared with it."""
    if rows["nrmse"].isna().all():
        return rows.assign(p=np.nan, p_adjusted=np.nan, best=False)
    first = rows.iloc[0]
    part = folds[(folds["target"] == first["target"]) & (folds["training"] == first["training"])]
    errors = {name: own["nrmse"].to_numpy() for name, own in part.groupby("regressor")}
    best = rows["nrmse"].argmin()
    winner = rows["regressor"].iloc[best]
    p = np.array(
        [
            np.nan if name == winner else _signed_rank(errors[name] - errors[winner])
            for name in rows["regressor"]
        ]
    )
    return rows.assign(p=p, p_adjusted=benjamini_hochberg(p), best=np.arange(len(rows)) == best)


def _signed_rank(differences: Floats) -> float:
    from scipy.stats import wilcoxon

    there = differences[np.isfinite(differences) & (differences != 0)]
    if 0 < there.size < FEWEST_DIFFERENCES:
        return np.nan  # the test has no power
    return float(wilcoxon(there).pvalue) if there.size else 1.0

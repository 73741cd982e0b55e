"""Evaluate regressors of difficulty by cross-validation, for several targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import delayed
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from ogive._processes import heeded, one_by_one
from ogive._progress import Progress, telling
from ogive._validation import one_of, whole_number
from ogive.data.feature_columns import Plan, Rows
from ogive.difficulty.item_values import (
    columns_of_items,
    feature_rows,
    labels_of_items,
    values_of_items,
)
from ogive.difficulty.regressor import PRESETS, checked_name, pipeline_of, regressor_of, unwrapped
from ogive.difficulty.targets import PREDICTED, DifficultyTargets, equally_hard
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import reach_of_parts
from ogive.stats.metrics import correlation_interval, prediction_figures
from ogive.stats.multiplicity import benjamini_hochberg

__all__ = ["DifficultyEvaluation", "evaluate_difficulty"]

FEWEST_DIFFERENCES = 6  # over folds, below which no signed-rank test is significant
LEVEL = 0.05  # significance level of sentences
CONFIDENCE = 0.95
KEYS = ["target", "training", "regressor"]
ALL = "all items"
WITHOUT_NEGATIVE = "without negative"  # all items but those of negative discrimination
FEWEST = 4  # items in a test fold; with fewer, ranks say nothing
TOO_SMALL = "Folds share training items, so p-values are too small: take them as a guide."
RELATIVE = "error, in standard deviations of the target"  # label of an axis


def _summary_table(folds: pd.DataFrame) -> pd.DataFrame:
    """Return one row per target, set of training items, and regressor: errors, and who is best."""
    rows = []
    for names, part in folds.groupby(KEYS, sort=False):
        once = part[part["repeat"] == 0]
        mean = float(part["spearman"].mean())
        low, high = correlation_interval(mean, float((once["n"] - 3).sum() + 3), ranks=True)
        ends = _error_interval(part, CONFIDENCE)
        rows.append(
            {
                **dict(zip(KEYS, names, strict=True)),
                "n": int(once["n"].sum()),
                "nrmse": part["nrmse"].mean(),
                "nrmse_sd": part["nrmse"].std(),
                "nrmse_low": ends[0],
                "nrmse_high": ends[1],
                "spearman": mean,
                "spearman_low": low,
                "spearman_high": high,
            }
        )
    tables = pd.DataFrame(rows).groupby(["target", "training"], sort=False)
    return pd.concat([_compared(part, folds) for _, part in tables], ignore_index=True)


def _best_sentence(frame: pd.DataFrame, folds: pd.DataFrame) -> str:
    """Say which regressor is best, how good it is, and which do not differ significantly."""
    best = frame[frame["best"]]
    if best.empty:
        return "In every target all items are equally hard: there is nothing to predict."
    top = best.iloc[int(best["spearman"].argmax())]
    own = folds[(folds[KEYS] == top[KEYS]).all(axis=1)]
    surely = _error_interval(own, 1 - LEVEL / len(frame))[1] < 1
    text = _error_text(top, surely=surely)
    if len(best) > 1:
        wins = best["regressor"].value_counts()
        lead = "the best ranking of items: " if top["nrmse"] < 1 else ""
        return (
            f"{wins.index[0]} has the smallest error in {wins.iloc[0]} of {len(best)} tables; "
            f"{lead}{text}."
        )
    rivals = frame[~frame["best"]]
    near = rivals[~(rivals["p_adjusted"] < LEVEL)]["regressor"].tolist()
    if len(rivals) and rivals["p"].isna().all():
        text += "; folds are too few to say whether others are worse"
    elif near:
        text += f"; not significantly worse: {listed(near, 'other')}"
    return f"{text[0].upper()}{text[1:]}." if top["nrmse"] >= 1 else f"{text}."


def _error_text(row: pd.Series[Any], *, surely: bool) -> str:
    """Say how large the least error is, whether it is surely below 1, and how well it ranks."""
    interval = ""
    if not np.isnan(row["nrmse_low"]):
        interval = f"95 % interval {row['nrmse_low']:.2f} to {row['nrmse_high']:.2f}"
    if not row["nrmse"] < 1:
        return (
            f"no regressor predicts {row['target']} better than its mean (the best, "
            f"{row['regressor']}: an error of {row['nrmse']:.2f} standard deviations"
            f"{', ' if interval else ''}{interval})"
        )
    verdict = "significantly better" if surely else "not significantly better"
    return (
        f"{row['regressor']} predicts {row['target']} with an error of {row['nrmse']:.2f} standard "
        f"deviations{f' ({interval})' if interval else ''}, where always predicting the mean has "
        f"about 1: {verdict}. "
        f"It ranks {counted(row['n'], 'item')} with a Spearman correlation of "
        f"{row['spearman']:.2f} ({row['spearman_low']:.2f} to {row['spearman_high']:.2f})"
    )


def _error_interval(part: pd.DataFrame, confidence: float) -> tuple[float, float]:
    """Return the interval of the mean error over folds, by the corrected resampled t-test.

    Folds share training items, so that errors are correlated, about as much as the share of items
    that a fold tests (Nadeau and Bengio, 2003). A fold whose items are equally hard has no error.
    """
    errors = part["nrmse"].dropna().to_numpy()
    if errors.size < 2:
        return np.nan, np.nan
    tested = 1 / part["fold"].nunique()
    shared = 1 / errors.size + tested / (1 - tested)
    critical = reach_of_parts(errors.size, confidence)
    half_width = critical * np.std(errors, ddof=1) * np.sqrt(shared)
    return max(float(errors.mean() - half_width), 0.0), float(errors.mean() + half_width)


def _compared(rows: pd.DataFrame, folds: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one table, with the best marked and all others compared with it."""
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
    differences = differences[np.isfinite(differences) & (differences != 0)]
    if 0 < differences.size < FEWEST_DIFFERENCES:
        return np.nan  # the test has no power
    return float(wilcoxon(differences).pvalue) if differences.size else 1.0


@dataclass(frozen=True, eq=False, repr=False)
class DifficultyEvaluation(Result):
    """How well regressors predict the difficulty of held-out items.

    NRMSE is the root mean squared error divided by the standard deviation of the target, both in
    the test part of a fold: 1 is no better than the mean of these items, and 1 − NRMSE² is R².
    `nrmse` is the mean over folds, `nrmse_sd` the standard deviation, and `nrmse_low` and
    `nrmse_high` the ends of a 95 % interval, which counts that folds share training items (Nadeau
    and Bengio, 2003). `spearman` is the mean over folds of the rank correlation of predicted and
    true difficulty; its 95 % interval counts every item once, however often folds are resampled.

    `p` compares a regressor with the best one for the same target and training items, by Wilcoxon's
    signed-rank test over folds; `p_adjusted` corrects for multiple tests (Benjamini and Hochberg).
    Folds share training items, and the best is chosen on the same data, so both are too small: take
    them as a guide.
    """

    folds: pd.DataFrame  # one row per fold: target, training, regressor, repeat, ...
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """Which regressor is best, how good it is, and which do not differ significantly."""
        return _best_sentence(self.to_frame(), self.folds)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per target, set of training items, and regressor."""
        return _summary_table(self.folds)

    def table(self) -> pd.DataFrame:
        """Return a printable table: NRMSE ± standard deviation and Spearman for each regressor."""
        rows: dict[Any, dict[tuple[str, str], str]] = {}
        for names, part in self.to_frame().groupby(["target", "training"], sort=False):
            row = rows.setdefault(names, {})
            each: Any
            for each in part.itertuples():
                error = f"{each.nrmse:.2f} ± {each.nrmse_sd:.2f}"
                rank = f"{each.spearman:.2f}"
                row[each.regressor, "NRMSE"] = error if np.isfinite(each.nrmse) else "–"
                row[each.regressor, "Spearman"] = rank if np.isfinite(each.spearman) else "–"
        index = pd.MultiIndex.from_tuples(rows, names=["target", "training"])
        wide = pd.DataFrame(list(rows.values()), index=index)
        heads = list(next(iter(rows.values())))
        return wide.set_axis(pd.MultiIndex.from_tuples(heads, names=["regressor", None]), axis=1)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the regressors, and their errors by fold."""
        return {"regressors": self.to_frame(), "folds": self.folds}

    def figures(self) -> dict[str, Draw]:
        """Return errors, which say who is best, and rank correlations."""
        return {"errors": self.plot, "rank_correlation": partial(self.plot, "spearman")}

    def plot(self, kind: str = "nrmse", **kw: Any) -> Display:
        """Draw the errors, the smallest on top, or with "spearman" the rank correlations.

        Of several targets or sets of training items, errors are a heat map.
        """
        from ogive.results.plots.matrices import HeatMapDisplay
        from ogive.results.plots.rankings import RankingDisplay

        frame = self.to_frame()
        if not frame["best"].any():
            raise InputError(f"There is nothing to draw. {self.meaning}")
        one_of(kind, "kind", ("spearman", "nrmse"))
        parts = [name for name in ("target", "training") if len(frame[name].unique()) > 1]
        tables = [", ".join(row) for row in frame[parts].to_numpy()]
        if kind == "spearman":
            names = frame["regressor"] + [f" ({table})" if table else "" for table in tables]
            return RankingDisplay(frame.set_index(names), estimate="spearman", ends=True).plot(**kw)
        if parts:
            cells = {
                name: dict(zip(part["regressor"], part["nrmse"], strict=True))
                for name, part in frame.assign(row=tables).groupby("row", sort=False)
            }
            matrix = pd.DataFrame.from_dict(cells, orient="index")
            return HeatMapDisplay(matrix.rename_axis(columns="NRMSE by regressor")).plot(**kw)
        renamed = frame.set_index("regressor").rename(
            columns=lambda name: name.replace("nrmse", RELATIVE)
        )
        return RankingDisplay(renamed, estimate=RELATIVE, ends=True, better="lower").plot(**kw)


class _Job(NamedTuple):
    """One regressor, trained on some items and tested on others."""

    target: str
    training: str
    regressor: str
    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def evaluate_difficulty(
    X: Any,
    targets: Any,
    *,
    regressors: Sequence[str] | Mapping[str, Any] | None = None,
    cv: int = 5,
    n_resamples: int = 2,
    negative: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | bool = True,
) -> DifficultyEvaluation:
    """Evaluate regressors of difficulty by repeated cross-validation.

    `X` has one row per item: a frame, which may have categorical columns and missing values, or an
    array. `targets` is the result of `difficulty_targets`, each method being a target; or the
    difficulty of each item; or a frame with one column per target. Items without a finite value are
    left out; a target in which all items are equally hard has NaN. `regressors` are names of
    presets (all by default) or a mapping from names to presets or scikit-learn regressors; a
    DifficultyRegressor is evaluated by its inner regressor. `negative` marks items of negative
    discrimination: everything is then repeated with these left out of training, but not of the
    tests. By default it is taken from the result of `difficulty_targets`; `negative=False` turns
    this off. `progress` is True (a bar in a terminal or a notebook), False, or a callable of
    (fits done, fits in all, what was fitted).

    The frame has one row per target, training and regressor: n, nrmse, nrmse_sd, spearman with low
    and high, p, p_adjusted, best. `cv` folds are drawn `n_resamples` times; `random_state` is
    their seed, `n_jobs` the number of fits that run at once. After Martínez-Plumed et al. (2022).

    >>> import ogive as og
    >>> import numpy as np
    >>> hard = np.arange(40.0)
    >>> found = og.evaluate_difficulty(hard[:, None], hard, regressors=["stepwise"], n_resamples=1)
    >>> found.to_frame()[["regressor", "n"]].values.tolist()
    [['stepwise', 40]]
    """
    whole_number(cv, "cv", 2)
    whole_number(n_resamples, "n_resamples", 1)
    whole_number(random_state, "random_state", 0)
    if n_jobs not in (None, -1):
        whole_number(n_jobs, "n_jobs", 1)
    rows, plan, _ = feature_rows(X)
    values = columns_of_items(targets, rows, "targets")
    chosen = _chosen(regressors)
    keep = _kept(negative, targets, rows)
    splits = _splits(values, cv, n_resamples, random_state)
    jobs = [
        _Job(target, training, name, repeat, fold, train[kept[train]], test)
        for target, parts in splits.items()
        for training, kept in keep.items()
        for name in chosen
        for repeat, fold, train, test in parts
    ]
    if min(len(job.train) for job in jobs) < FEWEST:
        raise InputError(
            f"Without items of negative discrimination, fewer than {FEWEST} are left for training "
            f"in one of {cv} folds. Give negative=False."
        )
    calls = [
        delayed(_evaluated)(
            job, rows, plan, values[job.target], chosen[job.regressor], random_state
        )
        for job in jobs
    ]
    folds = []
    with (
        telling(progress, "Judging regressors") as report,
        closing(one_by_one(calls, n_jobs)) as scores,
    ):
        for job, figures in zip(jobs, scores, strict=True):
            folds.append((*job[:5], len(job.test), *figures))
            report(len(folds), len(jobs), f"{job.regressor} on {job.target}")
    columns = [*KEYS, "repeat", "fold", "n", "nrmse", "spearman"]
    result = DifficultyEvaluation(
        folds=pd.DataFrame(folds, columns=columns), notes=_notes(values, plan, keep)
    )
    tested = result.to_frame()["p"].notna().any()
    return replace(result, notes=(*result.notes, TOO_SMALL)) if tested else result


def _chosen(regressors: Any) -> dict[str, Any]:
    """Return regressors by name; of a DifficultyRegressor its own, as intervals do not count."""
    if regressors is None:
        regressors = tuple(PRESETS)
    if isinstance(regressors, str):
        regressors = (regressors,)
    if not isinstance(regressors, Mapping):
        regressors = {checked_name(str(name)): name for name in regressors}
    if not regressors:
        raise InputError(f"regressors is empty. Name at least one of: {', '.join(PRESETS)}.")
    chosen = {str(name): unwrapped(given) for name, given in regressors.items()}
    for given in chosen.values():
        regressor_of(given, FEWEST, 0)  # fail early
    return chosen


def _kept(negative: Any, targets: Any, rows: Rows) -> dict[str, NDArray[np.bool_]]:
    """Return the items to train on, by name of the set."""
    everything = {ALL: np.ones(len(rows), dtype=bool)}
    if negative is False or (negative is None and not isinstance(targets, DifficultyTargets)):
        return everything
    if negative is None:
        known = pd.Series(targets.negative.astype(np.float64), index=list(targets.items))
        mask = values_of_items(known, rows, "targets") == 1
        return {**everything, WITHOUT_NEGATIVE: ~mask} if mask.any() else everything
    mask = labels_of_items(negative, rows, "negative")
    if mask.dtype != bool:
        raise InputError(
            f"negative holds {mask.dtype}, but it should be True for items of negative "
            "discrimination and False for the others: items['discrimination'] < 0."
        )
    return {**everything, WITHOUT_NEGATIVE: ~mask}


def _splits(
    values: Mapping[str, Floats], cv: int, n_resamples: int, random_state: int
) -> dict[str, list[tuple[int, int, Any, Any]]]:
    """Return repeat, fold, training and test items, among those with a known target."""
    from sklearn.model_selection import KFold

    splits = {}
    for target, column in values.items():
        known = np.flatnonzero(np.isfinite(column))
        if len(known) < FEWEST * cv:
            raise InputError(
                f"The target '{target}' is known for {counted(len(known), 'item')}, but {cv} "
                f"folds need at least {FEWEST * cv}, {FEWEST} in each. Give more items, or fewer "
                "folds."
            )
        splits[target] = [
            (repeat, fold, known[train], known[test])
            for repeat in range(n_resamples)
            for fold, (train, test) in enumerate(
                KFold(cv, shuffle=True, random_state=random_state + repeat).split(known)
            )
        ]
    return splits


@heeded()
def _evaluated(
    job: _Job, rows: Rows, plan: Plan | None, value: Floats, regressor: Any, random_state: int
) -> tuple[float, float]:
    """Return NRMSE and Spearman on the test items."""
    from sklearn.utils import _safe_indexing

    model = pipeline_of(regressor, plan, value[job.train], random_state)
    model.fit(_safe_indexing(rows, job.train), value[job.train])
    predicted = np.asarray(model.predict(_safe_indexing(rows, job.test)), dtype=float).reshape(-1)
    figures = prediction_figures(predicted, value[job.test])
    return figures["nrmse"], figures["spearman"]


def _notes(
    values: Mapping[str, Floats], plan: Plan | None, keep: Mapping[str, NDArray[np.bool_]]
) -> tuple[str, ...]:
    notes = []
    for target, column in values.items():
        if lost := int(np.isnan(column).sum()):
            notes.append(f"{target}: left out (no finite value): {counted(lost, 'item')}.")
        if alike := equally_hard(column):
            notes.append(f"{target}: {alike}, {PREDICTED}.")
    if plan is not None and plan.left_out:
        notes.append(f"Features: {plan.losses}.")
    if WITHOUT_NEGATIVE in keep:
        negative = int((~keep[WITHOUT_NEGATIVE]).sum())
        notes.append(f"With negative discrimination: {counted(negative, 'item')}.")
    return tuple(notes)

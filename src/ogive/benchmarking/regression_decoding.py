"""Regressors on the test instances of data sets: which are hard to predict, and who does well.

A response is a score of the error, 1 / (1 + |error| / unit); the unit is the median error of always
predicting the median of the training part (`ogive.stats.metrics`). The models that
calibrate such scores are those of `ogive.irt.constrained_scales`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from ogive._files import PathLike
from ogive._progress import Progress
from ogive._validation import one_of
from ogive.benchmarking.decoder import frame_by_dataset, no_dataset_decoded, run_datasets
from ogive.benchmarking.decoding import hardest_sentence, score_table
from ogive.data.datasets.dataset import NUMBERS, Split, metadata
from ogive.data.datasets.load import load_datasets
from ogive.data.pools.pool import Answers, find_pool
from ogive.data.responses import Responses
from ogive.errors import InputError, OgiveError
from ogive.irt.calibration import Calibration
from ogive.irt.constrained_scales import calibrate_equal_slopes, find_error_model
from ogive.results.base import Draw, Result, stacked
from ogive.results.numbers import counted, listed, said_of_level, who_has
from ogive.results.plots.figure import Display
from ogive.stats.metrics import spearman
from ogive.stats.pairwise_tests import differences_over_units, first_places

__all__ = ["RegressionDecoding", "decode_regression"]

AGREED = 0.5  # correlation of ability and mean absolute error below which a note warns
FEW = 20  # regressors; with fewer, difficulties say little about instances


@dataclass(frozen=True, eq=False, repr=False)
class RegressionDecoding(Result):
    """How hard the instances of data sets are to predict, and which regressors do well.

    `calibrations` holds the items of each data set, by `model`, and `responses` the scores of all
    regressors; `regressors` has one row per data set and regressor: ability, mean score and mean
    absolute error, each with its standard error. `units` says by data set what an error of one unit
    is. `sources`, `metadata`, `failures` and `failed` are as in `BenchmarkDecoding`.
    """

    calibrations: Mapping[str, Calibration]
    responses: Mapping[str, Responses]
    regressors: pd.DataFrame
    units: Mapping[str, float]
    sources: pd.DataFrame
    metadata: pd.DataFrame
    failures: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    model: str = "continuous"
    notes: tuple[str, ...] = ()

    @cached_property
    def items(self) -> pd.DataFrame:
        """One row per instance: its data set, difficulty and mean score, with standard errors."""
        frames = {}
        for name, calibration in self.calibrations.items():
            scores = self.responses[name].values
            n = (~np.isnan(scores)).sum(axis=0)
            frames[name] = calibration.items[["difficulty", "difficulty_se"]].assign(
                score=np.nanmean(scores, axis=0),
                score_se=np.nanstd(scores, axis=0, ddof=1) / np.sqrt(n),
            )
        return stacked("dataset", frames)

    @cached_property
    def datasets(self) -> pd.DataFrame:
        """One row per data set: mean score and relative error of the regressors, and spread.

        `relative_error` is the geometric mean of errors in units, with a 95 % interval over
        instances; `spread` is the standard deviation of regressors in logarithms of errors, and
        `reliability` that of their means. All of it follows from the errors, whatever the model.
        """
        rows = []
        for name, responses in self.responses.items():
            calibration = calibrate_equal_slopes(responses)
            by_item = np.nanmean(responses.values, axis=0)
            n_items = by_item.size
            easiness = calibration.coords[:, 1]
            middle = float(easiness.mean())
            error = float(easiness.std(ddof=1) / np.sqrt(n_items))
            half_width = float(t.ppf(0.975, n_items - 1)) * error
            tau, sigma = float(calibration.coords[0, 0]), float(np.exp(calibration.coords[0, 2]))
            rows.append(
                {
                    "items": n_items,
                    "respondents": round(calibration.n_respondents),
                    "unit": self.units[name],
                    "score": float(by_item.mean()),
                    "score_se": float(by_item.std(ddof=1) / np.sqrt(n_items)),
                    "relative_error": float(np.exp(-middle)),
                    "relative_error_low": float(np.exp(-middle - half_width)),
                    "relative_error_high": float(np.exp(-middle + half_width)),
                    "spread": tau,
                    "spread_se": float(np.sqrt(calibration.uncertainty.covariances[0, 0, 0])),
                    "reliability": tau**2 / (tau**2 + sigma**2 / n_items),
                }
            )
        return pd.DataFrame(rows, index=pd.Index(self.calibrations, name="dataset"))

    def scores(self, column: str = "score") -> pd.DataFrame:
        """Return regressors × data sets, for a tournament: mean scores, or another column."""
        return score_table(self.regressors, column, self.calibrations)

    def to_frame(self) -> pd.DataFrame:
        """Return the data sets, the hardest first: by the mean score of the regressors."""
        return self.datasets.sort_values("score", kind="stable")

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return data sets, regressors, items, scores, and where the data come from."""
        tables = {
            "datasets": self.to_frame(),
            "regressors": self.regressors,
            "items": self.items,
            "scores": self.scores(),
        }
        more = {"sources": self.sources, "metadata": self.metadata}
        return tables | {name: frame for name, frame in more.items() if len(frame)}

    def figures(self) -> dict[str, Draw]:
        """Return the scores of the regressors on each data set."""
        return {f"{name}_scores": partial(self.plot, name) for name in self.calibrations}

    def banks(self) -> dict[str, Calibration]:
        """Return one item bank per data set."""
        return dict(self.calibrations)

    def plot(self, dataset: str | None = None, **kw: Any) -> Display:
        """Draw the mean scores of the regressors on a `dataset`, by default the hardest."""
        from ogive.results.plots.rankings import RankingDisplay

        name = str(self.to_frame().index[0]) if dataset is None else dataset
        one_of(name, "dataset", self.calibrations)
        rows = self.regressors[self.regressors["dataset"] == name].set_index("respondent")
        return RankingDisplay(rows, estimate="score", se="score_se").plot(**kw)

    @property
    def meaning(self) -> str:
        """Which data set is hardest to predict, and which regressor does best."""
        frame = self.to_frame()
        row = frame.iloc[0]
        error = (
            f"the typical error of its regressors is {float(row['relative_error']):.2f} "
            f"({float(row['relative_error_low']):.2f} to {float(row['relative_error_high']):.2f}) "
            "times the typical error of always predicting the median"
        )
        return f"{hardest_sentence(frame, 'score', error)} {self._strongest_sentence()}"

    def _strongest_sentence(self) -> str:
        """Say which regressor has the highest mean score, and which may be as good."""
        score = self.scores().dropna()
        if score.empty:
            return "No regressor has a score on every data set."
        mean = score.mean(axis=1)
        best = first_places(mean.to_numpy())
        first = [str(name) for name in score.index[best]]
        values, unit = score.to_numpy(dtype=float), "data set"
        if score.shape[1] == 1:
            table = self.responses[str(score.columns[0])]
            values, unit = table.select(respondents=list(score.index)).values, "instance"
        level = differences_over_units(values).level_with(int(best[0]))
        near = [name for name in score.index[level] if name not in first]
        also = said_of_level(near, f"paired t tests over {counted(values.shape[1], unit)}")
        return f"{who_has(first)} the highest mean score, {mean.max():.3f}{also}."


def decode_regression(
    datasets: Any,
    pool: Any = "regressors",
    *,
    model: str = "continuous",
    target: str | Mapping[str, str] | None = None,
    test_size: float = 0.3,
    max_test_size: int | None = 500,
    time_limit: float | None = None,
    folder: PathLike | None = None,
    cache: PathLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> RegressionDecoding:
    """Run a pool of regressors on the test part of each data set, and calibrate their errors.

    An error becomes the score 1 / (1 + |error| / unit). The unit is the median error of always
    predicting the median of the training part, so a score of 1/2 is an error of that size (the mean
    error, if more than half of the numbers are the same). Errors below a twentieth of the unit
    count as that, and those above twenty units as that. The scores are calibrated with equal
    slopes: with free ones the scale would measure how far predictions are drawn to the middle.

    The frame, also `datasets`, has one row per data set; `regressors` has one row per data set and
    regressor, `items` one per instance.

    Parameters
    ----------
    datasets
        Sources as `load_datasets` takes them; `target` names their columns of numbers.
    pool
        "regressors" (73 configurations of eight algorithms), or your own regressors, which get the
        columns as they are: see `run_pool`.
    model
        "continuous": ability is a mean logarithm of errors. "beta": scores are draws from beta
        distributions. "graded": grades from 0 to 4, fifths of all errors on a data set, so that
        only their order counts.
    test_size, max_test_size, time_limit, folder, cache, n_jobs, random_state, progress
        As in `decode_benchmark`.

    Examples
    --------
    >>> import ogive as og
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.dummy import DummyRegressor
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> pool = [LinearRegression(), DecisionTreeRegressor(max_depth=3), DummyRegressor()]
    >>> found = og.decode_regression(["sklearn:diabetes"], pool, progress=False)
    >>> found.scores()["diabetes"].idxmax()
    'LinearRegression()'
    """
    chosen, calibrated = find_pool(pool), find_error_model(model)
    loaded = load_datasets(datasets, target, kind=NUMBERS, cache=cache)
    if wrong := [one.name for one in loaded if one.kind != NUMBERS]:
        raise InputError(
            f"{listed(wrong, 'data set')} with classes, but regressors predict numbers. Use "
            "decode_benchmark for them."
        )
    calibrations: dict[str, Calibration] = {}
    responses: dict[str, Responses] = {}
    frames: dict[str, pd.DataFrame] = {}
    units: dict[str, float] = {}
    sources: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    failures: dict[str, str] = {}
    failed: dict[str, Mapping[str, str]] = {}
    runs = run_datasets(
        loaded,
        chosen,
        "Running regressors",
        test_size=test_size,
        max_test_size=max_test_size,
        folder=folder,
        progress=progress,
        cv=0,
        time_limit=time_limit,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    for split, source, answers in runs:
        name, own_notes = split.name, [*split.notes, *answers.notes]
        try:
            table = answers.responses(split.y_test)
            calibration = calibrated(table)
        except OgiveError as error:
            failures[name] = str(error)
            own_notes.insert(0, f"left out. {error}")
        else:
            calibrations[name], responses[name] = calibration, table
            units[name] = float(answers.unit or np.nan)
            sources[name] = {key: value for key, value in source.items() if key != "classes"}
            frames[name] = _estimates(split, answers, calibration, table)
            own_notes = [*_doubts(table, frames[name], calibration.notes), *own_notes]
        notes += [f"{name}: {note}" for note in own_notes]
        failed |= {name: answers.failures} if answers.failures else {}
    if not frames:
        raise no_dataset_decoded(failures)
    facts = {each.name: metadata(each) for each in loaded if each.name in calibrations}
    return RegressionDecoding(
        calibrations=calibrations,
        responses=responses,
        regressors=stacked("dataset", frames),
        units=units,
        sources=frame_by_dataset(sources),
        metadata=frame_by_dataset(facts),
        failures=failures,
        failed=failed,
        model=model,
        notes=tuple(notes),
    )


def _doubts(table: Responses, frame: pd.DataFrame, notes: tuple[str, ...]) -> list[str]:
    """Return the notes of a calibration, and reasons to doubt a data set."""
    doubts = list(notes)
    if table.n_respondents < FEW:
        few = (
            f"only {table.n_respondents} regressors, so the difficulty of an instance says as much "
            "about them as about it."
        )
        doubts.insert(0, few)
    agreement = float(spearman(frame["ability"].to_numpy(), -frame["mae"].to_numpy()))
    if not agreement >= AGREED:
        doubts.append(
            "abilities and mean absolute errors rank regressors differently "
            f"(Spearman {agreement:.2f}): a few instances with very large errors decide the mean, "
            "and ability follows typical errors. Look at both, or predict the logarithm of such "
            "numbers."
        )
    return doubts


def _estimates(
    split: Split, answers: Answers, calibration: Calibration, table: Responses
) -> pd.DataFrame:
    """Return ability, mean score and mean absolute error of each regressor on one data set."""
    row = {member: k for k, member in enumerate(answers.members)}
    rows = [row[member] for member in table.respondents]
    errors = np.abs(answers.predictions[rows] - split.y_test)
    scores, root = table.values, np.sqrt(errors.shape[1])
    frame = calibration.abilities()[["ability", "se"]].rename(columns={"se": "ability_se"})
    return frame.assign(
        score=scores.mean(axis=1),
        score_se=scores.std(axis=1, ddof=1) / root,
        mae=errors.mean(axis=1),
        mae_se=errors.std(axis=1, ddof=1) / root,
    )

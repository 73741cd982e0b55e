"""Compare regressors on one data set, and look at where in the range of numbers each one errs.

The confusion matrix of regressors: true and predicted numbers are cut into the same grades, at
quantiles of the training part. A pool of regressors calibrates the test instances by scores of
their errors, so that each cell shows how hard its instances are, and what a regressor of this
ability would be expected to score on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._files import PathLike
from ogive._progress import Progress
from ogive._validation import float_array, whole_number
from ogive.classifiers.classifier_comparison import (
    notes_of_runs,
    run_models,
    sort_models,
    successful_predictions,
)
from ogive.classifiers.predictions import mean_and_error
from ogive.data.datasets.dataset import NUMBERS, Split, split_dataset
from ogive.data.datasets.load import load_dataset
from ogive.data.names import row_name
from ogive.data.pools.pool import find_pool
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.constrained_scales import calibrate_equal_slopes
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, said_of_level, who_has, with_interval
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import error_scores
from ogive.stats.pairwise_tests import differences_over_units, first_places

__all__ = ["RegressorComparison", "compare_regressors"]


@dataclass(frozen=True, eq=False, repr=False)
class RegressorComparison(Result):
    """Regressors on one data set, and the instances in each cell of true and predicted grades.

    `calibration` holds the test instances as the pool calibrated them; `edges` are the numbers at
    which grades are cut. `failures` and `pool_failures` say which regressors failed, and why.
    """

    dataset: str
    source: str
    preprocessing: str
    calibration: Calibration
    models: tuple[str, ...]
    truth: Floats  # (n_items,)
    predictions: Floats  # (n_models, n_items)
    scores: Floats  # (n_models, n_items), of the errors
    ability: Floats  # (n_models,)
    ability_se: Floats
    edges: Floats
    unit: float
    failures: Mapping[str, str]
    pool_failures: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def grades(self) -> tuple[str, ...]:
        """Names of the grades, from small numbers to large ones."""
        first, last = f"below {self.edges[0]:.4g}", f"from {self.edges[-1]:.4g}"
        between = zip(self.edges[:-1], self.edges[1:], strict=True)
        return (first, *(f"{low:.4g} to {high:.4g}" for low, high in between), last)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per regressor, the highest mean score first.

        `bias` is the mean of predicted minus true numbers, and `same_grade` the share of instances
        whose prediction lies in the grade of the truth; all with standard errors over instances.
        """
        errors = self.predictions - self.truth
        same = (self._grade(self.predictions) == self._grade(self.truth)).astype(float)
        measures = {"score": self.scores, "mae": np.abs(errors), "bias": errors, "same_grade": same}
        columns: dict[str, Any] = {"ability": self.ability, "ability_se": self.ability_se}
        for name, values in measures.items():
            columns[name] = values.mean(axis=1)
            columns[f"{name}_se"] = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        frame = pd.DataFrame(columns, index=pd.Index(self.models, name="model"))
        return frame.sort_values("score", ascending=False, kind="stable")

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per regressor and cell that is not empty.

        `score` is the mean score there, `expected` what a regressor of this ability would be
        expected to score on these instances, `difficulty` their mean difficulty.
        """
        return pd.DataFrame([row for k in range(len(self.models)) for row in self._cells_of(k)])

    def _cells_of(self, k: int) -> Iterator[dict[str, Any]]:
        true, predicted = self._grade(self.truth), self._grade(self.predictions[k])
        coords, ability = self.calibration.coords, self.ability[k : k + 1]
        expected = self.calibration.model.expected(coords, ability)[:, 0]
        difficulty = self.calibration.items["difficulty"].to_numpy(dtype=float)
        errors = self.predictions[k] - self.truth
        for row, column in sorted(set(zip(true.tolist(), predicted.tolist(), strict=True))):
            inside = (true == row) & (predicted == column)
            score, score_se = mean_and_error(self.scores[k, inside])
            bias, bias_se = mean_and_error(errors[inside])
            yield {
                "model": self.models[k],
                "true": self.grades[row],
                "predicted": self.grades[column],
                "count": int(inside.sum()),
                "score": score,
                "score_se": score_se,
                "expected": float(expected[inside].mean()),
                "bias": bias,
                "bias_se": bias_se,
                "difficulty": float(difficulty[inside].mean()),
            }

    def _grade(self, numbers: Floats) -> NDArray[np.intp]:
        return np.searchsorted(self.edges, numbers, side="right")

    @property
    def items(self) -> pd.DataFrame:
        """One row per instance: its number, grade and parameters."""
        frame = self.calibration.items
        frame.insert(0, "number", self.truth)
        frame.insert(1, "grade", np.array(self.grades, dtype=object)[self._grade(self.truth)])
        return frame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return models, cells and items."""
        return {"models": self.to_frame(), "cells": self.cells, "items": self.items}

    def figures(self) -> dict[str, Draw]:
        """Return the mean scores."""
        return {"scores": self.plot}

    def banks(self) -> dict[str, Calibration]:
        """Return the item bank."""
        return {self.dataset: self.calibration}

    def plot(self, **kw: Any) -> Display:
        """Draw the mean scores of the regressors."""
        from ogive.results.plots.rankings import RankingDisplay

        return RankingDisplay(self.to_frame(), estimate="score", se="score_se").plot(**kw)

    @property
    def meaning(self) -> str:
        """Who has the highest mean score, who may be as good, and where the best one errs most."""
        frame = self.to_frame()
        first, row = str(frame.index[0]), frame.iloc[0]
        tied = [str(frame.index[k]) for k in first_places(frame["score"].to_numpy())]
        level = differences_over_units(self.scores).level_with(self.models.index(first))
        near = [self.models[k] for k in np.flatnonzero(level) if self.models[k] not in tied]
        return (
            f"On {counted(self.truth.size, 'instance')}, {who_has(tied)} the highest mean score, "
            f"{row['score']:.3f}{said_of_level(near, 'paired t tests over them')}. The mean "
            f"absolute error of {first} is "
            f"{with_interval(row['mae'], 1.96 * row['mae_se'], 0.0)}, and "
            f"{row['same_grade']:.0%} of its predictions lie in the grade of the truth."
        )


def compare_regressors(
    dataset: Any,
    models: Any,
    pool: Any = "regressors",
    *,
    target: str | None = None,
    bins: int = 3,
    test_size: float = 0.3,
    max_test_size: int | None = None,
    time_limit: float | None = None,
    folder: PathLike | None = None,
    cache: PathLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> RegressorComparison:
    """Split a data set, calibrate its test part with a pool, and compare regressors on it.

    What `compare_classifiers` is to classes: true and predicted numbers are cut into the same
    grades, and each cell of true and predicted grade tells how hard its instances are and how well
    each regressor does there. The response is the score of an error; see `decode_regression`. The
    frame has one row per regressor.

    Parameters
    ----------
    dataset
        As `load_dataset` takes it; `target` names the column of numbers.
    models
        The regressors to compare, as in `compare_classifiers`: a list, a mapping from names to
        regressors, fitted or not, or to predictions of the test part, or the name of a pool.
    pool
        The regressors that calibrate.
    bins
        Number of grades, cut at quantiles of the training part.
    test_size, max_test_size, time_limit, folder, cache, n_jobs, random_state, progress
        As in `compare_classifiers`.

    Examples
    --------
    >>> import ogive as og
    >>> from sklearn.dummy import DummyRegressor
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> models = {"linear": LinearRegression(), "mean": DummyRegressor()}
    >>> pool = {"ridge": Ridge(), "stiff": Ridge(1000), "median": DummyRegressor(strategy="median")}
    >>> found = og.compare_regressors("sklearn:diabetes", models, pool, progress=False)
    >>> found.to_frame().index.tolist()
    ['linear', 'mean']
    >>> int(found.cells.groupby("model")["count"].sum()["mean"])
    133
    """
    if models is None:
        raise InputError("models is None. Give the regressors to compare, such as 'regressors'.")
    bins = whole_number(bins, "bins", 2)
    loaded = load_dataset(dataset, target, kind=NUMBERS, cache=cache)
    if loaded.kind != NUMBERS:
        raise InputError(
            f"'{loaded.name}' has classes to predict, but regressors predict numbers. Use "
            "compare_classifiers for it."
        )
    split = split_dataset(
        loaded, test_size=test_size, max_test_size=max_test_size, random_state=random_state
    )
    edges = np.unique(np.quantile(split.y_train, np.arange(1, bins) / bins))
    calibrating, (chosen, elsewhere) = find_pool(pool), sort_models(models, loaded, split)
    given = {name: _given_numbers(name, values, split) for name, values in elsewhere.items()}
    pool_run, model_run, preparation = run_models(
        split,
        calibrating,
        chosen,
        "Running regressors",
        folder=folder,
        progress=progress,
        time_limit=time_limit,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    predicted = successful_predictions(model_run, given)
    predictions = np.stack(list(predicted.values()))
    calibration = calibrate_equal_slopes(pool_run.responses(split.y_test))
    unit = float(pool_run.unit or np.nan)
    scores = error_scores(predictions - split.y_test, unit)
    responses = Responses(scores, list(predicted), list(pool_run.items), "continuous")
    abilities = calibration.score(responses)
    return RegressorComparison(
        dataset=loaded.name,
        source=loaded.source,
        preprocessing=preparation,
        calibration=calibration,
        models=tuple(predicted),
        truth=np.asarray(split.y_test, dtype=float),
        predictions=predictions,
        scores=scores,
        ability=abilities["ability"].to_numpy(),
        ability_se=abilities["se"].to_numpy(),
        edges=edges,
        unit=unit,
        failures={} if model_run is None else model_run.failures,
        pool_failures=pool_run.failures,
        notes=(*split.notes, *notes_of_runs(pool_run, model_run), *calibration.notes),
    )


def _given_numbers(name: str, given: Any, split: Split) -> Floats:
    """Return predictions of the test part that were made elsewhere, in its order."""
    names = [row_name(k) for k in split.test]
    index = getattr(given, "index", None)
    if index is not None and not callable(index) and set(map(str, index)) == set(names):
        given = given.rename(index=str).loc[names]
    numbers: Floats = float_array(given, f"The predictions of '{name:.60}'")
    if numbers.shape != (len(names),):
        raise InputError(
            f"'{name:.60}' predicts an array of shape {numbers.shape}, but the test part has "
            f"{counted(len(names), 'instance')}. Give one number for each."
        )
    if not np.isfinite(numbers).all():
        first = names[int(np.flatnonzero(~np.isfinite(numbers))[0])]
        raise InputError(f"'{name:.60}' has no finite number for {first}.")
    return numbers

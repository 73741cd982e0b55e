"""Compare regressors on one data set, and look at where in the range of numbers each one errs.

The confusion matrix of regressors: true and predicted numbers are cut into the same grades, at
quantiles of the training part. A pool of regressors calibrates the test instances by scores of
their errors, so that each cell tells how hard its instances are, and what a regressor of this
ability would be expected to score on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ogive._files import PathLike
from ogive._progress import Progress, telling
from ogive.classifiers.classifier_comparison import sorted_models
from ogive.data.datasets.dataset import NUMBERS, Split, split_dataset
from ogive.data.datasets.load import load_dataset
from ogive.data.names import row_name
from ogive.data.pools.pool import Answers, find_pool
from ogive.data.pools.runner import CombinedProgress, run_pool
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.constrained_scales import calibrate_equal_slopes
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, said_of_level, who_has, with_interval
from ogive.results.plots import DISPLAYS
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
        same = (self._graded(self.predictions) == self._graded(self.truth)).astype(float)
        columns: dict[str, Any] = {"ability": self.ability, "ability_se": self.ability_se}
        for name, values in {
            "score": self.scores,
            "mae": np.abs(errors),
            "bias": errors,
            "same_grade": same,
        }.items():
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
        true, guessed = self._graded(self.truth), self._graded(self.predictions[k])
        coords, ability = self.calibration.coords, self.ability[k : k + 1]
        expected = self.calibration.model.expected(coords, ability)[:, 0]
        hard = self.calibration.items["difficulty"].to_numpy(dtype=float)
        errors = self.predictions[k] - self.truth
        for row, column in sorted(set(zip(true.tolist(), guessed.tolist(), strict=True))):
            inside = (true == row) & (guessed == column)
            score, score_se = _mean(self.scores[k, inside])
            bias, bias_se = _mean(errors[inside])
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
                "difficulty": float(hard[inside].mean()),
            }

    def _graded(self, numbers: Floats) -> np.ndarray:
        return np.searchsorted(self.edges, numbers, side="right")

    @property
    def items(self) -> pd.DataFrame:
        """One row per instance: its number, grade and parameters."""
        frame = self.calibration.items
        frame.insert(0, "number", self.truth)
        frame.insert(1, "grade", np.array(self.grades, dtype=object)[self._graded(self.truth)])
        return frame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return models, cells and items."""
        return {"models": self.to_frame(), "cells": self.cells, "items": self.items}

    def figures(self) -> dict[str, Draw]:
        """Return the mean scores."""
        return {"scores": partial(self.plot)}

    def banks(self) -> dict[str, Calibration]:
        """Return the item bank."""
        return {self.dataset: self.calibration}

    def plot(self, **kw: Any) -> Display:
        """Draw the mean scores of the regressors."""
        make: Any = DISPLAYS["ranking"]
        display: Display = make(self.to_frame(), estimate="score", se="score_se")
        return display.plot(**kw)

    @property
    def meaning(self) -> str:
        """Who has the highest mean score, who may be as good, and where the best one errs most."""
        frame = self.to_frame()
        first = str(frame.index[0])
        k = self.models.index(first)
        tied = [str(frame.index[j]) for j in first_places(frame["score"].to_numpy())]
        level = np.array(self.models)[differences_over_units(self.scores).level_with(k)].tolist()
        near = [name for name in level if name not in tied]
        instances = counted(self.truth.size, "instance")
        also = said_of_level(near, "paired t tests over them")
        row = frame.iloc[0]
        return (
            f"On {instances}, {who_has(tied)} the highest mean score, "
            f"{row['score']:.3f}{also}. The mean absolute error of {first} is "
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
    if not isinstance(bins, int | np.integer) or bins < 2:
        raise InputError(f"bins is {bins!r}, but it should be 2 or more: the number of grades.")
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
    calibrating, (chosen, elsewhere) = find_pool(pool), sorted_models(models, loaded, split)
    given = {name: _numbers(name, one, split) for name, one in elsewhere.items()}
    pools = [calibrating, *([chosen] if chosen else [])]
    preparation = "; ".join(dict.fromkeys(one.preparation(split) for one in pools))
    with telling(progress, "Running regressors") as tell:
        combined = CombinedProgress(sum(len(one.members) for one in pools), tell)
        told, *found = (
            run_pool(
                split,
                one,
                folder=None if folder is None else Path(folder) / name,
                cv=0,
                time_limit=time_limit,
                n_jobs=n_jobs,
                random_state=random_state,
                progress=combined.of(name, len(one.members)),
            )
            for one, name in zip(pools, ("pool", "models"), strict=False)
        )
    guesses = _guesses(found[0] if found else None, given)
    calibration = calibrate_equal_slopes(told.responses(split.y_test))
    unit = float(told.unit or np.nan)
    scores = error_scores(np.stack(list(guesses.values())) - split.y_test, unit)
    answered = Responses(scores, list(guesses), list(told.items), "continuous")
    placed = calibration.score(answered)
    return RegressorComparison(
        dataset=loaded.name,
        source=loaded.source,
        preprocessing=preparation,
        calibration=calibration,
        models=tuple(guesses),
        truth=np.asarray(split.y_test, dtype=float),
        predictions=np.stack(list(guesses.values())),
        scores=scores,
        ability=placed["ability"].to_numpy(),
        ability_se=placed["se"].to_numpy(),
        edges=edges,
        unit=unit,
        failures=found[0].failures if found else {},
        pool_failures=told.failures,
        notes=(
            *split.notes,
            *(f"Pool: {note}" for note in told.notes),
            *(f"Models: {note}" for note in (found[0].notes if found else ())),
            *calibration.notes,
        ),
    )


def _guesses(answers: Answers | None, given: dict[str, Floats]) -> dict[str, Floats]:
    """Return predicted numbers of the regressors that did not fail, and those made elsewhere."""
    found: dict[str, Floats] = {}
    if answers is not None:
        pairs = zip(answers.members, answers.predictions, strict=True)
        found = {name: numbers for name, numbers in pairs if name not in answers.failures}
    if not found and not given:
        assert answers is not None  # noqa: S101 - one of the two was given
        name, reason = next(iter(answers.failures.items()))
        raise InputError(f"All models failed, so there is nothing to compare. '{name}': {reason}")
    return {**found, **given}


def _numbers(name: str, given: Any, split: Split) -> Floats:
    """Return predictions of the test part that were made elsewhere, in its order."""
    names = [row_name(k) for k in split.test]
    index = getattr(given, "index", None)
    if index is not None and not callable(index) and set(map(str, index)) == set(names):
        given = given.rename(index=str).loc[names]
    try:
        numbers = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"Predictions of '{name:.60}' should be numbers, but {str(error)[:100]}."
        ) from error
    if numbers.shape != (len(names),):
        raise InputError(
            f"'{name:.60}' predicts an array of shape {numbers.shape}, but the test part has "
            f"{counted(len(names), 'instance')}. Give one number for each."
        )
    if not np.isfinite(numbers).all():
        first = names[int(np.flatnonzero(~np.isfinite(numbers))[0])]
        raise InputError(f"'{name:.60}' has no finite number for {first}.")
    return numbers


def _mean(values: Floats) -> tuple[float, float]:
    """Return the mean, and its standard error: NaN for one value."""
    error = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")
    return float(values.mean()), error

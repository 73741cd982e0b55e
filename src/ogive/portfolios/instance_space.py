"""Problems in a plane of their features: which are hard, and who leads there.

An instance space (Smith-Miles and Muñoz, 2023) is a two-dimensional view of the features of
problems in which performances change along straight lines as far as possible. Here the directions
are those of partial least squares: they covary most with the performances of all algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from ogive.data.datasets.aslib import AslibScenario
from ogive.data.feature_columns import is_frame
from ogive.data.foreign_frames import as_pandas
from ogive.errors import InputError
from ogive.portfolios.airt import Portfolio, portfolio
from ogive.portfolios.performances import Performances, worst_where_missing
from ogive.results.base import Result
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["InstanceSpace", "instance_space"]


FOLDS = 10
FEWEST_FEATURES = 2
SEVERAL = "several"  # leader of a problem with more than one best algorithm
STRONGEST = 3  # features that are named for each direction


def feature_rows(performance: Any, X: Any, table: Performances) -> Any:
    """Return features in the order of the table; by name if both have names."""
    if X is None and isinstance(performance, AslibScenario):
        X = performance.features
    if X is None:
        raise InputError(
            "There are no features. Give one row per problem as X, or a scenario of read_aslib "
            "that has features."
        )
    X = as_pandas(X)
    given = _names_of_problems(performance)
    wanted = list(table.modelled.index)
    if is_frame(X) and hasattr(getattr(performance, "performance", performance), "iloc"):
        named = X.set_axis([str(name) for name in X.index], axis=0)
        lacking = [name for name in wanted if name not in named.index]
        if lacking:
            raise InputError(
                f"There are no features for {listed(lacking, 'problem')}. Features are "
                "matched with runs by the names of problems (the index, or the first column of a "
                "file): give them the same names in both."
            )
        if named.index.has_duplicates:
            raise InputError("X names a problem more than once. Give one row per problem.")
        return named.loc[wanted]
    rows: Any = X if is_frame(X) else np.asarray(X)
    if np.ndim(rows) != 2 or len(rows) != len(given):
        raise InputError(
            f"X has shape {np.shape(rows)}, but there are {counted(len(given), 'problem')}. "
            "Give one row per problem and one column per feature."
        )
    row_of = {name: row for row, name in enumerate(given)}
    kept = [row_of[name] for name in wanted]  # problems without any run are left out
    return rows.iloc[kept] if is_frame(rows) else rows[kept]


def _names_of_problems(performance: Any) -> list[str]:
    table = getattr(performance, "performance", performance)
    names = getattr(table, "respondents", None)
    if names is None:
        names = getattr(table, "index", None)
    if names is None or callable(names):
        return [f"problem_{k + 1}" for k in range(len(table))]
    return [str(name) for name in names]


@dataclass(frozen=True, eq=False, repr=False)
class InstanceSpace(Result):
    """A plane of the features of problems, with how hard each problem is and who leads there."""

    frame: pd.DataFrame  # index problem: x, y, difficulty, difficulty_se, leader
    loadings: pd.DataFrame  # index feature: x, y; correlation with each direction
    explained: float  # share of the variation of performance, on problems that were left out
    explained_se: float
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """How much the plane says of performance, and which features it is made of."""
        half_width = 1.96 * self.explained_se
        low, high = self.explained - half_width, min(self.explained + half_width, 1.0)
        share = f"{self.explained:.0%} ({low:.0%} to {high:.0%})"
        if low <= 0:
            finding = f"do not surely predict performance on problems that were left out ({share})"
        else:
            finding = (
                f"predict {share} of the variation of performance on problems that were left out"
            )
        along = [
            f"{', '.join(map(str, self.loadings[axis].abs().nlargest(STRONGEST).index))} ({words})"
            for axis, words in (("x", "across"), ("y", "up"))
        ]
        count = counted(len(self.loadings), "feature")
        return f"Two directions in {count} {finding}. They go most with {' and '.join(along)}."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per problem: place, difficulty and the algorithm that does best."""
        return self.frame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the problems, and how each feature goes with the two directions."""
        return {"instance_space": self.frame, "feature_loadings": self.loadings}

    def plot(self, **kw: Any) -> Display:
        """Return problems in the plane, coloured by difficulty and by who leads."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS["instance_space"](self.frame).plot(**kw)


def instance_space(performance: Any, X: Any = None, **settings: Any) -> InstanceSpace:
    """Place problems in a plane of their features, with difficulty and who leads.

    `performance` is a `Portfolio`, or what `portfolio` takes, with its arguments as `settings`. `X`
    holds features, one row per problem; a scenario of `read_aslib` has its own. Features are
    replaced by their ranks (a missing one by the middle), so that few large values do not fill the
    plane. Text is ignored.

    The two directions are those of partial least squares, which covary most with the performances
    of all algorithms, as ranks. `explained` is the share of the variation of these that they
    predict for problems that were left out, in ten folds. The frame has one row per problem: x, y,
    difficulty, difficulty_se and leader, the algorithm with the best run, or "several".

    >>> import ogive as og
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> features = random.normal(size=(80, 4))
    >>> accuracy = 1 / (1 + np.exp(features[:, :1] * [2.0, 0.5, 1.0] + [-1.0, 0.0, 1.5]))
    >>> noise = random.normal(0, 0.01, (80, 3))
    >>> found = og.instance_space((accuracy + noise).clip(0, 1), features)
    >>> bool(found.explained > 0.9)
    True
    """
    if isinstance(performance, Portfolio):
        if settings:
            raise InputError(
                f"{', '.join(settings)} cannot be given: a Portfolio has its own settings."
            )
        fitted = performance
    else:
        fitted = portfolio(performance, **settings)
    rows, names = _ranked(feature_rows(_with_names(performance, X), X, fitted.performances))
    target = _target(fitted.performances)
    points = _fit(rows, target).transform(rows)
    explained, error = _explained(rows, target)
    problems = fitted.problems
    columns = {
        "x": points[:, 0],
        "y": points[:, 1],
        "difficulty": problems["difficulty"],
        "difficulty_se": problems["difficulty_se"],
        "leader": problems["best_algorithm"].where(problems["shared_by"] == 1, SEVERAL),
    }
    both = np.corrcoef(rows.T, points.T)[: rows.shape[1], rows.shape[1] :]
    return InstanceSpace(
        frame=pd.DataFrame(columns, index=problems.index),
        loadings=pd.DataFrame(both, index=pd.Index(names, name="feature"), columns=["x", "y"]),
        explained=explained,
        explained_se=error,
        notes=fitted.notes,
    )


def _with_names(performance: Any, X: Any) -> Any:
    """Return what names the problems; of a portfolio its table, as an array if `X` names others."""
    if not isinstance(performance, Portfolio):
        return performance
    table = performance.performances.given
    known = is_frame(X) and table.index.isin(X.index.map(str)).any()
    return table if known else table.to_numpy()


def _ranked(features: Any) -> tuple[Floats, list[str]]:
    """Return numeric features as ranks from -1 to 1, without those that do not vary."""
    frame = pd.DataFrame(features)
    numbers = frame.select_dtypes("number").astype(float).replace([np.inf, -np.inf], np.nan)
    ranks = 2 * (numbers.rank() - 0.5) / numbers.notna().sum() - 1
    varied = numbers.columns[(numbers.max() > numbers.min()).to_numpy()]
    if len(varied) < FEWEST_FEATURES:
        raise InputError(
            f"{counted(len(varied), 'feature')} of numbers that vary, but a plane needs at least "
            f"{FEWEST_FEATURES}."
        )
    return ranks[varied].fillna(0.0).to_numpy(), [str(name) for name in varied]


def _target(table: Performances) -> Floats:
    """Return ranks of the performances of each algorithm in units of their spread."""
    cells = rankdata(worst_where_missing(table.cells), axis=0)
    spread = cells.std(axis=0)
    return np.asarray((cells - cells.mean(axis=0))[:, spread > 0] / spread[spread > 0])


def _fit(rows: Floats, target: Floats) -> Any:
    from sklearn.cross_decomposition import PLSRegression

    return PLSRegression(2, scale=True).fit(rows, target)


def _explained(rows: Floats, target: Floats) -> tuple[float, float]:
    """Return share of the variation predicted out of fold; its error by leaving out folds."""
    parts = np.random.default_rng(0).permutation(len(rows)) % min(FOLDS, len(rows))
    residual, total = np.zeros(parts.max() + 1), np.zeros(parts.max() + 1)
    for part in np.unique(parts):
        train, test = parts != part, parts == part
        varied = rows[train].std(axis=0) > 0
        model = _fit(rows[train][:, varied], target[train])
        predicted = model.predict(rows[test][:, varied]).reshape(target[test].shape)
        residual[part] = np.sum((target[test] - predicted) ** 2)
        total[part] = np.sum((target[test] - target[train].mean(axis=0)) ** 2)
    without = 1 - (residual.sum() - residual) / (total.sum() - total)
    count = len(residual)
    error = np.sqrt(np.sum((without - without.mean()) ** 2) * (count - 1) / count)
    return float(1 - residual.sum() / total.sum()), float(error)

"""How much is gained by choosing algorithms from the features of problems.

The measure is that of ASlib (Bischl et al., 2016): the share of the gap between the single best
algorithm and the virtual best that is closed, under the folds of the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._processes import heeded, one_by_one
from ogive._validation import whole_number
from ogive.data.datasets.aslib import AslibScenario
from ogive.data.datasets.aslib_description import Better
from ogive.data.foreign_frames import with_row_names
from ogive.difficulty.regressor import FEWEST
from ogive.errors import InputError
from ogive.portfolios.instance_space import feature_rows
from ogive.portfolios.performances import (
    Performances,
    as_performances,
    checked_penalty,
    fair_means,
    worst_where_missing,
)
from ogive.portfolios.portfolio_gaps import SINGLE, folds_of_problems
from ogive.portfolios.selector import AlgorithmSelector
from ogive.portfolios.selector_forests import PENALTY, Costs, Presolver, checked_costs
from ogive.portfolios.selector_forests import SINGLE as NEVER_CHOOSING
from ogive.results.base import Result
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import reach_of_parts
from ogive.stats.pairwise_tests import differences_by_errors

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["AlgorithmSelector", "SelectorEvaluation", "evaluate_selectors"]


FEWEST_TO_CHOOSE = 2  # algorithms
VIRTUAL = "virtual best"
REFERENCES = (VIRTUAL, SINGLE)


@dataclass(frozen=True, eq=False, repr=False)
class SelectorEvaluation(Result):
    """How well selectors choose algorithms for problems they have not seen.

    The closed gap is (single best − selector) / (single best − virtual best), in mean performance
    over all problems: 0 is no better than always running the algorithm that is best on the training
    problems, 1 is a perfect choice for every problem, and below 0 choosing does harm. Standard
    errors are jackknifed over folds; 95 % intervals are Student's t over folds, and end at 1. The
    time of computing features is charged where it is known.
    """

    achieved: pd.DataFrame  # problems x selectors: performance of the chosen algorithm
    choices: pd.DataFrame  # problems x selectors: the chosen algorithm; no virtual best
    folds: pd.Series  # of each problem
    better: Better
    limit: float | None  # what an unsolved run counts as
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per selector: performance, closed gap, share solved, algorithms used."""
        names = list(self.achieved.columns)
        frame = pd.DataFrame(index=pd.Index(names, name="selector"))
        whole, lost = np.ones(len(self.achieved)), {name: self._lost(name) for name in names}
        span = lost[SINGLE] - lost[VIRTUAL]
        frame[["performance", "performance_se"]] = [
            self._ratio(self.achieved[name].to_numpy(), whole) for name in names
        ]
        frame[["closed_gap", "closed_gap_se"]] = [
            self._ratio(lost[SINGLE] - lost[name], span) for name in names
        ]
        half_width = reach_of_parts(self.folds.nunique()) * frame["closed_gap_se"]
        frame["closed_gap_low"] = frame["closed_gap"] - half_width
        frame["closed_gap_high"] = (frame["closed_gap"] + half_width).clip(upper=1.0)
        if self.limit is not None:
            frame["solved"] = (self.achieved < self.limit).mean()
        used = [self.choices[name].nunique() if name in self.choices else np.nan for name in names]
        frame["algorithms"] = used
        frame["algorithms"] = frame["algorithms"].astype("Int64")
        return frame

    def difference(self, one: str, other: str) -> tuple[float, float]:
        """Return difference of the closed gaps of two selectors, and its standard error."""
        for name in (one, other):
            if name not in self.achieved:
                known = ", ".join(map(repr, self.achieved.columns))
                raise InputError(f"There is no selector {name!r}. There are {known}.")
        span = self._lost(SINGLE) - self._lost(VIRTUAL)
        return self._ratio(self._lost(other) - self._lost(one), span)

    def _lost(self, name: str) -> Floats:
        values: Floats = self.achieved[name].to_numpy(dtype=float)
        return values if self.better == "lower" else -values

    def _ratio(self, above: Floats, below: Floats) -> tuple[float, float]:
        """Return ratio of two sums over problems, and its standard error by leaving out each fold.

        The error is NaN if one fold holds the whole denominator.
        """
        codes = np.unique(self.folds.to_numpy(), return_inverse=True)[1]
        tops, bottoms = np.bincount(codes, above), np.bincount(codes, below)
        rest_top, rest_bottom = tops.sum() - tops, bottoms.sum() - bottoms
        if not bottoms.sum():
            return np.nan, np.nan
        ratio = float(tops.sum() / bottoms.sum())
        if not rest_bottom.all():
            return ratio, np.nan
        without = rest_top / rest_bottom
        spread = np.sum((without - without.mean()) ** 2) * (len(tops) - 1) / len(tops)
        return ratio, float(np.sqrt(spread))

    @property
    def meaning(self) -> str:
        """Which selector closes most of the gap, with its uncertainty."""
        rows = self.to_frame().drop(index=list(REFERENCES))
        if rows["closed_gap"].isna().all():
            return (
                "The single best algorithm is best on every problem: a selector can gain nothing."
            )
        rows = rows.sort_values("closed_gap", ascending=False, kind="stable")
        best, gap, error = rows.index[0], *rows[["closed_gap", "closed_gap_se"]].iloc[0]
        low, high = rows[["closed_gap_low", "closed_gap_high"]].iloc[0]
        sure = "" if np.isnan(error) else f" ({low:.0%} to {high:.0%})"
        text = (
            f"The selector '{best}' closes {gap:.0%}{sure} of the gap between the single best "
            "algorithm and a perfect choice for every problem"
        )
        if np.isnan(error):
            text += ", but all of the gap lies in one fold, so the uncertainty is unknown"
        level = self._level_with(str(best), [*rows.index, SINGLE])
        if not np.isnan(error) and level[-1]:
            text += ": not a significant gain over always running the single best"
        if len(rows) == 1:
            return f"{text}."
        tied = ", not significantly less" if level[1] else ""
        return f"{text}; next is '{rows.index[1]}' with {rows['closed_gap'].iloc[1]:.0%}{tied}."

    def _level_with(self, best: str, names: list[str]) -> NDArray[np.bool_]:
        """Return which of `names`, of which `best` was chosen, close not significantly less."""
        pairs = [self.difference(one, other) for one, other in combinations(names, 2)]
        diff, error = np.array(pairs, dtype=float).T
        tests = differences_by_errors(len(names), diff, error, self.folds.nunique() - 1.0)
        return tests.level_with(names.index(best))

    def plot(self, **kw: Any) -> Display:
        """Draw the closed gap of each selector: 0 is the single best, 1 the virtual best."""
        from ogive.results.plots.rankings import RankingDisplay

        ends = {f"closed_gap{end}": f"closed gap{end}" for end in ("", "_low", "_high")}
        frame = self.to_frame().rename(columns=ends)
        if frame["closed gap"].isna().all():
            raise InputError(f"There is nothing to draw. {self.meaning}")
        return RankingDisplay(frame, estimate="closed gap", ends=True).plot(**kw)


def evaluate_selectors(
    performance: Any,
    X: Any = None,
    *,
    selectors: Mapping[str, Any] | None = None,
    cv: int | pd.Series | None = None,
    better: Better | None = None,
    cutoff: float | None = None,
    penalty: float = PENALTY,
    feature_costs: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> SelectorEvaluation:
    """Measure how much of the gap from the single best algorithm to a perfect choice is closed.

    `performance` is what `read_aslib` gives, with its own features, folds, direction and cut-off;
    or a table of problems × algorithms, with features `X`: frame or array, one row per problem.
    Runs at or beyond `cutoff`, and runs that failed, count as `penalty` times the cut-off (PAR10).
    `cv` is the number of folds, or a Series with the fold of each problem; without it, the folds of
    the scenario are used, or ten.

    `selectors` maps names to selectors; by default, an `AlgorithmSelector` of kind "auto". Any
    object with `fit(X, table)` and a `predict(X)` that returns names of algorithms will do; an
    `AlgorithmSelector` is told which performances are good and where runs were stopped. A chosen
    algorithm that was not run counts as the worst run on that problem. The time of computing
    features, `feature_costs` (one number per problem) or that of the scenario, is charged to
    selectors that use features; an algorithm that runs first, and features that solve a problem by
    themselves, count as well.

    `better`, "higher" or "lower", says which performances of a table are good. `random_state` is
    the seed of the folds, and `n_jobs` the number of fits that run at once. The frame has one row
    per selector: performance, closed_gap, each with its se, and algorithms. The measure is that of
    ASlib (Bischl et al., 2016).

    >>> import ogive as og
    >>> import numpy as np
    >>> hard = np.linspace(-2, 2, 80)[:, None]
    >>> noise = np.random.default_rng(0).normal(0, 0.01, (80, 3))
    >>> accuracy = 1 / (1 + np.exp(hard * [2.0, 0.5, 1.0] + [-1.0, 0.0, 1.0])) + noise
    >>> nearest = {"by difficulty": og.AlgorithmSelector("difficulty", regressor="knn")}
    >>> found = og.evaluate_selectors(accuracy.clip(0, 1), hard, selectors=nearest, cv=5)
    >>> bool(found.to_frame().loc["by difficulty", "closed_gap"] > 0.9)
    True
    """
    performance = with_row_names(performance)
    whole_number(random_state, "random_state", 0)
    if n_jobs not in (None, -1):
        whole_number(n_jobs, "n_jobs", 1)
    table, limit = _scored(performance, better, cutoff, penalty)
    rows = feature_rows(performance, X, table)
    (parts,) = folds_of_problems(table, cv, fewest=FEWEST, random_state=random_state)
    chosen = _selectors(selectors, table, limit, random_state)
    costs = _costs(performance, table, feature_costs, limit)
    columns, paid = _cross_validated(chosen, parts, rows, table, costs, n_jobs)
    sign = 1.0 if table.better == "lower" else -1.0
    achieved = pd.DataFrame({VIRTUAL: sign * costs.runs.min(axis=1)}, index=paid.index)
    for name in paid:
        achieved[name] = sign * paid[name]
    choices = columns.apply(lambda column: table.algorithms.to_numpy()[column.to_numpy()])
    return SelectorEvaluation(
        achieved=achieved,
        choices=choices.rename_axis(index="problem"),
        folds=pd.Series(parts, index=paid.index, name="fold"),
        better=table.better,
        limit=limit,
        notes=_notes(table, achieved, costs),
    )


def learnt_from(
    selector: AlgorithmSelector,
    performance: Any,
    X: Any = None,
    *,
    better: Better | None = None,
    cutoff: float | None = None,
    penalty: float = PENALTY,
) -> AlgorithmSelector:
    """Fit a selector to all problems, with penalties and costs as `evaluate_selectors` has them."""
    performance = with_row_names(performance)
    table, limit = _scored(performance, better, cutoff, penalty)
    rows = feature_rows(performance, X, table)
    costs = _costs(performance, table, None, limit)
    fresh: AlgorithmSelector = _fresh("selector", selector, table, limit)
    return fresh.fit(rows, table.given, feature_costs=costs.features)


def _scored(
    performance: Any, better: Better | None, cutoff: float | None, penalty: float
) -> tuple[Performances, float | None]:
    """Return performances with penalties, and what an unsolved run counts as."""
    checked_penalty(penalty)
    if isinstance(performance, AslibScenario) and cutoff is None:
        cutoff = performance.cutoff
    if cutoff is None:
        return as_performances(performance, better=better, fewest=FEWEST_TO_CHOOSE), None
    table = as_performances(
        performance, better=better, cutoff=cutoff, penalty=penalty, fewest=FEWEST_TO_CHOOSE
    )
    return table, cutoff * penalty


def _selectors(
    given: Any, table: Performances, limit: float | None, random_state: int
) -> dict[str, Any]:
    """Return fresh selectors by name, which know what performances are good."""
    if given is None:
        given = {"auto": AlgorithmSelector(random_state=random_state)}
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            "selectors should map names to selectors, such as "
            "{'by performance': AlgorithmSelector('performance')}."
        )
    for name, selector in given.items():
        if name in REFERENCES:
            raise InputError(f"'{name}' is a reserved name. Give the selector another one.")
        for method in ("fit", "predict"):
            if isinstance(selector, type) or not hasattr(selector, method):
                raise InputError(
                    f"The selector '{name}' has no {method}. Give an AlgorithmSelector instance."
                )
    return {str(name): _fresh(str(name), each, table, limit) for name, each in given.items()}


def _fresh(name: str, selector: Any, table: Performances, limit: float | None) -> Any:
    """Return a copy, with the direction and the cut-off of the table if it is ours."""
    from sklearn.base import clone

    try:
        copy: Any = clone(selector, safe=False)
    except (TypeError, RuntimeError) as reason:
        raise InputError(
            f"The selector '{name}' cannot be copied, but each fold needs a fresh one: {reason}"
        ) from reason
    if not isinstance(copy, AlgorithmSelector):
        return copy
    cutoff = None if limit is None else limit / table.penalty
    return copy.set_params(better=table.better, cutoff=cutoff)


def _cross_validated(
    selectors: Mapping[str, Any],
    parts: NDArray[np.intp],
    rows: Any,
    table: Performances,
    costs: Costs,
    n_jobs: int | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return columns of the algorithms that selectors and the single best pick, and their costs."""
    from joblib import delayed

    index = table.modelled.index
    jobs = [
        (name, np.flatnonzero(parts != fold), np.flatnonzero(parts == fold))
        for fold in np.unique(parts)
        for name in selectors
    ]
    calls = [
        delayed(_fold_costs)(name, selectors[name], train, test, rows, table, costs)
        for name, train, test in jobs
    ]
    columns, paid = pd.DataFrame({SINGLE: 0}, index=index), pd.DataFrame({SINGLE: 0.0}, index=index)
    with closing(one_by_one(calls, n_jobs)) as results:
        for (name, train, test), (picked, cost) in zip(jobs, results, strict=True):
            single = np.full(len(test), int(fair_means(table.gains[train]).argmax()))
            single_cost = costs.of(test).selection_cost(single, features=False)
            if name not in columns:
                columns[name], paid[name] = 0, 0.0
            for each, picks, price in ((SINGLE, single, single_cost), (name, picked, cost)):
                columns.loc[index[test], each] = picks
                paid.loc[index[test], each] = price
    return columns, paid


@heeded()
def _fold_costs(
    name: str,
    selector: Any,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    rows: Any,
    table: Performances,
    costs: Costs,
) -> tuple[NDArray[np.intp], Floats]:
    """Return what one selector picks for its test problems, and what that costs."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    fitted: Any = clone(selector, safe=False)
    ours = isinstance(fitted, AlgorithmSelector)
    before = {"feature_costs": costs.features[train]} if ours else {}
    fitted.fit(_safe_indexing(rows, train), table.given.iloc[train], **before)
    names: Any = list(fitted.predict(_safe_indexing(rows, test)))
    picked = np.asarray(table.algorithms.get_indexer(names if np.ndim(names) == 1 else []))
    if len(picked) != len(test) or (picked < 0).any():
        raise InputError(
            f"The selector '{name}' should return the name of an algorithm for each problem, "
            f"but it returned {str(names[:3])[:80]} for {counted(len(test), 'problem')}."
        )
    presolver = None
    if ours and fitted.first_ is not None:
        first, budget = fitted.first_
        presolver = Presolver(list(table.algorithms).index(first), budget)
    features = not ours or fitted.way_ != NEVER_CHOOSING
    return picked, costs.of(test).selection_cost(picked, presolver, features=features)


def _costs(performance: Any, table: Performances, feature_costs: Any, limit: float | None) -> Costs:
    """Return what runs and features cost, in the order of the table."""
    runs = -worst_where_missing(table.gains)
    late = np.zeros(runs.shape, dtype=bool) if table.unsolved is None else table.unsolved.to_numpy()
    index, before, solved = table.modelled.index, np.zeros(len(runs)), None
    if isinstance(performance, AslibScenario) and feature_costs is None:
        feature_costs, solved = performance.feature_costs, performance.presolved
    if limit is None:
        return Costs(runs, late, before)
    if feature_costs is not None:
        before = checked_costs(_in_order(feature_costs, index), len(runs))
    presolved = None if solved is None else _in_order(solved, index).astype(bool)
    return Costs(runs, late, before, limit / table.penalty, limit, presolved)


def _in_order(given: Any, index: pd.Index) -> Any:
    """Return values by problem in the order of the table, summed over several columns."""
    if not hasattr(given, "reindex"):
        return np.asarray(given, dtype=float)
    named = given.set_axis(given.index.map(str), axis=0).reindex(index).fillna(0)
    return (named.sum(axis=1) if named.ndim == 2 else named).to_numpy()


def _notes(table: Performances, achieved: pd.DataFrame, costs: Costs) -> tuple[str, ...]:
    notes = [*table.notes]
    if costs.limit is None or not costs.features.any():
        notes.append("No costs of computing features are known, so none are charged.")
    else:
        notes.append(
            f"The time of computing features is charged: {costs.features.mean():,.4g} per problem "
            "on average, to whoever computes them."
        )
    if costs.presolved is not None and costs.presolved.any():
        count = int(costs.presolved.sum())
        notes.append(f"Computing features solves {counted(count, 'problem')}.")
    if costs.limit is None:
        return tuple(notes)
    lost = int((achieved[VIRTUAL] >= costs.limit).sum())
    if lost:
        notes.append(
            f"No algorithm solves {counted(lost, 'problem')}; they count in every mean, although "
            "no selector can gain there."
        )
    return tuple(notes)

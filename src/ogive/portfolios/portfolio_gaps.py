"""What a small portfolio loses against all algorithms, by cross-validation over problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import one_of, whole_number
from ogive.errors import InputError
from ogive.portfolios.airt import Portfolio, Settings, fit_portfolio
from ogive.portfolios.performances import (
    Performances,
    as_performances,
    fair_means,
    worst_where_missing,
)
from ogive.portfolios.portfolio_choice import AIRT, METHODS, ranked
from ogive.portfolios.strengths import checked_epsilons, notes_on_epsilon
from ogive.results.base import Result
from ogive.results.numbers import counted, joined, listed, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import reach_of_parts
from ogive.stats.pairwise_tests import differences_over_units

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["PortfolioComparison", "compare_portfolios"]


SINGLE = "single best"  # the algorithm with the best mean on the training problems
FOLDS = 10
BEST_MEMBER, MEAN_MEMBER = "best member", "mean member"
LARGEST = 10  # sizes that are tried where none are given
FEWEST_TO_CHOOSE_BY = 5  # problems outside a fold


def folds_of_problems(
    table: Performances, cv: Any, *, fewest: int, n_resamples: int = 1, random_state: int = 0
) -> list[NDArray[np.intp]]:
    """Return the fold of each problem, for each of the `n_resamples` shuffles.

    `cv` is the number of folds, or a Series with the fold of each problem, by name; with None, the
    folds of the table are used, or ten. Outside each fold there must be `fewest` problems.
    """
    problems = table.modelled.index
    if cv is None:
        cv = FOLDS if table.folds is None else table.folds
    whole_number(n_resamples, "n_resamples", 1)
    whole_number(random_state, "random_state", 0)
    if not isinstance(cv, pd.Series):
        passes = _at_random(len(problems), cv, n_resamples, random_state)
    elif n_resamples == 1:
        passes = [_of_series(problems, cv)]
    else:
        raise InputError(
            f"n_resamples is {n_resamples}, but the fold of each problem is given: nothing is left "
            f"to shuffle. Leave it out, or say how many folds: cv={FOLDS}."
        )
    for folds in passes:
        sizes = np.bincount(folds)
        if len(sizes) < 2 or len(folds) - sizes.max() < fewest:
            raise InputError(
                f"There are {counted(len(problems), 'problem')} in {counted(len(sizes), 'fold')}: "
                f"too few to choose by. Give at least two folds, and at least {fewest} problems "
                "outside each."
            )
    return passes


def _of_series(problems: pd.Index, cv: pd.Series) -> NDArray[np.intp]:
    named = cv.set_axis(cv.index.map(str)).dropna()
    twice = named.index[named.index.duplicated()].unique().tolist()
    if twice:
        raise InputError(f"cv has {listed(twice, 'problem')} more than once. Give one row each.")
    lacking = problems.difference(named.index, sort=False).tolist()
    if lacking:
        raise InputError(
            f"cv has no fold for {listed(lacking, 'problem')}. Its index should name the problems."
        )
    return np.asarray(pd.factorize(named.reindex(problems), sort=True)[0])


def _at_random(n: int, cv: Any, n_resamples: int, random_state: int) -> list[NDArray[np.intp]]:
    if whole_number(cv, "cv", 2) > n:
        raise InputError(f"cv is {cv}, but there are {counted(n, 'problem')}. Give fewer folds.")
    random = np.random.default_rng(random_state)
    passes = np.empty((n_resamples, n), dtype=np.intp)
    for folds in passes:
        folds[random.permutation(n)] = np.arange(n) * cv // n
    return list(passes)


@dataclass(frozen=True, eq=False, repr=False)
class PortfolioComparison(Result):
    """Performance gap of portfolios by method and size, cross-validated.

    The gap on a problem is the best performance of all algorithms minus that of the portfolio:
    of its best member, which you get by running all members; or the mean of its members, which you
    get on average by picking one at random. It is in the unit of the measure. The virtual best has
    gap 0; the single best is the algorithm with the best mean on the training problems. A missing
    run counts as the worst on its problem.
    """

    frame: pd.DataFrame  # method, size, definition, gap, gap_se, gap_low, gap_high, folds
    folds: pd.DataFrame  # the same per fold
    epsilons: tuple[float, ...]
    notes: tuple[str, ...] = ()
    passes: int = 1  # how often all problems were divided into folds
    strong: int | None = None  # algorithms within the largest epsilon of the best curve somewhere

    @property
    def meaning(self) -> str:
        """The smallest gap at one size, beside that of the single best algorithm."""
        rows = self.frame[self.frame["definition"] == BEST_MEMBER]
        alone = rows[rows["method"] == SINGLE].iloc[0]
        chosen = rows[rows["method"] != SINGLE]
        size, why = self._size(chosen)
        ranked_rows = chosen[chosen["size"] == size].sort_values("gap", kind="stable")
        methods, first = [str(name) for name in ranked_rows["method"]], ranked_rows.iloc[0]
        text = (
            f"With {counted(size, 'algorithm')}{why}, '{methods[0]}' leaves a gap of "
            f"{_gap(first)} to the virtual best on held-out problems, in the unit of the "
            f"measure; the single best algorithm, chosen anew in each fold, leaves {_gap(alone)}"
        )
        if self._level_with_first([(methods[0], size), (SINGLE, 1)])[1]:
            text += ", from which this cannot be distinguished"
        level = self._level_with_first([(name, size) for name in methods])
        near = [name for k, name in enumerate(methods) if k == 0 or level[k]]
        if len(near) > 1:
            return f"{text}. At this size, {joined(near)} do not differ significantly."
        return f"{text}."

    def _size(self, chosen: pd.DataFrame) -> tuple[int, str]:
        """Return the size to speak of, and why: as many as `select` keeps, unless these are all."""
        sizes = sorted(map(int, chosen["size"].unique()))
        if self.strong in sizes:
            return self.strong, f", as many as are strong somewhere at ε = {max(self.epsilons):g}"
        return sizes[(len(sizes) - 1) // 2], ""

    def _level_with_first(self, portfolios: list[tuple[str, int]]) -> NDArray[np.bool_]:
        """Return which portfolios are not significantly behind the first, paired by fold."""
        rows = self.folds[self.folds["definition"] == BEST_MEMBER]
        gaps = [
            rows.loc[(rows["method"] == name) & (rows["size"] == size), "gap"].to_numpy(dtype=float)
            for name, size in portfolios
        ]
        folds_of_a_pass = int(self.folds["fold"].nunique()) // self.passes
        return differences_over_units(-np.stack(gaps), folds_of_a_pass).level_with(0)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per method, size and definition."""
        return self.frame

    def plot(self, **kw: Any) -> Display:
        """Return gap against size."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS["portfolio_gap"](self.frame).plot(**kw)


def compare_portfolios(
    performance: Any,
    *,
    sizes: Sequence[int] | None = None,
    methods: str | Sequence[str] = tuple(METHODS),
    epsilon: float | Sequence[float] = 0.01,
    cv: int | pd.Series | None = None,
    n_resamples: int = 1,
    random_state: int = 0,
    **settings: Any,
) -> PortfolioComparison:
    """Measure by cross-validation what portfolios of several sizes lose against all algorithms.

    `performance` is a `Portfolio`, or what `portfolio` takes, with its arguments as `settings`. For
    each fold, portfolios are chosen on the other problems and judged on its own. `cv` is the number
    of folds, or a Series with the fold of each problem; without it, the folds of the scenario are
    used, or ten. Problems are shuffled into folds `n_resamples` times. Standard errors are those of
    the mean over folds.

    `sizes` are the numbers of algorithms to keep. `methods` say how they are chosen: "airt"
    (Kandanaarachchi and Smith-Miles, 2023; `epsilon` as in `Portfolio.strengths`; for several, one
    method each), "topset" or "shapley". `random_state` is the seed of the folds. The frame has one
    row per method, size and definition: gap, gap_se, gap_low, gap_high, folds. The ends are those
    of the 95 % interval of the mean over folds (Student's t); no gap is below 0.

    >>> import ogive as og
    >>> import numpy as np
    >>> easiness = np.linspace(-2, 2, 60)[:, None]
    >>> noise = np.random.default_rng(0).normal(0, 0.3, (60, 4))
    >>> accuracy = 1 / (1 + np.exp(-(easiness * [1, 1, 1, -0.3] + [1, 0, 0.5, 0] + noise)))
    >>> found = og.compare_portfolios(accuracy, sizes=[1, 4], methods="topset", cv=3)
    >>> found.to_frame()["method"].unique().tolist()
    ['single best', 'topset']
    """
    table, how = _given(performance, settings)
    methods = _checked_methods(methods)
    levels = checked_epsilons(epsilon)
    whole_number(random_state, "random_state", 0)
    wanted = _checked_sizes(sizes, len(table.algorithms))
    passes = folds_of_problems(
        table, cv, fewest=FEWEST_TO_CHOOSE_BY, n_resamples=n_resamples, random_state=random_state
    )
    parts = [folds == fold for folds in passes for fold in np.unique(folds)]
    rows = []
    for number, held_out in enumerate(parts):
        training = table.of_problems(np.flatnonzero(~held_out))
        orders = _orders(training, how, methods, levels)
        rows += [(number, *row) for row in _gaps(table.gains[held_out], orders, wanted)]
    notes = (*table.notes, *notes_on_epsilon(max(levels), table.bounds))
    # As many algorithms as `select` keeps at this epsilon, unless these are all.
    whole = performance if isinstance(performance, Portfolio) else fit_portfolio(table, how)
    strong = int((whole.candidates.curves.shares(max(levels)) > 0).sum())
    comparison = _comparison(rows, len(passes), tuple(levels), notes)
    return replace(comparison, strong=strong if strong < len(table.algorithms) else None)


def _gap(row: pd.Series[Any]) -> str:
    """Return a gap with its interval."""
    return with_interval(row["gap"], row["gap_high"] - row["gap"], least=0.0)


def _given(performance: Any, settings: dict[str, Any]) -> tuple[Performances, Settings]:
    if isinstance(performance, Portfolio):
        if settings:
            raise InputError(
                f"{', '.join(settings)} cannot be given: a Portfolio has its own settings."
            )
        return performance.performances, performance.settings
    names = set(Settings.__dataclass_fields__)
    known = names | set(signature(as_performances).parameters) - {"performance"}
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InputError(
            f"compare_portfolios has no argument {unknown[0]!r}. Besides its own, it takes "
            f"{', '.join(sorted(known))}."
        )
    how = Settings(**{key: settings.pop(key) for key in list(settings) if key in names})
    settings.setdefault("unsolved", "keep" if how.preset else "drop")
    return as_performances(performance, **settings), how


def _checked_methods(methods: Any) -> list[str]:
    wanted = [methods] if isinstance(methods, str) or np.ndim(methods) == 0 else list(methods)
    if not wanted:
        raise InputError(f"methods is empty, but it should name one of {', '.join(METHODS)}.")
    return [one_of(method, "method", METHODS) for method in wanted]


def _checked_sizes(sizes: Sequence[int] | None, algorithms: int) -> list[int]:
    if sizes is None:
        return list(range(1, min(LARGEST, algorithms) + 1))
    given = [sizes] if np.ndim(sizes) == 0 else list(sizes)
    wanted = {whole_number(size, "A size", 1) for size in given}
    if not wanted or max(wanted) > algorithms:
        raise InputError(
            f"sizes is {sizes!r}, but it should hold whole numbers from 1 to {algorithms}, the "
            "number of algorithms."
        )
    return sorted(wanted)


def _orders(
    training: Performances, how: Settings, methods: Sequence[str], epsilons: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return positions of the algorithms by each method, the first to keep first."""
    candidates = fit_portfolio(training, how).candidates
    orders = {SINGLE: np.argsort(-fair_means(training.gains), kind="stable")}
    for method in methods:
        levels = epsilons if method == AIRT else epsilons[:1]  # the others have no epsilon
        for epsilon in levels:
            name = method if len(levels) == 1 else f"{method}, ε = {epsilon:g}"
            orders[name] = ranked(candidates, method, epsilon)[0]
    return orders


def _gaps(
    gains: Floats, orders: dict[str, np.ndarray], sizes: Sequence[int]
) -> list[tuple[str, int, str, float]]:
    """Return mean gap of each method and size; a missing run counts as the worst on its problem."""
    achieved = worst_where_missing(gains)
    best = achieved.max(axis=1)
    rows = []
    for method, order in orders.items():
        for size in [1] if method == SINGLE else sizes:
            members = achieved[:, order[:size]]
            reached = {BEST_MEMBER: members.max(axis=1), MEAN_MEMBER: members.mean(axis=1)}
            rows += [
                (method, size, definition, float((best - values).mean()))
                for definition, values in reached.items()
            ]
    return rows


def _comparison(
    rows: list[tuple[int, str, int, str, float]],
    passes: int,
    epsilons: tuple[float, ...],
    notes: tuple[str, ...],
) -> PortfolioComparison:
    folds = pd.DataFrame(rows, columns=["fold", "method", "size", "definition", "gap"])
    grouped = folds.groupby(["method", "size", "definition"], sort=False)["gap"]
    frame = grouped.agg(gap="mean", gap_se="std", folds="size").reset_index()
    # Repeated passes over the same problems do not add problems.
    parts = frame["folds"] / passes
    frame["gap_se"] /= np.sqrt(parts)
    half_width = frame["gap_se"] * reach_of_parts(int(parts.iloc[0]))
    frame.insert(5, "gap_low", (frame["gap"] - half_width).clip(lower=0.0))
    frame.insert(6, "gap_high", frame["gap"] + half_width)
    return PortfolioComparison(frame, folds, epsilons, notes, passes)

"""What a small portfolio loses against all algorithms, on problems it was not chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import whole_number
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.results import Finding
from itemwise.studies.performances import Performances, as_performances, means
from itemwise.studies.portfolio_choice import METHODS, find_method, ranked
from itemwise.studies.portfolios import Portfolio, Settings, fit_portfolio
from itemwise.studies.strengths import checked_epsilon
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

SINGLE = "single best"
BEST_MEMBER, MEAN_MEMBER = "best member", "mean member"
DEFINITIONS = (BEST_MEMBER, MEAN_MEMBER)
LARGEST = 10  # sizes that are tried where none are given
FEWEST_PROBLEMS = 5  # of a training part


@dataclass(frozen=True, eq=False, repr=False)
class PortfolioComparison(Finding):
    """Performance gap of portfolios by method and size, cross-validated.

    The gap of a problem is the best performance of all algorithms minus that of the portfolio:
    of its best member, as somebody gets who can run all members; or the mean of its members, as
    somebody gets who picks one blindly. It is in the unit of the measure. The virtual best has gap
    0; the single best is the one algorithm with the best mean on the training part.
    """

    frame: pd.DataFrame  # method, size, definition, gap, gap_se, folds
    folds: pd.DataFrame  # the same for each fold
    epsilon: float
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """The best method at the middle size, and what it closes of the single best's gap."""
        rows = self.frame[self.frame["definition"] == BEST_MEMBER]
        alone = rows.loc[rows["method"] == SINGLE, "gap"].iloc[0]
        sizes = sorted(rows.loc[rows["method"] != SINGLE, "size"].unique())
        size = sizes[(len(sizes) - 1) // 2]
        there = rows[(rows["method"] != SINGLE) & (rows["size"] == size)].sort_values("gap")
        first = there.iloc[0]
        text = (
            f"With {size} algorithms, '{first['method']}' leaves a gap of {first['gap']:.3g} ± "
            f"{1.96 * first['gap_se']:.2g} to the best of all; the single best algorithm leaves "
            f"{alone:.3g}"
        )
        near = there[there["gap"] - first["gap"] <= 1.96 * there["gap_se"]]["method"].tolist()
        if len(near) > 1:
            return f"{text}. {_and(near)} cannot be told apart there."
        return f"{text}."

    def to_frame(self) -> pd.DataFrame:
        """A row a method, size and definition."""
        return self.frame

    def plot(self, **kw: Any) -> Display:
        """Gap against size."""
        from itemwise.displays import DISPLAYS

        return DISPLAYS["portfolio_gap"](self.frame).plot(**kw)


def compare_portfolios(
    performance: Any,
    *,
    sizes: Sequence[int] | None = None,
    methods: str | Sequence[str] = tuple(METHODS),
    epsilon: float = 0.01,
    folds: int | pd.Series = 10,
    repeats: int = 1,
    random_state: int = 0,
    **settings: Any,
) -> PortfolioComparison:
    """What portfolios of several sizes lose against all algorithms, by 10-fold cross-validation.

    `performance` is a `Portfolio`, or what `portfolio` takes, with its arguments behind. In each
    fold, the portfolio is chosen on the other problems and judged on its own. `folds` is how many,
    or a Series that says the fold of each problem (as `read_aslib(...).folds`); with `repeats`,
    problems are shuffled anew for each. Standard errors are of the mean over folds.
    """
    table, how = _given(performance, settings)
    methods = [methods] if isinstance(methods, str) else list(methods)
    if not methods:
        raise InputError(f"methods is empty, but it should name one of {', '.join(METHODS)}.")
    for method in methods:
        find_method(method)
    epsilon = checked_epsilon(epsilon)
    wanted = _checked_sizes(sizes, len(table.algorithms))
    parts = _parts(table, folds, repeats, random_state)
    in_one_pass = len(parts) // (1 if hasattr(folds, "index") else repeats)
    rows = []
    for number, held_out in enumerate(parts):
        training = table.of_problems(np.flatnonzero(~held_out))
        testing = table.gains[held_out]
        orders = _orders(training, how, methods, epsilon)
        rows += [(number, *row) for row in _gaps(testing, orders, wanted)]
    return _comparison(rows, in_one_pass, epsilon, table.notes)


def _given(performance: Any, settings: dict[str, Any]) -> tuple[Performances, Settings]:
    if isinstance(performance, Portfolio):
        if settings:
            raise InputError(
                f"{', '.join(settings)} cannot be given with a Portfolio: it was made with its own."
            )
        return performance.performances, performance.settings
    names = set(Settings.__dataclass_fields__)
    how = Settings(**{key: settings.pop(key) for key in list(settings) if key in names})
    return as_performances(performance, **settings), how


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


def _parts(
    table: Performances, folds: int | pd.Series, repeats: int, random_state: int
) -> list[np.ndarray]:
    """Which problems are held out, a mask each."""
    import pandas as pd

    problems = table.modelled.index
    if isinstance(folds, pd.Series):
        masks = _masks_of_series(problems, folds)
    else:
        masks = _masks_at_random(len(problems), folds, repeats, random_state)
    if len(masks) < 2 or min(int((~mask).sum()) for mask in masks) < FEWEST_PROBLEMS:
        raise InputError(
            f"There are {len(problems)} problems in {counted(len(masks), 'fold')}: too few to "
            f"choose by. Each fold needs {FEWEST_PROBLEMS} problems or more outside it."
        )
    return masks


def _masks_of_series(problems: pd.Index, folds: pd.Series) -> list[np.ndarray]:
    named = folds.set_axis(folds.index.map(str)).dropna()
    twice = named.index[named.index.duplicated()].unique().tolist()
    if twice:
        raise InputError(f"folds has {listed(twice, 'problem')} more than once. Give one row each.")
    lacking = problems.difference(named.index, sort=False).tolist()
    if lacking:
        raise InputError(
            f"folds has no fold of {listed(lacking, 'problem')}. Its index should be the names of "
            "the problems."
        )
    given = named.reindex(problems).to_numpy()
    return [given == value for value in np.unique(given)]


def _masks_at_random(n: int, folds: int, repeats: int, random_state: int) -> list[np.ndarray]:
    if whole_number(folds, "folds", 2) > n:
        raise InputError(f"folds is {folds}, but there are {counted(n, 'problem')}.")
    random = np.random.default_rng(random_state)
    masks = []
    for _ in range(whole_number(repeats, "repeats", 1)):
        place = np.empty(n, dtype=np.intp)
        place[random.permutation(n)] = np.arange(n) * folds // n
        masks += [place == fold for fold in range(folds)]
    return masks


def _orders(
    training: Performances, how: Settings, methods: Sequence[str], epsilon: float
) -> dict[str, np.ndarray]:
    """Positions of the algorithms by each method, the first to be kept first."""
    candidates = fit_portfolio(training, how).candidates
    orders = {SINGLE: np.argsort(-means(training.gains), kind="stable")}
    orders |= {method: ranked(candidates, method, epsilon)[0] for method in methods}
    return orders


def _gaps(
    gains: Floats, orders: dict[str, np.ndarray], sizes: Sequence[int]
) -> list[tuple[str, int, str, float]]:
    best = np.nanmax(gains, axis=1)
    rows = []
    for method, order in orders.items():
        for size in [1] if method == SINGLE else sizes:
            members = gains[:, order[:size]]
            for definition, achieved in _achieved(members, best).items():
                rows.append((method, size, definition, float((best - achieved).mean())))
    return rows


def _achieved(members: Floats, best: Floats) -> dict[str, Floats]:
    """What the portfolio gets on each problem; where no member ran, nothing is held against it."""
    none = np.asarray(np.isnan(members).all(axis=1))
    filled = np.where(none[:, None], best[:, None], members)
    return {
        BEST_MEMBER: np.nanmax(filled, axis=1),
        MEAN_MEMBER: np.nanmean(filled, axis=1),
    }


def _comparison(
    rows: list[tuple[int, str, int, str, float]],
    in_one_pass: int,
    epsilon: float,
    notes: tuple[str, ...],
) -> PortfolioComparison:
    import pandas as pd

    folds = pd.DataFrame(rows, columns=["fold", "method", "size", "definition", "gap"])
    grouped = folds.groupby(["method", "size", "definition"], sort=False)["gap"]
    frame = grouped.agg(gap="mean", gap_se="std", folds="size").reset_index()
    # Repeated passes over the same problems teach no more about them than one does.
    frame["gap_se"] /= np.sqrt(in_one_pass)
    return PortfolioComparison(frame, folds, epsilon, notes)


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"

"""Several measures of the same runs: one portfolio each, and who is best over all (Pareto)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.performance_tables import worst_where_missing
from itemwise.results import Result
from itemwise.studies.algorithms.portfolios import Portfolio, portfolio
from itemwise.words import joined, listed

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

__all__ = ["MeasureComparison", "compare_measures"]


@dataclass(frozen=True, eq=False, repr=False)
class MeasureComparison(Result):
    """One portfolio per measure, side by side, and the algorithms that no other beats on all."""

    portfolios: Mapping[str, Portfolio]
    frame: pd.DataFrame  # index algorithm: mean and se of each measure, pareto
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[str, ...]:
        """The algorithms that no other beats on every measure (the Pareto front)."""
        return tuple(self.frame.index[self.frame["pareto"]])

    @property
    def meaning(self) -> str:
        """Who is best on each measure, and who is on the Pareto front."""
        said = []
        for name, found in self.portfolios.items():
            column = self.frame[name]
            first = column.idxmin() if found.performances.better == "lower" else column.idxmax()
            said.append(f"{first} by {name}")
        front = listed(list(self.best), "algorithm", 5)
        return (
            f"The best mean has {joined(said)}. Of {len(self.frame)} algorithms, no other beats "
            f"{front} on every measure: choose among these."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per algorithm: mean and standard error of each measure, and `pareto`."""
        return self.frame

    def plot(self, **kw: Any) -> Display:
        """Draw the curves of the first measure; `portfolios` holds the others."""
        return next(iter(self.portfolios.values())).plot(**kw)


def compare_measures(performance: Any, **settings: Any) -> MeasureComparison:
    """Compare algorithms by several measures at once: one portfolio each, and the Pareto front.

    `performance` maps the name of each measure to what `portfolio` takes: tables of the same
    problems and algorithms, or what `read_aslib` returns for several measures. `settings` are
    arguments of `portfolio`, for all measures.

    The frame has one row per algorithm: the mean of each measure over the problems that all have,
    its standard error, and whether no other algorithm is at least as good on every measure and
    better on one (`pareto`).

    >>> import itemwise as iw
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(0, 0.05, (2, 60, 3))
    >>> quality = np.linspace(0.2, 0.8, 60)[:, None] + [0.1, 0.0, -0.05] + noise[0]
    >>> saved = np.linspace(0.2, 0.8, 60)[:, None] + [-0.1, 0.1, 0.0] + noise[1]
    >>> iw.compare_measures({"quality": quality, "saved": saved}).best
    ('algorithm_1', 'algorithm_2')
    """
    if not isinstance(performance, Mapping) or len(performance) < 2:
        raise InputError(
            "performance should map the names of two measures or more to tables, such as "
            "{'runtime': times, 'quality': scores}. For one measure, use portfolio(table)."
        )
    found = {str(name): portfolio(table, **settings) for name, table in performance.items()}
    tables = {name: each.performances for name, each in found.items()}
    shared = [set(each.algorithms) for each in tables.values()]
    common = set.intersection(*shared)
    names = [each for each in next(iter(tables.values())).algorithms if each in common]
    if len(names) < 2:
        raise InputError("The measures have fewer than two algorithms in common.")
    gains = {name: _gains(each, names) for name, each in tables.items()}
    front = pareto_front(np.column_stack([values.mean(axis=0) for values in gains.values()]))
    return MeasureComparison(found, _frame(tables, gains, names, front), _notes(found))


def pareto_front(gains: Floats) -> NDArray[np.bool_]:
    """Which rows no other row beats, higher being better in every column.

    >>> pareto_front(np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0]])).tolist()
    [True, True, False]
    """
    better = np.array([[(b >= a).all() and (b > a).any() for b in gains] for a in gains])
    return np.asarray(~better.any(axis=1))


def _gains(table: Any, names: list[str]) -> Floats:
    """Performances with higher better, in the order of `names`; a gap is the worst of its row."""
    places = [list(table.algorithms).index(name) for name in names]
    return worst_where_missing(table.gains)[:, places]


def _frame(
    tables: Mapping[str, Any],
    gains: Mapping[str, Floats],
    names: list[str],
    front: NDArray[np.bool_],
) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {}
    for name, values in gains.items():
        sign = 1.0 if tables[name].better == "higher" else -1.0
        columns[name] = sign * values.mean(axis=0)
        columns[f"{name}_se"] = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return pd.DataFrame({**columns, "pareto": front}, index=pd.Index(names, name="algorithm"))


def _notes(found: Mapping[str, Portfolio]) -> tuple[str, ...]:
    return tuple(f"{name}: {note}" for name, each in found.items() for note in each.notes)

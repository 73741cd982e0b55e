"""Several measures of the same runs: one portfolio each, and who is best over all (Pareto)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.portfolios.airt import Portfolio, portfolio
from ogive.portfolios.performances import Performances, worst_where_missing
from ogive.results.base import Draw, Result, stacked
from ogive.results.numbers import joined, listed
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["MeasureComparison", "compare_measures"]


RESAMPLES = 1000
SURE = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class MeasureComparison(Result):
    """One portfolio per measure, side by side, and the algorithms that no other beats on all."""

    portfolios: Mapping[str, Portfolio]
    frame: pd.DataFrame  # index algorithm: mean and se of each measure, pareto, pareto_chance
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[str, ...]:
        """The algorithms that no other beats on every measure (the Pareto front)."""
        return tuple(self.frame.index[self.frame["pareto"]])

    @property
    def meaning(self) -> str:
        """Who is best on each measure, and who is on the Pareto front."""
        leaders = []
        for name, each in self.portfolios.items():
            column = self.frame[name]
            first = column.idxmin() if each.performances.better == "lower" else column.idxmax()
            leaders.append(f"{first} by {name}")
        sure = self.frame["pareto"] & (self.frame["pareto_chance"] >= SURE)
        front = listed(list(self.best), "algorithm", 5)
        how = "all" if sure.sum() == len(self.best) else f"{sure.sum()}"
        return (
            f"The best mean has {joined(leaders)}. Of {len(self.frame)} algorithms, no other beats "
            f"{front} on every measure ({how} of these in {SURE:.0%} of resamples of problems): "
            "choose among these."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return mean and se of each measure, `pareto` and `pareto_chance` of each algorithm."""
        return self.frame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the measures of each algorithm, and the traits of algorithms by each measure."""
        traits = {name: each.algorithms for name, each in self.portfolios.items()}
        return {"measures": self.frame, "algorithms": stacked("measure", traits)}

    def figures(self) -> dict[str, Draw]:
        """Return the plane of the first two measures, and the curves of each measure."""
        curves = {f"curves of {name}": each.plot for name, each in self.portfolios.items()}
        return {"trade_off": self.plot, **curves}

    def plot(self, **kw: Any) -> Display:
        """Draw algorithms by the means of the first two measures; `portfolios` have curves."""
        from ogive.results.plots import DISPLAYS

        display: Any = DISPLAYS["trade_off"]
        across, up = list(self.portfolios)[:2]
        better = tuple(self.portfolios[name].performances.better for name in (across, up))
        drawn: Display = display(self.frame, across=across, up=up, better=better).plot(**kw)
        return drawn


def compare_measures(performance: Any, **settings: Any) -> MeasureComparison:
    """Compare algorithms by several measures at once: one portfolio each, and the Pareto front.

    `performance` maps the name of each measure to what `portfolio` takes: tables of the same
    problems and algorithms, or what `read_aslib` returns for several measures. `settings` are
    arguments of `portfolio`, for all measures.

    The frame has one row per algorithm: the mean of each measure over the problems that all have,
    its standard error, whether no other algorithm is at least as good on every measure and better
    on one (`pareto`), and in which share of resamples of the problems this holds (`pareto_chance`).

    >>> import ogive as og
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(0, 0.05, (2, 60, 3))
    >>> quality = np.linspace(0.2, 0.8, 60)[:, None] + [0.1, 0.0, -0.05] + noise[0]
    >>> saved = np.linspace(0.2, 0.8, 60)[:, None] + [-0.1, 0.1, 0.0] + noise[1]
    >>> og.compare_measures({"quality": quality, "saved": saved}).best
    ('algorithm_1', 'algorithm_2')
    """
    if not isinstance(performance, Mapping) or len(performance) < 2:
        raise InputError(
            "performance should map the names of two measures or more to tables, such as "
            "{'runtime': times, 'quality': scores}. For one measure, use portfolio(table)."
        )
    portfolios = {str(name): portfolio(table, **settings) for name, table in performance.items()}
    tables = {name: each.performances for name, each in portfolios.items()}
    first = next(iter(tables.values()))
    names = [one for one in first.algorithms if all(one in t.algorithms for t in tables.values())]
    if len(names) < 2:
        raise InputError("The measures have fewer than two algorithms in common.")
    problems = [
        one
        for one in first.modelled.index
        if all(one in table.modelled.index for table in tables.values())
    ]
    if len(problems) < 2:
        raise InputError("The measures have fewer than two problems in common, by name.")
    gains = {name: _gains(table, names, problems) for name, table in tables.items()}
    columns: dict[str, Any] = {}
    for name, values in gains.items():
        sign = 1.0 if tables[name].better == "higher" else -1.0
        columns[name] = sign * values.mean(axis=0)
        columns[f"{name}_se"] = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    cells = np.stack(list(gains.values()), axis=2)  # problems x algorithms x measures
    frame = pd.DataFrame(columns, index=pd.Index(names, name="algorithm")).assign(
        pareto=pareto_front(cells.mean(axis=0)), pareto_chance=_chance_of_front(cells)
    )
    notes = [f"{name}: {note}" for name, each in portfolios.items() for note in each.notes]
    if len(problems) < max(len(each.difficulty) for each in portfolios.values()):
        notes.append(f"Means are over the {len(problems)} problems that all measures have.")
    return MeasureComparison(portfolios, frame, tuple(notes))


def pareto_front(gains: Floats) -> NDArray[np.bool_]:
    """Return which rows no other row beats, higher being better in every column.

    >>> pareto_front(np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0]])).tolist()
    [True, True, False]
    """
    better = np.array([[(b >= a).all() and (b > a).any() for b in gains] for a in gains])
    return np.asarray(~better.any(axis=1))


def _chance_of_front(cells: Floats) -> Floats:
    """Return share of resamples of the problems in which each algorithm is on the front."""
    random = np.random.default_rng(0)
    counts = random.multinomial(len(cells), np.full(len(cells), 1 / len(cells)), RESAMPLES)
    means = np.tensordot(counts / len(cells), cells, axes=1)
    return np.asarray(np.mean([pareto_front(each) for each in means], axis=0))


def _gains(table: Performances, names: list[str], problems: list[str]) -> Floats:
    """Return performances of these, higher is better; a gap is the worst of its row."""
    columns = table.algorithms.get_indexer(pd.Index(names))
    rows = table.modelled.index.get_indexer(pd.Index(problems))
    return worst_where_missing(table.gains)[np.ix_(rows, columns)]

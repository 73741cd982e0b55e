"""What boards of respondents share: ranks with intervals, leaders, tests of all pairs, figures."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.results.base import Draw, Result
from ogive.stats.array_backend import Floats
from ogive.stats.pairwise_tests import Differences

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

BETTER, WORSE, TIED = "better", "worse", "no significant difference"
Ints = NDArray[np.intp]


class PairwiseBoard(Result):
    """A result in rank order, the best first, with tests of all pairs."""

    kinds: ClassVar[tuple[str, ...]]  # of figures
    untested: ClassVar[str] = TIED  # verdict on a pair that could not be tested
    board: pd.DataFrame
    difference_se: Floats  # of all pairs, in the order of `np.triu_indices`
    tests: Differences
    alpha: float
    confidence: float

    @property
    def respondents(self) -> tuple[str, ...]:
        """Names, the best first."""
        return tuple(self.board.index)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The first respondent, and all compared with it that do not differ significantly."""
        return self.tests.leaders(self.respondents, self.alpha)

    @property
    def _half_width(self) -> Floats:
        """Half of the interval of each difference."""
        raise NotImplementedError

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per pair: the difference with its interval and test.

        The verdict uses `p_adjusted`, which allows for all pairs; the interval is for one pair.
        """
        first, second = np.triu_indices(len(self.board), 1)
        names, tests = np.array(self.respondents, dtype=object), self.tests
        verdict = np.where(tests.difference > 0, BETTER, WORSE)
        verdict = np.where(tests.p_adjusted <= self.alpha, verdict, TIED)
        low, high = tests.difference - self._half_width, tests.difference + self._half_width
        columns = {
            "respondent": names[first],
            "other": names[second],
            "difference": tests.difference,
            "se": self.difference_se,
            "low": low,
            "high": high,
            **self._more_of_pairs(low, high),
            "p": tests.p,
            "p_adjusted": tests.p_adjusted,
            "verdict": np.where(np.isnan(tests.p), self.untested, verdict),
        }
        return pd.DataFrame(columns)

    def _more_of_pairs(self, low: Floats, high: Floats) -> dict[str, Floats]:  # noqa: ARG002
        """Return further columns of `pairs`, before those of the tests."""
        return {}

    def _with_ties(self) -> pd.DataFrame:
        return self.board.assign(tied_with=self.tests.tied_with(self.respondents, self.alpha))

    def figures(self) -> dict[str, Draw]:
        """Return one figure per kind."""
        plot: Any = self.plot
        return {kind: partial(plot, kind) for kind in self.kinds}

    def key_facts(self) -> dict[str, Any]:
        """Return the leaders."""
        return {"leaders": self.leaders}

    def _draw_ranks(self, estimate: str, label: str, **kw: Any) -> Display:
        from ogive.results.plots import DISPLAYS

        frame = self.board.assign(leading=np.isin(self.respondents, self.leaders))
        leaderboard: Any = DISPLAYS["leaderboard"]
        drawn: Display = leaderboard(frame, estimate=estimate).plot(**kw)
        drawn.ax_.set_xlabel(f"{label} (bar: {self.confidence:.0%} interval)")
        return drawn

    def _draw_rows(self, frame: pd.DataFrame, column: str, **kw: Any) -> Display:
        """Draw a column of a frame with its standard error."""
        from ogive.results.plots import DISPLAYS

        ranking: Any = DISPLAYS["ranking"]
        drawn: Display = ranking(frame, estimate=column, se=f"{column}_se").plot(**kw)
        return drawn


def draw_pairs(pairs: pd.DataFrame, **kw: Any) -> Display:
    """Draw the differences of all pairs, and mark those that are significant."""
    from ogive.results.plots import DISPLAYS

    significant = pairs["verdict"].isin((BETTER, WORSE))
    return DISPLAYS["differences"](pairs.assign(significant=significant)).plot(**kw)


def differences_of(order: Ints, estimate: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return the difference of each pair in rank order, and its standard error."""
    first, second = np.triu_indices(order.size, 1)
    i, j = order[first], order[second]
    variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    return estimate[i] - estimate[j], np.sqrt(np.maximum(variance, 0.0))


def ranks_with_intervals(
    estimate: Floats, tests: Differences, confidence: float
) -> dict[str, NDArray[Any]]:
    """Return columns of ranks for estimates in rank order; equal ones share the better rank."""
    level = np.round(estimate, 9)
    rank = 1 + np.searchsorted(-level, -level, side="left")
    low, high = tests.rank_limits(confidence)
    return {"rank": rank, "rank_low": np.minimum(low, rank), "rank_high": np.maximum(high, rank)}


def said_of_risk(correction: str, alpha: float) -> str:
    """Return what alpha limits."""
    if correction == "holm":
        return f"the chance of any false discovery is at most {alpha:.0%}"
    return f"at most {alpha:.0%} of these are expected to be false discoveries"

"""What selectors achieved: the share of the gap to a perfect choice that each closes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.datasets.aslib_description import Better
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.differing import differences_by_errors
from ogive.numerics.intervals import reach_of_parts
from ogive.results import Result
from ogive.studies.algorithms.portfolio_gaps import SINGLE

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

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
        """One row per selector: mean performance, closed gap, share solved, algorithms in use."""
        import pandas as pd

        names = list(self.achieved.columns)
        frame = pd.DataFrame(index=pd.Index(names, name="selector"))
        whole = np.ones(len(self.achieved))
        span = self._lost(SINGLE) - self._lost(VIRTUAL)
        means, gaps = [], []
        for name in names:
            means.append(self._ratio(self.achieved[name].to_numpy(), whole))
            gaps.append(self._ratio(self._lost(SINGLE) - self._lost(name), span))
        frame[["performance", "performance_se"]] = means
        frame[["closed_gap", "closed_gap_se"]] = gaps
        reach = reach_of_parts(self.folds.nunique()) * frame["closed_gap_se"]
        frame["closed_gap_low"] = frame["closed_gap"] - reach
        frame["closed_gap_high"] = (frame["closed_gap"] + reach).clip(upper=1.0)
        if self.limit is not None:
            frame["solved"] = (self.achieved < self.limit).mean()
        frame["algorithms"] = [
            self.choices[name].nunique() if name in self.choices else np.nan for name in names
        ]
        frame["algorithms"] = frame["algorithms"].astype("Int64")
        return frame

    def difference(self, one: str, other: str) -> tuple[float, float]:
        """Difference of the closed gaps of two selectors, and its standard error."""
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
        """Ratio of two sums over problems, and its standard error by leaving out each fold.

        The error is NaN where one fold holds the whole denominator.
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
        apart = ", not significantly less" if level[1] else ""
        return f"{text}; next is '{rows.index[1]}' with {rows['closed_gap'].iloc[1]:.0%}{apart}."

    def _level_with(self, best: str, names: list[str]) -> NDArray[np.bool_]:
        """Which of `names`, of which `best` was chosen, close not significantly less of the gap."""
        pairs = [self.difference(one, other) for one, other in combinations(names, 2)]
        apart, error = np.array(pairs, dtype=float).T
        tested = differences_by_errors(len(names), apart, error, self.folds.nunique() - 1.0)
        return tested.level_with(names.index(best))

    def plot(self, **kw: Any) -> Display:
        """Closed gap of each selector, between the single best (0) and the virtual best (1)."""
        from ogive.displays import RankingDisplay

        ends = {f"closed_gap{end}": f"closed gap{end}" for end in ("", "_low", "_high")}
        frame = self.to_frame().rename(columns=ends)
        if frame["closed gap"].isna().all():
            raise InputError(f"There is nothing to draw. {self.meaning}")
        return RankingDisplay(frame, estimate="closed gap", ends=True).plot(**kw)

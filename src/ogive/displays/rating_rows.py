"""Rows of ratings with their ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.displays.display import flags, marks_last, remark
from ogive.displays.interval_rows import Rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ogive.displays.style import Style
    from ogive.numerics.arrays import Floats


class RatingsDisplay(Rows):
    """Ratings with 95 % ranges, best on top, marks last; blue: not significantly behind the leader.

    The frame has one row per respondent, which is its index: `rating`, `low` and `high`, and if
    known, whether it is `level` with the leader; else those are whose range overlaps the leader's.
    Who is `artificial` is a hollow mark in the last rows, and never the leader. At most
    60 rows are drawn, the best ones.
    """

    numbers = ("rating", "low", "high")
    order = "rating"
    without = "a finite rating and range"
    further = ("row", "of lower rating")
    x_label = "rating (bar: 95 % range)"

    def _prepare(self) -> None:
        self._rows = marks_last(self._rows, self.order)

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        rating, low, high = (rows[name].to_numpy() for name in self.numbers)
        known, level = "level" in self.frame.columns, self._level()
        marks, first = self._marks()[: len(rows)], int(np.argmin(self._marks()))
        colours = np.where(level[: len(rows)], style.positive, style.neutral)
        ax.axvspan(low[first], high[first], color=style.positive, alpha=0.07, linewidth=0, zorder=0)
        ax.hlines(height, low, high, color=colours, linewidth=1.6, alpha=0.5, zorder=2)
        ax.scatter(rating[~marks], height[~marks], s=22, color=colours[~marks], zorder=3)
        if marks.any():
            edge = style.neutral
            ax.scatter(rating[marks], height[marks], s=22, c=style.paper, edgecolors=edge, zorder=3)
        said = remark(
            "hollow: {}, marks on the scale, in the last rows whatever their rating",
            int(marks.sum()),
            "artificial respondent",
        )
        return [*said, *self._said_of_level(level, known=known)]

    def _said_of_level(self, level: np.ndarray, *, known: bool) -> list[str]:
        if len(self._rows) == 1:
            return []
        said = (
            "that {} not significantly behind in games of the two"
            if known
            else "whose range overlaps its own"
        )
        count = int(level.sum()) - 1
        said = said.format("is" if count == 1 else "are")
        return remark(f"blue: the leader and {{}} {said}", count, "other") or [
            "all others are significantly behind"
            if known
            else "no range overlaps that of the leader"
        ]

    def _level(self) -> np.ndarray:
        """Which rows are blue; the leader always is."""
        marks = self._marks()
        first = int(np.argmin(marks))
        if "level" not in self.frame.columns:
            return np.asarray((self._rows["high"] >= self._rows["low"].iloc[first]) & ~marks)
        found = flags(self._rows, "level").copy()
        found[first] = True
        return found

    def _marks(self) -> np.ndarray:
        """Which rows are marks."""
        if "artificial" not in self.frame.columns:
            return np.zeros(len(self._rows), dtype=bool)
        return np.asarray(flags(self._rows, "artificial"))

"""Ratings with their 95 % ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, label, lines_that_fit, name_width
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_ROWS = 60
COLUMNS = ("rating", "low", "high")


class RatingsDisplay(Display):
    """Ratings, best on top; a bar is the 95 % range, blue where it overlaps that of the leader.

    The frame has one row a respondent, which is its index: `rating`, `low` and `high`. At most
    60 rows are drawn, the best ones.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(tidy(frame, type(self).__name__, COLUMNS))
        finite = np.isfinite(self.frame[list(COLUMNS)].to_numpy()).all(axis=1)
        there = self.frame.loc[finite]
        if there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has a finite 'rating', "
                "'low' and 'high'."
            )
        self._ranked = there.sort_values("rating", ascending=False, kind="stable")

    def _size(self) -> tuple[float, float]:
        return 6.8, max(1.8, 1.2 + 0.19 * min(len(self._ranked), MOST_ROWS))

    def _draw(self, ax: Axes, style: Style) -> None:
        shown = max(1, min(len(self._ranked), MOST_ROWS, lines_that_fit(ax, style.font_size)))
        rows, height = self._ranked.iloc[:shown], np.arange(1, shown + 1)
        rating, low, high = (rows[name].to_numpy() for name in COLUMNS)
        level = high >= low[0]
        colours = np.where(level, style.positive, style.neutral)
        ax.axvspan(low[0], high[0], color=style.positive, alpha=0.07, linewidth=0, zorder=0)
        ax.hlines(height, low, high, color=colours, linewidth=1.6, alpha=0.5, zorder=2)
        ax.scatter(rating, height, s=22, color=colours, zorder=3)
        width = name_width(ax, style)
        ax.set_yticks(height, [label(name, width) for name in rows.index])
        ax.set_ylim(shown + 0.7, 0.3)
        ax.set_xlabel("rating (bar: 95 % range)")
        grid(style, ax, "x")
        footnote(style, ax, self._notes(shown))

    def _notes(self, shown: int) -> list[str]:
        notes = []
        alike = int((self._ranked["high"] >= self._ranked["low"].iloc[0]).sum()) - 1
        if len(self._ranked) > 1:
            notes.append(
                f"blue: the leader and {counted(alike, 'other')} whose range overlaps its own"
                if alike
                else "no range overlaps that of the leader"
            )
        if (hidden := len(self._ranked) - shown) > 0:
            notes.append(f"not shown: {counted(hidden, 'row')} of lower rating")
        if lost := len(self.frame) - len(self._ranked):
            notes.append(f"not shown: {counted(lost, 'row')} without a finite rating and range")
        return notes

"""A leaderboard: accuracy and rank, each with its interval."""

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
RANKS = ("rank", "rank_low", "rank_high")
COLUMNS = ("accuracy", "accuracy_low", "accuracy_high")


class LeaderboardDisplay(Display):
    """Accuracy with its interval, best on top; beside it the rank, and what it may be.

    The frame has one row a respondent, which is its index: `accuracy`, `rank`, each with `_low`
    and `_high`, and where known, whether it is `leading`, and on which `board` it stands if there
    are several. At most 60 rows are drawn, the best.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(tidy(frame, type(self).__name__, (*RANKS, *COLUMNS)))
        there = np.isfinite(self.frame[["accuracy", *RANKS]].to_numpy()).all(axis=1)
        if not there.any():
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has a finite 'accuracy' "
                "and rank."
            )
        self._boards = [name for name in ("board",) if name in self.frame.columns]
        order = [*self._boards, "rank", "rank_low"]
        self._ranked = self.frame.loc[there].sort_values(order, kind="stable")

    def _size(self) -> tuple[float, float]:
        return 7.6, max(1.9, 1.3 + 0.19 * min(len(self._ranked), MOST_ROWS))

    def _draw(self, ax: Axes, style: Style) -> None:
        shown = max(1, min(len(self._ranked), MOST_ROWS, lines_that_fit(ax, style.font_size) - 1))
        rows, height = self._ranked.iloc[:shown], np.arange(1, shown + 1)
        value, low, high = (rows[name].to_numpy() for name in COLUMNS)
        leading = self._leading(rows)
        colours = np.where(leading, style.positive, style.neutral)
        sure = np.isfinite(low) & np.isfinite(high)
        ax.hlines(
            height[sure], low[sure], high[sure], color=colours[sure], linewidth=1.8, alpha=0.5
        )
        face = np.where(sure, colours, style.paper)
        ax.scatter(value, height, s=22, facecolor=face, edgecolor=colours, zorder=3)
        width = name_width(ax, style)
        ax.set_yticks(height, [label(name, width) for name in rows.index])
        ax.set_ylim(shown + 0.7, 0.3)
        ax.set_xlabel("accuracy (bar: interval)")
        grid(style, ax, "x")
        self._write_ranks(ax, style, rows)
        footnote(style, ax, self._notes(shown, int(leading.sum()), int((~sure).sum())))

    def _write_ranks(self, ax: Axes, style: Style, rows: pd.DataFrame) -> None:
        """Rank and rank interval of each row, in a column beside the axes."""
        for height, (rank, low, high) in enumerate(rows[list(RANKS)].to_numpy(), start=1):
            may = f"  ({low:.0f} to {high:.0f})" if low < high else ""
            board = f"board {rows['board'].iloc[height - 1]}: " if self._boards else ""
            self._beside(ax, style, height, f"{board}{rank:.0f}{may}")
        self._beside(ax, style, 0.0, "rank")

    def _beside(self, ax: Axes, style: Style, height: float, text: str) -> None:
        ax.annotate(
            text,
            xy=(1.02, height),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=style.small,
            color=style.ink,
            annotation_clip=False,
        )

    @staticmethod
    def _leading(rows: pd.DataFrame) -> np.ndarray:
        if "leading" not in rows.columns:
            return np.ones(len(rows), dtype=bool)
        return rows["leading"].fillna(False).to_numpy(dtype=bool)

    def _notes(self, shown: int, leading: int, unsure: int) -> list[str]:
        notes = []
        if "leading" in self._ranked.columns and len(self._ranked) > 1:
            others = counted(leading - 1, "other")
            notes.append(
                f"blue: the first and {others} that cannot be told apart from it"
                if leading > 1
                else "blue: the first, which can be told apart from all others"
            )
        if unsure:
            notes.append(f"hollow: no interval ({counted(unsure, 'row')})")
        if (hidden := len(self._ranked) - shown) > 0:
            notes.append(f"not shown: {counted(hidden, 'row')} of higher rank number")
        if lost := len(self.frame) - len(self._ranked):
            notes.append(f"not shown: {counted(lost, 'row')} without accuracy and rank")
        return notes

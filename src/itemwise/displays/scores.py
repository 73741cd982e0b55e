"""True scores as bars, with and without items of negative discrimination."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    legend_beside,
    lines_that_fit,
    name_width,
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_ROWS = 40


class ScoresDisplay(Display):
    """True scores, best on top; each line reaches 1.96 standard errors both ways.

    The frame has one row a respondent, which is its index: `true_score` and `true_score_se`, and
    where known, `true_score_positive` and `true_score_positive_se`, over items of positive
    discrimination only. At most 40 rows are drawn, the best.
    """

    COLUMNS = ("true_score", "true_score_positive")  # the first decides the order
    LEGEND = ("all items", "items of positive\ndiscrimination")
    LABEL = "true score (line: ±1.96 standard errors)"
    ERROR, REACH = "se", 1.96
    WORD = "score"

    def __init__(self, frame: pd.DataFrame) -> None:
        first, second = self.COLUMNS
        self._paired = second in getattr(frame, "columns", ())
        self._shown = (first, second) if self._paired else (first,)
        numbers = [name for score in self._shown for name in (score, f"{score}_{self.ERROR}")]
        super().__init__(tidy(frame, type(self).__name__, numbers))
        there = self.frame[np.isfinite(self.frame[first])]
        if there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: the column '{first}' "
                "holds no finite number."
            )
        self._ranked = there.sort_values(first, ascending=False, kind="stable")

    def _size(self) -> tuple[float, float]:
        row = 0.32 if self._paired else 0.22
        return 7.6, max(1.9, 1.1 + row * min(len(self._ranked), MOST_ROWS))

    def _draw(self, ax: Axes, style: Style) -> None:
        shown = max(1, min(len(self._ranked), MOST_ROWS, lines_that_fit(ax, style.font_size)))
        rows, height = self._ranked.iloc[:shown], np.arange(1.0, shown + 1)
        thick = 0.72 / len(self._shown)
        colours = (style.positive, style.palette[4 % len(style.palette)])
        bars: list[Artist] = []
        for k, (score, colour) in enumerate(zip(self._shown, colours, strict=False)):
            at = height + (k - (len(self._shown) - 1) / 2) * thick
            reach = self.REACH * rows[f"{score}_{self.ERROR}"].to_numpy()
            bars.append(_draw_bars(ax, style, at, rows[score].to_numpy(), reach, thick, colour))
        ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        ax.set_yticks(height, [label(name, name_width(ax, style)) for name in rows.index])
        ax.set_ylim(shown + 0.6, 0.4)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(self.LABEL)
        grid(style, ax, "x")
        if self._paired:
            legend_beside(style, ax, bars, self.LEGEND)
        footnote(style, ax, self._notes(rows, shown))

    def _notes(self, rows: pd.DataFrame, shown: int) -> list[str]:
        notes = []
        errors = rows[[f"{score}_{self.ERROR}" for score in self._shown]]
        if unsure := int((~np.isfinite(errors)).any(axis=1).sum()):
            notes.append(f"no line: no finite standard error ({counted(unsure, 'row')})")
        if (hidden := len(self._ranked) - shown) > 0:
            notes.append(f"not shown: {counted(hidden, 'row')} of lower {self.WORD}")
        if lost := len(self.frame) - len(self._ranked):
            notes.append(f"not shown: {counted(lost, 'row')} without a {self.WORD}")
        return notes


def _draw_bars(
    ax: Axes,
    style: Style,
    at: np.ndarray,
    value: np.ndarray,
    reach: np.ndarray,
    thick: float,
    colour: str,
) -> Artist:
    bars = ax.barh(at, value, height=thick, color=colour, alpha=0.75, linewidth=0, zorder=2)
    sure = np.isfinite(value) & np.isfinite(reach)
    left, right = (value - reach)[sure], (value + reach)[sure]
    ax.hlines(at[sure], left, right, color=style.ink, linewidth=1.1, zorder=3)
    first: Artist = bars[0]
    return first

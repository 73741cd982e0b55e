"""Which items surprise: infit against outfit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    lines_that_fit,
    name_width,
    names_beside,
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

BAND = (0.7, 1.3)
LEVEL = 0.05
MOST_NAMES = 12
MANY = 200  # points beyond this many are drawn small
# Beyond these a mean square says "very far" and no more; drawn to scale it would hide the rest.
LEAST, MOST = 0.25, 4.0
TICKS = (0.25, 0.5, 0.7, 1.0, 1.3, 2.0, 4.0)


class FitDisplay(Display):
    """Infit and outfit of each item; the square holds what is expected, 0.7 to 1.3.

    The frame has one row an item, which is its index: `infit`, `outfit` and `s_x2_p_adjusted`,
    which may be NaN. Items outside the square, or whose adjusted p-value is below 0.05, are
    named, the farthest ones if there are many.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, ("infit", "outfit", "s_x2_p_adjusted")))
        seen = self.frame["infit"].notna() & self.frame["outfit"].notna()
        self._seen = self.frame[seen]
        if self._seen.empty:
            raise InputError(f"{name} has nothing to draw: no row has both infit and outfit.")
        squares = self._seen[["infit", "outfit"]].to_numpy()
        self._squares = np.clip(squares, LEAST, MOST)
        self._clipped = int((squares != self._squares).any(axis=1).sum())
        self._outside = ((squares < BAND[0]) | (squares > BAND[1])).any(axis=1)
        self._wrong = self._seen["s_x2_p_adjusted"].to_numpy() < LEVEL

    def _size(self) -> tuple[float, float]:
        return 7.2, 4.8

    def _draw(self, ax: Axes, style: Style) -> None:
        ax.set_xscale("log")
        ax.set_yscale("log")
        low, high = _limits(self._squares)
        for limits, ticks in ((ax.set_xlim, ax.set_xticks), (ax.set_ylim, ax.set_yticks)):
            limits(low, high)
            shown = [tick for tick in TICKS if low <= tick <= high]
            ticks(shown, [f"{tick:g}" for tick in shown])
            ticks([], minor=True)
        _draw_band(ax, style)
        self._draw_points(ax, style)
        ax.set_xlabel("infit (surprises near the difficulty)")
        ax.set_ylabel("outfit (surprises anywhere)")
        grid(style, ax)
        self._name(ax, style)
        footnote(style, ax, self._notes())

    def _draw_points(self, ax: Axes, style: Style) -> None:
        size = 24.0 if len(self._squares) <= MANY else 7.0
        kinds = (
            (~self._outside & ~self._wrong, style.neutral, "o"),
            (self._outside & ~self._wrong, style.positive, "o"),
            (self._wrong, style.negative, "D"),
        )
        for rows, colour, marker in kinds:
            x, y = self._squares[rows].T
            ax.scatter(x, y, s=size, c=colour, marker=marker, alpha=0.75, linewidth=0, zorder=3)

    def _name(self, ax: Axes, style: Style) -> None:
        """Name the farthest items in a column beside the axes, each led to its point."""
        fit = lines_that_fit(ax, style.small)
        # A wrong form counts as much as a mean square at the edge of the band.
        far = np.abs(np.log(self._squares)).max(axis=1) / np.log(BAND[1]) + self._wrong
        rows = np.flatnonzero(self._outside | self._wrong)
        rows = rows[np.argsort(-far[rows], kind="stable")][: max(1, min(MOST_NAMES, fit - 1))]
        width = min(24, name_width(ax, style))
        names = [label(name, width) for name in self._seen.index[rows]]
        colours = np.where(self._wrong[rows], style.negative, style.ink).tolist()
        names_beside(style, ax, names, self._squares[rows], colours)

    def _notes(self) -> list[str]:
        inside = int((~self._outside).sum())
        notes = [f"square: {inside:,} of {counted(len(self._seen), 'item')} within 0.7 to 1.3"]
        if self._seen["s_x2_p_adjusted"].notna().any():
            wrong = int(self._wrong.sum())
            notes.append(
                f"diamond: curve of the wrong form, adjusted p of S-X² below 0.05 "
                f"({counted(wrong, 'item')})"
            )
        if self._clipped:
            many = counted(self._clipped, "item")
            notes.append(f"drawn at the edge: {many} beyond {LEAST:g} or {MOST:g}")
        if lost := len(self.frame) - len(self._seen):
            notes.append(f"not shown: {counted(lost, 'item')} without infit and outfit")
        return notes


def _draw_band(ax: Axes, style: Style) -> None:
    from matplotlib.patches import Rectangle

    side = BAND[1] - BAND[0]
    ax.add_patch(Rectangle((BAND[0], BAND[0]), side, side, color=style.faint, alpha=0.6, zorder=1))
    for line in (ax.axhline, ax.axvline):
        line(1.0, color=style.neutral, linewidth=0.8, zorder=2)


def _limits(squares: Floats) -> tuple[float, float]:
    """Limits that show every point and the whole band."""
    low = min(float(squares.min()), 0.6)
    high = max(float(squares.max()), 1.5)
    return low / 1.06, high * 1.06

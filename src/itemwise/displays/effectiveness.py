"""Actual against predicted effectiveness."""

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
from itemwise.numerics.robust import padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Array, Floats

AREAS, ERROR = ("auaec", "aupec"), "difference_se"
FAR = 0.1  # a difference of areas beyond which the model describes an algorithm poorly
FEWEST_NAMES, MOST_NAMES = 3, 12


class EffectivenessDisplay(Display):
    """Actual and predicted effectiveness of each algorithm; on the diagonal they agree.

    The frame has one row an algorithm, which is its index: the area under the actual (`auaec`)
    and under the predicted effectiveness curve (`aupec`), and where known, the standard error
    `difference_se` of their difference, which is how far a point lies above or below the diagonal.
    Up to twelve algorithms are named. Of more, those over 0.1 off the diagonal, which are orange:
    the farthest twelve, and never fewer than the farthest three.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        owner = type(self).__name__
        errors = [ERROR] if ERROR in getattr(frame, "columns", ()) else []
        super().__init__(tidy(frame, owner, [*errors, *AREAS]))
        self._seen = self.frame[np.isfinite(self.frame[list(AREAS)].to_numpy()).all(axis=1)]
        if self._seen.empty:
            raise InputError(
                f"{owner} has nothing to draw: no row has a finite 'auaec' and 'aupec'."
            )
        self._points: Floats = self._seen[list(AREAS)].to_numpy()
        self._apart: Floats = np.abs(self._points[:, 0] - self._points[:, 1])
        error = self._seen[ERROR].to_numpy() if errors else np.zeros(len(self._seen))
        self._reach: Floats = 1.96 * np.where(np.isfinite(error), error, 0.0)

    def _size(self) -> tuple[float, float]:
        return 7.0, 4.8

    def _draw(self, ax: Axes, style: Style) -> None:
        x, y = self._points.T
        ends = np.concatenate([x, y - self._reach, y + self._reach])
        low, high = padded((float(ends.min()), float(ends.max())), 0.06)
        ax.plot([low, high], [low, high], color=style.neutral, linestyle=(0, (1, 1)), zorder=1)
        if self._reach.any():
            bars = y - self._reach, y + self._reach
            ax.vlines(x, *bars, color=style.neutral, alpha=0.5, zorder=2)
        far = self._apart > FAR
        for rows, colour in ((~far, style.positive), (far, style.negative)):
            ax.scatter(x[rows], y[rows], s=26, color=colour, alpha=0.75, linewidth=0, zorder=3)
        ax.set_xlim(low, high)
        ax.set_ylim(low, high)
        ax.set_xlabel("actual effectiveness (AUAEC)")
        ax.set_ylabel("predicted effectiveness (AUPEC)")
        grid(style, ax)
        named = self._named(lines_that_fit(ax, style.small))
        width = min(28, name_width(ax, style))
        texts = [label(name, width) for name in self._seen.index[named]]
        colours = np.where(far[named], style.negative, style.ink).tolist()
        names_beside(style, ax, texts, self._points[named], colours)
        footnote(style, ax, self._notes(int(far.sum())))

    def _named(self, lines: int) -> Array:
        """Rows to name, the farthest from the diagonal first."""
        count = max(FEWEST_NAMES, min(MOST_NAMES, int((self._apart > FAR).sum())))
        if len(self._apart) <= MOST_NAMES:
            count = len(self._apart)
        return np.argsort(-self._apart, kind="stable")[: max(1, min(count, lines))]

    def _notes(self, far: int) -> list[str]:
        every = counted(len(self._seen), "algorithm")
        notes = ["dotted: actual and predicted are the same"]
        if far:
            notes.append(f"orange: {far:,} of {every} more than {FAR:g} off")
        if self._reach.any():
            notes.append("bar: ±1.96 standard errors of the distance from the dotted line")
        if lost := len(self.frame) - len(self._seen):
            notes.append(f"not shown: {counted(lost, 'algorithm')} without both areas")
        return notes

"""Who is right on hard items more often than ability allows."""

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

MOST_NAMES = 8
MANY = 300  # points beyond this many are drawn small
FARTHEST = 8.0  # deviations; beyond, a value says "very far" and no more
REFERENCE = 1.645


class ExcessDisplay(Display):
    """Right responses to hard items beyond what is expected, in standard deviations, by ability.

    The frame has one row a respondent, which is its index: `ability` and `excess_z`. With `hint`,
    those that stand out beyond chance are coloured; they are named, or else the three highest.
    Above the line lies one in twenty by chance alone.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name, numbers = type(self).__name__, ("ability", "excess_z")
        super().__init__(tidy(frame, name, numbers))
        seen = np.isfinite(self.frame[list(numbers)].to_numpy()).all(axis=1)
        self._seen = self.frame[seen]
        if self._seen.empty:
            raise InputError(f"{name} has nothing to draw: no row has both ability and excess_z.")
        self._points = self._seen[list(numbers)].to_numpy()
        self._points[:, 1] = np.clip(self._points[:, 1], -FARTHEST, FARTHEST)
        hint = self._seen.get("hint", False)
        self._hint = np.broadcast_to(np.asarray(hint, dtype=bool), len(self._seen))

    def _size(self) -> tuple[float, float]:
        return 7.6, 4.4

    def _draw(self, ax: Axes, style: Style) -> None:
        size = 22.0 if len(self._points) <= MANY else 6.0
        ax.axhline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        ax.axhline(REFERENCE, color=style.neutral, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
        for rows, colour in ((~self._hint, style.positive), (self._hint, style.negative)):
            x, y = self._points[rows].T
            ax.scatter(x, y, s=size, color=colour, alpha=0.6, linewidth=0)
        low, high = self._points[:, 1].min(), self._points[:, 1].max()
        ax.set_ylim(min(float(low), -3.0) - 0.3, max(float(high), 3.0) + 0.3)
        ax.set_xlabel("ability")
        ax.set_ylabel("excess on hard items (deviations)")
        grid(style, ax)
        self._name(ax, style)
        footnote(style, ax, self._notes())

    def _name(self, ax: Axes, style: Style) -> None:
        ax.set_xlim(ax.get_xlim())
        order = np.lexsort((-self._seen["excess_z"].to_numpy(), ~self._hint))
        most = int(self._hint.sum()) or 3
        fit = lines_that_fit(ax, style.small) - 1
        rows = order[: max(1, min(most, MOST_NAMES, fit))]
        width = min(26, name_width(ax, style))
        names, values = self._seen.index, self._seen["excess_z"]
        texts = [f"{label(names[row], width)}  {values.iloc[row]:+.1f}" for row in rows]
        colours = [style.negative if self._hint[row] else style.ink for row in rows]
        names_beside(style, ax, texts, self._points[rows], colours)

    def _notes(self) -> list[str]:
        hints, total = int(self._hint.sum()), counted(len(self._seen), "respondent")
        notes = [
            f"in colour: {hints:,} of {total} beyond chance (no proof)",
            "dashed: above lies one in twenty by chance",
        ]
        if far := int((np.abs(self._seen["excess_z"]) > FARTHEST).sum()):
            notes.append(f"drawn at the edge: {counted(far, 'respondent')} beyond ±{FARTHEST:g}")
        if lost := len(self.frame) - len(self._seen):
            notes.append(f"not shown: {counted(lost, 'respondent')} with too few hard items")
        return notes

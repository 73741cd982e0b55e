"""Items that tie two scales: where the old and the new calibration put them."""

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
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Array, Floats

PLACES, ERROR = ("difficulty_old", "difficulty_new"), "difficulty_difference_se"
MOST_NAMES = 12


class AnchorsDisplay(Display):
    """Difficulty of each anchor on the old scale, by both calibrations; on the line they agree.

    The frame has one row an anchor, which is its index: `difficulty_old`, `difficulty_new` after
    linking, the standard error of their difference `difficulty_difference_se`, and where known,
    `drifted`. Anchors that drifted are orange diamonds with their names, at most twelve; where
    there are no more than twelve anchors, all have names.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, [*PLACES, ERROR]))
        self._seen = self.frame[np.isfinite(self.frame[list(PLACES)].to_numpy()).all(axis=1)]
        if self._seen.empty:
            raise InputError(
                f"{owner} has nothing to draw: no row has a finite 'difficulty_old' and "
                "'difficulty_new'."
            )
        self._points: Floats = self._seen[list(PLACES)].to_numpy()
        error = self._seen[ERROR].to_numpy()
        self._reach: Floats = 1.96 * np.where(np.isfinite(error), error, 0.0)
        told = "drifted" in self._seen.columns
        drifted = self._seen["drifted"].fillna(False) if told else np.zeros(len(self._seen))
        self._drifted: np.ndarray = np.asarray(drifted, dtype=bool)

    def _size(self) -> tuple[float, float]:
        return 7.0, 4.8

    def _draw(self, ax: Axes, style: Style) -> None:
        ends = [self._points[:, 1] - self._reach, self._points[:, 1] + self._reach]
        low, high = padded(robust_limits(np.concatenate([*self._points.T, *ends])), 0.04)
        inside = ((self._points >= low) & (self._points <= high)).all(axis=1)
        ax.plot([low, high], [low, high], color=style.neutral, linestyle=(0, (1, 1)), zorder=1)
        for marked, colour, marker in (
            (~self._drifted, style.positive, "o"),
            (self._drifted, style.negative, "D"),
        ):
            rows = inside & marked
            x, y = self._points[rows].T
            bars = y - self._reach[rows], y + self._reach[rows]
            ax.vlines(x, *bars, color=colour, alpha=0.35, linewidth=1.2, zorder=2)
            ax.scatter(x, y, s=26, color=colour, marker=marker, alpha=0.8, linewidth=0, zorder=3)
        ax.set_xlim(low, high)
        ax.set_ylim(low, high)
        ax.set_xlabel("difficulty in the old calibration")
        ax.set_ylabel("difficulty in the new one, linked")
        grid(style, ax)
        named = self._named(inside, lines_that_fit(ax, style.small))
        width = min(28, name_width(ax, style))
        texts = [label(name, width) for name in self._seen.index[named]]
        colours = np.where(self._drifted[named], style.negative, style.ink).tolist()
        names_beside(style, ax, texts, self._points[named], colours)
        footnote(style, ax, self._notes(int((~inside).sum())))

    def _named(self, inside: Array, lines: int) -> Array:
        """Rows to name: all where there are few, else those that drifted, farthest first."""
        apart = np.abs(self._points[:, 0] - self._points[:, 1])
        wanted = inside if len(self._points) <= MOST_NAMES else inside & self._drifted
        rows = np.argsort(-apart, kind="stable")
        return rows[wanted[rows]][: max(1, min(MOST_NAMES, lines))]

    def _notes(self, outside: int) -> list[str]:
        notes = ["dotted: no change; bar: ±1.96 standard errors of the difference"]
        if drifted := int(self._drifted.sum()):
            anchors = counted(len(self._drifted), "anchor")
            notes.append(f"orange diamond: drifted ({drifted:,} of {anchors})")
        if outside:
            notes.append(f"not shown: {counted(outside, 'anchor')} far outside the others")
        if lost := len(self.frame) - len(self._seen):
            notes.append(f"not shown: {counted(lost, 'anchor')} without both difficulties")
        return notes

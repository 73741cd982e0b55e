"""Whose responses do not go together: ability against the standardised log-likelihood."""

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
    name_beside,
    name_width,
    spread,
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

UNLIKELY = -1.645
MOST_NAMES = 8
MANY = 300  # points beyond this many are drawn small
FARTHEST = 6.0  # beyond, a value says "very far" and no more


class RespondentFitDisplay(Display):
    """Ability against the likelihood of the responses; below the line, one in twenty by chance.

    The frame has one row a respondent, which is its index: `ability`, its `se`, and `zh`, the
    standardised log-likelihood. The least likely respondents are named, and their bar reaches
    1.96 standard errors of ability both ways.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, ("ability", "se", "zh")))
        seen = np.isfinite(self.frame["ability"]) & np.isfinite(self.frame["zh"])
        self._seen = self.frame[seen]
        if self._seen.empty:
            raise InputError(f"{name} has nothing to draw: no row has both ability and zh.")
        self._points = np.clip(self._seen[["ability", "zh"]].to_numpy(), -FARTHEST, FARTHEST)
        self._below = self._seen["zh"].to_numpy() < UNLIKELY

    def _size(self) -> tuple[float, float]:
        return 7.2, 4.4

    def _draw(self, ax: Axes, style: Style) -> None:
        size = 22.0 if len(self._points) <= MANY else 6.0
        low, high = _limits(self._points[:, 1])
        ax.set_ylim(low, high)
        ax.axhspan(low, UNLIKELY, color=style.faint, alpha=0.6, zorder=1)
        ax.axhline(UNLIKELY, color=style.neutral, linewidth=0.8, zorder=2)
        for rows, colour in ((~self._below, style.positive), (self._below, style.negative)):
            x, y = self._points[rows].T
            ax.scatter(x, y, s=size, color=colour, alpha=0.6, linewidth=0, zorder=3)
        named = self._named(lines_that_fit(ax, style.small))
        ax.set_xlim(_limits(np.append(self._points[:, 0], self._bars(named)), least=2.0))
        ax.set_xlabel("ability")
        ax.set_ylabel("zh (standardised log-likelihood)")
        grid(style, ax)
        self._name(ax, style, named)
        footnote(style, ax, self._notes())

    def _named(self, lines: int) -> np.ndarray:
        """Positions of the least likely respondents, as many as there is room to name."""
        rows = np.flatnonzero(self._below)
        order = np.argsort(self._seen["zh"].to_numpy()[rows], kind="stable")
        return rows[order[: max(1, min(MOST_NAMES, lines - 1))]]

    def _bars(self, rows: np.ndarray) -> Floats:
        """Both ends of the bars of some respondents; without a standard error, the point."""
        x, reach = self._points[rows, 0], 1.96 * self._seen["se"].to_numpy()[rows]
        reach = np.where(np.isfinite(reach), reach, 0.0)
        ends: Floats = np.clip(np.stack([x - reach, x + reach]), -FARTHEST, FARTHEST)
        return ends

    def _name(self, ax: Axes, style: Style, rows: np.ndarray) -> None:
        """Name the least likely in a column beside the axes, each led to its point."""
        low, high = ax.get_ylim()
        gap = (high - low) / max(lines_that_fit(ax, style.small), 1)
        placed = spread(self._points[rows, 1], gap, low, high)
        width = min(24, name_width(ax, style))
        ax.hlines(self._points[rows, 1], *self._bars(rows), color=style.negative, alpha=0.5)
        for row, at in zip(rows, placed, strict=True):
            text = f"{label(self._seen.index[row], width)}  {self._seen['zh'].iloc[row]:.2f}"
            place = (1.05, at)
            name_beside(style, ax, text, tuple(self._points[row]), place, ax.get_yaxis_transform())

    def _notes(self) -> list[str]:
        many, share = int(self._below.sum()), float(self._below.mean())
        of_all = f"{many:,} of {counted(len(self._seen), 'respondent')} ({share:.1%})"
        notes = [f"shaded: below {UNLIKELY:g} lie {of_all}; chance alone gives up to 5%"]
        values = self._seen[["ability", "zh"]].to_numpy()
        if clipped := int((np.abs(values) > FARTHEST).any(axis=1).sum()):
            notes.append(
                f"drawn at the edge: {counted(clipped, 'respondent')} beyond ±{FARTHEST:g}"
            )
        if lost := len(self.frame) - len(self._seen):
            notes.append(f"not shown: {counted(lost, 'respondent')} without zh")
        errors = self._seen["se"].to_numpy()
        if many and np.isfinite(errors).any():
            middle = np.median(errors[np.isfinite(errors)])
            notes.append(f"bar: ±1.96 standard errors of ability; their median is {middle:.2g}")
        return notes


def _limits(values: Floats, least: float = 3.0) -> tuple[float, float]:
    """Limits that show every point, and at least `least` each way."""
    low, high = min(float(values.min()), -least), max(float(values.max()), least)
    return low - 0.04 * (high - low), high + 0.04 * (high - low)

"""Success against difficulty on two samples, beside the curve that one of them lets expect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, label, legend_beside
from itemwise.errors import InputError
from itemwise.numerics.robust import padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_SAMPLES = 7
APART = 0.004  # of the axis, from one sample to the next, so that bars do not hide each other


class AlarmDisplay(Display):
    """Success against difficulty: points of each sample, and the curve that was to be expected.

    The frame has one row a point: its `sample`, `difficulty`, `share`, and interval from `low` to
    `high`. Rows of the sample "expected" make the curve and its band. Points without a share are
    ticks along the axis: items whose outcome is unknown.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        numbers = ("difficulty", "share", "low", "high")
        super().__init__(tidy(frame, type(self).__name__, numbers, ("sample",)))
        known = self.frame[np.isfinite(self.frame["difficulty"])]
        if known.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has a finite 'difficulty'."
            )
        self._lost = len(self.frame) - len(known)
        line = known["sample"] == "expected"
        self._curve = known[line & known["share"].notna()].sort_values("difficulty", kind="stable")
        parts = known[~line].groupby("sample", sort=False, dropna=False, observed=True)
        self._samples = [part for _, part in parts]

    def _size(self) -> tuple[float, float]:
        return 7.2, 4.2

    def _draw(self, ax: Axes, style: Style) -> None:
        handles: list[Artist] = []
        texts: list[str] = []
        x = self.frame["difficulty"]
        x = x[np.isfinite(x)]
        if not self._curve.empty:
            handles.append(self._draw_curve(ax, style))
            texts.append("expected")
        shown = self._samples[:MOST_SAMPLES]
        shifts = (np.arange(len(shown)) - (len(shown) - 1) / 2) * APART * float(np.ptp(x))
        for part, colour, shift in zip(shown, style.palette, shifts, strict=False):
            handles.append(_draw_sample(ax, part, colour, float(shift)))
            texts.append(label(part["sample"].iloc[0], 24))
        ax.set_xlim(padded((float(x.min()), float(x.max()))))
        ax.set_ylim(-0.03, 1.03)
        ax.set_xlabel("difficulty")
        ax.set_ylabel("share of right responses")
        grid(style, ax)
        legend_beside(style, ax, handles, texts)
        footnote(style, ax, self._notes())

    def _draw_curve(self, ax: Axes, style: Style) -> Artist:
        x, low, high = (self._curve[name].to_numpy() for name in ("difficulty", "low", "high"))
        ax.fill_between(x, low, high, color=style.neutral, alpha=0.2, linewidth=0, zorder=1)
        (line,) = ax.plot(x, self._curve["share"], color=style.ink, linewidth=1.6, zorder=2)
        return line

    def _notes(self) -> list[str]:
        notes = []
        if any(part["share"].isna().any() for part in self._samples[:MOST_SAMPLES]):
            notes.append("ticks along the axis: items whose outcome is unknown")
        if (others := len(self._samples) - MOST_SAMPLES) > 0:
            notes.append(f"not shown: {counted(others, 'sample')} more")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a number")
        return notes


def _draw_sample(ax: Axes, part: pd.DataFrame, colour: str, shift: float) -> Artist:
    known = part["share"].notna()
    seen, unseen = part[known], part[~known]
    x = seen["difficulty"] + shift
    ax.vlines(x, seen["low"], seen["high"], color=colour, linewidth=1.4, alpha=0.6, zorder=3)
    marker = "o" if len(seen) else "|"
    (dots,) = ax.plot(x, seen["share"], marker, color=colour, markersize=5, zorder=4)
    ticks = ax.get_xaxis_transform()
    ax.plot(
        unseen["difficulty"], np.full(len(unseen), 0.02), "|", color=colour, transform=ticks, ms=9
    )
    return dots

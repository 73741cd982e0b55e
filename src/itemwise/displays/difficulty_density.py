"""The density of case difficulty in each class, and how far the model can be trusted in it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.classes import (
    by_class,
    class_name,
    colours,
    limit_columns,
    limits_by_class,
    said_limit,
)
from itemwise.displays.kernel import NARROWEST, smoothed
from itemwise.displays.style import Style, footnote, grid, legend_beside, name_width
from itemwise.errors import InputError
from itemwise.numerics.robust import cluster_limits, padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

TAILS = 3.0  # kernel widths beyond the ends of the values
WIDENED = 0.5  # of the range of difficulties, at most, to show a limit beyond it
LOWEST = 0.02  # of its peak, down to which a curve is shown
MOST_BANDS = 3  # more bands over each other would blur into one


class DifficultyDensityDisplay(Display):
    """Density of difficulty in each class; a dashed line is the limit of the model there.

    The frame has one row a case: its `class` and its `difficulty` as a member of that class.
    `limits` holds the limit (MLC) of each class: a mapping, or a frame with one row a class, which
    is its index, and `mlc` and `mlc_se`. The columns `limit` and `limit_se` do the same. Six
    classes are drawn, the largest, and the rest together.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        limits: Mapping[Hashable, float] | pd.DataFrame | None = None,
    ) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, (*limit_columns(frame), "difficulty"), ("class",)))
        self._limits = limits_by_class(owner, self.frame, limits)
        there = self.frame[np.isfinite(self.frame["difficulty"])]
        if there.empty:
            raise InputError(f"{owner} has nothing to draw: 'difficulty' holds no finite number.")
        self._lost = len(self.frame) - len(there)
        values = there["difficulty"].to_numpy()
        self._ends = cluster_limits(values)
        self._beyond = int(((values < self._ends[0]) | (values > self._ends[1])).sum())
        self._parts = [(name, values[places]) for name, places in by_class(there["class"])]

    def _size(self) -> tuple[float, float]:
        return 7.8, 4.2

    def _draw(self, ax: Axes, style: Style) -> None:
        curves = [self._curve(values) for _, values in self._parts]
        low, high = self._reach(curves)
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        handles, texts = [], []
        width = min(24, name_width(ax, style))
        for (name, values), curve, colour in zip(self._parts, curves, colours(style), strict=False):
            handles.append(self._draw_class(ax, name, curve, values, colour))
            text = f"{class_name(name, width)}\n{counted(len(values), 'case')}"
            if name in self._limits:
                text += f"\nlimit {said_limit(*self._limits[name])}"
            texts.append(text)
        legend_beside(style, ax, handles, texts)
        ax.set_xlim(low, high)
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.set_xlabel("difficulty of the case in its class")
        ax.set_ylabel("density")
        grid(style, ax, "y")
        footnote(style, ax, self._notes())

    def _draw_class(
        self, ax: Axes, name: object, curve: Floats | None, values: Floats, colour: str
    ) -> Artist:
        if curve is not None:
            at, density, se = curve
            if len(self._parts) <= MOST_BANDS:
                band = np.maximum(density - 1.96 * se, 0.0), density + 1.96 * se
                ax.fill_between(at, *band, color=colour, alpha=0.16, linewidth=0, zorder=2)
            (handle,) = ax.plot(at, density, color=colour, linewidth=1.7, zorder=4)
        else:  # the density of equal values has no end: they are a mark at the foot
            foot: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False}
            look: dict[str, Any] = {"marker": "^", "linestyle": "", "color": colour}
            where = values[(values >= self._ends[0]) & (values <= self._ends[1])][:1]
            (handle,) = ax.plot(where, np.zeros(len(where)), zorder=5, **foot, **look)
        if name in self._limits:
            limit, error = self._limits[name]
            ax.axvline(limit, color=colour, linewidth=1.4, linestyle=(0, (4, 2)), zorder=3)
            if np.isfinite(error):
                reach = limit - 1.96 * error, limit + 1.96 * error
                ax.axvspan(*reach, color=colour, alpha=0.08, linewidth=0, zorder=0)
        return handle

    def _curve(self, values: Floats) -> Floats | None:
        """Places, density and its standard error (3, n_points); None where values are equal."""
        low, high = self._ends
        inside = values[(values >= low) & (values <= high)]
        if not inside.size or np.ptp(inside) == 0:
            return None
        return np.array(smoothed(inside, NARROWEST * (high - low), TAILS))

    def _reach(self, curves: list[Floats | None]) -> tuple[float, float]:
        """Ends of the axis: of difficulties and curves, wider for limits that are not far off."""
        low, high = self._ends
        more = WIDENED * (high - low)
        for curve in curves:
            if curve is not None:
                seen = curve[0][curve[1] > LOWEST * curve[1].max()]
                low, high = min(low, float(seen[0])), max(high, float(seen[-1]))
        shown = [self._limits[name][0] for name, _ in self._parts if name in self._limits]
        near = [limit for limit in shown if low - more <= limit <= high + more]
        return padded((min([low, *near]), max([high, *near])), 0.02)

    def _notes(self) -> list[str]:
        notes = []
        banded = len(self._parts) <= MOST_BANDS
        if drawn := [self._limits[name] for name, _ in self._parts if name in self._limits]:
            notes.append("dashed: limit (MLC) of each class")
            banded = banded or any(np.isfinite(error) for _, error in drawn)
        if banded:
            notes.append("band and ±: 1.96 standard errors")
        if self._beyond:
            notes.append(f"beyond the axis: {counted(self._beyond, 'case')}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'case')} without a finite number")
        return notes

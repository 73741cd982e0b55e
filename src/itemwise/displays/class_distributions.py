"""Distributions of the difficulty of cases, by class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import as_number
from itemwise.displays.display import Display, remark
from itemwise.displays.grouped_rows import (
    MOST_CLASSES,
    by_class,
    class_name,
    group_colours,
    limits_by_class,
    said_limit,
)
from itemwise.displays.panel_grid import divided, outer_and_other
from itemwise.displays.smoothing import NARROWEST, draw_violin, smoothed
from itemwise.displays.style import DASHED, Style, grid, legend_beside, name_width
from itemwise.displays.value_distributions import draw_steps
from itemwise.errors import InputError
from itemwise.numerics.robust import cluster_limits, padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_BINS = 200
TAILS = 3.0  # kernel widths beyond the ends of the values
WIDENED = 0.5  # of the range of difficulties, at most, to show a limit beyond it
LOWEST = 0.02  # of its peak, down to which a curve is shown
MOST_BANDS = 3  # more overlapping bands would blur into one


class CaseDifficultyDisplay(Display):
    """Case Difficulty Index by class: a histogram, and violins in the same colours beside it.

    The frame has one row per case: its `class` and `cdi`. Bins are `width` wide, with one around
    zero, and show the share of a class's cases in them, so that a small class is seen beside a
    large one. Six classes are drawn, the largest, and the rest together.
    """

    numbers, labels = ("cdi",), ("class",)
    noun, without = "case", "a finite number"
    x_label, grid_lines = "Case Difficulty Index (CDI)", ""

    def __init__(self, frame: pd.DataFrame, width: float = 0.25) -> None:
        if not 0 < as_number(width) < np.inf:
            raise InputError(
                f"width is {width!r}, but it should be a number above 0, such as 0.25."
            )
        super().__init__(frame)
        values = self._rows["cdi"].to_numpy()
        self._parts = [(name, values[places]) for name, places in by_class(self._rows["class"])]
        self._edges, self._width = _edges(values, width)
        self._beyond = int(((values < self._edges[0]) | (values > self._edges[-1])).sum())

    def _size(self) -> tuple[float, float]:
        return 9.4, max(3.6, 1.8 + 0.45 * len(self._parts))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        bins, violins = panels = divided(ax, 2)
        for panel in panels:
            self._dress(panel, style)
            panel.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
            panel.set_xlim(padded((self._edges[0], self._edges[-1]), 0.02))
        self._draw_bins(bins, style)
        self._draw_violins(violins, style)
        self._foot = outer_and_other(panels)[1]
        return [
            f"bins of {self._width:g}; bar: middle half, dot: mean",
            *remark("beyond the axis: {}", self._beyond, "case"),
        ]

    def _draw_bins(self, ax: Axes, style: Style) -> None:
        from matplotlib.ticker import PercentFormatter

        colours = group_colours(style, MOST_CLASSES)
        for (_, values), colour in zip(self._parts, colours, strict=False):
            counts, _ = np.histogram(values, self._edges)
            draw_steps(ax, counts / len(values), self._edges, colour, len(self._parts))
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        ax.set_ylabel("share of the class")
        grid(style, ax, "y")

    def _draw_violins(self, ax: Axes, style: Style) -> None:
        limits = float(self._edges[0]), float(self._edges[-1])
        colours = group_colours(style, MOST_CLASSES)
        pairs = zip(self._parts, colours, strict=False)
        for height, ((_, values), colour) in enumerate(pairs, start=1):
            inside = values[(values >= limits[0]) & (values <= limits[1])]
            if inside.size:
                draw_violin(ax, style, inside, height, limits, colour)
        width = min(24, name_width(ax, style))
        names = [f"{class_name(name, width)}\n({len(part):,})" for name, part in self._parts]
        ax.set_yticks(range(1, len(names) + 1), names)
        for tick, colour in zip(ax.get_yticklabels(), colours, strict=False):
            tick.set_color(colour)
        ax.set_ylim(len(names) + 0.6, 0.4)
        ax.tick_params(axis="y", length=0)
        grid(style, ax, "x")


def _edges(values: Floats, width: float) -> tuple[Floats, float]:
    """Return edges of bins, one of them around zero, and their width: wider if far too many."""
    low, high = cluster_limits(values)
    width *= max(1, ceil((high - low) / width / MOST_BINS))
    first, last = round(low / width), round(high / width)
    edges: Floats = width * (np.arange(first, last + 2, dtype=float) - 0.5)
    return edges, width


class DifficultyDensityDisplay(Display):
    """Density of difficulty in each class; a dashed line is the limit of the model there.

    The frame has one row per case: its `class` and its `difficulty` as a member of that class.
    `limits` holds the limit (MLC) of each class: a mapping, or a frame with one row per class,
    which is its index, and `mlc` and `mlc_se`. The columns `limit` and `limit_se` do the same. Six
    classes are drawn, the largest, and the rest together.
    """

    numbers, labels = ("difficulty",), ("class",)
    optional = ("limit", "limit_se")
    noun, without = "case", "a finite number"
    inches = (7.8, 4.2)
    x_label, y_label = "difficulty of the case in its class", "density"
    grid_lines = "y"

    def __init__(
        self,
        frame: pd.DataFrame,
        limits: Mapping[Hashable, float] | pd.DataFrame | None = None,
    ) -> None:
        super().__init__(frame)
        self._limits = limits_by_class(self._owner, self.frame, limits)
        values = self._rows["difficulty"].to_numpy()
        self._ends = cluster_limits(values)
        self._beyond = int(((values < self._ends[0]) | (values > self._ends[1])).sum())
        self._parts = [(name, values[places]) for name, places in by_class(self._rows["class"])]

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        curves = [self._curve(values) for _, values in self._parts]
        low, high = self._reach(curves)
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        handles, texts = [], []
        width = min(24, name_width(ax, style))
        colours = group_colours(style, MOST_CLASSES)
        for (name, values), curve, colour in zip(self._parts, curves, colours, strict=False):
            handles.append(self._draw_class(ax, curve, values, colour))
            text = f"{class_name(name, width)}\n{counted(len(values), 'case')}"
            if name in self._limits:
                _draw_limit(ax, self._limits[name], colour)
                text += f"\nlimit {said_limit(*self._limits[name])}"
            texts.append(text)
        legend_beside(style, ax, handles, texts)
        ax.set_xlim(low, high)
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        drawn = [self._limits[name] for name, _ in self._parts if name in self._limits]
        banded = len(self._parts) <= MOST_BANDS or any(np.isfinite(error) for _, error in drawn)
        return [
            *(["dashed: limit (MLC) of each class"] if drawn else []),
            *(["band and ±: 1.96 standard errors"] if banded else []),
            *remark("beyond the axis: {}", self._beyond, "case"),
        ]

    def _draw_class(self, ax: Axes, curve: Floats | None, values: Floats, colour: str) -> Artist:
        if curve is not None:
            at, density, se = curve
            if len(self._parts) <= MOST_BANDS:
                band = np.maximum(density - 1.96 * se, 0.0), density + 1.96 * se
                ax.fill_between(at, *band, color=colour, alpha=0.16, linewidth=0, zorder=2)
            (handle,) = ax.plot(at, density, color=colour, linewidth=1.7, zorder=4)
        else:  # the density of equal values is infinite: they are a mark on the axis
            foot: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False}
            look: dict[str, Any] = {"marker": "^", "linestyle": "", "color": colour}
            where = values[(values >= self._ends[0]) & (values <= self._ends[1])][:1]
            (handle,) = ax.plot(where, np.zeros(len(where)), zorder=5, **foot, **look)
        return handle

    def _curve(self, values: Floats) -> Floats | None:
        """Return positions, density and its standard error (3, n_points); None if all are equal."""
        low, high = self._ends
        inside = values[(values >= low) & (values <= high)]
        if not inside.size or np.ptp(inside) == 0:
            return None
        return np.array(smoothed(inside, NARROWEST * (high - low), TAILS))

    def _reach(self, curves: list[Floats | None]) -> tuple[float, float]:
        """Return the ends of the axis: difficulties and curves, wider for limits nearby."""
        low, high = self._ends
        more = WIDENED * (high - low)
        for curve in curves:
            if curve is not None:
                seen = curve[0][curve[1] > LOWEST * curve[1].max()]
                low, high = min(low, float(seen[0])), max(high, float(seen[-1]))
        shown = [self._limits[name][0] for name, _ in self._parts if name in self._limits]
        near = [limit for limit in shown if low - more <= limit <= high + more]
        return padded((min([low, *near]), max([high, *near])), 0.02)


def _draw_limit(ax: Axes, limit: tuple[float, float], colour: str) -> None:
    at, error = limit
    ax.axvline(at, color=colour, linewidth=1.4, linestyle=DASHED, zorder=3)
    if np.isfinite(error):
        reach = at - 1.96 * error, at + 1.96 * error
        ax.axvspan(*reach, color=colour, alpha=0.08, linewidth=0, zorder=0)

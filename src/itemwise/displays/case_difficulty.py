"""Case Difficulty Indices by class: a histogram, and violins beside it."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from itemwise.arguments import as_number
from itemwise.displays.base import Display, tidy
from itemwise.displays.classes import by_class, class_name, colours
from itemwise.displays.divided import divided
from itemwise.displays.histogram import draw_steps
from itemwise.displays.kernel import draw_violin
from itemwise.displays.style import Style, apply, footnote, grid, name_width
from itemwise.errors import InputError
from itemwise.numerics.robust import cluster_limits, padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_BINS = 200


class CaseDifficultyDisplay(Display):
    """Case Difficulty Index by class; a histogram, and violins in the same colours beside it.

    The frame has one row a case: its `class` and `cdi`. Bins are `width` wide, with one around
    zero, and show the share of a class's cases in them, so that a small class is seen beside a
    large one. Six classes are drawn, the largest, and the rest together.
    """

    def __init__(self, frame: pd.DataFrame, width: float = 0.25) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, ("cdi",), ("class",)))
        if not 0 < as_number(width) < np.inf:
            raise InputError(
                f"width is {width!r}, but it should be a number above 0, such as 0.25."
            )
        there = self.frame[np.isfinite(self.frame["cdi"])]
        if there.empty:
            raise InputError(f"{owner} has nothing to draw: 'cdi' holds no finite number.")
        self._lost = len(self.frame) - len(there)
        values = there["cdi"].to_numpy()
        self._parts = [(name, values[places]) for name, places in by_class(there["class"])]
        self._edges, self._width = _edges(values, width)

    def _size(self) -> tuple[float, float]:
        return 9.4, max(3.6, 1.8 + 0.45 * len(self._parts))

    def _draw(self, ax: Axes, style: Style) -> None:
        bins, violins = divided(ax, 2)
        for panel in (bins, violins):
            apply(style, panel)
            panel.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
            panel.set_xlim(padded((self._edges[0], self._edges[-1]), 0.02))
            panel.set_xlabel("Case Difficulty Index (CDI)")
        self._draw_bins(bins, style)
        self._draw_violins(violins, style)
        stacked = violins.get_position().x0 <= bins.get_position().x0
        footnote(style, violins if stacked else bins, self._notes())

    def _draw_bins(self, ax: Axes, style: Style) -> None:
        from matplotlib.ticker import PercentFormatter

        # Three fills or more over each other mix to mud; their outlines can still be followed.
        fill = 0.28 if len(self._parts) <= 2 else 0.05
        for (_, values), colour in zip(self._parts, colours(style), strict=False):
            counts, _ = np.histogram(values, self._edges)
            draw_steps(ax, counts / len(values), self._edges, colour, fill)
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        ax.set_ylabel("share of the class")
        grid(style, ax, "y")

    def _draw_violins(self, ax: Axes, style: Style) -> None:
        limits = float(self._edges[0]), float(self._edges[-1])
        for height, ((_, values), colour) in enumerate(
            zip(self._parts, colours(style), strict=False), start=1
        ):
            inside = values[(values >= limits[0]) & (values <= limits[1])]
            if inside.size:
                draw_violin(ax, style, inside, height, limits, colour)
        width = min(24, name_width(ax, style))
        names = [f"{class_name(name, width)}\n({len(part):,})" for name, part in self._parts]
        ax.set_yticks(range(1, len(names) + 1), names)
        for tick, colour in zip(ax.get_yticklabels(), colours(style), strict=False):
            tick.set_color(colour)
        ax.set_ylim(len(names) + 0.6, 0.4)
        ax.tick_params(axis="y", length=0)
        grid(style, ax, "x")

    def _notes(self) -> list[str]:
        notes = [f"bins of {self._width:g}; bar: middle half, dot: mean"]
        values = np.concatenate([part for _, part in self._parts])
        beyond = int(((values < self._edges[0]) | (values > self._edges[-1])).sum())
        if beyond:
            notes.append(f"beyond the axis: {counted(beyond, 'case')}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'case')} without a finite number")
        return notes


def _edges(values: Floats, width: float) -> tuple[Floats, float]:
    """Edges of bins of which one lies around zero, and their width: wider where far too many."""
    low, high = cluster_limits(values)
    width *= max(1, ceil((high - low) / width / MOST_BINS))
    first, last = round(low / width), round(high / width)
    edges: Floats = width * (np.arange(first, last + 2, dtype=float) - 0.5)
    return edges, width

"""Lines with bands along steps: how an estimate, or an error, changes as items are asked."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.divided import divided, outer_and_other, panels_by
from itemwise.displays.highlight import MOST_COLOURS
from itemwise.displays.series import lines_by_name
from itemwise.displays.style import Style, apply, footnote, grid, label, legend_beside, name_width
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_PANELS = 2
MOST_BANDS = 4  # beyond, bands would hide each other
FEW = 12  # points of a line up to which each has a marker
MARKERS = "osD^v<>P"


class BandsDisplay(Display):
    """How estimates change along the steps, one line a series, each with its interval.

    The frame has one row a `series` and `x`: the `estimate` there, and its interval from `low` to
    `high`, which may be NaN. Where there is a column `panel`, each panel has its own scale and
    name. `across` says what x is. Up to eight series are drawn, in the order of appearance.
    """

    def __init__(self, frame: pd.DataFrame, across: str = "step") -> None:
        owner = type(self).__name__
        numbers = ("x", "estimate", "low", "high")
        super().__init__(tidy(frame, owner, numbers, ("series",)))
        self.across = across
        known = self.frame[np.isfinite(self.frame[["x", "estimate"]].to_numpy()).all(axis=1)]
        self._lost = len(self.frame) - len(known)
        if known.empty:
            raise InputError(
                f"{owner} has nothing to draw: no row has a finite 'x' and 'estimate'."
            )
        self._names: list[Hashable] = list(dict.fromkeys(known["series"].astype(object)))
        self._panels = panels_by(known, "panel", "estimate")

    def _size(self) -> tuple[float, float]:
        return 2.8 + 4.0 * min(len(self._panels), MOST_PANELS), 4.2

    def _draw(self, ax: Axes, style: Style) -> None:
        shown = self._panels[:MOST_PANELS]
        panels = divided(ax, len(shown)) if len(shown) > 1 else [ax]
        for panel, (name, rows) in zip(panels, shown, strict=True):
            apply(style, panel)
            self._draw_panel(panel, style, rows)
            panel.set_ylabel(label(name, 40))
            panel.set_xlabel(label(self.across, 40))
            grid(style, panel)
        beside, other = outer_and_other(panels)
        if len(self._names) > 1:
            legend_beside(style, beside, *self._legend(ax, style))
        footnote(style, other, self._notes())

    def _draw_panel(self, ax: Axes, style: Style, rows: pd.DataFrame) -> None:
        from matplotlib.ticker import MaxNLocator

        names, lines = lines_by_name(rows, "series", ("x", "estimate", "low", "high"))
        few = len(self._names) <= MOST_BANDS
        for name, line in zip(names, lines, strict=True):
            place = self._names.index(name)
            if place < MOST_COLOURS:
                colour = style.palette[place % len(style.palette)]
                _draw_line(ax, line, colour, MARKERS[place], band=few)
        ax.xaxis.set_major_locator(
            MaxNLocator("auto", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])
        )

    def _legend(self, ax: Axes, style: Style) -> tuple[list[Artist], list[str]]:
        from matplotlib.lines import Line2D

        shown = self._names[:MOST_COLOURS]
        handles: list[Artist] = [
            Line2D(
                [], [], color=style.palette[k % len(style.palette)], marker=MARKERS[k], markersize=4
            )
            for k in range(len(shown))
        ]
        width = min(24, name_width(ax, style))
        return handles, [label(name, width) for name in shown]

    def _notes(self) -> list[str]:
        notes = []
        if self.frame[["low", "high"]].notna().all(axis=1).any():
            notes.append("bar and band: interval of the estimate")
        if (hidden := len(self._names) - MOST_COLOURS) > 0:
            notes.append(f"not shown: {counted(hidden, 'more line')}")
        if (panels := len(self._panels) - MOST_PANELS) > 0:
            notes.append(f"not shown: {counted(panels, 'more panel')}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a number")
        return notes


def _draw_line(ax: Axes, line: Floats, colour: str, marker: str, *, band: bool) -> None:
    """A line over its band; of few points, each has a marker and a bar."""
    x, estimate, low, high = line.T
    if len(x) <= FEW:
        ax.vlines(x, low, high, color=colour, linewidth=1.3, alpha=0.5, zorder=2)
    if band:
        ax.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0, zorder=1)
    mark = marker if len(x) <= FEW else ""
    ax.plot(x, estimate, color=colour, linewidth=1.6, marker=mark, markersize=4, zorder=3)

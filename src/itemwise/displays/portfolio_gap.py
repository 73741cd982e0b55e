"""What a portfolio of a few algorithms loses against all of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.divided import divided, outer_and_other, panels_by
from itemwise.displays.highlight import MOST_COLOURS
from itemwise.displays.style import (
    Style,
    apply,
    footnote,
    grid,
    label,
    legend_beside,
    name_width,
    signs_that_fit,
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

REFERENCE = "single best"
MARKERS = "osD^v<>P"
APART = 0.07  # of a step, from one method to the next, so that bars do not hide each other
MOST_PANELS = 3
ROOMY = 40  # signs along a panel from which on a dozen sizes can be written


class PortfolioGapDisplay(Display):
    """Performance gap of portfolios against their size, one line a method; lower is better.

    The frame has one row a `method` and `size`: the `gap` and its standard error `gap_se`, which
    may be NaN. Where there is a column `definition`, each definition of the gap has its panel. Rows
    of the method "single best", and rows without a size, are horizontal lines to compare with.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, ("size", "gap", "gap_se"), ("method",)))
        there = self.frame[np.isfinite(self.frame["gap"])]
        if there.empty:
            raise InputError(f"{owner} has nothing to draw: 'gap' holds no finite number.")
        self._lost = len(self.frame) - len(there)
        there = there.assign(
            method=there["method"].astype(object),
            reference=(there["method"] == REFERENCE) | ~np.isfinite(there["size"]),
        )
        self._methods = _in_order(there.loc[~there["reference"], "method"])
        self._references = _in_order(there.loc[there["reference"], "method"])
        self._panels = panels_by(there, "definition", "")

    def _size(self) -> tuple[float, float]:
        return 2.6 + 4.0 * min(len(self._panels), MOST_PANELS), 4.2

    def _draw(self, ax: Axes, style: Style) -> None:
        shown = self._panels[:MOST_PANELS]
        panels = divided(ax, len(shown)) if len(shown) > 1 else [ax]
        for panel, (name, rows) in zip(panels, shown, strict=True):
            apply(style, panel)
            self._draw_panel(panel, style, rows)
            title = label(name, 32)
            panel.set_title(title, fontsize=1.1 * style.font_size, color=style.ink)
        panels[0].set_ylabel("performance gap (unit of the measure)")
        beside, other = outer_and_other(panels)
        legend_beside(style, beside, *self._legend(ax, style))
        footnote(style, other, self._notes())

    def _draw_panel(self, ax: Axes, style: Style, rows: pd.DataFrame) -> None:
        from matplotlib.ticker import MaxNLocator

        methods = self._methods[:MOST_COLOURS]
        shifts = APART * (np.arange(len(methods)) - (len(methods) - 1) / 2)
        lines = rows[~rows["reference"]].sort_values("size", kind="stable")
        for k, (method, shift) in enumerate(zip(methods, shifts, strict=True)):
            part = lines[lines["method"] == method]
            size, gap = part["size"].to_numpy() + shift, part["gap"].to_numpy()
            reach = 1.96 * np.nan_to_num(part["gap_se"].to_numpy())
            colour = style.palette[k % len(style.palette)]
            ax.vlines(size, gap - reach, gap + reach, color=colour, linewidth=1.2, alpha=0.6)
            ax.plot(size, gap, color=colour, linewidth=1.5, marker=MARKERS[k], markersize=4)
        for k, method in enumerate(self._references[: len(_DASHES)]):
            part = rows[rows["reference"] & (rows["method"] == method)]
            if len(part):
                self._draw_reference(ax, style, part, k)
        low = float(rows["gap"].min())
        if low >= 0:
            ax.set_ylim(bottom=0.0 if low > 0 else -0.02 * (float(rows["gap"].max()) or 1.0))
        roomy = signs_that_fit(ax, style.font_size) > ROOMY
        ticks = MaxNLocator(nbins=12 if roomy else "auto", integer=True, min_n_ticks=1)
        ax.xaxis.set_major_locator(ticks)
        ax.set_xlabel("portfolio size")
        grid(style, ax, "y")

    @staticmethod
    def _draw_reference(ax: Axes, style: Style, part: pd.DataFrame, place: int) -> None:
        gap, reach = float(part["gap"].mean()), 1.96 * float(part["gap_se"].mean())
        if np.isfinite(reach):
            ax.axhspan(gap - reach, gap + reach, color=style.faint, alpha=0.5, zorder=0)
        ax.axhline(gap, color=style.ink, linewidth=1.1, linestyle=_DASHES[place], zorder=1)

    def _legend(self, ax: Axes, style: Style) -> tuple[list[Artist], list[str]]:
        from matplotlib.lines import Line2D

        methods = self._methods[:MOST_COLOURS]
        references = self._references[: len(_DASHES)]
        handles: list[Artist] = [
            Line2D(
                [],
                [],
                color=style.palette[k % len(style.palette)],
                marker=MARKERS[k],
                markersize=4,
            )
            for k in range(len(methods))
        ]
        handles += [
            Line2D([], [], color=style.ink, linewidth=1.1, linestyle=_DASHES[k])
            for k in range(len(references))
        ]
        width = min(24, name_width(ax, style))
        return handles, [label(name, width) for name in (*methods, *references)]

    def _notes(self) -> list[str]:
        notes = (
            ["bar and band: ±1.96 standard errors"] if self.frame["gap_se"].notna().any() else []
        )
        hidden = max(0, len(self._methods) - MOST_COLOURS)
        hidden += max(0, len(self._references) - len(_DASHES))
        if hidden:
            notes.append(f"not shown: {counted(hidden, 'more method')}")
        if (panels := len(self._panels) - MOST_PANELS) > 0:
            notes.append(f"not shown: {counted(panels, 'more definition')}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a gap")
        return notes


_DASHES = ((0, (4, 2)), (0, (1, 1)), (0, (6, 1, 1, 1)))


def _in_order(names: pd.Series) -> list[Hashable]:
    return list(dict.fromkeys(names))

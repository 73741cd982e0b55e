"""Curves over steps and sizes: estimates, portfolio gaps, agreement, and the scree plot."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.displays.display import Display, not_shown
from ogive.displays.grouped_rows import lines_by_name
from ogive.displays.highlight import MOST_COLOURS
from ogive.displays.panel_grid import divided, outer_and_other, panels_by
from ogive.displays.style import (
    DASHED,
    DOTTED,
    Style,
    characters_that_fit,
    in_words,
    label,
    legend_beside,
    legend_handle,
    name_width,
)
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Bools, Floats

MOST_BANDS = 4  # more bands would hide each other
FEW = 12  # points of a line, up to which each has a marker
MARKERS = "osD^v<>P"
REFERENCE = "single best"
DASHES = (DASHED, DOTTED, (0, (6, 1, 1, 1)))
METHODS_APART = 0.07  # of a step, so that bars do not hide each other
ROOMY = 40  # characters along a panel, from which on a dozen sizes can be written
# Drawn from the back to the front; the words of the legend.
PARTS = {"random": "chosen at random", "ceiling": "all", "held_out": "chosen"}
FEW_SIZES = 3  # that have bars in place of bands, which would be slivers
MOST_DOTS = 25  # sizes; with more, dots would run together
CURVES_APART = 0.12  # of a step, so that the bars of a few sizes do not hide each other
MOST_DIMENSIONS = 20  # the rest is the flat end of the scree


class _PanelsOfSeries(Display):
    """Lines with markers, one per series, in one panel or several with their own scales."""

    panel_column: str
    alone = ""  # name of the panel without that column
    most_panels = 2
    margin = 2.8  # inches beside the panels
    first_y_label = ""  # of the first panel, if all have the same

    def _prepare(self) -> None:
        self._panels = panels_by(self._rows, self.panel_column, self.alone)

    def _size(self) -> tuple[float, float]:
        return self.margin + 4.0 * min(len(self._panels), self.most_panels), 4.2

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        shown = self._panels[: self.most_panels]
        panels = divided(ax, len(shown)) if len(shown) > 1 else [ax]
        for panel, (name, rows) in zip(panels, shown, strict=True):
            self._dress(panel, style)
            self._draw_panel(panel, style, name, rows)
        if self.first_y_label:
            ax.set_ylabel(self.first_y_label)
        beside, self._foot = outer_and_other(panels)
        handles, names = self._legend(style)
        if handles:
            width = min(24, name_width(ax, style))
            legend_beside(style, beside, handles, [label(name, width) for name in names])
        return self._notes()

    @abstractmethod
    def _draw_panel(self, ax: Axes, style: Style, name: object, rows: pd.DataFrame) -> None:
        """Draw the rows of one panel."""

    @abstractmethod
    def _legend(self, style: Style) -> tuple[list[Artist], list[Hashable]]:
        """Return handles and names of the legend."""

    @abstractmethod
    def _notes(self) -> list[str]:
        """Return the notes to write below."""


def _series_handles(style: Style, count: int) -> list[Artist]:
    return [
        legend_handle(color=style.palette[k % len(style.palette)], marker=MARKERS[k], markersize=4)
        for k in range(count)
    ]


class BandsDisplay(_PanelsOfSeries):
    """Estimates along the steps, one line per series, each with its interval.

    The frame has one row per `series` and `x`: the `estimate` there, and its interval from `low` to
    `high`, which may be NaN. If there is a column `panel`, each panel has its own scale and
    name. `across` is the label of x. Up to eight series are drawn, in order of appearance.
    """

    numbers = ("x", "estimate", "low", "high")
    labels = ("series",)
    needed = ("x", "estimate")
    panel_column, alone = "panel", "estimate"

    def __init__(self, frame: pd.DataFrame, across: str = "step") -> None:
        self.across, self.x_label = across, in_words(across, 40)
        super().__init__(frame)

    def _prepare(self) -> None:
        super()._prepare()
        self._names: list[Hashable] = list(dict.fromkeys(self._rows["series"].astype(object)))

    def _draw_panel(self, ax: Axes, style: Style, name: object, rows: pd.DataFrame) -> None:
        from matplotlib.ticker import MaxNLocator

        ax.set_ylabel(in_words(name, 40))
        names, lines = lines_by_name(rows, "series", self.numbers)
        for series, line in zip(names, lines, strict=True):
            place = self._names.index(series)
            if place < MOST_COLOURS:
                colour = style.palette[place % len(style.palette)]
                band = len(self._names) <= MOST_BANDS
                _draw_series(ax, line, colour, MARKERS[place], band=band)
        ticks = MaxNLocator("auto", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])
        ax.xaxis.set_major_locator(ticks)

    def _legend(self, style: Style) -> tuple[list[Artist], list[Hashable]]:
        names = self._names[:MOST_COLOURS] if len(self._names) > 1 else []
        return _series_handles(style, len(names)), names

    def _notes(self) -> list[str]:
        known = self.frame[["low", "high"]].notna().all(axis=1).any()
        return [
            *(["bar and band: interval of the estimate"] if known else []),
            *not_shown(len(self._names) - MOST_COLOURS, "more line"),
            *not_shown(len(self._panels) - self.most_panels, "more panel"),
        ]


def _draw_series(ax: Axes, line: Floats, colour: str, marker: str, *, band: bool) -> None:
    """Draw a line over its band; of few points, each has a marker and a bar."""
    x, estimate, low, high = line.T
    if len(x) <= FEW:
        ax.vlines(x, low, high, color=colour, linewidth=1.3, alpha=0.5, zorder=2)
    if band:
        ax.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0, zorder=1)
    mark = marker if len(x) <= FEW else ""
    ax.plot(x, estimate, color=colour, linewidth=1.6, marker=mark, markersize=4, zorder=3)


class PortfolioGapDisplay(_PanelsOfSeries):
    """Performance gap of portfolios against their size, one line per method; lower is better.

    The frame has one row per `method` and `size`: the `gap` and the ends of its interval, `gap_low`
    and `gap_high`, which may be NaN. If there is a column `definition`, each definition of the gap
    has its panel. Rows of the method "single best", and rows without a size, are horizontal
    reference lines.
    """

    numbers = ("size", "gap", "gap_low", "gap_high")
    labels = ("method",)
    needed = ("gap",)
    without = "a gap"
    panel_column, most_panels, margin = "definition", 3, 2.6
    x_label, grid_lines = "portfolio size", "y"
    first_y_label = "performance gap (unit of the measure)"

    def _prepare(self) -> None:
        rows = self._rows
        self._rows = rows.assign(
            method=rows["method"].astype(object),
            reference=(rows["method"] == REFERENCE) | ~np.isfinite(rows["size"]),
        )
        lines, references = (
            list(dict.fromkeys(self._rows.loc[self._rows["reference"] == kind, "method"]))
            for kind in (False, True)
        )
        self._methods, self._references = lines[:MOST_COLOURS], references[: len(DASHES)]
        self._hidden = len(lines) + len(references) - len(self._methods) - len(self._references)
        super()._prepare()

    def _draw_panel(self, ax: Axes, style: Style, name: object, rows: pd.DataFrame) -> None:
        from matplotlib.ticker import MaxNLocator

        ax.set_title(label(name, 32), fontsize=1.1 * style.font_size, color=style.ink)
        shifts = METHODS_APART * (np.arange(len(self._methods)) - (len(self._methods) - 1) / 2)
        lines = rows[~rows["reference"]].sort_values("size", kind="stable")
        for k, (method, shift) in enumerate(zip(self._methods, shifts, strict=True)):
            part = lines[lines["method"] == method]
            size, gap, low, high = (part[name].to_numpy() for name in self.numbers)
            size, colour = size + shift, style.palette[k % len(style.palette)]
            ax.vlines(size, low, high, color=colour, linewidth=1.2, alpha=0.6)
            ax.plot(size, gap, color=colour, linewidth=1.5, marker=MARKERS[k], markersize=4)
        for method, dashes in zip(self._references, DASHES, strict=False):
            part = rows[rows["reference"] & (rows["method"] == method)]
            if len(part):
                _draw_reference(ax, style, part, dashes)
        least = float(rows["gap"].min())
        if least >= 0:
            ax.set_ylim(bottom=0.0 if least > 0 else -0.02 * (float(rows["gap"].max()) or 1.0))
        roomy = characters_that_fit(ax, style.font_size) > ROOMY
        ticks = MaxNLocator(nbins=12 if roomy else "auto", integer=True, min_n_ticks=1)
        ax.xaxis.set_major_locator(ticks)

    def _legend(self, style: Style) -> tuple[list[Artist], list[Hashable]]:
        lines = [
            legend_handle(color=style.ink, linewidth=1.1, linestyle=dashes)
            for _, dashes in zip(self._references, DASHES, strict=False)
        ]
        handles = _series_handles(style, len(self._methods))
        return [*handles, *lines], [*self._methods, *self._references]

    def _notes(self) -> list[str]:
        known = self.frame["gap_low"].notna().any()
        return [
            *(["bar and band: interval"] if known else []),
            *not_shown(self._hidden, "more method"),
            *not_shown(len(self._panels) - self.most_panels, "more definition"),
        ]


def _draw_reference(ax: Axes, style: Style, part: pd.DataFrame, dashes: Any) -> None:
    gap, low, high = (float(part[name].mean()) for name in ("gap", "gap_low", "gap_high"))
    if np.isfinite(low) and np.isfinite(high):
        ax.axhspan(low, high, color=style.faint, alpha=0.5, zorder=0)
    ax.axhline(gap, color=style.ink, linewidth=1.1, linestyle=dashes, zorder=1)


class AgreementDisplay(Display):
    """Agreement with held-out data sets, against the number of data sets that are kept.

    The frame has one row per `size`, with `held_out` for the chosen part, `ceiling` for all data
    sets and `random` for a part chosen at random, and the ends of their 95 % ranges, named with
    `_low` and `_high`. If there is a column `enough`, the sizes that are enough get filled dots.
    """

    numbers = ("size", *(f"{part}{end}" for part in PARTS for end in ("", "_low", "_high")))
    needed = ("size", "held_out")
    without = "size or agreement"
    x_label = "data sets kept"
    y_label = "agreement with held-out data sets (Kendall's tau)"
    grid_lines = "y"

    def _prepare(self) -> None:
        self._rows = self._rows.sort_values("size", kind="stable")

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.ticker import MaxNLocator

        size = self._rows["size"].to_numpy()
        looks = [(style.neutral, DOTTED), (style.ink, DASHED), (style.positive, "-")]
        lines = {
            part: self._draw_curve(ax, style, part, *look)
            for part, look in zip(PARTS, looks, strict=True)
        }
        ax.set_xlim(size[0] - 0.5, size[-1] + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
        order = ("ceiling", "held_out", "random")
        legend_beside(style, ax, [lines[c] for c in order], [PARTS[c] for c in order])
        shown = "bars" if len(size) <= FEW_SIZES else "band and thin lines"
        return [f"{shown}: 95 % of the splits", *self._said_tested(), *self._said_enough()]

    def _draw_curve(self, ax: Axes, style: Style, part: str, colour: str, dashes: Any) -> Artist:
        columns = ("size", part, f"{part}_low", f"{part}_high")
        size, value, low, high = (self._rows[column].to_numpy() for column in columns)
        few, main = len(size) <= FEW_SIZES, part == "held_out"
        if few:
            size = size + CURVES_APART * (list(PARTS).index(part) - 1)
            ax.vlines(size, low, high, color=colour, linewidth=1.6, alpha=0.5, zorder=2)
        elif main:
            ax.fill_between(size, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        else:  # overlapping bands would blur into one
            ends = np.stack([low, high], axis=1)
            ax.plot(size, ends, color=colour, linestyle=dashes, linewidth=0.8, alpha=0.7, zorder=2)
        width = 2.2 if main else 1.6
        (line,) = ax.plot(size, value, color=colour, linestyle=dashes, linewidth=width, zorder=3)
        if few or (main and len(size) <= MOST_DOTS):
            filled = self._enough() if main else np.ones(len(size), dtype=bool)
            face = [colour if full else style.paper for full in filled]
            ax.scatter(size, value, s=26, facecolor=face, edgecolor=colour, zorder=4)
        return line

    def _enough(self) -> Bools:
        if "enough" not in self._rows.columns:
            return np.ones(len(self._rows), dtype=bool)
        return self._rows["enough"].to_numpy(dtype=bool)

    def _said_tested(self) -> Sequence[str]:
        if "tested" not in self.frame.columns:
            return []
        return ["each size is judged by as large a share of half of the data sets"]

    def _said_enough(self) -> Sequence[str]:
        if "enough" not in self._rows.columns:
            return []
        size = self._rows["size"].to_numpy()
        short = size[~self._enough()]
        after = size[size > (short[-1] if short.size else 0)]
        if after.size:
            return [f"enough: {after[0]:.0f} data sets or more"]
        return ["enough: none of these sizes"]


class ScreeDisplay(Display):
    """Eigenvalues in falling order; those above the dashed line are larger than by chance.

    The frame has one row per dimension: `dimension` counted from 1, `eigenvalue`, and `to_exceed`,
    the criterion; if known, `suggested`. The first 20 are drawn.
    """

    numbers = ("dimension", "eigenvalue", "to_exceed")
    needed = ("eigenvalue",)
    without = ""
    x_label, y_label, grid_lines = "dimension", "eigenvalue", "y"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.ticker import MaxNLocator

        rows = self._rows.sort_values("dimension", kind="stable").iloc[:MOST_DIMENSIONS]
        dimension, value, to_exceed = (rows[name].to_numpy() for name in self.numbers)
        # Without the column, those that exceed it, up to the first that is not.
        above = np.minimum.accumulate(value > to_exceed)
        if "suggested" in rows.columns:
            above = rows["suggested"].to_numpy(dtype=bool)
        (line,) = ax.plot(dimension, value, color=style.positive, linewidth=1.4, zorder=2)
        dashed: dict[str, Any] = {"linestyle": DASHED, "linewidth": 1.4, "marker": "_"}
        (limit,) = ax.plot(dimension, to_exceed, color=style.negative, zorder=2, **dashed)
        for chosen, face in ((above, style.positive), (~above, style.paper)):
            x, y = dimension[chosen], value[chosen]
            ax.scatter(x, y, s=34, facecolor=face, edgecolor=style.positive, zorder=3)
        finite = np.concatenate([value, to_exceed])
        ax.set_ylim(0, 1.08 * max(float(finite[np.isfinite(finite)].max()), 1.0))
        ax.set_xlim(dimension.min() - 0.6, dimension.max() + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
        legend_beside(style, ax, [line, limit], ["responses", "to exceed"])
        return [
            f"filled: {counted(int(above.sum()), 'dimension')} larger than by chance",
            *not_shown(len(self._rows) - MOST_DIMENSIONS, "smaller eigenvalue"),
        ]

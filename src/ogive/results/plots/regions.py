"""Panels of regions and tests: strengths of algorithms, and the adaptive test of each class."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from numpy.typing import ArrayLike

from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, not_shown, remark
from ogive.results.plots.marks import (
    MOST_COLOURS,
    by_class,
    class_name,
    colours_for,
    format_limit,
    limits_by_class,
    padded,
    robust_limits,
)
from ogive.results.plots.panels import MOST_PANELS, PanelGrid, drawn_panels, fitted, panels_size
from ogive.results.plots.theme import (
    DASHED,
    MOST_SHAPES,
    Style,
    label,
    legend_beside,
    legend_handle,
    legend_width,
    name_width,
)
from ogive.stats.array_backend import Bools, Floats

KINDS = ("strengths", "weaknesses")
MOST_ROWS = 40  # algorithms in a panel
MOST_LEVELS = 4  # values of epsilon; more rows of panels would be too many to compare
NARROWEST = 0.006  # of the axis: a region of one point is still seen
HALF = 0.36  # of a row, for half a bar
FEWEST_STEPS = 6.0  # of the axis, so that its ticks are whole numbers
RIGHT, WRONG, ESTIMATE, LIMIT = (
    "classified right",
    "classified wrong",
    "estimate",
    "limit (MLC)",
)


class StrengthsDisplay(Display):
    """Regions where each algorithm is strong or weak, along the difficulty of problems.

    The frame has one row per region: its `kind` ("strengths" or "weaknesses"), `epsilon`,
    `algorithm`, `start` and `end`; a row without start and end is an algorithm without a
    region. Panels go down with epsilon; an algorithm has the same row and colour in all of them,
    those with the longest strengths on top. `difficulties` of the problems are ticks at the foot of
    each panel. `order` names all algorithms in the order of their colours, as in other figures; of
    more than eight, the first seven have one, and the others are grey.
    """

    numbers = ("epsilon", "start", "end")
    labels = ("kind", "algorithm")
    infinite = True
    without = ""
    x_label, grid_lines = "difficulty of the problem", ""

    def __init__(
        self,
        frame: pd.DataFrame,
        difficulties: ArrayLike | None = None,
        order: Sequence[Hashable] | None = None,
    ) -> None:
        super().__init__(frame)
        algorithms = self.frame["algorithm"].astype(object).nunique(dropna=False)
        self._n_without = algorithms - len(self._ordered)
        self._order = self._ordered if order is None else list(order)
        self._whole = max(algorithms, len(self._order)) <= MOST_COLOURS
        given = np.asarray([] if difficulties is None else difficulties, dtype=float).ravel()
        self._rug = given[np.isfinite(given)]
        values = np.concatenate([self._rows[["start", "end"]].to_numpy().ravel(), self._rug])
        values = values[np.isfinite(values)]
        ends = (float(values.min()), float(values.max())) if values.size else (-1, 1)
        self._ends = padded(ends, 0.02)

    def _prepare(self) -> None:
        levels = sorted(self._rows["epsilon"].unique())
        self._levels, self._further = levels[:MOST_LEVELS], len(levels) - MOST_LEVELS
        self._rows = self._rows[self._rows["epsilon"].isin(self._levels)]
        # Rank algorithms by the length of their strengths minus that of their weaknesses.
        sign = np.where(self._rows["kind"] == "strengths", 1.0, -1.0)
        ends = self._rows[["start", "end"]].to_numpy()
        finite = ends[np.isfinite(ends)]
        ends = np.clip(ends, *((finite.min(), finite.max()) if finite.size else (-1.0, 1.0)))
        lengths = self._rows.assign(length=sign * (ends[:, 1] - ends[:, 0]))
        names = self._rows["algorithm"].astype(object)
        sums = lengths.groupby(names, sort=False, dropna=False)["length"].sum()
        self._ordered: list[Any] = list(sums.sort_values(ascending=False, kind="stable").index)

    def _size(self) -> tuple[float, float]:
        rows = min(len(self._ordered), MOST_ROWS)
        return 9.2, 1.5 + len(self._levels) * max(1.0, 0.3 + 0.165 * rows)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        width = name_width(ax, style)
        beside = 0.5 * style.small * max(min(width, len(str(name))) for name in self._ordered)
        shape = (len(self._levels), len(KINDS))
        panels = fitted(ax, style, shape, self._ends, 0, beside=beside)
        fit = max(1, int(panels.height / (1.15 * style.small)))
        shown = self._ordered[: min(MOST_ROWS, fit)]
        panels = replace(panels, vertical=(len(shown) + 0.9, 0.4))
        panels.draw(ax, style, names=[label(name, width) for name in shown])
        ax.tick_params(axis="y", labelsize=style.small, length=0)
        colours = dict(zip(self._order, colours_for(style, whole=self._whole), strict=False))
        for row, level in enumerate(self._levels):
            for column, kind in enumerate(KINDS):
                chosen = (self._rows["epsilon"] == level) & (self._rows["kind"] == kind)
                regions = self._rows[chosen & self._rows["algorithm"].astype(object).isin(shown)]
                self._draw_panel(ax, style, panels, (row, column), regions, shown, colours)
        panels.name_edges(ax, style, KINDS, [f"ε = {level:g}" for level in self._levels])
        grey = sum(name not in colours for name in shown)
        return [
            *remark("ticks at the foot: {}", self._rug.size, "problem"),
            *remark("grey: {}", grey, "other algorithm"),
            *not_shown(len(self._ordered) - len(shown), "algorithm", "with shorter strengths"),
            *remark("without strength or weakness: {}", self._n_without, "algorithm"),
            *not_shown(self._further, "larger value", "of ε"),
        ]

    def _draw_panel(
        self,
        ax: Axes,
        style: Style,
        panels: PanelGrid,
        cell: tuple[int, int],
        regions: pd.DataFrame,
        shown: list[Any],
        colours: dict[Hashable, str],
    ) -> None:
        row, column = cell
        at = np.array([shown.index(name) for name in regions["algorithm"]], dtype=int)
        low, high = self._ends
        start, end = (np.clip(regions[name].to_numpy(), low, high) for name in ("start", "end"))
        more = np.maximum(0.0, NARROWEST * (high - low) - (end - start)) / 2
        left, right = panels.x(start - more, column), panels.x(end + more, column)
        top, bottom = panels.y(at + 1 - HALF, row), panels.y(at + 1 + HALF, row)
        corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
        bars = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
        fills = [colours.get(name, style.neutral) for name in regions["algorithm"]]
        ax.add_collection(PolyCollection(list(bars), facecolors=fills, zorder=3), autolim=False)
        foot, head = panels.box(row, column)[2], panels.y(np.array([len(shown) + 0.6]), row)[0]
        ticks = [[(x, foot), (x, head)] for x in panels.x(self._rug, column)]
        alpha = float(np.clip(12.0 / np.sqrt(max(len(ticks), 1)), 0.1, 0.7))
        rug = LineCollection(ticks, colors=style.ink, linewidths=0.6, alpha=alpha)
        ax.add_collection(rug, autolim=False)
        if not len(regions):
            panels.write(ax, style, cell, "none")


class CapabilityTraceDisplay(Display):
    """The adaptive test of each class, case by case, and the limit that it arrives at.

    The frame has one row per `class` and `step`: the `difficulty` of the case, whether it was
    classified `right`, and the `estimate` after it with its standard error `se`. The dashed line is
    the last estimate, or what `limits` says: a frame with one row per class, which is its index,
    and `mlc` and `mlc_se`. The twelve classes with the longest tests have a panel.
    """

    numbers = ("step", "difficulty", "right", "estimate", "se")
    labels = ("class",)
    needed = ("step", "difficulty")
    nothing = "no row has a finite 'step' and 'difficulty', and true or false in 'right'."
    without = "step, difficulty or outcome"
    x_label, y_label = "cases asked", "difficulty of the case, and estimate"
    grid_lines = ""

    def __init__(self, frame: pd.DataFrame, limits: pd.DataFrame | None = None) -> None:
        super().__init__(frame)
        known = limits_by_class(limits)
        self._limits = [known.get(name) or _last(test) for name, test in self._tests]
        self._given = any(name in known for name, _ in self._tests)

    def _drawable(self) -> Bools:
        return super()._drawable() & self.frame["right"].isin([0.0, 1.0]).to_numpy()

    def _prepare(self) -> None:
        rows = self._rows.sort_values("step", kind="stable")
        values = rows[list(self.numbers)].to_numpy()
        groups = by_class(rows["class"], MOST_PANELS)
        self._hidden = rows["class"].astype(object).nunique(dropna=False) - MOST_PANELS
        self._tests = [(name, values[rows]) for name, rows in groups[:MOST_PANELS]]

    def _size(self) -> tuple[float, float]:
        width, height = panels_size(len(self._tests))
        return width + 0.8, height + 0.3

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        every = np.concatenate([test for _, test in self._tests])
        across = min(0.0, float(every[:, 0].min())), max(FEWEST_STEPS, float(every[:, 0].max()))
        # Cases, estimates, and last bands are shown, but nothing far off.
        limit, se = np.array([*self._limits, *(_last(test) for _, test in self._tests)]).T
        heights = [every[:, 1], every[:, 3], limit, limit - 1.96 * se, limit + 1.96 * se]
        up = padded(robust_limits(np.concatenate(heights)), 0.08)
        count, beside = len(self._tests), legend_width(style, (RIGHT, WRONG, ESTIMATE, LIMIT))
        panels = drawn_panels(ax, style, count, padded(across, 0.02), up, beside, lines=2)
        width = max(4, panels.characters(style.small) - 1)
        right = {"color": style.positive, "marker": "o", "linestyle": ""}
        wrong = {"color": style.negative, "marker": "x", "linestyle": ""}
        cells = panels.cells(count)
        for cell, (name, test), limits in zip(cells, self._tests, self._limits, strict=True):
            _draw_test(ax, style, panels, cell, test, limits[0], (wrong, right))
            mlc = f"MLC {format_limit(*limits)}" if np.isfinite(limits[0]) else "no limit found"
            title = f"{class_name(name, width)}\n{mlc}, {counted(len(test), 'case')}"
            panels.title(ax, style, cell, title)
        panels.name_edges(ax, style)
        entries = [
            (legend_handle(markersize=5, **right), RIGHT),
            (legend_handle(markersize=5, **wrong), WRONG),
            (legend_handle(color=style.ink, linewidth=1.4), ESTIMATE),
            (legend_handle(color=style.ink, linewidth=1.1, linestyle=DASHED), LIMIT),
        ]
        legend_beside(style, ax, entries)
        notes = ["band and interval of the limit: ±1.96 standard errors"]
        if self._given:
            notes.append("limit: as given for the class; the estimates are those of one test")
        if self._hidden > 0:
            plural = "" if self._hidden == 1 else "es"
            notes.append(f"not shown: {self._hidden:,} more class{plural}")
        return notes


def _draw_test(
    ax: Axes,
    style: Style,
    panels: PanelGrid,
    cell: tuple[int, int],
    test: Floats,
    limit: float,
    looks: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    """Draw one test; `looks` are those of wrong and of right cases."""
    row, column = cell
    step, difficulty, right, estimate, se = test.T
    x, (bottom, top) = panels.x(step, column), panels.vertical

    def y(values: Floats) -> Floats:  # panels share one axes, which does not clip them
        return panels.y(np.clip(values, bottom, top), row)

    low, high = y(estimate - 1.96 * se), y(estimate + 1.96 * se)
    ax.fill_between(x, low, high, color=style.neutral, alpha=0.2, linewidth=0, zorder=1)
    alone = np.isfinite(estimate).sum() == 1  # a line of one point would be invisible
    marker = "_" if alone else ""
    ax.plot(x, y(estimate), zorder=3, color=style.ink, linewidth=1.4, marker=marker)
    if bottom <= limit <= top:
        left, end, _, _ = panels.box(row, column)
        at = y(np.array([limit, limit]))
        ax.plot([left, end], at, color=style.ink, linewidth=1.1, linestyle=DASHED)
    inside = (difficulty >= bottom) & (difficulty <= top)
    size = float(np.clip(panels.width / (len(step) + 1), 2.0, 5.0))
    for value, look in enumerate(looks):
        chosen, many = inside & (right == value), len(step) > MOST_SHAPES
        ax.plot(
            x[chosen], y(difficulty[chosen]), zorder=4, markersize=size, rasterized=many, **look
        )


def _last(test: Floats) -> tuple[float, float]:
    """Return the last estimate of a test and its standard error; NaN without one."""
    known = test[np.isfinite(test[:, 3])]
    return (float(known[-1, 3]), float(known[-1, 4])) if len(known) else (np.nan, np.nan)

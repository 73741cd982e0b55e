"""The adaptive test of a classifier, case by case, one panel a class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.classes import (
    by_class,
    class_name,
    limit_columns,
    limits_by_class,
    said_limit,
)
from itemwise.displays.densities import MOST_PANELS, panels_size
from itemwise.displays.panel_grid import PanelGrid, arranged, fitted
from itemwise.displays.style import Style, footnote, legend_beside, legend_width
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

NUMBERS = ("step", "difficulty", "right", "estimate", "se")
LEGEND = ("classified right", "classified wrong", "estimate", "limit (MLC)")
FEWEST_STEPS = 6.0  # of the axis, so that its ticks are whole numbers
MOST_SHAPES = 2000  # more marks are drawn as a picture, lest a file for print weighs megabytes


class CapabilityTraceDisplay(Display):
    """The adaptive test of each class, case by case, and the limit that it arrives at.

    The frame has one row a `class` and `step`: the `difficulty` of the case asked, whether it was
    classified `right`, and the `estimate` after it with its standard error `se`. The dashed line is
    the last estimate, or what `limits` says: a mapping from class to number, or a frame with one
    row a class, which is its index, and `mlc` and `mlc_se`; also columns `limit` and `limit_se`.
    Twelve classes have a panel, those of the longest tests.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        limits: Mapping[Hashable, float] | pd.DataFrame | None = None,
    ) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, (*limit_columns(frame), *NUMBERS), ("class",)))
        finite = np.isfinite(self.frame[["step", "difficulty"]].to_numpy()).all(axis=1)
        there = self.frame[finite & self.frame["right"].isin([0.0, 1.0])]
        if there.empty:
            raise InputError(
                f"{owner} has nothing to draw: no row has a finite 'step' and 'difficulty', and in "
                "'right' true or false."
            )
        self._lost = len(self.frame) - len(there)
        there = there.sort_values("step", kind="stable")
        numbers = there[list(NUMBERS)].to_numpy()
        groups = by_class(there["class"], MOST_PANELS)
        self._hidden = there["class"].astype(object).nunique(dropna=False) - MOST_PANELS
        self._tests = [(name, numbers[places]) for name, places in groups[:MOST_PANELS]]
        known = limits_by_class(owner, self.frame, limits)
        self._limits = [known.get(name) or _last(test) for name, test in self._tests]
        self._given = any(name in known for name, _ in self._tests)

    def _size(self) -> tuple[float, float]:
        width, height = panels_size(len(self._tests))
        return width + 0.8, height + 0.3

    def _draw(self, ax: Axes, style: Style) -> None:
        every = np.concatenate([test for _, test in self._tests])
        across = min(0.0, float(every[:, 0].min())), max(FEWEST_STEPS, float(every[:, 0].max()))
        shape, beside = arranged(len(self._tests)), legend_width(style, LEGEND)
        grid = fitted(ax, style, shape, padded(across, 0.02), 2, self._up(every), beside)
        grid.draw(ax, style, len(self._tests))
        cells = grid.cells(len(self._tests))
        for cell, (name, test), limit in zip(cells, self._tests, self._limits, strict=True):
            self._draw_panel(ax, style, grid, cell, test, limit[0])
            width = max(4, grid.signs(style.small) - 1)
            grid.title(ax, style, cell, f"{class_name(name, width)}\n{_said(limit, len(test))}")
        grid.name_edges(ax, style, (), ())
        ax.set_xlabel("cases asked")
        ax.set_ylabel("difficulty of the case, and estimate")
        legend_beside(style, ax, _handles(style), LEGEND)
        footnote(style, ax, self._notes())

    def _up(self, every: Floats) -> tuple[float, float]:
        """Ends of the panels: cases, estimates and the last bands, less what lies far off."""
        limit, se = np.array([*self._limits, *(_last(test) for _, test in self._tests)]).T
        shown = [every[:, 1], every[:, 3], limit, limit - 1.96 * se, limit + 1.96 * se]
        low, high = robust_limits(np.concatenate(shown))
        return padded((low, high), 0.08)

    def _draw_panel(
        self,
        ax: Axes,
        style: Style,
        grid: PanelGrid,
        cell: tuple[int, int],
        test: Floats,
        limit: float,
    ) -> None:
        row, column = cell
        step, difficulty, right, estimate, se = test.T
        x = grid.x(step, column)

        def y(values: Floats) -> Floats:  # panels share one axes: nothing else would cut it off
            return grid.y(np.clip(values, *grid.vertical), row)

        low, high = y(estimate - 1.96 * se), y(estimate + 1.96 * se)
        ax.fill_between(x, low, high, color=style.neutral, alpha=0.2, linewidth=0, zorder=1)
        alone = np.isfinite(estimate).sum() == 1  # a line of one point would be invisible
        look: dict[str, Any] = {
            "color": style.ink,
            "linewidth": 1.4,
            "marker": "_" if alone else "",
        }
        ax.plot(x, y(estimate), zorder=3, **look)
        if grid.vertical[0] <= limit <= grid.vertical[1]:
            left, end, _, _ = grid.box(row, column)
            at = y(np.array([limit, limit]))
            ax.plot([left, end], at, color=style.ink, linewidth=1.1, linestyle=(0, (4, 2)))
        inside = (difficulty >= grid.vertical[0]) & (difficulty <= grid.vertical[1])
        size = float(np.clip(grid.width / (len(step) + 1), 2.0, 5.0))
        for value, (colour, marker) in enumerate(_marks(style)):
            chosen = inside & (right == value)
            points = x[chosen], y(difficulty[chosen])
            dots: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "markersize": size,
                "linestyle": "",
            }
            ax.plot(*points, zorder=4, rasterized=len(step) > MOST_SHAPES, **dots)

    def _notes(self) -> list[str]:
        notes = ["band and ±: 1.96 standard errors"]
        if self._given:
            notes.append("limit: as given for the class; the estimates are those of one test")
        if self._hidden > 0:
            word = "class" if self._hidden == 1 else "classes"
            notes.append(f"not shown: {self._hidden:,} more {word}")
        if self._lost:
            notes.append(
                f"not shown: {counted(self._lost, 'row')} without step, difficulty or outcome"
            )
        return notes


def _last(test: Floats) -> tuple[float, float]:
    """The last estimate of a test and its standard error; NaN where there is none."""
    found = test[np.isfinite(test[:, 3])]
    return (float(found[-1, 3]), float(found[-1, 4])) if len(found) else (np.nan, np.nan)


def _said(limit: tuple[float, float], cases: int) -> str:
    found = f"MLC {said_limit(*limit)}" if np.isfinite(limit[0]) else "no limit found"
    return f"{found} ({counted(cases, 'case')})"


def _marks(style: Style) -> tuple[tuple[str, str], tuple[str, str]]:
    """Colour and marker of a wrong case, and of a right one."""
    return (style.negative, "x"), (style.positive, "o")


def _handles(style: Style) -> list[Artist]:
    from matplotlib.lines import Line2D

    wrong, right = _marks(style)
    return [
        Line2D([], [], color=right[0], marker=right[1], linestyle="", markersize=5),
        Line2D([], [], color=wrong[0], marker=wrong[1], linestyle="", markersize=5),
        Line2D([], [], color=style.ink, linewidth=1.4),
        Line2D([], [], color=style.ink, linewidth=1.1, linestyle=(0, (4, 2))),
    ]

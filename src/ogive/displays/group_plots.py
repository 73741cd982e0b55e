"""Differences between groups of respondents: a plane of all items, and curves by group."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import whole_number
from ogive.displays.display import Display, flags, remark
from ogive.displays.panel_grid import arranged, fitted, panels_by
from ogive.displays.style import (
    DASHED,
    Style,
    label,
    legend_beside,
    legend_handle,
    legend_width,
    lines_that_fit,
    lone_marker,
    name_width,
    names_beside,
)
from ogive.numerics.robust import padded
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

MOST_NAMES = 10
MANY = 200  # more points are drawn small, and without bars
MOST_PANELS = 12
LEAST_REACH = 0.1  # of the axis of differences


class DifferentialDisplay(Display):
    """Difference of the expected response between groups at the same ability, by share right.

    The frame has one row per item and group, with items as its index: `share_reached`, `difference`
    and its standard error `difference_se`. With `differs`, those rows are coloured and named, with
    the `group` if there are several; bars reach 1.96 standard errors each way.
    """

    numbers = ("share_reached", "difference", "difference_se")
    noun, without = "item", "a difference"
    inches = (7.6, 4.6)
    x_label, y_label = "share right, all respondents", "difference at the same ability"

    def _prepare(self) -> None:
        self._points = self._rows[["share_reached", "difference"]].to_numpy()
        self._reach: Floats = 1.96 * self._rows["difference_se"].to_numpy()
        self._differs = flags(self._rows, "differs")

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        few = len(self._points) <= MANY
        ax.axhline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        for rows, colour in ((~self._differs, style.positive), (self._differs, style.negative)):
            x, y = self._points[rows].T
            reach = self._reach[rows]
            if few or colour == style.negative:
                bars: dict[str, Any] = {"colors": colour, "linewidth": 1.0, "alpha": 0.35}
                ax.vlines(x, y - reach, y + reach, zorder=2, **bars)
            ax.scatter(x, y, s=22 if few else 7, color=colour, alpha=0.75, linewidth=0, zorder=3)
        ax.set_ylim(*self._limits())
        ax.set_xlim(-0.02, 1.02)
        self._name(ax, style)
        total = counted(len(self._rows), "comparison" if self._several else "item")
        return [
            f"in colour: {int(self._differs.sum()):,} of {total} beyond chance and misfit",
            "above zero: in favour of the group; bar: ±1.96 standard errors",
        ]

    def _limits(self) -> tuple[float, float]:
        """All points; bars as far as they do not dwarf them."""
        y = self._points[:, 1]
        room = max(0.4 * float(np.abs(y).max()), LEAST_REACH)
        low = max(float((y - self._reach).min()), float(y.min()) - room)
        high = min(float((y + self._reach).max()), float(y.max()) + room)
        return padded((min(low, -LEAST_REACH), max(high, LEAST_REACH)))

    @property
    def _several(self) -> bool:
        return "group" in self._rows.columns and len(self._rows["group"].unique()) > 1

    def _name(self, ax: Axes, style: Style) -> None:
        rows = np.flatnonzero(self._differs)
        size = np.abs(self._points[rows, 1])
        fit = lines_that_fit(ax, style.small) - 1
        rows = rows[np.argsort(-size, kind="stable")][: max(1, min(MOST_NAMES, fit))]
        width = min(24, name_width(ax, style))
        texts = [f"{self._called(int(k), width)}  {self._points[k, 1]:+.2f}" for k in rows]
        names_beside(style, ax, texts, self._points[rows], [style.negative] * len(rows))

    def _called(self, row: int, width: int) -> str:
        name = label(self._rows.index[row], width)
        return f"{name}, {label(self._rows['group'].iloc[row], 12)}" if self._several else name


class GroupCurvesDisplay(Display):
    """Curves of items by group of respondents, one panel per item, with 95 % bands.

    The frame is long: one row per `item`, `group` and `ability`, with the `expected` response, as a
    share of the highest, and `low` and `high` of its interval. The first `panels` items are drawn.
    """

    numbers, labels = ("ability", "expected", "low", "high"), ("item", "group")
    x_label, y_label, grid_lines = "ability", "expected response", ""
    without = "four finite numbers"

    def __init__(self, frame: pd.DataFrame, panels: int = MOST_PANELS) -> None:
        self.panels = whole_number(panels, "panels", 1)
        super().__init__(frame)

    def _prepare(self) -> None:
        every = panels_by(self._rows, "item", "item")
        self._shown, self._rest = every[: self.panels], max(0, len(every) - self.panels)
        self._groups: list[Hashable] = list(dict.fromkeys(self._rows["group"].tolist()))

    def _size(self) -> tuple[float, float]:
        rows, columns = arranged(len(self._shown))
        return 2.4 + 2.3 * max(columns, 2), 1.1 + 1.9 * rows

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        texts = [label(group, 18) for group in self._groups]
        across = self._rows["ability"].to_numpy()
        ends = padded((float(across.min()), float(across.max())), 0.02)
        shape, beside = arranged(len(self._shown)), legend_width(style, texts)
        panels = fitted(ax, style, shape, ends, 1, beside=beside)
        panels.draw(ax, style, len(self._shown))
        colours = _colours(style, len(self._groups))
        for (row, column), (name, part) in zip(
            panels.cells(len(self._shown)), self._shown, strict=True
        ):
            for k, group in enumerate(self._groups):
                line = part[part["group"] == group].sort_values("ability")
                x = panels.x(line["ability"].to_numpy(), column)
                low, high, y = (
                    panels.y(line[each].to_numpy(), row) for each in ("low", "high", "expected")
                )
                ax.fill_between(x, low, high, color=colours[k], alpha=0.15, linewidth=0, zorder=2)
                dashes: Any = "-" if k == 0 else DASHED
                look = {"color": colours[k], "linewidth": 1.6, "linestyle": dashes}
                ax.plot(x, y, marker=lone_marker(x), zorder=3, **look)
            panels.title(ax, style, (row, column), label(name, panels.characters(style.small)))
        panels.name_edges(ax, style, (), ())
        handles = [
            legend_handle(color=colours[k], linewidth=1.8, linestyle="-" if k == 0 else DASHED)
            for k in range(len(self._groups))
        ]
        legend_beside(style, ax, handles, texts)
        return ["band: 95 % interval", *remark("not shown: {}", self._rest, "other item")]


class OptionCurvesDisplay(GroupCurvesDisplay):
    """How likely options are along the scale, one panel per item, with 95 % bands.

    The frame is that of `GroupCurvesDisplay`: `group` is the option, `expected` its probability.
    """

    y_label = "probability"


def _colours(style: Style, count: int) -> list[Any]:
    """One colour a group: those of the style, or a scale for more than it has."""
    from matplotlib import colormaps

    if count <= len(style.palette):
        return list(style.palette[:count])
    return list(colormaps["viridis"](np.linspace(0.0, 0.88, count)))

"""Panels: many on one axes if they share their scales, or several axes in the place of one.

A hundred axes take seconds to lay out. Panels that share their scales need only one: each is a unit
square of it, and what is drawn in a panel is moved there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from ogive.results.plots.theme import Style, label, write_off

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ogive.stats.array_backend import Floats


UNIT = (-0.03, 1.03)  # limits for probabilities, with some room
GAP = 14.0  # points between panels beside each other
DIGIT = 6.0  # width of a digit in a tick label, in points
CHARACTER = 0.54  # width of a character as a share of the font size
LINE = 1.3  # height of a line as a multiple of the font size
POINTS_PER_TICK = 24.0
MOST_COLUMNS = 6
MOST_PANELS = 12  # panels of a figure, unless its caller asks for more


@dataclass(frozen=True)
class PanelGrid:
    """Rows and columns of panels that share their scales; lengths are in points."""

    rows: int
    columns: int
    horizontal: tuple[float, float]  # limits of a panel
    width: float  # of a panel
    height: float
    head: float  # room for a title above each panel
    vertical: tuple[float, float] = UNIT  # limits of a panel; downwards if the first is larger

    def x(self, values: Floats, column: int) -> Floats:
        """Return the x coordinates of `values` in the panels of a column."""
        low, high = self.horizontal
        x: Floats = (values - low) / (high - low) + column * (1.0 + GAP / self.width)
        return x

    def y(self, values: Floats, row: int) -> Floats:
        """Return the y coordinates of `values` in the panels of a row; the first row is on top."""
        low, high = self.vertical
        y: Floats = (values - low) / (high - low) - row * (1.0 + self.head / self.height)
        return y

    def box(self, row: int, column: int) -> tuple[float, float, float, float]:
        """Return left, right, bottom and top of a panel on the axes."""
        left, right = self.x(np.array(self.horizontal), column)
        bottom, top = self.y(np.array(self.vertical), row)
        return float(left), float(right), float(bottom), float(top)

    def characters(self, font_size: float) -> int:
        """Return how many characters fit in the width of a panel."""
        return int(self.width / (CHARACTER * font_size))

    def cells(self, count: int) -> list[tuple[int, int]]:
        """Return row and column of the first `count` panels, row by row."""
        return list(np.ndindex(self.rows, self.columns))[:count]

    def draw(
        self, ax: Axes, style: Style, count: int | None = None, names: Sequence[str] | None = None
    ) -> None:
        """Draw frames, grid lines and ticks of the first `count` panels, or of all.

        With `names`, these label the heights 1, 2, ... of each panel in place of numbers.
        """
        across = self._ticks_across()
        up = self._ticks_up() if names is None else np.arange(1.0, len(names) + 1)
        cells = self.cells(self.rows * self.columns if count is None else count)
        light, frames = [], []
        for row, column in cells:
            left, right, bottom, top = self.box(row, column)
            light += [[(x, bottom), (x, top)] for x in self.x(across, column)]
            light += [[(left, y), (right, y)] for y in self.y(up, row)]
            frames.append([(left, top), (left, bottom), (right, bottom)])
        for lines, colour, order in ((light, style.faint, 0.5), (frames, style.neutral, 3.5)):
            collection = LineCollection(lines, colors=colour, linewidths=0.7, zorder=order)
            ax.add_collection(collection, autolim=False)
        for spine in ax.spines.values():
            spine.set_visible(False)
        # One label per tick, the same in every panel at the edge.
        lowest = [column for row, column in cells if row == self.rows - 1]
        at = np.concatenate([self.x(across, k) for k in lowest])
        ax.set_xticks(at, [_tick_label(value) for value in across] * len(lowest))
        texts = names or [_tick_label(value) for value in up]
        at = np.concatenate([self.y(up, k) for k in range(self.rows)])
        ax.set_yticks(at, [*texts] * self.rows)

    def title(self, ax: Axes, style: Style, cell: tuple[int, int], text: str) -> None:
        """Write a title above the panel of a row and column."""
        left, _, _, top = self.box(*cell)
        write_off(style, ax, text, (left, top), (0.0, 2.0), va="bottom")

    def write(self, ax: Axes, style: Style, cell: tuple[int, int], text: str) -> None:
        """Write a grey text in the middle of an empty panel."""
        left, right, bottom, top = self.box(*cell)
        look: dict[str, Any] = {"fontsize": style.small, "color": style.neutral}
        ax.text((left + right) / 2, (bottom + top) / 2, text, ha="center", va="center", **look)

    def name_edges(
        self, ax: Axes, style: Style, top: Sequence[str] = (), right: Sequence[str] = ()
    ) -> None:
        """Write names of columns above and of rows at the right; set the limits around them."""
        size, room = style.font_size, LINE * style.font_size
        look: Any = {"fontsize": size, "color": style.ink, "fontweight": "bold"}
        for column, name in enumerate(top):
            left, end, _, upper = self.box(0, column)
            at = ((left + end) / 2, upper + (self.head + 0.3 * size) / self.height)
            text = label(name, max(4, self.characters(1.1 * size)))
            ax.text(*at, text, ha="center", va="bottom", **look)
        beside = self.box(0, self.columns - 1)[1] + 0.4 * size / self.width
        tall = max(4, int((self.height + 0.7 * self.head) / (1.1 * CHARACTER * size)))
        for row, name in enumerate(right):
            _, _, lower, upper = self.box(row, self.columns - 1)
            text = label(name, tall)
            ax.text(beside, (lower + upper) / 2, text, rotation=270, ha="left", va="center", **look)
        lowest, highest = self.box(self.rows - 1, 0)[2], self.box(0, 0)[3]
        above = self.head + (room + 0.3 * size if top else 0.0)
        ax.set_xlim(-0.02, beside + (room if right else 0.0) / self.width)
        ax.set_ylim(lowest - 0.02, highest + above / self.height)

    def _ticks_across(self) -> Floats:
        low, high = self.horizontal
        locator = MaxNLocator(
            nbins=int(np.clip(self.width / POINTS_PER_TICK, 2, 6)), steps=[1, 2, 4, 5, 10]
        )
        ticks = np.asarray(locator.tick_values(low, high))
        inside = ticks[(ticks >= low) & (ticks <= high)]
        texts = [_tick_label(value) for value in inside]
        meets_next = False  # whether the last label would touch the first of the next panel
        if self.columns > 1 and texts:
            outside = (high - inside[-1] + inside[0] - low) / (high - low)
            characters = (len(texts[0]) + len(texts[-1])) / 2
            meets_next = outside * self.width + GAP < (characters + 2) * DIGIT
        if max(map(len, texts), default=0) <= 2 and not meets_next:
            return inside
        edge = 0.1 * (high - low)
        return inside[(inside >= low + edge) & (inside <= high - edge)]

    def _ticks_up(self) -> Floats:
        if self.vertical == UNIT:
            return np.linspace(0.0, 1.0, 3 if self.height > 1.5 * POINTS_PER_TICK else 2)
        low, high = sorted(self.vertical)
        locator = MaxNLocator(nbins=int(np.clip(self.height / POINTS_PER_TICK, 2, 5)))
        ticks = np.asarray(locator.tick_values(low, high))
        return ticks[(ticks >= low) & (ticks <= high)]


def fitted(
    ax: Axes,
    style: Style,
    shape: tuple[int, int],
    horizontal: tuple[float, float],
    lines: int,
    vertical: tuple[float, float] = UNIT,
    beside: float = 0.0,
) -> PanelGrid:
    """Return the grid of panels that fills an axes, with titles of so many lines above each.

    `beside` is the width, in points, that the layout will take from the axes for a legend.
    """
    rows, columns = shape
    extent = ax.get_window_extent()
    scale = 72.0 / ax.figure.dpi
    room = 1.6 * style.font_size
    head = max(GAP, lines * LINE * style.small + 4.0)
    width = (scale * extent.width - beside - room - (columns - 1) * GAP) / columns
    height = (scale * extent.height - room - rows * head) / rows
    return PanelGrid(rows, columns, horizontal, max(width, 4.0), max(height, 4.0), head, vertical)


def drawn_panels(
    ax: Axes,
    style: Style,
    count: int,
    horizontal: tuple[float, float],
    vertical: tuple[float, float] = UNIT,
    beside: float = 0.0,
    lines: int = 1,
) -> PanelGrid:
    """Return a grid of `count` panels, as `fitted` to the axes, after drawing its frames."""
    panels = fitted(ax, style, arranged(count), horizontal, lines, vertical, beside)
    panels.draw(ax, style, count)
    return panels


def arranged(count: int) -> tuple[int, int]:
    """Return rows and columns for so many panels, a little wider than tall."""
    rows = 1 if count <= 3 else round(sqrt(count / 1.3))
    columns = min(MOST_COLUMNS, ceil(count / rows))
    return ceil(count / columns), columns


def panels_size(count: int) -> tuple[float, float]:
    """Return width and height in inches of a figure of so many panels."""
    rows, columns = arranged(count)
    wide = float(np.clip(9.0 / columns, 1.8, 4.6))
    return 1.7 + columns * wide, 1.2 + rows * max(1.5, 0.72 * wide)


def divided(ax: Axes, count: int) -> list[Axes]:
    """Divide an axes into panels, of which it becomes the first; in a column if it is narrow."""
    box = ax.get_window_extent()
    wide = box.width > 0.4 * count * box.height
    figure: Any = ax.figure
    spec = ax.get_subplotspec()
    if spec is not None:
        parts = spec.subgridspec(*((1, count) if wide else (count, 1)))
        ax.set_subplotspec(parts[0])
        return [ax, *(figure.add_subplot(parts[k]) for k in range(1, count))]
    left, bottom, width, height = ax.get_position().bounds
    share = 1.25 / (1.25 * count - 0.25)  # of the room, with the gap to the next
    step = share * (width if wide else height)
    size = (0.8 * step, height) if wide else (width, 0.8 * step)
    corners = [
        (left + step * k, bottom) if wide else (left, bottom + step * (count - 1 - k))
        for k in range(count)
    ]
    ax.set_position((*corners[0], *size))
    return [ax, *(figure.add_axes((*corner, *size)) for corner in corners[1:])]


def panels_by(frame: pd.DataFrame, column: str, alone: str) -> list[tuple[object, pd.DataFrame]]:
    """Return the rows of each panel by a column, in its order; all as `alone` if it is missing."""
    if column not in frame.columns:
        return [(alone, frame)]
    return list(frame.groupby(column, sort=False, dropna=False, observed=True))


def outer_and_other(panels: list[Axes]) -> tuple[Axes, Axes]:
    """Return the panel with room beside it, for the legend, and the one at the other end."""
    first, last = panels[0], panels[-1]
    beside_each_other = last.get_position().x0 > first.get_position().x0
    return (last, first) if beside_each_other else (first, last)


def strip_above(ax: Axes, share: float) -> Axes:
    """Add an axes above another, which gives up that share of its height."""
    figure: Any = ax.figure
    spec = ax.get_subplotspec()
    above: Axes
    if spec is not None:
        parts = spec.subgridspec(2, 1, height_ratios=(share, 1.0 - share))
        ax.set_subplotspec(parts[1])
        above = figure.add_subplot(parts[0])
    else:
        left, bottom, width, height = ax.get_position().bounds
        ax.set_position((left, bottom, width, 0.8 * (1.0 - share) * height))
        above = figure.add_axes((left, bottom + (1.0 - share) * height, width, share * height))
    return above


def _tick_label(value: float) -> str:
    return f"{value:g}".replace("-", "−")

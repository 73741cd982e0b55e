"""Problems in a plane of their features: how hard each is, and who leads there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.displays.display import Display
from ogive.displays.grouped_rows import largest_groups
from ogive.displays.highlight import MOST_COLOURS, colours_for
from ogive.displays.panel_grid import divided
from ogive.displays.style import (
    MOST_SHAPES,
    Style,
    colour_bar,
    label,
    legend_beside,
    legend_handle,
    name_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class InstanceSpaceDisplay(Display):
    """Problems by two directions of their features, coloured by difficulty and by who leads.

    The frame has one row per problem: its place `x` and `y`, its `difficulty`, and the `leader`,
    the algorithm that does best on it. Of more than eight leaders, the seven with most problems
    have a colour each.
    """

    numbers, labels = ("x", "y", "difficulty"), ("leader",)
    noun, without = "problem", "a place or a difficulty"
    inches = (10.4, 4.2)
    x_label, y_label = "first direction of features", "second direction of features"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        hard, who = divided(ax, 2)
        for panel, name in ((hard, "difficulty of the problem"), (who, "best algorithm")):
            self._dress(panel, style)
            panel.set_title(name, fontsize=1.1 * style.font_size, color=style.ink)
        who.set_ylabel("")
        self._draw_difficulty(hard, style)
        self._draw_leaders(who, style)
        return ["near problems have similar features, as far as these matter to performance"]

    def _look(self) -> dict[str, Any]:
        many = len(self._rows) > MOST_SHAPES
        return {"s": 12.0, "linewidth": 0, "alpha": 0.85, "zorder": 3, "rasterized": many}

    def _draw_difficulty(self, ax: Axes, style: Style) -> None:
        x, y, difficulty = (self._rows[name].to_numpy() for name in self.numbers)
        low, high = np.quantile(difficulty, [0.02, 0.98])  # a few far problems bleach no others
        ends: dict[str, Any] = {"vmin": low, "vmax": high} if low < high else {}
        points = ax.scatter(x, y, c=difficulty, cmap="viridis", **ends, **self._look())
        colour_bar(style, ax, points, extend="both" if ends else "neither", label="difficulty")

    def _draw_leaders(self, ax: Axes, style: Style) -> None:
        count = self._rows["leader"].nunique(dropna=False)
        colours = colours_for(style, whole=count <= MOST_COLOURS)
        groups = largest_groups(self._rows["leader"], len(colours))
        shades = [*colours, style.neutral]
        points = self._rows[["x", "y"]].to_numpy()
        width = min(24, name_width(ax, style))
        handles, texts = [], []
        for colour, (name, rows) in zip(shades, groups, strict=False):
            handles.append(legend_handle(color=colour, marker="o", linestyle="", markersize=4))
            texts.append(f"{label(name, width)} ({len(rows):,})")
        for colour, (_, rows) in list(zip(shades, groups, strict=False))[::-1]:
            ax.scatter(*points[rows].T, color=colour, **self._look())
        legend_beside(style, ax, handles, texts)

"""Panels of algorithms that show every run: along difficulty, and as histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.displays.algorithm_panels import MOST_PANELS, AlgorithmPanels
from ogive.displays.display import flags, remark
from ogive.displays.panel_grid import PanelGrid, arranged, fitted
from ogive.displays.style import MOST_SHAPES, Style, in_words
from ogive.numerics.robust import padded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

BINS = 20


class RunsDisplay(AlgorithmPanels):
    """Performance of every run along the difficulty of problems; one panel per algorithm.

    The frame is long: one row per `algorithm` and problem, with its `difficulty` and the
    `performance` there. A column `curve` holds the height of the algorithm's curve at the problem,
    drawn as a line; a column `late` says which runs did not end, drawn as crosses. All panels share
    their axes. The first `panels` algorithms are drawn.
    """

    numbers, optional = ("difficulty", "performance"), ("curve",)
    without = ""
    x_label = "difficulty of the problem"

    def __init__(
        self, frame: pd.DataFrame, panels: int = MOST_PANELS, height: str = "performance"
    ) -> None:
        self.panels, self.height, self.y_label = panels, height, in_words(height)
        super().__init__(frame)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        count = len(self._shown)
        across, up = (_ends(self._rows[name].to_numpy()) for name in self.numbers)
        panels = fitted(ax, style, arranged(count), across, 1, up)
        panels.draw(ax, style, count)
        late = 0
        for cell, (_, part) in zip(panels.cells(count), self._shown, strict=True):
            late += self._draw_panel(ax, style, panels, cell, part)
        shown = self._title(ax, style, panels)
        return [*remark("crosses: {} that did not end", late, "run"), *shown]

    def _draw_panel(
        self, ax: Axes, style: Style, panels: PanelGrid, cell: tuple[int, int], part: pd.DataFrame
    ) -> int:
        row, column = cell
        part = part.sort_values("difficulty", kind="stable")
        x = panels.x(part["difficulty"].to_numpy(), column)
        y = panels.y(part["performance"].to_numpy(), row)
        late = flags(part, "late")
        many = len(self._rows) > MOST_SHAPES
        for rows, marker, colour in ((~late, "o", style.positive), (late, "x", style.neutral)):
            ax.scatter(
                x[rows],
                y[rows],
                s=7.0,
                marker=marker,
                color=colour,
                linewidth=0.6 if marker == "x" else 0.0,
                alpha=0.5,
                zorder=2,
                rasterized=many,
            )
        if "curve" in part and part["curve"].notna().any():
            height = panels.y(part["curve"].to_numpy(), row)
            ax.plot(x, height, color=style.ink, linewidth=1.3, zorder=3)
        return int(late.sum())


class RunHistogramsDisplay(AlgorithmPanels):
    """Histogram of a column over all runs of an algorithm; one panel per algorithm.

    The frame is long: one row per `algorithm` and problem, with the number that `value` names. All
    panels share their bins and axes. The first `panels` algorithms are drawn.
    """

    needed: tuple[str, ...] | None = None
    noun, without = "run", "a finite number"
    y_label = "share of runs"

    def __init__(
        self, frame: pd.DataFrame, value: str = "performance", panels: int = MOST_PANELS
    ) -> None:
        self.value, self.panels = value, panels
        self.numbers, self.x_label = (value,), in_words(value)
        super().__init__(frame)

    def _prepare(self) -> None:
        super()._prepare()
        low, high = _ends(self._rows[self.value].to_numpy(), 0.0)
        self._edges = np.linspace(low, high, BINS + 1)
        self._shares = [
            np.histogram(part[self.value].to_numpy(), self._edges)[0] / len(part)
            for _, part in self._shown
        ]

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.collections import PolyCollection

        edges, count = self._edges, len(self._shown)
        top = max(float(share.max()) for share in self._shares)
        ends = padded((float(edges[0]), float(edges[-1])), 0.02)
        panels = fitted(ax, style, arranged(count), ends, 1, (0.0, 1.05 * top))
        panels.draw(ax, style, count)
        for (row, column), share in zip(panels.cells(count), self._shares, strict=True):
            x, y = panels.x(edges, column), panels.y(share, row)
            floor = float(panels.y(np.zeros(1), row)[0])
            bars = [
                [(left, floor), (left, high), (right, high), (right, floor)]
                for left, right, high in zip(x[:-1], x[1:], y, strict=True)
            ]
            look: dict[str, Any] = {"facecolors": style.positive, "edgecolors": style.paper}
            ax.add_collection(PolyCollection(bars, zorder=2, linewidths=0.4, **look), autolim=False)
        return self._title(ax, style, panels)


def _ends(values: Floats, room: float = 0.04) -> tuple[float, float]:
    """Return the limits of an axis that shows all values."""
    ends = float(values.min()), float(values.max())
    return padded(ends, room) if room or ends[0] == ends[1] else ends

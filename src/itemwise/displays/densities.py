"""The density of performance along the ability of problems, one panel an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.arguments import whole_number
from itemwise.displays.base import Display, tidy
from itemwise.displays.panel_grid import PanelGrid, arranged, fitted
from itemwise.displays.style import Style, colour_bar, footnote, label
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from itemwise.numerics.arrays import Floats

MOST_PANELS = 12
DEEPEST = 0.99  # share of the places that are paler than the deepest colour


class DensitiesDisplay(Display):
    """Density of performance along the ability of problems; one panel an algorithm.

    The frame is long: one row an `algorithm`, `ability` and `performance` (or the column that
    `value` names), with the `density` there; each algorithm has the whole grid of its abilities and
    performances. All panels share their axes and colours. The first `panels` algorithms are drawn.
    """

    def __init__(
        self, frame: pd.DataFrame, value: str = "performance", panels: int = MOST_PANELS
    ) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, ("ability", value, "density"), ("algorithm",)))
        self.value = value
        shown, self._hidden = first_algorithms(self.frame, panels)
        self._names = [name for name, _ in shown]
        self._tables = [_table(part, owner, name, value) for name, part in shown]
        every = np.concatenate([table.to_numpy().ravel() for table in self._tables])
        if not np.isfinite(every).any():
            raise InputError(f"{owner} has nothing to draw: 'density' holds no finite number.")
        self._most = float(np.quantile(every[np.isfinite(every)], DEEPEST)) or 1.0
        self._cut = bool((every > self._most).any())

    def _size(self) -> tuple[float, float]:
        return panels_size(len(self._names))

    def _draw(self, ax: Axes, style: Style) -> None:
        across = np.concatenate([table.columns.to_numpy() for table in self._tables])
        up = np.concatenate([table.index.to_numpy() for table in self._tables])
        shape, ends = arranged(len(self._names)), (float(across.min()), float(across.max()))
        up_to = (float(up.min()), float(up.max()))
        grid = fitted(ax, style, shape, ends, 1, up_to, beside=4.0 * style.font_size)
        grid.draw(ax, style, len(self._names))
        for cell, table in zip(grid.cells(len(self._names)), self._tables, strict=True):
            shades = self._draw_panel(ax, style, grid, cell, table)
        title_panels(ax, style, grid, self._names)
        ax.set_xlabel("ability of the problem (high: easy)")
        ax.set_ylabel(label(self.value, 60))
        colour_bar(style, ax, shades, extend="max" if self._cut else "neither", label="density")
        footnote(style, ax, not_shown(self._hidden))

    def _draw_panel(
        self, ax: Axes, style: Style, grid: PanelGrid, cell: tuple[int, int], table: pd.DataFrame
    ) -> ScalarMappable:
        from matplotlib.colors import LinearSegmentedColormap

        row, column = cell
        colours = LinearSegmentedColormap.from_list(
            "density", [style.paper, style.positive, style.ink]
        )
        heights = table.to_numpy()
        return ax.pcolormesh(
            grid.x(_edges(table.columns.to_numpy()), column),
            grid.y(_edges(table.index.to_numpy()), row),
            np.ma.masked_invalid(np.where(heights > self._most, self._most, heights)),
            cmap=colours.with_extremes(bad=style.faint),
            vmin=0.0,
            vmax=self._most,
            rasterized=True,  # thousands of shapes would make a file for print heavy
        )


def first_algorithms(
    frame: pd.DataFrame, panels: int
) -> tuple[list[tuple[object, pd.DataFrame]], int]:
    """Rows of each of the first algorithms, and how many more there are."""
    whole_number(panels, "panels", 1)
    parts = frame.groupby("algorithm", sort=False, dropna=False, observed=True)
    every: list[tuple[object, pd.DataFrame]] = list(parts)
    return every[:panels], max(0, len(every) - panels)


def panels_size(count: int) -> tuple[float, float]:
    """Width and height in inches of a figure of so many panels."""
    rows, columns = arranged(count)
    wide = float(np.clip(9.0 / columns, 1.8, 4.6))
    return 1.7 + columns * wide, 1.2 + rows * max(1.5, 0.72 * wide)


def title_panels(ax: Axes, style: Style, grid: PanelGrid, names: list[object]) -> None:
    """The name of each algorithm above its panel, and the limits around all of them."""
    for cell, name in zip(grid.cells(len(names)), names, strict=True):
        grid.title(ax, style, cell, label(name, max(4, grid.signs(style.small) - 1)))
    grid.name_edges(ax, style, (), ())


def not_shown(hidden: int) -> list[str]:
    """A note on the algorithms that have no panel."""
    return [f"not shown: {counted(hidden, 'more algorithm')}"] if hidden else []


def _table(part: pd.DataFrame, owner: str, name: object, value: str) -> pd.DataFrame:
    """Densities of an algorithm: performances from low to high by abilities from low to high."""
    finite = np.isfinite(part[["ability", value]].to_numpy()).all()
    table = None
    if finite and not part.duplicated(["ability", value]).any():
        table = part.pivot_table(index=value, columns="ability", values="density", dropna=False)
    if table is None or table.size != len(part) or min(table.shape) < 2:
        raise InputError(
            f"{owner} needs a whole grid for each algorithm: every one of two or more abilities "
            f"once with every one of two or more values of '{value}'. "
            f"{label(name)!r} has {counted(len(part), 'row')}, "
            f"{part['ability'].nunique()} x {part[value].nunique()} values."
        )
    return table


def _edges(values: Floats) -> Floats:
    """Edges of cells around ascending values; the outermost cells end at their values."""
    edges: Floats = np.concatenate([values[:1], (values[:-1] + values[1:]) / 2, values[-1:]])
    return edges

"""Trace lines: how likely each level of performance is, one panel an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.densities import (
    MOST_PANELS,
    first_algorithms,
    not_shown,
    panels_size,
    title_panels,
)
from itemwise.displays.panel_grid import PanelGrid, arranged, fitted
from itemwise.displays.style import Style, footnote, label, legend_beside, legend_width
from itemwise.errors import InputError
from itemwise.numerics.robust import padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_NAMED = 12  # levels in the legend; of more, only the first and the last are named
TALLEST = 6.0  # a line may reach so many times as high as the middle one of the peaks


class TracesDisplay(Display):
    """How likely each level of performance is along the ability of problems; a panel an algorithm.

    The frame is long: one row an `algorithm`, `grade` and `ability`, with the `density` (or
    probability) there. A grade is a number or a name; numbers are ordered, names stand in the order
    of their categories or of appearance. The first `panels` algorithms are drawn. `height`
    says what the lines are.
    """

    def __init__(
        self, frame: pd.DataFrame, panels: int = MOST_PANELS, height: str = "density"
    ) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, ("ability", "density"), ("algorithm", "grade")))
        self.height = height
        finite = np.isfinite(self.frame[["ability", "density"]].to_numpy()).all(axis=1)
        there = self.frame[finite & self.frame["grade"].notna()]
        self._lost = len(self.frame) - len(there)
        if there.empty:
            raise InputError(
                f"{owner} has nothing to draw: no row has a grade, a finite ability and density."
            )
        self._grades = _ordered(there["grade"])
        shown, self._hidden = first_algorithms(there, panels)
        self._names = [name for name, _ in shown]
        self._lines = [_lines(part) for _, part in shown]
        peaks = np.array([line[:, 1].max() for lines in self._lines for line in lines.values()])
        # A peak without limits, as densities have at the ends of a scale, would flatten the rest.
        self._top = float(min(peaks.max(), TALLEST * np.median(peaks))) or 1.0
        self._cut = int((peaks > self._top).sum())

    def _size(self) -> tuple[float, float]:
        width, height = panels_size(len(self._names))
        return width + 0.6, height

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib import colormaps
        from matplotlib.lines import Line2D

        every = np.concatenate([line[:, 0] for lines in self._lines for line in lines.values()])
        ends = float(every.min()), float(every.max())
        shape = arranged(len(self._names))
        up = (-0.03 * self._top, 1.03 * self._top)
        ends = ends if ends[0] < ends[1] else padded(ends)
        names = self._named()
        beside = legend_width(style, names.values())
        grid = fitted(ax, style, shape, ends, 1, up, beside)
        grid.draw(ax, style, len(self._names))
        shades = colormaps["viridis"](np.linspace(0.0, 0.88, len(self._grades)))
        for cell, lines in zip(grid.cells(len(self._names)), self._lines, strict=True):
            self._draw_panel(ax, grid, cell, lines, shades)
        title_panels(ax, style, grid, self._names)
        ax.set_xlabel("ability of the problem (high: easy)")
        ax.set_ylabel(label(self.height, 60))
        handles = [Line2D([], [], color=shades[k], linewidth=1.8) for k in names]
        legend_beside(style, ax, handles, list(names.values()))
        footnote(style, ax, self._notes())

    def _draw_panel(
        self,
        ax: Axes,
        grid: PanelGrid,
        cell: tuple[int, int],
        lines: dict[object, Floats],
        shades: Floats,
    ) -> None:
        row, column = cell
        for grade, colour in zip(self._grades, shades, strict=True):
            if grade in lines:
                across, up = lines[grade].T
                # A line of one point would be invisible without a marker.
                ax.plot(
                    grid.x(across, column),
                    grid.y(np.minimum(up, self._top), row),
                    color=colour,
                    linewidth=1.4,
                    marker="o" if len(up) == 1 else "",
                    zorder=3,
                )

    def _named(self) -> dict[int, str]:
        """By place: the levels in the legend."""
        last = len(self._grades) - 1
        return {
            k: _said(grade)
            for k, grade in enumerate(self._grades)
            if last < MOST_NAMED or k in (0, last)
        }

    def _notes(self) -> list[str]:
        notes = not_shown(self._hidden)
        if self._cut:
            notes.append(f"cut at the top: {counted(self._cut, 'line')} with a far higher peak")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a grade or number")
        return notes


def _ordered(grades: pd.Series) -> list[object]:
    """Levels in their order: of categories, of numbers, or of appearance."""
    import pandas as pd

    if isinstance(grades.dtype, pd.CategoricalDtype):
        there = set(grades)
        return [grade for grade in grades.cat.categories if grade in there]
    found = grades.unique().tolist()
    return sorted(found) if pd.api.types.is_numeric_dtype(grades) else found


def _lines(part: pd.DataFrame) -> dict[object, Floats]:
    """By grade: abilities from low to high and densities (n_points, 2)."""
    rows = part.sort_values("ability", kind="stable")
    return {
        grade: line[["ability", "density"]].to_numpy()
        for grade, line in rows.groupby("grade", sort=False, observed=True)
    }


def _said(grade: object) -> str:
    return f"{grade:.4g}" if isinstance(grade, float) else label(grade, 18)

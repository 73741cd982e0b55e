"""Where on the difficulty line each algorithm is strong, and where it is weak."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.highlight import MOST_COLOURS, colours_for
from itemwise.displays.panel_grid import PanelGrid, fitted
from itemwise.displays.style import Style, footnote, label, name_width
from itemwise.errors import InputError
from itemwise.numerics.robust import padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from itemwise.numerics.arrays import Floats

KINDS = ("strengths", "weaknesses")
MOST_ROWS = 40
MOST_LEVELS = 4  # values of epsilon; more rows of panels would be too many to compare
NARROWEST = 0.006  # of the axis: a region of one place is still seen
HALF = 0.36  # of a row


class StrengthsDisplay(Display):
    """Where each algorithm is strong and where it is weak, along the difficulty of problems.

    The frame has one row a region: its `kind` ("strengths" or "weaknesses"), `epsilon`,
    `algorithm`, `start` and `end`; a row without start and end stands for an algorithm without a
    region. Panels go down with epsilon; an algorithm has the same row and colour in all of them,
    those with the longest strengths on top. `difficulties` of the problems are ticks at the foot of
    each panel. `order` names all algorithms in the order of their colours, as in other figures; of
    more than eight, the first seven have one, and the others are grey.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        difficulties: ArrayLike | None = None,
        order: Sequence[Hashable] | None = None,
    ) -> None:
        owner = type(self).__name__
        numbers = ("epsilon", "start", "end")
        super().__init__(tidy(frame, owner, numbers, ("kind", "algorithm")))
        there = self.frame[self.frame[list(numbers)].notna().all(axis=1)]
        _check(self.frame, there, owner)
        self._levels = sorted(there["epsilon"].unique())
        self._there = there[there["epsilon"].isin(self._levels[:MOST_LEVELS])]
        every = self.frame["algorithm"].astype(object).nunique(dropna=False)
        self._ordered = _strongest_first(self._there)
        self._without = every - len(self._ordered)
        self._order = self._ordered if order is None else list(order)
        self._whole = max(every, len(self._order)) <= MOST_COLOURS
        given = np.asarray([] if difficulties is None else difficulties, dtype=float).ravel()
        self._rug = given[np.isfinite(given)]

    def _size(self) -> tuple[float, float]:
        rows = min(len(self._ordered), MOST_ROWS)
        levels = min(len(self._levels), MOST_LEVELS)
        return 9.2, 1.5 + levels * max(1.0, 0.3 + 0.165 * rows)

    def _draw(self, ax: Axes, style: Style) -> None:
        levels = self._levels[:MOST_LEVELS]
        width = name_width(ax, style)
        beside = 0.5 * style.small * max(min(width, len(str(name))) for name in self._ordered)
        shape = (len(levels), len(KINDS))
        grid = fitted(ax, style, shape, self._ends(), 0, beside=beside)
        fit = max(1, int(grid.height / (1.15 * style.small)))
        shown = self._ordered[: min(MOST_ROWS, fit)]
        grid = replace(grid, vertical=(len(shown) + 0.9, 0.4))
        grid.draw(ax, style, names=[label(name, width) for name in shown])
        ax.tick_params(axis="y", labelsize=style.small, length=0)
        for row, level in enumerate(levels):
            for column, kind in enumerate(KINDS):
                chosen = (self._there["epsilon"] == level) & (self._there["kind"] == kind)
                self._draw_panel(ax, style, grid, (row, column), self._there[chosen], shown)
        grid.name_edges(ax, style, KINDS, [f"ε = {level:g}" for level in levels])
        ax.set_xlabel("difficulty of the problem")
        footnote(style, ax, self._notes(style, shown))

    def _draw_panel(
        self,
        ax: Axes,
        style: Style,
        grid: PanelGrid,
        cell: tuple[int, int],
        regions: pd.DataFrame,
        shown: list[Any],
    ) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        row, column = cell
        places = {name: place for place, name in enumerate(shown)}
        seen = regions[regions["algorithm"].astype(object).isin(shown)]
        at = np.array([places[name] for name in seen["algorithm"]], dtype=int)
        start, end = self._widened(seen)
        left, right = grid.x(start, column), grid.x(end, column)
        top, bottom = grid.y(at + 1 - HALF, row), grid.y(at + 1 + HALF, row)
        corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
        bars = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
        own = self._colours(style)
        colours = [own.get(name, style.neutral) for name in seen["algorithm"]]
        ax.add_collection(PolyCollection(list(bars), facecolors=colours, zorder=3), autolim=False)
        rug = grid.x(self._rug, column)
        low, high = grid.box(row, column)[2], grid.y(np.array([len(shown) + 0.6]), row)[0]
        ticks = [[(x, low), (x, high)] for x in rug]
        alpha = float(np.clip(12.0 / np.sqrt(max(len(rug), 1)), 0.1, 0.7))
        ax.add_collection(
            LineCollection(ticks, colors=style.ink, linewidths=0.6, alpha=alpha), autolim=False
        )
        if not len(seen):
            box = grid.box(row, column)
            middle = (box[0] + box[1]) / 2, (box[2] + box[3]) / 2
            said = {"ha": "center", "va": "center", "fontsize": style.small}
            ax.text(*middle, "none", color=style.neutral, **said)  # type: ignore[arg-type]

    def _colours(self, style: Style) -> dict[Hashable, str]:
        """By name, of those that have a colour of their own."""
        colours = colours_for(style, whole=self._whole)
        return dict(zip(self._order, colours, strict=False))

    def _ends(self) -> tuple[float, float]:
        """Ends of the difficulty line: of the regions that have ends, and of the problems."""
        values = np.concatenate([self._there[["start", "end"]].to_numpy().ravel(), self._rug])
        values = values[np.isfinite(values)]
        return padded((float(values.min()), float(values.max())) if values.size else (-1, 1), 0.02)

    def _widened(self, regions: pd.DataFrame) -> tuple[Floats, Floats]:
        """Starts and ends within the axis, of regions wide enough to be seen."""
        low, high = self._ends()
        start = np.clip(regions["start"].to_numpy(), low, high)
        end = np.clip(regions["end"].to_numpy(), low, high)
        more = np.maximum(0.0, NARROWEST * (high - low) - (end - start)) / 2
        return start - more, end + more

    def _notes(self, style: Style, shown: list[Any]) -> list[str]:
        notes = []
        if self._rug.size:
            notes.append(f"ticks at the foot: {counted(self._rug.size, 'problem')}")
        if grey := sum(name not in self._colours(style) for name in shown):
            notes.append(f"grey: {counted(grey, 'other algorithm')}")
        if hidden := len(self._ordered) - len(shown):
            notes.append(f"not shown: {counted(hidden, 'algorithm')} of shorter strengths")
        if self._without:
            notes.append(f"without strength or weakness: {counted(self._without, 'algorithm')}")
        if (levels := len(self._levels) - MOST_LEVELS) > 0:
            notes.append(f"not shown: {counted(levels, 'larger value')} of ε")
        return notes


def _check(frame: pd.DataFrame, there: pd.DataFrame, owner: str) -> None:
    unknown = [kind for kind in frame["kind"].unique() if kind not in KINDS]
    if unknown:
        raise InputError(
            f"{owner} knows the kinds 'strengths' and 'weaknesses', but not {label(unknown[0])!r}."
        )
    if there.empty:
        raise InputError(
            f"{owner} has nothing to draw: no row has a number in 'epsilon', 'start' and 'end'."
        )
    wrong = there[there["start"] > there["end"]]
    if len(wrong):
        row = wrong.iloc[0]
        raise InputError(
            f"{owner} was given a region of {label(row['algorithm'])!r} from {row['start']:g} to "
            f"{row['end']:g}. A region must start before its end."
        )


def _strongest_first(there: pd.DataFrame) -> list[Any]:
    """Algorithms with a region, by the length of their strengths less that of their weaknesses."""
    names = there["algorithm"].astype(object)
    sign = np.where(there["kind"] == "strengths", 1.0, -1.0)
    ends = there[["start", "end"]].to_numpy()
    finite = ends[np.isfinite(ends)]
    ends = np.clip(ends, *((finite.min(), finite.max()) if finite.size else (-1.0, 1.0)))
    sums = (there.assign(length=sign * (ends[:, 1] - ends[:, 0]))).groupby(
        names, sort=False, dropna=False
    )["length"]
    return list(sums.sum().sort_values(ascending=False, kind="stable").index)

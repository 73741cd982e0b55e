"""Item health: items by difficulty and discrimination, those with a problem marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    legend_width,
    lines_that_fit,
    name_width,
    names_beside,
)
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

# The gravest first: an item with several problems has the mark of the first.
MARKS = {
    "suspected wrong key": "X",
    "negative discrimination": "v",
    "near-duplicate": "D",
    "solved by none": "^",
    "solved by all": "s",
}
SOUND = "no problem"
NAMED = 3  # kinds of problems whose items are named
MOST_NAMES = 10
MANY = 500  # dots beyond this many are drawn small


class ItemHealthDisplay(Display):
    """Items by difficulty and discrimination; those with a problem have a mark and a colour.

    The frame has one row an item, which is its index: `difficulty`, `discrimination` and
    `problems`, words that are empty for a sound item. With `discrimination_se`, bars of named items
    reach 1.96 standard errors both ways. Far items are drawn at the edge and counted below.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name, numbers = type(self).__name__, ("difficulty", "discrimination")
        super().__init__(tidy(frame, name, numbers, ("problems",)))
        finite = np.isfinite(self.frame[list(numbers)].to_numpy()).all(axis=1)
        self._there = self.frame[finite]
        if self._there.empty:
            raise InputError(f"{name} has nothing to draw: no item has two finite numbers.")
        self._kind = np.array([_kind(str(words)) for words in self._there["problems"]])
        values = self._there[list(numbers)].to_numpy()
        self._limits = self._ends(values)
        ends = np.array(self._limits)
        self._points = np.clip(values, ends[:, 0], ends[:, 1])
        self._far = (self._points != values).any(axis=1)

    def _ends(self, values: Floats) -> list[tuple[float, float]]:
        """Limits of both axes: nominal difficulties do not stretch them, named items count."""
        nominal = np.char.startswith(self._kind, "solved by")
        rows = np.ones(len(values), dtype=bool) if nominal.all() else ~nominal
        across, up = (robust_limits(column[rows]) for column in values.T)
        named = np.isin(self._kind, list(MARKS)[:NAMED])
        slopes = np.append(values[named, 1], up)
        return [across, (float(slopes.min()), float(slopes.max()))]

    def _size(self) -> tuple[float, float]:
        return 8.4, 4.8

    def _draw(self, ax: Axes, style: Style) -> None:
        ax.set_xlim(padded(self._limits[0]))
        ax.set_ylim(padded(self._limits[1]))
        ax.axhline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        ax.set_xlabel("difficulty")
        ax.set_ylabel("discrimination")
        grid(style, ax)
        colours = dict(zip(MARKS, style.palette[1:], strict=False))
        handles: list[Artist] = []
        texts: list[str] = []
        small = len(self._points) > MANY
        for kind in (SOUND, *reversed(MARKS)):
            rows = self._kind == kind
            if not rows.any():
                continue
            sound = kind == SOUND
            size = (6.0 if small else 16.0) * (1.0 if sound else 2.0)
            handles.append(
                ax.scatter(
                    self._points[rows, 0],
                    self._points[rows, 1],
                    s=size,
                    marker=MARKS.get(kind, "o"),
                    color=style.neutral if sound else colours[kind],
                    alpha=0.4 if sound else 0.9,
                    linewidth=0,
                    zorder=2 if sound else 3,
                    rasterized=small,
                )
            )
            texts.append(f"{kind} ({int(rows.sum()):,})")
        self._name(ax, style, colours)
        self._explain(ax, style, handles[::-1], texts[::-1])
        footnote(style, ax, self._notes())

    def _named(self, lines: int) -> np.ndarray:
        """Places of the items to name, the gravest problems first."""
        ranks = [list(MARKS).index(kind) if kind in MARKS else len(MARKS) for kind in self._kind]
        slope = self._there["discrimination"].to_numpy()
        order = np.lexsort((slope, ranks))
        return order[np.array(ranks)[order] < NAMED][: max(1, min(MOST_NAMES, lines - 7))]

    def _name(self, ax: Axes, style: Style, colours: dict[str, str]) -> None:
        rows = self._named(lines_that_fit(ax, style.small))
        if not rows.size:
            return
        if "discrimination_se" in self._there:
            reach = 1.96 * self._there["discrimination_se"].to_numpy(float)[rows]
            x, y = self._points[rows].T
            shades = [colours[self._kind[row]] for row in rows]
            ax.vlines(x, y - reach, y + reach, color=shades, linewidth=1.0, alpha=0.5)
        width = min(26, name_width(ax, style))
        texts = [label(self._there.index[row], width) for row in rows]
        names_beside(style, ax, texts, self._points[rows], [style.ink] * len(rows))

    def _explain(self, ax: Axes, style: Style, handles: list[Artist], texts: list[str]) -> None:
        """A legend above the axes, where names beside it cannot meet it."""
        room = 72.0 * ax.get_window_extent().width / ax.figure.dpi
        columns = int(np.clip(room // max(legend_width(style, texts), 1.0), 1, 3))
        ax.legend(
            handles,
            texts,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.01),
            ncols=columns,
            borderaxespad=0.0,
            frameon=False,
            fontsize=style.small,
            labelcolor=style.ink,
        )

    def _notes(self) -> list[str]:
        notes = []
        if far := int(self._far.sum()):
            notes.append(f"drawn at the edge: {counted(far, 'item')} far beyond the others")
        if lost := len(self.frame) - len(self._there):
            notes.append(f"not shown: {counted(lost, 'item')} without two finite numbers")
        if "discrimination_se" in self._there:
            middle = self._there["discrimination_se"].astype(float).median()
            notes.append(
                f"bar: ±1.96 standard errors of discrimination; their median is {middle:.2g}"
            )
        return notes


def _kind(words: str) -> str:
    return next((kind for kind in MARKS if kind in words), SOUND)

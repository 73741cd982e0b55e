"""Pairs of items: what each has in common with each beyond the ability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, label, lines_that_fit, name_width
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from itemwise.numerics.arrays import Floats

MOST_ITEMS = 40  # in a heat map; beyond, its cells and names would be too small to read
MOST_PAIRS = 40  # dots with a name
LEAST_LIMIT = 0.3  # of the colours: chance should look pale


class PairsDisplay(Display):
    """How much two items have in common beyond the ability, pair by pair.

    The frame has one row a pair: `item`, `other`, `q3_adjusted`, and where known, `dependent`.
    With every pair of at most 40 items in it, it is drawn as a heat map, else the first 40 pairs
    as dots, each named.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(tidy(frame, type(self).__name__, ("q3_adjusted",), ("item", "other")))
        there = self.frame[self.frame["q3_adjusted"].notna()]
        if there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: the column 'q3_adjusted' "
                "holds no number."
            )
        self._items = list(dict.fromkeys([*self.frame["item"], *self.frame["other"]]))
        count = len(self._items)
        self._whole = 2 < count <= MOST_ITEMS and len(self.frame) == count * (count - 1) // 2
        self._listed = there

    def _size(self) -> tuple[float, float]:
        if self._whole:
            side = max(3.2, 1.6 + 0.19 * len(self._items))
            return side + 1.0, side
        return 6.8, max(1.8, 1.1 + 0.19 * min(len(self._listed), MOST_PAIRS))

    def _draw(self, ax: Axes, style: Style) -> None:
        if self._whole:
            self._draw_map(ax, style)
        else:
            self._draw_dots(ax, style)

    def _draw_map(self, ax: Axes, style: Style) -> None:
        count = len(self._items)
        place = {name: k for k, name in enumerate(self._items)}
        one = self.frame["item"].map(place).to_numpy()
        other = self.frame["other"].map(place).to_numpy()
        table, marked = np.full((count, count), np.nan), np.zeros((count, count), dtype=bool)
        table[one, other] = table[other, one] = self.frame["q3_adjusted"].to_numpy()
        marked[one, other] = marked[other, one] = self._dependent(self.frame)
        limit = max(LEAST_LIMIT, float(np.nanmax(np.abs(table))))
        image = ax.imshow(table, cmap=_two_sided(style), vmin=-limit, vmax=limit)
        rows, columns = np.nonzero(marked)
        ax.scatter(columns, rows, s=min(30.0, 900.0 / count), color=style.ink, zorder=3)
        _name_axes(ax, style, self._items)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=style.small, labelcolor=style.ink, length=2)
        bar.set_label("q3_adjusted", size=style.font_size, color=style.ink)
        ax.set_xlabel("item")
        notes = []
        if marked.any():
            pairs = counted(int(marked.sum()) // 2, "pair")
            notes.append(f"dot: depends on each other beyond chance ({pairs})")
        if lost := int(self.frame["q3_adjusted"].isna().sum()):
            notes.append(f"grey: {counted(lost, 'pair')} without a number")
        footnote(style, ax, notes)

    def _draw_dots(self, ax: Axes, style: Style) -> None:
        fit = max(1, lines_that_fit(ax, style.font_size))
        rows = self._listed.iloc[: min(fit, MOST_PAIRS)]
        value, height = rows["q3_adjusted"].to_numpy(), np.arange(1, len(rows) + 1)
        dependent = self._dependent(rows)
        ax.axvline(0.0, color=style.neutral, linewidth=0.8, zorder=1)
        for chosen, fill in ((dependent, style.negative), (~dependent, style.paper)):
            edge = style.negative if fill == style.negative else style.positive
            ax.hlines(height[chosen], 0.0, value[chosen], color=edge, linewidth=1.0, alpha=0.5)
            ax.scatter(
                value[chosen], height[chosen], s=24, facecolor=fill, edgecolor=edge, zorder=3
            )
        limit = 1.08 * max(LEAST_LIMIT, float(np.abs(value).max()))
        ax.set_xlim(-limit if (value < 0).any() else -0.05 * limit, limit)
        if (value <= 0).all():
            ax.set_xlim(-limit, 0.05 * limit)
        ax.set_ylim(len(rows) + 0.7, 0.3)
        width = max(8, name_width(ax, style) // 2 + 4)
        names = [
            f"{label(one, width)} – {label(other, width)}"
            for one, other in zip(rows["item"], rows["other"], strict=True)
        ]
        ax.set_yticks(height, names)
        ax.set_xlabel("q3_adjusted")
        grid(style, ax, "x")
        notes = []
        if dependent.any():
            notes.append("filled: depends on each other beyond chance")
        if (hidden := len(self.frame) - len(rows)) > 0:
            notes.append(f"not shown: {counted(hidden, 'pair')} further down the list")
        footnote(style, ax, notes)

    @staticmethod
    def _dependent(rows: pd.DataFrame) -> np.ndarray:
        if "dependent" not in rows.columns:
            return np.zeros(len(rows), dtype=bool)
        return rows["dependent"].fillna(False).to_numpy(dtype=bool)


def _two_sided(style: Style) -> Colormap:
    """From one colour over paper to the other; grey where there is no number."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = [style.positive, style.paper, style.negative]
    return LinearSegmentedColormap.from_list("two_sided", colours).with_extremes(bad=style.faint)


def _name_axes(ax: Axes, style: Style, items: list[str]) -> None:
    """Names along both axes; every second, third ... where there is no room for all."""
    room = max(1, lines_that_fit(ax, style.small))
    step = -(-len(items) // room)
    places: Floats = np.arange(0, len(items), step, dtype=float)
    names = [label(items[int(k)], 16) for k in places]
    ax.set_yticks(places, names, fontsize=style.small)
    ax.set_xticks(places, names, fontsize=style.small, rotation=90)
    for spine in ax.spines.values():
        spine.set_visible(False)

"""Heat maps: a table of numbers, and tables of all pairs of respondents or of items."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from ogive.errors import InputError
from ogive.results.plots.figure import Display, flags, not_shown, remark, tidy
from ogive.results.plots.marks import ends_of
from ogive.results.plots.theme import (
    Style,
    colour_bar,
    colour_map,
    grid,
    in_words,
    label,
    lines_that_fit,
    name_width,
)
from ogive.stats.array_backend import Bools, Floats

MOST_ROWS, MOST_COLUMNS = 60, 30
NAME_WIDTH = 26
DARK = 0.54  # luminance below which text on a cell is light
MOST_ITEMS = 40  # in a heat map; of more, its cells and names would be too small to read
MOST_PAIRS = 40  # dots with a name
LEAST_LIMIT = 0.3  # of the colours: what is due to chance should look pale


def _name_axes(
    ax: Axes, style: Style, rows: Sequence[Any], columns: Sequence[Any], width: int = NAME_WIDTH
) -> None:
    """Write names along both axes; every second, third ... if there is no room for all."""
    box = ax.get_window_extent()
    for names, ticks, turned, length in (
        (rows, ax.set_yticks, 0, box.height),
        (columns, ax.set_xticks, 90, box.width),
    ):
        fit = int(72.0 * (length / ax.figure.dpi) / (1.25 * style.small))
        shown = range(0, len(names), -(-len(names) // max(1, fit)))
        texts = [label(names[k], width) for k in shown]
        ticks(shown, texts, fontsize=style.small, rotation=turned)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


class _Square(Display):
    """A table of pairs in a long frame: one row per pair of names."""

    pair: tuple[str, str]  # columns of the first and the second name
    without, grid_lines = "", ""

    def _prepare(self) -> None:
        first, second = (self.frame[name] for name in self.pair)
        self._names: list[Hashable] = list(dict.fromkeys([*first, *second]))

    def _square(self, column: str, mark: str, sign: float) -> tuple[Floats, Bools]:
        """Return the numbers of a column and the flags of another, (n_names, n_names) each.

        `sign` is that of a number with the names swapped.
        """
        count = len(self._names)
        index = {name: k for k, name in enumerate(self._names)}
        table, marked = np.full((count, count), np.nan), np.zeros((count, count), dtype=bool)
        row, other = (self.frame[name].map(index).to_numpy() for name in self.pair)
        value = self.frame[column].to_numpy()
        table[row, other], table[other, row] = value, sign * value
        marked[row, other] = marked[other, row] = flags(self.frame, mark)
        table[~np.isfinite(table)] = np.nan
        np.fill_diagonal(table, np.nan)
        np.fill_diagonal(marked, val=False)
        return table, marked


class DifferencesDisplay(_Square):
    """Lead of the row over the column, in colour where they differ significantly.

    The frame has one row per pair: `respondent`, `other`, `difference`, and whether they differ
    significantly, `significant`. Names come in order of appearance; at most 60 are drawn.
    """

    numbers, pair = ("difference",), ("respondent", "other")
    labels = (*pair, "significant")
    x_label = "column"

    def _size(self) -> tuple[float, float]:
        side = max(2.0, 0.18 * min(len(self._names), MOST_ROWS))
        return side + 3.2, side + 2.4

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        names = self._names[:MOST_ROWS]
        shown = len(names)
        square = self._square("difference", "significant", -1)
        table, significant = (part[:shown, :shown] for part in square)
        known = ~np.isnan(table)
        significant = significant & known
        limit = float(np.abs(np.where(significant, table, 0.0)).max()) or 1.0
        shades = colour_map(style, style.negative, style.paper, style.positive)
        coloured = np.where(significant | ~known, table, 0.0)
        image = ax.imshow(coloured, cmap=shades, vmin=-limit, vmax=limit, aspect="auto")
        rows, columns = np.nonzero(known & ~significant)
        dash: dict[str, Any] = {"marker": "_", "color": style.ink, "linewidth": 0.9}
        ax.scatter(columns, rows, s=min(24.0, 700.0 / shown), **dash)
        _name_axes(ax, style, names, names)
        colour_bar(style, ax, image, label="lead of row over column")
        unknown = (int((~known).sum()) - shown) // 2
        return [
            *remark("dash: no significant difference ({})", len(rows) // 2, "pair"),
            *remark("grey: not compared ({})", unknown, "pair"),
            *not_shown(len(self._names) - shown, "further row"),
        ]


class PairsDisplay(_Square):
    """Dependence of two items beyond the ability (Q3), pair by pair.

    The frame has one row per pair: `item`, `other`, `q3_adjusted`, and if known, `dependent`.
    If it holds every pair of at most 40 items, it is drawn as a heat map, else the first 40 pairs
    as dots, each named.
    """

    numbers, pair = ("q3_adjusted",), ("item", "other")
    labels = pair

    def _prepare(self) -> None:
        super()._prepare()
        count = len(self._names)
        self._whole = 2 < count <= MOST_ITEMS and len(self.frame) == count * (count - 1) // 2

    def _size(self) -> tuple[float, float]:
        if self._whole:
            side = max(3.2, 1.6 + 0.19 * len(self._names))
            return side + 1.0, side
        return 6.8, max(1.8, 1.1 + 0.19 * min(len(self._rows), MOST_PAIRS))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        return (self._draw_map if self._whole else self._draw_dots)(ax, style)

    def _draw_map(self, ax: Axes, style: Style) -> list[str]:
        table, marked = self._square("q3_adjusted", "dependent", 1)
        limit = max(LEAST_LIMIT, float(np.nanmax(np.abs(table))))
        shades = colour_map(style, style.positive, style.paper, style.negative)
        image = ax.imshow(table, cmap=shades, vmin=-limit, vmax=limit)
        rows, columns = np.nonzero(marked)
        ax.scatter(columns, rows, s=min(30.0, 900.0 / len(table)), color=style.ink, zorder=3)
        _name_axes(ax, style, self._names, self._names, 16)
        colour_bar(style, ax, image, shrink=0.8, label="adjusted Q3")
        ax.set_xlabel("item")
        return [
            *remark("dot: dependent beyond chance ({})", int(marked.sum()) // 2, "pair"),
            *remark("grey: {} without a number", self._n_undrawable, "pair"),
        ]

    def _draw_dots(self, ax: Axes, style: Style) -> list[str]:
        fit = max(1, lines_that_fit(ax, style.font_size))
        rows = self._rows.iloc[: min(fit, MOST_PAIRS)]
        value, height = rows["q3_adjusted"].to_numpy(), np.arange(1, len(rows) + 1)
        dependent = flags(rows, "dependent")
        ax.axvline(0.0, color=style.neutral, linewidth=0.8, zorder=1)
        for chosen, face, edge in (
            (dependent, style.negative, style.negative),
            (~dependent, style.paper, style.positive),
        ):
            x, y = value[chosen], height[chosen]
            ax.hlines(y, 0.0, x, color=edge, linewidth=1.0, alpha=0.5)
            ax.scatter(x, y, s=24, facecolor=face, edgecolor=edge, zorder=3)
        limit = 1.08 * max(LEAST_LIMIT, float(np.abs(value).max()))
        left = -limit if (value < 0).any() or (value <= 0).all() else -0.05 * limit
        ax.set_xlim(left, 0.05 * limit if (value <= 0).all() else limit)
        ax.set_ylim(len(rows) + 0.7, 0.3)
        width = max(8, name_width(ax, style) // 2 + 4)
        pairs = zip(rows["item"], rows["other"], strict=True)
        ax.set_yticks(height, [f"{label(a, width)} – {label(b, width)}" for a, b in pairs])
        ax.set_xlabel(in_words("q3_adjusted"))
        grid(style, ax, "x")
        return [
            *(["filled: dependent beyond chance"] if dependent.any() else []),
            *not_shown(len(self.frame) - len(rows), "pair", "further down the list"),
        ]


class HeatMapDisplay(Display):
    """A table of numbers, its cells coloured by value.

    Rows and columns of the frame are those of the map. Colours run from `low` to `high`, by
    default from the smallest to the largest number. If that range crosses zero, it is widened to be
    the same on both sides, and each side has its colour. At most 60 rows and 30 columns are drawn.
    """

    needed: tuple[str, ...] = ()
    without, grid_lines = "", ""

    def __init__(
        self, frame: pd.DataFrame, low: float | None = None, high: float | None = None
    ) -> None:
        named = tidy(frame, self._owner, ()).rename(columns=str)
        self.numbers = tuple(named.columns)
        super().__init__(named)
        values = self.frame.to_numpy()
        finite = values[np.isfinite(values)]
        if not finite.size:
            raise InputError(
                f"{self._owner} has nothing to draw: the frame holds no finite number."
            )
        least, most = ends_of(finite)
        self.low, self.high = (
            least if low is None else float(low),
            most if high is None else float(high),
        )
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low <= self.high):
            raise InputError(f"`low` must be at most `high`, got {self.low} and {self.high}.")
        if self.low < 0 < self.high:
            self.high = max(-self.low, self.high)
            self.low = -self.high
        elif self.low == self.high:
            self.high += 1.0
        self._whole = bool((finite == np.round(finite)).all())
        self.x_label = label(self.frame.columns.name or "column")

    @property
    def instead(self) -> str:
        """What a map of one row, one column or one value says."""
        values = self.frame.to_numpy()
        if min(values.shape) == 1:
            across = "row" if len(values) == 1 else "column"
            return f"There is only one {across}: see the table."
        square = list(self.frame.index.astype(str)) == list(self.frame.columns)
        shown = values[~np.eye(len(values), dtype=bool)] if square else values.ravel()
        shown = np.round(shown[np.isfinite(shown)], 2)
        return "" if np.unique(shown).size > 1 else f"All values are {shown[:1].sum():.2f}."

    def _size(self) -> tuple[float, float]:
        rows, columns = min(len(self.frame), MOST_ROWS), min(self.frame.shape[1], MOST_COLUMNS)
        return max(4.6, 3.0 + 0.46 * columns), max(3.0, 2.2 + 0.24 * rows)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        rows = min(MOST_ROWS, max(1, lines_that_fit(ax, style.small)))
        part = self.frame.iloc[:rows, :MOST_COLUMNS]
        table = np.where(np.isfinite(part.to_numpy()), part.to_numpy(), np.nan)
        colours = [style.paper, style.positive]
        if self.low < 0:
            colours = [style.negative, *colours] if self.high > 0 else [style.negative, style.paper]
        shades = colour_map(style, *colours)
        image = ax.imshow(table, cmap=shades, vmin=self.low, vmax=self.high, aspect="auto")
        for count, line in zip(table.shape, (ax.axhline, ax.axvline), strict=True):
            for k in range(1, count):
                line(k - 0.5, color=style.paper, linewidth=1.0)
        colour_bar(style, ax, image)
        self._write_numbers(ax, style, table, image)
        _name_axes(ax, style, list(part.index), list(part.columns))
        further = np.subtract(self.frame.shape, table.shape)
        return [
            *remark("grey: no number ({})", int(np.isnan(table).sum()), "cell"),
            *not_shown(int(further[0]), "further row"),
            *not_shown(int(further[1]), "further column"),
        ]

    def _write_numbers(self, ax: Axes, style: Style, table: Floats, image: AxesImage) -> None:
        """Write the number in each cell if there is room; light on dark cells."""
        texts = [[self._cell_text(value) for value in row] for row in table]
        longest = max(len(text) for row in texts for text in row)
        # Names and colour bar take a part of the axes.
        box, points = ax.get_window_extent(), 0.72 * 72.0 / ax.figure.dpi
        height, width = points * box.height / table.shape[0], points * box.width / table.shape[1]
        if width < 0.55 * longest * style.small or height < 1.05 * style.small:
            return
        shade = np.asarray(image.cmap(image.norm(table)))[..., :3] @ (0.2126, 0.7152, 0.0722)
        for (row, column), light in np.ndenumerate(shade):
            ax.text(
                column,
                row,
                texts[row][column],
                ha="center",
                va="center",
                fontsize=0.92 * style.small,
                color=style.paper if light < DARK else style.ink,
                in_layout=False,  # it stays in its cell; measuring each would take seconds
            )

    def _cell_text(self, value: float) -> str:
        """Return a number as short as the range allows; nothing positive is rounded to zero."""
        if np.isnan(value):
            return "–"
        size = max(abs(self.low), abs(self.high))
        decimals = 0 if self._whole or size >= 100 else 1 if size >= 10 else 2
        if self.low >= 0 and decimals and 0 < value < 0.5 * 10**-decimals:
            return f"<{10**-decimals:g}"
        text = f"{value:.{decimals}f}"
        return text.replace("-0.00", "0.00") if float(text) == 0 else text

"""A table of numbers as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, colour_bar, footnote, label, lines_that_fit
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from itemwise.numerics.arrays import Floats

MOST_ROWS, MOST_COLUMNS = 60, 30
NAME_WIDTH = 26
DARK = 0.54  # luminance below which text on a cell is light


class HeatMapDisplay(Display):
    """A table of numbers, its cells coloured by value.

    Rows and columns of the frame are those of the map. Colours run from `low` to `high`, left out,
    from the smallest to the largest number. Where that range crosses zero, it is widened to be the
    same on both sides, and each side has its colour. At most 60 rows and 30 columns are drawn.
    """

    def __init__(
        self, frame: pd.DataFrame, low: float | None = None, high: float | None = None
    ) -> None:
        owner = type(self).__name__
        named = tidy(frame, owner, ())
        named = named.rename(columns=str)
        super().__init__(tidy(named, owner, list(named.columns)))
        values = self.frame.to_numpy()
        finite = values[np.isfinite(values)]
        if not finite.size:
            raise InputError(f"{owner} has nothing to draw: the frame holds no finite number.")
        self.low, self.high = _range(finite, low, high)
        self._whole = bool((finite == np.round(finite)).all())

    def _size(self) -> tuple[float, float]:
        rows, columns = min(len(self.frame), MOST_ROWS), min(self.frame.shape[1], MOST_COLUMNS)
        return max(4.6, 3.0 + 0.46 * columns), max(3.0, 2.2 + 0.24 * rows)

    def _draw(self, ax: Axes, style: Style) -> None:
        fit = max(1, lines_that_fit(ax, style.small))
        rows = min(len(self.frame), MOST_ROWS, fit)
        columns = min(self.frame.shape[1], MOST_COLUMNS)
        part = self.frame.iloc[:rows, :columns]
        table = np.where(np.isfinite(part.to_numpy()), part.to_numpy(), np.nan)
        image = _draw_cells(ax, style, table, self.low, self.high)
        self._write(ax, style, table, image)
        ax.set_yticks(
            range(rows), [label(name, NAME_WIDTH) for name in part.index], fontsize=style.small
        )
        ax.set_xticks(
            range(columns),
            [label(name, NAME_WIDTH) for name in part.columns],
            fontsize=style.small,
            rotation=90,
        )
        ax.tick_params(length=0)
        ax.set_xlabel(label(self.frame.columns.name or "column"))
        colour_bar(style, ax, image)
        footnote(style, ax, self._notes(table))

    def _write(self, ax: Axes, style: Style, table: Floats, image: AxesImage) -> None:
        """The number in each cell, where there is room; light on dark cells."""
        texts = [
            [_said(value, self.low, self.high, whole=self._whole) for value in row] for row in table
        ]
        longest = max(len(text) for row in texts for text in row)
        if not _room(ax, table.shape, longest, style.small):
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
                in_layout=False,  # it stays in its cell; to measure each would take seconds
            )

    def _notes(self, table: Floats) -> list[str]:
        notes = []
        if lost := int(np.isnan(table).sum()):
            notes.append(f"grey: no number ({counted(lost, 'cell')})")
        for hidden, noun in zip(
            np.subtract(self.frame.shape, table.shape), ("row", "column"), strict=True
        ):
            if hidden > 0:
                notes.append(f"not shown: {counted(int(hidden), f'further {noun}')}")
        return notes


def _range(finite: Floats, low: float | None, high: float | None) -> tuple[float, float]:
    low = float(finite.min()) if low is None else float(low)
    high = float(finite.max()) if high is None else float(high)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise InputError(f"The colours run from {low} to {high}, but low must be at most high.")
    if low < 0 < high:
        limit = max(-low, high)
        return -limit, limit
    return (low, high) if low < high else (low, low + 1.0)


def _draw_cells(ax: Axes, style: Style, table: Floats, low: float, high: float) -> AxesImage:
    from matplotlib.colors import LinearSegmentedColormap

    colours = [style.paper, style.positive]
    if low < 0:
        colours = [style.negative, *colours] if high > 0 else [style.negative, style.paper]
    scale = LinearSegmentedColormap.from_list("heat", colours).with_extremes(bad=style.faint)
    image = ax.imshow(table, cmap=scale, vmin=low, vmax=high, aspect="auto")
    for count, line in zip(table.shape, (ax.axhline, ax.axvline), strict=True):
        for place in range(1, count):
            line(place - 0.5, color=style.paper, linewidth=1.0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return image


def _said(value: float, low: float, high: float, *, whole: bool) -> str:
    """A number as short as the range allows; nothing positive is rounded to zero."""
    if np.isnan(value):
        return "–"
    size = max(abs(low), abs(high))
    decimals = 0 if whole or size >= 100 else 1 if size >= 10 else 2
    if low >= 0 and decimals and 0 < value < 0.5 * 10**-decimals:
        return f"<{10**-decimals:g}"
    text = f"{value:.{decimals}f}"
    return text.replace("-0.00", "0.00") if float(text) == 0 else text


def _room(ax: Axes, shape: tuple[int, ...], signs: int, font_size: float) -> bool:
    """Whether a text of so many signs fits a cell; names and colour bar take a part of the axes."""
    box, points = ax.get_window_extent(), 0.72 * 72.0 / ax.figure.dpi
    height, width = points * box.height / shape[0], points * box.width / shape[1]
    return width >= 0.55 * signs * font_size and height >= 1.05 * font_size

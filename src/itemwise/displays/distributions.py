"""How difficulties are distributed in each data set, one above the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import as_number
from itemwise.displays.base import Display, tidy
from itemwise.displays.kernel import draw_violin
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    lines_that_fit,
    name_width,
)
from itemwise.errors import InputError
from itemwise.numerics.robust import padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_ROWS = 80


class DistributionsDisplay(Display):
    """Distribution of difficulty in each data set, the hardest on top.

    The frame has one row an item: `group` names the column of data sets, `value` that of numbers.
    Each shape shows the density of values within ±`limit`; its bar reaches from the first quartile
    to the third, the dot is the mean. Beside it stands the share of values beyond the limit. At
    most 80 data sets are drawn, the hardest by their mean within the limit.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        value: str = "difficulty",
        group: str = "dataset",
        limit: float = 6.0,
    ) -> None:
        super().__init__(tidy(frame, type(self).__name__, (value,), (group,)))
        if not as_number(limit) > 0:
            raise InputError(f"limit is {limit!r}, but it should be a number above 0, such as 6.")
        self.value, self.group, self.limit = value, group, limit
        there = self.frame[self.frame[value].notna()]
        self._lost = len(self.frame) - len(there)
        self._rows = self._ranked(there)
        if not self._rows:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: the column '{value}' holds no number "
                f"within ±{limit:g}."
            )

    def _ranked(self, there: pd.DataFrame) -> list[tuple[Any, Floats, float]]:
        """Name, values within the limit and share beyond it of each data set, the hardest first."""
        rows: list[tuple[Any, Floats, float]] = []
        self._empty = 0
        for name, column in there.groupby(self.group, sort=False, dropna=False, observed=True)[
            self.value
        ]:
            values = column.to_numpy()
            inside = values[np.abs(values) <= self.limit]
            if inside.size:
                rows.append((name, inside, 1.0 - inside.size / values.size))
            else:
                self._empty += 1
        return sorted(rows, key=lambda row: -float(row[1].mean()))

    def _size(self) -> tuple[float, float]:
        return 7.2, max(2.2, 1.3 + 0.3 * min(len(self._rows), MOST_ROWS))

    def _draw(self, ax: Axes, style: Style) -> None:
        shown = max(1, min(len(self._rows), MOST_ROWS, lines_that_fit(ax, style.font_size)))
        rows = self._rows[:shown]
        every = np.concatenate([values for _, values, _ in rows])
        low, high = padded((float(every.min()), float(every.max())))
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        for height, (_, values, _) in enumerate(rows, start=1):
            draw_violin(ax, style, values, height, (low, high), style.positive)
        ax.set_xlim(low, high)
        ax.set_ylim(shown + 0.7, 0.3)
        width = name_width(ax, style)
        ax.set_yticks(range(1, shown + 1), [label(name, width) for name, *_ in rows])
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"{label(self.value)} (bar: middle half, dot: mean)")
        grid(style, ax, "x")
        self._write_shares(ax, style, rows)
        footnote(style, ax, self._notes(shown))

    def _write_shares(self, ax: Axes, style: Style, rows: list[tuple[Any, Floats, float]]) -> None:
        """The share beyond the limit, right of each row."""
        for height, (*_, beyond) in enumerate(rows, start=1):
            ax.annotate(
                _percent(beyond),
                xy=(1.01, height),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=style.small,
                color=style.ink if beyond else style.neutral,
                annotation_clip=False,
            )

    def _notes(self, shown: int) -> list[str]:
        notes = [f"right: share of values beyond ±{self.limit:g}, which are not drawn"]
        if (hidden := len(self._rows) - shown) > 0:
            notes.append(f"not shown: {counted(hidden, 'easier data set')}")
        if self._empty:
            sets = counted(self._empty, "data set")
            notes.append(f"not shown: {sets} without a value within ±{self.limit:g}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a number")
        return notes


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"

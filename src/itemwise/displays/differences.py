"""Who is better than whom, and by how much."""

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

    from itemwise.numerics.arrays import Bools, Floats

MOST_ROWS = 60
NAME_WIDTH = 26


class DifferencesDisplay(Display):
    """How far the row is ahead of the column, in colour where they are told apart.

    The frame has one row a pair: `respondent`, `other`, `difference`, and whether they are
    `told_apart`. Names come in the order in which they first appear; at most 60 are drawn.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, ("difference",), ("respondent", "other", "told_apart")))
        if not np.isfinite(self.frame["difference"].to_numpy()).any():
            raise InputError(f"{owner} has nothing to draw: no 'difference' is a finite number.")
        pairs = (self.frame["respondent"], self.frame["other"])
        self._names = list(dict.fromkeys([*pairs[0], *pairs[1]]))
        self._place = {name: k for k, name in enumerate(self._names)}

    def _size(self) -> tuple[float, float]:
        side = max(2.0, 0.18 * min(len(self._names), MOST_ROWS))
        return side + 3.2, side + 2.4

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        fit = max(1, lines_that_fit(ax, style.small))
        shown = min(len(self._names), MOST_ROWS)
        table, apart = self._square(shown)
        limit = float(np.nanmax(np.abs(np.where(apart, table, 0.0)))) or 1.0
        colours = [style.negative, style.paper, style.positive]
        shades = LinearSegmentedColormap.from_list("ahead", colours).with_extremes(bad=style.faint)
        coloured = np.where(np.isnan(table) | apart, table, 0.0)
        image = ax.imshow(coloured, cmap=shades, vmin=-limit, vmax=limit, aspect="auto")
        rows, columns = np.nonzero(~apart & ~np.isnan(table))
        ax.scatter(
            columns, rows, s=min(24.0, 700.0 / shown), marker="_", color=style.ink, linewidth=0.9
        )
        self._name(ax, style, shown, fit)
        colour_bar(style, ax, image, label="row ahead of column by")
        ax.set_xlabel("column")
        footnote(style, ax, self._notes(table, apart, shown))

    def _square(self, shown: int) -> tuple[Floats, Bools]:
        """Differences of rows from columns, and which are told apart; NaN on the diagonal."""
        count = len(self._names)
        table, apart = np.full((count, count), np.nan), np.zeros((count, count), dtype=bool)
        one = self.frame["respondent"].map(self._place).to_numpy()
        other = self.frame["other"].map(self._place).to_numpy()
        value = self.frame["difference"].to_numpy()
        table[one, other], table[other, one] = value, -value
        told = self.frame["told_apart"].fillna(False).to_numpy(dtype=bool) & np.isfinite(value)
        apart[one, other] = apart[other, one] = told
        np.fill_diagonal(table, np.nan)
        np.fill_diagonal(apart, val=False)
        table = np.where(np.isfinite(table), table, np.nan)
        return table[:shown, :shown], apart[:shown, :shown]

    def _name(self, ax: Axes, style: Style, shown: int, fit: int) -> None:
        """Names along both axes; every second, third ... where there is no room for all."""
        places = np.arange(0, shown, -(-shown // fit))
        names = [label(self._names[int(k)], NAME_WIDTH) for k in places]
        ax.set_yticks(places, names, fontsize=style.small)
        ax.set_xticks(places, names, fontsize=style.small, rotation=90)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)

    def _notes(self, table: Floats, apart: Bools, shown: int) -> list[str]:
        tied = int((~apart & ~np.isnan(table)).sum()) // 2
        notes = []
        if tied:
            notes.append(f"dash: cannot be told apart ({counted(tied, 'pair')})")
        if lost := (int(np.isnan(table).sum()) - shown) // 2:
            notes.append(f"grey: not compared ({counted(lost, 'pair')})")
        if (hidden := len(self._names) - shown) > 0:
            notes.append(f"not shown: {counted(hidden, 'further row')}")
        return notes

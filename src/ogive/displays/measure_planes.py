"""Algorithms by two measures at once, with those that no other beats on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.displays.display import Display, flags, not_shown
from ogive.displays.style import Style, in_words, lines_that_fit, name_points
from ogive.errors import InputError
from ogive.numerics.robust import padded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_NAMES = 14


class TradeOffDisplay(Display):
    """Means of two measures of each algorithm; those that no other beats on both have a colour.

    The frame has one row per algorithm, which is its index. `across` and `up` name columns of
    means; with columns of the same names and `_se`, bars reach 1.96 standard errors. A column
    `pareto` says who is on the front. `better` says of each measure whether "higher" or "lower"
    is good, for the labels.
    """

    noun, without = "algorithm", "both measures"
    inches = (7.6, 4.8)

    def __init__(
        self,
        frame: pd.DataFrame,
        across: str = "first",
        up: str = "second",
        better: tuple[str, str] = ("higher", "higher"),
    ) -> None:
        if across == up:
            raise InputError(f"across and up are both '{across}'. Name two measures.")
        self.across, self.up, self.better = across, up, better
        self.numbers, self.optional = (across, up), (f"{across}_se", f"{up}_se")
        said = [
            f"{in_words(name)} ({side} is better)"
            for name, side in zip(self.numbers, better, strict=True)
        ]
        self.x_label, self.y_label = said
        super().__init__(frame)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        points = self._rows[list(self.numbers)].to_numpy()
        reach = np.zeros(points.shape)
        for column, name in enumerate(self.optional):
            if name in self._rows:
                reach[:, column] = 1.96 * np.nan_to_num(self._rows[name].to_numpy())
        front = flags(self._rows, "pareto")
        for rows, colour, alpha in ((~front, style.neutral, 0.5), (front, style.positive, 0.95)):
            (x, y), (wide, tall) = points[rows].T, reach[rows].T
            ax.hlines(y, x - wide, x + wide, color=colour, alpha=0.5 * alpha, linewidth=1.0)
            ax.vlines(x, y - tall, y + tall, color=colour, alpha=0.5 * alpha, linewidth=1.0)
            ax.scatter(x, y, s=30, color=colour, alpha=alpha, linewidth=0, zorder=3)
        lowest, highest = (points - reach).min(axis=0), (points + reach).max(axis=0)
        ax.set_xlim(padded((float(lowest[0]), float(highest[0]))))
        ax.set_ylim(padded((float(lowest[1]), float(highest[1]))))
        order = np.lexsort((np.arange(len(points)), ~front))  # the front is named first
        most = max(1, min(MOST_NAMES, lines_that_fit(ax, style.small)))
        named = order[:most]
        colours = np.where(front[named], style.positive, style.neutral).tolist()
        name_points(style, ax, self._rows.index[named], points[named], colours)
        notes = ["blue: no other is at least as good on both; bars: ±1.96 standard errors"]
        return [*notes, *not_shown(len(points) - len(named), "name")]

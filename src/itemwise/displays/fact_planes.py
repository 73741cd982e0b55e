"""Planes of a fact of respondents and their ability: scaling laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.display import Display
from itemwise.displays.style import Style, label
from itemwise.numerics.robust import padded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

REACH = 1.96
MOST_BARS = 60


class ScalingDisplay(Display):
    """Ability against a fact, with the line and the band of a respondent that was never run.

    Rows with `low` and `high` are points of the line; rows with `ability_se` are respondents,
    `adjusted` for other facts or not.
    """

    numbers, optional = ("fact", "ability"), ("ability_se", "low", "high")
    y_label = "ability"
    without = "both numbers"

    def __init__(self, frame: pd.DataFrame, fact: str = "fact", *, adjusted: bool = False) -> None:
        self.x_label = label(fact, 40)
        if adjusted:
            self.y_label = "ability, other facts being equal"
        super().__init__(frame)

    def _prepare(self) -> None:
        columns = {
            name: self._rows[name].to_numpy(dtype=float)
            if name in self._rows
            else np.full(len(self._rows), np.nan)
            for name in (*self.numbers, *self.optional)
        }
        on_line = np.isfinite(columns["low"]) & np.isfinite(columns["high"])
        order = np.argsort(columns["fact"][on_line], kind="stable")
        self._line = {name: column[on_line][order] for name, column in columns.items()}
        self._points = {name: column[~on_line] for name, column in columns.items()}

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        line, points = self._line, self._points
        look: dict[str, Any] = {"color": style.positive, "alpha": 0.15, "linewidth": 0}
        ax.fill_between(line["fact"], line["low"], line["high"], **look)
        ax.plot(line["fact"], line["ability"], color=style.positive, linewidth=1.8)
        reach = REACH * np.nan_to_num(points["ability_se"])
        few = points["fact"].size <= MOST_BARS
        if few:
            low, high = points["ability"] - reach, points["ability"] + reach
            ax.vlines(points["fact"], low, high, color=style.neutral, linewidth=1.0, alpha=0.6)
        ax.scatter(points["fact"], points["ability"], s=18 if few else 8, color=style.neutral)
        ends = [line["fact"], points["fact"]]
        ax.set_xlim(
            *padded((min(map(np.min, filter(len, ends))), max(map(np.max, filter(len, ends)))))
        )
        band = (
            ["band: where a respondent that was never run is expected"] if len(line["fact"]) else []
        )
        return [*band, *(["bar: ±1.96 standard errors"] if few and reach.any() else [])]

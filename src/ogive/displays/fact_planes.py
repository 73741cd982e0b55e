"""Planes of a fact and what it explains: ability by compute, difficulty by length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.displays.display import Display
from ogive.displays.style import Style, label
from ogive.numerics.robust import padded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

REACH = 1.96
MOST_BARS = 60


class ScalingDisplay(Display):
    """An outcome against a fact, with the line and the band of what was `never` seen.

    Rows with `low` and `high` are points of the line; rows with `outcome_se` are respondents or
    items, `adjusted` for other facts or not.
    """

    numbers, optional = ("fact", "outcome"), ("outcome_se", "low", "high")
    without = "both numbers"

    def __init__(
        self,
        frame: pd.DataFrame,
        fact: str = "fact",
        outcome: str = "ability",
        never: str = "a respondent that was never run",
        *,
        adjusted: bool = False,
    ) -> None:
        self.x_label, self._never = label(fact, 40), never
        self.y_label = f"{outcome}, other facts being equal" if adjusted else outcome
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
        ax.plot(line["fact"], line["outcome"], color=style.positive, linewidth=1.8)
        reach = REACH * np.nan_to_num(points["outcome_se"])
        few = points["fact"].size <= MOST_BARS
        if few:
            low, high = points["outcome"] - reach, points["outcome"] + reach
            ax.vlines(points["fact"], low, high, color=style.neutral, linewidth=1.0, alpha=0.6)
        ax.scatter(points["fact"], points["outcome"], s=18 if few else 8, color=style.neutral)
        ends = [line["fact"], points["fact"]]
        ax.set_xlim(
            *padded((min(map(np.min, filter(len, ends))), max(map(np.max, filter(len, ends)))))
        )
        band = [f"band: where {self._never} is expected"] if len(line["fact"]) else []
        return [*band, *(["bar: ±1.96 standard errors"] if few and reach.any() else [])]

"""Items whose labels should be checked: strong and weak respondents on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.displays.display import flags
from ogive.displays.interval_rows import Rows
from ogive.displays.style import Style, legend_beside, legend_handle, text_beside
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

OTHERS = 5  # rows without suspicion, for comparison


class SuspectsDisplay(Rows):
    """Strong and weak respondents on the items whose labels should be checked first.

    The frame has one row per item, which is its index: `evidence`, how likely its label is wrong or
    contradicts good respondents, `share_right_strong`, `share_right_weak`, and if known, `suspect`.
    Suspects come first, at most 30 rows in all. On an item with a right label, strong respondents
    do better.
    """

    numbers = ("evidence", "share_right_weak", "share_right_strong")
    order, most_rows = "evidence", 30
    further = ("item", "with less evidence")
    x_label = "share of right responses"

    def _prepare(self) -> None:
        super()._prepare()
        self._suspects = int(flags(self._rows, "suspect").sum())

    def _wanted(self) -> int:
        return min(super()._wanted(), self._suspects + OTHERS)

    def _size(self) -> tuple[float, float]:
        return self.inches[0], self.margin + self.row_height * max(5, self._wanted())

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        evidence, weak, strong = (rows[name].to_numpy() for name in self.numbers)
        colours = np.where(flags(rows, "suspect"), style.negative, style.positive)
        ax.hlines(height, weak, strong, color=colours, linewidth=1.4, alpha=0.5, zorder=2)
        ax.scatter(weak, height, s=40, facecolor=style.paper, edgecolor=colours, zorder=3)
        ax.scatter(strong, height, s=16, color=colours, zorder=4)
        ax.set_xlim(-0.03, 1.03)
        for at, chance in zip(height, evidence, strict=True):
            text_beside(style, ax, f"{chance:.0%}", at, x=1.03)
        ink: dict[str, Any] = {"color": style.ink, "linestyle": "none", "marker": "o"}
        handles = [
            legend_handle(markerfacecolor=style.paper, markersize=6.0, **ink),
            legend_handle(markersize=4.0, **ink),
            legend_handle(color=style.negative, linewidth=2.0),
        ]
        texts = ["weak third", "strong third", "suspect"]
        legend_beside(style, ax, handles, texts, left=1.12)  # beside the probabilities
        suspects = counted(self._suspects, "suspect")
        rule = " (few of them are expected to have a right label)"
        return [
            f"on the right: evidence against the label; {suspects}{rule if self._suspects else ''}"
        ]

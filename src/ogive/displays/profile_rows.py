"""Profiles: one row per respondent, one dot for each of its abilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.displays.interval_rows import Rows
from ogive.displays.style import Style, label, legend_beside, say_on_hover

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

REACH = 1.96
MARKERS = "osD^v"
SPREAD = 0.5  # of a row, over which dots of one respondent lie


class ProfilesDisplay(Rows):
    """Abilities of each respondent in several dimensions, the best mean on top.

    The frame has one row per `respondent` and `dimension`, with its `ability` and `se`; lines reach
    1.96 standard errors both ways. At most 20 respondents are drawn.
    """

    numbers, needed = ("ability", "se"), ("ability",)
    labels = ("respondent", "dimension")
    without, further = "an ability", ("respondent", "of lower mean ability")
    x_label = "ability (line: ±1.96 standard errors)"
    most_rows, row_height = 20, 0.3

    def _prepare(self) -> None:
        self._dimensions = list(dict.fromkeys(self._rows["dimension"]))
        wide = self._rows.pivot_table(
            index="respondent", columns="dimension", values=["ability", "se"], dropna=False
        )
        means = self._rows.groupby("respondent")["ability"].mean()
        self._rows = wide.loc[means.sort_values(ascending=False, kind="stable").index]

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        places = np.linspace(-SPREAD / 2, SPREAD / 2, len(self._dimensions))
        if len(self._dimensions) == 1:
            places = np.zeros(1)
        handles = []
        for k, (name, place) in enumerate(zip(self._dimensions, places, strict=True)):
            value = rows["ability", name].to_numpy(dtype=float)
            reach = REACH * np.nan_to_num(rows["se", name].to_numpy(dtype=float))
            colour = style.palette[k % len(style.palette)]
            marker = MARKERS[k % len(MARKERS)]
            ax.hlines(
                height + place, value - reach, value + reach, color=colour, alpha=0.5, linewidth=1.2
            )
            dots = ax.scatter(value, height + place, s=18, color=colour, marker=marker, zorder=3)
            said = zip(rows.index, value.tolist(), strict=True)
            say_on_hover(dots, [f"{who}, {name}: {x:.2f}" for who, x in said])
            handles.append(dots)
        legend_beside(style, ax, handles, [label(name, 24) for name in self._dimensions])
        return []

"""Grades of one item along the scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, label, legend_beside
from itemwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_GRADES = 12  # in the legend; more are drawn, the middle ones unnamed


class GradesDisplay(Display):
    """How likely each grade of an item is, from low ability to high.

    The frame is long: one row a `grade` and `ability`, with the `probability` there and its
    standard error, `probability_se`. Bands reach 1.96 standard errors each way.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        numbers = ("grade", "ability", "probability", "probability_se")
        super().__init__(tidy(frame, type(self).__name__, numbers, ("item",)))
        values = self.frame[["grade", "ability", "probability"]].to_numpy()
        seen = self.frame.loc[np.isfinite(values).all(axis=1)]
        self._rows = seen.sort_values(by=["grade", "ability"], kind="stable")
        if self._rows.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has a finite grade, ability "
                "and probability."
            )

    def _size(self) -> tuple[float, float]:
        return 7.6, 4.2

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib import colormaps

        grades = self._rows["grade"].unique()
        colours = colormaps["viridis"](np.linspace(0.0, 0.88, len(grades)))
        handles: list[Artist] = []
        texts = []
        for k, (grade, colour) in enumerate(zip(grades, colours, strict=True)):
            rows = self._rows[self._rows["grade"] == grade]
            ability, middle = rows["ability"].to_numpy(), rows["probability"].to_numpy()
            reach = 1.96 * np.nan_to_num(rows["probability_se"].to_numpy())
            low, high = np.clip([middle - reach, middle + reach], 0.0, 1.0)
            ax.fill_between(ability, low, high, color=colour, alpha=0.15, linewidth=0)
            line = ax.plot(ability, middle, color=colour, linewidth=1.8)
            if len(grades) <= MOST_GRADES or k in (0, len(grades) - 1):
                handles += line
                texts.append(f"grade {grade:g}")
        legend_beside(style, ax, handles, texts)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel("ability")
        ax.set_ylabel("probability")
        grid(style, ax)
        names = list(dict.fromkeys(label(name) for name in self._rows["item"]))
        footnote(style, ax, [f"{names[0]}; bands: ±1.96 standard errors"])

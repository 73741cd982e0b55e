"""Saturation: information along the scale, and where the best respondents stand on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    lines_that_fit,
    name_width,
    names_beside,
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_NAMES = 5


class SaturationDisplay(Display):
    """What a benchmark tells along the scale; the best respondents are named where they stand.

    The frame has two kinds of rows. Those of the curve have `ability` and `information`, and their
    `respondent` is missing; those of respondents have `ability` and its `se`. Bars of the best
    reach 1.96 standard errors both ways; all others are ticks on the axis.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, ("ability", "information", "se"), ("respondent",)))
        there = self.frame[np.isfinite(self.frame["ability"])]
        on_curve = there["respondent"].isna()
        curve = there[on_curve & np.isfinite(there["information"])]
        self._curve = curve.sort_values("ability", kind="stable")
        self._people = there[~on_curve].sort_values("ability", ascending=False, kind="stable")
        if self._curve.empty:
            raise InputError(
                f"{name} has nothing to draw: no row without 'respondent' has a finite ability "
                "and information."
            )

    def _size(self) -> tuple[float, float]:
        return 7.6, 4.4

    def _draw(self, ax: Axes, style: Style) -> None:
        ability, information = (self._curve[name].to_numpy() for name in ("ability", "information"))
        top = float(information.max()) or 1.0
        ax.fill_between(ability, information, color=style.positive, alpha=0.12, linewidth=0)
        ax.plot(ability, information, color=style.positive, linewidth=2.2)
        best = self._people[: max(1, min(MOST_NAMES, lines_that_fit(ax, style.small) - 1))]
        others = self._people["ability"].to_numpy()[len(best) :]
        ax.vlines(others, 0.0, 0.03 * top, color=style.neutral, linewidth=0.8, alpha=0.6)
        height = np.interp(best["ability"], ability, information)
        points = np.stack([best["ability"].to_numpy(), height], axis=1)
        ends = self._bars(best)
        ax.set_ylim(0.0, 1.08 * top)
        ax.set_xlim(_limits(ability, self._people["ability"].to_numpy(), ends))
        ax.hlines(height, *ends, color=style.negative, linewidth=1.4, alpha=0.5)
        ax.scatter(points[:, 0], points[:, 1], s=26, color=style.negative, zorder=3)
        ax.set_xlabel("ability")
        ax.set_ylabel("information of all items")
        grid(style, ax)
        width = min(26, name_width(ax, style))
        names = [f"{rank}  {label(name, width)}" for rank, name in enumerate(best["respondent"], 1)]
        names_beside(style, ax, names, points, [style.ink] * len(names))
        footnote(style, ax, self._notes(ability, information, best))

    def _bars(self, best: pd.DataFrame) -> Floats:
        """Both ends of the bars; without a standard error, the point."""
        reach = 1.96 * best["se"].to_numpy()
        reach = np.where(np.isfinite(reach), reach, 0.0)
        ends: Floats = best["ability"].to_numpy() + np.stack([-reach, reach])
        return ends

    def _notes(self, ability: Floats, information: Floats, best: pd.DataFrame) -> list[str]:
        if best.empty:
            return ["no respondent has an ability"]
        notes = [f"bar: ±1.96 standard errors of the best {len(best)}, numbered by rank"]
        if others := len(self._people) - len(best):
            middle = float(np.median(self._people["ability"]))
            most = float(information.max()) or 1.0
            here, there = np.interp([best["ability"].mean(), middle], ability, information) / most
            notes.append(f"ticks: {counted(others, 'other')}")
            notes.append(
                f"of the most information, {here:.0%} at the best, {there:.0%} in the middle"
            )
        return notes


def _limits(ability: Floats, people: Floats, ends: Floats) -> tuple[float, float]:
    every = np.concatenate([ability, people, ends.reshape(-1)])
    low, high = float(every.min()), float(every.max())
    pad = 0.02 * (high - low) or 1.0
    return low - pad, high + pad

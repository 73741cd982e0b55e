"""Reliability along the scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid
from itemwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

LEVELS = ((0.9, "asked for\nsingle\ndecisions"), (0.7, "asked for\ncomparing\ngroups"))


class ReliabilityDisplay(Display):
    """Where on the scale abilities are measured reliably, and where they are not.

    The frame has one row an `ability`, with the `reliability` and the standard error `se` there.
    Under the curve, the stretch is filled where the standard error is within √2 of its least.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, ("ability", "reliability", "se")))
        finite = np.isfinite(self.frame["ability"]) & np.isfinite(self.frame["reliability"])
        self._curve = self.frame[finite].sort_values("ability", kind="stable")
        if self._curve.empty:
            raise InputError(
                f"{name} has nothing to draw: no row has a finite ability and reliability."
            )

    def _draw(self, ax: Axes, style: Style) -> None:
        ability = self._curve["ability"].to_numpy()
        reliability = self._curve["reliability"].to_numpy()
        # A curve of one point would be invisible without a marker.
        marker = "o" if len(ability) == 1 else ""
        ax.plot(ability, reliability, color=style.positive, linewidth=2.2, marker=marker)
        sharp = _sharp(self._curve["se"].to_numpy())
        if (sharp[1:] & sharp[:-1]).any():  # one point alone fills nothing
            ax.fill_between(
                ability,
                reliability,
                where=list(sharp),
                color=style.positive,
                alpha=0.15,
                linewidth=0,
            )
            footnote(style, ax, ["filled: standard error within a factor √2 of its least"])
        if len(ability) > 1 and np.ptp(ability) > 0:
            ax.set_xlim(ability[0], ability[-1])
        ax.set_ylim(min(0.0, float(reliability.min())), 1.0)
        ax.set_xlabel("ability")
        ax.set_ylabel("reliability")
        grid(style, ax)
        self._draw_levels(ax, style)

    def _draw_levels(self, ax: Axes, style: Style) -> None:
        """Lines at the levels that are usually asked for, named at the right."""
        for level, text in LEVELS:
            ax.axhline(level, color=style.neutral, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
            ax.annotate(
                text,
                xy=(1.0, level),
                xycoords=ax.get_yaxis_transform(),
                xytext=(4.0, 0.0),
                textcoords="offset points",
                va="center",
                annotation_clip=False,
                fontsize=style.small,
                color=style.ink,
            )


def _sharp(se: Floats) -> np.ndarray:
    """Where the standard error is within √2 of its least: half the information at the best."""
    known = np.isfinite(se) & (se > 0)
    if not known.any():
        return known
    close: np.ndarray = known & (se <= np.sqrt(2) * se[known].min())
    return close

"""Test information and the standard error that follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, apply, footnote, grid
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

# In the tails the standard error grows without bound; the axis ends at this many times its least.
TALLEST_SE = 5.0
# Items' curves lower than this share of the test's would lie on the axis, unseen.
LOWEST_ITEM = 0.02


class InformationDisplay(Display):
    """Where on the scale the test measures sharply, and where it does not.

    The frame has one row an `ability`, with the `information` and `se` of the test there.
    With a column `item`, rows that name an item hold its own information and are drawn thin
    below; rows of the test leave `item` missing. `se_ax_` is the axes of the standard error.
    """

    se_ax_: Axes

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, ("ability", "information", "se")))
        finite = self.frame[np.isfinite(self.frame["ability"])].sort_values(
            "ability", kind="stable"
        )
        if "item" in finite.columns:
            of_test = finite["item"].isna()
            self._test, self._items = finite[of_test], finite[~of_test]
        else:
            self._test, self._items = finite, finite[:0]
        if not np.isfinite(self._test["information"]).any():
            raise InputError(
                f"{name} has nothing to draw: no row of the test has a finite ability and "
                "information. Where there is a column 'item', leave it missing in these rows."
            )

    def _draw(self, ax: Axes, style: Style) -> None:
        self.se_ax_ = ax.twinx()
        ability = self._test["ability"].to_numpy()
        information = self._test["information"].to_numpy()
        se = np.where(np.isfinite(self._test["se"]), self._test["se"], np.nan)
        # A curve of one point would be invisible without a marker.
        marker = "o" if len(ability) == 1 else ""

        ax.plot(ability, information, color=style.positive, linewidth=2.2, marker=marker)
        self._draw_items(ax, style)
        self.se_ax_.plot(
            ability, se, color=style.negative, linewidth=1.8, linestyle=(0, (4, 2)), marker=marker
        )
        if len(ability) > 1 and np.ptp(ability) > 0:
            ax.set_xlim(ability[0], ability[-1])
        ax.set_ylim(0, _top(information, np.inf))
        self.se_ax_.set_ylim(0, _top(se, TALLEST_SE))
        ax.set_xlabel("ability")
        ax.set_ylabel("information (solid)")
        self.se_ax_.set_ylabel("standard error (dashed)")
        grid(style, ax)
        self._dress_right_axis(ax, style)

    def _draw_items(self, ax: Axes, style: Style) -> None:
        from matplotlib.collections import LineCollection

        if self._items.empty:
            return
        groups = self._items.groupby("item", sort=False, observed=True)
        number = counted(groups.ngroups, "item")
        tallest = self._items["information"].max()
        if not tallest >= LOWEST_ITEM * self._test["information"].max():
            note = f"not drawn: information of {number}, at most {tallest:.2g} each"
            footnote(style, ax, [note])
            return
        curves = [rows[["ability", "information"]].to_numpy() for _, rows in groups]
        alpha = float(np.clip(6.0 / np.sqrt(len(curves)), 0.15, 0.8))
        ax.add_collection(
            LineCollection(curves, colors=style.neutral, linewidths=0.8, alpha=alpha, zorder=1.5)
        )
        footnote(style, ax, [f"thin grey: each item's own information ({number})"])

    def _dress_right_axis(self, ax: Axes, style: Style) -> None:
        apply(style, self.se_ax_)
        for side in ("left", "bottom"):
            self.se_ax_.spines[side].set_visible(False)
        self.se_ax_.spines["right"].set_visible(True)
        for axes, colour in ((ax, style.positive), (self.se_ax_, style.negative)):
            axes.yaxis.label.set_color(colour)


def _top(values: Floats, times_least: float) -> float:
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.max() <= 0:
        return 1.0
    least = finite[finite > 0].min()
    return 1.06 * float(min(finite.max(), times_least * least))

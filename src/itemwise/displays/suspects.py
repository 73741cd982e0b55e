"""Suspects: items whose label may be wrong, and how strong and weak respondents do on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    legend_beside,
    lines_that_fit,
    name_width,
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_ROWS = 30
OTHERS = 5  # that are no suspects, to show the difference


class SuspectsDisplay(Display):
    """Strong and weak respondents on the items most likely to have a wrong label.

    The frame has one row an item, which is its index: `evidence`, the probability that its label
    is wrong, `share_right_strong`, `share_right_weak`, and where known, `suspect`. Suspects come
    first, at most 30 rows in all. On an item with a right label, strong respondents do better.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._shares = ("share_right_weak", "share_right_strong")
        super().__init__(tidy(frame, type(self).__name__, ("evidence", *self._shares)))
        there = self.frame[self.frame[["evidence", *self._shares]].notna().all(axis=1)]
        if there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has 'evidence', "
                "'share_right_strong' and 'share_right_weak'."
            )
        self._ranked = there.sort_values("evidence", ascending=False, kind="stable")
        self._suspects = int(_suspect(self._ranked).sum())

    def _size(self) -> tuple[float, float]:
        return 6.8, 1.2 + 0.19 * max(5, self._wanted())

    def _wanted(self) -> int:
        return min(len(self._ranked), MOST_ROWS, self._suspects + OTHERS)

    def _draw(self, ax: Axes, style: Style) -> None:
        shown = max(1, min(self._wanted(), lines_that_fit(ax, style.font_size)))
        rows, height = self._ranked.iloc[:shown], np.arange(1, shown + 1)
        weak, strong = (rows[name].to_numpy() for name in self._shares)
        suspect = _suspect(rows)
        colours = np.where(suspect, style.negative, style.positive)
        ax.hlines(height, weak, strong, color=colours, linewidth=1.4, alpha=0.5, zorder=2)
        ax.scatter(weak, height, s=40, facecolor=style.paper, edgecolor=colours, zorder=3)
        ax.scatter(strong, height, s=16, color=colours, zorder=4)
        width = name_width(ax, style)
        ax.set_yticks(height, [label(name, width) for name in rows.index])
        ax.set_ylim(shown + 0.7, 0.3)
        ax.set_xlim(-0.03, 1.03)
        for y, chance in zip(height, rows["evidence"], strict=True):
            ax.annotate(
                f"{chance:.0%}",
                xy=(1.03, y),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=style.small,
                color=style.ink,
                annotation_clip=False,
            )
        ax.set_xlabel("share of right responses")
        grid(style, ax, "x")
        self._explain(ax, style, shown)

    def _explain(self, ax: Axes, style: Style, shown: int) -> None:
        from matplotlib.lines import Line2D

        ink: dict[str, Any] = {"color": style.ink, "linestyle": "none", "marker": "o"}
        handles = [
            Line2D([], [], markerfacecolor=style.paper, markersize=6.0, **ink),
            Line2D([], [], markersize=4.0, **ink),
            Line2D([], [], color=style.negative, linewidth=2.0),
        ]
        legend_beside(style, ax, handles, ["weak third", "strong third", "suspect"])
        legend = ax.get_legend()
        assert legend is not None  # noqa: S101 - it was just drawn
        legend.set_bbox_to_anchor((1.12, 1.0))  # beside the probabilities
        suspects = counted(self._suspects, "suspect")
        notes = [f"on the right: probability that the label is wrong; {suspects}"]
        if (hidden := len(self._ranked) - shown) > 0:
            notes.append(f"not shown: {counted(hidden, 'item')} with less evidence")
        if lost := len(self.frame) - len(self._ranked):
            notes.append(f"not shown: {counted(lost, 'row')} without a number")
        footnote(style, ax, notes)


def _suspect(rows: pd.DataFrame) -> np.ndarray:
    if "suspect" not in rows.columns:
        return np.zeros(len(rows), dtype=bool)
    return rows["suspect"].fillna(False).to_numpy(dtype=bool)

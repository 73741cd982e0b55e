"""A ranking with its uncertainty."""

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
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

# Beyond this many rows a name at each row would be too small to read.
MOST_NAMES = 60
NAMED_AT_EACH_END = 5


class RankingDisplay(Display):
    """Who stands where, best on top; each bar reaches 1.96 standard errors both ways.

    The frame has one row a name, which is its index. Beyond 60 rows, or on an axes too small
    for a name at each row, the vertical axis shows ranks and only both ends are named.
    """

    def __init__(self, frame: pd.DataFrame, *, estimate: str = "ability", se: str = "se") -> None:
        super().__init__(tidy(frame, type(self).__name__, (estimate, se)))
        self.estimate = estimate
        self.se = se
        self._ranked = self.frame[self.frame[estimate].notna()].sort_values(
            estimate, ascending=False, kind="stable"
        )
        if self._ranked.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: the column '{estimate}' "
                "holds no number."
            )

    def _size(self) -> tuple[float, float]:
        rows = len(self._ranked)
        return 6.8, max(1.6, 1.0 + 0.19 * rows) if rows <= MOST_NAMES else 7.0

    def _draw(self, ax: Axes, style: Style) -> None:
        value = self._ranked[self.estimate].to_numpy()
        reach = 1.96 * self._ranked[self.se].to_numpy()
        sure = np.isfinite(reach) & np.isfinite(value)
        unsure = ~np.isfinite(reach) & np.isfinite(value)
        limits = _limits(value, reach)
        _draw_rows(ax, style, value, reach, limits)

        ax.set_xlim(limits)
        pad = 0.6 + 0.01 * len(value)
        ax.set_ylim(len(value) + pad, 1 - pad)
        bar = f" (bar: ±1.96 {label(self.se)})" if sure.any() else ""
        ax.set_xlabel(f"{label(self.estimate)}{bar}")
        grid(style, ax, "x")
        self._name(ax, style)
        footnote(style, ax, self._notes(int(unsure.sum()), int(np.isinf(value).sum())))

    def _name(self, ax: Axes, style: Style) -> None:
        width = name_width(ax, style)
        names = [label(name, width) for name in self._ranked.index]
        fit = lines_that_fit(ax, style.font_size)
        if len(names) <= min(fit, MOST_NAMES):
            ax.set_yticks(range(1, len(names) + 1), names)
            return
        ax.set_yticks(_rank_ticks(len(names)))
        ax.set_ylabel("rank")
        ends = max(1, min(NAMED_AT_EACH_END, (fit - 1) // 2, len(names) // 2))
        numbered = [f"{rank}  {name}" for rank, name in enumerate(names, start=1)]
        for height, side, lines in (
            (1.0, "top", numbered[:ends]),
            (0.0, "bottom", numbered[-ends:]),
        ):
            ax.annotate(
                "\n".join(lines),
                xy=(1.02, height),
                xycoords="axes fraction",
                va=side,
                fontsize=style.font_size,
                color=style.ink,
                annotation_clip=False,
            )

    def _notes(self, unsure: int, infinite: int) -> list[str]:
        notes = []
        if unsure:
            notes.append(f"hollow: no finite standard error ({counted(unsure, 'row')})")
        if infinite:
            notes.append(f"arrow: infinite {label(self.estimate)} ({counted(infinite, 'row')})")
        if lost := len(self.frame) - len(self._ranked):
            notes.append(f"not shown: {counted(lost, 'row')} without {label(self.estimate)}")
        return notes


def _draw_rows(
    ax: Axes, style: Style, value: Floats, reach: Floats, limits: tuple[float, float]
) -> None:
    """A dot and a bar a row; hollow without a standard error, an arrow where infinite."""
    rank = np.arange(1, len(value) + 1)
    size, width = (22.0, 1.6) if len(value) <= MOST_NAMES else (5.0, 0.7)
    colour = style.positive
    finite, sure = np.isfinite(value), np.isfinite(value) & np.isfinite(reach)
    left, right = value[sure] - reach[sure], value[sure] + reach[sure]
    ax.hlines(rank[sure], left, right, color=colour, linewidth=width, alpha=0.45, zorder=2)
    for rows, fill in ((sure, colour), (finite & ~sure, style.paper)):
        ax.scatter(value[rows], rank[rows], s=size, facecolor=fill, edgecolor=colour, zorder=3)
    for marker, beyond, edge in zip("<>", (-np.inf, np.inf), limits, strict=True):
        rows = value == beyond
        edges = np.full(rows.sum(), edge)
        ax.scatter(
            edges, rank[rows], s=1.6 * size, marker=marker, color=colour, zorder=3, clip_on=False
        )


def _limits(value: Floats, reach: Floats) -> tuple[float, float]:
    """Limits that show every dot, and its bar unless a few enormous ones would squash the rest."""
    seen = np.isfinite(value)
    if not seen.any():
        return -1.0, 1.0
    value, reach = value[seen], np.where(np.isfinite(reach), reach, 0.0)[seen]
    shown = np.minimum(reach, max(np.ptp(value), 2.0 * np.median(reach)))
    low, high = float((value - shown).min()), float((value + shown).max())
    pad = 0.04 * (high - low) or max(1.0, 0.1 * abs(low))
    return low - pad, high + pad


def _rank_ticks(count: int) -> list[int]:
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(nbins=6, integer=True).tick_values(0, count)
    return [max(1, int(tick)) for tick in ticks if 0 <= tick <= count]

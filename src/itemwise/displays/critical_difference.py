"""Demsar's diagram: mean ranks on a line, and bars that join what cannot be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, label, lines_that_fit, name_width
from itemwise.errors import InputError
from itemwise.numerics.rankings import runs_within
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_NAMES = 60
COLUMNS = ("mean_rank", "critical_difference")


class CriticalDifferenceDisplay(Display):
    """Mean ranks, best on the left; a bar joins those closer than the critical difference.

    The frame has one row a respondent, which is its index: `mean_rank`, and in each row the same
    `critical_difference` (Demsar, 2006). At most 60 are named, those at both ends.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(tidy(frame, type(self).__name__, COLUMNS))
        finite = np.isfinite(self.frame[list(COLUMNS)].to_numpy()).all(axis=1)
        there = self.frame.loc[finite]
        if there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has a finite 'mean_rank' "
                "and 'critical_difference'."
            )
        self._ranked = there.sort_values("mean_rank", kind="stable")
        self._critical = float(self._ranked["critical_difference"].iloc[0])
        self._bars = _stacked(runs_within(self._ranked["mean_rank"].to_numpy(), self._critical))

    def _levels(self) -> int:
        return 1 + max((level for _, _, level in self._bars), default=-1)

    def _size(self) -> tuple[float, float]:
        names = min(len(self._ranked), MOST_NAMES)
        return 8.8, 1.85 + 0.19 * ((names + 1) // 2) + 0.1 * min(self._levels(), 20)

    def _draw(self, ax: Axes, style: Style) -> None:
        rank = self._ranked["mean_rank"].to_numpy()
        fit = max(1, lines_that_fit(ax, style.font_size) - 4)
        room = 2 * max(1, fit - min(self._levels(), 20) // 2)
        named = min(len(rank), MOST_NAMES, room)
        low, high = min(1.0, float(np.floor(rank[0]))), max(2.0, float(np.ceil(rank[-1])))
        pad = 0.02 * (high - low)
        top = 1.0 + 0.5 * min(self._levels(), 20)  # where names begin, below axis and bars
        rows = (named + 1) // 2
        ax.set_xlim(low - pad, high + pad)
        ax.set_ylim(top + rows + 0.2, -2.0)
        self._draw_axis(ax, style, low)
        self._draw_bars(ax, style, rank)
        self._draw_names(ax, style, rank, named, top)
        ax.set_xlabel("mean rank over items (1 is best)")
        footnote(style, ax, self._notes(named))

    def _draw_axis(self, ax: Axes, style: Style, low: float) -> None:
        """The scale, and above it the critical difference."""
        from matplotlib.ticker import MaxNLocator

        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        ax.spines["top"].set(visible=True, position=("data", 0.0), color=style.ink)
        ax.set_yticks([])
        ax.xaxis.set_ticks_position("top")
        ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
        ax.xaxis.set_label_position("bottom")
        reach = min(self._critical, ax.get_xlim()[1] - low)
        ax.plot([low, low + reach], [-1.7, -1.7], color=style.negative, linewidth=2.0, marker="|")
        ax.annotate(
            f"critical difference {self._critical:.2f}",
            xy=(low + reach, -1.7),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.small,
            color=style.negative,
            annotation_clip=False,
        )

    def _draw_bars(self, ax: Axes, style: Style, rank: Floats) -> None:
        side = 0.004 * float(np.ptp(ax.get_xlim()))
        for start, stop, level in self._bars:
            height = 0.6 + 0.5 * (level % 20)
            ends = rank[start] - side, rank[stop - 1] + side
            ax.hlines(height, *ends, color=style.ink, linewidth=3.2, zorder=4)

    def _draw_names(self, ax: Axes, style: Style, rank: Floats, named: int, top: float) -> None:
        """Names of the better half on the left, of the other on the right, joined by elbows."""
        left, right = (named + 1) // 2, named // 2
        width = name_width(ax, style)
        ends = ax.get_xlim()
        for place in [*range(left), *range(len(rank) - right, len(rank))]:
            on_left = place < left
            row = place if on_left else len(rank) - 1 - place
            height, edge = top + row + 0.4, ends[0 if on_left else 1]
            ax.plot(
                [rank[place], rank[place], edge],
                [0.0, height, height],
                color=style.positive if on_left else style.neutral,
                linewidth=0.9,
                zorder=2,
                clip_on=False,
            )
            name = label(self._ranked.index[place], width)
            ax.annotate(
                f"{name}  {rank[place]:.2f}" if on_left else f"{rank[place]:.2f}  {name}",
                xy=(edge, height),
                xytext=(-4 if on_left else 4, 0),
                textcoords="offset points",
                ha="right" if on_left else "left",
                va="center",
                fontsize=style.small,
                color=style.ink,
                annotation_clip=False,
            )

    def _notes(self, named: int) -> list[str]:
        notes = ["a bar joins respondents that cannot be told apart"] if self._bars else []
        if (hidden := len(self._ranked) - named) > 0:
            notes.append(f"not named: {counted(hidden, 'respondent')} in the middle")
        if lost := len(self.frame) - len(self._ranked):
            notes.append(f"not shown: {counted(lost, 'row')} without a mean rank")
        return notes


def _stacked(runs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Each slice with the first level on which it touches no other."""
    ends: list[int] = []
    placed = []
    for start, stop in runs:
        level = next((k for k, end in enumerate(ends) if end <= start), len(ends))
        ends[level : level + 1] = [stop]
        placed.append((start, stop, level))
    return placed

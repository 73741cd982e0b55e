"""Ranks over periods: a bump chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, label, lines_that_fit, name_width, spread
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_LINES = 40
MOST_DOTS = 25  # periods; beyond, dots would run together
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)))
COLUMNS = ("period", "rank")


class BumpDisplay(Display):
    """Ranks over the periods of a tournament, rank 1 on top; names stand at both ends.

    The frame has one row a `respondent` and `period`, with its `rank`; where there is an `item`,
    it names the period. Beyond 40 respondents, those with the best final ranks are drawn.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(tidy(frame, type(self).__name__, COLUMNS, ("respondent",)))
        finite = np.isfinite(self.frame[list(COLUMNS)].to_numpy()).all(axis=1)
        there = self.frame.loc[finite]
        if there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has a finite "
                "'period' and 'rank'."
            )
        doubled = there.duplicated(["respondent", "period"])
        if doubled.any():
            row = there[doubled].iloc[0]
            raise InputError(
                f"{type(self).__name__} was given {str(row['respondent'])[:60]!r} twice in period "
                f"{row['period']:g}. Give one row a respondent and period."
            )
        self._there = there
        self._ranks = there.pivot_table(
            index="respondent", columns="period", values="rank", sort=True, observed=True
        )
        last = self._ranks.ffill(axis=1).iloc[:, -1]
        self._ranks = self._ranks.loc[last.sort_values(kind="stable").index]

    def _size(self) -> tuple[float, float]:
        rows, periods = self._ranks.shape
        return min(15.5, max(7.2, 6.2 + 0.155 * periods)), max(2.6, 1.6 + 0.22 * self._drawn(rows))

    @staticmethod
    def _drawn(rows: int) -> int:
        return min(rows, MOST_LINES)

    def _draw(self, ax: Axes, style: Style) -> None:
        fit = max(1, lines_that_fit(ax, style.font_size))
        drawn = self._ranks.iloc[: min(self._drawn(len(self._ranks)), fit)]
        periods = drawn.columns.to_numpy()
        for place, (_, ranks) in enumerate(drawn.iterrows()):
            _draw_line(ax, style, place, periods, ranks.to_numpy())
        worst = float(np.nanmax(drawn.to_numpy()))
        ax.set_ylim(worst + 0.8, 0.2)
        pad = 0.01 * max(1.0, float(np.ptp(periods)))
        ax.set_xlim(periods[0] - pad, periods[-1] + pad)
        self._name_lines(ax, style, drawn, worst / fit)
        self._name_periods(ax, style, periods)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        ax.tick_params(length=0)
        footnote(style, ax, self._notes(len(drawn)))

    def _name_lines(self, ax: Axes, style: Style, drawn: pd.DataFrame, gap: float) -> None:
        """Names in the colour of their line, moved apart where ranks are shared."""
        width = name_width(ax, style)
        ends = ((0, drawn.bfill(axis=1).iloc[:, 0]), (1, drawn.ffill(axis=1).iloc[:, -1]))
        ax.set_yticks([])
        for side, ranks in ends:
            order = np.argsort(ranks.to_numpy(), kind="stable")
            heights = spread(ranks.to_numpy()[order], max(gap, 0.6), 0.5, ax.get_ylim()[0])
            for place, height in zip(order, heights, strict=True):
                name = label(drawn.index[place], width)
                text = f"{ranks.iloc[place]:.0f}  {name}" if side else name
                ax.annotate(
                    text,
                    xy=(side, height),
                    xycoords=("axes fraction", "data"),
                    xytext=(4 if side else -4, 0),
                    textcoords="offset points",
                    ha="left" if side else "right",
                    va="center",
                    fontsize=style.small,
                    color=_colour(style, int(place)),
                    annotation_clip=False,
                )

    def _name_periods(self, ax: Axes, style: Style, periods: np.ndarray) -> None:
        inches = ax.get_window_extent().width / ax.figure.dpi
        fits = len(periods) * 1.2 * style.small <= 72 * 0.7 * inches
        if "item" not in self._there.columns or not fits:
            from matplotlib.ticker import MaxNLocator

            ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
            ax.set_xlabel("period")
            return
        items = self._there.drop_duplicates("period").set_index("period")["item"]
        names = [label(items[period], 20) for period in periods]
        ax.set_xticks(periods, names, rotation=90, fontsize=style.small)
        ax.set_xlabel("item of each period, in the order of play")

    def _notes(self, drawn: int) -> list[str]:
        notes = []
        if (hidden := len(self._ranks) - drawn) > 0:
            notes.append(f"not shown: {counted(hidden, 'respondent')} of lower final rank")
        if lost := len(self.frame) - len(self._there):
            notes.append(f"not shown: {counted(lost, 'row')} without period or rank")
        return notes


def _draw_line(ax: Axes, style: Style, place: int, periods: np.ndarray, ranks: np.ndarray) -> None:
    """One respondent; colour and dashes together tell two dozen lines apart."""
    colour, there = _colour(style, place), np.isfinite(ranks)
    x, y = periods[there], ranks[there]
    # A thin rim of paper keeps crossing lines apart.
    ax.plot(x, y, color=style.paper, linewidth=3.6, solid_capstyle="round", zorder=2)
    dashes = DASHES[place // _colours(style) % len(DASHES)]
    ax.plot(x, y, color=colour, linewidth=1.8, linestyle=dashes, zorder=3)
    if len(periods) <= MOST_DOTS:
        ax.scatter(x, y, s=18, color=colour, edgecolor=style.paper, linewidth=0.6, zorder=4)


def _colours(style: Style) -> int:
    return max(1, len(style.palette))


def _colour(style: Style, place: int) -> str:
    return style.palette[place % _colours(style)]

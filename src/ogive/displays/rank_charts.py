"""Charts of ranks: over the periods of a tournament, and mean ranks with critical differences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ogive.displays.display import Display, not_shown, remark
from ogive.displays.highlight import MOST_COLOURS, colours_for, wanted
from ogive.displays.style import (
    Style,
    label,
    lines_that_fit,
    name_width,
    spread,
    write_off,
)
from ogive.errors import InputError
from ogive.numerics.rankings import runs_within

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

MOST_LINES = 40
MOST_DOTS = 25  # periods; with more, dots would run together
HIGHLIGHTED = 5
MOST_NAMES = 60
MOST_LEVELS = 20  # of bars that overlap


class BumpDisplay(Display):
    """Ranks over periods or orders, rank 1 on top; names are at both ends.

    The frame has one row per `respondent` and `period`, with its `rank`; if there is an `item`,
    it names the period. Beyond 40 respondents, those with the best final ranks are drawn.
    `highlight` names the respondents in colour; by default, all of up to eight, and of more the
    five with the best final ranks. The others are grey. `order` names respondents in the order of
    their colours, so that one has the same colour in two figures.
    """

    numbers = ("period", "rank")
    labels = ("respondent",)
    without = "period or rank"
    grid_lines = ""

    def __init__(
        self,
        frame: pd.DataFrame,
        highlight: Sequence[Hashable] | str | None = None,
        order: Sequence[Hashable] = (),
    ) -> None:
        super().__init__(frame)
        self._order = {name: k for k, name in enumerate(order)}
        names = list(self._ranks.index)
        given = wanted(self._owner, names, highlight)
        first = range(len(names) if len(names) <= MOST_COLOURS else HIGHLIGHTED)
        self._coloured = list(first) if given is None else given

    def _colour(self, style: Style, place: int) -> str | None:
        """Return the colour of the respondent at a place; None for grey."""
        if place not in self._coloured:
            return None
        colours = colours_for(style, whole=len(self._ranks) <= MOST_COLOURS)
        return colours[self._hues(len(colours))[place] % len(colours)]

    def _hues(self, count: int) -> dict[int, int]:
        """Return the number of the colour of each place: by the order, or by the final rank."""
        known = {place: self._order.get(self._ranks.index[place]) for place in self._coloured}
        if not self._order or None in known.values() or len(known) > count:
            return {place: k for k, place in enumerate(self._coloured)}
        found: dict[int, int] = {}
        for place in sorted(known, key=lambda one: known[one] or 0):
            wish = (known[place] or 0) % count
            free = (k % count for k in range(wish, wish + count) if k % count not in found.values())
            found[place] = next(free)
        return found

    def _prepare(self) -> None:
        doubled = self._rows.duplicated(["respondent", "period"])
        if doubled.any():
            row = self._rows[doubled].iloc[0]
            raise InputError(
                f"{self._owner} was given {str(row['respondent'])[:60]!r} twice in period "
                f"{row['period']:g}. Give one row per respondent and period."
            )
        ranks = self._rows.pivot_table(
            index="respondent", columns="period", values="rank", sort=True, observed=True
        )
        last = ranks.ffill(axis=1).iloc[:, -1]
        self._ranks = ranks.loc[last.sort_values(kind="stable").index]

    def _size(self) -> tuple[float, float]:
        rows, periods = self._ranks.shape
        height = max(2.6, 1.6 + 0.22 * min(rows, MOST_LINES))
        return min(15.5, max(7.2, 6.2 + 0.155 * periods)), height

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        fit = max(1, lines_that_fit(ax, style.font_size))
        drawn = self._ranks.iloc[: min(MOST_LINES, fit)]
        periods = drawn.columns.to_numpy()
        for place, (_, ranks) in enumerate(drawn.iterrows()):
            _draw_ranks(ax, style, self._colour(style, place), periods, ranks.to_numpy())
        worst = float(np.nanmax(drawn.to_numpy()))
        ax.set_ylim(worst + 0.8, 0.2)
        pad = 0.01 * max(1.0, float(np.ptp(periods)))
        ax.set_xlim(periods[0] - pad, periods[-1] + pad)
        self._name_lines(ax, style, drawn, worst / fit)
        self._name_periods(ax, style, periods)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        ax.tick_params(length=0)
        grey = sum(place not in self._coloured for place in range(len(drawn)))
        return [
            *remark("grey: {}", grey, "other model"),
            *not_shown(len(self._ranks) - len(drawn), "respondent", "of lower final rank"),
        ]

    def _name_lines(self, ax: Axes, style: Style, drawn: pd.DataFrame, gap: float) -> None:
        """Write names in the colour of their line, moved apart where ranks are shared."""
        width = name_width(ax, style)
        ends = ((0, drawn.bfill(axis=1).iloc[:, 0]), (1, drawn.ffill(axis=1).iloc[:, -1]))
        ax.set_yticks([])
        for side, ranks in ends:
            order = np.argsort(ranks.to_numpy(), kind="stable")
            heights = spread(ranks.to_numpy()[order], max(gap, 0.6), 0.5, ax.get_ylim()[0])
            for place, height in zip(order, heights, strict=True):
                name = label(drawn.index[place], width)
                text = f"{ranks.iloc[place]:.0f}  {name}" if side else name
                look = {"xycoords": ("axes fraction", "data"), "ha": "left" if side else "right"}
                colour = self._colour(style, int(place)) or style.neutral
                off = (4 if side else -4, 0)
                write_off(style, ax, text, (side, height), off, color=colour, **look)

    def _name_periods(self, ax: Axes, style: Style, periods: Floats) -> None:
        inches = ax.get_window_extent().width / ax.figure.dpi
        fits = len(periods) * 1.2 * style.small <= 72 * 0.7 * inches
        if "item" not in self._rows.columns or not fits:
            from matplotlib.ticker import MaxNLocator

            ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
            ax.set_xlabel("period")
            return
        items = self._rows.drop_duplicates("period").set_index("period")["item"]
        names = [label(items[period], 20) for period in periods]
        ax.set_xticks(periods, names, rotation=90, fontsize=style.small)
        ax.set_xlabel("each period, in the order of play")


def _draw_ranks(ax: Axes, style: Style, colour: str | None, periods: Floats, ranks: Floats) -> None:
    """Draw one respondent, thin and grey without a colour."""
    there = np.isfinite(ranks)
    x, y = periods[there], ranks[there]
    if colour is None:
        ax.plot(x, y, color=style.neutral, linewidth=0.9, alpha=0.5, zorder=1)
        return
    # A thin rim in the colour of the paper keeps crossing lines apart.
    ax.plot(x, y, color=style.paper, linewidth=3.6, solid_capstyle="round", zorder=2)
    ax.plot(x, y, color=colour, linewidth=2.0, zorder=3)
    if len(periods) <= MOST_DOTS:
        ax.scatter(x, y, s=18, color=colour, edgecolor=style.paper, linewidth=0.6, zorder=4)


class CriticalDifferenceDisplay(Display):
    """Mean ranks, best on the left; a bar joins those closer than the critical difference.

    The frame has one row per respondent, which is its index: `mean_rank`, and in each row the same
    `critical_difference` (Demsar, 2006). At most 60 are named, those at both ends.
    """

    numbers = ("mean_rank", "critical_difference")
    without = "a mean rank"
    x_label, grid_lines = "mean rank (1 is best)", ""

    def _prepare(self) -> None:
        self._rows = self._rows.sort_values("mean_rank", kind="stable")
        self._ranks = self._rows["mean_rank"].to_numpy()
        self._critical = float(self._rows["critical_difference"].iloc[0])
        self._bars = _stacked(runs_within(self._ranks, self._critical))
        self._levels = min(1 + max((bar[2] for bar in self._bars), default=-1), MOST_LEVELS)

    def _size(self) -> tuple[float, float]:
        names = min(len(self._rows), MOST_NAMES)
        return 8.8, 1.85 + 0.19 * ((names + 1) // 2) + 0.1 * self._levels

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        ranks = self._ranks
        fit = max(1, lines_that_fit(ax, style.font_size) - 4)
        named = min(len(ranks), MOST_NAMES, 2 * max(1, fit - self._levels // 2))
        low, high = min(1.0, float(np.floor(ranks[0]))), max(2.0, float(np.ceil(ranks[-1])))
        pad = 0.02 * (high - low)
        top = 1.0 + 0.5 * self._levels  # where names begin, below axis and bars
        ax.set_xlim(low - pad, high + pad)
        ax.set_ylim(top + (named + 1) // 2 + 0.2, -2.0)
        self._draw_axis(ax, style, low)
        side = 0.004 * float(np.ptp(ax.get_xlim()))
        for start, stop, level in self._bars:
            ends = ranks[start] - side, ranks[stop - 1] + side
            height = 0.6 + 0.5 * (level % MOST_LEVELS)
            ax.hlines(height, *ends, color=style.ink, linewidth=3.2, zorder=4)
        self._draw_names(ax, style, named, top)
        joined = "a bar joins respondents that cannot be distinguished"
        blue = "blue: the first, and those that cannot be distinguished from it"
        return [
            *([joined] if self._bars else []),
            blue,
            *remark("not named: {} in the middle", len(ranks) - named, "respondent"),
        ]

    def _draw_axis(self, ax: Axes, style: Style, low: float) -> None:
        """Draw the scale, and above it the critical difference."""
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
        text, end = f"critical difference {self._critical:.2f}", (low + reach, -1.7)
        write_off(style, ax, text, end, (6, 0), color=style.negative)

    def _draw_names(self, ax: Axes, style: Style, named: int, top: float) -> None:
        """Write the better half on the left, the other on the right, each with a line to it.

        Lines are blue where the rank cannot be distinguished from the first.
        """
        ranks, width, ends = self._ranks, name_width(ax, style), ax.get_xlim()
        left, right = (named + 1) // 2, named // 2
        for place in [*range(left), *range(len(ranks) - right, len(ranks))]:
            on_left = place < left
            row = place if on_left else len(ranks) - 1 - place
            height, edge = top + row + 0.4, ends[0 if on_left else 1]
            level = ranks[place] - ranks[0] < self._critical
            colour = style.positive if level else style.neutral
            elbow = [ranks[place], ranks[place], edge], [0.0, height, height]
            ax.plot(*elbow, color=colour, linewidth=0.9, zorder=2, clip_on=False)
            name = label(self._rows.index[place], width)
            text = f"{name}  {ranks[place]:.2f}" if on_left else f"{ranks[place]:.2f}  {name}"
            off, side = ((-4, 0), "right") if on_left else ((4, 0), "left")
            write_off(style, ax, text, (edge, height), off, ha=side)


def _stacked(runs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return each slice with the first level on which it touches no other."""
    ends: list[int] = []
    placed = []
    for start, stop in runs:
        level = next((k for k, end in enumerate(ends) if end <= start), len(ends))
        ends[level : level + 1] = [stop]
        placed.append((start, stop, level))
    return placed

"""Performance, Bump, CriticalDifference.

Curves of algorithms and methods with bands, the best of them highlighted.

Charts of ranks: over the periods of a tournament, and mean ranks with critical differences.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._validation import checked_share
from ogive.errors import InputError
from ogive.results.plots.figure import Display, not_shown, remark, tidy
from ogive.results.plots.marks import (
    MOST_COLOURS,
    Look,
    colours_for,
    draw_curve,
    draw_rest,
    legend_handles,
    lines_by_name,
    looks,
    padded,
    robust_limits,
    wanted,
)
from ogive.results.plots.theme import (
    DASHED,
    MOST_SHAPES,
    Style,
    in_words,
    label,
    legend_beside,
    legend_handle,
    lines_that_fit,
    name_points,
    name_width,
    spread,
    write_off,
)
from ogive.stats.metrics import runs_within

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.stats.array_backend import Floats


WIDENED = 0.5  # of the range of the curves, at each end, for bands and points
PLACES = 201  # along the difficulty, at which curves are compared
MOST_BANDS = 4  # more bands would hide each other
MOST_IDLE = 3  # methods that accept nothing and are named; further ones are counted
NARROWEST = 0.02  # range of accuracy, so that noise of equal methods does not fill the figure


class _HighlightedCurves(Display):
    """One curve with a band per name; those that are not highlighted are thin and grey."""

    def _prepare(self) -> None:
        self._names, self._curves = lines_by_name(self._rows, self.labels[0], self.numbers)

    def _draw_others(self, ax: Axes, style: Style, chosen: list[Look]) -> int:
        """Draw the curves that are not chosen; return how many."""
        coloured = {look.place for look in chosen}
        others = [curve[:, :2] for k, curve in enumerate(self._curves) if k not in coloured]
        draw_rest(ax, style, others)
        return len(others)


class PerformanceCurvesDisplay(_HighlightedCurves):
    """Performance of each algorithm, from easy problems to hard ones; higher is better.

    The frame has one row per `algorithm` and `difficulty`: the `performance` there, and its band
    from `low` to `high`, which may be NaN. `highlight` names the algorithms in colour, with band
    and name. By default, these are all of up to eight; of more, the seven that are best over the
    longest part of the difficulty axis, then by mean. The others are grey. `points` is a
    frame of single runs, `algorithm`, `difficulty` and `performance`, drawn for the same ones.
    `height` is the label of the performance.
    """

    numbers = ("difficulty", "performance", "low", "high")
    labels = ("algorithm",)
    needed = ("difficulty", "performance")
    x_label = "difficulty of the problem"

    def __init__(
        self,
        frame: pd.DataFrame,
        points: pd.DataFrame | None = None,
        highlight: Sequence[Hashable] | str | None = None,
        height: str = "performance",
    ) -> None:
        super().__init__(frame)
        self._given = wanted(self._owner, self._names, highlight)
        self._ranked = _best_first(self._curves)
        self.height, self.y_label = height, in_words(height)
        self.points = points
        if points is not None:
            self.points = tidy(
                points, f"{self._owner}, for its points,", self.numbers[:2], self.labels
            )

    @property
    def order(self) -> list[Hashable]:
        """All algorithms in the order of their colours: the best first."""
        return [self._names[place] for place in self._ranked]

    def _size(self) -> tuple[float, float]:
        return 8.2, max(4.6, 1.4 + 0.17 * len(self._given or ()))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        chosen = looks(style, self._ranked, self._given)
        others = self._draw_others(ax, style, chosen)
        for look in reversed(chosen):  # the best on top
            draw_curve(ax, look, self._curves[look.place], 1.9)
            self._draw_points(ax, look)
        every = np.concatenate([curve[:, 0] for curve in self._curves])
        ax.set_xlim(padded((float(every.min()), float(every.max())), 0.02))
        ax.set_ylim(self._limits(chosen))
        named = chosen[: max(1, lines_that_fit(ax, style.small))]
        ends = np.array([self._curves[look.place][-1, :2] for look in named])
        names = [self._names[look.place] for look in named]
        name_points(style, ax, names, ends, [look.colour for look in named])
        banded = any(np.isfinite(self._curves[look.place][:, 2:]).any() for look in chosen)
        return [
            *(["band: uncertainty of the curve"] if banded else []),
            *remark("grey: {}", others, "other algorithm"),
            *remark("no room for the name: {}", len(chosen) - len(named), "algorithm"),
        ]

    def _own_points(self, look: Look) -> Floats:
        """Return the points of a highlighted algorithm (n_points, 2)."""
        if self.points is None:
            return np.empty((0, 2))
        own = self.points["algorithm"] == self._names[look.place]
        return self.points.loc[own, list(self.numbers[:2])].to_numpy()

    def _draw_points(self, ax: Axes, look: Look) -> None:
        points = self._own_points(look)
        if not len(points):
            return
        alpha = float(np.clip(6.0 / np.sqrt(len(points)), 0.15, 0.6))
        dots: dict[str, Any] = {"s": 8, "color": look.colour, "alpha": alpha, "linewidths": 0}
        ax.scatter(*points.T, rasterized=len(points) > MOST_SHAPES, zorder=3, **dots)

    def _limits(self, chosen: list[Look]) -> tuple[float, float]:
        """Return limits for all curves; bands and points may widen them, but not by much."""
        curves = np.concatenate([curve[:, 1] for curve in self._curves])
        low, high = float(curves.min()), float(curves.max())
        if low == high:
            low, high = low - 0.1 * (abs(low) or 1.0), high + 0.1 * (abs(high) or 1.0)
        bands = [self._curves[look.place][:, 2:].ravel() for look in chosen]
        more = np.concatenate([*bands, *(self._own_points(look)[:, 1] for look in chosen)])
        if not np.isfinite(more).any():
            return padded((low, high))
        reach = WIDENED * (high - low)
        ends = np.clip(robust_limits(more), low - reach, high + reach)
        return padded((min(low, float(ends[0])), max(high, float(ends[1]))))


def _best_first(curves: list[Floats]) -> list[int]:
    """Rank the curves: those on top over the longest part of the axis first, then by mean."""
    every = np.concatenate([curve[:, 0] for curve in curves])
    at = np.linspace(every.min(), every.max(), PLACES)
    heights = np.array(
        [np.interp(at, curve[:, 0], curve[:, 1], left=-np.inf, right=-np.inf) for curve in curves]
    )
    on_top = (np.isfinite(heights) & (heights == heights.max(axis=0))).mean(axis=1)
    means = np.array([curve[:, 1].mean() for curve in curves])
    return [int(place) for place in np.lexsort((-means, -on_top))]


class RiskCoverageDisplay(_HighlightedCurves):
    """Accuracy on accepted cases against the share of cases accepted; higher is better.

    The frame has one row per `method` and `coverage`: the `accuracy` there and its interval from
    `low` to `high`, which may be NaN. `target` is the required accuracy, a dashed line. `points`
    marks the chosen threshold of each method: a frame of `method`, `coverage` and `accuracy`, and
    if known `low` and `high`. Up to eight methods have a colour; of more, the seven with the
    highest mean accuracy.
    """

    numbers = ("coverage", "accuracy", "low", "high")
    labels = ("method",)
    needed = ("coverage", "accuracy")
    inches = (7.8, 4.4)
    x_label = "coverage: share of cases that the model decides"
    y_label = "accuracy on these cases"

    def __init__(
        self,
        frame: pd.DataFrame,
        target: float | None = None,
        points: pd.DataFrame | None = None,
    ) -> None:
        super().__init__(frame)
        self.target = None if target is None else checked_share(target, "target", 0.97)
        means = np.array([curve[:, 1].mean() for curve in self._curves])
        self._ranked = [int(place) for place in np.argsort(-means, kind="stable")]
        self._marks, self._idle = self._operating(points)

    def _operating(
        self, points: pd.DataFrame | None
    ) -> tuple[dict[Hashable, Floats], list[Hashable]]:
        """Return coverage, accuracy and interval at each chosen threshold (n_points, 4) by method.

        Also return the methods whose threshold accepts nothing, so that there is no accuracy.
        """
        if points is None:
            return {}, []
        ends = [name for name in ("low", "high") if name in getattr(points, "columns", ())]
        owner, curve = self._owner, list(self.numbers[:2])
        rows = tidy(points, f"{owner}, for its points,", (*curve, *ends), self.labels)
        rows = rows.assign(**{name: np.nan for name in ("low", "high") if name not in ends})
        idle = list(dict.fromkeys(rows.loc[rows["coverage"] == 0, "method"]))
        rows = rows[np.isfinite(rows[curve].to_numpy()).all(axis=1)]
        if unknown := [name for name in rows["method"] if name not in self._names]:
            there = ", ".join(repr(label(name)) for name in self._names[:12])
            raise InputError(
                f"{owner} was given a point of {label(unknown[0])!r}, a method without a curve. "
                f"The frame has: {there}."
            )
        found, numbers = lines_by_name(rows, "method", self.numbers)
        return dict(zip(found, numbers, strict=False)), idle

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.ticker import PercentFormatter

        chosen = looks(style, self._ranked, None)
        banded = len(chosen) <= MOST_BANDS
        others = self._draw_others(ax, style, chosen)
        for look in reversed(chosen):  # the best on top
            draw_curve(ax, look, self._curves[look.place], 1.8, banded=banded)
            self._draw_marks(ax, style, look)
        if self.target is not None:
            ax.axhline(self.target, color=style.ink, linewidth=1.1, linestyle=DASHED, zorder=3)
        every = np.concatenate([curve[:, 0] for curve in self._curves])
        ax.set_xlim(padded((min(0.0, float(every.min())), max(1.0, float(every.max()))), 0.02))
        ax.set_ylim(self._limits(chosen))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        legend_beside(style, ax, *self._legend(ax, style, chosen))
        return self._notes(others, banded=banded)

    def _draw_marks(self, ax: Axes, style: Style, look: Look) -> None:
        """Draw the chosen thresholds of a method, with their intervals."""
        marks = self._marks.get(self._names[look.place])
        if marks is not None:
            x, y, low, high = marks.T
            ax.vlines(x, low, high, color=look.colour, linewidth=1.4, zorder=5)
            rim: dict[str, Any] = {"s": 46, "edgecolor": style.paper, "linewidth": 0.9}
            ax.scatter(x, y, marker="D", color=look.colour, zorder=6, **rim)

    def _limits(self, chosen: list[Look]) -> tuple[float, float]:
        """Return limits for curves, marks and target; bands may widen them, but not by much."""
        marks = [marks[:, 1] for marks in self._marks.values()]
        asked = [] if self.target is None else [np.array([self.target])]
        values = np.concatenate([*(curve[:, 1] for curve in self._curves), *marks, *asked])
        low, high = float(values.min()), float(values.max())
        reach = WIDENED * max(high - low, NARROWEST)  # bands explode where few cases are accepted
        bands = np.concatenate([self._curves[look.place][:, 2:].ravel() for look in chosen])
        bands = np.append(bands, [low, high])
        ends = np.clip(bands[np.isfinite(bands)], low - reach, high + reach)
        low, high = float(ends.min()), float(ends.max())
        if high - low < NARROWEST:
            low, high = low - NARROWEST / 2, high + NARROWEST / 2
        return padded((low, high), 0.05)

    def _legend(self, ax: Axes, style: Style, chosen: list[Look]) -> tuple[list[Artist], list[str]]:
        handles = legend_handles(chosen)
        width = min(28, name_width(ax, style))
        texts = [label(self._names[look.place], width) for look in chosen]
        if self.target is not None:
            handles.append(legend_handle(color=style.ink, linewidth=1.1, linestyle=DASHED))
            texts.append(f"required: {100 * self.target:g} %")
        if self._marks:
            handles.append(legend_handle(color=style.ink, marker="D", linestyle="", markersize=6))
            texts.append("chosen threshold")
        return handles, texts

    def _notes(self, others: int, *, banded: bool) -> list[str]:
        notes = []
        intervals = np.concatenate([curve[:, 2:] for curve in self._curves])
        if banded and np.isfinite(intervals).any():
            notes.append("band and bar: interval of the accuracy")
        notes += remark("grey: {} of lower mean accuracy", others, "method")
        if self._idle:
            names = ", ".join(label(name, 28) for name in self._idle[:MOST_IDLE])
            more = len(self._idle) - MOST_IDLE
            notes.append(f"accepts no case: {names}{f' and {more} more' if more > 0 else ''}")
        return notes


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

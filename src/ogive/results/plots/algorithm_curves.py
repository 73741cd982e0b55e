"""Curves of algorithms and methods with bands, and charts of their ranks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ogive._validation import checked_share
from ogive.results.plots.figure import Display, not_shown, remark, tidy
from ogive.results.plots.marks import (
    MOST_COLOURS,
    Look,
    colours_for,
    draw_curve,
    draw_rest,
    ends_of,
    highlighted,
    legend_entries,
    lines_by_name,
    looks,
    padded,
    robust_limits,
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
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import runs_within

WIDENED = 0.5  # of the range of the curves, at each end, for bands and points
GRID_POINTS = 201  # difficulties at which curves are compared
MOST_BANDS = 4  # more bands would hide each other
MOST_IDLE = 3  # methods that accept nothing and are named; further ones are counted
NARROWEST = 0.02  # range of accuracy, so that noise of equal methods does not fill the figure
MOST_LINES = 40  # respondents in a chart of ranks
MOST_DOTS = 25  # periods; with more, dots would run together
HIGHLIGHTED = 5  # respondents with a colour, of more than eight
MOST_NAMES = 60  # respondents with a name beside mean ranks
MOST_LEVELS = 20  # bars above each other


class _HighlightedCurves(Display):
    """One curve with a band per name; those that are not highlighted are thin and grey."""

    def _prepare(self) -> None:
        self._names, self._curves = lines_by_name(self._rows, self.labels[0], self.numbers)
        self._across = ends_of(np.concatenate([curve[:, 0] for curve in self._curves]))
        self._means = np.array([curve[:, 1].mean() for curve in self._curves])

    def _draw_others(self, ax: Axes, style: Style, chosen: list[Look]) -> int:
        """Draw the curves that are not chosen; return how many."""
        coloured = {look.index for look in chosen}
        others = [curve[:, :2] for k, curve in enumerate(self._curves) if k not in coloured]
        draw_rest(ax, style, others)
        return len(others)

    def _bands(self, chosen: list[Look]) -> list[Floats]:
        return [self._curves[look.index][:, 2:].ravel() for look in chosen]


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
        self._given = highlighted(self._owner, self._names, highlight)
        self.height, self.y_label = height, in_words(height)
        self.points = points
        if points is not None:
            owner = f"{self._owner}, for its points,"
            self.points = tidy(points, owner, self.numbers[:2], self.labels)

    def _prepare(self) -> None:
        super()._prepare()
        grid = np.linspace(*self._across, GRID_POINTS)
        outside = {"left": -np.inf, "right": -np.inf}
        heights = np.array([np.interp(grid, *curve[:, :2].T, **outside) for curve in self._curves])
        on_top = (np.isfinite(heights) & (heights == heights.max(axis=0))).mean(axis=1)
        self._ranked = np.lexsort((-self._means, -on_top)).tolist()

    @property
    def order(self) -> list[Hashable]:
        """All algorithms in the order of their colours: the best first."""
        return [self._names[k] for k in self._ranked]

    def _size(self) -> tuple[float, float]:
        return 8.2, max(4.6, 1.4 + 0.17 * len(self._given or ()))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        chosen = looks(style, self._ranked, self._given)
        others = self._draw_others(ax, style, chosen)
        for look in reversed(chosen):  # the best on top
            draw_curve(ax, look, self._curves[look.index], 1.9)
            points = self._points_of(look)
            if len(points):
                alpha = float(np.clip(6.0 / np.sqrt(len(points)), 0.15, 0.6))
                dots: dict[str, Any] = {"color": look.colour, "alpha": alpha, "linewidths": 0}
                dots |= {"s": 8, "zorder": 3, "rasterized": len(points) > MOST_SHAPES}
                ax.scatter(*points.T, **dots)
        ax.set_xlim(padded(self._across, 0.02))
        ax.set_ylim(self._limits(chosen))
        named = chosen[: max(1, lines_that_fit(ax, style.small))]
        ends = np.array([self._curves[look.index][-1, :2] for look in named])
        names = [self._names[look.index] for look in named]
        name_points(style, ax, names, ends, [look.colour for look in named])
        banded = any(np.isfinite(band).any() for band in self._bands(chosen))
        return [
            *(["band: uncertainty of the curve"] if banded else []),
            *remark("grey: {}", others, "other algorithm"),
            *remark("no room for the name: {}", len(chosen) - len(named), "algorithm"),
        ]

    def _points_of(self, look: Look) -> Floats:
        """Return the points of a highlighted algorithm (n_points, 2)."""
        if self.points is None:
            return np.empty((0, 2))
        own = self.points["algorithm"] == self._names[look.index]
        return self.points.loc[own, list(self.numbers[:2])].to_numpy()

    def _limits(self, chosen: list[Look]) -> tuple[float, float]:
        """Return limits for all curves; bands and points may widen them, but not by much."""
        low, high = ends_of(np.concatenate([curve[:, 1] for curve in self._curves]))
        if low == high:
            low, high = low - 0.1 * (abs(low) or 1.0), high + 0.1 * (abs(high) or 1.0)
        points = [self._points_of(look)[:, 1] for look in chosen]
        more = np.concatenate([*self._bands(chosen), *points])
        if not np.isfinite(more).any():
            return padded((low, high))
        room = WIDENED * (high - low)
        ends = np.clip(robust_limits(more), low - room, high + room)
        return padded((min(low, float(ends[0])), max(high, float(ends[1]))))


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
        self._ranked = np.argsort(-self._means, kind="stable").tolist()
        self._thresholds: dict[Hashable, Floats] = {}  # coverage, accuracy and interval, by method
        self._idle: list[
            Hashable
        ] = []  # methods that accept nothing, so that they have no accuracy
        if points is not None:
            ends = [name for name in ("low", "high") if name in getattr(points, "columns", ())]
            owner, curve = f"{self._owner}, for its points,", list(self.numbers[:2])
            rows = tidy(points, owner, (*curve, *ends), self.labels)
            rows = rows.assign(**{name: np.nan for name in ("low", "high") if name not in ends})
            self._idle = list(dict.fromkeys(rows.loc[rows["coverage"] == 0, "method"]))
            rows = rows[np.isfinite(rows[curve].to_numpy()).all(axis=1)]
            self._thresholds = dict(zip(*lines_by_name(rows, "method", self.numbers), strict=False))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        chosen = looks(style, self._ranked, None)
        banded = len(chosen) <= MOST_BANDS
        others = self._draw_others(ax, style, chosen)
        for look in reversed(chosen):  # the best on top
            draw_curve(ax, look, self._curves[look.index], 1.8, banded=banded)
            points = self._thresholds.get(self._names[look.index])
            if points is not None:
                x, y, low, high = points.T
                ax.vlines(x, low, high, color=look.colour, linewidth=1.4, zorder=5)
                rim: dict[str, Any] = {"s": 46, "edgecolor": style.paper, "linewidth": 0.9}
                ax.scatter(x, y, marker="D", color=look.colour, zorder=6, **rim)
        width = name_width(ax, style, 28)
        entries = legend_entries(chosen, [label(self._names[look.index], width) for look in chosen])
        if self.target is not None:
            dashed: dict[str, Any] = {"color": style.ink, "linewidth": 1.1, "linestyle": DASHED}
            ax.axhline(self.target, zorder=3, **dashed)
            entries.append((legend_handle(**dashed), f"required: {100 * self.target:g} %"))
        if self._thresholds:
            diamond = legend_handle(color=style.ink, marker="D", linestyle="", markersize=6)
            entries.append((diamond, "chosen threshold"))
        ax.set_xlim(padded((min(0.0, self._across[0]), max(1.0, self._across[1])), 0.02))
        ax.set_ylim(self._limits(chosen))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        legend_beside(style, ax, entries)
        notes = []
        if banded and any(np.isfinite(curve[:, 2:]).any() for curve in self._curves):
            notes.append("band and bar: interval of the accuracy")
        notes += remark("grey: {} of lower mean accuracy", others, "method")
        if self._idle:
            names = ", ".join(label(name, 28) for name in self._idle[:MOST_IDLE])
            more = len(self._idle) - MOST_IDLE
            notes.append(f"accepts no case: {names}{f' and {more} more' if more > 0 else ''}")
        return notes

    def _limits(self, chosen: list[Look]) -> tuple[float, float]:
        """Return limits for curves, thresholds and target, a little wider for bands."""
        thresholds = [points[:, 1] for points in self._thresholds.values()]
        target = [] if self.target is None else [np.array([self.target])]
        curves = [curve[:, 1] for curve in self._curves]
        low, high = ends_of(np.concatenate([*curves, *thresholds, *target]))
        room = WIDENED * max(high - low, NARROWEST)  # bands explode if few cases are accepted
        bands = np.append(np.concatenate(self._bands(chosen)), [low, high])
        low, high = ends_of(np.clip(bands[np.isfinite(bands)], low - room, high + room))
        if high - low < NARROWEST:
            low, high = low - NARROWEST / 2, high + NARROWEST / 2
        return padded((low, high), 0.05)


class BumpDisplay(Display):
    """Ranks over periods or orders, rank 1 on top; names are at both ends.

    The frame has one row per `respondent` and `period`, with its `rank`; if there is an `item`,
    it names the period. Beyond 40 respondents, those with the best final ranks are drawn. All of up
    to eight have a colour, and of more the five with the best final ranks; the others are grey.
    `order` names respondents in the order of their colours, so that one has the same colour in two
    figures.
    """

    numbers = ("period", "rank")
    labels = ("respondent",)
    without = "period or rank"
    grid_lines = ""

    def __init__(self, frame: pd.DataFrame, order: Sequence[Hashable] = ()) -> None:
        super().__init__(frame)
        self._order = {name: k for k, name in enumerate(order)}
        names = len(self._ranks)
        self._n_coloured = names if names <= MOST_COLOURS else HIGHLIGHTED

    def _colours(self, style: Style) -> dict[int, str]:
        """Return the colours of the best, by their final rank or, if known for all, by `order`."""
        colours = colours_for(style, whole=len(self._ranks) <= MOST_COLOURS)
        n = len(colours)
        known = {k: self._order.get(self._ranks.index[k]) for k in range(self._n_coloured)}
        if not self._order or None in known.values() or len(known) > n:
            return {k: colours[k % n] for k in known}
        taken: dict[int, int] = {}
        for k in sorted(known, key=lambda k: known[k] or 0):
            first = (known[k] or 0) % n
            free = (j % n for j in range(first, first + n) if j % n not in taken.values())
            taken[k] = next(free)
        return {k: colours[j] for k, j in taken.items()}

    def _prepare(self) -> None:
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
        drawn, colours = self._ranks.iloc[: min(MOST_LINES, fit)], self._colours(style)
        periods = drawn.columns.to_numpy()
        for k, ranks in enumerate(drawn.to_numpy()):
            known = np.isfinite(ranks)
            x, y = periods[known], ranks[known]
            if k not in colours:
                ax.plot(x, y, color=style.neutral, linewidth=0.9, alpha=0.5, zorder=1)
                continue
            # A thin rim in the colour of the paper keeps crossing lines apart.
            ax.plot(x, y, color=style.paper, linewidth=3.6, solid_capstyle="round", zorder=2)
            ax.plot(x, y, color=colours[k], linewidth=2.0, zorder=3)
            if len(periods) <= MOST_DOTS:
                rim: dict[str, Any] = {"edgecolor": style.paper, "linewidth": 0.6}
                ax.scatter(x, y, s=18, color=colours[k], zorder=4, **rim)
        worst = float(np.nanmax(drawn.to_numpy()))
        ax.set_ylim(worst + 0.8, 0.2)
        pad = 0.01 * max(1.0, float(np.ptp(periods)))
        ax.set_xlim(periods[0] - pad, periods[-1] + pad)
        self._name_lines(ax, style, drawn, colours, worst / fit)
        self._name_periods(ax, style, periods)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        ax.tick_params(length=0)
        return [
            *remark("grey: {}", sum(k not in colours for k in range(len(drawn))), "other model"),
            *not_shown(len(self._ranks) - len(drawn), "respondent", "of lower final rank"),
        ]

    def _name_lines(
        self, ax: Axes, style: Style, drawn: pd.DataFrame, colours: dict[int, str], gap: float
    ) -> None:
        """Write names in the colour of their line, moved apart if ranks are shared."""
        width = name_width(ax, style)
        ends = ((0, drawn.bfill(axis=1).iloc[:, 0]), (1, drawn.ffill(axis=1).iloc[:, -1]))
        ax.set_yticks([])
        for side, ranks in ends:
            order = np.argsort(ranks.to_numpy(), kind="stable")
            heights = spread(ranks.to_numpy()[order], max(gap, 0.6), 0.5, ax.get_ylim()[0])
            for k, height in zip(order.tolist(), heights, strict=True):
                name = label(drawn.index[k], width)
                text = f"{ranks.iloc[k]:.0f}  {name}" if side else name
                look = {"xycoords": ("axes fraction", "data"), "ha": "left" if side else "right"}
                colour = colours.get(k, style.neutral)
                off = (4 if side else -4, 0)
                write_off(style, ax, text, (side, height), off, color=colour, **look)

    def _name_periods(self, ax: Axes, style: Style, periods: Floats) -> None:
        inches = ax.get_window_extent().width / ax.figure.dpi
        fits = len(periods) * 1.2 * style.small <= 72 * 0.7 * inches
        if "item" not in self._rows.columns or not fits:
            ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
            ax.set_xlabel("period")
            return
        items = self._rows.drop_duplicates("period").set_index("period")["item"]
        names = [label(items[period], 20) for period in periods]
        ax.set_xticks(periods, names, rotation=90, fontsize=style.small)
        ax.set_xlabel("each period, in the order of play")


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
        self._bars: list[tuple[int, int, int]] = []  # first, end and level of each bar
        ends: list[int] = []  # the end of the last bar on each level
        for start, stop in runs_within(self._ranks, self._critical):
            level = next((k for k, end in enumerate(ends) if end <= start), len(ends))
            ends[level : level + 1] = [stop]
            self._bars.append((start, stop, level))
        self._levels = min(len(ends), MOST_LEVELS)

    def _size(self) -> tuple[float, float]:
        names = min(len(self._rows), MOST_NAMES)
        return 8.8, 1.85 + 0.19 * ((names + 1) // 2) + 0.1 * self._levels

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        ranks = self._ranks
        fit = max(1, lines_that_fit(ax, style.font_size) - 4)
        named = min(len(ranks), MOST_NAMES, 2 * max(1, fit - self._levels // 2))
        low, high = min(1.0, float(np.floor(ranks[0]))), max(2.0, float(np.ceil(ranks[-1])))
        pad = 0.02 * (high - low)
        top = 1.0 + 0.5 * self._levels  # height of the first names, below axis and bars
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
        return [
            *([joined] if self._bars else []),
            "blue: the first, and those that cannot be distinguished from it",
            *remark("not named: {} in the middle", len(ranks) - named, "respondent"),
        ]

    def _draw_axis(self, ax: Axes, style: Style, low: float) -> None:
        """Draw the scale, and above it the critical difference."""
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        ax.spines["top"].set(visible=True, position=("data", 0.0), color=style.ink)
        ax.set_yticks([])
        ax.xaxis.set_ticks_position("top")
        ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
        ax.xaxis.set_label_position("bottom")
        end = low + min(self._critical, ax.get_xlim()[1] - low)
        ax.plot([low, end], [-1.7, -1.7], color=style.negative, linewidth=2.0, marker="|")
        text = f"critical difference {self._critical:.2f}"
        write_off(style, ax, text, (end, -1.7), (6, 0), color=style.negative)

    def _draw_names(self, ax: Axes, style: Style, named: int, top: float) -> None:
        """Write the better half on the left, the other on the right, each with a line to it.

        Lines are blue if the rank cannot be distinguished from the first.
        """
        ranks, width, ends = self._ranks, name_width(ax, style), ax.get_xlim()
        left, right = (named + 1) // 2, named // 2
        for k in [*range(left), *range(len(ranks) - right, len(ranks))]:
            on_left = k < left
            height = top + (k if on_left else len(ranks) - 1 - k) + 0.4
            edge = ends[0 if on_left else 1]
            level = ranks[k] - ranks[0] < self._critical
            colour = style.positive if level else style.neutral
            elbow = [ranks[k], ranks[k], edge], [0.0, height, height]
            ax.plot(*elbow, color=colour, linewidth=0.9, zorder=2, clip_on=False)
            name = label(self._rows.index[k], width)
            text = f"{name}  {ranks[k]:.2f}" if on_left else f"{ranks[k]:.2f}  {name}"
            off, side = ((-4, 0), "right") if on_left else ((4, 0), "left")
            write_off(style, ax, text, (edge, height), off, ha=side)

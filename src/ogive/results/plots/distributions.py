"""Distributions: histograms, the Wright map, difficulty by class, and rows of data sets."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ogive._validation import as_number
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, not_shown, remark
from ogive.results.plots.marks import (
    MOST_CLASSES,
    MOST_GROUPS,
    NARROWEST,
    by_class,
    class_name,
    cluster_limits,
    draw_violin,
    ends_of,
    format_limit,
    group_colours,
    largest_groups,
    limits_by_class,
    padded,
    robust_limits,
    smoothed,
)
from ogive.results.plots.panels import divided, outer_and_other
from ogive.results.plots.rankings import Rows
from ogive.results.plots.theme import (
    DASHED,
    Style,
    apply,
    grid,
    in_words,
    label,
    legend_beside,
    lines_that_fit,
    name_beside,
    name_width,
    spread,
    text_beside,
)
from ogive.stats.array_backend import Array, Floats

FEWEST_BINS, MOST_BINS = 8, 50
# Beyond this, an estimate only says "very far"; drawn to scale it would flatten the rest.
FARTHEST = 6.0
NAMED_AT_EACH_END = 4
BINS = 24
LEAST_TALLEST = 4  # a single name should not fill its side
SIDES = {"respondent": -1, "item": 1}  # of the middle line, each with its own scale of counts
MOST_CDI_BINS = 200
TAILS = 3.0  # kernel widths beyond the ends of the values
WIDENED = 0.5  # of the range of difficulties, at most, to show a limit beyond it
LOWEST = 0.02  # of its peak, down to which a curve is shown
MOST_BANDS = 3  # more overlapping bands would blur into one
MOST_ROWS = 80
PARAMETERS = ("difficulty", "discrimination")
MEANS_WIDENED = 0.3  # of the range of the means, at each end, for thin bars
# Left end and width of each panel, as shares of the axes, by their number.
PANELS = {
    2: ((0.0, 0.48), (0.52, 0.48)),
    3: ((0.0, 0.31), (0.345, 0.31), (0.69, 0.31)),
}


def _draw_steps(ax: Axes, heights: Array, edges: Floats, colour: str, groups: int) -> Artist:
    """Draw a histogram: `heights` (n_bins,) between `edges` (n_bins + 1,), one of some groups."""
    fill = 0.28 if groups <= 2 else 0.05  # more fills mix to mud; outlines can still be followed
    ax.stairs(heights, edges, fill=True, color=colour, alpha=fill, linewidth=0, zorder=2)
    return ax.stairs(heights, edges, color=colour, linewidth=1.4, zorder=3)


class HistogramDisplay(Display):
    """How often each value occurs.

    `value` names a column of numbers, `group` one of names, if there are groups. The five largest
    groups are drawn over each other in the same bins, the rest together. A few far values do not
    stretch the axis: they are counted below it. `notes` say which values are shown.
    """

    without = "a finite number"
    y_label, grid_lines = "count", "y"

    def __init__(
        self,
        frame: pd.DataFrame,
        value: str = "difficulty",
        group: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.value, self.group, self.notes = value, group, notes
        self.numbers, self.labels = (value,), () if group is None else (group,)
        self.x_label = in_words(value)
        super().__init__(frame)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        values = self._rows[self.value].to_numpy()
        low, high = robust_limits(values)
        edges = _bin_edges(values[(values >= low) & (values <= high)])
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        entries = []
        groups: list[tuple[object, Array]] = [("all", np.arange(len(values)))]
        if self.group is not None:
            groups = largest_groups(self._rows[self.group])
        width = name_width(ax, style, 24)
        for colour, (name, rows) in zip(group_colours(style, MOST_GROUPS), groups, strict=False):
            counts, _ = np.histogram(values[rows], edges)
            outline = _draw_steps(ax, counts, edges, colour, len(groups))
            entries.append((outline, f"{label(name, width)}\n({len(rows):,})"))
        if self.group is not None:
            legend_beside(style, ax, entries)
        ax.set_xlim(padded((edges[0], edges[-1]), 0.02))
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        sides = (((values < edges[0]), "below", edges[0]), (values > edges[-1], "above", edges[-1]))
        beyond = [
            f"{counted(int(out.sum()), 'value')} {side} {edge:.3g}"
            for out, side, edge in sides
            if out.any()
        ]
        return [*self.notes, *([f"beyond the axis: {' and '.join(beyond)}"] if beyond else [])]


def _bin_edges(values: Floats) -> Floats:
    """Return the edges of the bins; their number follows from the values, within limits."""
    if np.ptp(values) == 0:
        return np.linspace(*padded((values[0], values[0])), FEWEST_BINS + 2)
    count = len(np.histogram_bin_edges(values, "auto")) - 1
    return np.linspace(*ends_of(values), int(np.clip(count, FEWEST_BINS, MOST_BINS)) + 1)


class ItemMapDisplay(Display):
    """Respondents by ability on the left, items by difficulty on the right, on one scale.

    The frame has one row per respondent or item: `kind` ("respondent" or "item"), `name`,
    `position` on the scale, and `se`. The easiest and hardest items are named. Positions
    beyond 6 either way are drawn at the edge with an arrow; infinite ones are those of items that
    all got right (-∞) or none. Items on which better respondents do
    worse have none.
    """

    numbers = ("position", "se")
    labels = ("kind", "name")
    needed = ("position",)
    infinite = True
    without = "a position"
    inches = (7.2, 5.4)
    y_label, grid_lines = "ability and difficulty", "y"

    def _prepare(self) -> None:
        height = self._rows["position"].clip(-FARTHEST, FARTHEST)
        self._rows = self._rows.assign(height=height)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        low, high = self._rows["height"].min(), self._rows["height"].max()
        short = max(0.0, 1.0 - (high - low)) / 2.0  # one point alone still needs a scale around it
        low, high = low - short, high + short
        edges, pad = np.linspace(low, high, BINS + 1), 0.05 * (high - low)
        ax.set_ylim(low - pad, high + pad)
        ax.set_xlim(-1.12, 1.12)
        ticks: dict[float, str] = {}
        for kind, side in SIDES.items():
            rows = self._rows[self._rows["kind"] == kind]
            near = rows["position"].abs() <= FARTHEST  # arrows stand for the others
            counts = np.histogram(rows.loc[near, "height"], edges)[0]
            tallest = max(LEAST_TALLEST, int(counts.max()))
            lengths = counts / tallest
            colour = style.positive if kind == "respondent" else style.neutral
            ax.barh(edges[:-1], side * lengths, np.diff(edges) * 0.92, align="edge", color=colour)
            for sign, marker, length in ((-1, "v", lengths[0]), (1, "^", lengths[-1])):
                if (sign * rows["position"] > FARTHEST).any():
                    at = [side * (length + 0.05)], [sign * FARTHEST]
                    ax.plot(*at, marker=marker, color=colour, markersize=7, clip_on=False)
            ticks |= {side * 1.0: f"{tallest:,}"}
            if kind == "item":
                _name_ends(ax, style, rows, edges, lengths)
        ax.axvline(0.0, color=style.paper, linewidth=2.0)
        ax.axvline(0.0, color=style.neutral, linewidth=0.8)
        ax.set_xticks([*ticks, 0.0], [*ticks.values(), "0"])
        kinds = list(self._rows["kind"])
        respondents, items = (counted(kinds.count(kind), kind) for kind in SIDES)
        ax.set_xlabel(f"← {respondents}   |   {items} →")
        return self._notes()

    def _notes(self) -> list[str]:
        notes = ["bars: number at each height, each side on its own scale"]
        alike, far = np.isinf(self._rows["position"]), self._rows["position"].abs() > FARTHEST
        beyond = f"beyond ±{FARTHEST:g}"
        for rows, which in ((alike, "that all answered alike"), (far & ~alike, beyond)):
            counts = self._rows.loc[rows, "kind"].value_counts()
            if len(counts):
                parts = [counted(int(counts[kind]), kind) for kind in SIDES if kind in counts.index]
                notes.append(f"arrow, in no bar: {' and '.join(parts)} {which}")
        medians = self._rows[np.isfinite(self._rows["se"])].groupby("kind")["se"].median()
        if len(medians):
            parts = [f"{kind}s {medians[kind]:.2g}" for kind in SIDES if kind in medians.index]
            notes.append(f"median standard error: {', '.join(parts)}")
        return notes


def _name_ends(ax: Axes, style: Style, items: pd.DataFrame, edges: Floats, lengths: Floats) -> None:
    """Name the easiest and hardest items beside the axes, each with a line to its bar.

    Items that all or none solved have no order: several at one end are named by their number.
    """
    rows = items.sort_values("position", kind="stable")
    alike = np.isinf(rows["position"])
    several = rows["position"].map(rows["position"][alike].value_counts())
    names = rows["name"].astype(object).mask(several > 1, several.map("{:.0f} items".format))
    rows = rows.assign(name=names)[~(alike & rows["position"].duplicated())]
    fit = lines_that_fit(ax, style.small)
    ends = max(1, min(NAMED_AT_EACH_END, (fit - 1) // 2))
    if len(rows) > 2 * ends:
        rows = rows.iloc[[*range(ends), *range(-ends, 0)]]
    width = name_width(ax, style, 24)
    bottom, top = ax.get_ylim()
    heights = rows["height"].to_numpy()
    placed = spread(heights, (top - bottom) / max(fit, 1), bottom, top)
    bins = np.clip(np.searchsorted(edges, heights, side="right") - 1, 0, len(lengths) - 1)
    for (_, row), at, text_at, length in zip(
        rows.iterrows(), heights, placed, lengths[bins], strict=True
    ):
        text = f"{label(row['name'], width)}  {_format_position(row['position'], row['se'])}"
        name_beside(style, ax, text, (length + 0.03, at), (1.18, text_at))


def _format_position(position: float, se: float) -> str:
    """Return a position with its standard error; far out, where both say little, only the side."""
    if np.isinf(position):
        return "solved by none" if position > 0 else "solved by all"
    if abs(position) > FARTHEST:
        return f"{'above' if position > 0 else 'below'} {np.copysign(FARTHEST, position):g}"
    return f"{position:.2f}{f' ± {se:.2f}' if np.isfinite(se) else ''}"


class CaseDifficultyDisplay(Display):
    """Case Difficulty Index by class: a histogram, and violins in the same colours beside it.

    The frame has one row per case: its `class` and `cdi`. Bins are `width` wide, with one around
    zero, and show the share of a class's cases in them, so that a small class is seen beside a
    large one. The six largest classes are drawn, and the rest together.
    """

    numbers, labels = ("cdi",), ("class",)
    noun, without = "case", "a finite number"
    x_label, grid_lines = "Case Difficulty Index (CDI)", ""

    def __init__(self, frame: pd.DataFrame, width: float = 0.25) -> None:
        super().__init__(frame)
        values = self._rows["cdi"].to_numpy()
        self._parts = [(name, values[rows]) for name, rows in by_class(self._rows["class"])]
        low, high = cluster_limits(values)
        # One bin is around zero; bins are wider if there would be far too many.
        self._width = width * max(1, ceil((high - low) / width / MOST_CDI_BINS))
        first, last = round(low / self._width), round(high / self._width)
        self._edges: Floats = self._width * (np.arange(first, last + 2, dtype=float) - 0.5)
        self._beyond = int(((values < self._edges[0]) | (values > self._edges[-1])).sum())

    def _size(self) -> tuple[float, float]:
        return 9.4, max(3.6, 1.8 + 0.45 * len(self._parts))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        bins, violins = panels = divided(ax, 2)
        low, high = limits = float(self._edges[0]), float(self._edges[-1])
        for panel in panels:
            self._dress(panel, style)
            panel.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
            panel.set_xlim(padded(limits, 0.02))
        colours = group_colours(style, MOST_CLASSES)
        parts = list(zip(self._parts, colours, strict=False))
        for (_, values), colour in parts:
            counts, _ = np.histogram(values, self._edges)
            _draw_steps(bins, counts / len(values), self._edges, colour, len(parts))
        bins.set_ylim(0, 1.05 * bins.get_ylim()[1])
        bins.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        bins.set_ylabel("share of the class")
        grid(style, bins, "y")
        for height, ((_, values), colour) in enumerate(parts, start=1):
            inside = values[(values >= low) & (values <= high)]
            if inside.size:
                draw_violin(violins, style, inside, height, limits, colour, values)
        width = name_width(violins, style, 24)
        names = [f"{class_name(name, width)}\n({len(values):,})" for name, values in self._parts]
        violins.set_yticks(range(1, len(names) + 1), names)
        for tick, colour in zip(violins.get_yticklabels(), colours, strict=False):
            tick.set_color(colour)
        violins.set_ylim(len(names) + 0.6, 0.4)
        violins.tick_params(axis="y", length=0)
        grid(style, violins, "x")
        self._note_axes = outer_and_other(panels)[1]
        return [
            f"bins of {self._width:g}; bar: middle half, dot: median",
            *remark("beyond the axis: {}", self._beyond, "case"),
        ]


class DifficultyDensityDisplay(Display):
    """Density of difficulty in each class; a dashed line is the limit of the model there.

    The frame has one row per case: its `class` and its `difficulty` as a member of that class.
    `limits` holds the limit of each class: a frame with one row per class, which is its index, and
    `mlc` and `mlc_se`. Six classes are drawn, the largest, and the rest together.
    """

    numbers, labels = ("difficulty",), ("class",)
    noun, without = "case", "a finite number"
    inches = (7.8, 4.2)
    x_label, y_label = "difficulty of the case in its class", "density"
    grid_lines = "y"

    def __init__(self, frame: pd.DataFrame, limits: pd.DataFrame | None = None) -> None:
        super().__init__(frame)
        values = self._rows["difficulty"].to_numpy()
        self._ends = cluster_limits(values)
        self._beyond = int(((values < self._ends[0]) | (values > self._ends[1])).sum())
        self._parts = [(name, values[rows]) for name, rows in by_class(self._rows["class"])]
        known, shown = limits_by_class(limits), [name for name, _ in self._parts]
        self._limits = {name: known[name] for name in shown if name in known}

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        curves = [self._curve(values) for _, values in self._parts]
        low, high = self._across(curves)
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        entries = []
        width = name_width(ax, style, 24)
        colours = group_colours(style, MOST_CLASSES)
        for (name, values), curve, colour in zip(self._parts, curves, colours, strict=False):
            handle = self._draw_class(ax, curve, values, colour)
            text = f"{class_name(name, width)}\n{counted(len(values), 'case')}"
            if name in self._limits:
                limit, error = self._limits[name]
                ax.axvline(limit, color=colour, linewidth=1.4, linestyle=DASHED, zorder=3)
                if np.isfinite(error):
                    reach = limit - 1.96 * error, limit + 1.96 * error
                    ax.axvspan(*reach, color=colour, alpha=0.08, linewidth=0, zorder=0)
                text += f"\nlimit {format_limit(limit, error)}"
            entries.append((handle, text))
        legend_beside(style, ax, entries)
        ax.set_xlim(low, high)
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        certain = any(np.isfinite(error) for _, error in self._limits.values())
        banded = len(self._parts) <= MOST_BANDS or certain
        return [
            *(["dashed: limit (MLC) of each class"] if self._limits else []),
            *(["band and interval of the limit: ±1.96 standard errors"] if banded else []),
            *remark("beyond the axis: {}", self._beyond, "case"),
        ]

    def _draw_class(self, ax: Axes, curve: Floats | None, values: Floats, colour: str) -> Artist:
        if curve is not None:
            at, density, se = curve
            if len(self._parts) <= MOST_BANDS:
                band = np.maximum(density - 1.96 * se, 0.0), density + 1.96 * se
                ax.fill_between(at, *band, color=colour, alpha=0.16, linewidth=0, zorder=2)
            (handle,) = ax.plot(at, density, color=colour, linewidth=1.7, zorder=4)
        else:  # the density of equal values is infinite: they are a mark on the axis
            foot: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False}
            look: dict[str, Any] = {"marker": "^", "linestyle": "", "color": colour}
            at = values[(values >= self._ends[0]) & (values <= self._ends[1])][:1]
            (handle,) = ax.plot(at, np.zeros(len(at)), zorder=5, **foot, **look)
        return handle

    def _curve(self, values: Floats) -> Floats | None:
        """Return grid, density and its standard error (3, n_points); None if all are equal."""
        low, high = self._ends
        inside = values[(values >= low) & (values <= high)]
        if not inside.size or np.ptp(inside) == 0:
            return None
        return np.array(smoothed(inside, NARROWEST * (high - low), TAILS))

    def _across(self, curves: list[Floats | None]) -> tuple[float, float]:
        """Return the ends of the axis: difficulties and curves, wider for limits nearby."""
        low, high = self._ends
        more = WIDENED * (high - low)
        for curve in curves:
            if curve is not None:
                seen = curve[0][curve[1] > LOWEST * curve[1].max()]
                low, high = min(low, float(seen[0])), max(high, float(seen[-1]))
        limits = [limit for limit, _ in self._limits.values()]
        near = [limit for limit in limits if low - more <= limit <= high + more]
        return padded((min([low, *near]), max([high, *near])), 0.02)


class DatasetsDisplay(Rows):
    """Data sets by chance to be right, lowest on top, with mean difficulty and discrimination.

    The frame has one row per data set, which is its index: `difficulty_mean`,
    `difficulty_mean_se`, `discrimination_mean`, `discrimination_mean_se`, and if known, the
    standard deviations of the instances, `difficulty_sd` and `discrimination_sd`. A
    thick bar reaches 1.96 standard errors of the mean both ways, a thin one the standard deviation
    of the instances. If `chance` and `chance_se` are known, how often the average respondent is
    right, the hardest is where that is lowest; otherwise where the mean difficulty is highest. At
    most 80 rows are drawn, the hardest.
    """

    numbers = tuple(f"{name}_{part}" for name in PARAMETERS for part in ("mean", "mean_se"))
    optional = (*(f"{name}_sd" for name in PARAMETERS), "chance", "chance_se")
    needed = ("difficulty_mean",)
    infinite = True
    without = "a mean difficulty"
    order, most_rows = "difficulty_mean", MOST_ROWS
    further = ("easier data set",)
    inches = (8.4, 4.4)
    least_height, margin = 2.2, 1.5
    grid_lines = ""

    def _prepare(self) -> None:
        if "chance" in self._rows.columns:
            self._rows = self._rows.sort_values("chance", kind="stable")
        else:
            super()._prepare()

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        ax.hlines(height, 0.0, 1.0, color=style.faint, linewidth=0.7, zorder=0)
        ax.set_xlim(0.0, 1.0)
        ax.set_xticks([])
        ax.tick_params(length=0)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        columns = {name: f"{name}_mean" for name in PARAMETERS}
        if "chance" in rows.columns:
            columns = {"chance to be right": "chance", **columns}
        beyond = 0
        for (left, width), (name, column) in zip(
            PANELS[len(columns)], columns.items(), strict=True
        ):
            panel = ax.inset_axes((left, 0.0, width, 1.0))
            beyond += _draw_parameter(panel, style, rows, name, column)
        below = 2.2 * style.font_size  # the numbers of the panels are above the label
        ax.set_xlabel("mean of the instances (bar: ±1.96 standard errors)", labelpad=below)
        notes = []
        if "chance" in rows.columns and len(rows) > 1:
            notes.append("each data set has its own scale: compare chances, not difficulties")
        if any(f"{name}_sd" in self.frame.columns for name in PARAMETERS):
            notes.append("thin bar: ± standard deviation of the instances, cut at the edge")
        negative = int((rows["discrimination_mean"] < 0).sum())
        return [
            *notes,
            *remark("orange: negative mean discrimination ({})", negative, "data set"),
            *remark("arrow: beyond the axis ({})", beyond, "mean"),
        ]


def _draw_parameter(ax: Axes, style: Style, rows: pd.DataFrame, name: str, column: str) -> int:
    """Draw one parameter; return the number of means beyond the axis, drawn as arrows."""
    apply(style, ax)
    ax.patch.set_visible(False)
    mean, height = rows[column].to_numpy(), np.arange(1, len(rows) + 1)
    error = rows[f"{column}_se"].to_numpy() if f"{column}_se" in rows.columns else 0.0 * mean
    reach = 1.96 * np.where(np.isfinite(error), error, 0.0)
    sd = rows[f"{name}_sd"].to_numpy() if f"{name}_sd" in rows.columns else 0.0 * mean
    if column == "chance":
        low, high = max(0.0, float(np.nanmin(mean - reach)) - 0.02), 1.0
    else:  # dots, thick bars and zero are shown; thin bars may widen the axis, but not by much
        low, high = robust_limits(np.concatenate([mean, mean - reach, mean + reach, [0.0]]))
        more = MEANS_WIDENED * (high - low)
        thin = np.concatenate([mean - sd, mean + sd])
        thin = np.clip(thin[np.isfinite(thin)], low - more, high + more)
        low, high = padded((min(low, *thin, high), max(high, *thin, low)))
        ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
    negative = rows["discrimination_mean"].to_numpy() < 0
    colours = np.where(negative, style.negative, style.positive)
    ax.hlines(height, mean - sd, mean + sd, color=colours, linewidth=0.8, alpha=0.5)
    ax.hlines(height, mean - reach, mean + reach, color=colours, linewidth=3.2, alpha=0.45)
    inside = (mean >= low) & (mean <= high)
    ax.scatter(mean[inside], height[inside], s=16, color=colours[inside], zorder=3)
    for marker, out, edge in (("<", mean < low, low), (">", mean > high, high)):
        edges = np.full(int(out.sum()), edge)
        ax.scatter(edges, height[out], s=30, marker=marker, color=colours[out], clip_on=False)
    ax.set_xlim(low, high)
    ax.set_ylim(len(rows) + 0.7, 1 - 0.7)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_title(name, fontsize=1.1 * style.font_size, color=style.ink)
    grid(style, ax, "x")
    return int((mean < low).sum() + (mean > high).sum())


class DistributionsDisplay(Display):
    """How values of items are spread in each data set, the hardest on top.

    The frame has one row per item: `group` names the column of data sets, `value` that of numbers.
    Each shape shows the density of values within ±`limit`; its bar reaches from the first quartile
    to the third, the dot is the median, both of all values. The share of values beyond the limit is
    written beside it. At most 80 data sets are drawn, the first in `order`, which names the hardest
    first: where each data set has its own scale, medians do not say which is harder. Without it,
    data sets are ordered by their median, the highest first. `notes` say which items are shown.
    """

    infinite = True
    grid_lines = "x"

    def __init__(
        self,
        frame: pd.DataFrame,
        value: str = "difficulty",
        group: str = "dataset",
        limit: float = 6.0,
        order: Sequence[str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        if not as_number(limit) > 0:
            raise InputError(f"`limit` must be above 0, got {limit!r}. Give a number such as 6.")
        self.value, self.group, self.limit, self.notes = value, group, limit, notes
        self.order = None if order is None else {name: k for k, name in enumerate(order)}
        self.numbers, self.labels = (value,), (group,)
        self.nothing = f"the column '{value}' holds no number within ±{limit:g}."
        super().__init__(frame)

    def _prepare(self) -> None:
        """Find name, values within the limit and all values of each data set, hardest first."""
        self._sets: list[tuple[Any, Floats, Floats]] = []
        self._n_empty = 0
        groups = self._rows.groupby(self.group, sort=False, dropna=False, observed=True)
        for name, column in groups[self.value]:
            values = column.to_numpy()
            inside = values[np.abs(values) <= self.limit]
            if inside.size:
                self._sets.append((name, inside, values))
            else:
                self._n_empty += 1
        if not self._sets:
            self._refuse()

        def rank(data: tuple[Any, Floats, Floats]) -> float:
            if self.order is None:
                return -float(np.median(data[2]))
            return self.order.get(data[0], len(self.order))

        self._sets.sort(key=rank)

    def _size(self) -> tuple[float, float]:
        return 7.2, max(2.2, 1.3 + 0.3 * min(len(self._sets), MOST_ROWS))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        shown = max(1, min(len(self._sets), MOST_ROWS, lines_that_fit(ax, style.font_size)))
        sets = self._sets[:shown]
        low, high = padded(ends_of(np.concatenate([inside for _, inside, _ in sets])))
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        for height, (_, inside, values) in enumerate(sets, start=1):
            whole = values.clip(-self.limit, self.limit)
            draw_violin(ax, style, inside, height, (low, high), style.positive, whole)
            beyond = 1.0 - inside.size / values.size
            share = f"{100 * beyond:.1f} %" if 0 < beyond < 0.1 else f"{100 * beyond:.0f} %"
            colour = style.ink if beyond else style.neutral
            text_beside(style, ax, share, height, x=1.01, color=colour)
        ax.set_xlim(low, high)
        ax.set_ylim(shown + 0.7, 0.3)
        width = name_width(ax, style)
        ax.set_yticks(range(1, shown + 1), [label(name, width) for name, *_ in sets])
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"{in_words(self.value)} (bar: middle half, dot: median)")
        own = ["each data set has its own scale: compare shapes, not places"] if self.order else []
        return [
            *own,
            *self.notes,
            f"right: share of values beyond ±{self.limit:g}, of which only bar and dot tell",
            *not_shown(len(self._sets) - shown, "easier data set"),
            *not_shown(self._n_empty, "data set", f"without a value within ±{self.limit:g}"),
        ]

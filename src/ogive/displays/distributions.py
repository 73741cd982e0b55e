"""Distributions: histograms, the Wright map, and the difficulty of cases by class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import as_number
from ogive.displays.display import Display, remark
from ogive.displays.grouped_rows import (
    MOST_CLASSES,
    MOST_GROUPS,
    by_class,
    class_name,
    group_colours,
    largest_groups,
    limits_by_class,
    said_limit,
)
from ogive.displays.panel_grid import divided, outer_and_other
from ogive.displays.smoothing import NARROWEST, draw_violin, smoothed
from ogive.displays.style import (
    DASHED,
    Style,
    grid,
    in_words,
    label,
    legend_beside,
    lines_that_fit,
    name_beside,
    name_width,
    spread,
)
from ogive.errors import InputError
from ogive.numerics.robust import cluster_limits, padded, robust_limits
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Array, Floats

FEWEST_BINS, MOST_BINS = 8, 50
# Beyond this, an estimate only says "very far"; drawn to scale it would flatten the rest.
FARTHEST = 6.0
FAR = f"beyond ±{FARTHEST:g}"
NAMED_AT_EACH_END = 4
BINS = 24
LEAST_TALLEST = 4  # a single name should not fill its side
SIDES = {"respondent": -1, "item": 1}  # of the middle line, each with its own scale of counts
MOST_CDI_BINS = 200
TAILS = 3.0  # kernel widths beyond the ends of the values
WIDENED = 0.5  # of the range of difficulties, at most, to show a limit beyond it
LOWEST = 0.02  # of its peak, down to which a curve is shown
MOST_BANDS = 3  # more overlapping bands would blur into one


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
        from matplotlib.ticker import MaxNLocator

        values = self._rows[self.value].to_numpy()
        low, high = robust_limits(values)
        edges = _edges(values[(values >= low) & (values <= high)])
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        handles, texts = [], []
        groups: list[tuple[object, Array]] = [("all", np.arange(len(values)))]
        if self.group is not None:
            groups = largest_groups(self._rows[self.group])
        width = min(24, name_width(ax, style))
        for colour, (name, rows) in zip(group_colours(style, MOST_GROUPS), groups, strict=False):
            counts, _ = np.histogram(values[rows], edges)
            handles.append(_draw_steps(ax, counts, edges, colour, len(groups)))
            texts.append(f"{label(name, width)}\n({len(rows):,})")
        if self.group is not None:
            legend_beside(style, ax, handles, texts)
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


def _edges(values: Floats) -> Floats:
    """Return the edges of the bins; their number follows from the values, within limits."""
    if np.ptp(values) == 0:
        return np.linspace(*padded((values[0], values[0])), FEWEST_BINS + 2)
    count = len(np.histogram_bin_edges(values, "auto")) - 1
    count = int(np.clip(count, FEWEST_BINS, MOST_BINS))
    return np.linspace(values.min(), values.max(), count + 1)


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
        strange = self.frame.loc[~self.frame["kind"].isin(list(SIDES)), "kind"]
        if len(strange):
            raise InputError(
                f"{self._owner} knows the kinds 'respondent' and 'item', but the column 'kind' "
                f"holds {strange.iloc[0]!r}."
            )
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
            of_kind = self._rows[self._rows["kind"] == kind]
            near = of_kind["position"].abs() <= FARTHEST  # arrows stand for the others
            counts = np.histogram(of_kind.loc[near, "height"], edges)[0]
            tallest = max(LEAST_TALLEST, int(counts.max()))
            lengths = counts / tallest
            colour = style.positive if kind == "respondent" else style.neutral
            ax.barh(edges[:-1], side * lengths, np.diff(edges) * 0.92, align="edge", color=colour)
            _mark_clipped(ax, of_kind, side, lengths, colour)
            ticks |= {side * 1.0: f"{tallest:,}"}
            if kind == "item":
                _name_ends(ax, style, of_kind, edges, lengths)
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
        for rows, where in ((alike, "that all answered alike"), (far & ~alike, FAR)):
            counts = self._rows.loc[rows, "kind"].value_counts()
            if len(counts):
                parts = [counted(int(counts[kind]), kind) for kind in SIDES if kind in counts.index]
                notes.append(f"arrow, in no bar: {' and '.join(parts)} {where}")
        medians = self._rows[np.isfinite(self._rows["se"])].groupby("kind")["se"].median()
        if len(medians):
            parts = [f"{kind}s {medians[kind]:.2g}" for kind in SIDES if kind in medians.index]
            notes.append(f"median standard error: {', '.join(parts)}")
        return notes


def _mark_clipped(ax: Axes, rows: pd.DataFrame, side: int, lengths: Floats, colour: str) -> None:
    for sign, marker, length in ((-1, "v", lengths[0]), (1, "^", lengths[-1])):
        if (sign * rows["position"] > FARTHEST).any():
            place = [side * (length + 0.05)], [sign * FARTHEST]
            ax.plot(*place, marker=marker, color=colour, markersize=7, clip_on=False)


def _name_ends(ax: Axes, style: Style, items: pd.DataFrame, edges: Floats, lengths: Floats) -> None:
    """Name the easiest and hardest items beside the axes, each with a line to its bar.

    What all or none solved has no order: several on one side have one name.
    """
    rows = _together(items.sort_values("position", kind="stable"))
    fit = lines_that_fit(ax, style.small)
    ends = max(1, min(NAMED_AT_EACH_END, (fit - 1) // 2))
    if len(rows) > 2 * ends:
        rows = rows.iloc[[*range(ends), *range(-ends, 0)]]
    width = min(24, name_width(ax, style))
    bottom, top = ax.get_ylim()
    heights = rows["height"].to_numpy()
    placed = spread(heights, (top - bottom) / max(fit, 1), bottom, top)
    bins = np.clip(np.searchsorted(edges, heights, side="right") - 1, 0, len(lengths) - 1)
    for (_, row), at, text_at, length in zip(
        rows.iterrows(), heights, placed, lengths[bins], strict=True
    ):
        text = f"{label(row['name'], width)}  {_said(row['position'], row['se'])}"
        name_beside(style, ax, text, (length + 0.03, at), (1.18, text_at))


def _together(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with those at the same infinity as one, named by their number."""
    alike = np.isinf(rows["position"])
    several = rows["position"].map(rows["position"][alike].value_counts())
    names = rows["name"].astype(object).mask(several > 1, several.map("{:.0f} items".format))
    found: pd.DataFrame = rows.assign(name=names)[~(alike & rows["position"].duplicated())]
    return found


def _said(position: float, se: float) -> str:
    """Return a position with its standard error; far out, where both say little, only the side.

    Items that all got right, or none, have a place at infinity.
    """
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
        if not 0 < as_number(width) < np.inf:
            raise InputError(
                f"width is {width!r}, but it should be a number above 0, such as 0.25."
            )
        super().__init__(frame)
        values = self._rows["cdi"].to_numpy()
        self._parts = [(name, values[places]) for name, places in by_class(self._rows["class"])]
        self._edges, self._width = _cdi_edges(values, width)
        self._beyond = int(((values < self._edges[0]) | (values > self._edges[-1])).sum())

    def _size(self) -> tuple[float, float]:
        return 9.4, max(3.6, 1.8 + 0.45 * len(self._parts))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        bins, violins = panels = divided(ax, 2)
        for panel in panels:
            self._dress(panel, style)
            panel.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
            panel.set_xlim(padded((self._edges[0], self._edges[-1]), 0.02))
        self._draw_bins(bins, style)
        self._draw_violins(violins, style)
        self._foot = outer_and_other(panels)[1]
        return [
            f"bins of {self._width:g}; bar: middle half, dot: median",
            *remark("beyond the axis: {}", self._beyond, "case"),
        ]

    def _draw_bins(self, ax: Axes, style: Style) -> None:
        from matplotlib.ticker import PercentFormatter

        colours = group_colours(style, MOST_CLASSES)
        for (_, values), colour in zip(self._parts, colours, strict=False):
            counts, _ = np.histogram(values, self._edges)
            _draw_steps(ax, counts / len(values), self._edges, colour, len(self._parts))
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        ax.set_ylabel("share of the class")
        grid(style, ax, "y")

    def _draw_violins(self, ax: Axes, style: Style) -> None:
        limits = float(self._edges[0]), float(self._edges[-1])
        colours = group_colours(style, MOST_CLASSES)
        pairs = zip(self._parts, colours, strict=False)
        for height, ((_, values), colour) in enumerate(pairs, start=1):
            inside = values[(values >= limits[0]) & (values <= limits[1])]
            if inside.size:
                draw_violin(ax, style, inside, height, limits, colour, values)
        width = min(24, name_width(ax, style))
        names = [f"{class_name(name, width)}\n({len(part):,})" for name, part in self._parts]
        ax.set_yticks(range(1, len(names) + 1), names)
        for tick, colour in zip(ax.get_yticklabels(), colours, strict=False):
            tick.set_color(colour)
        ax.set_ylim(len(names) + 0.6, 0.4)
        ax.tick_params(axis="y", length=0)
        grid(style, ax, "x")


def _cdi_edges(values: Floats, width: float) -> tuple[Floats, float]:
    """Return edges of bins, one of them around zero, and their width: wider if far too many."""
    low, high = cluster_limits(values)
    width *= max(1, ceil((high - low) / width / MOST_CDI_BINS))
    first, last = round(low / width), round(high / width)
    edges: Floats = width * (np.arange(first, last + 2, dtype=float) - 0.5)
    return edges, width


class DifficultyDensityDisplay(Display):
    """Density of difficulty in each class; a dashed line is the limit of the model there.

    The frame has one row per case: its `class` and its `difficulty` as a member of that class.
    `limits` holds the limit (MLC) of each class: a mapping, or a frame with one row per class,
    which is its index, and `mlc` and `mlc_se`. The columns `limit` and `limit_se` do the same. Six
    classes are drawn, the largest, and the rest together.
    """

    numbers, labels = ("difficulty",), ("class",)
    optional = ("limit", "limit_se")
    noun, without = "case", "a finite number"
    inches = (7.8, 4.2)
    x_label, y_label = "difficulty of the case in its class", "density"
    grid_lines = "y"

    def __init__(
        self,
        frame: pd.DataFrame,
        limits: Mapping[Hashable, float] | pd.DataFrame | None = None,
    ) -> None:
        super().__init__(frame)
        self._limits = limits_by_class(self._owner, self.frame, limits)
        values = self._rows["difficulty"].to_numpy()
        self._ends = cluster_limits(values)
        self._beyond = int(((values < self._ends[0]) | (values > self._ends[1])).sum())
        self._parts = [(name, values[places]) for name, places in by_class(self._rows["class"])]

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        curves = [self._curve(values) for _, values in self._parts]
        low, high = self._reach(curves)
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        handles, texts = [], []
        width = min(24, name_width(ax, style))
        colours = group_colours(style, MOST_CLASSES)
        for (name, values), curve, colour in zip(self._parts, curves, colours, strict=False):
            handles.append(self._draw_class(ax, curve, values, colour))
            text = f"{class_name(name, width)}\n{counted(len(values), 'case')}"
            if name in self._limits:
                _draw_limit(ax, self._limits[name], colour)
                text += f"\nlimit {said_limit(*self._limits[name])}"
            texts.append(text)
        legend_beside(style, ax, handles, texts)
        ax.set_xlim(low, high)
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        drawn = [self._limits[name] for name, _ in self._parts if name in self._limits]
        banded = len(self._parts) <= MOST_BANDS or any(np.isfinite(error) for _, error in drawn)
        return [
            *(["dashed: limit (MLC) of each class"] if drawn else []),
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
            where = values[(values >= self._ends[0]) & (values <= self._ends[1])][:1]
            (handle,) = ax.plot(where, np.zeros(len(where)), zorder=5, **foot, **look)
        return handle

    def _curve(self, values: Floats) -> Floats | None:
        """Return positions, density and its standard error (3, n_points); None if all are equal."""
        low, high = self._ends
        inside = values[(values >= low) & (values <= high)]
        if not inside.size or np.ptp(inside) == 0:
            return None
        return np.array(smoothed(inside, NARROWEST * (high - low), TAILS))

    def _reach(self, curves: list[Floats | None]) -> tuple[float, float]:
        """Return the ends of the axis: difficulties and curves, wider for limits nearby."""
        low, high = self._ends
        more = WIDENED * (high - low)
        for curve in curves:
            if curve is not None:
                seen = curve[0][curve[1] > LOWEST * curve[1].max()]
                low, high = min(low, float(seen[0])), max(high, float(seen[-1]))
        shown = [self._limits[name][0] for name, _ in self._parts if name in self._limits]
        near = [limit for limit in shown if low - more <= limit <= high + more]
        return padded((min([low, *near]), max([high, *near])), 0.02)


def _draw_limit(ax: Axes, limit: tuple[float, float], colour: str) -> None:
    at, error = limit
    ax.axvline(at, color=colour, linewidth=1.4, linestyle=DASHED, zorder=3)
    if np.isfinite(error):
        reach = at - 1.96 * error, at + 1.96 * error
        ax.axvspan(*reach, color=colour, alpha=0.08, linewidth=0, zorder=0)

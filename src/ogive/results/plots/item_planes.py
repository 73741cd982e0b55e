"""Planes of items, respondents and problems; what is unusual is named beside the axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, remark
from ogive.results.plots.marks import (
    MOST_COLOURS,
    MOST_GROUPS,
    colours_for,
    ends_of,
    group_colours,
    largest_groups,
    padded,
    robust_limits,
)
from ogive.results.plots.panels import divided, outer_and_other
from ogive.results.plots.theme import (
    DASHED,
    MOST_SHAPES,
    Style,
    apply,
    colour_bar,
    grid,
    label,
    legend_beside,
    legend_handle,
    legend_width,
    lines_that_fit,
    name_points,
    name_width,
    names_beside,
    say_on_hover,
)
from ogive.stats.array_backend import Array, Floats

# The gravest first: an item with several problems has the mark of the first.
MARKS = {
    "suspect key": "X",
    "significantly negative discrimination": "v",
    "near-duplicate": "D",
    "solved by none": "^",
    "solved by all": "s",
    "all at the bottom": "^",
    "all at the top": "s",
    "all alike": "s",
}
NAMED = 3  # kinds of problems whose items are named
GRAVE, ALIKE = tuple(MARKS)[:NAMED], tuple(MARKS)[NAMED:]  # alike: answered alike by all
SOUND = "no problem"
MOST_NAMES = 10
FARTHEST = 6.0  # as in tables: a difficulty beyond is one of a flat curve
ASIDE = 0.05  # share of the height by which items without a discrimination lie below the others
MANY = 500  # more dots are drawn small
PARAMETERS = ("difficulty", "discrimination", "guessing")
BAND = (0.7, 1.3)  # mean squares that are usual
LEVEL = 0.05
MOST_ITEMS = 12  # items with a name in a plane of fit
MANY_ITEMS = 200  # more points are drawn small
# Beyond these, a mean square only says "very far"; drawn to scale it would hide the rest.
LEAST, MOST = 0.25, 4.0
TICKS = (0.25, 0.5, 0.7, 1.0, 1.3, 2.0, 4.0)
MOST_RESPONDENTS = 8  # respondents with a name
MANY_RESPONDENTS = 300  # more points are drawn small
CHANCE = 1.645  # standard deviations that chance exceeds one time in twenty
FARTHEST_ZH, FARTHEST_EXCESS = 6.0, 8.0  # beyond, a value only says "very far"


class ItemHealthDisplay(Display):
    """Items by difficulty and discrimination; those with a problem have a mark and a colour.

    The frame has one row per item, which is its index: `difficulty`, `discrimination` and
    `problems`, a text that is empty for a sound item. With `discrimination_se`, bars of named items
    reach 1.96 standard errors both ways; with `contradiction`, of items with equal problems those
    it is greatest for are named first. Far items are drawn at the edge and counted below. What
    all or none solved has an infinite difficulty and no discrimination: it lies below the line, on
    its side.
    """

    numbers = ("difficulty", "discrimination")
    labels = ("problems",)
    needed = ("difficulty",)
    infinite = True
    noun, without = "item", "a place on the scale"
    inches = (8.4, 4.8)
    x_label, y_label = numbers

    def _prepare(self) -> None:
        texts = self._rows["problems"].astype(str)
        self._kind = np.array(
            [next((kind for kind in MARKS if kind in text), SOUND) for text in texts]
        )
        values = self._rows[list(self.numbers)].to_numpy()
        # Named items are inside the axes, unless they are as good as flat.
        grave = np.isin(self._kind, GRAVE)
        self._limits: list[tuple[float, float]] = []
        for column, farthest in zip(values.T, (FARTHEST, np.inf), strict=True):
            own = column[grave & np.isfinite(column) & (np.abs(column) <= farthest)]
            self._limits.append(ends_of(np.append(own, padded(robust_limits(column), 0.0))))
        ends = np.array(self._limits)
        self._points = np.clip(values, ends[:, 0], ends[:, 1])
        self._aside = np.isnan(values[:, 1])
        self._far = int((self._points != values)[~self._aside].any(axis=1).sum())
        low, high = self._limits[1]
        self._line = low - ASIDE * (high - low)
        if self._aside.any():
            self._points[self._aside, 1] = self._line - ASIDE * (high - low)
            self._limits[1] = (float(self._points[self._aside, 1].min()), high)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        ax.set_xlim(padded(self._limits[0]))
        ax.set_ylim(padded(self._limits[1]))
        ax.axhline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        colours = dict(zip(MARKS, style.palette[1:], strict=False))
        handles: list[Artist] = []
        texts: list[str] = []
        small = len(self._points) > MANY
        for kind in (SOUND, *reversed(MARKS)):
            rows = self._kind == kind
            if not rows.any():
                continue
            look: dict[str, Any] = {"s": 12.0 if small else 32.0, "alpha": 0.9, "zorder": 3}
            if kind == SOUND:
                look = {"s": 6.0 if small else 16.0, "alpha": 0.4, "zorder": 2}
            colour, marker = colours.get(kind, style.neutral), MARKS.get(kind, "o")
            look |= {"color": colour, "marker": marker, "linewidth": 0, "rasterized": small}
            dots = ax.scatter(*self._points[rows].T, **look)
            say_on_hover(dots, [f"{name}: {kind}" for name in self._rows.index[rows]])
            counts = [f"{int(rows.sum()):,}"]
            if kind not in ALIKE:  # how many of them all or none solved as well
                problems = self._rows["problems"].astype(str)[rows]
                also = {other: int(problems.str.contains(other).sum()) for other in ALIKE}
                counts += [f"{n:,} {other}" for other, n in also.items() if n]
            handles.append(dots)
            texts.append(f"{kind} ({'; '.join(counts)})")
        named = self._name(ax, style, colours)
        room = 72.0 * ax.get_window_extent().width / ax.figure.dpi
        ax.legend(  # above the axes, away from the names beside it
            handles[::-1],
            texts[::-1],
            loc="lower left",
            bbox_to_anchor=(0.0, 1.01),
            ncols=int(np.clip(room // max(legend_width(style, texts), 1.0), 1, 3)),
            borderaxespad=0.0,
            frameon=False,
            fontsize=style.small,
            labelcolor=style.ink,
        )
        notes = remark("drawn at the edge: {} far from the others", self._far, "item")
        if self._aside.any():
            ax.axhline(self._line, color=style.neutral, linewidth=0.9, zorder=1)
            ax.set_yticks([at for at in ax.get_yticks() if self._line < at <= self._limits[1][1]])
            below = "below the line: {} without a discrimination"
            notes += remark(below, self._aside.sum(), "item")
        grave = int(np.isin(self._kind, GRAVE).sum())
        if 0 < named < grave:
            notes.append(f"named: {named} of {grave:,} with a mark, the gravest first")
        if named and "discrimination_se" in self._rows:
            middle = self._rows["discrimination_se"].astype(float).median()
            notes.append(f"bar: ±1.96 standard errors of discrimination (median {middle:.2g})")
        return notes

    def _name(self, ax: Axes, style: Style, colours: dict[str, str]) -> int:
        """Name items with a problem, and draw their bars; return how many are named.

        The gravest problems come first, and of equal ones what contradicts the key most.
        """
        index = {kind: k for k, kind in enumerate(MARKS)}
        ranks = np.array([index.get(kind, len(MARKS)) for kind in self._kind])
        evidence = np.zeros(len(ranks))
        if "contradiction" in self._rows:
            evidence = self._rows["contradiction"].fillna(0.0).to_numpy(float)
        order = np.lexsort((self._rows["discrimination"].to_numpy(), -evidence, ranks))
        most = max(1, min(MOST_NAMES, lines_that_fit(ax, style.small) - 7))
        rows = order[ranks[order] < NAMED][:most]
        if not rows.size:
            return 0
        if "discrimination_se" in self._rows:
            reach = 1.96 * self._rows["discrimination_se"].to_numpy(float)[rows]
            x, y = self._points[rows].T
            shades = [colours[self._kind[row]] for row in rows]
            ax.vlines(x, y - reach, y + reach, color=shades, linewidth=1.0, alpha=0.5)
        ink = [style.ink] * len(rows)
        name_points(style, ax, self._rows.index[rows], self._points[rows], ink, 26)
        return int(rows.size)


class ItemSpaceDisplay(Display):
    """Items by difficulty, discrimination and guessing; two at a time, or all three at once.

    The frame has one row per item. `group` names a column that colours the dots: the five largest
    groups, and the rest together. "projections" divides the axes into three panels; "3d" covers it
    with an axes of three dimensions, unless it is one. A few far items do not stretch the axes:
    they are counted below.
    """

    numbers = PARAMETERS
    noun, without = "item", "three finite numbers"
    grid_lines = ""

    def __init__(
        self, frame: pd.DataFrame, *, group: str | None = None, kind: str = "projections"
    ) -> None:
        if kind not in ("projections", "3d"):
            raise InputError(
                f"{self._owner} knows the kinds 'projections' and '3d', but not {kind!r}."
            )
        self.group, self.kind = group, kind
        self.labels = () if group is None else (group,)
        self.inches = (11.4, 3.9) if kind == "projections" else (7.2, 5.2)
        super().__init__(frame)

    def _prepare(self) -> None:
        self._limits = {}
        for name in PARAMETERS:
            values = self._rows[name].to_numpy()
            low, high = robust_limits(values)
            self._limits[name] = ends_of(values[(values >= low) & (values <= high)])
            if name == "guessing":  # a probability, which is never far away
                self._limits[name] = min(0.0, float(values.min())), max(0.1, float(values.max()))
        # A fixed permutation: drawn group by group, the last would hide the others.
        self._mixed = np.random.default_rng(0).permutation(len(self._rows))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        count = len(self._rows)
        alpha = float(np.clip(9.0 / np.sqrt(count), 0.3, 0.8))
        colours = np.tile(to_rgba(style.positive, alpha), (count, 1))
        entries: list[tuple[Artist, str]] = []
        if self.group is not None:
            groups, width = largest_groups(self._rows[self.group]), name_width(ax, style, 24)
            shades = group_colours(style, MOST_GROUPS)
            for colour, (name, rows) in zip(shades, groups, strict=False):
                colours[rows] = to_rgba(colour, alpha)
                handle = legend_handle(color=colour, marker="o", linestyle="", markersize=5)
                entries.append((handle, f"{label(name, width)}\n({len(rows):,})"))
        if self.kind == "projections":
            panels = divided(ax, 3)
            for panel, pair in zip(panels, combinations(PARAMETERS, 2), strict=True):
                self._draw_pair(panel, style, pair, colours)
            legend_on, self._note_axes = outer_and_other(panels)[0], panels[1]
        else:
            legend_on = self.ax_ = self._note_axes = _in_space(ax, style)
            self._draw_space(self.ax_, style, colours)
        if entries:
            legend_beside(style, legend_on, entries)
        return self._notes()

    def _write(self, style: Style, notes: Sequence[str]) -> None:
        if self.kind == "projections":
            super()._write(style, notes)
            return
        space: Any = self._note_axes  # its labels move as it is turned: notes stay below the box
        below = {"transform": space.transAxes, "ha": "center", "va": "top", "color": style.ink}
        space.text2D(0.5, -0.02, "\n".join(notes), fontsize=style.small, **below)

    def _draw_pair(self, ax: Axes, style: Style, pair: tuple[str, str], colours: Floats) -> None:
        apply(style, ax)
        grid(style, ax)
        for name, line in zip(pair, (ax.axvline, ax.axhline), strict=True):
            if self._limits[name][0] < 0 < self._limits[name][1]:
                line(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        x, y = (self._rows[name].to_numpy()[self._mixed] for name in pair)
        ax.scatter(x, y, **_dots(colours[self._mixed]), zorder=2)
        ax.set_xlim(padded(self._limits[pair[0]]))
        ax.set_ylim(padded(self._limits[pair[1]]))
        ax.set_xlabel(pair[0])
        ax.set_ylabel(pair[1])

    def _draw_space(self, ax: Any, style: Style, colours: Floats) -> None:
        # Dots beyond the limits would float outside the box, which does not clip them.
        values = self._rows[list(PARAMETERS)].to_numpy()
        ends = np.array([self._limits[name] for name in PARAMETERS])
        inside = np.all((values >= ends[:, 0]) & (values <= ends[:, 1]), axis=1)
        order = self._mixed[np.asarray(inside)[self._mixed]]
        ax.scatter(*values[order].T, **_dots(colours[order]), depthshade=False)
        for name, axis in zip(PARAMETERS, "xyz", strict=True):
            getattr(ax, f"{axis}axis").set_major_locator(MaxNLocator(nbins=5))
            getattr(ax, f"set_{axis}lim")(padded(self._limits[name]))
            getattr(ax, f"set_{axis}label")(name, fontsize=style.font_size, color=style.ink)

    def _notes(self) -> list[str]:
        notes, errors = [], []
        for name, (low, high) in self._limits.items():
            values = self._rows[name].to_numpy()
            below, above = int((values < low).sum()), int((values > high).sum())
            sides = [f"{below:,} below {low:.3g}"] if below else []
            sides += [f"{above:,} above {high:.3g}"] if above else []
            if sides:
                notes.append(f"beyond the axes, {name}: {' and '.join(sides)}")
            if f"{name}_se" in self._rows:
                error = float(self._rows[f"{name}_se"].astype(float).median())
                errors += [f"{name} {error:.2g}"] if np.isfinite(error) else []
        return [*notes, *([f"median standard error: {', '.join(errors)}"] if errors else [])]


def _dots(colours: Floats) -> dict[str, Any]:
    count = len(colours)
    size = float(np.clip(260.0 / np.sqrt(max(count, 1)), 4.0, 26.0))
    return {"s": size, "c": colours, "linewidths": 0, "rasterized": count > MOST_SHAPES}


def _in_space(ax: Axes, style: Style) -> Any:
    """Return the axes itself if it has three dimensions, else one that has, on top of it."""
    space: Any = ax
    if ax.name != "3d":
        figure: Any = ax.figure
        spec = ax.get_subplotspec()
        ax.set_axis_off()
        look = {"projection": "3d", "facecolor": style.paper}
        # Grid lines take their colour from the settings when the axes is made.
        with mpl.rc_context({"grid.color": style.faint}):
            if spec is None:
                space = figure.add_axes(ax.get_position().bounds, **look)
            else:
                space = figure.add_subplot(spec, **look)
    space.tick_params(labelsize=style.small, labelcolor=style.ink)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.set_pane_color(style.paper)
        axis.line.set_color(style.neutral)
    return space


class ItemFitDisplay(Display):
    """Infit and outfit of each item; those that are noisier than by chance are named.

    The frame has one row per item, which is its index: `infit`, `outfit` and `s_x2_p_adjusted`,
    which may be NaN. With `noise_p_adjusted`, items whose adjusted p-value is below 0.05 are named:
    how far chance reaches depends on each item. Otherwise those outside of 0.7 to 1.3 are, a range
    that is then shaded. Items whose `s_x2_p_adjusted` is below 0.05 are named as well. If there are
    many, it is the farthest.
    """

    numbers = ("infit", "outfit", "s_x2_p_adjusted")
    optional = ("noise_p_adjusted",)
    needed = ("infit", "outfit")
    infinite = True
    noun, without = "item", "infit and outfit"
    inches = (7.2, 4.8)
    x_label = "infit (surprises near the difficulty)"
    y_label = "outfit (surprises anywhere)"

    def _prepare(self) -> None:
        squares = self._rows[["infit", "outfit"]].to_numpy()
        self._points = np.clip(squares, LEAST, MOST)
        self._clipped = int((squares != self._points).any(axis=1).sum())
        self._tested = set(self.optional) <= set(self._rows.columns)
        if self._tested:
            self._outside = self._rows["noise_p_adjusted"].to_numpy() < LEVEL
        else:
            beyond = (squares < BAND[0]) | (squares > BAND[1])
            self._outside = np.asarray(beyond.any(axis=1))
        self._wrong = self._rows["s_x2_p_adjusted"].to_numpy() < LEVEL

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        low = min(float(self._points.min()), 0.6) / 1.06
        high = max(float(self._points.max()), 1.5) * 1.06
        ax.set_xscale("log")
        ax.set_yscale("log")
        for limits, ticks in ((ax.set_xlim, ax.set_xticks), (ax.set_ylim, ax.set_yticks)):
            limits(low, high)
            shown = [tick for tick in TICKS if low <= tick <= high]
            ticks(shown, [f"{tick:g}" for tick in shown])
            ticks([], minor=True)
        if not self._tested:  # otherwise each item has a range of its own
            shade: dict[str, Any] = {"color": style.faint, "alpha": 0.6, "zorder": 1}
            side = BAND[1] - BAND[0]
            ax.add_patch(Rectangle((BAND[0], BAND[0]), side, side, **shade))
        for line in (ax.axhline, ax.axvline):
            line(1.0, color=style.neutral, linewidth=0.8, zorder=2)
        look: dict[str, Any] = {"alpha": 0.75, "linewidth": 0, "zorder": 3}
        look["s"] = 24.0 if len(self._points) <= MANY_ITEMS else 7.0
        for rows, colour, marker in (
            (~self._outside & ~self._wrong, style.neutral, "o"),
            (self._outside & ~self._wrong, style.positive, "o"),
            (self._wrong, style.negative, "D"),
        ):
            x, y = self._points[rows].T
            dots = ax.scatter(x, y, c=colour, marker=marker, **look)
            names = zip(self._rows.index[rows], x, y, strict=True)
            say_on_hover(dots, [f"{name}: infit {a:.2f}, outfit {b:.2f}" for name, a, b in names])
        # A departure from the curve counts as much as a mean square at the edge of the square.
        far = np.abs(np.log(self._points)).max(axis=1) / np.log(BAND[1]) + self._wrong
        named = np.flatnonzero(self._outside | self._wrong)
        most = max(1, min(MOST_ITEMS, lines_that_fit(ax, style.small) - 1))
        named = named[np.argsort(-far[named], kind="stable")][:most]
        colours = np.where(self._wrong[named], style.negative, style.ink).tolist()
        name_points(style, ax, self._rows.index[named], self._points[named], colours, 24)
        return self._notes()

    def _notes(self) -> list[str]:
        many, rows = int(self._outside.sum()), self._rows
        if self._tested:
            tested = counted(int(rows["noise_p_adjusted"].notna().sum()), "tested item")
            note = (
                f"in colour: {many:,} of {tested} noisier than by chance, after correction for all "
                "tests; how far chance reaches depends on the item and its responses"
            )
        else:
            total = counted(len(rows), "item")
            note = f"square: {len(rows) - many:,} of {total} within 0.7 to 1.3"
        notes = [note]
        if rows["s_x2_p_adjusted"].notna().any():
            wrong = counted(int(self._wrong.sum()), "item")
            notes.append(
                f"diamond: departs from its curve, adjusted p of S-X² below 0.05 ({wrong})"
            )
        edge = f"drawn at the edge: {{}} beyond {LEAST:g} or {MOST:g}"
        return [*notes, *remark(edge, self._clipped, "item")]


class _RespondentPlane(Display):
    """Respondents by ability and a statistic; those in a group have a colour of their own."""

    noun = "respondent"

    def _draw_dots(
        self, ax: Axes, style: Style, points: Floats, group: Array, order: int
    ) -> list[Any]:
        look: dict[str, Any] = {"alpha": 0.6, "linewidth": 0, "zorder": order}
        look["s"] = 22.0 if len(points) <= MANY_RESPONDENTS else 6.0
        return [
            ax.scatter(*points[rows].T, color=colour, **look)
            for rows, colour in ((~group, style.positive), (group, style.negative))
        ]


class RespondentFitDisplay(_RespondentPlane):
    """Ability against the likelihood of the responses; by chance, one in twenty is below the line.

    The frame has one row per respondent, which is its index: `ability`, its `se`, and `zh`, the
    standardised log-likelihood. The least likely respondents are named, and their bar reaches
    1.96 standard errors of ability both ways.
    """

    numbers = ("ability", "se", "zh")
    needed = ("ability", "zh")
    without = "zh"
    inches = (7.2, 4.4)
    x_label, y_label = "ability", "zh (standardised log-likelihood)"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        values = self._rows[["ability", "zh"]].to_numpy()
        points = np.clip(values, -FARTHEST_ZH, FARTHEST_ZH)
        zh, below = values[:, 1], values[:, 1] < -CHANCE
        low, high = _wide_limits(points[:, 1])
        ax.set_ylim(low, high)
        ax.axhspan(low, -CHANCE, color=style.faint, alpha=0.6, zorder=1)
        ax.axhline(-CHANCE, color=style.neutral, linewidth=0.8, zorder=2)
        groups = self._draw_dots(ax, style, points, below, 3)
        for rows, dots in zip((~below, below), groups, strict=True):
            names = zip(self._rows.index[rows], *points[rows].T, strict=True)
            say_on_hover(dots, [f"{name}: ability {a:.2f}, zh {b:.2f}" for name, a, b in names])
        fit = max(1, min(MOST_RESPONDENTS, lines_that_fit(ax, style.small) - 1))
        unlikely = np.flatnonzero(below)
        named = unlikely[np.argsort(zh[unlikely], kind="stable")][:fit]
        errors = self._rows["se"].to_numpy()
        x, reach = points[named, 0], 1.96 * errors[named]
        reach = np.where(np.isfinite(reach), reach, 0.0)
        ends = np.clip(np.stack([x - reach, x + reach]), -FARTHEST_ZH, FARTHEST_ZH)
        ax.set_xlim(_wide_limits(np.append(points[:, 0], ends), least=2.0))
        ax.hlines(points[named, 1], *ends, color=style.negative, alpha=0.5)
        width = name_width(ax, style, 24)
        texts = [f"{label(self._rows.index[k], width)}  {zh[k]:.2f}" for k in named]
        names_beside(style, ax, texts, points[named], [style.ink] * len(named))
        many, clipped = int(below.sum()), int((np.abs(values) > FARTHEST_ZH).any(axis=1).sum())
        share = f"{many:,} of {counted(len(values), self.noun)} ({float(below.mean()):.1%})"
        notes = [f"shaded: {share} below {-CHANCE:g}; up to 5% are expected by chance"]
        notes += remark(f"drawn at the edge: {{}} beyond ±{FARTHEST_ZH:g}", clipped, self.noun)
        if many and np.isfinite(errors).any():
            middle = np.median(errors[np.isfinite(errors)])
            notes.append(f"bar: ±1.96 standard errors of ability (median {middle:.2g})")
        return notes


def _wide_limits(values: Floats, least: float = 3.0) -> tuple[float, float]:
    """Return limits for every point, and at least `least` both ways."""
    low, high = min(float(values.min()), -least), max(float(values.max()), least)
    return low - 0.04 * (high - low), high + 0.04 * (high - low)


class ExcessDisplay(_RespondentPlane):
    """Right responses to hard items beyond expectation, in standard deviations, by ability.

    The frame has one row per respondent, which is its index: `ability` and `excess_z`. With `hint`,
    those that exceed chance are coloured and named; otherwise the three highest are named.
    By chance, one in twenty lies above the dashed line.
    """

    numbers = ("ability", "excess_z")
    without = "enough hard items"
    inches = (7.6, 4.4)
    x_label, y_label = "ability", "excess on hard items (standard deviations)"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        points, hint = self._rows[list(self.numbers)].to_numpy(), flags(self._rows, "hint")
        excess = points[:, 1].copy()
        points[:, 1] = np.clip(excess, -FARTHEST_EXCESS, FARTHEST_EXCESS)
        line: dict[str, Any] = {"color": style.neutral, "zorder": 1}
        ax.axhline(0.0, linewidth=0.9, **line)
        ax.axhline(CHANCE, linewidth=0.8, linestyle=DASHED, **line)
        self._draw_dots(ax, style, points, hint, 1)
        low, high = ends_of(points[:, 1])
        ax.set_ylim(min(low, -3.0) - 0.3, max(high, 3.0) + 0.3)
        ax.set_xlim(ax.get_xlim())
        fit = lines_that_fit(ax, style.small) - 1
        most = max(1, min(int(hint.sum()) or 3, MOST_RESPONDENTS, fit))
        named = np.lexsort((-excess, ~hint))[:most]
        width = name_width(ax, style, 26)
        texts = [f"{label(self._rows.index[k], width)}  {excess[k]:+.1f}" for k in named]
        colours = [style.negative if hint[k] else style.ink for k in named]
        names_beside(style, ax, texts, points[named], colours)
        far = int((np.abs(excess) > FARTHEST_EXCESS).sum())
        total = counted(len(points), self.noun)
        return [
            f"in colour: {int(hint.sum()):,} of {total} beyond chance (no proof)",
            "dashed: one in twenty is above by chance",
            *remark(f"drawn at the edge: {{}} beyond ±{FARTHEST_EXCESS:g}", far, self.noun),
        ]


class InstanceSpaceDisplay(Display):
    """Problems by two directions of their features, coloured by difficulty and by who leads.

    The frame has one row per problem: its place `x` and `y`, its `difficulty`, and the `leader`,
    the algorithm that does best on it. Of more than eight leaders, the seven with most problems
    have a colour each.
    """

    numbers, labels = ("x", "y", "difficulty"), ("leader",)
    noun, without = "problem", "a place or a difficulty"
    inches = (10.4, 4.2)
    x_label, y_label = "first direction of features", "second direction of features"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        hard, best = divided(ax, 2)
        for panel, title in ((hard, "difficulty of the problem"), (best, "best algorithm")):
            self._dress(panel, style)
            panel.set_title(title, fontsize=1.1 * style.font_size, color=style.ink)
        best.set_ylabel("")
        many = len(self._rows) > MOST_SHAPES
        look: dict[str, Any] = {"s": 12.0, "linewidth": 0, "alpha": 0.85, "zorder": 3}
        look["rasterized"] = many
        x, y, difficulty = (self._rows[name].to_numpy() for name in self.numbers)
        low, high = np.quantile(difficulty, [0.02, 0.98])  # a few far problems bleach no others
        ends: dict[str, Any] = {"vmin": low, "vmax": high} if low < high else {}
        dots = hard.scatter(x, y, c=difficulty, cmap="viridis", **ends, **look)
        colour_bar(style, hard, dots, extend="both" if ends else "neither", label="difficulty")
        leaders = self._rows["leader"]
        colours = colours_for(style, whole=leaders.nunique(dropna=False) <= MOST_COLOURS)
        shades = zip([*colours, style.neutral], largest_groups(leaders, len(colours)), strict=False)
        groups = list(shades)
        width, entries = name_width(best, style, 24), []
        for colour, (name, rows) in groups:
            handle = legend_handle(color=colour, marker="o", linestyle="", markersize=4)
            entries.append((handle, f"{label(name, width)} ({len(rows):,})"))
        for colour, (_, rows) in groups[::-1]:
            best.scatter(x[rows], y[rows], color=colour, **look)
        legend_beside(style, best, entries)
        return ["near problems have similar features, as far as these matter to performance"]

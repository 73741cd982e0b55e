"""ItemHealth, ItemSpace, Fit, InstanceSpace.

Planes of item parameters: problems of items, and items two parameters at a time.

Planes of fit: items and respondents whose responses are surprising, named beside the axes.

Problems in a plane of their features: how hard each is, and who leads there.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, remark
from ogive.results.plots.marks import (
    MOST_COLOURS,
    MOST_GROUPS,
    colours_for,
    divided,
    group_colours,
    largest_groups,
    outer_and_other,
    padded,
    robust_limits,
)
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

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
NOMINAL = tuple(MARKS)[3:]  # answered alike by all
SOUND = "no problem"
NAMED = 3  # kinds of problems whose items are named
MOST_NAMES = 10
FARTHEST = 6.0  # as in tables: a difficulty beyond is one of a flat curve
ASIDE = 0.05  # share of the height by which items without a discrimination lie below the others
MANY = 500  # more dots are drawn small
PARAMETERS = ("difficulty", "discrimination", "guessing")


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
        self._kind = np.array([_kind(str(words)) for words in self._rows["problems"]])
        values = self._rows[list(self.numbers)].to_numpy()
        self._limits = self._ends(values)
        ends = np.array(self._limits)
        self._points = np.clip(values, ends[:, 0], ends[:, 1])
        self._aside = np.isnan(values[:, 1])
        self._far = int((self._points != values)[~self._aside].any(axis=1).sum())
        low, high = self._limits[1]
        self._line = low - ASIDE * (high - low)
        if self._aside.any():
            self._points[self._aside, 1] = self._line - ASIDE * (high - low)
            self._limits[1] = (float(self._points[self._aside, 1].min()), high)

    def _ends(self, values: Floats) -> list[tuple[float, float]]:
        """Return the limits of both axes, for named items too unless they are as good as flat."""
        named = np.isin(self._kind, list(MARKS)[:NAMED])
        limits = []
        for column, farthest in zip(values.T, (FARTHEST, np.inf), strict=True):
            own = column[named & np.isfinite(column) & (np.abs(column) <= farthest)]
            both = np.append(own, padded(robust_limits(column), 0.0))
            limits.append((float(both.min()), float(both.max())))
        return limits

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
            handles.append(dots)
            texts.append(f"{kind} ({'; '.join([f'{int(rows.sum()):,}', *self._also(kind)])})")
        named = self._name(ax, style, colours)
        _legend_above(ax, style, handles[::-1], texts[::-1])
        notes = remark("drawn at the edge: {} far from the others", self._far, "item")
        if self._aside.any():
            ax.axhline(self._line, color=style.neutral, linewidth=0.9, zorder=1)
            ax.set_yticks([at for at in ax.get_yticks() if self._line < at <= self._limits[1][1]])
            notes += remark(
                "below the line: {} without a discrimination", self._aside.sum(), "item"
            )
        grave = int(np.isin(self._kind, list(MARKS)[:NAMED]).sum())
        if 0 < named < grave:
            notes.append(f"named: {named} of {grave:,} with a mark, the gravest first")
        if named and "discrimination_se" in self._rows:
            middle = self._rows["discrimination_se"].astype(float).median()
            notes.append(f"bar: ±1.96 standard errors of discrimination (median {middle:.2g})")
        return notes

    def _also(self, kind: str) -> list[str]:
        """Return how many items with the mark of a grave problem all or none solved as well."""
        words = self._rows["problems"].astype(str)[self._kind == kind]
        counts = {other: int(words.str.contains(other).sum()) for other in NOMINAL}
        return [f"{n:,} {other}" for other, n in counts.items() if n and kind not in NOMINAL]

    def _named(self, lines: int) -> Array:
        """Return positions of the items to name, the gravest problems first."""
        places = {kind: place for place, kind in enumerate(MARKS)}
        ranks = np.array([places.get(kind, len(MARKS)) for kind in self._kind])
        slope = self._rows["discrimination"].to_numpy()
        order = np.lexsort((slope, -self._evidence(), ranks))
        return order[ranks[order] < NAMED][: max(1, min(MOST_NAMES, lines - 7))]

    def _evidence(self) -> Array:
        """Return how grave each problem is: by what contradicts a key, if that is known."""
        if "contradiction" not in self._rows:
            return np.zeros(len(self._rows))
        return self._rows["contradiction"].fillna(0.0).to_numpy(float)

    def _name(self, ax: Axes, style: Style, colours: dict[str, str]) -> int:
        """Name items with a problem, and draw their bars; return how many are named."""
        rows = self._named(lines_that_fit(ax, style.small))
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


def _kind(words: str) -> str:
    return next((kind for kind in MARKS if kind in words), SOUND)


def _legend_above(ax: Axes, style: Style, handles: list[Artist], texts: list[str]) -> None:
    """Draw a legend above the axes, away from the names beside it."""
    room = 72.0 * ax.get_window_extent().width / ax.figure.dpi
    columns = int(np.clip(room // max(legend_width(style, texts), 1.0), 1, 3))
    ax.legend(
        handles,
        texts,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.01),
        ncols=columns,
        borderaxespad=0.0,
        frameon=False,
        fontsize=style.small,
        labelcolor=style.ink,
    )


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

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        limits = {name: _near_limits(name, self._rows[name].to_numpy()) for name in PARAMETERS}
        colours, handles, texts = self._coloured(ax, style)
        if self.kind == "projections":
            panels = divided(ax, 3)
            for panel, pair in zip(panels, combinations(PARAMETERS, 2), strict=True):
                self._draw_pair(panel, style, pair, limits, colours)
            legend_on, self._foot = outer_and_other(panels)[0], panels[1]
        else:
            legend_on = self.ax_ = self._foot = _in_space(ax, style)
            self._draw_space(self.ax_, style, limits, colours)
        if self.group is not None:
            legend_beside(style, legend_on, handles, texts)
        return self._notes(limits)

    def _write(self, style: Style, notes: Sequence[str]) -> None:
        if self.kind == "projections":
            super()._write(style, notes)
            return
        space: Any = self._foot  # its labels move as it is turned: notes are placed by the box
        below = {"transform": space.transAxes, "ha": "center", "va": "top", "color": style.ink}
        space.text2D(0.5, -0.02, "\n".join(notes), fontsize=style.small, **below)

    def _coloured(self, ax: Axes, style: Style) -> tuple[Floats, list[Artist], list[str]]:
        """Return a colour for each item, and handles and texts of a legend."""
        from matplotlib.colors import to_rgba

        count = len(self._rows)
        alpha = float(np.clip(9.0 / np.sqrt(count), 0.3, 0.8))
        colours = np.tile(to_rgba(style.positive, alpha), (count, 1))
        handles: list[Artist] = []
        texts: list[str] = []
        groups = [] if self.group is None else largest_groups(self._rows[self.group])
        width = min(24, name_width(ax, style))
        for colour, (name, places) in zip(group_colours(style, MOST_GROUPS), groups, strict=False):
            colours[places] = to_rgba(colour, alpha)
            handles.append(legend_handle(color=colour, marker="o", linestyle="", markersize=5))
            texts.append(f"{label(name, width)}\n({len(places):,})")
        return colours, handles, texts

    def _draw_pair(
        self,
        ax: Axes,
        style: Style,
        pair: tuple[str, str],
        limits: dict[str, tuple[float, float]],
        colours: Floats,
    ) -> None:
        apply(style, ax)
        grid(style, ax)
        for name, line in zip(pair, (ax.axvline, ax.axhline), strict=True):
            if limits[name][0] < 0 < limits[name][1]:
                line(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        order = _mixed(len(self._rows))
        across, up = (self._rows[name].to_numpy()[order] for name in pair)
        ax.scatter(across, up, **_dots(colours[order]), zorder=2)
        ax.set_xlim(padded(limits[pair[0]]))
        ax.set_ylim(padded(limits[pair[1]]))
        ax.set_xlabel(pair[0])
        ax.set_ylabel(pair[1])

    def _draw_space(
        self, ax: Any, style: Style, limits: dict[str, tuple[float, float]], colours: Floats
    ) -> None:
        from matplotlib.ticker import MaxNLocator

        # Dots beyond the limits would float outside the box, which does not clip them.
        values = self._rows[list(PARAMETERS)].to_numpy()
        ends = np.array([limits[name] for name in PARAMETERS])
        inside = np.all((values >= ends[:, 0]) & (values <= ends[:, 1]), axis=1)
        order = _mixed(len(values))
        order = order[np.asarray(inside)[order]]
        ax.scatter(*values[order].T, **_dots(colours[order]), depthshade=False)
        for name, axis in zip(PARAMETERS, "xyz", strict=True):
            getattr(ax, f"{axis}axis").set_major_locator(MaxNLocator(nbins=5))
            getattr(ax, f"set_{axis}lim")(padded(limits[name]))
            getattr(ax, f"set_{axis}label")(name, fontsize=style.font_size, color=style.ink)

    def _notes(self, limits: dict[str, tuple[float, float]]) -> list[str]:
        notes, errors = [], []
        for name in PARAMETERS:
            values, (low, high) = self._rows[name].to_numpy(), limits[name]
            below, above = int((values < low).sum()), int((values > high).sum())
            sides = [f"{below:,} below {low:.3g}"] if below else []
            sides += [f"{above:,} above {high:.3g}"] if above else []
            if sides:
                notes.append(f"beyond the axes, {name}: {' and '.join(sides)}")
            if f"{name}_se" in self._rows:
                error = float(self._rows[f"{name}_se"].astype(float).median())
                errors += [f"{name} {error:.2g}"] if np.isfinite(error) else []
        return [*notes, *([f"median standard error: {', '.join(errors)}"] if errors else [])]


def _near_limits(name: str, values: Floats) -> tuple[float, float]:
    """Return the ends of the values that are not far away; guessing, a probability, never is."""
    if name == "guessing":
        return min(0.0, float(values.min())), max(0.1, float(values.max()))
    low, high = robust_limits(values)
    near = values[(values >= low) & (values <= high)]
    return float(near.min()), float(near.max())


def _mixed(count: int) -> Array:
    """Return a fixed permutation: drawn group by group, the last would hide the others."""
    return np.random.default_rng(0).permutation(count)


def _dots(colours: Floats) -> dict[str, Any]:
    count = len(colours)
    size = float(np.clip(260.0 / np.sqrt(max(count, 1)), 4.0, 26.0))
    return {"s": size, "c": colours, "linewidths": 0, "rasterized": count > MOST_SHAPES}


def _in_space(ax: Axes, style: Style) -> Any:
    """Return the axes itself if it has three dimensions, else one that has, on top of it."""
    import matplotlib as mpl

    space: Any = ax
    if ax.name != "3d":
        figure: Any = ax.figure
        place = ax.get_subplotspec()
        ax.set_axis_off()
        look = {"projection": "3d", "facecolor": style.paper}
        # Grid lines take their colour from the settings when the axes is made.
        with mpl.rc_context({"grid.color": style.faint}):
            space = (
                figure.add_axes(ax.get_position().bounds, **look)
                if place is None
                else figure.add_subplot(place, **look)
            )
    space.tick_params(labelsize=style.small, labelcolor=style.ink)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.set_pane_color(style.paper)
        axis.line.set_color(style.neutral)
    return space


BAND = (0.7, 1.3)
LEVEL = 0.05
MOST_ITEMS = 12  # that are named
MANY_ITEMS = 200  # more points are drawn small
# Beyond these, a mean square only says "very far"; drawn to scale it would hide the rest.
LEAST, MOST = 0.25, 4.0
TICKS = (0.25, 0.5, 0.7, 1.0, 1.3, 2.0, 4.0)
FIT_PLANES_MOST_NAMES = 8
FIT_PLANES_MANY = 300
UNLIKELY = -1.645
FARTHEST_ZH, FARTHEST_EXCESS = 6.0, 8.0  # beyond, a value only says "very far"
REFERENCE = 1.645


class FitDisplay(Display):
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
        from matplotlib.patches import Rectangle

        self._scale(ax)
        if not self._tested:  # otherwise each item has a range of its own
            look_of_range: dict[str, Any] = {"color": style.faint, "alpha": 0.6, "zorder": 1}
            side = BAND[1] - BAND[0]
            ax.add_patch(Rectangle((BAND[0], BAND[0]), side, side, **look_of_range))
        for line in (ax.axhline, ax.axvline):
            line(1.0, color=style.neutral, linewidth=0.8, zorder=2)
        size = 24.0 if len(self._points) <= MANY_ITEMS else 7.0
        for rows, colour, marker in (
            (~self._outside & ~self._wrong, style.neutral, "o"),
            (self._outside & ~self._wrong, style.positive, "o"),
            (self._wrong, style.negative, "D"),
        ):
            x, y = self._points[rows].T
            look: dict[str, Any] = {"alpha": 0.75, "linewidth": 0, "zorder": 3}
            dots = ax.scatter(x, y, s=size, c=colour, marker=marker, **look)
            names = self._rows.index[rows]
            texts = (
                f"{name}: infit {a:.2f}, outfit {b:.2f}"
                for name, a, b in zip(names, x, y, strict=True)
            )
            say_on_hover(dots, list(texts))
        self._name(ax, style)
        return self._notes()

    def _scale(self, ax: Axes) -> None:
        """Set logarithmic axes that show every point and the whole range."""
        low = min(float(self._points.min()), 0.6) / 1.06
        high = max(float(self._points.max()), 1.5) * 1.06
        ax.set_xscale("log")
        ax.set_yscale("log")
        for limits, ticks in ((ax.set_xlim, ax.set_xticks), (ax.set_ylim, ax.set_yticks)):
            limits(low, high)
            shown = [tick for tick in TICKS if low <= tick <= high]
            ticks(shown, [f"{tick:g}" for tick in shown])
            ticks([], minor=True)

    def _name(self, ax: Axes, style: Style) -> None:
        """Name the farthest items."""
        # A departure from the curve counts as much as a mean square at the edge of the square.
        far = np.abs(np.log(self._points)).max(axis=1) / np.log(BAND[1]) + self._wrong
        rows = np.flatnonzero(self._outside | self._wrong)
        fit = lines_that_fit(ax, style.small) - 1
        rows = rows[np.argsort(-far[rows], kind="stable")][: max(1, min(MOST_ITEMS, fit))]
        colours = np.where(self._wrong[rows], style.negative, style.ink).tolist()
        name_points(style, ax, self._rows.index[rows], self._points[rows], colours, 24)

    def _notes(self) -> list[str]:
        notes = [self._said_of_range()]
        if self._rows["s_x2_p_adjusted"].notna().any():
            wrong = counted(int(self._wrong.sum()), "item")
            notes.append(
                f"diamond: departs from its curve, adjusted p of S-X² below 0.05 ({wrong})"
            )
        edge = f"drawn at the edge: {{}} beyond {LEAST:g} or {MOST:g}"
        return [*notes, *remark(edge, self._clipped, "item")]

    def _said_of_range(self) -> str:
        many = int(self._outside.sum())
        if not self._tested:
            total = counted(len(self._rows), "item")
            return f"square: {len(self._rows) - many:,} of {total} within 0.7 to 1.3"
        tested = counted(int(self._rows["noise_p_adjusted"].notna().sum()), "tested item")
        return (
            f"in colour: {many:,} of {tested} noisier than by chance, after correction for all "
            "tests; how far chance reaches depends on the item and its responses"
        )


class RespondentFitDisplay(Display):
    """Ability against the likelihood of the responses; by chance, one in twenty is below the line.

    The frame has one row per respondent, which is its index: `ability`, its `se`, and `zh`, the
    standardised log-likelihood. The least likely respondents are named, and their bar reaches
    1.96 standard errors of ability both ways.
    """

    numbers = ("ability", "se", "zh")
    needed = ("ability", "zh")
    noun, without = "respondent", "zh"
    inches = (7.2, 4.4)
    x_label, y_label = "ability", "zh (standardised log-likelihood)"

    def _prepare(self) -> None:
        points = self._rows[["ability", "zh"]].to_numpy()
        self._points = np.clip(points, -FARTHEST_ZH, FARTHEST_ZH)
        self._clipped = int((np.abs(points) > FARTHEST_ZH).any(axis=1).sum())
        self._below = self._rows["zh"].to_numpy() < UNLIKELY

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        size = 22.0 if len(self._points) <= FIT_PLANES_MANY else 6.0
        low, high = _wide_limits(self._points[:, 1])
        ax.set_ylim(low, high)
        ax.axhspan(low, UNLIKELY, color=style.faint, alpha=0.6, zorder=1)
        ax.axhline(UNLIKELY, color=style.neutral, linewidth=0.8, zorder=2)
        for rows, colour in ((~self._below, style.positive), (self._below, style.negative)):
            x, y = self._points[rows].T
            dots = ax.scatter(x, y, s=size, color=colour, alpha=0.6, linewidth=0, zorder=3)
            names = self._rows.index[rows]
            texts = [
                f"{name}: ability {a:.2f}, zh {b:.2f}"
                for name, a, b in zip(names, x, y, strict=True)
            ]
            say_on_hover(dots, texts)
        named = self._named(lines_that_fit(ax, style.small))
        ends = self._bars(named)
        ax.set_xlim(_wide_limits(np.append(self._points[:, 0], ends), least=2.0))
        ax.hlines(self._points[named, 1], *ends, color=style.negative, alpha=0.5)
        width, values = min(24, name_width(ax, style)), self._rows["zh"]
        texts = [f"{label(self._rows.index[k], width)}  {values.iloc[k]:.2f}" for k in named]
        names_beside(style, ax, texts, self._points[named], [style.ink] * len(named))
        return self._notes()

    def _named(self, lines: int) -> Array:
        """Return positions of the least likely respondents, as many as there is room to name."""
        rows = np.flatnonzero(self._below)
        order = np.argsort(self._rows["zh"].to_numpy()[rows], kind="stable")
        return rows[order[: max(1, min(FIT_PLANES_MOST_NAMES, lines - 1))]]

    def _bars(self, rows: Array) -> Floats:
        """Return both ends of the bars; without a standard error, the point."""
        x, reach = self._points[rows, 0], 1.96 * self._rows["se"].to_numpy()[rows]
        reach = np.where(np.isfinite(reach), reach, 0.0)
        ends: Floats = np.clip(np.stack([x - reach, x + reach]), -FARTHEST_ZH, FARTHEST_ZH)
        return ends

    def _notes(self) -> list[str]:
        many, share = int(self._below.sum()), float(self._below.mean())
        of_all = f"{many:,} of {counted(len(self._rows), 'respondent')} ({share:.1%})"
        notes = [f"shaded: {of_all} below {UNLIKELY:g}; up to 5% are expected by chance"]
        notes += remark(
            f"drawn at the edge: {{}} beyond ±{FARTHEST_ZH:g}", self._clipped, "respondent"
        )
        errors = self._rows["se"].to_numpy()
        if many and np.isfinite(errors).any():
            middle = np.median(errors[np.isfinite(errors)])
            notes.append(f"bar: ±1.96 standard errors of ability (median {middle:.2g})")
        return notes


def _wide_limits(values: Floats, least: float = 3.0) -> tuple[float, float]:
    """Return limits for every point, and at least `least` both ways."""
    low, high = min(float(values.min()), -least), max(float(values.max()), least)
    return low - 0.04 * (high - low), high + 0.04 * (high - low)


class ExcessDisplay(Display):
    """Right responses to hard items beyond expectation, in standard deviations, by ability.

    The frame has one row per respondent, which is its index: `ability` and `excess_z`. With `hint`,
    those that exceed chance are coloured and named; otherwise the three highest are named.
    By chance, one in twenty lies above the dashed line.
    """

    numbers = ("ability", "excess_z")
    noun, without = "respondent", "enough hard items"
    inches = (7.6, 4.4)
    x_label, y_label = "ability", "excess on hard items (standard deviations)"

    def _prepare(self) -> None:
        self._points = self._rows[list(self.numbers)].to_numpy()
        self._points[:, 1] = np.clip(self._points[:, 1], -FARTHEST_EXCESS, FARTHEST_EXCESS)
        self._hint = flags(self._rows, "hint")

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        size = 22.0 if len(self._points) <= FIT_PLANES_MANY else 6.0
        line: dict[str, Any] = {"color": style.neutral, "zorder": 1}
        ax.axhline(0.0, linewidth=0.9, **line)
        ax.axhline(REFERENCE, linewidth=0.8, linestyle=DASHED, **line)
        for rows, colour in ((~self._hint, style.positive), (self._hint, style.negative)):
            x, y = self._points[rows].T
            ax.scatter(x, y, s=size, color=colour, alpha=0.6, linewidth=0)
        low, high = self._points[:, 1].min(), self._points[:, 1].max()
        ax.set_ylim(min(float(low), -3.0) - 0.3, max(float(high), 3.0) + 0.3)
        ax.set_xlim(ax.get_xlim())
        self._name(ax, style)
        hints, total = int(self._hint.sum()), counted(len(self._rows), "respondent")
        far = int((np.abs(self._rows["excess_z"]) > FARTHEST_EXCESS).sum())
        edge = f"drawn at the edge: {{}} beyond ±{FARTHEST_EXCESS:g}"
        return [
            f"in colour: {hints:,} of {total} beyond chance (no proof)",
            "dashed: one in twenty is above by chance",
            *remark(edge, far, "respondent"),
        ]

    def _name(self, ax: Axes, style: Style) -> None:
        values = self._rows["excess_z"].to_numpy()
        order = np.lexsort((-values, ~self._hint))
        most = int(self._hint.sum()) or 3
        fit = lines_that_fit(ax, style.small) - 1
        rows = order[: max(1, min(most, FIT_PLANES_MOST_NAMES, fit))]
        width = min(26, name_width(ax, style))
        texts = [f"{label(self._rows.index[k], width)}  {values[k]:+.1f}" for k in rows]
        colours = [style.negative if self._hint[row] else style.ink for row in rows]
        names_beside(style, ax, texts, self._points[rows], colours)


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
        hard, who = divided(ax, 2)
        for panel, name in ((hard, "difficulty of the problem"), (who, "best algorithm")):
            self._dress(panel, style)
            panel.set_title(name, fontsize=1.1 * style.font_size, color=style.ink)
        who.set_ylabel("")
        self._draw_difficulty(hard, style)
        self._draw_leaders(who, style)
        return ["near problems have similar features, as far as these matter to performance"]

    def _look(self) -> dict[str, Any]:
        many = len(self._rows) > MOST_SHAPES
        return {"s": 12.0, "linewidth": 0, "alpha": 0.85, "zorder": 3, "rasterized": many}

    def _draw_difficulty(self, ax: Axes, style: Style) -> None:
        x, y, difficulty = (self._rows[name].to_numpy() for name in self.numbers)
        low, high = np.quantile(difficulty, [0.02, 0.98])  # a few far problems bleach no others
        ends: dict[str, Any] = {"vmin": low, "vmax": high} if low < high else {}
        points = ax.scatter(x, y, c=difficulty, cmap="viridis", **ends, **self._look())
        colour_bar(style, ax, points, extend="both" if ends else "neither", label="difficulty")

    def _draw_leaders(self, ax: Axes, style: Style) -> None:
        count = self._rows["leader"].nunique(dropna=False)
        colours = colours_for(style, whole=count <= MOST_COLOURS)
        groups = largest_groups(self._rows["leader"], len(colours))
        shades = [*colours, style.neutral]
        points = self._rows[["x", "y"]].to_numpy()
        width = min(24, name_width(ax, style))
        handles, texts = [], []
        for colour, (name, rows) in zip(shades, groups, strict=False):
            handles.append(legend_handle(color=colour, marker="o", linestyle="", markersize=4))
            texts.append(f"{label(name, width)} ({len(rows):,})")
        for colour, (_, rows) in list(zip(shades, groups, strict=False))[::-1]:
            ax.scatter(*points[rows].T, color=colour, **self._look())
        legend_beside(style, ax, handles, texts)

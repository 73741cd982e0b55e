"""Planes of item parameters: problems of items, and items two parameters at a time."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.displays.display import Display, remark
from ogive.displays.grouped_rows import MOST_GROUPS, group_colours, largest_groups
from ogive.displays.panel_grid import divided, outer_and_other
from ogive.displays.style import (
    MOST_SHAPES,
    Style,
    apply,
    grid,
    label,
    legend_beside,
    legend_handle,
    legend_width,
    lines_that_fit,
    name_points,
    name_width,
    say_on_hover,
)
from ogive.errors import InputError
from ogive.numerics.robust import padded, robust_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Array, Floats

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
        """How grave each problem is: by what contradicts a key, if that is known."""
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

"""Interval bars, highlights, groups, densities, panel grid.

Which of many lines are highlighted in colour; the others are grey.

Rows of a frame by name: lines, the largest groups, and classes with their limits.

Smoothed counts: densities of values, violins, and many curves as one picture.

Panels: many on one axes if they share their scales, or several axes in the place of one.

A hundred axes take seconds to lay out. Panels that share their scales need only one: each is a unit
square of it, and what is drawn in a panel is moved there.

Limits that a few far values cannot stretch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._validation import is_number
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import tidy
from ogive.results.plots.theme import Style, label, legend_handle, write_off
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.stats.array_backend import Array


MOST_COLOURS = 8
DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1)),
    (0, (6, 1, 1, 1)),
    (0, (4, 1, 1, 1, 1, 1)),
)


@dataclass(frozen=True)
class Look:
    """How the line at a position of a list is drawn."""

    place: int
    colour: str
    dashes: Any


def wanted(
    owner: str, names: Sequence[Hashable], highlight: Sequence[Hashable] | str | None
) -> list[int] | None:
    """Return the positions of the names to highlight; an InputError names one that is missing."""
    if highlight is None:
        return None
    if isinstance(highlight, str) or not isinstance(highlight, Iterable):
        highlight = [highlight]
    asked = list(dict.fromkeys(highlight))
    places = {name: place for place, name in enumerate(names)}
    for name in asked:
        if name not in places:
            there = ", ".join(repr(label(one)) for one in names[:12])
            raise InputError(
                f"{owner} cannot highlight {label(name)!r}: the frame has no such algorithm. "
                f"It has: {there}{', ...' if len(names) > 12 else ''}."
            )
    return [places[name] for name in asked]


def looks(
    style: Style,
    ranked: Sequence[int],
    given: Sequence[int] | None,
    order: Sequence[int] | None = None,
) -> list[Look]:
    """Return colours and dashes of the highlighted lines: the given ones, or the first of `ranked`.

    Up to eight lines each have a colour; of more, the first seven, and the rest are grey.
    `order` holds all positions in the order of their colours, if another figure has set it.
    """
    shown = MOST_COLOURS if given is None else len(given)
    colours = colours_for(style, whole=len(ranked) <= shown)
    places = ranked[: len(colours)] if given is None else given
    ranks = {
        place: k for k, place in enumerate(places if given is not None or order is None else order)
    }
    return [
        Look(
            place,
            colours[ranks[place] % len(colours)],
            DASHES[ranks[place] // len(colours) % len(DASHES)],
        )
        for place in places
    ]


def colours_for(style: Style, *, whole: bool) -> tuple[str, ...]:
    """Return the palette; if it is too short for the `whole`, without the grey of the rest."""
    colours = style.palette[:MOST_COLOURS]
    if whole:
        return colours
    return tuple(colour for colour in colours if colour != style.neutral) or colours


def in_order(names: Sequence[Hashable], order: Sequence[Hashable] | None) -> list[int] | None:
    """Return the positions of the names in the given order; names that it lacks come last."""
    if order is None:
        return None
    ranks = {name: rank for rank, name in enumerate(order)}
    return sorted(range(len(names)), key=lambda place: ranks.get(names[place], len(ranks)))


def draw_rest(ax: Axes, style: Style, lines: Sequence[Floats]) -> None:
    """Draw the lines (n_points, 2) that are not highlighted, thin and grey."""
    from matplotlib.collections import LineCollection

    if not lines:
        return
    ax.add_collection(
        LineCollection(list(lines), colors=style.neutral, linewidths=0.8, alpha=0.45, zorder=1.5),
        autolim=False,
    )


def draw_curve(ax: Axes, look: Look, curve: Floats, width: float, *, banded: bool = True) -> None:
    """Draw a highlighted line with its band; `curve` (n_points, 4) has x, y, low and high."""
    x, y, low, high = curve.T
    alone = len(x) == 1  # one point would be invisible without a marker
    if alone:
        ax.vlines(x, low, high, color=look.colour, alpha=0.5, zorder=2)
    elif banded:
        ax.fill_between(x, low, high, color=look.colour, alpha=0.13, linewidth=0, zorder=2)
    line = {"color": look.colour, "linestyle": look.dashes, "linewidth": width}
    ax.plot(x, y, marker="o" if alone else "", zorder=4, **line)


def legend_handles(chosen: Sequence[Look]) -> list[Artist]:
    """Return the highlighted lines as they look in a legend."""
    return [
        legend_handle(color=look.colour, linestyle=look.dashes, linewidth=1.8) for look in chosen
    ]


MOST_GROUPS = 5  # that are easy to distinguish by colour
MOST_CLASSES = 6  # with a colour each; all further classes are one group

Limits = dict[Any, tuple[float, float]]  # by class: the limit and its standard error


def lines_by_name(
    frame: pd.DataFrame, name: str, columns: Sequence[str]
) -> tuple[list[Hashable], list[Floats]]:
    """Return names in order of appearance, and the numbers of each (n_rows, n_columns).

    The rows of a line ascend by the first of the columns. Grouping with pandas would take seconds.
    """
    import pandas as pd

    codes, names = pd.factorize(frame[name].astype(object), use_na_sentinel=False)
    numbers = frame[list(columns)].to_numpy()
    order = np.lexsort((numbers[:, 0], codes))
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return list(names), np.split(numbers[order], ends[:-1])


def largest_groups(column: pd.Series, most: int = MOST_GROUPS) -> list[tuple[object, Array]]:
    """Return name and row positions of each group, largest first; beyond `most`, the rest as one.

    The name of the rest says how many groups it holds.
    """
    import pandas as pd

    codes, names = pd.factorize(column.astype(object), use_na_sentinel=False)
    sizes = np.bincount(codes, minlength=len(names))
    order = np.argsort(-sizes, kind="stable")
    found = [(names[k], np.flatnonzero(codes == k)) for k in order[:most]]
    if len(rest := order[most:]):
        found.append((counted(len(rest), "other"), np.flatnonzero(np.isin(codes, rest))))
    return found


def by_class(column: pd.Series, most: int = MOST_CLASSES) -> list[tuple[object, Array]]:
    """Return name and row positions of each class in order; of many the largest, then the rest."""
    found = largest_groups(column, most)
    return [*sorted(found[:most], key=lambda part: _place(part[0])), *found[most:]]


def group_colours(style: Style, most: int) -> tuple[str, ...]:
    """Return a colour for each of `most` groups, then the colour of the rest."""
    return (*style.palette[:most], style.neutral)


def class_name(name: object, width: int) -> str:
    """Return a class as one short line; a bare number would not say that it is a class."""
    return f"class {name:g}" if is_number(name) else label(name, width)


def counted_classes(count: int) -> str:
    """Return a number of classes in words."""
    return f"{count:,} class{'' if count == 1 else 'es'}"


def limits_by_class(owner: str, frame: pd.DataFrame, limits: Any) -> Limits:
    """Return the limit (MLC) of each class, as given or from the column `limit` of the frame.

    They are given as a mapping from class to number, or as a frame with one row per class, which is
    its index, and `mlc` and `mlc_se`. Limits that are not finite are left out.
    """
    import pandas as pd

    if limits is None:
        found = _in_columns(frame)
    elif isinstance(limits, pd.DataFrame):
        rows = tidy(limits, f"{owner}, for its limits,", ("mlc", "mlc_se"))
        pairs = zip(rows["mlc"], rows["mlc_se"], strict=True)
        found = dict(zip(rows.index, pairs, strict=True))
    elif isinstance(limits, Mapping | pd.Series):
        found = {name: (_number(owner, limit), np.nan) for name, limit in limits.items()}
    else:
        raise InputError(
            f"{owner} was given limits of type {type(limits).__name__}. Give a mapping from class "
            "to number, or a frame with one row per class and the columns 'mlc' and 'mlc_se'."
        )
    known = set(frame["class"].astype(object))
    if limits is not None and len(found) and not known & set(found):
        there = ", ".join(repr(label(name)) for name in list(known)[:12])
        raise InputError(f"{owner} was given limits for none of its classes: {there}.")
    return {name: pair for name, pair in found.items() if np.isfinite(pair[0])}


def _in_columns(frame: pd.DataFrame) -> Limits:
    """Return the first limit of each class, with its standard error if known."""
    if "limit" not in frame.columns:
        return {}
    rows = frame[np.isfinite(frame["limit"])]
    rows = rows[~rows["class"].astype(object).duplicated()]
    errors = rows["limit_se"] if "limit_se" in rows.columns else np.full(len(rows), np.nan)
    return dict(zip(rows["class"], zip(rows["limit"], errors, strict=True), strict=True))


def said_limit(limit: float, se: float) -> str:
    """Return a limit in figures, with the interval of 1.96 standard errors if known."""
    low, high = limit - 1.96 * se, limit + 1.96 * se
    ends = f" ({low:.2f} to {high:.2f})" if np.isfinite(se) else ""
    return f"{limit:.2f}{ends}".replace("-", "−")


def _number(owner: str, limit: Hashable) -> float:
    if not is_number(limit):
        raise InputError(f"{owner} was given the limit {limit!r}, but a limit is a number.")
    return float(limit)  # type: ignore[arg-type]


def _place(name: object) -> tuple[int, float, str]:
    """Sort numbers first, then names."""
    return (0, float(name), "") if is_number(name) else (1, 0.0, str(name))  # type: ignore[arg-type]


POINTS = 160
HALF = 0.42  # of the distance from one row to the next, for half a violin
NARROWEST = 0.02  # of the axis; a narrower kernel would show single values as spikes
COLUMNS, ROWS = 200, 140  # of a picture
GAMMA = 0.6  # strength grows slower than the number of curves, so that few are seen beside many
DEEPEST = 0.97  # share of the pixels that are paler than the deepest colour


def smoothed(values: Floats, narrowest: float, tails: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Return positions, the density of `values` there, and its standard error, (n_points,) each.

    The kernel is normal, with Silverman's width but at least `narrowest`. Positions reach `tails`
    widths beyond the smallest and the largest value.
    """
    middle = np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.34
    spread = min(float(values.std()), float(middle)) or float(values.std())
    width = max(0.9 * spread * values.size**-0.2, narrowest)
    ends = (float(values.min()) - tails * width, float(values.max()) + tails * width)
    counts, edges = np.histogram(values, POINTS, ends)
    at: Floats = (edges[:-1] + edges[1:]) / 2
    kernel = np.exp(-0.5 * ((at[:, None] - at) / width) ** 2) / (np.sqrt(2 * np.pi) * width)
    share = counts / values.size
    density: Floats = kernel @ share
    variance = np.maximum(kernel**2 @ share - density**2, 0.0)
    return at, density, np.sqrt(variance / values.size)


def draw_violin(
    ax: Axes,
    style: Style,
    values: Floats,
    height: float,
    limits: tuple[float, float],
    colour: str,
    every: Floats,
) -> None:
    """Draw a violin, a bar for the middle half and a dot for the median; equal values are a dot.

    Bar and dot are those of `every` value, also of those that the violin leaves out. A mean would
    lie beside its own bar where a few values are far out.
    """
    if np.ptp(values) > 0:
        at, density, _ = smoothed(values, NARROWEST * (limits[1] - limits[0]))
        reach = HALF * density / density.max()
        ax.fill_between(at, height - reach, height + reach, color=colour, alpha=0.3, linewidth=0)
        first, third = np.quantile(every, [0.25, 0.75])
        ax.hlines(height, first, third, color=colour, linewidth=2.4, zorder=3)
    ax.scatter(np.median(every), height, s=16, color=style.ink, zorder=4)


def blended(
    grid: Floats, parts: Sequence[tuple[str, Floats]], limits: tuple[float, float]
) -> Floats:
    """Return a picture (rows from the bottom, columns, RGBA) of curves, one colour per part.

    Each part is a colour and its curves (n_curves, n_points) over the `grid`. A part of few curves
    is drawn stronger than its number, so that it stays visible among thousands of another;
    where parts meet, their colours mix.
    """
    from matplotlib.colors import to_rgb

    there = [(np.array(to_rgb(colour)), curves) for colour, curves in parts if len(curves)]
    counts = [_passing(grid, curves, limits) for _, curves in there]
    # Near 0 and 1 all curves coincide; on that scale, the rest would be pale.
    many = np.array([np.quantile(count[count > 0], DEEPEST) for count in counts])
    scales = np.sqrt(many * many.max())
    shades = [
        np.clip(count / scale, 0.0, 1.0) ** GAMMA
        for count, scale in zip(counts, scales, strict=True)
    ]
    picture = np.zeros((ROWS, COLUMNS, 4))
    for (colour, _), shade in zip(there, shades, strict=True):
        picture[..., :3] += shade[..., None] * colour
    picture[..., :3] /= np.maximum(np.sum(shades, axis=0), 1e-12)[..., None]
    picture[..., 3] = 1.0 - np.prod([1.0 - shade for shade in shades], axis=0)
    # Rounding may lead a mixture slightly beyond the range of colours.
    return np.clip(picture, 0.0, 1.0)


def _passing(grid: Floats, curves: Floats, limits: tuple[float, float]) -> Floats:
    """Count the curves through each pixel; steep ones pass all heights on their way."""
    at = np.linspace(grid[0], grid[-1], COLUMNS + 1)
    left = np.clip(np.searchsorted(grid, at, side="right") - 1, 0, len(grid) - 2)
    share = (at - grid[left]) / (grid[left + 1] - grid[left])
    heights = curves[:, left] * (1.0 - share) + curves[:, left + 1] * share
    low, high = limits
    rows = np.clip((heights - low) / (high - low) * ROWS, 0, ROWS - 1).astype(np.intp)
    # One more from the lowest pixel on, one fewer above the highest.
    begin = np.minimum(rows[:, :-1], rows[:, 1:])
    after = np.maximum(rows[:, :-1], rows[:, 1:]) + 1
    columns, size = np.arange(COLUMNS), (ROWS + 1) * COLUMNS
    steps = np.bincount((begin * COLUMNS + columns).ravel(), minlength=size)
    steps = steps - np.bincount((after * COLUMNS + columns).ravel(), minlength=size)
    passing: Floats = np.cumsum(steps.reshape(ROWS + 1, COLUMNS), axis=0)[:ROWS].astype(float)
    return passing


UP = (-0.03, 1.03)  # probabilities, with some room
GAP = 14.0  # points between panels beside each other
DIGIT = 6.0  # width of a digit in a tick label, in points
SIGN = 0.54  # width of a character as a share of the font size
LINE = 1.3  # height of a line as a multiple of the font size
POINTS_A_TICK = 24.0
MOST_COLUMNS = 6


@dataclass(frozen=True)
class PanelGrid:
    """Rows and columns of panels that share their scales; lengths are in points."""

    rows: int
    columns: int
    horizontal: tuple[float, float]  # limits of a panel
    width: float  # of a panel
    height: float
    head: float  # room for a title above each panel
    vertical: tuple[float, float] = UP  # limits of a panel; downwards where the first is larger

    def x(self, values: Floats, column: int) -> Floats:
        """Return the x coordinates of `values` in the panels of a column."""
        low, high = self.horizontal
        placed: Floats = (values - low) / (high - low) + column * (1.0 + GAP / self.width)
        return placed

    def y(self, values: Floats, row: int) -> Floats:
        """Return the y coordinates of `values` in the panels of a row; the first row is on top."""
        low, high = self.vertical
        placed: Floats = (values - low) / (high - low) - row * (1.0 + self.head / self.height)
        return placed

    def box(self, row: int, column: int) -> tuple[float, float, float, float]:
        """Return left, right, bottom and top of a panel on the axes."""
        left, right = self.x(np.array(self.horizontal), column)
        bottom, top = self.y(np.array(self.vertical), row)
        return float(left), float(right), float(bottom), float(top)

    def characters(self, font_size: float) -> int:
        """Return how many characters fit in the width of a panel."""
        return int(self.width / (SIGN * font_size))

    def cells(self, count: int) -> list[tuple[int, int]]:
        """Return row and column of the first `count` panels, row by row."""
        return list(np.ndindex(self.rows, self.columns))[:count]

    def draw(
        self, ax: Axes, style: Style, count: int | None = None, names: Sequence[str] | None = None
    ) -> None:
        """Draw frames, grid lines and ticks of the first `count` panels, or of all.

        With `names`, these label the heights 1, 2, ... of each panel in place of numbers.
        """
        from matplotlib.collections import LineCollection

        across = self._ticks_across()
        up = self._ticks_up() if names is None else np.arange(1.0, len(names) + 1)
        cells = self.cells(self.rows * self.columns if count is None else count)
        light, frames = [], []
        for row, column in cells:
            left, right, bottom, top = self.box(row, column)
            light += [[(x, bottom), (x, top)] for x in self.x(across, column)]
            light += [[(left, y), (right, y)] for y in self.y(up, row)]
            frames.append([(left, top), (left, bottom), (right, bottom)])
        for lines, colour, order in ((light, style.faint, 0.5), (frames, style.neutral, 3.5)):
            lines_of_all = LineCollection(lines, colors=colour, linewidths=0.7, zorder=order)
            ax.add_collection(lines_of_all, autolim=False)
        for spine in ax.spines.values():
            spine.set_visible(False)
        # One label per tick, the same in every panel at the edge.
        lowest = [column for row, column in cells if row == self.rows - 1]
        ax.set_xticks(
            np.concatenate([self.x(across, k) for k in lowest]),
            [_written(value) for value in across] * len(lowest),
        )
        ax.set_yticks(
            np.concatenate([self.y(up, k) for k in range(self.rows)]),
            [*([_written(value) for value in up] if names is None else names)] * self.rows,
        )

    def title(self, ax: Axes, style: Style, cell: tuple[int, int], text: str) -> None:
        """Write a title above the panel of a row and column."""
        left, _, _, top = self.box(*cell)
        write_off(style, ax, text, (left, top), (0.0, 2.0), va="bottom")

    def write(self, ax: Axes, style: Style, cell: tuple[int, int], text: str) -> None:
        """Write a grey text in the middle of an empty panel."""
        left, right, bottom, top = self.box(*cell)
        look: dict[str, Any] = {"fontsize": style.small, "color": style.neutral}
        ax.text((left + right) / 2, (bottom + top) / 2, text, ha="center", va="center", **look)

    def name_edges(self, ax: Axes, style: Style, top: Sequence[str], right: Sequence[str]) -> None:
        """Write names of columns above and of rows at the right; set the limits around them."""
        size, room = style.font_size, LINE * style.font_size
        common = {"fontsize": size, "color": style.ink, "fontweight": "bold"}
        for column, name in enumerate(top):
            left, end, _, upper = self.box(0, column)
            place = ((left + end) / 2, upper + (self.head + 0.3 * size) / self.height)
            text = label(name, max(4, self.characters(1.1 * size)))
            ax.text(*place, text, ha="center", va="bottom", **common)  # type: ignore[arg-type]
        beside = self.box(0, self.columns - 1)[1] + 0.4 * size / self.width
        tall = max(4, int((self.height + 0.7 * self.head) / (1.1 * SIGN * size)))
        for row, name in enumerate(right):
            _, _, lower, upper = self.box(row, self.columns - 1)
            place = (beside, (lower + upper) / 2)
            turned = {"rotation": 270, "ha": "left", "va": "center", **common}
            ax.text(*place, label(name, tall), **turned)  # type: ignore[arg-type]
        lowest, highest = self.box(self.rows - 1, 0)[2], self.box(0, 0)[3]
        above = self.head + (room + 0.3 * size if top else 0.0)
        ax.set_xlim(-0.02, beside + (room if right else 0.0) / self.width)
        ax.set_ylim(lowest - 0.02, highest + above / self.height)

    def _ticks_across(self) -> Floats:
        from matplotlib.ticker import MaxNLocator

        low, high = self.horizontal
        count = int(np.clip(self.width / POINTS_A_TICK, 2, 6))
        found = np.asarray(MaxNLocator(nbins=count, steps=[1, 2, 4, 5, 10]).tick_values(low, high))
        inside = found[(found >= low) & (found <= high)]
        longest = max((len(_written(value)) for value in inside), default=0)
        if longest <= 2 and not self._meet(inside):
            return inside
        # Labels at the ends of a panel would run into those of the next panel.
        edge = 0.1 * (high - low)
        return inside[(inside >= low + edge) & (inside <= high - edge)]

    def _meet(self, ticks: Floats) -> bool:
        """Whether the last label of a panel and the first of the next have no space between."""
        if self.columns < 2 or not ticks.size:
            return False
        low, high = self.horizontal
        outside = (high - ticks[-1] + ticks[0] - low) / (high - low)
        signs = (len(_written(ticks[0])) + len(_written(ticks[-1]))) / 2
        return bool(outside * self.width + GAP < (signs + 2) * DIGIT)

    def _ticks_up(self) -> Floats:
        from matplotlib.ticker import MaxNLocator

        if self.vertical == UP:
            return np.linspace(0.0, 1.0, 3 if self.height > 1.5 * POINTS_A_TICK else 2)
        low, high = sorted(self.vertical)
        count = int(np.clip(self.height / POINTS_A_TICK, 2, 5))
        found = np.asarray(MaxNLocator(nbins=count).tick_values(low, high))
        return found[(found >= low) & (found <= high)]


def fitted(
    ax: Axes,
    style: Style,
    shape: tuple[int, int],
    horizontal: tuple[float, float],
    lines: int,
    vertical: tuple[float, float] = UP,
    beside: float = 0.0,
) -> PanelGrid:
    """Return the grid of panels that fills an axes, with titles of so many lines above each.

    `beside` is the width, in points, that the layout will take from the axes for a legend.
    """
    rows, columns = shape
    extent = ax.get_window_extent()
    scale = 72.0 / ax.figure.dpi
    room = 1.6 * style.font_size
    head = max(GAP, lines * LINE * style.small + 4.0)
    width = (scale * extent.width - beside - room - (columns - 1) * GAP) / columns
    height = (scale * extent.height - room - rows * head) / rows
    return PanelGrid(rows, columns, horizontal, max(width, 4.0), max(height, 4.0), head, vertical)


def arranged(count: int) -> tuple[int, int]:
    """Return rows and columns for so many panels, a little wider than tall."""
    rows = 1 if count <= 3 else round(sqrt(count / 1.3))
    columns = min(MOST_COLUMNS, ceil(count / rows))
    return ceil(count / columns), columns


def divided(ax: Axes, count: int) -> list[Axes]:
    """Divide an axes into panels, of which it becomes the first; in a column if it is narrow."""
    box = ax.get_window_extent()
    wide = box.width > 0.4 * count * box.height
    figure: Any = ax.figure
    place = ax.get_subplotspec()
    if place is not None:
        parts = place.subgridspec(*((1, count) if wide else (count, 1)))
        ax.set_subplotspec(parts[0])
        return [ax, *(figure.add_subplot(parts[k]) for k in range(1, count))]
    left, bottom, width, height = ax.get_position().bounds
    share = 1.25 / (1.25 * count - 0.25)  # of the room, with the gap to the next
    step = share * (width if wide else height)
    size = (0.8 * step, height) if wide else (width, 0.8 * step)
    corners = [
        (left + step * k, bottom) if wide else (left, bottom + step * (count - 1 - k))
        for k in range(count)
    ]
    ax.set_position((*corners[0], *size))
    return [ax, *(figure.add_axes((*corner, *size)) for corner in corners[1:])]


def panels_by(frame: pd.DataFrame, column: str, alone: str) -> list[tuple[object, pd.DataFrame]]:
    """Return the rows of each panel by a column, in its order; all as `alone` if it is missing."""
    if column not in frame.columns:
        return [(alone, frame)]
    return list(frame.groupby(column, sort=False, dropna=False, observed=True))


def outer_and_other(panels: list[Axes]) -> tuple[Axes, Axes]:
    """Return the panel with room beside it, for the legend, and the one at the other end."""
    first, last = panels[0], panels[-1]
    beside_each_other = last.get_position().x0 > first.get_position().x0
    return (last, first) if beside_each_other else (first, last)


def strip_above(ax: Axes, share: float) -> Axes:
    """Add an axes above another, which gives up that share of its height."""
    figure: Any = ax.figure
    place = ax.get_subplotspec()
    above: Axes
    if place is not None:
        parts = place.subgridspec(2, 1, height_ratios=(share, 1.0 - share))
        ax.set_subplotspec(parts[1])
        above = figure.add_subplot(parts[0])
    else:
        left, bottom, width, height = ax.get_position().bounds
        ax.set_position((left, bottom, width, 0.8 * (1.0 - share) * height))
        above = figure.add_axes((left, bottom + (1.0 - share) * height, width, share * height))
    return above


def _written(value: float) -> str:
    return f"{value:g}".replace("-", "−")


FEW, FEW_SHARE = 2, 0.01  # values at each end that are no group of their own
WIDE = 3.0  # widths of the middle beyond it that are still shown
MIDDLES = (25.0, 10.0, 2.5, 0.0)  # per cent left out at each end; the first that has a width counts


def cluster_limits(values: Floats) -> tuple[float, float]:
    """Return robust limits, but wide enough for groups of values that lie far from the others.

    At each end at most one in a hundred stays beyond, or two of few, and only what is far off.
    """
    low, high = robust_limits(values)
    finite = np.sort(values[np.isfinite(values)])
    few = max(FEW, int(FEW_SHARE * finite.size))
    if finite.size <= 2 * few:
        return low, high
    near = (high - low) / 2
    first, last = min(low, finite[few] - near), max(high, finite[-1 - few] + near)
    if finite[few] < low:
        low = float(finite[finite >= first][0])
    if finite[-1 - few] > high:
        high = float(finite[finite <= last][-1])
    return low, high


def robust_limits(values: Floats) -> tuple[float, float]:
    """Ends of the finite values, or a good way beyond their middle half where some lie farther."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return -1.0, 1.0
    for share in MIDDLES:
        low, high = np.percentile(finite, [share, 100.0 - share])
        if high > low:
            reach = WIDE * (high - low)
            return max(float(finite.min()), low - reach), min(float(finite.max()), high + reach)
    return float(finite[0]), float(finite[0])


def padded(limits: tuple[float, float], share: float = 0.04) -> tuple[float, float]:
    """Return limits with some room at both ends, also where they are the same."""
    low, high = limits
    pad = share * (high - low) or max(1.0, 0.1 * abs(low))
    return low - pad, high + pad

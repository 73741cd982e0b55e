"""What several families of figures draw with: highlighted lines, groups, densities and limits."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._validation import is_number
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.theme import Style, label, legend_handle

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.stats.array_backend import Array, Floats


MOST_COLOURS = 8  # lines with a colour each
DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1)),
    (0, (6, 1, 1, 1)),
    (0, (4, 1, 1, 1, 1, 1)),
)
MOST_GROUPS = 5  # groups of dots with a colour each
MOST_CLASSES = 6  # classes with a colour each; all further classes are one group
POINTS = 160  # grid points of a density
HALF = 0.42  # of the distance from one row to the next, for half a violin
NARROWEST = 0.02  # least kernel width, as a share of the axis: single values are no spikes
COLUMNS, ROWS = 200, 140  # pixels of a picture of many curves
GAMMA = 0.6  # strength grows slower than the number of curves, so that few are seen beside many
DEEPEST = 0.97  # share of the pixels that are paler than the deepest colour
FEW, FEW_SHARE = 2, 0.01  # values at each end that are no group of their own
WIDE = 3.0  # widths of the middle beyond it that are still shown
MIDDLES = (25.0, 10.0, 2.5, 0.0)  # per cent left out at each end; the first that has a width counts


@dataclass(frozen=True)
class Look:
    """How the line at an index of a list is drawn."""

    index: int
    colour: str
    dashes: Any


def highlighted(
    owner: str, names: Sequence[Hashable], highlight: Sequence[Hashable] | str | None
) -> list[int] | None:
    """Return the indices of the names to highlight; an InputError names one that is missing."""
    if highlight is None:
        return None
    if isinstance(highlight, str) or not isinstance(highlight, Iterable):
        highlight = [highlight]
    index = {name: k for k, name in enumerate(names)}
    chosen = list(dict.fromkeys(highlight))
    for name in chosen:
        if name not in index:
            known = ", ".join(repr(label(one)) for one in names[:12])
            raise InputError(
                f"{owner} cannot highlight {label(name)!r}: the frame has no such algorithm. "
                f"It has: {known}{', ...' if len(names) > 12 else ''}."
            )
    return [index[name] for name in chosen]


def looks(
    style: Style,
    ranked: Sequence[int],
    given: Sequence[int] | None,
    order: Sequence[int] | None = None,
) -> list[Look]:
    """Return colours and dashes of the highlighted lines: the given ones, or the first of `ranked`.

    Up to eight lines each have a colour; of more, the first seven, and the rest are grey.
    `order` holds all indices in the order of their colours, if another figure has set it.
    """
    colours = colours_for(
        style, whole=len(ranked) <= (MOST_COLOURS if given is None else len(given))
    )
    chosen = ranked[: len(colours)] if given is None else given
    in_order = order if order is not None and given is None else chosen
    rank = {index: k for k, index in enumerate(in_order)}
    n = len(colours)
    return [
        Look(index, colours[rank[index] % n], DASHES[rank[index] // n % len(DASHES)])
        for index in chosen
    ]


def colours_for(style: Style, *, whole: bool) -> tuple[str, ...]:
    """Return the palette; if it is too short for the `whole`, without the grey of the rest."""
    colours = style.palette[:MOST_COLOURS]
    if whole:
        return colours
    return tuple(colour for colour in colours if colour != style.neutral) or colours


def draw_rest(ax: Axes, style: Style, lines: Sequence[Floats]) -> None:
    """Draw the lines (n_points, 2) that are not highlighted, thin and grey."""
    from matplotlib.collections import LineCollection

    if lines:
        look: dict[str, Any] = {"linewidths": 0.8, "alpha": 0.45, "zorder": 1.5}
        rest = LineCollection(list(lines), colors=style.neutral, **look)
        ax.add_collection(rest, autolim=False)


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


def legend_entries(chosen: Sequence[Look], texts: Sequence[str]) -> list[tuple[Artist, str]]:
    """Return the highlighted lines as a legend shows them, with their texts."""
    return [
        (legend_handle(color=look.colour, linestyle=look.dashes, linewidth=1.8), text)
        for look, text in zip(chosen, texts, strict=True)
    ]


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
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    groups = [(names[k], np.flatnonzero(codes == k)) for k in order[:most]]
    if len(rest := order[most:]):
        groups.append((counted(len(rest), "other"), np.flatnonzero(np.isin(codes, rest))))
    return groups


def by_class(column: pd.Series, most: int = MOST_CLASSES) -> list[tuple[object, Array]]:
    """Return name and row positions of each class in order; of many the largest, then the rest."""

    def numbers_first(group: tuple[Any, Array]) -> tuple[int, float, str]:
        name = group[0]
        return (0, float(name), "") if is_number(name) else (1, 0.0, str(name))

    groups = largest_groups(column, most)
    return [*sorted(groups[:most], key=numbers_first), *groups[most:]]


def group_colours(style: Style, most: int) -> tuple[str, ...]:
    """Return a colour for each of `most` groups, then the colour of the rest."""
    return (*style.palette[:most], style.neutral)


def class_name(name: object, width: int) -> str:
    """Return a class as one short line; a bare number would not say that it is a class."""
    return f"class {name:g}" if is_number(name) else label(name, width)


def format_limit(limit: float, se: float) -> str:
    """Return a limit in figures, with the interval of 1.96 standard errors if known."""
    low, high = limit - 1.96 * se, limit + 1.96 * se
    ends = f" ({low:.2f} to {high:.2f})" if np.isfinite(se) else ""
    return f"{limit:.2f}{ends}".replace("-", "−")


def limits_by_class(limits: pd.DataFrame | None) -> dict[Any, tuple[float, float]]:
    """Return by class the finite limit `mlc` and its standard error `mlc_se`."""
    if limits is None or not len(limits):
        return {}
    pairs = zip(limits.index, zip(limits["mlc"], limits["mlc_se"], strict=True), strict=True)
    return {name: pair for name, pair in pairs if np.isfinite(pair[0])}


def smoothed(values: Floats, narrowest: float, tails: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Return grid points, the density of `values` there, and its standard error, (n_points,) each.

    The kernel is normal, with Silverman's width but at least `narrowest`. The grid reaches `tails`
    widths beyond the smallest and the largest value.
    """
    middle = np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.34
    spread = min(float(values.std()), float(middle)) or float(values.std())
    width = max(0.9 * spread * values.size**-0.2, narrowest)
    ends = (float(values.min()) - tails * width, float(values.max()) + tails * width)
    counts, edges = np.histogram(values, POINTS, ends)
    grid: Floats = (edges[:-1] + edges[1:]) / 2
    kernel = np.exp(-0.5 * ((grid[:, None] - grid) / width) ** 2) / (np.sqrt(2 * np.pi) * width)
    share = counts / values.size
    density: Floats = kernel @ share
    variance = np.maximum(kernel**2 @ share - density**2, 0.0)
    return grid, density, np.sqrt(variance / values.size)


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
    lie beside its own bar if a few values are far out.
    """
    if np.ptp(values) > 0:
        grid, density, _ = smoothed(values, NARROWEST * (limits[1] - limits[0]))
        half = HALF * density / density.max()
        ax.fill_between(grid, height - half, height + half, color=colour, alpha=0.3, linewidth=0)
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

    present = [(np.array(to_rgb(colour)), curves) for colour, curves in parts if len(curves)]
    counts = [_curves_through_pixels(grid, curves, limits) for _, curves in present]
    # Near 0 and 1 all curves coincide; on that scale, the rest would be pale.
    many = np.array([np.quantile(count[count > 0], DEEPEST) for count in counts])
    scales = np.sqrt(many * many.max())
    shades = [
        np.clip(count / scale, 0.0, 1.0) ** GAMMA
        for count, scale in zip(counts, scales, strict=True)
    ]
    picture = np.zeros((ROWS, COLUMNS, 4))
    for (colour, _), shade in zip(present, shades, strict=True):
        picture[..., :3] += shade[..., None] * colour
    picture[..., :3] /= np.maximum(np.sum(shades, axis=0), 1e-12)[..., None]
    picture[..., 3] = 1.0 - np.prod([1.0 - shade for shade in shades], axis=0)
    # Rounding may lead a mixture slightly beyond the range of colours.
    return np.clip(picture, 0.0, 1.0)


def _curves_through_pixels(grid: Floats, curves: Floats, limits: tuple[float, float]) -> Floats:
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
    counts: Floats = np.cumsum(steps.reshape(ROWS + 1, COLUMNS), axis=0)[:ROWS].astype(float)
    return counts


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
    """Return the ends of the finite values, at most three widths of the middle half beyond it."""
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
    """Return limits with some room at both ends, also if they are the same."""
    low, high = limits
    pad = share * (high - low) or max(1.0, 0.1 * abs(low))
    return low - pad, high + pad


def ends_of(values: Floats) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    return float(values.min()), float(values.max())

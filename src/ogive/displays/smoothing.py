"""Smoothed counts: densities of values, violins, and many curves as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ogive.displays.style import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

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

"""Smoothed counts: densities and violins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.style import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

POINTS = 160
HALF = 0.42  # of the distance from one row to the next, for half a violin
NARROWEST = 0.02  # of the axis; a kernel of less would show single values as spikes


def smoothed(values: Floats, narrowest: float, tails: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Places, the density of `values` there, and its standard error (n_points,) each.

    The kernel is normal, of Silverman's width and never below `narrowest`. Places reach `tails`
    widths beyond the ends of the values.
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
) -> None:
    """A violin, the middle half as a bar and the mean as a dot; a single value is its dot."""
    if np.ptp(values) > 0:
        at, density, _ = smoothed(values, NARROWEST * (limits[1] - limits[0]))
        reach = HALF * density / density.max()
        ax.fill_between(at, height - reach, height + reach, color=colour, alpha=0.3, linewidth=0)
        first, third = np.quantile(values, [0.25, 0.75])
        ax.hlines(height, first, third, color=colour, linewidth=2.4, zorder=3)
    ax.scatter(values.mean(), height, s=16, color=style.ink, zorder=4)

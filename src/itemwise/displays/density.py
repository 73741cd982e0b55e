"""Many curves as one picture: how many of them pass each place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from itemwise.numerics.arrays import Floats

COLUMNS, ROWS = 200, 140
# Few curves must be seen beside many: strength grows slower than their number.
GAMMA = 0.6
DEEPEST = 0.97  # share of the places that are paler than the deepest colour


def blended(
    grid: Floats, parts: Sequence[tuple[str, Floats]], limits: tuple[float, float]
) -> Floats:
    """A picture (rows from the bottom, columns, RGBA) of curves in one colour a part.

    Each part is a colour and its curves (n_curves, n_points) over the `grid`. A part of few curves
    is drawn stronger than its number, so that it stays visible between thousands of another;
    where parts meet, their colours mix.
    """
    from matplotlib.colors import to_rgb

    there = [(np.array(to_rgb(colour)), curves) for colour, curves in parts if len(curves)]
    counts = [_passing(grid, curves, limits) for _, curves in there]
    # At certainty all curves lie on each other; measured by that, the rest would be pale.
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
    # Rounding may lead a mixture a hair beyond what a colour can be.
    return np.clip(picture, 0.0, 1.0)


def _passing(grid: Floats, curves: Floats, limits: tuple[float, float]) -> Floats:
    """How many curves pass each place; steep ones pass all heights on their way."""
    at = np.linspace(grid[0], grid[-1], COLUMNS + 1)
    left = np.clip(np.searchsorted(grid, at, side="right") - 1, 0, len(grid) - 2)
    share = (at - grid[left]) / (grid[left + 1] - grid[left])
    heights = curves[:, left] * (1.0 - share) + curves[:, left + 1] * share
    low, high = limits
    rows = np.clip((heights - low) / (high - low) * ROWS, 0, ROWS - 1).astype(np.intp)
    # One more from the lowest place on, one fewer above the highest.
    begin = np.minimum(rows[:, :-1], rows[:, 1:])
    after = np.maximum(rows[:, :-1], rows[:, 1:]) + 1
    columns, size = np.arange(COLUMNS), (ROWS + 1) * COLUMNS
    steps = np.bincount((begin * COLUMNS + columns).ravel(), minlength=size)
    steps = steps - np.bincount((after * COLUMNS + columns).ravel(), minlength=size)
    passing: Floats = np.cumsum(steps.reshape(ROWS + 1, COLUMNS), axis=0)[:ROWS].astype(float)
    return passing

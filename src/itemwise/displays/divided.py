"""Several axes in the place of one, for panels that do not share their scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def divided(ax: Axes, count: int) -> list[Axes]:
    """So many panels in the place of an axes, which becomes the first; below each other if slim."""
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
    """The rows of each panel, by a column in its own order; all as `alone` where it is missing."""
    if column not in frame.columns:
        return [(alone, frame)]
    return list(frame.groupby(column, sort=False, dropna=False, observed=True))


def outer_and_other(panels: list[Axes]) -> tuple[Axes, Axes]:
    """The panel with room beside it, for the legend, and the one at the other end."""
    first, last = panels[0], panels[-1]
    beside_each_other = last.get_position().x0 > first.get_position().x0
    return (last, first) if beside_each_other else (first, last)


def strip_above(ax: Axes, share: float) -> Axes:
    """A strip above an axes, which gives up that share of its height."""
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

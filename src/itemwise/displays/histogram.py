"""A histogram of item parameters, whole or by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.groups import MOST_GROUPS, largest_groups
from itemwise.displays.style import Style, footnote, grid, label, legend_beside, name_width
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Array, Floats

FEWEST_BINS, MOST_BINS = 8, 50


class HistogramDisplay(Display):
    """How often each value of a column occurs, whole or by group.

    `value` names a column of numbers, `group` one of names. The five largest groups are drawn over
    each other in the same bins, the rest together. A few far values do not stretch the axis: they
    are counted below it.
    """

    def __init__(
        self, frame: pd.DataFrame, value: str = "difficulty", group: str | None = None
    ) -> None:
        labels = () if group is None else (group,)
        super().__init__(tidy(frame, type(self).__name__, (value,), labels))
        self.value = value
        self.group = group
        self._there = self.frame[np.isfinite(self.frame[value])]
        if self._there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: the column '{value}' "
                "holds no finite number."
            )

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib.ticker import MaxNLocator

        values = self._there[self.value].to_numpy()
        low, high = robust_limits(values)
        edges = _edges(values[(values >= low) & (values <= high)])
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        handles, texts = [], []
        parts = self._parts()
        # Three fills or more over each other mix to mud; their outlines can still be followed.
        fill = 0.28 if len(parts) <= 2 else 0.05
        for colour, (name, part) in zip(
            (*style.palette[:MOST_GROUPS], style.neutral), parts.items(), strict=False
        ):
            counts, _ = np.histogram(part, edges)
            handles.append(draw_steps(ax, counts, edges, colour, fill))
            texts.append(f"{label(name, min(24, name_width(ax, style)))}\n({len(part):,})")
        if self.group is not None:
            legend_beside(style, ax, handles, texts)
        ax.set_xlim(padded((edges[0], edges[-1]), 0.02))
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        ax.set_xlabel(label(self.value))
        ax.set_ylabel("count")
        grid(style, ax, "y")
        footnote(style, ax, self._notes(values, edges[0], edges[-1]))

    def _parts(self) -> dict[object, Floats]:
        """Values by group, the largest first; beyond five groups, the rest as one."""
        if self.group is None:
            return {"all": self._there[self.value].to_numpy()}
        values = self._there[self.value].to_numpy()
        return {name: values[places] for name, places in largest_groups(self._there[self.group])}

    def _notes(self, values: Floats, low: float, high: float) -> list[str]:
        notes = []
        below, above = int((values < low).sum()), int((values > high).sum())
        if below or above:
            sides = [
                f"{counted(count, 'value')} {side} {edge:.3g}"
                for count, side, edge in ((below, "below", low), (above, "above", high))
                if count
            ]
            notes.append(f"beyond the axis: {' and '.join(sides)}")
        if lost := len(self.frame) - len(self._there):
            notes.append(f"not shown: {counted(lost, 'row')} without a finite number")
        return notes


def _edges(values: Floats) -> Floats:
    """Edges of the bins; their number follows from the values, within reason."""
    if np.ptp(values) == 0:
        return np.linspace(*padded((values[0], values[0])), FEWEST_BINS + 2)
    count = len(np.histogram_bin_edges(values, "auto")) - 1
    count = int(np.clip(count, FEWEST_BINS, MOST_BINS))
    return np.linspace(values.min(), values.max(), count + 1)


def draw_steps(ax: Axes, heights: Array, edges: Floats, colour: str, fill: float) -> Artist:
    """An outline over its fill; `heights` (n_bins,) stand between `edges` (n_bins + 1,)."""
    ax.stairs(heights, edges, fill=True, color=colour, alpha=fill, linewidth=0, zorder=2)
    return ax.stairs(heights, edges, color=colour, linewidth=1.4, zorder=3)

"""Distributions of values: a histogram by group, and the Wright map of respondents and items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.display import Display
from itemwise.displays.grouped_rows import MOST_GROUPS, group_colours, largest_groups
from itemwise.displays.style import (
    Style,
    label,
    legend_beside,
    lines_that_fit,
    name_beside,
    name_width,
    spread,
)
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Array, Floats

FEWEST_BINS, MOST_BINS = 8, 50
# Beyond this, an estimate only says "very far"; drawn to scale it would flatten the rest.
FARTHEST = 6.0
NAMED_AT_EACH_END = 4
BINS = 24
LEAST_TALLEST = 4  # a single name should not fill its side
SIDES = {"respondent": -1, "item": 1}  # of the middle line, each with its own scale of counts


def draw_steps(ax: Axes, heights: Array, edges: Floats, colour: str, groups: int) -> Artist:
    """Draw a histogram: `heights` (n_bins,) between `edges` (n_bins + 1,), one of some groups."""
    fill = 0.28 if groups <= 2 else 0.05  # more fills mix to mud; outlines can still be followed
    ax.stairs(heights, edges, fill=True, color=colour, alpha=fill, linewidth=0, zorder=2)
    return ax.stairs(heights, edges, color=colour, linewidth=1.4, zorder=3)


class HistogramDisplay(Display):
    """Histogram of a column, whole or by group.

    `value` names a column of numbers, `group` one of names. The five largest groups are drawn over
    each other in the same bins, the rest together. A few far values do not stretch the axis: they
    are counted below it.
    """

    without = "a finite number"
    y_label, grid_lines = "count", "y"

    def __init__(
        self, frame: pd.DataFrame, value: str = "difficulty", group: str | None = None
    ) -> None:
        self.value, self.group = value, group
        self.numbers, self.labels = (value,), () if group is None else (group,)
        self.x_label = label(value)
        super().__init__(frame)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.ticker import MaxNLocator

        values = self._rows[self.value].to_numpy()
        low, high = robust_limits(values)
        edges = _edges(values[(values >= low) & (values <= high)])
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        handles, texts = [], []
        groups: list[tuple[object, Array]] = [("all", np.arange(len(values)))]
        if self.group is not None:
            groups = largest_groups(self._rows[self.group])
        width = min(24, name_width(ax, style))
        for colour, (name, rows) in zip(group_colours(style, MOST_GROUPS), groups, strict=False):
            counts, _ = np.histogram(values[rows], edges)
            handles.append(draw_steps(ax, counts, edges, colour, len(groups)))
            texts.append(f"{label(name, width)}\n({len(rows):,})")
        if self.group is not None:
            legend_beside(style, ax, handles, texts)
        ax.set_xlim(padded((edges[0], edges[-1]), 0.02))
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        sides = (((values < edges[0]), "below", edges[0]), (values > edges[-1], "above", edges[-1]))
        beyond = [
            f"{counted(int(out.sum()), 'value')} {side} {edge:.3g}"
            for out, side, edge in sides
            if out.any()
        ]
        return [f"beyond the axis: {' and '.join(beyond)}"] if beyond else []


def _edges(values: Floats) -> Floats:
    """Return the edges of the bins; their number follows from the values, within limits."""
    if np.ptp(values) == 0:
        return np.linspace(*padded((values[0], values[0])), FEWEST_BINS + 2)
    count = len(np.histogram_bin_edges(values, "auto")) - 1
    count = int(np.clip(count, FEWEST_BINS, MOST_BINS))
    return np.linspace(values.min(), values.max(), count + 1)


class ItemMapDisplay(Display):
    """Respondents by ability on the left, items by difficulty on the right, on one scale.

    The frame has one row per respondent or item: `kind` ("respondent" or "item"), `name`,
    `position` on the scale, and `se`. The easiest and hardest items are named. Positions
    beyond 6 either way are drawn at the edge with an arrow.
    """

    numbers = ("position", "se")
    labels = ("kind", "name")
    needed = ("position",)
    infinite = True
    without = "a position"
    inches = (7.2, 5.4)
    y_label, grid_lines = "ability and difficulty", "y"

    def _prepare(self) -> None:
        strange = self.frame.loc[~self.frame["kind"].isin(list(SIDES)), "kind"]
        if len(strange):
            raise InputError(
                f"{self._owner} knows the kinds 'respondent' and 'item', but the column 'kind' "
                f"holds {strange.iloc[0]!r}."
            )
        height = self._rows["position"].clip(-FARTHEST, FARTHEST)
        self._rows = self._rows.assign(height=height)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        low, high = self._rows["height"].min(), self._rows["height"].max()
        short = max(0.0, 1.0 - (high - low)) / 2.0  # one point alone still needs a scale around it
        low, high = low - short, high + short
        edges, pad = np.linspace(low, high, BINS + 1), 0.05 * (high - low)
        ax.set_ylim(low - pad, high + pad)
        ax.set_xlim(-1.12, 1.12)
        ticks: dict[float, str] = {}
        for kind, side in SIDES.items():
            of_kind = self._rows[self._rows["kind"] == kind]
            counts = np.histogram(of_kind["height"], edges)[0]
            tallest = max(LEAST_TALLEST, int(counts.max()))
            lengths = counts / tallest
            colour = style.positive if kind == "respondent" else style.neutral
            ax.barh(edges[:-1], side * lengths, np.diff(edges) * 0.92, align="edge", color=colour)
            _mark_clipped(ax, of_kind, side, lengths, colour)
            ticks |= {side * 1.0: f"{tallest:,}"}
            if kind == "item":
                _name_ends(ax, style, of_kind, edges, lengths)
        ax.axvline(0.0, color=style.paper, linewidth=2.0)
        ax.axvline(0.0, color=style.neutral, linewidth=0.8)
        ax.set_xticks([*ticks, 0.0], [*ticks.values(), "0"])
        kinds = list(self._rows["kind"])
        respondents, items = (counted(kinds.count(kind), kind) for kind in SIDES)
        ax.set_xlabel(f"← {respondents}   |   {items} →")
        return self._notes()

    def _notes(self) -> list[str]:
        notes = ["bars: number at each height, each side on its own scale"]
        far = self._rows.loc[self._rows["position"].abs() > FARTHEST, "kind"].value_counts()
        if len(far):
            parts = [counted(int(far[kind]), kind) for kind in SIDES if kind in far.index]
            notes.append(f"arrow: {' and '.join(parts)} beyond ±{FARTHEST:g}")
        medians = self._rows[np.isfinite(self._rows["se"])].groupby("kind")["se"].median()
        if len(medians):
            parts = [f"{kind}s {medians[kind]:.2g}" for kind in SIDES if kind in medians.index]
            notes.append(f"median standard error: {', '.join(parts)}")
        return notes


def _mark_clipped(ax: Axes, rows: pd.DataFrame, side: int, lengths: Floats, colour: str) -> None:
    for sign, marker, length in ((-1, "v", lengths[0]), (1, "^", lengths[-1])):
        if (sign * rows["position"] > FARTHEST).any():
            place = [side * (length + 0.05)], [sign * FARTHEST]
            ax.plot(*place, marker=marker, color=colour, markersize=7, clip_on=False)


def _name_ends(ax: Axes, style: Style, items: pd.DataFrame, edges: Floats, lengths: Floats) -> None:
    """Name the easiest and hardest items beside the axes, each with a line to its bar."""
    rows = items.sort_values("position", kind="stable")
    fit = lines_that_fit(ax, style.small)
    ends = max(1, min(NAMED_AT_EACH_END, (fit - 1) // 2))
    if len(rows) > 2 * ends:
        rows = rows.iloc[[*range(ends), *range(-ends, 0)]]
    width = min(24, name_width(ax, style))
    bottom, top = ax.get_ylim()
    heights = rows["height"].to_numpy()
    placed = spread(heights, (top - bottom) / max(fit, 1), bottom, top)
    bins = np.clip(np.searchsorted(edges, heights, side="right") - 1, 0, len(lengths) - 1)
    for (_, row), at, text_at, length in zip(
        rows.iterrows(), heights, placed, lengths[bins], strict=True
    ):
        text = f"{label(row['name'], width)}  {_said(row['position'], row['se'])}"
        name_beside(style, ax, text, (length + 0.03, at), (1.18, text_at))


def _said(position: float, se: float) -> str:
    """Return a position with its standard error; far out, where both say little, only the side."""
    if abs(position) > FARTHEST:
        return f"{'above' if position > 0 else 'below'} {np.copysign(FARTHEST, position):g}"
    return f"{position:.2f}{f' ± {se:.2f}' if np.isfinite(se) else ''}"

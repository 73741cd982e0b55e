"""The Wright map: respondents and items on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    lines_that_fit,
    name_beside,
    name_width,
    spread,
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

# Beyond this an estimate says "very far" and no more; drawn to scale it would flatten the rest.
FARTHEST = 6.0
NAMED_AT_EACH_END = 4
BINS = 24
# A single name should not fill its side.
LEAST_TALLEST = 4
# Each kind has its own side of the middle line, and its own scale of counts.
SIDES = {"respondent": -1, "item": 1}


class ItemMapDisplay(Display):
    """Respondents by ability on the left, items by difficulty on the right, on one scale.

    The frame has one row a respondent or item: `kind` ("respondent" or "item"), `name`,
    `position` on the scale, and `se`. The easiest and hardest items are named. Positions
    beyond 6 either way are drawn at the edge with an arrow.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, ("position", "se"), ("kind", "name")))
        strange = self.frame.loc[~self.frame["kind"].isin(list(SIDES)), "kind"]
        if len(strange):
            raise InputError(
                f"{name} knows the kinds 'respondent' and 'item', but the column 'kind' holds "
                f"{strange.iloc[0]!r}."
            )
        placed = self.frame[self.frame["position"].notna()]
        self._placed = placed.assign(height=placed["position"].clip(-FARTHEST, FARTHEST))
        if self._placed.empty:
            raise InputError(f"{name} has nothing to draw: the column 'position' holds no number.")

    def _size(self) -> tuple[float, float]:
        return 7.2, 5.4

    def _draw(self, ax: Axes, style: Style) -> None:
        low, high = _limits(self._placed["height"].to_numpy())
        edges = np.linspace(low, high, BINS + 1)
        pad = 0.05 * (high - low)
        ax.set_ylim(low - pad, high + pad)
        ax.set_xlim(-1.12, 1.12)

        ticks: dict[float, str] = {}
        for kind, side in SIDES.items():
            of_kind = self._placed[self._placed["kind"] == kind]
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
        ax.set_xlabel(self._caption())
        ax.set_ylabel("ability and difficulty")
        grid(style, ax, "y")
        footnote(style, ax, self._notes())

    def _caption(self) -> str:
        counts = self._placed["kind"].value_counts()
        sides = [counted(int(counts.get(kind, 0)), kind) for kind in SIDES]
        return f"← {sides[0]}   |   {sides[1]} →"

    def _notes(self) -> list[str]:
        notes = ["bars: number at each height, each side on its own scale"]
        far = self._placed.loc[self._placed["position"].abs() > FARTHEST, "kind"].value_counts()
        if len(far):
            parts = [counted(int(far[kind]), kind) for kind in SIDES if kind in far.index]
            notes.append(f"arrow: {' and '.join(parts)} beyond ±{FARTHEST:g}")
        if lost := len(self.frame) - len(self._placed):
            notes.append(f"not shown: {counted(lost, 'row')} without a position")
        medians = self._placed[np.isfinite(self._placed["se"])].groupby("kind")["se"].median()
        if len(medians):
            parts = [f"{kind}s {medians[kind]:.2g}" for kind in SIDES if kind in medians.index]
            notes.append(f"median standard error: {', '.join(parts)}")
        return notes


def _limits(heights: Floats) -> tuple[float, float]:
    low, high = float(heights.min()), float(heights.max())
    short = max(0.0, 1.0 - (high - low)) / 2.0  # one point alone still needs a scale around it
    return low - short, high + short


def _mark_clipped(ax: Axes, rows: pd.DataFrame, side: int, lengths: Floats, colour: str) -> None:
    for sign, marker, length in ((-1, "v", lengths[0]), (1, "^", lengths[-1])):
        if (sign * rows["position"] > FARTHEST).any():
            ax.plot(
                [side * (length + 0.05)],
                [sign * FARTHEST],
                marker=marker,
                color=colour,
                markersize=7,
                clip_on=False,
            )


def _name_ends(ax: Axes, style: Style, items: pd.DataFrame, edges: Floats, lengths: Floats) -> None:
    """Name the easiest and hardest items in a column beside the axes, each led to its bar."""
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
    """A position with its standard error; far out, where both say nothing, only the side."""
    if abs(position) > FARTHEST:
        return f"{'above' if position > 0 else 'below'} {np.copysign(FARTHEST, position):g}"
    return f"{position:.2f}{f' ± {se:.2f}' if np.isfinite(se) else ''}"

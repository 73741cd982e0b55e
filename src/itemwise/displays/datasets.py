"""Data sets beside each other: how hard each is, and how well it tells respondents apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import (
    Style,
    apply,
    footnote,
    grid,
    label,
    lines_that_fit,
    name_width,
)
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_ROWS = 80
PARAMETERS = ("difficulty", "discrimination")
WIDENED = 0.3  # of the range of the means, at each end, for deviations
PANELS = ((0.0, 0.48), (0.52, 0.48))  # left end and width, as shares of the axes


class DatasetsDisplay(Display):
    """Mean difficulty and mean discrimination of each data set, the hardest on top.

    The frame has one row a data set, which is its index: `difficulty_mean`,
    `difficulty_mean_se`, `discrimination_mean`, `discrimination_mean_se`, and where known,
    `difficulty_deviation` and `discrimination_deviation` of the instances. A thick bar reaches
    1.96 standard errors of the mean both ways, a thin one the deviation of the instances. At most
    80 rows are drawn, the hardest.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        needed = [f"{name}_{part}" for name in PARAMETERS for part in ("mean", "mean_se")]
        present = getattr(frame, "columns", ())
        extra = [f"{name}_deviation" for name in PARAMETERS if f"{name}_deviation" in present]
        super().__init__(tidy(frame, type(self).__name__, [*needed, *extra]))
        there = self.frame[self.frame["difficulty_mean"].notna()]
        if there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: the column 'difficulty_mean' "
                "holds no number."
            )
        self._ranked = there.sort_values("difficulty_mean", ascending=False, kind="stable")
        self._spread = bool(extra)

    def _size(self) -> tuple[float, float]:
        return 8.4, max(2.2, 1.5 + 0.19 * min(len(self._ranked), MOST_ROWS))

    def _draw(self, ax: Axes, style: Style) -> None:
        shown = max(1, min(len(self._ranked), MOST_ROWS, lines_that_fit(ax, style.font_size)))
        rows, height = self._ranked.iloc[:shown], np.arange(1, shown + 1)
        ax.hlines(height, 0.0, 1.0, color=style.faint, linewidth=0.7, zorder=0)
        ax.set_xlim(0.0, 1.0)
        ax.set_xticks([])
        ax.set_yticks(height, [label(name, name_width(ax, style)) for name in rows.index])
        ax.set_ylim(shown + 0.7, 0.3)
        ax.tick_params(length=0)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        beyond = sum(
            self._draw_panel(ax.inset_axes((left, 0.0, width, 1.0)), style, rows, name)
            for (left, width), name in zip(PANELS, PARAMETERS, strict=True)
        )
        ax.set_xlabel(
            "mean of the instances (bar: ±1.96 standard errors)",
            labelpad=2.2 * style.font_size,  # below the numbers of the panels
        )
        footnote(style, ax, self._notes(rows, shown, beyond))

    @staticmethod
    def _draw_panel(ax: Axes, style: Style, rows: pd.DataFrame, name: str) -> int:
        """One parameter; returns how many dots lie beyond the axis, drawn as arrows at its end."""
        apply(style, ax)
        ax.patch.set_visible(False)
        mean, height = rows[f"{name}_mean"].to_numpy(), np.arange(1, len(rows) + 1)
        reach = 1.96 * np.where(np.isfinite(rows[f"{name}_mean_se"]), rows[f"{name}_mean_se"], 0.0)
        negative = rows["discrimination_mean"].to_numpy() < 0
        colours = np.where(negative, style.negative, style.positive)
        spread = rows[f"{name}_deviation"] if f"{name}_deviation" in rows.columns else 0.0 * mean
        low, high = _limits(mean, reach, np.asarray(spread))
        ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        ax.hlines(height, mean - spread, mean + spread, color=colours, linewidth=0.8, alpha=0.5)
        ax.hlines(height, mean - reach, mean + reach, color=colours, linewidth=3.2, alpha=0.45)
        inside = (mean >= low) & (mean <= high)
        ax.scatter(mean[inside], height[inside], s=16, color=colours[inside], zorder=3)
        for marker, out, edge in (("<", mean < low, low), (">", mean > high, high)):
            edges = np.full(int(out.sum()), edge)
            ax.scatter(edges, height[out], s=30, marker=marker, color=colours[out], clip_on=False)
        ax.set_xlim(low, high)
        ax.set_ylim(len(rows) + 0.7, 0.3)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.set_title(name, fontsize=1.1 * style.font_size, color=style.ink)
        grid(style, ax, "x")
        return int((mean < low).sum() + (mean > high).sum())

    def _notes(self, rows: pd.DataFrame, shown: int, beyond: int) -> list[str]:
        notes = ["thin bar: ± deviation of the instances, cut at the edge"] if self._spread else []
        if negative := int((rows["discrimination_mean"] < 0).sum()):
            sets = counted(negative, "data set")
            notes.append(f"orange: negative mean discrimination ({sets})")
        if beyond:
            notes.append(f"arrow: beyond the axis ({counted(beyond, 'mean')})")
        if (hidden := len(self._ranked) - shown) > 0:
            notes.append(f"not shown: {counted(hidden, 'easier data set')}")
        if lost := len(self.frame) - len(self._ranked):
            notes.append(f"not shown: {counted(lost, 'row')} without a mean difficulty")
        return notes


def _limits(mean: Floats, reach: Floats, spread: Floats) -> tuple[float, float]:
    """Limits for dots and thick bars, with zero; thin bars may widen them, but not by much."""
    low, high = robust_limits(np.concatenate([mean, mean - reach, mean + reach, [0.0]]))
    more = WIDENED * (high - low)
    thin = np.concatenate([mean - spread, mean + spread])
    thin = np.clip(thin[np.isfinite(thin)], low - more, high + more)
    return padded((min(low, *thin, high), max(high, *thin, low)))

"""Rows of data sets: their mean parameters, and the distribution of difficulty in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import as_number
from ogive.displays.display import Display, not_shown, remark
from ogive.displays.interval_rows import Rows
from ogive.displays.smoothing import draw_violin
from ogive.displays.style import (
    Style,
    apply,
    grid,
    in_words,
    label,
    lines_that_fit,
    name_width,
    text_beside,
)
from ogive.errors import InputError
from ogive.numerics.robust import padded, robust_limits

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

MOST_ROWS = 80
PARAMETERS = ("difficulty", "discrimination")
WIDENED = 0.3  # of the range of the means, at each end, for thin bars
# Left end and width of each panel, as shares of the axes, by their number.
PANELS = {
    2: ((0.0, 0.48), (0.52, 0.48)),
    3: ((0.0, 0.31), (0.345, 0.31), (0.69, 0.31)),
}


class DatasetsDisplay(Rows):
    """Data sets by chance to be right, lowest on top, with mean difficulty and discrimination.

    The frame has one row per data set, which is its index: `difficulty_mean`,
    `difficulty_mean_se`, `discrimination_mean`, `discrimination_mean_se`, and if known, the
    standard deviations of the instances, `difficulty_sd` and `discrimination_sd`. A
    thick bar reaches 1.96 standard errors of the mean both ways, a thin one the standard deviation
    of the instances. If `chance` and `chance_se` are known, how often the average respondent is
    right, the hardest is where that is lowest; otherwise where the mean difficulty is highest. At
    most 80 rows are drawn, the hardest.
    """

    numbers = tuple(f"{name}_{part}" for name in PARAMETERS for part in ("mean", "mean_se"))
    optional = (*(f"{name}_sd" for name in PARAMETERS), "chance", "chance_se")
    needed = ("difficulty_mean",)
    infinite = True
    without = "a mean difficulty"
    order, most_rows = "difficulty_mean", MOST_ROWS
    further = ("easier data set",)
    inches = (8.4, 4.4)
    least_height, margin = 2.2, 1.5
    grid_lines = ""

    def _prepare(self) -> None:
        if "chance" in self._rows.columns:
            self._rows = self._rows.sort_values("chance", kind="stable")
        else:
            super()._prepare()

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        ax.hlines(height, 0.0, 1.0, color=style.faint, linewidth=0.7, zorder=0)
        ax.set_xlim(0.0, 1.0)
        ax.set_xticks([])
        ax.tick_params(length=0)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        panels = _panels(rows)
        beyond = sum(
            _draw_parameter(ax.inset_axes((left, 0.0, width, 1.0)), style, rows, name, mean)
            for (left, width), (name, mean) in zip(PANELS[len(panels)], panels.items(), strict=True)
        )
        below = 2.2 * style.font_size  # the numbers of the panels are above the label
        ax.set_xlabel("mean of the instances (bar: ±1.96 standard errors)", labelpad=below)
        notes = []
        if "chance" in rows.columns and len(rows) > 1:
            notes.append("each data set has its own scale: compare chances, not difficulties")
        if any(f"{name}_sd" in self.frame.columns for name in PARAMETERS):
            notes.append("thin bar: ± standard deviation of the instances, cut at the edge")
        negative = int((rows["discrimination_mean"] < 0).sum())
        return [
            *notes,
            *remark("orange: negative mean discrimination ({})", negative, "data set"),
            *remark("arrow: beyond the axis ({})", beyond, "mean"),
        ]


def _panels(rows: pd.DataFrame) -> dict[str, str]:
    """Titles of the panels, and the column that each shows."""
    chance = {"chance to be right": "chance"} if "chance" in rows.columns else {}
    return chance | {name: f"{name}_mean" for name in PARAMETERS}


def _draw_parameter(ax: Axes, style: Style, rows: pd.DataFrame, name: str, column: str) -> int:
    """Draw one parameter; return the number of means beyond the axis, drawn as arrows."""
    apply(style, ax)
    ax.patch.set_visible(False)
    mean, height = rows[column].to_numpy(), np.arange(1, len(rows) + 1)
    error = rows[f"{column}_se"].to_numpy() if f"{column}_se" in rows.columns else 0.0 * mean
    reach = 1.96 * np.where(np.isfinite(error), error, 0.0)
    negative = rows["discrimination_mean"].to_numpy() < 0
    colours = np.where(negative, style.negative, style.positive)
    spread = rows[f"{name}_sd"] if f"{name}_sd" in rows.columns else 0.0 * mean
    low, high = _parameter_limits(mean, reach, np.asarray(spread), column)
    if column != "chance":
        ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
    ax.hlines(height, mean - spread, mean + spread, color=colours, linewidth=0.8, alpha=0.5)
    ax.hlines(height, mean - reach, mean + reach, color=colours, linewidth=3.2, alpha=0.45)
    inside = (mean >= low) & (mean <= high)
    ax.scatter(mean[inside], height[inside], s=16, color=colours[inside], zorder=3)
    for marker, out, edge in (("<", mean < low, low), (">", mean > high, high)):
        edges = np.full(int(out.sum()), edge)
        ax.scatter(edges, height[out], s=30, marker=marker, color=colours[out], clip_on=False)
    ax.set_xlim(low, high)
    ax.set_ylim(len(rows) + 0.7, 1 - 0.7)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_title(name, fontsize=1.1 * style.font_size, color=style.ink)
    grid(style, ax, "x")
    return int((mean < low).sum() + (mean > high).sum())


def _parameter_limits(
    mean: Floats, reach: Floats, spread: Floats, column: str
) -> tuple[float, float]:
    """Return limits for dots, thick bars and zero; thin bars may widen them, but not by much."""
    if column == "chance":
        return max(0.0, float(np.nanmin(mean - reach)) - 0.02), 1.0
    low, high = robust_limits(np.concatenate([mean, mean - reach, mean + reach, [0.0]]))
    more = WIDENED * (high - low)
    thin = np.concatenate([mean - spread, mean + spread])
    thin = np.clip(thin[np.isfinite(thin)], low - more, high + more)
    return padded((min(low, *thin, high), max(high, *thin, low)))


class DistributionsDisplay(Display):
    """How values of items are spread in each data set, the hardest on top.

    The frame has one row per item: `group` names the column of data sets, `value` that of numbers.
    Each shape shows the density of values within ±`limit`; its bar reaches from the first quartile
    to the third, the dot is the median, both of all values. The share of values beyond the limit is
    written beside it. At most 80 data sets are drawn, the first in `order`, which names the hardest
    first: where each data set has its own scale, medians do not say which is harder. Without it,
    data sets are ordered by their median, the highest first. `notes` say which items are shown.
    """

    infinite = True
    grid_lines = "x"

    def __init__(
        self,
        frame: pd.DataFrame,
        value: str = "difficulty",
        group: str = "dataset",
        limit: float = 6.0,
        order: Sequence[str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        if not as_number(limit) > 0:
            raise InputError(f"limit is {limit!r}, but it should be a number above 0, such as 6.")
        self.value, self.group, self.limit, self.notes = value, group, limit, notes
        self.order = None if order is None else {name: k for k, name in enumerate(order)}
        self.numbers, self.labels = (value,), (group,)
        self.nothing = f"the column '{value}' holds no number within ±{limit:g}."
        super().__init__(frame)

    def _prepare(self) -> None:
        """Find name, values within the limit and all values of each data set, hardest first."""
        sets: list[tuple[Any, Floats, Floats]] = []
        self._empty = 0
        groups = self._rows.groupby(self.group, sort=False, dropna=False, observed=True)
        for name, column in groups[self.value]:
            values = column.to_numpy()
            inside = values[np.abs(values) <= self.limit]
            if inside.size:
                sets.append((name, inside, values))
            else:
                self._empty += 1
        if not sets:
            raise InputError(f"{self._owner} has nothing to draw: {self.nothing}")
        self._sets = sorted(sets, key=self._place)

    def _place(self, one: tuple[Any, Floats, Floats]) -> float:
        """Where a data set stands: in the given order, or by its median, the highest first."""
        if self.order is None:
            return -float(np.median(one[2]))
        return self.order.get(one[0], len(self.order))

    def _size(self) -> tuple[float, float]:
        return 7.2, max(2.2, 1.3 + 0.3 * min(len(self._sets), MOST_ROWS))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        shown = max(1, min(len(self._sets), MOST_ROWS, lines_that_fit(ax, style.font_size)))
        sets = self._sets[:shown]
        drawn = np.concatenate([inside for _, inside, _ in sets])
        low, high = padded((float(drawn.min()), float(drawn.max())))
        if low < 0 < high:
            ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        for height, (_, inside, values) in enumerate(sets, start=1):
            whole = values.clip(-self.limit, self.limit)
            draw_violin(ax, style, inside, height, (low, high), style.positive, whole)
            beyond = 1.0 - inside.size / values.size
            colour = style.ink if beyond else style.neutral
            text_beside(style, ax, _percent(beyond), height, x=1.01, color=colour)
        ax.set_xlim(low, high)
        ax.set_ylim(shown + 0.7, 0.3)
        width = name_width(ax, style)
        ax.set_yticks(range(1, shown + 1), [label(name, width) for name, *_ in sets])
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"{in_words(self.value)} (bar: middle half, dot: median)")
        outside = f"without a value within ±{self.limit:g}"
        own = ["each data set has its own scale: compare shapes, not places"] if self.order else []
        return [
            *own,
            *self.notes,
            f"right: share of values beyond ±{self.limit:g}, of which only bar and dot tell",
            *not_shown(len(self._sets) - shown, "easier data set"),
            *not_shown(self._empty, "data set", outside),
        ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"

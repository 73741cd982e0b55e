"""Rows with intervals: one row per name, from the top down, a dot and the interval around it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import one_of
from ogive.displays.display import Display, flags, not_shown, remark
from ogive.displays.style import (
    DASHED,
    Style,
    in_words,
    label,
    legend_beside,
    lines_that_fit,
    name_width,
    say_on_hover,
    text_beside,
    write,
)
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

    from ogive.numerics.arrays import Array, Floats

NAMED_AT_EACH_END = 5
CLOSE, FAIR = 0.05, 0.08  # the usual limits (Browne and Cudeck, 1993)
NO_SUPPORT = 10.0  # so far behind, a model has next to no support (Burnham and Anderson, 2002)


class Rows(Display):
    """The first rows, one below the other, each with its name at the left."""

    order: str  # the column that ranks the rows, the highest on top
    most_rows = 60
    spare_lines = 0  # lines of text to keep free
    least_height, margin, row_height = 1.8, 1.2, 0.19  # inches
    row_pad = 0.7  # beyond the first and the last row
    further: tuple[str, ...] = ("row",)  # noun and reason of the rows for which there is no room
    grid_lines = "x"

    def _prepare(self) -> None:
        self._rows = self._rows.sort_values(self.order, ascending=False, kind="stable")

    def _wanted(self) -> int:
        return min(len(self._rows), self.most_rows)

    def _size(self) -> tuple[float, float]:
        height = self.margin + self.row_height * self._wanted()
        return self.inches[0], max(self.least_height, height)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        fit = lines_that_fit(ax, style.font_size) - self.spare_lines
        shown = max(1, min(self._wanted(), fit))
        rows, height = self._rows.iloc[:shown], np.arange(1.0, shown + 1)
        ax.set_yticks(height, [label(name, name_width(ax, style)) for name in rows.index])
        ax.set_ylim(shown + self.row_pad, 1 - self.row_pad)
        notes = self._draw_rows(ax, style, rows, height)
        return [*notes, *not_shown(len(self._rows) - shown, *self.further)]

    @abstractmethod
    def _draw_rows(
        self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats
    ) -> Sequence[str]:
        """Draw the rows at their heights; return the notes to write below."""


class AllRows(Display):
    """All rows, one below the other; with names if there is room for them, else with ranks."""

    most_names = 60  # of more rows, the names would be too small to read
    least_height, margin, row_height = 1.9, 1.4, 0.22  # inches
    row_pad = 0.7
    unnamed_label = "rank"  # of the y axis without names
    grid_lines = "x"

    def _size(self) -> tuple[float, float]:
        rows = len(self._rows)
        height = max(self.least_height, self.margin + self.row_height * rows)
        return self.inches[0], height if rows <= self.most_names else 7.0

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        count = len(self._rows)
        pad = self.row_pad + 0.01 * count
        ax.set_ylim(count + pad, 1 - pad)
        notes = self._draw_rows(ax, style, np.arange(1.0, count + 1), few=count <= self.most_names)
        names = self._names(name_width(ax, style))
        if count <= min(lines_that_fit(ax, style.font_size), self.most_names):
            ax.set_yticks(range(1, count + 1), names)
        else:
            ax.set_ylabel(self.unnamed_label)
            self._name_some(ax, style, names)
        return list(notes)

    def _names(self, width: int) -> list[str]:
        return [label(name, width) for name in self._rows.index]

    def _name_some(self, ax: Axes, style: Style, names: list[str]) -> None:
        """Name some rows if there is no room for all names."""

    @abstractmethod
    def _draw_rows(self, ax: Axes, style: Style, height: Floats, *, few: bool) -> Sequence[str]:
        """Draw the rows at their heights; return the notes to write below."""


class RankingDisplay(AllRows):
    """Estimates in order, best on top; how far each bar reaches is said at the axis.

    The frame has one row per name, which is its index; `better` says whether "higher" or "lower" is
    best. With `ends`, bars are the intervals of columns `_low` and `_high`. Beyond 60 rows, or on
    an axes too small for a name at each row, the vertical axis shows ranks and only both ends are
    named.
    """

    infinite = True
    least_height, margin, row_height = 1.6, 1.0, 0.19
    row_pad = 0.6

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        estimate: str = "ability",
        se: str = "se",
        ends: bool = False,
        better: str = "higher",
    ) -> None:
        self.estimate, self.se = estimate, se
        self.ends = (f"{estimate}_low", f"{estimate}_high") if ends else ()
        self.better = one_of(better, "better", ("higher", "lower"))
        self.numbers, self.needed = (estimate, *(self.ends or (se,))), (estimate,)
        self.without = label(estimate)
        super().__init__(frame)

    def _prepare(self) -> None:
        up = self.better == "lower"
        self._rows = self._rows.sort_values(self.estimate, ascending=up, kind="stable")

    def _draw_rows(self, ax: Axes, style: Style, height: Floats, *, few: bool) -> list[str]:
        value = self._rows[self.estimate].to_numpy()
        low, high = self._bars(value)
        finite = np.isfinite(value)
        sure = finite & np.isfinite(low) & np.isfinite(high)
        limits = _ranking_limits(value, low, high)
        size, width, colour = 22.0 if few else 5.0, 1.6 if few else 0.7, style.positive
        look: dict[str, Any] = {"color": colour, "linewidth": width, "alpha": 0.45, "zorder": 2}
        ax.hlines(height[sure], low[sure], high[sure], **look)
        for rows, fill in ((sure, colour), (finite & ~sure, style.paper)):
            x, y = value[rows], height[rows]
            ax.scatter(x, y, s=size, facecolor=fill, edgecolor=colour, zorder=3)
        for marker, beyond, edge in zip("<>", (-np.inf, np.inf), limits, strict=True):
            y = height[value == beyond]
            edges, arrow = np.full(len(y), edge), {"color": colour, "marker": marker}
            ax.scatter(edges, y, s=1.6 * size, zorder=3, clip_on=False, **arrow)  # type: ignore[arg-type]
        ax.set_xlim(limits)
        bar = "interval" if self.ends else f"±1.96 {label(self.se)}"
        ax.set_xlabel(f"{in_words(self.estimate)}{f' (bar: {bar})' if sure.any() else ''}")
        unsure = "interval" if self.ends else "finite standard error"
        return [
            *remark(f"hollow: no {unsure} ({{}})", int((finite & ~sure).sum()), "row"),
            *remark(
                f"arrow: infinite {label(self.estimate)} ({{}})", int(np.isinf(value).sum()), "row"
            ),
        ]

    def _bars(self, value: Floats) -> tuple[Floats, Floats]:
        """Lower and upper ends of the bars; what lies infinitely far has none."""
        if self.ends:
            return self._rows[self.ends[0]].to_numpy(), self._rows[self.ends[1]].to_numpy()
        reach = np.where(np.isfinite(value), 1.96 * self._rows[self.se].to_numpy(), np.nan)
        return value - reach, value + reach

    def _name_some(self, ax: Axes, style: Style, names: list[str]) -> None:
        """Write rank and name of the first and the last rows beside the axes."""
        ax.set_yticks(_rank_ticks(len(names)))
        fit = lines_that_fit(ax, style.font_size)
        ends = max(1, min(NAMED_AT_EACH_END, (fit - 1) // 2, len(names) // 2))
        numbered = [f"{rank}  {name}" for rank, name in enumerate(names, start=1)]
        for height, side, lines in (
            (1.0, "top", numbered[:ends]),
            (0.0, "bottom", numbered[-ends:]),
        ):
            look = {"xycoords": "axes fraction", "va": side, "fontsize": style.font_size}
            write(style, ax, "\n".join(lines), (1.02, height), **look)


def _ranking_limits(value: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """Return limits for all dots and their bars, unless a few huge bars would squash the rest."""
    seen = np.isfinite(value)
    if not seen.any():
        return -1.0, 1.0
    value, low, high = value[seen], low[seen], high[seen]
    sure = np.isfinite(low) & np.isfinite(high)
    down, up = np.where(sure, (value - low, high - value), 0.0)
    most = max(np.ptp(value), float(np.median(down + up)))
    first = float((value - np.minimum(down, most)).min())
    last = float((value + np.minimum(up, most)).max())
    pad = 0.04 * (last - first) or max(1.0, 0.1 * abs(first))
    return first - pad, last + pad


def _rank_ticks(count: int) -> list[int]:
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(nbins=6, integer=True).tick_values(0, count)
    return [max(1, int(tick)) for tick in ticks if 0 <= tick <= count]


class LeaderboardDisplay(Rows):
    """Estimates with their intervals, best on top; beside each its rank and the interval of that.

    The frame has one row per respondent, which is its index: `accuracy`, or another `estimate`,
    and `rank`, each with `_low` and `_high`, and if known, whether it is `leading`, and its `board`
    if there are several. At most 60 rows are drawn, the best.
    """

    ranks = ("rank", "rank_low", "rank_high")
    further = ("row", "of higher rank number")
    inches = (7.6, 4.4)
    least_height, margin, spare_lines = 1.9, 1.3, 1

    def __init__(self, frame: pd.DataFrame, *, estimate: str = "accuracy") -> None:
        self.estimates = (estimate, f"{estimate}_low", f"{estimate}_high")
        self.numbers, self.needed = (*self.ranks, *self.estimates), (estimate, *self.ranks)
        self.without = f"{label(estimate)} and rank"
        self.x_label = f"{in_words(estimate)} (bar: interval)"
        super().__init__(frame)

    def _prepare(self) -> None:
        self._boards = "board" in self.frame.columns
        order = [*(["board"] if self._boards else []), "rank", "rank_low"]
        self._rows = self._rows.sort_values(order, kind="stable")

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        value, low, high = (rows[name].to_numpy() for name in self.estimates)
        leading = flags(rows, "leading", default=True)
        colours = np.where(leading, style.positive, style.neutral)
        sure: Array = np.isfinite(low) & np.isfinite(high)
        ends = low[sure], high[sure]
        ax.hlines(height[sure], *ends, color=colours[sure], linewidth=1.8, alpha=0.5)
        face = np.where(sure, colours, style.paper)
        dots = ax.scatter(value, height, s=22, facecolor=face, edgecolor=colours, zorder=3)
        ends_of = zip(rows.index, value, low, high, strict=True)
        say_on_hover(dots, [f"{name}: {at:.3f} ({a:.3f} to {b:.3f})" for name, at, a, b in ends_of])
        text_beside(style, ax, "rank", 0.0)
        for at, (_, row) in zip(height, rows.iterrows(), strict=True):
            text_beside(style, ax, self._said_rank(row), at)
        return [
            *self._said_leading(int(leading.sum())),
            *remark("hollow: no interval ({})", int((~sure).sum()), "row"),
        ]

    def _said_rank(self, row: pd.Series) -> str:
        rank, low, high = (row[name] for name in self.ranks)
        may = f"  ({low:.0f} to {high:.0f})" if low <= high else ""
        board = f"board {row['board']}: " if self._boards else ""
        return f"{board}{rank:.0f}{may}"

    def _said_leading(self, leading: int) -> list[str]:
        if "leading" not in self._rows.columns or len(self._rows) == 1:
            return []
        if leading > 1:
            others = counted(leading - 1, "other")
            return [f"blue: the first and {others} that cannot be distinguished from it"]
        return ["blue: the first, which differs significantly from all others"]


class ModelFitDisplay(AllRows):
    """Misfit of each model by RMSEA, beside the usual limits; the bar is the 90 % interval.

    The frame has one row per model, which is its index, with `rmsea`, `rmsea_low` and
    `rmsea_high`. Rows keep their order; those without RMSEA are counted below.
    """

    numbers = ("rmsea", "rmsea_low", "rmsea_high")
    needed = ("rmsea",)
    nothing = (
        "the column 'rmsea' holds no finite number. A model without degrees of freedom has none."
    )
    without = "RMSEA"
    unnamed_label = "row"
    x_label = "RMSEA (bar: 90 % interval)"

    def _draw_rows(self, ax: Axes, style: Style, height: Floats, *, few: bool) -> list[str]:
        value, low, high = (self._rows[name].to_numpy() for name in self.numbers)
        left, right = (np.where(np.isnan(end), value, end) for end in (low, high))
        width = 1.6 if few else 0.7
        ax.hlines(height, left, right, color=style.positive, linewidth=width, alpha=0.45, zorder=2)
        ax.scatter(value, height, s=22.0 if few else 5.0, color=style.positive, zorder=3)
        end = max(0.105, 1.08 * float(np.append(high[np.isfinite(high)], value).max()))
        ax.set_xlim(0.0, end)
        for limit in (CLOSE, FAIR):
            ax.axvline(limit, color=style.neutral, linewidth=1.0, linestyle=DASHED, zorder=1)
        words: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": style.small}
        for start, stop, word in (
            (0.0, CLOSE, "close"),
            (CLOSE, FAIR, "fair"),
            (FAIR, end, "poor"),
        ):
            if (stop - start) / end > 0.09:  # else it is too narrow for the word
                place = (start + stop) / 2, 1.01
                ax.text(*place, word, transform=ax.get_xaxis_transform(), color=style.ink, **words)
        return []


class ModelComparisonDisplay(AllRows):
    """Difference of each model from the best by AIC and by BIC; the best is on top.

    The frame has one row per model, which is its index, with `aic`, `bic` and the Akaike weight
    `weight`; with a column `converged`, models that did not converge are hollow. The axis is
    linear up to 10 and logarithmic beyond, where the distance hardly matters.
    """

    numbers = ("aic", "bic", "weight")
    needed = ("aic",)
    noun, without = "model", "AIC"
    margin, row_height = 1.3, 0.26
    x_label = "difference from the best model"

    def _prepare(self) -> None:
        self._rows = self._rows.sort_values("aic", kind="stable")
        late = "converged" in self._rows.columns
        self._done = [bool(done) for done in self._rows["converged"]] if late else []

    def _draw_rows(self, ax: Axes, style: Style, height: Floats, *, few: bool) -> list[str]:
        behind = {
            name: self._rows[name].to_numpy() - self._rows[name].min() for name in ("aic", "bic")
        }
        distances = np.concatenate([[0.0], *behind.values()])
        self._scale(ax, float(distances[np.isfinite(distances)].max()))
        looks = (("aic", style.positive, "o", -0.14), ("bic", style.negative, "s", 0.14))
        handles: list[PathCollection] = []
        for name, colour, marker, aside in looks:  # a little apart, so that equal ones are seen
            face = [colour if done else style.paper for done in self._done] or colour
            dots: dict[str, Any] = {"s": 30.0 if few else 5.0, "marker": marker, "zorder": 3}
            at = height + aside
            ax.scatter(behind[name], at, facecolor=face, edgecolor=colour, **dots)
            handles.append(ax.scatter([], [], s=30.0, marker=marker, color=colour))
        legend_beside(style, ax, handles, ["AIC", "BIC"])
        ax.axvspan(0.0, 2.0, color=style.faint, alpha=0.6, zorder=0, linewidth=0)
        return [
            "in brackets: Akaike weight; grey band: hardly distinguishable by these data",
            *remark("hollow: not converged ({})", self._done.count(False), "model"),
        ]

    @staticmethod
    def _scale(ax: Axes, farthest: float) -> None:
        if farthest <= NO_SUPPORT:
            ax.set_xlim(-0.4, max(1.08 * farthest, 4.0))
            return
        ax.set_xscale("symlog", linthresh=NO_SUPPORT, linscale=1.0)
        ax.set_xlim(-0.6, 1.6 * farthest)
        powers = 10.0 ** np.arange(1, np.ceil(np.log10(1.6 * farthest)) + 1)
        ticks = [tick for tick in (0, 2, 5, *powers) if tick <= 1.6 * farthest]
        ax.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        ax.xaxis.minorticks_off()

    def _names(self, width: int) -> list[str]:
        weights = zip(self._rows.index, self._rows["weight"], strict=True)
        return [f"{label(name, width)}  ({weight:.2f})" for name, weight in weights]

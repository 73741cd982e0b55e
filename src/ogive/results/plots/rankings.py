"""IntervalRows, ModelComparison, Suspects, Decision.

Rows with intervals: one row per name, from the top down, a dot and the interval around it.

Rows of ratings with their ranges.

Profiles: one row per respondent, one dot for each of its abilities.

Rows of bars with intervals: true scores, importance of features, and one decision.

Items whose labels should be checked: strong and weak respondents on each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._validation import one_of
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, marks_last, not_shown, remark
from ogive.results.plots.marks import class_name, padded, said_limit, strip_above
from ogive.results.plots.theme import (
    DASHED,
    Style,
    apply,
    characters_that_fit,
    in_words,
    label,
    legend_beside,
    legend_handle,
    lines_that_fit,
    name_width,
    say_on_hover,
    text_beside,
    write,
    write_off,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

    from ogive.stats.array_backend import Array, Floats


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
        for rows, face in ((sure, colour), (finite & ~sure, style.paper)):
            x, y = value[rows], height[rows]
            ax.scatter(x, y, s=size, facecolor=face, edgecolor=colour, zorder=3)
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
        """Return lower and upper ends of the bars; what lies infinitely far has none."""
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


class RatingsDisplay(Rows):
    """Ratings with 95 % ranges, best on top, marks last; blue: not significantly behind the leader.

    The frame has one row per respondent, which is its index: `rating`, `low` and `high`, and if
    known, whether it is `level` with the leader; else those are whose range overlaps the leader's.
    Who is `artificial` is a hollow mark in the last rows, and never the leader. At most
    60 rows are drawn, the best ones.
    """

    numbers = ("rating", "low", "high")
    order = "rating"
    without = "a finite rating and range"
    further = ("row", "of lower rating")
    x_label = "rating (bar: 95 % range)"

    def _prepare(self) -> None:
        self._rows = marks_last(self._rows, self.order)

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        rating, low, high = (rows[name].to_numpy() for name in self.numbers)
        known, level = "level" in self.frame.columns, self._level()
        marks, first = self._marks()[: len(rows)], int(np.argmin(self._marks()))
        colours = np.where(level[: len(rows)], style.positive, style.neutral)
        ax.axvspan(low[first], high[first], color=style.positive, alpha=0.07, linewidth=0, zorder=0)
        ax.hlines(height, low, high, color=colours, linewidth=1.6, alpha=0.5, zorder=2)
        ax.scatter(rating[~marks], height[~marks], s=22, color=colours[~marks], zorder=3)
        if marks.any():
            edge = style.neutral
            ax.scatter(rating[marks], height[marks], s=22, c=style.paper, edgecolors=edge, zorder=3)
        said = remark(
            "hollow: {}, marks on the scale, in the last rows whatever their rating",
            int(marks.sum()),
            "artificial respondent",
        )
        return [*said, *self._said_of_level(level, known=known)]

    def _said_of_level(self, level: np.ndarray, *, known: bool) -> list[str]:
        if len(self._rows) == 1:
            return []
        said = (
            "that {} not significantly behind in games of the two"
            if known
            else "whose range overlaps its own"
        )
        count = int(level.sum()) - 1
        said = said.format("is" if count == 1 else "are")
        return remark(f"blue: the leader and {{}} {said}", count, "other") or [
            "all others are significantly behind"
            if known
            else "no range overlaps that of the leader"
        ]

    def _level(self) -> np.ndarray:
        """Return which rows are blue; the leader always is."""
        marks = self._marks()
        first = int(np.argmin(marks))
        if "level" not in self.frame.columns:
            return np.asarray((self._rows["high"] >= self._rows["low"].iloc[first]) & ~marks)
        found = flags(self._rows, "level").copy()
        found[first] = True
        return found

    def _marks(self) -> np.ndarray:
        """Return which rows are marks."""
        if "artificial" not in self.frame.columns:
            return np.zeros(len(self._rows), dtype=bool)
        return np.asarray(flags(self._rows, "artificial"))


REACH = 1.96
MARKERS = "osD^v"
SPREAD = 0.5  # of a row, over which dots of one respondent lie


class ProfilesDisplay(Rows):
    """Abilities of each respondent in several dimensions, the best mean on top.

    The frame has one row per `respondent` and `dimension`, with its `ability` and `se`; lines reach
    1.96 standard errors both ways. At most 20 respondents are drawn.
    """

    numbers, needed = ("ability", "se"), ("ability",)
    labels = ("respondent", "dimension")
    without, further = "an ability", ("respondent", "of lower mean ability")
    x_label = "ability (line: ±1.96 standard errors)"
    most_rows, row_height = 20, 0.3

    def _prepare(self) -> None:
        self._dimensions = list(dict.fromkeys(self._rows["dimension"]))
        wide = self._rows.pivot_table(
            index="respondent", columns="dimension", values=["ability", "se"], dropna=False
        )
        means = self._rows.groupby("respondent")["ability"].mean()
        self._rows = wide.loc[means.sort_values(ascending=False, kind="stable").index]

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        places = np.linspace(-SPREAD / 2, SPREAD / 2, len(self._dimensions))
        if len(self._dimensions) == 1:
            places = np.zeros(1)
        handles = []
        for k, (name, place) in enumerate(zip(self._dimensions, places, strict=True)):
            value = rows["ability", name].to_numpy(dtype=float)
            reach = REACH * np.nan_to_num(rows["se", name].to_numpy(dtype=float))
            colour = style.palette[k % len(style.palette)]
            marker = MARKERS[k % len(MARKERS)]
            ax.hlines(
                height + place, value - reach, value + reach, color=colour, alpha=0.5, linewidth=1.2
            )
            dots = ax.scatter(value, height + place, s=18, color=colour, marker=marker, zorder=3)
            said = zip(rows.index, value.tolist(), strict=True)
            say_on_hover(dots, [f"{who}, {name}: {x:.2f}" for who, x in said])
            handles.append(dots)
        legend_beside(style, ax, handles, [label(name, 24) for name in self._dimensions])
        return []


STRIP, TITLE, ROW = 0.75, 0.5, 0.24  # inches: line of difficulty, words above it, a feature
WORDS = {"model": "The model decides", "person": "A person decides"}


class _PairedBars(Rows):
    """One bar per row, or two side by side; a line shows the uncertainty of each."""

    pair: tuple[str, str]  # columns; the second may be missing, the first ranks the rows
    legend: tuple[str, str]
    error, reach = "se", 1.96  # ending of the columns of uncertainty, and the length of a line
    inches = (7.6, 4.4)
    most_rows, row_pad = 40, 0.6
    least_height, margin = 1.9, 1.1

    def __init__(self, frame: pd.DataFrame) -> None:
        paired = self.pair[1] in getattr(frame, "columns", ())
        self._shown = self.pair if paired else self.pair[:1]
        self.numbers = tuple(
            name for column in self._shown for name in (column, f"{column}_{self.error}")
        )
        self.order, self.needed = self.pair[0], self.pair[:1]
        self.row_height = 0.32 if paired else 0.22
        super().__init__(frame)

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        thick = 0.72 / len(self._shown)
        colours = (style.positive, style.palette[4 % len(style.palette)])
        bars: list[Artist] = []
        for k, (column, colour) in enumerate(zip(self._shown, colours, strict=False)):
            at = height + (k - (len(self._shown) - 1) / 2) * thick
            value = rows[column].to_numpy()
            reach = self.reach * rows[f"{column}_{self.error}"].to_numpy()
            look: dict[str, Any] = {"alpha": 0.75, "linewidth": 0, "zorder": 2}
            bars.append(ax.barh(at, value, height=thick, color=colour, **look)[0])
            sure = np.isfinite(value) & np.isfinite(reach)
            left, right = (value - reach)[sure], (value + reach)[sure]
            ax.hlines(at[sure], left, right, color=style.ink, linewidth=1.1, zorder=3)
        ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        ax.tick_params(axis="y", length=0)
        if len(self._shown) > 1:
            legend_beside(style, ax, bars, self.legend)
        errors = rows[[f"{column}_{self.error}" for column in self._shown]]
        unsure = int((~np.isfinite(errors)).any(axis=1).sum())
        return remark("no line: no finite standard error ({})", unsure, "row")


class ScoresDisplay(_PairedBars):
    """True scores, best on top, marks last; each line reaches 1.96 standard errors both ways.

    The frame has one row per respondent, which is its index: `true_score` and `true_score_se`, and
    if known, `true_score_positive` and `true_score_positive_se`, over items of positive
    discrimination only. Whoever is `artificial` is a hollow mark in the last rows. At most 40 rows
    are drawn, the best.
    """

    pair = ("true_score", "true_score_positive")
    legend = ("all items", "items of positive\ndiscrimination")
    x_label = "true score (line: ±1.96 standard errors)"
    without, further = "a score", ("row", "of lower score")

    def _prepare(self) -> None:
        self._rows = marks_last(self._rows, self.order)

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        notes = super()._draw_rows(ax, style, rows, height)
        marks = flags(rows, "artificial")
        for bar in (
            bar for bars in ax.containers for bar, mark in zip(bars, marks, strict=True) if mark
        ):
            bar.set(facecolor=style.paper, edgecolor=style.neutral, linewidth=0.9)
        said = "hollow: {}, marks on the scale, in the last rows whatever they score"
        return [*notes, *remark(said, int(marks.sum()), "artificial respondent")]


class ImportanceDisplay(_PairedBars):
    """Importance of features, largest on top; each line reaches one standard deviation both ways.

    The frame has one row per feature, which is its index: `difficulty` and `difficulty_sd`, and if
    known, `task` and `task_sd`; each is a share of the sum over features. At most 40 are drawn.
    """

    pair, error, reach = ("difficulty", "task"), "sd", 1.0
    legend = ("difficulty", "class")
    x_label = "share of all importance (line: ± standard deviation)"
    without, further = "an importance", ("row", "of lower importance")


class DecisionDisplay(Display):
    """One case: its difficulty beside the limit of the model, and the features that drive it.

    The frame has one row per `feature`: its `contribution` to the difficulty of the case, and the
    same in every row, the `difficulty`, the `limit` of the class in `prediction`, and the
    `decision`, "model" or "person". If known: the `value` of the feature, `difficulty_se`,
    `limit_se` and `contribution_se`, and a sentence in `reason`. Twenty features are drawn, those
    with the largest contributions, and the sum of the others.
    """

    numbers = ("difficulty", "limit", "contribution")
    optional = ("difficulty_se", "limit_se", "contribution_se")
    labels = ("feature", "prediction", "decision")
    needed = ("contribution",)
    noun, without = "feature", "a contribution"
    x_label = "contribution to the difficulty (right: harder)"
    grid_lines = "x"
    most_rows = 20

    def _prepare(self) -> None:
        for name in ("difficulty", "limit", "prediction", "decision"):
            if len(self.frame[name].astype(object).unique()) > 1:
                raise InputError(
                    f"{self._owner} draws one case, but the column '{name}' holds more than one "
                    "value. Give the rows of one case."
                )
        self._case = self.frame.iloc[0]
        self._difficulty, self._limit = float(self._case["difficulty"]), float(self._case["limit"])
        if self._case["decision"] not in WORDS:
            raise InputError(
                f"{self._owner} knows the decisions 'model' and 'person', but not "
                f"{label(self._case['decision'])!r}."
            )
        if not np.isfinite(self._difficulty):
            raise InputError(
                f"{self._owner} has nothing to draw: 'difficulty' is not a finite number."
            )
        order = np.argsort(-np.abs(self._rows["contribution"].to_numpy()), kind="stable")
        self._rows = self._rows.iloc[order]

    def _size(self) -> tuple[float, float]:
        rows = min(len(self._rows), self.most_rows + 1)
        return 7.2, STRIP + TITLE + 1.3 + ROW * max(rows, 3)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        height = ax.get_window_extent().height / ax.figure.dpi
        strip = strip_above(ax, float(np.clip((STRIP + 0.2) / height, 0.12, 0.35)))
        apply(style, strip)
        self._draw_line(strip, style)
        words = fill(self._words(), int(0.9 * characters_that_fit(ax, 1.1 * style.font_size)))
        strip.set_title(words, fontsize=1.1 * style.font_size, color=style.ink, loc="left")
        self._draw_bars(ax, style)
        return self._notes()

    def _draw_line(self, ax: Axes, style: Style) -> None:
        """Draw the line of difficulty: where the model decides, where a person does, the case."""
        limit, error = self._limit, self._error("limit_se")
        low, high = self._reach()
        zones = (("model", low, min(limit, high)), ("person", max(limit, low), high))
        for (who, start, end), colour in zip(zones, (style.positive, style.negative), strict=True):
            if start < end:  # not where there is no limit
                ax.axvspan(start, end, color=colour, alpha=0.13, linewidth=0, zorder=0)
                share = (end - start) / (high - low)
                if share * characters_that_fit(ax, style.small) >= len(who) + 3:
                    _name_zone(ax, style, who, (low, high), colour)
        if np.isfinite(limit):
            ax.axvline(limit, color=style.ink, linewidth=1.4, linestyle=DASHED, zorder=2)
            if np.isfinite(error):
                band = limit - 1.96 * error, limit + 1.96 * error
                ax.axvspan(*band, color=style.neutral, alpha=0.3, linewidth=0, zorder=1)
        here, reach = self._difficulty, 1.96 * self._error("difficulty_se")
        ax.hlines(0.0, here - reach, here + reach, color=style.ink, linewidth=1.4, zorder=3)
        ax.plot(here, 0.0, marker="D", markersize=7, color=style.ink, zorder=4)
        ax.set_xlim(low, high)
        ax.set_ylim(-1.0, 1.0)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(f"difficulty as {self._predicted()}")

    def _draw_bars(self, ax: Axes, style: Style) -> None:
        names, values, errors = self._bars(ax, style)
        at = np.arange(1.0, len(values) + 1)
        colours = np.where(values > 0, style.negative, style.positive).tolist()
        ax.barh(at, values, height=0.66, color=colours, alpha=0.75, linewidth=0, zorder=2)
        reach = 1.96 * errors
        ax.hlines(at, values - reach, values + reach, color=style.ink, linewidth=1.1, zorder=3)
        ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        ax.set_yticks(at, names)
        ax.set_ylim(len(values) + 0.6, 0.4)
        ax.tick_params(axis="y", length=0)
        if not np.any(values):
            ax.set_xlim(-1.0, 1.0)

    def _bars(self, ax: Axes, style: Style) -> tuple[list[str], Floats, Floats]:
        """Return names, contributions and errors from hard to easy; then the sum of the rest."""
        fit = max(1, min(self.most_rows, lines_that_fit(ax, style.font_size) - 1))
        shown, rest = self._rows.iloc[:fit], self._rows.iloc[fit:]
        shown = shown.sort_values("contribution", ascending=False, kind="stable")
        width = name_width(ax, style)
        names = [_named(row, width) for _, row in shown.iterrows()]
        values = shown["contribution"].to_numpy()
        errors = np.full(len(shown), np.nan)
        if "contribution_se" in shown.columns:
            errors = shown["contribution_se"].to_numpy()
        if len(rest):
            names.append(counted(len(rest), "other feature"))
            values = np.append(values, rest["contribution"].sum())
            errors = np.append(errors, np.nan)
        return names, values, errors

    def _reach(self) -> tuple[float, float]:
        """Return the ends of the line: case and limit with their uncertainty, and the mean case."""
        case, limit = 1.96 * self._error("difficulty_se"), 1.96 * self._error("limit_se")
        ends = [
            middle + sign * np.nan_to_num(reach)
            for middle, reach in ((self._difficulty, case), (self._limit, limit), (0.0, 1.0))
            for sign in (-1.0, 1.0)
            if np.isfinite(middle)
        ]
        return padded((float(min(ends)), float(max(ends))), 0.1)

    def _error(self, name: str) -> float:
        return float(self._case[name]) if name in self.frame.columns else np.nan

    def _predicted(self) -> str:
        name = class_name(self._case["prediction"], 32)
        return name if name.startswith("class ") else f"'{name}'"

    def _words(self) -> str:
        """Return the reason as given, or the decision and the two figures behind it."""
        if "reason" in self.frame.columns and str(self._case["reason"]).strip():
            return label(self._case["reason"], 240)
        who = WORDS[str(self._case["decision"])]
        here, limit = said_limit(self._difficulty, np.nan), said_limit(self._limit, np.nan)
        if not np.isfinite(self._limit):
            return f"{who}: predicted {self._predicted()}, difficulty {here}."
        side = "within" if self._difficulty <= self._limit else "beyond"
        return f"{who}: difficulty {here} is {side} the limit {limit} of {self._predicted()}."

    def _notes(self) -> list[str]:
        if np.isfinite(self._limit):
            limit = "dashed: limit"
        elif np.isnan(self._limit):
            limit = "no limit is known"
        else:
            cases = "all" if self._limit > 0 else "none"
            limit = f"no limit: the model decides {cases} of this class"
        errors = [name for name in self.optional if name in self.frame.columns]
        known = bool(self.frame[errors].notna().any(axis=None))
        bands = ["bands and lines: ±1.96 standard errors"] if known else []
        return [f"diamond: this case; {limit}", *bands]


def _name_zone(ax: Axes, style: Style, who: str, limits: tuple[float, float], colour: str) -> None:
    """Write who decides at the end of the line on that side."""
    left = who == "model"
    end, off = (limits[0], 4.0) if left else (limits[1], -4.0)
    look = {"ha": "left" if left else "right", "va": "top", "color": colour}
    write_off(style, ax, who, (end, 1.0), (off, -3.0), **look)


def _named(row: pd.Series[Any], width: int) -> str:
    """Return a feature, with its value if known."""
    if "value" not in row.index or row["value"] is None:
        return label(row["feature"], width)
    value = row["value"]
    said = f"{value:.4g}" if isinstance(value, float) else label(value, 10)
    return f"{label(row['feature'], max(8, width - len(said) - 3))} = {said}"


OTHERS = 5  # rows without suspicion, for comparison


class SuspectsDisplay(Rows):
    """Strong and weak respondents on the items whose labels should be checked first.

    The frame has one row per item, which is its index: `evidence`, how likely its label is wrong or
    contradicts good respondents, `share_right_strong`, `share_right_weak`, and if known, `suspect`.
    Suspects come first, at most 30 rows in all. On an item with a right label, strong respondents
    do better.
    """

    numbers = ("evidence", "share_right_weak", "share_right_strong")
    order, most_rows = "evidence", 30
    further = ("item", "with less evidence")
    x_label = "share of right responses"

    def _prepare(self) -> None:
        super()._prepare()
        self._suspects = int(flags(self._rows, "suspect").sum())

    def _wanted(self) -> int:
        return min(super()._wanted(), self._suspects + OTHERS)

    def _size(self) -> tuple[float, float]:
        return self.inches[0], self.margin + self.row_height * max(5, self._wanted())

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        evidence, weak, strong = (rows[name].to_numpy() for name in self.numbers)
        colours = np.where(flags(rows, "suspect"), style.negative, style.positive)
        ax.hlines(height, weak, strong, color=colours, linewidth=1.4, alpha=0.5, zorder=2)
        ax.scatter(weak, height, s=40, facecolor=style.paper, edgecolor=colours, zorder=3)
        ax.scatter(strong, height, s=16, color=colours, zorder=4)
        ax.set_xlim(-0.03, 1.03)
        for at, chance in zip(height, evidence, strict=True):
            text_beside(style, ax, f"{chance:.0%}", at, x=1.03)
        ink: dict[str, Any] = {"color": style.ink, "linestyle": "none", "marker": "o"}
        handles = [
            legend_handle(markerfacecolor=style.paper, markersize=6.0, **ink),
            legend_handle(markersize=4.0, **ink),
            legend_handle(color=style.negative, linewidth=2.0),
        ]
        texts = ["weak third", "strong third", "suspect"]
        legend_beside(style, ax, handles, texts, left=1.12)  # beside the probabilities
        suspects = counted(self._suspects, "suspect")
        rule = " (few of them are expected to have a right label)"
        return [
            f"on the right: evidence against the label; {suspects}{rule if self._suspects else ''}"
        ]

"""Figures of rows: one row per name, from the top down, with dots, intervals or bars."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ogive._validation import one_of
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, not_shown, remark
from ogive.results.plots.theme import (
    DASHED,
    Style,
    in_words,
    label,
    legend_beside,
    legend_handle,
    lines_that_fit,
    name_width,
    say_on_hover,
    text_beside,
    write,
)
from ogive.stats.array_backend import Array, Bools, Floats

NAMED_AT_EACH_END = 5  # rows with a name if there is no room for all
CLOSE, FAIR = 0.05, 0.08  # usual limits of the RMSEA (Browne and Cudeck, 1993)
NO_SUPPORT = 10.0  # difference in AIC beyond which a model has no support (Burnham, Anderson 2002)
MARKERS = "osD^v"
SPREAD = 0.5  # of a row, over which the dots of one respondent lie
OTHERS = 5  # rows without suspicion, for comparison


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

    def _n_shown(self) -> int:
        return min(len(self._rows), self.most_rows)

    def _size(self) -> tuple[float, float]:
        height = self.margin + self.row_height * self._n_shown()
        return self.inches[0], max(self.least_height, height)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        fit = lines_that_fit(ax, style.font_size) - self.spare_lines
        shown = max(1, min(self._n_shown(), fit))
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
        finite = np.isfinite(value)
        if self.ends:
            low, high = (self._rows[end].to_numpy() for end in self.ends)
        else:
            reach = np.where(finite, 1.96 * self._rows[self.se].to_numpy(), np.nan)
            low, high = value - reach, value + reach
        sure = finite & np.isfinite(low) & np.isfinite(high)
        limits = _ranking_limits(value, low, high)
        size, width, colour = 22.0 if few else 5.0, 1.6 if few else 0.7, style.positive
        bars: dict[str, Any] = {"color": colour, "linewidth": width, "alpha": 0.45, "zorder": 2}
        ax.hlines(height[sure], low[sure], high[sure], **bars)
        for rows, face in ((sure, colour), (finite & ~sure, style.paper)):
            ax.scatter(
                value[rows], height[rows], s=size, facecolor=face, edgecolor=colour, zorder=3
            )
        arrow: dict[str, Any] = {"color": colour, "zorder": 3, "clip_on": False}
        for marker, beyond, edge in zip("<>", (-np.inf, np.inf), limits, strict=True):
            y = height[value == beyond]
            ax.scatter(np.full(len(y), edge), y, s=1.6 * size, marker=marker, **arrow)
        ax.set_xlim(limits)
        bar = "interval" if self.ends else f"±1.96 {label(self.se)}"
        ax.set_xlabel(f"{in_words(self.estimate)}{f' (bar: {bar})' if sure.any() else ''}")
        unsure = "interval" if self.ends else "finite standard error"
        infinite = f"arrow: infinite {label(self.estimate)} ({{}})"
        return [
            *remark(f"hollow: no {unsure} ({{}})", int((finite & ~sure).sum()), "row"),
            *remark(infinite, int(np.isinf(value).sum()), "row"),
        ]

    def _name_some(self, ax: Axes, style: Style, names: list[str]) -> None:
        """Write rank and name of the first and the last rows beside the axes."""
        count = len(names)
        ticks = MaxNLocator(nbins=6, integer=True).tick_values(0, count)
        ax.set_yticks([max(1, int(tick)) for tick in ticks if 0 <= tick <= count])
        fit = lines_that_fit(ax, style.font_size)
        ends = max(1, min(NAMED_AT_EACH_END, (fit - 1) // 2, count // 2))
        numbered = [f"{rank}  {name}" for rank, name in enumerate(names, start=1)]
        for height, side, lines in (
            (1.0, "top", numbered[:ends]),
            (0.0, "bottom", numbered[-ends:]),
        ):
            look = {"xycoords": "axes fraction", "va": side, "fontsize": style.font_size}
            write(style, ax, "\n".join(lines), (1.02, height), **look)


def _ranking_limits(value: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """Return limits for all dots and their bars, unless a few huge bars would squash the rest."""
    finite = np.isfinite(value)
    if not finite.any():
        return -1.0, 1.0
    value, low, high = value[finite], low[finite], high[finite]
    sure = np.isfinite(low) & np.isfinite(high)
    down, up = np.where(sure, (value - low, high - value), 0.0)
    most = max(np.ptp(value), float(np.median(down + up)))
    first = float((value - np.minimum(down, most)).min())
    last = float((value + np.minimum(up, most)).max())
    pad = 0.04 * (last - first) or max(1.0, 0.1 * abs(first))
    return first - pad, last + pad


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
        boards = ["board"] if "board" in self.frame.columns else []
        self._rows = self._rows.sort_values([*boards, "rank", "rank_low"], kind="stable")

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        value, low, high = (rows[name].to_numpy() for name in self.estimates)
        leading = flags(rows, "leading", default=True)
        colours = np.where(leading, style.positive, style.neutral)
        sure: Array = np.isfinite(low) & np.isfinite(high)
        ends = low[sure], high[sure]
        ax.hlines(height[sure], *ends, color=colours[sure], linewidth=1.8, alpha=0.5)
        face = np.where(sure, colours, style.paper)
        dots = ax.scatter(value, height, s=22, facecolor=face, edgecolor=colours, zorder=3)
        intervals = zip(rows.index, value, low, high, strict=True)
        say_on_hover(
            dots, [f"{name}: {at:.3f} ({a:.3f} to {b:.3f})" for name, at, a, b in intervals]
        )
        text_beside(style, ax, "rank", 0.0)
        for at, (_, row) in zip(height, rows.iterrows(), strict=True):
            rank, first, last = (row[name] for name in self.ranks)
            board = f"board {row['board']}: " if "board" in row.index else ""
            interval = f"  ({first:.0f} to {last:.0f})" if first <= last else ""
            text_beside(style, ax, f"{board}{rank:.0f}{interval}", at)
        notes = []
        if "leading" in rows.columns and len(self._rows) > 1:
            others = counted(int(leading.sum()) - 1, "other")
            notes = ["blue: the first, which differs significantly from all others"]
            if leading.sum() > 1:
                notes = [f"blue: the first and {others} that cannot be distinguished from it"]
        return [*notes, *remark("hollow: no interval ({})", int((~sure).sum()), "row")]


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
        above: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "color": style.ink}
        above |= {"ha": "center", "va": "bottom", "fontsize": style.small}
        for start, stop, word in (
            (0.0, CLOSE, "close"),
            (CLOSE, FAIR, "fair"),
            (FAIR, end, "poor"),
        ):
            if (stop - start) / end > 0.09:  # else it is too narrow for the word
                ax.text((start + stop) / 2, 1.01, word, **above)
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

    def _draw_rows(self, ax: Axes, style: Style, height: Floats, *, few: bool) -> list[str]:
        rows = self._rows
        behind = {name: rows[name].to_numpy() - rows[name].min() for name in ("aic", "bic")}
        distances = np.concatenate([[0.0], *behind.values()])
        farthest = float(distances[np.isfinite(distances)].max())
        if farthest <= NO_SUPPORT:
            ax.set_xlim(-0.4, max(1.08 * farthest, 4.0))
        else:
            ax.set_xscale("symlog", linthresh=NO_SUPPORT, linscale=1.0)
            ax.set_xlim(-0.6, 1.6 * farthest)
            powers = 10.0 ** np.arange(1, np.ceil(np.log10(1.6 * farthest)) + 1)
            ticks = [tick for tick in (0, 2, 5, *powers) if tick <= 1.6 * farthest]
            ax.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
            ax.xaxis.minorticks_off()
        converged = [bool(done) for done in rows["converged"]] if "converged" in rows else []
        entries: list[tuple[Artist, str]] = []
        # A little above and below the row, so that equal ones are seen.
        for name, colour, marker, aside in (
            ("aic", style.positive, "o", -0.14),
            ("bic", style.negative, "s", 0.14),
        ):
            face = [colour if done else style.paper for done in converged] or colour
            dots: dict[str, Any] = {"s": 30.0 if few else 5.0, "marker": marker, "zorder": 3}
            ax.scatter(behind[name], height + aside, facecolor=face, edgecolor=colour, **dots)
            handle = ax.scatter([], [], s=30.0, marker=marker, color=colour)
            entries.append((handle, name.upper()))
        legend_beside(style, ax, entries)
        ax.axvspan(0.0, 2.0, color=style.faint, alpha=0.6, zorder=0, linewidth=0)
        return [
            "in brackets: Akaike weight; grey band: hardly distinguishable by these data",
            *remark("hollow: not converged ({})", converged.count(False), "model"),
        ]

    def _names(self, width: int) -> list[str]:
        weights = zip(self._rows.index, self._rows["weight"], strict=True)
        return [f"{label(name, width)}  ({weight:.2f})" for name, weight in weights]


def _artificial_last(rows: pd.DataFrame, order: str) -> pd.DataFrame:
    """Return the rows by a column, the highest first; `artificial` respondents come last."""
    return rows.iloc[np.lexsort((-rows[order].to_numpy(), flags(rows, "artificial")))]


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
        self._rows = _artificial_last(self._rows, self.order)

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        rating, low, high = (rows[name].to_numpy() for name in self.numbers)
        artificial = flags(self._rows, "artificial")
        leader = int(np.argmin(artificial))
        level = self._level_with(leader, artificial)
        marks = artificial[: len(rows)]
        colours = np.where(level[: len(rows)], style.positive, style.neutral)
        band = {"color": style.positive, "alpha": 0.07, "linewidth": 0, "zorder": 0}
        ax.axvspan(low[leader], high[leader], **band)  # type: ignore[arg-type]
        ax.hlines(height, low, high, color=colours, linewidth=1.6, alpha=0.5, zorder=2)
        ax.scatter(rating[~marks], height[~marks], s=22, color=colours[~marks], zorder=3)
        if marks.any():
            edge = style.neutral
            ax.scatter(rating[marks], height[marks], s=22, c=style.paper, edgecolors=edge, zorder=3)
        hollow = "hollow: {}, marks on the scale, in the last rows whatever their rating"
        notes = remark(hollow, int(marks.sum()), "artificial respondent")
        if len(self._rows) == 1:
            return notes
        others, alone = int(level.sum()) - 1, "no range overlaps that of the leader"
        which = "whose range overlaps its own"
        if "level" in self.frame.columns:
            alone = "all others are significantly behind"
            verb = "is" if others == 1 else "are"
            which = f"that {verb} not significantly behind in games of the two"
        return [*notes, *(remark(f"blue: the leader and {{}} {which}", others, "other") or [alone])]

    def _level_with(self, leader: int, artificial: Bools) -> Bools:
        """Return which rows are level with the leader; the leader itself always is."""
        if "level" not in self.frame.columns:
            return np.asarray((self._rows["high"] >= self._rows["low"].iloc[leader]) & ~artificial)
        level = flags(self._rows, "level").copy()
        level[leader] = True
        return level


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
        shifts = np.linspace(-SPREAD / 2, SPREAD / 2, len(self._dimensions))
        if len(self._dimensions) == 1:
            shifts = np.zeros(1)
        entries: list[tuple[Artist, str]] = []
        for k, (name, shift) in enumerate(zip(self._dimensions, shifts, strict=True)):
            value = rows["ability", name].to_numpy(dtype=float)
            reach = 1.96 * np.nan_to_num(rows["se", name].to_numpy(dtype=float))
            colour, at = style.palette[k % len(style.palette)], height + shift
            ax.hlines(at, value - reach, value + reach, color=colour, alpha=0.5, linewidth=1.2)
            marker = MARKERS[k % len(MARKERS)]
            dots = ax.scatter(value, at, s=18, color=colour, marker=marker, zorder=3)
            pairs = zip(rows.index, value.tolist(), strict=True)
            say_on_hover(dots, [f"{respondent}, {name}: {x:.2f}" for respondent, x in pairs])
            entries.append((dots, label(name, 24)))
        legend_beside(style, ax, entries)
        return []


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
        self._errors = [f"{column}_{self.error}" for column in self._shown]
        pairs = zip(self._shown, self._errors, strict=True)
        self.numbers = tuple(name for pair in pairs for name in pair)
        self.order, self.needed = self.pair[0], self.pair[:1]
        self.row_height = 0.32 if paired else 0.22
        super().__init__(frame)

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        thick = 0.72 / len(self._shown)
        colours = (style.positive, style.palette[4 % len(style.palette)])
        entries: list[tuple[Artist, str]] = []
        for k, (column, error) in enumerate(zip(self._shown, self._errors, strict=True)):
            at = height + (k - (len(self._shown) - 1) / 2) * thick
            value, reach = rows[column].to_numpy(), self.reach * rows[error].to_numpy()
            look: dict[str, Any] = {"color": colours[k], "alpha": 0.75, "linewidth": 0, "zorder": 2}
            entries.append((ax.barh(at, value, height=thick, **look)[0], self.legend[k]))
            sure = np.isfinite(value) & np.isfinite(reach)
            left, right = (value - reach)[sure], (value + reach)[sure]
            ax.hlines(at[sure], left, right, color=style.ink, linewidth=1.1, zorder=3)
        ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        ax.tick_params(axis="y", length=0)
        if len(entries) > 1:
            legend_beside(style, ax, entries)
        unsure = int((~np.isfinite(rows[self._errors])).any(axis=1).sum())
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
        self._rows = _artificial_last(self._rows, self.order)

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        notes = super()._draw_rows(ax, style, rows, height)
        artificial = flags(rows, "artificial")
        for bars in ax.containers:
            for bar, mark in zip(bars, artificial, strict=True):
                if mark:
                    bar.set(facecolor=style.paper, edgecolor=style.neutral, linewidth=0.9)
        hollow = "hollow: {}, marks on the scale, in the last rows whatever they score"
        return [*notes, *remark(hollow, int(artificial.sum()), "artificial respondent")]


class ImportanceDisplay(_PairedBars):
    """Importance of features, largest on top; each line reaches one standard deviation both ways.

    The frame has one row per feature, which is its index: `difficulty` and `difficulty_sd`, and if
    known, `task` and `task_sd`; each is a share of the sum over features. At most 40 are drawn.
    """

    pair, error, reach = ("difficulty", "task"), "sd", 1.0
    legend = ("difficulty", "class")
    x_label = "share of all importance (line: ± standard deviation)"
    without, further = "an importance", ("row", "of lower importance")


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

    def _n_shown(self) -> int:
        return min(super()._n_shown(), int(flags(self._rows, "suspect").sum()) + OTHERS)

    def _size(self) -> tuple[float, float]:
        return self.inches[0], self.margin + self.row_height * max(5, self._n_shown())

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        evidence, weak, strong = (rows[name].to_numpy() for name in self.numbers)
        colours = np.where(flags(rows, "suspect"), style.negative, style.positive)
        ax.hlines(height, weak, strong, color=colours, linewidth=1.4, alpha=0.5, zorder=2)
        ax.scatter(weak, height, s=40, facecolor=style.paper, edgecolor=colours, zorder=3)
        ax.scatter(strong, height, s=16, color=colours, zorder=4)
        ax.set_xlim(-0.03, 1.03)
        for at, probability in zip(height, evidence, strict=True):
            text_beside(style, ax, f"{probability:.0%}", at, x=1.03)
        dot: dict[str, Any] = {"color": style.ink, "linestyle": "none", "marker": "o"}
        entries = [
            (legend_handle(markerfacecolor=style.paper, markersize=6.0, **dot), "weak third"),
            (legend_handle(markersize=4.0, **dot), "strong third"),
            (legend_handle(color=style.negative, linewidth=2.0), "suspect"),
        ]
        legend_beside(style, ax, entries, left=1.12)  # beside the probabilities
        suspects = int(flags(self._rows, "suspect").sum())
        rule = " (few of them are expected to have a right label)" if suspects else ""
        return [f"on the right: evidence against the label; {counted(suspects, 'suspect')}{rule}"]

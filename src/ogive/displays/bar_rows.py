"""Rows of bars with intervals: true scores, importance of features, and one decision."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.displays.display import Display, flags, marks_last, remark
from ogive.displays.grouped_rows import class_name, said_limit
from ogive.displays.interval_rows import Rows
from ogive.displays.panel_grid import strip_above
from ogive.displays.style import (
    DASHED,
    Style,
    apply,
    characters_that_fit,
    label,
    legend_beside,
    lines_that_fit,
    name_width,
    write_off,
)
from ogive.errors import InputError
from ogive.numerics.robust import padded
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

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

"""Why one case goes to the model or to a person."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.classes import class_name, said_limit
from itemwise.displays.divided import strip_above
from itemwise.displays.style import (
    Style,
    apply,
    footnote,
    grid,
    label,
    lines_that_fit,
    name_width,
    signs_that_fit,
)
from itemwise.errors import InputError
from itemwise.numerics.robust import padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_ROWS = 20
STRIP, TITLE, ROW = 0.75, 0.5, 0.24  # inches: line of difficulty, words above it, a feature
ONCE = ("difficulty", "limit")
OPTIONAL = ("difficulty_se", "limit_se", "contribution_se")
WORDS = {"model": "The model decides", "person": "A person decides"}


class DecisionDisplay(Display):
    """One case: its difficulty beside the limit of the model, and the features that push it.

    The frame has one row a `feature`: its `contribution` to the difficulty of the case, and the
    same in every row, the `difficulty`, the `limit` of the class in `prediction`, and the
    `decision`, "model" or "person". Where known: the `value` of the feature, `difficulty_se`,
    `limit_se` and `contribution_se`, and a sentence in `reason`. Twenty features are drawn, those
    that push the most, and the sum of the others.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        owner = type(self).__name__
        errors = [name for name in OPTIONAL if name in getattr(frame, "columns", ())]
        numbers = (*ONCE, *errors, "contribution")
        super().__init__(tidy(frame, owner, numbers, ("feature", "prediction", "decision")))
        _check(self.frame, owner)
        first = self.frame.iloc[0]
        self._case = first
        self._difficulty, self._limit = float(first["difficulty"]), float(first["limit"])
        there = self.frame[np.isfinite(self.frame["contribution"])]
        self._lost = len(self.frame) - len(there)
        order = np.argsort(-np.abs(there["contribution"].to_numpy()), kind="stable")
        self._ranked = there.iloc[order]

    def _size(self) -> tuple[float, float]:
        rows = min(len(self._ranked), MOST_ROWS + 1)
        return 7.2, STRIP + TITLE + 1.3 + ROW * max(rows, 3)

    def _draw(self, ax: Axes, style: Style) -> None:
        height = ax.get_window_extent().height / ax.figure.dpi
        strip = strip_above(ax, float(np.clip((STRIP + 0.2) / height, 0.12, 0.35)))
        apply(style, strip)
        self._draw_line(strip, style)
        words = fill(self._words(), int(0.9 * signs_that_fit(ax, 1.1 * style.font_size)))
        strip.set_title(words, fontsize=1.1 * style.font_size, color=style.ink, loc="left")
        self._draw_bars(ax, style)
        footnote(style, ax, self._notes())

    def _draw_line(self, ax: Axes, style: Style) -> None:
        """The line of difficulty: where the model decides, where a person does, and the case."""
        limit, error = self._limit, self._error("limit_se")
        low, high = self._reach()
        ends = {"model": (low, min(limit, high)), "person": (max(limit, low), high)}
        for (who, (start, end)), colour in zip(
            ends.items(), (style.positive, style.negative), strict=True
        ):
            if start < end:  # not where there is no limit
                ax.axvspan(start, end, color=colour, alpha=0.13, linewidth=0, zorder=0)
                self._name_zone(ax, style, who, (start, end), (low, high), colour)
        if np.isfinite(limit):
            ax.axvline(limit, color=style.ink, linewidth=1.4, linestyle=(0, (4, 2)), zorder=2)
            if np.isfinite(error):
                band = limit - 1.96 * error, limit + 1.96 * error
                ax.axvspan(*band, color=style.neutral, alpha=0.3, linewidth=0, zorder=1)
        reach = 1.96 * self._error("difficulty_se")
        here = self._difficulty
        ax.hlines(0.0, here - reach, here + reach, color=style.ink, linewidth=1.4, zorder=3)
        ax.plot(here, 0.0, marker="D", markersize=7, color=style.ink, zorder=4)
        ax.set_xlim(low, high)
        ax.set_ylim(-1.0, 1.0)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(f"difficulty as {self._predicted()}")

    @staticmethod
    def _name_zone(
        ax: Axes,
        style: Style,
        who: str,
        zone: tuple[float, float],
        limits: tuple[float, float],
        colour: str,
    ) -> None:
        share = (zone[1] - zone[0]) / (limits[1] - limits[0])
        if share * signs_that_fit(ax, style.small) < len(who) + 3:
            return
        left = who == "model"
        ax.annotate(
            who,
            (limits[0] if left else limits[1], 1.0),
            xytext=(4.0 if left else -4.0, -3.0),
            textcoords="offset points",
            ha="left" if left else "right",
            va="top",
            fontsize=style.small,
            color=colour,
        )

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
        ax.set_xlabel("contribution to the difficulty (right: harder)")
        grid(style, ax, "x")

    def _bars(self, ax: Axes, style: Style) -> tuple[list[str], Floats, Floats]:
        """Names, contributions and their errors from harder to easier; then the sum of the rest."""
        fit = max(1, min(MOST_ROWS, lines_that_fit(ax, style.font_size) - 1))
        shown, rest = self._ranked.iloc[:fit], self._ranked.iloc[fit:]
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
        """Ends of the line: the case and the limit with their uncertainty, and the mean case."""
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
        """The reason as it was given, or the decision and the two figures behind it."""
        if "reason" in self.frame.columns and str(self._case["reason"]).strip():
            return label(self._case["reason"], 240)
        who = WORDS[str(self._case["decision"])]
        here, limit = said_limit(self._difficulty, np.nan), said_limit(self._limit, np.nan)
        if not np.isfinite(self._limit):
            return f"{who}: predicted {self._predicted()}, difficulty {here}."
        side = "within" if self._difficulty <= self._limit else "beyond"
        return f"{who}: difficulty {here} is {side} the limit {limit} of {self._predicted()}."

    def _notes(self) -> list[str]:
        parts = ["diamond: this case"]
        parts.append(
            "dashed: limit"
            if np.isfinite(self._limit)
            else "no limit is known"
            if np.isnan(self._limit)
            else f"no limit: the model decides {'all' if self._limit > 0 else 'none'} of this class"
        )
        notes = ["; ".join(parts)]
        if any(self.frame[name].notna().any() for name in OPTIONAL if name in self.frame.columns):
            notes.append("bands and lines: ±1.96 standard errors")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'feature')} without a contribution")
        return notes


def _check(frame: pd.DataFrame, owner: str) -> None:
    for name in (*ONCE, "prediction", "decision"):
        if len(frame[name].astype(object).unique()) > 1:
            raise InputError(
                f"{owner} draws one case, but the column '{name}' holds more than one value. "
                "Give the rows of one case."
            )
    if frame["decision"].iloc[0] not in WORDS:
        given = label(frame["decision"].iloc[0])
        raise InputError(f"{owner} knows the decisions 'model' and 'person', but not {given!r}.")
    if not np.isfinite(frame["difficulty"].iloc[0]):
        raise InputError(f"{owner} has nothing to draw: 'difficulty' is not a finite number.")
    if not np.isfinite(frame["contribution"]).any():
        raise InputError(f"{owner} has nothing to draw: 'contribution' holds no finite number.")


def _named(row: pd.Series[Any], width: int) -> str:
    """A feature, with its value where that is known."""
    if "value" not in row.index or row["value"] is None:
        return label(row["feature"], width)
    value = row["value"]
    said = f"{value:.4g}" if isinstance(value, float) else label(value, 10)
    return f"{label(row['feature'], max(8, width - len(said) - 3))} = {said}"

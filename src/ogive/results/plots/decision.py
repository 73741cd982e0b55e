"""One decision: the difficulty of a case beside the limit of the model, and what drives it."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display
from ogive.results.plots.marks import class_name, format_limit, padded
from ogive.results.plots.panels import strip_above
from ogive.results.plots.theme import (
    DASHED,
    Style,
    apply,
    characters_that_fit,
    label,
    lines_that_fit,
    name_width,
    write_off,
)

STRIP, TITLE, ROW = 0.75, 0.5, 0.24  # inches: line of difficulty, words above it, a feature
DECISIONS = {"model": "The model decides", "person": "A person decides"}


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
        self._case = self.frame.iloc[0]
        self._difficulty, self._limit = float(self._case["difficulty"]), float(self._case["limit"])
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
        size = 1.1 * style.font_size
        reason = fill(self._reason(), int(0.9 * characters_that_fit(ax, size)))
        strip.set_title(reason, fontsize=size, color=style.ink, loc="left")
        self._draw_bars(ax, style)
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

    def _draw_line(self, ax: Axes, style: Style) -> None:
        """Draw the line of difficulty: where the model decides, where a person does, the case."""
        limit, reach_of_limit = self._limit, 1.96 * self._error("limit_se")
        case, reach = self._difficulty, 1.96 * self._error("difficulty_se")
        ends = [
            middle + sign * np.nan_to_num(width)
            for middle, width in ((case, reach), (limit, reach_of_limit), (0.0, 1.0))
            for sign in (-1.0, 1.0)
            if np.isfinite(middle)
        ]
        low, high = padded((float(min(ends)), float(max(ends))), 0.1)
        for who, start, end, colour, side, corner in (
            ("model", low, min(limit, high), style.positive, "left", (low, 4.0)),
            ("person", max(limit, low), high, style.negative, "right", (high, -4.0)),
        ):
            if start < end:  # else there is no limit on this side
                ax.axvspan(start, end, color=colour, alpha=0.13, linewidth=0, zorder=0)
                share = (end - start) / (high - low)
                if share * characters_that_fit(ax, style.small) >= len(who) + 3:
                    look = {"ha": side, "va": "top", "color": colour}
                    write_off(style, ax, who, (corner[0], 1.0), (corner[1], -3.0), **look)
        if np.isfinite(limit):
            ax.axvline(limit, color=style.ink, linewidth=1.4, linestyle=DASHED, zorder=2)
            if np.isfinite(reach_of_limit):
                band = limit - reach_of_limit, limit + reach_of_limit
                ax.axvspan(*band, color=style.neutral, alpha=0.3, linewidth=0, zorder=1)
        ax.hlines(0.0, case - reach, case + reach, color=style.ink, linewidth=1.4, zorder=3)
        ax.plot(case, 0.0, marker="D", markersize=7, color=style.ink, zorder=4)
        ax.set_xlim(low, high)
        ax.set_ylim(-1.0, 1.0)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(f"difficulty as {self._predicted()}")

    def _draw_bars(self, ax: Axes, style: Style) -> None:
        """Draw the contributions from hard to easy, then the sum of those without a bar."""
        fit = max(1, min(self.most_rows, lines_that_fit(ax, style.font_size) - 1))
        shown, rest = self._rows.iloc[:fit], self._rows.iloc[fit:]
        shown = shown.sort_values("contribution", ascending=False, kind="stable")
        width = name_width(ax, style)
        names = [_with_value(row, width) for _, row in shown.iterrows()]
        values, errors = shown["contribution"].to_numpy(), np.full(len(shown), np.nan)
        if "contribution_se" in shown.columns:
            errors = shown["contribution_se"].to_numpy()
        if len(rest):
            names.append(counted(len(rest), "other feature"))
            values = np.append(values, rest["contribution"].sum())
            errors = np.append(errors, np.nan)
        at, reach = np.arange(1.0, len(values) + 1), 1.96 * errors
        colours = np.where(values > 0, style.negative, style.positive).tolist()
        ax.barh(at, values, height=0.66, color=colours, alpha=0.75, linewidth=0, zorder=2)
        ax.hlines(at, values - reach, values + reach, color=style.ink, linewidth=1.1, zorder=3)
        ax.axvline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        ax.set_yticks(at, names)
        ax.set_ylim(len(values) + 0.6, 0.4)
        ax.tick_params(axis="y", length=0)
        if not np.any(values):
            ax.set_xlim(-1.0, 1.0)

    def _error(self, name: str) -> float:
        return float(self._case[name]) if name in self.frame.columns else np.nan

    def _predicted(self) -> str:
        name = class_name(self._case["prediction"], 32)
        return name if name.startswith("class ") else f"'{name}'"

    def _reason(self) -> str:
        """Return the reason as given, or the decision and the two figures behind it."""
        if "reason" in self.frame.columns and str(self._case["reason"]).strip():
            return label(self._case["reason"], 240)
        who = DECISIONS[str(self._case["decision"])]
        case, limit = (format_limit(value, np.nan) for value in (self._difficulty, self._limit))
        if not np.isfinite(self._limit):
            return f"{who}: predicted {self._predicted()}, difficulty {case}."
        side = "within" if self._difficulty <= self._limit else "beyond"
        return f"{who}: difficulty {case} is {side} the limit {limit} of {self._predicted()}."


def _with_value(row: pd.Series[Any], width: int) -> str:
    """Return the name of a feature, with its value if known."""
    value = row.get("value")
    if value is None:
        return label(row["feature"], width)
    text = f"{value:.4g}" if isinstance(value, float) else label(value, 10)
    return f"{label(row['feature'], max(8, width - len(text) - 3))} = {text}"

"""Planes of fit: items and respondents whose responses are surprising, named beside the axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.displays.display import Display, flags, remark
from ogive.displays.style import (
    DASHED,
    Style,
    label,
    lines_that_fit,
    name_points,
    name_width,
    names_beside,
    say_on_hover,
)
from ogive.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Array, Floats

BAND = (0.7, 1.3)
LEVEL = 0.05
MOST_ITEMS = 12  # that are named
MANY_ITEMS = 200  # more points are drawn small
# Beyond these, a mean square only says "very far"; drawn to scale it would hide the rest.
LEAST, MOST = 0.25, 4.0
TICKS = (0.25, 0.5, 0.7, 1.0, 1.3, 2.0, 4.0)
MOST_NAMES = 8
MANY = 300
UNLIKELY = -1.645
FARTHEST_ZH, FARTHEST_EXCESS = 6.0, 8.0  # beyond, a value only says "very far"
REFERENCE = 1.645


class FitDisplay(Display):
    """Infit and outfit of each item; those that are noisier than by chance are named.

    The frame has one row per item, which is its index: `infit`, `outfit` and `s_x2_p_adjusted`,
    which may be NaN. With `noise_p_adjusted`, items whose adjusted p-value is below 0.05 are named:
    how far chance reaches depends on each item. Otherwise those outside of 0.7 to 1.3 are, a range
    that is then shaded. Items whose `s_x2_p_adjusted` is below 0.05 are named as well. If there are
    many, it is the farthest.
    """

    numbers = ("infit", "outfit", "s_x2_p_adjusted")
    optional = ("noise_p_adjusted",)
    needed = ("infit", "outfit")
    infinite = True
    noun, without = "item", "infit and outfit"
    inches = (7.2, 4.8)
    x_label = "infit (surprises near the difficulty)"
    y_label = "outfit (surprises anywhere)"

    def _prepare(self) -> None:
        squares = self._rows[["infit", "outfit"]].to_numpy()
        self._points = np.clip(squares, LEAST, MOST)
        self._clipped = int((squares != self._points).any(axis=1).sum())
        self._tested = set(self.optional) <= set(self._rows.columns)
        if self._tested:
            self._outside = self._rows["noise_p_adjusted"].to_numpy() < LEVEL
        else:
            beyond = (squares < BAND[0]) | (squares > BAND[1])
            self._outside = np.asarray(beyond.any(axis=1))
        self._wrong = self._rows["s_x2_p_adjusted"].to_numpy() < LEVEL

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.patches import Rectangle

        self._scale(ax)
        if not self._tested:  # otherwise each item has a range of its own
            look_of_range: dict[str, Any] = {"color": style.faint, "alpha": 0.6, "zorder": 1}
            side = BAND[1] - BAND[0]
            ax.add_patch(Rectangle((BAND[0], BAND[0]), side, side, **look_of_range))
        for line in (ax.axhline, ax.axvline):
            line(1.0, color=style.neutral, linewidth=0.8, zorder=2)
        size = 24.0 if len(self._points) <= MANY_ITEMS else 7.0
        for rows, colour, marker in (
            (~self._outside & ~self._wrong, style.neutral, "o"),
            (self._outside & ~self._wrong, style.positive, "o"),
            (self._wrong, style.negative, "D"),
        ):
            x, y = self._points[rows].T
            look: dict[str, Any] = {"alpha": 0.75, "linewidth": 0, "zorder": 3}
            dots = ax.scatter(x, y, s=size, c=colour, marker=marker, **look)
            names = self._rows.index[rows]
            texts = (
                f"{name}: infit {a:.2f}, outfit {b:.2f}"
                for name, a, b in zip(names, x, y, strict=True)
            )
            say_on_hover(dots, list(texts))
        self._name(ax, style)
        return self._notes()

    def _scale(self, ax: Axes) -> None:
        """Set logarithmic axes that show every point and the whole range."""
        low = min(float(self._points.min()), 0.6) / 1.06
        high = max(float(self._points.max()), 1.5) * 1.06
        ax.set_xscale("log")
        ax.set_yscale("log")
        for limits, ticks in ((ax.set_xlim, ax.set_xticks), (ax.set_ylim, ax.set_yticks)):
            limits(low, high)
            shown = [tick for tick in TICKS if low <= tick <= high]
            ticks(shown, [f"{tick:g}" for tick in shown])
            ticks([], minor=True)

    def _name(self, ax: Axes, style: Style) -> None:
        """Name the farthest items."""
        # A departure from the curve counts as much as a mean square at the edge of the square.
        far = np.abs(np.log(self._points)).max(axis=1) / np.log(BAND[1]) + self._wrong
        rows = np.flatnonzero(self._outside | self._wrong)
        fit = lines_that_fit(ax, style.small) - 1
        rows = rows[np.argsort(-far[rows], kind="stable")][: max(1, min(MOST_ITEMS, fit))]
        colours = np.where(self._wrong[rows], style.negative, style.ink).tolist()
        name_points(style, ax, self._rows.index[rows], self._points[rows], colours, 24)

    def _notes(self) -> list[str]:
        notes = [self._said_of_range()]
        if self._rows["s_x2_p_adjusted"].notna().any():
            wrong = counted(int(self._wrong.sum()), "item")
            notes.append(
                f"diamond: departs from its curve, adjusted p of S-X² below 0.05 ({wrong})"
            )
        edge = f"drawn at the edge: {{}} beyond {LEAST:g} or {MOST:g}"
        return [*notes, *remark(edge, self._clipped, "item")]

    def _said_of_range(self) -> str:
        many = int(self._outside.sum())
        if not self._tested:
            total = counted(len(self._rows), "item")
            return f"square: {len(self._rows) - many:,} of {total} within 0.7 to 1.3"
        tested = counted(int(self._rows["noise_p_adjusted"].notna().sum()), "tested item")
        return (
            f"in colour: {many:,} of {tested} noisier than by chance, after correction for all "
            "tests; how far chance reaches depends on the item and its responses"
        )


class RespondentFitDisplay(Display):
    """Ability against the likelihood of the responses; by chance, one in twenty is below the line.

    The frame has one row per respondent, which is its index: `ability`, its `se`, and `zh`, the
    standardised log-likelihood. The least likely respondents are named, and their bar reaches
    1.96 standard errors of ability both ways.
    """

    numbers = ("ability", "se", "zh")
    needed = ("ability", "zh")
    noun, without = "respondent", "zh"
    inches = (7.2, 4.4)
    x_label, y_label = "ability", "zh (standardised log-likelihood)"

    def _prepare(self) -> None:
        points = self._rows[["ability", "zh"]].to_numpy()
        self._points = np.clip(points, -FARTHEST_ZH, FARTHEST_ZH)
        self._clipped = int((np.abs(points) > FARTHEST_ZH).any(axis=1).sum())
        self._below = self._rows["zh"].to_numpy() < UNLIKELY

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        size = 22.0 if len(self._points) <= MANY else 6.0
        low, high = _wide_limits(self._points[:, 1])
        ax.set_ylim(low, high)
        ax.axhspan(low, UNLIKELY, color=style.faint, alpha=0.6, zorder=1)
        ax.axhline(UNLIKELY, color=style.neutral, linewidth=0.8, zorder=2)
        for rows, colour in ((~self._below, style.positive), (self._below, style.negative)):
            x, y = self._points[rows].T
            dots = ax.scatter(x, y, s=size, color=colour, alpha=0.6, linewidth=0, zorder=3)
            names = self._rows.index[rows]
            texts = [
                f"{name}: ability {a:.2f}, zh {b:.2f}"
                for name, a, b in zip(names, x, y, strict=True)
            ]
            say_on_hover(dots, texts)
        named = self._named(lines_that_fit(ax, style.small))
        ends = self._bars(named)
        ax.set_xlim(_wide_limits(np.append(self._points[:, 0], ends), least=2.0))
        ax.hlines(self._points[named, 1], *ends, color=style.negative, alpha=0.5)
        width, values = min(24, name_width(ax, style)), self._rows["zh"]
        texts = [f"{label(self._rows.index[k], width)}  {values.iloc[k]:.2f}" for k in named]
        names_beside(style, ax, texts, self._points[named], [style.ink] * len(named))
        return self._notes()

    def _named(self, lines: int) -> Array:
        """Return positions of the least likely respondents, as many as there is room to name."""
        rows = np.flatnonzero(self._below)
        order = np.argsort(self._rows["zh"].to_numpy()[rows], kind="stable")
        return rows[order[: max(1, min(MOST_NAMES, lines - 1))]]

    def _bars(self, rows: Array) -> Floats:
        """Return both ends of the bars; without a standard error, the point."""
        x, reach = self._points[rows, 0], 1.96 * self._rows["se"].to_numpy()[rows]
        reach = np.where(np.isfinite(reach), reach, 0.0)
        ends: Floats = np.clip(np.stack([x - reach, x + reach]), -FARTHEST_ZH, FARTHEST_ZH)
        return ends

    def _notes(self) -> list[str]:
        many, share = int(self._below.sum()), float(self._below.mean())
        of_all = f"{many:,} of {counted(len(self._rows), 'respondent')} ({share:.1%})"
        notes = [f"shaded: {of_all} below {UNLIKELY:g}; up to 5% are expected by chance"]
        notes += remark(
            f"drawn at the edge: {{}} beyond ±{FARTHEST_ZH:g}", self._clipped, "respondent"
        )
        errors = self._rows["se"].to_numpy()
        if many and np.isfinite(errors).any():
            middle = np.median(errors[np.isfinite(errors)])
            notes.append(f"bar: ±1.96 standard errors of ability (median {middle:.2g})")
        return notes


def _wide_limits(values: Floats, least: float = 3.0) -> tuple[float, float]:
    """Return limits for every point, and at least `least` both ways."""
    low, high = min(float(values.min()), -least), max(float(values.max()), least)
    return low - 0.04 * (high - low), high + 0.04 * (high - low)


class ExcessDisplay(Display):
    """Right responses to hard items beyond expectation, in standard deviations, by ability.

    The frame has one row per respondent, which is its index: `ability` and `excess_z`. With `hint`,
    those that exceed chance are coloured and named; otherwise the three highest are named.
    By chance, one in twenty lies above the dashed line.
    """

    numbers = ("ability", "excess_z")
    noun, without = "respondent", "enough hard items"
    inches = (7.6, 4.4)
    x_label, y_label = "ability", "excess on hard items (standard deviations)"

    def _prepare(self) -> None:
        self._points = self._rows[list(self.numbers)].to_numpy()
        self._points[:, 1] = np.clip(self._points[:, 1], -FARTHEST_EXCESS, FARTHEST_EXCESS)
        self._hint = flags(self._rows, "hint")

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        size = 22.0 if len(self._points) <= MANY else 6.0
        line: dict[str, Any] = {"color": style.neutral, "zorder": 1}
        ax.axhline(0.0, linewidth=0.9, **line)
        ax.axhline(REFERENCE, linewidth=0.8, linestyle=DASHED, **line)
        for rows, colour in ((~self._hint, style.positive), (self._hint, style.negative)):
            x, y = self._points[rows].T
            ax.scatter(x, y, s=size, color=colour, alpha=0.6, linewidth=0)
        low, high = self._points[:, 1].min(), self._points[:, 1].max()
        ax.set_ylim(min(float(low), -3.0) - 0.3, max(float(high), 3.0) + 0.3)
        ax.set_xlim(ax.get_xlim())
        self._name(ax, style)
        hints, total = int(self._hint.sum()), counted(len(self._rows), "respondent")
        far = int((np.abs(self._rows["excess_z"]) > FARTHEST_EXCESS).sum())
        edge = f"drawn at the edge: {{}} beyond ±{FARTHEST_EXCESS:g}"
        return [
            f"in colour: {hints:,} of {total} beyond chance (no proof)",
            "dashed: one in twenty is above by chance",
            *remark(edge, far, "respondent"),
        ]

    def _name(self, ax: Axes, style: Style) -> None:
        values = self._rows["excess_z"].to_numpy()
        order = np.lexsort((-values, ~self._hint))
        most = int(self._hint.sum()) or 3
        fit = lines_that_fit(ax, style.small) - 1
        rows = order[: max(1, min(most, MOST_NAMES, fit))]
        width = min(26, name_width(ax, style))
        texts = [f"{label(self._rows.index[k], width)}  {values[k]:+.1f}" for k in rows]
        colours = [style.negative if self._hint[row] else style.ink for row in rows]
        names_beside(style, ax, texts, self._points[rows], colours)

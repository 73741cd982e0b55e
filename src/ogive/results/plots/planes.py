"""Planes with a diagonal, where two values agree; of two measures; and of a fact and an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, not_shown, remark
from ogive.results.plots.marks import class_name, ends_of, padded, robust_limits
from ogive.results.plots.theme import (
    DASHED,
    DOTTED,
    MOST_SHAPES,
    Style,
    in_words,
    label,
    legend_beside,
    legend_handle,
    lines_that_fit,
    name_points,
    say_on_hover,
)
from ogive.stats.array_backend import Array, Bools, Floats

FAR = 0.1  # difference of areas beyond which the model describes an algorithm poorly
FEWEST_NAMES, MOST_NAMES = 3, 12
MOST_COLOURED = 7  # models with a colour each; more could not be distinguished
MOST_MODELS = 20  # that are named
MOST_BARS = 60  # rows; of more, only some have an interval
MOST_ALGORITHMS = 14  # that are named


class _NamedPairs(Display):
    """Points of two columns around the diagonal; those far from it are marked and named."""

    pair: tuple[str, str]
    error: str  # column of the standard error of the difference
    inches = (7.0, 4.8)

    def _prepare(self) -> None:
        self._points: Floats = self._rows[list(self.pair)].to_numpy()
        self._diff: Floats = np.abs(self._points[:, 0] - self._points[:, 1])
        known = self.error in self._rows.columns
        error = self._rows[self.error].to_numpy() if known else np.zeros(len(self._rows))
        self._reach: Floats = 1.96 * np.where(np.isfinite(error), error, 0.0)
        (x, y), reach = self._points.T, self._reach
        self._ends: Floats = np.concatenate([x, y, y - reach, y + reach])

    def _draw_diagonal(self, ax: Axes, style: Style, low: float, high: float) -> None:
        ends = [low, high]
        ax.plot(ends, ends, color=style.neutral, linestyle=DOTTED, zorder=1)
        ax.set_xlim(low, high)
        ax.set_ylim(low, high)

    def _name(self, ax: Axes, style: Style, rows: Array, marked: Bools) -> None:
        colours = np.where(marked[rows], style.negative, style.ink).tolist()
        name_points(style, ax, self._rows.index[rows], self._points[rows], colours)


class AnchorsDisplay(_NamedPairs):
    """Difficulty of each anchor on the old scale, by both calibrations; on the line they agree.

    The frame has one row per anchor, which is its index: `difficulty_old`, `difficulty_new` after
    linking, the standard error of their difference `difficulty_difference_se`, and if known,
    `drifted`. Anchors that drifted are orange diamonds with their names, at most twelve; if
    there are no more than twelve anchors, all have names.
    """

    pair = ("difficulty_old", "difficulty_new")
    error = "difficulty_difference_se"
    numbers, needed = (*pair, error), pair
    noun, without = "anchor", "both difficulties"
    x_label = "difficulty in the old calibration"
    y_label = "difficulty in the new one, linked"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        low, high = padded(robust_limits(self._ends))
        inside = np.asarray(np.all((self._points >= low) & (self._points <= high), axis=1))
        self._draw_diagonal(ax, style, low, high)
        drifted = flags(self._rows, "drifted")
        for marked, colour, marker in (
            (~drifted, style.positive, "o"),
            (drifted, style.negative, "D"),
        ):
            rows = inside & marked
            (x, y), reach = self._points[rows].T, self._reach[rows]
            ax.vlines(x, y - reach, y + reach, color=colour, alpha=0.35, linewidth=1.2, zorder=2)
            ax.scatter(x, y, s=26, color=colour, marker=marker, alpha=0.8, linewidth=0, zorder=3)
        named = inside if len(self._points) <= MOST_NAMES else inside & drifted
        farthest = np.argsort(-self._diff, kind="stable")
        most = max(1, min(MOST_NAMES, lines_that_fit(ax, style.small)))
        self._name(ax, style, farthest[named[farthest]][:most], drifted)
        notes = ["dotted: no change; bar: ±1.96 standard errors of the difference"]
        if drifted.any():
            share = f"{int(drifted.sum()):,} of {counted(len(drifted), 'anchor')}"
            notes.append(f"orange diamond: drifted ({share})")
        return [*notes, *not_shown(int((~inside).sum()), "anchor", "far from the others")]


class EffectivenessDisplay(_NamedPairs):
    """Actual and predicted effectiveness of each algorithm; on the diagonal they agree.

    The frame has one row per algorithm, which is its index: the area under the actual (`auaec`)
    and under the predicted effectiveness curve (`aupec`), and if known, the standard error
    `difference_se` of their difference, which is how far a point lies above or below the diagonal.
    Up to twelve algorithms are named. Of more, those over 0.1 off the diagonal, which are orange:
    the farthest twelve, and never fewer than the farthest three.
    """

    pair, error = ("auaec", "aupec"), "difference_se"
    numbers, optional = pair, (error,)
    noun, without = "algorithm", "both areas"
    x_label, y_label = "actual effectiveness (AUAEC)", "predicted effectiveness (AUPEC)"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        self._draw_diagonal(ax, style, *padded(ends_of(self._ends), 0.06))
        (x, y), reach = self._points.T, self._reach
        if reach.any():
            ax.vlines(x, y - reach, y + reach, color=style.neutral, alpha=0.5, zorder=2)
        far = self._diff > FAR
        for rows, colour in ((~far, style.positive), (far, style.negative)):
            ax.scatter(x[rows], y[rows], s=26, color=colour, alpha=0.75, linewidth=0, zorder=3)
        count = max(FEWEST_NAMES, min(MOST_NAMES, int(far.sum())))
        if len(far) <= MOST_NAMES:
            count = len(far)
        most = max(1, min(count, lines_that_fit(ax, style.small)))
        self._name(ax, style, np.argsort(-self._diff, kind="stable")[:most], far)
        notes = ["dotted: actual and predicted are the same"]
        if far.any():
            share = f"{int(far.sum()):,} of {counted(len(far), 'algorithm')}"
            notes.append(f"orange: {share} more than {FAR:g} off")
        if reach.any():
            notes.append("bar: ±1.96 standard errors of the distance from the dotted line")
        return notes


class CapabilityPlaneDisplay(Display):
    """Limits (MLC) of models in two classes; up and right, models are trusted with harder cases.

    The frame has one row per model, which is its index, a column for each of the two `classes` that
    holds the limit there, and its standard error in a column of the same name with `_se`. Of many
    models, the twenty with the highest sum of limits are named, and only these have bars.
    """

    nothing = "no row has two finite limits."
    noun, without = "model", "both limits"
    inches = (7.4, 4.8)

    def __init__(self, frame: pd.DataFrame, classes: Sequence[str] = ("first", "second")) -> None:
        self.classes = self.needed = (classes[0], classes[1])
        self._errors = tuple(f"{name}_se" for name in classes)
        self.numbers = (*classes, *self._errors)
        names = (class_name(name, 28) for name in classes)
        self.x_label, self.y_label = (
            "limit (MLC) in " + (name if name.startswith("class ") else f"class '{name}'")
            for name in names
        )
        super().__init__(frame)

    def _prepare(self) -> None:
        points = self._rows[list(self.classes)].to_numpy()
        order = np.argsort(-points.sum(axis=1), kind="stable")
        self._rows, self._points = self._rows.iloc[order], points[order]

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        named = min(len(self._rows), MOST_MODELS, max(1, lines_that_fit(ax, style.small)))
        shades = [style.positive] * named
        if named <= MOST_COLOURED:
            shades = [style.palette[k % len(style.palette)] for k in range(named)]
        points, rest = self._points[:named], self._points[named:]
        reach = 1.96 * self._rows[list(self._errors)].to_numpy()[:named]
        known = np.nan_to_num(reach)
        every = np.concatenate([self._points, points - known, points + known])
        limits = [padded(robust_limits(column)) for column in every.T]
        low, high = np.array(limits).T
        ends = [float(low.min()), float(high.max())]
        ax.plot(ends, ends, color=style.neutral, linewidth=1.0, linestyle=DOTTED, zorder=1)
        thin: dict[str, Any] = {"colors": shades, "linewidth": 1.1, "alpha": 0.5, "zorder": 2}
        x, y = points.T
        ax.hlines(y, x - reach[:, 0], x + reach[:, 0], **thin)
        ax.vlines(x, y - reach[:, 1], y + reach[:, 1], **thin)
        ax.scatter(rest[:, 0], rest[:, 1], s=16, color=style.neutral, alpha=0.5, linewidth=0)
        ax.scatter(x, y, s=30, color=shades, linewidth=0, zorder=4)
        ax.set_xlim(limits[0])
        ax.set_ylim(limits[1])
        names = self._rows.index[:named]
        name_points(style, ax, names, np.clip(points, low, high), shades)
        beyond = ((self._points < low) | (self._points > high)).any(axis=1)
        return [
            "dotted: the same limit in both classes; bar: ±1.96 standard errors",
            *remark("grey: {} of lower limits", len(rest), "model"),
            *remark("beyond the axes: {}", int(beyond.sum()), "model"),
        ]


class PredictionDisplay(Display):
    """Accuracies against their predictions, with the interval of each.

    The frame has one row per respondent: its true `accuracy`, `predicted`, and `low` and `high` of
    the interval. Scores outside their interval have a colour of their own. Beyond 60 rows, bars are
    those of rows outside, and of as many others, chosen evenly along predictions, as stay legible.
    """

    numbers = ("accuracy", "predicted", "low", "high")
    without = "four finite numbers"
    inches = (6.6, 5.0)
    x_label, y_label = "predicted accuracy", "accuracy on all items"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        score, predicted, low, high = (self._rows[name].to_numpy() for name in self.numbers)
        out = (score < low) | (score > high)
        few = len(score) <= MOST_BARS
        ends = np.array(ends_of(np.concatenate([predicted, score])))
        pad = 0.04 * max(float(np.ptp(ends)), 0.05)
        dashed: dict[str, Any] = {"linewidth": 1.0, "linestyle": DASHED, "zorder": 2}
        (line,) = ax.plot(ends, ends, color=style.neutral, **dashed)
        # The intervals of each row, or of some: those outside first.
        outside = _evenly(predicted, np.flatnonzero(out), MOST_BARS)
        others = _evenly(predicted, np.flatnonzero(~out), MOST_BARS - len(outside))
        for k, colour in ((outside, style.negative), (others, style.positive)):
            bars = ax.vlines(predicted[k], low[k], high[k], color=colour, alpha=0.35, linewidth=1.4)
        look: dict[str, Any] = {
            "s": 24.0 if few else 9.0,
            "alpha": float(np.clip(9.0 / np.sqrt(len(score)), 0.2, 0.9)),
            "linewidths": 0,
            "rasterized": len(score) > MOST_SHAPES,
        }
        entries: list[tuple[Artist, str]] = []
        for rows, colour, text in (
            (~out, style.positive, "inside its\ninterval"),
            (out, style.negative, "outside"),
        ):
            dots = ax.scatter(predicted[rows], score[rows], color=colour, zorder=3, **look)
            texts = [
                f"{name}: {row['accuracy']:.3f}, predicted {row['predicted']:.3f} "
                f"({row['low']:.3f} to {row['high']:.3f})"
                for name, row in self._rows[rows].iterrows()
            ]
            say_on_hover(dots, texts)
            # The dots of thousands are too faint for a legend.
            key = legend_handle(color=colour, marker="o", linestyle="", markersize=5)
            entries.append((key, text))
        ax.set_xlim(ends[0] - pad, ends[1] + pad)
        legend_beside(style, ax, [*entries, (bars, "interval"), (line, "as predicted")])
        inside = f"{1 - out.mean():.0%} of {counted(len(out), 'respondent')} inside their interval"
        some = f"bars: intervals of {MOST_BARS} of them, evenly along predictions"
        return [inside, *([] if few else [some])]


def _evenly(along: Floats, rows: Array, most: int) -> Array:
    """Return at most so many of the rows, evenly along some values."""
    order = rows[np.argsort(along[rows], kind="stable")]
    if len(order) <= most:
        return np.asarray(order)
    return np.asarray(order[np.linspace(0, len(order) - 1, most).round().astype(int)])


class TradeOffDisplay(Display):
    """Means of two measures of each algorithm; those that no other beats on both have a colour.

    The frame has one row per algorithm, which is its index. `across` and `up` name columns of
    means; with columns of the same names and `_se`, bars reach 1.96 standard errors. A column
    `pareto` says who is on the front. `better` says of each measure whether "higher" or "lower"
    is good, for the labels.
    """

    noun, without = "algorithm", "both measures"
    inches = (7.6, 4.8)

    def __init__(
        self,
        frame: pd.DataFrame,
        across: str = "first",
        up: str = "second",
        better: tuple[str, str] = ("higher", "higher"),
    ) -> None:
        if across == up:
            raise InputError(f"`across` and `up` must be two measures, got '{across}' twice.")
        self.across, self.up, self.better = across, up, better
        self.numbers, self.optional = (across, up), (f"{across}_se", f"{up}_se")
        self.x_label, self.y_label = (
            f"{in_words(name)} ({side} is better)"
            for name, side in zip(self.numbers, better, strict=True)
        )
        super().__init__(frame)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        points = self._rows[list(self.numbers)].to_numpy()
        reach = np.zeros(points.shape)
        for column, name in enumerate(self.optional):
            if name in self._rows:
                reach[:, column] = 1.96 * np.nan_to_num(self._rows[name].to_numpy())
        front = flags(self._rows, "pareto")
        for rows, colour, alpha in ((~front, style.neutral, 0.5), (front, style.positive, 0.95)):
            (x, y), (wide, tall) = points[rows].T, reach[rows].T
            ax.hlines(y, x - wide, x + wide, color=colour, alpha=0.5 * alpha, linewidth=1.0)
            ax.vlines(x, y - tall, y + tall, color=colour, alpha=0.5 * alpha, linewidth=1.0)
            ax.scatter(x, y, s=30, color=colour, alpha=alpha, linewidth=0, zorder=3)
        lowest, highest = (points - reach).min(axis=0), (points + reach).max(axis=0)
        ax.set_xlim(padded((float(lowest[0]), float(highest[0]))))
        ax.set_ylim(padded((float(lowest[1]), float(highest[1]))))
        order = np.lexsort((np.arange(len(points)), ~front))  # the front is named first
        named = order[: max(1, min(MOST_ALGORITHMS, lines_that_fit(ax, style.small)))]
        colours = np.where(front[named], style.positive, style.neutral).tolist()
        name_points(style, ax, self._rows.index[named], points[named], colours)
        notes = ["blue: no other is at least as good on both; bars: ±1.96 standard errors"]
        return [*notes, *not_shown(len(points) - len(named), "name")]


class ScalingDisplay(Display):
    """An outcome against a fact, with the line and the band of what was `never` seen.

    Rows with `low` and `high` are points of the line; rows with `outcome_se` are respondents or
    items, `adjusted` for other facts or not.
    """

    numbers, optional = ("fact", "outcome"), ("outcome_se", "low", "high")
    without = "both numbers"

    def __init__(
        self,
        frame: pd.DataFrame,
        fact: str = "fact",
        outcome: str = "ability",
        never: str = "a respondent that was never run",
        *,
        adjusted: bool = False,
    ) -> None:
        self.x_label, self._never = label(fact, 40), never
        self.y_label = f"{outcome}, other facts being equal" if adjusted else outcome
        super().__init__(frame)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        rows = self._rows.reindex(columns=[*self.numbers, *self.optional])
        on_line = np.isfinite(rows[["low", "high"]].to_numpy(dtype=float)).all(axis=1)
        line = rows[on_line].sort_values("fact", kind="stable")
        fact, outcome, _, low, high = line.to_numpy(dtype=float).T
        look: dict[str, Any] = {"color": style.positive, "alpha": 0.15, "linewidth": 0}
        ax.fill_between(fact, low, high, **look)
        ax.plot(fact, outcome, color=style.positive, linewidth=1.8)
        x, y, error, *_ = rows[~on_line].to_numpy(dtype=float).T
        reach = 1.96 * np.nan_to_num(error)
        few = x.size <= MOST_BARS
        if few:
            ax.vlines(x, y - reach, y + reach, color=style.neutral, linewidth=1.0, alpha=0.6)
        ax.scatter(x, y, s=18 if few else 8, color=style.neutral)
        ax.set_xlim(*padded(ends_of(np.concatenate([fact, x]))))
        band = [f"band: where {self._never} is expected"] if len(fact) else []
        return [*band, *(["bar: ±1.96 standard errors"] if few and reach.any() else [])]

"""Agreement (diagonal), TwoMeasures, Scaling.

Planes with a diagonal: two values of one quantity, which agree on the line.

Algorithms by two measures at once, with those that no other beats on both.

Planes of a fact and what it explains: ability by compute, difficulty by length.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, not_shown, remark
from ogive.results.plots.marks import class_name, padded, robust_limits
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

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.stats.array_backend import Array, Bools, Floats


FAR = 0.1  # difference of areas beyond which the model describes an algorithm poorly
FEWEST_NAMES, MOST_NAMES = 3, 12
MOST_COLOURED = 7  # models with a colour each; more could not be distinguished
MOST_MODELS = 20  # that are named
MOST_BARS = 60  # rows; of more, intervals are drawn as a band


class _NamedPairs(Display):
    """Points of two columns around the diagonal; those far from it are marked and named."""

    pair: tuple[str, str]
    error: str  # column of the standard error of the difference
    inches = (7.0, 4.8)

    def _prepare(self) -> None:
        self._points: Floats = self._rows[list(self.pair)].to_numpy()
        self._apart: Floats = np.abs(self._points[:, 0] - self._points[:, 1])
        known = self.error in self._rows.columns
        error = self._rows[self.error].to_numpy() if known else np.zeros(len(self._rows))
        self._reach: Floats = 1.96 * np.where(np.isfinite(error), error, 0.0)

    def _ends(self) -> Floats:
        """Return both coordinates of the points and both ends of their bars."""
        x, y = self._points.T
        return np.concatenate([x, y, y - self._reach, y + self._reach])

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
        low, high = padded(robust_limits(self._ends()), 0.04)
        inside = np.all((self._points >= low) & (self._points <= high), axis=1)
        inside = np.asarray(inside)
        self._draw_diagonal(ax, style, low, high)
        drifted = flags(self._rows, "drifted")
        for marked, colour, marker in (
            (~drifted, style.positive, "o"),
            (drifted, style.negative, "D"),
        ):
            rows = inside & marked
            x, y = self._points[rows].T
            bars = y - self._reach[rows], y + self._reach[rows]
            ax.vlines(x, *bars, color=colour, alpha=0.35, linewidth=1.2, zorder=2)
            ax.scatter(x, y, s=26, color=colour, marker=marker, alpha=0.8, linewidth=0, zorder=3)
        wanted = inside if len(self._points) <= MOST_NAMES else inside & drifted
        farthest = np.argsort(-self._apart, kind="stable")
        most = max(1, min(MOST_NAMES, lines_that_fit(ax, style.small)))
        self._name(ax, style, farthest[wanted[farthest]][:most], drifted)
        notes = ["dotted: no change; bar: ±1.96 standard errors of the difference"]
        if drifted.any():
            of_all = f"{int(drifted.sum()):,} of {counted(len(drifted), 'anchor')}"
            notes.append(f"orange diamond: drifted ({of_all})")
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
        ends = self._ends()
        low, high = padded((float(ends.min()), float(ends.max())), 0.06)
        self._draw_diagonal(ax, style, low, high)
        x, y = self._points.T
        if self._reach.any():
            bars = y - self._reach, y + self._reach
            ax.vlines(x, *bars, color=style.neutral, alpha=0.5, zorder=2)
        far = self._apart > FAR
        for rows, colour in ((~far, style.positive), (far, style.negative)):
            ax.scatter(x[rows], y[rows], s=26, color=colour, alpha=0.75, linewidth=0, zorder=3)
        count = max(FEWEST_NAMES, min(MOST_NAMES, int(far.sum())))
        if len(far) <= MOST_NAMES:
            count = len(far)
        most = max(1, min(count, lines_that_fit(ax, style.small)))
        self._name(ax, style, np.argsort(-self._apart, kind="stable")[:most], far)
        notes = ["dotted: actual and predicted are the same"]
        if far.any():
            of_all = f"{int(far.sum()):,} of {counted(len(far), 'algorithm')}"
            notes.append(f"orange: {of_all} more than {FAR:g} off")
        if self._reach.any():
            notes.append("bar: ±1.96 standard errors of the distance from the dotted line")
        return notes


class CapabilityPlaneDisplay(Display):
    """Limits (MLC) of models in two classes; up and right, models are trusted with harder cases.

    The frame has one row per model, which is its index, a column for each of two classes that holds
    the limit there, and its standard error in a column of the same name with `_se`. If the frame
    has more classes, `classes` says which two. Of many models, the twenty with the highest sum of
    limits are named, and only these have bars.
    """

    nothing = "no row has two finite limits."
    noun, without = "model", "both limits"
    inches = (7.4, 4.8)

    def __init__(self, frame: pd.DataFrame, classes: Sequence[Hashable] | None = None) -> None:
        import pandas as pd

        if isinstance(frame, pd.DataFrame):  # classes may be numbers; names of columns are text
            frame = frame.rename(columns=str)
        self.classes = self.needed = _two_classes(frame, self._owner, classes)
        self._errors = tuple(f"{name}_se" for name in self.classes)
        self.numbers = (*self.classes, *self._errors)
        self.x_label, self.y_label = (f"limit (MLC) in {_quoted(name)}" for name in self.classes)
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
        limits = self._limits(points, np.nan_to_num(reach))
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

    def _limits(self, points: Floats, reach: Floats) -> list[tuple[float, float]]:
        """Return the ends of both axes: all points and bars, unless a few lie far off."""
        every = np.concatenate([self._points, points - reach, points + reach])
        return [padded(robust_limits(column)) for column in every.T]


def _two_classes(frame: object, owner: str, classes: Sequence[Hashable] | None) -> tuple[str, str]:
    """Return the two columns of limits: those given, or those that have a standard error."""
    if classes is not None:
        if isinstance(classes, str) or len(classes) != 2:
            raise InputError(f"{owner} draws two classes, but was given classes={classes!r}.")
        return str(classes[0]), str(classes[1])
    names: list[str] = list(dict.fromkeys(getattr(frame, "columns", ())))
    found = [name for name in names if f"{name}_se" in names]
    if len(found) > 2:
        there = ", ".join(repr(label(name)) for name in found[:12])
        raise InputError(
            f"{owner} draws two classes, but the frame has limits of {len(found)}: {there}. "
            "Say which two with classes=(..., ...)."
        )
    rest = [name for name in names if name not in found and not name.endswith("_se")]
    first, second, *_ = [*found, *rest, "mlc_1", "mlc_2"]
    return first, second


def _quoted(name: object) -> str:
    text = class_name(name, 28)
    return text if text.startswith("class ") else f"class '{text}'"


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
        every = np.concatenate([predicted, score])
        ends = np.array([every.min(), every.max()])
        pad = 0.04 * max(float(np.ptp(ends)), 0.05)
        dashed: dict[str, Any] = {"linewidth": 1.0, "linestyle": DASHED, "zorder": 2}
        (line,) = ax.plot(ends, ends, color=style.neutral, **dashed)
        colours, band = (style.positive, style.negative), self._draw_intervals(ax, style)
        look: dict[str, Any] = {
            "s": 24.0 if few else 9.0,
            "alpha": float(np.clip(9.0 / np.sqrt(len(score)), 0.2, 0.9)),
            "linewidths": 0,
            "rasterized": len(score) > MOST_SHAPES,
        }
        for rows, colour in zip((~out, out), colours, strict=True):
            dots = ax.scatter(predicted[rows], score[rows], color=colour, zorder=3, **look)
            own = self._rows[rows]
            texts = [
                f"{name}: {row['accuracy']:.3f}, predicted {row['predicted']:.3f} "
                f"({row['low']:.3f} to {row['high']:.3f})"
                for name, row in own.iterrows()
            ]
            say_on_hover(dots, texts)
        ax.set_xlim(ends[0] - pad, ends[1] + pad)
        # The dots of thousands are too faint for a legend.
        keys = [legend_handle(color=c, marker="o", linestyle="", markersize=5) for c in colours]
        marks = ["inside its\ninterval", "outside", "interval", "as predicted"]
        legend_beside(style, ax, [*keys, band, line], marks)
        share, every_one = 1 - out.mean(), counted(len(out), "respondent")
        some = f"bars: intervals of {MOST_BARS} of them, evenly along predictions"
        return [f"{share:.0%} of {every_one} inside their interval", *([] if few else [some])]

    def _draw_intervals(self, ax: Axes, style: Style) -> Artist:
        """Draw the interval of each row, or of some: those outside first."""
        score, predicted, low, high = (self._rows[name].to_numpy() for name in self.numbers)
        out = (score < low) | (score > high)
        rows = [_evenly(predicted, np.flatnonzero(out), MOST_BARS)]
        rows.append(_evenly(predicted, np.flatnonzero(~out), MOST_BARS - len(rows[0])))
        colours = style.negative, style.positive
        for k, colour in zip(rows, colours, strict=True):
            bars = ax.vlines(predicted[k], low[k], high[k], color=colour, alpha=0.35, linewidth=1.4)
        return bars


def _evenly(along: Floats, rows: Array, most: int) -> Array:
    """Return at most so many of the rows, evenly along some values."""
    order = rows[np.argsort(along[rows], kind="stable")]
    if len(order) <= most:
        return np.asarray(order)
    places = np.linspace(0, len(order) - 1, most).round().astype(int)
    return np.asarray(order[places])


MEASURE_PLANES_MOST_NAMES = 14


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
            raise InputError(f"across and up are both '{across}'. Name two measures.")
        self.across, self.up, self.better = across, up, better
        self.numbers, self.optional = (across, up), (f"{across}_se", f"{up}_se")
        said = [
            f"{in_words(name)} ({side} is better)"
            for name, side in zip(self.numbers, better, strict=True)
        ]
        self.x_label, self.y_label = said
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
        most = max(1, min(MEASURE_PLANES_MOST_NAMES, lines_that_fit(ax, style.small)))
        named = order[:most]
        colours = np.where(front[named], style.positive, style.neutral).tolist()
        name_points(style, ax, self._rows.index[named], points[named], colours)
        notes = ["blue: no other is at least as good on both; bars: ±1.96 standard errors"]
        return [*notes, *not_shown(len(points) - len(named), "name")]


REACH = 1.96


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

    def _prepare(self) -> None:
        columns = {
            name: self._rows[name].to_numpy(dtype=float)
            if name in self._rows
            else np.full(len(self._rows), np.nan)
            for name in (*self.numbers, *self.optional)
        }
        on_line = np.isfinite(columns["low"]) & np.isfinite(columns["high"])
        order = np.argsort(columns["fact"][on_line], kind="stable")
        self._line = {name: column[on_line][order] for name, column in columns.items()}
        self._points = {name: column[~on_line] for name, column in columns.items()}

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        line, points = self._line, self._points
        look: dict[str, Any] = {"color": style.positive, "alpha": 0.15, "linewidth": 0}
        ax.fill_between(line["fact"], line["low"], line["high"], **look)
        ax.plot(line["fact"], line["outcome"], color=style.positive, linewidth=1.8)
        reach = REACH * np.nan_to_num(points["outcome_se"])
        few = points["fact"].size <= MOST_BARS
        if few:
            low, high = points["outcome"] - reach, points["outcome"] + reach
            ax.vlines(points["fact"], low, high, color=style.neutral, linewidth=1.0, alpha=0.6)
        ax.scatter(points["fact"], points["outcome"], s=18 if few else 8, color=style.neutral)
        ends = [line["fact"], points["fact"]]
        ax.set_xlim(
            *padded((min(map(np.min, filter(len, ends))), max(map(np.max, filter(len, ends)))))
        )
        band = [f"band: where {self._never} is expected"] if len(line["fact"]) else []
        return [*band, *(["bar: ±1.96 standard errors"] if few and reach.any() else [])]

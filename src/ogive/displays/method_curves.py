"""Curves of algorithms and methods with bands, the best of them highlighted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import checked_share
from ogive.displays.display import Display, remark, tidy
from ogive.displays.grouped_rows import lines_by_name
from ogive.displays.highlight import Look, draw_curve, draw_rest, legend_handles, looks, wanted
from ogive.displays.style import (
    DASHED,
    MOST_SHAPES,
    Style,
    in_words,
    label,
    legend_beside,
    legend_handle,
    lines_that_fit,
    name_points,
    name_width,
)
from ogive.errors import InputError
from ogive.numerics.robust import padded, robust_limits

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

WIDENED = 0.5  # of the range of the curves, at each end, for bands and points
PLACES = 201  # along the difficulty, at which curves are compared
MOST_BANDS = 4  # more bands would hide each other
MOST_IDLE = 3  # methods that accept nothing and are named; further ones are counted
NARROWEST = 0.02  # range of accuracy, so that noise of equal methods does not fill the figure


class _HighlightedCurves(Display):
    """One curve with a band per name; those that are not highlighted are thin and grey."""

    def _prepare(self) -> None:
        self._names, self._curves = lines_by_name(self._rows, self.labels[0], self.numbers)

    def _draw_others(self, ax: Axes, style: Style, chosen: list[Look]) -> int:
        """Draw the curves that are not chosen; return how many."""
        coloured = {look.place for look in chosen}
        others = [curve[:, :2] for k, curve in enumerate(self._curves) if k not in coloured]
        draw_rest(ax, style, others)
        return len(others)


class PerformanceCurvesDisplay(_HighlightedCurves):
    """Performance of each algorithm, from easy problems to hard ones; higher is better.

    The frame has one row per `algorithm` and `difficulty`: the `performance` there, and its band
    from `low` to `high`, which may be NaN. `highlight` names the algorithms in colour, with band
    and name. By default, these are all of up to eight; of more, the seven that are best over the
    longest part of the difficulty axis, then by mean. The others are grey. `points` is a
    frame of single runs, `algorithm`, `difficulty` and `performance`, drawn for the same ones.
    `height` is the label of the performance.
    """

    numbers = ("difficulty", "performance", "low", "high")
    labels = ("algorithm",)
    needed = ("difficulty", "performance")
    x_label = "difficulty of the problem"

    def __init__(
        self,
        frame: pd.DataFrame,
        points: pd.DataFrame | None = None,
        highlight: Sequence[Hashable] | str | None = None,
        height: str = "performance",
    ) -> None:
        super().__init__(frame)
        self._given = wanted(self._owner, self._names, highlight)
        self._ranked = _best_first(self._curves)
        self.height, self.y_label = height, in_words(height)
        self.points = points
        if points is not None:
            self.points = tidy(
                points, f"{self._owner}, for its points,", self.numbers[:2], self.labels
            )

    @property
    def order(self) -> list[Hashable]:
        """All algorithms in the order of their colours: the best first."""
        return [self._names[place] for place in self._ranked]

    def _size(self) -> tuple[float, float]:
        return 8.2, max(4.6, 1.4 + 0.17 * len(self._given or ()))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        chosen = looks(style, self._ranked, self._given)
        others = self._draw_others(ax, style, chosen)
        for look in reversed(chosen):  # the best on top
            draw_curve(ax, look, self._curves[look.place], 1.9)
            self._draw_points(ax, look)
        every = np.concatenate([curve[:, 0] for curve in self._curves])
        ax.set_xlim(padded((float(every.min()), float(every.max())), 0.02))
        ax.set_ylim(self._limits(chosen))
        named = chosen[: max(1, lines_that_fit(ax, style.small))]
        ends = np.array([self._curves[look.place][-1, :2] for look in named])
        names = [self._names[look.place] for look in named]
        name_points(style, ax, names, ends, [look.colour for look in named])
        banded = any(np.isfinite(self._curves[look.place][:, 2:]).any() for look in chosen)
        return [
            *(["band: uncertainty of the curve"] if banded else []),
            *remark("grey: {}", others, "other algorithm"),
            *remark("no room for the name: {}", len(chosen) - len(named), "algorithm"),
        ]

    def _own_points(self, look: Look) -> Floats:
        """Return the points of a highlighted algorithm (n_points, 2)."""
        if self.points is None:
            return np.empty((0, 2))
        own = self.points["algorithm"] == self._names[look.place]
        return self.points.loc[own, list(self.numbers[:2])].to_numpy()

    def _draw_points(self, ax: Axes, look: Look) -> None:
        points = self._own_points(look)
        if not len(points):
            return
        alpha = float(np.clip(6.0 / np.sqrt(len(points)), 0.15, 0.6))
        dots: dict[str, Any] = {"s": 8, "color": look.colour, "alpha": alpha, "linewidths": 0}
        ax.scatter(*points.T, rasterized=len(points) > MOST_SHAPES, zorder=3, **dots)

    def _limits(self, chosen: list[Look]) -> tuple[float, float]:
        """Return limits for all curves; bands and points may widen them, but not by much."""
        curves = np.concatenate([curve[:, 1] for curve in self._curves])
        low, high = float(curves.min()), float(curves.max())
        if low == high:
            low, high = low - 0.1 * (abs(low) or 1.0), high + 0.1 * (abs(high) or 1.0)
        bands = [self._curves[look.place][:, 2:].ravel() for look in chosen]
        more = np.concatenate([*bands, *(self._own_points(look)[:, 1] for look in chosen)])
        if not np.isfinite(more).any():
            return padded((low, high))
        reach = WIDENED * (high - low)
        ends = np.clip(robust_limits(more), low - reach, high + reach)
        return padded((min(low, float(ends[0])), max(high, float(ends[1]))))


def _best_first(curves: list[Floats]) -> list[int]:
    """Rank the curves: those on top over the longest part of the axis first, then by mean."""
    every = np.concatenate([curve[:, 0] for curve in curves])
    at = np.linspace(every.min(), every.max(), PLACES)
    heights = np.array(
        [np.interp(at, curve[:, 0], curve[:, 1], left=-np.inf, right=-np.inf) for curve in curves]
    )
    on_top = (np.isfinite(heights) & (heights == heights.max(axis=0))).mean(axis=1)
    means = np.array([curve[:, 1].mean() for curve in curves])
    return [int(place) for place in np.lexsort((-means, -on_top))]


class RiskCoverageDisplay(_HighlightedCurves):
    """Accuracy on accepted cases against the share of cases accepted; higher is better.

    The frame has one row per `method` and `coverage`: the `accuracy` there and its interval from
    `low` to `high`, which may be NaN. `target` is the required accuracy, a dashed line. `points`
    marks the chosen threshold of each method: a frame of `method`, `coverage` and `accuracy`, and
    if known `low` and `high`. Up to eight methods have a colour; of more, the seven with the
    highest mean accuracy.
    """

    numbers = ("coverage", "accuracy", "low", "high")
    labels = ("method",)
    needed = ("coverage", "accuracy")
    inches = (7.8, 4.4)
    x_label = "coverage: share of cases that the model decides"
    y_label = "accuracy on these cases"

    def __init__(
        self,
        frame: pd.DataFrame,
        target: float | None = None,
        points: pd.DataFrame | None = None,
    ) -> None:
        super().__init__(frame)
        self.target = None if target is None else checked_share(target, "target", 0.97)
        means = np.array([curve[:, 1].mean() for curve in self._curves])
        self._ranked = [int(place) for place in np.argsort(-means, kind="stable")]
        self._marks, self._idle = self._operating(points)

    def _operating(
        self, points: pd.DataFrame | None
    ) -> tuple[dict[Hashable, Floats], list[Hashable]]:
        """Return coverage, accuracy and interval at each chosen threshold (n_points, 4) by method.

        Also return the methods whose threshold accepts nothing, so that there is no accuracy.
        """
        if points is None:
            return {}, []
        ends = [name for name in ("low", "high") if name in getattr(points, "columns", ())]
        owner, curve = self._owner, list(self.numbers[:2])
        rows = tidy(points, f"{owner}, for its points,", (*curve, *ends), self.labels)
        rows = rows.assign(**{name: np.nan for name in ("low", "high") if name not in ends})
        idle = list(dict.fromkeys(rows.loc[rows["coverage"] == 0, "method"]))
        rows = rows[np.isfinite(rows[curve].to_numpy()).all(axis=1)]
        if unknown := [name for name in rows["method"] if name not in self._names]:
            there = ", ".join(repr(label(name)) for name in self._names[:12])
            raise InputError(
                f"{owner} was given a point of {label(unknown[0])!r}, a method without a curve. "
                f"The frame has: {there}."
            )
        found, numbers = lines_by_name(rows, "method", self.numbers)
        return dict(zip(found, numbers, strict=False)), idle

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.ticker import PercentFormatter

        chosen = looks(style, self._ranked, None)
        banded = len(chosen) <= MOST_BANDS
        others = self._draw_others(ax, style, chosen)
        for look in reversed(chosen):  # the best on top
            draw_curve(ax, look, self._curves[look.place], 1.8, banded=banded)
            self._draw_marks(ax, style, look)
        if self.target is not None:
            ax.axhline(self.target, color=style.ink, linewidth=1.1, linestyle=DASHED, zorder=3)
        every = np.concatenate([curve[:, 0] for curve in self._curves])
        ax.set_xlim(padded((min(0.0, float(every.min())), max(1.0, float(every.max()))), 0.02))
        ax.set_ylim(self._limits(chosen))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        legend_beside(style, ax, *self._legend(ax, style, chosen))
        return self._notes(others, banded=banded)

    def _draw_marks(self, ax: Axes, style: Style, look: Look) -> None:
        """Draw the chosen thresholds of a method, with their intervals."""
        marks = self._marks.get(self._names[look.place])
        if marks is not None:
            x, y, low, high = marks.T
            ax.vlines(x, low, high, color=look.colour, linewidth=1.4, zorder=5)
            rim: dict[str, Any] = {"s": 46, "edgecolor": style.paper, "linewidth": 0.9}
            ax.scatter(x, y, marker="D", color=look.colour, zorder=6, **rim)

    def _limits(self, chosen: list[Look]) -> tuple[float, float]:
        """Return limits for curves, marks and target; bands may widen them, but not by much."""
        marks = [marks[:, 1] for marks in self._marks.values()]
        asked = [] if self.target is None else [np.array([self.target])]
        values = np.concatenate([*(curve[:, 1] for curve in self._curves), *marks, *asked])
        low, high = float(values.min()), float(values.max())
        reach = WIDENED * max(high - low, NARROWEST)  # bands explode where few cases are accepted
        bands = np.concatenate([self._curves[look.place][:, 2:].ravel() for look in chosen])
        bands = np.append(bands, [low, high])
        ends = np.clip(bands[np.isfinite(bands)], low - reach, high + reach)
        low, high = float(ends.min()), float(ends.max())
        if high - low < NARROWEST:
            low, high = low - NARROWEST / 2, high + NARROWEST / 2
        return padded((low, high), 0.05)

    def _legend(self, ax: Axes, style: Style, chosen: list[Look]) -> tuple[list[Artist], list[str]]:
        handles = legend_handles(chosen)
        width = min(28, name_width(ax, style))
        texts = [label(self._names[look.place], width) for look in chosen]
        if self.target is not None:
            handles.append(legend_handle(color=style.ink, linewidth=1.1, linestyle=DASHED))
            texts.append(f"required: {100 * self.target:g} %")
        if self._marks:
            handles.append(legend_handle(color=style.ink, marker="D", linestyle="", markersize=6))
            texts.append("chosen threshold")
        return handles, texts

    def _notes(self, others: int, *, banded: bool) -> list[str]:
        notes = []
        intervals = np.concatenate([curve[:, 2:] for curve in self._curves])
        if banded and np.isfinite(intervals).any():
            notes.append("band and bar: interval of the accuracy")
        notes += remark("grey: {} of lower mean accuracy", others, "method")
        if self._idle:
            names = ", ".join(label(name, 28) for name in self._idle[:MOST_IDLE])
            more = len(self._idle) - MOST_IDLE
            notes.append(f"accepts no case: {names}{f' and {more} more' if more > 0 else ''}")
        return notes

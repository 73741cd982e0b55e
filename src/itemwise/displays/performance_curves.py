"""Performance of algorithms along the difficulty of problems."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.highlight import Look, draw_rest, looks, wanted
from itemwise.displays.series import lines_by_name
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    lines_that_fit,
    name_width,
    names_beside,
)
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

CURVE = ["difficulty", "performance"]
WIDENED = 0.5  # of the range of the curves, at each end, for bands and points
MOST_SHAPES = 2000  # more points are drawn as a picture, lest a file for print weighs megabytes
PLACES = 201  # along the difficulty, at which curves are compared


class PerformanceCurvesDisplay(Display):
    """Performance of each algorithm, from easy problems to hard ones; higher is better.

    The frame has one row an `algorithm` and `difficulty`: the `performance` there, and its band
    from `low` to `high`, which may be NaN. `highlight` names the algorithms in colour, with band
    and name. Left out, these are all of up to eight; of more, the seven that are best over the
    longest part of the difficulty line, then by mean. The others are grey. `points` is a
    frame of single runs, `algorithm`, `difficulty` and `performance`, drawn for the same ones.
    `height` says what performance is.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        points: pd.DataFrame | None = None,
        highlight: Sequence[Hashable] | str | None = None,
        height: str = "performance",
    ) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, (*CURVE, "low", "high"), ("algorithm",)))
        known = self.frame[np.isfinite(self.frame[CURVE].to_numpy()).all(axis=1)]
        self._lost = len(self.frame) - len(known)
        if known.empty:
            raise InputError(
                f"{owner} has nothing to draw: no row has a finite 'difficulty' and 'performance'."
            )
        self._names, self._curves = lines_by_name(known, "algorithm", (*CURVE, "low", "high"))
        self._given = wanted(owner, self._names, highlight)
        self._ranked = _best_first(self._curves)
        self.height = height
        self.points = points
        if points is not None:
            self.points = tidy(points, f"{owner}, for its points,", CURVE, ("algorithm",))

    @property
    def order(self) -> list[Hashable]:
        """All algorithms in the order of their colours: the best first."""
        return [self._names[place] for place in self._ranked]

    def _size(self) -> tuple[float, float]:
        return 8.2, max(4.6, 1.4 + 0.17 * len(self._given or ()))

    def _draw(self, ax: Axes, style: Style) -> None:
        chosen = looks(style, self._ranked, self._given)
        coloured = {look.place for look in chosen}
        others = [curve[:, :2] for k, curve in enumerate(self._curves) if k not in coloured]
        draw_rest(ax, style, others)
        for look in reversed(chosen):  # the best on top
            self._draw_line(ax, look)
            self._draw_points(ax, look)
        every = np.concatenate([curve[:, 0] for curve in self._curves])
        ax.set_xlim(padded((float(every.min()), float(every.max())), 0.02))
        ax.set_ylim(self._limits(chosen))
        ax.set_xlabel("difficulty of the problem")
        ax.set_ylabel(label(self.height, 60))
        grid(style, ax)
        named = chosen[: max(1, lines_that_fit(ax, style.small))]
        self._name(ax, style, named)
        footnote(style, ax, self._notes(chosen, len(named)))

    def _draw_line(self, ax: Axes, look: Look) -> None:
        x, y, low, high = self._curves[look.place].T
        if len(x) > 1:
            ax.fill_between(x, low, high, color=look.colour, alpha=0.13, linewidth=0, zorder=2)
        else:
            ax.vlines(x, low, high, color=look.colour, alpha=0.5, zorder=2)
        ax.plot(
            x,
            y,
            color=look.colour,
            linestyle=look.dashes,
            linewidth=1.9,
            marker="o" if len(x) == 1 else "",  # one point would be invisible without
            zorder=4,
        )

    def _own_points(self, look: Look) -> Floats:
        """Points of a highlighted algorithm (n_points, 2)."""
        if self.points is None:
            return np.empty((0, 2))
        own = self.points["algorithm"] == self._names[look.place]
        return self.points.loc[own, CURVE].to_numpy()

    def _draw_points(self, ax: Axes, look: Look) -> None:
        points = self._own_points(look)
        if not len(points):
            return
        alpha = float(np.clip(6.0 / np.sqrt(len(points)), 0.15, 0.6))
        ax.scatter(
            points[:, 0],
            points[:, 1],
            s=8,
            color=look.colour,
            alpha=alpha,
            linewidths=0,
            rasterized=len(points) > MOST_SHAPES,
            zorder=3,
        )

    def _limits(self, chosen: list[Look]) -> tuple[float, float]:
        """Limits that hold every curve; bands and points may widen them, but not by much."""
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

    def _name(self, ax: Axes, style: Style, named: list[Look]) -> None:
        width = min(28, name_width(ax, style))
        texts = [label(self._names[look.place], width) for look in named]
        ends = np.array([self._curves[look.place][-1, :2] for look in named])
        names_beside(style, ax, texts, ends, [look.colour for look in named])

    def _notes(self, chosen: list[Look], named: int) -> list[str]:
        notes = []
        if any(np.isfinite(self._curves[look.place][:, 2:]).any() for look in chosen):
            notes.append("band: uncertainty of the curve")
        if others := len(self._curves) - len(chosen):
            notes.append(f"grey: {counted(others, 'other algorithm')}")
        if unnamed := len(chosen) - named:
            notes.append(f"without a name for want of room: {counted(unnamed, 'algorithm')}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a number")
        return notes


def _best_first(curves: list[Floats]) -> list[int]:
    """Places of the curves: those on top over the longest part of the axis first, then by mean."""
    every = np.concatenate([curve[:, 0] for curve in curves])
    at = np.linspace(every.min(), every.max(), PLACES)
    heights = np.array(
        [np.interp(at, curve[:, 0], curve[:, 1], left=-np.inf, right=-np.inf) for curve in curves]
    )
    on_top = (np.isfinite(heights) & (heights == heights.max(axis=0))).mean(axis=1)
    means = np.array([curve[:, 1].mean() for curve in curves])
    return [int(place) for place in np.lexsort((-means, -on_top))]

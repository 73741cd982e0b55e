"""Accuracy on the cases that a model decides, against how many it decides."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import checked_share
from itemwise.displays.base import Display, tidy
from itemwise.displays.highlight import Look, draw_rest, looks
from itemwise.displays.series import lines_by_name
from itemwise.displays.style import Style, footnote, grid, label, legend_beside, name_width
from itemwise.errors import InputError
from itemwise.numerics.robust import padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

CURVE = ["coverage", "accuracy"]
MOST_BANDS = 4  # beyond, bands would hide each other
WIDENED = 0.5  # of the range of the curves, for bands, which burst where few cases are accepted
MOST_IDLE = 3  # methods that accept nothing are named, of more the number
NARROWEST = 0.02  # of accuracy, lest noise of equal methods fills the figure


class RiskCoverageDisplay(Display):
    """Accuracy on accepted cases against the share of cases accepted; higher is better.

    The frame has one row a `method` and `coverage`: the `accuracy` there and its interval from
    `low` to `high`, which may be NaN. `target` is the accuracy asked for, a dashed line. `points`
    marks where each method stands at work: a frame of `method`, `coverage` and `accuracy`, and
    where known `low` and `high`. Up to eight methods have a colour; of more, the seven of the
    highest mean accuracy.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        target: float | None = None,
        points: pd.DataFrame | None = None,
    ) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, (*CURVE, "low", "high"), ("method",)))
        known = self.frame[np.isfinite(self.frame[CURVE].to_numpy()).all(axis=1)]
        self._lost = len(self.frame) - len(known)
        if known.empty:
            raise InputError(
                f"{owner} has nothing to draw: no row has a finite 'coverage' and 'accuracy'."
            )
        self.target = None if target is None else checked_share(target, "target", 0.97)
        self._names, self._curves = lines_by_name(known, "method", (*CURVE, "low", "high"))
        means = np.array([curve[:, 1].mean() for curve in self._curves])
        self._ranked = [int(place) for place in np.argsort(-means, kind="stable")]
        self._marks, self._idle = _operating(points, owner, self._names)

    def _size(self) -> tuple[float, float]:
        return 7.8, 4.4

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib.ticker import PercentFormatter

        chosen = looks(style, self._ranked, None)
        coloured = {look.place for look in chosen}
        others = [curve[:, :2] for k, curve in enumerate(self._curves) if k not in coloured]
        draw_rest(ax, style, others)
        for look in reversed(chosen):  # the best on top
            self._draw_line(ax, look, banded=len(chosen) <= MOST_BANDS)
            self._draw_marks(ax, style, look)
        if self.target is not None:
            ax.axhline(self.target, color=style.ink, linewidth=1.1, linestyle=(0, (4, 2)), zorder=3)
        every = np.concatenate([curve[:, 0] for curve in self._curves])
        ax.set_xlim(padded((min(0.0, float(every.min())), max(1.0, float(every.max()))), 0.02))
        ax.set_ylim(self._limits(chosen))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        ax.set_xlabel("coverage: share of cases that the model decides")
        ax.set_ylabel("accuracy on these cases")
        grid(style, ax)
        legend_beside(style, ax, *self._legend(ax, style, chosen))
        footnote(style, ax, self._notes(len(others), banded=len(chosen) <= MOST_BANDS))

    def _draw_line(self, ax: Axes, look: Look, *, banded: bool) -> None:
        x, y, low, high = self._curves[look.place].T
        if len(x) == 1:
            ax.vlines(x, low, high, color=look.colour, alpha=0.5, zorder=2)
        elif banded:
            ax.fill_between(x, low, high, color=look.colour, alpha=0.13, linewidth=0, zorder=2)
        ax.plot(
            x,
            y,
            color=look.colour,
            linestyle=look.dashes,
            linewidth=1.8,
            marker="o" if len(x) == 1 else "",  # one point would be invisible without
            zorder=4,
        )

    def _draw_marks(self, ax: Axes, style: Style, look: Look) -> None:
        """The points at which a method works, with their intervals."""
        marks = self._marks.get(self._names[look.place])
        if marks is None:
            return
        x, y, low, high = marks.T
        ax.vlines(x, low, high, color=look.colour, linewidth=1.4, zorder=5)
        dots: dict[str, Any] = {"marker": "D", "s": 46, "edgecolor": style.paper, "linewidth": 0.9}
        ax.scatter(x, y, color=look.colour, zorder=6, **dots)

    def _limits(self, chosen: list[Look]) -> tuple[float, float]:
        """Limits that hold every curve, mark and the target; bands may widen them, but not much."""
        marks = [marks[:, 1] for marks in self._marks.values()]
        asked = [] if self.target is None else [np.array([self.target])]
        values = np.concatenate([*(curve[:, 1] for curve in self._curves), *marks, *asked])
        low, high = float(values.min()), float(values.max())
        reach = WIDENED * max(high - low, NARROWEST)
        bands = np.concatenate([self._curves[look.place][:, 2:].ravel() for look in chosen])
        bands = np.append(bands, [low, high])
        ends = np.clip(bands[np.isfinite(bands)], low - reach, high + reach)
        low, high = float(ends.min()), float(ends.max())
        if high - low < NARROWEST:
            low, high = low - NARROWEST / 2, high + NARROWEST / 2
        return padded((low, high), 0.05)

    def _legend(self, ax: Axes, style: Style, chosen: list[Look]) -> tuple[list[Artist], list[str]]:
        from matplotlib.lines import Line2D

        handles: list[Artist] = [
            Line2D([], [], color=look.colour, linestyle=look.dashes, linewidth=1.8)
            for look in chosen
        ]
        width = min(28, name_width(ax, style))
        texts = [label(self._names[look.place], width) for look in chosen]
        if self.target is not None:
            handles.append(Line2D([], [], color=style.ink, linewidth=1.1, linestyle=(0, (4, 2))))
            texts.append(f"asked for: {100 * self.target:g} %")
        if self._marks:
            handles.append(Line2D([], [], color=style.ink, marker="D", linestyle="", markersize=6))
            texts.append("chosen threshold")
        return handles, texts

    def _notes(self, others: int, *, banded: bool) -> list[str]:
        notes = []
        intervals = np.concatenate([curve[:, 2:] for curve in self._curves])
        if banded and np.isfinite(intervals).any():
            notes.append("band and bar: interval of the accuracy")
        if others:
            notes.append(f"grey: {counted(others, 'method')} of lower mean accuracy")
        if self._idle:
            names = ", ".join(label(name, 28) for name in self._idle[:MOST_IDLE])
            more = len(self._idle) - MOST_IDLE
            notes.append(f"accepts no case: {names}{f' and {more} more' if more > 0 else ''}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a number")
        return notes


def _operating(
    points: pd.DataFrame | None, owner: str, names: list[Hashable]
) -> tuple[dict[Hashable, Floats], list[Hashable]]:
    """By method: coverage, accuracy and its interval at each chosen threshold (n_points, 4).

    And the methods whose threshold accepts nothing, so that there is no accuracy.
    """
    if points is None:
        return {}, []
    ends = [name for name in ("low", "high") if name in getattr(points, "columns", ())]
    rows = tidy(points, f"{owner}, for its points,", (*CURVE, *ends), ("method",))
    rows = rows.assign(**{name: np.nan for name in ("low", "high") if name not in ends})
    idle = list(dict.fromkeys(rows.loc[rows["coverage"] == 0, "method"]))
    rows = rows[np.isfinite(rows[CURVE].to_numpy()).all(axis=1)]
    if unknown := [name for name in rows["method"] if name not in names]:
        there = ", ".join(repr(label(name)) for name in names[:12])
        raise InputError(
            f"{owner} was given a point of {label(unknown[0])!r}, a method without a curve. "
            f"The frame has: {there}."
        )
    found, numbers = lines_by_name(rows, "method", (*CURVE, "low", "high"))
    return dict(zip(found, numbers, strict=False)), idle

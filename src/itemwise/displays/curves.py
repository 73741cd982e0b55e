"""Item characteristic curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, label, legend_beside, name_width
from itemwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

# Up to here each item has its own colour and name; up to there, its own line.
MOST_NAMED = 8
MOST_LINES = 300
# A band of fewer curves than this would say less than the curves.
FEWEST_IN_BAND = 30


@dataclass(frozen=True, eq=False)
class _Curve:
    item: object
    discrimination: float
    points: Floats  # (n_points, 2): ability ascending, expected response


class CurvesDisplay(Display):
    """What response each item may expect, from low ability to high; right counts 1, wrong 0.

    The frame is long: one row an `item` and `ability`, with the `expected` response there
    and the item's `discrimination`. Eight items are drawn by name, three hundred as thin lines
    in the colour of the sign of their discrimination, and more as bands that hold half and nine
    tenths of the curves.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        numbers = ("ability", "expected", "discrimination")
        super().__init__(tidy(frame, type(self).__name__, numbers, ("item",)))
        self._curves = _split(self.frame)
        if not self._curves:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has both a finite "
                "ability and an expected response."
            )

    def _size(self) -> tuple[float, float]:
        return 7.6, 4.2

    def _draw(self, ax: Axes, style: Style) -> None:
        if len(self._curves) <= MOST_NAMED:
            self._draw_named(ax, style)
        else:
            self._draw_by_sign(ax, style)
        points = np.concatenate([curve.points for curve in self._curves])
        if np.ptp(points[:, 0]) > 0:
            ax.set_xlim(points[:, 0].min(), points[:, 0].max())
        low, high = min(0.0, points[:, 1].min()), max(1.0, points[:, 1].max())
        ax.set_ylim(low - 0.02 * (high - low), high + 0.02 * (high - low))
        ax.set_xlabel("ability")
        ax.set_ylabel("expected response")
        grid(style, ax)

    def _draw_by_sign(self, ax: Axes, style: Style) -> None:
        total = len(self._curves)
        handles: list[Artist] = []
        texts: list[str] = []
        banded = False
        for colour, meaning, curves in _by_sign(self._curves, style):
            crowded = total > MOST_LINES and len(curves) >= FEWEST_IN_BAND
            handles.append((_bands if crowded else _lines)(ax, curves, colour))
            texts.append(f"{meaning}\n({len(curves):,} of {total:,} items)")
            banded |= crowded
        legend_beside(style, ax, handles, texts)
        if banded:
            footnote(
                style, ax, ["thick line: median curve; bands: the middle 50% and 90% of curves"]
            )

    def _draw_named(self, ax: Axes, style: Style) -> None:
        width = min(24, name_width(ax, style))
        handles: list[Artist] = []
        for i, curve in enumerate(self._curves):
            colour = style.palette[i % len(style.palette)]
            dash = "--" if curve.discrimination < 0 else "-"
            # A curve of one point would be invisible without a marker.
            marker = "o" if len(curve.points) == 1 else ""
            handles += ax.plot(
                *curve.points.T, color=colour, linestyle=dash, linewidth=1.8, marker=marker
            )
        legend_beside(style, ax, handles, [label(c.item, width) for c in self._curves])
        if any(curve.discrimination < 0 for curve in self._curves):
            footnote(style, ax, ["dashed: negative discrimination"])


def _split(frame: pd.DataFrame) -> list[_Curve]:
    """One curve an item, in the order in which items first appear."""
    import pandas as pd

    rows = frame[np.isfinite(frame["ability"]) & np.isfinite(frame["expected"])]
    if rows.empty:
        return []
    codes, items = pd.factorize(rows["item"], use_na_sentinel=False)
    order = np.lexsort((rows["ability"], codes))
    columns = rows[["ability", "expected", "discrimination"]].to_numpy()[order]
    parts = np.split(columns, np.cumsum(np.bincount(codes, minlength=len(items)))[:-1])
    return [
        _Curve(item, float(part[0, 2]), part[:, :2])
        for item, part in zip(items, parts, strict=True)
    ]


def _by_sign(curves: list[_Curve], style: Style) -> list[tuple[str, str, list[_Curve]]]:
    """Colour, meaning and curves of each sign that occurs; negative last, to lie on top."""
    groups = [
        (
            style.neutral,
            "discrimination unknown",
            [c for c in curves if np.isnan(c.discrimination)],
        ),
        (style.positive, "discrimination ≥ 0", [c for c in curves if c.discrimination >= 0]),
        (style.negative, "discrimination < 0", [c for c in curves if c.discrimination < 0]),
    ]
    return [group for group in groups if group[2]]


def _lines(ax: Axes, curves: list[_Curve], colour: str) -> Artist:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    # The more lines there are, the more of them lie on each other.
    alpha = float(np.clip(4.0 / np.sqrt(len(curves)), 0.3, 0.9))
    ax.add_collection(
        LineCollection([c.points for c in curves], colors=colour, linewidths=0.9, alpha=alpha)
    )
    return Line2D([], [], color=colour, linewidth=1.6)


def _bands(ax: Axes, curves: list[_Curve], colour: str) -> Artist:
    import pandas as pd
    from matplotlib.lines import Line2D

    ends = np.array([curve.points[[0, -1], 0] for curve in curves])
    at = np.linspace(ends.min(), ends.max(), 121)
    # Outside the abilities for which an item was given, it has no say.
    heights = [
        np.interp(at, c.points[:, 0], c.points[:, 1], left=np.nan, right=np.nan) for c in curves
    ]
    levels = pd.DataFrame(heights).quantile([0.05, 0.25, 0.5, 0.75, 0.95]).to_numpy()
    ax.fill_between(at, levels[0], levels[4], color=colour, alpha=0.15, linewidth=0)
    ax.fill_between(at, levels[1], levels[3], color=colour, alpha=0.30, linewidth=0)
    ax.plot(at, levels[2], color=colour, linewidth=2.0)
    return Line2D([], [], color=colour, linewidth=2.0)

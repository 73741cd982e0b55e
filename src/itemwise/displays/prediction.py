"""Accuracies that were predicted, against what they turned out to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, legend_beside
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

COLUMNS = ("accuracy", "predicted", "low", "high")
MOST_BARS = 60  # rows; beyond, intervals are drawn as a band
BINS = 24
MOST_SHAPES = 2000  # more dots are drawn as a picture


class PredictionDisplay(Display):
    """Accuracies against their predictions; bars or a band show the intervals.

    The frame has one row a respondent: its true `accuracy`, `predicted`, and `low` and `high` of
    the interval. Scores outside their interval have a colour of their own. Beyond 60 rows, the
    band holds the median ends of intervals with like predictions.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, COLUMNS))
        finite = np.isfinite(self.frame[list(COLUMNS)].to_numpy()).all(axis=1)
        self._there = self.frame[finite]
        if self._there.empty:
            raise InputError(f"{name} has nothing to draw: no row has four finite numbers.")

    def _size(self) -> tuple[float, float]:
        return 6.6, 5.0

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib.lines import Line2D

        score, predicted, low, high = (self._there[c].to_numpy() for c in COLUMNS)
        out = (score < low) | (score > high)
        few = len(score) <= MOST_BARS
        ends = np.array([min(predicted.min(), score.min()), max(predicted.max(), score.max())])
        pad = 0.04 * max(float(np.ptp(ends)), 0.05)
        (line,) = ax.plot(
            ends, ends, color=style.neutral, linewidth=1.0, linestyle=(0, (4, 2)), zorder=2
        )
        band: Artist
        if few:
            band = ax.vlines(predicted, low, high, color=style.positive, alpha=0.35, linewidth=1.4)
        else:
            at, bottom, top = _band(predicted, low, high)
            band = ax.fill_between(at, bottom, top, color=style.positive, alpha=0.16, linewidth=0)
        alpha = float(np.clip(9.0 / np.sqrt(len(score)), 0.2, 0.9))
        size = 24.0 if few else 9.0
        look: dict[str, Any] = {
            "alpha": alpha,
            "linewidths": 0,
            "rasterized": len(score) > MOST_SHAPES,
        }
        colours = (style.positive, style.negative)
        for rows, colour in zip((~out, out), colours, strict=True):
            ax.scatter(predicted[rows], score[rows], s=size, color=colour, zorder=3, **look)
        # Dots as faint as those of thousands would not be seen in the legend.
        dots: list[Artist] = [
            Line2D([], [], color=colour, marker="o", linestyle="", markersize=5)
            for colour in colours
        ]
        ax.set_xlim(ends[0] - pad, ends[1] + pad)
        ax.set_xlabel("predicted accuracy")
        ax.set_ylabel("accuracy on all items")
        grid(style, ax)
        texts = ["inside its\ninterval", "outside", "interval", "as predicted"]
        legend_beside(style, ax, [*dots, band, line], texts)
        footnote(style, ax, self._notes(out))

    def _notes(self, out: np.ndarray) -> list[str]:
        share = 1 - out.mean()
        notes = [f"{share:.0%} of {counted(len(out), 'respondent')} inside their interval"]
        if len(out) > MOST_BARS:
            notes.append("band: median ends of the intervals of like predictions")
        if lost := len(self.frame) - len(self._there):
            notes.append(f"not shown: {counted(lost, 'row')} without four finite numbers")
        return notes


def _band(
    predicted: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Median ends of intervals, along predictions in bins of equally many."""
    bins = np.array_split(np.argsort(predicted, kind="stable"), min(BINS, len(predicted) // 5))
    at, bottom, top = (
        np.array([np.median(values[rows]) for rows in bins]) for values in (predicted, low, high)
    )
    at[0], at[-1] = predicted.min(), predicted.max()
    return at, bottom, top

"""The misfit of models beside the usual limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, label, lines_that_fit, name_width
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CLOSE, FAIR = 0.05, 0.08  # the usual limits (Browne and Cudeck, 1993)
MOST_NAMES = 60  # beyond this many rows a name at each would be too small to read


class ModelFitDisplay(Display):
    """How far each model is from the responses; the bar is the 90 % interval of RMSEA.

    The frame has one row a model, which is its index, with `rmsea`, `rmsea_low` and
    `rmsea_high`. Rows stay in their order; those without RMSEA are counted below.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, ("rmsea", "rmsea_low", "rmsea_high")))
        self._shown = self.frame[np.isfinite(self.frame["rmsea"])]
        if self._shown.empty:
            raise InputError(
                f"{name} has nothing to draw: the column 'rmsea' holds no finite number. "
                "A model without degrees of freedom has none."
            )

    def _size(self) -> tuple[float, float]:
        rows = len(self._shown)
        return 6.8, max(1.9, 1.4 + 0.22 * rows) if rows <= MOST_NAMES else 7.0

    def _draw(self, ax: Axes, style: Style) -> None:
        value = self._shown["rmsea"].to_numpy()
        rank = np.arange(1, len(value) + 1)
        few = len(value) <= MOST_NAMES
        ax.hlines(
            rank,
            *(self._shown[name].fillna(self._shown["rmsea"]) for name in _ENDS),
            color=style.positive,
            linewidth=1.6 if few else 0.7,
            alpha=0.45,
            zorder=2,
        )
        ax.scatter(value, rank, s=22.0 if few else 5.0, color=style.positive, zorder=3)
        ends = self._shown["rmsea_high"].to_numpy()
        highest = float(np.nanmax(np.append(ends[np.isfinite(ends)], value)))
        right = max(0.105, 1.08 * highest)
        ax.set_xlim(0.0, right)
        pad = 0.7 + 0.01 * len(value)
        ax.set_ylim(len(value) + pad, 1 - pad)
        ax.set_xlabel("RMSEA (bar: 90 % interval)")
        grid(style, ax, "x")
        self._limits(ax, style, right)
        self._name(ax, style)
        if lost := len(self.frame) - len(self._shown):
            footnote(style, ax, [f"not shown: {counted(lost, 'row')} without RMSEA"])

    def _limits(self, ax: Axes, style: Style, right: float) -> None:
        """Lines at the limits, and between them the words for what lies there."""
        for limit in (CLOSE, FAIR):
            ax.axvline(limit, color=style.neutral, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
        for low, high, word in (
            (0.0, CLOSE, "close"),
            (CLOSE, FAIR, "fair"),
            (FAIR, right, "poor"),
        ):
            # In a figure that reaches far, the first two stretches are too narrow for a word.
            if (high - low) / right > 0.09:
                ax.text(
                    (low + high) / 2,
                    1.01,
                    word,
                    transform=ax.get_xaxis_transform(),
                    ha="center",
                    va="bottom",
                    fontsize=style.small,
                    color=style.ink,
                )

    def _name(self, ax: Axes, style: Style) -> None:
        names = [label(name, name_width(ax, style)) for name in self._shown.index]
        if len(names) <= min(lines_that_fit(ax, style.font_size), MOST_NAMES):
            ax.set_yticks(range(1, len(names) + 1), names)
        else:
            ax.set_ylabel("row")


_ENDS = ("rmsea_low", "rmsea_high")

"""How far models are behind the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    legend_beside,
    lines_that_fit,
    name_width,
)
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

    from itemwise.numerics.arrays import Floats

NO_SUPPORT = 10.0  # so far behind, a model has next to no support (Burnham and Anderson, 2002)
MOST_NAMES = 60  # beyond this many rows a name at each would be too small to read


class ModelComparisonDisplay(Display):
    """How far each model is behind the best, by AIC and by BIC; the best is on top.

    The frame has one row a model, which is its index, with `aic`, `bic` and the Akaike weight
    `weight`; with a column `converged`, models that did not converge are hollow. The axis is
    linear up to 10 and logarithmic beyond, where the distance matters no more.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        super().__init__(tidy(frame, name, ("aic", "bic", "weight")))
        shown = self.frame[np.isfinite(self.frame["aic"])]
        if shown.empty:
            raise InputError(
                f"{name} has nothing to draw: the column 'aic' holds no finite number."
            )
        self._shown = shown.sort_values("aic", kind="stable")

    def _size(self) -> tuple[float, float]:
        rows = len(self._shown)
        return 6.8, max(1.9, 1.3 + 0.26 * rows) if rows <= MOST_NAMES else 7.0

    def _draw(self, ax: Axes, style: Style) -> None:
        behind = {
            name: self._shown[name].to_numpy() - self._shown[name].min() for name in ("aic", "bic")
        }
        distances = np.concatenate([[0.0], *behind.values()])
        farthest = float(distances[np.isfinite(distances)].max())
        self._scale(ax, farthest)
        handles = [self._points(ax, style, behind[name], name) for name in ("aic", "bic")]
        legend_beside(style, ax, handles, ["AIC", "BIC"])
        pad = 0.7 + 0.01 * len(self._shown)
        ax.set_ylim(len(self._shown) + pad, 1 - pad)
        ax.set_xlabel("behind the best model by")
        grid(style, ax, "x")
        ax.axvspan(0.0, 2.0, color=style.faint, alpha=0.6, zorder=0, linewidth=0)
        self._name(ax, style)
        footnote(style, ax, self._notes())

    def _scale(self, ax: Axes, farthest: float) -> None:
        if farthest > NO_SUPPORT:
            ax.set_xscale("symlog", linthresh=NO_SUPPORT, linscale=1.0)
            ax.set_xlim(-0.6, 1.6 * farthest)
            powers = 10.0 ** np.arange(1, np.ceil(np.log10(1.6 * farthest)) + 1)
            ticks = [tick for tick in (0, 2, 5, *powers) if tick <= 1.6 * farthest]
            ax.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
            ax.xaxis.minorticks_off()
        else:
            ax.set_xlim(-0.4, max(1.08 * farthest, 4.0))

    def _points(self, ax: Axes, style: Style, values: Floats, name: str) -> PathCollection:
        """One criterion; a little above or below its row, so that equal ones are both seen."""
        few = len(values) <= MOST_NAMES
        colour, marker, aside = (
            (style.positive, "o", -0.14) if name == "aic" else (style.negative, "s", 0.14)
        )
        fill = [colour if done else style.paper for done in self._done()]
        rank = np.arange(1, len(values) + 1) + aside
        size = 30.0 if few else 5.0
        ax.scatter(values, rank, s=size, marker=marker, facecolor=fill, edgecolor=colour, zorder=3)
        return ax.scatter([], [], s=30.0, marker=marker, color=colour)

    def _done(self) -> list[bool]:
        if "converged" not in self._shown:
            return [True] * len(self._shown)
        return [bool(done) for done in self._shown["converged"]]

    def _name(self, ax: Axes, style: Style) -> None:
        width = name_width(ax, style)
        if len(self._shown) > min(lines_that_fit(ax, style.font_size), MOST_NAMES):
            ax.set_ylabel("rank")
            return
        names = [
            f"{label(name, width)}  ({weight:.2f})"
            for name, weight in zip(self._shown.index, self._shown["weight"], strict=True)
        ]
        ax.set_yticks(range(1, len(names) + 1), names)

    def _notes(self) -> list[str]:
        notes = ["in brackets: Akaike weight; grey band: the data hardly tell these apart"]
        if late := self._done().count(False):
            notes.append(f"hollow: not converged ({counted(late, 'model')})")
        if lost := len(self.frame) - len(self._shown):
            notes.append(f"not shown: {counted(lost, 'model')} without AIC")
        return notes

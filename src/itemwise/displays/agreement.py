"""How well parts of a benchmark agree with data sets held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, legend_beside
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Drawn from the back to the front; the words of the legend.
CURVES = {"random": "drawn by lot", "ceiling": "all", "held_out": "chosen"}
MOST_DOTS = 25  # sizes; beyond, dots would run together
APART = 0.12  # of a step, so that the bars of a few sizes do not hide each other


class AgreementDisplay(Display):
    """Agreement with data sets held out, against the number of data sets that are kept.

    The frame has one row a `size`, with `held_out` for the chosen part, `ceiling` for all data
    sets and `random` for a part drawn by lot, and the ends of their 95 % ranges, named with
    `_low` and `_high`. Where there is a column `enough`, the sizes that are get filled dots.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        name = type(self).__name__
        numbers = ("size", *(f"{c}{end}" for c in CURVES for end in ("", "_low", "_high")))
        super().__init__(tidy(frame, name, numbers))
        there = self.frame["size"].notna() & self.frame["held_out"].notna()
        self._rows = self.frame[there].sort_values("size", kind="stable")
        if self._rows.empty:
            raise InputError(
                f"{name} has nothing to draw: no row has a number in 'size' and 'held_out'."
            )

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib.ticker import MaxNLocator

        size = self._rows["size"].to_numpy()
        looks = dict(zip(CURVES, self._looks(style), strict=True))
        lines = {name: self._draw_curve(ax, style, name, look) for name, look in looks.items()}
        ax.set_xlim(size[0] - 0.5, size[-1] + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
        ax.set_xlabel("data sets kept")
        ax.set_ylabel("agreement with data sets held out (Kendall)")
        grid(style, ax, "y")
        order = ("ceiling", "held_out", "random")
        legend_beside(style, ax, [lines[c] for c in order], [CURVES[c] for c in order])
        footnote(style, ax, self._notes())

    @staticmethod
    def _looks(style: Style) -> list[tuple[str, Any]]:
        """Colour and dashes of each curve."""
        return [(style.neutral, (0, (1, 1))), (style.ink, (0, (4, 2))), (style.positive, "-")]

    def _draw_curve(self, ax: Axes, style: Style, name: str, look: tuple[str, Any]) -> Any:
        colour, dashes = look
        size, value, low, high = (
            self._rows[column].to_numpy()
            for column in ("size", name, f"{name}_low", f"{name}_high")
        )
        few = len(size) <= 3
        if few:  # bands of a few sizes would be slivers
            size = size + APART * (list(CURVES).index(name) - 1)
            ax.vlines(size, low, high, color=colour, linewidth=1.6, alpha=0.5, zorder=2)
        elif name == "held_out":
            ax.fill_between(size, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        else:  # bands upon bands would blur into one
            ends = np.stack([low, high], axis=1)
            ax.plot(size, ends, color=colour, linestyle=dashes, linewidth=0.8, alpha=0.7, zorder=2)
        width = 2.2 if name == "held_out" else 1.6
        (line,) = ax.plot(size, value, color=colour, linestyle=dashes, linewidth=width, zorder=3)
        if few or (name == "held_out" and len(size) <= MOST_DOTS):
            fill = [colour if full else style.paper for full in self._filled(name)]
            ax.scatter(size, value, s=26, facecolor=fill, edgecolor=colour, zorder=4)
        return line

    def _filled(self, name: str) -> np.ndarray:
        if name == "held_out" and "enough" in self._rows.columns:
            return self._rows["enough"].to_numpy(dtype=bool)
        return np.ones(len(self._rows), dtype=bool)

    def _notes(self) -> list[str]:
        notes = ["band, thin lines and bars: 95 % of the splits"]
        if "enough" in self._rows.columns:
            enough = self._rows["enough"].to_numpy(dtype=bool)
            short = self._rows["size"].to_numpy()[~enough]
            after = self._rows["size"] > (short[-1] if short.size else 0)
            notes.append(
                f"enough: {self._rows.loc[after, 'size'].iloc[0]:.0f} data sets and more"
                if after.any()
                else "enough: none of these sizes"
            )
        if lost := len(self.frame) - len(self._rows):
            notes.append(f"not shown: {counted(lost, 'row')} without size or agreement")
        return notes

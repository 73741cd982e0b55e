"""The scree plot: eigenvalues, and how large they would be without a further dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, legend_beside
from itemwise.errors import InputError
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_DIMENSIONS = 20  # the rest is the flat end of the scree


class ScreeDisplay(Display):
    """Eigenvalues in falling order; those above the dashed line are more than chance.

    The frame has one row a dimension: `dimension` counted from 1, `eigenvalue`, and `reference`,
    the height that must be exceeded; where known, `suggested`. The first 20 are drawn.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        numbers = ("dimension", "eigenvalue", "reference")
        super().__init__(tidy(frame, type(self).__name__, numbers))
        there = self.frame[self.frame["eigenvalue"].notna()]
        self._rows = there.sort_values("dimension", kind="stable")
        if self._rows.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: the column 'eigenvalue' "
                "holds no number."
            )

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib.ticker import MaxNLocator

        rows = self._rows.iloc[:MOST_DIMENSIONS]
        dimension, value = rows["dimension"].to_numpy(), rows["eigenvalue"].to_numpy()
        reference = rows["reference"].to_numpy()
        above = self._above(rows)
        (line,) = ax.plot(dimension, value, color=style.positive, linewidth=1.4, zorder=2)
        (limit,) = ax.plot(
            dimension,
            reference,
            color=style.negative,
            linewidth=1.4,
            linestyle=(0, (4, 2)),
            marker="_",
            zorder=2,
        )
        for chosen, fill in ((above, style.positive), (~above, style.paper)):
            ax.scatter(
                dimension[chosen],
                value[chosen],
                s=34,
                facecolor=fill,
                edgecolor=style.positive,
                zorder=3,
            )
        finite = np.concatenate([value, reference])
        finite = finite[np.isfinite(finite)]
        ax.set_ylim(0, 1.08 * max(float(finite.max()), 1.0))
        ax.set_xlim(dimension.min() - 0.6, dimension.max() + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
        ax.set_xlabel("dimension")
        ax.set_ylabel("eigenvalue")
        grid(style, ax, "y")
        legend_beside(style, ax, [line, limit], ["responses", "to be exceeded"])
        footnote(style, ax, self._notes(int(above.sum())))

    @staticmethod
    def _above(rows: pd.DataFrame) -> np.ndarray:
        """Dimensions that are suggested; without the column, those above, one after the other."""
        if "suggested" in rows.columns:
            return rows["suggested"].to_numpy(dtype=bool)
        above = rows["eigenvalue"].to_numpy() > rows["reference"].to_numpy()
        found: np.ndarray = np.minimum.accumulate(above)
        return found

    def _notes(self, above: int) -> list[str]:
        notes = [f"filled: {counted(above, 'dimension')} more than chance"]
        if (hidden := len(self._rows) - MOST_DIMENSIONS) > 0:
            notes.append(f"not shown: {counted(hidden, 'smaller eigenvalue')}")
        return notes

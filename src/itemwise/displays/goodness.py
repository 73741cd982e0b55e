"""How well the model describes each algorithm: residuals, actual and predicted effectiveness."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.highlight import draw_rest, in_order, looks, wanted
from itemwise.displays.panel_grid import PanelGrid, fitted
from itemwise.displays.series import lines_by_name
from itemwise.displays.style import Style, footnote, label, legend_beside, legend_width, name_width
from itemwise.errors import InputError
from itemwise.numerics.robust import padded
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

CURVES = {
    "residuals": "residuals",
    "actual": "actual effectiveness",
    "predicted": "predicted effectiveness",
}


class GoodnessDisplay(Display):
    """Residuals, actual and predicted effectiveness of each algorithm, side by side.

    The frame is long: one row an `algorithm`, `curve` ("residuals", "actual" or "predicted") and
    `tolerance`, with the `share` of problems within it. `highlight` names the algorithms in colour;
    left out, these are all of up to eight, and of more, the seven whose actual and predicted
    effectiveness lie farthest apart, the worst first. The others are grey. `order` names all
    algorithms in the order of their colours, so that one has the same colour as in other figures.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        highlight: Sequence[Hashable] | str | None = None,
        order: Sequence[Hashable] | None = None,
    ) -> None:
        owner = type(self).__name__
        super().__init__(tidy(frame, owner, ("tolerance", "share"), ("algorithm", "curve")))
        unknown = [name for name in self.frame["curve"].unique() if name not in CURVES]
        if unknown:
            raise InputError(
                f"{owner} knows the curves 'residuals', 'actual' and 'predicted', but not "
                f"{label(unknown[0])!r}."
            )
        there = self.frame[np.isfinite(self.frame[["tolerance", "share"]].to_numpy()).all(axis=1)]
        if there.empty:
            raise InputError(
                f"{owner} has nothing to draw: no row has a finite 'tolerance' and 'share'."
            )
        self._lost = len(self.frame) - len(there)
        self._kinds = [name for name in CURVES if (there["curve"] == name).any()]
        self._names, self._lines = _lines(there)
        self._ends = float(there["tolerance"].min()), float(there["tolerance"].max())
        self._given = wanted(owner, self._names, highlight)
        self._ranked = self._worst_first()
        self._order = in_order(self._names, order)

    def _size(self) -> tuple[float, float]:
        return 3.0 + 2.9 * len(self._kinds), max(3.7, 1.2 + 0.2 * len(self._given or ()))

    def _worst_first(self) -> list[int]:
        """Places of the algorithms by the difference of areas; unknown ones last, by residuals."""
        areas = np.array(
            [
                [_area(self._lines.get((place, kind))) for kind in CURVES]
                for place in range(len(self._names))
            ]
        )
        apart = np.abs(areas[:, 1] - areas[:, 2])
        order = np.lexsort((areas[:, 0], -np.where(np.isnan(apart), -1.0, apart)))
        return [int(place) for place in order]

    def _draw(self, ax: Axes, style: Style) -> None:
        from matplotlib.lines import Line2D

        low, high = self._ends
        ends = (low, high) if low < high else padded(self._ends)
        chosen = looks(style, self._ranked, self._given, self._order)
        width = min(28, name_width(ax, style))
        names = [label(self._names[look.place], width) for look in chosen]
        beside = legend_width(style, names)
        grid = fitted(ax, style, (1, len(self._kinds)), ends, 0, beside=beside)
        grid.draw(ax, style)
        coloured = {look.place for look in chosen}
        rest = [k for k in range(len(self._names)) if k not in coloured]
        draw_rest(ax, style, [line for k in rest for line in self._steps(grid, k)])
        for look in reversed(chosen):  # the worst on top
            for line in self._steps(grid, look.place):
                both = {"color": look.colour, "linestyle": look.dashes}
                ax.plot(*line.T, linewidth=1.7, zorder=4, **both)
        long = grid.signs(1.1 * style.font_size) > max(map(len, CURVES.values()))
        grid.name_edges(ax, style, [CURVES[k] if long else k for k in self._kinds], ())
        ax.set_xlabel("tolerance")
        ax.set_ylabel("share of problems")
        legend_beside(
            style,
            ax,
            [Line2D([], [], color=k.colour, linestyle=k.dashes, linewidth=1.8) for k in chosen],
            names,
        )
        footnote(style, ax, self._notes(len(rest)))

    def _steps(self, grid: PanelGrid, place: int) -> list[Floats]:
        """The step lines of an algorithm in its panels; each height holds up to the next place."""
        found = []
        for column, kind in enumerate(self._kinds):
            points = self._lines.get((place, kind))
            if points is not None:
                across = np.append(
                    np.repeat(points[:, 0], 2)[1:], max(points[-1, 0], self._ends[1])
                )
                up = np.repeat(points[:, 1], 2)
                found.append(np.stack([grid.x(across, column), grid.y(up, 0)], axis=1))
        return found

    def _notes(self, others: int) -> list[str]:
        notes = []
        if "residuals" in self._kinds:
            notes.append("residuals: problems whose performance is predicted within the tolerance")
        if {"actual", "predicted"} & set(self._kinds):
            notes.append("effectiveness: problems on which it is within the tolerance of the best")
        if others:
            word = "other algorithm"
            better = "" if self._given is not None else ", of smaller difference between the two"
            notes.append(f"grey: {counted(others, word)}{better}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a number")
        return notes


def _lines(there: pd.DataFrame) -> tuple[list[Hashable], dict[tuple[int, str], Floats]]:
    """Names; and by place of a name and curve, ascending tolerances and shares (n_points, 2)."""
    import pandas as pd

    codes, names = pd.factorize(there["algorithm"].astype(object), use_na_sentinel=False)
    rows, lines = there.assign(place=codes), {}
    for kind in CURVES:
        found = lines_by_name(rows[rows["curve"] == kind], "place", ("tolerance", "share"))
        for place, line in zip(*found, strict=False):
            lines[cast("int", place), kind] = line
    return list(names), lines


def _area(points: Floats | None) -> float:
    """Area under a step line; NaN where there is none."""
    if points is None:
        return float("nan")
    return float(np.sum(points[:-1, 1] * np.diff(points[:, 0])))

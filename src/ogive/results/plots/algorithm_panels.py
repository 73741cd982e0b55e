"""Panels of algorithms: densities, trace lines, runs, and how well the model describes each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from ogive._validation import whole_number
from ogive.errors import InputError
from ogive.results.plots.figure import Display, flags, not_shown, remark
from ogive.results.plots.marks import (
    draw_rest,
    ends_of,
    highlighted,
    legend_entries,
    lines_by_name,
    looks,
    padded,
)
from ogive.results.plots.panels import (
    MOST_PANELS,
    PanelGrid,
    drawn_panels,
    fitted,
    panels_size,
)
from ogive.results.plots.theme import (
    DASHED,
    MOST_SHAPES,
    Style,
    colour_bar,
    colour_map,
    in_words,
    label,
    legend_beside,
    legend_handle,
    legend_width,
    lone_marker,
    name_width,
)
from ogive.stats.array_backend import Bools, Floats

DEEPEST = 0.99  # share of the cells that are paler than the deepest colour
MOST_NAMED = 12  # levels in the legend; of more, only the first and the last are named
TALLEST = 6.0  # times the median peak that a line may reach
CURVES = {
    "residuals": "residuals",
    "actual": "actual effectiveness",
    "predicted": "predicted effectiveness",
}
BINS = 20


class AlgorithmPanels(Display):
    """One panel per algorithm, on shared scales; the first `panels` algorithms are drawn."""

    labels: tuple[str, ...] = ("algorithm",)
    x_label, grid_lines = "ability of the problem (high: easy)", ""
    panels: int

    def _prepare(self) -> None:
        whole_number(self.panels, "panels", 1)
        parts = list(self._rows.groupby("algorithm", sort=False, dropna=False, observed=True))
        self._names = [name for name, _ in parts[: self.panels]]
        self._parts = [part for _, part in parts[: self.panels]]
        self._hidden = len(parts) - len(self._parts)

    def _size(self) -> tuple[float, float]:
        return panels_size(len(self._parts))

    def _title(self, ax: Axes, style: Style, panels: PanelGrid) -> list[str]:
        """Write each name above its panel; return a note on algorithms without a panel."""
        width = max(4, panels.characters(style.small) - 1)
        for cell, name in zip(panels.cells(len(self._names)), self._names, strict=True):
            panels.title(ax, style, cell, label(name, width))
        panels.name_edges(ax, style)
        return not_shown(self._hidden, "more algorithm")


class DensitiesDisplay(AlgorithmPanels):
    """Density of performance along the ability of problems; one panel per algorithm.

    The frame is long: one row per `algorithm`, `ability` and `performance` (or the column that
    `value` names), with the `density` there; each algorithm has the whole grid of its abilities and
    performances. All panels share their axes and colours. The first `panels` algorithms are drawn.
    `stopped` is the value at which runs were stopped, drawn as a dashed line.
    """

    needed: tuple[str, ...] = ()
    without = ""

    def __init__(
        self,
        frame: pd.DataFrame,
        value: str = "performance",
        panels: int = MOST_PANELS,
        stopped: float | None = None,
    ) -> None:
        self.value, self.panels, self.stopped = value, panels, stopped
        self.numbers, self.y_label = ("ability", value, "density"), in_words(value)
        super().__init__(frame)

    def _prepare(self) -> None:
        super()._prepare()
        self._tables = [
            part.pivot_table("density", self.value, "ability", dropna=False) for part in self._parts
        ]
        densities = np.concatenate([table.to_numpy().ravel() for table in self._tables])
        if not np.isfinite(densities).any():
            raise InputError(
                f"{self._owner} has nothing to draw: 'density' holds no finite number."
            )
        self._most = float(np.quantile(densities[np.isfinite(densities)], DEEPEST)) or 1.0
        self._cut = bool((densities > self._most).any())

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        across = ends_of(np.concatenate([table.columns.to_numpy() for table in self._tables]))
        up = ends_of(np.concatenate([table.index.to_numpy() for table in self._tables]))
        beside = 4.0 * style.font_size
        panels = drawn_panels(ax, style, len(self._tables), across, up, beside)
        shades = colour_map(style, style.paper, style.positive, style.ink)
        for cell, table in zip(panels.cells(len(self._tables)), self._tables, strict=True):
            row, column = cell
            heights = table.to_numpy()
            mesh = ax.pcolormesh(
                panels.x(_cell_edges(table.columns.to_numpy()), column),
                panels.y(_cell_edges(table.index.to_numpy()), row),
                np.ma.masked_invalid(np.where(heights > self._most, self._most, heights)),
                cmap=shades,
                vmin=0.0,
                vmax=self._most,
                rasterized=True,  # thousands of shapes would make a vector file heavy
            )
            if self.stopped is not None:
                left, right, _, _ = panels.box(*cell)
                height = panels.y(np.full(2, self.stopped), row)
                ax.plot([left, right], height, color=style.ink, linewidth=0.9, linestyle=DASHED)
        notes = self._title(ax, style, panels)
        notes += [] if self.stopped is None else ["dashed: where runs were stopped"]
        colour_bar(style, ax, mesh, extend="max" if self._cut else "neither", label="density")
        return notes


def _cell_edges(values: Floats) -> Floats:
    """Return edges of cells around ascending values; the outermost cells end at their values."""
    edges: Floats = np.concatenate([values[:1], (values[:-1] + values[1:]) / 2, values[-1:]])
    return edges


class TracesDisplay(AlgorithmPanels):
    """Density of each level of performance along the ability of problems; one panel per algorithm.

    The frame is long: one row per `algorithm`, `grade` and `ability`, with the `density` (or
    probability) there. A grade is a number or a name; numbers are ordered, names are in the order
    of their categories or of appearance. The first `panels` algorithms are drawn. `height`
    is the label of the lines.
    """

    numbers, labels = ("ability", "density"), ("algorithm", "grade")
    nothing = "no row has a grade, a finite ability and density."
    without = "a grade or number"

    def __init__(
        self, frame: pd.DataFrame, panels: int = MOST_PANELS, height: str = "density"
    ) -> None:
        self.panels, self.height, self.y_label = panels, height, in_words(height)
        super().__init__(frame)

    def _drawable(self) -> Bools:
        return super()._drawable() & self.frame["grade"].notna().to_numpy()

    def _prepare(self) -> None:
        super()._prepare()
        grades = self._rows["grade"]
        if isinstance(grades.dtype, pd.CategoricalDtype):
            self._grades = [grade for grade in grades.cat.categories if grade in set(grades)]
        else:
            known = grades.unique().tolist()
            self._grades = sorted(known) if pd.api.types.is_numeric_dtype(grades) else known
        self._lines = [
            dict(zip(*lines_by_name(part, "grade", self.numbers), strict=True))
            for part in self._parts
        ]
        peaks = np.array([line[:, 1].max() for lines in self._lines for line in lines.values()])
        # An infinite peak, as densities have at the ends of a scale, would flatten the rest.
        self._top = float(min(peaks.max(), TALLEST * np.median(peaks))) or 1.0
        self._cut = int((peaks > self._top).sum())

    def _size(self) -> tuple[float, float]:
        width, height = super()._size()
        return width + 0.6, height

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        every = np.concatenate([line[:, 0] for lines in self._lines for line in lines.values()])
        up = (-0.03 * self._top, 1.03 * self._top)
        last = len(self._grades) - 1
        named = [k for k in range(last + 1) if last < MOST_NAMED or k in (0, last)]
        texts = [
            f"{grade:.4g}" if isinstance(grade, float) else label(grade, 18)
            for grade in (self._grades[k] for k in named)
        ]
        count, beside = len(self._lines), legend_width(style, texts)
        panels = drawn_panels(ax, style, count, _ends(every, 0.0), up, beside)
        shades = colormaps["viridis"](np.linspace(0.0, 0.88, len(self._grades)))
        for (row, column), lines in zip(panels.cells(count), self._lines, strict=True):
            for grade, colour in zip(self._grades, shades, strict=True):
                if grade in lines:
                    x, y = lines[grade].T
                    x, y = panels.x(x, column), panels.y(np.minimum(y, self._top), row)
                    ax.plot(x, y, color=colour, linewidth=1.4, marker=lone_marker(x), zorder=3)
        notes = self._title(ax, style, panels)
        handles = [legend_handle(color=shades[k], linewidth=1.8) for k in named]
        legend_beside(style, ax, list(zip(handles, texts, strict=True)))
        return [*notes, *remark("cut at the top: {} with a far higher peak", self._cut, "line")]


class GoodnessDisplay(Display):
    """Residuals, actual and predicted effectiveness of each algorithm, side by side.

    The frame is long: one row per `algorithm`, `curve` ("residuals", "actual" or "predicted") and
    `tolerance`, with the `share` of problems within it. `highlight` names the algorithms in colour;
    by default, these are all of up to eight, and of more, the seven whose actual and predicted
    effectiveness differ most, the worst first. The others are grey. `order` names all
    algorithms in the order of their colours, so that one has the same colour as in other figures.
    """

    numbers, labels = ("tolerance", "share"), ("algorithm", "curve")
    x_label, y_label, grid_lines = "tolerance", "share of problems", ""

    def __init__(
        self,
        frame: pd.DataFrame,
        highlight: Sequence[Hashable] | str | None = None,
        order: Sequence[Hashable] | None = None,
    ) -> None:
        super().__init__(frame)
        self._given = highlighted(self._owner, self._names, highlight)
        self._order = None
        if order is not None:  # names that it lacks come last
            rank = {name: k for k, name in enumerate(order)}
            indices = range(len(self._names))
            self._order = sorted(indices, key=lambda k: rank.get(self._names[k], len(rank)))

    def _prepare(self) -> None:
        self._kinds = [name for name in CURVES if (self._rows["curve"] == name).any()]
        codes, names = pd.factorize(self._rows["algorithm"].astype(object), use_na_sentinel=False)
        self._names: list[Hashable] = list(names)
        self._lines: dict[tuple[int, str], Floats] = {}  # tolerances and shares (n_points, 2)
        rows = self._rows.assign(index=codes)
        for kind in CURVES:
            own = lines_by_name(rows[rows["curve"] == kind], "index", self.numbers)
            for index, line in zip(*own, strict=False):
                self._lines[cast("int", index), kind] = line
        self._ends = ends_of(self._rows["tolerance"].to_numpy())
        # Rank by the difference of areas, the worst first; unknown ones last, by residuals.
        areas = np.array([[self._area(k, kind) for kind in CURVES] for k in range(len(names))])
        diff = np.abs(areas[:, 1] - areas[:, 2])
        order = np.lexsort((areas[:, 0], -np.where(np.isnan(diff), -1.0, diff)))
        self._ranked = order.tolist()

    def _area(self, index: int, kind: str) -> float:
        """Return the area under a step line; NaN without one."""
        points = self._lines.get((index, kind))
        if points is None:
            return float("nan")
        return float(np.sum(points[:-1, 1] * np.diff(points[:, 0])))

    def _size(self) -> tuple[float, float]:
        return 3.0 + 2.9 * len(self._kinds), max(3.7, 1.2 + 0.2 * len(self._given or ()))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        ends = self._ends if self._ends[0] < self._ends[1] else padded(self._ends)
        chosen = looks(style, self._ranked, self._given, self._order)
        width = name_width(ax, style, 28)
        names = [label(self._names[look.index], width) for look in chosen]
        beside = legend_width(style, names)
        panels = fitted(ax, style, (1, len(self._kinds)), ends, 0, beside=beside)
        panels.draw(ax, style)
        coloured = {look.index for look in chosen}
        rest = [k for k in range(len(self._names)) if k not in coloured]
        draw_rest(ax, style, [line for k in rest for line in self._steps(panels, k)])
        for look in reversed(chosen):  # the worst on top
            for line in self._steps(panels, look.index):
                both = {"color": look.colour, "linestyle": look.dashes}
                ax.plot(*line.T, linewidth=1.7, zorder=4, **both)
        long = panels.characters(1.1 * style.font_size) > max(map(len, CURVES.values()))
        panels.name_edges(ax, style, [CURVES[k] if long else k for k in self._kinds])
        legend_beside(style, ax, legend_entries(chosen, names))
        notes = []
        if "residuals" in self._kinds:
            notes.append("residuals: problems whose performance is predicted within the tolerance")
        if {"actual", "predicted"} & set(self._kinds):
            notes.append("effectiveness: problems on which it is within the tolerance of the best")
        better = "" if self._given is not None else ", with a smaller difference between the two"
        return [*notes, *remark(f"grey: {{}}{better}", len(rest), "other algorithm")]

    def _steps(self, panels: PanelGrid, index: int) -> list[Floats]:
        """Return the step lines of an algorithm; each height holds up to the next tolerance."""
        lines = []
        for column, kind in enumerate(self._kinds):
            points = self._lines.get((index, kind))
            if points is not None:
                end = max(points[-1, 0], self._ends[1])
                across, up = np.append(np.repeat(points[:, 0], 2)[1:], end), points[:, 1]
                line = panels.x(across, column), panels.y(np.repeat(up, 2), 0)
                lines.append(np.stack(line, axis=1))
        return lines


class RunsDisplay(AlgorithmPanels):
    """Performance of every run along the difficulty of problems; one panel per algorithm.

    The frame is long: one row per `algorithm` and problem, with its `difficulty` and the
    `performance` there. A column `curve` holds the height of the algorithm's curve at the problem,
    drawn as a line; a column `late` says which runs did not end, drawn as crosses. All panels share
    their axes. The first `panels` algorithms are drawn.
    """

    numbers, optional = ("difficulty", "performance"), ("curve",)
    without = ""
    x_label = "difficulty of the problem"

    def __init__(
        self, frame: pd.DataFrame, panels: int = MOST_PANELS, height: str = "performance"
    ) -> None:
        self.panels, self.height, self.y_label = panels, height, in_words(height)
        super().__init__(frame)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        count = len(self._parts)
        across, up = (_ends(self._rows[name]) for name in self.numbers)
        panels = drawn_panels(ax, style, count, across, up)
        n_late = 0
        dots: dict[str, Any] = {"s": 7.0, "alpha": 0.5, "zorder": 2}
        dots["rasterized"] = len(self._rows) > MOST_SHAPES
        for (row, column), part in zip(panels.cells(count), self._parts, strict=True):
            ordered = part.sort_values("difficulty", kind="stable")
            x = panels.x(ordered["difficulty"].to_numpy(), column)
            y = panels.y(ordered["performance"].to_numpy(), row)
            late = flags(ordered, "late")
            n_late += int(late.sum())
            ax.scatter(x[~late], y[~late], marker="o", color=style.positive, linewidth=0.0, **dots)
            ax.scatter(x[late], y[late], marker="x", color=style.neutral, linewidth=0.6, **dots)
            if "curve" in ordered and ordered["curve"].notna().any():
                height = panels.y(ordered["curve"].to_numpy(), row)
                ax.plot(x, height, color=style.ink, linewidth=1.3, zorder=3)
        notes = self._title(ax, style, panels)
        return [*remark("crosses: {} that did not end", n_late, "run"), *notes]


class RunHistogramsDisplay(AlgorithmPanels):
    """Histogram of a column over all runs of an algorithm; one panel per algorithm.

    The frame is long: one row per `algorithm` and problem, with the number that `value` names. All
    panels share their bins and axes. The first `panels` algorithms are drawn.
    """

    needed: tuple[str, ...] | None = None
    noun, without = "run", "a finite number"
    y_label = "share of runs"

    def __init__(
        self, frame: pd.DataFrame, value: str = "performance", panels: int = MOST_PANELS
    ) -> None:
        self.value, self.panels = value, panels
        self.numbers, self.x_label = (value,), in_words(value)
        super().__init__(frame)

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        edges = np.linspace(*_ends(self._rows[self.value], 0.0), BINS + 1)
        shares = [np.histogram(part[self.value], edges)[0] / len(part) for part in self._parts]
        top, ends = max(float(share.max()) for share in shares), padded(ends_of(edges), 0.02)
        panels = drawn_panels(ax, style, len(shares), ends, (0.0, 1.05 * top))
        look: dict[str, Any] = {"facecolors": style.positive, "edgecolors": style.paper}
        for (row, column), share in zip(panels.cells(len(shares)), shares, strict=True):
            x, y = panels.x(edges, column), panels.y(share, row)
            floor = float(panels.y(np.zeros(1), row)[0])
            bars = [
                [(left, floor), (left, high), (right, high), (right, floor)]
                for left, right, high in zip(x[:-1], x[1:], y, strict=True)
            ]
            ax.add_collection(PolyCollection(bars, zorder=2, linewidths=0.4, **look), autolim=False)
        return self._title(ax, style, panels)


def _ends(values: Any, room: float = 0.04) -> tuple[float, float]:
    """Return the limits of an axis that shows all values."""
    ends = ends_of(values)
    return padded(ends, room) if room or ends[0] == ends[1] else ends

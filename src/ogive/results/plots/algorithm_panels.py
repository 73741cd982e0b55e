"""Densities, Goodness, Runs.

Panels of algorithms: densities, trace lines, and how well the model describes each.

Panels of algorithms that show every run: along difficulty, and as histograms.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ogive._validation import whole_number
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, not_shown, remark
from ogive.results.plots.marks import (
    PanelGrid,
    arranged,
    draw_rest,
    fitted,
    in_order,
    legend_handles,
    lines_by_name,
    looks,
    padded,
    wanted,
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

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from ogive.stats.array_backend import Floats


MOST_PANELS = 12
DEEPEST = 0.99  # share of the places that are paler than the deepest colour
MOST_NAMED = 12  # levels in the legend; of more, only the first and the last are named
TALLEST = 6.0  # times the median peak that a line may reach
CURVES = {
    "residuals": "residuals",
    "actual": "actual effectiveness",
    "predicted": "predicted effectiveness",
}


def panels_size(count: int) -> tuple[float, float]:
    """Return width and height in inches of a figure of so many panels."""
    rows, columns = arranged(count)
    wide = float(np.clip(9.0 / columns, 1.8, 4.6))
    return 1.7 + columns * wide, 1.2 + rows * max(1.5, 0.72 * wide)


class AlgorithmPanels(Display):
    """One panel per algorithm, on shared scales; the first `panels` algorithms are drawn."""

    labels: tuple[str, ...] = ("algorithm",)
    x_label, grid_lines = "ability of the problem (high: easy)", ""
    panels: int

    def _prepare(self) -> None:
        whole_number(self.panels, "panels", 1)
        parts = list(self._rows.groupby("algorithm", sort=False, dropna=False, observed=True))
        self._shown: list[tuple[object, pd.DataFrame]] = [*parts[: self.panels]]
        self._hidden = len(parts) - len(self._shown)

    def _size(self) -> tuple[float, float]:
        return panels_size(len(self._shown))

    def _title(self, ax: Axes, style: Style, panels: PanelGrid) -> list[str]:
        """Write each name above its panel; return a note on algorithms without a panel."""
        for cell, (name, _) in zip(panels.cells(len(self._shown)), self._shown, strict=True):
            text = label(name, max(4, panels.characters(style.small) - 1))
            panels.title(ax, style, cell, text)
        panels.name_edges(ax, style, (), ())
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
        self._tables = [self._table(name, part) for name, part in self._shown]
        every = np.concatenate([table.to_numpy().ravel() for table in self._tables])
        if not np.isfinite(every).any():
            raise InputError(
                f"{self._owner} has nothing to draw: 'density' holds no finite number."
            )
        self._most = float(np.quantile(every[np.isfinite(every)], DEEPEST)) or 1.0
        self._cut = bool((every > self._most).any())

    def _table(self, name: object, part: pd.DataFrame) -> pd.DataFrame:
        """Return densities, performances by abilities, both from low to high."""
        pair = ["ability", self.value]
        table = None
        if np.isfinite(part[pair].to_numpy()).all() and not part.duplicated(pair).any():
            table = part.pivot_table("density", self.value, "ability", dropna=False)
        if table is None or table.size != len(part) or min(table.shape) < 2:
            raise InputError(
                f"{self._owner} needs a whole grid for each algorithm: every one of two or more "
                f"abilities once with every one of two or more values of '{self.value}'. "
                f"{label(name)!r} has {counted(len(part), 'row')}, "
                f"{part['ability'].nunique()} x {part[self.value].nunique()} values."
            )
        return table

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        across = np.concatenate([table.columns.to_numpy() for table in self._tables])
        up = np.concatenate([table.index.to_numpy() for table in self._tables])
        shape, ends = arranged(len(self._tables)), (float(across.min()), float(across.max()))
        up_to = (float(up.min()), float(up.max()))
        panels = fitted(ax, style, shape, ends, 1, up_to, beside=4.0 * style.font_size)
        panels.draw(ax, style, len(self._tables))
        for cell, table in zip(panels.cells(len(self._tables)), self._tables, strict=True):
            shades = self._draw_panel(ax, style, panels, cell, table)
            if self.stopped is not None:
                left, right, _, _ = panels.box(*cell)
                height = panels.y(np.full(2, self.stopped), cell[0])
                ax.plot([left, right], height, color=style.ink, linewidth=0.9, linestyle=DASHED)
        notes = self._title(ax, style, panels)
        notes += [] if self.stopped is None else ["dashed: where runs were stopped"]
        colour_bar(style, ax, shades, extend="max" if self._cut else "neither", label="density")
        return notes

    def _draw_panel(
        self, ax: Axes, style: Style, panels: PanelGrid, cell: tuple[int, int], table: pd.DataFrame
    ) -> ScalarMappable:
        row, column = cell
        heights = table.to_numpy()
        return ax.pcolormesh(
            panels.x(_cell_edges(table.columns.to_numpy()), column),
            panels.y(_cell_edges(table.index.to_numpy()), row),
            np.ma.masked_invalid(np.where(heights > self._most, self._most, heights)),
            cmap=colour_map(style, style.paper, style.positive, style.ink),
            vmin=0.0,
            vmax=self._most,
            rasterized=True,  # thousands of shapes would make a vector file heavy
        )


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

    def _drawable(self) -> np.ndarray:
        return super()._drawable() & self.frame["grade"].notna().to_numpy()

    def _prepare(self) -> None:
        super()._prepare()
        self._grades = _ordered(self._rows["grade"])
        self._lines = [
            dict(zip(*lines_by_name(part, "grade", self.numbers), strict=True))
            for _, part in self._shown
        ]
        peaks = np.array([line[:, 1].max() for lines in self._lines for line in lines.values()])
        # An infinite peak, as densities have at the ends of a scale, would flatten the rest.
        self._top = float(min(peaks.max(), TALLEST * np.median(peaks))) or 1.0
        self._cut = int((peaks > self._top).sum())

    def _size(self) -> tuple[float, float]:
        width, height = super()._size()
        return width + 0.6, height

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib import colormaps

        every = np.concatenate([line[:, 0] for lines in self._lines for line in lines.values()])
        ends = float(every.min()), float(every.max())
        ends = ends if ends[0] < ends[1] else padded(ends)
        up = (-0.03 * self._top, 1.03 * self._top)
        last = len(self._grades) - 1
        named = [k for k in range(last + 1) if last < MOST_NAMED or k in (0, last)]
        texts = [_said(self._grades[k]) for k in named]
        shape, beside = arranged(len(self._lines)), legend_width(style, texts)
        panels = fitted(ax, style, shape, ends, 1, up, beside)
        panels.draw(ax, style, len(self._lines))
        shades = colormaps["viridis"](np.linspace(0.0, 0.88, len(self._grades)))
        for (row, column), lines in zip(panels.cells(len(self._lines)), self._lines, strict=True):
            for grade, colour in zip(self._grades, shades, strict=True):
                if grade in lines:
                    x, y = lines[grade].T
                    x, y = panels.x(x, column), panels.y(np.minimum(y, self._top), row)
                    ax.plot(x, y, color=colour, linewidth=1.4, marker=lone_marker(x), zorder=3)
        notes = self._title(ax, style, panels)
        handles = [legend_handle(color=shades[k], linewidth=1.8) for k in named]
        legend_beside(style, ax, handles, texts)
        return [*notes, *remark("cut at the top: {} with a far higher peak", self._cut, "line")]


def _ordered(grades: pd.Series) -> list[Hashable]:
    """Return levels in the order of categories, of numbers, or of appearance."""
    import pandas as pd

    if isinstance(grades.dtype, pd.CategoricalDtype):
        there = set(grades)
        return [grade for grade in grades.cat.categories if grade in there]
    found = grades.unique().tolist()
    return sorted(found) if pd.api.types.is_numeric_dtype(grades) else found


def _said(grade: object) -> str:
    return f"{grade:.4g}" if isinstance(grade, float) else label(grade, 18)


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
        self._given = wanted(self._owner, self._names, highlight)
        self._order = in_order(self._names, order)

    def _prepare(self) -> None:
        unknown = [name for name in self.frame["curve"].unique() if name not in CURVES]
        if unknown:
            raise InputError(
                f"{self._owner} knows the curves 'residuals', 'actual' and 'predicted', but not "
                f"{label(unknown[0])!r}."
            )
        self._kinds = [name for name in CURVES if (self._rows["curve"] == name).any()]
        self._names, self._lines = _goodness_lines(self._rows)
        tolerance = self._rows["tolerance"]
        self._ends = float(tolerance.min()), float(tolerance.max())
        self._ranked = self._worst_first()

    def _size(self) -> tuple[float, float]:
        return 3.0 + 2.9 * len(self._kinds), max(3.7, 1.2 + 0.2 * len(self._given or ()))

    def _worst_first(self) -> list[int]:
        """Rank the algorithms by the difference of areas; unknown ones last, by residuals."""
        areas = np.array(
            [
                [_area(self._lines.get((place, kind))) for kind in CURVES]
                for place in range(len(self._names))
            ]
        )
        apart = np.abs(areas[:, 1] - areas[:, 2])
        order = np.lexsort((areas[:, 0], -np.where(np.isnan(apart), -1.0, apart)))
        return [int(place) for place in order]

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        low, high = self._ends
        ends = (low, high) if low < high else padded(self._ends)
        chosen = looks(style, self._ranked, self._given, self._order)
        width = min(28, name_width(ax, style))
        names = [label(self._names[look.place], width) for look in chosen]
        beside = legend_width(style, names)
        panels = fitted(ax, style, (1, len(self._kinds)), ends, 0, beside=beside)
        panels.draw(ax, style)
        coloured = {look.place for look in chosen}
        rest = [k for k in range(len(self._names)) if k not in coloured]
        draw_rest(ax, style, [line for k in rest for line in self._steps(panels, k)])
        for look in reversed(chosen):  # the worst on top
            for line in self._steps(panels, look.place):
                both = {"color": look.colour, "linestyle": look.dashes}
                ax.plot(*line.T, linewidth=1.7, zorder=4, **both)
        long = panels.characters(1.1 * style.font_size) > max(map(len, CURVES.values()))
        panels.name_edges(ax, style, [CURVES[k] if long else k for k in self._kinds], ())
        legend_beside(style, ax, legend_handles(chosen), names)
        return self._notes(len(rest))

    def _steps(self, panels: PanelGrid, place: int) -> list[Floats]:
        """Return the step lines of an algorithm; each height holds up to the next tolerance."""
        found = []
        for column, kind in enumerate(self._kinds):
            points = self._lines.get((place, kind))
            if points is not None:
                end = max(points[-1, 0], self._ends[1])
                across, up = np.append(np.repeat(points[:, 0], 2)[1:], end), points[:, 1]
                line = panels.x(across, column), panels.y(np.repeat(up, 2), 0)
                found.append(np.stack(line, axis=1))
        return found

    def _notes(self, others: int) -> list[str]:
        notes = []
        if "residuals" in self._kinds:
            notes.append("residuals: problems whose performance is predicted within the tolerance")
        if {"actual", "predicted"} & set(self._kinds):
            notes.append("effectiveness: problems on which it is within the tolerance of the best")
        better = "" if self._given is not None else ", with a smaller difference between the two"
        return [*notes, *remark(f"grey: {{}}{better}", others, "other algorithm")]


def _goodness_lines(rows: pd.DataFrame) -> tuple[list[Hashable], dict[tuple[int, str], Floats]]:
    """Return names; and by position of a name and curve, tolerances and shares (n_points, 2)."""
    import pandas as pd

    codes, names = pd.factorize(rows["algorithm"].astype(object), use_na_sentinel=False)
    rows, lines = rows.assign(place=codes), {}
    for kind in CURVES:
        found = lines_by_name(rows[rows["curve"] == kind], "place", ("tolerance", "share"))
        for place, line in zip(*found, strict=False):
            lines[cast("int", place), kind] = line
    return list(names), lines


def _area(points: Floats | None) -> float:
    """Return the area under a step line; NaN without one."""
    if points is None:
        return float("nan")
    return float(np.sum(points[:-1, 1] * np.diff(points[:, 0])))


BINS = 20


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
        count = len(self._shown)
        across, up = (_ends(self._rows[name].to_numpy()) for name in self.numbers)
        panels = fitted(ax, style, arranged(count), across, 1, up)
        panels.draw(ax, style, count)
        late = 0
        for cell, (_, part) in zip(panels.cells(count), self._shown, strict=True):
            late += self._draw_panel(ax, style, panels, cell, part)
        shown = self._title(ax, style, panels)
        return [*remark("crosses: {} that did not end", late, "run"), *shown]

    def _draw_panel(
        self, ax: Axes, style: Style, panels: PanelGrid, cell: tuple[int, int], part: pd.DataFrame
    ) -> int:
        row, column = cell
        part = part.sort_values("difficulty", kind="stable")
        x = panels.x(part["difficulty"].to_numpy(), column)
        y = panels.y(part["performance"].to_numpy(), row)
        late = flags(part, "late")
        many = len(self._rows) > MOST_SHAPES
        for rows, marker, colour in ((~late, "o", style.positive), (late, "x", style.neutral)):
            ax.scatter(
                x[rows],
                y[rows],
                s=7.0,
                marker=marker,
                color=colour,
                linewidth=0.6 if marker == "x" else 0.0,
                alpha=0.5,
                zorder=2,
                rasterized=many,
            )
        if "curve" in part and part["curve"].notna().any():
            height = panels.y(part["curve"].to_numpy(), row)
            ax.plot(x, height, color=style.ink, linewidth=1.3, zorder=3)
        return int(late.sum())


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

    def _prepare(self) -> None:
        super()._prepare()
        low, high = _ends(self._rows[self.value].to_numpy(), 0.0)
        self._edges = np.linspace(low, high, BINS + 1)
        self._shares = [
            np.histogram(part[self.value].to_numpy(), self._edges)[0] / len(part)
            for _, part in self._shown
        ]

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.collections import PolyCollection

        edges, count = self._edges, len(self._shown)
        top = max(float(share.max()) for share in self._shares)
        ends = padded((float(edges[0]), float(edges[-1])), 0.02)
        panels = fitted(ax, style, arranged(count), ends, 1, (0.0, 1.05 * top))
        panels.draw(ax, style, count)
        for (row, column), share in zip(panels.cells(count), self._shares, strict=True):
            x, y = panels.x(edges, column), panels.y(share, row)
            floor = float(panels.y(np.zeros(1), row)[0])
            bars = [
                [(left, floor), (left, high), (right, high), (right, floor)]
                for left, right, high in zip(x[:-1], x[1:], y, strict=True)
            ]
            look: dict[str, Any] = {"facecolors": style.positive, "edgecolors": style.paper}
            ax.add_collection(PolyCollection(bars, zorder=2, linewidths=0.4, **look), autolim=False)
        return self._title(ax, style, panels)


def _ends(values: Floats, room: float = 0.04) -> tuple[float, float]:
    """Return the limits of an axis that shows all values."""
    ends = float(values.min()), float(values.max())
    return padded(ends, room) if room or ends[0] == ends[1] else ends

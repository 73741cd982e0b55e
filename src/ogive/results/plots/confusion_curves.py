"""Item curves by cell of a confusion matrix.

Curves of items by cell of a confusion matrix.

Curves of the items in each cell of a confusion matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, not_shown, tidy
from ogive.results.plots.marks import UP, PanelGrid, blended, counted_classes, fitted
from ogive.results.plots.response_curves import by_sign
from ogive.results.plots.theme import DASHED, Style, label, legend_beside, legend_handle

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.stats.array_backend import Floats


@dataclass(frozen=True, eq=False)
class Cells:
    """Curves (n_items, n_points) over one grid, and the cell of each."""

    classes: list[Any]
    true: np.ndarray[Any, np.dtype[np.intp]]  # (n_items,), place among the classes
    predicted: np.ndarray[Any, np.dtype[np.intp]]
    discrimination: Floats
    grid: Floats
    curves: Floats
    lost: int  # items without a whole curve
    hidden: int  # classes for which there is no room

    def inside(self, row: int, column: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which items are in a cell."""
        found: np.ndarray[Any, np.dtype[np.bool_]] = (self.true == row) & (self.predicted == column)
        return found


def split(frame: pd.DataFrame, cells: pd.DataFrame | None, owner: str, most: int) -> Cells:
    """Sort a long frame into cells; of more than `most` classes, those with the most items."""
    _check_labels(frame, owner)
    order, shape = _by_item(frame, owner)
    rows = frame.iloc[order]
    ability = rows["ability"].to_numpy().reshape(shape)
    _check_grid(ability, rows, owner)
    for name in ("true", "predicted"):
        _check_one_cell(rows, name, shape, owner)
    first = rows.iloc[:: shape[1]]
    curves = rows["expected"].to_numpy().reshape(shape)
    whole = np.isfinite(curves).all(axis=1)
    if not whole.any():
        raise InputError(
            f"{owner} has nothing to draw: no item has a finite 'expected' at every ability."
        )
    if ((curves[whole] < 0) | (curves[whole] > 1)).any():
        raise InputError(f"{owner} needs probabilities, between 0 and 1, in the column 'expected'.")
    classes = _classes(frame, cells)
    shown = _largest(classes, first[whole], most)
    place = {name: k for k, name in enumerate(shown)}
    true, predicted = (
        np.array([place.get(name, -1) for name in first[column]], dtype=np.intp)
        for column in ("true", "predicted")
    )
    kept = whole & (true >= 0) & (predicted >= 0)
    return Cells(
        classes=shown,
        true=true[kept],
        predicted=predicted[kept],
        discrimination=first["discrimination"].to_numpy()[kept],
        grid=ability[0],
        curves=curves[kept],
        lost=int((~whole).sum()),
        hidden=len(classes) - len(shown),
    )


def _by_item(frame: pd.DataFrame, owner: str) -> tuple[np.ndarray[Any, Any], tuple[int, int]]:
    """Return the order of rows by item and ability, and the numbers of items and abilities."""
    import pandas as pd

    codes, items = pd.factorize(frame["item"], use_na_sentinel=False)
    counts = np.bincount(codes)
    if (counts != counts[0]).any() or counts[0] < 2:
        odd = int(np.argmax(counts != counts[0]))
        raise InputError(
            f"{owner} needs every item at the same two or more abilities, but item "
            f"'{items[0]}' has {counts[0]:,} rows and item '{items[odd]}' {counts[odd]:,}."
        )
    return np.lexsort((frame["ability"].to_numpy(), codes)), (len(items), int(counts[0]))


def _check_labels(frame: pd.DataFrame, owner: str) -> None:
    for name in ("true", "predicted"):
        if (missing := frame[name].isna()).any():
            item = frame.loc[missing.to_numpy(), "item"].iloc[0]
            raise InputError(
                f"{owner} needs a class in every row, but item '{item}' has none in '{name}'."
            )


def _check_grid(ability: Floats, rows: pd.DataFrame, owner: str) -> None:
    same = (ability == ability[0]).all(axis=1)
    if not same.all():
        item = rows["item"].iloc[int(np.argmin(same)) * ability.shape[1]]
        raise InputError(
            f"{owner} needs every item at the same finite abilities, but item '{item}' "
            f"has other abilities than item '{rows['item'].iloc[0]}'."
        )
    if (np.diff(ability[0]) <= 0).any() or not np.isfinite(ability[0]).all():
        raise InputError(
            f"{owner} needs each item once at each finite ability. "
            "Give it the cells of one model at a time."
        )


def _check_one_cell(rows: pd.DataFrame, name: str, shape: tuple[int, int], owner: str) -> None:
    import pandas as pd

    codes = pd.factorize(rows[name])[0].reshape(shape)
    mixed = (codes != codes[:, :1]).any(axis=1)
    if mixed.any():
        item = rows["item"].iloc[int(np.argmax(mixed)) * shape[1]]
        raise InputError(
            f"{owner} needs each item in one cell, but item '{item}' has more than one class "
            f"in '{name}'. Give it the cells of one model at a time."
        )


def _classes(frame: pd.DataFrame, cells: pd.DataFrame | None) -> list[Any]:
    """Return classes in the order of categories if there are any, else of appearance."""
    import pandas as pd

    found: dict[Any, None] = {}
    for source in (frame, cells) if cells is not None else (frame,):
        for name in ("true", "predicted"):
            column = source[name]
            ordered = isinstance(column.dtype, pd.CategoricalDtype)
            found |= dict.fromkeys(column.cat.categories if ordered else column.unique())
    return list(found)


def _largest(classes: list[Any], items: pd.DataFrame, most: int) -> list[Any]:
    """Return the classes with the most items, true or predicted, in their old order."""
    if len(classes) <= most:
        return classes
    count = items["true"].astype(object).value_counts()
    other = items["predicted"].astype(object).value_counts()
    sizes = np.array([count.get(name, 0) + other.get(name, 0) for name in classes])
    kept = np.sort(np.argsort(-sizes, kind="stable")[:most])
    return [classes[k] for k in kept]


MOST_CLASSES = 12  # more panels would be too small to read
MOST_LINES = 300  # in a cell; more curves are drawn as a density
LEAST_HEIGHT = 50.0  # points of a panel that can spare room for figures
Z = 1.96


@dataclass(frozen=True)
class _Figure:
    """How one figure of a cell is written and explained."""

    word: str
    digits: str
    meaning: str


FIGURES = {
    "discrimination": _Figure("discr.", ".2f", "mean discrimination"),
    "difficulty": _Figure("diff.", ".2f", "mean difficulty"),
    "guessing": _Figure("guess.", ".3f", "mean guessing"),
    "total_score": _Figure("total", ",.1f", "total score"),
    "information": _Figure("info.", ".3f", "mean information at the model's ability"),
    "share_negative": _Figure("negative", ".0%", "share of items with negative discrimination"),
}


class CellCurvesDisplay(Display):
    """Curves of the items in each cell of a confusion matrix; true class by predicted class.

    The frame is long: one row per `item` and `ability`, with the probability that is `expected`
    there, the item's `discrimination`, and its cell, `true` and `predicted`; all items share
    their abilities. A curve has the colour of the sign of its discrimination, the mean of a cell
    is dark. `ability` draws the model's as a line, `ability_se` the interval around it. `cells`
    gives the titles: one row per cell, `true` and `predicted`, and any of `name`, `count`,
    `discrimination`, `difficulty`, `guessing`, `total_score`, `information`, `share_negative`.
    Beyond 300 items in a cell, shades show how many curves pass.
    """

    numbers = ("ability", "expected", "discrimination")
    labels = ("true", "predicted", "item")
    needed: tuple[str, ...] = ()
    without = ""
    x_label, y_label = "ability", "probability of a right response"
    grid_lines = ""

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        ability: float | None = None,
        ability_se: float | None = None,
        cells: pd.DataFrame | None = None,
    ) -> None:
        super().__init__(frame)
        self.ability = _finite("ability", ability)
        self.ability_se = _finite("ability_se", ability_se)
        if cells is not None:
            known = [name for name in ("count", *FIGURES) if name in cells]
            cells = tidy(cells, f"{self._owner}, for its cells,", known, ("true", "predicted"))
        self.cells = cells
        self._table = split(self.frame, cells, self._owner, MOST_CLASSES)
        self._said = _by_cell(cells)

    def _size(self) -> tuple[float, float]:
        count = len(self._table.classes)
        wide = float(np.clip(9.6 / count, 1.0, 3.5))
        return 2.6 + max(3.6, count * wide), 1.6 + max(2.6, count * max(0.86, 0.76 * wide))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        table = self._table
        grid, titles = self._arranged(ax, style)
        grid.draw(ax, style)
        most = min(MOST_LINES, int(2.2 * grid.height))
        self._draw_ability(ax, style, grid)
        dense = _draw_items(ax, style, grid, table, most)
        thick = 2.2 if grid.width > 100 else 1.3
        for row, column in np.ndindex(grid.rows, grid.columns):
            curves = table.curves[table.inside(row, column)]
            if len(curves) > 1:  # the mean of one curve would hide it
                across, up = grid.x(table.grid, column), grid.y(curves.mean(axis=0), row)
                ax.plot(across, up, color=style.ink, linewidth=thick, zorder=4)
            grid.title(ax, style, (row, column), "\n".join(titles.get((row, column), [])))
            if not len(curves):
                text = "no items" if grid.characters(style.small) > 8 else "–"
                grid.write(ax, style, (row, column), text)
        names = [str(name) for name in table.classes]
        short = grid.characters(1.1 * style.font_size) < 18
        top = names if short else [f"predicted {name}" for name in names]
        right = names if short else [f"true {name}" for name in names]
        grid.name_edges(ax, style, top, right)
        if short:  # no panel has room to say which is which
            corner: dict[str, Any] = {"xycoords": "axes fraction", "fontsize": style.small}
            ax.annotate("predicted →\ntrue ↓", (1.0, 1.0), color=style.ink, **corner)
        legend_beside(style, ax, *self._legend(style, dense=dense))
        figures = any(len(title) > 1 for title in titles.values())
        return self._notes(dense=dense, figures=figures)

    def _arranged(
        self, ax: Axes, style: Style
    ) -> tuple[PanelGrid, dict[tuple[int, int], list[str]]]:
        """Return the panels with the longest titles for which there is room, and these titles."""
        shape = (len(self._table.classes),) * 2
        ends = float(self._table.grid[0]), float(self._table.grid[-1])
        for detail in ("uncertain", "figures", "count", "bare"):
            grid = fitted(ax, style, shape, ends, 1)
            titles = self._titles(grid.characters(style.small), detail)
            lines = max(len(title) for title in titles.values())
            grid = fitted(ax, style, shape, ends, lines)
            longest = max(len(line) for title in titles.values() for line in (*title, ""))
            least = LEAST_HEIGHT if lines > 1 else 0.5 * LEAST_HEIGHT
            if longest <= grid.characters(style.small) and lines <= 3 and grid.height >= least:
                return grid, titles
        return fitted(ax, style, shape, ends, 0), {}

    def _titles(self, characters: int, detail: str) -> dict[tuple[int, int], list[str]]:
        table, titles = self._table, {}
        for row, column in np.ndindex(len(table.classes), len(table.classes)):
            said = self._said.get((table.classes[row], table.classes[column]), {})
            count = int(table.inside(row, column).sum())
            if np.isfinite(said.get("count", np.nan)):
                count = int(said["count"])
            name = label(said.get("name", ""), 12)
            if detail == "bare":
                titles[row, column] = [f"{count:,}"] if count else []
                continue
            parts = [part for part in (name, counted(count, "item") if count else "") if part]
            lines = [" · ".join(parts)] if parts else []
            if detail != "count" and count:
                lines += _figure_lines(said, characters, uncertain=detail == "uncertain")
            titles[row, column] = lines
        return titles

    def _draw_ability(self, ax: Axes, style: Style, grid: PanelGrid) -> None:
        if self.ability is None:
            return
        reach = Z * (self.ability_se or 0.0)
        ends = np.array([self.ability - reach, self.ability, self.ability + reach])
        low, high = grid.horizontal
        shown = np.clip(ends, low, high)
        for row, column in np.ndindex(grid.rows, grid.columns):
            if not self._table.inside(row, column).any():
                continue
            left, middle, right = grid.x(shown, column)
            _, _, bottom, top = grid.box(row, column)
            band = {"color": style.neutral, "alpha": 0.22, "linewidth": 0}
            ax.fill_between([left, right], bottom, top, zorder=2.5, **band)  # type: ignore[arg-type]
            if low <= self.ability <= high:
                both = [middle, middle], [bottom, top]
                ax.plot(*both, color=style.ink, linewidth=1.1, linestyle=DASHED, zorder=3.8)

    def _legend(self, style: Style, *, dense: bool) -> tuple[list[Artist], list[str]]:
        handles: list[Artist] = []
        texts = []
        total = len(self._table.curves)
        for colour, meaning, chosen in by_sign(style, self._table.discrimination):
            handles.append(legend_handle(color=colour, linewidth=5.0 if dense else 1.6))
            texts.append(f"{meaning}\n({int(chosen.sum()):,} of {counted(total, 'item')})")
        handles.append(legend_handle(color=style.ink, linewidth=2.2))
        texts.append("mean of the cell")
        if self.ability is not None:
            handles.append(legend_handle(color=style.ink, linewidth=1.1, linestyle=DASHED))
            texts.append(f"ability of the model\n{self._ability_said()}")
        return handles, texts

    def _ability_said(self) -> str:
        said = f"{self.ability:.2f}".replace("-", "−")
        return said if self.ability_se is None else f"{said} ± {Z * self.ability_se:.2f} (95%)"

    def _notes(self, *, dense: bool, figures: bool) -> list[str]:
        notes = []
        if figures and self.cells is not None:
            there = [FIGURES[name] for name in FIGURES if name in self.cells]
            notes.append("; ".join(f"{one.word}: {one.meaning}" for one in there))
        if dense:
            notes.append("shades: how many curves pass; the rarer colour is drawn stronger")
        low, high = self._table.grid[[0, -1]]
        if self.ability is not None and not low <= self.ability <= high:
            notes.append(f"the model's ability of {self.ability:.2f} lies beyond the axis")
        notes += not_shown(self._table.lost, "item", "without a whole curve")
        if self._table.hidden:
            notes.append(f"not shown: {counted_classes(self._table.hidden)} with fewer items")
        return notes


def _finite(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    if not np.isfinite(value) or (name.endswith("_se") and value < 0):
        raise InputError(
            f"'{name}' is {value}, but must be a finite number. Leave it out if unknown."
        )
    return float(value)


def _by_cell(cells: pd.DataFrame | None) -> dict[tuple[Any, Any], dict[str, Any]]:
    if cells is None:
        return {}
    rows: list[dict[Any, Any]] = cells.astype(object).to_dict("records")
    return {(row["true"], row["predicted"]): row for row in rows}


def _figure_lines(said: dict[str, Any], characters: int, *, uncertain: bool) -> list[str]:
    """Return the figures of a cell in one line, or in two if one would be too long."""
    parts: tuple[list[str], list[str]] = ([], [])
    for place, (name, one) in enumerate(FIGURES.items()):
        value, error = said.get(name, np.nan), said.get(f"{name}_se", np.nan)
        if not np.isfinite(value):
            continue
        text = f"{one.word} {value:{one.digits if abs(value) < 1e4 else '.2g'}}"
        if uncertain and np.isfinite(error):
            text += f" ± {error:{one.digits}}"
        parts[2 * place // len(FIGURES)].append(text.replace("-", "−"))
    whole = "  ".join((*parts[0], *parts[1]))
    lines = [whole] if len(whole) <= characters else ["  ".join(part) for part in parts]
    return [line for line in lines if line]


def _draw_items(ax: Axes, style: Style, grid: PanelGrid, table: Cells, most: int) -> bool:
    """Draw the curves of all cells; return whether one of them is drawn as a density."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    signs = by_sign(style, table.discrimination)
    lines: list[Floats] = []
    colours: list[Floats] = []
    dense = False
    for row, column in np.ndindex(grid.rows, grid.columns):
        inside = table.inside(row, column)
        count = int(inside.sum())
        if count > most:
            parts = [(colour, table.curves[inside & chosen]) for colour, _, chosen in signs]
            picture = blended(table.grid, parts, UP)
            ax.imshow(
                picture, extent=grid.box(row, column), origin="lower", aspect="auto", zorder=2
            )
            dense = True
            continue
        for colour, _, chosen in signs:
            curves = table.curves[inside & chosen]
            # Many lines overlap.
            alpha = float(np.clip(3.5 / np.sqrt(max(len(curves), 1)), 0.25, 0.8))
            across = np.broadcast_to(grid.x(table.grid, column), curves.shape)
            lines.append(np.stack([across, grid.y(curves, row)], axis=-1))
            colours.append(np.tile(to_rgba(colour, alpha), (len(curves), 1)))
    if lines:
        width = 0.9 if grid.width > 100 else 0.6
        every = LineCollection(
            list(np.concatenate(lines)), colors=np.concatenate(colours), linewidths=width, zorder=2
        )
        ax.add_collection(every, autolim=False)
    return dense

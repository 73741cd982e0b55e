"""Curves of the items in each cell of a confusion matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, not_shown, tidy
from ogive.results.plots.marks import blended
from ogive.results.plots.panels import UNIT, PanelGrid, fitted
from ogive.results.plots.response_curves import by_sign
from ogive.results.plots.theme import DASHED, Style, label, legend_beside, legend_handle
from ogive.stats.array_backend import Array, Bools, Floats

MOST_CLASSES = 12  # more panels would be too small to read
MOST_LINES = 300  # in a cell; more curves are drawn as a density
LEAST_HEIGHT = 50.0  # points of a panel that can spare room for figures
CLASSES = ("true", "predicted")


class Statistic(NamedTuple):
    """How a statistic of a cell is written and explained."""

    word: str
    digits: str
    meaning: str


STATISTICS = {
    "discrimination": Statistic("discr.", ".2f", "mean discrimination"),
    "difficulty": Statistic("diff.", ".2f", "mean difficulty"),
    "guessing": Statistic("guess.", ".3f", "mean guessing"),
    "total_score": Statistic("total", ",.1f", "total score"),
    "information": Statistic("info.", ".3f", "mean information at the model's ability"),
    "share_negative": Statistic("negative", ".0%", "share of items with negative discrimination"),
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
    labels = (*CLASSES, "item")
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
        self.cells = cells
        super().__init__(frame)
        self.ability, self.ability_se = ability, ability_se
        self._statistics: dict[tuple[Any, Any], dict[str, Any]] = {}  # by true and predicted class
        if cells is not None:
            known = [name for name in ("count", *STATISTICS) if name in cells]
            self.cells = tidy(cells, f"{self._owner}, for its cells,", known, CLASSES)
            rows: list[dict[Any, Any]] = self.cells.astype(object).to_dict("records")
            self._statistics = {(row["true"], row["predicted"]): row for row in rows}

    def _prepare(self) -> None:
        """Sort the items into cells; of many classes, keep those with the most items."""
        codes, items = pd.factorize(self.frame["item"], use_na_sentinel=False)
        rows = self.frame.iloc[np.lexsort((self.frame["ability"].to_numpy(), codes))]
        if len(rows) % len(items) or (np.bincount(codes) != len(rows) // len(items)).any():
            raise InputError(f"{self._owner} needs every item at the same abilities.")
        shape = len(items), len(rows) // len(items)
        self._grid: Floats = rows["ability"].to_numpy()[: shape[1]]
        curves = rows["expected"].to_numpy().reshape(shape)
        whole = np.isfinite(curves).all(axis=1)
        if not whole.any():
            raise InputError(
                f"{self._owner} has nothing to draw: no item has a finite 'expected' at every "
                "ability."
            )
        first = rows.iloc[:: shape[1]]
        classes: dict[Any, None] = {}  # in the order of categories if there are any
        for source in (self.frame, *([] if self.cells is None else [self.cells])):
            for name in CLASSES:
                column = source[name]
                ordered = isinstance(column.dtype, pd.CategoricalDtype)
                classes |= dict.fromkeys(column.cat.categories if ordered else column.unique())
        self._classes = list(classes)
        if len(classes) > MOST_CLASSES:
            true, predicted = (first.loc[whole, name].astype(object) for name in CLASSES)
            count, other = true.value_counts(), predicted.value_counts()
            sizes = np.array([count.get(name, 0) + other.get(name, 0) for name in classes])
            kept = np.sort(np.argsort(-sizes, kind="stable")[:MOST_CLASSES])
            self._classes = [self._classes[k] for k in kept]
        self._n_hidden = len(classes) - len(self._classes)  # classes for which there is no room
        self._n_lost = int((~whole).sum())  # items without a whole curve
        index = {name: k for k, name in enumerate(self._classes)}
        true, predicted = (
            np.array([index.get(name, -1) for name in first[column]]) for column in CLASSES
        )
        kept = whole & (true >= 0) & (predicted >= 0)
        self._true: Array = true[kept]
        self._predicted: Array = predicted[kept]
        self._discrimination: Floats = first["discrimination"].to_numpy()[kept]
        self._curves: Floats = curves[kept]

    def _inside(self, row: int, column: int) -> Bools:
        """Return which items are in a cell."""
        inside: Bools = (self._true == row) & (self._predicted == column)
        return inside

    def _size(self) -> tuple[float, float]:
        count = len(self._classes)
        wide = float(np.clip(9.6 / count, 1.0, 3.5))
        return 2.6 + max(3.6, count * wide), 1.6 + max(2.6, count * max(0.86, 0.76 * wide))

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        grid, titles = self._arranged(ax, style)
        grid.draw(ax, style)
        self._draw_ability(ax, style, grid)
        dense = self._draw_items(ax, style, grid)
        thick = 2.2 if grid.width > 100 else 1.3
        for row, column in np.ndindex(grid.rows, grid.columns):
            curves = self._curves[self._inside(row, column)]
            if len(curves) > 1:  # the mean of one curve would hide it
                across, up = grid.x(self._grid, column), grid.y(curves.mean(axis=0), row)
                ax.plot(across, up, color=style.ink, linewidth=thick, zorder=4)
            grid.title(ax, style, (row, column), "\n".join(titles.get((row, column), [])))
            if not len(curves):
                text = "no items" if grid.characters(style.small) > 8 else "–"
                grid.write(ax, style, (row, column), text)
        names = [str(name) for name in self._classes]
        short = grid.characters(1.1 * style.font_size) < 18
        top = names if short else [f"predicted {name}" for name in names]
        right = names if short else [f"true {name}" for name in names]
        grid.name_edges(ax, style, top, right)
        if short:  # no panel has room to say which is which
            corner: dict[str, Any] = {"xycoords": "axes fraction", "fontsize": style.small}
            ax.annotate("predicted →\ntrue ↓", (1.0, 1.0), color=style.ink, **corner)
        legend_beside(style, ax, self._legend(style, dense=dense))
        return self._notes(dense=dense, detailed=any(len(title) > 1 for title in titles.values()))

    def _arranged(
        self, ax: Axes, style: Style
    ) -> tuple[PanelGrid, dict[tuple[int, int], list[str]]]:
        """Return the panels with the longest titles for which there is room, and these titles."""
        shape = (len(self._classes),) * 2
        ends = float(self._grid[0]), float(self._grid[-1])
        for detail in ("uncertain", "statistics", "count", "bare"):
            characters = fitted(ax, style, shape, ends, 1).characters(style.small)
            titles = self._titles(characters, detail)
            lines = max(len(title) for title in titles.values())
            grid = fitted(ax, style, shape, ends, lines)
            longest = max(len(line) for title in titles.values() for line in (*title, ""))
            least = LEAST_HEIGHT if lines > 1 else 0.5 * LEAST_HEIGHT
            if longest <= grid.characters(style.small) and lines <= 3 and grid.height >= least:
                return grid, titles
        return fitted(ax, style, shape, ends, 0), {}

    def _titles(self, characters: int, detail: str) -> dict[tuple[int, int], list[str]]:
        titles = {}
        for row, column in np.ndindex(len(self._classes), len(self._classes)):
            known = self._statistics.get((self._classes[row], self._classes[column]), {})
            count = int(self._inside(row, column).sum())
            if np.isfinite(known.get("count", np.nan)):
                count = int(known["count"])
            if detail == "bare":
                titles[row, column] = [f"{count:,}"] if count else []
                continue
            parts = [label(known.get("name", ""), 12), counted(count, "item") if count else ""]
            lines = [" · ".join(filter(None, parts))] if any(parts) else []
            if detail != "count" and count:
                lines += _statistic_lines(known, characters, uncertain=detail == "uncertain")
            titles[row, column] = lines
        return titles

    def _draw_ability(self, ax: Axes, style: Style, grid: PanelGrid) -> None:
        if self.ability is None:
            return
        reach = 1.96 * (self.ability_se or 0.0)
        ends = np.array([self.ability - reach, self.ability, self.ability + reach])
        low, high = grid.horizontal
        band: dict[str, Any] = {"color": style.neutral, "alpha": 0.22, "linewidth": 0}
        for row, column in np.ndindex(grid.rows, grid.columns):
            if not self._inside(row, column).any():
                continue
            left, middle, right = grid.x(np.clip(ends, low, high), column)
            _, _, bottom, top = grid.box(row, column)
            ax.fill_between([left, right], bottom, top, zorder=2.5, **band)
            if low <= self.ability <= high:
                both = [middle, middle], [bottom, top]
                ax.plot(*both, color=style.ink, linewidth=1.1, linestyle=DASHED, zorder=3.8)

    def _draw_items(self, ax: Axes, style: Style, grid: PanelGrid) -> bool:
        """Draw the curves of all cells; return whether one of them is drawn as a density."""
        most = min(MOST_LINES, int(2.2 * grid.height))
        signs = by_sign(style, self._discrimination)
        lines: list[Floats] = []
        colours: list[Floats] = []
        dense = False
        for row, column in np.ndindex(grid.rows, grid.columns):
            inside = self._inside(row, column)
            if inside.sum() > most:
                parts = [(colour, self._curves[inside & chosen]) for colour, _, chosen in signs]
                picture, box = blended(self._grid, parts, UNIT), grid.box(row, column)
                ax.imshow(picture, extent=box, origin="lower", aspect="auto", zorder=2)
                dense = True
                continue
            for colour, _, chosen in signs:
                curves = self._curves[inside & chosen]
                # Many lines overlap.
                alpha = float(np.clip(3.5 / np.sqrt(max(len(curves), 1)), 0.25, 0.8))
                across = np.broadcast_to(grid.x(self._grid, column), curves.shape)
                lines.append(np.stack([across, grid.y(curves, row)], axis=-1))
                colours.append(np.tile(to_rgba(colour, alpha), (len(curves), 1)))
        if lines:
            look: dict[str, Any] = {"colors": np.concatenate(colours), "zorder": 2}
            width = 0.9 if grid.width > 100 else 0.6
            every = LineCollection(list(np.concatenate(lines)), linewidths=width, **look)
            ax.add_collection(every, autolim=False)
        return dense

    def _legend(self, style: Style, *, dense: bool) -> list[tuple[Artist, str]]:
        total = len(self._curves)
        entries: list[tuple[Artist, str]] = []
        for colour, meaning, chosen in by_sign(style, self._discrimination):
            handle = legend_handle(color=colour, linewidth=5.0 if dense else 1.6)
            count = f"{int(chosen.sum()):,} of {counted(total, 'item')}"
            entries.append((handle, f"{meaning}\n({count})"))
        entries.append((legend_handle(color=style.ink, linewidth=2.2), "mean of the cell"))
        if self.ability is not None:
            ability = f"{self.ability:.2f}".replace("-", "−")
            if self.ability_se is not None:
                ability += f" ± {1.96 * self.ability_se:.2f} (95%)"
            handle = legend_handle(color=style.ink, linewidth=1.1, linestyle=DASHED)
            entries.append((handle, f"ability of the model\n{ability}"))
        return entries

    def _notes(self, *, dense: bool, detailed: bool) -> list[str]:
        notes = []
        if detailed and self.cells is not None:
            known = [STATISTICS[name] for name in STATISTICS if name in self.cells]
            notes.append("; ".join(f"{one.word}: {one.meaning}" for one in known))
        if dense:
            notes.append("shades: how many curves pass; the rarer colour is drawn stronger")
        low, high = self._grid[[0, -1]]
        if self.ability is not None and not low <= self.ability <= high:
            notes.append(f"the model's ability of {self.ability:.2f} lies beyond the axis")
        notes += not_shown(self._n_lost, "item", "without a whole curve")
        if self._n_hidden:
            plural = "" if self._n_hidden == 1 else "es"
            notes.append(f"not shown: {self._n_hidden:,} class{plural} with fewer items")
        return notes


def _statistic_lines(known: dict[str, Any], characters: int, *, uncertain: bool) -> list[str]:
    """Return the statistics of a cell in one line, or in two if one would be too long."""
    parts: tuple[list[str], list[str]] = ([], [])
    for k, (name, one) in enumerate(STATISTICS.items()):
        value, error = known.get(name, np.nan), known.get(f"{name}_se", np.nan)
        if not np.isfinite(value):
            continue
        text = f"{one.word} {value:{one.digits if abs(value) < 1e4 else '.2g'}}"
        if uncertain and np.isfinite(error):
            text += f" ± {error:{one.digits}}"
        parts[2 * k // len(STATISTICS)].append(text.replace("-", "−"))
    whole = "  ".join((*parts[0], *parts[1]))
    lines = [whole] if len(whole) <= characters else ["  ".join(part) for part in parts]
    return [line for line in lines if line]

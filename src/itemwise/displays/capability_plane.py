"""How far models can be trusted in two classes, one point a model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.classes import class_name
from itemwise.displays.style import (
    Style,
    footnote,
    grid,
    label,
    lines_that_fit,
    name_width,
    names_beside,
)
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

MOST_COLOURED = 7  # each with a colour; more would not be told apart
MOST_NAMES = 20


class CapabilityPlaneDisplay(Display):
    """Limits (MLC) of models in two classes; farther right and up, harder cases can be trusted.

    The frame has one row a model, which is its index, a column for each of two classes that holds
    the limit there, and its standard error in a column of the same name with `_se`. Of a frame with
    more classes, `classes` says which two. Of many models, the twenty with the highest sum of
    limits are named, and bars are drawn of these alone.
    """

    def __init__(self, frame: pd.DataFrame, classes: Sequence[Hashable] | None = None) -> None:
        import pandas as pd

        owner = type(self).__name__
        if isinstance(frame, pd.DataFrame):  # classes may be numbers; names of columns are text
            frame = frame.rename(columns=str)
        first, second = self.classes = _classes(frame, owner, classes)
        self._errors = f"{first}_se", f"{second}_se"
        super().__init__(tidy(frame, owner, [first, second, *self._errors]))
        points = self.frame[[first, second]].to_numpy()
        seen = np.isfinite(points).all(axis=1)
        if not seen.any():
            raise InputError(f"{owner} has nothing to draw: no row has two finite limits.")
        self._lost = int((~seen).sum())
        order = np.argsort(-points[seen].sum(axis=1), kind="stable")
        self._rows = self.frame[seen].iloc[order]
        self._points: Floats = points[seen][order]

    def _size(self) -> tuple[float, float]:
        return 7.4, 4.8

    def _draw(self, ax: Axes, style: Style) -> None:
        named = min(len(self._rows), MOST_NAMES, max(1, lines_that_fit(ax, style.small)))
        shades = self._colours(style, named)
        limits = self._limits(named)
        ends = min(limits[0][0], limits[1][0]), max(limits[0][1], limits[1][1])
        ax.plot(ends, ends, color=style.neutral, linewidth=1.0, linestyle=(0, (1, 1)), zorder=1)
        self._draw_errors(ax, shades)
        x, y = self._points.T
        ax.scatter(x[named:], y[named:], s=16, color=style.neutral, alpha=0.5, linewidth=0)
        ax.scatter(x[:named], y[:named], s=30, color=shades, linewidth=0, zorder=4)
        ax.set_xlim(limits[0])
        ax.set_ylim(limits[1])
        ax.set_xlabel(f"limit (MLC) in {_quoted(self.classes[0])}")
        ax.set_ylabel(f"limit (MLC) in {_quoted(self.classes[1])}")
        grid(style, ax)
        width = min(28, name_width(ax, style))
        texts = [label(name, width) for name in self._rows.index[:named]]
        low, high = np.array(limits).T
        names_beside(style, ax, texts, np.clip(self._points[:named], low, high), shades)
        footnote(style, ax, self._notes(named))

    @staticmethod
    def _colours(style: Style, named: int) -> list[str]:
        """A colour for each model with a name, if they are few."""
        if named > MOST_COLOURED:
            return [style.positive] * named
        return [style.palette[k % len(style.palette)] for k in range(named)]

    def _draw_errors(self, ax: Axes, shades: list[str]) -> None:
        named = len(shades)
        reach = 1.96 * self._rows[list(self._errors)].to_numpy()[:named]
        x, y = self._points[:named].T
        thin: dict[str, Any] = {"colors": shades, "linewidth": 1.1, "alpha": 0.5, "zorder": 2}
        ax.hlines(y, x - reach[:, 0], x + reach[:, 0], **thin)
        ax.vlines(x, y - reach[:, 1], y + reach[:, 1], **thin)

    def _limits(self, named: int) -> list[tuple[float, float]]:
        """Ends of both axes: all points and bars, unless a few lie far off."""
        reach = 1.96 * np.nan_to_num(self._rows[list(self._errors)].to_numpy()[:named])
        bars = self._points[:named]
        every = np.concatenate([self._points, bars - reach, bars + reach])
        return [padded(robust_limits(column)) for column in every.T]

    def _notes(self, named: int) -> list[str]:
        notes = ["dotted: the same limit in both classes; bar: ±1.96 standard errors"]
        if others := len(self._rows) - named:
            notes.append(f"grey: {counted(others, 'model')} of lower limits")
        limits = np.array(self._limits(named))
        beyond = ((self._points < limits[:, 0]) | (self._points > limits[:, 1])).any(axis=1)
        if beyond.any():
            notes.append(f"beyond the axes: {counted(int(beyond.sum()), 'model')}")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'model')} without both limits")
        return notes


def _classes(frame: object, owner: str, classes: Sequence[Hashable] | None) -> tuple[str, str]:
    """The two columns of limits: those given, or those that have a standard error beside them."""
    if classes is not None:
        if isinstance(classes, str) or len(classes) != 2:
            raise InputError(f"{owner} draws two classes, but was given classes={classes!r}.")
        return str(classes[0]), str(classes[1])
    names: list[str] = list(dict.fromkeys(getattr(frame, "columns", ())))
    found = [name for name in names if f"{name}_se" in names]
    if len(found) > 2:
        there = ", ".join(repr(label(name)) for name in found[:12])
        raise InputError(
            f"{owner} draws two classes, but the frame has limits of {len(found)}: {there}. "
            "Say which two with classes=(..., ...)."
        )
    rest = [name for name in names if name not in found and not name.endswith("_se")]
    first, second, *_ = [*found, *rest, "mlc_1", "mlc_2"]
    return first, second


def _quoted(name: object) -> str:
    text = class_name(name, 28)
    return text if text.startswith("class ") else f"class '{text}'"

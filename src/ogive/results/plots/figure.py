"""Base class of figures: one tidy frame, one figure.

A display declares the columns it needs, the rows it can draw, its labels and its size. Its `_draw`
draws the rows and returns the notes below the figure; checks, errors, saving and notes on rows
that are not shown are here.
"""

from __future__ import annotations

import base64
import html
import io
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ogive._files import write_bytes
from ogive.errors import InputError
from ogive.results.numbers import counted, joined
from ogive.results.plots.theme import Style, apply, footnote, grid, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ogive.stats.array_backend import Bools


# Dates are left out of files, so that the same figure gives the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


class Display(ABC):
    """A figure of one tidy frame.

    After `plot`, `ax_` and `figure_` hold what was drawn. Pyplot is never used: a display
    opens no window, and leaves the current figure and the global settings alone.
    """

    ax_: Axes
    figure_: Figure
    _note_axes: Axes  # the axes that has the notes below it

    numbers: tuple[str, ...] = ()  # columns of numbers that the frame must have
    optional: tuple[str, ...] = ()  # columns of numbers that are used if present
    labels: tuple[str, ...] = ()  # other columns that the frame must have
    needed: tuple[str, ...] | None = None  # numbers a row must have to be drawn; None: `numbers`
    infinite = False  # whether infinite numbers can be drawn
    nothing = ""  # why there is nothing to draw; empty: from the needed columns
    noun, without = "row", "a number"  # "not shown: 2 rows without a number"; empty: no note
    inches: tuple[float, float] = (6.8, 4.4)  # width and height of a new figure
    x_label, y_label = "", ""
    grid_lines = "both"  # "x", "y", "both", or empty for none

    def __init__(self, frame: pd.DataFrame) -> None:
        present = [name for name in self.optional if name in getattr(frame, "columns", ())]
        self.frame = tidy(frame, self._owner, (*self.numbers, *present), self.labels)
        self._rows = self.frame[self._drawable()]
        if self._rows.empty:
            self._refuse()
        self._n_undrawable = len(self.frame) - len(self._rows)
        self._owns_figure = False
        self._prepare()

    @property
    def instead(self) -> str:
        """The sentence that says all that the figure would; empty if it is worth drawing."""
        return ""

    @property
    def _owner(self) -> str:
        return type(self).__name__

    @property
    def _needed(self) -> tuple[str, ...]:
        return self.numbers if self.needed is None else self.needed

    def _drawable(self) -> Bools:
        """Return which rows of the frame can be drawn."""
        values = self.frame[list(self._needed)].to_numpy(dtype=float)
        known: Bools = (~np.isnan(values) if self.infinite else np.isfinite(values)).all(axis=1)
        return known

    def _refuse(self) -> None:
        """Raise an InputError that says why there is nothing to draw."""
        number = "number" if self.infinite else "finite number"
        names = [repr(name) for name in self._needed]
        why = f"no row has a {number} in {joined(names)}."
        if len(names) == 1:
            why = f"the column {names[0]} holds no {number}."
        raise InputError(f"{self._owner} has nothing to draw: {self.nothing or why}")

    def _prepare(self) -> None:  # noqa: B027 - most displays need nothing
        """Compute what drawing and size need from `self._rows`, the rows to draw."""

    def _size(self) -> tuple[float, float]:
        """Return width and height in inches of a figure made for this frame."""
        return self.inches

    @abstractmethod
    def _draw(self, ax: Axes, style: Style) -> Sequence[str]:
        """Draw the rows on an axes; return the notes to write below it."""

    def plot(self, ax: Axes | None = None, **style: Any) -> Self:
        """Draw on `ax`, or on a new figure; `style` changes entries of the house style."""
        chosen = styled(style)
        self._owns_figure = ax is None
        self.ax_ = self._note_axes = _new_axes(self._size(), chosen) if ax is None else ax
        # An axes may belong to a subfigure; its canvas belongs to the whole figure.
        self.figure_ = self.ax_.figure.canvas.figure
        self._dress(self.ax_, chosen)
        notes = [*self._draw(self.ax_, chosen)]
        if self.without:
            notes += not_shown(self._n_undrawable, self.noun, f"without {self.without}")
        self._write(chosen, notes)
        return self

    def _dress(self, ax: Axes, style: Style) -> None:
        """Apply the style to an axes, with the labels and grid lines of this display."""
        apply(style, ax)
        ax.set_xlabel(self.x_label)
        ax.set_ylabel(self.y_label)
        if self.grid_lines:
            grid(style, ax, self.grid_lines)

    def _write(self, style: Style, notes: Sequence[str]) -> None:
        footnote(style, self._note_axes, notes)

    def save(self, path: str | os.PathLike[str], dpi: float = 150) -> Path:
        """Write the figure as .png, .svg or .pdf, whole or not at all."""
        target = Path(path)
        if target.suffix.lower() not in _METADATA:
            raise InputError(
                f"Cannot save a figure as '{target.name}': its ending is '{target.suffix}'. "
                "Use '.png', '.svg' or '.pdf'."
            )
        write_bytes(target, self._rendered(target.suffix.lower(), dpi))
        return target

    def _rendered(self, suffix: str, dpi: float) -> bytes:
        import matplotlib as mpl

        if not hasattr(self, "figure_"):
            self.plot()
        buffer = io.BytesIO()
        # Only SVG uses random identifiers; other formats need no change of global settings.
        fixed = mpl.rc_context({"svg.hashsalt": "ogive"}) if suffix == ".svg" else nullcontext()
        with fixed, warnings.catch_warnings():
            # A character that the font lacks is drawn as a box; a warning would not help anyone.
            warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
            self.figure_.savefig(buffer, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
        return buffer.getvalue()

    def _repr_png_(self) -> bytes | None:
        if hasattr(self, "figure_") and not self._owns_figure:
            return None  # the caller shows its own figure
        return self._rendered(".png", 110)

    def _repr_html_(self) -> str | None:
        png = self._repr_png_()
        if png is None:
            return None
        title = html.escape((type(self).__doc__ or type(self).__name__).strip().splitlines()[0])
        picture = base64.b64encode(png).decode("ascii")
        return f'<img alt="{title}" style="max-width:100%" src="data:image/png;base64,{picture}">'

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.frame)} rows)"


def remark(text: str, count: int, noun: str) -> list[str]:
    """Return `text` with the counted noun in place of {}, or no remark if the count is 0."""
    return [text.format(counted(count, noun))] if count > 0 else []


def not_shown(count: int, noun: str, why: str = "") -> list[str]:
    """Return a remark on rows that are not shown, if there are any."""
    return remark(f"not shown: {{}} {why}".rstrip(), count, noun)


def flags(rows: pd.DataFrame, column: str, *, default: bool = False) -> Bools:
    """Return a column of truth values (n_rows,); missing values are false."""
    if column not in rows.columns:
        return np.full(len(rows), default)
    return rows[column].fillna(False).to_numpy(dtype=bool)


def tidy(
    frame: object, owner: str, numbers: Sequence[str], labels: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a copy of the frame whose `numbers` are floats; an InputError says what it lacks."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"{owner} needs a pandas DataFrame, but was given {type(frame).__name__}. "
            "Results give one through to_frame()."
        )
    needed = (*labels, *numbers)
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        present = ", ".join(repr(name) for name in frame.columns[:20]) or "none"
        raise InputError(
            f"{owner} needs the columns {_quoted(needed)}; {_quoted(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing. The frame has: {present}."
        )
    doubled = frame.columns[frame.columns.duplicated() & frame.columns.isin(list(needed))]
    if len(doubled):
        raise InputError(
            f"{owner} was given a frame with more than one column '{doubled[0]}'. Keep one."
        )
    if frame.empty:
        raise InputError(f"{owner} was given a frame without rows. Give it at least one.")
    floats = {}
    for name in numbers:
        try:
            floats[name] = pd.to_numeric(frame[name]).astype(float)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{owner} needs numbers in the column '{name}', but: {error}."
            ) from error
    return frame.assign(**floats)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _new_axes(size: tuple[float, float], style: Style) -> Axes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor=style.paper)
    FigureCanvasAgg(figure)
    return figure.add_subplot(facecolor=style.paper)

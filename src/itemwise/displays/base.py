"""Display: one tidy frame, one figure."""

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

from itemwise.displays.style import Style, apply, styled
from itemwise.errors import InputError
from itemwise.files import write_bytes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self._owns_figure = False

    @abstractmethod
    def _draw(self, ax: Axes, style: Style) -> None:
        """Draw the frame on an axes."""

    def _size(self) -> tuple[float, float]:
        """Width and height in inches of a figure made for this frame."""
        return 6.8, 4.4

    def plot(self, ax: Axes | None = None, **style: Any) -> Self:
        """Draw on `ax`, or on a new figure; `style` changes entries of the house style."""
        chosen = styled(style)
        self._owns_figure = ax is None
        self.ax_ = _new_axes(self._size(), chosen) if ax is None else ax
        # An axes may stand in a subfigure; its canvas belongs to the whole figure.
        self.figure_ = self.ax_.figure.canvas.figure
        apply(chosen, self.ax_)
        self._draw(self.ax_, chosen)
        return self

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
        # Only SVG draws random identifiers; other formats need no change of global settings.
        fixed = mpl.rc_context({"svg.hashsalt": "itemwise"}) if suffix == ".svg" else nullcontext()
        with fixed, warnings.catch_warnings():
            # A sign that the font lacks is drawn as a box; that is no reason to worry a reader.
            warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
            self.figure_.savefig(buffer, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
        return buffer.getvalue()

    def _repr_png_(self) -> bytes | None:
        if hasattr(self, "figure_") and not self._owns_figure:
            return None  # the caller's figure is shown by whoever made it
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


def tidy(
    frame: object, owner: str, numbers: Sequence[str], labels: Sequence[str] = ()
) -> pd.DataFrame:
    """A copy of the frame whose `numbers` are floats, or an InputError that says what it lacks."""
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
    return frame.assign(**{name: _floats(frame[name], owner) for name in numbers})


def _floats(column: pd.Series[Any], owner: str) -> pd.Series[float]:
    import pandas as pd

    try:
        return pd.to_numeric(column).astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{owner} needs numbers in the column '{column.name}', but: {error}."
        ) from error


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _new_axes(size: tuple[float, float], style: Style) -> Axes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor=style.paper)
    FigureCanvasAgg(figure)
    return figure.add_subplot(facecolor=style.paper)

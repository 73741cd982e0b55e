"""The house style: quiet axes, and colours that colour-blind readers can distinguish.

It is applied to one axes at a time. Global settings of matplotlib are neither read for
colours nor changed, so a figure looks the same in every notebook, script and thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Colormap
    from matplotlib.lines import Line2D

    from ogive.stats.array_backend import Floats


DASHED: Any = (0, (4, 2))
DOTTED: Any = (0, (1, 1))
MOST_SHAPES = 2000  # more marks are drawn as pixels, to keep vector files small


@dataclass(frozen=True)
class Style:
    """Colours and sizes of a figure; the palette is Okabe and Ito's (2008) without yellow."""

    positive: str = "#0072B2"
    negative: str = "#D55E00"
    neutral: str = "#8A8A8A"
    ink: str = "#333333"
    faint: str = "#E3E3E3"
    paper: str = "#FFFFFF"
    palette: tuple[str, ...] = (
        "#0072B2",
        "#D55E00",
        "#009E73",
        "#CC79A7",
        "#E69F00",
        "#56B4E9",
        "#000000",
        "#8A8A8A",
    )
    font_size: float = 9.0

    @property
    def small(self) -> float:
        """Font size of notes and of labels inside the plot."""
        return 0.88 * self.font_size


STYLE = Style()


def styled(changes: dict[str, Any]) -> Style:
    """Return the house style with some of its entries changed."""
    known = [field.name for field in fields(Style)]
    if unknown := [name for name in changes if name not in known]:
        names, others = (", ".join(f"'{name}'" for name in some) for some in (unknown, known))
        raise InputError(f"plot() got the unknown style {names}. It knows: {others}.")
    return replace(STYLE, **changes)


def apply(style: Style, ax: Axes) -> None:
    """Style an axes, before or after its content is drawn."""
    ax.set_axisbelow(True)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(style.neutral)
    ax.tick_params(labelsize=style.font_size, color=style.neutral, labelcolor=style.ink, length=3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(size=1.1 * style.font_size, color=style.ink)


def grid(style: Style, ax: Axes, axis: str = "both") -> None:
    """Draw light grid lines below the content."""
    ax.grid(visible=True, axis=axis, color=style.faint, linewidth=0.7)  # type: ignore[arg-type]


def footnote(style: Style, ax: Axes, notes: Sequence[str]) -> None:
    """Write notes below the label of the x axis, wherever the layout puts it."""
    if not notes:
        return
    ax.annotate(
        "\n".join(fill(note, characters_that_fit(ax, style.small)) for note in notes),
        xy=(0.5, 0.0),
        xycoords=ax.xaxis.label,
        xytext=(0.0, -5.0),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=style.small,
        color=style.ink,
        annotation_clip=False,
    )


def legend_beside(
    style: Style, ax: Axes, entries: Sequence[tuple[Artist, str]], left: float = 1.02
) -> None:
    """Put the legend, a handle and a text per entry, to the right of the axes."""
    # Matplotlib drops labels that begin with "_", as a name may, so texts are set afterwards.
    legend = ax.legend(
        [handle for handle, _ in entries],
        [str(k) for k in range(len(entries))],
        loc="upper left",
        bbox_to_anchor=(left, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize=style.font_size,
        labelcolor=style.ink,
    )
    for written, (_, text) in zip(legend.get_texts(), entries, strict=True):
        written.set_text(text)


def legend_width(style: Style, texts: Iterable[str]) -> float:
    """Estimate how many points a legend beside an axes takes from its width."""
    longest = max((len(line) for text in texts for line in text.splitlines()), default=0)
    return (5.0 + 0.55 * longest) * style.font_size


def label(name: object, width: int = 32) -> str:
    r"""Return a name as one short line that matplotlib shows as it is written.

    Names come from files: they may contain ``$`` (mathematics to matplotlib), line breaks or a
    whole prompt. A long name loses its middle, since versions and sizes are often at the end.
    """
    text = "".join(sign if sign.isprintable() else " " for sign in str(name)).strip()
    if len(text) > width:
        tail = (width - 1) // 2
        text = f"{text[: width - 1 - tail]}…{text[-tail:]}"
    return text.replace("$", r"\$")


# Columns whose names are not words.
_WORDS = {
    "spearman": "Spearman correlation",
    "kendall": "Kendall's tau",
    "pearson": "Pearson correlation",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "rse": "error relative to the mean",
    "r2": "share of variance explained (R²)",
    "q3": "residual correlation (Q3)",
    "q3_adjusted": "residual correlation (adjusted Q3)",
    "p_adjusted": "adjusted p-value",
    "se": "standard error",
    "n_items": "number of items",
}


def in_words(column: object, width: int = 60) -> str:
    """Return the name of a column as the label of an axis: spearman -> Spearman correlation."""
    name = str(column)
    return label(_WORDS.get(name, name.replace("_", " ")), width)


def say_on_hover(artist: Any, texts: Sequence[str]) -> None:
    """Let a page say what each dot of a scatter plot is, in their order."""
    artist.hover_texts = tuple(texts)
    axes, position = artist.axes, list(artist.axes.collections).index(artist)
    artist.set_gid(f"hover-{artist.figure.axes.index(axes)}-{position}")


def name_beside(
    style: Style,
    ax: Axes,
    text: str,
    point: tuple[float, float],
    at: tuple[float, float],
    coords: Any = "data",
    colour: str | None = None,
) -> None:
    """Write `text` beside the axes `at` a position in `coords`, with a thin line to its `point`."""
    ax.annotate(
        text,
        xy=point,
        xytext=at,
        textcoords=coords,
        va="center",
        fontsize=style.small,
        color=colour or style.ink,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            "color": style.neutral,
            "linewidth": 0.5,
            "alpha": 0.6,
            "relpos": (0.0, 0.5),
            "shrinkA": 1.0,
            "shrinkB": 2.0,
        },
    )


def names_beside(
    style: Style, ax: Axes, texts: Sequence[str], points: Floats, colours: Sequence[str]
) -> None:
    """Write texts in a column beside the axes without overlap, each with a line to its point.

    `points` (n_texts, 2) are in data coordinates; the limits of the axes must be set.
    """
    if not len(texts):
        return
    heights = ax.transAxes.inverted().transform(ax.transData.transform(points))[:, 1]
    order = np.argsort(heights, kind="stable")
    placed = spread(heights[order], 1.0 / max(lines_that_fit(ax, style.small), 1), 0.0, 1.0)
    for row, height in zip(order, placed, strict=True):
        point = (float(points[row, 0]), float(points[row, 1]))
        name_beside(style, ax, texts[row], point, (1.03, height), "axes fraction", colours[row])


def name_points(
    style: Style,
    ax: Axes,
    names: Iterable[object],
    points: Floats,
    colours: Sequence[str],
    width: int = 28,
) -> None:
    """Write names of at most `width` characters beside the axes, each with a line to its point."""
    width = name_width(ax, style, width)
    names_beside(style, ax, [label(name, width) for name in names], points, colours)


def write(style: Style, ax: Axes, text: str, xy: tuple[float, float], **look: Any) -> None:
    """Write a small text at a place in data coordinates, also outside the axes."""
    settings: dict[str, Any] = {"va": "center", "fontsize": style.small, "color": style.ink}
    ax.annotate(text, xy, annotation_clip=False, **(settings | look))


def write_off(
    style: Style,
    ax: Axes,
    text: str,
    xy: tuple[float, float],
    points: tuple[float, float],
    **look: Any,
) -> None:
    """Write a small text some points off a place."""
    write(style, ax, text, xy, xytext=points, textcoords="offset points", **look)


def text_beside(
    style: Style, ax: Axes, text: str, height: float, x: float = 1.02, **look: Any
) -> None:
    """Write a text to the right of the axes, at a height in data coordinates."""
    write(style, ax, text, (x, height), xycoords=("axes fraction", "data"), **look)


def lone_marker(points: Floats) -> str:
    """Return the marker of a line; without one, a line of one point would be invisible."""
    return "o" if len(points) == 1 else ""


def legend_handle(**look: Any) -> Line2D:
    """Return a line or marker for a legend, which is drawn nowhere else."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **look)


def colour_map(style: Style, *colours: str) -> Colormap:
    """Return a colour map through the given colours; what is not a number is light grey."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("house", colours).with_extremes(bad=style.faint)


def colour_bar(style: Style, ax: Axes, shades: ScalarMappable, **settings: Any) -> None:
    """Draw the colour scale beside the axes."""
    bar = ax.figure.colorbar(shades, ax=ax, pad=0.02, aspect=30, **settings)
    bar.outline.set_visible(False)
    bar.ax.yaxis.label.set(size=style.font_size, color=style.ink)
    bar.ax.tick_params(labelsize=style.small, labelcolor=style.ink, length=2)


def lines_that_fit(ax: Axes, font_size: float) -> int:
    """Return how many lines of text fit along the height of an axes."""
    inches = ax.get_window_extent().height / ax.figure.dpi
    return int(72.0 * inches / (1.25 * font_size))


def characters_that_fit(ax: Axes, font_size: float) -> int:
    """Return how many characters fit along the width of an axes, at least twenty."""
    inches = ax.get_window_extent().width / ax.figure.dpi
    return max(20, int(72.0 * inches / (0.5 * font_size)))


def name_width(ax: Axes, style: Style, most: int = 32) -> int:
    """Return how many characters a name beside an axes may have, to leave the axes enough room."""
    return min(most, 32, max(18, int(0.45 * characters_that_fit(ax, style.font_size))))


def spread(positions: Floats, gap: float, low: float, high: float) -> Floats:
    """Move ascending positions as little as needed to be `gap` apart within the limits.

    Least squares by pooling neighbours: a cluster spreads around its own middle.
    """
    steps = gap * np.arange(len(positions))
    pools: list[tuple[float, int]] = []
    for value in np.asarray(positions, dtype=float) - steps:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    pooled = np.repeat([mean for mean, _ in pools], [size for _, size in pools])
    last = steps[-1] if len(steps) else 0.0
    # If even the whole height is too short, the lower end wins.
    placed: Floats = np.clip(pooled, low, max(low, high - last)) + steps
    return placed

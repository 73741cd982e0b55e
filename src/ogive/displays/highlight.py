"""Which of many lines are highlighted in colour; the others are grey."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ogive.displays.style import Style, label, legend_handle
from ogive.errors import InputError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

MOST_COLOURS = 8
DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1)),
    (0, (6, 1, 1, 1)),
    (0, (4, 1, 1, 1, 1, 1)),
)


@dataclass(frozen=True)
class Look:
    """How the line at a position of a list is drawn."""

    place: int
    colour: str
    dashes: Any


def wanted(
    owner: str, names: Sequence[Hashable], highlight: Sequence[Hashable] | str | None
) -> list[int] | None:
    """Return the positions of the names to highlight; an InputError names one that is missing."""
    if highlight is None:
        return None
    if isinstance(highlight, str) or not isinstance(highlight, Iterable):
        highlight = [highlight]
    asked = list(dict.fromkeys(highlight))
    places = {name: place for place, name in enumerate(names)}
    for name in asked:
        if name not in places:
            there = ", ".join(repr(label(one)) for one in names[:12])
            raise InputError(
                f"{owner} cannot highlight {label(name)!r}: the frame has no such algorithm. "
                f"It has: {there}{', ...' if len(names) > 12 else ''}."
            )
    return [places[name] for name in asked]


def looks(
    style: Style,
    ranked: Sequence[int],
    given: Sequence[int] | None,
    order: Sequence[int] | None = None,
) -> list[Look]:
    """Return colours and dashes of the highlighted lines: the given ones, or the first of `ranked`.

    Up to eight lines each have a colour; of more, the first seven, and the rest are grey.
    `order` holds all positions in the order of their colours, if another figure has set it.
    """
    shown = MOST_COLOURS if given is None else len(given)
    colours = colours_for(style, whole=len(ranked) <= shown)
    places = ranked[: len(colours)] if given is None else given
    ranks = {
        place: k for k, place in enumerate(places if given is not None or order is None else order)
    }
    return [
        Look(
            place,
            colours[ranks[place] % len(colours)],
            DASHES[ranks[place] // len(colours) % len(DASHES)],
        )
        for place in places
    ]


def colours_for(style: Style, *, whole: bool) -> tuple[str, ...]:
    """Return the palette; if it is too short for the `whole`, without the grey of the rest."""
    colours = style.palette[:MOST_COLOURS]
    if whole:
        return colours
    return tuple(colour for colour in colours if colour != style.neutral) or colours


def in_order(names: Sequence[Hashable], order: Sequence[Hashable] | None) -> list[int] | None:
    """Return the positions of the names in the given order; names that it lacks come last."""
    if order is None:
        return None
    ranks = {name: rank for rank, name in enumerate(order)}
    return sorted(range(len(names)), key=lambda place: ranks.get(names[place], len(ranks)))


def draw_rest(ax: Axes, style: Style, lines: Sequence[Floats]) -> None:
    """Draw the lines (n_points, 2) that are not highlighted, thin and grey."""
    from matplotlib.collections import LineCollection

    if not lines:
        return
    ax.add_collection(
        LineCollection(list(lines), colors=style.neutral, linewidths=0.8, alpha=0.45, zorder=1.5),
        autolim=False,
    )


def draw_curve(ax: Axes, look: Look, curve: Floats, width: float, *, banded: bool = True) -> None:
    """Draw a highlighted line with its band; `curve` (n_points, 4) has x, y, low and high."""
    x, y, low, high = curve.T
    alone = len(x) == 1  # one point would be invisible without a marker
    if alone:
        ax.vlines(x, low, high, color=look.colour, alpha=0.5, zorder=2)
    elif banded:
        ax.fill_between(x, low, high, color=look.colour, alpha=0.13, linewidth=0, zorder=2)
    line = {"color": look.colour, "linestyle": look.dashes, "linewidth": width}
    ax.plot(x, y, marker="o" if alone else "", zorder=4, **line)


def legend_handles(chosen: Sequence[Look]) -> list[Artist]:
    """Return the highlighted lines as they look in a legend."""
    return [
        legend_handle(color=look.colour, linestyle=look.dashes, linewidth=1.8) for look in chosen
    ]

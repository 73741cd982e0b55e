"""Items by their parameters, two at a time or all three at once."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.divided import divided
from itemwise.displays.groups import MOST_GROUPS, largest_groups
from itemwise.displays.style import Style, apply, footnote, grid, label, legend_beside, name_width
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from itemwise.numerics.arrays import Floats

PARAMETERS = ("difficulty", "discrimination", "guessing")
KINDS = ("projections", "3d")
MOST_SHAPES = 2000  # more dots are drawn as a picture, lest a file for print weighs megabytes


class ItemSpaceDisplay(Display):
    """Items by difficulty, discrimination and guessing; two at a time, or all three at once.

    The frame has one row an item. `group` names a column that colours the dots: the five largest
    groups, and the rest together. "projections" divides the axes into three panels; "3d" covers it
    with an axes of three dimensions, unless it is one. A few far items do not stretch the axes:
    they are counted below.
    """

    def __init__(
        self, frame: pd.DataFrame, *, group: str | None = None, kind: str = "projections"
    ) -> None:
        name = type(self).__name__
        if kind not in KINDS:
            raise InputError(f"{name} knows the kinds 'projections' and '3d', but not {kind!r}.")
        super().__init__(tidy(frame, name, PARAMETERS, () if group is None else (group,)))
        self.group = group
        self.kind = kind
        finite = np.isfinite(self.frame[list(PARAMETERS)].to_numpy()).all(axis=1)
        self._there = self.frame[finite]
        if self._there.empty:
            raise InputError(
                f"{name} has nothing to draw: no item has a finite difficulty, discrimination "
                "and guessing."
            )

    def _size(self) -> tuple[float, float]:
        return (11.4, 3.9) if self.kind == "projections" else (7.2, 5.2)

    def _draw(self, ax: Axes, style: Style) -> None:
        limits = {name: _limits(name, self._there[name].to_numpy()) for name in PARAMETERS}
        colours, handles, texts = self._coloured(ax, style)
        if self.kind == "projections":
            panels = divided(ax, 3)
            for panel, pair in zip(panels, combinations(PARAMETERS, 2), strict=True):
                self._draw_pair(panel, style, pair, limits, colours)
            legend_on, notes_on = panels[-1] if _wide(ax, panels) else panels[0], panels[1]
            footnote(style, notes_on, self._notes(limits))
        else:
            legend_on = self.ax_ = _in_space(ax, style)
            self._draw_space(self.ax_, style, limits, colours)
            _note_below(self.ax_, style, self._notes(limits))
        if self.group is not None:
            legend_beside(style, legend_on, handles, texts)

    def _coloured(self, ax: Axes, style: Style) -> tuple[Floats, list[Artist], list[str]]:
        """A colour for each item, and what the colours mean."""
        from matplotlib.colors import to_rgba
        from matplotlib.lines import Line2D

        count = len(self._there)
        alpha = float(np.clip(9.0 / np.sqrt(count), 0.3, 0.8))
        colours = np.tile(to_rgba(style.positive, alpha), (count, 1))
        handles: list[Artist] = []
        texts: list[str] = []
        if self.group is None:
            return colours, handles, texts
        palette = (*style.palette[:MOST_GROUPS], style.neutral)
        for colour, (name, places) in zip(
            palette, largest_groups(self._there[self.group]), strict=False
        ):
            colours[places] = to_rgba(colour, alpha)
            handles.append(Line2D([], [], color=colour, marker="o", linestyle="", markersize=5))
            texts.append(f"{label(name, min(24, name_width(ax, style)))}\n({len(places):,})")
        return colours, handles, texts

    def _draw_pair(
        self,
        ax: Axes,
        style: Style,
        pair: tuple[str, str],
        limits: dict[str, tuple[float, float]],
        colours: Floats,
    ) -> None:
        apply(style, ax)
        grid(style, ax)
        for name, line in zip(pair, (ax.axvline, ax.axhline), strict=True):
            if limits[name][0] < 0 < limits[name][1]:
                line(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        order = _mixed(len(self._there))
        across, up = (self._there[name].to_numpy()[order] for name in pair)
        ax.scatter(across, up, **_dots(colours[order]), zorder=2)
        ax.set_xlim(padded(limits[pair[0]]))
        ax.set_ylim(padded(limits[pair[1]]))
        ax.set_xlabel(pair[0])
        ax.set_ylabel(pair[1])

    def _draw_space(
        self, ax: Any, style: Style, limits: dict[str, tuple[float, float]], colours: Floats
    ) -> None:
        from matplotlib.ticker import MaxNLocator

        # Without clipping of their own, dots beyond the limits would float outside the box.
        values = self._there[list(PARAMETERS)].to_numpy()
        ends = np.array([limits[name] for name in PARAMETERS])
        inside = np.all((values >= ends[:, 0]) & (values <= ends[:, 1]), axis=1)
        order = _mixed(len(values))
        order = order[np.asarray(inside)[order]]
        ax.scatter(*values[order].T, **_dots(colours[order]), depthshade=False)
        for name, axis in zip(PARAMETERS, "xyz", strict=True):
            getattr(ax, f"{axis}axis").set_major_locator(MaxNLocator(nbins=5))
            getattr(ax, f"set_{axis}lim")(padded(limits[name]))
            getattr(ax, f"set_{axis}label")(name, fontsize=style.font_size, color=style.ink)

    def _notes(self, limits: dict[str, tuple[float, float]]) -> list[str]:
        notes = []
        for name in PARAMETERS:
            values, (low, high) = self._there[name].to_numpy(), limits[name]
            sides = [
                f"{count:,} {side} {edge:.3g}"
                for count, side, edge in (
                    (int((values < low).sum()), "below", low),
                    (int((values > high).sum()), "above", high),
                )
                if count
            ]
            if sides:
                notes.append(f"beyond the axes, {name}: {' and '.join(sides)}")
        errors = {name: self._median_error(name) for name in PARAMETERS}
        known = [f"{name} {error:.2g}" for name, error in errors.items() if np.isfinite(error)]
        if known:
            notes.append(f"median standard error: {', '.join(known)}")
        if lost := len(self.frame) - len(self._there):
            notes.append(f"not shown: {counted(lost, 'item')} without three finite numbers")
        return notes

    def _median_error(self, name: str) -> float:
        if f"{name}_se" not in self._there:
            return float("nan")
        return float(self._there[f"{name}_se"].astype(float).median())


def _limits(name: str, values: Floats) -> tuple[float, float]:
    """Ends of the values that do not lie far away; guessing, a probability, cannot."""
    if name == "guessing":
        return min(0.0, float(values.min())), max(0.1, float(values.max()))
    low, high = robust_limits(values)
    near = values[(values >= low) & (values <= high)]
    return float(near.min()), float(near.max())


def _mixed(count: int) -> Any:
    """A fixed shuffle: drawn group by group, the last would hide the others."""
    return np.random.default_rng(0).permutation(count)


def _dots(colours: Floats) -> dict[str, Any]:
    count = len(colours)
    size = float(np.clip(260.0 / np.sqrt(max(count, 1)), 4.0, 26.0))
    return {"s": size, "c": colours, "linewidths": 0, "rasterized": count > MOST_SHAPES}


def _wide(ax: Axes, panels: list[Axes]) -> bool:
    return bool(panels[-1].get_position().x0 > ax.get_position().x0)


def _in_space(ax: Axes, style: Style) -> Any:
    """The axes itself if it has three dimensions, else one that has, on top of it."""
    import matplotlib as mpl

    if ax.name == "3d":
        space: Any = ax
    else:
        figure: Any = ax.figure
        place = ax.get_subplotspec()
        ax.set_axis_off()
        look = {"projection": "3d", "facecolor": style.paper}
        # Lines of the grid take their colour from the settings when the axes is made, never after.
        with mpl.rc_context({"grid.color": style.faint}):
            space = (
                figure.add_axes(ax.get_position().bounds, **look)
                if place is None
                else figure.add_subplot(place, **look)
            )
    space.tick_params(labelsize=style.small, labelcolor=style.ink)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.set_pane_color(style.paper)
        axis.line.set_color(style.neutral)
    return space


def _note_below(ax: Any, style: Style, notes: list[str]) -> None:
    """Notes under a box of three dimensions, whose labels move as it is turned."""
    ax.text2D(
        0.5,
        -0.02,
        "\n".join(notes),
        transform=ax.transAxes,
        ha="center",
        va="top",
        fontsize=style.small,
        color=style.ink,
    )

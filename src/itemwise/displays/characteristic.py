"""Characteristic curves of respondents: the share of right responses along the difficulty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.displays.base import Display, tidy
from itemwise.displays.style import Style, footnote, grid, label, name_width, names_beside
from itemwise.errors import InputError
from itemwise.numerics.robust import padded, robust_limits
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_NAMED = 8
MOST_BANDS = 4  # beyond, bands and expected shares would hide each other; bars take their place
APART = 0.006  # of the axis, from one line to the next


class CharacteristicDisplay(Display):
    """Share of right responses of each respondent, from easy items to hard ones.

    The frame has one row a `respondent` and point: the `difficulty` (or the column that `by`
    names), the `share` and its interval from `low` to `high`, and where known the `expected` share,
    drawn dashed where there are few. Up to eight respondents are named; of more, the seven of the
    highest mean share, and the rest is grey. With a column `year`, colours go from early to late,
    names bear their year, and of more than eight some from first to last are named. `height` says
    what the shares are.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        by: str = "difficulty",
        height: str = "share of right responses",
    ) -> None:
        numbers = [by, "share", "low", "high"]
        numbers += [name for name in ("expected", "year") if name in getattr(frame, "columns", ())]
        super().__init__(tidy(frame, type(self).__name__, numbers, ("respondent",)))
        self.by = by
        self.height = height
        known = self.frame[np.isfinite(self.frame[[by, "share"]]).all(axis=1)]
        self._lost = len(self.frame) - len(known)
        low, high = robust_limits(np.unique(known[by]))
        self._there = known[known[by].between(low, high)]
        self._beyond = len(known) - len(self._there)
        if self._there.empty:
            raise InputError(
                f"{type(self).__name__} has nothing to draw: no row has a finite '{by}' "
                "and 'share'."
            )
        mean = self._there.groupby("respondent", sort=False, dropna=False, observed=True)[
            "share"
        ].mean()
        self._ranked = list(mean.sort_values(ascending=False, kind="stable").index)

    def _size(self) -> tuple[float, float]:
        return 7.8, 4.4

    def _draw(self, ax: Axes, style: Style) -> None:
        lines, colours = self._lines(), style.palette[:MOST_NAMED]
        if len(lines) > len(colours):  # then grey is the colour of the rest
            colours = tuple(colour for colour in colours if colour != style.neutral)
        named = min(len(lines), len(colours))
        if "year" in self._there.columns:
            lines = _through_the_years(lines, named)
            colours = _from_early_to_late(style, [_year(part) for part in lines[:named]])
        for part in lines[named:]:
            points = part[[self.by, "share"]].to_numpy().T
            ax.plot(*points, color=style.neutral, linewidth=0.8, alpha=0.5, zorder=1)
        few, x = named <= MOST_BANDS, self._there[self.by]
        # Bars at the same place would hide each other: they stand a little apart.
        shifts = (np.arange(named) - (named - 1) / 2) * (0.0 if few else APART * np.ptp(x))
        for part, colour, shift in zip(lines[:named], colours, shifts, strict=False):
            self._draw_line(ax, part.assign(**{self.by: part[self.by] + shift}), colour, few=few)
        ax.set_xlim(padded((float(x.min()), float(x.max()))))
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel(label(self.by, 60))
        ax.set_ylabel(label(self.height, 60))
        if (x == x.round()).all():
            from matplotlib.ticker import MaxNLocator

            ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
        grid(style, ax)
        self._name(ax, style, lines[:named], colours)
        footnote(style, ax, self._notes(named, few=few))

    def _lines(self) -> list[pd.DataFrame]:
        """Points of each respondent in the order of the axis, the best respondent first."""
        import pandas as pd

        place = pd.Series(range(len(self._ranked)), index=pd.Index(self._ranked))
        codes = place.reindex(self._there["respondent"]).to_numpy()
        rows = self._there.assign(place=codes).sort_values(["place", self.by], kind="stable")
        return [part for _, part in rows.groupby("place", sort=True)]

    def _draw_line(self, ax: Axes, part: pd.DataFrame, colour: str, *, few: bool) -> None:
        x = part[self.by].to_numpy()
        low, high = part["low"].to_numpy(), part["high"].to_numpy()
        if few and len(part) > 1:
            ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        else:
            ax.vlines(x, low, high, color=colour, linewidth=1.2, alpha=0.5, zorder=2)
        ax.plot(x, part["share"], color=colour, linewidth=1.6, marker="o", markersize=3.5, zorder=4)
        if few and "expected" in part.columns:
            ax.plot(
                x, part["expected"], color=colour, linewidth=1.1, linestyle=(0, (4, 2)), zorder=3
            )

    def _name(
        self, ax: Axes, style: Style, lines: list[pd.DataFrame], colours: tuple[str, ...]
    ) -> None:
        width = min(24, name_width(ax, style))
        names = [label(part["respondent"].iloc[0], width) for part in lines]
        dated = [
            f"{name} ({_year(part):g})" if np.isfinite(_year(part)) else name
            for name, part in zip(names, lines, strict=True)
        ]
        ends = np.array([part[[self.by, "share"]].to_numpy()[-1] for part in lines])
        names_beside(style, ax, dated, ends, colours)

    def _notes(self, named: int, *, few: bool) -> list[str]:
        notes = []
        if few and "expected" in self._there.columns:
            notes.append("dashed: expected by the calibration")
        if (others := len(self._ranked) - named) > 0:
            which = "from between" if "year" in self._there.columns else "of lower mean share"
            notes.append(f"grey: {counted(others, 'respondent')} {which}")
        if self._beyond:
            notes.append(f"not shown: {counted(self._beyond, 'point')} far beyond the others")
        if self._lost:
            notes.append(f"not shown: {counted(self._lost, 'row')} without a number")
        return notes


def _year(part: pd.DataFrame) -> float:
    """When the respondent of these points appeared; infinite, and so last, where nobody says."""
    year = float(part["year"].iloc[0]) if "year" in part.columns else np.inf
    return year if np.isfinite(year) else np.inf


def _through_the_years(lines: list[pd.DataFrame], named: int) -> list[pd.DataFrame]:
    """Lines from early to late; first `named` of them at even steps, then those between."""
    ordered = sorted(lines, key=_year)
    chosen = np.linspace(0, len(ordered) - 1, named).round().astype(int)
    rest = np.setdiff1d(np.arange(len(ordered)), chosen)
    return [ordered[k] for k in (*chosen, *rest)]


def _from_early_to_late(style: Style, years: list[float]) -> tuple[str, ...]:
    """A colour for each year, from pale to dark; grey where there is none."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    known = np.array([year for year in years if np.isfinite(year)])
    first, span = (known.min(), np.ptp(known)) if known.size else (0.0, 0.0)
    shades = colormaps["viridis_r"]
    return tuple(
        to_hex(shades(0.3 + 0.7 * ((year - first) / span if span else 1.0)))
        if np.isfinite(year)
        else style.neutral
        for year in years
    )

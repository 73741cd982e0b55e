"""Share of right responses against difficulty: characteristic curves, and the alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.displays.display import Display, not_shown, remark
from ogive.displays.highlight import Look, draw_curve, draw_rest
from ogive.displays.panel_grid import PanelGrid, arranged, fitted
from ogive.displays.style import (
    DASHED,
    Style,
    in_words,
    label,
    legend_beside,
    name_width,
    names_beside,
)
from ogive.errors import InputError
from ogive.numerics.robust import padded, robust_limits

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.numerics.arrays import Floats

MOST_NAMED = 8
MOST_BANDS = 4  # of more, bands and expected shares would hide each other: bars take their place
APART = 0.006  # of the axis, from one line to the next
MOST_SAMPLES = 7
SAMPLES_APART = 0.004  # of the axis, so that bars do not hide each other


class CharacteristicDisplay(Display):
    """Share of right responses of each respondent, from easy items to hard ones.

    The frame has one row per `respondent` and point: the `difficulty` (or the column that `by`
    names), the `share` and its interval from `low` to `high`, and if known the `expected` share,
    drawn dashed. Up to four respondents share one panel; of more, the eight with the highest mean
    share have a panel each, in which all others are grey. With a column `year` there is one panel:
    colours go from early to late, names include the year, and of more than eight some from first to
    last are named. `height` is the label of the shares.
    """

    optional = ("expected", "year")
    labels = ("respondent",)
    who = counted_as = "respondent"  # the column that says whose point it is, and in remarks
    inches = (7.8, 4.4)

    def __init__(
        self,
        frame: pd.DataFrame,
        by: str = "difficulty",
        height: str = "share of right responses",
    ) -> None:
        self.by, self.height = by, height
        self.numbers, self.needed = (by, "share", "low", "high"), (by, "share")
        self.x_label, self.y_label = in_words(by), in_words(height)
        super().__init__(frame)

    def _prepare(self) -> None:
        low, high = robust_limits(np.unique(self._rows[self.by]))
        known = len(self._rows)
        self._rows = self._rows[self._rows[self.by].between(low, high)]
        if self._rows.empty:
            raise InputError(f"{self._owner} has nothing to draw: {self._why_nothing()}")
        self._beyond = known - len(self._rows)
        groups = self._rows.groupby(self.who, sort=False, dropna=False, observed=True)
        mean = groups["share"].mean()
        self._ranked = list(mean.sort_values(ascending=False, kind="stable").index)

    @property
    def _faceted(self) -> bool:
        """Whether lines would hide each other on one panel."""
        return len(self._ranked) > MOST_BANDS and "year" not in self._rows.columns

    def _size(self) -> tuple[float, float]:
        if not self._faceted:
            return self.inches
        rows, columns = arranged(min(len(self._ranked), MOST_NAMED))
        return 0.8 + 2.1 * columns, 0.9 + 1.7 * rows

    def _draw_panels(self, ax: Axes, style: Style) -> list[str]:
        """Draw one panel per respondent, the best first, with all others behind it."""
        ax.grid(visible=False)
        lines, x = self._lines(), self._rows[self.by]
        shown = lines[:MOST_NAMED]
        ends = padded((float(x.min()), float(x.max())))
        grid = fitted(ax, style, arranged(len(shown)), ends, 1)
        grid.draw(ax, style, len(shown))
        for (row, column), part in zip(grid.cells(len(shown)), shown, strict=True):
            placed = [_placed(grid, row, column, other, self.numbers) for other in lines]
            draw_rest(ax, style, [points[:, :2] for points in placed])
            own = _placed(grid, row, column, part, self.numbers)
            look = Look(0, style.positive, "-")
            draw_curve(ax, look, own, 1.6)
            if "expected" in part.columns:
                height = grid.y(part["expected"].to_numpy(), row)
                ax.plot(own[:, 0], height, color=style.ink, linewidth=1.0, linestyle=DASHED)
            width = max(4, grid.characters(style.small) - 1)
            grid.title(ax, style, (row, column), label(part[self.who].iloc[0], width))
        grid.name_edges(ax, style, (), ())
        return [
            "band: interval of the share; grey: all others",
            *(["dashed: expected by the calibration"] if "expected" in self._rows.columns else []),
            *remark(
                "without a panel: {} of lower mean share", len(lines) - len(shown), self.counted_as
            ),
            *not_shown(self._beyond, "point", "far beyond the others"),
        ]

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        if self._faceted:
            return self._draw_panels(ax, style)
        lines, colours = self._lines(), style.palette[:MOST_NAMED]
        if len(lines) > len(colours):  # then grey is the colour of the rest
            colours = tuple(colour for colour in colours if colour != style.neutral)
        named = min(len(lines), len(colours))
        if "year" in self._rows.columns:
            lines = _through_the_years(lines, named)
            colours = _from_early_to_late(style, [_year(part) for part in lines[:named]])
        for part in lines[named:]:
            points = part[[self.by, "share"]].to_numpy().T
            ax.plot(*points, color=style.neutral, linewidth=0.8, alpha=0.5, zorder=1)
        few, x = named <= MOST_BANDS, self._rows[self.by]
        # Bars at the same place would hide each other.
        shifts = (np.arange(named) - (named - 1) / 2) * (0.0 if few else APART * np.ptp(x))
        for part, colour, shift in zip(lines[:named], colours, shifts, strict=False):
            self._draw_line(ax, part.assign(**{self.by: part[self.by] + shift}), colour, few=few)
        ax.set_xlim(padded((float(x.min()), float(x.max()))))
        ax.set_ylim(-0.02, 1.02)
        if (x == x.round()).all():
            from matplotlib.ticker import MaxNLocator

            ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
        self._name(ax, style, lines[:named], colours)
        dashed = few and "expected" in self._rows.columns
        which = "in between" if "year" in self._rows.columns else "of lower mean share"
        return [
            *(["dashed: expected by the calibration"] if dashed else []),
            *remark(f"grey: {{}} {which}", len(self._ranked) - named, self.counted_as),
            *not_shown(self._beyond, "point", "far beyond the others"),
        ]

    def _lines(self) -> list[pd.DataFrame]:
        """Return the points of each respondent in the order of the axis, best respondent first."""
        import pandas as pd

        place = pd.Series(range(len(self._ranked)), index=pd.Index(self._ranked))
        codes = place.reindex(self._rows[self.who]).to_numpy()
        rows = self._rows.assign(place=codes).sort_values(["place", self.by], kind="stable")
        return [part for _, part in rows.groupby("place", sort=True)]

    def _draw_line(self, ax: Axes, part: pd.DataFrame, colour: str, *, few: bool) -> None:
        x, share, low, high = (part[name].to_numpy() for name in self.numbers)
        if few and len(part) > 1:
            ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        else:
            ax.vlines(x, low, high, color=colour, linewidth=1.2, alpha=0.5, zorder=2)
        ax.plot(x, share, color=colour, linewidth=1.6, marker="o", markersize=3.5, zorder=4)
        if few and "expected" in part.columns:
            expected = part["expected"]
            ax.plot(x, expected, color=colour, linewidth=1.1, linestyle=DASHED, zorder=3)

    def _name(
        self, ax: Axes, style: Style, lines: list[pd.DataFrame], colours: tuple[str, ...]
    ) -> None:
        width = min(24, name_width(ax, style))
        names = [label(part[self.who].iloc[0], width) for part in lines]
        dated = [
            f"{name} ({_year(part):g})" if np.isfinite(_year(part)) else name
            for name, part in zip(names, lines, strict=True)
        ]
        ends = np.array([part[[self.by, "share"]].to_numpy()[-1] for part in lines])
        names_beside(style, ax, dated, ends, colours)


class CaseAccuracyDisplay(CharacteristicDisplay):
    """Share of the cases of each class that are right, from easy cases to hard ones.

    The frame has one row per `class` and point: the `difficulty`, the `share` and its interval from
    `low` to `high`. Up to four classes share one panel; of more, the eight with the highest mean
    share have a panel each, in which all others are grey.
    """

    labels = ("class",)
    who, counted_as = "class", "other"

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(frame, height="accuracy")


def _placed(
    grid: PanelGrid, row: int, column: int, part: pd.DataFrame, names: tuple[str, ...]
) -> Floats:
    """Return the points of a line (n_points, 4) where they lie in a panel."""
    across, *heights = (part[name].to_numpy() for name in names)
    return np.column_stack([grid.x(across, column), *(grid.y(each, row) for each in heights)])


def _year(part: pd.DataFrame) -> float:
    """Return when the respondent appeared; infinity, and so last, if unknown."""
    year = float(part["year"].iloc[0]) if "year" in part.columns else np.inf
    return year if np.isfinite(year) else np.inf


def _through_the_years(lines: list[pd.DataFrame], named: int) -> list[pd.DataFrame]:
    """Sort lines by year; first `named` of them at even steps, then those between."""
    ordered = sorted(lines, key=_year)
    chosen = np.linspace(0, len(ordered) - 1, named).round().astype(int)
    rest = np.setdiff1d(np.arange(len(ordered)), chosen)
    return [ordered[k] for k in (*chosen, *rest)]


def _from_early_to_late(style: Style, years: list[float]) -> tuple[str, ...]:
    """Return a colour for each year, from pale to dark; grey if it is unknown."""
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


class AlarmDisplay(Display):
    """Success against difficulty: the points of each sample, and the expected curve.

    The frame has one row per point: its `sample`, `difficulty`, `share`, and interval from `low` to
    `high`. Rows of the sample "expected" make the curve and its band. Points without a share are
    ticks along the axis: items whose outcome is unknown.
    """

    numbers = ("difficulty", "share", "low", "high")
    labels = ("sample",)
    needed = ("difficulty",)
    inches = (7.2, 4.2)
    x_label, y_label = "difficulty", "share of right responses"

    def _prepare(self) -> None:
        line = self._rows["sample"] == "expected"
        curve = self._rows[line & self._rows["share"].notna()]
        self._curve = curve.sort_values("difficulty", kind="stable")
        parts = self._rows[~line].groupby("sample", sort=False, dropna=False, observed=True)
        self._samples = [part for _, part in parts]

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        handles: list[Artist] = []
        texts: list[str] = []
        x = self._rows["difficulty"]
        if not self._curve.empty:
            at, share, low, high = (self._curve[name].to_numpy() for name in self.numbers)
            ax.fill_between(at, low, high, color=style.neutral, alpha=0.2, linewidth=0, zorder=1)
            handles += ax.plot(at, share, color=style.ink, linewidth=1.6, zorder=2)
            texts.append("expected")
        shown = self._samples[:MOST_SAMPLES]
        shifts = (np.arange(len(shown)) - (len(shown) - 1) / 2) * SAMPLES_APART * float(np.ptp(x))
        for part, colour, shift in zip(shown, style.palette, shifts, strict=False):
            handles.append(_draw_sample(ax, part, colour, float(shift)))
            texts.append(label(part["sample"].iloc[0], 24))
        ax.set_xlim(padded((float(x.min()), float(x.max()))))
        ax.set_ylim(-0.03, 1.03)
        legend_beside(style, ax, handles, texts)
        unknown = any(part["share"].isna().any() for part in shown)
        return [
            *(["ticks along the axis: items whose outcome is unknown"] if unknown else []),
            *not_shown(len(self._samples) - MOST_SAMPLES, "more sample"),
        ]


def _draw_sample(ax: Axes, part: pd.DataFrame, colour: str, shift: float) -> Artist:
    known = part["share"].notna()
    seen, unseen = part[known], part[~known]
    x = seen["difficulty"] + shift
    ax.vlines(x, seen["low"], seen["high"], color=colour, linewidth=1.4, alpha=0.6, zorder=3)
    marker = "o" if len(seen) else "|"
    (dots,) = ax.plot(x, seen["share"], marker, color=colour, markersize=5, zorder=4)
    ticks, foot = ax.get_xaxis_transform(), np.full(len(unseen), 0.02)
    ax.plot(unseen["difficulty"], foot, "|", color=colour, transform=ticks, ms=9)
    return dots

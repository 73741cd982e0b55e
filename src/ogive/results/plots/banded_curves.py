"""Characteristic, Alarm, Series, Scree.

Share of right responses against difficulty: characteristic curves, and the alarm.

Curves over steps and sizes: estimates, portfolio gaps, agreement, and the scree plot.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, not_shown, remark
from ogive.results.plots.marks import (
    MOST_COLOURS,
    Look,
    PanelGrid,
    arranged,
    divided,
    draw_curve,
    draw_rest,
    fitted,
    lines_by_name,
    outer_and_other,
    padded,
    panels_by,
    robust_limits,
)
from ogive.results.plots.theme import (
    DASHED,
    DOTTED,
    Style,
    characters_that_fit,
    in_words,
    label,
    legend_beside,
    legend_handle,
    name_width,
    names_beside,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.stats.array_backend import Bools, Floats


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


FEW = 12  # points of a line, up to which each has a marker
MARKERS = "osD^v<>P"
REFERENCE = "single best"
DASHES = (DASHED, DOTTED, (0, (6, 1, 1, 1)))
METHODS_APART = 0.07  # of a step, so that bars do not hide each other
ROOMY = 40  # characters along a panel, from which on a dozen sizes can be written
# Drawn from the back to the front; the words of the legend.
PARTS = {"random": "chosen at random", "ceiling": "all", "held_out": "chosen"}
FEW_SIZES = 3  # that have bars in place of bands, which would be slivers
MOST_DOTS = 25  # sizes; with more, dots would run together
CURVES_APART = 0.12  # of a step, so that the bars of a few sizes do not hide each other
MOST_DIMENSIONS = 20  # the rest is the flat end of the scree


class _PanelsOfSeries(Display):
    """Lines with markers, one per series, in one panel or several with their own scales."""

    panel_column: str
    alone = ""  # name of the panel without that column
    most_panels = 2
    margin = 2.8  # inches beside the panels
    first_y_label = ""  # of the first panel, if all have the same

    def _prepare(self) -> None:
        self._panels = panels_by(self._rows, self.panel_column, self.alone)

    def _size(self) -> tuple[float, float]:
        return self.margin + 4.0 * min(len(self._panels), self.most_panels), 4.2

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        shown = self._panels[: self.most_panels]
        panels = divided(ax, len(shown)) if len(shown) > 1 else [ax]
        for panel, (name, rows) in zip(panels, shown, strict=True):
            self._dress(panel, style)
            self._draw_panel(panel, style, name, rows)
        if self.first_y_label:
            ax.set_ylabel(self.first_y_label)
        beside, self._foot = outer_and_other(panels)
        handles, names = self._legend(style)
        if handles:
            width = min(24, name_width(ax, style))
            legend_beside(style, beside, handles, [label(name, width) for name in names])
        return self._notes()

    @abstractmethod
    def _draw_panel(self, ax: Axes, style: Style, name: object, rows: pd.DataFrame) -> None:
        """Draw the rows of one panel."""

    @abstractmethod
    def _legend(self, style: Style) -> tuple[list[Artist], list[Hashable]]:
        """Return handles and names of the legend."""

    @abstractmethod
    def _notes(self) -> list[str]:
        """Return the notes to write below."""


def _series_handles(style: Style, count: int) -> list[Artist]:
    return [
        legend_handle(color=style.palette[k % len(style.palette)], marker=MARKERS[k], markersize=4)
        for k in range(count)
    ]


class BandsDisplay(_PanelsOfSeries):
    """Estimates along the steps, one line per series, each with its interval.

    The frame has one row per `series` and `x`: the `estimate` there, and its interval from `low` to
    `high`, which may be NaN. If there is a column `panel`, each panel has its own scale and
    name. `across` is the label of x. Up to eight series are drawn, in order of appearance.
    """

    numbers = ("x", "estimate", "low", "high")
    labels = ("series",)
    needed = ("x", "estimate")
    panel_column, alone = "panel", "estimate"

    def __init__(self, frame: pd.DataFrame, across: str = "step") -> None:
        self.across, self.x_label = across, in_words(across, 40)
        super().__init__(frame)

    def _prepare(self) -> None:
        super()._prepare()
        self._names: list[Hashable] = list(dict.fromkeys(self._rows["series"].astype(object)))

    def _draw_panel(self, ax: Axes, style: Style, name: object, rows: pd.DataFrame) -> None:
        from matplotlib.ticker import MaxNLocator

        ax.set_ylabel(in_words(name, 40))
        names, lines = lines_by_name(rows, "series", self.numbers)
        for series, line in zip(names, lines, strict=True):
            place = self._names.index(series)
            if place < MOST_COLOURS:
                colour = style.palette[place % len(style.palette)]
                band = len(self._names) <= MOST_BANDS
                _draw_series(ax, line, colour, MARKERS[place], band=band)
        ticks = MaxNLocator("auto", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])
        ax.xaxis.set_major_locator(ticks)

    def _legend(self, style: Style) -> tuple[list[Artist], list[Hashable]]:
        names = self._names[:MOST_COLOURS] if len(self._names) > 1 else []
        return _series_handles(style, len(names)), names

    def _notes(self) -> list[str]:
        known = self.frame[["low", "high"]].notna().all(axis=1).any()
        return [
            *(["bar and band: interval of the estimate"] if known else []),
            *not_shown(len(self._names) - MOST_COLOURS, "more line"),
            *not_shown(len(self._panels) - self.most_panels, "more panel"),
        ]


def _draw_series(ax: Axes, line: Floats, colour: str, marker: str, *, band: bool) -> None:
    """Draw a line over its band; of few points, each has a marker and a bar."""
    x, estimate, low, high = line.T
    if len(x) <= FEW:
        ax.vlines(x, low, high, color=colour, linewidth=1.3, alpha=0.5, zorder=2)
    if band:
        ax.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0, zorder=1)
    mark = marker if len(x) <= FEW else ""
    ax.plot(x, estimate, color=colour, linewidth=1.6, marker=mark, markersize=4, zorder=3)


class PortfolioGapDisplay(_PanelsOfSeries):
    """Performance gap of portfolios against their size, one line per method; lower is better.

    The frame has one row per `method` and `size`: the `gap` and the ends of its interval, `gap_low`
    and `gap_high`, which may be NaN. If there is a column `definition`, each definition of the gap
    has its panel. Rows of the method "single best", and rows without a size, are horizontal
    reference lines.
    """

    numbers = ("size", "gap", "gap_low", "gap_high")
    labels = ("method",)
    needed = ("gap",)
    without = "a gap"
    panel_column, most_panels, margin = "definition", 3, 2.6
    x_label, grid_lines = "portfolio size", "y"
    first_y_label = "performance gap (unit of the measure)"

    def _prepare(self) -> None:
        rows = self._rows
        self._rows = rows.assign(
            method=rows["method"].astype(object),
            reference=(rows["method"] == REFERENCE) | ~np.isfinite(rows["size"]),
        )
        lines, references = (
            list(dict.fromkeys(self._rows.loc[self._rows["reference"] == kind, "method"]))
            for kind in (False, True)
        )
        self._methods, self._references = lines[:MOST_COLOURS], references[: len(DASHES)]
        self._hidden = len(lines) + len(references) - len(self._methods) - len(self._references)
        super()._prepare()

    def _draw_panel(self, ax: Axes, style: Style, name: object, rows: pd.DataFrame) -> None:
        from matplotlib.ticker import MaxNLocator

        ax.set_title(label(name, 32), fontsize=1.1 * style.font_size, color=style.ink)
        shifts = METHODS_APART * (np.arange(len(self._methods)) - (len(self._methods) - 1) / 2)
        lines = rows[~rows["reference"]].sort_values("size", kind="stable")
        for k, (method, shift) in enumerate(zip(self._methods, shifts, strict=True)):
            part = lines[lines["method"] == method]
            size, gap, low, high = (part[name].to_numpy() for name in self.numbers)
            size, colour = size + shift, style.palette[k % len(style.palette)]
            ax.vlines(size, low, high, color=colour, linewidth=1.2, alpha=0.6)
            ax.plot(size, gap, color=colour, linewidth=1.5, marker=MARKERS[k], markersize=4)
        for method, dashes in zip(self._references, DASHES, strict=False):
            part = rows[rows["reference"] & (rows["method"] == method)]
            if len(part):
                _draw_reference(ax, style, part, dashes)
        least = float(rows["gap"].min())
        if least >= 0:
            ax.set_ylim(bottom=0.0 if least > 0 else -0.02 * (float(rows["gap"].max()) or 1.0))
        roomy = characters_that_fit(ax, style.font_size) > ROOMY
        ticks = MaxNLocator(nbins=12 if roomy else "auto", integer=True, min_n_ticks=1)
        ax.xaxis.set_major_locator(ticks)

    def _legend(self, style: Style) -> tuple[list[Artist], list[Hashable]]:
        lines = [
            legend_handle(color=style.ink, linewidth=1.1, linestyle=dashes)
            for _, dashes in zip(self._references, DASHES, strict=False)
        ]
        handles = _series_handles(style, len(self._methods))
        return [*handles, *lines], [*self._methods, *self._references]

    def _notes(self) -> list[str]:
        known = self.frame["gap_low"].notna().any()
        return [
            *(["bar and band: interval"] if known else []),
            *not_shown(self._hidden, "more method"),
            *not_shown(len(self._panels) - self.most_panels, "more definition"),
        ]


def _draw_reference(ax: Axes, style: Style, part: pd.DataFrame, dashes: Any) -> None:
    gap, low, high = (float(part[name].mean()) for name in ("gap", "gap_low", "gap_high"))
    if np.isfinite(low) and np.isfinite(high):
        ax.axhspan(low, high, color=style.faint, alpha=0.5, zorder=0)
    ax.axhline(gap, color=style.ink, linewidth=1.1, linestyle=dashes, zorder=1)


class AgreementDisplay(Display):
    """Agreement with held-out data sets, against the number of data sets that are kept.

    The frame has one row per `size`, with `held_out` for the chosen part, `ceiling` for all data
    sets and `random` for a part chosen at random, and the ends of their 95 % ranges, named with
    `_low` and `_high`. If there is a column `enough`, the sizes that are enough get filled dots.
    """

    numbers = ("size", *(f"{part}{end}" for part in PARTS for end in ("", "_low", "_high")))
    needed = ("size", "held_out")
    without = "size or agreement"
    x_label = "data sets kept"
    y_label = "agreement with held-out data sets (Kendall's tau)"
    grid_lines = "y"

    def _prepare(self) -> None:
        self._rows = self._rows.sort_values("size", kind="stable")

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.ticker import MaxNLocator

        size = self._rows["size"].to_numpy()
        looks = [(style.neutral, DOTTED), (style.ink, DASHED), (style.positive, "-")]
        lines = {
            part: self._draw_curve(ax, style, part, *look)
            for part, look in zip(PARTS, looks, strict=True)
        }
        ax.set_xlim(size[0] - 0.5, size[-1] + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
        order = ("ceiling", "held_out", "random")
        legend_beside(style, ax, [lines[c] for c in order], [PARTS[c] for c in order])
        shown = "bars" if len(size) <= FEW_SIZES else "band and thin lines"
        return [f"{shown}: 95 % of the splits", *self._said_tested(), *self._said_enough()]

    def _draw_curve(self, ax: Axes, style: Style, part: str, colour: str, dashes: Any) -> Artist:
        columns = ("size", part, f"{part}_low", f"{part}_high")
        size, value, low, high = (self._rows[column].to_numpy() for column in columns)
        few, main = len(size) <= FEW_SIZES, part == "held_out"
        if few:
            size = size + CURVES_APART * (list(PARTS).index(part) - 1)
            ax.vlines(size, low, high, color=colour, linewidth=1.6, alpha=0.5, zorder=2)
        elif main:
            ax.fill_between(size, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        else:  # overlapping bands would blur into one
            ends = np.stack([low, high], axis=1)
            ax.plot(size, ends, color=colour, linestyle=dashes, linewidth=0.8, alpha=0.7, zorder=2)
        width = 2.2 if main else 1.6
        (line,) = ax.plot(size, value, color=colour, linestyle=dashes, linewidth=width, zorder=3)
        if few or (main and len(size) <= MOST_DOTS):
            filled = self._enough() if main else np.ones(len(size), dtype=bool)
            face = [colour if full else style.paper for full in filled]
            ax.scatter(size, value, s=26, facecolor=face, edgecolor=colour, zorder=4)
        return line

    def _enough(self) -> Bools:
        if "enough" not in self._rows.columns:
            return np.ones(len(self._rows), dtype=bool)
        return self._rows["enough"].to_numpy(dtype=bool)

    def _said_tested(self) -> Sequence[str]:
        if "tested" not in self.frame.columns:
            return []
        return ["each size is judged by as large a share of half of the data sets"]

    def _said_enough(self) -> Sequence[str]:
        if "enough" not in self._rows.columns:
            return []
        size = self._rows["size"].to_numpy()
        short = size[~self._enough()]
        after = size[size > (short[-1] if short.size else 0)]
        if after.size:
            return [f"enough: {after[0]:.0f} data sets or more"]
        return ["enough: none of these sizes"]


class ScreeDisplay(Display):
    """Eigenvalues in falling order; those above the dashed line are larger than by chance.

    The frame has one row per dimension: `dimension` counted from 1, `eigenvalue`, and `to_exceed`,
    the criterion; if known, `suggested`. The first 20 are drawn.
    """

    numbers = ("dimension", "eigenvalue", "to_exceed")
    needed = ("eigenvalue",)
    without = ""
    x_label, y_label, grid_lines = "dimension", "eigenvalue", "y"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        from matplotlib.ticker import MaxNLocator

        rows = self._rows.sort_values("dimension", kind="stable").iloc[:MOST_DIMENSIONS]
        dimension, value, to_exceed = (rows[name].to_numpy() for name in self.numbers)
        # Without the column, those that exceed it, up to the first that is not.
        above = np.minimum.accumulate(value > to_exceed)
        if "suggested" in rows.columns:
            above = rows["suggested"].to_numpy(dtype=bool)
        (line,) = ax.plot(dimension, value, color=style.positive, linewidth=1.4, zorder=2)
        dashed: dict[str, Any] = {"linestyle": DASHED, "linewidth": 1.4, "marker": "_"}
        (limit,) = ax.plot(dimension, to_exceed, color=style.negative, zorder=2, **dashed)
        for chosen, face in ((above, style.positive), (~above, style.paper)):
            x, y = dimension[chosen], value[chosen]
            ax.scatter(x, y, s=34, facecolor=face, edgecolor=style.positive, zorder=3)
        finite = np.concatenate([value, to_exceed])
        ax.set_ylim(0, 1.08 * max(float(finite[np.isfinite(finite)].max()), 1.0))
        ax.set_xlim(dimension.min() - 0.6, dimension.max() + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
        legend_beside(style, ax, [line, limit], ["responses", "to exceed"])
        return [
            f"filled: {counted(int(above.sum()), 'dimension')} larger than by chance",
            *not_shown(len(self._rows) - MOST_DIMENSIONS, "smaller eigenvalue"),
        ]

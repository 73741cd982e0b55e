"""Curves with bands: shares by difficulty, and estimates over steps and sizes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.ticker import MaxNLocator

from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, not_shown, remark
from ogive.results.plots.marks import (
    MOST_COLOURS,
    Look,
    draw_curve,
    draw_rest,
    ends_of,
    lines_by_name,
    padded,
    robust_limits,
)
from ogive.results.plots.panels import arranged, divided, drawn_panels, outer_and_other, panels_by
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
from ogive.stats.array_backend import Bools, Floats

MOST_NAMED = 8
MOST_BANDS = 4  # of more, bands and expected shares would hide each other: bars take their place
APART = 0.006  # of the axis, from one line to the next
MOST_SAMPLES = 7
SAMPLES_APART = 0.004  # of the axis, so that bars do not hide each other
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
        near = self._rows[self._rows[self.by].between(low, high)]
        if near.empty:
            self._refuse()
        self._beyond, self._rows = len(self._rows) - len(near), near
        self._dated, self._expected = "year" in near, "expected" in near
        groups = near.groupby(self.who, sort=False, dropna=False, observed=True)
        ranked = groups["share"].mean().sort_values(ascending=False, kind="stable").index
        rank = pd.Series(range(len(ranked)), index=pd.Index(list(ranked)))
        codes = rank.reindex(near[self.who]).to_numpy()
        rows = near.assign(rank=codes).sort_values(["rank", self.by], kind="stable")
        # The points of each respondent in the order of the axis, the best respondent first.
        self._lines = [part for _, part in rows.groupby("rank", sort=True)]
        # Lines of many would hide each other on one panel.
        self._faceted = len(self._lines) > MOST_BANDS and not self._dated

    def _size(self) -> tuple[float, float]:
        if not self._faceted:
            return self.inches
        rows, columns = arranged(min(len(self._lines), MOST_NAMED))
        return 0.8 + 2.1 * columns, 0.9 + 1.7 * rows

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        notes = (self._draw_panels if self._faceted else self._draw_together)(ax, style)
        return [*notes, *not_shown(self._beyond, "point", "far beyond the others")]

    def _draw_panels(self, ax: Axes, style: Style) -> list[str]:
        """Draw one panel per respondent, the best first, with all others behind it."""
        ax.grid(visible=False)
        shown = self._lines[:MOST_NAMED]
        ends = padded(ends_of(self._rows[self.by].to_numpy()))
        panels = drawn_panels(ax, style, len(shown), ends)
        width = max(4, panels.characters(style.small) - 1)
        for (row, column), part in zip(panels.cells(len(shown)), shown, strict=True):
            placed = []
            for line in self._lines:  # points (n_points, 4) where they lie in the panel
                across, *heights = (line[name].to_numpy() for name in self.numbers)
                up = (panels.y(each, row) for each in heights)
                placed.append(np.column_stack([panels.x(across, column), *up]))
            draw_rest(ax, style, [points[:, :2] for points in placed])
            own = placed[int(part["rank"].iloc[0])]
            draw_curve(ax, Look(0, style.positive, "-"), own, 1.6)
            if self._expected:
                height = panels.y(part["expected"].to_numpy(), row)
                ax.plot(own[:, 0], height, color=style.ink, linewidth=1.0, linestyle=DASHED)
            panels.title(ax, style, (row, column), label(part[self.who].iloc[0], width))
        panels.name_edges(ax, style)
        rest = len(self._lines) - len(shown)
        return [
            "band: interval of the share; grey: all others",
            *(["dashed: expected by the calibration"] if self._expected else []),
            *remark("without a panel: {} of lower mean share", rest, self.counted_as),
        ]

    def _draw_together(self, ax: Axes, style: Style) -> list[str]:
        lines, colours = self._lines, style.palette[:MOST_NAMED]
        if len(lines) > len(colours):  # then grey is the colour of the rest
            colours = tuple(colour for colour in colours if colour != style.neutral)
        named = min(len(lines), len(colours))
        which = "of lower mean share"
        if self._dated:  # named at even steps through the years, then those between
            by_year = sorted(lines, key=_year)
            chosen = np.linspace(0, len(by_year) - 1, named).round().astype(int)
            rest = np.setdiff1d(np.arange(len(by_year)), chosen)
            lines, which = [by_year[k] for k in (*chosen, *rest)], "in between"
            colours = _from_early_to_late(style, [_year(part) for part in lines[:named]])
        for part in lines[named:]:
            points = part[[self.by, "share"]].to_numpy().T
            ax.plot(*points, color=style.neutral, linewidth=0.8, alpha=0.5, zorder=1)
        few, x = named <= MOST_BANDS, self._rows[self.by]
        dashed = few and self._expected
        # Bars at the same difficulty would hide each other.
        shifts = (np.arange(named) - (named - 1) / 2) * (0.0 if few else APART * np.ptp(x))
        for part, colour, shift in zip(lines[:named], colours, shifts, strict=False):
            at, share, low, high = (part[name].to_numpy() for name in self.numbers)
            at = at + shift
            if few and len(part) > 1:
                ax.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
            else:
                ax.vlines(at, low, high, color=colour, linewidth=1.2, alpha=0.5, zorder=2)
            ax.plot(at, share, color=colour, linewidth=1.6, marker="o", markersize=3.5, zorder=4)
            if dashed:
                dashes: dict[str, Any] = {"linewidth": 1.1, "linestyle": DASHED, "zorder": 3}
                ax.plot(at, part["expected"], color=colour, **dashes)
        ax.set_xlim(padded(ends_of(x.to_numpy())))
        ax.set_ylim(-0.02, 1.02)
        if (x == x.round()).all():
            ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
        width, names = name_width(ax, style, 24), []
        for part in lines[:named]:
            year = f" ({_year(part):g})" if np.isfinite(_year(part)) else ""
            names.append(f"{label(part[self.who].iloc[0], width)}{year}")
        last = np.array([part[[self.by, "share"]].to_numpy()[-1] for part in lines[:named]])
        names_beside(style, ax, names, last, colours)
        return [
            *(["dashed: expected by the calibration"] if dashed else []),
            *remark(f"grey: {{}} {which}", len(lines) - named, self.counted_as),
        ]


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


def _year(part: pd.DataFrame) -> float:
    """Return when the respondent appeared; infinity, and so last, if unknown."""
    year = float(part["year"].iloc[0]) if "year" in part.columns else np.inf
    return year if np.isfinite(year) else np.inf


def _from_early_to_late(style: Style, years: list[float]) -> tuple[str, ...]:
    """Return a colour for each year, from pale to dark; grey if it is unknown."""
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

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        entries: list[tuple[Artist, str]] = []
        on_curve, x = self._rows["sample"] == "expected", self._rows["difficulty"]
        curve = self._rows[on_curve & self._rows["share"].notna()]
        if not curve.empty:
            rows = curve.sort_values("difficulty", kind="stable")
            at, share, low, high = (rows[name].to_numpy() for name in self.numbers)
            ax.fill_between(at, low, high, color=style.neutral, alpha=0.2, linewidth=0, zorder=1)
            (line,) = ax.plot(at, share, color=style.ink, linewidth=1.6, zorder=2)
            entries.append((line, "expected"))
        samples = panels_by(self._rows[~on_curve], "sample", "")
        shown = samples[:MOST_SAMPLES]
        shifts = (np.arange(len(shown)) - (len(shown) - 1) / 2) * SAMPLES_APART * float(np.ptp(x))
        for (name, part), colour, shift in zip(shown, style.palette, shifts, strict=False):
            seen, unseen = part[part["share"].notna()], part[part["share"].isna()]
            at = seen["difficulty"] + shift
            bars: dict[str, Any] = {"linewidth": 1.4, "alpha": 0.6, "zorder": 3}
            ax.vlines(at, seen["low"], seen["high"], color=colour, **bars)
            marker = "o" if len(seen) else "|"
            (dots,) = ax.plot(at, seen["share"], marker, color=colour, markersize=5, zorder=4)
            foot, along = np.full(len(unseen), 0.02), ax.get_xaxis_transform()
            ax.plot(unseen["difficulty"], foot, "|", color=colour, transform=along, ms=9)
            entries.append((dots, label(name, 24)))
        ax.set_xlim(padded(ends_of(x.to_numpy())))
        ax.set_ylim(-0.03, 1.03)
        legend_beside(style, ax, entries)
        unknown = any(part["share"].isna().any() for _, part in shown)
        return [
            *(["ticks along the axis: items whose outcome is unknown"] if unknown else []),
            *not_shown(len(samples) - MOST_SAMPLES, "more sample"),
        ]


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
        beside, self._note_axes = outer_and_other(panels)
        if entries := self._legend(style):
            width = name_width(ax, style, 24)
            legend_beside(style, beside, [(handle, label(name, width)) for handle, name in entries])
        hidden = f"more {self.panel_column}"
        return [*self._notes(), *not_shown(len(self._panels) - self.most_panels, hidden)]

    @abstractmethod
    def _draw_panel(self, ax: Axes, style: Style, name: object, rows: pd.DataFrame) -> None:
        """Draw the rows of one panel."""

    @abstractmethod
    def _legend(self, style: Style) -> list[tuple[Artist, Hashable]]:
        """Return handles and names of the legend."""

    @abstractmethod
    def _notes(self) -> list[str]:
        """Return the notes to write below."""


def _series_entries(style: Style, names: Sequence[Hashable]) -> list[tuple[Artist, Hashable]]:
    n = len(style.palette)
    return [
        (legend_handle(color=style.palette[k % n], marker=MARKERS[k], markersize=4), name)
        for k, name in enumerate(names)
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
        ax.set_ylabel(in_words(name, 40))
        names, lines = lines_by_name(rows, "series", self.numbers)
        for series, line in zip(names, lines, strict=True):
            k = self._names.index(series)
            if k >= MOST_COLOURS:
                continue
            colour, (x, estimate, low, high) = style.palette[k % len(style.palette)], line.T
            few = len(x) <= FEW  # then each point has a marker and a bar
            if few:
                ax.vlines(x, low, high, color=colour, linewidth=1.3, alpha=0.5, zorder=2)
            if len(self._names) <= MOST_BANDS:
                ax.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0, zorder=1)
            look: dict[str, Any] = {"marker": MARKERS[k] if few else "", "markersize": 4}
            ax.plot(x, estimate, color=colour, linewidth=1.6, zorder=3, **look)
        ticks = MaxNLocator("auto", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])
        ax.xaxis.set_major_locator(ticks)

    def _legend(self, style: Style) -> list[tuple[Artist, Hashable]]:
        return _series_entries(style, self._names[:MOST_COLOURS] if len(self._names) > 1 else [])

    def _notes(self) -> list[str]:
        known = self.frame[["low", "high"]].notna().all(axis=1).any()
        return [
            *(["bar and band: interval of the estimate"] if known else []),
            *not_shown(len(self._names) - MOST_COLOURS, "more line"),
        ]


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
        reference = (rows["method"] == REFERENCE) | ~np.isfinite(rows["size"])
        self._rows = rows.assign(method=rows["method"].astype(object), reference=reference)
        lines, references = (
            list(dict.fromkeys(self._rows.loc[chosen, "method"]))
            for chosen in (~reference, reference)
        )
        self._methods, self._references = lines[:MOST_COLOURS], references[: len(DASHES)]
        self._hidden = len(lines) + len(references) - len(self._methods) - len(self._references)
        super()._prepare()

    def _draw_panel(self, ax: Axes, style: Style, name: object, rows: pd.DataFrame) -> None:
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
                mean, low, high = (float(part[name].mean()) for name in self.numbers[1:])
                if np.isfinite(low) and np.isfinite(high):
                    ax.axhspan(low, high, color=style.faint, alpha=0.5, zorder=0)
                ax.axhline(mean, color=style.ink, linewidth=1.1, linestyle=dashes, zorder=1)
        least, most = ends_of(rows["gap"].to_numpy())
        if least >= 0:
            ax.set_ylim(bottom=0.0 if least > 0 else -0.02 * (most or 1.0))
        roomy = characters_that_fit(ax, style.font_size) > ROOMY
        ticks = MaxNLocator(nbins=12 if roomy else "auto", integer=True, min_n_ticks=1)
        ax.xaxis.set_major_locator(ticks)

    def _legend(self, style: Style) -> list[tuple[Artist, Hashable]]:
        references = [
            (legend_handle(color=style.ink, linewidth=1.1, linestyle=dashes), name)
            for name, dashes in zip(self._references, DASHES, strict=False)
        ]
        return [*_series_entries(style, self._methods), *references]

    def _notes(self) -> list[str]:
        known = self.frame["gap_low"].notna().any()
        return [
            *(["bar and band: interval"] if known else []),
            *not_shown(self._hidden, "more method"),
        ]


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
        size, enough = self._rows["size"].to_numpy(), flags(self._rows, "enough", default=True)
        few = len(size) <= FEW_SIZES
        looks = [(style.neutral, DOTTED), (style.ink, DASHED), (style.positive, "-")]
        lines = {
            part: self._draw_curve(ax, style, part, *look, few=few, enough=enough)
            for part, look in zip(PARTS, looks, strict=True)
        }
        ax.set_xlim(size[0] - 0.5, size[-1] + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
        order = ("ceiling", "held_out", "random")
        legend_beside(style, ax, [(lines[part], PARTS[part]) for part in order])
        notes = [f"{'bars' if few else 'band and thin lines'}: 95 % of the splits"]
        if "tested" in self.frame.columns:
            notes.append("each size is judged by as large a share of half of the data sets")
        if "enough" in self._rows.columns:
            short = size[~enough]
            after = size[size > (short[-1] if short.size else 0)]
            least = f"{after[0]:.0f} data sets or more" if after.size else "none of these sizes"
            notes.append(f"enough: {least}")
        return notes

    def _draw_curve(
        self,
        ax: Axes,
        style: Style,
        part: str,
        colour: str,
        dashes: Any,
        *,
        few: bool,
        enough: Bools,
    ) -> Artist:
        columns = ("size", part, f"{part}_low", f"{part}_high")
        size, value, low, high = (self._rows[column].to_numpy() for column in columns)
        main = part == "held_out"
        if few:
            size = size + CURVES_APART * (list(PARTS).index(part) - 1)
            ax.vlines(size, low, high, color=colour, linewidth=1.6, alpha=0.5, zorder=2)
        elif main:
            ax.fill_between(size, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        else:  # overlapping bands would blur into one
            ends: Floats = np.stack([low, high], axis=1)
            ax.plot(size, ends, color=colour, linestyle=dashes, linewidth=0.8, alpha=0.7, zorder=2)
        width = 2.2 if main else 1.6
        (line,) = ax.plot(size, value, color=colour, linestyle=dashes, linewidth=width, zorder=3)
        if few or (main and len(size) <= MOST_DOTS):
            face = [style.paper if main and not full else colour for full in enough]
            ax.scatter(size, value, s=26, facecolor=face, edgecolor=colour, zorder=4)
        return line


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
        legend_beside(style, ax, [(line, "responses"), (limit, "to exceed")])
        return [
            f"filled: {counted(int(above.sum()), 'dimension')} larger than by chance",
            *not_shown(len(self._rows) - MOST_DIMENSIONS, "smaller eigenvalue"),
        ]

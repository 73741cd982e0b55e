"""Curves along the ability scale: responses, information, reliability, and groups compared."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from ogive._validation import whole_number
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display, flags, remark
from ogive.results.plots.marks import lines_by_name, padded
from ogive.results.plots.panels import MOST_PANELS, arranged, drawn_panels, panels_by
from ogive.results.plots.theme import (
    DASHED,
    Style,
    apply,
    label,
    legend_beside,
    legend_handle,
    legend_width,
    lines_that_fit,
    lone_marker,
    name_width,
    names_beside,
    write_off,
)
from ogive.stats.array_backend import Bools, Floats

MOST_NAMED = 8  # items, each with a colour and a name
MOST_LINES = 300  # items, each with a line; more are drawn as bands
FEWEST_IN_BAND = 30  # a band of fewer curves would say less than the curves
MOST_GRADES = 12  # in the legend; of more, only the first and the last are named
KNOWN = "items taken as known: standard errors of abilities are larger"
NEXT_TO_NOTHING = 1e-6  # information, of which a respondent's standard error is 1,000
FLAT = 1e-3  # of the largest value; a line that varies less is flat
TALLEST_SE = 5.0  # times its least; in the tails the standard error grows without bound
LOWEST_ITEM = 0.02  # of the test's information; a lower curve would lie on the axis, unseen
LEVELS = (
    (0.9, "required for\nindividual\ndecisions"),
    (0.7, "required for\ncomparing\ngroups"),
)
MOST_BEST = 5  # respondents that are named
MOST_NAMES = 10  # items that differ between groups and are named
MANY = 200  # more points are drawn small, and without bars
LEAST_REACH = 0.1  # of the axis of differences


class CurvesDisplay(Display):
    """Expected response to each item, from low ability to high; right counts 1, wrong 0.

    The frame is long: one row per `item` and `ability`, with the `expected` response there
    and the item's `discrimination`. Up to eight items are drawn by name, up to three hundred as
    thin lines in the colour of the sign of their discrimination, and more as bands that hold half
    and nine tenths of the curves.
    """

    numbers = ("ability", "expected", "discrimination")
    labels = ("item",)
    needed = ("ability", "expected")
    without = ""
    inches = (7.6, 4.2)
    x_label, y_label = "ability", "expected response"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        names, parts = lines_by_name(self._rows, "item", self.numbers)
        slopes = np.array([part[0, 2] for part in parts])
        curves = [part[:, :2] for part in parts]
        entries: list[tuple[Artist, str]] = []
        notes: list[str] = []
        if len(curves) <= MOST_NAMED:
            width = name_width(ax, style, 24)
            for k, (name, curve) in enumerate(zip(names, curves, strict=True)):
                dash = "--" if slopes[k] < 0 else "-"
                look: dict[str, Any] = {"linestyle": dash, "marker": lone_marker(curve)}
                colour = style.palette[k % len(style.palette)]
                (line,) = ax.plot(*curve.T, color=colour, linewidth=1.8, **look)
                entries.append((line, label(name, width)))
            notes = ["dashed: negative discrimination"] if (slopes < 0).any() else []
        else:
            for colour, meaning, chosen in by_sign(style, slopes):
                some = [curves[k] for k in np.flatnonzero(chosen)]
                crowded = len(curves) > MOST_LINES and len(some) >= FEWEST_IN_BAND
                (_draw_bands if crowded else _draw_lines)(ax, some, colour)
                handle = legend_handle(color=colour, linewidth=2.0 if crowded else 1.6)
                entries.append((handle, f"{meaning}\n({len(some):,} of {len(curves):,} items)"))
                if crowded:
                    notes = ["thick line: median curve; bands: the middle 50% and 90% of curves"]
        legend_beside(style, ax, entries)
        points = np.concatenate(curves)
        if np.ptp(points[:, 0]) > 0:
            ax.set_xlim(points[:, 0].min(), points[:, 0].max())
        low, high = min(0.0, points[:, 1].min()), max(1.0, points[:, 1].max())
        ax.set_ylim(low - 0.02 * (high - low), high + 0.02 * (high - low))
        return notes


def by_sign(style: Style, discrimination: Floats) -> list[tuple[str, str, Bools]]:
    """Return colour, meaning and items of each sign that occurs; negative last, to be on top."""
    groups = [
        (style.neutral, "discrimination unknown", np.isnan(discrimination)),
        (style.positive, "discrimination ≥ 0", discrimination >= 0),
        (style.negative, "discrimination < 0", discrimination < 0),
    ]
    return [group for group in groups if group[2].any()]


def _draw_lines(ax: Axes, curves: list[Floats], colour: str) -> None:
    alpha = float(np.clip(4.0 / np.sqrt(len(curves)), 0.3, 0.9))  # many lines overlap
    ax.add_collection(LineCollection(curves, colors=colour, linewidths=0.9, alpha=alpha))


def _draw_bands(ax: Axes, curves: list[Floats], colour: str) -> None:
    ends = np.array([curve[[0, -1], 0] for curve in curves])
    grid = np.linspace(ends.min(), ends.max(), 121)
    # An item counts only within its own abilities.
    heights = [np.interp(grid, c[:, 0], c[:, 1], left=np.nan, right=np.nan) for c in curves]
    levels = pd.DataFrame(heights).quantile([0.05, 0.25, 0.5, 0.75, 0.95]).to_numpy()
    ax.fill_between(grid, levels[0], levels[4], color=colour, alpha=0.15, linewidth=0)
    ax.fill_between(grid, levels[1], levels[3], color=colour, alpha=0.30, linewidth=0)
    ax.plot(grid, levels[2], color=colour, linewidth=2.0)


class GradesDisplay(Display):
    """Probability of each grade of an item, from low ability to high.

    The frame is long: one row per `grade` and `ability`, with the `probability` there and its
    standard error, `probability_se`. Bands reach 1.96 standard errors both ways.
    """

    numbers = ("grade", "ability", "probability", "probability_se")
    labels = ("item",)
    needed = ("grade", "ability", "probability")
    without = ""
    inches = (7.6, 4.2)
    x_label, y_label = "ability", "probability"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        rows = self._rows.sort_values("grade", kind="stable")
        grades, lines = lines_by_name(rows, "grade", self.numbers[1:])
        colours = _shades(len(grades))
        entries: list[tuple[Artist, str]] = []
        for k, (grade, line) in enumerate(zip(grades, lines, strict=True)):
            ability, middle, error = line.T
            reach = 1.96 * np.nan_to_num(error)
            low, high = np.clip([middle - reach, middle + reach], 0.0, 1.0)
            ax.fill_between(ability, low, high, color=colours[k], alpha=0.15, linewidth=0)
            (handle,) = ax.plot(ability, middle, color=colours[k], linewidth=1.8)
            if len(grades) <= MOST_GRADES or k in (0, len(grades) - 1):
                entries.append((handle, f"grade {grade:g}"))
        legend_beside(style, ax, entries)
        ax.set_ylim(-0.02, 1.02)
        return [f"{label(rows['item'].iloc[0])}; bands: ±1.96 standard errors"]


class InformationDisplay(Display):
    """Information and standard error of a test along the scale.

    The frame has one row per `ability`, with the `information` and `se` of the test there.
    With a column `item`, rows that name an item hold its own information and are drawn thin
    below; rows of the test leave `item` missing. `se_ax_` is the axes of the standard error.
    """

    numbers = ("ability", "information", "se")
    needed = ("ability",)
    nothing = (
        "no row of the test has a finite ability and information. If there is a column 'item', "
        "leave it missing in these rows."
    )
    without = ""
    x_label, y_label = "ability", "information (solid)"

    se_ax_: Axes

    def _prepare(self) -> None:
        rows = self._rows.sort_values("ability", kind="stable")
        of_item = rows["item"].notna() if "item" in rows.columns else np.zeros(len(rows), bool)
        self._test, self._items = rows[~of_item], rows[of_item]
        if not np.isfinite(self._test["information"]).any():
            self._refuse()

    @property
    def instead(self) -> str:
        """What a flat line says: models of normal scores measure every ability equally well."""
        information = self._test["information"].to_numpy()
        if not self._items.empty or np.ptp(information) > FLAT * np.abs(information).max():
            return ""
        if np.abs(information).max() < NEXT_TO_NOTHING:
            return "The items measure nothing: information is next to 0 at every ability."
        return (
            f"Information is {information[0]:.3g} at every ability (standard error "
            f"{self._test['se'].iloc[0]:.2g}): this model measures all abilities equally well."
        )

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        self.se_ax_ = ax.twinx()
        ability, information, se = (self._test[name].to_numpy() for name in self.numbers)
        se = np.where(np.isfinite(se), se, np.nan)
        marker = lone_marker(ability)
        ax.plot(ability, information, color=style.positive, linewidth=2.2, marker=marker)
        dashed: dict[str, Any] = {"linewidth": 1.8, "linestyle": DASHED, "marker": marker}
        self.se_ax_.plot(ability, se, color=style.negative, **dashed)
        if len(ability) > 1 and np.ptp(ability) > 0:
            ax.set_xlim(ability[0], ability[-1])
        ax.set_ylim(0, _top(information, np.inf))
        self.se_ax_.set_ylim(0, _top(se, TALLEST_SE))
        self.se_ax_.set_ylabel("standard error (dashed)")
        apply(style, self.se_ax_)
        for side in ("left", "bottom"):
            self.se_ax_.spines[side].set_visible(False)
        self.se_ax_.spines["right"].set_visible(True)
        for axes, colour in ((ax, style.positive), (self.se_ax_, style.negative)):
            axes.yaxis.label.set_color(colour)
        if self._items.empty:
            return [KNOWN]
        columns = ("ability", "information")
        names, curves = lines_by_name(self._items, "item", columns)
        number, tallest = counted(len(names), "item"), self._items["information"].max()
        if not tallest >= LOWEST_ITEM * self._test["information"].max():
            return [KNOWN, f"not drawn: information of {number}, at most {tallest:.2g} each"]
        alpha = float(np.clip(6.0 / np.sqrt(len(curves)), 0.15, 0.8))
        look: dict[str, Any] = {"linewidths": 0.8, "alpha": alpha, "zorder": 1.5}
        ax.add_collection(LineCollection(curves, colors=style.neutral, **look))
        return [KNOWN, f"thin grey: each item's own information ({number})"]


def _top(values: Floats, times_least: float) -> float:
    """Return the upper limit of an axis: the largest value, or so many times the least."""
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.max() <= 0:
        return 1.0
    return 1.06 * float(min(finite.max(), times_least * finite[finite > 0].min()))


class ReliabilityDisplay(Display):
    """Reliability of measured abilities along the scale.

    The frame has one row per `ability`, with the `reliability` and the standard error `se` there.
    The area under the curve is filled where the standard error is within √2 of its minimum.
    """

    numbers = ("ability", "reliability", "se")
    needed = ("ability", "reliability")
    without = ""
    x_label, y_label = "ability", "reliability"

    @property
    def instead(self) -> str:
        """What a flat line says."""
        values = self._rows["reliability"].to_numpy()
        if np.ptp(values) > FLAT * np.abs(values).max():
            return ""
        return f"Reliability is {values[0]:.3f} at every ability."

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        rows = self._rows.sort_values("ability", kind="stable")
        ability, reliability, se = (rows[name].to_numpy() for name in self.numbers)
        colour, marker = style.positive, lone_marker(ability)
        ax.plot(ability, reliability, color=colour, linewidth=2.2, marker=marker)
        sharp = np.isfinite(se) & (se > 0)
        if sharp.any():  # within √2 of the least: half of the most information
            sharp &= se <= np.sqrt(2) * se[sharp].min()
        filled = bool((sharp[1:] & sharp[:-1]).any())  # one point alone fills nothing
        if filled:
            look: dict[str, Any] = {"color": colour, "alpha": 0.15, "linewidth": 0}
            ax.fill_between(ability, reliability, where=list(sharp), **look)
        if len(ability) > 1 and np.ptp(ability) > 0:
            ax.set_xlim(ability[0], ability[-1])
        ax.set_ylim(min(0.0, float(reliability.min())), 1.0)
        right = ax.get_yaxis_transform()
        for level, text in LEVELS:
            ax.axhline(level, color=style.neutral, linewidth=1.0, linestyle=DASHED, zorder=1)
            write_off(style, ax, text, (1.0, level), (4.0, 0.0), xycoords=right)
        sharpest = ["filled: standard error within a factor √2 of its minimum"] if filled else []
        return [*sharpest, KNOWN]


class SaturationDisplay(Display):
    """Information of a benchmark along the scale; the best respondents are named on the curve.

    The frame has two kinds of rows. Those of the curve have `ability` and `information`, and their
    `respondent` is missing; those of respondents have `ability` and its `se`. Bars of the best
    reach 1.96 standard errors both ways; all others are ticks on the axis. The share of the maximum
    information is said if rows of respondents have `information_left`, at `ability_top`, the mean
    of the `best` few, and `information_median`, at `ability_middle`.
    """

    numbers = ("ability", "information", "se")
    labels = ("respondent",)
    needed = ("ability",)
    nothing = "no row without 'respondent' has a finite ability and information."
    without = ""
    inches = (7.6, 4.4)
    x_label, y_label = "ability", "information of all items"

    def _prepare(self) -> None:
        on_curve = self._rows["respondent"].isna()
        curve = self._rows[on_curve & np.isfinite(self._rows["information"])]
        if curve.empty:
            self._refuse()
        self._curve = curve.sort_values("ability", kind="stable")
        respondents = self._rows[~on_curve]
        self._respondents = respondents.sort_values("ability", ascending=False, kind="stable")

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        ability, information = (self._curve[name].to_numpy() for name in self.numbers[:2])
        top = float(information.max()) or 1.0
        ax.fill_between(ability, information, color=style.positive, alpha=0.12, linewidth=0)
        ax.plot(ability, information, color=style.positive, linewidth=2.2)
        best = self._respondents[: max(1, min(MOST_BEST, lines_that_fit(ax, style.small) - 1))]
        abilities = self._respondents["ability"].to_numpy()
        others = abilities[len(best) :]
        ax.vlines(others, 0.0, 0.03 * top, color=style.neutral, linewidth=0.8, alpha=0.6)
        x, reach = best["ability"].to_numpy(), 1.96 * best["se"].to_numpy()
        height = np.interp(x, ability, information)
        ends = x + np.where(np.isfinite(reach), reach, 0.0) * np.array([[-1.0], [1.0]])
        every = np.concatenate([ability, abilities, ends.reshape(-1)])
        pad = 0.02 * float(np.ptp(every)) or 1.0
        ax.set_ylim(0.0, 1.08 * top)
        ax.set_xlim(float(every.min()) - pad, float(every.max()) + pad)
        ax.hlines(height, *ends, color=style.negative, linewidth=1.4, alpha=0.5)
        ax.scatter(x, height, s=26, color=style.negative, zorder=3)
        width = name_width(ax, style, 26)
        names = [f"{rank}  {label(name, width)}" for rank, name in enumerate(best["respondent"], 1)]
        names_beside(style, ax, names, np.stack([x, height], axis=1), [style.ink] * len(names))
        if best.empty:
            return ["no respondent has an ability"]
        notes = [f"bar: ±1.96 standard errors of the best {len(best)}, numbered by ability"]
        notes += remark("ticks: {}", len(others), "other")
        shares = ["information_left", "information_median", "ability_top", "ability_middle", "best"]
        row = self._respondents.iloc[0]
        if set(shares) <= set(row.index) and np.isfinite(row[shares].to_numpy(float)).all():
            notes.append(
                f"share of the maximum information: {row['information_left']:.1%} at ability "
                f"{row['ability_top']:.2f} (mean of the {row['best']:.0f} with the best results), "
                f"{row['information_median']:.1%} at {row['ability_middle']:.2f} (median)"
            )
        return notes


class DifferentialDisplay(Display):
    """Difference of the expected response between groups at the same ability, by share right.

    The frame has one row per item and group, with items as its index: `share_reached`, `difference`
    and its standard error `difference_se`. With `differs`, those rows are coloured and named, with
    the `group` if there are several; bars reach 1.96 standard errors each way.
    """

    numbers = ("share_reached", "difference", "difference_se")
    noun, without = "item", "a difference"
    inches = (7.6, 4.6)
    x_label, y_label = "share right, all respondents", "difference at the same ability"

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        rows, differs = self._rows, flags(self._rows, "differs")
        points = rows[["share_reached", "difference"]].to_numpy()
        reach: Floats = 1.96 * rows["difference_se"].to_numpy()
        few = len(points) <= MANY
        ax.axhline(0.0, color=style.neutral, linewidth=0.9, zorder=1)
        for chosen, colour in ((~differs, style.positive), (differs, style.negative)):
            (x, y), half = points[chosen].T, reach[chosen]
            if few or colour == style.negative:
                bars: dict[str, Any] = {"colors": colour, "linewidth": 1.0, "alpha": 0.35}
                ax.vlines(x, y - half, y + half, zorder=2, **bars)
            ax.scatter(x, y, s=22 if few else 7, color=colour, alpha=0.75, linewidth=0, zorder=3)
        # All points are shown, and bars as far as they do not dwarf them.
        y = points[:, 1]
        room = max(0.4 * float(np.abs(y).max()), LEAST_REACH)
        low = max(float((y - reach).min()), float(y.min()) - room)
        high = min(float((y + reach).max()), float(y.max()) + room)
        ax.set_ylim(*padded((min(low, -LEAST_REACH), max(high, LEAST_REACH))))
        ax.set_xlim(-0.02, 1.02)
        several = "group" in rows.columns and len(rows["group"].unique()) > 1
        width, texts = name_width(ax, style, 24), []
        fit = lines_that_fit(ax, style.small) - 1
        named = np.flatnonzero(differs)
        largest = np.argsort(-np.abs(y[named]), kind="stable")
        named = named[largest][: max(1, min(MOST_NAMES, fit))]
        for k in named.tolist():
            group = f", {label(rows['group'].iloc[k], 12)}" if several else ""
            texts.append(f"{label(rows.index[k], width)}{group}  {y[k]:+.2f}")
        names_beside(style, ax, texts, points[named], [style.negative] * len(named))
        total = counted(len(rows), "comparison" if several else "item")
        return [
            f"in colour: {int(differs.sum()):,} of {total} beyond chance and misfit",
            "above zero: in favour of the group; bar: ±1.96 standard errors",
        ]


class GroupCurvesDisplay(Display):
    """Curves of items by group of respondents, one panel per item, with 95 % bands.

    The frame is long: one row per `item`, `group` and `ability`, with the `expected` response, as a
    share of the highest, and `low` and `high` of its interval. The first `panels` items are drawn.
    """

    numbers, labels = ("ability", "expected", "low", "high"), ("item", "group")
    x_label, y_label, grid_lines = "ability", "expected response", ""
    without = "four finite numbers"

    def __init__(self, frame: pd.DataFrame, panels: int = MOST_PANELS) -> None:
        self.panels = whole_number(panels, "panels", 1)
        super().__init__(frame)

    def _prepare(self) -> None:
        items = panels_by(self._rows, "item", "item")
        self._shown, self._n_hidden = items[: self.panels], max(0, len(items) - self.panels)
        self._groups: list[Hashable] = list(dict.fromkeys(self._rows["group"].tolist()))

    def _size(self) -> tuple[float, float]:
        rows, columns = arranged(len(self._shown))
        return 2.4 + 2.3 * max(columns, 2), 1.1 + 1.9 * rows

    def _draw(self, ax: Axes, style: Style) -> list[str]:
        texts = [label(group, 18) for group in self._groups]
        across, count = self._rows["ability"].to_numpy(), len(self._shown)
        ends = padded((float(across.min()), float(across.max())), 0.02)
        panels = drawn_panels(ax, style, count, ends, beside=legend_width(style, texts))
        colours: list[Any] = list(style.palette[: len(texts)])
        if len(texts) > len(style.palette):
            colours = _shades(len(texts))
        dashes: list[Any] = ["-", *[DASHED] * (len(texts) - 1)]
        for (row, column), (name, part) in zip(panels.cells(count), self._shown, strict=True):
            for k, group in enumerate(self._groups):
                line = part[part["group"] == group].sort_values("ability")
                x = panels.x(line["ability"].to_numpy(), column)
                y, low, high = (panels.y(line[each].to_numpy(), row) for each in self.numbers[1:])
                ax.fill_between(x, low, high, color=colours[k], alpha=0.15, linewidth=0, zorder=2)
                look = {"color": colours[k], "linewidth": 1.6, "linestyle": dashes[k]}
                ax.plot(x, y, marker=lone_marker(x), zorder=3, **look)
            panels.title(ax, style, (row, column), label(name, panels.characters(style.small)))
        panels.name_edges(ax, style)
        entries = [
            (legend_handle(color=colour, linewidth=1.8, linestyle=dash), text)
            for colour, dash, text in zip(colours, dashes, texts, strict=True)
        ]
        legend_beside(style, ax, entries)
        return ["band: 95 % interval", *remark("not shown: {}", self._n_hidden, "other item")]


class OptionCurvesDisplay(GroupCurvesDisplay):
    """How likely options are along the scale, one panel per item, with 95 % bands.

    The frame is that of `GroupCurvesDisplay`: `group` is the option, `expected` its probability.
    """

    y_label = "probability"


def _shades(count: int) -> list[Any]:
    """Return as many colours from dark to light."""
    return list(colormaps["viridis"](np.linspace(0.0, 0.88, count)))

"""Rows of models and of suspicious items, with what each is compared to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.displays.display import flags, remark
from itemwise.displays.interval_rows import AllRows, Rows
from itemwise.displays.style import DASHED, Style, label, legend_beside, legend_handle, text_beside
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

    from itemwise.numerics.arrays import Floats

CLOSE, FAIR = 0.05, 0.08  # the usual limits (Browne and Cudeck, 1993)
NO_SUPPORT = 10.0  # so far behind, a model has next to no support (Burnham and Anderson, 2002)
OTHERS = 5  # rows without suspicion, for comparison


class ModelFitDisplay(AllRows):
    """Misfit of each model by RMSEA, beside the usual limits; the bar is the 90 % interval.

    The frame has one row per model, which is its index, with `rmsea`, `rmsea_low` and
    `rmsea_high`. Rows keep their order; those without RMSEA are counted below.
    """

    numbers = ("rmsea", "rmsea_low", "rmsea_high")
    needed = ("rmsea",)
    nothing = (
        "the column 'rmsea' holds no finite number. A model without degrees of freedom has none."
    )
    without = "RMSEA"
    unnamed_label = "row"
    x_label = "RMSEA (bar: 90 % interval)"

    def _draw_rows(self, ax: Axes, style: Style, height: Floats, *, few: bool) -> list[str]:
        value, low, high = (self._rows[name].to_numpy() for name in self.numbers)
        left, right = (np.where(np.isnan(end), value, end) for end in (low, high))
        width = 1.6 if few else 0.7
        ax.hlines(height, left, right, color=style.positive, linewidth=width, alpha=0.45, zorder=2)
        ax.scatter(value, height, s=22.0 if few else 5.0, color=style.positive, zorder=3)
        end = max(0.105, 1.08 * float(np.append(high[np.isfinite(high)], value).max()))
        ax.set_xlim(0.0, end)
        for limit in (CLOSE, FAIR):
            ax.axvline(limit, color=style.neutral, linewidth=1.0, linestyle=DASHED, zorder=1)
        words: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": style.small}
        for start, stop, word in (
            (0.0, CLOSE, "close"),
            (CLOSE, FAIR, "fair"),
            (FAIR, end, "poor"),
        ):
            if (stop - start) / end > 0.09:  # else it is too narrow for the word
                place = (start + stop) / 2, 1.01
                ax.text(*place, word, transform=ax.get_xaxis_transform(), color=style.ink, **words)
        return []


class ModelComparisonDisplay(AllRows):
    """Difference of each model from the best by AIC and by BIC; the best is on top.

    The frame has one row per model, which is its index, with `aic`, `bic` and the Akaike weight
    `weight`; with a column `converged`, models that did not converge are hollow. The axis is
    linear up to 10 and logarithmic beyond, where the distance hardly matters.
    """

    numbers = ("aic", "bic", "weight")
    needed = ("aic",)
    noun, without = "model", "AIC"
    margin, row_height = 1.3, 0.26
    x_label = "difference from the best model"

    def _prepare(self) -> None:
        self._rows = self._rows.sort_values("aic", kind="stable")
        late = "converged" in self._rows.columns
        self._done = [bool(done) for done in self._rows["converged"]] if late else []

    def _draw_rows(self, ax: Axes, style: Style, height: Floats, *, few: bool) -> list[str]:
        behind = {
            name: self._rows[name].to_numpy() - self._rows[name].min() for name in ("aic", "bic")
        }
        distances = np.concatenate([[0.0], *behind.values()])
        self._scale(ax, float(distances[np.isfinite(distances)].max()))
        looks = (("aic", style.positive, "o", -0.14), ("bic", style.negative, "s", 0.14))
        handles: list[PathCollection] = []
        for name, colour, marker, aside in looks:  # a little apart, so that equal ones are seen
            face = [colour if done else style.paper for done in self._done] or colour
            dots: dict[str, Any] = {"s": 30.0 if few else 5.0, "marker": marker, "zorder": 3}
            at = height + aside
            ax.scatter(behind[name], at, facecolor=face, edgecolor=colour, **dots)
            handles.append(ax.scatter([], [], s=30.0, marker=marker, color=colour))
        legend_beside(style, ax, handles, ["AIC", "BIC"])
        ax.axvspan(0.0, 2.0, color=style.faint, alpha=0.6, zorder=0, linewidth=0)
        return [
            "in brackets: Akaike weight; grey band: hardly distinguishable by these data",
            *remark("hollow: not converged ({})", self._done.count(False), "model"),
        ]

    @staticmethod
    def _scale(ax: Axes, farthest: float) -> None:
        if farthest <= NO_SUPPORT:
            ax.set_xlim(-0.4, max(1.08 * farthest, 4.0))
            return
        ax.set_xscale("symlog", linthresh=NO_SUPPORT, linscale=1.0)
        ax.set_xlim(-0.6, 1.6 * farthest)
        powers = 10.0 ** np.arange(1, np.ceil(np.log10(1.6 * farthest)) + 1)
        ticks = [tick for tick in (0, 2, 5, *powers) if tick <= 1.6 * farthest]
        ax.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        ax.xaxis.minorticks_off()

    def _names(self, width: int) -> list[str]:
        weights = zip(self._rows.index, self._rows["weight"], strict=True)
        return [f"{label(name, width)}  ({weight:.2f})" for name, weight in weights]


class SuspectsDisplay(Rows):
    """Strong and weak respondents on the items most likely to have a wrong label.

    The frame has one row per item, which is its index: `evidence`, the probability that its label
    is wrong, `share_right_strong`, `share_right_weak`, and if known, `suspect`. Suspects come
    first, at most 30 rows in all. On an item with a right label, strong respondents do better.
    """

    numbers = ("evidence", "share_right_weak", "share_right_strong")
    order, most_rows = "evidence", 30
    further = ("item", "with less evidence")
    x_label = "share of right responses"

    def _prepare(self) -> None:
        super()._prepare()
        self._suspects = int(flags(self._rows, "suspect").sum())

    def _wanted(self) -> int:
        return min(super()._wanted(), self._suspects + OTHERS)

    def _size(self) -> tuple[float, float]:
        return self.inches[0], self.margin + self.row_height * max(5, self._wanted())

    def _draw_rows(self, ax: Axes, style: Style, rows: pd.DataFrame, height: Floats) -> list[str]:
        evidence, weak, strong = (rows[name].to_numpy() for name in self.numbers)
        colours = np.where(flags(rows, "suspect"), style.negative, style.positive)
        ax.hlines(height, weak, strong, color=colours, linewidth=1.4, alpha=0.5, zorder=2)
        ax.scatter(weak, height, s=40, facecolor=style.paper, edgecolor=colours, zorder=3)
        ax.scatter(strong, height, s=16, color=colours, zorder=4)
        ax.set_xlim(-0.03, 1.03)
        for at, chance in zip(height, evidence, strict=True):
            text_beside(style, ax, f"{chance:.0%}", at, x=1.03)
        ink: dict[str, Any] = {"color": style.ink, "linestyle": "none", "marker": "o"}
        handles = [
            legend_handle(markerfacecolor=style.paper, markersize=6.0, **ink),
            legend_handle(markersize=4.0, **ink),
            legend_handle(color=style.negative, linewidth=2.0),
        ]
        texts = ["weak third", "strong third", "suspect"]
        legend_beside(style, ax, handles, texts, left=1.12)  # beside the probabilities
        suspects = counted(self._suspects, "suspect")
        return [f"on the right: probability that the label is wrong; {suspects}"]

"""How many items and epochs a comparison of two models needs, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive._validation import as_number, checked_share, whole_number
from ogive.data.responses import Responses, Table, as_responses
from ogive.data.study_tables import DOCUMENT, TASK, groups_of, on_one_scale
from ogive.errors import InputError
from ogive.evaluation.pilots import SAME, UNTOLD, Pilot, assumed, bank_needs, measured
from ogive.evaluation.power import FEWEST, MOST, Aim, Variance
from ogive.results.base import Result
from ogive.results.numbers import counted, shown
from ogive.stats.intervals import normal_reach

if TYPE_CHECKING:
    from ogive.irt.calibration import Calibration
    from ogive.results.plots.figure import Display

__all__ = ["EvaluationPlan", "plan"]


def check_amounts(difference: object, cost: object, n_items: object) -> None:
    """Refuse amounts that cannot be."""
    if not 0 < as_number(difference) < np.inf:
        raise InputError(
            f"`difference` must be above 0, such as 0.03 for three points, got {shown(difference)}."
        )
    if cost is not None and not 0 <= as_number(cost) < np.inf:
        raise InputError(f"`cost` must be a number of at least 0, got {shown(cost)}.")
    if n_items is not None:
        whole_number(n_items, "n_items", FEWEST)


def check_in_range(difference: float, table: Responses | None) -> None:
    """Refuse a difference that no two mean scores can have."""
    widest = 1.0 if table is None else range_of(table)
    if difference < widest:
        return
    share = difference / 100
    near = " Three points of accuracy are 0.03." if widest == 1.0 else " Give a smaller one."
    near = f" Did you mean {share:g}?" if widest == 1.0 and 1 < difference < 100 else near
    what = "scores lie between 0 and 1" if widest == 1.0 else f"scores span {widest:g}"
    raise InputError(
        f"difference is {difference:g}, but {what}, so that no two models differ by so much.{near}"
    )


def range_of(table: Responses) -> float:
    """Return the range of scores: 1 for right and wrong answers, else as observed."""
    if table.kind in ("binary", "nominal") or not table.observed.any():
        return 1.0
    return max(float(np.nanmax(table.values) - np.nanmin(table.values)), np.finfo(float).tiny)


def refuse(why: str, **given: object) -> None:
    """Refuse arguments that do not apply."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} does not apply here: {why}.")


TOKENS = ("input_tokens", "output_tokens")  # facts of respondents: means per answer
COST = "answer_cost"


@dataclass(frozen=True)
class AnswerCost:
    """Of one answer, on average; None where it is not known."""

    tokens: tuple[float, float] | None = None  # in the question, in the answer
    cost: float | None = None
    notes: tuple[str, ...] = ()

    def added_to(self, sizes: pd.DataFrame) -> pd.DataFrame:
        """Return columns for all answers of each design."""
        found = sizes.copy()
        if self.tokens is not None:
            for name, each in zip(TOKENS, self.tokens, strict=True):
                found[name] = found["answers"] * each
        if self.cost is not None:
            found["cost"] = found["answers"] * self.cost
        return found


def answer_cost(
    pilot: Responses | None, names: Sequence[str], cost: float | None, price: object
) -> AnswerCost:
    """Return what an answer of these respondents of a pilot takes.

    `cost` is that of one answer, and `price` that of one token, or of one in questions and one in
    answers. Without either, logs may tell what answers cost.
    """
    prices = _prices(price)
    if cost is not None and prices is not None:
        raise InputError("cost and price are given, but each tells what answers cost: give one.")
    known = {name: _mean(pilot, name, names) for name in (*TOKENS, COST)}
    tokens = (known[TOKENS[0]], known[TOKENS[1]])
    told = None if tokens[0] is None or tokens[1] is None else (tokens[0], tokens[1])
    if prices is not None:
        if told is None:
            raise InputError(
                "price is that of a token, but the pilot does not tell how many tokens an answer "
                "takes: read it from logs of Inspect, or add the facts input_tokens and "
                "output_tokens to its respondents. Or give the cost of an answer."
            )
        return AnswerCost(told, told[0] * prices[0] + told[1] * prices[1])
    if cost is None and known[COST] is not None:
        note = "What answers cost is as the logs of the pilot say."
        return AnswerCost(told, known[COST], (note,))
    return AnswerCost(told, cost)


def _prices(given: object) -> tuple[float, float] | None:
    """Return price of a token in questions, and in answers."""
    if given is None:
        return None
    several = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    numbers = [as_number(each) for each in several]
    if len(numbers) not in (1, 2) or not all(0 <= each < np.inf for each in numbers):
        raise InputError(
            "`price` must be the price of one token, or two prices: of a token in questions, and "
            f"of one in answers, got {shown(given)}."
        )
    return numbers[0], numbers[-1]


def _mean(pilot: Responses | None, name: str, names: Sequence[str]) -> float | None:
    """Return the mean of a fact over respondents; None if it is not known of all."""
    facts = None if pilot is None else pilot.respondent_facts
    if pilot is None or facts is None or name not in facts:
        return None
    found = [as_number(value) for value in facts.loc[list(dict.fromkeys(names)), name]]
    return float(np.mean(found)) if np.isfinite(found).all() else None


REACH = normal_reach(0.95)
STEPS = 25  # points of a curve
UNKNOWN = dict.fromkeys(("items_low", "items_high", "smallest_difference"), np.nan)
CORRELATION = 0.5  # correlation of two models' answers, assumed without a pilot
ASSUMED = (
    "Without a pilot, the variance follows from the accuracy and the correlation that were given: "
    "a few dozen items answered by two models would show it."
)
SCALE = (
    "On the scale of the item bank, the difference is that of the expected scores on this bank, "
    "and responses are taken to follow the model. A replay of real responses shows what that costs."
)
OTHER_UNITS = (
    "Scores of the item bank are in the units that tasks differ in, so how many of its items would "
    "be needed is not said. Bring each task to a scale from 0 to 1, and calibrate it again."
)


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationPlan(Result):
    """Items and epochs that a comparison of two models needs.

    `sizes` has one row per design and number of epochs: the items needed to find `difference`,
    with the interval that a small pilot leaves, the answers of both models together, and the
    smallest difference that the items at hand show. `within_share` is the share that chance of the
    try has in the variance of the difference of two models' single answers to the same item.
    """

    sizes: pd.DataFrame
    curves: pd.DataFrame  # smallest difference by design, epochs and number of items
    difference: float
    power: float
    alpha: float
    n_items: int | None  # at hand
    within_share: float  # of a difference's variance, by chance of the try; NaN if unknown
    within_share_se: float  # over items
    notes: tuple[str, ...] = ()
    shares: bool = True  # whether scores are shares of right answers, said in points
    pilot_tries: float = 1.0  # of an item, in a pilot
    pilot_shows: float = np.nan  # smallest difference that the items show with as many tries

    def to_frame(self) -> pd.DataFrame:
        """Return one row per design and number of epochs."""
        return self.sizes.copy()

    @property
    def meaning(self) -> str:
        """How many items are needed, what those at hand show, and what epochs would change."""
        first = self.sizes.iloc[0]
        tries = first["epochs"]
        often = "once" if tries == 1 else f"{tries:.0f} times"
        told = (
            f"To find a difference of {self._points(self.difference)} with a power of "
            f"{self.power:.0%}, two models need {_items(first)} each answered {often} by both."
        )
        return told + self._at_hand(first) + self._on_cost() + self._on_epochs()

    def _at_hand(self, first: pd.Series[Any]) -> str:
        """Return the smallest difference that the given items show, with its tries."""
        if self.n_items is None:
            return ""
        tries, shown = first["epochs"], self._points(first["smallest_difference"])
        told = f" {counted(self.n_items, 'item')} show differences from {shown}"
        if tries == 1 == self.pilot_tries:
            return f"{told}."
        told += " with one try each" if tries == 1 else f" with {tries:.0f} tries each"
        if self.pilot_tries in (1, tries):
            return f"{told}."
        as_asked = self._points(self.pilot_shows)
        return f"{told}, and from {as_asked} with {self.pilot_tries:.3g} as in the pilot."

    def _on_cost(self) -> str:
        """Return what that takes in tokens, if logs tell, and in money."""
        first = self.sizes.iloc[0]
        parts = []
        if "input_tokens" in first:
            parts.append(
                f"{first['input_tokens']:,.0f} tokens in questions and "
                f"{first['output_tokens']:,.0f} in answers"
            )
        if "cost" in first:
            parts.append(f"cost {first['cost']:,.4g}")
        return f" Answers take {', and '.join(parts)}." if parts else ""

    def _on_epochs(self) -> str:
        rows = self.sizes[self.sizes["design"] == SAME]
        if np.isnan(self.within_share) or len(rows) < 2:
            return ""
        most = rows.iloc[-1]
        reach = REACH * self.within_share_se
        low, high = max(0.0, self.within_share - reach), min(1.0, self.within_share + reach)
        return (
            " Of the variance of the difference of two models' single answers to the same item, "
            f"{self.within_share:.0%} (95 % interval {low:.0%} to {high:.0%}) is chance of the "
            f"try: with {most['epochs']:.0f} epochs, {most['items']:,.0f} items are enough, and "
            f"{most['answers']:,.0f} answers instead of {rows.iloc[0]['answers']:,.0f}."
        )

    def _points(self, difference: float) -> str:
        if not self.shares:
            return f"{difference:.3g}"
        return f"{float(f'{100 * difference:.2g}'):g} points"

    def plot(self, **kw: Any) -> Display:
        """Draw the smallest difference that is found, by number of items."""
        from ogive.results.plots import DISPLAYS

        bands: Any = DISPLAYS["bands"]
        drawn: Display = bands(self.curves, across="items").plot(**kw)
        return drawn


def _items(row: pd.Series[Any]) -> str:
    """Return items with their interval, where a pilot gave one."""
    told = counted(int(row["items"]), "item")
    if np.isnan(row["items_low"]):
        return f"about {told},"
    return f"{told} (95 % interval {row['items_low']:,.0f} to {row['items_high']:,.0f}),"


def plan(
    responses: Table | None = None,
    *,
    difference: float = 0.03,
    power: float = 0.8,
    alpha: float = 0.05,
    respondents: Sequence[str] | None = None,
    n_items: int | None = None,
    epochs: Sequence[int] = (1, 2, 5, 10),
    cluster: object = DOCUMENT,
    calibration: Calibration | None = None,
    accuracy: float | None = None,
    correlation: float | None = None,
    cost: float | None = None,
    price: Sequence[float] | None = None,
) -> EvaluationPlan:
    """Say how many items and epochs show a difference between two models.

    A pilot shows the variance: how much models differ from item to item, and from try to try.
    Without one, give the accuracy that you expect.

    Parameters
    ----------
    responses
        Pilot: responses of two or more models to the same items, repeated if epochs are to be
        planned. Omit it if there is none. If tasks, by the fact "task", differ in the units of
        their scores, each is put on a scale from 0 to 1, as by `leaderboard`.
    difference
        True difference of the mean scores that is to be found: 0.03 are three points.
    power
        Chance of finding it.
    alpha
        Rate of wrong claims, two-sided.
    respondents
        The two models of the pilot that are like those to be compared. If omitted, all neighbours
        in mean score, from the best to the worst, averaged; copies count as one.
    n_items
        Number of items at hand, for which the smallest difference is given; those of the pilot if
        omitted.
    epochs
        Numbers of tries per item to plan for.
    cluster
        Fact of the items that says which of them belong together, such as a document.
    calibration
        Item bank: adds how many of its items would be needed, at random and adaptively; and if it
        carries a replay (`replay_adaptively(responses).bank`), which of the sizes replayed are
        enough for an adaptive test and for a short form, by their real errors.
    accuracy
        Expected accuracy of the models, where there is no pilot.
    correlation
        Of the two models' answers over items, where there is no pilot; 0.5 if omitted.
    cost
        Cost of one answer, in any unit. If omitted, that which logs of the pilot tell, if any.
    price
        Price of one token, or two: of a token in questions, and of one in answers. The tokens that
        an answer takes are facts of the pilot's respondents, as logs of Inspect tell them; the
        frame then has columns for them.

    Examples
    --------
    >>> import ogive as og
    >>> og.plan(accuracy=0.7, difference=0.05).to_frame()["items"].tolist()
    [690.0, 1376.0]
    """
    checked_share(power, "power", 0.8)
    checked_share(alpha, "alpha", 0.05)
    check_amounts(difference, cost, n_items)
    table, units = None, list[str]()
    if responses is not None:
        given = as_responses(responses)
        tasks = groups_of(given, TASK, TASK, "task")
        table, units = (given, []) if given.kind == "nominal" else on_one_scale(given, tasks)
    check_in_range(as_number(difference), table)
    aim = Aim(float(difference), power, alpha)
    tried = sorted({whole_number(each, "epochs", 1, 10_000) for each in epochs})
    if table is None:
        refuse("give responses, a pilot", respondents=respondents, calibration=calibration)
        rows = assumed(accuracy, CORRELATION if correlation is None else correlation, aim)
        each = answer_cost(None, (), cost, price)
        return _planned(rows, aim, n_items, each, UNTOLD, [ASSUMED], None)
    refuse("the responses show it", accuracy=accuracy, correlation=correlation)
    pilot = Pilot.of(table, groups_of(table, cluster, DOCUMENT, "cluster"))
    shown = measured(pilot, respondents, tried)
    on_scale = None
    if calibration is not None and units:
        units = [*units, OTHER_UNITS]
    elif calibration is not None:
        on_scale = (calibration, pilot.level(shown.names))
    each = answer_cost(table, shown.names, cost, price)
    at_hand = n_items or table.n_items
    notes = [*units, *shown.notes_on(aim, pilot.n_near)]
    found = _planned(shown.rows, aim, at_hand, each, shown.share, notes, on_scale)
    return replace(
        found,
        pilot_tries=shown.tries,
        pilot_shows=aim.detectable(shown.as_asked, at_hand),
        shares=table.kind != "continuous" and range_of(table) == 1.0,
    )


def _planned(
    rows: list[Variance],
    aim: Aim,
    at_hand: int | None,
    each: AnswerCost,
    share: tuple[float, float],
    notes: list[str],
    on_scale: tuple[Calibration, float] | None,
) -> EvaluationPlan:
    """Gather the result."""
    found: list[dict[str, Any]] = []
    for row in rows:
        items = aim.needed(row)
        if np.isinf(items):
            raise InputError(
                f"difference is {aim.difference:g}: more than {MOST:.0e} items would be needed."
            )
        factor = float(np.exp(REACH * row.error / row.value)) if row.value > 0 else np.nan
        found.append(
            {
                "design": row.design,
                "epochs": row.epochs,
                "items": items,
                "items_low": aim.needed(row, 1 / factor) if factor > 0 else np.nan,
                "items_high": aim.needed(row, factor) if factor > 0 else np.nan,
                "answers": 2 * items * row.epochs,
                "smallest_difference": aim.detectable(row, at_hand) if at_hand else np.nan,
            }
        )
    if on_scale is not None:
        bank, level = on_scale
        found += [
            row | {"answers": 2 * row["items"], "epochs": 1, **UNKNOWN}
            for row in bank_needs(bank, level, aim.difference, power=aim.power, alpha=aim.alpha)
        ]
        short = np.isnan(found[len(rows)]["items"])
        notes = [
            *notes,
            f"The {len(on_scale[0].coords)} items of the bank are too few." if short else SCALE,
        ]
    sizes = each.added_to(pd.DataFrame(found))
    return EvaluationPlan(
        sizes=sizes,
        curves=_curves(rows, aim, sizes["items"].max()),
        difference=aim.difference,
        power=aim.power,
        alpha=aim.alpha,
        n_items=at_hand,
        within_share=share[0],
        within_share_se=share[1],
        notes=(*notes, *each.notes),
    )


def _curves(rows: list[Variance], aim: Aim, most: float) -> pd.DataFrame:
    """Return the smallest difference by number of items, on both sides of what is needed."""
    numbers = np.unique(np.geomspace(max(FEWEST, most / 30), max(most * 1.5, 30), STEPS).round())
    parts = [
        {
            "series": f"{row.design}, {counted(row.epochs, 'epoch')}",
            "x": n,
            "estimate": aim.detectable(row, n),
            "low": np.nan,
            "high": np.nan,
            "panel": "smallest difference found",
        }
        for row in rows
        if row.design == SAME or row.epochs == 1
        for n in numbers
    ]
    return pd.DataFrame(parts)

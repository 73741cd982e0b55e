"""Saturation: how well a benchmark still separates its best respondents, overall and by group.

The verdict rests on the first two of a leaderboard: how much of what the items allow the first has
reached, and whether the second differs from it. Respondents further down count only as further
pairs of that test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics.diagnosis import informative
from itemwise.diagnostics.reached_accuracy import Reached, Whole, expectation_of
from itemwise.numerics.arrays import Floats
from itemwise.numerics.clustered import Grouping
from itemwise.numerics.compared_rows import Pairs, compare_pairs, n_compared
from itemwise.numerics.differing import ALPHA
from itemwise.numerics.first_places import FINEST
from itemwise.numerics.intervals import wilson
from itemwise.numerics.linked_parts import linked_parts
from itemwise.responses import Responses
from itemwise.responses.artificial_respondents import are_marks
from itemwise.responses.stored_cells import as_floats
from itemwise.responses.study_tables import asked_once
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

ALL_ITEMS = "all items"
SATURATED, NEARLY, OPEN = "saturated", "nearly saturated", "open"
UNTOLD = "unknown"  # if there are few respondents or items, or few were answered by the best
MOST_BEST = 5
BEST_SHARE = 4  # one in four respondents is among the best, five at most
CEILING = 0.9  # share of what all items allow, from which little is left
LEAST_RESPONDENTS, LEAST_ITEMS = 3, 20  # for a verdict
MOSTLY = 0.5  # share of items that two of the best must have answered
POINTS = 61
CONFIDENCE = 0.95  # of all intervals


def saturation_frame(
    calibration: Calibration, table: Responses, groups: Sequence[str] | None
) -> pd.DataFrame:
    """One row for all items, and one per group; the best respondents are chosen for each row.

    The items of `calibration` are those of `table`.
    """
    import pandas as pd

    marks = are_marks(table.respondents)
    rivals = table.select(respondents=~marks) if marks.any() else table
    names = [] if groups is None else list(dict.fromkeys(groups))
    rows = {ALL_ITEMS: _row(calibration, rivals)}
    for name in names:
        places = [k for k, group in enumerate(groups or ()) if group == name]
        items = [table.items[k] for k in places]
        rows[name] = _row(calibration.of_items(items), rivals.select(items=places))
    return pd.DataFrame(rows.values(), index=pd.Index(rows, name="group"))


def information_along(calibration: Calibration, abilities: Floats) -> Floats:
    """Information at each ability, from the items on which respondents differed."""
    told = informative(calibration)
    if not told.any():
        return np.zeros(len(abilities))
    model = calibration.model.of_items(np.flatnonzero(told))
    found: Floats = model.information(calibration.coords[told], abilities).sum(axis=0)
    return found


def best_of(standing: Floats, asked: np.ndarray) -> np.ndarray:
    """Positions of the best respondents, best first: one in four, at least two, at most five."""
    order = _in_order(standing, asked)
    return order[: min(MOST_BEST, max(2, len(order) // BEST_SHARE))]


def _in_order(standing: Floats, asked: np.ndarray) -> np.ndarray:
    """Positions of those who were asked, the best first, as on a leaderboard."""
    there = np.flatnonzero(asked)
    found: np.ndarray = there[np.argsort(-np.round(standing[there], FINEST), kind="stable")]
    return found


def said_of_saturation(frame: pd.DataFrame) -> str:
    """A sentence on all items, and which groups are saturated."""
    row = frame.loc[[ALL_ITEMS]].iloc[0]
    if row["state"] == UNTOLD:
        return _said_of_unknown(row)
    n_items = counted(int(row["n_items"]), "item")
    text = (
        f"{str(row['state']).capitalize()}: the best respondent, {row['first']}, reaches "
        f"{row['top_share']:.0%} (95 % interval {row['top_low']:.0%} to {row['top_high']:.0%}) of "
        f"what {n_items} allow; {int(row['separate_best']):,} of them ({row['separate_share']:.0%}"
        f", {row['separate_low']:.0%} to {row['separate_high']:.0%}) still separate the best "
        f"{int(row['best'])}. {_said_of_lead(row)}"
    )
    parts = frame.drop(index=ALL_ITEMS)
    full = list(parts.index[parts["state"] == SATURATED])
    if not len(parts):
        return text
    if not full:
        return f"{text} No group of items is saturated on its own."
    still = int((parts["state"] == OPEN).sum())
    return f"{text} Saturated: {listed(full, 'group')} of {len(parts)}; open: {still}."


def _said_of_unknown(row: pd.Series[Any]) -> str:
    """Why there is no verdict."""
    n_items = counted(int(row["n_items"]), "item")
    if row["compared"] < LEAST_RESPONDENTS or row["n_items"] < LEAST_ITEMS:
        return (
            f"Saturation is not judged: it takes at least {LEAST_RESPONDENTS} respondents that "
            f"items link and {LEAST_ITEMS} items; there are {int(row['compared'])} and "
            f"{int(row['n_items'])}."
        )
    return (
        f"Saturation is unknown: only {row['told']:.0%} of {n_items} were answered by two or more "
        "of the best respondents."
    )


def _said_of_lead(row: pd.Series[Any]) -> str:
    """How much the best two differ, and whether significantly, by the rule of leaderboards."""
    two = f"The best two, {row['first']} and {row['second']},"
    if not row["lead_p"] <= 1:
        return f"{two} have no item in common."
    verdict = "significantly" if row["lead_p_adjusted"] <= ALPHA else "not significantly"
    return (
        f"{two} differ by {row['lead']:.3f} (95 % interval {row['lead_low']:.3f} to "
        f"{row['lead_high']:.3f}), {verdict} (p = {row['lead_p']:.2g} for this pair alone, "
        f"{row['lead_p_adjusted']:.2g} after correction for all pairs)."
    )


def _row(calibration: Calibration, table: Responses) -> dict[str, Any]:
    """Saturation of the items of a table, or of its largest part where no item links all."""
    calibration, table = _largest_part(calibration, table)
    ability = calibration.score(table, items_known=True)["ability"].to_numpy()
    reached, asked = _reached(calibration, table), np.asarray(table.observed.any(axis=1))
    order, best = _in_order(reached.mean, asked), best_of(reached.mean, asked)
    compared = {"n_items": table.n_items, "best": best.size, "compared": order.size}
    if not best.size:
        return {**compared, "state": UNTOLD}
    counts = _counts(calibration, table, best)
    top = _top(calibration, reached, int(order[0]))
    lead = _lead(table, order)
    enough = order.size >= LEAST_RESPONDENTS and table.n_items >= LEAST_ITEMS
    told = enough and counts["told"] >= MOSTLY
    return {
        **compared,
        **top,
        **counts,
        **_information(calibration, ability, best),
        "first": table.respondents[order[0]],
        "second": table.respondents[order[1]] if order.size > 1 else "",
        **lead,
        "state": _state(top, lead["lead_p_adjusted"]) if told else UNTOLD,
    }


def _largest_part(calibration: Calibration, table: Responses) -> tuple[Calibration, Responses]:
    """The best of parts that no item links cannot be compared, so the largest is taken."""
    rows, items = linked_parts(table.observed)
    if rows.any():
        table = table.select(respondents=rows == 0, items=items == 0)
        calibration = calibration.of_items(table.items)
    if calibration.responses is table:  # it scores its own table once
        return calibration, table
    return replace(calibration, responses=table, weights=None), table


def _reached(calibration: Calibration, table: Responses) -> Reached:
    """Mean response of everybody to all items, with its interval, as on a leaderboard."""
    values, parts = as_floats(table.cells), linked_parts(table.observed)
    bounded = bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1)
    strata, own = np.zeros(table.n_items, dtype=np.intp), np.arange(table.n_items)
    expectation = expectation_of(calibration, table)
    whole = Whole(table, calibration, expectation, strata, own, parts, bounded)
    return whole.reached(CONFIDENCE, whole.masked())


def _top(calibration: Calibration, reached: Reached, first: int) -> dict[str, float]:
    """How much of what all items allow the best has reached, with its interval."""
    lowest, highest = (float(np.mean(end)) for end in calibration.model.extent())
    share, low, high = (
        float(np.clip((each[first] - lowest) / (highest - lowest), 0.0, 1.0))
        for each in (reached.mean, reached.low, reached.high)
    )
    return {"top_share": share, "top_low": low, "top_high": high}


def _lead(table: Responses, order: np.ndarray) -> dict[str, float]:
    """Lead of the first over the second, with its interval and its test among all pairs."""
    names = ("lead", "lead_se", "lead_low", "lead_high", "lead_p", "lead_p_adjusted")
    if order.size < 2:
        return dict.fromkeys(names, np.nan)
    values = as_floats(table.cells[order[: n_compared(order.size)]])
    own = np.arange(table.n_items)
    pairs: Pairs = compare_pairs(
        values,
        Grouping.of(np.zeros_like(own), own),
        once=asked_once(table)[order[: len(values)]],
        bounded=bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1),
        confidence=CONFIDENCE,
        correction="holm",
    )
    first = (pairs.difference, pairs.se, pairs.low, pairs.high, pairs.p, pairs.p_adjusted)
    return dict(zip(names, (float(each[0]) for each in first), strict=True))


def _information(calibration: Calibration, ability: Floats, best: np.ndarray) -> dict[str, float]:
    """Information at the ability of the best and of the median; NaN where items have none."""
    top, middle = float(ability[best].mean()), float(np.median(ability))
    grid = np.linspace(float(ability.min()), float(ability.max()), POINTS)
    at_top, at_middle = map(float, information_along(calibration, np.array([top, middle])))
    peak = max(float(information_along(calibration, grid).max()), at_top, at_middle)
    return {
        "ability_top": top,
        "ability_middle": middle,
        "information_top": at_top,
        "information_middle": at_middle,
        "information_left": at_top / peak if peak > 0 else np.nan,
        "information_median": at_middle / peak if peak > 0 else np.nan,
        "se_top": at_top**-0.5 if at_top > 0 else np.nan,
        "se_middle": at_middle**-0.5 if at_middle > 0 else np.nan,
    }


def _counts(calibration: Calibration, table: Responses, best: np.ndarray) -> dict[str, Any]:
    """Items that all of the best solve, items on which they differ, and the share compared."""
    values = as_floats(table.cells[best])
    _, high = calibration.model.extent()
    asked = ~np.isnan(values)
    enough = asked.sum(axis=0) >= min(2, best.size)
    solved = enough & (asked <= (values >= high)).all(axis=0)
    differ = _differ(values)
    return {
        **_share("solved", int(solved.sum()), table.n_items),
        "separate_two": int(_differ(values[:2]).sum()),
        **_share("separate", int(differ.sum()), table.n_items),
        "told": float(enough.mean()),
    }


def _share(name: str, count: int, n: int) -> dict[str, Any]:
    """A count of items, its share of all, and Wilson's interval of it."""
    low, high = wilson(np.array([float(count)]), np.array([float(n)]), CONFIDENCE)
    counts = {"solved": "solved_by_best", "separate": "separate_best"}
    return {
        counts[name]: count,
        f"{name}_share": count / n,
        f"{name}_low": float(low[0]),
        f"{name}_high": float(high[0]),
    }


def _differ(values: Floats) -> np.ndarray:
    """Items to which not all responses are equal."""
    low = np.where(np.isnan(values), np.inf, values).min(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    differ: np.ndarray = high > low
    return differ


def _state(top: dict[str, float], lead_p: float) -> str:
    """Nearly saturated if the best has reached most; saturated if surely so, and the two tie."""
    if top["top_share"] < CEILING:
        return OPEN
    sure = top["top_low"] >= CEILING and not lead_p <= ALPHA
    return SATURATED if sure else NEARLY

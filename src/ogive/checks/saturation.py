"""Saturation: how well a benchmark still separates its best respondents, overall and by group.

The verdict rests on the first two of a leaderboard: how much of what the items allow the first has
reached, and whether the second differs from it. Respondents further down count only as further
pairs of that test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ogive.checks.residuals import informative
from ogive.data.responses import Responses
from ogive.data.study_tables import are_marks, asked_once
from ogive.irt.calibration import Calibration
from ogive.irt.predicted_accuracy import Reached, Whole, expectation_of
from ogive.irt.response_codes import as_floats
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import Grouping, wilson
from ogive.stats.linked_parts import linked_parts
from ogive.stats.pairwise_tests import ALPHA, FINEST, Pairs, answered_few, compare_pairs, n_compared

ALL_ITEMS = "all items"
SATURATED, NEARLY, OPEN = "saturated", "nearly saturated", "open"
UNKNOWN = "unknown"  # if there are few respondents or items, or few were answered by the best
MOST_BEST = 5
BEST_SHARE = 4  # one in four respondents is among the best, five at most
CEILING = 0.9  # share of what all items allow, from which little is left
LEAST_RESPONDENTS, LEAST_ITEMS = 3, 20  # needed for a verdict
MOSTLY = 0.5  # share of items that two of the best must have answered
POINTS = 61
CONFIDENCE = 0.95  # of all intervals
Ends = tuple[Floats, Floats]  # the worst and the best response that each item allows, (n_items,)


def saturation_frame(
    calibration: Calibration, table: Responses, groups: Sequence[str] | None
) -> pd.DataFrame:
    """Return one row for all items, and one per group, each with its own best respondents.

    The items of `calibration` are those of `table`.
    """
    marks = are_marks(table.respondents)
    rivals = table.select(respondents=~marks) if marks.any() else table
    low, high = score_ends(calibration)
    rows = {ALL_ITEMS: _row(calibration, rivals, (low, high))}
    for name in dict.fromkeys(groups or ()):
        inside = [k for k, group in enumerate(groups or ()) if group == name]
        own = calibration.of_items([table.items[k] for k in inside])
        rows[name] = _row(own, rivals.select(items=inside), (low[inside], high[inside]))
    return pd.DataFrame(rows.values(), index=pd.Index(rows, name="group"))


def score_ends(calibration: Calibration) -> Ends:
    """Return the worst and the best response that each item allows, (n_items,) each.

    Items of grades share the range of all of them, as on a leaderboard: a grade that an item allows
    need not have been reached.
    """
    low, high = _reached_ends(calibration)
    if calibration.model.kind == "graded":
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    return low, high


def _reached_ends(calibration: Calibration) -> Ends:
    """Return the ends of each item by itself: of grades, those that any respondent reached."""
    low, high = (np.asarray(end, dtype=float) for end in calibration.model.extent())
    n_items = len(calibration.coords)
    return np.broadcast_to(low, n_items), np.broadcast_to(high, n_items)


def information_along(calibration: Calibration, abilities: Floats) -> Floats:
    """Return information at each ability, from the items on which respondents differed."""
    known = informative(calibration)
    if not known.any():
        return np.zeros(len(abilities))
    model = calibration.model.of_items(np.flatnonzero(known))
    return np.asarray(model.information(calibration.coords[known], abilities).sum(axis=0))


def best_of(means: Floats, n_asked: np.ndarray) -> np.ndarray:
    """Return positions of the best respondents: one in four, at least two, at most five."""
    order = _in_order(means, n_asked)
    return order[: min(MOST_BEST, max(2, len(order) // BEST_SHARE))]


def _in_order(means: Floats, n_asked: np.ndarray) -> np.ndarray:
    """Return positions of respondents that were asked anything, best first, as on a leaderboard."""
    rows = np.flatnonzero(n_asked)
    few = answered_few(n_asked[rows], np.zeros_like(rows))
    return np.asarray(rows[np.lexsort((-np.round(means[rows], FINEST), few))])


def said_of_saturation(frame: pd.DataFrame, parts: int = 1) -> str:
    """Return a sentence on all items and on saturated groups; `parts` of the table are unlinked."""
    row = frame.loc[[ALL_ITEMS]].iloc[0]
    if row["state"] == UNKNOWN:
        return _said_of_unknown(row)
    n_items = counted(int(row["n_items"]), "item")
    its = "its " if parts > 1 else ""
    whose = f" of the largest of {parts:,} parts that no item links" if parts > 1 else ""
    predicted = ""
    if row["top_asked"] != row["n_items"]:
        answered = f"of the {int(row['top_asked']):,} it answered"
        predicted = f" (predicted; {row['top_observed']:.0%} {answered})"
    compared = "them"
    if row["share_answered"] != 1:
        which = "both" if row["best"] == 2 else "two or more"
        n_compared = round(row["share_answered"] * row["n_items"])
        compared = f"the {n_compared:,} that {which} of the best answered"
    text = (
        f"{str(row['state']).capitalize()}: the best respondent{whose}, {row['first']}"
        f"{_said_of_ties(row['first_tied'])}, reaches "
        f"{row['top_share']:.0%} (95 % interval {row['top_low']:.0%} to {row['top_high']:.0%}) of "
        f"what {its}{n_items} allow{predicted}; {int(row['separate_best']):,} of "
        f"{compared} ({row['separate_share']:.0%}, {row['separate_low']:.0%} to "
        f"{row['separate_high']:.0%}) still separate the best {int(row['best'])}"
        f"{_said_of_ties(row['cut_tied'], 'the last of them')}. "
        f"{_said_of_lead(row)}"
    )
    groups = frame.drop(index=ALL_ITEMS)
    full = list(groups.index[groups["state"] == SATURATED])
    if not len(groups):
        return text
    if not full:
        return f"{text} No group of items is saturated on its own."
    still = int((groups["state"] == OPEN).sum())
    return f"{text} Saturated: {listed(full, 'group')} of {len(groups)}; open: {still}."


def _said_of_ties(others: float, who: str = "") -> str:
    """Return a note that others have the same mean response."""
    if not others:
        return ""
    names = counted(int(others), "other")
    if not who:
        return f" (tied with {names})"
    return f" ({names} {'ties' if others == 1 else 'tie'} with {who})"


def _said_of_unknown(row: pd.Series[Any]) -> str:
    """Return the reason why there is no verdict."""
    n_items = counted(int(row["n_items"]), "item")
    if row["compared"] < LEAST_RESPONDENTS or row["n_items"] < LEAST_ITEMS:
        return (
            f"Saturation is not judged: it takes at least {LEAST_RESPONDENTS} respondents that "
            f"items link and {LEAST_ITEMS} items; there are {int(row['compared'])} and "
            f"{int(row['n_items'])}."
        )
    if row["share_answered"] >= MOSTLY:
        return (
            f"Saturation is unknown, for the items seem to allow different grades: the best "
            f"respondent, {row['first']}, reaches {row['top_share']:.0%} of what {n_items} allow "
            f"if each allows the highest grade of all, and {row['top_of_reached']:.0%} if each "
            "allows what anybody reached. Divide grades by the highest that their item allows."
        )
    return (
        f"Saturation is unknown: only {row['share_answered']:.0%} of {n_items} were answered by "
        "two or more of the best respondents."
    )


def _said_of_lead(row: pd.Series[Any]) -> str:
    """Return how much the best two differ, and whether significantly, as on a leaderboard."""
    tied = _said_of_ties(row["second_tied"])
    two = f"The best two, {row['first']} and {row['second']}{tied},"
    if not row["lead_p"] <= 1:
        return f"{two} have no item in common."
    verdict = "significantly" if row["lead_p_adjusted"] <= ALPHA else "not significantly"
    return (
        f"{two} differ by {row['lead']:.3f} (95 % interval {row['lead_low']:.3f} to "
        f"{row['lead_high']:.3f}), {verdict} (p = {row['lead_p']:.2g} for this pair alone, "
        f"{row['lead_p_adjusted']:.2g} after correction for all pairs)."
    )


def _row(calibration: Calibration, table: Responses, ends: Ends) -> dict[str, Any]:
    """Return saturation of the items of a table, or of its largest part if no item links all."""
    rows, items = linked_parts(table.observed)
    if rows.any():
        table = table.select(respondents=rows == 0, items=items == 0)
        calibration = calibration.of_items(table.items)
        ends = ends[0][items == 0], ends[1][items == 0]
    if calibration.responses is not table:  # a calibration scores its own table only once
        calibration = replace(calibration, responses=table, weights=None)
    ability = calibration.score(table, items_known=True)["ability"].to_numpy()
    reached, n_asked = _reached(calibration, table), table.observed.sum(axis=1)
    order, best = _in_order(reached.mean, n_asked), best_of(reached.mean, n_asked)
    row: dict[str, Any] = {"n_items": table.n_items, "best": best.size, "compared": order.size}
    if not best.size:
        return {**row, "state": UNKNOWN}
    row |= _top_share(reached, order[0], ends)
    values = as_floats(table.cells[[order[0]]])[0]
    asked = ~np.isnan(values)
    lowest, highest = (np.broadcast_to(end, asked.shape) for end in ends)
    row["top_asked"] = int(asked.sum())
    observed = (values - lowest)[asked].sum() / (highest - lowest)[asked].sum()
    row["top_observed"] = float(observed)
    if calibration.model.kind == "graded":
        of_reached = _top_share(reached, order[0], _reached_ends(calibration))
        row["top_of_reached"] = of_reached["top_share"]
    row |= _counts(table, best, ends[1])
    row |= _information(calibration, ability, best)
    row["first"] = table.respondents[order[0]]
    row["second"] = table.respondents[order[1]] if order.size > 1 else ""
    row |= _ties(reached.mean[order], best.size)
    row |= _lead(table, order)
    enough = order.size >= LEAST_RESPONDENTS and table.n_items >= LEAST_ITEMS
    # The verdict must not depend on whether items allow grades that no respondent got.
    of_reached_share = row.get("top_of_reached", row["top_share"])
    certain = (row["top_share"] >= CEILING) == (of_reached_share >= CEILING)
    judged = enough and row["share_answered"] >= MOSTLY and certain
    return {**row, "state": _state(row) if judged else UNKNOWN}


def _ties(means: Floats, n_best: int) -> dict[str, int]:
    """Return how many others share the mean of the first, the second, and the last of the best.

    `means` are in order; those of the best who share it with the last of them are not others.
    """
    alike = np.round(means, FINEST)
    first, last = (int((alike == alike[at]).sum()) - 1 for at in (0, n_best - 1))
    second = int((alike == alike[1]).sum()) - 1 if alike.size > 1 else 0
    inside = int((alike[:n_best] == alike[n_best - 1]).sum()) - 1
    return {"first_tied": first, "second_tied": second, "cut_tied": last - inside}


def _reached(calibration: Calibration, table: Responses) -> Reached:
    """Return the mean response of respondents to all items, as on a leaderboard."""
    values, parts = as_floats(table.cells), linked_parts(table.observed)
    bounded = bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1)
    strata, own = np.zeros(table.n_items, dtype=np.intp), np.arange(table.n_items)
    expectation = expectation_of(calibration, table)
    whole = Whole(table, calibration, expectation, strata, own, parts, bounded)
    return whole.reached(CONFIDENCE, whole.masked())


def _top_share(reached: Reached, first: int, ends: Ends) -> dict[str, Any]:
    """Return how much of what all items allow the best has reached, with its interval."""
    lowest, highest = (float(np.mean(end)) for end in ends)
    share, low, high = (
        float(np.clip((each[first] - lowest) / (highest - lowest), 0.0, 1.0))
        for each in (reached.mean, reached.low, reached.high)
    )
    return {"top_share": share, "top_low": low, "top_high": high}


def _lead(table: Responses, order: np.ndarray) -> dict[str, float]:
    """Return the lead of the first over the second, with its interval and its test."""
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
    columns = (pairs.difference, pairs.se, pairs.low, pairs.high, pairs.p, pairs.p_adjusted)
    return dict(zip(names, (float(column[0]) for column in columns), strict=True))


def _information(calibration: Calibration, ability: Floats, best: np.ndarray) -> dict[str, float]:
    """Return information at the ability of the best and of the median; NaN if items have none."""
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


def _counts(table: Responses, best: np.ndarray, high: Floats) -> dict[str, Any]:
    """Return the numbers of items that all of the best solve, and on which they differ.

    Shares are of the items that two of them or more answered: others compare no respondents.
    """
    values = as_floats(table.cells[best])
    asked = ~np.isnan(values)
    enough = asked.sum(axis=0) >= min(2, best.size)
    solved = enough & (asked <= (values >= high)).all(axis=0)
    n = int(enough.sum())
    return {
        **_share("solved", "solved_by_best", int(solved.sum()), n),
        "separate_two": _n_differing(values[:2]),
        **_share("separate", "separate_best", _n_differing(values), n),
        "share_answered": float(enough.mean()),
    }


def _share(name: str, count_name: str, count: int, n: int) -> dict[str, Any]:
    """Return a count of items, its share of `n`, and Wilson's interval of it; NaN of none."""
    low, high = wilson(np.array([float(count)]), np.array([max(n, 1.0)]), CONFIDENCE)
    return {
        count_name: count,
        f"{name}_share": count / n if n else np.nan,
        f"{name}_low": float(low[0]) if n else np.nan,
        f"{name}_high": float(high[0]) if n else np.nan,
    }


def _n_differing(values: Floats) -> int:
    """Return the number of items to which not all responses are equal."""
    low = np.where(np.isnan(values), np.inf, values).min(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    return int((high > low).sum())


def _state(row: Mapping[str, Any]) -> str:
    """Return "saturated" if the best has surely reached most and ties, else "nearly" or "open"."""
    if row["top_share"] < CEILING:
        return OPEN
    sure = row["top_low"] >= CEILING and not row["lead_p_adjusted"] <= ALPHA
    return SATURATED if sure else NEARLY

"""Saturation: how well a benchmark still separates its best respondents, overall and by group.

The verdict rests on the first two of a leaderboard: how much of what the items allow the first has
reached, and whether the second differs from it. Respondents further down count only as further
pairs of that test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

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
    ends = score_ends(calibration)
    rows = {ALL_ITEMS: _row(calibration, rivals, ends)}
    for name in names:
        places = [k for k, group in enumerate(groups or ()) if group == name]
        items = [table.items[k] for k in places]
        inside = ends[0][places], ends[1][places]
        rows[name] = _row(calibration.of_items(items), rivals.select(items=places), inside)
    return pd.DataFrame(rows.values(), index=pd.Index(rows, name="group"))


def score_ends(calibration: Calibration) -> tuple[Floats, Floats]:
    """Return the worst and the best response that each item allows, (n_items,) each.

    Items of grades share the range of all of them, as on a leaderboard: a grade that an item allows
    need not have been reached.
    """
    low, high = _ends_reached(calibration)
    if calibration.model.kind == "graded":
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    return low, high


def _ends_reached(calibration: Calibration) -> tuple[Floats, Floats]:
    """Return the same of each item by itself: of grades, those that anybody got."""
    low, high = (np.asarray(end, dtype=float) for end in calibration.model.extent())
    n_items = len(calibration.coords)
    return np.broadcast_to(low, n_items), np.broadcast_to(high, n_items)


def information_along(calibration: Calibration, abilities: Floats) -> Floats:
    """Return information at each ability, from the items on which respondents differed."""
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
    """Positions of those who were asked so many items, the best first, as on a leaderboard."""
    there = np.flatnonzero(asked)
    few = answered_few(asked[there], np.zeros_like(there))
    found: np.ndarray = there[np.lexsort((-np.round(standing[there], FINEST), few))]
    return found


def said_of_saturation(frame: pd.DataFrame, parts: int = 1) -> str:
    """A sentence on all items, and which groups are saturated; of how many unlinked parts."""
    row = frame.loc[[ALL_ITEMS]].iloc[0]
    if row["state"] == UNTOLD:
        return _said_of_unknown(row)
    n_items = counted(int(row["n_items"]), "item")
    its = "its " if parts > 1 else ""
    whose = f" of the largest of {parts:,} parts that no item links" if parts > 1 else ""
    text = (
        f"{str(row['state']).capitalize()}: the best respondent{whose}, {row['first']}"
        f"{_said_of_ties(row['first_tied'])}, reaches "
        f"{row['top_share']:.0%} (95 % interval {row['top_low']:.0%} to {row['top_high']:.0%}) of "
        f"what {its}{n_items} allow{_said_of_gaps(row)}; {int(row['separate_best']):,} of "
        f"{_told_items(row)} ({row['separate_share']:.0%}, {row['separate_low']:.0%} to "
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


def _said_of_gaps(row: pd.Series[Any]) -> str:
    """That the share is predicted, with what was seen, where the best was not asked everything."""
    if row["top_asked"] == row["n_items"]:
        return ""
    return f" (predicted; {row['top_observed']:.0%} of the {int(row['top_asked']):,} it answered)"


def _said_of_ties(others: float, who: str = "") -> str:
    """Return that others have the same mean response, so that their order says nothing."""
    if not others:
        return ""
    names = counted(int(others), "other")
    if not who:
        return f" (tied with {names})"
    return f" ({names} {'ties' if others == 1 else 'tie'} with {who})"


def _told_items(row: pd.Series[Any]) -> str:
    """Return the items on which the best can be compared: all of them, if they answered all."""
    if row["share_answered"] == 1:
        return "them"
    which = "both" if row["best"] == 2 else "two or more"
    return (
        f"the {round(row['share_answered'] * row['n_items']):,} that {which} of the best answered"
    )


def _said_of_unknown(row: pd.Series[Any]) -> str:
    """Return why there is no verdict."""
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
    """How much the best two differ, and whether significantly, by the rule of leaderboards."""
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


def _row(calibration: Calibration, table: Responses, ends: tuple[Floats, Floats]) -> dict[str, Any]:
    """Return saturation of the items of a table, or of its largest part where no item links all."""
    calibration, table, ends = _largest_part(calibration, table, ends)
    ability = calibration.score(table, items_known=True)["ability"].to_numpy()
    reached, asked = _reached(calibration, table), table.observed.sum(axis=1)
    order, best = _in_order(reached.mean, asked), best_of(reached.mean, asked)
    compared = {"n_items": table.n_items, "best": best.size, "compared": order.size}
    if not best.size:
        return {**compared, "state": UNTOLD}
    counts = _counts(table, best, ends[1])
    first = int(order[0])
    top = _top(reached, first, ends) | _seen(table, first, ends)
    if calibration.model.kind == "graded":
        top["top_of_reached"] = _top(reached, first, _ends_reached(calibration))["top_share"]
    lead = _lead(table, order)
    enough = order.size >= LEAST_RESPONDENTS and table.n_items >= LEAST_ITEMS
    told = enough and counts["share_answered"] >= MOSTLY and _one_range(top)
    return {
        **compared,
        **top,
        **counts,
        **_information(calibration, ability, best),
        "first": table.respondents[order[0]],
        "second": table.respondents[order[1]] if order.size > 1 else "",
        **_ties(reached.mean[order], best.size),
        **lead,
        "state": _state(top, lead["lead_p_adjusted"]) if told else UNTOLD,
    }


def _ties(means: Floats, n_best: int) -> dict[str, int]:
    """How many others share the mean of the first, of the second and of the last of the best.

    `means` are in order; those of the best who share it with the last of them are not others.
    """
    alike = np.round(means, FINEST)
    first, last = (int((alike == alike[at]).sum()) - 1 for at in (0, n_best - 1))
    second = int((alike == alike[1]).sum()) - 1 if alike.size > 1 else 0
    inside = int((alike[:n_best] == alike[n_best - 1]).sum()) - 1
    return {"first_tied": first, "second_tied": second, "cut_tied": last - inside}


def _largest_part(
    calibration: Calibration, table: Responses, ends: tuple[Floats, Floats]
) -> tuple[Calibration, Responses, tuple[Floats, Floats]]:
    """Return the best of parts that no item links cannot be compared, so the largest is taken."""
    rows, items = linked_parts(table.observed)
    if rows.any():
        table = table.select(respondents=rows == 0, items=items == 0)
        calibration = calibration.of_items(table.items)
        ends = ends[0][items == 0], ends[1][items == 0]
    if calibration.responses is table:  # it scores its own table once
        return calibration, table, ends
    return replace(calibration, responses=table, weights=None), table, ends


def _reached(calibration: Calibration, table: Responses) -> Reached:
    """Return mean response of everybody to all items, with its interval, as on a leaderboard."""
    values, parts = as_floats(table.cells), linked_parts(table.observed)
    bounded = bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1)
    strata, own = np.zeros(table.n_items, dtype=np.intp), np.arange(table.n_items)
    expectation = expectation_of(calibration, table)
    whole = Whole(table, calibration, expectation, strata, own, parts, bounded)
    return whole.reached(CONFIDENCE, whole.masked())


def _top(reached: Reached, first: int, ends: tuple[Floats, Floats]) -> dict[str, float]:
    """Return how much of what all items allow the best has reached, with its interval."""
    lowest, highest = (float(np.mean(end)) for end in ends)
    share, low, high = (
        float(np.clip((each[first] - lowest) / (highest - lowest), 0.0, 1.0))
        for each in (reached.mean, reached.low, reached.high)
    )
    return {"top_share": share, "top_low": low, "top_high": high}


def _one_range(top: Mapping[str, float]) -> bool:
    """Return True if the verdict is the same if items allow no grade that nobody got."""
    share = top["top_share"]
    return (share >= CEILING) == (top.get("top_of_reached", share) >= CEILING)


def _seen(table: Responses, first: int, ends: tuple[Floats, Floats]) -> dict[str, float]:
    """Return how many items the best answered, and how much of what these allow it has reached."""
    values = as_floats(table.cells[[first]])[0]
    asked = ~np.isnan(values)
    lowest, highest = (np.broadcast_to(end, asked.shape) for end in ends)
    share = (values - lowest)[asked].sum() / (highest - lowest)[asked].sum()
    return {"top_asked": int(asked.sum()), "top_observed": float(share)}


def _lead(table: Responses, order: np.ndarray) -> dict[str, float]:
    """Return lead of the first over the second, with its interval and its test among all pairs."""
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


def _counts(table: Responses, best: np.ndarray, high: Floats) -> dict[str, Any]:
    """Return items that all of the best solve, items on which they differ, and the share compared.

    Shares are of the items that two of them or more answered: others compare nobody.
    """
    values = as_floats(table.cells[best])
    asked = ~np.isnan(values)
    enough = asked.sum(axis=0) >= min(2, best.size)
    solved = enough & (asked <= (values >= high)).all(axis=0)
    differ = _differ(values)
    return {
        **_share("solved", int(solved.sum()), int(enough.sum())),
        "separate_two": int(_differ(values[:2]).sum()),
        **_share("separate", int(differ.sum()), int(enough.sum())),
        "share_answered": float(enough.mean()),
    }


def _share(name: str, count: int, n: int) -> dict[str, Any]:
    """Return a count of items, its share of `n`, and Wilson's interval of it; NaN of none."""
    low, high = wilson(np.array([float(count)]), np.array([max(n, 1.0)]), CONFIDENCE)
    counts = {"solved": "solved_by_best", "separate": "separate_best"}
    return {
        counts[name]: count,
        f"{name}_share": count / n if n else np.nan,
        f"{name}_low": float(low[0]) if n else np.nan,
        f"{name}_high": float(high[0]) if n else np.nan,
    }


def _differ(values: Floats) -> np.ndarray:
    """Return items to which not all responses are equal."""
    low = np.where(np.isnan(values), np.inf, values).min(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    differ: np.ndarray = high > low
    return differ


def _state(top: Mapping[str, float], lead_p: float) -> str:
    """Nearly saturated if the best has reached most; saturated if surely so, and the two tie."""
    if top["top_share"] < CEILING:
        return OPEN
    sure = top["top_low"] >= CEILING and not lead_p <= ALPHA
    return SATURATED if sure else NEARLY

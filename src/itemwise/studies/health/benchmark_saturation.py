"""Saturation: how well a benchmark still separates its best respondents, overall and by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics.diagnosis import informative
from itemwise.numerics.arrays import Floats
from itemwise.numerics.clustered import Grouping, clustered_means, t_test
from itemwise.numerics.intervals import mcnemar, share_interval, t_reach, wilson
from itemwise.numerics.linked_parts import linked_parts
from itemwise.responses import Responses
from itemwise.responses.stored_cells import as_floats
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

ALL_ITEMS = "all items"
SATURATED, NEARLY, OPEN = "saturated", "nearly saturated", "open"
UNTOLD = "unknown"  # if few items were answered by two of the best
MOST_BEST = 5
BEST_SHARE = 4  # one in four respondents is among the best, five at most
MUCH_SOLVED = 0.5  # share of items solved by all of the best
LITTLE_LEFT = 0.5  # share of the peak information
ALPHA = 0.05  # level of the paired test of the best two
MOSTLY = 0.5  # share of items that two of the best must have answered
POINTS = 61
CONFIDENCE = 0.95  # of the intervals of shares


def saturation_frame(
    calibration: Calibration, table: Responses, groups: Sequence[str] | None
) -> pd.DataFrame:
    """One row for all items, and one per group; the best respondents are chosen for each row.

    The items of `calibration` are those of `table`.
    """
    import pandas as pd

    names = [] if groups is None else list(dict.fromkeys(groups))
    rows = {ALL_ITEMS: _row(calibration, table)}
    for name in names:
        places = [k for k, group in enumerate(groups or ()) if group == name]
        items = [table.items[k] for k in places]
        rows[name] = _row(calibration.of_items(items), table.select(items=places))
    return pd.DataFrame(rows.values(), index=pd.Index(rows, name="group"))


def information_along(calibration: Calibration, abilities: Floats) -> Floats:
    """Information at each ability, from the items on which respondents differed."""
    told = informative(calibration)
    if not told.any():
        return np.zeros(len(abilities))
    model = calibration.model.of_items(np.flatnonzero(told))
    found: Floats = model.information(calibration.coords[told], abilities).sum(axis=0)
    return found


def best_of(ability: Floats, asked: np.ndarray) -> np.ndarray:
    """Positions of the best respondents, best first: one in four, at least two, at most five."""
    there = np.flatnonzero(asked)
    order = there[np.argsort(-ability[there], kind="stable")]
    return order[: min(MOST_BEST, max(2, len(order) // BEST_SHARE))]


def said_of_saturation(frame: pd.DataFrame) -> str:
    """A sentence on all items, and which groups are saturated."""
    row = frame.loc[[ALL_ITEMS]].iloc[0]
    if not row["best"]:
        return ""
    best = "the best respondent" if row["best"] == 1 else f"all of the best {int(row['best'])}"
    if row["state"] == UNTOLD:
        return (
            "Saturation is unknown: only "
            f"{row['told']:.0%} of {counted(int(row['n_items']), 'item')} were answered by two or "
            "more of the best respondents."
        )
    solved = int(row["solved_by_best"])
    text = (
        f"{str(row['state']).capitalize()}: {solved:,} of {counted(int(row['n_items']), 'item')} "
        f"{'is' if solved == 1 else 'are'} solved by {best}; {_said_of_lead(row)}"
        f"at their ability the items have {row['information_left']:.0%} of their peak information "
        f"(standard error {row['se_top']:.2f}, at the median ability {row['se_middle']:.2f})."
    )
    parts = frame.drop(index=ALL_ITEMS)
    full = list(parts.index[parts["state"] == SATURATED])
    if not len(parts):
        return text
    if not full:
        return f"{text} No group of items is saturated on its own."
    still = int((parts["state"] == OPEN).sum())
    return f"{text} Saturated: {listed(full, 'group')} of {len(parts)}; open: {still}."


def _said_of_lead(row: pd.Series[Any]) -> str:
    """How much the best two differ, and whether significantly; empty if there is only one."""
    if not row["lead_p"] <= 1:
        return ""
    verdict = "significantly" if row["lead_p"] <= ALPHA else "not significantly"
    return (
        f"the best two differ by {row['lead']:.3f} (95 % interval {row['lead_low']:.3f} to "
        f"{row['lead_high']:.3f}) in accuracy, {verdict} (p = {row['lead_p']:.2g} for this pair "
        "alone), and "
    )


def _row(calibration: Calibration, table: Responses) -> dict[str, Any]:
    scored = calibration.score(table, items_known=True)
    ability = scored["ability"].to_numpy()
    # By accuracy, as on a leaderboard, if everybody was asked everything.
    standing = as_floats(table.cells).mean(axis=1) if table.complete else ability
    observed = table.observed
    # The best of parts that no item links cannot be compared.
    best = best_of(standing, observed.any(axis=1) & (linked_parts(observed)[0] == 0))
    if not best.size:
        return {"n_items": table.n_items, "best": 0, "state": ""}
    top, middle = float(ability[best].mean()), float(np.median(ability))
    grid = np.linspace(float(ability.min()), float(ability.max()), POINTS)
    at_top, at_middle = map(float, information_along(calibration, np.array([top, middle])))
    peak = max(float(information_along(calibration, grid).max()), at_top, at_middle)
    left = at_top / peak if peak > 0 else 0.0
    counts = _counts(calibration, table, best)
    solved = counts["solved_by_best"] / table.n_items
    low, high = _interval(counts["solved_by_best"], table.n_items)
    first, second = best[0], best[min(1, best.size - 1)]
    lead = _lead(calibration, table, first, second)
    return {
        "n_items": table.n_items,
        "best": best.size,
        **counts,
        "solved_share": solved,
        "solved_low": low,
        "solved_high": high,
        "ability_top": top,
        "ability_middle": middle,
        "information_top": at_top,
        "information_middle": at_middle,
        "information_left": left,
        "se_top": at_top**-0.5 if at_top > 0 else np.inf,
        "se_middle": at_middle**-0.5 if at_middle > 0 else np.inf,
        "first": table.respondents[first],
        "second": table.respondents[second],
        **lead,
        "state": UNTOLD if counts["told"] < MOSTLY else _state(solved, left, lead["lead_p"]),
    }


def _lead(calibration: Calibration, table: Responses, first: int, second: int) -> dict[str, float]:
    """Lead of the best over the second in accuracy on the items both answered, with its test."""
    low, high = calibration.model.extent()
    one, other = (as_floats(table.cells[[first, second]]) - low) / (np.asarray(high) - low)
    away = one - other
    away = away[~np.isnan(away)]
    if first == second or away.size < 2:
        return dict.fromkeys(("lead", "lead_se", "lead_low", "lead_high", "lead_p"), np.nan)
    means = clustered_means(away[None], Grouping.of(np.zeros(away.size, int), np.arange(away.size)))
    exact = calibration.model.kind == "binary"
    better, worse = (np.array([float((side > 0).sum())]) for side in (away, -away))
    p = mcnemar(better, worse) if exact else t_test(means)
    lead, se = float(means.mean[0]), float(means.se[0])
    reach = float(t_reach(np.asarray(means.freedom)[0], CONFIDENCE)) * se
    low, high = lead - reach, lead + reach
    if exact:  # of those that differ, as the test: an interval holds 0 where p is above the level
        differ = better + worse
        ends = (2 * end - 1 for end in share_interval(better, differ, CONFIDENCE))
        low, high = (float(differ[0] / away.size * end[0]) for end in ends)
    return {"lead": lead, "lead_se": se, "lead_low": low, "lead_high": high, "lead_p": float(p[0])}


def _counts(calibration: Calibration, table: Responses, best: np.ndarray) -> dict[str, Any]:
    """Items that all of the best solve, items on which they differ, and the share compared."""
    values = as_floats(table.cells[best])
    _, high = calibration.model.extent()
    asked = ~np.isnan(values)
    enough = asked.sum(axis=0) >= min(2, best.size)
    solved = enough & (asked <= (values >= high)).all(axis=0)
    return {
        "solved_by_best": int(solved.sum()),
        "separate_two": int(_differ(values[:2]).sum()),
        "separate_best": int(_differ(values).sum()),
        "told": float(enough.mean()),
    }


def _interval(count: int, n: int) -> tuple[float, float]:
    """Wilson interval of a share of items."""
    low, high = wilson(np.array([float(count)]), np.array([float(n)]), CONFIDENCE)
    return float(low[0]), float(high[0])


def _differ(values: Floats) -> np.ndarray:
    """Items to which not all responses are equal."""
    low = np.where(np.isnan(values), np.inf, values).min(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    differ: np.ndarray = high > low
    return differ


def _state(solved: float, left: float, lead_p: float) -> str:
    """Nearly saturated if much is solved and little is left; saturated if the best two also tie."""
    if solved < MUCH_SOLVED or left >= LITTLE_LEFT:
        return OPEN
    return NEARLY if lead_p <= ALPHA else SATURATED

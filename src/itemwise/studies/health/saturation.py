"""Saturation: how much a benchmark still tells of its best respondents, whole and by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics.usable import informative
from itemwise.numerics.arrays import Floats
from itemwise.numerics.binning import wilson
from itemwise.numerics.clustered import Grouping, clustered_means, t_test
from itemwise.numerics.paired import mcnemar
from itemwise.responses import Responses
from itemwise.responses.cells import as_floats

if TYPE_CHECKING:
    import pandas as pd

ALL_ITEMS = "all items"
SATURATED, NEARLY, OPEN = "saturated", "nearly saturated", "open"
UNTOLD = "cannot be told"  # where hardly an item was answered by two of the best
MOST_BEST = 5
BEST_SHARE = 4  # one in so many respondents is among the best, up to five of them
MUCH_SOLVED = 0.5  # of the items, by all of the best
LITTLE_LEFT = 0.5  # of the information where the benchmark tells most
ALPHA = 0.05  # of the paired test of the best two
MOSTLY = 0.5  # of the items must be answered by two of the best, for anything to be said of them
POINTS = 61
CONFIDENCE = 0.95  # of intervals of shares


def saturation_frame(
    calibration: Calibration, table: Responses, groups: Sequence[str] | None
) -> pd.DataFrame:
    """One row for all items, and one a group of them; the best are those of that row.

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
    """Information of the items on which respondents differed, at each ability."""
    told = informative(calibration)
    if not told.any():
        return np.zeros(len(abilities))
    model = calibration.model.of_items(np.flatnonzero(told))
    found: Floats = model.information(calibration.coords[told], abilities).sum(axis=0)
    return found


def best_of(ability: Floats, asked: np.ndarray) -> np.ndarray:
    """Places of the best respondents, best first: one in four, at least two, at most five."""
    there = np.flatnonzero(asked)
    order = there[np.argsort(-ability[there], kind="stable")]
    return order[: min(MOST_BEST, max(2, len(order) // BEST_SHARE))]


def _row(calibration: Calibration, table: Responses) -> dict[str, Any]:
    scored = calibration.score(table)
    ability = scored["ability"].to_numpy()
    # By accuracy, as a leaderboard has them, where everybody was asked everything.
    standing = as_floats(table.cells).mean(axis=1) if table.complete else ability
    best = best_of(standing, np.asarray(table.observed.any(axis=1)))
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
    """Of the best over the second in accuracy, on items that both answered: a paired test."""
    low, high = calibration.model.extent()
    one, other = (as_floats(table.cells[[first, second]]) - low) / (np.asarray(high) - low)
    away = one - other
    away = away[~np.isnan(away)]
    if first == second or away.size < 2:
        return {"lead": np.nan, "lead_se": np.nan, "lead_p": np.nan}
    means = clustered_means(away[None], Grouping.of(np.zeros(away.size, int), np.arange(away.size)))
    exact = calibration.model.kind == "binary"
    better, worse = (np.array([float((side > 0).sum())]) for side in (away, -away))
    p = mcnemar(better, worse) if exact else t_test(means)
    return {"lead": float(means.mean[0]), "lead_se": float(means.se[0]), "lead_p": float(p[0])}


def _counts(calibration: Calibration, table: Responses, best: np.ndarray) -> dict[str, Any]:
    """Items that the best all solve, on which they still differ, and the share that tells it."""
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
    """Of the share that other items of this kind would have."""
    low, high = wilson(np.array([float(count)]), np.array([float(n)]), CONFIDENCE)
    return float(low[0]), float(high[0])


def _differ(values: Floats) -> np.ndarray:
    """Items to which responses are not all the same."""
    low = np.where(np.isnan(values), np.inf, values).min(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    differ: np.ndarray = high > low
    return differ


def _state(solved: float, left: float, lead_p: float) -> str:
    """Much solved and little left: nearly; where the best two cannot be told apart, wholly."""
    if solved < MUCH_SOLVED or left >= LITTLE_LEFT:
        return OPEN
    return NEARLY if lead_p <= ALPHA else SATURATED

"""Scores in different units: tasks that are averaged must be on one scale.

A judge's score from 0 to 10 beside right and wrong answers would count ten times as much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ogive.responses.logs.log_values import HIGHEST, LOWEST
from ogive.responses.names_and_facts import Fact
from ogive.responses.response_table import Responses
from ogive.words import counted

USUAL = (1.0, 5.0, 10.0, 20.0, 100.0, 1000.0)  # upper bounds that scores from 0 on usually have
USUAL_SHARE = (0.0, 1.0)
MOST_NAMED = 3
MOST_TASKS = 40  # columns; more are items
LEAST_PERCENT, PERCENT = 20.0, 100.0  # of the largest response, where they are percentages


def on_one_scale(table: Responses, tasks: Sequence[str] | None) -> tuple[Responses, list[str]]:
    """Scores of all tasks from 0 to 1, and a note, if tasks differ in their units.

    The bounds of a task are facts of its items, or else those of its scores: from 0, unless some
    are lower, to the first usual bound that is not exceeded.
    """
    bounds = _unlike_bounds(table, tasks)
    if tasks is None or not bounds:
        return table, []
    values = table.values
    low, high = (np.array([bounds[task][end] for task in tasks]) for end in (0, 1))
    scaled = Responses(
        (values - low) / (high - low),
        table.respondents,
        table.items,
        "continuous",
        tries=table.tries,
        spread=None if table.spread is None else table.spread / (high - low),
    )
    odd = [task for task in bounds if bounds[task] != USUAL_SHARE]
    note = (
        "Tasks differ in the units of their scores, so each was put on a scale from 0 to 1. The "
        f"bounds of {counted(len(odd), 'task')} are others than 0 and 1 ({_named(bounds, odd)}). "
        "If they are wrong, give them as facts of the items: lowest and highest."
    )
    return scaled.described(
        respondents=table.respondent_facts, items=table.item_facts, notes=table.notes
    ), [note]


def said_of_raw_units(table: Responses, tasks: Sequence[str] | None) -> list[str]:
    """A note where means are of raw scores, though tasks differ in their units."""
    bounds = _unlike_bounds(table, tasks)
    if not bounds:
        return []
    wide = sorted(bounds, key=lambda task: bounds[task][0] - bounds[task][1])
    note = (
        "Tasks differ in the units of their scores, and mean scores here are of these units, in "
        f"which tasks of longer ranges count more ({_named(bounds, wide)}). For tasks that count "
        "alike, bring each to a scale from 0 to 1 first: subtract its lowest score, and divide by "
        "the length of its range. `leaderboard` and `plan` do so by themselves."
    )
    return [note]


def _unlike_bounds(table: Responses, tasks: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Lowest and highest score of each task; empty if those of all tasks are the same."""
    if tasks is None or table.kind == "binary":
        return {}
    groups, values, facts = np.array(tasks, dtype=object), table.values, table.item_facts
    bounds: dict[str, tuple[float, float]] = {}
    for task in dict.fromkeys(tasks):
        mine = np.flatnonzero(groups == task)
        known = [
            _told(facts[name].iloc[mine].tolist()) if name in facts else None
            for name in (LOWEST, HIGHEST)
        ]
        bounds[task] = _bounds(values[:, mine], known[0], known[1])
    return bounds if len(set(bounds.values())) > 1 else {}


def _named(bounds: dict[str, tuple[float, float]], tasks: Sequence[str]) -> str:
    """The first tasks with their bounds."""
    told = [f"{task}: {bounds[task][0]:g} to {bounds[task][1]:g}" for task in tasks[:MOST_NAMED]]
    return "; ".join([*told, *(["..."] if len(tasks) > MOST_NAMED else [])])


def like_percentages(table: Responses) -> bool:
    """Whether the responses look like percentages of whole tasks: few columns, from 0 to 100."""
    if table.kind != "continuous" or not table.n_items <= MOST_TASKS or not table.observed.any():
        return False
    least, most = float(np.nanmin(table.values)), float(np.nanmax(table.values))
    return least >= 0 and LEAST_PERCENT < most <= PERCENT


def _told(values: Sequence[Fact]) -> float | None:
    """The bound that facts state, if all of them state the same."""
    if len(set(values)) != 1 or isinstance(values[0], str) or values[0] is None:
        return None
    return None if values[0] != values[0] else float(values[0])


def _bounds(values: np.ndarray, lowest: float | None, highest: float | None) -> tuple[float, float]:
    """Bounds as stated, or as the scores suggest; never equal."""
    seen = values[~np.isnan(values)]
    least, most = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    low = lowest if lowest is not None and lowest <= least else min(least, 0.0)
    if highest is not None and highest >= most:
        high = highest
    elif low < 0:
        high = most
    else:
        high = next((bound for bound in USUAL if most <= bound), most)
    return (low, high) if high > low else (low, low + 1.0)

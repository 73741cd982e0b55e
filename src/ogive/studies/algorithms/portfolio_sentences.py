"""What a portfolio says in sentences: who leads, beside the single and the virtual best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.numerics.arrays import Floats
from ogive.numerics.differing import differences_over_units
from ogive.numerics.first_places import first_places
from ogive.numerics.intervals import reach_of_parts
from ogive.numerics.performance_tables import fair_means, worst_where_missing
from ogive.studies.algorithms.performances import Performances
from ogive.words import listed, who_has, with_interval

if TYPE_CHECKING:
    import pandas as pd

SURE = 0.95
LEAST = 0.005  # share of the problems; less is shown as 0%


def who_leads(occupancy: pd.DataFrame) -> str:
    """Who has the best curve at most problems, with its interval; nobody whose interval has a 0."""
    share = occupancy["occupancy"]
    sure = occupancy[occupancy["occupancy_low"] > 0]
    leaders = int((share > 0).sum())
    some = (
        f"{leaders} of {len(share)} algorithms {'has' if leaders == 1 else 'have'} the best curve"
    )
    if sure.empty:
        return f"Nobody surely leads: {some} somewhere, but every interval includes 0"
    ordered = sure.sort_values("occupancy", ascending=False, kind="stable")
    best, others = ordered.iloc[0], ordered.iloc[1:]
    near = list(map(str, others.index[others["occupancy_high"] >= best["occupancy_low"]]))
    overlap = f", which overlaps that of {listed(near, 'other')}" if near else ""
    return (
        f"{best.name} has the best curve at {best['occupancy']:.0%} of the problems (95% interval "
        f"{_percent(best['occupancy_low'])} to {_percent(best['occupancy_high'])}{overlap}); "
        f"{some} somewhere, and for {len(sure)} the interval of that share excludes 0"
        f"{_said_of_ties(share)}"
    )


def _said_of_ties(share: pd.Series[float]) -> str:
    """Why shares add up to more than all problems, if they do."""
    total = float(share.sum())
    if total < 1 + LEAST:
        return ""
    return (
        f" (shares add up to {total:.0%}: where curves are equal, each counts as the best, unless "
        "all are as bad as the bounds allow)"
    )


def _percent(share: float) -> str:
    return "<1%" if 0 < share < LEAST else f"{share:.0%}"


def references(performances: Performances) -> str:
    """The single best and the virtual best algorithm, in the unit of the measure."""
    gains = performances.gains
    filled = worst_where_missing(gains)
    means = fair_means(gains)
    first = first_places(means)
    single = int(first[0])
    sign = 1.0 if performances.better == "higher" else -1.0
    alone, best = sign * filled[:, single], sign * filled.max(axis=1)
    names = [performances.algorithms[k] for k in first]
    who = f"The single best is {names[0]} with"
    if len(names) > 1:
        who = f"No single algorithm is best: {who_has(names, 'algorithm')} the first place, with"
    level = differences_over_units(filled.T).level_with(single)
    near = [str(name) for name in performances.algorithms[level] if name not in names]
    it = "it" if len(names) == 1 else "them"
    also = f", and {listed(near, 'other')} cannot be distinguished from {it}" if near else ""
    return (
        f"{who} a mean of {_with_error(alone)}{also}; "
        f"the virtual best, the best algorithm for each problem, has {_with_error(best)}."
    )


def better_on_harder(algorithms: pd.DataFrame) -> str:
    """Which algorithms do better on harder problems, as the end of a sentence."""
    odd = algorithms[algorithms["anomalous"]]
    sure = odd.index[odd["anomalous_chance"] > SURE]
    if len(sure):
        return f". Better on harder problems: {listed(list(sure), 'algorithm')}."
    return f"; none does {'significantly ' if len(odd) else ''}better on harder problems overall."


def _with_error(values: Floats) -> str:
    reach = reach_of_parts(len(values)) * float(values.std(ddof=1)) / np.sqrt(len(values))
    return with_interval(float(values.mean()), reach)

"""Sentences and notes of a leaderboard: the lead, what was not tested, rules that may disagree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.compared_rows import Pairs
from ogive.words import counted


def said_of_part(part: NDArray[np.intp]) -> str:
    """Which board is meant, if there are several."""
    count = int(part.max()) + 1
    return f" of the first of {count:,} boards that no item links" if count > 1 else " "


def said_of_lead(behind: int, n_compared: int, n_respondents: int) -> str:
    """Which respondents the first is significantly better than: `behind` of those compared."""
    if not behind:
        return "it shares no items with others"
    if behind == n_respondents - 1:
        return f"it is significantly better than {'all others' if behind > 1 else 'the other'}"
    if behind == n_compared - 1:
        return f"it is significantly better than the next {behind}"
    return f"it is significantly better than {counted(behind, 'other')} that it shares items with"


def said_of_risk(correction: str, alpha: float) -> str:
    """What alpha limits."""
    if correction == "holm":
        return f"the chance of any false discovery is at most {alpha:.0%}"
    return f"at most {alpha:.0%} of these are expected to be false discoveries"


def notes_on(tests: Pairs, alpha: float, confidence: float, names: Sequence[str]) -> list[str]:
    """Notes on pairs that share no item, and on what seems to disagree; `names` in rank order."""
    return [
        *_untested(tests),
        *_two_rules(tests, alpha, confidence),
        *_single_intervals(tests, alpha, confidence),
        *_order(tests, alpha, names),
    ]


def _single_intervals(tests: Pairs, alpha: float, confidence: float) -> list[str]:
    """A note if an interval of a difference excludes 0 where the corrected test finds none."""
    apart = (tests.low > 0) | (tests.high < 0)
    if not (apart & (tests.p_adjusted > alpha)).any():
        return []
    note = (
        f"Intervals of differences are {confidence:.0%} intervals of single pairs; p_adjusted is "
        "corrected for the number of pairs. An interval may exclude 0 where p_adjusted does not "
        "find a difference."
    )
    return [note]


def _untested(tests: Pairs) -> list[str]:
    apart = int((tests.shared == 0).sum())
    return [f"Not tested (no shared items): {counted(apart, 'pair')}."] if apart else []


def _two_rules(tests: Pairs, alpha: float, confidence: float) -> list[str]:
    """A note if rank intervals of respondents that differ significantly overlap."""
    if not ((tests.p_adjusted <= alpha) & (tests.p_family > 1 - confidence)).any():
        return []
    note = (
        "Rank intervals hold simultaneously for all respondents, tests of pairs do not: the rank "
        "intervals of two respondents that differ significantly may overlap."
    )
    return [note]


def _order(tests: Pairs, alpha: float, names: Sequence[str]) -> list[str]:
    """A note if the first cannot be told from somebody that one ranked below the first can."""
    n = len(names)
    first, second = np.triu_indices(n, 1)
    differ = np.zeros((n, n), dtype=bool)
    differ[first, second] = tests.p_adjusted <= alpha
    for other in second[: n - 1][(tests.shared[: n - 1] > 0) & ~differ[0, 1:]].tolist():
        surer = np.flatnonzero(differ[1:other, other]).tolist()
        if surer:
            note = (
                f"{names[0]} cannot be distinguished from {names[other]}, but "
                f"{names[1 + surer[0]]}, ranked below {names[0]}, can: how large a difference has "
                "to be depends on the items that the two answered, and on how many of these they "
                "disagree on. So the rank interval of the first may be the wider one."
            )
            return [note]
    return []

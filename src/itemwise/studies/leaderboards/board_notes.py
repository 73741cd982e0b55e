"""Notes below a leaderboard: pairs that were not tested, and two rules that need not agree."""

from __future__ import annotations

from itemwise.studies.leaderboards.board_pairs import Pairs
from itemwise.words import counted


def notes_on(tests: Pairs, alpha: float, confidence: float) -> list[str]:
    """Notes on pairs that share no item, and on rank intervals that overlap all the same."""
    return [*_untested(tests), *_two_rules(tests, alpha, confidence)]


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

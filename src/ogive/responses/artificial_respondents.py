"""Artificial respondents of a pool: marks on a scale, which nobody is measured against to win.

One is always right, one always wrong, others guess. They come as a set, so that a respondent who
happens to be called "majority" is no mark by its name alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ogive.numerics.arrays import Bools
from ogive.responses.response_table import Responses
from ogive.words import listed

OPTIMAL, PESSIMAL = "optimal", "pessimal"
GUESSING = re.compile(r"majority|minority|random( \d+)?")


def is_artificial(names: Sequence[str]) -> Bools:
    """Which respondents have the name of an artificial classifier of the paper's pool."""
    return np.array(
        [name in (OPTIMAL, PESSIMAL) or GUESSING.fullmatch(name) is not None for name in names],
        dtype=bool,
    )


def are_marks(names: Sequence[str]) -> Bools:
    """Which respondents are marks: artificial ones, if those at both ends are among them.

    >>> are_marks(["optimal", "SVM", "random 1", "pessimal"]).tolist()
    [True, False, True, True]
    >>> are_marks(["majority", "SVM"]).tolist()
    [False, False]
    """
    found = is_artificial(names)
    whole = {OPTIMAL, PESSIMAL} <= set(names) and not found.all()
    return found if whole else np.zeros(len(names), dtype=bool)


def without_marks(table: Responses) -> tuple[Responses, tuple[str, ...]]:
    """The rivals among the respondents, and a note on the marks that were left out."""
    marks = are_marks(table.respondents)
    if not marks.any():
        return table, ()
    names = [name for name, mark in zip(table.respondents, marks, strict=True) if mark]
    return table.select(respondents=~marks), (said_of_marks(names),)


def said_of_marks(names: Sequence[str]) -> str:
    """Say who is not ranked, and why."""
    return f"Marks on the scale, not ranked: {listed(names, 'artificial respondent')}."

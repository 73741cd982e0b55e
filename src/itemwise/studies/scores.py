"""Scores of respondents on items that studies compare: one table, checked in one place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses, Table, as_responses
from itemwise.responses.cells import as_floats
from itemwise.words import counted


class Scores(NamedTuple):
    """What each respondent scored on each item; NaN is no score."""

    scores: Floats  # (n_respondents, n_items)
    respondents: tuple[str, ...]
    items: tuple[str, ...]


def score_table(scores: Table, study: str) -> Scores:
    """Scores of at least two respondents, with their names.

    Rows are respondents, columns are items.
    """
    given: Any = scores
    if hasattr(given, "columns"):
        found = Responses.from_frame(given, "continuous")
    elif isinstance(given, np.ndarray | list | tuple):
        found = Responses(given, kind="continuous")
    else:
        found = as_responses(given)
    if len(found.respondents) < 2:
        raise InputError(
            f"{study} compares respondents, but the table has "
            f"{counted(len(found.respondents), 'respondent')}. Give one row a respondent, "
            "at least two."
        )
    return Scores(as_floats(found.cells), found.respondents, found.items)

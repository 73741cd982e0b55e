"""Scores that studies compare, checked in one place."""

from __future__ import annotations

from itemwise.errors import InputError
from itemwise.responses import Responses, Table, as_responses
from itemwise.words import counted


def rivals(scores: Table, study: str) -> Responses:
    """Scores of at least two respondents, a row each, a column an item."""
    found = as_responses(scores, "continuous")
    if found.n_respondents < 2:
        raise InputError(
            f"{study} compares respondents, but the table has "
            f"{counted(found.n_respondents, 'respondent')}. Give one row a respondent, "
            "at least two."
        )
    return found

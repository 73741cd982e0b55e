"""What the columns of a foreign table are, told by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from itemwise.errors import InputError
from itemwise.words import shown

ITEM_ROWS = "items"
LAYOUTS = ("auto", "wide", "long", ITEM_ROWS)

# The heading under which Itemwise itself writes names: it says that the table is wide, whatever
# the items are called.
CORNER = "respondents"

_NAMES_OF_RESPONDENTS = (
    "respondent",
    "respondent_id",
    "model",
    "model_name",
    "model_id",
    "subject",
    "subject_id",
)
_NAMES_OF_ITEMS = ("item", "item_id", "question", "question_id", "instance", "instance_id")
_NAMES_OF_RESPONSES = ("response", "score", "correct", "value", "grade")
_FIRST_OF_WIDE = {*_NAMES_OF_RESPONDENTS, CORNER, "name", "id", "", "unnamed: 0"}


class LongColumns(NamedTuple):
    """Where a long table keeps what."""

    respondent: int
    item: int
    response: int


def long_columns(header: Sequence[str], layout: str) -> LongColumns | None:
    """The three columns of a long table, or None if the table is wide."""
    plain = [_plain(name) for name in header]
    if layout in ("wide", ITEM_ROWS) or (layout == "auto" and plain[:1] == [CORNER]):
        return None
    found = [
        next((plain.index(name) for name in names if name in plain), None)
        for names in (_NAMES_OF_RESPONDENTS, _NAMES_OF_ITEMS, _NAMES_OF_RESPONSES)
    ]
    respondent, item, response = found
    if respondent is not None and item is not None and response is not None:
        return LongColumns(respondent, item, response)
    if layout == "auto":
        return None
    there = ", ".join(shown(name) for name in header[:8])
    raise InputError(
        f"The columns are {there}{', ...' if len(header) > 8 else ''}, but a long table has the "
        "columns respondent, item and response. Rename them, or pass layout='wide'."
    )


def is_item(heading: str) -> bool:
    """Whether a column of this heading names items."""
    return _plain(heading) in (*_NAMES_OF_ITEMS, "id")


def names_rows(heading: str, layout: str) -> bool:
    """Whether the first column of a wide table holds names, by its heading; that of items does."""
    return layout == ITEM_ROWS or _plain(heading) in _FIRST_OF_WIDE


def _plain(name: str) -> str:
    return name.strip().lower()

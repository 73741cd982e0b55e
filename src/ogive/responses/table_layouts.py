"""What the columns of a foreign table hold: names, responses, or facts of items and respondents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.errors import FileError, InputError
from ogive.responses.long_identity import Codes, is_known
from ogive.responses.names_and_facts import Fact
from ogive.responses.stored_cells import NEVER_ASKED
from ogive.words import meant, shown

if TYPE_CHECKING:
    import pandas as pd

    from ogive.responses.triples import Triples

ITEM_ROWS = "items"
SEPARATOR = "/"
LEAST_ROWS, MANY_TIMES = 50, 5  # rows, and rows per column, of a table that may be transposed
MOST_ALIKE, LEAST_IN_TASK = 0.9, 5  # share of names that tell it, and items of a task
MOST_SEEN = 1_000  # names that are looked at
MOST_OF_LONG = 20  # columns of a long table, with its facts
LAYOUTS = ("auto", "wide", "long", ITEM_ROWS)

# The heading that Ogive itself writes above names: it marks a wide table, whatever the items
# are called.
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
    """The positions of the three columns of a long table."""

    respondent: int
    item: int
    response: int


def long_columns(header: Sequence[str], layout: str) -> LongColumns | None:
    """Find the three columns of a long table; None if the table is wide."""
    plain = [_plain(name) for name in header]
    if layout in ("wide", ITEM_ROWS) or (layout == "auto" and plain and is_corner(plain[0])):
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


def mistyped_long(header: Sequence[str]) -> str:
    """A sentence if the table would be long, were one of its headings spelled right; or nothing."""
    if len(header) > MOST_OF_LONG:
        return ""
    plain = [_plain(name) for name in header]
    roles = (_NAMES_OF_RESPONDENTS, _NAMES_OF_ITEMS, _NAMES_OF_RESPONSES)
    lacking = [names for names in roles if not set(names) & set(plain)]
    if len(lacking) != 1:
        return ""
    for name in header:
        known = any(_plain(name) in names for names in roles)
        near = "" if known else meant(name, lacking[0])
        if near:
            return (
                f"The column {shown(name)} may be misspelled.{near} With it, the table is long: "
                "one row per response."
            )
    return ""


def said_of_shape(respondents: Sequence[str], items: Sequence[str]) -> str:
    """A note on a wide table whose rows look like items, and whose columns do not; or nothing."""
    if len(respondents) < max(LEAST_ROWS, MANY_TIMES * len(items)):
        return ""
    rows, columns = (_numbered(names[:MOST_SEEN]) for names in (respondents, items))
    named = np.mean([SEPARATOR in name for name in items]) >= MOST_ALIKE
    if not (rows >= MOST_ALIKE > columns or (named and columns < MOST_ALIKE and rows > 0)):
        return ""
    return (
        f"There are {len(respondents):,} respondents such as {shown(respondents[0])} and "
        f"{len(items):,} items such as {shown(items[0])}. If the rows are items and the columns "
        "respondents, pass layout='items'."
    )


def _numbered(names: Sequence[str]) -> float:
    """Share of the names that are of a task and a number, as task/12, of few tasks."""
    parts = [name.rpartition(SEPARATOR) for name in names]
    numbered = [task for task, _, number in parts if task and number.isdecimal()]
    few = len(set(numbered)) * LEAST_IN_TASK <= len(names)
    return len(numbered) / max(len(names), 1) if few else 0.0


def is_item(heading: str) -> bool:
    """Whether a column with this heading names items."""
    return _plain(heading) in (*_NAMES_OF_ITEMS, "id")


def names_respondents(heading: object) -> bool:
    """Whether a heading says that names of respondents stand below it."""
    return str(heading).strip().lower() in _NAMES_OF_RESPONDENTS


def names_items(heading: object) -> bool:
    """Whether the first column of a table, by its heading, names items: rows are items then."""
    return isinstance(heading, str) and _plain(heading) in _NAMES_OF_ITEMS


def said_of_turned(heading: object) -> str:
    """The note on a table that was read as transposed."""
    return (
        f"The names of the rows are called {shown(heading)}: rows are items, and columns are "
        "respondents. If it is the other way round, pass layout='wide'."
    )


def check_items(path: Path, header: list[str], table: NDArray[Any]) -> None:
    """Refuse a table of one column of names, or whose last column is only an ending delimiter."""
    if len(header) == 1:
        raise FileError(
            f"'{path}' has only one column, {shown(header[0])}, and it holds names. Put commas, "
            "semicolons or tabs between the fields; in a .tsv file, tabs."
        )
    own = header[0].startswith("respondents")  # as Ogive writes it, with items of any name
    empty = np.isin(table[:, -1], (NEVER_ASKED,)) | np.isnan(table[:, -1])
    if not own and not header[-1].strip() and empty.all():
        raise FileError(
            f"'{path}' has nothing in its last column, and no name above it: its lines end with a "
            "delimiter. Remove the column."
        )


def names_rows(heading: str, layout: str) -> bool:
    """Whether the heading of the first column of a wide table says that it holds names."""
    plain = _plain(heading)
    return layout == ITEM_ROWS or plain in _FIRST_OF_WIDE or is_corner(plain)


def stated_kind(heading: str) -> str | None:
    """The kind of responses that the heading above the names states, as in respondents (graded)."""
    told = _KIND.fullmatch(_plain(heading))
    return told[1] if told else None


def is_corner(heading: str) -> bool:
    """Whether the heading above the names is one that Ogive writes."""
    plain = _plain(heading)
    return plain == CORNER or _KIND.fullmatch(plain) is not None


def _plain(name: str) -> str:
    return name.strip().lower()


_KIND = re.compile(rf"{CORNER} \((binary|graded|continuous|nominal)\)")

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?")  # 007 is a name


class Found(NamedTuple):
    """Facts by column, each a mapping from name to value."""

    of_items: dict[str, dict[str, Any]]
    of_respondents: dict[str, dict[str, Any]]


@dataclass
class _Column:
    """The value of each name, until a name has two."""

    of_items: dict[str, str] | None = field(default_factory=dict)
    of_respondents: dict[str, str] | None = field(default_factory=dict)

    def add(self, respondent: str, item: str, text: str) -> bool:
        """Add a cell; returns whether the column can still be a fact."""
        if self.of_items is not None and self.of_items.setdefault(item, text) != text:
            self.of_items = None
        told = self.of_respondents
        if told is not None and told.setdefault(respondent, text) != text:
            self.of_respondents = None
        return self.of_items is not None or self.of_respondents is not None


class ExtraCells:
    """Collects the other columns of a long table row by row; what varies is dropped at once."""

    def __init__(self, header: Sequence[str], taken: Sequence[int]) -> None:
        self._columns = {
            place: _Column() for place in range(len(header)) if place not in taken and header[place]
        }
        self._header = header

    def add(self, respondent: str, item: str, row: Sequence[str]) -> None:
        """Add the other cells of a row."""
        if not self._columns:
            return
        lost = [
            place
            for place, column in self._columns.items()
            if row[place].strip() and not column.add(respondent, item, row[place])
        ]
        for place in lost:
            del self._columns[place]

    def found(self) -> Found:
        """Facts of items, or else of respondents; a constant column is a fact of items."""
        found = Found({}, {})
        for place, column in self._columns.items():
            told = column.of_items if column.of_items is not None else column.of_respondents
            if told:
                kind = found.of_items if column.of_items is not None else found.of_respondents
                kind[self._header[place]] = dict(zip(told, typed(list(told.values())), strict=True))
        return found


def facts_of_frame(frame: pd.DataFrame, taken: Sequence[str], triples: Triples) -> Found:
    """Columns that are constant within each item, or else within each respondent."""
    import pandas as pd

    columns: dict[str, Codes] = {}
    others = [name for name in frame.columns if name not in taken]
    for name in dict.fromkeys(others):
        column = frame[name]
        if column.ndim != 1:  # a repeated heading
            continue
        try:
            codes, values = pd.factorize(column)
        except TypeError:  # lists and the like
            continue
        columns[str(name)] = Codes(codes, list(values))
    return facts_of_codes(columns, triples)


def facts_of_codes(columns: Mapping[str, Codes], triples: Triples) -> Found:
    """Columns that are constant within each item, or else within each respondent."""
    found = Found({}, {})
    sides = (
        (found.of_items, triples.items, triples.columns),
        (found.of_respondents, triples.respondents, triples.rows),
    )
    for name, (codes, values) in columns.items():
        for facts, names, owner in sides:
            if len(values) and (one := _one_each(codes, owner, len(names))) is not None:
                known = np.flatnonzero(one >= 0)
                facts[name] = {names[k]: values[one[k]] for k in known.tolist()}
                break
    return found


def coded_columns(frame: pd.DataFrame, taken: Sequence[str]) -> dict[str, Codes]:
    """The columns that may say that two names are not one thing."""
    import pandas as pd

    found: dict[str, Codes] = {}
    for name in dict.fromkeys(frame.columns):
        if name not in taken and is_known(str(name)) and frame[name].ndim == 1:
            try:
                codes, values = pd.factorize(frame[name])
            except TypeError:  # lists and the like
                continue
            found[str(name)] = Codes(codes, list(values))
    return found


def _one_each(
    codes: NDArray[np.integer[Any]], owner: NDArray[np.integer[Any]], count: int
) -> NDArray[np.integer[Any]] | None:
    """The code of each owner, -1 if it has none; None if an owner has two."""
    told = codes >= 0
    one = np.full(count, -1, dtype=np.intp)
    one[owner[told]] = codes[told]
    return one if np.array_equal(one[owner[told]], codes[told]) else None


def names_and_facts(columns: Mapping[str, Sequence[Any]]) -> tuple[list[str], dict[str, Any]]:
    """Names of items from the columns before their responses, and these columns as facts.

    The column called item names them if its values are distinct; otherwise all columns together do,
    as in sums/12, and that column becomes the fact "id".
    """
    headings = list(columns)
    called = next((heading for heading in headings if is_item(heading)), headings[0])
    names = [str(value) for value in columns[called]]
    alone = len(headings) == 1 or (is_item(called) and len(set(names)) == len(names))
    if not alone:
        names = [SEPARATOR.join(map(str, parts)) for parts in zip(*columns.values(), strict=True)]
    facts = {
        "id" if heading == called and is_item(called) else heading: columns[heading]
        for heading in headings
        if not (alone and heading == called)
    }
    return names, facts


def typed(texts: Sequence[str]) -> list[Fact]:
    """Texts as numbers if all of them are numbers; None for empty ones."""
    told = [text.strip() for text in texts if text.strip()]
    found = [_NUMBER.fullmatch(text) for text in told]
    if not told or not all(found):
        return [text if text.strip() else None for text in texts]
    number = int if not any(match and match[2] for match in found) else float
    return [number(text) if text.strip() else None for text in texts]

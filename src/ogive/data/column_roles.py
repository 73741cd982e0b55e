"""Which columns of a foreign table hold names, responses, or facts of items and respondents.

Leaderboards are published as one table, in which sizes, dates and licences stand beside the
responses. Such a column counts as a fact by its name, unless it holds nothing but 0 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.data.text_files import Numerals, Rows, typed
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import NEVER_ASKED
from ogive.results.numbers import listed, meant, shown

if TYPE_CHECKING:
    from ogive.data.responses import Responses


ITEM_ROWS = "items"
LAYOUTS = ("auto", "wide", "long", ITEM_ROWS)
SEPARATOR = "/"  # between the parts of a name, as in sums/12
LEAST_ROWS, MANY_TIMES = 50, 5  # rows, and rows per column, of a table that may be transposed
MOST_ALIKE, LEAST_IN_TASK = 0.9, 5  # share of names that tell it, and items of a task
MOST_SEEN = 1_000  # names that are looked at
MOST_OF_LONG = 20  # columns of a long table, with its facts

# The heading that Ogive itself writes above names: it marks a wide table, whatever the items
# are called.
CORNER = "respondents"
_CORNER_WITH_KIND = re.compile(rf"{CORNER} \((binary|graded|continuous|nominal)\)")

_NAMES_OF_RESPONDENTS = (
    *("respondent", "respondent_id", "model", "model_name", "model_id", "subject", "subject_id"),
)
_NAMES_OF_ITEMS = ("item", "item_id", "question", "question_id", "instance", "instance_id")
_NAMES_OF_RESPONSES = ("response", "score", "correct", "value", "grade")
_ROLES = (_NAMES_OF_RESPONDENTS, _NAMES_OF_ITEMS, _NAMES_OF_RESPONSES)
_FIRST_OF_WIDE = {*_NAMES_OF_RESPONDENTS, CORNER, "name", "id", "", "unnamed: 0"}

_SIZES = (
    *("params", "param", "parameters", "n_params", "num_params", "n_parameters"),
    *("num_parameters", "parameter_count", "param_count", "model_size", "size"),
)
_FACT_NAMES = {
    *(name + unit for name in _SIZES for unit in ("", "_b", "_m", "_bn", "_gb")),
    *("release", "released", "release_date", "release_year", "date", "year", "submission_date"),
    *("license", "licence", "hub_license", "organization", "organisation", "developer"),
    *("provider", "family", "architecture", "precision", "model_type", "base_model"),
    *("context_length", "context_window", "cost", "price", "co2_cost", "revision", "url"),
    *("average", "avg", "average_score", "mean_score", "overall", "overall_score", "rank"),
}
_NO_WORD = re.compile(r"[^a-z0-9]+")
_BINARY_CELLS = {"", "0", "1", "0.0", "1.0", "nan", "na", "true", "false"}


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
    places = [
        next((plain.index(name) for name in names if name in plain), None) for names in _ROLES
    ]
    respondent, item, response = places
    if respondent is not None and item is not None and response is not None:
        return LongColumns(respondent, item, response)
    if layout == "auto":
        return None
    first = ", ".join(shown(name) for name in header[:8])
    raise InputError(
        f"The columns are {first}{', ...' if len(header) > 8 else ''}, but a long table has the "
        "columns respondent, item and response. Rename them, or pass layout='wide'."
    )


def mistyped_long(header: Sequence[str]) -> str:
    """Return a hint if the table would be long, were one of its headings spelled right."""
    plain = [_plain(name) for name in header]
    lacking = [names for names in _ROLES if not set(names) & set(plain)]
    if len(header) > MOST_OF_LONG or len(lacking) != 1:
        return ""
    for name in header:
        known = any(_plain(name) in names for names in _ROLES)
        near = "" if known else meant(name, lacking[0])
        if near:
            return (
                f"The column {shown(name)} may be misspelled.{near} With it, the table is long: "
                "one row per response."
            )
    return ""


def transposed_note(respondents: Sequence[str], items: Sequence[str]) -> str:
    """Return a note on a wide table whose rows look like items, and whose columns do not."""
    if len(respondents) < max(LEAST_ROWS, MANY_TIMES * len(items)):
        return ""
    rows, columns = (_numbered_share(names[:MOST_SEEN]) for names in (respondents, items))
    named = np.mean([SEPARATOR in name for name in items]) >= MOST_ALIKE
    if not (rows >= MOST_ALIKE > columns or (named and columns < MOST_ALIKE and rows > 0)):
        return ""
    return (
        f"There are {len(respondents):,} respondents such as {shown(respondents[0])} and "
        f"{len(items):,} items such as {shown(items[0])}. If the rows are items and the columns "
        "respondents, pass layout='items'."
    )


def _numbered_share(names: Sequence[str]) -> float:
    """Return the share of names that consist of one of few tasks and a number, as task/12."""
    parts = [name.rpartition(SEPARATOR) for name in names]
    tasks = [task for task, _, number in parts if task and number.isdecimal()]
    few = len(set(tasks)) * LEAST_IN_TASK <= len(names)
    return len(tasks) / max(len(names), 1) if few else 0.0


def is_item(heading: str) -> bool:
    """Return True if a column with this heading names items."""
    return _plain(heading) in (*_NAMES_OF_ITEMS, "id")


def names_respondents(heading: object) -> bool:
    """Return True if a heading says that names of respondents stand below it."""
    return _plain(str(heading)) in _NAMES_OF_RESPONDENTS


def names_items(heading: object) -> bool:
    """Return True if the heading of the first column says that rows are items."""
    return isinstance(heading, str) and _plain(heading) in _NAMES_OF_ITEMS


def names_rows(heading: str, layout: str) -> bool:
    """Return True if the heading of the first column of a wide table says that it holds names."""
    return layout == ITEM_ROWS or _plain(heading) in _FIRST_OF_WIDE or is_corner(heading)


def is_corner(heading: str) -> bool:
    """Return True if the heading above the names is one that Ogive writes."""
    return _plain(heading) == CORNER or stated_kind(heading) is not None


def stated_kind(heading: str) -> str | None:
    """Return the kind of responses stated above the names, as in respondents (graded)."""
    match = _CORNER_WITH_KIND.fullmatch(_plain(heading))
    return match[1] if match else None


def _plain(name: str) -> str:
    return name.strip().lower()


def item_rows_note(heading: object) -> str:
    """Return the note on a table that was read as transposed."""
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


def item_names_and_facts(columns: Mapping[str, Sequence[Any]]) -> tuple[list[str], dict[str, Any]]:
    """Return names of items from the columns before their responses, and these columns as facts.

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


def looks_like_fact(heading: object) -> bool:
    """Return True if a column of this name tells of respondents.

    >>> looks_like_fact("#Params (B)"), looks_like_fact("q17")
    (True, False)
    """
    return isinstance(heading, str) and _NO_WORD.sub("_", heading.lower()).strip("_") in _FACT_NAMES


def are_responses(cells: Iterable[object]) -> bool:
    """Return True if cells hold nothing but 0, 1 and missing values."""
    return all(str(cell).strip().lower() in _BINARY_CELLS for cell in cells)


def fact_columns_note(columns: Sequence[str]) -> str:
    """Return the note on columns that are facts."""
    return (
        f"By name, {listed(list(columns), 'column')} "
        f"{'tells' if len(columns) == 1 else 'tell'} of respondents: taken as facts, not as items. "
        "If there are responses in them, rename them, or read with layout='wide'."
    )


def without_facts(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[Any]]]:
    """Return the columns of responses, and those that tell of respondents."""
    if frame.columns.nlevels > 1:
        return frame, {}
    facts = [
        name
        for name in frame.columns
        if looks_like_fact(name) and frame[name].ndim == 1 and not are_responses(frame[name])
    ]
    if not facts or len(facts) == frame.shape[1]:
        return frame, {}
    return frame.drop(columns=facts), {str(name): frame[name].tolist() for name in facts}


class FactColumns:
    """The columns of a text table that tell of respondents, collected as its rows are read."""

    def __init__(self, header: Sequence[str]) -> None:
        places = [at for at, name in enumerate(header) if at and looks_like_fact(name)]
        kept = places if len(places) < len(header) - 1 else []
        self._header = list(header)
        self._cells: dict[int, list[str]] = {place: [] for place in kept}

    @property
    def header(self) -> list[str]:
        """The headings of the other columns."""
        return [name for at, name in enumerate(self._header) if at not in self._cells]

    def cut(self, rows: Rows) -> Rows:
        """Yield the rows without these columns."""
        kept = [at for at in range(len(self._header)) if at not in self._cells]
        for line, row in rows:
            for place, cells in self._cells.items():
                cells.append(row[place])
            yield line, [row[at] for at in kept] if self._cells else row

    def described(self, table: Responses, kind: str | None) -> Responses:
        """Return the table with these columns as facts; those of only 0 and 1 become items."""
        facts = {at: cells for at, cells in self._cells.items() if not are_responses(cells)}
        items = {at: cells for at, cells in self._cells.items() if at not in facts}
        if items:
            numerals = Numerals()
            columns = {self._header[at]: [numerals[text] for text in items[at]] for at in items}
            frame = table.to_frame().assign(**columns)
            frame = frame[[name for name in self._header if name in frame.columns]]
            notes = table.notes
            table = type(table).from_frame(frame, kind, facts=False).described(notes=notes)
        if not facts:
            return table
        known = {self._header[at]: typed(cells) for at, cells in facts.items()}
        return table.described(respondents=known, notes=[fact_columns_note(list(known))])

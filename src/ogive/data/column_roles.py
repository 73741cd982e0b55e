"""Which columns are names, responses or facts.

Who answered what in a long table: other columns may say that two names are not one thing.

Item 1 of two tasks is two items; a model asked with and without examples is two respondents; and
one item has one question.

What the columns of a foreign table hold: names, responses, or facts of items and respondents.

Columns of a wide table that tell of the respondents: sizes, dates, licences, averages.

Leaderboards are published as one table, in which such columns stand beside the responses. A column
counts as a fact by its name, unless it holds nothing but 0 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.data.long_tables import LongTable
from ogive.data.names import Fact
from ogive.data.text_files import Numerals, Rows
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import NEVER_ASKED
from ogive.results.numbers import listed, meant, shown

if TYPE_CHECKING:
    from ogive.data.responses import Responses


TASKS = ("task", "benchmark", "dataset", "evaluation_name")
CONDITIONS = (
    *("shots", "num_fewshot", "n_shot", "fewshot", "temperature", "filter", "variant"),
    *("prompt", "template", "prompt_template", "system_prompt"),
)
CONTENTS = ("input", "input_hash", "doc_hash", "sample_hash", "content_hash")
REPEATS = ("epoch", "repeat", "repetition", "trial", "attempt", "seed", "run", "replicate")
KNOWN = (*TASKS, *CONDITIONS, *CONTENTS)

Ints = NDArray[np.integer[Any]]


class Codes(NamedTuple):
    """A column: the position of each row's value among `values`, -1 where there is none."""

    of_rows: Ints
    values: Sequence[Any]


@dataclass(frozen=True, eq=False)
class Identified:
    """LongTable with names that hold apart what the table holds apart."""

    triples: LongTable
    notes: tuple[str, ...] = ()
    item_facts: Mapping[str, Any] = field(default_factory=dict)
    respondent_facts: Mapping[str, Any] = field(default_factory=dict)
    old_items: Sequence[str] | None = None  # the name of each item before; None if none changed
    old_respondents: Sequence[str] | None = None


def is_known(heading: str) -> bool:
    """Return True if a column of this name may say that two names are not one thing."""
    return heading.strip().lower() in KNOWN


def identified(triples: LongTable, columns: Mapping[str, Codes]) -> Identified:
    """Give items of different tasks, and respondents under different conditions, own names."""
    named = {name.strip().lower(): (name, codes) for name, codes in columns.items()}
    found = Identified(triples)
    for word in TASKS:
        if word in named and _varies(named[word][1].of_rows, triples.columns):
            found = _with_tasks(found, *named[word])
            break
    for word in CONTENTS:
        if word in named:
            _refuse_two_questions(found.triples, *named[word])
    conditions = [named[word] for word in CONDITIONS if word in named]
    pairs = found.triples.rows.astype(np.int64) * len(found.triples.items)
    pairs = pairs + found.triples.columns
    varied = [(name, codes) for name, codes in conditions if _varies(codes.of_rows, pairs)]
    return _with_conditions(found, varied) if varied else found


def _varies(codes: Ints, owners: Ints) -> bool:
    """Return True if an owner has two values; missing ones do not count."""
    told = codes >= 0
    if not told.all():
        codes, owners = codes[told], owners[told]
    if not codes.size:
        return False
    size = int(owners.max()) + 1
    if size > 16 * owners.size + (1 << 20):  # a table of all owners would be far too large
        kept, owners = np.unique(owners, return_inverse=True)
        owners, size = owners.reshape(-1), kept.size
    one = np.empty(size, dtype=codes.dtype)
    one[owners] = codes
    return not np.array_equal(one[owners], codes)


def _split(owners: Ints, *parts: Ints) -> tuple[Ints, Ints, list[Ints]]:
    """New positions, in order of appearance; of each, the old one and its value of every part."""
    stacked = np.stack([owners, *parts])
    _, first, inverse = np.unique(stacked, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    at = first[order]
    return rank[inverse.reshape(-1)], owners[at], [part[at] for part in parts]


def _with_tasks(found: Identified, name: str, codes: Codes) -> Identified:
    triples = found.triples
    columns, old, (task,) = _split(triples.columns, codes.of_rows)
    told = [None if code < 0 else codes.values[code] for code in task]
    names = [
        triples.items[item] if task is None else f"{task}/{triples.items[item]}"
        for item, task in zip(old, told, strict=True)
    ]
    ids = [triples.items[item] for item in old]
    note = (
        f"Items are named by {name} and item, because the same item names occur in several of "
        f"{listed([str(value) for value in codes.values], name)}."
    )
    return replace(
        found,
        triples=replace(triples, items=names, columns=columns),
        notes=(*found.notes, note),
        item_facts={name: told, "id": ids},
        old_items=ids,
    )


def _refuse_two_questions(triples: LongTable, name: str, codes: Codes) -> None:
    """Refuse an item that has two questions, naming both."""
    if not _varies(codes.of_rows, triples.columns):
        return
    told = np.flatnonzero(codes.of_rows >= 0)
    first: dict[int, int] = {}
    for row in told.tolist():
        item, code = int(triples.columns[row]), int(codes.of_rows[row])
        if first.setdefault(item, code) != code:
            one, other = (shown(str(codes.values[at])[:60]) for at in (first[item], code))
            raise InputError(
                f"Item {shown(triples.items[item])} has two values in column {shown(name)}: {one} "
                f"and {other}. Different questions need names of their own; if they are the same "
                "question, leave the column out."
            )


def _with_conditions(found: Identified, varied: Sequence[tuple[str, Codes]]) -> Identified:
    triples = found.triples
    rows, old, parts = _split(triples.rows, *(codes.of_rows for _, codes in varied))
    facts: dict[str, list[Fact]] = {
        name: [None if code < 0 else codes.values[code] for code in part]
        for (name, codes), part in zip(varied, parts, strict=True)
    }
    names = []
    for at, respondent in enumerate(old.tolist()):
        own = [f"{name}={told[at]}" for name, told in facts.items() if told[at] is not None]
        tail = f" ({', '.join(own)})" if own else ""
        names.append(f"{triples.respondents[respondent]}{tail}")
    note = (
        f"Some respondents answered the same items under different {' and '.join(facts)}: each "
        "is a respondent of its own. To count them as repeated answers, leave out the column."
    )
    models = [triples.respondents[k] for k in old]
    return replace(
        found,
        triples=replace(triples, respondents=names, rows=rows),
        notes=(*found.notes, note),
        respondent_facts={**facts, "model": models},
        old_respondents=models,
    )


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
    """Return share of the names that are of a task and a number, as task/12, of few tasks."""
    parts = [name.rpartition(SEPARATOR) for name in names]
    numbered = [task for task, _, number in parts if task and number.isdecimal()]
    few = len(set(numbered)) * LEAST_IN_TASK <= len(names)
    return len(numbered) / max(len(names), 1) if few else 0.0


def is_item(heading: str) -> bool:
    """Return True if a column with this heading names items."""
    return _plain(heading) in (*_NAMES_OF_ITEMS, "id")


def names_respondents(heading: object) -> bool:
    """Return True if a heading says that names of respondents stand below it."""
    return str(heading).strip().lower() in _NAMES_OF_RESPONDENTS


def names_items(heading: object) -> bool:
    """Whether the first column of a table, by its heading, names items: rows are items then."""
    return isinstance(heading, str) and _plain(heading) in _NAMES_OF_ITEMS


def said_of_turned(heading: object) -> str:
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


def names_rows(heading: str, layout: str) -> bool:
    """Return True if the heading of the first column of a wide table says that it holds names."""
    plain = _plain(heading)
    return layout == ITEM_ROWS or plain in _FIRST_OF_WIDE or is_corner(plain)


def stated_kind(heading: str) -> str | None:
    """The kind of responses that the heading above the names states, as in respondents (graded)."""
    told = _KIND.fullmatch(_plain(heading))
    return told[1] if told else None


def is_corner(heading: str) -> bool:
    """Return True if the heading above the names is one that Ogive writes."""
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
        """Return facts of items, or else of respondents; a constant column is a fact of items."""
        found = Found({}, {})
        for place, column in self._columns.items():
            told = column.of_items if column.of_items is not None else column.of_respondents
            if told:
                kind = found.of_items if column.of_items is not None else found.of_respondents
                kind[self._header[place]] = dict(zip(told, typed(list(told.values())), strict=True))
        return found


def facts_of_frame(frame: pd.DataFrame, taken: Sequence[str], triples: LongTable) -> Found:
    """Return columns that are constant within each item, or else within each respondent."""
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


def facts_of_codes(columns: Mapping[str, Codes], triples: LongTable) -> Found:
    """Return columns that are constant within each item, or else within each respondent."""
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
    """Return the columns that may say that two names are not one thing."""
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
    """Return the code of each owner, -1 if it has none; None if an owner has two."""
    told = codes >= 0
    one = np.full(count, -1, dtype=np.intp)
    one[owner[told]] = codes[told]
    return one if np.array_equal(one[owner[told]], codes[told]) else None


def names_and_facts(columns: Mapping[str, Sequence[Any]]) -> tuple[list[str], dict[str, Any]]:
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


def typed(texts: Sequence[str]) -> list[Fact]:
    """Return texts as numbers if all of them are numbers; None for empty ones."""
    told = [text.strip() for text in texts if text.strip()]
    found = [_NUMBER.fullmatch(text) for text in told]
    if not told or not all(found):
        return [text if text.strip() else None for text in texts]
    number = int if not any(match and match[2] for match in found) else float
    return [number(text) if text.strip() else None for text in texts]


_SIZES = ("params", "param", "parameters", "n_params", "num_params", "n_parameters")
_MORE_SIZES = ("num_parameters", "parameter_count", "param_count", "model_size", "size")
_UNITS = ("", "_b", "_m", "_bn", "_gb")
NAMES = {
    *(name + unit for name in (*_SIZES, *_MORE_SIZES) for unit in _UNITS),
    *("release", "released", "release_date", "release_year", "date", "year", "submission_date"),
    *("license", "licence", "hub_license", "organization", "organisation", "developer"),
    *("provider", "family", "architecture", "precision", "model_type", "base_model"),
    *("context_length", "context_window", "cost", "price", "co2_cost", "revision", "url"),
    *("average", "avg", "average_score", "mean_score", "overall", "overall_score", "rank"),
}
_PLAIN = re.compile(r"[^a-z0-9]+")
_RESPONSES = {"", "0", "1", "0.0", "1.0", "nan", "na", "true", "false"}


def looks_like_fact(heading: object) -> bool:
    """Return True if a column of this name tells of respondents.

    >>> looks_like_fact("#Params (B)"), looks_like_fact("q17")
    (True, False)
    """
    return isinstance(heading, str) and _PLAIN.sub("_", heading.lower()).strip("_") in NAMES


def are_responses(cells: Iterable[object]) -> bool:
    """Whether cells hold nothing but 0, 1 and what is missing, whatever their column is called."""
    return all(str(cell).strip().lower() in _RESPONSES for cell in cells)


def note_on(columns: Sequence[str]) -> str:
    """Return what to say of columns that are facts."""
    return (
        f"By name, {listed(list(columns), 'column')} "
        f"{'tells' if len(columns) == 1 else 'tell'} of respondents: taken as facts, not as items. "
        "If there are responses in them, rename them, or read with layout='wide'."
    )


def without_facts(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[Any]]]:
    """Return the columns of responses, and those that tell of respondents."""
    if frame.columns.nlevels > 1:
        return frame, {}
    told = [
        name
        for name in frame.columns
        if looks_like_fact(name) and frame[name].ndim == 1 and not are_responses(frame[name])
    ]
    if not told or len(told) == frame.shape[1]:
        return frame, {}
    return frame.drop(columns=told), {str(name): frame[name].tolist() for name in told}


class FactColumns:
    """The columns of a text table that tell of respondents, collected as its rows are read."""

    def __init__(self, header: Sequence[str]) -> None:
        found = [at for at, name in enumerate(header) if at and looks_like_fact(name)]
        self._places = found if len(found) < len(header) - 1 else []
        self._header = list(header)
        self._cells: dict[int, list[str]] = {place: [] for place in self._places}

    @property
    def header(self) -> list[str]:
        """The headings of the other columns."""
        return [name for at, name in enumerate(self._header) if at not in self._cells]

    def cut(self, rows: Rows) -> Rows:
        """Yield the rows without these columns."""
        if not self._places:
            yield from rows
            return
        kept = [at for at in range(len(self._header)) if at not in self._cells]
        for line, row in rows:
            for place, cells in self._cells.items():
                cells.append(row[place])
            yield line, [row[at] for at in kept]

    def described(self, table: Responses, kind: str | None) -> Responses:
        """The table with these columns as facts; those of 0 and 1 alone as items, after all."""
        facts = {at: cells for at, cells in self._cells.items() if not are_responses(cells)}
        items = [at for at in self._places if at not in facts]
        if items:
            table = self._with_items(table, items, kind)
        if not facts:
            return table
        told = {self._header[at]: typed(cells) for at, cells in facts.items()}
        return table.described(respondents=told, notes=[note_on(list(told))])

    def _with_items(self, table: Responses, items: Sequence[int], kind: str | None) -> Responses:
        numerals = Numerals()
        columns = {self._header[at]: [numerals[text] for text in self._cells[at]] for at in items}
        frame = table.to_frame().assign(**columns)
        order = [name for name in self._header if name in frame.columns]
        return type(table).from_frame(frame[order], kind, facts=False).described(notes=table.notes)

"""Long tables: one row per response, with the columns respondent, item and response.

Other columns may say that two equal names are not one thing: item 1 of two tasks is two items, and
a model asked with and without examples is two respondents. A column that depends on the item alone,
or on the respondent alone, is a fact of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive._files import TO_RAISE, size_for_people
from ogive.data.column_roles import LongColumns
from ogive.data.names import Fact
from ogive.data.text_files import Numerals, Rows, typed
from ogive.errors import InputError
from ogive.irt.repeated_responses import Combined, check_spread, check_tries, combined
from ogive.irt.response_codes import NEVER_ASKED, extent_of, pair_in_words, refuse_text
from ogive.results.numbers import counted, listed, shown

CHECKED_EVERY = 1 << 16  # lines
MOST_REPEATS = 200_000  # rows of one respondent and item
TRIES, SPREAD = "tries", "spread"  # columns that say what a response is a mean of

TASKS = ("task", "benchmark", "dataset", "evaluation_name")
CONDITIONS = (
    *("shots", "num_fewshot", "n_shot", "fewshot", "temperature", "filter", "variant"),
    *("prompt", "template", "prompt_template", "system_prompt"),
)
CONTENTS = ("input", "input_hash", "doc_hash", "sample_hash", "content_hash")
IDENTITY = (*TASKS, *CONDITIONS, *CONTENTS)  # columns that may hold two names apart

Ints = NDArray[np.integer[Any]]
Facts = dict[str, dict[str, Any]]  # by column, a value for each name that has one


class Codes(NamedTuple):
    """A column: the position of each row's value among `values`, -1 if it has none."""

    of_rows: Ints
    values: Sequence[Any]


@dataclass(frozen=True, eq=False)
class LongTable:
    """A list of responses; `rows` and `columns` are positions in the names."""

    respondents: Sequence[str]
    items: Sequence[str]
    rows: Ints
    columns: Ints
    responses: NDArray[Any]
    tries: NDArray[Any] | None = None  # behind each response, if they are means themselves
    spread: NDArray[np.float64] | None = None

    def where(self, position: int) -> str:
        """Describe the cell of one response."""
        row, column = self.rows[position], self.columns[position]
        return pair_in_words(self.respondents[row], self.items[column])

    def wide(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Make the wide table of these codes, one per response; other cells were never asked."""
        shape = len(self.respondents), len(self.items)
        missing = np.nan if codes.dtype.kind == "f" else NEVER_ASKED
        try:
            cells = np.full(shape, missing, dtype=codes.dtype)
        except (MemoryError, ValueError) as error:
            raise InputError(
                f"{shape[0]:,} respondents × {shape[1]:,} items do not fit into memory. "
                "Check that the columns are not swapped, or select fewer items."
            ) from error
        cells[self.rows, self.columns] = codes
        return cells

    @property
    def mean_columns(self) -> tuple[str, ...]:
        """The columns that say of how many tries each response is a mean, if there are any."""
        columns = (TRIES, self.tries), (SPREAD, self.spread)
        return tuple(name for name, values in columns if values is not None)

    def repeated(self, numbers: NDArray[Any]) -> Combined | None:
        """Return one entry per pair if pairs repeat, or if responses are means of several tries."""
        pairs = self.rows.astype(np.int64) * len(self.items) + self.columns
        if self.tries is None and not _any_twice(pairs, len(self.respondents) * len(self.items)):
            return None
        extent_of(numbers, self.where)
        tries = None
        if self.tries is not None:
            tries = np.nan_to_num(self.tries.astype(float), nan=1.0)
            check_tries(tries, ~np.isnan(numbers), self.where)
            if self.spread is not None:
                check_spread(self.spread, self.where)
        return combined(pairs, numbers.astype(np.float64), tries, self.spread)

    def at(self, places: NDArray[np.intp]) -> LongTable:
        """Return some of the responses."""
        rows, columns = self.rows[places], self.columns[places]
        return LongTable(self.respondents, self.items, rows, columns, self.responses[places])


def _any_twice(pairs: NDArray[np.int64], n_cells: int) -> bool:
    """Return True if a pair occurs twice; a mask of all cells is fast if it is not much larger."""
    if n_cells <= 64 * pairs.size + (1 << 20):
        occurs = np.zeros(n_cells, dtype=np.bool_)
        occurs[pairs] = True
        return bool(np.count_nonzero(occurs) < pairs.size)
    return bool(np.unique(pairs).size < pairs.size)


@dataclass(frozen=True)
class Collector:
    """Collects responses as they are read, at sixteen bytes each."""

    respondents: dict[str, int] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    rows: array[int] = field(default_factory=lambda: array("i"))
    columns: array[int] = field(default_factory=lambda: array("i"))
    responses: array[float] = field(default_factory=lambda: array("d"))

    def add(self, respondent: str, item: str, response: float) -> None:
        """Add one response; names are numbered in order of appearance."""
        self.rows.append(self.respondents.setdefault(respondent, len(self.respondents)))
        self.columns.append(self.items.setdefault(item, len(self.items)))
        self.responses.append(response)

    def check_repeats(self) -> None:
        """Refuse rows that nearly all repeat the same pairs, before the rest is read."""
        n_rows, n_respondents, n_items = len(self.rows), len(self.respondents), len(self.items)
        if n_rows > MOST_REPEATS * n_respondents * n_items:
            raise InputError(
                f"The first {n_rows:,} rows hold only {counted(n_respondents, 'respondent')} and "
                f"{counted(n_items, 'item')}, more than {MOST_REPEATS:,} rows for each "
                "pair. Check the columns. If they are right, write one row per pair, with the "
                "share of right answers, and a column tries with their number."
            )

    def table(self, max_bytes: int) -> LongTable:
        """Return the collected table, if as a wide one, at one byte per cell, it fits `max_bytes`.

        A small file may name a million respondents and a million items.
        """
        check_cells(len(self.respondents), len(self.items), max_bytes)
        return LongTable(
            list(self.respondents),
            list(self.items),
            np.frombuffer(self.rows, dtype=np.intc),
            np.frombuffer(self.columns, dtype=np.intc),
            np.frombuffer(self.responses, dtype=np.float64),
        )


def check_cells(n_respondents: int, n_items: int, max_bytes: int) -> None:
    """Refuse a table of more cells than `max_bytes`, before it is made."""
    if n_respondents * n_items > max_bytes:
        raise InputError(
            f"There are {n_respondents:,} respondents and {n_items:,} items, whose table needs "
            f"{size_for_people(n_respondents * n_items)} or more; the limit is "
            f"{size_for_people(max_bytes)}. Check the columns. {TO_RAISE}"
        )


def functional_dependency(codes: Ints, owners: Ints, n_owners: int) -> Ints | None:
    """Return the one code of each owner, -1 if it has none; None if an owner has two.

    Missing codes (-1) do not count.
    """
    known = codes >= 0
    code_of = np.full(n_owners, -1, dtype=np.intp)
    code_of[owners[known]] = codes[known]
    return code_of if np.array_equal(code_of[owners[known]], codes[known]) else None


def _varies(codes: Ints, owners: Ints) -> bool:
    """Return True if an owner has two values."""
    if not owners.size:
        return False
    n_owners = int(owners.max()) + 1
    if n_owners > 16 * owners.size + (1 << 20):  # a table of all owners would be far too large
        owners = np.unique(owners, return_inverse=True)[1].reshape(-1)
        n_owners = owners.size
    return functional_dependency(codes, owners, n_owners) is None


def facts_of_columns(columns: Iterable[tuple[str, Codes]], table: LongTable) -> tuple[Facts, Facts]:
    """Return the columns that depend on the item alone, and those that depend on the respondent.

    A column that depends on either, such as a constant one, is a fact of items.
    """
    of_items: Facts = {}
    of_respondents: Facts = {}
    for name, (codes, values) in columns:
        for facts, names, owners in (
            (of_items, table.items, table.columns),
            (of_respondents, table.respondents, table.rows),
        ):
            code_of = functional_dependency(codes, owners, len(names)) if len(values) else None
            if code_of is not None:
                known = np.flatnonzero(code_of >= 0).tolist()
                facts[name] = {names[k]: values[code_of[k]] for k in known}
                break
    return of_items, of_respondents


@dataclass(frozen=True, eq=False)
class IdentifiedTable:
    """A long table whose names hold apart what the other columns hold apart."""

    table: LongTable
    notes: tuple[str, ...] = ()
    item_facts: Mapping[str, Any] = field(default_factory=dict)
    respondent_facts: Mapping[str, Any] = field(default_factory=dict)
    old_items: Sequence[str] | None = None  # the name of each item before; None if none changed
    old_respondents: Sequence[str] | None = None


def may_identify(heading: str) -> bool:
    """Return True if a column of this name may say that two names are not one thing."""
    return heading.strip().lower() in IDENTITY


def identify(table: LongTable, columns: Mapping[str, Codes]) -> IdentifiedTable:
    """Give items of different tasks, and respondents under different conditions, own names."""
    known = {name.strip().lower(): (name, codes) for name, codes in columns.items()}
    identified = IdentifiedTable(table)
    for word in TASKS:
        if word in known and _varies(known[word][1].of_rows, table.columns):
            identified = _with_tasks(identified, *known[word])
            break
    table = identified.table
    for word in CONTENTS:
        if word in known and _varies(known[word][1].of_rows, table.columns):
            _refuse_two_questions(table, *known[word])
    pairs = table.rows.astype(np.int64) * len(table.items) + table.columns
    conditions = [known[word] for word in CONDITIONS if word in known]
    varied = [(name, codes) for name, codes in conditions if _varies(codes.of_rows, pairs)]
    return _with_conditions(identified, varied) if varied else identified


def _split(owners: Ints, *parts: Ints) -> tuple[Ints, Ints, list[Ints]]:
    """Split owners by their values of every part, in order of appearance.

    Return the new owner of each row; and of each new owner, the old one and its values.
    """
    stacked = np.stack([owners, *parts])
    _, first, inverse = np.unique(stacked, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    at = first[order]
    return rank[inverse.reshape(-1)], owners[at], [part[at] for part in parts]


def _with_tasks(identified: IdentifiedTable, name: str, codes: Codes) -> IdentifiedTable:
    """Name items by task and item."""
    table = identified.table
    columns, old, (task_codes,) = _split(table.columns, codes.of_rows)
    tasks = [None if code < 0 else codes.values[code] for code in task_codes]
    ids = [table.items[item] for item in old]
    names = [one if task is None else f"{task}/{one}" for one, task in zip(ids, tasks, strict=True)]
    note = (
        f"Items are named by {name} and item, because the same item names occur in several of "
        f"{listed([str(value) for value in codes.values], name)}."
    )
    return replace(
        identified,
        table=replace(table, items=names, columns=columns),
        notes=(*identified.notes, note),
        item_facts={name: tasks, "id": ids},
        old_items=ids,
    )


def _refuse_two_questions(table: LongTable, name: str, codes: Codes) -> None:
    """Refuse an item that has two questions, naming both."""
    first: dict[int, int] = {}
    for row in np.flatnonzero(codes.of_rows >= 0).tolist():
        item, code = int(table.columns[row]), int(codes.of_rows[row])
        if first.setdefault(item, code) != code:
            one, other = (shown(str(codes.values[at])[:60]) for at in (first[item], code))
            raise InputError(
                f"Item {shown(table.items[item])} has two values in column {shown(name)}: {one} "
                f"and {other}. Different questions need names of their own; if they are the same "
                "question, leave the column out."
            )


def _with_conditions(
    identified: IdentifiedTable, varied: Sequence[tuple[str, Codes]]
) -> IdentifiedTable:
    """Name respondents by their conditions, too."""
    table = identified.table
    rows, old, parts = _split(table.rows, *(codes.of_rows for _, codes in varied))
    facts: dict[str, list[Fact]] = {
        name: [None if code < 0 else codes.values[code] for code in part]
        for (name, codes), part in zip(varied, parts, strict=True)
    }
    models = [table.respondents[k] for k in old]
    names = []
    for at, model in enumerate(models):
        own = [f"{name}={values[at]}" for name, values in facts.items() if values[at] is not None]
        names.append(f"{model} ({', '.join(own)})" if own else model)
    note = (
        f"Some respondents answered the same items under different {' and '.join(facts)}: each "
        "is a respondent of its own. To count them as repeated answers, leave out the column."
    )
    return replace(
        identified,
        table=replace(table, respondents=names, rows=rows),
        notes=(*identified.notes, note),
        respondent_facts={**facts, "model": models},
        old_respondents=models,
    )


@dataclass(eq=False)
class _TextColumn:
    """The values of a text column, numbered in order of appearance."""

    name: str
    place: int
    known: dict[str, int] = field(default_factory=dict)
    codes: array[int] = field(default_factory=lambda: array("i"))

    def coded(self) -> Codes:
        """Return all rows."""
        return Codes(np.frombuffer(self.codes, dtype=np.intc), typed(list(self.known)))


def long_from_rows(
    header: Sequence[str], columns: LongColumns, rows: Rows, max_bytes: int
) -> IdentifiedTable:
    """Collect responses, tries and facts from rows of text; see `read_responses` for the rules."""
    plain = [name.strip().lower() for name in header]
    mean_places = {
        word: plain.index(word)
        for word in (TRIES, SPREAD)
        if word in plain and plain.index(word) not in columns
    }
    means = {word: array("d") for word in mean_places}
    taken = {*columns, *mean_places.values()}
    others = [
        _TextColumn(name, place) for place, name in enumerate(header) if name and place not in taken
    ]
    numerals, collector = Numerals(), Collector()

    def number(place: int, text: str, line: int) -> float:
        if not numerals.know(text):
            refuse_text(f"Line {line:,}, column {shown(header[place])}", text)
        return numerals[text]

    for line, row in rows:
        respondent, item, text = (row[column] for column in columns)
        response = number(columns.response, text, line)
        if not respondent or not item:
            lacking = header[columns.item if respondent else columns.respondent]
            raise InputError(
                f"Line {line:,} has nothing in column {shown(lacking)}. "
                "Every response needs a respondent and an item."
            )
        collector.add(respondent, item, response)
        if not line % CHECKED_EVERY:
            collector.check_repeats()
        most = max(len(collector.respondents), len(collector.items))
        varied = []  # columns with more values than names depend neither on items nor respondents
        for column in others:
            text, known = row[column.place], column.known
            column.codes.append(known.setdefault(text, len(known)) if text.strip() else -1)
            if len(known) > most and not may_identify(column.name):
                varied.append(column)
        if varied:
            others = [column for column in others if column not in varied]
        for word, place in mean_places.items():
            means[word].append(number(place, row[place], line))
    table = collector.table(max_bytes)
    if TRIES in means:
        spread = np.frombuffer(means[SPREAD]) if SPREAD in means else None
        table = replace(table, tries=np.frombuffer(means[TRIES]), spread=spread)
    identifying = {one.name: one.coded() for one in others if may_identify(one.name)}
    identified = identify(table, identifying)
    plain_facts = facts_of_columns(
        [(one.name, one.coded()) for one in others if not may_identify(one.name)], table
    )
    item_facts, respondent_facts = facts_of_columns(identifying.items(), identified.table)
    return replace(
        identified,
        item_facts=_by_new_names(plain_facts[0], identified.old_items)
        | item_facts
        | dict(identified.item_facts),
        respondent_facts=_by_new_names(plain_facts[1], identified.old_respondents)
        | respondent_facts
        | dict(identified.respondent_facts),
    )


def _by_new_names(facts: Facts, old_names: Sequence[str] | None) -> dict[str, Any]:
    """Return facts by the names before as lists in the order of the names now."""
    if old_names is None:
        return dict(facts)
    return {column: [told.get(name) for name in old_names] for column, told in facts.items()}


def rows_of_records(
    header: Sequence[str], records: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[int, list[str]]]:
    """Yield records of JSON as rows of text; missing values are empty."""
    for line, record in records:
        yield line, ["" if (cell := record.get(name)) is None else str(cell) for name in header]

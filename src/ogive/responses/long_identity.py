"""Who answered what in a long table: other columns may say that two names are not one thing.

Item 1 of two tasks is two items; a model asked with and without examples is two respondents; and
one item has one question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.responses.names_and_facts import Fact
from ogive.responses.triples import Triples
from ogive.words import listed, shown

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
    """Triples with names that hold apart what the table holds apart."""

    triples: Triples
    notes: tuple[str, ...] = ()
    item_facts: Mapping[str, Any] = field(default_factory=dict)
    respondent_facts: Mapping[str, Any] = field(default_factory=dict)
    old_items: Sequence[str] | None = None  # the name of each item before; None if none changed
    old_respondents: Sequence[str] | None = None


def is_known(heading: str) -> bool:
    """Whether a column of this name may say that two names are not one thing."""
    return heading.strip().lower() in KNOWN


def identified(triples: Triples, columns: Mapping[str, Codes]) -> Identified:
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
    """Whether an owner has two values; missing ones do not count."""
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


def _refuse_two_questions(triples: Triples, name: str, codes: Codes) -> None:
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

"""What columns beside the responses tell: facts of items and respondents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from itemwise.responses.facts import Fact
from itemwise.responses.layouts import is_item

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.responses.triples import Triples

SEPARATOR = "/"
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?")  # 007 is a name


class Found(NamedTuple):
    """Facts by column, each a value by name."""

    of_items: dict[str, dict[str, Any]]
    of_respondents: dict[str, dict[str, Any]]


@dataclass
class _Column:
    """The one value of each name, until a name has two."""

    of_items: dict[str, str] | None = field(default_factory=dict)
    of_respondents: dict[str, str] | None = field(default_factory=dict)

    def add(self, respondent: str, item: str, text: str) -> bool:
        """Note a cell; whether it can still be a fact."""
        if self.of_items is not None and self.of_items.setdefault(item, text) != text:
            self.of_items = None
        told = self.of_respondents
        if told is not None and told.setdefault(respondent, text) != text:
            self.of_respondents = None
        return self.of_items is not None or self.of_respondents is not None


class ExtraCells:
    """Takes the other cells of a long table row by row; what varies is forgotten at once."""

    def __init__(self, header: Sequence[str], taken: Sequence[int]) -> None:
        self._columns = {
            place: _Column() for place in range(len(header)) if place not in taken and header[place]
        }
        self._header = header

    def add(self, respondent: str, item: str, row: Sequence[str]) -> None:
        """Note the other cells of a row."""
        lost = [
            place
            for place, column in self._columns.items()
            if row[place].strip() and not column.add(respondent, item, row[place])
        ]
        for place in lost:
            del self._columns[place]

    def found(self) -> Found:
        """Facts of items, or else of respondents: what is the same for all is one of items."""
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

    found = Found({}, {})
    sides = (
        (found.of_items, triples.items, triples.columns),
        (found.of_respondents, triples.respondents, triples.rows),
    )
    others = [name for name in frame.columns if name not in taken]
    for name in dict.fromkeys(others):
        column = frame[name]
        if column.ndim != 1:  # a heading that is there twice
            continue
        try:
            codes, values = pd.factorize(column)
        except TypeError:  # lists and the like
            continue
        for facts, names, owner in sides:
            if len(values) and (one := _one_each(codes, owner, len(names))) is not None:
                known = np.flatnonzero(one >= 0)
                facts[str(name)] = {names[k]: values[one[k]] for k in known.tolist()}
                break
    return found


def _one_each(
    codes: NDArray[np.integer[Any]], owner: NDArray[np.integer[Any]], count: int
) -> NDArray[np.integer[Any]] | None:
    """The one code of each owner, -1 where none is told; None where an owner has two."""
    told = codes >= 0
    one = np.full(count, -1, dtype=np.intp)
    one[owner[told]] = codes[told]
    return one if np.array_equal(one[owner[told]], codes[told]) else None


def names_and_facts(columns: Mapping[str, Sequence[Any]]) -> tuple[list[str], dict[str, Any]]:
    """Names of items from the columns before their responses, and these columns as facts.

    The column that is called item names them if it can; otherwise all together do, as in
    sums/12. It then is the fact "id".
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
    """Texts as numbers where all of them are; None for what is empty."""
    told = [text.strip() for text in texts if text.strip()]
    found = [_NUMBER.fullmatch(text) for text in told]
    if not told or not all(found):
        return [text if text.strip() else None for text in texts]
    number = int if not any(match and match[2] for match in found) else float
    return [number(text) if text.strip() else None for text in texts]

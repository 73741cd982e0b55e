"""Columns of a wide table that tell of the respondents: sizes, dates, licences, averages.

Leaderboards are published as one table, in which such columns stand beside the responses. A column
counts as a fact by its name, unless it holds nothing but 0 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ogive.responses.numerals import Numerals
from ogive.responses.table_layouts import typed
from ogive.tables.text_tables import Rows
from ogive.words import listed

if TYPE_CHECKING:
    import pandas as pd

    from ogive.responses.response_table import Responses

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
    """Whether a column of this name tells of respondents.

    >>> looks_like_fact("#Params (B)"), looks_like_fact("q17")
    (True, False)
    """
    return isinstance(heading, str) and _PLAIN.sub("_", heading.lower()).strip("_") in NAMES


def are_responses(cells: Iterable[object]) -> bool:
    """Whether cells hold nothing but 0, 1 and what is missing, whatever their column is called."""
    return all(str(cell).strip().lower() in _RESPONSES for cell in cells)


def note_on(columns: Sequence[str]) -> str:
    """What to say of columns that are facts."""
    return (
        f"By name, {listed(list(columns), 'column')} "
        f"{'tells' if len(columns) == 1 else 'tell'} of respondents: taken as facts, not as items. "
        "If there are responses in them, rename them, or read with layout='wide'."
    )


def without_facts(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[Any]]]:
    """The columns of responses, and those that tell of respondents."""
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
        """The rows without these columns."""
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

"""The table of observed responses, respondents × items, with facts about both."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ogive.data import frames
from ogive.data.column_roles import long_columns
from ogive.data.foreign_frames import as_pandas, with_row_names
from ogive.data.long_tables import IdentifiedTable, LongTable
from ogive.data.names import (
    Facts,
    GivenFacts,
    Selection,
    as_facts,
    facts_frame,
    grouped,
    name_index,
    named,
    part_of,
    positions,
)
from ogive.errors import InputError
from ogive.irt.repeated_responses import (
    Repeats,
    Tries,
    checked_repeats,
    repeat_notes,
    repeated_cells,
    spread_of_shares,
    tries_in_words,
    tries_or_one,
    without_single_tries,
)
from ogive.irt.response_codes import (
    NOMINAL,
    Kind,
    Tally,
    as_floats,
    as_numbers,
    as_table,
    cell_finder,
    check_codes,
    check_shape,
    checked_kind,
    coded,
    recoded,
)
from ogive.results.base import printable, table_html
from ogive.results.numbers import clean, counted

if TYPE_CHECKING:
    from ogive._files import PathLike


PREVIEW_ROWS, PREVIEW_COLUMNS = 8, 10


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Responses:
    """Respondents × items, immutable; NaN in `values` means that the item was never asked.

    `kind` is "binary" (0 or 1), "graded" (whole numbers from 0), "continuous" (any finite score) or
    "nominal" (options, see `from_choices`).
    By default it is inferred from the responses: only 0 and 1, or none at all, are binary; other
    whole numbers from 0 to 20 are graded; everything else is continuous. Negative whole numbers up
    to 20 are refused unless `kind` is given: they may well be a code for "missing".

    Text that spells a number is read as one. A C-contiguous float64 table of continuous
    responses is shared, not copied: do not change the array afterwards, or give a copy.

    Repeated answers, such as the epochs of an evaluation: `values` hold the share that was right,
    or the mean score, and `tries` how many answers stand behind each cell. The kind is then
    "binary" if every share is a whole number of tries, otherwise "continuous", where `spread` may
    give the standard deviation of the scores within each cell. Models of right and wrong answers
    use the number of tries.

    Facts about respondents and items (`described`) and notes on how the table was made (`notes`)
    stay with it; they are ignored when two tables are compared.

    >>> import ogive as og
    >>> og.Responses([[1, 0, float("nan")], [1, 1, 0]], respondents=["small", "large"])
    Responses: 2 respondents × 3 items, binary, 1 cell never asked
    >>> og.Responses([[0.8, 0.6]], tries=[[5, 5]])
    Responses: 1 respondent × 2 items, binary, 5 tries per cell, complete
    """

    cells: NDArray[Any]  # int8 or int16 with -1, or float64 with NaN, for never asked; read-only
    items: tuple[str, ...]
    kind: Kind
    _respondent_facts: Facts
    _item_facts: Facts
    notes: tuple[str, ...]  # on what was left out when it was read, and why
    repeats: Repeats | None  # tries behind each cell, if any has more than one

    def __init__(
        self,
        values: ArrayLike,
        respondents: Iterable[object] | None = None,
        items: Iterable[object] | None = None,
        kind: str | None = None,
        *,
        tries: ArrayLike | None = None,
        spread: ArrayLike | None = None,
    ) -> None:
        wanted = checked_kind(kind)
        table = as_table(values)
        rows = _given_names(respondents, table.shape[0])
        columns = named(items, table.shape[1], "item")
        where = cell_finder(rows, columns)
        numbers = as_numbers(table, where)
        repeats = None if tries is None else checked_repeats(tries, spread, numbers, where)
        if repeats is None:
            cells, found = coded(numbers, wanted, where)
        else:
            cells, found, repeats = repeated_cells(numbers, repeats, wanted, where)
        _hold(self, cells, found, rows, columns, repeats)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, kind: str | None = None, *, facts: bool = True
    ) -> Self:
        """Make a table from a frame: the index names the respondents, the columns name the items.

        If columns have several levels, the last names the items, and those above are their facts.
        A frame of polars has no index: if its first column is text, it names the respondents. With
        `facts`, columns with names such as params_b or license are facts of respondents, and an
        index that is called item makes the rows items; a note says so.
        """
        wide = frames.from_wide(with_row_names(frame), facts=facts)
        if wide.compact:
            new = cls.from_codes(wide.values, wide.respondents, wide.items, kind)
        else:
            new = cls(wide.values, wide.respondents, wide.items, kind)
            if np.may_share_memory(new.cells, wide.values):  # the frame may be changed later
                new = cls._of(new.cells.copy(), new.kind, new.respondents, new.items)
        vars(new).update(
            _item_facts=as_facts(wide.facts, new.items, "item"),
            _respondent_facts=as_facts(wide.respondent_facts, new.respondents, "respondent"),
            notes=wide.notes,
        )
        return new

    @classmethod
    def from_long(
        cls,
        frame: pd.DataFrame,
        respondent: str = "respondent",
        item: str = "item",
        response: str = "response",
        kind: str | None = None,
        *,
        facts: bool = True,
    ) -> Self:
        """Make a table from one row per response; a pair without a row was never asked.

        Several rows of a pair are repeated answers, and a note says so; a column called tries says
        how many answers stand behind a row, spread how much they differ.

        Respondents and items are in order of appearance. With `facts`, other columns that are the
        same in all rows of an item, such as its task, become facts of items; those that are the
        same in all rows of a respondent become facts of respondents. The same item in several
        tasks is then several items, and a respondent that was asked an item under several
        conditions (shots, temperature, prompt, filter) is several respondents.
        """
        table = frames.from_long(as_pandas(frame), respondent, item, response, facts=facts)
        return cls.from_identified(table, kind)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        predictions: Mapping[str, ArrayLike] | pd.DataFrame,
        items: Iterable[object] | None = None,
    ) -> Self:
        """Return 1 if a model predicts the true label, else 0; without a prediction, never asked.

        `predictions` maps each model to its labels, or is a frame with one column per model.
        Labels are compared by position.
        """
        cells, respondents = frames.from_predictions(y_true, predictions)
        return cls.from_codes(cells, respondents, items, "binary")

    @classmethod
    def from_choices(cls, choices: pd.DataFrame, key: Any, *, options: Any = None) -> Self:
        """Keep which option each respondent chose: responses of the kind "nominal".

        `choices` has one row per respondent and one column per item; missing cells were never
        asked. `key` is the right option of each item, as a list or a mapping. `options` lists the
        options, for all items or by item; left out, they are those that were chosen. Cells are 0
        for the right option and 1, 2, ... for the others; the facts key, option_1, option_2, ...
        of the items say which. `of_kind("binary")` makes right and wrong of them, and so does
        every study.

        >>> import ogive as og
        >>> import pandas as pd
        >>> chosen = pd.DataFrame({"q1": ["A", "C"], "q2": ["B", "B"]}, index=["small", "large"])
        >>> og.Responses.from_choices(chosen, key=["C", "B"]).of_kind("binary").values.tolist()
        [[0.0, 1.0], [1.0, 1.0]]
        """
        found = frames.coded_choices(as_pandas(choices), key, options)
        new = cls.from_codes(found.codes, found.respondents, found.items, "nominal")
        vars(new).update(_item_facts=as_facts(found.facts, new.items, "item"), notes=found.notes)
        return new

    @classmethod
    def from_codes(
        cls,
        cells: NDArray[np.int8] | NDArray[np.int16],
        respondents: Iterable[object] | None = None,
        items: Iterable[object] | None = None,
        kind: str | None = None,
    ) -> Self:
        """Make a table from stored cells, -1 for never asked; the array is shared, not copied."""
        wanted = checked_kind(kind)
        check_codes(cells)
        rows = _given_names(respondents, cells.shape[0])
        columns = named(items, cells.shape[1], "item")
        return cls._of(*recoded(cells, wanted, cell_finder(rows, columns)), rows, columns)

    @classmethod
    def from_identified(cls, identified: IdentifiedTable, kind: str | None = None) -> Self:
        """Make a table from a long table with its facts, and note repeated answers."""
        new = cls.from_long_table(identified.table, kind)
        announced = identified.table.tries is not None
        notes = [] if announced else repeat_notes(new.tries, new.respondents, new.items)
        vars(new).update(
            _item_facts=as_facts(identified.item_facts, new.items, "item"),
            _respondent_facts=as_facts(identified.respondent_facts, new.respondents, "respondent"),
            notes=tuple(map(clean, (*identified.notes, *notes))),
        )
        return new

    @classmethod
    def from_long_table(cls, long: LongTable, kind: str | None = None) -> Self:
        """Make a table from one row per response."""
        wanted = checked_kind(kind)
        rows = named(long.respondents, len(long.respondents), "respondent")
        columns = named(long.items, len(long.items), "item")
        check_shape((len(rows), len(columns)))
        numbers = as_numbers(long.responses, long.where)
        many = long.repeated(numbers)
        if many is None:
            codes, found = coded(numbers, wanted, long.where)
            return cls._of(long.wide(codes), found, rows, columns)
        one = long.at(many.first)
        if wanted is None and long.tries is None:  # a mean of 0.5 may be half right, or a score
            right = np.isin(numbers[~np.isnan(numbers)], (0, 1)).all()
            wanted = "binary" if right else "continuous"
        spread_known = long.tries is None or long.spread is not None
        return cls(
            one.wide(many.mean),
            rows,
            columns,
            wanted,
            tries=np.nan_to_num(one.wide(many.tries.astype(np.float64)), nan=0.0),
            spread=one.wide(many.spread) if spread_known else None,
        )

    @classmethod
    def _of(
        cls,
        cells: NDArray[Any],
        kind: Kind,
        respondents: tuple[str, ...] | None,
        items: tuple[str, ...],
        repeats: Repeats | None = None,
    ) -> Self:
        new = cls.__new__(cls)
        _hold(new, cells, kind, respondents, items, repeats)
        return new

    def described(
        self,
        *,
        respondents: GivenFacts | None = None,
        items: GivenFacts | None = None,
        notes: Iterable[str] = (),
    ) -> Responses:
        """Return the same responses with more facts and notes.

        Facts are a frame whose index holds names, or columns by name: each a list in the order of
        the table, or a mapping from name to value.

        >>> import ogive as og
        >>> table = og.Responses([[1, 0], [0, 1]], items=["q1", "q2"])
        >>> table.described(items={"task": ["sums", "verbs"]}).item_groups("task")
        ('sums', 'verbs')
        """
        names = vars(self).get("respondents")
        new = Responses._of(self.cells, self.kind, names, self.items, self.repeats)
        of_items = {} if items is None else as_facts(items, self.items, "item")
        of_rows = (
            {} if respondents is None else as_facts(respondents, self.respondents, "respondent")
        )
        vars(new).update(
            _item_facts={**self._item_facts, **of_items},
            _respondent_facts={**self._respondent_facts, **of_rows},
            notes=(*self.notes, *map(clean, notes)),
        )
        return new

    @cached_property
    def respondents(self) -> tuple[str, ...]:
        """Names of the respondents; if none were given, they are made when asked for."""
        return named(None, len(self.cells), "respondent")

    @property
    def respondent_index(self) -> pd.Index:
        """The names of respondents as the index of a frame."""
        return self._index.copy()  # renaming it must not rename another

    @cached_property
    def _index(self) -> pd.Index:
        return name_index(vars(self).get("respondents"), len(self.cells), "respondent")

    @property
    def item_facts(self) -> pd.DataFrame:
        """Facts about the items: one row per item, one column per fact."""
        return facts_frame(self._item_facts, self.items, "item")

    @property
    def respondent_facts(self) -> pd.DataFrame:
        """Facts about the respondents: one row per respondent, one column per fact."""
        return facts_frame(self._respondent_facts, self.respondents, "respondent")

    def item_groups(self, by: object) -> tuple[str, ...]:
        """Return the group of each item, `by` a fact a mapping, a function or a list."""
        return grouped(self._item_facts, self.items, by, "item")

    def respondent_groups(self, by: object) -> tuple[str, ...]:
        """Return the group of each respondent, `by` a fact, a mapping, a function or a list."""
        return grouped(self._respondent_facts, self.respondents, by, "respondent")

    @property
    def shape(self) -> tuple[int, int]:
        """The number of respondents and of items."""
        return self.n_respondents, self.n_items

    @property
    def n_respondents(self) -> int:
        """The number of respondents."""
        return len(self.cells)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.items)

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Which cells hold a response; a new mask at every call."""
        is_float = self.cells.dtype.kind == "f"
        return np.asarray(~np.isnan(self.cells) if is_float else self.cells >= 0)

    @property
    def tries(self) -> Tries | None:
        """The number of answers behind each cell, 0 if never asked; None if one everywhere."""
        return None if self.repeats is None else self.repeats.tries

    @property
    def spread(self) -> NDArray[np.float64] | None:
        """Standard deviation of the answers within each cell; NaN if it is not known.

        None if no cell has more than one answer.
        """
        if self.repeats is None:
            return None
        if self.repeats.spread is None and self.kind == "binary":
            return spread_of_shares(self.cells, self.repeats.tries)
        spread = self.repeats.spread
        return np.full(self.shape, np.nan) if spread is None else spread

    @cached_property
    def tally(self) -> Tally:
        """The number of times each item got each response, from one pass over the table."""
        return Tally.of(self.cells)

    @property
    def n_missing(self) -> int:
        """The number of cells without a response."""
        return self.tally.n_missing

    @property
    def complete(self) -> bool:
        """True if every respondent was asked every item."""
        return self.n_missing == 0

    @property
    def values(self) -> NDArray[np.float64]:
        """Float64 with NaN for never asked; a full copy, eight bytes per cell, at every call."""
        return as_floats(self.cells)

    def select(
        self, respondents: Selection | None = None, items: Selection | None = None
    ) -> Responses:
        """Select respondents and items, in the order given; kind and facts are kept.

        Each is a list of names, of positions from 0, or of True and False; or one name, or a slice.
        """
        rows = positions(self.respondents, respondents, "respondent")
        columns = positions(self.items, items, "item")
        check_shape((rows.size, columns.size))
        part = Responses._of(
            self.cells[np.ix_(rows, columns)],
            self.kind,
            named([self.respondents[row] for row in rows], rows.size, "respondent"),
            named([self.items[column] for column in columns], columns.size, "item"),
            None if self.repeats is None else self.repeats.of(rows, columns),
        )
        vars(part).update(
            _respondent_facts=part_of(self._respondent_facts, rows),
            _item_facts=part_of(self._item_facts, columns),
            notes=self.notes,
        )
        return part

    def of_kind(self, kind: str) -> Responses:
        """Return the same responses as another kind; refused if one of them cannot be of it."""
        wanted = checked_kind(kind)
        if wanted is None or wanted == self.kind:
            return self
        values = self.values
        if NOMINAL in (self.kind, wanted):
            values = frames.as_right_or_wrong(values, self.kind, wanted)
        new = Responses(
            *(values, self.respondents, self.items, wanted),
            tries=self.tries,
            spread=self.spread,
        )
        return new.described(
            respondents=self._respondent_facts, items=self._item_facts, notes=self.notes
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent, one column per item; float64 with NaN for never asked."""
        return frames.wide_frame(self.values, self.respondents, self.items)

    def to_long(self) -> pd.DataFrame:
        """Return one row per observed response: respondent and item (as categories), response.

        Repeated answers also have tries, and scores their spread.
        """
        frame = frames.long_frame(self.cells, self.observed, self.respondents, self.items)
        if self.repeats is not None:
            frame["tries"] = self.repeats.tries[self.observed]
            if self.repeats.spread is not None:
                frame["spread"] = self.repeats.spread[self.observed]
        return frame

    def save(self, path: PathLike) -> Path:
        """Write a CSV (also .csv.gz, .tsv) or Parquet file; see `write_responses`."""
        from ogive.data.response_writing import write_responses

        return write_responses(self, path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Responses):
            return NotImplemented
        return (
            self.kind == other.kind
            and self.respondents == other.respondents
            and self.items == other.items
            and np.array_equal(self.cells, other.cells, equal_nan=self.cells.dtype.kind == "f")
            and np.array_equal(
                tries_or_one(self.tries, self.observed), tries_or_one(other.tries, other.observed)
            )
        )

    def __repr__(self) -> str:
        missing = f"{counted(self.n_missing, 'cell')} never asked" if self.n_missing else "complete"
        often = "" if self.tries is None else f"{tries_in_words(self.tries)}, "
        return (
            f"Responses: {counted(self.n_respondents, 'respondent')} × "
            f"{counted(self.n_items, 'item')}, {self.kind}, {often}{missing}"
        )

    def _repr_html_(self) -> str:
        rows, columns = self.respondents[:PREVIEW_ROWS], self.items[:PREVIEW_COLUMNS]
        corner = as_floats(self.cells[: len(rows), : len(columns)])
        whole = corner.shape == self.shape
        part = "" if whole else f" (the first {corner.shape[0]} × {corner.shape[1]} are shown)"
        texts = [f"{self!r}{part}", *map(printable, self.notes)]
        table = table_html(pd.DataFrame(corner, pd.Index(rows), pd.Index(columns)))
        return "".join([*(f"<p>{html.escape(text)}</p>" for text in texts), table])


def _given_names(names: Iterable[object] | None, count: int) -> tuple[str, ...] | None:
    """Return names of respondents; None if they are numbered, which need not be written yet."""
    return None if names is None else named(names, count, "respondent")


def _hold(
    responses: Responses,
    cells: NDArray[Any],
    kind: Kind,
    respondents: tuple[str, ...] | None,
    items: tuple[str, ...],
    repeats: Repeats | None = None,
) -> None:
    """Set the attributes of a new, frozen object."""
    cells, repeats = without_single_tries(cells, kind, repeats)
    cells = cells.view()  # the caller's own array stays writable
    cells.flags.writeable = False
    vars(responses).update(cells=cells, items=items, kind=kind)
    if respondents is not None:
        vars(responses).update(respondents=respondents)
    vars(responses).update(_respondent_facts={}, _item_facts={}, notes=(), repeats=repeats)


Table: TypeAlias = "Responses | pd.DataFrame | ArrayLike"


def as_responses(table: Table, kind: str | None = None) -> Responses:
    """Return responses as they are, or make them from a frame or an array, of a given `kind`.

    Choices become right and wrong unless they are asked for: only the nominal model reads them.
    """
    if isinstance(table, Responses):
        if kind is None and table.kind == NOMINAL:
            return table.of_kind("binary")
        return table if kind is None else table.of_kind(kind)
    if isinstance(table, str | os.PathLike):
        raise InputError(
            f"Responses are needed, not a path. Read it: ogive.read_responses({str(table)!r})."
        )
    if hasattr(table, "responses"):
        raise InputError(
            f"Responses are needed, not a {type(table).__name__}; give its attribute 'responses'."
        )
    if hasattr(table, "toarray"):
        raise InputError(
            "Responses are needed, not a sparse matrix, which cannot tell 0 from never asked. "
            "Give matrix.toarray(), with NaN where an item was never asked."
        )
    frame: Any = as_pandas(table)
    if hasattr(frame, "columns") and long_columns([str(name) for name in frame.columns], "auto"):
        raise InputError(
            "The frame has one row per response, but a table has one row per respondent and one "
            "column per item. Use Responses.from_long(frame), which takes the names of its columns."
        )
    if hasattr(frame, "columns"):
        return Responses.from_frame(with_row_names(table), kind=kind)
    return Responses(frame, kind=kind)

"""Rows of respondent, item and response in files larger than memory, in any order.

Respondents are dealt to buckets on the disk by a hash of their names, until one bucket after the
other can be laid out as a table. The buckets are files without a name: nothing of them stays.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import FileError, InputError
from ogive.files import PathLike
from ogive.responses.scanned_files import Block, ScannedFile, codes_of, scores_of
from ogive.responses.seen_cells import SeenCells
from ogive.responses.stored_cells import pair_in_words
from ogive.tables.parquet import as_texts, is_number

ROWS_AT_A_TIME = 1 << 20
ROWS_IN_BUCKET = 1 << 21
MOST_BUCKETS = 512
RESPONDENT, ITEM, RESPONSE = "respondent", "item", "response"


class LongRows:
    """Responses dealt to buckets, each with all responses of its respondents."""

    def __init__(self, files: Sequence[ScannedFile], folder: PathLike | None) -> None:
        self._folder = folder
        total = sum(file.n_rows for file in files)
        self._n_buckets = min(MOST_BUCKETS, -(-total // ROWS_IN_BUCKET))
        self._items: dict[str, int] = {}
        self._buckets: list[Any] = []
        try:
            self._deal(files)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(
                f"Scanned responses cannot be kept in '{folder or tempfile.gettempdir()}': "
                f"{error.strerror}. Name another folder with cache=."
            ) from error

    @property
    def items(self) -> tuple[str, ...]:
        """All items, in the order in which they appear."""
        return tuple(self._items)

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """The respondents of one bucket after the other."""
        for rows, columns, responses, names in self._opened():
            cells = self._laid_out(rows, columns, responses, names, grades=grades)
            yield cells, SeenCells.of_codes(cells) if grades else SeenCells.of_scores(cells)

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Names of respondents, in the order of `blocks`, at most so many at a time."""
        for *_, names in self._opened():
            for first in range(0, len(names), n_rows):
                yield names[first : first + n_rows]

    def _deal(self, files: Sequence[ScannedFile]) -> None:
        """Write every response to the bucket of its respondent."""
        import pyarrow as pa

        schema = pa.schema(
            [(RESPONDENT, pa.string()), (ITEM, pa.int32()), (RESPONSE, pa.float64())]
        )
        self._buckets = [
            tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - as long as this
            for _ in range(self._n_buckets)
        ]
        weakref.finalize(self, _close_all, self._buckets)
        sinks = [pa.PythonFile(file, "w") for file in self._buckets]
        writers = [pa.ipc.new_stream(sink, schema) for sink in sinks]
        for file in files:
            assert file.roles is not None  # noqa: S101 - long files have them
            for batch in file.batches(file.roles, ROWS_AT_A_TIME):
                for place, part in enumerate(self._split(file, batch)):
                    if part is not None:
                        writers[place].write(pa.RecordBatch.from_arrays(part, schema=schema))
        for writer in writers:
            writer.close()

    def _split(self, file: ScannedFile, batch: Any) -> Iterator[list[Any] | None]:
        """The rows of each bucket: respondent, place of the item, response."""
        import pyarrow as pa
        from pandas.util import hash_array

        respondent, item, response = batch.columns
        for role, column in zip((RESPONDENT, ITEM), (respondent, item), strict=True):
            if column.null_count:
                raise InputError(
                    f"'{Path(file.path)}' has rows without {role}. Name it, or leave the rows out."
                )
        if not is_number(response.type):
            raise InputError(
                f"The responses of '{file.path}' are {response.type}, but they should be numbers. "
                "Write them as numbers."
            )
        texts = as_texts(respondent, f"Column '{RESPONDENT}' of '{file.path}'")
        who = texts.dictionary_encode()
        what = as_texts(item, f"Column '{ITEM}' of '{file.path}'").dictionary_encode()
        places = [
            self._items.setdefault(name, len(self._items)) for name in what.dictionary.to_pylist()
        ]
        columns = np.array(places, dtype=np.int32)[what.indices.to_numpy()]
        numbers = scores_of(response, f"Column '{RESPONSE}' of '{file.path}'")
        names = np.asarray(who.dictionary.to_pylist(), dtype=object)
        home = hash_array(names, categorize=False) % np.uint64(self._n_buckets)
        bucket = home[who.indices.to_numpy()]
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(self._n_buckets + 1, dtype=np.uint64))
        for first, last in pairwise(ends):
            part = order[first:last]
            yield (
                [texts.take(pa.array(part)), pa.array(columns[part]), pa.array(numbers[part])]
                if part.size
                else None
            )

    def _opened(self) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any], Any]]:
        """One bucket after the other: rows, columns, responses, and names of the rows."""
        import pyarrow as pa

        for file in self._buckets:
            file.seek(0)
            table = pa.ipc.open_stream(pa.PythonFile(file, "r")).read_all()
            if not table.num_rows:
                continue
            who = table.column(RESPONDENT).combine_chunks().dictionary_encode()
            yield (
                who.indices.to_numpy(),
                table.column(ITEM).to_numpy(),
                table.column(RESPONSE).to_numpy(),
                who.dictionary,
            )

    def _laid_out(
        self,
        rows: NDArray[Any],
        columns: NDArray[Any],
        responses: NDArray[Any],
        names: Any,
        *,
        grades: bool,
    ) -> NDArray[Any]:
        """A table of the respondents of one bucket."""
        import pyarrow as pa

        shape = len(names), len(self._items)
        pairs = rows.astype(np.int64) * shape[1] + columns
        told = np.bincount(pairs, minlength=shape[0] * shape[1])
        if told.max(initial=0) > 1:
            row, column = divmod(int(np.argmax(told > 1)), shape[1])
            raise InputError(
                f"{pair_in_words(names[row].as_py(), self.items[column])} has several responses, "
                "and repeated answers cannot be scanned. Read them with read_responses, or "
                "write one row per respondent and item."
            )
        if grades:
            cells = np.full(shape, -1, dtype=np.int8)
            cells[rows, columns] = codes_of(pa.array(responses), f"Column '{RESPONSE}'")
        else:
            cells = np.full(shape, np.nan)
            cells[rows, columns] = responses
        return cells


def _close_all(files: list[Any]) -> None:
    for file in files:
        file.close()

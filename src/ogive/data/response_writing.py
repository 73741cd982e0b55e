"""Write tables of responses to files that `read_responses` reads back."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ogive._files import write_atomically
from ogive.data.column_roles import CORNER
from ogive.data.long_tables import SPREAD, TRIES
from ogive.data.names import Fact
from ogive.errors import FileError, InputError
from ogive.irt.repeated_responses import tries_or_one
from ogive.irt.response_codes import HIGHEST_INFERRED_GRADE, extent_of
from ogive.results.numbers import shown

if TYPE_CHECKING:
    from ogive._files import PathLike
    from ogive.data.responses import Responses


# Keys in the metadata of a Parquet file: the kind of the responses, and everything else.
KIND_KEY, ABOUT_KEY = b"ogive.kind", b"ogive.about"


def write_responses(responses: Responses, path: PathLike) -> Path:
    """Write a wide table to `.csv`, `.tsv` (also with `.gz`) or `.parquet`, and return its path.

    `read_responses` returns an equal object. Parquet keeps facts and notes, too; text files do
    not. Repeated answers are written to text as a long table, one row per cell with its tries.
    """
    name = Path(path).name.lower()
    if name.endswith(".parquet"):
        write_atomically(path, lambda file: _write_parquet(responses, file))
    elif name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        _check_names(responses)
        write_atomically(
            path,
            lambda file: _write_delimited(
                responses,
                file,
                delimiter="\t" if ".tsv" in name else ",",
                packed=name.endswith(".gz"),
            ),
        )
    else:
        raise FileError(
            f"'{path}' ends in {shown(Path(path).suffix)}, but responses are written to "
            ".csv, .csv.gz, .tsv, .tsv.gz or .parquet. Choose one of these."
        )
    return Path(path)


def _write_delimited(responses: Responses, file: BinaryIO, *, delimiter: str, packed: bool) -> None:
    # Without a time in the header, the same responses give the same bytes.
    binary = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file
    text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
    try:
        text.writelines(_lines(responses, delimiter))
        text.flush()
    finally:
        text.detach()
        if binary is not file:
            binary.close()


def _lines(responses: Responses, delimiter: str) -> Iterator[str]:
    if responses.tries is not None:
        yield from _long_lines(responses, delimiter)
        return
    yield delimiter.join(map(_quoted, [_corner(responses), *responses.items])) + "\n"
    if responses.kind == "continuous":
        for name, row in zip(responses.respondents, responses.cells, strict=True):
            cells = ("" if cell != cell else repr(cell) for cell in row.tolist())
            yield delimiter.join([_quoted(name), *cells]) + "\n"
        return
    # The last entry is that of -1, never asked.
    numerals = [*map(str, range(int(responses.cells.max()) + 1)), ""]
    for name, row in zip(responses.respondents, responses.cells, strict=True):
        yield delimiter.join([_quoted(name), *map(numerals.__getitem__, row.tolist())]) + "\n"


def _corner(responses: Responses) -> str:
    """Return the heading above the names, with the kind if a reader would infer another."""
    if responses.kind == "continuous":
        extent = extent_of(responses.cells, str)
        inferred = not (extent.whole and extent.high <= HIGHEST_INFERRED_GRADE)
    else:
        highest = responses.cells.max()
        grades = "graded" if highest <= HIGHEST_INFERRED_GRADE else "continuous"
        inferred = responses.kind == ("binary" if highest <= 1 else grades)
    return CORNER if inferred else f"{CORNER} ({responses.kind})"


def _long_lines(responses: Responses, delimiter: str) -> Iterator[str]:
    """Yield one row per cell, its response and tries.

    Items are read back in the order of the first respondent's rows, and respondents in that of
    their first rows: these are written even where nothing was asked.
    """
    spread = None if responses.kind == "binary" else responses.spread  # its column says: scores
    tables: list[NDArray[Any]] = [
        responses.cells,
        tries_or_one(responses.tries, responses.observed),
    ]
    tables += [] if spread is None else [spread]
    words = ["response", TRIES, *([] if spread is None else [SPREAD])]
    yield delimiter.join(["respondent", "item", *words]) + "\n"
    for row, respondent in enumerate(responses.respondents):
        asked = responses.observed[row]
        kept = np.flatnonzero(asked | (row == 0) | (np.arange(asked.size) == 0))
        for column in kept.tolist():
            numbers = (table[row, column].item() for table in tables) if asked[column] else ()
            texts = ["" if number != number else repr(number) for number in numbers]
            texts += [""] * (len(tables) - len(texts))
            names = _quoted(respondent), _quoted(responses.items[column])
            yield delimiter.join([*names, *texts]) + "\n"


def _quoted(name: str) -> str:
    """Quote a name, so that it is never read as a delimiter, a line end or an empty cell."""
    return '"' + name.replace('"', '""') + '"'


def _check_names(responses: Responses) -> None:
    for name in (*responses.respondents, *responses.items):
        if "\0" in name:
            raise InputError(
                f"The name {shown(name)} holds a null character, which text files cannot hold. "
                "Rename it, or write Parquet."
            )


def _write_parquet(responses: Responses, file: BinaryIO) -> None:
    """Write a column of names, columns of facts, then responses, null where never asked.

    The longer side of the table makes the rows, because a file with ten thousand columns is slow to
    open. Kind, side, notes and the facts of the columns go into the metadata of the file.
    """
    by_item = responses.n_items > responses.n_respondents
    rows, columns = responses.respondents, responses.items
    row_facts, column_facts = responses._respondent_facts, responses._item_facts  # noqa: SLF001
    cells, observed = responses.cells, responses.observed
    if by_item:
        rows, columns, row_facts, column_facts = columns, rows, column_facts, row_facts
        cells, observed = cells.T, observed.T
    arrays = [pa.array(rows, pa.string()), *(_fact_column(values) for values in row_facts.values())]
    arrays += [
        pa.array(part.copy(), mask=~asked) for part, asked in zip(cells.T, observed.T, strict=True)
    ]
    names = [CORNER, *row_facts, *columns]
    beside = [part for part in responses.repeats or () if part is not None]
    for word, part in zip((TRIES, SPREAD), beside, strict=False):
        arrays += [pa.array(one.copy()) for one in (part if by_item else part.T)]
        names += [f"{column} ({word})" for column in columns]
    table = pa.Table.from_arrays(arrays, names=names)
    about = {
        "repeats": len(beside),  # blocks of columns after the responses: tries, then spread
        "rows": "items" if by_item else "respondents",
        "facts": len(row_facts),
        "column_facts": column_facts,
        "notes": responses.notes,
    }
    metadata = {KIND_KEY: responses.kind, ABOUT_KEY: json.dumps(about, allow_nan=False)}
    pq.write_table(table.replace_schema_metadata(metadata), file)


def _fact_column(values: tuple[Fact, ...]) -> Any:
    """Return an Arrow array of one type if possible, otherwise of text."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())

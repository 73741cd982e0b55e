"""Tables of responses to files that `read_responses` reads back."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from itemwise.errors import FileError, InputError
from itemwise.files import write_atomically
from itemwise.responses.facts import Fact
from itemwise.responses.table_layouts import CORNER
from itemwise.words import shown

if TYPE_CHECKING:
    from itemwise.files import PathLike
    from itemwise.responses.response_table import Responses

# Under which the metadata of a Parquet file hold the kind of the responses, and the rest.
KIND_KEY, ABOUT_KEY = b"itemwise.kind", b"itemwise.about"


def write_responses(responses: Responses, path: PathLike) -> Path:
    """Write a wide table to `.csv`, `.tsv` (also with `.gz`) or `.parquet`, and return its path.

    `read_responses` gives an equal object back. Parquet remembers kind, facts and notes; a text
    file cannot: when it is read, pass `kind` where it would be inferred differently.
    """
    name = Path(path).name.lower()
    try:
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
    except UnicodeEncodeError as error:
        raise InputError(
            f"A name cannot be written as UTF-8: {shown(error.object)} holds half a character. "
            "Rename the respondent or item."
        ) from error
    return Path(path)


def _write_delimited(responses: Responses, file: BinaryIO, *, delimiter: str, packed: bool) -> None:
    # No time in the header of the archive: same responses, same bytes.
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
    yield delimiter.join(map(_quoted, [CORNER, *responses.items])) + "\n"
    if responses.kind == "continuous":
        for name, row in zip(responses.respondents, responses.cells, strict=True):
            cells = ("" if cell != cell else repr(cell) for cell in row.tolist())
            yield delimiter.join([_quoted(name), *cells]) + "\n"
        return
    # The last entry is what never asked, -1, points at.
    numerals = [*map(str, range(int(responses.cells.max()) + 1)), ""]
    for name, row in zip(responses.respondents, responses.cells, strict=True):
        yield delimiter.join([_quoted(name), *map(numerals.__getitem__, row.tolist())]) + "\n"


def _quoted(name: str) -> str:
    """Always in quotes, so that no name is taken for a delimiter, a line end or nothing."""
    return '"' + name.replace('"', '""') + '"'


def _check_names(responses: Responses) -> None:
    for name in (*responses.respondents, *responses.items):
        if "\0" in name:
            raise InputError(
                f"The name {shown(name)} holds a null character, which text files may not. "
                "Rename it, or write Parquet."
            )


def _write_parquet(responses: Responses, file: BinaryIO) -> None:
    """A column of names, columns of facts, then responses, with nulls where it was never asked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
    table = pa.Table.from_arrays(arrays, names=[CORNER, *row_facts, *columns])
    about = {
        "rows": "items" if by_item else "respondents",
        "facts": len(row_facts),
        "column_facts": column_facts,
        "notes": responses.notes,
    }
    metadata = {KIND_KEY: responses.kind, ABOUT_KEY: json.dumps(about, allow_nan=False)}
    pq.write_table(table.replace_schema_metadata(metadata), file)


def _fact_column(values: tuple[Fact, ...]) -> Any:
    """One type where there is one, text otherwise."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())

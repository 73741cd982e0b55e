"""Tables of responses to files that `read_responses` reads back."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from itemwise.errors import FileError, InputError
from itemwise.files import write_atomically
from itemwise.responses.layouts import CORNER
from itemwise.responses.parquet_responses import write_parquet
from itemwise.words import shown

if TYPE_CHECKING:
    from itemwise.files import PathLike
    from itemwise.responses.table import Responses


def write_responses(responses: Responses, path: PathLike) -> Path:
    """Write a wide table to `.csv`, `.tsv` (also with `.gz`) or `.parquet`, and return its path.

    `read_responses` gives an equal object back. Parquet remembers kind, facts and notes; a text
    file cannot: when it is read, pass `kind` where it would be inferred differently.
    """
    name = Path(path).name.lower()
    try:
        if name.endswith(".parquet"):
            write_atomically(path, lambda file: write_parquet(responses, file))
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

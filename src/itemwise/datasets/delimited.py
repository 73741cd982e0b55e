"""CSV and its relatives as a frame: the first line names the columns, every row is as long."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from itemwise.errors import FileError
from itemwise.responses.cells import number, shown
from itemwise.responses.delimited import delimiter_of
from itemwise.responses.text import text_lines
from itemwise.words import listed

if TYPE_CHECKING:
    import pandas as pd

# "None" is left out: it is a category of its own in many tables.
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_INTEGER = re.compile(r"[+-]?\d+")


def read_delimited(path: Path, max_bytes: int) -> pd.DataFrame:
    """Read a table of numbers, truth values and text; nothing in it is evaluated."""
    import pandas as pd

    with text_lines(path, max_bytes) as lines:
        text = "".join(lines).replace("\r\n", "\n").replace("\r", "\n")
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz"))
    delimiter = "\t" if tabs else delimiter_of(text[: 1 << 16].splitlines(keepends=True))
    header, first = _checked_rows(path, text, delimiter)
    _check_header(path, header)
    comma = delimiter != "," and any(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in first)
    try:
        frame: pd.DataFrame = pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            decimal="," if comma else ".",
            index_col=False,
            na_values=list(MISSING),
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except ValueError as error:  # pandas' own errors among them
        raise FileError(f"'{path}' is not valid CSV: {shown(str(error))}. Check it.") from error
    frame.columns = pd.Index([name.strip() for name in header])
    return frame


def _checked_rows(path: Path, text: str, delimiter: str) -> tuple[list[str], list[str]]:
    """The names and the first row, once all rows are known to be equally long."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True, skipinitialspace=True)
    header: list[str] = []
    first: list[str] = []
    try:
        for row in reader:
            if not row:
                continue
            header = header or row
            if len(row) != len(header):
                raise FileError(
                    f"'{path}', line {reader.line_num:,} has {len(row):,} fields, but the first "
                    f"line has {len(header):,}. Complete the row, and put quotes around text that "
                    f"holds {shown(delimiter)}."
                )
            if not first and row is not header:
                first = row
    except csv.Error as error:
        raise FileError(
            f"'{path}', line {reader.line_num:,} is not valid CSV: {error}. "
            "Check that every quote is closed."
        ) from error
    if not header:
        raise FileError(f"'{path}' holds nothing but blank lines. Check how it was made.")
    return header, first


def _check_header(path: Path, header: list[str]) -> None:
    """Refuse a first line of data, and names that are there twice."""
    names = [name.strip() for name in header]
    numbers = [name for name in names if number(name) is not None]
    twice = sorted({name for name in names if names.count(name) > 1})
    whole = all(_INTEGER.fullmatch(name) for name in numbers)
    if 2 * len(numbers) >= len(names) and (twice or not whole):
        raise FileError(
            f"'{path}' begins with a line of data ({', '.join(map(shown, names[:3]))}, ...), but "
            "its first line should name the columns. Add a line of names."
        )
    if twice:
        raise FileError(
            f"'{path}' has {listed([shown(name) for name in twice], 'column name')} more than "
            "once. Rename them."
        )

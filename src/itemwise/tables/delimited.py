"""CSV and its relatives: the first line names the columns, and all rows are equally long."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from itemwise.errors import FileError
from itemwise.tables.text_files import text_lines
from itemwise.words import listed, shown

if TYPE_CHECKING:
    import pandas as pd

_DELIMITERS = ",;\t"
_SAMPLE_LINES = 10  # quoted names may run over several lines
# "None" is left out: it is a category of its own in many tables.
_MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_INTEGER = re.compile(r"[+-]?\d+")

Rows = Iterator[tuple[int, list[str]]]  # line number and fields


def number(cell: object) -> float | None:
    """The cell as a float: NaN if it is missing, None if it is not a number."""
    if cell is None or type(cell).__name__ in ("NAType", "MaskedConstant"):
        return math.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def delimited_rows(
    path: Path, lines: Iterable[str], *, skip_spaces: bool = False
) -> tuple[str, Rows]:
    """The delimiter, and all rows that are not blank; a row of another length is refused.

    The delimiter is a tab in `.tsv` files; in others it is the one that fits the first lines.
    """
    rest = iter(lines)
    start = list(itertools.islice(rest, _SAMPLE_LINES))
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz"))
    delimiter = "\t" if tabs else _delimiter(start)
    return delimiter, _rows(path, itertools.chain(start, rest), delimiter, skip_spaces=skip_spaces)


def read_delimited(path: Path, max_bytes: int) -> pd.DataFrame:
    """Read a table of numbers, truth values and text; nothing in it is evaluated."""
    import pandas as pd

    with text_lines(path, max_bytes) as lines:
        text = "".join(lines).replace("\r\n", "\n").replace("\r", "\n")
    delimiter, rows = delimited_rows(path, io.StringIO(text), skip_spaces=True)
    _, header = next(rows)
    _check_header(path, header)
    _, first = next(rows, (0, []))
    deque(rows, maxlen=0)  # reads on, so that a row of another length is found
    comma = delimiter != "," and any(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in first)
    try:
        frame: pd.DataFrame = pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            decimal="," if comma else ".",
            index_col=False,
            na_values=list(_MISSING),
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except ValueError as error:  # pandas' own errors among them
        raise FileError(f"'{path}' is not valid CSV: {shown(str(error))}. Check it.") from error
    frame.columns = pd.Index([name.strip() for name in header])
    return frame


def _delimiter(start: list[str]) -> str:
    """The delimiter that splits the first two rows into equally many fields, and the most."""

    def fit(delimiter: str) -> tuple[bool, int]:
        rows = filter(None, csv.reader(start, delimiter=delimiter, strict=True))
        counts: list[int] = []
        with suppress(csv.Error):  # what was counted before the error stays
            counts.extend(len(row) for row in itertools.islice(rows, 2))
        most = max(counts, default=0)
        return (min(counts) == most, most) if most > 1 else (False, 0)

    return max(_DELIMITERS, key=fit)


def _rows(path: Path, lines: Iterable[str], delimiter: str, *, skip_spaces: bool) -> Rows:
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=skip_spaces)
    width = 0
    try:
        for row in reader:
            if not row:
                continue
            width = width or len(row)
            if len(row) != width:
                raise FileError(
                    f"'{path}', line {reader.line_num:,} has {len(row):,} fields, but the first "
                    f"line has {width:,}. Complete the row, and put quotes around text that "
                    f"holds {shown(delimiter)}."
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise FileError(
            f"'{path}', line {reader.line_num:,} is not valid CSV: {error}. "
            "Check that every quote is closed."
        ) from error
    if not width:
        raise FileError(f"'{path}' holds nothing but blank lines. Check how it was made.")


def _check_header(path: Path, header: list[str]) -> None:
    """Refuse a first line that holds data, and repeated names."""
    names = [name.strip() for name in header]
    numbers = [name for name in names if number(name) is not None]
    repeated = sorted({name for name in names if names.count(name) > 1})
    whole = all(_INTEGER.fullmatch(name) for name in numbers)
    if 2 * len(numbers) >= len(names) and (repeated or not whole):
        raise FileError(
            f"'{path}' begins with a line of data ({', '.join(map(shown, names[:3]))}, ...), but "
            "its first line should name the columns. Add a line of names."
        )
    if repeated:
        raise FileError(
            f"'{path}' has {listed([shown(name) for name in repeated], 'column name')} more than "
            "once. Rename them."
        )

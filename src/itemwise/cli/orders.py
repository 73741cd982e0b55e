"""The order of items in a tournament, read from a file."""

from __future__ import annotations

import csv
from itertools import islice
from typing import TYPE_CHECKING

from itemwise.errors import FileError, InputError
from itemwise.files import readable_file
from itemwise.tables.delimited import number
from itemwise.tables.text_files import text_lines

if TYPE_CHECKING:
    from itemwise.files import PathLike

HEADINGS = ("item", "name", "dataset", "data set", "data_set")
MOST_ITEMS = 1_000_000


def read_order(path: PathLike, *, max_bytes: int = 64 * 1024**2) -> list[str] | dict[str, float]:
    """The names in a file, one a line; with a number after a comma, the values to sort them by.

    A first line that begins with item, name or dataset is a heading.
    """
    file = readable_file(path, max_bytes)
    with text_lines(file, max_bytes) as lines:
        try:
            rows = [
                [cell.strip() for cell in row]
                for row in islice(csv.reader(lines), MOST_ITEMS)
                if any(cell.strip() for cell in row)
            ]
        except csv.Error as error:
            raise FileError(f"'{path}' is no CSV: {error}. Write one name a line.") from error
    if rows and rows[0][0].lower() in HEADINGS:
        rows = rows[1:]
    if not rows:
        raise InputError(f"'{path}' names no item. Write one name a line.")
    widths = {len(row) for row in rows}
    if widths == {1}:
        return [row[0] for row in rows]
    if widths != {2}:
        raise InputError(
            f"'{path}' has lines of {min(widths)} to {max(widths)} fields, but each should hold a "
            "name, or a name and a number. Correct the lines; quote names that hold commas."
        )
    return _values(path, rows)


def _values(path: PathLike, rows: list[list[str]]) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, text in rows:
        value = number(text)
        if value is None:
            raise InputError(
                f"'{path}' gives {name!r:.60} the value {text!r:.40}, which is no number. "
                "Correct it."
            )
        if name in values:
            raise InputError(f"'{path}' names {name!r:.60} more than once. Keep one line.")
        values[name] = value
    return values

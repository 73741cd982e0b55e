"""Tables as CSV whose texts a spreadsheet shows, and never runs.

A spreadsheet takes a cell that begins with =, +, - or @ for a formula, whoever named a model so.
Such a text gets an apostrophe in front, which says text to spreadsheets; numbers stay as they are.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd


SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # wide ones in Japanese, too
MARK = "'"


def csv_text(frame: pd.DataFrame, *, index: bool = True) -> str:
    """Return the frame as CSV.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"model": ["=1+1", "plain"], "ability": [-1.5, 2]})
    >>> print(csv_text(frame, index=False))
    model,ability
    '=1+1,-1.5
    plain,2.0
    <BLANKLINE>
    """
    flat = frame.reset_index() if index else frame
    if index:
        names = ["" if name is None else name for name in frame.index.names]
        flat = flat.set_axis([*names, *frame.columns], axis=1)
    changed = flat.set_axis([_inert(name) for name in flat.columns], axis=1)
    returns = any("\r" in str(name) for name in changed.columns)
    for k, kind in enumerate(changed.dtypes):
        if str(kind) in ("object", "category", "string", "str"):
            column = changed.iloc[:, k].astype(object).map(_inert)
            changed.isetitem(k, column.to_numpy())
            returns = returns or any("\r" in str(cell) for cell in column)
    # Python before 3.13 leaves a lone carriage return unquoted, which readers take for a line end.
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return str(changed.to_csv(lineterminator="\n", index=False, quoting=quoting))


def restored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame that `csv_text` wrote, without its apostrophes."""
    changed = frame.set_axis([_plain(name) for name in frame.columns], axis=1)
    for k, kind in enumerate(changed.dtypes):
        if str(kind) in ("object", "str"):
            changed.isetitem(k, changed.iloc[:, k].map(_plain).to_numpy())
    return changed


def _inert(cell: Any) -> Any:
    marked = isinstance(cell, str) and cell.lstrip(MARK).startswith(SIGNS)
    return f"{MARK}{cell}" if marked else cell


def _plain(cell: Any) -> Any:
    marked = isinstance(cell, str) and cell.startswith(MARK)
    return cell[1:] if marked and cell.lstrip(MARK).startswith(SIGNS) else cell

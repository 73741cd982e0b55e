"""Tables that people read in a terminal: few rows, as wide as it is, digits that can be trusted."""

from __future__ import annotations

import json
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

from ogive.results.numbers import BEYOND, beyond_scale, counted, with_reach

if TYPE_CHECKING:
    import pandas as pd


MOST_ROWS = 15
FEW_MORE = 3  # rows; so few are shown, too
MARGIN, GAP = 2, 2
WIDEST_NAME = 40
NARROWEST = 10  # signs that a column of text needs, to be worth showing
WIDEST_TEXT = 32
MOST_NAMED = 6  # columns that are not shown, by name
DIGITS = 3  # of numbers without an uncertainty
UNKNOWN = "–"
ACCURACY = "accuracy"
SE, LOW, HIGH = "_se", "_low", "_high"
ALONE = ("information",)  # beside it stands the error of an ability
NORMAL_REACH = 1.96  # standard errors from an estimate to the end of a 95 % interval


@dataclass(frozen=True)
class Column:
    """A heading and its cells, made of one or more columns of a frame."""

    heading: str
    cells: list[str]
    made_of: tuple[str, ...]
    text: bool = False

    @property
    def width(self) -> int:
        """The signs of its widest line; a heading may take several lines."""
        return max(map(places_of, [*self.cells, *_pieces(self.heading)]), default=0)


def terminal_table(
    frame: pd.DataFrame,
    width: int,
    whole: pd.DataFrame | None = None,
    accuracy: str = ACCURACY,
) -> tuple[list[str], list[str]]:
    """Return the lines of a table, and what they do not show of it, or of the `whole` one.

    Headings call `accuracy` so, such as the mean score of grades.

    An estimate and its standard error become one column, to two digits of the error; so do an
    estimate and its interval. Columns that do not fit, and rows after the first 15, unless
    there are few more, are left out.
    """
    frame = _flat(frame)
    of = frame if whole is None else _flat(whole)
    rows_of_it = of.index.is_unique and bool(frame.index.isin(of.index).all())
    if not rows_of_it or set(frame.columns).isdisjoint(of.columns):
        of = frame  # which shows something else than the whole table
    few = len(frame) <= MOST_ROWS + FEW_MORE
    top = _with_errors(frame if few else frame.iloc[:MOST_ROWS], of)
    names = _names(top, min(WIDEST_NAME, max(NARROWEST, width // 3)))
    columns = [
        replace(column, heading=column.heading.replace(ACCURACY, accuracy))
        for column in _columns(top, top if len(top) else of, of)
    ]
    shown, left = [], width - MARGIN - (names.width + GAP if names else 0)
    for column in columns:
        fitting = _cut(column, left)
        if fitting is not None:
            shown.append(fitting)
            left -= fitting.width + GAP
    seen = {name for column in shown for name in column.made_of}
    hidden = [name for column in _columns(of.iloc[:0], of, of) for name in column.made_of]
    cells = (cell for column in shown if _may_be_far(column) for cell in column.cells)
    far = any(cell.startswith(("> ", "< -")) for cell in cells)
    reason = wrapped(BEYOND, width).splitlines() if far else []
    unseen = [name for name in hidden if name not in seen]
    return [*_lines(names, shown), *reason], _not_shown(len(of) - len(top), unseen)


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with one line of names: those of several levels are joined."""
    if frame.columns.nlevels == 1:
        return frame
    names = [" ".join(str(part) for part in name if part != "") for name in frame.columns]
    return frame.set_axis(names, axis=1)


def _with_errors(top: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the errors or intervals that the whole table has of their estimates."""
    added = top
    for name in map(str, top.columns):
        error, ends = name + SE, [name + LOW, name + HIGH]
        if top is whole or error in top or ends[0] in top:
            continue
        known = [error] if error in whole else ends if set(ends) <= set(whole) else []
        added = added.assign(**{each: whole.loc[top.index, each] for each in known})
    return added


def _names(top: pd.DataFrame, widest: int) -> Column | None:
    """Return the column of row names; rows that are only counted have none."""
    if top.index.nlevels == 1 and top.index.name is None and list(top.index) == [*range(len(top))]:
        return None
    if top.index.nlevels > 1:
        cells = [", ".join(map(str, row)) for row in top.index]
    else:
        cells = [str(name) for name in top.index]
    heading = ", ".join(str(name) for name in top.index.names if name is not None)
    return Column(heading, [short(cell, widest) for cell in cells], (), text=True)


def _columns(top: pd.DataFrame, whole: pd.DataFrame, of: pd.DataFrame) -> list[Column]:
    """Return all columns of `whole` that have a value, estimates with their uncertainty.

    `of` has all rows, which say what the scale of difficulties is.
    """
    names = [str(name) for name in whole.columns]
    columns: list[Column] = []
    used: set[str] = set()
    for k, name in enumerate(names):
        values = whole.iloc[:, k]
        empty = len(values) > 0 and bool((values.isna() | values.eq("")).all())
        if name in used or empty:
            continue
        column = _column(top, names, k)
        if _may_be_far(column) and "discrimination" in names:
            shown = beyond_scale(_values(top.iloc[:, k]), _values(of[name]))
            cells = zip(shown, column.cells, strict=True)
            column = replace(column, cells=[cell if far is None else far for far, cell in cells])
        used |= set(column.made_of)
        columns.append(column)
    return columns


def _column(top: pd.DataFrame, names: Sequence[str], k: int) -> Column:
    name, values = names[k], _values(top.iloc[:, k])
    kind = top.dtypes.iloc[k].kind
    if kind not in "iuf":
        return Column(name, [_text(value) for value in values], (name,), text=kind != "b")
    error = "se" if names[k + 1 : k + 2] == ["se"] and name not in ALONE else name + SE
    ends = ["low", "high"] if _has_plain_ends(top, names, k) else [name + LOW, name + HIGH]
    others = [each for each in (*ends, error) if names.count(each) == 1]
    if set(ends) <= set(others):
        low, high = (_values(top[end]) for end in ends)
        cells = [_interval(*row) for row in zip(values, low, high, strict=True)]
        return Column(f"{name} (low to high)", cells, (name, *others))
    if error in others:
        cells = [_with_error(*row) for row in zip(values, _values(top[error]), strict=True)]
        return Column(f"{name} ± se", cells, (name, error))
    return Column(name, _numbers(values), (name,))


def _may_be_far(column: Column) -> bool:
    """Return True if difficulties of the column may lie beyond the scale."""
    return any(re.fullmatch(r"difficulty(_\d+)?", name) for name in column.made_of)


def _has_plain_ends(top: pd.DataFrame, names: Sequence[str], k: int) -> bool:
    """Return True if "low" and "high" right after an estimate, or its error, are its interval."""
    after = k + (2 if names[k + 1 : k + 2] in (["se"], [names[k] + SE]) else 1)
    if list(names[after : after + 2]) != ["low", "high"]:
        return False
    value, low, high = (top.iloc[:, j] for j in (k, after, after + 1))
    return bool(((low <= value) & (value <= high) | low.isna() | value.isna()).all())


def _values(column: pd.Series[Any]) -> list[Any]:
    """Return the cells of a column, with None where there is no value."""
    return [None if lost else value for value, lost in zip(column, column.isna(), strict=True)]


def _text(value: object) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return one_line(str(value))


def _with_error(value: float | None, error: float | None) -> str:
    if value is None:
        return UNKNOWN
    return with_reach(value, error) if error else f"{value:,.4g}"


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    """Return an estimate and its interval, to two digits of the standard error that it implies."""
    if value is None:
        return UNKNOWN
    if low is None or high is None:
        return f"{value:,.4g}"
    if all(float(each).is_integer() for each in (value, low, high)):
        return f"{value:,.0f} ({low:,.0f} to {high:,.0f})"
    error = (high - low) / 2 / NORMAL_REACH
    decimals = max(0, 1 - floor(log10(error))) if error > 0 and isfinite(error) else DIGITS
    return f"{value:,.{decimals}f} ({low:,.{decimals}f} to {high:,.{decimals}f})"


def _numbers(values: Sequence[float | None]) -> list[str]:
    """Return numbers of one column with equal decimals: shares have three, others three digits."""
    known = [float(value) for value in values if value is not None and isfinite(value)]
    decimals = 0
    if not all(value.is_integer() for value in known):
        largest = max(map(abs, known))
        decimals = min(max(DIGITS - (largest > 1) - floor(log10(largest)), 0), DIGITS)

    def text(value: float | None) -> str:
        if value is None:
            return UNKNOWN
        if decimals and 0 < abs(value) < 0.5 * 10**-decimals:
            return f"{'<' if value > 0 else '>-'}{10**-decimals:.{decimals}f}"
        return f"{value:,.{decimals}f}"

    return [text(value) for value in values]


def _cut(column: Column, left: int) -> Column | None:
    """Return the column in the room that is left; None if it does not fit, even with text cut."""
    if not column.text:
        return column if column.width <= left else None
    room = min(left, WIDEST_TEXT)
    cells = [short(cell, max(room, 1), words=True) for cell in column.cells]
    cut = Column(column.heading, cells, column.made_of, text=True)
    return cut if cut.width <= room and (room >= NARROWEST or cut.width < NARROWEST) else None


def _lines(names: Column | None, shown: Sequence[Column]) -> list[str]:
    """Return the table as text; headings that are wider than their cells take several lines."""
    columns = ([names] if names else []) + list(shown)
    heads = [_heading(column) for column in columns]
    tall = max(map(len, heads), default=0)
    rows: list[list[str]] = [
        [([""] * (tall - len(head)) + head)[line] for head in heads] for line in range(tall)
    ]
    rows += [list(cells) for cells in zip(*(column.cells for column in columns), strict=True)]
    lines = []
    for row in rows:
        padded = []
        for cell, column in zip(row, columns, strict=True):
            blank = " " * (column.width - places_of(cell))
            padded.append(cell + blank if column.text else blank + cell)
        lines.append((" " * MARGIN + (" " * GAP).join(padded)).rstrip())
    return lines


def _heading(column: Column) -> list[str]:
    lines = [""]
    for piece in _pieces(column.heading):
        if lines[-1] and places_of(lines[-1] + piece) > column.width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _pieces(heading: str) -> list[str]:
    """Return the parts of a heading, between which it may be broken."""
    return re.findall(r"± se|\(low to high\)|[^_ ]+[_ ]?|[_ ]", heading)


def _not_shown(rows: int, hidden: Sequence[str]) -> list[str]:
    """Return the number of rows that are not shown, and the names of columns if they are few."""
    parts = [counted(rows, "more row")] if rows > 0 else []
    if hidden:
        more = len(hidden) - MOST_NAMED
        names = ", ".join(one_line(name) for name in hidden[:MOST_NAMED])
        others = f" and {counted(more, 'other')}" if more > 0 else ""
        parts.append(f"column{'s' if len(hidden) > 1 else ''} {names}{others}")
    return parts


def short(text: str, widest: int, *, words: bool = False) -> str:
    """Return a text on one line, cut where it is too long; between `words`, if they are short."""
    plain = one_line(text)
    if places_of(plain) <= widest:
        return plain
    while places_of(plain) > widest - 1:
        plain = plain[: min(len(plain) - 1, widest)]
    whole = plain.rpartition(" ")[0]
    return f"{whole} …" if words and 2 * len(whole) > len(plain) else f"{plain}…"


def places_of(text: str) -> int:
    """Return the places that a text takes in a terminal: two for each sign of Chinese."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in text
    )


def one_line(text: str) -> str:
    """Return a text without line ends, its control codes written out."""
    return harmless(" ".join(text.splitlines()))


def harmless(text: str) -> str:
    r"""Return text with control codes, except line ends, written out: \u001b."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text
    )


def wrapped(text: str, width: int) -> str:
    """Return a text whose long lines are broken between words; paths and names stay whole."""
    return "\n".join(
        line
        if len(line) <= width
        else "\n".join(
            textwrap.wrap(
                line,
                width,
                break_long_words=False,
                break_on_hyphens=False,
                subsequent_indent=" " * (len(line) - len(line.lstrip(" -"))),
            )
        )
        for line in text.split("\n")
    )

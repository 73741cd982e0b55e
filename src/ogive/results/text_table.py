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
    of = of if _is_part(frame, of) else frame
    few = len(frame) <= MOST_ROWS + FEW_MORE
    top = _with_errors(frame if few else frame.iloc[:MOST_ROWS], of)
    names = _names(top, min(WIDEST_NAME, max(NARROWEST, width // 3)))
    wanted = [
        replace(column, heading=column.heading.replace(ACCURACY, accuracy))
        for column in _columns(top, top if len(top) else of, of)
    ]
    shown, left = [], width - MARGIN - (names.width + GAP if names else 0)
    for column in wanted:
        fitting = _cut(column, left)
        if fitting is not None:
            shown.append(fitting)
            left -= fitting.width + GAP
    seen = {name for column in shown for name in column.made_of}
    hidden = [name for column in _columns(of.iloc[:0], of, of) for name in column.made_of]
    far = any(cell.startswith(("> ", "< -")) for one in shown if _far(one) for cell in one.cells)
    reason = wrapped(BEYOND, width).splitlines() if far else []
    return [*_lines(names, shown), *reason], _said(
        len(of) - len(top), [name for name in hidden if name not in seen]
    )


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with one line of names: those of several levels are joined."""
    if frame.columns.nlevels == 1:
        return frame
    names = [" ".join(str(part) for part in name if part != "") for name in frame.columns]
    return frame.set_axis(names, axis=1)


def _is_part(frame: pd.DataFrame, whole: pd.DataFrame) -> bool:
    """Return True if a frame shows rows and columns of another one, and not something else."""
    rows = whole.index.is_unique and bool(frame.index.isin(whole.index).all())
    return rows and not set(frame.columns).isdisjoint(whole.columns)


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
    if top.index.nlevels == 1 and top.index.name is None and _counted(top.index):
        return None
    if top.index.nlevels > 1:
        cells = [", ".join(map(str, row)) for row in top.index]
    else:
        cells = [str(name) for name in top.index]
    heading = ", ".join(str(name) for name in top.index.names if name is not None)
    return Column(heading, [short(cell, widest) for cell in cells], (), text=True)


def _counted(index: pd.Index[Any]) -> bool:
    return list(index) == list(range(len(index)))


def _columns(top: pd.DataFrame, whole: pd.DataFrame, of: pd.DataFrame) -> list[Column]:
    """Return all columns of `whole` that have a value, estimates with their uncertainty.

    `of` has all rows, which say what the scale of difficulties is.
    """
    there = [str(name) for name in whole.columns]
    made: list[Column] = []
    used: set[str] = set()
    for place, name in enumerate(there):
        if name in used or _empty(whole.iloc[:, place]):
            continue
        column = _column(top, there, place)
        if _far(column) and "discrimination" in there:
            column = _within_scale(column, _values(top.iloc[:, place]), _values(of[name]))
        used |= set(column.made_of)
        made.append(column)
    return made


def _empty(values: pd.Series[Any]) -> bool:
    return len(values) > 0 and bool((values.isna() | values.eq("")).all())


def _column(top: pd.DataFrame, there: Sequence[str], place: int) -> Column:
    name, values = there[place], _values(top.iloc[:, place])
    if not _is_number(top.iloc[:, place]):
        flag = top.dtypes.iloc[place].kind == "b"
        return Column(name, [_text(value) for value in values], (name,), text=not flag)
    error = "se" if there[place + 1 : place + 2] == ["se"] and name not in ALONE else name + SE
    ends = ["low", "high"] if _has_plain_ends(top, there, place) else [name + LOW, name + HIGH]
    others = [each for each in (*ends, error) if there.count(each) == 1]
    if set(ends) <= set(others):
        low, high = (_values(top[end]) for end in ends)
        cells = [_interval(*row) for row in zip(values, low, high, strict=True)]
        return Column(f"{name} (low to high)", cells, (name, *others))
    if error in others:
        cells = [_with_error(*row) for row in zip(values, _values(top[error]), strict=True)]
        return Column(f"{name} ± se", cells, (name, error))
    return Column(name, _numbers(values), (name,))


def _far(column: Column) -> bool:
    """Return True if difficulties of the column may lie beyond the scale."""
    return any(re.fullmatch(r"difficulty(_\d+)?", name) for name in column.made_of)


def _within_scale(
    column: Column, values: Sequence[float | None], among: Sequence[float | None]
) -> Column:
    """Return the column with difficulties of items that are beyond the scale not given exactly."""
    told = zip(beyond_scale(values, among), column.cells, strict=True)
    return replace(column, cells=[cell if far is None else far for far, cell in told])


def _has_plain_ends(top: pd.DataFrame, there: Sequence[str], place: int) -> bool:
    """Whether columns "low" and "high" right after an estimate, or its error, are its interval."""
    after = place + (2 if there[place + 1 : place + 2] in (["se"], [there[place] + SE]) else 1)
    if list(there[after : after + 2]) != ["low", "high"]:
        return False
    value, low, high = (top.iloc[:, k] for k in (place, after, after + 1))
    return bool(((low <= value) & (value <= high) | low.isna() | value.isna()).all())


def _values(column: pd.Series[Any]) -> list[Any]:
    """Return the cells of a column, with None where there is no value."""
    return [None if lost else value for value, lost in zip(column, column.isna(), strict=True)]


def _is_number(values: pd.Series[Any]) -> bool:
    return values.dtype.kind in "iuf"


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
    places = max(0, 1 - floor(log10(error))) if error > 0 and isfinite(error) else DIGITS
    return f"{value:,.{places}f} ({low:,.{places}f} to {high:,.{places}f})"


def _numbers(values: Sequence[float | None]) -> list[str]:
    """Return numbers of one column with the same places: shares have three, others three digits."""
    known = [float(value) for value in values if value is not None and isfinite(value)]
    largest = max(map(abs, known), default=0.0)
    if all(value.is_integer() for value in known):
        places = 0
    else:
        places = min(max(DIGITS - (largest > 1) - floor(log10(largest)), 0), DIGITS)
    return [_number(value, places) for value in values]


def _number(value: float | None, places: int) -> str:
    if value is None:
        return UNKNOWN
    if places and 0 < abs(value) < 0.5 * 10**-places:
        return f"{'<' if value > 0 else '>-'}{10**-places:.{places}f}"
    return f"{value:,.{places}f}"


def _cut(column: Column, left: int) -> Column | None:
    """Return the column in the room that is left; None if it does not fit, even with text cut."""
    if not column.text:
        return column if column.width <= left else None
    room = min(left, WIDEST_TEXT)
    cells = [short(cell, max(room, 1), words=True) for cell in column.cells]
    cut = Column(column.heading, cells, column.made_of, text=True)
    return cut if cut.width <= room and (room >= NARROWEST or cut.width < NARROWEST) else None


def _lines(names: Column | None, shown: Sequence[Column]) -> list[str]:
    """Return the table as text: headings below each other where they are wider than their cells."""
    columns = ([names] if names else []) + list(shown)
    heads = [_heading(column) for column in columns]
    tall = max(map(len, heads), default=0)
    rows: list[list[str]] = [
        [([""] * (tall - len(head)) + head)[line] for head in heads] for line in range(tall)
    ]
    rows += [list(cells) for cells in zip(*(column.cells for column in columns), strict=True)]
    return [(" " * MARGIN + _row(row, columns)).rstrip() for row in rows]


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


def _row(cells: Sequence[str], columns: Sequence[Column]) -> str:
    padded = []
    for cell, column in zip(cells, columns, strict=True):
        blank = " " * (column.width - places_of(cell))
        padded.append(cell + blank if column.text else blank + cell)
    return (" " * GAP).join(padded)


def _said(rows: int, hidden: Sequence[str]) -> list[str]:
    """Return what is not shown: rows, and columns by name as far as they are few."""
    said = [counted(rows, "more row")] if rows > 0 else []
    if hidden:
        more = len(hidden) - MOST_NAMED
        names = ", ".join(one_line(name) for name in hidden[:MOST_NAMED])
        others = f" and {counted(more, 'other')}" if more > 0 else ""
        said.append(f"column{'s' if len(hidden) > 1 else ''} {names}{others}")
    return said


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

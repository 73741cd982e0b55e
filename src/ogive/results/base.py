"""Result: what every study returns, as frames, figures, sentences and files."""

from __future__ import annotations

import html
import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from ogive._progress import at_stage
from ogive.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ogive.results.plots.figure import Display


ROWS_IN_TERMINAL = 5
ROWS_IN_NOTEBOOK = 10
ROWS_IN_COMMAND = 12
COLUMNS_IN_TERMINAL = 6
COLUMNS_IN_NOTEBOOK = 12
WIDEST_CELL = 28
WIDEST_IN_NOTEBOOK = 48
WIDEST_IN_PAGE = 2000
SMALLEST, LARGEST = 1e-4, 1e5  # numbers that are shown with their digits


Draw = Callable[[], "Display"]
Part = Literal["finding", "items", "check"]
Found = TypeVar("Found", bound="Result")
Kept = TypeVar("Kept")


class Result(ABC):
    """Base class of all results.

    A result is a frozen dataclass with a named attribute for everything it computed; the first
    line of its docstring is its title. It says what its frame and its plot are, what they mean,
    and which tables, figures and item banks are worth keeping. Reports, folders and commands
    use nothing else. The notebook view, the text and the files come from here.
    """

    explored: ClassVar[bool] = True  # whether a page shows its items in the item explorer
    page_part: ClassVar[Part] = "finding"  # of a page: a finding, items to look at, or a check

    if TYPE_CHECKING:

        @property
        def notes(self) -> tuple[str, ...]:
            """What a reader should know besides the table."""

    else:
        notes = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # @dataclass writes a __repr__ that prints every array, unless the class has its own.
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the result as a tidy frame."""

    @abstractmethod
    def plot(self, **kw: Any) -> Display:
        """Draw the result; `kw` goes to `Display.plot`."""

    @property
    def meaning(self) -> str:
        """What was found, in a sentence for readers who are not psychometricians."""
        return ""

    @property
    def found_nothing(self) -> bool:
        """True if there is nothing to see: a page then gives the sentence without a figure."""
        return False

    def sentences(self) -> list[str]:
        """Return the meaning, if there is one, and the notes."""
        return [*filter(None, [self.meaning]), *self.notes]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return every table worth showing, by name, the main one first.

        By default: the frame, and other frames among the fields.
        """
        import pandas as pd

        first = self.to_frame()
        tables = {self.name(): first}
        for each in fields_of(self):
            value = getattr(self, each.name)
            if isinstance(value, pd.DataFrame) and len(value) and not value.equals(first):
                tables.setdefault(each.name, value)
        return tables

    def figures(self) -> dict[str, Draw]:
        """Return functions that draw the figures, by name, the main one first."""
        return {self.name(): self.plot}

    def key_facts(self) -> dict[str, Any]:
        """Return single facts worth having beside the tables, such as who leads."""
        return {}

    def banks(self) -> Mapping[str, Result]:
        """Return the item banks (calibrations) behind the result, by name."""
        return {}

    def preview(self) -> pd.DataFrame:
        """Return the few rows and columns that a command shows in a terminal."""
        return self.to_frame().iloc[:ROWS_IN_COMMAND, :COLUMNS_IN_TERMINAL]

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables that a page shows: all, unless a result has many."""
        return self.tables()

    def page_figures(self) -> dict[str, Draw]:
        """Return the figures that a page shows: all, unless a result has many."""
        return self.figures()

    @classmethod
    def name(cls) -> str:
        """Return the name of the class in snake case: LabelTrouble -> label_trouble."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the frame as .csv, .parquet or .json, or frame and figure as an .html page."""
        from ogive._files import write_bytes

        target = Path(path)
        suffix = target.suffix.lower()
        if suffix not in _WRITERS:
            raise InputError(
                f"Cannot save {type(self).__name__} as '{target.name}': its ending is "
                f"'{target.suffix}'. Use one of: {', '.join(_WRITERS)}."
            )
        write_bytes(target, _WRITERS[suffix](self))
        return target

    def _title(self) -> str:
        return (type(self).__doc__ or type(self).__name__).strip().splitlines()[0]

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        lines = "".join(f"<p>{html.escape(printable(text))}</p>\n" for text in self._lines())
        top = frame.iloc[:ROWS_IN_NOTEBOOK, :COLUMNS_IN_NOTEBOOK]
        more = _counted_rows(len(frame), ROWS_IN_NOTEBOOK)
        if hidden := ", ".join(map(_cell, frame.columns[COLUMNS_IN_NOTEBOOK:])):
            more += f"; more columns: {html.escape(hidden)}"
        return (
            f"<div><p><strong>{html.escape(self._title())}</strong></p>\n{lines}"
            f"{table_html(top)}\n<p>{more}</p>{self._explorer_html()}</div>"
        )

    def _explorer_html(self) -> str:
        """Return the item explorer below the table in a notebook; most results have none."""
        return ""

    def __repr__(self) -> str:
        frame = self.to_frame()
        lines = [f"{type(self).__name__}: {_counted_rows(len(frame), ROWS_IN_TERMINAL)}"]
        hidden = frame.shape[1] - COLUMNS_IN_TERMINAL
        if len(frame):
            lines.append(_for_terminal(frame))
            if hidden > 0:
                lines.append(f"... and {hidden} more column{'s' if hidden > 1 else ''}")
        return "\n".join([*lines, *self._lines()])

    def _lines(self) -> list[str]:
        """Return the sentences that terminals and notebooks show."""
        return self.sentences()


def stacked(column: str, frames: Mapping[Any, pd.DataFrame]) -> pd.DataFrame:
    """Return frames of one form below each other, with a first column that distinguishes them."""
    import pandas as pd

    parts = []
    for value, frame in frames.items():
        flat = frame.reset_index() if frame.index.name else frame
        parts.append(flat.assign(**{column: value})[[column, *flat.columns]])
    return pd.concat(parts, ignore_index=True)


def table(columns: Any, index: Any = None, name: str | None = None) -> pd.DataFrame:
    """Return a frame; `index` holds the names of its rows, and `name` says what they name."""
    import pandas as pd

    return pd.DataFrame(columns, index=None if index is None else pd.Index(index, name=name))


def fields_of(result: Any) -> tuple[Field[Any], ...]:
    """Return the dataclass fields of a result; none if it is not a dataclass."""
    return fields(result) if is_dataclass(result) else ()


def picked(named: Mapping[str, Kept], *names: str) -> dict[str, Kept]:
    """Return those of the named tables or figures that exist, in the order of `names`."""
    return {name: named[name] for name in names if name in named}


def gathered(works: Mapping[str, Callable[[], Found]]) -> tuple[dict[str, Found], dict[str, str]]:
    """Return results by name, and the reasons why others are missing."""
    results: dict[str, Found] = {}
    missing: dict[str, str] = {}
    for name, work in works.items():
        at_stage(name.replace("_", " "))
        try:
            results[name] = work()
        except InputError as reason:
            missing[name] = str(reason)
    return results, missing


def _counted_rows(count: int, shown: int) -> str:
    rows = f"{count:,} row{'' if count == 1 else 's'}"
    return f"{rows}, the first {shown} here" if count > shown else rows


def _for_terminal(frame: pd.DataFrame) -> str:
    """Return the first rows, a line each, without line breaks and escape codes in names."""
    top = frame.iloc[:ROWS_IN_TERMINAL, :COLUMNS_IN_TERMINAL]
    index = ["" if top.index.name is None else _cell(top.index.name), *map(_cell, top.index)]
    columns = [index, *([_cell(name), *map(_cell, column)] for name, column in top.items())]
    widths = [max(map(len, column)) for column in columns]
    rows = []
    for name, *cells in zip(*columns, strict=True):
        padded = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        rows.append("  ".join([name.ljust(widths[0]), *padded]).rstrip())
    return "\n".join(rows)


def _cell(value: Any, widest: int = WIDEST_CELL) -> str:
    """Return a value on one line, without escape codes; gaps as a dash."""
    import pandas as pd

    if isinstance(value, float):
        return _number(value)
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "–"
    text = printable(str(value)[: 2 * widest])
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def _number(value: float) -> str:
    """Return four digits; neither the noise of a rounding error nor powers of ten."""
    if math.isnan(value):
        return "–"
    if 0 < abs(value) < SMALLEST:
        return f"<{SMALLEST}" if value > 0 else f">-{SMALLEST}"
    return f"{value:,.0f}" if LARGEST <= abs(value) < math.inf else f"{value:.4g}"


def printable(text: str) -> str:
    """Return the text on one line and without escape codes."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


def table_html(frame: pd.DataFrame, widest: int = WIDEST_IN_NOTEBOOK) -> str:
    """Return the frame as HTML, in which names are text and never markup."""

    def cell(value: object) -> str:
        return _cell(value, widest)

    shown = frame.map(cell).rename(index=cell, columns=cell)
    shown.index.names = [None if name is None else cell(name) for name in shown.index.names]
    return str(shown.to_html(escape=True, border=0))


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its index as columns, so that no format loses the names."""
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return frame
    if frame.index.nlevels == 1 and frame.index.name is None and "name" not in frame.columns:
        frame = frame.rename_axis("name")
    return frame.reset_index()


def _csv(result: Result) -> bytes:
    from ogive.results.csv_text import csv_text

    return csv_text(_flat(result.to_frame()), index=False).encode()


def _json(result: Result) -> bytes:
    records = [
        {str(name): _plain(value) for name, value in record.items()}
        for record in _flat(result.to_frame()).to_dict("records")
    ]
    return (json.dumps(records, indent=1, allow_nan=False) + "\n").encode("ascii")


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold. JSON has no infinity, so it is written as text."""
    import pandas as pd

    if isinstance(value, list | tuple | dict):
        return str(value)
    if pd.isna(value):
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else str(value)


def _html(result: Result) -> bytes:
    title = html.escape(result._title())  # noqa: SLF001
    frame = result.to_frame()
    try:
        figure = result.plot()._repr_html_() or ""
    except InputError as error:  # a frame with nothing to draw is still worth its page
        figure = f"<p>No figure: {html.escape(str(error))}</p>"
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n{figure}\n<p>{_counted_rows(len(frame), len(frame))}</p>\n"
        f"{table_html(frame, WIDEST_IN_PAGE)}\n</body>\n</html>\n"
    )
    return page.encode()


_PAGE_STYLE = (
    "body{font-family:system-ui,sans-serif;color:#333;max-width:60rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse}th,td{padding:.2rem .8rem;text-align:right;"
    "border-bottom:1px solid #e3e3e3}tbody th{text-align:left;font-weight:normal}"
)

_WRITERS: dict[str, Callable[[Result], bytes]] = {
    ".csv": _csv,
    ".parquet": lambda result: _flat(result.to_frame()).to_parquet(index=False),
    ".json": _json,
    ".html": _html,
}

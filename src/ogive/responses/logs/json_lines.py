"""Rows of JSON Lines by the million: only the needed fields, block by block.

A block is parsed by Arrow, which skips other fields; if anything in it is unexpected, its lines are
parsed one by one, so that an invalid line affects only itself.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from ogive.errors import FileError
from ogive.responses.logs.bounded_files import loads
from ogive.responses.logs.log_runs import Passed
from ogive.responses.logs.log_values import LONGEST_NAME, as_name, as_score, part
from ogive.tables.text_tables import MAX_LINE, text_bytes
from ogive.words import counted

BLOCK = 4 * 1024**2  # bytes
PEEKED_ROWS = 20
SURVEYED_LINES, SURVEYED_BYTES = 2_000, 64 * 1024**2  # if the first rows are not enough
_BOM = b"\xef\xbb\xbf"

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Field:
    """A field of a row: its path, and how it is read.

    A name is short text or a number, a text may have any length, a flag says whether there is any
    value.
    """

    name: str
    path: tuple[str, ...]
    kind: Literal["name", "score", "text", "flag"] = "name"


@dataclass
class Trouble:
    """Invalid lines, by number, and whether the file is cut short."""

    broken: list[int] = field(default_factory=list)
    cut: str = ""

    def sentences(self) -> list[str]:
        """Describe the trouble."""
        told = [self.cut] if self.cut else []
        if self.broken:
            several = ", ".join(f"{line:,}" for line in self.broken[:5])
            more = ", ..." if len(self.broken) > 5 else ""
            told.append(f"{counted(len(self.broken), 'line')} not valid JSON: line {several}{more}")
        return told


def first_records(path: Path, max_bytes: int) -> list[dict[str, Any]]:
    """The first intact rows, which show what the others hold."""
    return list(islice(records(path, max_bytes, SURVEYED_LINES), PEEKED_ROWS))


def records(path: Path, max_bytes: int, lines: int) -> Iterator[dict[str, Any]]:
    """Yield the intact rows among the first lines."""
    size = 0
    with text_bytes(path, max_bytes) as stream:
        for line in islice(iter(lambda: _line(stream), b""), lines):
            record = _record(line.removeprefix(_BOM))
            if record is not None:
                yield record
            size += len(line)
            if size > SURVEYED_BYTES:
                return


def _line(stream: io.BufferedReader[Any]) -> bytes:
    try:
        return stream.readline(MAX_LINE)
    except (EOFError, zlib.error):  # the file is cut short: what came before can be read
        return b""


def columns(
    path: Path,
    fields: Sequence[Field],
    max_bytes: int,
    passed: Passed,
    trouble: Trouble,
    *,
    like: Sequence[Mapping[str, Any]] = (),
    extra: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None,
) -> Iterator[Columns]:
    """Yield the fields of the rows, some thousand rows at a time.

    `like` are rows that show the type of each field. `extra` makes further columns from a whole
    row; it needs all fields, so each line is parsed by itself.
    """
    schema = None if extra else _schema(fields, like)
    with text_bytes(path, max_bytes, passed) as stream:
        for first_line, block in _blocks(path, stream, trouble):
            found = None if schema is None else _by_arrow(block, schema, fields)
            yield found or _by_line(block, first_line, fields, extra, trouble)


def _blocks(
    path: Path, stream: io.BufferedReader[Any], trouble: Trouble
) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, some megabytes at a time, and the number of the first of them."""
    line, rest, ended = 1, b"", False
    while not ended:
        parts = [rest]
        size = len(rest)
        while size < BLOCK or b"\n" not in parts[-1]:
            piece = _piece(stream, trouble)
            ended = not piece
            if ended:
                break
            parts.append(piece)
            size += len(piece)
            if size > MAX_LINE + BLOCK:
                raise FileError(
                    f"'{path}', line {line:,} has more than {MAX_LINE:,} bytes. It is not a log, "
                    "or its line breaks are lost."
                )
        text = b"".join(parts)
        end = len(text) if ended else text.rfind(b"\n") + 1
        block, rest = text[:end], text[end:]
        if line == 1:
            block = block.removeprefix(_BOM)
        yield line, block
        line += block.count(b"\n")


def _piece(stream: io.BufferedReader[Any], trouble: Trouble) -> bytes:
    try:
        return stream.read1(1 << 16)
    except (EOFError, zlib.error):  # a gzip file that is cut short or damaged after this point
        trouble.cut = "the file is cut short; the intact part was read"
        return b""


def _schema(fields: Sequence[Field], like: Sequence[Mapping[str, Any]]) -> Any:
    import pyarrow as pa

    tree: dict[str, Any] = {}
    for wanted in fields:
        branch = tree
        for key in wanted.path[:-1]:
            branch = branch.setdefault(key, {})
        seen = next((v for row in like if (v := part(row, *wanted.path)) is not None), None)
        branch[wanted.path[-1]] = _type(pa, wanted, seen)
    return pa.schema(list(_typed(pa, tree)))


def _type(pa: Any, wanted: Field, seen: object) -> Any:
    if wanted.kind == "score":
        return pa.bool_() if isinstance(seen, bool) else pa.float64()
    return pa.int64() if type(seen) is int else pa.string()


def _typed(pa: Any, tree: Mapping[str, Any]) -> Iterator[Any]:
    for key, value in tree.items():
        yield pa.field(
            key, pa.struct(list(_typed(pa, value))) if isinstance(value, dict) else value
        )


def _by_arrow(block: bytes, schema: Any, fields: Sequence[Field]) -> Columns | None:
    """The columns of a block; None if it does not fit the schema, or lines are invalid."""
    import pyarrow as pa
    import pyarrow.json as pj

    try:
        table = pj.read_json(
            pa.BufferReader(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
        found = {wanted.name: _column(pa, table, wanted) for wanted in fields}
    except (pa.ArrowException, ValueError):
        return None
    return found if _one_row_a_line(block, table.num_rows) else None


def _column(pa: Any, table: Any, wanted: Field) -> list[Any]:
    import pyarrow.compute as pc

    column = table.column(wanted.path[0])
    for key in wanted.path[1:]:
        column = pc.struct_field(column, key)
    if wanted.kind != "score" and not pa.types.is_string(column.type):
        column = pc.cast(column, pa.string())
    elif wanted.kind == "name" and not _all_names(pc, column):
        return [as_name(text) for text in column.to_pylist()]
    found: list[Any] = column.to_pylist()
    return found


def _all_names(pc: Any, column: Any) -> bool:
    """Whether every text is certainly a name, so that none needs a check."""
    longest = pc.max(pc.utf8_length(column)).as_py() or 0
    visible = pc.all(pc.match_substring_regex(column, "[!-~]")).as_py()
    return longest <= LONGEST_NAME and visible is not False


def _one_row_a_line(block: bytes, rows: int) -> bool:
    """Whether every line holds exactly one row."""
    if rows == block.count(b"\n") + (not block.endswith(b"\n")):
        return True
    return rows == sum(1 for line in block.split(b"\n") if line.strip())


def _by_line(
    block: bytes,
    first_line: int,
    fields: Sequence[Field],
    extra: Callable[[dict[str, Any]], Mapping[str, Any]] | None,
    trouble: Trouble,
) -> Columns:
    rows: list[dict[str, Any]] = []
    whole = block.endswith(b"\n")
    lines = block.split(b"\n")
    for number, text in enumerate(lines, start=first_line):
        if not text.strip():
            continue
        record = _record(text)
        if record is not None:
            more = extra(record) if extra else {}
            rows.append({f.name: _value(f, part(record, *f.path)) for f in fields} | dict(more))
        elif not whole and number == first_line + len(lines) - 1:
            trouble.cut = trouble.cut or f"the last line, {number:,}, is cut short"
        else:
            trouble.broken.append(number)
    names = [f.name for f in fields] if not rows else list(rows[0])
    return {name: [row[name] for row in rows] for name in names}


def _value(wanted: Field, value: object) -> Any:
    if wanted.kind == "score":
        return as_score(value)
    if wanted.kind == "flag":
        return bool(value)
    if wanted.kind == "text":
        return value if isinstance(value, str) else None
    return as_name(value)


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None

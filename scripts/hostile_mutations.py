"""Small damage to files: bytes, numbers, words, lines, cells and values, from a seed."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import random
import re
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

ODD_BYTES = (0, 1, 9, 10, 13, 34, 44, 63, 0x7F, 0x80, 0xC3, 0xED, 0xFF)
ODD_TEXTS = (
    b"", b"nan", b"inf", b"-1", b"0", b"1e999", b"1e308", b"-0.0", b"9" * 30, b"\xff\xfe", b"\0",
    b'"', b"'", b"{}", b"[]", b"null", b"true", b"\\ud800", b"\xed\xa0\x80", b"=1+1", b"../../x",
    b"\r", b"\n\n", b",,", b";", b"\t", b"@data", b"%", b"?", b" ", "é".encode(),
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, -1e308, 1e-320, 10**30, 10**12, "", "x", "\ud800", "a\0b",
    [], {}, [[]], [None], {"": 1}, "nan", 0.5, [1, 2, 3], "x" * 10_000,
)  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9.-]*")


def damaged(content: bytes, seed: int, words: Sequence[str] = (), other: bytes = b"") -> bytes:
    """Return the content with one to four changes; the same seed makes the same.

    `words` are what the reader looks for; lines may come from `other`.
    """
    random_ = random.Random(seed)  # noqa: S311
    for _ in range(random_.choice((1, 1, 1, 2, 4))):
        change = random_.choice(CHANGES)
        if change is _word and words:
            content = _word(content, random_, random_.choice(words).encode())
        elif change is _line and other and random_.random() < 0.3:
            content = _spliced(content, random_, other)
        else:
            content = change(content, random_)
        content = content or b"\0"
    return content


def _word(content: bytes, random_: random.Random, new: bytes = b"") -> bytes:
    """Return another word for one of the first thousand: one that is there, or `new`."""
    found = list(itertools.islice(WORD.finditer(content), 1_000))
    if not found:
        return _insert(content, random_)
    one = random_.choice(found)
    new = new if new and random_.random() < 0.7 else random_.choice(found).group()
    return content[: one.start()] + new + content[one.end() :]


def _spliced(content: bytes, random_: random.Random, other: bytes) -> bytes:
    head, tail = content.splitlines(keepends=True), other.splitlines(keepends=True)
    return b"".join(
        [*head[: random_.randrange(len(head) + 1)], *tail[random_.randrange(len(tail)) :]]
    )


def _cell(content: bytes, random_: random.Random) -> bytes:
    """Return another cell, or another column, of a table."""
    sign = max((b",", b"\t", b";"), key=content.count)
    lines = content.split(b"\n")
    rows = [line.split(sign) for line in lines[:200]]
    if len(rows) < 2 or len(content) > 100_000:
        return _number(content, random_)
    at, row = random_.randrange(len(rows[0])), random_.choice(rows)
    kind = random_.randrange(4)
    if kind == 0:
        row[min(at, len(row) - 1)] = random_.choice(ODD_TEXTS)
    elif kind == 1:
        row[min(at, len(row) - 1)] = random_.choice(random_.choice(rows))
    else:
        for each in rows:
            if at < len(each):
                each[at : at + 1] = [each[at]] * 2 if kind == 2 else []
    return b"\n".join([*(sign.join(each) for each in rows), *lines[200:]])


def _parquet(content: bytes, random_: random.Random) -> bytes:
    """Return another value, type, name or description in a Parquet file, which is written again."""
    if not content.startswith(b"PAR1"):
        return _cell(content, random_)
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        table = pq.read_table(io.BytesIO(content))
        at = random_.randrange(table.num_columns)
        change = random_.choice((_metadata, _renamed, _retyped, _revalued))
        made = pa.BufferOutputStream()
        sizes = random_.choice((1, 3, 10_000))
        pq.write_table(change(table, at, random_), made, row_group_size=sizes)
        return made.getvalue().to_pybytes()
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError):
        return _flip(content, random_)


def _metadata(table: Any, _: int, random_: random.Random) -> Any:
    told = dict(table.schema.metadata or {})
    if not told:
        return table
    key = random_.choice(list(told))
    told[key] = random_.choice((_value, _value, _number, _word, _flip))(told[key], random_)
    return table.replace_schema_metadata(told)


def _renamed(table: Any, at: int, random_: random.Random) -> Any:
    names = list(table.column_names)
    names[at] = random_.choice((*names, "", "x", "respondent", "item", "response", "a\0b", "é"))
    return table.rename_columns(names)


def _retyped(table: Any, at: int, random_: random.Random) -> Any:
    import pyarrow as pa

    kind = random_.choice((
        *(pa.string(), pa.int8(), pa.float32(), pa.float16(), pa.bool_(), pa.null(), pa.binary()),
        *(pa.timestamp("ns"), pa.uint64(), pa.large_string(), pa.decimal128(20, 2)),
        *(pa.dictionary(pa.int8(), pa.string()), pa.list_(pa.float64()), pa.duration("s")),
    ))  # fmt: skip
    column = table.column(at)
    if pa.types.is_null(kind):
        made = pa.nulls(len(column))
    elif pa.types.is_list(kind):
        made = pa.array([[1.0]] * len(column), kind)
    else:
        made = column.cast(kind, safe=False)
    return table.set_column(at, table.field(at).name, made)


def _revalued(table: Any, at: int, random_: random.Random) -> Any:
    import pyarrow as pa

    field = table.field(at)
    values = table.column(at).to_pylist()
    row = random_.randrange(len(values)) if values else 0
    odd: tuple[Any, ...] = (None, -1, 0, 2, 100, float("nan"), float("inf"), 1e308, "", "x", True)
    if pa.types.is_nested(field.type):
        odd = (None, [], [float("nan")] * 3, [1.0])
    kind = random_.randrange(4)
    if kind == 0 and values:
        values[row] = random_.choice(odd)
    elif kind == 1:
        values = [random_.choice(odd)] * len(values)
    elif kind == 2:
        return pa.concat_tables([table, table.slice(row, 2)])
    else:
        return random_.choice((table.slice(row), table.remove_column(at), table.slice(0, 0)))
    return table.set_column(at, field, pa.chunked_array([pa.array(values, field.type)]))


def _flip(content: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(len(content))
    value = random_.choice((content[at] ^ (1 << random_.randrange(8)), random_.choice(ODD_BYTES)))
    return content[:at] + bytes([value]) + content[at + 1 :]


def _cut(content: bytes, random_: random.Random) -> bytes:
    return content[: random_.randrange(1, len(content) + 1)]


def _drop(content: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(len(content))
    return content[:at] + content[at + random_.randrange(1, 20) :]


def _insert(content: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(len(content) + 1)
    return content[:at] + random_.choice(ODD_TEXTS) + content[at:]


def _repeat(content: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(len(content))
    part = content[at : at + random_.randrange(1, 40)]
    return content[:at] + part * random_.choice((2, 3, 50)) + content[at:]


def _number(content: bytes, random_: random.Random) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return _flip(content, random_)
    one = random_.choice(found)
    return content[: one.start()] + random_.choice(ODD_TEXTS) + content[one.end() :]


def _line(content: bytes, random_: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if len(lines) < 2:
        return _insert(content, random_)
    a, b = random_.randrange(len(lines)), random_.randrange(len(lines))
    lines[a] = random_.choice((b"", lines[b], lines[a] + lines[b], lines[a].rstrip() + lines[b]))
    return b"".join(lines)


def _value(content: bytes, random_: random.Random) -> bytes:
    """Return another value somewhere in a JSON document, or in one line of several."""
    lines = content.splitlines() if b"}\n{" in content else [content]
    at = random_.randrange(len(lines))
    try:
        document = json.loads(lines[at])
        if not isinstance(document, dict | list):
            return _number(content, random_)
    except (ValueError, RecursionError):
        return _number(content, random_)
    lines[at] = json.dumps(_with_odd_value(document, random_)).encode()
    return b"\n".join(lines)


def _with_odd_value(document: Any, random_: random.Random) -> Any:
    places = []
    ahead = [document]
    while ahead:
        part = ahead.pop()
        keys = part if isinstance(part, dict) else range(len(part))
        for key in keys:
            places.append((part, key))
            if isinstance(part[key], dict | list):
                ahead.append(part[key])
        if len(places) > 5_000:
            break
    if not places:
        return random_.choice(ODD_VALUES)
    part, key = random_.choice(places)
    if isinstance(part, dict) and random_.random() < 0.2:
        del part[key]
    else:
        part[key] = random_.choice(ODD_VALUES)
    return document


def _member(content: bytes, random_: random.Random) -> bytes:
    """Return damage inside an archive or what is packed, which is packed again."""
    change = random_.choice((_flip, _cut, _number, _value, _drop, _word, _value))
    if content.startswith(b"\x1f\x8b"):
        try:
            inside = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return _flip(content, random_)
        return gzip.compress(random_.choice((change, _cell, _line))(inside or b"\0", random_), 1)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # no archive any more, or one that zipfile cannot read
        return _value(content, random_)
    if not members:
        return content
    name = random_.choice(list(members))
    members[name] = change(members[name], random_) if members[name] else b"\0"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for each, part in members.items():
            archive.writestr(each, part)
    return made.getvalue()


CHANGES = (
    *(_flip, _flip, _cut, _drop, _insert, _repeat, _number, _line, _value, _value, _member),
    *(_word, _cell, _parquet, _parquet),
)

"""Small damage to files: bytes, numbers, lines and values of JSON, from a seed."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
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


def damaged(content: bytes, seed: int) -> bytes:
    """The content with one to four changes; the same seed makes the same."""
    random_ = random.Random(seed)  # noqa: S311
    for _ in range(random_.choice((1, 1, 1, 2, 4))):
        content = random_.choice(CHANGES)(content, random_) or b"\0"
    return content


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
    """Another value somewhere in a JSON document, or in one line of several."""
    lines = content.splitlines() if b"}\n{" in content else [content]
    at = random_.randrange(len(lines))
    try:
        document = json.loads(lines[at])
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
    """Damage inside an archive, which is packed again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # no archive any more, or one that zipfile cannot read
        return _value(content, random_)
    if not members:
        return content
    name = random_.choice(list(members))
    change = random_.choice((_flip, _cut, _number, _value, _drop))
    members[name] = change(members[name], random_) if members[name] else b"\0"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for each, part in members.items():
            archive.writestr(each, part)
    return made.getvalue()


CHANGES = (_flip, _flip, _cut, _drop, _insert, _repeat, _number, _line, _value, _value, _member)

"""The `description.txt` of an ASlib scenario: measures, their direction, the cut-off.

The file is YAML. The few needed entries are plain values or lists, and only these are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Literal

from ogive._files import most_bytes, readable_file
from ogive.data.text_files import text_lines
from ogive.errors import FileError
from ogive.results.numbers import counted, shown

Better = Literal["higher", "lower"]
MeasureKind = Literal["runtime", "quality"]

MAX_BYTES = 1 << 24
_NAME, _CUTOFF = "scenario_id", "algorithm_cutoff_time"
_MEASURES, _MAXIMIZE, _TYPE = "performance_measures", "maximize", "performance_type"
_WANTED = (_NAME, _CUTOFF, _MEASURES, _MAXIMIZE, _TYPE)
_KEY = re.compile(r"([A-Za-z_]\w*)\s*:(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
# Possessive quantifiers, so that no input makes the search slow.
_QUOTED = r"'((?:[^']|'')*+)'|\"((?:[^\"\\]|\\.)*+)\""
_VALUE = re.compile(rf"\s*+(?:(?:{_QUOTED})\s*+|((?!['\"])[^,]*+))(,|$)")
_OTHER_YAML = ("&", "*", "{", "|", ">", "!")
_UNKNOWN = ("?", "", "null", "~", "na", "none")
_BETTER: dict[str, Better] = {
    **dict.fromkeys(("true", "yes", "on", "1"), "higher"),
    **dict.fromkeys(("false", "no", "off", "0"), "lower"),
}
_KINDS: dict[str, MeasureKind] = {
    "runtime": "runtime",
    "solution_quality": "quality",
    "quality": "quality",
}
_CHOICES: dict[str, tuple[Mapping[str, str], str]] = {
    _MAXIMIZE: (_BETTER, "true or false"),
    _TYPE: (_KINDS, "runtime or solution_quality"),
}


@dataclass(frozen=True)
class Measure:
    """A measure: a column of the runs, its direction and its kind."""

    name: str
    better: Better
    kind: MeasureKind


@dataclass(frozen=True)
class Description:
    """The needed entries of a description."""

    name: str | None
    measures: tuple[Measure, ...]
    cutoff: float | None  # in the unit of the runtimes; None if unknown


@dataclass
class _Entry:
    """The value of a key, and the lines of a list below it."""

    line: int
    inline: str
    items: list[str] = field(default_factory=list)


def read_description(path: Path) -> Description:
    """Read the entries that describe the runs."""
    most = most_bytes(None, MAX_BYTES)
    with text_lines(readable_file(path, most), most) as lines:
        entries = _entries(path, lines)
    names = _several(path, entries, _MEASURES)
    choices: dict[str, list[str]] = {}
    for key in (_MAXIMIZE, _TYPE):
        values = choices[key] = _several(path, entries, key)
        if len(values) != len(names):
            raise FileError(
                f"'{path}' states {counted(len(names), 'measure')} ({', '.join(names)}), but "
                f"{counted(len(values), 'value')} of {key}. Give one for each measure."
            )
        known, expected = _CHOICES[key]
        if wrong := [value for value in values if value.lower() not in known]:
            raise FileError(f"'{path}': {key} is {shown(wrong[0])}, but it should be {expected}.")
    if len(set(names)) < len(names):
        raise FileError(f"'{path}' names a measure twice: {', '.join(names)}. Remove one.")
    text = _single(path, entries, _CUTOFF)
    try:
        cutoff = float(text or 0)
    except ValueError:
        cutoff = -1.0
    if not isfinite(cutoff) or cutoff < 0:
        raise FileError(
            f"'{path}': algorithm_cutoff_time is {shown(text)}, but it should be a positive "
            "number, or '?' if it is unknown."
        )
    better = [_BETTER[value.lower()] for value in choices[_MAXIMIZE]]
    kinds = [_KINDS[value.lower()] for value in choices[_TYPE]]
    return Description(
        name=_single(path, entries, _NAME),
        measures=tuple(map(Measure, names, better, kinds)),
        cutoff=cutoff or None,  # scenarios without a limit write 0 or a question mark
    )


def _entries(path: Path, lines: Iterable[str]) -> dict[str, _Entry]:
    """Return the needed keys of the first level; everything else is skipped."""
    found: dict[str, _Entry] = {}
    current: _Entry | None = None
    for number, raw in enumerate(lines, start=1):
        line = _without_comment(raw.rstrip())
        if not line:
            continue
        if key := _KEY.fullmatch(line):
            current = None
            if key[1] in _WANTED:
                if key[1] in found:
                    raise FileError(f"'{path}', line {number:,} states {key[1]} again. Remove one.")
                current = found[key[1]] = _Entry(number, (key[2] or "").strip())
        elif current is not None:
            item = _ITEM.fullmatch(line)
            if item is None or current.inline:
                raise _not_read(path, number, line.strip())
            current.items.append(item[1])
    return found


def _without_comment(line: str) -> str:
    """Return the line up to a number sign at its beginning or after a space, outside quotes."""
    quote = ""
    for at, sign in enumerate(line if "#" in line else ""):
        begins = at == 0 or line[at - 1] in " \t[,"
        if quote:
            quote = "" if sign == quote else quote
        elif begins and sign in "'\"":
            quote = sign
        elif begins and sign == "#":
            return line[:at].rstrip()
    return line


def _not_read(path: Path, number: int, text: str) -> FileError:
    return FileError(
        f"'{path}', line {number:,}: {shown(text)} is a form of YAML that is not read here. Write "
        "a plain value after the colon, or a list: one '- value' per line, or [a, b]."
    )


def _values(path: Path, number: int, text: str) -> list[str]:
    """Return values between commas, without quotes."""
    found, place = [], 0
    while True:
        match = _VALUE.match(text, place)
        if match is None:
            raise _not_read(path, number, text)
        if match[1] is not None:
            found.append(match[1].replace("''", "'"))
        elif match[2] is not None:
            found.append(re.sub(r"\\(.)", r"\1", match[2]))
        else:
            found.append(match[3].strip())
        if not match[4]:
            return found
        place = match.end()


def _several(path: Path, entries: dict[str, _Entry], key: str) -> list[str]:
    """Return the values of a key, in any of the three forms of a list in scenarios."""
    entry = entries.get(key)
    if entry is None or not (entry.inline or entry.items):
        raise FileError(
            f"'{path}' does not state {key}. It is not a description of an ASlib scenario, or "
            f"incomplete; add a line like {key}: {_EXAMPLES[key]}"
        )
    text = entry.inline
    if text.startswith(_OTHER_YAML) or text.startswith("[") != text.endswith("]"):
        raise _not_read(path, entry.line, text)
    if text.startswith("["):
        text = text[1:-1]
    if entry.items:
        values = [_one(path, entry.line, item) for item in entry.items]
    else:
        values = _values(path, entry.line, text)
    if any(value.lower() in _UNKNOWN for value in values):
        raise FileError(
            f"'{path}' leaves {key} open: {shown(values)}. Fill it in, like {key}: {_EXAMPLES[key]}"
        )
    return values


_EXAMPLES = {_MEASURES: "runtime", _MAXIMIZE: "false", _TYPE: "runtime"}


def _one(path: Path, number: int, text: str) -> str:
    """Return a single value; a comma in it is part of it."""
    text = text.strip()
    if text.startswith((*_OTHER_YAML, "[")):
        raise _not_read(path, number, text)
    return _values(path, number, text)[0] if text.startswith(("'", '"')) else text


def _single(path: Path, entries: dict[str, _Entry], key: str) -> str | None:
    """Return a plain value; None if it is absent or a question mark."""
    entry = entries.get(key)
    if entry is None:
        return None
    texts = [entry.inline] if entry.inline else entry.items
    if len(texts) > 1:
        raise FileError(f"'{path}', line {entry.line:,}: {key} is a list. Give one value.")
    value = _one(path, entry.line, texts[0]) if texts else ""
    return None if value.lower() in _UNKNOWN else value

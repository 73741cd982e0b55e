"""Codings written by people: a table of features with normal ranges and risk states."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pandas as pd

from ogive._files import most_bytes, readable_file
from ogive.capability.cases import category_text
from ogive.capability.coding import Coding, Grades, NormalRange, Rule, States
from ogive.data.foreign_frames import as_pandas
from ogive.data.text_files import read_delimited
from ogive.errors import InputError
from ogive.results.numbers import repeated

CLOSE = 1e-9
MOST_BYTES = 10 * 1024**2
ELSE = ("else", "otherwise", "other")
ABOVE, BELOW = ("high", "above"), ("low", "below")
NOTHING_MORE = ("", "outside", "1", "abnormal")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_CLAUSE = re.compile(r"(?P<what>.*?\S)\s*=\s*(?P<state>\d)")
_COMPARED = re.compile(rf"(?P<sign><=|>=|<|>)\s*(?P<number>{_NUMBER})")
_BETWEEN = re.compile(rf"(?P<low>{_NUMBER})\s*(?:-|–|\bto\b)\s*(?P<high>{_NUMBER})")


@dataclass(frozen=True)
class Clause:
    """The values of one state: a label, or numbers from `low` to `high`."""

    text: str
    state: int
    low: float = math.nan
    high: float = math.nan

    @property
    def is_label(self) -> bool:
        """True if it names a category."""
        return math.isnan(self.low)

    @property
    def is_number(self) -> bool:
        """True if it names a single number, which may be a category too."""
        return self.low == self.high


def read_coding(source: Any) -> Coding:
    """Return a coding from a CSV file, a frame, or a mapping of features to their rules in words.

    A table has a column `feature` and either `coding`, with rules such as "4-10 = 0",
    "<= 65 = 0, > 65 = 1", "Absent = 0, Present = 1" or "Emergency = 1, else = 0"; or
    `normal range` ("4-10", "<= 1.52", "Absent") and, if wanted, `risk state`: empty for whatever is
    not normal, "high" or "low" for one side of the range, or a condition of its own. Numbers that
    are neither count as outside the normal range. More than two states ascend with the numbers,
    as in "<= 5 = 0, <= 9 = 1, else = 2"; values beyond the outermost state belong to it.

    >>> from ogive.capability import read_coding
    >>> str(read_coding({"sodium": "135-145 = 0"}).items[0].rule)
    '0 from 135 to 145, 1 outside'
    """
    source = as_pandas(source)
    if isinstance(source, Coding):
        return source
    if isinstance(source, Mapping):
        return Coding.of({str(name): parse_rule(text, name) for name, text in source.items()})
    if isinstance(source, pd.DataFrame):
        return _of_table(source, "The coding table")
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            "`coding` must be 'quantiles', a Coding, or a table of features and rules: the path of "
            f"a CSV file, or a frame, got {source!r:.60}."
        )
    most = most_bytes(None, MOST_BYTES)
    path = readable_file(source, most)
    return _of_table(read_delimited(path, most), f"'{path}'")


def parse_rule(text: Any, feature: object = "") -> Rule:
    """Parse a rule in words: "condition = state, ..."."""
    words = str(text).replace("≤", "<=").replace("≥", ">=")
    clauses = [_clause(part, feature) for part in re.split(r"[,;]", words) if part.strip()]
    if not clauses:
        raise InputError(f"Feature '{feature}' has no rule. Write one, such as '4-10 = 0'.")
    named = [one for one in clauses if one.text.lower() not in ELSE]
    others = [one.state for one in clauses if one.text.lower() in ELSE]
    if not named or len(others) > 1:
        raise _unreadable(text, feature, "name the values of at least one state, and 'else' once")
    if all(one.is_label or (one.is_number and len(named) > 1) for one in named):
        try:
            return _states(named, others)
        except InputError as error:
            raise _unreadable(text, feature, str(error).rstrip(".")) from error
    if any(one.is_label for one in named):
        raise _unreadable(text, feature, "it mixes names and numbers")
    return _numbers(named, others, text, feature)


def _of_table(frame: pd.DataFrame, what: str) -> Coding:
    columns = {str(name).strip().lower().replace("_", " "): name for name in frame.columns}
    wanted = "coding" if "coding" in columns else "normal range"
    if "feature" not in columns or wanted not in columns:
        raise InputError(
            f"{what} has the columns {', '.join(map(str, frame.columns))}. It should have "
            "'feature' and 'coding', or 'feature', 'normal range' and 'risk state'."
        )
    features = [str(name).strip() for name in frame[columns["feature"]]]
    if twice := repeated(features):
        raise InputError(f"{what} has the feature '{twice[0]}' more than once. Keep one row.")
    cells = [_cell(value) for value in frame[columns[wanted]]]
    if wanted == "normal range":
        risk = columns.get("risk state")
        risks = [""] * len(cells) if risk is None else [_cell(value) for value in frame[risk]]
        cells = [_joined(*pair) for pair in zip(cells, risks, strict=True)]
    return Coding.of(
        {name: parse_rule(cell, name) for name, cell in zip(features, cells, strict=True)}
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:g}"
    return str(value).strip()


def _joined(normal: str, risk: str) -> str:
    """Return normal range and risk state as one rule in words."""
    if risk.lower() in NOTHING_MORE:
        return f"{normal} = 0"
    between = _BETWEEN.fullmatch(normal)
    if between and risk.lower() in ABOVE:
        return f"<= {between['high']} = 0"
    if between and risk.lower() in BELOW:
        return f">= {between['low']} = 0"
    return f"{normal} = 0, {risk} = 1"


def _clause(part: str, feature: object) -> Clause:
    clause = _CLAUSE.fullmatch(part.strip())
    if clause is None:
        raise _unreadable(part.strip(), feature, "it gives no state, as in '= 0'")
    what, state = clause["what"].strip(), int(clause["state"])
    if compared := _COMPARED.fullmatch(what):
        end = float(compared["number"])
        low, high = {
            "<=": (-math.inf, end),
            "<": (-math.inf, math.nextafter(end, -math.inf)),
            ">=": (end, math.inf),
            ">": (math.nextafter(end, math.inf), math.inf),
        }[compared["sign"]]
        return Clause(what, state, low, high)
    if between := _BETWEEN.fullmatch(what):
        low, high = float(between["low"]), float(between["high"])
        if low > high:
            raise _unreadable(part.strip(), feature, f"{low:g} is above {high:g}")
        return Clause(what, state, low, high)
    if re.fullmatch(_NUMBER, what):
        return Clause(what, state, float(what), float(what))
    return Clause(what, state)


def _states(named: Sequence[Clause], others: Sequence[int]) -> States:
    """Return categories; if only one is named, all others have the other state."""
    labels = tuple(
        (category_text(one.low) if one.is_number else one.text, one.state) for one in named
    )
    if others:
        return States(labels, others[0])
    return States(labels, 1 - named[0].state if len(named) == 1 else None)


def _numbers(named: Sequence[Clause], others: Sequence[int], text: Any, feature: object) -> Rule:
    """Return a normal range, or cut points if there are more than two states."""
    parts = _parted(named, text, feature)
    if max([*(one.state for one in parts), *others]) > 1:
        return _grades(parts, others, text, feature)
    normal = [one for one in parts if one.state == 0]
    if {*(one.state for one in parts), *others} == {0} and others:
        raise _unreadable(text, feature, "all values are of one state")
    if len(normal) == 1 and 0 not in others:
        return NormalRange(normal[0].low, normal[0].high)
    risky = parts[0]
    if len(parts) == 1 and risky.state and others in ([], [0]):
        if math.isinf(risky.low):
            return NormalRange(math.nextafter(risky.high, math.inf), math.inf)
        if math.isinf(risky.high):
            return NormalRange(-math.inf, math.nextafter(risky.low, -math.inf))
    raise _unreadable(text, feature, "it should name one normal range, as in '4-10 = 0'")


def _grades(parts: Sequence[Clause], others: Sequence[int], text: Any, feature: object) -> Grades:
    """Return cut points between states that ascend with the numbers; `else` is what lies above."""
    states = [*(one.state for one in parts), *others]
    if states != list(range(len(states))):
        raise _unreadable(
            text, feature, "states should ascend, as in '<= 5 = 0, <= 9 = 1, else = 2'"
        )
    for one, after in pairwise(parts):
        touching = math.nextafter(one.high, math.inf) >= after.low
        if not touching and after.low - one.high > _step(one.high, after.low):
            raise _unreadable(
                text, feature, f"no state is given between '{one.text}' and '{after.text}'"
            )
    if others and not (math.isinf(parts[0].low) and math.isfinite(parts[-1].high)):
        raise _unreadable(
            text, feature, "'else' should be what lies above, as in '<= 5 = 0, <= 9 = 1, else = 2'"
        )
    return Grades(tuple(one.high for one in (parts if others else parts[:-1])))


def _parted(named: Sequence[Clause], text: Any, feature: object) -> list[Clause]:
    """Return clauses in the order of their numbers; no number may belong to two of them.

    In "<= 5, <= 9" the second begins where the first ends, and likewise, downwards, in
    ">= 9, >= 5"; in "21, <= 21" the second is what lies below.
    """
    parts: list[Clause] = []
    for one in named:
        for before in parts:
            if before.is_number and one.high == before.low:
                one = replace(one, high=math.nextafter(one.high, -math.inf))
            elif before.is_number and one.low == before.low:
                one = replace(one, low=math.nextafter(one.low, math.inf))
            elif math.isinf(one.low) and math.isinf(before.low) and one.high > before.high:
                one = replace(one, low=max(one.low, math.nextafter(before.high, math.inf)))
            elif math.isinf(one.high) and math.isinf(before.high) and one.low < before.low:
                one = replace(one, high=min(one.high, math.nextafter(before.low, -math.inf)))
        parts.append(one)
    parts.sort(key=lambda one: one.low)
    for one, after in pairwise(parts):
        if after.low <= one.high:
            raise _unreadable(
                text, feature, f"'{one.text}' and '{after.text}' have numbers in common"
            )
    return parts


def _step(low: float, high: float) -> float:
    """Return one unit in the last digit of two ends: nothing lies between 5 and 6."""
    digits = [Decimal(str(end)).normalize().as_tuple().exponent for end in (low, high)]
    last = min(digit for digit in [*digits, 0] if isinstance(digit, int))
    return float(Decimal(1).scaleb(last)) * (1 + CLOSE)


def _unreadable(text: object, feature: object, why: str) -> InputError:
    return InputError(
        f"The rule {str(text)[:80]!r} of feature '{feature}' cannot be read: {why}. Write it like "
        "'4-10 = 0', '<= 65 = 0, > 65 = 1' or 'Absent = 0, Present = 1'."
    )

"""Names of respondents and items, and facts about them: task, subject, size of a model, ..."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ogive.data.foreign_frames import with_row_names
from ogive.errors import InputError
from ogive.results.numbers import half_character, meant, shown

MANY_REPEATS = 10_000  # which no slip of a pen makes
MANY_NAMES = 10_000

# Names, positions (a slice of them, too) or a boolean mask.
Selection = str | slice | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any]


def named(names: Iterable[object] | None, count: int, what: str) -> tuple[str, ...]:
    """Check that there are `count` distinct names; without names, make `item_1`, `item_2`, ..."""
    if names is None:
        return tuple([f"{what}_{position}" for position in range(1, count + 1)])
    if isinstance(names, str | bytes):
        raise InputError(
            f"{what}s is the text {shown(names)}, but it should be one name per {what}. "
            f"Give a list of {count:,} name{'s' if count != 1 else ''}."
        )
    if isinstance(names, set | frozenset):
        raise InputError(f"{what}s is a set, which has no order. Give a list, one name per {what}.")
    given = tuple(name if type(name) is str else str(name) for name in names)
    if len(given) != count:
        raise InputError(
            f"There are {len(given):,} {what} names, but the table has {count:,} {what}s. "
            f"Give one name per {what}."
        )
    if len(set(given)) < count:
        raise InputError(f"The {what} names must differ, but {_repeated_names(given, what)}")
    check_whole(given, f"The {what} name", f"Rename the {what}.")
    return given


def refuse_many_repeats(names: list[str], what: str) -> None:
    """Refuse names of some rows that are nearly all the same, before the rest is read."""
    different = set(names)
    if len(names) - len(different) > MANY_REPEATS:
        raise InputError(
            f"The {what} names must differ, but {len(names):,} rows in a row have only "
            f"{len(different):,} of them, such as {shown(names[-1])}. Rename or merge the {what}s."
        )


def alike_notes(respondents: Sequence[str], items: Sequence[str]) -> list[str]:
    """Return notes on names that look the same, but differ in spaces or composed letters."""
    notes = []
    for what, names in (("respondent", respondents), ("item", items)):
        odd = [name for name in names if " " in name or not name.isascii()]
        first_of = {name: name for name in names} if odd else {}
        for name in odd:
            plain = " ".join(unicodedata.normalize("NFC", name).split())
            other = first_of.setdefault(plain, name)
            if other != name:
                notes.append(
                    f"The {what} names {other!a} and {name!a} look the same, but differ "
                    f"in spaces or in how letters are composed: they are two {what}s. If they are "
                    "one, correct the file."
                )
                break
    return notes


def check_whole(texts: Iterable[str], what: str, advice: str) -> None:
    """Refuse texts with half of a surrogate pair: neither files nor terminals can show them."""
    broken = half_character(texts)
    if broken is not None:
        raise InputError(f"{what} {shown(broken)} holds half a character. {advice}")


def name_index(names: tuple[str, ...] | None, count: int, what: str) -> pd.Index:
    """Return names as the index of a frame; None are numbered ones.

    Of many names, pandas looks at each; Arrow makes the same index in a tenth of the time.
    """
    kind = pd.Index(["name"]).dtype
    if count < MANY_NAMES or getattr(kind, "storage", None) != "pyarrow":
        return pd.Index(named(names, count, what) if names is None else names, name=what)

    text = numbered(what, count) if names is None else pa.array(names, pa.large_string())
    return pd.Index(pd.arrays.ArrowStringArray(text), dtype=kind, name=what)


def numbered(what: str, count: int) -> Any:
    """Return `item_1`, `item_2`, ... as an array of Arrow."""
    text = pa.large_string()
    numbers = pa.array(np.arange(1, count + 1)).cast(text)
    return pc.binary_join_element_wise(pa.scalar(what, text), numbers, pa.scalar("_", text))


def positions(names: tuple[str, ...], wanted: Selection | None, what: str) -> NDArray[np.intp]:
    """Return the selected positions in `names`, in the order of the selection."""
    count = len(names)
    if wanted is None:
        return np.arange(count)
    if isinstance(wanted, slice):
        return np.arange(count)[wanted]
    chosen = np.asarray([wanted] if isinstance(wanted, str) else wanted)
    if chosen.ndim != 1:
        raise InputError(
            f"{what}s has {chosen.ndim} dimensions, but a selection is a list of names, "
            "of positions, or of True and False. Give one list."
        )
    if not chosen.size:
        return np.empty(0, dtype=np.intp)
    if chosen.dtype.kind == "b":
        if chosen.size != count:
            raise InputError(
                f"The mask of {what}s has {chosen.size:,} entries, but there are {count:,} "
                f"{what}s. Give one True or False per {what}."
            )
        return np.flatnonzero(chosen)
    if chosen.dtype.kind in "iu":
        outside = chosen[(chosen < -count) | (chosen >= count)]
        if outside.size:
            raise InputError(
                f"There is no {what} at position {outside[0]:,}: there are {count:,}, "
                f"counted from 0. Give positions below {count:,}."
            )
        return np.arange(count).take(chosen)
    place = {name: position for position, name in enumerate(names)}
    unknown = [str(name) for name in chosen if str(name) not in place]
    if unknown:
        alike = difflib.get_close_matches(unknown[0], names[:10_000], n=1)
        hint = f" Did you mean {shown(alike[0])}?" if alike else ""
        more = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
        raise InputError(
            f"There is no {what} named {shown(unknown[0])}{more}.{hint} "
            f"The names are in responses.{what}s."
        )
    return np.array([place[str(name)] for name in chosen], dtype=np.intp)


def _repeated_names(names: Sequence[str], what: str) -> str:
    """Say which names occur more than once, and where; and what to do about it."""
    places: dict[str, list[int]] = {}
    for position, name in enumerate(names, start=1):
        places.setdefault(name, []).append(position)
    repeated = [
        f"{shown(name)} is at positions {', '.join(f'{p:,}' for p in where[:3])}"
        + (f" and {len(where) - 3:,} more" if len(where) > 3 else "")
        for name, where in places.items()
        if len(where) > 1
    ]
    more = f" ({len(repeated) - 3:,} more names repeat)" if len(repeated) > 3 else ""
    hint = ""
    n_numbers = sum(bool(re.fullmatch(r"-?\d*\.?\d+(\.\d+)?", name)) for name in names)
    if what == "item" and 2 * n_numbers > len(names):
        hint = (
            "These look like responses: if the line of item names is missing, add one at the top. "
            "Otherwise: "
        )
    return f"{'; '.join(repeated[:3])}{more}. {hint}Rename or merge the {what}s."


def row_name(place: object) -> str:
    """Return the name, as an item, of the row at this position of a data set."""
    return f"row_{place}"


def is_numbered(index: Any) -> bool:
    """Return True if an index only numbers the rows from 0."""
    return bool(index.equals(pd.RangeIndex(len(index))))


def place_of(item: object, index: Any) -> int | None:
    """Return the position of an item in an index, by name; numbered rows are row_0, row_1, ..."""
    if not pd.api.types.is_hashable(item) or isinstance(item, bool) or not index.is_unique:
        return None
    if item in index:
        return int(index.get_loc(item))
    names = [row_name(place) for place in index] if is_numbered(index) else []
    return names.index(item) if item in names else None


def aligned(values: pd.Series[Any], index: Any, what: str) -> pd.Series[Any]:
    """Put `values` in the order of `index`, NaN if there is none; unknown names are refused.

    Rows of a data set that are only numbered are named row_0, row_1, ... as in pools.
    """
    if values.index.equals(index):
        return values
    if values.index.has_duplicates:
        raise InputError(f"{what} gives an item more than one value. Give one value per item.")
    names = [row_name(place) for place in index] if is_numbered(index) else list(index)
    for wanted in (list(index), names):
        if set(values.index) <= set(wanted):
            return values.reindex(wanted).set_axis(index)
    known = set(names)
    unknown = next((name for name in values.index if name not in known), "")
    raise InputError(
        f"{what} names the item {shown(unknown)}, but the rows are "
        f"{shown(names[0] if names else '')}, ... Give both the same index; or, if their order is "
        f"the same, {what} as an array: .to_numpy()."
    )


Fact: TypeAlias = "str | int | float | bool | None"
Facts: TypeAlias = "dict[str, tuple[Fact, ...]]"  # by column, one entry per name
GivenFacts: TypeAlias = "pd.DataFrame | Mapping[str, Any]"

UNKNOWN = "unknown"  # the group of a missing fact


def as_facts(given: GivenFacts, names: Sequence[str], what: str) -> Facts:
    """Return columns in the order of `names`: a frame is matched by its index, lists by position.

    A column given as a mapping is matched by name. Missing values are None.
    """
    given = with_row_names(given)
    columns: Iterable[tuple[object, Any]] = given.items()
    check_whole(map(str, given), "The fact", "Rename it.")
    index = getattr(given, "index", None)
    if index is not None and not index.is_unique:
        raise InputError(f"The facts name the {what} {shown(index[index.duplicated()][0])} twice.")
    if index is not None and not {str(name) for name in index} & set(names):
        raise InputError(
            f"The facts are about {shown(index[0] if len(index) else '')}, ..., but no {what} has "
            f"such a name. The index of the frame should name {what}s."
        )
    return {str(column): _column(str(column), values, names, what) for column, values in columns}


def part_of(facts: Facts, places: NDArray[np.intp]) -> Facts:
    """Return the facts at these positions."""
    return {column: tuple(values[k] for k in places) for column, values in facts.items()}


def facts_frame(facts: Facts, names: Sequence[str], what: str) -> pd.DataFrame:
    """Return one row per name, one column per fact."""
    return pd.DataFrame(
        {column: list(values) for column, values in facts.items()},
        index=pd.Index(names, name=what),
    )


def grouped(facts: Facts, names: Sequence[str], by: object, what: str) -> tuple[str, ...]:
    """Return the group of each name as text: by a fact, mapping, function, or list by position."""
    if isinstance(by, str):
        if by not in facts:
            known = f"there are: {', '.join(facts)}" if facts else "there are none"
            raise InputError(
                f"There is no fact {shown(by)} of {what}s; {known}. Give a "
                f"mapping from {what} to group, or add it: "
                f"responses.described({what}s={{{by!r}: [...]}}).{meant(by, facts)}"
            )
        values: Sequence[Fact] = facts[by]
    elif callable(by):
        values = [_plain(by(name)) for name in names]
    elif hasattr(by, "items") or isinstance(by, Iterable):
        values = _column("by", by, names, what)
    else:
        raise InputError(
            f"`by` must be the name of a fact, or one group per {what}, as a list, a mapping or a "
            f"function, got {shown(by)}."
        )
    return tuple(UNKNOWN if value is None else str(value) for value in values)


def _column(column: str, values: Any, names: Sequence[str], what: str) -> tuple[Fact, ...]:
    """Return the value of a fact for each name."""
    if hasattr(values, "items"):  # a mapping or a series, by name
        by_name = {str(name): value for name, value in values.items()}
        if not by_name.keys() & set(names):
            raise InputError(
                f"{shown(column)} names no {what} of the table; its keys should be names."
            )
        facts = tuple(_plain(by_name.get(name)) for name in names)
    elif isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(
            f"The fact {shown(column)} is {shown(values)}; give one value per {what}, as a list or "
            "a mapping."
        )
    else:
        facts = tuple(_plain(value) for value in values)
        if len(facts) != len(names):
            raise InputError(
                f"The fact {shown(column)} has {len(facts):,} values, but there are "
                f"{len(names):,} {what}s. Give one value each."
            )
    texts = (value for value in facts if isinstance(value, str))
    check_whole(texts, f"In the fact {shown(column)}, the value", "Correct it.")
    return facts


def _plain(value: Any) -> Fact:
    """Return a value that JSON can hold; None if it is missing."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:  # Parquet has no such number
        return str(value)
    return value if isinstance(value, str | int | bool) else str(value)

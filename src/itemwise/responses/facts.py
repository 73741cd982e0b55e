"""Facts about respondents and items: task, subject, size of a model, ..."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.words import shown

if TYPE_CHECKING:
    import pandas as pd

Fact: TypeAlias = "str | int | float | bool | None"
Facts: TypeAlias = "dict[str, tuple[Fact, ...]]"  # by column, one entry per name
GivenFacts: TypeAlias = "pd.DataFrame | Mapping[str, Any]"

UNKNOWN = "unknown"  # the group of a missing fact


def as_facts(given: GivenFacts, names: Sequence[str], what: str) -> Facts:
    """Columns in the order of `names`: a frame is matched by its index, lists by position.

    A column given as a mapping is matched by name. Missing values are None.
    """
    columns: Iterable[tuple[object, Any]] = given.items()
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
    """The facts at these positions."""
    return {column: tuple(values[k] for k in places) for column, values in facts.items()}


def facts_frame(facts: Facts, names: Sequence[str], what: str) -> pd.DataFrame:
    """One row per name, one column per fact."""
    import pandas as pd

    return pd.DataFrame(
        {column: list(values) for column, values in facts.items()},
        index=pd.Index(names, name=what),
    )


def grouped(facts: Facts, names: Sequence[str], by: object, what: str) -> tuple[str, ...]:
    """The group of each name as text: by a fact, a mapping, a function, or a list by position."""
    if isinstance(by, str):
        if by not in facts:
            known = ", ".join(facts) or "none"
            raise InputError(
                f"There is no fact {shown(by)} of {what}s; the facts known are: {known}. Give a "
                f"mapping from {what} to group, or add it: "
                f"responses.described({what}s={{{by!r}: [...]}})."
            )
        values: Sequence[Fact] = facts[by]
    elif callable(by):
        values = [_plain(by(name)) for name in names]
    elif hasattr(by, "items") or isinstance(by, Iterable):
        values = _column("by", by, names, what)
    else:
        raise InputError(
            f"by is {shown(by)}; give the name of a fact, or one group per {what}, as a list, a "
            "mapping or a function."
        )
    return tuple(UNKNOWN if value is None else str(value) for value in values)


def _column(column: str, values: Any, names: Sequence[str], what: str) -> tuple[Fact, ...]:
    if hasattr(values, "items"):  # a mapping or a series, by name
        told = {str(name): value for name, value in values.items()}
        if not told.keys() & set(names):
            raise InputError(
                f"{shown(column)} names no {what} of the table; its keys should be names."
            )
        return tuple(_plain(told.get(name)) for name in names)
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(
            f"The fact {shown(column)} is {shown(values)}; give one value per {what}, as a list or "
            "a mapping."
        )
    listed = tuple(_plain(value) for value in values)
    if len(listed) != len(names):
        raise InputError(
            f"The fact {shown(column)} has {len(listed):,} values, but there are {len(names):,} "
            f"{what}s. Give one value each."
        )
    return listed


def _plain(value: Any) -> Fact:
    """A value that JSON can hold; None if it is missing."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:  # Parquet has no such number
        return str(value)
    return value if isinstance(value, str | int | bool) else str(value)

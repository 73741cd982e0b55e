"""Values of items put in the order of other items, by name where there are names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from itemwise.errors import InputError
from itemwise.words import shown

if TYPE_CHECKING:
    import pandas as pd


def row_name(place: object) -> str:
    """What the row at this place of a data set is called as an item."""
    return f"row_{place}"


def is_numbered(index: Any) -> bool:
    """Whether an index says nothing but the position."""
    import pandas as pd

    return bool(index.equals(pd.RangeIndex(len(index))))


def place_of(item: object, index: Any) -> int | None:
    """Where an item stands in an index, by its name; numbered rows are called row_0, row_1, ..."""
    import pandas as pd

    if not pd.api.types.is_hashable(item) or isinstance(item, bool) or not index.is_unique:
        return None
    if item in index:
        return int(index.get_loc(item))
    names = [row_name(place) for place in index] if is_numbered(index) else []
    return names.index(item) if item in names else None


def aligned(values: pd.Series[Any], index: Any, what: str) -> pd.Series[Any]:
    """`values` in the order of `index`, NaN where it has none; refused where names do not match.

    Rows of a data set that are only numbered are known as row_0, row_1, ... as pools name them.
    """
    if values.index.equals(index):
        return values
    if values.index.has_duplicates:
        raise InputError(f"{what} gives an item more than one value. Give one value an item.")
    names = [row_name(place) for place in index] if is_numbered(index) else list(index)
    for wanted in (list(index), names):
        if set(values.index) <= set(wanted):
            return values.reindex(wanted).set_axis(index)
    raise InputError(
        f"{what} names the item {shown(first_stranger(values.index, names))}, but the rows are "
        f"{shown(names[0] if names else '')}, ... Give both the same index; or, if their order is "
        f"the same, {what} as an array: .to_numpy()."
    )


def first_stranger(names: Iterable[object], known: Iterable[object]) -> object:
    """The first name that is not known."""
    there = set(known)
    return next((name for name in names if name not in there), "")

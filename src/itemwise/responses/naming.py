"""Names of respondents and items: checked, looked up, and aligned with those of a frame."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.words import shown

if TYPE_CHECKING:
    import pandas as pd

# Names, positions (a slice of them, too) or a boolean mask.
Selection = str | slice | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any]


def named(names: Iterable[object] | None, count: int, what: str) -> tuple[str, ...]:
    """Check that there are `count` distinct names; without names, make `item_1`, `item_2`, ..."""
    if names is None:
        return tuple(f"{what}_{position}" for position in range(1, count + 1))
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
        raise InputError(
            f"The {what} names must differ, but {_repeated(given)}. Rename or merge the {what}s."
        )
    return given


def positions(names: tuple[str, ...], wanted: Selection | None, what: str) -> NDArray[np.intp]:
    """The selected positions in `names`, in the order of the selection."""
    if wanted is None:
        return np.arange(len(names))
    if isinstance(wanted, slice):
        return np.arange(len(names))[wanted]
    chosen = np.asarray([wanted] if isinstance(wanted, str) else wanted)
    if chosen.ndim != 1:
        raise InputError(
            f"{what}s has {chosen.ndim} dimensions, but a selection is a list of names, "
            "of positions, or of True and False. Give one list."
        )
    if not chosen.size:
        return np.empty(0, dtype=np.intp)
    if chosen.dtype.kind == "b":
        return _masked(chosen, len(names), what)
    if chosen.dtype.kind in "iu":
        return _placed(chosen, len(names), what)
    return _found([str(name) for name in chosen], names, what)


def _repeated(names: Sequence[str]) -> str:
    """The names that occur more than once, and where: 'a' is at positions 1 and 3."""
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
    return "; ".join(repeated[:3]) + more


def _masked(mask: NDArray[np.bool_], count: int, what: str) -> NDArray[np.intp]:
    if mask.size != count:
        raise InputError(
            f"The mask of {what}s has {mask.size:,} entries, but there are {count:,} {what}s. "
            f"Give one True or False per {what}."
        )
    return np.flatnonzero(mask)


def _placed(chosen: NDArray[Any], count: int, what: str) -> NDArray[np.intp]:
    outside = chosen[(chosen < -count) | (chosen >= count)]
    if outside.size:
        raise InputError(
            f"There is no {what} at position {outside[0]:,}: there are {count:,}, "
            f"counted from 0. Give positions below {count:,}."
        )
    return np.arange(count).take(chosen)


def _found(chosen: list[str], names: tuple[str, ...], what: str) -> NDArray[np.intp]:
    place = {name: position for position, name in enumerate(names)}
    unknown = [name for name in chosen if name not in place]
    if unknown:
        alike = difflib.get_close_matches(unknown[0], names[:10_000], n=1)
        hint = f" Did you mean {shown(alike[0])}?" if alike else ""
        more = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
        raise InputError(
            f"There is no {what} named {shown(unknown[0])}{more}.{hint} "
            f"The names are in responses.{what}s."
        )
    return np.array([place[name] for name in chosen], dtype=np.intp)


def row_name(place: object) -> str:
    """The name, as an item, of the row at this position of a data set."""
    return f"row_{place}"


def is_numbered(index: Any) -> bool:
    """Whether an index only numbers the rows from 0."""
    import pandas as pd

    return bool(index.equals(pd.RangeIndex(len(index))))


def place_of(item: object, index: Any) -> int | None:
    """The position of an item in an index, by name; numbered rows are row_0, row_1, ..."""
    import pandas as pd

    if not pd.api.types.is_hashable(item) or isinstance(item, bool) or not index.is_unique:
        return None
    if item in index:
        return int(index.get_loc(item))
    names = [row_name(place) for place in index] if is_numbered(index) else []
    return names.index(item) if item in names else None


def aligned(values: pd.Series[Any], index: Any, what: str) -> pd.Series[Any]:
    """Put `values` in the order of `index`, NaN where there is none; unknown names are refused.

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
    raise InputError(
        f"{what} names the item {shown(first_stranger(values.index, names))}, but the rows are "
        f"{shown(names[0] if names else '')}, ... Give both the same index; or, if their order is "
        f"the same, {what} as an array: .to_numpy()."
    )


def first_stranger(names: Iterable[object], known: Iterable[object]) -> object:
    """The first name that is not known."""
    there = set(known)
    return next((name for name in names if name not in there), "")

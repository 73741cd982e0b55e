"""Names of respondents and items: checked when they are given, found when they are asked for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.words import shown

# Names, positions (a slice of them, too) or a boolean mask.
Selection = str | slice | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any]


def named(names: Iterable[object] | None, count: int, what: str) -> tuple[str, ...]:
    """`count` different names of what there is; `item_1`, `item_2`, ... if none are given."""
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
    """Where in `names` the selection points, in the order of the selection."""
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
    """The names that occur twice or more, and where: 'a' stands at positions 1 and 3."""
    places: dict[str, list[int]] = {}
    for position, name in enumerate(names, start=1):
        places.setdefault(name, []).append(position)
    repeated = [
        f"{shown(name)} stands at positions {', '.join(f'{p:,}' for p in where[:3])}"
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

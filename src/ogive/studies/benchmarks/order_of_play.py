"""In which order a tournament plays its items: as given, by name, or by rising values."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ogive.errors import InputError
from ogive.studies.benchmarks import GIVEN
from ogive.words import listed, repeated

if TYPE_CHECKING:
    import pandas as pd

# Names in the order of play, or a value for each name (played lowest first).
Order: TypeAlias = "str | Sequence[str] | Mapping[str, float] | pd.Series[float] | None"


def played(order: Order, items: tuple[str, ...]) -> list[int]:
    """Positions of the items in the order of play."""
    if order is None or (isinstance(order, str) and order == GIVEN):
        return list(range(len(items)))
    if isinstance(order, str):
        raise InputError(
            f"order is {order!r}, but the table holds only scores. Give a list of item names, or a "
            f"value for each item: order=frame[{order!r}], whose index names the items."
        )
    named: Any = order
    if hasattr(named, "items") and callable(named.items):
        return _sorted_by({str(name): value for name, value in named.items()}, len(named), items)
    names = [str(name) for name in named]
    if not names:
        raise InputError("order is empty. Name at least one item to play.")
    _check_known(names, items)
    if len(set(names)) < len(names):
        twice = repeated(names)[0]
        raise InputError(f"order names {twice!r} more than once. Each item is played once.")
    place = {name: k for k, name in enumerate(items)}
    return [place[name] for name in names]


def _sorted_by(value: Mapping[str, Any], given: int, items: tuple[str, ...]) -> list[int]:
    """Positions of the items by rising value; ties in the order of the table."""
    if len(value) < given:
        raise InputError("order gives an item more than one value. Give one value per item.")
    if not set(value) & set(items):
        _check_known(list(value) or [""], items)
    lacking = [name for name in items if name not in value]
    if lacking:
        raise InputError(
            f"order has no value for {listed(lacking, 'item')}. Give one for each, or leave "
            "those items out of the scores."
        )
    try:
        keys = np.array([value[name] for name in items], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"order should give numbers, but: {error}.") from error
    if np.isnan(keys).any():
        missing = [name for name, key in zip(items, keys, strict=True) if np.isnan(key)]
        raise InputError(
            f"order gives NaN for {listed(missing, 'item')}. Give a number, or leave these items "
            "out of the scores."
        )
    return [int(k) for k in np.argsort(keys, kind="stable")]


def _check_known(names: Sequence[str], items: tuple[str, ...]) -> None:
    known = set(items)
    unknown = [name for name in names if name not in known]
    if unknown:
        alike = difflib.get_close_matches(unknown[0], items[:10_000], n=1)
        hint = f" Did you mean {alike[0]!r}?" if alike else ""
        raise InputError(
            f"order names {unknown[0]!r:.80}, which is not an item of the scores.{hint} "
            f"They are: {', '.join(items[:5])}{', ...' if len(items) > 5 else ''}."
        )

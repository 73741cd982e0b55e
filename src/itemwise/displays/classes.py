"""Classes in figures: the same order, colours, names and limits in all of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import is_number
from itemwise.displays.base import tidy
from itemwise.displays.groups import largest_groups
from itemwise.displays.style import Style, label
from itemwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.numerics.arrays import Array

MOST_CLASSES = 6  # with a colour each; the rest of more is one

Limits = dict[Any, tuple[float, float]]  # by class: the limit and its standard error


def by_class(column: pd.Series, most: int = MOST_CLASSES) -> list[tuple[object, Array]]:
    """Name and rows (as places) of each class in their order; of many the largest, then the rest.

    The rest is one group, whose name says how many classes it holds.
    """
    found = largest_groups(column, most)
    return [*sorted(found[:most], key=lambda part: _place(part[0])), *found[most:]]


def colours(style: Style) -> tuple[str, ...]:
    """A colour for each class that has one, then that of the rest."""
    return (*style.palette[:MOST_CLASSES], style.neutral)


def class_name(name: object, width: int) -> str:
    """A class as one short line; a bare number would not say that it is a class."""
    return f"class {name:g}" if is_number(name) else label(name, width)


def limits_by_class(owner: str, frame: pd.DataFrame, limits: Any) -> Limits:
    """The limit (MLC) of each class: given apart, or in the column `limit` of the frame.

    Given apart, they are a mapping from class to number, or a frame with one row a class, which is
    its index, and `mlc` and `mlc_se`. What is not finite is left out.
    """
    import pandas as pd

    if limits is None:
        found = _in_columns(frame)
    elif isinstance(limits, pd.DataFrame):
        rows = tidy(limits, f"{owner}, for its limits,", ("mlc", "mlc_se"))
        pairs = zip(rows["mlc"], rows["mlc_se"], strict=True)
        found = dict(zip(rows.index, pairs, strict=True))
    elif isinstance(limits, Mapping | pd.Series):
        found = {name: (_number(owner, limit), np.nan) for name, limit in limits.items()}
    else:
        raise InputError(
            f"{owner} was given limits of type {type(limits).__name__}. Give a mapping from class "
            "to number, or a frame with one row a class and the columns 'mlc' and 'mlc_se'."
        )
    known = set(frame["class"].astype(object))
    if limits is not None and len(found) and not known & set(found):
        there = ", ".join(repr(label(name)) for name in list(known)[:12])
        raise InputError(f"{owner} was given limits of none of its classes: {there}.")
    return {name: pair for name, pair in found.items() if np.isfinite(pair[0])}


def _in_columns(frame: pd.DataFrame) -> Limits:
    """By class: the first limit in the frame, with its standard error where that is known."""
    if "limit" not in frame.columns:
        return {}
    rows = frame[np.isfinite(frame["limit"])]
    rows = rows[~rows["class"].astype(object).duplicated()]
    errors = rows["limit_se"] if "limit_se" in rows.columns else np.full(len(rows), np.nan)
    return dict(zip(rows["class"], zip(rows["limit"], errors, strict=True), strict=True))


def limit_columns(frame: object) -> list[str]:
    """Those columns of a frame that hold limits."""
    return [name for name in ("limit", "limit_se") if name in getattr(frame, "columns", ())]


def said_limit(limit: float, se: float) -> str:
    """A limit in figures, with its reach where that is known."""
    reach = f" ± {1.96 * se:.2f}" if np.isfinite(se) else ""
    return f"{limit:.2f}{reach}".replace("-", "−")


def _number(owner: str, limit: Hashable) -> float:
    if not is_number(limit):
        raise InputError(f"{owner} was given the limit {limit!r}, but a limit is a number.")
    return float(limit)  # type: ignore[arg-type]


def _place(name: object) -> tuple[int, float, str]:
    """Numbers in their order, then names in theirs."""
    return (0, float(name), "") if is_number(name) else (1, 0.0, str(name))  # type: ignore[arg-type]

"""Checks of numbers and words that a caller gives as arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from ogive.errors import InputError

CONFIDENCE = 0.95  # level of intervals, unless the caller gives another
HALF_WIDTH = 1.96  # half-width of such an interval in standard errors, rounded


def as_number(value: object) -> float:
    """Return the number that was given; NaN for anything else, so that no comparison holds."""
    return float(value) if is_number(value) else math.nan  # type: ignore[arg-type]


def whole_number(value: object, name: str, least: int, most: int | None = None) -> int:
    """Return the whole number that was given; refused if it is not one from `least` to `most`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and least <= value and (most is None or value <= most)):  # type: ignore[operator]
        reach = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise InputError(f"`{name}` must be a whole number {reach}, got {value!r:.60}.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def checked_share(value: object, name: str, such_as: float) -> float:
    """Return the share that was given; refused if it is not between 0 and 1."""
    number = as_number(value)
    if not 0 < number < 1:
        raise InputError(
            f"`{name}` must be a number between 0 and 1, such as {such_as:g}, got {value!r}."
        )
    return number


def is_number(value: object) -> bool:
    """Return True if `value` is a real number; True and False do not count."""
    return isinstance(value, Real) and not isinstance(value, bool)


def one_of(value: object, name: str, known: Iterable[str]) -> str:
    """Return the word that was given; refused if it is not one of those known.

    >>> one_of("items", "average", ("items", "tasks"))
    'items'
    """
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise InputError(f"`{name}` must be one of: {', '.join(names)}, got {value!r:.60}.")
    return value


def float_array(values: object, name: str) -> Any:
    """Return the values as an array of floats; refused if they are not numbers."""
    import numpy as np

    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} should be numbers, but: {error}.") from error

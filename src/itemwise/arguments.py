"""Numbers that a caller gives as arguments: text, truth values and nothing are none."""

from __future__ import annotations

import math
from numbers import Integral, Real

from itemwise.errors import InputError


def as_number(value: object) -> float:
    """The number that was given; NaN for what is none, so that no comparison holds."""
    return float(value) if is_number(value) else math.nan  # type: ignore[arg-type]


def whole_number(value: object, name: str, least: int) -> int:
    """The whole number that was given, refused where it is none or below `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} is {value!r}, but it should be a whole number from {least}.")
    return int(value)


def checked_share(value: object, name: str, such_as: float) -> float:
    """The share that was given, refused where it is not between 0 and 1."""
    number = as_number(value)
    if not 0 < number < 1:
        raise InputError(
            f"{name} is {value!r}, but it must be a number between 0 and 1, such as {such_as:g}."
        )
    return number


def is_number(value: object) -> bool:
    """Whether `value` is a real number; a truth value is none."""
    return isinstance(value, Real) and not isinstance(value, bool)

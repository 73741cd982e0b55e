"""Parts of an adaptive test by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from itemwise.errors import InputError


def find_part(given: Any, role: str, method: str, registry: Mapping[str, Callable[[], Any]]) -> Any:
    """The part itself, or the one of that name with its default settings."""
    if isinstance(given, str) and given in registry:
        return registry[given]()
    if isinstance(given, type):
        raise InputError(f"{role} is the class {given.__name__}; call it: {given.__name__}().")
    if not callable(getattr(given, method, None)):
        raise InputError(
            f"{role} is {given!r}. Give one of {', '.join(map(repr, registry))}, "
            f"or an object with the method {method}()."
        )
    return given


def refuse_unless_count(number: object, name: str, least: int = 1) -> None:
    """Settings that count are whole numbers."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise InputError(f"{name} is {number!r}; give a whole number of at least {least}.")


def refuse_unless_number(number: object, name: str, low: float, high: float) -> None:
    """Settings that measure are numbers between two bounds, which are not themselves allowed."""
    known = isinstance(number, Real) and not isinstance(number, bool)
    if not (known and low < float(number) < high):  # type: ignore[arg-type]
        raise InputError(f"{name} is {number!r}; give a number between {low:g} and {high:g}.")

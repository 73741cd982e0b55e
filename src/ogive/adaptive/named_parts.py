"""Parts of an adaptive test by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite, isinf
from typing import Any

from ogive.arguments import as_number
from ogive.errors import InputError


def find_part(given: Any, role: str, method: str, registry: Mapping[str, Callable[[], Any]]) -> Any:
    """Return the part, or the one of that name with default settings."""
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


def refuse_unless_number(
    number: object, name: str, low: float, high: float, *, ends: bool = False
) -> None:
    """Refuse a setting that is not a number between two bounds; `ends` includes the bounds."""
    value = as_number(number)
    if not (low < value < high or (ends and value in (low, high) and isfinite(value))):
        raise InputError(f"{name} is {number!r}; give a number {_reach(low, high, ends=ends)}.")


def _reach(low: float, high: float, *, ends: bool) -> str:
    if isinf(low) and isinf(high):
        return "that is finite"
    if isinf(high):
        return f"of at least {low:g}" if ends else f"above {low:g}"
    return f"from {low:g} to {high:g}" if ends else f"between {low:g} and {high:g}"

"""Numbers and names in sentences for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from math import floor, isfinite, log10

NOTHING = 0.0001  # whatever is known to be smaller, with its interval, is not given exactly
TINY = NOTHING / 2
MISTYPED = 0.7  # similarity of names; less alike are "compare" and "score"
LEAST_BEGUN = 4  # letters of a name that is not written to its end


def counted(n: int, noun: str) -> str:
    """A number and its noun: 1 item, 2 items, 1,000 items."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def repeated(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, each once, in the order of their first place."""
    return [name for name, n in Counter(names).items() if n > 1]


def listed(names: Sequence[str], noun: str, shown: int = 3) -> str:
    """How many there are, and the first of them by name: 5 items (a, b, c, ...)."""
    first = ", ".join(names[:shown]) + (", ..." if len(names) > shown else "")
    return f"{counted(len(names), noun)} ({first})"


def joined(names: Sequence[str]) -> str:
    """All names in a sentence: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def meant(name: str, known: Iterable[object]) -> str:
    """A question to who mistyped a name, to put after a sentence; empty if nothing is close.

    >>> meant("calibate", ["calibrate", "score"])
    " Did you mean 'calibrate'?"
    """
    names = {str(each).lower(): str(each) for each in known}
    asked = name.strip().lower()
    swapped = [each for each in names if sorted(each) == sorted(asked)]
    begun = [each for each in names if len(asked) >= LEAST_BEGUN and each.startswith(asked)]
    near = swapped or get_close_matches(asked, names, n=1, cutoff=MISTYPED)
    near = near or (begun if len(begun) == 1 else [])
    return f" Did you mean '{names[near[0]]}'?" if near else ""


def who_has(names: Sequence[str], noun: str = "respondent", shown: int = 3) -> str:
    """Who has something, as the beginning of a sentence; where several do, they share it.

    >>> who_has(["a"]), who_has(["a", "b"]), who_has(list("abcd"))
    ('a has', 'a and b share', '4 respondents (a, b, c, ...) share')
    """
    if len(names) == 1:
        return f"{names[0]} has"
    return f"{joined(names) if len(names) <= shown else listed(names, noun, shown)} share"


def with_interval(value: float, reach: float) -> str:
    """A number and its interval, to the second digit of half of it.

    For sentences; in tables, `with_reach` puts the standard error beside a number.

    >>> with_interval(0.7312, 0.0121), with_interval(93.84, 104.2), with_interval(0.5, 0.0)
    ('0.731 (0.719 to 0.743)', '94 (-10 to 198)', '0.5')
    """
    if not (isfinite(value) and isfinite(reach)) or reach <= 0 or max(abs(value), reach) < TINY:
        return with_reach(value, reach)
    digits = min(max(0, 1 - floor(log10(reach))), 12)
    low, high = value - reach, value + reach
    return f"{value:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def with_reach(value: float, reach: float) -> str:
    """A number and half of its interval, both to the second digit of the latter.

    A number without an interval stands alone, and both next to nothing are said to be so.

    >>> with_reach(93.84, 104.2), with_reach(0.7312, 0.0123), with_reach(2e-9, 1e-9)
    ('94 ± 104', '0.731 ± 0.012', '<0.0001')
    """
    if not (isfinite(value) and isfinite(reach)) or reach <= 0:
        return f"{value:,.4g}"
    if max(abs(value), reach) < TINY:
        return f"<{NOTHING}" if value > 0 else f">-{NOTHING}" if value < 0 else "0"
    digits = min(max(0, 1 - floor(log10(reach))), 12)
    return f"{value:,.{digits}f} ± {reach:,.{digits}f}"


def said_p(p: float) -> str:
    """A p-value in a sentence; below 0.001 it is not given exactly."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def shown(value: object) -> str:
    """Show a value of unknown origin: short, and without control characters."""
    scalar = hasattr(value, "item") and getattr(value, "ndim", None) == 0  # of NumPy
    text = repr(value.item() if scalar else value)  # type: ignore[attr-defined]
    if len(text) <= 60:
        return text
    quote = text[-1] if text[-1] in "'\"" else ""
    return f"{text[: 57 - len(quote)]}...{quote}"

"""Numbers and names in sentences for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from math import floor, inf, isfinite, isinf, log10

NOTHING = 0.0001  # whatever is known to be smaller, with its interval, is not given exactly
TINY = NOTHING / 2
MOST_PLACES = 4  # of a number that its uncertainty does not distinguish from 0
FARTHEST = (
    6  # difficulties beyond belong to flat curves, or to items that (nearly) all answer alike
)
BEYOND = (
    f"Difficulties beyond ±{FARTHEST} are not given exactly: no respondent is near them, because "
    "an item is answered alike by (nearly) all or has a flat curve."
)
MISTYPED = 0.7  # similarity of names; less alike are "compare" and "score"
LEAST_BEGUN = 4  # letters of a name that is not written to its end


def counted(n: int, noun: str) -> str:
    """Return a number and its noun: 1 item, 2 items, 1,000 items."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def mean_called(kind: str) -> str:
    """Return the name of a mean response of this kind: grades and scores have no accuracy."""
    return "accuracy" if kind in ("binary", "nominal") else "mean score"


def repeated(names: Iterable[str]) -> list[str]:
    """Return names that occur more than once, each once, in the order of their first place."""
    return [name for name, n in Counter(names).items() if n > 1]


def listed(names: Sequence[str], noun: str, shown: int = 3) -> str:
    """Return the number of names, and the first of them: 5 items (a, b, c, ...)."""
    first = ", ".join(names[:shown]) + (", ..." if len(names) > shown else "")
    return f"{counted(len(names), noun)} ({first})"


def joined(names: Sequence[str]) -> str:
    """Return all names in a sentence: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def meant(name: str, known: Iterable[object]) -> str:
    """Return a question that corrects a mistyped name, after a sentence; empty if none is close.

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
    """Return the beginning of a sentence: who has something, or if several do, shares it.

    >>> who_has(["a"]), who_has(["a", "b"]), who_has(list("abcd"))
    ('a has', 'a and b share', '4 respondents (a, b, c, ...) share')
    """
    if len(names) == 1:
        return f"{names[0]} has"
    return f"{joined(names) if len(names) <= shown else listed(names, noun, shown)} share"


def with_interval(value: float, reach: float, least: float = -inf) -> str:
    """Return a number and its interval, to the second digit of half of it, from `least` upwards.

    For sentences; in tables, `with_reach` puts the standard error beside a number.

    >>> with_interval(0.7312, 0.0121), with_interval(93.84, 104.2), with_interval(0.5, 0.0)
    ('0.731 (0.719 to 0.743)', '94 (-10 to 198)', '0.5')
    """
    if not (isfinite(value) and isfinite(reach)) or reach <= 0 or max(abs(value), reach) < TINY:
        return with_reach(value, reach)
    digits = _digits(reach)
    low, high = max(value - reach, least), value + reach
    return f"{value:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def with_reach(value: float, reach: float) -> str:
    """Return a number and half of its interval, both to the second digit of the latter.

    A number without an interval stands alone, and both next to nothing are said to be so.

    >>> with_reach(93.84, 104.2), with_reach(0.7312, 0.0123), with_reach(2e-9, 1e-9)
    ('94 ± 104', '0.731 ± 0.012', '<0.0001')
    >>> with_reach(-2e-9, 5e-4), with_reach(-2e-9, 0.12)
    ('0 ± 0.0005', '0.00 ± 0.12')
    """
    if not (isfinite(value) and isfinite(reach)) or reach <= 0:
        return f"{value:,.4g}"
    if max(abs(value), reach) < TINY:
        return f"<{NOTHING}" if value > 0 else f">-{NOTHING}" if value < 0 else "0"
    digits = _digits(reach)
    if abs(value) < 0.5 * 10**-digits:
        if digits > MOST_PLACES:
            return f"0 ± {reach:.{digits}f}".rstrip("0")
        value = 0.0  # no minus
    return f"{value:,.{digits}f} ± {reach:,.{digits}f}"


def _digits(reach: float) -> int:
    """Return the decimals that show half of an interval to its second digit."""
    return min(max(0, 1 - floor(log10(reach))), 12)


def beyond_scale(
    values: Sequence[float | None], among: Sequence[float | None] | None = None
) -> list[str | None]:
    """Return how difficulties far from all respondents are shown: not exactly; None for the others.

    On a scale of another unit, most difficulties are far from 0, and none is shown so: `among` are
    all of the scale, if values are a part. What all or none solved has none. A page does the same.

    >>> beyond_scale([626.5, -1.0, 0.5, -485.0, float("inf")])
    ['> 6', None, None, '< -6', '–']
    >>> beyond_scale([626.5], among=[626.5, 0.5, 0.2])
    ['> 6']
    """
    whole = values if among is None else among
    sizes = sorted(abs(x) for x in whole if x is not None and isfinite(x))
    bounded = bool(sizes) and sizes[len(sizes) // 5] <= FARTHEST

    def shown(x: float | None) -> str | None:
        if x is None or not abs(x) > FARTHEST or (isfinite(x) and not bounded):
            return None
        return "–" if isinf(x) else f"> {FARTHEST}" if x > 0 else f"< -{FARTHEST}"

    return [shown(x) for x in values]


def said_p(p: float) -> str:
    """Return a p-value in a sentence; below 0.001 it is not given exactly."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def clean(text: str) -> str:
    """Escape lone surrogates, which JSON and file names may hold, but UTF-8 may not."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def half_character(texts: Iterable[str]) -> str | None:
    """Return the first text with half of a surrogate pair, which no file can hold."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            return text
    return None


def shown(value: object) -> str:
    """Show a value of unknown origin: short, and without control characters."""
    scalar = hasattr(value, "item") and getattr(value, "ndim", None) == 0  # of NumPy
    text = repr(value.item() if scalar else value)  # type: ignore[attr-defined]
    if len(text) <= 60:
        return text
    quote = text[-1] if text[-1] in "'\"" else ""
    return f"{text[: 57 - len(quote)]}...{quote}"


def said_of_level(near: Sequence[str], test: str) -> str:
    """Return who is not significantly lower than the best, and by which test; empty if nobody is.

    Other sections compare the same models by other tests, so that others may be level there.
    """
    if not near:
        return ""
    return f"; not significantly lower ({test}, corrected for all pairs): {listed(near, 'other')}"

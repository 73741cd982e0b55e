"""How many bytes a file may have or need: as a caller says, else as the environment does.

A file of unknown origin may be small and need more memory than there is. Every reader has a limit
of its own, which the argument `max_bytes` replaces, or else the environment variable.
"""

from __future__ import annotations

import os
from numbers import Real

from ogive.errors import InputError

VARIABLE = "OGIVE_MAX_BYTES"
TO_RAISE = f"If you trust the file, pass a larger max_bytes, or set {VARIABLE}."
LONGEST = 18  # digits; no machine has more bytes


def most_bytes(given: float | None, usual: int) -> int:
    """The limit that is given, else that of the environment, else the usual one."""
    if given is None:
        told = os.environ.get(VARIABLE, "").strip()
        return _of_environment(told) if told else usual
    if not (isinstance(given, Real) and given is not True and given >= 1):
        raise InputError(f"max_bytes is {given!r:.60}, but it should be a number above 0.")
    return int(min(given, 10**LONGEST))


def _of_environment(told: str) -> int:
    number = int(told) if told.isascii() and told.isdigit() and len(told) <= LONGEST else 0
    if number < 1:
        raise InputError(
            f"The environment variable {VARIABLE} is {told!r:.60}, but it should be a whole number "
            "of bytes above 0, such as 17179869184 (16 GiB). Correct it, or unset it."
        )
    return number

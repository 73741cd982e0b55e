"""Numbers as text tables spell them."""

from __future__ import annotations

import math

_WORDS = {
    **dict.fromkeys(["", "na", "n/a", "null", "none", "<na>"], math.nan),
    "true": 1.0,
    "false": 0.0,
}


class Numerals(dict[str, float]):
    """Converts text to numbers, NaN if it is missing, and remembers the results.

    Raises ValueError for text that is not a number.
    """

    def __missing__(self, text: str) -> float:
        value: float | None
        try:
            value = float(text)
        except ValueError:
            value = _WORDS.get(text.strip().lower())
        else:  # Python also reads 1_0, and the digits of every script
            value = value if text.isascii() and "_" not in text else None
        if value is None:
            raise ValueError(text)
        if len(self) < 10_000:  # tables of scores may hold a different text in every cell
            self[text] = value
        return value

    def know(self, text: str) -> bool:
        """Whether the text is a number or missing."""
        try:
            self[text]
        except ValueError:
            return False
        return True

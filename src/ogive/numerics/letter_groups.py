"""Groups of respondents that cannot be distinguished, as letters (compact letter display).

Whoever shares a letter does not differ significantly. Piepho (2004) describes the algorithm: all
begin in one group; each pair that differs splits the groups that hold both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_GROUPS = 40  # beyond, letters say less than the pairs themselves


def letters_of(different: NDArray[np.bool_]) -> list[str] | None:
    """Return the letters of each row of a symmetric table of pairs that differ.

    None if there are too many groups to read. Letters follow the order of the rows.

    >>> import numpy as np
    >>> letters_of(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ['a', 'ab', 'b']
    """
    groups = [frozenset(range(len(different)))]
    for first, second in zip(*np.nonzero(np.triu(different, 1)), strict=True):
        both = [group for group in groups if first in group and second in group]
        parts = [group - {one} for group in both for one in (first, second)]
        groups = _largest([*(group for group in groups if group not in both), *parts])
        if len(groups) > MOST_GROUPS:
            return None
    groups.sort(key=sorted)
    return [
        "".join(letter(k) for k, group in enumerate(groups) if row in group)
        for row in range(len(different))
    ]


def _largest(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """Return the groups that no other contains."""
    distinct = list(dict.fromkeys(groups))
    return [one for one in distinct if not any(one < other for other in distinct)]


def letter(place: int) -> str:
    """a, b, ..., z, then 27, 28, ... in brackets."""
    return chr(ord("a") + place) if place < 26 else f"({place + 1})"

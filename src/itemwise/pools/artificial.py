"""Artificial respondents, known by their names: where they should stand, and who does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from itemwise.pools.paper import OPTIMAL, PESSIMAL

if TYPE_CHECKING:
    from itemwise.numerics.arrays import Floats

GUESSING = re.compile(r"majority|minority|random( \d+)?")


def is_artificial(names: Sequence[str]) -> NDArray[np.bool_]:
    """Which respondents bear the name of an artificial one of the paper's pool."""
    return np.array([name in (OPTIMAL, PESSIMAL) or _guesses(name) for name in names], dtype=bool)


def misplaced(names: Sequence[str], strength: Floats) -> tuple[str, ...] | None:
    """Artificial respondents out of their places; None where there is none at all.

    Nobody should stand above "optimal" or below "pessimal", and every real respondent above
    those who guess: majority, minority and the random ones.
    """
    artificial = is_artificial(names)
    if not artificial.any():
        return None
    weakest = strength[~artificial].min(initial=np.inf)
    wrong = {
        OPTIMAL: strength < strength.max(),
        PESSIMAL: strength > strength.min(),
    }
    return tuple(
        name
        for k, name in enumerate(names)
        if artificial[k] and (wrong[name][k] if name in wrong else strength[k] >= weakest)
    )


def _guesses(name: str) -> bool:
    return GUESSING.fullmatch(name) is not None

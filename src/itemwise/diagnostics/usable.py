"""What single items can be used for: some tell nothing, some tell the opposite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.calibration import Calibration
from itemwise.estimation.remarks import ALL_RIGHT, ALL_WRONG

if TYPE_CHECKING:
    from numpy.typing import NDArray


def alike(calibration: Calibration) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Items that all got right, and items that all got wrong: their parameters mean nothing."""
    flags = calibration.flags
    right, wrong = (
        np.array([word in words for words in flags], dtype=bool) for word in (ALL_RIGHT, ALL_WRONG)
    )
    return right, wrong


def informative(calibration: Calibration) -> NDArray[np.bool_]:
    """Items on which respondents differ."""
    solved, unsolved = alike(calibration)
    return ~(solved | unsolved)


def upright_items(calibration: Calibration) -> NDArray[np.bool_]:
    """All items but those that better respondents miss more often than worse ones."""
    slope = calibration.model.parameters(calibration.coords)["discrimination"]
    return (slope >= 0) | ~informative(calibration)

"""The probabilities that a member gives to the classes, and how they are packed.

They are kept in half precision: 2 bytes per item and class, with three significant digits down to
0.0001, which is more than classifiers know. As text, they travel through pipes and JSON files.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.pools.members import Part

FAR_FROM_ONE = 0.01  # a sum of probabilities

HalfFloats = NDArray[np.float16]


def class_scores(predictor: Any, part: Part) -> HalfFloats:
    """Probabilities of every class, (n_items, n_classes); 0 for one that it never saw."""
    given = np.asarray(predictor.predict_proba(part.X_test), dtype=float)
    codes = np.asarray(getattr(predictor, "classes_", range(len(part.classes))))
    shape = (len(part.test), len(codes))
    if given.shape != shape or not np.isin(codes, np.arange(len(part.classes))).all():
        raise InputError(f"predict_proba has shape {given.shape}, where {shape} was expected")
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise InputError("predict_proba holds a number that is no probability")
    if (abs(given.sum(axis=1) - 1) > FAR_FROM_ONE).any():
        raise InputError("probabilities of an item do not sum to one")
    found = np.zeros((len(part.test), len(part.classes)), dtype=np.float16)
    found[:, codes.astype(np.int64)] = given
    return found


def packed(scores: HalfFloats) -> str:
    """The same as text."""
    return base64.b64encode(scores.astype("<f2").tobytes()).decode("ascii")


def unpacked(text: str, n_items: int, n_classes: int) -> HalfFloats | None:
    """Scores from text, or None where there are none; `ValueError` if the text does not fit."""
    if not text:
        return None
    content = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f2")
    return content.reshape(n_items, n_classes).astype(np.float16)

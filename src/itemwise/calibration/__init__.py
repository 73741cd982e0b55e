"""Calibration: a model, its items on a scale, and what is needed to score respondents."""

from __future__ import annotations

from itemwise.calibration.bank import is_bank
from itemwise.calibration.calibration import HELD, Calibration, once
from itemwise.calibration.curves import CategoryCurves, Curves, TestInformation
from itemwise.calibration.joining import join_banks
from itemwise.calibration.known import known_items
from itemwise.calibration.uncertainty import DeferredCovariances, KnownCovariances, Uncertainty

__all__ = [
    "HELD",
    "Calibration",
    "CategoryCurves",
    "Curves",
    "DeferredCovariances",
    "KnownCovariances",
    "TestInformation",
    "Uncertainty",
    "is_bank",
    "join_banks",
    "known_items",
    "once",
]

"""Calibration: a model, its items on a scale, and what is needed to score respondents."""

from __future__ import annotations

from itemwise.calibration.bank import load
from itemwise.calibration.calibration import Calibration
from itemwise.calibration.curves import CategoryCurves, Curves, TestInformation
from itemwise.calibration.known import known_items
from itemwise.calibration.uncertainty import DeferredCovariances, KnownCovariances, Uncertainty

__all__ = [
    "Calibration",
    "CategoryCurves",
    "Curves",
    "DeferredCovariances",
    "KnownCovariances",
    "TestInformation",
    "Uncertainty",
    "known_items",
    "load",
]

"""Calibration: a model, its items on a scale, and what is needed to score respondents."""

from __future__ import annotations

from itemwise.calibration.bank import load
from itemwise.calibration.calibration import (
    Calibration,
    DeferredCovariances,
    KnownCovariances,
    Uncertainty,
)
from itemwise.calibration.curves import Curves, TestInformation

__all__ = [
    "Calibration",
    "Curves",
    "DeferredCovariances",
    "KnownCovariances",
    "TestInformation",
    "Uncertainty",
    "load",
]

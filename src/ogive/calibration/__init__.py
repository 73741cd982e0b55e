"""Calibration: a model, its items on a scale, and what is needed to score respondents."""

from __future__ import annotations

from ogive.calibration.assembled_banks import join_banks, known_items
from ogive.calibration.bank_reading import is_bank
from ogive.calibration.bank_writing import BANK_ENDINGS
from ogive.calibration.calibration import Calibration, once
from ogive.calibration.shown_scale import CategoryCurves, Curves, TestInformation
from ogive.calibration.uncertainty import (
    KnownCovariances,
    PooledItems,
    Uncertainty,
    known,
    pooled_items,
)
from ogive.calibration.unlinked_parts import HELD

__all__ = [
    "BANK_ENDINGS",
    "HELD",
    "Calibration",
    "CategoryCurves",
    "Curves",
    "KnownCovariances",
    "PooledItems",
    "TestInformation",
    "Uncertainty",
    "is_bank",
    "join_banks",
    "known",
    "known_items",
    "once",
    "pooled_items",
]

"""Diagnosis: a finding about a calibration."""

from __future__ import annotations

from dataclasses import dataclass

from itemwise.results import Result


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Result):
    """What a check of a calibration found."""

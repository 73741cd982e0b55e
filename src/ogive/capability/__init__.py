"""Up to what difficulty a classifier can be trusted, and which cases are better left to people.

Names are imported when they are used: scikit-learn is heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive.lazily import lazily

if TYPE_CHECKING:
    from ogive.capability.capability_result import Capability as Capability
    from ogive.capability.case_difficulty import CaseDifficulty as CaseDifficulty
    from ogive.capability.case_splits import split_by_difficulty as split_by_difficulty
    from ogive.capability.coding import Coding as Coding
    from ogive.capability.coding_table import read_coding as read_coding
    from ogive.capability.gate import CapabilityGate as CapabilityGate
    from ogive.capability.measuring import measure_capability as measure_capability
    from ogive.capability.risk import accepted as accepted
    from ogive.capability.risk import risk_coverage as risk_coverage

_HOMES = {
    "Capability": "capability_result",
    "CapabilityGate": "gate",
    "CaseDifficulty": "case_difficulty",
    "Coding": "coding",
    "accepted": "risk",
    "measure_capability": "measuring",
    "read_coding": "coding_table",
    "risk_coverage": "risk",
    "split_by_difficulty": "case_splits",
}

__all__ = [*_HOMES]


__getattr__ = lazily(__name__, _HOMES)

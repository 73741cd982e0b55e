"""How items are found."""

from __future__ import annotations

from itemwise.estimation.calibrating import ENGINES, calibrate
from itemwise.estimation.em import EM
from itemwise.estimation.joint import Joint
from itemwise.estimation.simulated_responses import Simulation, Truth, simulate

__all__ = ["EM", "ENGINES", "Joint", "Simulation", "Truth", "calibrate", "simulate"]

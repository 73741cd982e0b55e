"""How items are found."""

from __future__ import annotations

from ogive.estimation.calibrating import ENGINES, calibrate
from ogive.estimation.em import EM
from ogive.estimation.joint import Joint
from ogive.estimation.simulated_responses import Simulation, Truth, simulate

__all__ = ["EM", "ENGINES", "Joint", "Simulation", "Truth", "calibrate", "simulate"]

"""Asking item by item: where to begin, what to ask, where the respondent stands, when to stop."""

from __future__ import annotations

from itemwise.adaptive.bank import Bank
from itemwise.adaptive.estimators import (
    ESTIMATORS,
    Estimator,
    PosteriorMean,
    PosteriorMode,
    Standing,
    StepRule,
)
from itemwise.adaptive.full_score import FullScore
from itemwise.adaptive.initializers import (
    INITIALIZERS,
    DifficultyPercentile,
    FixedAbility,
    Initializer,
    PopulationMean,
)
from itemwise.adaptive.recorded import asked_of_recorded
from itemwise.adaptive.selectors import (
    SELECTORS,
    ContentBalance,
    MaximumInformation,
    NearestByLot,
    NearestDifficulty,
    Randomesque,
    RandomItem,
    Selector,
)
from itemwise.adaptive.session import AdaptiveSession
from itemwise.adaptive.simulation import AdaptiveSimulation, simulate_adaptive
from itemwise.adaptive.state import State
from itemwise.adaptive.stoppers import (
    STOPPERS,
    AnyOf,
    AtLeast,
    Budget,
    Reliability,
    StandardError,
    Stopper,
)
from itemwise.adaptive.testing import AdaptiveTest

__all__ = [
    "ESTIMATORS",
    "INITIALIZERS",
    "SELECTORS",
    "STOPPERS",
    "AdaptiveSession",
    "AdaptiveSimulation",
    "AdaptiveTest",
    "AnyOf",
    "AtLeast",
    "Bank",
    "Budget",
    "ContentBalance",
    "DifficultyPercentile",
    "Estimator",
    "FixedAbility",
    "FullScore",
    "Initializer",
    "MaximumInformation",
    "NearestByLot",
    "NearestDifficulty",
    "PopulationMean",
    "PosteriorMean",
    "PosteriorMode",
    "RandomItem",
    "Randomesque",
    "Reliability",
    "Selector",
    "StandardError",
    "Standing",
    "State",
    "StepRule",
    "Stopper",
    "asked_of_recorded",
    "simulate_adaptive",
]

"""Adaptive testing: where to begin, what to ask, how to estimate the ability, when to stop."""

from __future__ import annotations

from ogive.adaptive.adaptive_simulation import (
    AdaptiveSimulation,
    asked_of_recorded,
    simulate_adaptive,
)
from ogive.adaptive.adaptive_test import AdaptiveSession, AdaptiveTest
from ogive.adaptive.estimators import (
    ESTIMATORS,
    Estimator,
    PosteriorMean,
    PosteriorMode,
    Standing,
    StepRule,
)
from ogive.adaptive.initializers import (
    INITIALIZERS,
    DifficultyPercentile,
    FixedAbility,
    Initializer,
    PopulationMean,
)
from ogive.adaptive.selectors import (
    SELECTORS,
    ContentBalance,
    FullScore,
    MaximumInformation,
    NearestByLot,
    NearestDifficulty,
    Randomesque,
    RandomItem,
    Selector,
)
from ogive.adaptive.state import Bank, State
from ogive.adaptive.stoppers import (
    STOPPERS,
    AnyOf,
    AtLeast,
    Budget,
    Reliability,
    StandardError,
    Stopper,
)

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

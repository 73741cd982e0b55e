"""Where a respondent stands, given the items."""

from __future__ import annotations

from ogive.scoring.abilities import METHODS, Abilities, score_abilities
from ogive.scoring.posterior import HistogramPopulation, NormalPopulation, Population
from ogive.scoring.staged_abilities import staged_abilities

__all__ = [
    "METHODS",
    "Abilities",
    "HistogramPopulation",
    "NormalPopulation",
    "Population",
    "score_abilities",
    "staged_abilities",
]

"""Where a respondent stands, given the items."""

from __future__ import annotations

from itemwise.scoring.abilities import METHODS, Abilities, score_abilities
from itemwise.scoring.likelihood import Population

__all__ = ["METHODS", "Abilities", "Population", "score_abilities"]

"""Figures that know only a tidy frame."""

from __future__ import annotations

from itemwise.displays.base import Display
from itemwise.displays.curves import CurvesDisplay
from itemwise.displays.information import InformationDisplay
from itemwise.displays.item_map import ItemMapDisplay
from itemwise.displays.ranking import RankingDisplay

__all__ = [
    "DISPLAYS",
    "CurvesDisplay",
    "Display",
    "InformationDisplay",
    "ItemMapDisplay",
    "RankingDisplay",
]

DISPLAYS: dict[str, type[Display]] = {
    "ranking": RankingDisplay,
    "curves": CurvesDisplay,
    "information": InformationDisplay,
    "item_map": ItemMapDisplay,
}

"""Figures that know only a tidy frame, by family; each module is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive._lazy import LazyClasses

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["DISPLAYS"]

# The figures of each module: "item_fit" is the class ItemFitDisplay.
_FAMILIES = {
    "rankings": (
        *("ranking", "leaderboard", "model_fit", "model_comparison", "ratings", "profiles"),
        *("scores", "importance", "suspects"),
    ),
    "decision": ("decision",),
    "response_curves": (
        *("curves", "grades", "information", "reliability", "saturation", "differential"),
        *("group_curves", "option_curves"),
    ),
    "confusion_curves": ("cell_curves",),
    "banded_curves": (
        *("characteristic", "case_accuracy", "alarm", "bands", "portfolio_gap", "agreement"),
        "scree",
    ),
    "algorithm_curves": ("performance_curves", "risk_coverage", "bump", "critical_difference"),
    "algorithm_panels": ("densities", "traces", "goodness", "runs", "run_histograms"),
    "regions": ("strengths", "capability_trace"),
    "distributions": (
        *("histogram", "item_map", "case_difficulty", "difficulty_density", "datasets"),
        "distributions",
    ),
    "item_planes": (
        *("item_health", "item_space", "item_fit", "respondent_fit", "excess"),
        "instance_space",
    ),
    "planes": (
        "anchors",
        "effectiveness",
        "capability_plane",
        "prediction",
        "trade_off",
        "scaling",
    ),
    "matrices": ("differences", "pairs", "heat_map"),
}

DISPLAYS: LazyClasses[type[Display]] = LazyClasses(
    __name__,
    {
        name: (module, name.title().replace("_", "") + "Display")
        for module, names in _FAMILIES.items()
        for name in names
    },
)

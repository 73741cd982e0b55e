"""Figures that know only a tidy frame, by family; each module is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive._lazy import LazyClasses, lazily

if TYPE_CHECKING:
    from ogive.results.plots.banded_curves import CharacteristicDisplay as CharacteristicDisplay
    from ogive.results.plots.figure import Display as Display
    from ogive.results.plots.matrices import HeatMapDisplay as HeatMapDisplay
    from ogive.results.plots.rankings import RankingDisplay as RankingDisplay

__all__ = ["DISPLAYS"]


# By registry name: module and class.
_REGISTRY = {
    "ranking": ("rankings", "RankingDisplay"),
    "curves": ("response_curves", "CurvesDisplay"),
    "information": ("response_curves", "InformationDisplay"),
    "item_map": ("distributions", "ItemMapDisplay"),
    "grades": ("response_curves", "GradesDisplay"),
    "item_fit": ("item_planes", "FitDisplay"),
    "respondent_fit": ("item_planes", "RespondentFitDisplay"),
    "model_fit": ("rankings", "ModelFitDisplay"),
    "model_comparison": ("rankings", "ModelComparisonDisplay"),
    "reliability": ("response_curves", "ReliabilityDisplay"),
    "scree": ("banded_curves", "ScreeDisplay"),
    "pairs": ("matrices", "PairsDisplay"),
    "suspects": ("rankings", "SuspectsDisplay"),
    "ratings": ("rankings", "RatingsDisplay"),
    "bump": ("algorithm_curves", "BumpDisplay"),
    "critical_difference": ("algorithm_curves", "CriticalDifferenceDisplay"),
    "characteristic": ("banded_curves", "CharacteristicDisplay"),
    "datasets": ("distributions", "DatasetsDisplay"),
    "distributions": ("distributions", "DistributionsDisplay"),
    "heat_map": ("matrices", "HeatMapDisplay"),
    "histogram": ("distributions", "HistogramDisplay"),
    "scores": ("rankings", "ScoresDisplay"),
    "agreement": ("banded_curves", "AgreementDisplay"),
    "cell_curves": ("confusion_curves", "CellCurvesDisplay"),
    "item_space": ("item_planes", "ItemSpaceDisplay"),
    "case_accuracy": ("banded_curves", "CaseAccuracyDisplay"),
    "alarm": ("banded_curves", "AlarmDisplay"),
    "bands": ("banded_curves", "BandsDisplay"),
    "importance": ("rankings", "ImportanceDisplay"),
    "densities": ("algorithm_panels", "DensitiesDisplay"),
    "traces": ("algorithm_panels", "TracesDisplay"),
    "performance_curves": ("algorithm_curves", "PerformanceCurvesDisplay"),
    "strengths": ("regions", "StrengthsDisplay"),
    "goodness": ("algorithm_panels", "GoodnessDisplay"),
    "effectiveness": ("planes", "EffectivenessDisplay"),
    "portfolio_gap": ("banded_curves", "PortfolioGapDisplay"),
    "runs": ("algorithm_panels", "RunsDisplay"),
    "run_histograms": ("algorithm_panels", "RunHistogramsDisplay"),
    "trade_off": ("planes", "TradeOffDisplay"),
    "instance_space": ("item_planes", "InstanceSpaceDisplay"),
    "case_difficulty": ("distributions", "CaseDifficultyDisplay"),
    "difficulty_density": ("distributions", "DifficultyDensityDisplay"),
    "capability_trace": ("regions", "CapabilityTraceDisplay"),
    "capability_plane": ("planes", "CapabilityPlaneDisplay"),
    "decision": ("rankings", "DecisionDisplay"),
    "risk_coverage": ("algorithm_curves", "RiskCoverageDisplay"),
    "leaderboard": ("rankings", "LeaderboardDisplay"),
    "differences": ("matrices", "DifferencesDisplay"),
    "anchors": ("planes", "AnchorsDisplay"),
    "prediction": ("planes", "PredictionDisplay"),
    "item_health": ("item_planes", "ItemHealthDisplay"),
    "saturation": ("response_curves", "SaturationDisplay"),
    "excess": ("item_planes", "ExcessDisplay"),
    "differential": ("response_curves", "DifferentialDisplay"),
    "group_curves": ("response_curves", "GroupCurvesDisplay"),
    "scaling": ("planes", "ScalingDisplay"),
    "profiles": ("rankings", "ProfilesDisplay"),
    "option_curves": ("response_curves", "OptionCurvesDisplay"),
}

DISPLAYS: LazyClasses[type[Display]] = LazyClasses(__name__, _REGISTRY)
_HOMES = {"Display": "figure"} | DISPLAYS.modules()
__getattr__ = lazily(__name__, _HOMES)

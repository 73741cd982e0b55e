"""Figures that know only a tidy frame, by family; each module is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive.lazily import LazyClasses, lazily

if TYPE_CHECKING:
    from ogive.displays.display import Display as Display
    from ogive.displays.heat_maps import HeatMapDisplay as HeatMapDisplay
    from ogive.displays.interval_rows import RankingDisplay as RankingDisplay
    from ogive.displays.share_curves import CharacteristicDisplay as CharacteristicDisplay

# By registry name: module and class.
_REGISTRY = {
    "ranking": ("interval_rows", "RankingDisplay"),
    "curves": ("scale_curves", "CurvesDisplay"),
    "information": ("scale_curves", "InformationDisplay"),
    "item_map": ("distributions", "ItemMapDisplay"),
    "grades": ("scale_curves", "GradesDisplay"),
    "item_fit": ("fit_planes", "FitDisplay"),
    "respondent_fit": ("fit_planes", "RespondentFitDisplay"),
    "model_fit": ("interval_rows", "ModelFitDisplay"),
    "model_comparison": ("interval_rows", "ModelComparisonDisplay"),
    "reliability": ("scale_curves", "ReliabilityDisplay"),
    "scree": ("step_curves", "ScreeDisplay"),
    "pairs": ("heat_maps", "PairsDisplay"),
    "suspects": ("suspect_rows", "SuspectsDisplay"),
    "ratings": ("rating_rows", "RatingsDisplay"),
    "bump": ("rank_charts", "BumpDisplay"),
    "critical_difference": ("rank_charts", "CriticalDifferenceDisplay"),
    "characteristic": ("share_curves", "CharacteristicDisplay"),
    "datasets": ("dataset_rows", "DatasetsDisplay"),
    "distributions": ("dataset_rows", "DistributionsDisplay"),
    "heat_map": ("heat_maps", "HeatMapDisplay"),
    "histogram": ("distributions", "HistogramDisplay"),
    "scores": ("bar_rows", "ScoresDisplay"),
    "agreement": ("step_curves", "AgreementDisplay"),
    "cell_curves": ("cell_curves", "CellCurvesDisplay"),
    "item_space": ("item_planes", "ItemSpaceDisplay"),
    "case_accuracy": ("share_curves", "CaseAccuracyDisplay"),
    "alarm": ("share_curves", "AlarmDisplay"),
    "bands": ("step_curves", "BandsDisplay"),
    "importance": ("bar_rows", "ImportanceDisplay"),
    "densities": ("algorithm_panels", "DensitiesDisplay"),
    "traces": ("algorithm_panels", "TracesDisplay"),
    "performance_curves": ("method_curves", "PerformanceCurvesDisplay"),
    "strengths": ("region_panels", "StrengthsDisplay"),
    "goodness": ("algorithm_panels", "GoodnessDisplay"),
    "effectiveness": ("agreement_planes", "EffectivenessDisplay"),
    "portfolio_gap": ("step_curves", "PortfolioGapDisplay"),
    "runs": ("run_panels", "RunsDisplay"),
    "run_histograms": ("run_panels", "RunHistogramsDisplay"),
    "trade_off": ("measure_planes", "TradeOffDisplay"),
    "instance_space": ("instance_planes", "InstanceSpaceDisplay"),
    "case_difficulty": ("distributions", "CaseDifficultyDisplay"),
    "difficulty_density": ("distributions", "DifficultyDensityDisplay"),
    "capability_trace": ("region_panels", "CapabilityTraceDisplay"),
    "capability_plane": ("agreement_planes", "CapabilityPlaneDisplay"),
    "decision": ("bar_rows", "DecisionDisplay"),
    "risk_coverage": ("method_curves", "RiskCoverageDisplay"),
    "leaderboard": ("interval_rows", "LeaderboardDisplay"),
    "differences": ("heat_maps", "DifferencesDisplay"),
    "anchors": ("agreement_planes", "AnchorsDisplay"),
    "prediction": ("agreement_planes", "PredictionDisplay"),
    "item_health": ("item_planes", "ItemHealthDisplay"),
    "saturation": ("scale_curves", "SaturationDisplay"),
    "excess": ("fit_planes", "ExcessDisplay"),
    "differential": ("group_plots", "DifferentialDisplay"),
    "group_curves": ("group_plots", "GroupCurvesDisplay"),
    "scaling": ("fact_planes", "ScalingDisplay"),
    "profiles": ("profile_rows", "ProfilesDisplay"),
    "option_curves": ("group_plots", "OptionCurvesDisplay"),
}

DISPLAYS: LazyClasses[type[Display]] = LazyClasses(__name__, _REGISTRY)
_HOMES = {"Display": "display"} | DISPLAYS.modules()
__all__ = ["DISPLAYS", *_HOMES]
__getattr__ = lazily(__name__, _HOMES)

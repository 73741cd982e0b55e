"""Figures that know only a tidy frame."""

from __future__ import annotations

from itemwise.displays.agreement import AgreementDisplay
from itemwise.displays.alarm import AlarmDisplay
from itemwise.displays.anchors import AnchorsDisplay
from itemwise.displays.bands import BandsDisplay
from itemwise.displays.base import Display
from itemwise.displays.bump import BumpDisplay
from itemwise.displays.capability_plane import CapabilityPlaneDisplay
from itemwise.displays.capability_trace import CapabilityTraceDisplay
from itemwise.displays.case_difficulty import CaseDifficultyDisplay
from itemwise.displays.cell_curves import CellCurvesDisplay
from itemwise.displays.characteristic import CharacteristicDisplay
from itemwise.displays.critical_difference import CriticalDifferenceDisplay
from itemwise.displays.curves import CurvesDisplay
from itemwise.displays.datasets import DatasetsDisplay
from itemwise.displays.decision import DecisionDisplay
from itemwise.displays.densities import DensitiesDisplay
from itemwise.displays.differences import DifferencesDisplay
from itemwise.displays.difficulty_density import DifficultyDensityDisplay
from itemwise.displays.distributions import DistributionsDisplay
from itemwise.displays.effectiveness import EffectivenessDisplay
from itemwise.displays.excess import ExcessDisplay
from itemwise.displays.fit import FitDisplay
from itemwise.displays.goodness import GoodnessDisplay
from itemwise.displays.grades import GradesDisplay
from itemwise.displays.heat_map import HeatMapDisplay
from itemwise.displays.histogram import HistogramDisplay
from itemwise.displays.importance import ImportanceDisplay
from itemwise.displays.information import InformationDisplay
from itemwise.displays.item_health import ItemHealthDisplay
from itemwise.displays.item_map import ItemMapDisplay
from itemwise.displays.item_space import ItemSpaceDisplay
from itemwise.displays.leaderboard import LeaderboardDisplay
from itemwise.displays.model_comparison import ModelComparisonDisplay
from itemwise.displays.model_fit import ModelFitDisplay
from itemwise.displays.pairs import PairsDisplay
from itemwise.displays.performance_curves import PerformanceCurvesDisplay
from itemwise.displays.portfolio_gap import PortfolioGapDisplay
from itemwise.displays.prediction import PredictionDisplay
from itemwise.displays.ranking import RankingDisplay
from itemwise.displays.ratings import RatingsDisplay
from itemwise.displays.reliability import ReliabilityDisplay
from itemwise.displays.respondent_fit import RespondentFitDisplay
from itemwise.displays.risk_coverage import RiskCoverageDisplay
from itemwise.displays.saturation import SaturationDisplay
from itemwise.displays.scores import ScoresDisplay
from itemwise.displays.scree import ScreeDisplay
from itemwise.displays.strengths import StrengthsDisplay
from itemwise.displays.suspects import SuspectsDisplay
from itemwise.displays.traces import TracesDisplay

__all__ = [
    "DISPLAYS",
    "AgreementDisplay",
    "AlarmDisplay",
    "AnchorsDisplay",
    "BandsDisplay",
    "BumpDisplay",
    "CapabilityPlaneDisplay",
    "CapabilityTraceDisplay",
    "CaseDifficultyDisplay",
    "CellCurvesDisplay",
    "CharacteristicDisplay",
    "CriticalDifferenceDisplay",
    "CurvesDisplay",
    "DatasetsDisplay",
    "DecisionDisplay",
    "DensitiesDisplay",
    "DifferencesDisplay",
    "DifficultyDensityDisplay",
    "Display",
    "DistributionsDisplay",
    "EffectivenessDisplay",
    "ExcessDisplay",
    "FitDisplay",
    "GoodnessDisplay",
    "GradesDisplay",
    "HeatMapDisplay",
    "HistogramDisplay",
    "ImportanceDisplay",
    "InformationDisplay",
    "ItemHealthDisplay",
    "ItemMapDisplay",
    "ItemSpaceDisplay",
    "LeaderboardDisplay",
    "ModelComparisonDisplay",
    "ModelFitDisplay",
    "PairsDisplay",
    "PerformanceCurvesDisplay",
    "PortfolioGapDisplay",
    "PredictionDisplay",
    "RankingDisplay",
    "RatingsDisplay",
    "ReliabilityDisplay",
    "RespondentFitDisplay",
    "RiskCoverageDisplay",
    "SaturationDisplay",
    "ScoresDisplay",
    "ScreeDisplay",
    "StrengthsDisplay",
    "SuspectsDisplay",
    "TracesDisplay",
]

DISPLAYS: dict[str, type[Display]] = {
    "ranking": RankingDisplay,
    "curves": CurvesDisplay,
    "information": InformationDisplay,
    "item_map": ItemMapDisplay,
    "grades": GradesDisplay,
    "item_fit": FitDisplay,
    "respondent_fit": RespondentFitDisplay,
    "model_fit": ModelFitDisplay,
    "model_comparison": ModelComparisonDisplay,
    "reliability": ReliabilityDisplay,
    "scree": ScreeDisplay,
    "pairs": PairsDisplay,
    "suspects": SuspectsDisplay,
    "ratings": RatingsDisplay,
    "bump": BumpDisplay,
    "critical_difference": CriticalDifferenceDisplay,
    "characteristic": CharacteristicDisplay,
    "datasets": DatasetsDisplay,
    "distributions": DistributionsDisplay,
    "heat_map": HeatMapDisplay,
    "histogram": HistogramDisplay,
    "scores": ScoresDisplay,
    "agreement": AgreementDisplay,
    "cell_curves": CellCurvesDisplay,
    "item_space": ItemSpaceDisplay,
    "alarm": AlarmDisplay,
    "bands": BandsDisplay,
    "importance": ImportanceDisplay,
    "densities": DensitiesDisplay,
    "traces": TracesDisplay,
    "performance_curves": PerformanceCurvesDisplay,
    "strengths": StrengthsDisplay,
    "goodness": GoodnessDisplay,
    "effectiveness": EffectivenessDisplay,
    "portfolio_gap": PortfolioGapDisplay,
    "case_difficulty": CaseDifficultyDisplay,
    "difficulty_density": DifficultyDensityDisplay,
    "capability_trace": CapabilityTraceDisplay,
    "capability_plane": CapabilityPlaneDisplay,
    "decision": DecisionDisplay,
    "risk_coverage": RiskCoverageDisplay,
    "leaderboard": LeaderboardDisplay,
    "differences": DifferencesDisplay,
    "anchors": AnchorsDisplay,
    "prediction": PredictionDisplay,
    "item_health": ItemHealthDisplay,
    "saturation": SaturationDisplay,
    "excess": ExcessDisplay,
}

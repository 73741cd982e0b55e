"""One question a module, answered end to end.

`STUDIES` says in which module each study lives; it is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from itemwise.lazily import lazily

# A function that shares the name of its module is imported at once: left for later, whoever
# imports the module first would hide it.
from itemwise.studies.tournament import Tournament, tournament

if TYPE_CHECKING:
    from itemwise.learning.targets import DifficultyTargets as DifficultyTargets
    from itemwise.studies.adaptive_evaluation import AdaptiveEvaluation as AdaptiveEvaluation
    from itemwise.studies.adaptive_evaluation import evaluate_adaptively as evaluate_adaptively
    from itemwise.studies.adaptive_evaluation import (
        evaluate_adaptively_async as evaluate_adaptively_async,
    )
    from itemwise.studies.adaptive_replay import AdaptiveReplay as AdaptiveReplay
    from itemwise.studies.adaptive_replay import replay_adaptively as replay_adaptively
    from itemwise.studies.alarm import PerformanceAlarm as PerformanceAlarm
    from itemwise.studies.alarm import performance_alarm as performance_alarm
    from itemwise.studies.algorithm_selection import SelectorEvaluation as SelectorEvaluation
    from itemwise.studies.algorithm_selection import evaluate_selectors as evaluate_selectors
    from itemwise.studies.algorithm_selector import AlgorithmSelector as AlgorithmSelector
    from itemwise.studies.benchmark import decode_benchmark as decode_benchmark
    from itemwise.studies.benchmark import decode_responses as decode_responses
    from itemwise.studies.characteristic import CharacteristicCurves as CharacteristicCurves
    from itemwise.studies.characteristic import characteristic_curves as characteristic_curves
    from itemwise.studies.choosing import ChosenDatasets as ChosenDatasets
    from itemwise.studies.choosing import choose_datasets as choose_datasets
    from itemwise.studies.classifiers import ClassifierComparison as ClassifierComparison
    from itemwise.studies.classifiers import compare_classifiers as compare_classifiers
    from itemwise.studies.confidence import ConfidenceByDifficulty as ConfidenceByDifficulty
    from itemwise.studies.confidence import confidence_by_difficulty as confidence_by_difficulty
    from itemwise.studies.confusion import ConfusionCurves as ConfusionCurves
    from itemwise.studies.confusion import enrich_confusion as enrich_confusion
    from itemwise.studies.decoding import BenchmarkDecoding as BenchmarkDecoding
    from itemwise.studies.decoding import Limits as Limits
    from itemwise.studies.difficulty_evaluation import DifficultyEvaluation as DifficultyEvaluation
    from itemwise.studies.difficulty_evaluation import evaluate_difficulty as evaluate_difficulty
    from itemwise.studies.difficulty_explanation import (
        DifficultyExplanation as DifficultyExplanation,
    )
    from itemwise.studies.difficulty_explanation import explain_difficulty as explain_difficulty
    from itemwise.studies.dual_indicators import Generality as Generality
    from itemwise.studies.dual_indicators import generality as generality
    from itemwise.studies.health import ItemHealth as ItemHealth
    from itemwise.studies.health import item_health as item_health
    from itemwise.studies.leaderboards import Leaderboard as Leaderboard
    from itemwise.studies.leaderboards import leaderboard as leaderboard
    from itemwise.studies.linking import Linking as Linking
    from itemwise.studies.linking import link as link
    from itemwise.studies.many_tasks import TaskScales as TaskScales
    from itemwise.studies.many_tasks import task_scales as task_scales
    from itemwise.studies.metadata import MetadataRelations as MetadataRelations
    from itemwise.studies.metadata import relate_metadata as relate_metadata
    from itemwise.studies.metadata_bins import MetadataBins as MetadataBins
    from itemwise.studies.metadata_bins import probability_by_metadata as probability_by_metadata
    from itemwise.studies.portfolio_choice import ChosenPortfolio as ChosenPortfolio
    from itemwise.studies.portfolio_gaps import PortfolioComparison as PortfolioComparison
    from itemwise.studies.portfolio_gaps import compare_portfolios as compare_portfolios
    from itemwise.studies.portfolios import Portfolio as Portfolio
    from itemwise.studies.portfolios import portfolio as portfolio
    from itemwise.studies.selection import ModelSelection as ModelSelection
    from itemwise.studies.selection import select_models as select_models
    from itemwise.studies.selections import inspect_sample_ids as inspect_sample_ids
    from itemwise.studies.selections import lm_eval_samples as lm_eval_samples
    from itemwise.studies.shortening import ShortBenchmark as ShortBenchmark
    from itemwise.studies.shortening import load_short_benchmark as load_short_benchmark
    from itemwise.studies.shortening import shorten as shorten
    from itemwise.studies.subsets import SubsetComparison as SubsetComparison
    from itemwise.studies.subsets import compare_subsets as compare_subsets
    from itemwise.studies.targets import difficulty_targets as difficulty_targets

STUDIES: dict[str, str] = {
    "characteristic_curves": "characteristic",
    "choose_datasets": "choosing",
    "compare_classifiers": "classifiers",
    "compare_portfolios": "portfolio_gaps",
    "compare_subsets": "subsets",
    "confidence_by_difficulty": "confidence",
    "decode_benchmark": "benchmark",
    "decode_responses": "benchmark",
    "difficulty_targets": "targets",
    "enrich_confusion": "confusion",
    "generality": "dual_indicators",
    "link": "linking",
    "performance_alarm": "alarm",
    "evaluate_adaptively": "adaptive_evaluation",
    "evaluate_adaptively_async": "adaptive_evaluation",
    "evaluate_difficulty": "difficulty_evaluation",
    "evaluate_selectors": "algorithm_selection",
    "explain_difficulty": "difficulty_explanation",
    "inspect_sample_ids": "selections",
    "lm_eval_samples": "selections",
    "leaderboard": "leaderboards",
    "item_health": "health",
    "portfolio": "portfolios",
    "probability_by_metadata": "metadata_bins",
    "relate_metadata": "metadata",
    "replay_adaptively": "adaptive_replay",
    "select_models": "selection",
    "shorten": "shortening",
    "task_scales": "many_tasks",
    "tournament": "tournament",
}
_RESULTS = {
    "AdaptiveEvaluation": "adaptive_evaluation",
    "AdaptiveReplay": "adaptive_replay",
    "AlgorithmSelector": "algorithm_selector",
    "BenchmarkDecoding": "decoding",
    "CharacteristicCurves": "characteristic",
    "ChosenDatasets": "choosing",
    "ChosenPortfolio": "portfolio_choice",
    "ClassifierComparison": "classifiers",
    "ConfidenceByDifficulty": "confidence",
    "ConfusionCurves": "confusion",
    "DifficultyTargets": "targets",
    "Generality": "dual_indicators",
    "DifficultyEvaluation": "difficulty_evaluation",
    "DifficultyExplanation": "difficulty_explanation",
    "Leaderboard": "leaderboards",
    "ItemHealth": "health",
    "Limits": "decoding",
    "Linking": "linking",
    "MetadataBins": "metadata_bins",
    "MetadataRelations": "metadata",
    "ModelSelection": "selection",
    "PerformanceAlarm": "alarm",
    "Portfolio": "portfolios",
    "PortfolioComparison": "portfolio_gaps",
    "SelectorEvaluation": "algorithm_selection",
    "ShortBenchmark": "shortening",
    "SubsetComparison": "subsets",
    "TaskScales": "many_tasks",
    "Tournament": "tournament",
    "load_short_benchmark": "shortening",
}
_HOMES = {**STUDIES, **_RESULTS}

__all__ = ["STUDIES", "Tournament", "tournament", *_HOMES]


__getattr__ = lazily(__name__, _HOMES)

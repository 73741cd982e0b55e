"""Questions answered end to end, one package a question; the packages do not know each other.

`STUDIES` says in which module each study lives; it is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from itemwise.lazily import lazily

if TYPE_CHECKING:
    from itemwise.learning.targets import DifficultyTargets as DifficultyTargets
    from itemwise.studies.algorithms.algorithm_selection import (
        SelectorEvaluation as SelectorEvaluation,
    )
    from itemwise.studies.algorithms.algorithm_selection import (
        evaluate_selectors as evaluate_selectors,
    )
    from itemwise.studies.algorithms.algorithm_selector import (
        AlgorithmSelector as AlgorithmSelector,
    )
    from itemwise.studies.algorithms.portfolio_choice import ChosenPortfolio as ChosenPortfolio
    from itemwise.studies.algorithms.portfolio_gaps import (
        PortfolioComparison as PortfolioComparison,
    )
    from itemwise.studies.algorithms.portfolio_gaps import compare_portfolios as compare_portfolios
    from itemwise.studies.algorithms.portfolios import Portfolio as Portfolio
    from itemwise.studies.algorithms.portfolios import portfolio as portfolio
    from itemwise.studies.benchmarks.dataset_choice import ChosenDatasets as ChosenDatasets
    from itemwise.studies.benchmarks.dataset_choice import choose_datasets as choose_datasets
    from itemwise.studies.benchmarks.decoder import decode_benchmark as decode_benchmark
    from itemwise.studies.benchmarks.decoder import decode_responses as decode_responses
    from itemwise.studies.benchmarks.decoding import BenchmarkDecoding as BenchmarkDecoding
    from itemwise.studies.benchmarks.decoding import Limits as Limits
    from itemwise.studies.benchmarks.glicko_tournament import Tournament as Tournament
    from itemwise.studies.benchmarks.glicko_tournament import tournament as tournament
    from itemwise.studies.benchmarks.metadata_bins import MetadataBins as MetadataBins
    from itemwise.studies.benchmarks.metadata_bins import (
        probability_by_metadata as probability_by_metadata,
    )
    from itemwise.studies.benchmarks.metadata_relations import (
        MetadataRelations as MetadataRelations,
    )
    from itemwise.studies.benchmarks.metadata_relations import relate_metadata as relate_metadata
    from itemwise.studies.benchmarks.subsets import SubsetComparison as SubsetComparison
    from itemwise.studies.benchmarks.subsets import compare_subsets as compare_subsets
    from itemwise.studies.classifiers.classifier_comparison import (
        ClassifierComparison as ClassifierComparison,
    )
    from itemwise.studies.classifiers.classifier_comparison import (
        compare_classifiers as compare_classifiers,
    )
    from itemwise.studies.classifiers.confusion_curves import ConfusionCurves as ConfusionCurves
    from itemwise.studies.classifiers.confusion_curves import enrich_confusion as enrich_confusion
    from itemwise.studies.difficulty.characteristic_curves import (
        CharacteristicCurves as CharacteristicCurves,
    )
    from itemwise.studies.difficulty.characteristic_curves import (
        characteristic_curves as characteristic_curves,
    )
    from itemwise.studies.difficulty.confidence_by_difficulty import (
        ConfidenceByDifficulty as ConfidenceByDifficulty,
    )
    from itemwise.studies.difficulty.confidence_by_difficulty import (
        confidence_by_difficulty as confidence_by_difficulty,
    )
    from itemwise.studies.difficulty.difficulty_evaluation import (
        DifficultyEvaluation as DifficultyEvaluation,
    )
    from itemwise.studies.difficulty.difficulty_evaluation import (
        evaluate_difficulty as evaluate_difficulty,
    )
    from itemwise.studies.difficulty.difficulty_explanation import (
        DifficultyExplanation as DifficultyExplanation,
    )
    from itemwise.studies.difficulty.difficulty_explanation import (
        explain_difficulty as explain_difficulty,
    )
    from itemwise.studies.difficulty.difficulty_targets import (
        difficulty_targets as difficulty_targets,
    )
    from itemwise.studies.difficulty.generality import Generality as Generality
    from itemwise.studies.difficulty.generality import generality as generality
    from itemwise.studies.difficulty.model_selection import ModelSelection as ModelSelection
    from itemwise.studies.difficulty.model_selection import select_models as select_models
    from itemwise.studies.difficulty.performance_alarm import PerformanceAlarm as PerformanceAlarm
    from itemwise.studies.difficulty.performance_alarm import performance_alarm as performance_alarm
    from itemwise.studies.evaluation.adaptive_evaluation import (
        AdaptiveEvaluation as AdaptiveEvaluation,
    )
    from itemwise.studies.evaluation.adaptive_replay import AdaptiveReplay as AdaptiveReplay
    from itemwise.studies.evaluation.adaptive_replay import replay_adaptively as replay_adaptively
    from itemwise.studies.evaluation.asking import (
        evaluate_adaptively as evaluate_adaptively,
    )
    from itemwise.studies.evaluation.asking import (
        evaluate_adaptively_async as evaluate_adaptively_async,
    )
    from itemwise.studies.evaluation.item_selections import first_items as first_items
    from itemwise.studies.evaluation.item_selections import inspect_sample_ids as inspect_sample_ids
    from itemwise.studies.evaluation.item_selections import lm_eval_samples as lm_eval_samples
    from itemwise.studies.health.item_health import ItemHealth as ItemHealth
    from itemwise.studies.health.item_health import item_health as item_health
    from itemwise.studies.leaderboards.ranked_board import Leaderboard as Leaderboard
    from itemwise.studies.leaderboards.ranked_board import leaderboard as leaderboard
    from itemwise.studies.linking.linking import Linking as Linking
    from itemwise.studies.linking.linking import link as link
    from itemwise.studies.shortening.short_benchmark import ShortBenchmark as ShortBenchmark
    from itemwise.studies.shortening.short_form import shorten as shorten
    from itemwise.studies.tasks.task_scales import TaskScales as TaskScales
    from itemwise.studies.tasks.task_scales import task_scales as task_scales

STUDIES: dict[str, str] = {
    "characteristic_curves": "difficulty.characteristic_curves",
    "choose_datasets": "benchmarks.dataset_choice",
    "compare_classifiers": "classifiers.classifier_comparison",
    "compare_portfolios": "algorithms.portfolio_gaps",
    "compare_subsets": "benchmarks.subsets",
    "confidence_by_difficulty": "difficulty.confidence_by_difficulty",
    "decode_benchmark": "benchmarks.decoder",
    "decode_responses": "benchmarks.decoder",
    "difficulty_targets": "difficulty.difficulty_targets",
    "enrich_confusion": "classifiers.confusion_curves",
    "evaluate_adaptively": "evaluation.asking",
    "evaluate_adaptively_async": "evaluation.asking",
    "evaluate_difficulty": "difficulty.difficulty_evaluation",
    "evaluate_selectors": "algorithms.algorithm_selection",
    "explain_difficulty": "difficulty.difficulty_explanation",
    "first_items": "evaluation.item_selections",
    "generality": "difficulty.generality",
    "inspect_sample_ids": "evaluation.item_selections",
    "item_health": "health.item_health",
    "leaderboard": "leaderboards.ranked_board",
    "link": "linking.linking",
    "lm_eval_samples": "evaluation.item_selections",
    "performance_alarm": "difficulty.performance_alarm",
    "portfolio": "algorithms.portfolios",
    "probability_by_metadata": "benchmarks.metadata_bins",
    "relate_metadata": "benchmarks.metadata_relations",
    "replay_adaptively": "evaluation.adaptive_replay",
    "select_models": "difficulty.model_selection",
    "shorten": "shortening.short_form",
    "task_scales": "tasks.task_scales",
    "tournament": "benchmarks.glicko_tournament",
}
_RESULTS = {
    "AdaptiveEvaluation": "evaluation.adaptive_evaluation",
    "AdaptiveReplay": "evaluation.adaptive_replay",
    "AlgorithmSelector": "algorithms.algorithm_selector",
    "BenchmarkDecoding": "benchmarks.decoding",
    "CharacteristicCurves": "difficulty.characteristic_curves",
    "ChosenDatasets": "benchmarks.dataset_choice",
    "ChosenPortfolio": "algorithms.portfolio_choice",
    "ClassifierComparison": "classifiers.classifier_comparison",
    "ConfidenceByDifficulty": "difficulty.confidence_by_difficulty",
    "ConfusionCurves": "classifiers.confusion_curves",
    "DifficultyEvaluation": "difficulty.difficulty_evaluation",
    "DifficultyExplanation": "difficulty.difficulty_explanation",
    "DifficultyTargets": "difficulty.difficulty_targets",
    "Generality": "difficulty.generality",
    "ItemHealth": "health.item_health",
    "Leaderboard": "leaderboards.ranked_board",
    "Limits": "benchmarks.decoding",
    "Linking": "linking.linking",
    "MetadataBins": "benchmarks.metadata_bins",
    "MetadataRelations": "benchmarks.metadata_relations",
    "ModelSelection": "difficulty.model_selection",
    "PerformanceAlarm": "difficulty.performance_alarm",
    "Portfolio": "algorithms.portfolios",
    "PortfolioComparison": "algorithms.portfolio_gaps",
    "SelectorEvaluation": "algorithms.algorithm_selection",
    "ShortBenchmark": "shortening.short_benchmark",
    "SubsetComparison": "benchmarks.subsets",
    "TaskScales": "tasks.task_scales",
    "Tournament": "benchmarks.glicko_tournament",
}
_HOMES = {**STUDIES, **_RESULTS}

__all__ = ["STUDIES", *_HOMES]


__getattr__ = lazily(__name__, _HOMES)

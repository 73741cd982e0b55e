"""Studies: one package per question, answered end to end. They do not import each other.

`STUDIES` is the registry: public names, commands and report sections follow from it. A study is
imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # what type checkers see of the registry: the `__all__` of each module
    from ogive.shortening.short_form import *  # noqa: F403
    from ogive.studies.algorithms.algorithm_selection import *  # noqa: F403
    from ogive.studies.algorithms.instance_spaces import *  # noqa: F403
    from ogive.studies.algorithms.measure_comparison import *  # noqa: F403
    from ogive.studies.algorithms.portfolio_gaps import *  # noqa: F403
    from ogive.studies.algorithms.portfolios import *  # noqa: F403
    from ogive.studies.battles.preference_board import *  # noqa: F403
    from ogive.studies.benchmarks.dataset_choice import *  # noqa: F403
    from ogive.studies.benchmarks.decoder import *  # noqa: F403
    from ogive.studies.benchmarks.glicko_tournament import *  # noqa: F403
    from ogive.studies.benchmarks.metadata_bins import *  # noqa: F403
    from ogive.studies.benchmarks.metadata_relations import *  # noqa: F403
    from ogive.studies.benchmarks.regression_decoding import *  # noqa: F403
    from ogive.studies.benchmarks.subsets import *  # noqa: F403
    from ogive.studies.classifiers.classifier_comparison import *  # noqa: F403
    from ogive.studies.classifiers.confusion_curves import *  # noqa: F403
    from ogive.studies.classifiers.regressor_comparison import *  # noqa: F403
    from ogive.studies.difficulty.characteristic_curves import *  # noqa: F403
    from ogive.studies.difficulty.confidence_by_difficulty import *  # noqa: F403
    from ogive.studies.difficulty.difficulty_evaluation import *  # noqa: F403
    from ogive.studies.difficulty.difficulty_explanation import *  # noqa: F403
    from ogive.studies.difficulty.difficulty_targets import *  # noqa: F403
    from ogive.studies.difficulty.generality import *  # noqa: F403
    from ogive.studies.difficulty.model_selection import *  # noqa: F403
    from ogive.studies.difficulty.performance_alarm import *  # noqa: F403
    from ogive.studies.dimensions.dimension_scale import *  # noqa: F403
    from ogive.studies.evaluation.adaptive_replay import *  # noqa: F403
    from ogive.studies.evaluation.asking import *  # noqa: F403
    from ogive.studies.evaluation.inspect_asking import *  # noqa: F403
    from ogive.studies.evaluation.item_selections import *  # noqa: F403
    from ogive.studies.evaluation.lm_eval_asking import *  # noqa: F403
    from ogive.studies.groups.ability_explanation import *  # noqa: F403
    from ogive.studies.groups.differential import *  # noqa: F403
    from ogive.studies.groups.group_scale import *  # noqa: F403
    from ogive.studies.groups.item_explanation import *  # noqa: F403
    from ogive.studies.health.distractor_study import *  # noqa: F403
    from ogive.studies.health.item_health import *  # noqa: F403
    from ogive.studies.human_labels.corrected_judge import *  # noqa: F403
    from ogive.studies.judges.facet_study import *  # noqa: F403
    from ogive.studies.leaderboards.ranked_board import *  # noqa: F403
    from ogive.studies.linking.linking import *  # noqa: F403
    from ogive.studies.planning.evaluation_plan import *  # noqa: F403
    from ogive.studies.tasks.task_scales import *  # noqa: F403

LANGUAGE_MODELS = "Language models"


class Study(NamedTuple):
    """A registry entry: where a study lives, which names it provides, and its command.

    `module` is relative to this package, or absolute. A study that takes a table of responses as
    its first argument gets a command from its signature: `command` is its name, `panel` the
    heading under which it is listed, `help` the first line of its docstring.
    """

    module: str
    names: tuple[str, ...] = ()  # besides the function: result classes
    command: str = ""
    panel: str = "Studies"
    help: str = ""

    def load(self, name: str) -> Any:
        """Import one of the names."""
        return getattr(import_module(self.module, __name__), name)


STUDIES: dict[str, Study] = {
    "characteristic_curves": Study(".difficulty.characteristic_curves", ("CharacteristicCurves",)),
    "choose_datasets": Study(".benchmarks.dataset_choice", ("ChosenDatasets",)),
    "compare_classifiers": Study(".classifiers.classifier_comparison", ("ClassifierComparison",)),
    "compare_measures": Study(".algorithms.measure_comparison", ("MeasureComparison",)),
    "compare_portfolios": Study(".algorithms.portfolio_gaps", ("PortfolioComparison",)),
    "compare_regressors": Study(".classifiers.regressor_comparison", ("RegressorComparison",)),
    "compare_subsets": Study(".benchmarks.subsets", ("SubsetComparison",)),
    "confidence_by_difficulty": Study(
        ".difficulty.confidence_by_difficulty", ("ConfidenceByDifficulty",)
    ),
    "correct_judge": Study(
        ".human_labels.corrected_judge",
        ("CorrectedJudge",),
        command="correct",
        panel=LANGUAGE_MODELS,
        help="Correct the scores of a judge by few human labels: accuracies, differences, ranks.",
    ),
    "decode_benchmark": Study(
        ".benchmarks.decoder",
        (
            "BenchmarkDecoding",
            "Limits",
        ),
    ),
    "decode_regression": Study(".benchmarks.regression_decoding", ("RegressionDecoding",)),
    "decode_responses": Study(".benchmarks.decoder"),
    "differential": Study(
        ".groups.differential",
        ("Differential",),
        command="differential",
        panel=LANGUAGE_MODELS,
        help="Find items that behave differently in groups of respondents at the same ability.",
    ),
    "difficulty_targets": Study(".difficulty.difficulty_targets", ("DifficultyTargets",)),
    "dimension_scale": Study(
        ".dimensions.dimension_scale",
        ("DimensionScale",),
        command="dimensions",
        panel=LANGUAGE_MODELS,
        help="Fit several abilities behind one table, and compare them with one.",
    ),
    "enrich_confusion": Study(".classifiers.confusion_curves", ("ConfusionCurves",)),
    "distractors": Study(
        ".health.distractor_study",
        ("Distractors",),
        command="distractors",
        panel=LANGUAGE_MODELS,
        help="Find wrong options that attract the strong: the sharpest sign of a wrong key.",
    ),
    "evaluate_adaptively": Study(".evaluation.asking", ("AdaptiveEvaluation",)),
    "evaluate_adaptively_async": Study(".evaluation.asking"),
    "evaluate_difficulty": Study(".difficulty.difficulty_evaluation", ("DifficultyEvaluation",)),
    "evaluate_selectors": Study(
        ".algorithms.algorithm_selection",
        (
            "SelectorEvaluation",
            "AlgorithmSelector",
        ),
    ),
    "explain_ability": Study(
        ".groups.ability_explanation",
        ("AbilityExplanation",),
        command="explain",
        panel=LANGUAGE_MODELS,
        help="Explain ability by facts of respondents: compute, parameters, release date.",
    ),
    "explain_difficulty": Study(".difficulty.difficulty_explanation", ("DifficultyExplanation",)),
    "explain_items": Study(
        ".groups.item_explanation",
        ("ItemExplanation",),
        command="explain-items",
        panel=LANGUAGE_MODELS,
        help="Explain the difficulty of items by facts about them: length, subject, source.",
    ),
    "facets": Study(
        ".judges.facet_study",
        ("Facets",),
        command="facets",
        panel=LANGUAGE_MODELS,
        help="Rank respondents by scores of several judges, adjusted for who judged; and judge the "
        "judges.",
    ),
    "first_items": Study(".evaluation.item_selections"),
    "generality": Study(".difficulty.generality", ("Generality",)),
    "group_scale": Study(
        ".groups.group_scale",
        ("GroupScale",),
        command="groups",
        panel=LANGUAGE_MODELS,
        help="Put groups of respondents on one scale: a mean and a standard deviation each.",
    ),
    "inspect_ask": Study(".evaluation.inspect_asking"),
    "inspect_sample_ids": Study(".evaluation.item_selections"),
    "instance_space": Study(".algorithms.instance_spaces", ("InstanceSpace",)),
    "item_health": Study(
        ".health.item_health",
        ("ItemHealth",),
        command="health",
        panel=LANGUAGE_MODELS,
        help="Find items that need a look, saturation, and respondents who are right unexpectedly "
        "often.",
    ),
    "leaderboard": Study(
        ".leaderboards.ranked_board",
        ("Leaderboard",),
        command="leaderboard",
        panel=LANGUAGE_MODELS,
        help="Rank respondents by accuracy, and test which differences are significant.",
    ),
    "link": Study(".linking.linking", ("Linking",)),
    "lm_eval_ask": Study(".evaluation.lm_eval_asking"),
    "lm_eval_samples": Study(".evaluation.item_selections"),
    "performance_alarm": Study(".difficulty.performance_alarm", ("PerformanceAlarm",)),
    "plan": Study(
        ".planning.evaluation_plan",
        ("EvaluationPlan",),
        command="plan",
        panel=LANGUAGE_MODELS,
        help="Say how many items and epochs show a difference between two models.",
    ),
    "portfolio": Study(
        ".algorithms.portfolios",
        (
            "Portfolio",
            "ChosenPortfolio",
        ),
    ),
    "preferences": Study(
        ".battles.preference_board",
        ("Preferences",),
        command="preferences",
        panel=LANGUAGE_MODELS,
        help="Rank respondents by battles of two, and test which differences are significant.",
    ),
    "probability_by_metadata": Study(".benchmarks.metadata_bins", ("MetadataBins",)),
    "relate_metadata": Study(".benchmarks.metadata_relations", ("MetadataRelations",)),
    "replay_adaptively": Study(".evaluation.adaptive_replay", ("AdaptiveReplay",)),
    "select_models": Study(".difficulty.model_selection", ("ModelSelection",)),
    "shorten": Study("ogive.shortening.short_form", ("ShortBenchmark",)),
    "task_scales": Study(
        ".tasks.task_scales",
        ("TaskScales",),
        command="tasks",
        panel=LANGUAGE_MODELS,
        help="Calibrate each task alone, then estimate how true abilities on the tasks correlate.",
    ),
    "tournament": Study(".benchmarks.glicko_tournament", ("Tournament",)),
}


def names() -> dict[str, Study]:
    """Return every public name of every study."""
    found = {name: study for study in STUDIES.values() for name in study.names}
    return found | STUDIES


def __getattr__(name: str) -> Any:
    if name not in (known := names()):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return known[name].load(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *names()})


if not TYPE_CHECKING:
    __all__ = ["STUDIES", "Study", *names()]

"""Studies: one package per question, answered end to end. They do not import each other.

`STUDIES` is the registry: public names, commands and report sections follow from it. A study is
imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ogive.benchmarking.dataset_choice import *  # noqa: F403
    from ogive.benchmarking.decoder import *  # noqa: F403
    from ogive.benchmarking.glicko_tournament import *  # noqa: F403
    from ogive.benchmarking.metadata import *  # noqa: F403
    from ogive.benchmarking.regression_decoding import *  # noqa: F403
    from ogive.benchmarking.subsets import *  # noqa: F403
    from ogive.checks.check import *  # noqa: F403
    from ogive.checks.item_analysis import *  # noqa: F403
    from ogive.classifiers.classifier_comparison import *  # noqa: F403
    from ogive.classifiers.confusion_curves import *  # noqa: F403
    from ogive.classifiers.regressor_comparison import *  # noqa: F403
    from ogive.difficulty.alarm import *  # noqa: F403
    from ogive.difficulty.characteristic_curves import *  # noqa: F403
    from ogive.difficulty.confidence import *  # noqa: F403
    from ogive.difficulty.explanation import *  # noqa: F403
    from ogive.difficulty.model_selection import *  # noqa: F403
    from ogive.difficulty.regressor_evaluation import *  # noqa: F403
    from ogive.difficulty.targets import *  # noqa: F403
    from ogive.evaluation.adaptive_replay import *  # noqa: F403
    from ogive.evaluation.asking import *  # noqa: F403
    from ogive.evaluation.facets import *  # noqa: F403
    from ogive.evaluation.harness_answers import *  # noqa: F403
    from ogive.evaluation.harness_asking import *  # noqa: F403
    from ogive.evaluation.judge_correction import *  # noqa: F403
    from ogive.evaluation.leaderboards import *  # noqa: F403
    from ogive.evaluation.plans import *  # noqa: F403
    from ogive.evaluation.preferences import *  # noqa: F403
    from ogive.evaluation.shortening import *  # noqa: F403
    from ogive.irt.differential import *  # noqa: F403
    from ogive.irt.dimensions.dimension_scale import *  # noqa: F403
    from ogive.irt.dimensions.task_scales import *  # noqa: F403
    from ogive.irt.explanation import *  # noqa: F403
    from ogive.irt.group_scale import *  # noqa: F403
    from ogive.irt.linking import *  # noqa: F403
    from ogive.portfolios.airt import *  # noqa: F403
    from ogive.portfolios.instance_space import *  # noqa: F403
    from ogive.portfolios.measure_comparison import *  # noqa: F403
    from ogive.portfolios.portfolio_gaps import *  # noqa: F403
    from ogive.portfolios.selector_evaluation import *  # noqa: F403


LANGUAGE_MODELS = "Language models"


class Study(NamedTuple):
    """A registry entry: where a study lives, which names it provides, and its command.

    A study that takes a table of responses as
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
        return getattr(import_module(self.module), name)


STUDIES: dict[str, Study] = {
    "characteristic_curves": Study(
        "ogive.difficulty.characteristic_curves", ("CharacteristicCurves",)
    ),
    "choose_datasets": Study("ogive.benchmarking.dataset_choice", ("ChosenDatasets",)),
    "compare_classifiers": Study(
        "ogive.classifiers.classifier_comparison", ("ClassifierComparison",)
    ),
    "compare_measures": Study("ogive.portfolios.measure_comparison", ("MeasureComparison",)),
    "compare_portfolios": Study("ogive.portfolios.portfolio_gaps", ("PortfolioComparison",)),
    "compare_regressors": Study("ogive.classifiers.regressor_comparison", ("RegressorComparison",)),
    "compare_subsets": Study("ogive.benchmarking.subsets", ("SubsetComparison",)),
    "confidence_by_difficulty": Study("ogive.difficulty.confidence", ("ConfidenceByDifficulty",)),
    "correct_judge": Study(
        "ogive.evaluation.judge_correction",
        ("CorrectedJudge",),
        command="correct",
        panel=LANGUAGE_MODELS,
        help="Correct the scores of a judge by few human labels: accuracies, differences, ranks.",
    ),
    "decode_benchmark": Study(
        "ogive.benchmarking.decoder",
        (
            "BenchmarkDecoding",
            "Limits",
        ),
    ),
    "decode_regression": Study("ogive.benchmarking.regression_decoding", ("RegressionDecoding",)),
    "decode_responses": Study("ogive.benchmarking.decoder"),
    "differential": Study(
        "ogive.irt.differential",
        ("Differential",),
        command="differential",
        panel=LANGUAGE_MODELS,
        help="Find items that behave differently in groups of respondents at the same ability.",
    ),
    "difficulty_targets": Study("ogive.difficulty.targets", ("DifficultyTargets",)),
    "dimension_scale": Study(
        "ogive.irt.dimensions.dimension_scale",
        ("DimensionScale",),
        command="dimensions",
        panel=LANGUAGE_MODELS,
        help="Fit several abilities behind one table, and compare them with one.",
    ),
    "enrich_confusion": Study("ogive.classifiers.confusion_curves", ("ConfusionCurves",)),
    "distractors": Study(
        "ogive.checks.item_analysis",
        ("Distractors",),
        command="distractors",
        panel=LANGUAGE_MODELS,
        help="Find wrong options that attract the strong: the sharpest sign of a wrong key.",
    ),
    "evaluate_adaptively": Study("ogive.evaluation.asking", ("AdaptiveEvaluation",)),
    "evaluate_adaptively_async": Study("ogive.evaluation.asking"),
    "evaluate_difficulty": Study(
        "ogive.difficulty.regressor_evaluation", ("DifficultyEvaluation",)
    ),
    "evaluate_selectors": Study(
        "ogive.portfolios.selector_evaluation",
        (
            "SelectorEvaluation",
            "AlgorithmSelector",
        ),
    ),
    "explain_ability": Study(
        "ogive.irt.explanation",
        ("AbilityExplanation",),
        command="explain",
        panel=LANGUAGE_MODELS,
        help="Explain ability by facts of respondents: compute, parameters, release date.",
    ),
    "explain_difficulty": Study("ogive.difficulty.explanation", ("DifficultyExplanation",)),
    "explain_items": Study(
        "ogive.irt.explanation",
        ("ItemExplanation",),
        command="explain-items",
        panel=LANGUAGE_MODELS,
        help="Explain the difficulty of items by facts about them: length, subject, source.",
    ),
    "facets": Study(
        "ogive.evaluation.facets",
        ("Facets",),
        command="facets",
        panel=LANGUAGE_MODELS,
        help="Rank respondents by scores of several judges, adjusted for who judged; and judge the "
        "judges.",
    ),
    "first_items": Study("ogive.evaluation.harness_answers"),
    "generality": Study("ogive.difficulty.characteristic_curves", ("Generality",)),
    "group_scale": Study(
        "ogive.irt.group_scale",
        ("GroupScale",),
        command="groups",
        panel=LANGUAGE_MODELS,
        help="Put groups of respondents on one scale: a mean and a standard deviation each.",
    ),
    "inspect_ask": Study("ogive.evaluation.harness_asking"),
    "inspect_sample_ids": Study("ogive.evaluation.harness_answers"),
    "instance_space": Study("ogive.portfolios.instance_space", ("InstanceSpace",)),
    "item_health": Study(
        "ogive.checks.check",
        ("ItemHealth",),
        command="health",
        panel=LANGUAGE_MODELS,
        help="Find items that need a look, saturation, and respondents who are right unexpectedly "
        "often.",
    ),
    "leaderboard": Study(
        "ogive.evaluation.leaderboards",
        ("Leaderboard",),
        command="leaderboard",
        panel=LANGUAGE_MODELS,
        help="Rank respondents by accuracy, and test which differences are significant.",
    ),
    "link": Study("ogive.irt.linking", ("Linking",)),
    "lm_eval_ask": Study("ogive.evaluation.harness_asking"),
    "lm_eval_samples": Study("ogive.evaluation.harness_answers"),
    "performance_alarm": Study("ogive.difficulty.alarm", ("PerformanceAlarm",)),
    "plan": Study(
        "ogive.evaluation.plans",
        ("EvaluationPlan",),
        command="plan",
        panel=LANGUAGE_MODELS,
        help="Say how many items and epochs show a difference between two models.",
    ),
    "portfolio": Study(
        "ogive.portfolios.airt",
        (
            "Portfolio",
            "ChosenPortfolio",
        ),
    ),
    "preferences": Study(
        "ogive.evaluation.preferences",
        ("Preferences",),
        command="preferences",
        panel=LANGUAGE_MODELS,
        help="Rank respondents by battles of two, and test which differences are significant.",
    ),
    "probability_by_metadata": Study("ogive.benchmarking.metadata", ("MetadataBins",)),
    "relate_metadata": Study("ogive.benchmarking.metadata", ("MetadataRelations",)),
    "replay_adaptively": Study("ogive.evaluation.adaptive_replay", ("AdaptiveReplay",)),
    "select_models": Study("ogive.difficulty.model_selection", ("ModelSelection",)),
    "shorten": Study("ogive.evaluation.shortening", ("ShortBenchmark",)),
    "task_scales": Study(
        "ogive.irt.dimensions.task_scales",
        ("TaskScales",),
        command="tasks",
        panel=LANGUAGE_MODELS,
        help="Calibrate each task alone, then estimate how true abilities on the tasks correlate.",
    ),
    "tournament": Study("ogive.benchmarking.glicko_tournament", ("Tournament",)),
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

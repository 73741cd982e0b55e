"""Item Response Theory for machine-learning models, algorithm portfolios and language models.

Names are imported when they are used, so that `import itemwise` itself loads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from itemwise.lazily import lazily

if TYPE_CHECKING:
    from itemwise.adaptive import AdaptiveTest as AdaptiveTest
    from itemwise.adaptive import simulate_adaptive as simulate_adaptive
    from itemwise.calibration import Calibration as Calibration
    from itemwise.capability import CapabilityGate as CapabilityGate
    from itemwise.capability import CaseDifficulty as CaseDifficulty
    from itemwise.capability import measure_capability as measure_capability
    from itemwise.datasets import Dataset as Dataset
    from itemwise.datasets import load_dataset as load_dataset
    from itemwise.datasets import load_datasets as load_datasets
    from itemwise.datasets import publish_suite as publish_suite
    from itemwise.datasets import read_aslib as read_aslib
    from itemwise.datasets import read_runs as read_runs
    from itemwise.datasets import split_dataset as split_dataset
    from itemwise.diagnostics import compare_models as compare_models
    from itemwise.diagnostics import compare_ranks as compare_ranks
    from itemwise.diagnostics import diagnose as diagnose
    from itemwise.diagnostics import dimensionality as dimensionality
    from itemwise.diagnostics import item_fit as item_fit
    from itemwise.diagnostics import label_trouble as label_trouble
    from itemwise.diagnostics import local_dependence as local_dependence
    from itemwise.diagnostics import model_fit as model_fit
    from itemwise.diagnostics import reliability as reliability
    from itemwise.diagnostics import respondent_fit as respondent_fit
    from itemwise.errors import ItemwiseError as ItemwiseError
    from itemwise.estimation import EM as EM
    from itemwise.estimation import Joint as Joint
    from itemwise.estimation import calibrate as calibrate
    from itemwise.estimation import simulate as simulate
    from itemwise.learning import DeepDifficultyRegressor as DeepDifficultyRegressor
    from itemwise.learning import DifficultyRegressor as DifficultyRegressor
    from itemwise.models import Beta as Beta
    from itemwise.models import BetaResponse as BetaResponse
    from itemwise.models import Continuous as Continuous
    from itemwise.models import FourPL as FourPL
    from itemwise.models import Graded as Graded
    from itemwise.models import Normal as Normal
    from itemwise.models import OnePL as OnePL
    from itemwise.models import PartialCredit as PartialCredit
    from itemwise.models import ThreePL as ThreePL
    from itemwise.models import TwoPL as TwoPL
    from itemwise.pools import dataset_responses as dataset_responses
    from itemwise.pools import run_pool as run_pool
    from itemwise.report import write_report as write_report
    from itemwise.responses import Responses as Responses
    from itemwise.responses import read_logs as read_logs
    from itemwise.responses import read_responses as read_responses
    from itemwise.saved_files import load as load
    from itemwise.studies import AlgorithmSelector as AlgorithmSelector
    from itemwise.studies import Limits as Limits
    from itemwise.studies import characteristic_curves as characteristic_curves
    from itemwise.studies import choose_datasets as choose_datasets
    from itemwise.studies import compare_classifiers as compare_classifiers
    from itemwise.studies import compare_portfolios as compare_portfolios
    from itemwise.studies import compare_subsets as compare_subsets
    from itemwise.studies import confidence_by_difficulty as confidence_by_difficulty
    from itemwise.studies import decode_benchmark as decode_benchmark
    from itemwise.studies import decode_responses as decode_responses
    from itemwise.studies import difficulty_targets as difficulty_targets
    from itemwise.studies import enrich_confusion as enrich_confusion
    from itemwise.studies import evaluate_adaptively as evaluate_adaptively
    from itemwise.studies import evaluate_adaptively_async as evaluate_adaptively_async
    from itemwise.studies import evaluate_difficulty as evaluate_difficulty
    from itemwise.studies import evaluate_selectors as evaluate_selectors
    from itemwise.studies import explain_difficulty as explain_difficulty
    from itemwise.studies import first_items as first_items
    from itemwise.studies import generality as generality
    from itemwise.studies import inspect_sample_ids as inspect_sample_ids
    from itemwise.studies import item_health as item_health
    from itemwise.studies import leaderboard as leaderboard
    from itemwise.studies import link as link
    from itemwise.studies import lm_eval_samples as lm_eval_samples
    from itemwise.studies import performance_alarm as performance_alarm
    from itemwise.studies import portfolio as portfolio
    from itemwise.studies import probability_by_metadata as probability_by_metadata
    from itemwise.studies import relate_metadata as relate_metadata
    from itemwise.studies import replay_adaptively as replay_adaptively
    from itemwise.studies import select_models as select_models
    from itemwise.studies import shorten as shorten
    from itemwise.studies import task_scales as task_scales
    from itemwise.studies import tournament as tournament

__version__ = "0.1.0"

_HOMES = {
    "AdaptiveTest": "adaptive",
    "AlgorithmSelector": "studies",
    "Beta": "models",
    "BetaResponse": "models",
    "calibrate": "estimation",
    "Calibration": "calibration",
    "CapabilityGate": "capability",
    "CaseDifficulty": "capability",
    "characteristic_curves": "studies",
    "choose_datasets": "studies",
    "compare_classifiers": "studies",
    "compare_models": "diagnostics",
    "compare_portfolios": "studies",
    "compare_ranks": "diagnostics",
    "compare_subsets": "studies",
    "confidence_by_difficulty": "studies",
    "Continuous": "models",
    "Dataset": "datasets",
    "dataset_responses": "pools",
    "decode_benchmark": "studies",
    "decode_responses": "studies",
    "DeepDifficultyRegressor": "learning",
    "diagnose": "diagnostics",
    "difficulty_targets": "studies",
    "DifficultyRegressor": "learning",
    "dimensionality": "diagnostics",
    "EM": "estimation",
    "enrich_confusion": "studies",
    "evaluate_adaptively": "studies",
    "evaluate_adaptively_async": "studies",
    "evaluate_difficulty": "studies",
    "evaluate_selectors": "studies",
    "explain_difficulty": "studies",
    "FourPL": "models",
    "first_items": "studies",
    "generality": "studies",
    "Graded": "models",
    "inspect_sample_ids": "studies",
    "item_fit": "diagnostics",
    "item_health": "studies",
    "ItemwiseError": "errors",
    "Joint": "estimation",
    "label_trouble": "diagnostics",
    "leaderboard": "studies",
    "Limits": "studies",
    "link": "studies",
    "lm_eval_samples": "studies",
    "load": "saved_files",
    "load_dataset": "datasets",
    "load_datasets": "datasets",
    "local_dependence": "diagnostics",
    "measure_capability": "capability",
    "model_fit": "diagnostics",
    "Normal": "models",
    "OnePL": "models",
    "PartialCredit": "models",
    "performance_alarm": "studies",
    "respondent_fit": "diagnostics",
    "portfolio": "studies",
    "probability_by_metadata": "studies",
    "publish_suite": "datasets",
    "read_aslib": "datasets",
    "read_logs": "responses",
    "read_responses": "responses",
    "read_runs": "datasets",
    "relate_metadata": "studies",
    "reliability": "diagnostics",
    "replay_adaptively": "studies",
    "Responses": "responses",
    "run_pool": "pools",
    "select_models": "studies",
    "shorten": "studies",
    "simulate": "estimation",
    "simulate_adaptive": "adaptive",
    "split_dataset": "datasets",
    "task_scales": "studies",
    "ThreePL": "models",
    "tournament": "studies",
    "TwoPL": "models",
    "write_report": "report",
}

__all__ = [*_HOMES, "__version__"]


__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)

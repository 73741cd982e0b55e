"""Item Response Theory for machine-learning models, algorithm portfolios and language models.

Names are imported when they are used, so that `import ogive` itself loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ogive._lazy import lazily
from ogive._studies import STUDIES
from ogive._studies import names as study_names

if TYPE_CHECKING:
    from ogive._load import load as load
    from ogive._studies import *  # noqa: F403
    from ogive.capability.case_difficulty import CaseDifficulty as CaseDifficulty
    from ogive.capability.gate import CapabilityGate as CapabilityGate
    from ogive.capability.measurement import measure_capability as measure_capability
    from ogive.checks.bootstrap import resample as resample
    from ogive.checks.check import diagnose as diagnose
    from ogive.checks.dimensionality import dimensionality as dimensionality
    from ogive.checks.friedman_test import compare_ranks as compare_ranks
    from ogive.checks.item_fit import item_fit as item_fit
    from ogive.checks.local_dependence import local_dependence as local_dependence
    from ogive.checks.mislabelled_items import label_trouble as label_trouble
    from ogive.checks.model_fit import compare_models as compare_models
    from ogive.checks.model_fit import model_fit as model_fit
    from ogive.checks.reliability import reliability as reliability
    from ogive.checks.respondent_fit import respondent_fit as respondent_fit
    from ogive.data.datasets.aslib import read_aslib as read_aslib
    from ogive.data.datasets.dataset import Dataset as Dataset
    from ogive.data.datasets.dataset import split_dataset as split_dataset
    from ogive.data.datasets.load import load_dataset as load_dataset
    from ogive.data.datasets.load import load_datasets as load_datasets
    from ogive.data.datasets.runs import read_runs as read_runs
    from ogive.data.feature_columns import TablePreparation as TablePreparation
    from ogive.data.logs.read_logs import read_logs as read_logs
    from ogive.data.pools.runner import dataset_responses as dataset_responses
    from ogive.data.pools.runner import run_pool as run_pool
    from ogive.data.response_files import read_responses as read_responses
    from ogive.data.responses import Responses as Responses
    from ogive.data.scan import scan_responses as scan_responses
    from ogive.difficulty.deep_regressor import DeepDifficultyRegressor as DeepDifficultyRegressor
    from ogive.difficulty.regressor import DifficultyRegressor as DifficultyRegressor
    from ogive.errors import OgiveError as OgiveError
    from ogive.irt.adaptive.adaptive_test import AdaptiveTest as AdaptiveTest
    from ogive.irt.adaptive.simulation import simulate_adaptive as simulate_adaptive
    from ogive.irt.calibrating import calibrate as calibrate
    from ogive.irt.calibration import Calibration as Calibration
    from ogive.irt.estimation.alternative_engines import Joint as Joint
    from ogive.irt.estimation.em_engine import EM as EM
    from ogive.irt.models.base import Beta as Beta
    from ogive.irt.models.base import Normal as Normal
    from ogive.irt.models.beta import BetaResponse as BetaResponse
    from ogive.irt.models.censored import Censored as Censored
    from ogive.irt.models.continuous import Continuous as Continuous
    from ogive.irt.models.graded import Graded as Graded
    from ogive.irt.models.logistic import FourPL as FourPL
    from ogive.irt.models.logistic import OnePL as OnePL
    from ogive.irt.models.logistic import ThreePL as ThreePL
    from ogive.irt.models.logistic import TwoPL as TwoPL
    from ogive.irt.models.nominal import Nominal as Nominal
    from ogive.irt.models.nominal import PartialCredit as PartialCredit
    from ogive.irt.simulation import simulate as simulate
    from ogive.reporting.exports import model_card as model_card
    from ogive.reporting.page import write_report as write_report


__version__ = "0.1.0"

_HOMES = {
    "AdaptiveTest": "irt.adaptive.adaptive_test",
    "Beta": "irt.models.base",
    "BetaResponse": "irt.models.beta",
    "calibrate": "irt.calibrating",
    "Calibration": "irt.calibration",
    "CapabilityGate": "capability.gate",
    "CaseDifficulty": "capability.case_difficulty",
    "Censored": "irt.models.censored",
    "compare_models": "checks.model_fit",
    "compare_ranks": "checks.friedman_test",
    "Continuous": "irt.models.continuous",
    "Dataset": "data.datasets.dataset",
    "dataset_responses": "data.pools.runner",
    "DeepDifficultyRegressor": "difficulty.deep_regressor",
    "diagnose": "checks.check",
    "DifficultyRegressor": "difficulty.regressor",
    "dimensionality": "checks.dimensionality",
    "EM": "irt.estimation.em_engine",
    "FourPL": "irt.models.logistic",
    "Graded": "irt.models.graded",
    "item_fit": "checks.item_fit",
    "OgiveError": "errors",
    "Joint": "irt.estimation.alternative_engines",
    "label_trouble": "checks.mislabelled_items",
    "load": "_load",
    "load_dataset": "data.datasets.load",
    "load_datasets": "data.datasets.load",
    "local_dependence": "checks.local_dependence",
    "measure_capability": "capability.measurement",
    "model_card": "reporting.exports",
    "model_fit": "checks.model_fit",
    "Nominal": "irt.models.nominal",
    "Normal": "irt.models.base",
    "OnePL": "irt.models.logistic",
    "PartialCredit": "irt.models.nominal",
    "respondent_fit": "checks.respondent_fit",
    "read_aslib": "data.datasets.aslib",
    "read_logs": "data.logs.read_logs",
    "read_responses": "data.response_files",
    "read_runs": "data.datasets.runs",
    "reliability": "checks.reliability",
    "resample": "checks.bootstrap",
    "Responses": "data.responses",
    "run_pool": "data.pools.runner",
    "scan_responses": "data.scan",
    "simulate": "irt.simulation",
    "simulate_adaptive": "irt.adaptive.simulation",
    "split_dataset": "data.datasets.dataset",
    "TablePreparation": "data.feature_columns",
    "ThreePL": "irt.models.logistic",
    "TwoPL": "irt.models.logistic",
    "write_report": "reporting.page",
}

EXTRA = ("AlgorithmSelector", "Limits")  # names of studies that callers need beside the functions


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return _lazily(name)
    if name in study_names():
        return getattr(import_module("ogive._studies"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_HOMES, *STUDIES, *EXTRA, "__version__"})


_lazily = lazily(__name__, _HOMES)

if not TYPE_CHECKING:
    __all__ = sorted([*_HOMES, *STUDIES, *EXTRA, "__version__"])

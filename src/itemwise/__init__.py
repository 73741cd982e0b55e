"""Item Response Theory for machine-learning models, algorithm portfolios and language models.

Names are imported when they are used, so that `import itemwise` itself loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from itemwise.lazily import lazily
from itemwise.studies import STUDIES
from itemwise.studies import names as study_names

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
    from itemwise.diagnostics import resample as resample
    from itemwise.diagnostics import respondent_fit as respondent_fit
    from itemwise.errors import ItemwiseError as ItemwiseError
    from itemwise.estimation import EM as EM
    from itemwise.estimation import Joint as Joint
    from itemwise.estimation import calibrate as calibrate
    from itemwise.estimation import simulate as simulate
    from itemwise.learning import DeepDifficultyRegressor as DeepDifficultyRegressor
    from itemwise.learning import DifficultyRegressor as DifficultyRegressor
    from itemwise.learning import TablePreparation as TablePreparation
    from itemwise.models import Beta as Beta
    from itemwise.models import BetaResponse as BetaResponse
    from itemwise.models import Censored as Censored
    from itemwise.models import Continuous as Continuous
    from itemwise.models import FourPL as FourPL
    from itemwise.models import Graded as Graded
    from itemwise.models import Nominal as Nominal
    from itemwise.models import Normal as Normal
    from itemwise.models import OnePL as OnePL
    from itemwise.models import PartialCredit as PartialCredit
    from itemwise.models import ThreePL as ThreePL
    from itemwise.models import TwoPL as TwoPL
    from itemwise.pools import dataset_responses as dataset_responses
    from itemwise.pools import run_pool as run_pool
    from itemwise.report import model_card as model_card
    from itemwise.report import write_report as write_report
    from itemwise.responses import Responses as Responses
    from itemwise.responses import read_logs as read_logs
    from itemwise.responses import read_responses as read_responses
    from itemwise.responses import scan_responses as scan_responses
    from itemwise.saved_files import load as load
    from itemwise.studies import *  # noqa: F403

__version__ = "0.1.0"

_HOMES = {
    "AdaptiveTest": "adaptive",
    "Beta": "models",
    "BetaResponse": "models",
    "calibrate": "estimation",
    "Calibration": "calibration",
    "CapabilityGate": "capability",
    "CaseDifficulty": "capability",
    "Censored": "models",
    "compare_models": "diagnostics",
    "compare_ranks": "diagnostics",
    "Continuous": "models",
    "Dataset": "datasets",
    "dataset_responses": "pools",
    "DeepDifficultyRegressor": "learning",
    "diagnose": "diagnostics",
    "DifficultyRegressor": "learning",
    "dimensionality": "diagnostics",
    "EM": "estimation",
    "FourPL": "models",
    "Graded": "models",
    "item_fit": "diagnostics",
    "ItemwiseError": "errors",
    "Joint": "estimation",
    "label_trouble": "diagnostics",
    "load": "saved_files",
    "load_dataset": "datasets",
    "load_datasets": "datasets",
    "local_dependence": "diagnostics",
    "measure_capability": "capability",
    "model_card": "report",
    "model_fit": "diagnostics",
    "Nominal": "models",
    "Normal": "models",
    "OnePL": "models",
    "PartialCredit": "models",
    "respondent_fit": "diagnostics",
    "publish_suite": "datasets",
    "read_aslib": "datasets",
    "read_logs": "responses",
    "read_responses": "responses",
    "read_runs": "datasets",
    "reliability": "diagnostics",
    "resample": "diagnostics",
    "Responses": "responses",
    "run_pool": "pools",
    "scan_responses": "responses",
    "simulate": "estimation",
    "simulate_adaptive": "adaptive",
    "split_dataset": "datasets",
    "TablePreparation": "learning",
    "ThreePL": "models",
    "TwoPL": "models",
    "write_report": "report",
}

EXTRA = ("AlgorithmSelector", "Limits")  # names of studies that callers need beside the functions


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return _lazily(name)
    if name in study_names():
        return getattr(import_module("itemwise.studies"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_HOMES, *STUDIES, *EXTRA, "__version__"})


_lazily = lazily(__name__, _HOMES)

if not TYPE_CHECKING:
    __all__ = sorted([*_HOMES, *STUDIES, *EXTRA, "__version__"])

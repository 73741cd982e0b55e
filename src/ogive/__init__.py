"""Item Response Theory for machine-learning models, algorithm portfolios and language models.

Names are imported when they are used, so that `import ogive` itself loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ogive.lazily import lazily
from ogive.studies import STUDIES
from ogive.studies import names as study_names

if TYPE_CHECKING:
    from ogive.adaptive import AdaptiveTest as AdaptiveTest
    from ogive.adaptive import simulate_adaptive as simulate_adaptive
    from ogive.calibration import Calibration as Calibration
    from ogive.capability import CapabilityGate as CapabilityGate
    from ogive.capability import CaseDifficulty as CaseDifficulty
    from ogive.capability import measure_capability as measure_capability
    from ogive.datasets import Dataset as Dataset
    from ogive.datasets import load_dataset as load_dataset
    from ogive.datasets import load_datasets as load_datasets
    from ogive.datasets import publish_suite as publish_suite
    from ogive.datasets import read_aslib as read_aslib
    from ogive.datasets import read_runs as read_runs
    from ogive.datasets import split_dataset as split_dataset
    from ogive.diagnostics import compare_models as compare_models
    from ogive.diagnostics import compare_ranks as compare_ranks
    from ogive.diagnostics import diagnose as diagnose
    from ogive.diagnostics import dimensionality as dimensionality
    from ogive.diagnostics import item_fit as item_fit
    from ogive.diagnostics import label_trouble as label_trouble
    from ogive.diagnostics import local_dependence as local_dependence
    from ogive.diagnostics import model_fit as model_fit
    from ogive.diagnostics import reliability as reliability
    from ogive.diagnostics import resample as resample
    from ogive.diagnostics import respondent_fit as respondent_fit
    from ogive.errors import OgiveError as OgiveError
    from ogive.estimation import EM as EM
    from ogive.estimation import Joint as Joint
    from ogive.estimation import calibrate as calibrate
    from ogive.estimation import simulate as simulate
    from ogive.learning import DeepDifficultyRegressor as DeepDifficultyRegressor
    from ogive.learning import DifficultyRegressor as DifficultyRegressor
    from ogive.learning import TablePreparation as TablePreparation
    from ogive.models import Beta as Beta
    from ogive.models import BetaResponse as BetaResponse
    from ogive.models import Censored as Censored
    from ogive.models import Continuous as Continuous
    from ogive.models import FourPL as FourPL
    from ogive.models import Graded as Graded
    from ogive.models import Nominal as Nominal
    from ogive.models import Normal as Normal
    from ogive.models import OnePL as OnePL
    from ogive.models import PartialCredit as PartialCredit
    from ogive.models import ThreePL as ThreePL
    from ogive.models import TwoPL as TwoPL
    from ogive.pools import dataset_responses as dataset_responses
    from ogive.pools import run_pool as run_pool
    from ogive.report import model_card as model_card
    from ogive.report import write_report as write_report
    from ogive.responses import Responses as Responses
    from ogive.responses import read_logs as read_logs
    from ogive.responses import read_responses as read_responses
    from ogive.responses import scan_responses as scan_responses
    from ogive.saved_files import load as load
    from ogive.studies import *  # noqa: F403

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
    "OgiveError": "errors",
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
        return getattr(import_module("ogive.studies"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_HOMES, *STUDIES, *EXTRA, "__version__"})


_lazily = lazily(__name__, _HOMES)

if not TYPE_CHECKING:
    __all__ = sorted([*_HOMES, *STUDIES, *EXTRA, "__version__"])

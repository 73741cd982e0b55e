"""Whether to believe a calibration, and a difference."""

from __future__ import annotations

from itemwise.diagnostics.comparison import ModelComparison, compare_models
from itemwise.diagnostics.diagnosis import Diagnosis
from itemwise.diagnostics.dimensionality import Dimensionality, dimensionality
from itemwise.diagnostics.item_fit import ItemFit, item_fit
from itemwise.diagnostics.label_trouble import LabelTrouble, label_trouble
from itemwise.diagnostics.local_dependence import LocalDependence, local_dependence
from itemwise.diagnostics.model_fit import ModelFit, model_fit
from itemwise.diagnostics.overview import DIAGNOSTICS, Diagnoses, diagnose
from itemwise.diagnostics.ranks import RankComparison, compare_ranks
from itemwise.diagnostics.reliability import Reliability, reliability
from itemwise.diagnostics.resampling import Resampling, resample
from itemwise.diagnostics.respondent_fit import RespondentFit, respondent_fit

__all__ = [
    "DIAGNOSTICS",
    "Diagnoses",
    "Diagnosis",
    "Dimensionality",
    "ItemFit",
    "LabelTrouble",
    "LocalDependence",
    "ModelComparison",
    "ModelFit",
    "RankComparison",
    "Reliability",
    "Resampling",
    "RespondentFit",
    "compare_models",
    "compare_ranks",
    "diagnose",
    "dimensionality",
    "item_fit",
    "label_trouble",
    "local_dependence",
    "model_fit",
    "reliability",
    "resample",
    "respondent_fit",
]

"""Whether to believe a calibration, and a difference."""

from __future__ import annotations

from ogive.diagnostics.comparison import ModelComparison, compare_models
from ogive.diagnostics.diagnosis import Diagnosis
from ogive.diagnostics.dimensionality import Dimensionality, dimensionality
from ogive.diagnostics.item_fit import ItemFit, item_fit
from ogive.diagnostics.label_trouble import LabelTrouble, label_trouble
from ogive.diagnostics.local_dependence import LocalDependence, local_dependence
from ogive.diagnostics.model_fit import ModelFit, model_fit
from ogive.diagnostics.overview import DIAGNOSTICS, Diagnoses, diagnose
from ogive.diagnostics.ranks import RankComparison, compare_ranks
from ogive.diagnostics.reliability import Reliability, reliability
from ogive.diagnostics.resampling import Resampling, resample
from ogive.diagnostics.respondent_fit import RespondentFit, respondent_fit

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

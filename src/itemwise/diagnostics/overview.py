"""All diagnoses of one calibration, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from itemwise.calibration import HELD, Calibration
from itemwise.calibration.unlinked_parts import parts_of
from itemwise.diagnostics.diagnosis import Diagnosis, own_or_given
from itemwise.diagnostics.dimensionality import dimensionality
from itemwise.diagnostics.item_fit import item_fit
from itemwise.diagnostics.label_trouble import label_trouble
from itemwise.diagnostics.local_dependence import local_dependence
from itemwise.diagnostics.model_fit import model_fit
from itemwise.diagnostics.reliability import reliability
from itemwise.diagnostics.respondent_fit import respondent_fit
from itemwise.errors import InputError
from itemwise.estimation.common_factor import common_factor
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses, Table
from itemwise.results import gathered
from itemwise.words import counted

# Those that ask a calibration and its responses.
DIAGNOSTICS: dict[str, Callable[..., Diagnosis]] = {
    "reliability": reliability,
    "model_fit": model_fit,
    "item_fit": item_fit,
    "respondent_fit": respondent_fit,
    "local_dependence": local_dependence,
    "label_trouble": label_trouble,
}


OF_ONE_ABILITY = ("dimensionality", "reliability")  # which say how many, and how well measured


class Diagnoses(NamedTuple):
    """The diagnoses by name, and the reasons why some are missing."""

    found: dict[str, Diagnosis]
    missing: dict[str, str]


def diagnose(calibration: Calibration, responses: Table | None = None) -> Diagnoses:
    """Run every diagnosis of a `calibration`: fit, reliability, dependence, dimensions, labels.

    `responses` are those of the calibration unless others are given. `found` holds the diagnoses by
    name, `missing` the reasons why some are not available.

    >>> import itemwise as iw
    >>> found = iw.calibrate(iw.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> sorted(iw.diagnose(found).found)[:3]
    ['dimensionality', 'item_fit', 'label_trouble']
    """
    table, weights = own_or_given(calibration, responses, "diagnose")
    works: dict[str, Callable[[], Diagnosis]] = {
        "dimensionality": partial(dimensionality, table),
        **{name: partial(work, calibration, responses) for name, work in DIAGNOSTICS.items()},
    }
    reason = _no_one_ability(calibration, table, weights)
    if reason:
        works |= {name: partial(_refuse, reason) for name in OF_ONE_ABILITY}
    return Diagnoses(*gathered(works))


def _no_one_ability(calibration: Calibration, table: Responses, weights: Floats) -> str:
    """Why these responses do not identify one ability; empty where nothing speaks against it."""
    held = np.array([HELD in words for words in calibration.flags])
    same = table.items == calibration.item_names
    rows, _ = parts_of(table, held if same else None)
    if rows.any():
        return (
            f"No item links {counted(int(rows.max()) + 1, 'part')} of this table, so that it "
            "measures no one ability. Diagnose each part by itself."
        )
    if calibration.model.kind != "continuous":
        return ""
    whole = table is calibration.responses and calibration.weights is None
    return common_factor(table, calibration.model, None if whole else weights).note


def _refuse(reason: str) -> Diagnosis:
    raise InputError(reason)

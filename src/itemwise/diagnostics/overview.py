"""All diagnoses of one calibration, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from itemwise.calibration import Calibration
from itemwise.diagnostics.diagnosis import Diagnosis, own_or_given
from itemwise.diagnostics.dimensionality import dimensionality
from itemwise.diagnostics.item_fit import item_fit
from itemwise.diagnostics.label_trouble import label_trouble
from itemwise.diagnostics.local_dependence import local_dependence
from itemwise.diagnostics.model_fit import model_fit
from itemwise.diagnostics.reliability import reliability
from itemwise.diagnostics.respondent_fit import respondent_fit
from itemwise.responses import Table
from itemwise.results import gathered

# Those that ask a calibration and its responses.
DIAGNOSTICS: dict[str, Callable[..., Diagnosis]] = {
    "reliability": reliability,
    "model_fit": model_fit,
    "item_fit": item_fit,
    "respondent_fit": respondent_fit,
    "local_dependence": local_dependence,
    "label_trouble": label_trouble,
}


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
    table, _ = own_or_given(calibration, responses, "diagnose")
    works: dict[str, Callable[[], Diagnosis]] = {
        "dimensionality": partial(dimensionality, table),
        **{name: partial(work, calibration, responses) for name, work in DIAGNOSTICS.items()},
    }
    return Diagnoses(*gathered(works))

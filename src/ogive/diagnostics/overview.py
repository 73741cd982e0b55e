"""All diagnoses of one calibration, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration import HELD, Calibration
from ogive.calibration.unlinked_parts import parts_of
from ogive.diagnostics.diagnosis import Diagnosis, own_or_given
from ogive.diagnostics.dimensionality import dimensionality
from ogive.diagnostics.item_fit import item_fit
from ogive.diagnostics.label_trouble import label_trouble
from ogive.diagnostics.local_dependence import local_dependence
from ogive.diagnostics.model_fit import model_fit
from ogive.diagnostics.reliability import reliability
from ogive.diagnostics.respondent_fit import respondent_fit
from ogive.errors import InputError
from ogive.estimation.common_factor import common_factor
from ogive.numerics.arrays import Floats
from ogive.responses import Responses, Table
from ogive.results import Draw, Result, gathered
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

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
OF_ABILITIES = ("item_fit", "respondent_fit", "local_dependence")  # which hold responses to them


@dataclass(frozen=True, eq=False, repr=False)
class Diagnoses(Result):
    """All diagnoses of one calibration.

    `found` holds them by name, `missing` the reasons why others are not available. The frame has
    one row per diagnosis: whether it is `available`, its `meaning`, or the reason why there is
    none, and its `notes`.
    """

    found: dict[str, Diagnosis]
    missing: dict[str, str]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per diagnosis: available, meaning, notes."""
        import pandas as pd

        rows = {
            name: (True, each.meaning, " ".join(each.notes)) for name, each in self.found.items()
        }
        rows |= {name: (False, reason, "") for name, reason in self.missing.items()}
        names = pd.Index(list(rows), name="diagnosis")
        return pd.DataFrame(list(rows.values()), names, ["available", "meaning", "notes"])

    def plot(self, **kw: Any) -> Display:
        """Draw the first diagnosis that there is; `figures` draws each."""
        for each in self.found.values():
            return each.plot(**kw)
        raise InputError(f"There is no diagnosis to draw. {' '.join(set(self.missing.values()))}")

    def sentences(self) -> list[str]:
        """Return what each diagnosis says, and why others are missing, by name."""
        said = [f"{name}: {text}" for name, each in self.found.items() for text in each.sentences()]
        return [*said, *(f"{name}: none. {reason}" for name, reason in self.missing.items())]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the table of all diagnoses, then that of each."""
        return super().tables() | {name: each.to_frame() for name, each in self.found.items()}

    def figures(self) -> dict[str, Draw]:
        """Return a function that draws each diagnosis."""
        return {name: each.plot for name, each in self.found.items()}


def diagnose(calibration: Calibration, responses: Table | None = None) -> Diagnoses:
    """Run every diagnosis of a `calibration`: fit, reliability, dependence, dimensions, labels.

    `responses` are those of the calibration unless others are given. `found` holds the diagnoses by
    name, `missing` the reasons why some are not available; `to_frame()` has one row per diagnosis.

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> sorted(og.diagnose(found).found)[:3]
    ['dimensionality', 'item_fit', 'label_trouble']
    """
    table, weights = own_or_given(calibration, responses, "diagnose")
    works: dict[str, Callable[[], Diagnosis]] = {
        "dimensionality": partial(dimensionality, table),
        **{name: partial(work, calibration, responses) for name, work in DIAGNOSTICS.items()},
    }
    parted = _parted(calibration, table)
    none = "" if parted else _no_ability(calibration, table, weights)
    if parted or none:
        works |= {name: partial(_refuse, parted or none) for name in OF_ONE_ABILITY}
    if none:  # within parts, responses can be held to abilities; without an ability they cannot
        works |= {name: partial(_refuse, none) for name in OF_ABILITIES}
    return Diagnoses(*gathered(works))


def _parted(calibration: Calibration, table: Responses) -> str:
    """Why there are several abilities, each of a part of the table; empty if there is one part."""
    held = np.array([HELD in words for words in calibration.flags])
    same = table.items == calibration.item_names
    rows, _ = parts_of(table, held if same else None)
    if not rows.any():
        return ""
    return (
        f"No item links {counted(int(rows.max()) + 1, 'part')} of this table, so that it "
        "measures no one ability. Diagnose each part by itself."
    )


def _no_ability(calibration: Calibration, table: Responses, weights: Floats) -> str:
    """Why these scores do not identify an ability; empty where nothing speaks against it."""
    if calibration.model.kind != "continuous":
        return ""
    whole = table is calibration.responses and calibration.weights is None
    return common_factor(table, calibration.model, None if whole else weights).note


def _refuse(reason: str) -> Diagnosis:
    raise InputError(reason)

"""Whether the responses show what standard errors rule out: items that depend on each other.

`local_dependence` says it of every pair. A calibration says it of itself, from no more respondents
than can be looked at in some tenths of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.responses.encoding import encode
from ogive.scoring import score_abilities
from ogive.scoring.residual_pairs import Pairs, Residuals
from ogive.words import counted

if TYPE_CHECKING:
    from ogive.calibration.calibration import Calibration

MOST_WORK = 2e8  # respondents × items²
LEAST_ROWS = 100  # with fewer of many respondents, nothing would be seen
LEAST_Z = 1.9  # of a pair that may be called dependent


def dependence_note(calibration: Calibration) -> str | None:
    """What to say of pairs of items that depend on each other; None where none is seen.

    Nothing is said of more than some 1,400 items, nor of repeated answers.
    """
    residuals = _residuals(calibration)
    if residuals is None:
        return None
    pairs = Pairs(residuals, LEAST_Z)
    found = pairs.best[pairs.dependent]
    if not len(found):
        return None
    first, second = (calibration.item_names[int(k)] for k in found[0, :2])
    if getattr(calibration.fitted_by, "se", None) == "robust":
        errors = "Robust standard errors allow for it, but not for the bias of discriminations"
    else:
        errors = (
            'Standard errors take them as independent; those of se="robust" do not, but '
            "discriminations are biased as well, which no standard error covers"
        )
    return (
        f"In {len(found):,} of {counted(pairs.count, 'pair')} of items, responses depend on each "
        f"other beyond the ability (Q3), most surely in {first} with {second}. {errors}: see "
        "local_dependence()."
    )


def _residuals(calibration: Calibration) -> Residuals | None:
    """Residuals of some respondents at their abilities; None where they would be too many."""
    table, weights = calibration.responses, calibration.weights
    if table is None or table.tries is not None or table.items != calibration.item_names:
        return None
    n_rows, most = table.n_respondents, MOST_WORK / table.n_items**2
    if most < min(n_rows, LEAST_ROWS):
        return None
    rows = np.arange(n_rows)[:: int(np.ceil(n_rows / most))]
    model, coords = calibration.model, calibration.coords
    if rows.size == n_rows:
        scored = calibration.own_eap
    else:
        data = encode(table.cells[rows], model, collapsing=False)
        scored = score_abilities(data, model, coords, calibration.population, "eap")
    return Residuals(
        model,
        coords,
        table,
        rows,
        scored.ability,
        np.where(np.isfinite(scored.se), scored.se, 0.0),
        np.ones(rows.size) if weights is None else weights[rows],
    )

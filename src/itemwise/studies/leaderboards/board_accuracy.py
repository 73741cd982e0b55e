"""The scale that abilities on a leaderboard come from."""

from __future__ import annotations

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation.common_factor import common_factor
from itemwise.estimation.rightness import calibrate_by_rightness
from itemwise.models import MeasurementModel
from itemwise.responses import Responses

LONGEST = 100  # iterations: abilities from few responses are imprecise anyway
LEAST = 3  # respondents needed for a scale


def check_known(known: object, table: Responses) -> None:
    """Refuse a calibration that is not of this table: its abilities would be of others."""
    if known is None:
        return
    if not isinstance(known, Calibration):
        raise InputError(
            f"calibration is a {type(known).__name__}; give what itemwise.calibrate(responses) "
            "returned, or leave it out."
        )
    own = known.responses
    if own is None or own is table:
        return
    if (own.respondents, own.items) != (table.respondents, table.items):
        raise InputError(
            "calibration is of other respondents or items than responses. Give the calibration of "
            "these responses, or leave it out."
        )


def ability_scale(
    table: Responses, model: str | MeasurementModel, known: Calibration | None = None
) -> tuple[Calibration | None, list[str]]:
    """Return the calibration that abilities come from, if there is one, and notes on it.

    It is the one that is `known`, if it was fitted to this very table.
    """
    if table.n_respondents < LEAST:
        return None, [f"Abilities are not estimated: at least {LEAST} respondents are needed."]
    known = known if known is not None and known.responses is table else None
    notes: list[str] = []
    try:
        found = known or calibrate_by_rightness(table, model, max_iterations=LONGEST)
    except InputError as reason:
        return None, [f"Abilities are not estimated: {reason}"]
    if table.kind == "continuous":
        factor = common_factor(table, found.model)
        if not factor.found:
            return None, [factor.note]
    if not found.converged:
        notes.append("The calibration did not converge: treat abilities as approximate.")
    return found, [*notes, *(() if known else found.notes)]

"""What is diagnosed: a calibration, and the responses to hold against it."""

from __future__ import annotations

import numpy as np

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.numerics.quadrature import Nodes
from itemwise.responses import Responses, Table, as_responses
from itemwise.scoring import Population
from itemwise.scoring.likelihood import plan_nodes


def checked_calibration(calibration: object, owner: str) -> None:
    """Refuse what is no calibration, and say how to get one."""
    if not isinstance(calibration, Calibration):
        raise InputError(
            f"{owner} needs a calibration, but was given {type(calibration).__name__}. "
            f"Calibrate the responses first: {owner}(itemwise.calibrate(responses))."
        )


def own_or_given(
    calibration: Calibration, responses: Table | None, owner: str
) -> tuple[Responses, Floats]:
    """The responses given, or the calibration's own; how many respondents each row stands for."""
    checked_calibration(calibration, owner)
    if responses is not None and responses is not calibration.responses:
        given = as_responses(responses, calibration.model.kind)
        return given, np.ones(given.n_respondents)
    own = calibration.responses
    if own is None:
        raise InputError(
            "This calibration holds items, not responses: it was loaded from a file. "
            f"Give them, as in {owner}(calibration, responses)."
        )
    weights = calibration.weights
    return own, np.ones(own.n_respondents) if weights is None else weights


def population_nodes(
    model: MeasurementModel, coords: Floats, population: Population
) -> tuple[Nodes, Floats]:
    """Nodes for some items, and the share of the population at each fine one."""
    nodes = plan_nodes(model, coords, population)
    weights = np.exp(nodes.log_weights - nodes.log_weights.max())
    return nodes, weights / weights.sum()

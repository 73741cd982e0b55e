"""A diagnosis, and what it is made of: a calibration, its responses, its usable items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation.fits import ALL_RIGHT, ALL_WRONG
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.numerics.quadrature import Nodes
from itemwise.responses import Responses, Table, as_responses
from itemwise.results import Result
from itemwise.scoring import Population
from itemwise.scoring.posterior import plan_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Result):
    """What a check of a calibration found."""

    leads: ClassVar[bool] = False


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


def alike(calibration: Calibration) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Items that all got right, and items that all got wrong: their parameters mean nothing."""
    flags = calibration.flags
    right, wrong = (
        np.array([word in words for words in flags], dtype=bool) for word in (ALL_RIGHT, ALL_WRONG)
    )
    return right, wrong


def informative(calibration: Calibration) -> NDArray[np.bool_]:
    """Items on which respondents differ."""
    solved, unsolved = alike(calibration)
    return ~(solved | unsolved)


def upright_items(calibration: Calibration) -> NDArray[np.bool_]:
    """All items but those that better respondents miss more often than worse ones."""
    slope = calibration.model.parameters(calibration.coords)["discrimination"]
    return (slope >= 0) | ~informative(calibration)

"""The staged estimate of ability, that of decodIRT.

Ten groups of items, from easy to hard. Each group alone gives an estimate, so that the last and
hardest group decides. Where a respondent gets a whole group right or wrong, no maximum of the
likelihood exists, and the estimate goes half the way to the hardest or the easiest item (Dodd,
1990).
"""

from __future__ import annotations

import numpy as np

from ogive.errors import InputError
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Array, Floats
from ogive.responses.encoding import encode
from ogive.scoring.abilities import Abilities, score_abilities
from ogive.scoring.likelihood_modes import LEAST_INFORMATION

GROUPS = 10


def staged_abilities(
    cells: Array, model: MeasurementModel, coords: Floats, groups: int = GROUPS
) -> Abilities:
    """Ability of every row of right (1) and wrong (0) responses; -1 was never asked.

    All groups have the same size; the hardest items that do not fill a group are left out. The
    standard error is that of the last group alone, at the estimate.
    """
    if model.kind != "binary":
        raise InputError(
            f"The staged estimate is for right and wrong responses, but the model is "
            f"{model.name}. Choose another method, such as 'eap'."
        )
    difficulty = model.parameters(coords)["difficulty"]
    size = difficulty.size // groups
    if not size:
        raise InputError(
            f"The staged estimate needs {groups} items or more, but there are {difficulty.size}. "
            "Choose another method, such as 'eap'."
        )
    order = np.argsort(difficulty, kind="stable")[: groups * size]
    asked = cells >= 0
    ability = (cells == 1).sum(axis=1) / np.maximum(asked.sum(axis=1), 1)
    at_bound = np.zeros(ability.size, dtype=bool)
    for group in np.split(order, groups):
        there, part = asked[:, group], cells[:, group]
        right, wrong = (~there | (part == 1)).all(axis=1), (part != 1).all(axis=1)
        found = _most_likely(part, model.of_items(group), coords[group])
        found = np.where(right, 0.5 * (ability + difficulty.max()), found)
        found = np.where(wrong, 0.5 * (ability + difficulty.min()), found)
        some = there.any(axis=1)
        ability = np.where(some, found, ability)
        at_bound = np.where(some, right | wrong, at_bound)
    last = order[-size:]
    information = model.of_items(last).information(coords[last], ability)
    told = (asked[:, last].T * information).sum(axis=0)
    return Abilities(ability, 1 / np.sqrt(np.maximum(told, LEAST_INFORMATION)), at_bound)


def _most_likely(cells: Array, model: MeasurementModel, coords: Floats) -> Floats:
    data = encode(cells, model, collapsing=False)
    return score_abilities(data, model, coords, method="ml").ability

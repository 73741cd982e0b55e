"""Answers of one respondent to one item are alike: how many of them count as independent.

A model that knows an item gets it right in every epoch. Whatever an item means to one respondent
beyond its difficulty and the respondent's ability makes repeated answers correlate, and a binomial
likelihood that takes them as independent is too sure. With an intraclass correlation of r, n
answers are worth n / (1 + (n - 1) r) (Williams, 1982).
"""

from __future__ import annotations

import numpy as np

from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.responses.encoding import effective_tries, encode
from ogive.scoring import Population, score_abilities

SURE = 2.0  # standard errors
NEGLIGIBLE = 0.01  # correlation below which tries count as they are
HIGHEST = 0.99
LEAST_FREEDOM = 0.1  # share of cells that are left after what was estimated from them


def dependence(
    cells: Floats,
    tries: np.ndarray,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    weights: Floats | None = None,
) -> float:
    """Intraclass correlation of the answers within a cell, given ability and difficulty.

    By the method of moments: squares of (right - expected) exceed the binomial variance by the
    factor 1 + (n - 1) r. Items and abilities were fitted to the same answers, which is allowed for
    by the share of cells that they take up; an ability that leans on its population takes up less
    than one. 0 if what was found is within two standard errors of it.
    """
    data = encode(cells, model, collapsing=False, tries=tries)
    scored = score_abilities(data, model, coords, population, "eap")
    chance = model.expected(coords, scored.ability).T
    rows = np.ones(len(cells)) if weights is None else weights
    apart = np.where(tries > 0, (np.nan_to_num(cells) * tries - tries * chance) ** 2, 0.0)
    each = chance * (1.0 - chance)
    single = tries * each
    leaning = np.clip(1.0 - (scored.se / population.sd) ** 2, 0.0, 1.0)
    own = int((~model.shared).sum()) * cells.shape[1]
    taken = (own + leaning.sum()) / max(int((tries > 0).sum()), 1)
    free = max(1.0 - taken, LEAST_FREEDOM)
    beyond = (rows @ apart).sum() / free - (rows @ single).sum()
    most = (rows @ (single * (tries - 1.0))).sum()
    noise = np.sqrt((rows @ (2 * single**2 + single * (1 - 6 * each))).sum())  # of binomial squares
    if most <= 0 or beyond < SURE * noise:
        return 0.0
    return float(np.clip(beyond / most, 0.0, HIGHEST))


def said_of_dependence(found: float, tries: np.ndarray) -> str:
    """What to say of it, with the worth of the most tries."""
    most = int(tries.max())
    worth = float(effective_tries(np.array([most]), found)[0])
    return (
        "Answers of a respondent to the same item are more alike than the model explains "
        f"(intraclass correlation {found:.2f}): {most:,} tries count as {worth:.1f} independent "
        "ones."
    )

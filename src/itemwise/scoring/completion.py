"""What the mean over all items would be: responses where there are any, expectations elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, Floats
from itemwise.responses.cells import as_floats
from itemwise.responses.encoding import Encoded
from itemwise.scoring.abilities import FARTHEST
from itemwise.scoring.likelihood import Posterior, plan_nodes
from itemwise.scoring.population import Population


@dataclass(frozen=True, eq=False)
class Completion:
    """The mean over all items of each respondent, as far as it is known."""

    mean: Floats  # (n_respondents,)
    se: Floats
    asked: Floats  # how many items were


def completed_means(
    data: Encoded, cells: Array, model: MeasurementModel, coords: Floats, population: Population
) -> Completion:
    """Mean response over all items, given some of them; `cells` are the responses as stored.

    What was never asked is expected from the posterior of ability. The standard error holds both
    parts of what is not known: where the respondent stands, and how single responses will fall.
    A test that was asked whole has none.
    """
    # Only items that somebody was asked can make a posterior narrow.
    there = np.flatnonzero(~np.isnan(as_floats(cells)).all(axis=0))
    asked_of = there if there.size else np.arange(len(coords))
    nodes = plan_nodes(
        model.of_items(asked_of), coords[asked_of], population, population.reach(FARTHEST)
    )
    posterior_of = Posterior(model.log_terms(coords, nodes.coarse), nodes)
    chance, noise = model.expected(coords, nodes.fine), model.variance(coords, nodes.fine)
    parts = []
    for rows in data.blocks(nodes.fine.size):
        weights, _ = posterior_of(data.block(rows))
        known = as_floats(cells[rows])
        open_ = np.isnan(known).astype(float)
        left = open_ @ chance  # expected sum of what was not asked, at each node
        expected = (weights * left).sum(axis=1)
        spread = (weights * (left - expected[:, None]) ** 2).sum(axis=1)
        spread += (weights * (open_ @ noise)).sum(axis=1)
        total = np.nansum(known, axis=1) + expected
        parts.append((total, np.sqrt(spread), known.shape[1] - open_.sum(axis=1)))
    total, error, asked = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Completion(total / len(coords), error / len(coords), asked)

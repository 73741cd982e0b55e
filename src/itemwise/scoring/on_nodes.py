"""Likelihoods of respondents along the scale, for work that brings its own population."""

from __future__ import annotations

import numpy as np

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.responses.encoding import Encoded
from itemwise.scoring.likelihood import LOWEST, LogLikelihood, plan_nodes
from itemwise.scoring.population import Population

FINER = 0.5  # steps, so that a population narrower than the usual one leaves enough of them


def likelihood_on_nodes(
    data: Encoded, model: MeasurementModel, coords: Floats, population: Population
) -> tuple[Floats, Floats]:
    """Equally spaced abilities, and the log-likelihood of each row there, (n_rows, n_nodes)."""
    nodes = plan_nodes(model, coords, population, coarsening=FINER)
    log_likelihood = LogLikelihood(model.log_terms(coords, nodes.coarse))
    parts = []
    for rows in data.blocks(nodes.fine.size):
        found = log_likelihood(data.block(rows))
        if nodes.interpolation is not None:
            # As in the posterior: what is all but impossible must not swamp the rest.
            floor = found.max(axis=1, keepdims=True) - LOWEST
            found = np.maximum(found, floor) @ nodes.interpolation
        parts.append(found)
    return nodes.fine, np.concatenate(parts)

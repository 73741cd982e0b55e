"""Responses along the scale: their likelihood, their posterior, and the nodes for both."""

from __future__ import annotations

from math import sqrt

import numpy as np

from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, like
from itemwise.numerics.quadrature import Nodes, plan
from itemwise.responses.encoding import Block, Encoded
from itemwise.scoring.population import STANDARD, Population

LOWEST = 1_000.0  # nats below the best node at which a place no longer counts
PROBES = 121  # where information is looked at; a steep item must not hide between two

FINER = 0.5  # steps, so that a population narrower than the usual one leaves enough of them


class LogLikelihood:
    """Log-likelihood of rows at fixed abilities, as matrix products.

    `terms` is what the model says of the items, (1 + n_statistics, n_items, n_abilities).
    """

    def __init__(self, terms: Array) -> None:
        xp = array_namespace(terms)
        self._terms = terms
        self._constant = xp.sum(terms[0], axis=0)

    def __call__(self, block: Block) -> Array:
        """Log-likelihood of each row at each ability, (n_rows, n_abilities)."""
        total = block.statistics[0] @ self._terms[1]
        for statistic, term in zip(block.statistics[1:], self._terms[2:], strict=True):
            total += statistic @ term
        total += self._constant if block.observed is None else block.observed @ self._terms[0]
        return total


def normalised(joint: Array) -> tuple[Array, Array]:
    """Rows of log weights into rows that sum to one, and the log of what they summed to.

    Works in place: `joint` is used up.
    """
    xp = array_namespace(joint)
    top = xp.max(joint, axis=1, keepdims=True)
    joint -= top
    weights = np.exp(joint, out=joint) if isinstance(joint, np.ndarray) else joint.exp_()
    total = xp.sum(weights, axis=1, keepdims=True)
    weights /= total
    return weights, (top + xp.log(total))[:, 0]


class Posterior:
    """Where respondents may stand, on nodes, given the items.

    Responses meet the items on the coarse nodes; the posterior lives on the fine ones. All is
    computed in the precision of `terms`.
    """

    def __init__(self, terms: Array, nodes: Nodes) -> None:
        xp = array_namespace(terms)

        def placed(values: Floats) -> Array:
            return xp.astype(like(values, terms), terms.dtype, copy=False)

        self.abilities = placed(nodes.fine)  # (n_fine,)
        self._likelihood = LogLikelihood(terms)
        self._log_weights = placed(nodes.log_weights)
        self._refine = None if nodes.interpolation is None else placed(nodes.interpolation)

    def __call__(self, block: Block) -> tuple[Array, Array]:
        """Posterior weights, (n_rows, n_fine), and the log-likelihood of each row."""
        joint = self._likelihood(block)
        if self._refine is not None:
            # What is all but impossible must not swamp the rest between the nodes.
            xp = array_namespace(joint)
            floor = xp.max(joint, axis=1, keepdims=True) - LOWEST
            in_place = {"out": joint} if isinstance(joint, np.ndarray) else {}
            joint = xp.maximum(joint, floor, **in_place) @ self._refine
        joint += self._log_weights
        return normalised(joint)

    def on_coarse(self, weights: Array) -> Array:
        """Weights on the fine nodes, (n_rows, n_fine), as the coarse ones carry them."""
        return weights if self._refine is None else weights @ self._refine.T


def plan_nodes(
    model: MeasurementModel,
    coords: Array,
    population: Population = STANDARD,
    reach: tuple[float, float] | None = None,
    coarsening: float = 1.0,
) -> Nodes:
    """Nodes fine enough for the narrowest posterior that these items can give."""
    xp = array_namespace(coords)
    low, high = reach or population.reach()
    probe = like(np.linspace(low, high, PROBES), coords)
    information = model.information(coords, probe)
    most = model.surprise * float(xp.max(xp.sum(information, axis=0)))
    narrowest = 1 / sqrt(1 / population.sd**2 + most)
    steepest = 2 * sqrt(float(xp.max(information)))  # a logistic curve tells at most slope² / 4
    return plan(narrowest, low, high, population.log_density, max(steepest, 1e-6), coarsening)


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

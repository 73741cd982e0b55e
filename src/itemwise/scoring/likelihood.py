"""How likely responses are at given abilities, and what that says of the respondents."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from itemwise.errors import InputError
from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, like
from itemwise.numerics.quadrature import REACH, Nodes, normal_nodes
from itemwise.responses.encoding import Block

PROBES = 121  # where information is looked at; a steep item must not hide between two


@dataclass(frozen=True)
class Population:
    """Where respondents come from: a normal distribution of abilities."""

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.sd) and self.sd > 0):
            raise InputError(
                f"The population has mean {self.mean} and sd {self.sd}; "
                "give a finite mean and an sd above 0."
            )

    def reach(self, deviations: float = REACH) -> tuple[float, float]:
        """The ends of the scale, that many deviations from the mean."""
        return self.mean - deviations * self.sd, self.mean + deviations * self.sd


STANDARD = Population()


class LogLikelihood:
    """Log-likelihood of rows at fixed abilities, as matrix products.

    `log_prob` is what the model says of the items, (n_categories, n_items, n_abilities).
    """

    def __init__(self, log_prob: Array) -> None:
        xp = array_namespace(log_prob)
        self._first = log_prob[0]
        self._all_first = xp.sum(log_prob[0], axis=0)
        self._gains = [log_prob[k] - log_prob[0] for k in range(1, log_prob.shape[0])]

    def __call__(self, block: Block) -> Array:
        """Log-likelihood of each row at each ability, (n_rows, n_abilities)."""
        total = block.indicators[0] @ self._gains[0]
        for indicator, gain in zip(block.indicators[1:], self._gains[1:], strict=True):
            total += indicator @ gain
        total += self._all_first if block.observed is None else block.observed @ self._first
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
    computed in the precision of `log_prob`.
    """

    def __init__(self, log_prob: Array, nodes: Nodes) -> None:
        xp = array_namespace(log_prob)

        def placed(values: Floats) -> Array:
            return xp.astype(like(values, log_prob), log_prob.dtype, copy=False)

        self.abilities = placed(nodes.fine)  # (n_fine,)
        self._likelihood = LogLikelihood(log_prob)
        self._log_weights = placed(nodes.log_weights)
        self._refine = None if nodes.interpolation is None else placed(nodes.interpolation)

    def __call__(self, block: Block) -> tuple[Array, Array]:
        """Posterior weights, (n_rows, n_fine), and the log-likelihood of each row."""
        joint = self._likelihood(block)
        joint = joint if self._refine is None else joint @ self._refine
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
    narrowest = 1 / sqrt(1 / population.sd**2 + float(xp.max(xp.sum(information, axis=0))))
    steepest = 2 * sqrt(float(xp.max(information)))  # a logistic curve tells at most slope² / 4
    return normal_nodes(
        narrowest, low, high, population.mean, population.sd, max(steepest, 1e-6), coarsening
    )

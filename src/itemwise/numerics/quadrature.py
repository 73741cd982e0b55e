"""Integration over ability.

Equally spaced nodes integrate a bell curve to 1e-7 when their spacing is at most 1.1 of its
standard deviation, and better than Gauss-Hermite nodes once posteriors are narrow. Long tests
make posteriors so narrow that the nodes would be many; then the log-likelihood, which is
smooth, is computed on coarse nodes and interpolated to the fine ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log

import numpy as np

from itemwise.numerics.arrays import Floats

WIDEST_STEP = 1.1  # in standard deviations of the narrowest posterior
MOST_PLAIN_NODES = 161  # beyond this, interpolation is cheaper than larger matrix products
COARSE_NODES = 121
MOST_FINE_NODES = 10_000  # only items without noise would need more
MOST_COARSE_NODES = 321  # for the steepest curves: interpolation wants more of them
STEEPEST_STEP = 1.2  # in log-odds; a sum over a logistic curve is then exact to 1e-7
SMOOTHEST_STEP = 0.5  # in log-odds; its logarithm is then interpolated to 1e-5
STENCIL = 8


@dataclass(frozen=True, eq=False)
class Nodes:
    """Where integrals are evaluated: `coarse` carries the responses, `fine` the posterior.

    `interpolation` maps values on `coarse` to `fine`; None where the two are the same.
    """

    coarse: Floats  # (n_coarse,)
    fine: Floats  # (n_fine,)
    log_weights: Floats  # (n_fine,)
    interpolation: Floats | None = None  # (n_coarse, n_fine)

    @property
    def step(self) -> float:
        """Distance between neighbouring fine nodes."""
        return float(self.fine[1] - self.fine[0])


def plan(
    narrowest: float,
    low: float,
    high: float,
    log_density: Callable[[Floats], Floats],
    steepest: float = 1.0,
    coarsening: float = 1.0,
) -> Nodes:
    """Nodes on [low, high], fine enough for posteriors of standard deviation `narrowest` or wider.

    `steepest` is the largest change of log-odds by a unit of ability that a curve has; between
    nodes too far apart, a steep curve would go unseen. With a `coarsening` above 1, steps are
    that much longer: good enough to find the way, not to arrive.
    """
    step = coarsening * min(WIDEST_STEP * narrowest, STEEPEST_STEP / steepest)
    intervals = ceil(min(max(60 / coarsening, (high - low) / step), MOST_FINE_NODES))
    smooth = ceil((high - low) * steepest / SMOOTHEST_STEP)
    parts = min(max(smooth, COARSE_NODES - 1), MOST_COARSE_NODES - 1)
    if intervals < max(MOST_PLAIN_NODES, 1.5 * parts):
        fine = np.linspace(low, high, intervals + 1)
        return Nodes(fine, fine, log_density(fine) + log(fine[1] - fine[0]))
    coarse = np.linspace(low, high, parts + 1)
    fine = np.linspace(low, high, parts * ceil(intervals / parts) + 1)
    weights = log_density(fine) + log(fine[1] - fine[0])
    return Nodes(coarse, fine, weights, interpolation_matrix(coarse, fine))


def interpolation_matrix(coarse: Floats, fine: Floats, stencil: int = STENCIL) -> Floats:
    """Local Lagrange interpolation from equally spaced `coarse` points to `fine` ones.

    Column k holds the weights of the `stencil` coarse points around fine point k, so that
    values_on_fine = values_on_coarse @ matrix.
    """
    n = coarse.size
    place = (fine - coarse[0]) / (coarse[1] - coarse[0])
    first = np.clip(np.floor(place).astype(int) - stencil // 2 + 1, 0, n - stencil)
    offset = place - first
    matrix = np.zeros((n, fine.size))
    for i in range(stencil):
        others = [k for k in range(stencil) if k != i]
        weight = np.prod([(offset - k) / (i - k) for k in others], axis=0)
        matrix[first + i, np.arange(fine.size)] = weight
    return matrix

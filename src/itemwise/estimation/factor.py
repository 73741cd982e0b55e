"""The maximum of the continuous model as a factor analysis with one factor (Jöreskog, 1967).

Given the noise of each item, the best loadings are the first eigenvector of the covariance in
units of the noise. So only the noise is searched, which L-BFGS does in some dozen steps where EM,
on items that tell the same, creeps for thousands.

The search begins at the first principal component: what all items share. Where two groups of items
tell different things, the likelihood has a maximum for each group, too, and one of those may be
higher; it describes that group, not the table.
"""

from __future__ import annotations

import numpy as np

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, as_numpy, like
from itemwise.responses.encoding import Encoded

MOST_ITEMS = 300  # an eigenvector of more takes longer than it saves
MOST_STEPS = 500
NEARLY_NONE = 0.02  # of an item's variance, as noise to begin with


def factor_start(data: Encoded, model: MeasurementModel) -> Array | None:
    """Coordinates at the maximum of the likelihood; None where another start is needed."""
    if not model.normal or data.moments is None or not 3 <= data.shape[1] <= MOST_ITEMS:
        return None
    mean, covariance = (np.array(as_numpy(part), dtype=float) for part in data.moments)
    variance = np.diag(covariance)
    least = float(np.exp(2 * model.coordinates[2].low))
    varied = variance > least
    if varied.sum() < 3:
        return None
    loading, noise = _maximum(covariance[np.ix_(varied, varied)], least)
    coords = np.zeros((len(mean), 3))
    coords[:, 1] = mean
    coords[varied, 0] = loading if loading.sum() >= 0 else -loading
    coords[:, 2] = 0.5 * np.log(least)
    coords[varied, 2] = 0.5 * np.log(noise)
    found: Array = like(coords, data.cells)
    return found


def _maximum(covariance: Floats, least: float) -> tuple[Floats, Floats]:
    """Loadings and noise variances at the maximum that is nearest to the first component."""
    from scipy.optimize import minimize

    variance = np.diag(covariance).copy()
    size, directions = np.linalg.eigh(covariance / np.sqrt(np.outer(variance, variance)))
    alone = np.clip(1 - size[-1] * directions[:, -1] ** 2, NEARLY_NONE, None)
    found = minimize(
        _misfit,
        np.log(np.clip(alone * variance, least, variance)),
        args=(covariance,),
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(least), np.log(top)) for top in variance],
        options={"maxiter": MOST_STEPS, "ftol": 1e-15, "gtol": 1e-9},
    )
    noise = np.exp(found.x)
    return _loading(covariance, noise), noise


def _misfit(log_noise: Floats, covariance: Floats) -> tuple[float, Floats]:
    """Minus twice the log-likelihood of a row, but for a constant, and its slope."""
    noise = np.exp(log_noise)
    loading = _loading(covariance, noise)
    pull = loading / noise
    size = 1 + float(loading @ pull)
    inverse = np.diag(1 / noise) - np.outer(pull, pull) / size
    told = inverse @ covariance
    value = float(log_noise.sum() + np.log(size) + np.trace(told))
    slope = noise * (np.diag(inverse) - np.einsum("ij,ji->i", told, inverse))
    return value, slope


def _loading(covariance: Floats, noise: Floats) -> Floats:
    """The best loadings for this noise."""
    from scipy.linalg import eigh

    root = np.sqrt(noise)
    last = len(noise) - 1
    size, vector = eigh(covariance / np.outer(root, root), subset_by_index=[last, last])
    loading: Floats = root * vector[:, 0] * np.sqrt(max(float(size[0]) - 1, 0.0))
    return loading

"""Starting values, restarts, saddle points, orientation.

Where engines begin.

`start` takes item means and the first principal component of the responses: beginning at equal
slopes stops at a saddle when many items discriminate negatively; the component does not care for
the sign of an item.

`factor_start` is the maximum of the continuous model without priors, a factor analysis with one
factor (Jöreskog, 1967); with its default prior it is all but the penalised one. Given the noise of
each item, the best loadings are the first eigenvector of the covariance in units of the noise. So
only the noise is searched, which L-BFGS does in some dozen steps where EM, on items that measure
the same, needs thousands. The search begins at the first principal component: what all items share.
Where two groups of items measure different things, the likelihood has a maximum for each group,
too, and one of those may be higher; it describes that group, not the table.

Other maxima of single items: where an item would stand had it begun elsewhere.

Without a prior, a curve with asymptotes has several maxima, and an item keeps to the one that was
nearest when it came by. With the E-step's sums at hand, other beginnings cost little; where one
leads higher, so does the likelihood of the whole table (Dempster, Laird and Rubin, 1977).
"""

from __future__ import annotations

import numpy as np

from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.fit import Tables, of_items
from ogive.irt.estimation.m_step import bounded_step, climb_items, item_slopes, item_values
from ogive.irt.models.base import MeasurementModel
from ogive.stats.array_backend import Array, Floats, Run, array_namespace, as_numpy, by_items, like
from ogive.stats.linked_parts import linked_parts

ROUNDING = 1e-12  # of the size of a column; less is no spread
MOST_ROWS = 2_000  # a sample this large finds the direction
MOST_TURNS = 30

MOST_ITEMS = 300  # an eigenvector of more takes longer than it saves
MOST_STEPS = 500
NEARLY_NONE = 0.02  # of an item's variance, as noise to begin with


def start(data: Encoded, model: MeasurementModel) -> Array:
    """Return coordinates from item means and loadings on the first principal component."""
    xp = array_namespace(data.weights)
    sample = data.every(data.shape[0] // MOST_ROWS)
    everyone = slice(None)
    block, weights = sample.block(everyone), sample.counted(everyone)
    asked = weights @ block.asked
    some = xp.clip(asked, 1e-300, None)
    means = xp.stack([weights @ table / some for table in block.statistics])
    table = 0 * block.asked
    for weight, statistic in zip(model.direction, block.statistics, strict=True):
        table = table + weight * statistic
    table = centred(table, block.asked, weights)
    return model.start(means, asked, loadings_of_parts(table, block.asked, weights))


def loadings_of_parts(table: Array, asked: Array, weights: Array) -> Array:
    """Return `loadings` of each part of the table that no item links to the rest, by itself.

    Of unlinked parts, the first principal component is that of one of them, and the signs of the
    others in it mean nothing.
    """
    xp = array_namespace(table)
    if bool(xp.all(asked > 0)):
        return loadings(table, weights)
    rows, columns = linked_parts(as_numpy(asked) > 0)
    if not columns.any():
        return loadings(table, weights)
    whole, counts, found = as_numpy(table), as_numpy(weights), np.zeros(columns.size)
    for k in np.flatnonzero(np.bincount(rows) > 1):
        mine, items = rows == k, columns == k
        found[items] = loadings(whole[np.ix_(mine, items)], counts[mine])
    return like(found, table)


def centred(table: Array, asked: Array, weights: Array) -> Array:
    """Columns less their means; 0 for constant ones, of which a mean may leave rounding errors."""
    xp = array_namespace(table)
    mean = weights @ table / xp.clip(weights @ asked, 1e-300, None)
    found = table - mean * asked
    constant = weights @ found**2 <= ROUNDING**2 * (weights @ table**2)
    return xp.where(constant, 0 * found, found)


def loadings(table: Array, weights: Array) -> Array:
    """Return correlation of each centred column with the first principal component."""
    xp = array_namespace(table)
    spread = xp.sqrt(weights @ table**2)
    scale = 1 / xp.where(spread > 0, spread, 0 * spread + 1)
    scaled = table * (xp.sqrt(weights)[:, None] * scale)
    # Start from a fixed draw: no column, and no sum of columns, is safe from being orthogonal.
    direction = like(np.random.default_rng(0).standard_normal(table.shape[1]), table)
    value = 0.0
    for _ in range(MOST_TURNS):
        direction = direction / xp.clip(xp.linalg.vector_norm(direction), 1e-300, None)
        component = scaled @ direction
        last, value = value, float(component @ component)
        direction = component @ scaled
        if abs(value - last) <= 1e-4 * value:
            break
    loading = direction / max(value, 1e-300) ** 0.5
    return loading if float(xp.sum(loading)) >= 0 else -loading


def factor_start(data: Encoded, model: MeasurementModel) -> Array | None:
    """Return coordinates at the maximum of the likelihood; None where another start is needed."""
    if not model.normal or data.moments is None or not 3 <= data.shape[1] <= MOST_ITEMS:
        return None
    mean, covariance = (np.array(as_numpy(part), dtype=float) for part in data.moments)
    variance = np.diag(covariance)
    least = float(np.exp(2 * model.coordinates[2].low))
    varied = variance > least
    if varied.sum() < 3:
        return None
    n = data.n_respondents
    weight = 0.0 if model.coordinates[0].prior is None else 1 / n
    loading, noise = _maximum(covariance[np.ix_(varied, varied)], least, weight)
    slope = loading / np.sqrt(noise)
    coords = np.zeros((len(mean), 3))
    coords[:, 1] = mean
    coords[varied, 0] = slope if loading.sum() >= 0 else -slope
    coords[:, 2] = 0.5 * np.log(least)
    coords[varied, 2] = 0.5 * np.log(noise)
    found: Array = like(coords, data.weights)
    return found


def _maximum(covariance: Floats, least: float, weight: float = 0.0) -> tuple[Floats, Floats]:
    """Return loadings and noise variances at the maximum that is nearest to the first component.

    `weight` is that of Martin and McDonald's penalty, in rows.
    """
    from scipy.optimize import minimize

    variance = np.diag(covariance).copy()
    size, directions = np.linalg.eigh(covariance / np.sqrt(np.outer(variance, variance)))
    alone = np.clip(1 - size[-1] * directions[:, -1] ** 2, NEARLY_NONE, None)
    found = minimize(
        _misfit,
        np.log(np.clip(alone * variance, least, variance)),
        args=(covariance, weight),
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(least), np.log(top)) for top in variance],
        options={"maxiter": MOST_STEPS, "ftol": 1e-15, "gtol": 1e-9},
    )
    noise = np.exp(found.x)
    return _loading(covariance, noise), noise


def _misfit(log_noise: Floats, covariance: Floats, weight: float = 0.0) -> tuple[float, Floats]:
    """Minus twice the penalised log-likelihood of a row, but for a constant, and its slope."""
    noise = np.exp(log_noise)
    loading = _loading(covariance, noise)
    pull = loading / noise
    size = 1 + float(loading @ pull)
    inverse = np.diag(1 / noise) - np.outer(pull, pull) / size
    told = inverse @ covariance
    value = float(log_noise.sum() + np.log(size) + np.trace(told))
    slope = noise * (np.diag(inverse) - np.einsum("ij,ji->i", told, inverse))
    penalty = weight * np.diag(covariance) / noise
    return value + float(penalty.sum()), slope - penalty


def _loading(covariance: Floats, noise: Floats) -> Floats:
    """Return the best loadings for this noise."""
    from scipy.linalg import eigh

    root = np.sqrt(noise)
    last = len(noise) - 1
    size, vector = eigh(covariance / np.outer(root, root), subset_by_index=[last, last])
    loading: Floats = root * vector[:, 0] * np.sqrt(max(float(size[0]) - 1, 0.0))
    return loading


STRETCHES = (0.4, 2.5, -1.0)  # flatter, steeper, and the other way round
STRIDES = (0.0, 1.0, 3.0)  # longest steps from the bound at which an asymptote begins again
ROUNDS = 2  # climbs of each item from each beginning
WORTH = 1e-6  # nats by which another maximum must be higher


def is_loose(model: MeasurementModel) -> bool:
    """Whether items of this model may have several maxima: it has asymptotes without priors."""
    return bool(_loose(model)) and not model.shared.any()


def look_around(
    model: MeasurementModel, coords: Array, tables: Tables, tilt: Array, run: Run = map
) -> tuple[Array, float]:
    """Every item at the highest maximum that other beginnings lead to, and what is gained."""
    here, pull = like(coords, tables[0]), like(tilt, tables[0])

    def look(items: slice) -> tuple[Array, Array]:
        return _look(model, here[items], of_items(tables, items), pull[items])

    found, gains = by_items(run, here, tables[0].shape[0], look)
    return like(found, coords), float(array_namespace(here).sum(gains))


def _look(
    model: MeasurementModel, coords: Array, tables: Tables, tilt: Array
) -> tuple[Array, Array]:
    xp = array_namespace(coords)
    best = coords
    first = value = item_values(model, coords, tables, tilt)
    for there in _beginnings(model, coords):
        for _ in range(ROUNDS):
            step, gains = bounded_step(model, there, item_slopes(model, there, tables, tilt))
            there = climb_items(model, there, step, gains, tables, tilt)
        reached = item_values(model, there, tables, tilt)
        better = reached > value + WORTH
        best = xp.where(better[:, None], there, best)
        value = xp.where(better, reached, value)
    return best, value - first


def _beginnings(model: MeasurementModel, coords: Array) -> list[Array]:
    """Return flatter, steeper and falling curves, and asymptotes at and off their bound."""
    xp = array_namespace(coords)
    found = [model.bounded(model.rescale(coords, 0.0, scale)) for scale in STRETCHES]
    for k in _loose(model):
        for stride in STRIDES:
            other = coords + 0
            other[:, k] = model.coordinates[k].low + stride * model.coordinates[k].longest
            found.append(other)
    return [xp.where(model.absent(coords), coords, other) for other in found]


def _loose(model: MeasurementModel) -> list[int]:
    """Return coordinates without a prior that begin at zero."""
    return [k for k, c in enumerate(model.coordinates) if c.prior is None and c.low == 0]

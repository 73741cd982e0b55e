"""First and second moments of the responses to items, as a model implies them.

The moments are means of single features of an item's response (its score, or whether it lies in a
category), and means of products of features of two items. At a given ability items are independent,
so that the covariance of all these means is one matrix product over the nodes, corrected for
moments that share an item. Margins of Maydeu-Olivares and Joe (2006), Cai and Hansen (2013), and
Cai and Monro (2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats, row_blocks

Ints = NDArray[np.signedinteger[Any]]

LEAST_VARIANCE = 1e-12  # variance below which a moment counts as fixed
LEAST_DIRECTION = 1e-8  # least length of a direction, relative to the longest
ROWS_AT_A_TIME = 4096
TRIANGLE_ROWS = 128


@dataclass(frozen=True, eq=False)
class Family:
    """Response probabilities on nodes, and their derivatives in the coordinates of the items."""

    prob: Floats  # (n_categories, n_items, n_nodes)
    slopes: Floats  # (width, n_categories, n_items, n_nodes): derivatives of prob
    weights: Floats  # (n_nodes,), of sum one
    free: NDArray[np.bool_]  # (n_items, width)
    shared: tuple[bool, ...]  # of each coordinate: one number for all items

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return sum(
            1 if common else int(self.free[:, k].sum()) for k, common in enumerate(self.shared)
        )


@dataclass(frozen=True, eq=False)
class Margins:
    """Moments that are compared: each is the mean of feature `left` times feature `right`.

    The last feature is the constant one, the right factor of a single feature.
    """

    owner: Ints  # (n_features,): the item of each feature
    value: Floats  # (n_features, n_categories)
    left: Ints  # (n_moments,)
    right: Ints  # (n_moments,)

    @property
    def size(self) -> int:
        """Number of moments."""
        return int(self.left.size)


def margins(statistic: str, n_items: int, n_categories: int) -> Margins:
    """Return the moments that belong to a statistic: "m2", "m2*" or "c2"."""
    items = np.arange(n_items)
    grades = np.arange(n_categories, dtype=float)[None]
    each = np.eye(n_categories)[1:]
    parts = [(items, np.repeat(grades, n_items, axis=0))]
    if statistic != "m2*" and n_categories > 2:
        single = (np.repeat(items, len(each)), np.tile(each, (n_items, 1)))
        parts = [single] if statistic == "m2" else [single, *parts]
    owner = np.concatenate([part[0] for part in parts])
    first, last = np.arange(parts[0][0].size), np.arange(owner.size)[-parts[-1][0].size :]
    left, right = (last[place] for place in np.triu_indices(last.size, 1))
    different_items = owner[left] < owner[right]
    return Margins(
        owner,
        np.concatenate([part[1] for part in parts]),
        np.concatenate([first, left[different_items]]),
        np.concatenate([np.full(first.size, owner.size), right[different_items]]),
    )


def n_moments(statistic: str, n_items: int, n_categories: int) -> int:
    """Return the number of moments of a statistic, without listing them."""
    each, pairs = n_categories - 1, n_items * (n_items - 1) // 2
    if statistic == "m2":
        return n_items * each + pairs * each**2
    return n_items * (each if statistic == "c2" else 1) + pairs


def observed_moments(cells: Ints, weights: Floats, chosen: Margins) -> Floats:
    """Return weighted means over complete rows, (n_moments,)."""
    n_features = chosen.owner.size
    products = np.zeros((n_features + 1, n_features + 1))
    for rows in row_blocks(cells.shape[0], ROWS_AT_A_TIME):
        table = np.ones((n_features + 1, cells[rows].shape[0]))
        for g in range(n_features):
            table[g] = chosen.value[g, cells[rows, chosen.owner[g]]]
        products += (table * weights[rows]) @ table.T
    return np.asarray(products[chosen.left, chosen.right] / weights.sum())


@dataclass(frozen=True, eq=False)
class Implied:
    """Moments under a model: their means, covariance in one row, derivatives."""

    means: Floats  # (n_moments,)
    covariance: Floats  # (n_moments, n_moments)
    jacobian: Floats  # (n_moments, n_free)


def implied_moments(family: Family, chosen: Margins) -> Implied:
    """Return moments under the model, with their covariance and derivatives."""
    # Mean of each feature at each node, the constant one last, (n_features + 1, n_nodes).
    features = np.einsum("gk,kgq->gq", chosen.value, family.prob[:, chosen.owner])
    features = np.concatenate([features, np.ones((1, features.shape[1]))])
    products = features[chosen.left] * features[chosen.right]
    values = products @ family.weights
    products -= values[:, None]
    covariance = (products * family.weights) @ products.T
    _add_shared_items(covariance, family, chosen, features)
    return Implied(values, covariance, _jacobian(family, chosen, features))


def _add_shared_items(
    covariance: Floats, family: Family, chosen: Margins, features: Floats
) -> None:
    """Add the covariance of moments that share one item, or both."""
    owner = np.append(chosen.owner, -1)
    spread = {}
    for item in range(family.prob.shape[1]):
        own = np.flatnonzero(chosen.owner == item).tolist()
        place, other = {}, {}  # of each feature: its moments, and the other feature there
        for g in own:
            left, right = np.flatnonzero(chosen.left == g), np.flatnonzero(chosen.right == g)
            place[g] = np.concatenate([left, right])
            other[g] = np.concatenate([chosen.right[left], chosen.left[right]])
        for g in own:
            for h in own:
                both = (chosen.value[g] * chosen.value[h]) @ family.prob[:, item]
                spread[g, h] = both - features[g] * features[h]
                weighted = features[other[g]] * (family.weights * spread[g, h])
                covariance[np.ix_(place[g], place[h])] += weighted @ features[other[h]].T
    pair = owner[chosen.left] * (family.prob.shape[1] + 1) + owner[chosen.right]
    order = np.argsort(pair, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        if chosen.right[group[0]] == chosen.owner.size:
            continue
        left, right = chosen.left[group], chosen.right[group]
        for a, place in enumerate(group):
            shared = [
                spread[left[a], left[b]] * spread[right[a], right[b]] @ family.weights
                for b in range(group.size)
            ]
            covariance[place, group] += shared


def _jacobian(family: Family, chosen: Margins, features: Floats) -> Floats:
    """Return derivatives of the moments in the free numbers, (n_moments, n_free)."""
    n_items, moments = family.prob.shape[1], np.arange(chosen.size)
    paired = chosen.right != chosen.owner.size
    columns = []
    for k, common in enumerate(family.shared):
        moved = np.einsum("gk,kgq->gq", chosen.value, family.slopes[k][:, chosen.owner])
        meeting = (moved * family.weights) @ features.T  # (n_features, n_features + 1)
        found = np.zeros((chosen.size, n_items))
        found[moments, chosen.owner[chosen.left]] = meeting[chosen.left, chosen.right]
        left, right = chosen.left[paired], chosen.right[paired]
        found[moments[paired], chosen.owner[right]] = meeting[right, left]
        columns.append(found.sum(axis=1, keepdims=True) if common else found[:, family.free[:, k]])
    return np.concatenate(columns, axis=1)


def quadratic_form(residual: Floats, implied: Implied, count: float) -> tuple[float, int]:
    """Return the statistic and its degrees of freedom.

    Directions of the free parameters are projected out of the residuals, so that the result is
    chi-square for any consistent estimate.
    """
    deviation = np.sqrt(np.maximum(np.diag(implied.covariance), 0.0))
    kept = np.flatnonzero(deviation > np.sqrt(LEAST_VARIANCE))
    scale = deviation[kept]
    correlation = implied.covariance[np.ix_(kept, kept)]
    correlation /= scale[:, None]
    correlation /= scale
    columns = np.column_stack([residual[kept], implied.jacobian[kept]]) / scale[:, None]
    white = _whitened(correlation, columns)
    slopes = white[:, 1:]
    length = np.sqrt((slopes**2).sum(axis=0))
    moving = slopes[:, length > 0] / length[length > 0]
    directions = np.zeros((slopes.shape[0], 0))  # an orthonormal basis
    if moving.size:
        left, size, _ = np.linalg.svd(moving, full_matrices=False)
        directions = left[:, size > LEAST_DIRECTION * size[0]]
    rest = white[:, 0] - directions @ (directions.T @ white[:, 0])
    return count * float(rest @ rest), white.shape[0] - directions.shape[1]


def _whitened(correlation: Floats, columns: Floats) -> Floats:
    """Return `columns` in coordinates in which the moments are uncorrelated with variance one."""
    try:
        lower: Floats = np.linalg.cholesky(correlation).astype(float, copy=False)
    except np.linalg.LinAlgError:  # some moments follow from others: keep the directions that vary
        values, vectors = np.linalg.eigh(correlation)
        kept = values > LEAST_DIRECTION * values[-1]
        return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T @ columns)
    # Solve the triangular system in blocks: SciPy would use the unlimited threads of its own BLAS.
    found = np.empty_like(columns)
    for rows in row_blocks(lower.shape[0], TRIANGLE_ROWS):
        before = slice(0, rows.start)
        rest = columns[rows] - lower[rows, before] @ found[before]
        found[rows] = np.linalg.solve(lower[rows, rows], rest)
    return found


def independence(
    cells: Ints, weights: Floats, statistic: str, n_categories: int
) -> tuple[float, int]:
    """Return the statistic of independent items with the observed shares, and its freedom.

    Products of residuals of independent items are uncorrelated, so that it is a sum over pairs:
    of squared correlations, or for M2 of Pearson's chi-square of each table of two items.
    """
    n_items = cells.shape[1]
    if statistic != "m2" or n_categories == 2:
        upper = np.triu_indices(n_items, 1)
        squares = observed_correlations(cells, weights)[upper] ** 2
        return float(weights.sum() * squares.sum()), upper[0].size
    value, df = 0.0, 0
    share = [
        _shares(cells[:, i] == np.arange(n_categories)[:, None], weights) for i in range(n_items)
    ]
    for i in range(n_items):
        for j in range(i + 1, n_items):
            together = _shares(
                (cells[:, i] * n_categories + cells[:, j]) == np.arange(n_categories**2)[:, None],
                weights,
            )
            expected = np.outer(share[i], share[j]).reshape(-1)
            seen = expected > 0
            value += float(((together - expected)[seen] ** 2 / expected[seen]).sum())
            df += int((share[i] > 0).sum() - 1) * int((share[j] > 0).sum() - 1)
    return float(weights.sum()) * value, df


def _shares(places: NDArray[np.bool_], weights: Floats) -> Floats:
    """Return weighted share of the rows that are in each place, (n_places,)."""
    return np.asarray(places @ weights / weights.sum())


def implied_correlations(family: Family) -> Floats:
    """Return correlations of the items' scores under the model; NaN for a constant."""
    grades = np.arange(family.prob.shape[0], dtype=float)
    means = np.einsum("k,kiq->iq", grades, family.prob)
    centred = means - (means @ family.weights)[:, None]
    covariance = (centred * family.weights) @ centred.T
    within = np.einsum("k,kiq->iq", grades**2, family.prob) - means**2
    covariance[np.diag_indices_from(covariance)] += within @ family.weights
    return _as_correlations(covariance)


def observed_correlations(cells: Ints, weights: Floats) -> Floats:
    """Return weighted correlations of the items' scores over complete rows; NaN for a constant."""
    n_items = cells.shape[1]
    total, products = np.zeros(n_items), np.zeros((n_items, n_items))
    for rows in row_blocks(cells.shape[0], ROWS_AT_A_TIME):
        table = cells[rows].astype(float)
        total += weights[rows] @ table
        products += (table.T * weights[rows]) @ table
    mean = total / weights.sum()
    return _as_correlations(products / weights.sum() - np.outer(mean, mean))


def _as_correlations(covariance: Floats) -> Floats:
    variance = np.diag(covariance)
    deviation = np.sqrt(np.where(variance > LEAST_VARIANCE, variance, np.nan))
    return np.asarray(covariance / np.outer(deviation, deviation))

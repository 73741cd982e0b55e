"""First and second moments of the responses to items, as a model implies them.

What is compared with the observed table are means of single features of an item's response (its
score, or whether it lies in a category) and means of products of features of two items. At a
given ability items are independent, so that the covariance of all these means is one matrix
product over the nodes, corrected where two moments share an item. Margins of Maydeu-Olivares and
Joe (2006), of Cai and Hansen (2013) and of Cai and Monro (2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats, row_blocks

Ints = NDArray[np.signedinteger[Any]]

LEAST_VARIANCE = 1e-12  # a moment that varies less is fixed: nothing can deviate from it
LEAST_DIRECTION = 1e-8  # of the longest; a shorter direction is one that the numbers cannot take
ROWS_AT_A_TIME = 4096
TRIANGLE_ROWS = 128


@dataclass(frozen=True, eq=False)
class Family:
    """Response probabilities on nodes, and how the free numbers of a model move them."""

    prob: Floats  # (n_categories, n_items, n_nodes)
    slopes: Floats  # (width, n_categories, n_items, n_nodes): derivatives of prob
    weights: Floats  # (n_nodes,), of sum one
    free: NDArray[np.bool_]  # (n_items, width)
    shared: tuple[bool, ...]  # of each coordinate: one number for all items

    @property
    def n_free(self) -> int:
        """How many numbers are free."""
        return sum(
            1 if common else int(self.free[:, k].sum()) for k, common in enumerate(self.shared)
        )


@dataclass(frozen=True, eq=False)
class Margins:
    """Which moments are compared: each is the mean of feature `left` times feature `right`.

    The last feature is the constant one, which stands at the right of a single feature.
    """

    owner: Ints  # (n_features,): the item of each feature
    value: Floats  # (n_features, n_categories)
    left: Ints  # (n_moments,)
    right: Ints  # (n_moments,)

    @property
    def size(self) -> int:
        """How many moments there are."""
        return int(self.left.size)

    @property
    def one(self) -> int:
        """The position of the constant feature."""
        return self.owner.size

    def of_feature(self, values: Floats) -> Floats:
        """Return `values` of the features, with a last row for the constant one."""
        return np.concatenate([values, np.ones((1, *values.shape[1:]))])


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
    apart = owner[left] < owner[right]
    return Margins(
        owner,
        np.concatenate([part[1] for part in parts]),
        np.concatenate([first, left[apart]]),
        np.concatenate([np.full(first.size, owner.size), right[apart]]),
    )


def n_moments(statistic: str, n_items: int, n_categories: int) -> int:
    """Return how many moments a statistic compares, without listing them."""
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
    found: Floats = products[chosen.left, chosen.right] / weights.sum()
    return found


@dataclass(frozen=True, eq=False)
class Implied:
    """What a model says of the moments: their means, covariance in one row, slopes."""

    means: Floats  # (n_moments,)
    covariance: Floats  # (n_moments, n_moments)
    jacobian: Floats  # (n_moments, n_free)


def implied_moments(family: Family, chosen: Margins) -> Implied:
    """Return moments under the model, with their covariance and derivatives."""
    features = _conditional_means(family.prob, chosen)
    products = features[chosen.left] * features[chosen.right]
    values = products @ family.weights
    products -= values[:, None]
    covariance = (products * family.weights) @ products.T
    _add_shared_items(covariance, family, chosen, features)
    return Implied(values, covariance, _jacobian(family, chosen, features))


def _conditional_means(prob: Floats, chosen: Margins) -> Floats:
    """Mean of each feature at each node, the constant one last, (n_features + 1, n_nodes)."""
    means = np.einsum("gk,kgq->gq", chosen.value, prob[:, chosen.owner])
    return chosen.of_feature(means)


def _add_shared_items(
    covariance: Floats, family: Family, chosen: Margins, features: Floats
) -> None:
    """Add what two moments have in common because they share one item, or both."""
    owner = np.append(chosen.owner, -1)
    spread = {}
    for item in range(family.prob.shape[1]):
        own = np.flatnonzero(chosen.owner == item).tolist()
        place, other = _moments_of(own, chosen)
        for g in own:
            for h in own:
                both = (chosen.value[g] * chosen.value[h]) @ family.prob[:, item]
                spread[g, h] = both - features[g] * features[h]
                weighted = features[other[g]] * (family.weights * spread[g, h])
                covariance[np.ix_(place[g], place[h])] += weighted @ features[other[h]].T
    pair = owner[chosen.left] * (family.prob.shape[1] + 1) + owner[chosen.right]
    order = np.argsort(pair, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        if chosen.right[group[0]] == chosen.one:
            continue
        left, right = chosen.left[group], chosen.right[group]
        for a, place in enumerate(group):
            shared = [
                spread[left[a], left[b]] * spread[right[a], right[b]] @ family.weights
                for b in range(group.size)
            ]
            covariance[place, group] += shared


def _moments_of(own: list[int], chosen: Margins) -> tuple[dict[int, Ints], dict[int, Ints]]:
    """Return for each feature: the moments it enters, and the feature that it meets there."""
    place, other = {}, {}
    for g in own:
        left, right = np.flatnonzero(chosen.left == g), np.flatnonzero(chosen.right == g)
        place[g] = np.concatenate([left, right])
        other[g] = np.concatenate([chosen.right[left], chosen.left[right]])
    return place, other


def _jacobian(family: Family, chosen: Margins, features: Floats) -> Floats:
    """Return derivatives of the moments in the free numbers, (n_moments, n_free)."""
    n_items, moments = family.prob.shape[1], np.arange(chosen.size)
    paired = chosen.right != chosen.one
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

    What the free numbers could explain is projected out of the residuals, so that the result is
    chi-square whatever consistent estimate the numbers come from.
    """
    deviation = np.sqrt(np.maximum(np.diag(implied.covariance), 0.0))
    kept = np.flatnonzero(deviation > np.sqrt(LEAST_VARIANCE))
    scale = deviation[kept]
    correlation = implied.covariance[np.ix_(kept, kept)]
    correlation /= scale[:, None]
    correlation /= scale
    columns = np.column_stack([residual[kept], implied.jacobian[kept]]) / scale[:, None]
    white = _whitened(correlation, columns)
    directions = _basis(white[:, 1:])
    rest = white[:, 0] - directions @ (directions.T @ white[:, 0])
    return count * float(rest @ rest), white.shape[0] - directions.shape[1]


def _whitened(correlation: Floats, columns: Floats) -> Floats:
    """Return `columns` in coordinates in which the moments are uncorrelated with variance one."""
    try:
        lower: Floats = np.linalg.cholesky(correlation).astype(float, copy=False)
        return _solved(lower, columns)
    except np.linalg.LinAlgError:  # some moments follow from others: keep the directions that vary
        values, vectors = np.linalg.eigh(correlation)
        kept = values > LEAST_DIRECTION * values[-1]
        projected: Floats = (vectors[:, kept] / np.sqrt(values[kept])).T @ columns
        return projected


def _solved(lower: Floats, columns: Floats) -> Floats:
    """Return the solution of a lower triangular system, block by block.

    SciPy has a routine for this, but it brings a BLAS of its own, whose threads nobody holds.
    """
    found = np.empty_like(columns)
    for rows in row_blocks(lower.shape[0], TRIANGLE_ROWS):
        before = slice(0, rows.start)
        rest = columns[rows] - lower[rows, before] @ found[before]
        found[rows] = np.linalg.solve(lower[rows, rows], rest)
    return found


def _basis(columns: Floats) -> Floats:
    """Return orthonormal columns that span the same directions."""
    length = np.sqrt((columns**2).sum(axis=0))
    moving = columns[:, length > 0] / length[length > 0]
    if not moving.size:
        return np.zeros((columns.shape[0], 0))
    left, size, _ = np.linalg.svd(moving, full_matrices=False)
    return left[:, size > LEAST_DIRECTION * size[0]]


def independence(
    cells: Ints, weights: Floats, statistic: str, n_categories: int
) -> tuple[float, int]:
    """The statistic of a model of independent items with the observed shares, and its degrees.

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
    found: Floats = places @ weights / weights.sum()
    return found


def implied_correlations(family: Family) -> Floats:
    """Correlations of the items' scores under the model, (n_items, n_items); NaN for a constant."""
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
    correlations: Floats = covariance / np.outer(deviation, deviation)
    return correlations

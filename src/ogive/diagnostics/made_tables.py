"""Tables made to hold a number of dimensions, and the eigenvalues of correlations between items.

They keep every item's responses and gaps: only their order within a column is new. What they show
beyond the dimensions they were made to hold is chance (Green et al., 2012; Ruscio and Roche, 2012).
"""

from __future__ import annotations

import numpy as np

from ogive.numerics.arrays import Floats

LEAST_SHARE, LARGEST_SHARE = 1e-12, 0.95  # of an item's latent variance that dimensions may explain
AXIS_TURNS = 20
TRIALS, TABLES_A_TRIAL = 4, 4
LOGISTIC = 1 / 1.702  # a logistic number times this is close to a standard normal one
LEAST_COMMON = 3  # respondents who answered both; fewer say nothing about a pair
# Near the level, p of a few tables is rough: an eigenvalue so many deviations above their mean is
# compared with more of them. Fewer than `ROUGH` tables cannot have a p below the level at all.
NEAR, TIMES, ROUGH = (0.5, 3.5), 4, 19


def comparison(
    values: Floats, n_factors: int, n_resamples: int, random: np.random.Generator, found: Floats
) -> Floats:
    """Eigenvalues of tables that hold `n_factors` dimensions, (n_tables, n_items).

    There are more tables where the next of the eigenvalues `found` is near the level.
    """
    ordered = np.sort(values, axis=0)  # what was never asked comes last
    loadings = _latent_loadings(values, ordered, n_factors, random)

    def drawn(count: int) -> Floats:
        tables = (_dealt(values, ordered, loadings, random) for _ in range(count))
        return np.array([eigenvalues(table) for table in tables])

    first = drawn(n_resamples)
    if n_factors == len(found) or not _is_near(found[n_factors], first[:, n_factors]):
        return first
    return np.concatenate([first, drawn((TIMES - 1) * n_resamples)])


def _is_near(found: float, tables: Floats) -> bool:
    """Whether more tables could change which side of the level an eigenvalue is on."""
    if len(tables) < ROUGH:
        return False
    above, spread = found - tables.mean(), tables.std()
    return bool(NEAR[0] * spread < above < NEAR[1] * spread)


def _dealt(
    values: Floats, ordered: Floats, loadings: Floats, random: np.random.Generator
) -> Floats:
    """A table with the same columns, each in an order that the factors of `loadings` give.

    Each cell gets a number, part factors and part chance; the responses of a column are then
    dealt out in the order of these numbers. Without factors, that is a shuffle.
    """
    factors = random.standard_normal((len(values), loadings.shape[1]))
    noise = LOGISTIC * np.sqrt(1 - (loadings**2).sum(axis=1))
    latent = factors @ loadings.T + noise * random.logistic(size=values.shape)
    order = np.argsort(np.where(np.isnan(values), np.inf, latent), axis=0)
    table = np.empty_like(values)
    np.put_along_axis(table, order, ordered, axis=0)
    return table


def _latent_loadings(
    values: Floats, ordered: Floats, n_factors: int, random: np.random.Generator
) -> Floats:
    """Loadings that make tables whose items share as much as these do, (n_items, n_factors).

    Responses correlate less than the numbers behind them; by how much is found by trial.
    """
    if n_factors == 0 or values.shape[1] == 0:
        return np.zeros((values.shape[1], n_factors))
    wanted = _axis_loadings(_correlations(values), n_factors)
    shared = (wanted**2).sum(axis=1)
    loadings = _limited(wanted)
    for _ in range(TRIALS):
        tables = (_dealt(values, ordered, loadings, random) for _ in range(TABLES_A_TRIAL))
        mean = np.mean([_correlations(table) for table in tables], axis=0)
        reached = (_axis_loadings(mean, n_factors) ** 2).sum(axis=1)
        ratio = np.sqrt(shared / np.maximum(reached, 1e-6))
        loadings = _limited(loadings * np.clip(ratio, 0.5, 2.0)[:, None])
    return loadings


def _limited(loadings: Floats) -> Floats:
    """Loadings that leave each item some chance of its own."""
    share = (loadings**2).sum(axis=1, keepdims=True)
    limited: Floats = loadings * np.sqrt(
        np.minimum(1.0, LARGEST_SHARE / np.maximum(share, LEAST_SHARE))
    )
    return limited


def _axis_loadings(correlations: Floats, n_factors: int) -> Floats:
    """Loadings on the principal axes, (n_items, n_factors)."""
    reduced = correlations.copy()
    shared = np.abs(correlations - np.eye(len(correlations))).max(axis=1)
    for _ in range(AXIS_TURNS):
        np.fill_diagonal(reduced, shared)
        size, vectors = np.linalg.eigh(reduced)
        loadings = vectors[:, -n_factors:] * np.sqrt(np.maximum(size[-n_factors:], 0.0))
        shared = np.minimum((loadings**2).sum(axis=1), 1.0)
    found: Floats = loadings
    return found


def eigenvalues(values: Floats) -> Floats:
    """Eigenvalues of the correlations between columns, the largest first; none below zero."""
    if values.shape[1] == 0:
        return np.empty(0)
    found = np.linalg.eigvalsh(_correlations(values))[::-1]
    return np.asarray(np.maximum(found, 0.0), dtype=np.float64)


def _correlations(values: Floats) -> Floats:
    """Pairwise correlations, made such as a whole table could have."""
    asked = ~np.isnan(values)
    centred = np.where(asked, values - np.nanmean(values, axis=0), 0.0)
    if asked.all():
        centred = centred / np.sqrt((centred**2).sum(axis=0))
        whole: Floats = centred.T @ centred
        return whole
    there = asked.astype(float)
    n = np.maximum(there.T @ there, 1.0)
    sums, squares = centred.T @ there, (centred**2).T @ there
    spread = squares - sums**2 / n
    scale = np.sqrt(np.maximum(spread * spread.T, 0.0))
    useful = (scale > 1e-12) & (n >= LEAST_COMMON)
    covariance = centred.T @ centred - sums * sums.T / n
    rough = np.clip(np.divide(covariance, scale, out=np.zeros_like(scale), where=useful), -1, 1)
    np.fill_diagonal(rough, 1.0)
    return _positive(rough)


def _positive(rough: Floats) -> Floats:
    """Correlations of pairs, which may contradict each other, without negative eigenvalues."""
    size, vectors = np.linalg.eigh(rough)
    if size[0] >= 0:
        return rough
    mended: Floats = (vectors * np.maximum(size, 0.0)) @ vectors.T
    scale = np.sqrt(np.diagonal(mended))
    mended /= np.outer(scale, scale)
    return mended

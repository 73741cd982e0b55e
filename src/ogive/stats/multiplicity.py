"""P-values of many tests at once, and effects that stand out from an empirical null.

Curves of a model never fit real responses exactly. If two groups differ in ability, they meet
different parts of the same imperfect curves, and with enough responses every item "differs".
So an effect is judged against its own error and against how far the effects of the other items
scatter beyond theirs (a random-effects view of item bias: Camilli and Penfield, 1997; an empirical
null: Efron, 2004). Both the scatter, and what all items have in common, are estimated robustly, so
that a few items that truly differ change them little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtri, stdtr

from ogive.stats.array_backend import Floats


def benjamini_hochberg(p: Floats, n_tests: int | None = None) -> Floats:
    """Return p-values adjusted for the false discovery rate (Benjamini and Hochberg, 1995).

    NaN, for a test that could not be made, stays. If only the smallest of `n_tests` are given,
    the adjusted ones are never too small.
    """
    order = _ascending(p)
    total = order.size if n_tests is None else n_tests
    # Factors first: they are at least 1, so that no rounding makes a p-value smaller.
    raised = p[order] * (total / np.arange(1, order.size + 1))
    return _unsorted(np.minimum.accumulate(raised[::-1])[::-1], order, p.shape)


def benjamini_yekutieli(p: Floats) -> Floats:
    """Return p-values adjusted for false discoveries under any dependence of the tests (2001)."""
    order = _ascending(p)
    harmonic = float((1.0 / np.arange(1, order.size + 1)).sum())
    return _unsorted(harmonic * benjamini_hochberg(p)[order], order, p.shape)


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for any false discovery under any dependence (Holm, 1979)."""
    order = _ascending(p)
    raised = p[order] * np.arange(order.size, 0, -1)
    return _unsorted(np.maximum.accumulate(raised), order, p.shape)


Correction = Literal["bh", "by", "holm"]
CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "holm": holm,
}


def _ascending(p: Floats) -> np.ndarray:
    finite = np.flatnonzero(np.isfinite(p))
    return finite[np.argsort(p[finite], kind="stable")]


def _unsorted(raised: Floats, order: np.ndarray, shape: tuple[int, ...]) -> Floats:
    adjusted = np.full(shape, np.nan)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


QUANTILES = (0.5, 0.75)  # of squared effects; a quarter of the items may differ without being one
FEWEST_PARTS = 8.0  # degrees of freedom of the scatter: its tails are heavier than normal
EFFICIENCY = 0.37  # of a scale from the median, if errors are normal
# Grids of variances of a scatter and of items that differ, in the median variance of the errors,
# and of the share of items that differ.
SCATTER_VARIANCES = np.geomspace(0.03, 30.0, 22)
DIFFERING_VARIANCES = np.geomspace(1.0, 400.0, 8)
DIFFERING_SHARES = (0.06, 0.12, 0.19, 0.25)
ROUNDS = 8
MILD, FAR = 0.8, 0.999  # quantiles of chi-square where weights begin to fall, and where they are 0
FLAT = 1e-9  # share of the largest variance below which a direction counts as constant


@dataclass(frozen=True, eq=False)
class StandingOut:
    """Effects without what all items have in common, and how far each stands out."""

    effects: Floats  # (n, n_contrasts)
    common: Floats  # (n_ways,): coefficients of the common directions
    scatter: Floats  # (n_contrasts,): standard deviation of effects beyond their errors
    statistic: Floats  # (n,), of Wald: near chi-square if nothing stands out
    p: Floats


def stand_out(effects: Floats, covariances: Floats, ways: Floats) -> StandingOut:
    """Judge `effects`, (n, n_contrasts), by their covariances and by each other.

    `ways`, (n, n_contrasts, n_ways), are directions in which all items may move together, such as
    a shift of the scale; that part is removed. Rows with an effect that is not finite stay NaN.
    """
    known = np.isfinite(effects).all(axis=1) & np.isfinite(covariances).all(axis=(1, 2))
    n, width = effects.shape
    rest = np.full((n, width), np.nan)
    statistic, p = np.full(n, np.nan), np.full(n, np.nan)
    common, scatter = np.zeros(ways.shape[2]), np.zeros(width)
    if known.any():
        common, scatter = _common_and_scatter(effects[known], covariances[known], ways[known])
        rest[known] = effects[known] - ways[known] @ common
        statistic[known], p[known] = _tested(rest[known], covariances[known], scatter)
    return StandingOut(rest, common, scatter, statistic, p)


def _common_and_scatter(
    effects: Floats, covariances: Floats, ways: Floats
) -> tuple[Floats, Floats]:
    """Return the coefficients of the common directions and the scatter of the rest, in turns."""
    mild, far = (float(chdtri(effects.shape[1], 1 - q)) for q in (MILD, FAR))
    common, scatter = np.zeros(ways.shape[2]), np.zeros(effects.shape[1])
    for k in range(ROUNDS):
        inverse = _inverse(covariances, scatter)
        rest = effects - ways @ common
        distance = np.einsum("nc,ncd,nd->n", rest, inverse, rest)
        weight = np.sqrt(mild / np.maximum(distance, mild))
        if k > ROUNDS // 3:  # by then the line is near, and far effects can be left out
            weight = np.where(distance > far, 0.0, weight)
        projection = np.einsum("n,ncl,ncd->nld", weight, ways, inverse)
        normal = np.einsum("nld,ndm->lm", projection, ways)
        moments = np.einsum("nld,nd->l", projection, effects)
        common = np.linalg.pinv(normal, hermitian=True) @ moments
        rest = effects - ways @ common
        scatter = np.array(
            [_scatter(rest[:, c], covariances[:, c, c]) for c in range(effects.shape[1])]
        )
    return common, scatter


def _scatter(effects: Floats, variances: Floats) -> float:
    """Return the standard deviation beyond the errors that explains quantiles of squared effects.

    It is zero unless all items show it: a scatter that is only guessed, or taken from a few items
    that differ, would hide these.
    """
    if not _all_scatter(effects, variances):
        return 0.0
    squares, most = effects**2, 0.0
    for share in QUANTILES:
        expected = float(chdtri(1, 1 - share))
        rank = round(share * (len(effects) - 1))
        low, high = 0.0, float(np.sort(squares)[rank]) / expected
        for _ in range(40):  # bisection: the quantile falls as the variance grows
            middle = (low + high) / 2
            ratio = squares / np.maximum(variances + middle, 1e-300)
            beyond = np.partition(ratio, rank)[rank] > expected
            low, high = (middle, high) if beyond else (low, middle)
        most = max(most, high if low > 0 else 0.0)
    return float(np.sqrt(most))


def _all_scatter(effects: Floats, variances: Floats) -> bool:
    """Return True if a scatter of all items explains more than a minority of items that differ.

    Effects are normal, those of a minority with a larger variance; a scatter is one parameter more,
    and must gain more log-likelihood than that (Akaike, 1974).
    """
    unit = float(np.median(variances))
    if unit <= 0:
        return bool(np.any(effects != 0))
    wider = unit * DIFFERING_VARIANCES[:, None]
    best = []
    for scatter in (0.0, *(unit * SCATTER_VARIANCES)):
        most, rest = (
            -0.5 * (np.log(each) + effects**2 / each)
            for each in (variances + scatter, variances + scatter + wider)
        )
        top = np.maximum(most, rest)
        parts = np.exp(most - top), np.exp(rest - top)
        mixed = [top + np.log((1 - q) * parts[0] + q * parts[1]) for q in DIFFERING_SHARES]
        best.append(max(float(each.sum(axis=1).max()) for each in (most[None], *mixed)))
    return max(best) - best[0] > 1.0


def _tested(effects: Floats, covariances: Floats, scatter: Floats) -> tuple[Floats, Floats]:
    """Return Wald statistics, and p-values: that of the clearest contrast, after Bonferroni.

    Contrasts are tested one after the other, each given those before. Most items that differ do so
    in the first alone, for which a test of all at once would be weaker. p-values allow for the
    error of the scatter (Satterthwaite).
    """
    total = covariances + np.diag(scatter**2)
    statistic = np.einsum("nc,ncd,nd->n", effects, _inverse(covariances, scatter), effects)
    variances = np.diagonal(total, axis1=1, axis2=2)
    errors = np.diagonal(covariances, axis1=1, axis2=2)
    own = errors / np.where(variances > 0, variances, 1.0)
    parts = min(FEWEST_PARTS, max(EFFICIENCY * len(effects), 1.0))
    freedom = parts / np.maximum(1 - own, 1e-3) ** 2
    p = 2 * stdtr(freedom, -np.abs(_successive(effects, total)))
    return statistic, np.minimum(p.shape[1] * p.min(axis=1), 1.0)


def _successive(effects: Floats, covariances: Floats) -> Floats:
    """Return each effect given those before it, in its standard errors; 0 without variance."""
    left, covariance = effects.copy(), covariances.copy()
    z = np.zeros_like(effects)
    largest = np.maximum(np.diagonal(covariance, axis1=1, axis2=2).max(axis=1), 1e-300)
    for c in range(effects.shape[1]):
        known = covariance[:, c, c] > FLAT * largest
        variance = np.where(known, covariance[:, c, c], np.inf)
        z[:, c] = left[:, c] / np.sqrt(variance)
        share = covariance[:, :, c] / variance[:, None]
        left = left - share * left[:, c : c + 1]
        covariance = covariance - share[:, :, None] * covariance[:, None, c, :]
    return z


def _inverse(covariances: Floats, scatter: Floats) -> Floats:
    """Return the inverse of the covariances with the scatter, 0 in directions without variance."""
    sizes, vectors = np.linalg.eigh(covariances + np.diag(scatter**2))
    known = sizes > FLAT * np.maximum(sizes[:, -1:], 1e-300)
    sizes = np.where(known, 1 / np.where(known, sizes, 1.0), 0.0)
    return np.asarray(np.einsum("nck,nk,ndk->ncd", vectors, sizes, vectors))

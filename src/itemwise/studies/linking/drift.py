"""Anchors that changed between two versions of a benchmark, found and set aside.

An anchor's two curves are compared where the respondents are: their mean difference, and how it
leans along the scale. Both together are tested against what the standard errors allow (Wald).
Drifted anchors pull the line that all are judged by; so the search begins from medians, and goes
on without the drifted ones until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from itemwise.estimation.scale import moved_covariances
from itemwise.numerics.arrays import Floats
from itemwise.numerics.multiplicity import benjamini_hochberg
from itemwise.studies.linking.lines import Anchors, Grid, Line, line_ways

MOST_ROUNDS = 20
FLAT = 1e-9  # part of the largest variance below which a contrast tells nothing


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far the two curves of each anchor lie apart, each (n_anchors,)."""

    distance: Floats  # root mean square difference of expected responses
    statistic: Floats
    p: Floats
    p_adjusted: Floats


def compare(anchors: Anchors, grid: Grid, line: Line) -> Comparison:
    """A test of each anchor: two contrasts of its curves, with Benjamini and Hochberg's p."""
    from scipy.stats import chi2

    model, linked = anchors.model, line.moved(anchors.model, anchors.new)
    gap = model.expected(anchors.old, grid.points) - model.expected(linked, grid.points)
    contrasts = _contrasts(grid)
    moved = moved_covariances(model, anchors.new, anchors.new_covariances, line.shift, line.scale)
    variance = np.zeros((len(gap), 2, 2))
    for coords, covariances in ((anchors.old, anchors.old_covariances), (linked, moved)):
        slopes = np.einsum("ck,wnk->ncw", contrasts, model.expected_slopes(coords, grid.points))
        variance += np.einsum("ncw,nwv,ndv->ncd", slopes, covariances, slopes)
    ways = np.einsum("mnw,ncw->mnc", line_ways(model, anchors.new, line), slopes)
    variance += np.einsum("mnc,ml,lnd->ncd", ways, line.covariance, ways)
    statistic, freedom = _wald(gap @ contrasts.T, variance)
    p = chi2.sf(statistic, freedom)
    distance = np.sqrt(gap**2 @ grid.weights)
    return Comparison(distance, statistic, p, benjamini_hochberg(p))


def purified(
    anchors: Anchors,
    grid: Grid,
    start: Line,
    find: Callable[[Anchors, Line], Line],
    alpha: float,
    least: int,
) -> tuple[Line, np.ndarray]:
    """The line of the anchors that did not drift, and which did.

    Where fewer than `least` would stay, those that fit best do.
    """
    line, seen = start, set[bytes]()
    drifted = np.zeros(len(anchors.old), dtype=bool)
    for _ in range(MOST_ROUNDS):
        found = compare(anchors, grid, line)
        ahead = found.p_adjusted < alpha
        if (~ahead).sum() < least:
            ahead = np.ones(len(ahead), dtype=bool)
            ahead[np.argsort(found.statistic, kind="stable")[:least]] = False
        if ahead.tobytes() in seen:  # nothing changed, or the same sets take turns
            ahead = ahead | drifted if (~(ahead | drifted)).sum() >= least else ahead
            return find(anchors.part(~ahead), line), ahead
        seen.add(ahead.tobytes())
        drifted = ahead
        line = find(anchors.part(~drifted), line)
    return line, drifted


def _contrasts(grid: Grid) -> Floats:
    """Weights of the mean over respondents, and of the lean along the scale, (2, n_points)."""
    mean = float(grid.weights @ grid.points)
    spread = float(np.sqrt(grid.weights @ (grid.points - mean) ** 2))
    return np.stack([grid.weights, grid.weights * (grid.points - mean) / spread])


def _wald(values: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Squared length of `values` (n, 2) in units of their errors, and the degrees of freedom."""
    sizes, ways = np.linalg.eigh(variance)
    known = sizes > FLAT * np.maximum(sizes[:, -1:], 1e-300)
    along = np.einsum("ncd,nc->nd", ways, values)
    statistic = np.where(known, along**2 / np.where(known, sizes, 1.0), 0.0).sum(axis=1)
    return statistic, np.maximum(known.sum(axis=1), 1)

"""Likelihood, scores, complete-data information.

The probability of a category as a product of logistic curves, and its derivatives.

With P(x >= k) = σ(η + c_k), a category between two thresholds has probability
σ(η + c_k) σ(-η - c_{k+1}) (1 - exp(c_{k+1} - c_k)): two logistic terms, and a factor that does not
depend on ability. Right or wrong is one term. A cell that was not asked is a term far in its tail.

What a climb needs of the responses: likelihood, slopes, information, posteriors.

Rows are taken in blocks. Expected products of slopes with powers of ability, by respondent, give
the scores (Fisher's identity) and the information of complete data; what is missing because
abilities are not seen (Louis, 1982) is taken either as far as it is linear in ability, which is
nearly all of it where items are many, or in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ogive.irt.dimensions.adaptive_quadrature import (
    Around,
    Nodes,
    Rule,
    correlated_nodes,
    specific_nodes,
)
from ogive.irt.dimensions.loading_pattern import ABSENT, Pattern, Place
from ogive.stats.array_backend import Floats, Run, fold, row_blocks

FAR = 80.0  # a logit whose curve is 1 for every purpose
TOGETHER = 500  # factors between 1 and 2 whose product is a number


@dataclass(frozen=True, eq=False)
class Terms:
    """One logistic term of every cell: σ(sign (η + threshold)), and which threshold it is."""

    sign: Floats  # (n_rows, n_items)
    threshold: Floats  # (n_rows, n_items)
    which: NDArray[np.intp]  # (n_rows, n_items); -1 for a term that is always 1


def cell_terms(
    codes: NDArray[np.int16], thresholds: Floats, n_thresholds: NDArray[np.intp]
) -> list[Terms]:
    """The terms of all cells: one list entry for right or wrong, two for grades; -1 is missing."""
    items = np.arange(codes.shape[1])
    missing = codes < 0
    if thresholds.shape[1] == 1:
        sign = np.where(codes == 0, -1.0, 1.0)
        at = np.where(missing, FAR, thresholds[:, 0])
        return [Terms(sign, at, np.where(missing, -1, 0).astype(np.intp))]
    above, below = codes >= 1, ~missing & (codes < n_thresholds)
    lower, upper = np.where(above, codes - 1, -1), np.where(below, codes, -1)
    ones = np.ones(codes.shape)
    return [
        Terms(ones, np.where(above, thresholds[items, lower], FAR), lower.astype(np.intp)),
        Terms(-ones, np.where(below, thresholds[items, upper], -FAR), upper.astype(np.intp)),
    ]


@dataclass(frozen=True, eq=False)
class Curves:
    """Of one term at all nodes: slope with η, and minus how the slope bends."""

    slope: Floats  # (n_rows, n_nodes, n_items)
    bend: Floats


def evaluate(
    logits: Floats, terms: list[Terms], *, bending: bool = True
) -> tuple[Floats, list[Curves]]:
    """Return sum of the logs over items, (n_rows, n_nodes), and the curves of each term."""
    total = np.zeros(logits.shape[:2])
    curves = []
    for term in terms:
        t = logits + term.threshold[:, None, :]
        t *= term.sign[:, None, :]
        tail = np.exp(-np.abs(t))
        total += np.minimum(t, 0.0).sum(axis=2)
        whole = 1 + tail
        for first in range(0, whole.shape[2], TOGETHER):
            total -= np.log(whole[:, :, first : first + TOGETHER].prod(axis=2))
        slope = np.where(t > 0, tail, 1.0)
        slope /= whole
        slope *= term.sign[:, None, :]
        bend = tail / whole**2 if bending else slope
        curves.append(Curves(slope, bend))
    return total, curves


def probabilities(logits: Floats, terms: list[Terms], factor: Floats) -> Floats:
    """Return probability of each cell's category at all nodes, (n_rows, n_nodes, n_items)."""
    found = np.broadcast_to(factor[:, None, :], logits.shape).copy()
    for term in terms:
        t = (logits + term.threshold[:, None, :]) * term.sign[:, None, :]
        found *= 1 / (1 + np.exp(-np.clip(t, -FAR, FAR)))
    return found


def category_counts(codes: NDArray[np.int16], most: int) -> Floats:
    """Return how often each category of each item was given, (n_items, most + 1)."""
    return np.stack([(codes == k).sum(axis=0) for k in range(most + 1)], axis=1).astype(float)


def between(thresholds: Floats, n_thresholds: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
    """Log factor of the categories between two thresholds, its slope with the gap, and its bend.

    Each is (n_items, most thresholds - 1); 0 where an item has no such category.
    """
    there = np.arange(1, thresholds.shape[1]) < n_thresholds[:, None]
    gap = np.where(there, thresholds[:, :-1] - thresholds[:, 1:], 1.0)
    slope = 1 / np.expm1(gap)
    return (
        np.where(there, np.log(-np.expm1(-gap)), 0.0),
        np.where(there, slope, 0.0),
        np.where(there, slope * (1 + slope), 0.0),
    )


BLOCK = 1_500_000  # numbers of a block: nodes × items × rows


@dataclass(frozen=True, eq=False)
class Part:
    """Items that share their nodes: dimensions, nodes, and posterior weights."""

    items: NDArray[np.intp]
    dimensions: NDArray[np.intp]
    nodes: Floats  # (n_rows, n_outer * n_inner, n_dimensions of the part)
    weights: Floats  # (n_rows, n_outer * n_inner), 1 in all
    terms: list[Terms]
    curves: list[Curves]
    inner: Floats  # (n_rows, n_outer, n_inner): weights given the outer node


@dataclass(frozen=True, eq=False)
class Block:
    """Posteriors of some respondents."""

    outer: Floats  # weights of the outer nodes
    log_norm: Floats
    parts: list[Part]
    around: Around
    nodes: Nodes

    @cached_property
    def products(self) -> Floats:
        """Expected products of abilities, (n_rows, n_dimensions, n_dimensions)."""
        mean = self.around.mean
        found: Floats = self.around.covariance + mean[:, :, None] * mean[:, None, :]
        return found


class Table:
    """Codes of the answers, and which items share their nodes."""

    def __init__(self, codes: NDArray[np.int16], pattern: Pattern) -> None:
        self.codes, self.pattern = codes, pattern
        self.split = _split(pattern)
        self.counts = category_counts(codes, int(pattern.n_thresholds.max()))

    def n_nodes(self, rule: Rule) -> int:
        """Return nodes at which every item is looked at."""
        return len(rule.nodes) if self.pattern.correlated else len(rule.nodes) ** 2

    def blocks(self, n_nodes: int) -> list[slice]:
        """Return rows that are worked on together."""
        rows = max(1, BLOCK // max(1, n_nodes * self.codes.shape[1]))
        return row_blocks(len(self.codes), rows)

    def nodes(self, around: Around, place: Place, rule: Rule) -> Nodes:
        """Return nodes for rows whose posteriors lie there."""
        if self.pattern.correlated:
            return correlated_nodes(around, place.correlation, rule)
        return specific_nodes(around, rule)

    def posterior(
        self, rows: slice, around: Around, place: Place, rule: Rule, *, bending: bool = True
    ) -> Block:
        """Return posteriors of some rows on nodes around where they were."""
        nodes = self.nodes(around.rows(rows), place, rule)
        total = nodes.log_weights.copy()
        found = []
        for items, dimensions in self.split:
            at, log_inner = _at(nodes, dimensions)
            logits = at @ place.loadings[np.ix_(items, dimensions)].T
            terms = cell_terms(
                self.codes[rows][:, items],
                place.thresholds[items],
                self.pattern.n_thresholds[items],
            )
            value, curves = evaluate(logits, terms, bending=bending)
            joint = value.reshape(log_inner.shape) + log_inner
            most = joint.max(axis=2, keepdims=True)
            inner = np.exp(joint - most)
            mass = inner.sum(axis=2, keepdims=True)
            total += (np.log(mass) + most)[:, :, 0]
            found.append((items, dimensions, at, inner / mass, terms, curves))
        most = total.max(axis=1, keepdims=True)
        outer = np.exp(total - most)
        mass = outer.sum(axis=1, keepdims=True)
        outer /= mass
        parts = []
        for items, dimensions, at, inner, terms, curves in found:
            weights = (outer[:, :, None] * inner).reshape(len(at), -1)
            parts.append(Part(items, dimensions, at, weights, terms, curves, inner))
        around = _moments(nodes, outer, parts, self.pattern)
        return Block(outer, (np.log(mass) + most)[:, 0], parts, around, nodes)


def _split(pattern: Pattern) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return items and dimensions that share nodes."""
    if pattern.correlated:
        return [(np.arange(len(pattern.free)), np.arange(pattern.n_dimensions))]
    own = pattern.free[:, 1:]
    found = [(np.flatnonzero(~own.any(axis=1)), np.array([0]))]
    found += [(np.flatnonzero(own[:, k]), np.array([0, k + 1])) for k in range(own.shape[1])]
    return [(items, dimensions) for items, dimensions in found if items.size]


def _at(nodes: Nodes, dimensions: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return nodes of a part in one list per row, and log weights of the inner ones."""
    n_rows, n_outer = nodes.log_weights.shape
    if not nodes.inner or dimensions.size == 1:
        return nodes.outer, np.zeros((n_rows, n_outer, 1))
    own, log_inner = nodes.inner[int(dimensions[1])]
    general = np.broadcast_to(nodes.outer, own.shape)
    return np.stack([general, own], axis=-1).reshape(n_rows, -1, 2), log_inner


def _moments(nodes: Nodes, outer: Floats, parts: list[Part], pattern: Pattern) -> Around:
    """Return mean and covariance of every posterior."""
    if pattern.correlated:
        mean = np.einsum("nq,nqd->nd", outer, nodes.outer)
        away = nodes.outer - mean[:, None, :]
        return Around(mean, np.swapaxes(away * outer[:, :, None], 1, 2) @ away)
    given = np.zeros((*outer.shape, pattern.n_dimensions))  # means, given the outer node
    within = np.zeros((len(outer), pattern.n_dimensions))
    given[:, :, 0] = nodes.outer[:, :, 0]
    within[:, 1:] = 1.0  # of a dimension without items
    for part in parts:
        if part.dimensions.size == 1:
            continue
        k = int(part.dimensions[1])
        own = nodes.inner[k][0]
        given[:, :, k] = (part.inner * own).sum(axis=2)
        spread = (part.inner * (own - given[:, :, k, None]) ** 2).sum(axis=2)
        within[:, k] = (outer * spread).sum(axis=1)
    mean = np.einsum("nq,nqd->nd", outer, given)
    away = given - mean[:, None, :]
    covariance = np.swapaxes(away * outer[:, :, None], 1, 2) @ away
    covariance += np.eye(pattern.n_dimensions) * within[:, :, None]
    return Around(mean, covariance)


@dataclass(frozen=True, eq=False)
class Products:
    """Expected slope and bend of each term times 1, ability, and products of abilities.

    Each is (n_rows, n_products, n_items); `number` says which product is that of two columns of
    (1, ability).
    """

    slopes: list[Floats]
    bends: list[Floats]
    number: NDArray[np.intp]

    def slope(self, left: int, right: int) -> Floats:
        """Return slopes of all terms with a product of two columns, (n_rows, n_items)."""
        k = self.number[left, right]
        found: Floats = sum(one[:, k] for one in self.slopes)  # type: ignore[assignment]
        return found


def expected_products(part: Part) -> Products:
    """Take expectations over the posterior of every row."""
    n_rows, n_nodes, width = part.nodes.shape
    columns = np.concatenate([np.ones((n_rows, n_nodes, 1)), part.nodes], axis=2)
    left, right = np.triu_indices(width + 1)
    number = np.zeros((width + 1, width + 1), dtype=np.intp)
    number[left, right] = number[right, left] = np.arange(left.size)
    carried = columns[:, :, left] * columns[:, :, right] * part.weights[:, :, None]
    carried = np.ascontiguousarray(np.swapaxes(carried, 1, 2))
    slopes = [carried @ curve.slope for curve in part.curves]
    bends = [carried @ curve.bend for curve in part.curves]
    return Products(slopes, bends, number)


def item_scores(part: Part, products: Products, pattern: Pattern, scores: Floats) -> None:
    """Add the expected scores of a part's items to `scores`, (n_rows, size + 1).

    The last column takes what belongs nowhere.
    """
    rows = np.arange(len(scores))[:, None]
    for u, dimension in enumerate(part.dimensions, start=1):
        place = pattern.of_loadings[part.items, dimension]
        free = place != ABSENT
        scores[:, place[free]] += products.slope(0, u)[:, free]
    for term, slope in zip(part.terms, products.slopes, strict=True):
        scores[rows, threshold_places(part, term, pattern)] += slope[:, 0]


def threshold_places(part: Part, term: Terms, pattern: Pattern) -> NDArray[np.intp]:
    """Return position of the threshold of each cell's term; beyond the last where it has none."""
    place = pattern.of_thresholds[part.items, term.which]
    return np.where(term.which >= 0, place, pattern.size)


def item_information(part: Part, products: Products, pattern: Pattern, found: Floats) -> None:
    """Add the information of complete data to `found`, (n_items, width, width)."""
    n_dimensions, items = pattern.n_dimensions, part.items
    number = products.number
    bends = sum(one.sum(axis=0) for one in products.bends)  # (n_products, n_items)
    for u, one in enumerate(part.dimensions, start=1):
        for v, other in enumerate(part.dimensions, start=1):
            found[items, one, other] += bends[number[u, v]]
    for term, bend in zip(part.terms, products.bends, strict=True):
        for k in range(pattern.of_thresholds.shape[1]):
            mask = (term.which == k)[:, None, :]
            summed = (bend[:, : number[0].size] * mask).sum(axis=0)  # products with 1
            at = n_dimensions + k
            found[items, at, at] += summed[0]
            for u, one in enumerate(part.dimensions, start=1):
                found[items, one, at] += summed[u]
                found[items, at, one] += summed[u]


def correlation_scores(nodes: Floats, place: Place, pattern: Pattern) -> Floats:
    """Return slopes of the population's log-density with each correlation, at every node."""
    inverse = np.linalg.inv(place.correlation)
    bent = nodes @ inverse
    left, right = pattern.pairs
    found: Floats = bent[..., left] * bent[..., right] - inverse[left, right]
    return found


def correlation_information(products: Floats, rows: int, place: Place, pattern: Pattern) -> Floats:
    """Return information of complete data about correlations; `products` are summed over `rows`."""
    inverse: Floats = np.asarray(np.linalg.inv(place.correlation), dtype=float)
    bent: Floats = inverse @ products @ inverse
    both = _traces(inverse, bent, pattern) + _traces(bent, inverse, pattern)
    found: Floats = 0.5 * (both - rows * _traces(inverse, inverse, pattern))
    return found


def _traces(a: Floats, b: Floats, pattern: Pattern) -> Floats:
    """Trace of a E_k b E_l for every two pairs, where E_k has a 1 at both places of pair k."""
    left, right = pattern.pairs
    i, j = left[:, None], right[:, None]
    one: Floats = a[j, left] * b[right, i] + a[j, right] * b[left, i]
    other: Floats = a[i, left] * b[right, j] + a[i, right] * b[left, j]
    found: Floats = one + other
    return found


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over all rows at one place.

    `complete` is information of complete data, by item, over all dimensions and thresholds;
    `missing` what of it is not seen, in full, or as a root of which it is the square.
    """

    value: float  # log-likelihood
    slope: Floats  # (size,)
    complete: Floats  # (n_items, width, width)
    of_correlations: Floats
    missing: Floats
    around: Around


Missing = Callable[[Table, Block, Place, list[Products]], Floats]


def gather(
    table: Table, place: Place, around: Around, rule: Rule, run: Run, missing: Missing
) -> Sums:
    """Return likelihood, slopes and information; `missing` says what is not seen of one block."""
    pattern = table.pattern
    width = pattern.n_dimensions + pattern.of_thresholds.shape[1]
    moments: dict[int, Around] = {}

    def work(rows: slice) -> tuple[Floats, ...]:
        block = table.posterior(rows, around, place, rule)
        moments[rows.start] = block.around
        scores = np.zeros((len(block.outer), pattern.size + 1))
        complete = np.zeros((len(pattern.free), width, width))
        products = [expected_products(part) for part in block.parts]
        for part, product in zip(block.parts, products, strict=True):
            item_scores(part, product, pattern, scores)
            item_information(part, product, pattern, complete)
        scores = scores[:, :-1]
        if pattern.pairs[0].size:
            at = correlation_scores(block.nodes.outer, place, pattern)
            scores[:, pattern.n_of_items :] = np.einsum("nq,nqk->nk", block.outer, at)
        of_correlations = correlation_information(
            block.products.sum(axis=0), len(scores), place, pattern
        )
        lost = missing(table, block, place, products)
        value = np.array(block.log_norm.sum())
        return value, scores.sum(axis=0), complete, of_correlations, lost

    blocks = table.blocks(table.n_nodes(rule))
    value, slope, complete, of_correlations, lost = fold(run, blocks, work)
    factor = _between_thresholds(table, place, slope, complete)
    parts = [moments[rows.start] for rows in blocks]
    everywhere = Around(
        np.concatenate([one.mean for one in parts]),
        np.concatenate([one.covariance for one in parts]),
    )
    return Sums(float(value) + factor, slope, complete, of_correlations, lost, everywhere)


def _between_thresholds(table: Table, place: Place, slope: Floats, complete: Floats) -> float:
    """Add what categories between two thresholds say of their gap, whatever the abilities."""
    pattern = table.pattern
    log_factor, gap_slope, gap_bend = between(place.thresholds, pattern.n_thresholds)
    counts = table.counts[:, 1 : 1 + log_factor.shape[1]]
    for k in range(log_factor.shape[1]):
        there = pattern.n_thresholds > k + 1
        upper, lower = pattern.of_thresholds[there, k], pattern.of_thresholds[there, k + 1]
        slope[upper] += (counts * gap_slope)[there, k]
        slope[lower] -= (counts * gap_slope)[there, k]
        bend, at = (counts * gap_bend)[:, k], pattern.n_dimensions + k
        complete[:, at, at] += bend
        complete[:, at + 1, at + 1] += bend
        complete[:, at, at + 1] -= bend
        complete[:, at + 1, at] -= bend
    return float((counts * log_factor).sum())


def likelihood(table: Table, place: Place, around: Around, rule: Rule, run: Run) -> float:
    """Return the log-likelihood alone."""

    def work(rows: slice) -> tuple[Floats]:
        block = table.posterior(rows, around, place, rule, bending=False)
        return (np.array(block.log_norm.sum()),)

    (value,) = fold(run, table.blocks(table.n_nodes(rule)), work)
    log_factor, *_ = between(place.thresholds, table.pattern.n_thresholds)
    return float(value) + float((table.counts[:, 1 : 1 + log_factor.shape[1]] * log_factor).sum())

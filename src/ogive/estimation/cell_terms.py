"""The probability of a category as a product of logistic curves, and its derivatives.

With P(x >= k) = σ(η + c_k), a category between two thresholds has probability
σ(η + c_k) σ(-η - c_{k+1}) (1 - exp(c_{k+1} - c_k)): two logistic terms, and a factor that does not
depend on ability. Right or wrong is one term. A cell that was not asked is a term far in its tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats

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
    """Sum of the logs over items, (n_rows, n_nodes), and the curves of each term."""
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
    """Probability of each cell's category at all nodes, (n_rows, n_nodes, n_items)."""
    found = np.broadcast_to(factor[:, None, :], logits.shape).copy()
    for term in terms:
        t = (logits + term.threshold[:, None, :]) * term.sign[:, None, :]
        found *= 1 / (1 + np.exp(-np.clip(t, -FAR, FAR)))
    return found


def category_counts(codes: NDArray[np.int16], most: int) -> Floats:
    """How often each category of each item was given, (n_items, most + 1)."""
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

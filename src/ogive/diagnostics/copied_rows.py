"""Respondents who answer as another one does: copies, and models that were hardly changed.

Two respondents of one ability differ on an item with the probability P(1 - P') + (1 - P)P', with
the P of a model that knows only how well each respondent does and how easy each item is. Who
differs on at most a quarter of what that expects, and on fewer than chance explains, is no second
witness: a pair of copies is a dimension of its own, whatever the items ask. Short tests hold many
equal rows by chance, so that equality alone proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ogive.numerics.arrays import Floats

MOST_DIFFERENT = 0.25  # share of the expected differences that a near-copy may have
ALPHA = 0.01  # chance that any pair of a table is taken for copies, at most
TURNS = 12
FARTHEST = 6.0  # log-odds, so that who solves all has some
LEAST_UNIT = 1e-12  # of a variance of scores, so that it can divide
LEAST_SLOPE = 1e-3  # of a sum of variances, so that steps stay finite


@dataclass(frozen=True)
class Copies:
    """Which rows are kept, and of each other one, which it repeats."""

    kept: np.ndarray  # (n_kept,)
    repeats: tuple[tuple[int, int], ...]  # row, and the kept one that it is like


def copied_rows(values: Floats) -> Copies:
    """Find rows of `values`, from 0 to 1 with NaN for gaps, that repeat an earlier one."""
    n_rows = len(values)
    if n_rows < 3 or not values.size:
        return Copies(np.arange(n_rows), ())
    like = _are_copies(values)
    kept: list[int] = []
    repeats = []
    for row in range(n_rows):
        first = next((k for k in kept if like[row, k]), None)
        if first is None:
            kept.append(row)
        else:
            repeats.append((row, first))
    return Copies(np.array(kept), tuple(repeats))


def _are_copies(values: Floats) -> np.ndarray:
    """Which pairs differ on fewer items than two of their abilities would, (n_rows, n_rows)."""
    asked = ~np.isnan(values)
    there = asked.astype(float)
    x = np.where(asked, values, 0.0)
    mean = there * _main_effects(x, there)
    binary = bool(np.isin(x, (0.0, 1.0)).all())
    spread = mean * (1 - mean)
    if not binary:  # what an item leaves unexplained is the unit of its scores
        left = (there * (x - mean) ** 2).sum(axis=0) / there.sum(axis=0)
        unit = np.sqrt(np.maximum(left, LEAST_UNIT))
        x, mean, spread = x / unit, mean / unit, there
    seen = _squares_apart(x, x**2, there)
    expected = _squares_apart(mean, mean**2 + spread, there)
    found: np.ndarray = (seen <= MOST_DIFFERENT * expected) & (expected > 0)
    place = np.nonzero(found)
    common = (there @ there.T)[place]
    pairs = len(values) * (len(values) - 1) / 2
    found[place] = _chance(seen[place], expected[place], common, binary=binary) * pairs <= ALPHA
    return found


def _chance(seen: Floats, expected: Floats, common: Floats, *, binary: bool) -> Floats:
    """How likely independent respondents of these abilities differ so little.

    A sum of trials is no more dispersed than Poisson's of the same mean, which is thus careful;
    scores are taken as normal.
    """
    from scipy.special import chdtr, gammaincc

    p: Floats = gammaincc(seen + 1, expected) if binary else chdtr(common, common * seen / expected)
    return p


def _squares_apart(x: Floats, squares: Floats, there: Floats) -> Floats:
    """Sums over common items of (x - x')², of independent x with these mean squares."""
    apart = squares @ there.T
    found: Floats = np.maximum(apart + apart.T - 2 * (x @ x.T), 0.0)
    return found


def _main_effects(x: Floats, there: Floats) -> Floats:
    """Means that rows and columns explain together, on the scale of log-odds."""
    row, column = np.zeros((len(x), 1)), np.zeros((1, x.shape[1]))
    for _ in range(TURNS):
        for axis in (1, 0):
            mean = 1 / (1 + np.exp(-(row + column)))
            left = (there * (x - mean)).sum(axis=axis, keepdims=True)
            slope = (there * mean * (1 - mean)).sum(axis=axis, keepdims=True)
            step = np.clip(left / np.maximum(slope, LEAST_SLOPE), -1.0, 1.0)
            if axis == 1:
                row = np.clip(row + step, -FARTHEST, FARTHEST)
            else:
                column = np.clip(column + step, -FARTHEST, FARTHEST)
    found: Floats = 1 / (1 + np.exp(-(row + column)))
    return found

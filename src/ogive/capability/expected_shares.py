"""How many cases a promise is expected to accept, from cases that it will not be tested on.

What is decided on such cases costs the promise nothing: which score cases are ranked by, and where
tests begin. A test that begins too strict fails at a single error among the most certain cases; one
that begins too lax fails where some cases could have been accepted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.capability.risk import forgiven, sizes_to_test
from ogive.numerics.arrays import Bools, Floats

SAMPLES = 200  # of held-out cases, imagined
MOST_DRAWS = 4_000_000  # in all samples
BETTER = 0.05  # of the cases; so many more have to be expected for tests to begin elsewhere
FEWEST = 20  # cases to learn from; with fewer, tests begin as usual
ENOUGH = 0.75  # of the number of held-out cases; with fewer to learn from, tests begin as usual


class Expected(NamedTuple):
    """Numbers of accepted cases to test, and the share that is then expected to be accepted."""

    sizes: Floats
    share: float


def expected_share(
    score: Floats, right: Bools, n_cases: int, *, target: float, alpha: float
) -> Expected:
    """What tests on `n_cases` held-out cases are expected to accept.

    `score` and `right` (n,) are those of other cases from the same source, such as training cases
    out of fold. Held-out cases are imagined as draws from them, with a chance of being right that
    falls with the score.
    """
    sizes = sizes_to_test(n_cases, target, alpha, first=0)
    if not len(sizes) or len(score) < FEWEST:
        return Expected(sizes_to_test(n_cases, target, alpha), 0.0)
    chance = _chances(score, right)
    random = np.random.default_rng(0)
    samples = int(np.clip(MOST_DRAWS // n_cases, 10, SAMPLES))
    drawn = np.sort(random.integers(0, len(score), (samples, n_cases)), axis=1)
    wrong = np.cumsum(random.random(drawn.shape) > chance[drawn], axis=1)
    passed = wrong[:, sizes.astype(np.intp) - 1] <= forgiven(sizes, target, alpha)
    worth = np.array([reached(passed, sizes, k).mean() for k in range(len(sizes))])
    usual = int(np.searchsorted(sizes, sizes_to_test(n_cases, target, alpha)[0]))
    best = int(np.argmax(worth))
    clear = worth[best] > worth[usual] + BETTER * n_cases and len(score) >= ENOUGH * n_cases
    begin = best if clear else usual
    return Expected(sizes[begin:], float(worth[begin] / n_cases))


def reached(passed: NDArray[np.bool_], sizes: Floats, begin: int) -> Floats:
    """Size of the last test passed in a row from `begin` on, 0 if none; rows are samples."""
    steps = np.cumprod(passed[:, begin:], axis=1).sum(axis=1)
    found: Floats = np.append(0.0, sizes[begin:])[steps]
    return found


def _chances(score: Floats, right: Bools) -> Floats:
    """Chance of being right from the most to the least certain case, never rising.

    Half an error is added to each stretch of equal chances: none that were seen are not none.
    """
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(-score, kind="stable")
    level = isotonic_regression(right[order].astype(np.float64), increasing=False)
    _, stretch, counts = np.unique(level, return_inverse=True, return_counts=True)
    n = counts[stretch]
    return np.asarray((level * n + 0.5) / (n + 1.0))

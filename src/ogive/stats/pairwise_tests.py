"""Tests of all pairs of rivals: one rule for "differs", first places, and letter displays.

The best of several equal ones looks best by chance, so a test of the best against another is one
of all pairs. Rivals are compared on what both have done: over data sets or folds by Student's t of
the differences, over right and wrong responses by McNemar's exact test, over games by who won more
of them, and estimates by their joint covariance. P-values are then adjusted for all pairs; with
Holm's method, the chance to separate any two equal ones is at most alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from ogive.stats.array_backend import Floats
from ogive.stats.intervals import (
    Grouping,
    clustered_means,
    exact_difference,
    mcnemar,
    paired_difference,
    t_reach,
    t_test,
)
from ogive.stats.multiplicity import CORRECTIONS

ALPHA = 0.05  # probability of any wrong claim, in sentences
ROUNDING = 1e-12  # relative variation of differences that counts as none
FINEST = 9  # decimals that are compared; the rest is rounding
LEAST_ASKED = 5  # items that a respondent has to answer to be ranked before others that did
MOST_GROUPS = 40  # groups above which letters say less than the pairs themselves
MOST = 2000  # respondents up to which all pairs are tested
BEST = 200  # respondents whose pairs are tested if there are more

Ranks = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Differences:
    """Tests of all pairs of `n` rivals, ordered as `np.triu_indices`; NaN without a comparison."""

    n: int
    difference: Floats  # (n_pairs,), first minus second, as all that follow
    p: Floats
    p_adjusted: Floats

    @classmethod
    def of_tests(
        cls, n: int, difference: Floats, p: Floats, correction: str = "holm"
    ) -> Differences:
        """Return the tests of all pairs, adjusted for their number."""
        return cls(n, difference, p, CORRECTIONS[correction](p))

    def behind(self, best: int, alpha: float = ALPHA) -> NDArray[np.bool_]:
        """Return True for rivals that are significantly lower than `best`, (n,)."""
        first, second = np.triu_indices(self.n, 1)
        significant = self.p_adjusted <= alpha
        behind = np.zeros(self.n, dtype=bool)
        behind[second[significant & (first == best) & (self.difference > 0)]] = True
        behind[first[significant & (second == best) & (self.difference < 0)]] = True
        return behind

    def level_with(self, best: int, alpha: float = ALPHA) -> NDArray[np.bool_]:
        """Return True for others that are not significantly lower than `best`, (n,)."""
        level = ~self.behind(best, alpha)
        level[best] = False
        return level

    def significant(self, alpha: float = ALPHA) -> NDArray[np.bool_]:
        """Return True for pairs that differ, (n, n)."""
        return self._square(self.p_adjusted <= alpha)

    def compared(self) -> NDArray[np.bool_]:
        """Return True for pairs that could be tested, (n, n), and on the diagonal."""
        return self._square(np.isfinite(self.p)) | np.eye(self.n, dtype=bool)

    def _square(self, of_pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        upper = np.zeros((self.n, self.n), dtype=bool)
        upper[np.triu_indices(self.n, 1)] = of_pairs
        return upper | upper.T

    def tied_with(self, names: Sequence[str], alpha: float = ALPHA) -> list[str]:
        """Return for each rival the names of those that cannot be distinguished from it."""
        alike = self.compared() & ~self.significant(alpha) & ~np.eye(self.n, dtype=bool)
        return [", ".join(np.array(names, dtype=object)[row]) for row in alike]

    def leaders(self, names: Sequence[str], alpha: float = ALPHA) -> tuple[str, ...]:
        """Return the first of ranked rivals, and all that cannot be distinguished from it."""
        level = self.compared()[0] & ~self.significant(alpha)[0]
        return tuple(np.array(names, dtype=object)[level])

    def rank_limits(self, confidence: float) -> tuple[Ranks, Ranks]:
        """Return lowest and highest rank of each rival, from who is significantly better or worse.

        With Holm's correction all intervals hold simultaneously with probability `confidence`, even
        if rivals are equally good (Mogstad, Romano, Shaikh and Wilhelm, 2024).
        """
        first, second = np.triu_indices(self.n, 1)
        significant = self.p_adjusted <= 1.0 - confidence
        n_better, n_worse = np.zeros((2, self.n), dtype=np.intp)
        for winner, loser, pairs in (
            (first, second, significant & (self.difference > 0)),
            (second, first, significant & (self.difference < 0)),
        ):
            n_better += np.bincount(loser[pairs], minlength=self.n)
            n_worse += np.bincount(winner[pairs], minlength=self.n)
        return 1 + n_better, self.n - n_worse


def differences_over_units(
    values: Floats, n_units: int | None = None, correction: str = "holm"
) -> Differences:
    """Test paired differences by Student's t; `values` are rivals × units, such as data sets.

    A pair is compared on the units that both have. `n_units` is the number of independent units, if
    that is less than all.

    >>> scores = np.array([[0.8, 0.9, 0.7], [0.7, 0.8, 0.6], [0.2, 0.6, 0.1]])
    >>> differences_over_units(scores).level_with(0).tolist()
    [False, True, True]
    """
    parts = [_t_tests(values[k] - values[k + 1 :], n_units) for k in range(len(values) - 1)]
    difference, p = np.concatenate([np.empty((2, 0)), *parts], axis=1)
    return Differences.of_tests(len(values), difference, p, correction)


def _t_tests(differences: Floats, n_units: int | None) -> Floats:
    """Return the mean of each row and the p-value that it is zero, (2, n_rows)."""
    answered = ~np.isnan(differences)
    count = answered.sum(axis=1)
    mean = np.where(answered, differences, 0.0).sum(axis=1) / np.maximum(count, 1)
    centred = np.where(answered, differences - mean[:, None], 0.0)
    sd = np.sqrt((centred**2).sum(axis=1) / np.maximum(count - 1, 1))
    n = count if n_units is None else np.minimum(count, n_units)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2.0 * stdtr(np.maximum(n - 1.0, 1.0), -np.abs(mean) * np.sqrt(n) / sd)
    # If all units agree to the digit, a sign test takes the place of a quotient with divisor 0.
    equal = sd <= ROUNDING * np.abs(mean)
    p = np.where(equal, np.where(mean == 0, 1.0, 2.0 ** (1.0 - n)), p)
    p = np.where(n < 2, 1.0, p)
    return np.where(count > 0, np.stack([mean, p]), np.nan)


def differences_of_answers(right: Floats, correction: str = "holm") -> Differences:
    """Test all pairs by McNemar's exact test; `right` is 1, 0, or NaN if an item was not asked.

    >>> right = np.array([[1.0] * 20, [1.0] * 19 + [0.0], [0.0] * 20])
    >>> differences_of_answers(right).level_with(0).tolist()
    [False, True, False]
    """
    better, worse, shared = right_alone(right)
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = (better - worse) / shared
    p = np.where(shared > 0, mcnemar(better, worse), np.nan)
    return Differences.of_tests(len(right), difference, p, correction)


def differences_of_games(
    scores: Floats, tolerance: float = 0.0, correction: str = "holm"
) -> Differences:
    """Test all pairs by sign tests: `scores` are rivals × games, and the higher score wins a game.

    Scores at most `tolerance` apart are a draw, which says nothing. Only the winner counts, so
    that no distribution of scores is assumed; a few games cannot separate many rivals.

    >>> won = differences_of_games(np.array([np.ones(9), np.zeros(9), np.zeros(9)]))
    >>> won.level_with(0).tolist(), won.p.tolist()[2]
    ([False, False, False], 1.0)
    """
    parts = []
    for k in range(len(scores) - 1):
        lead = scores[k] - scores[k + 1 :]
        better, worse = ((side > tolerance).sum(axis=1).astype(float) for side in (lead, -lead))
        met = ~np.isnan(lead).all(axis=1)
        share = np.divide(better - worse, better + worse, out=0 * better, where=better + worse > 0)
        parts.append(np.where(met, np.stack([share, mcnemar(better, worse)]), np.nan))
    difference, p = np.concatenate([np.empty((2, 0)), *parts], axis=1)
    return Differences.of_tests(len(scores), difference, p, correction)


def right_alone(right: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the numbers of items of each pair right for the first or second only, and shared."""
    answered = ~np.isnan(right)
    known, upper = np.where(answered, right, 0.0), np.triu_indices(len(right), 1)
    alone = known @ (answered - known).T  # (i, j): items that i has right and j wrong
    shared = answered.astype(float) @ answered.T.astype(float)
    return alone[upper], alone.T[upper], shared[upper]


def differences_of_estimates(
    estimate: Floats,
    covariance: Floats,
    freedom: float | Floats = np.inf,
    correction: str = "holm",
) -> Differences:
    """Test all pairs of estimates by their joint covariance, or by their variances.

    `covariance` is a matrix, or one variance each for estimates that are independent. `freedom`
    are its degrees of freedom; for independent estimates, those of each, which Welch's test
    combines for a pair.

    >>> level = differences_of_estimates(np.array([3.0, 2.9, 0.0]), np.full(3, 0.1)).level_with(0)
    >>> level.tolist()
    [False, True, False]
    """
    first, second = np.triu_indices(estimate.size, 1)
    if covariance.ndim == 1:
        variance = covariance[first] + covariance[second]
        freedom = _welch(covariance, np.broadcast_to(freedom, estimate.shape))
    else:
        own = np.diag(covariance)
        variance = own[first] + own[second] - 2 * covariance[first, second]
    difference, se = estimate[first] - estimate[second], np.sqrt(np.maximum(variance, 0.0))
    return differences_by_errors(estimate.size, difference, se, freedom, correction)


def _welch(variance: Floats, freedom: Floats) -> Floats:
    """Return the degrees of freedom of the difference of each pair of independent estimates."""
    first, second = np.triu_indices(variance.size, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = variance[first] / (variance[first] + variance[second])
        welch = 1.0 / (share**2 / freedom[first] + (1.0 - share) ** 2 / freedom[second])
    least = np.minimum(freedom[first], freedom[second])
    return np.where(np.isfinite(share), np.maximum(welch, least), least)


def differences_by_errors(
    n: int,
    difference: Floats,
    se: Floats,
    freedom: float | Floats = np.inf,
    correction: str = "holm",
) -> Differences:
    """Test all pairs of `n` rivals by the standard error of each difference; NaN is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2.0 * stdtr(freedom, -np.abs(difference) / se)
    p = np.where((difference == 0) & ~np.isnan(se), 1.0, p)
    return Differences.of_tests(n, difference, p, correction)


def first_places(value: Floats, within: float = 0.0) -> NDArray[np.intp]:
    """Return the positions of all that share the highest value; a tie has no single winner.

    Values count as equal if they differ by no more than `within`.

    >>> first_places(np.array([0.5, 0.7, np.nan, 0.7 + 1e-12])).tolist()
    [1, 3]
    """
    rounded = np.round(np.asarray(value, dtype=float), FINEST)
    if np.isnan(rounded).all():
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(rounded >= np.nanmax(rounded) - within)


def answered_few(asked: NDArray[np.intp], part: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Flag respondents with too few answers to be ranked first: one lucky answer would lead.

    If no respondent of a part reaches `LEAST_ASKED`, none is flagged.

    >>> answered_few(np.array([1, 10, 2]), np.array([0, 0, 1])).tolist()
    [True, False, False]
    """
    most = np.zeros(int(part.max(initial=0)) + 1, dtype=np.intp)
    np.maximum.at(most, part, asked)
    return np.asarray((asked < LEAST_ASKED) & (most[part] >= LEAST_ASKED))


def letters_of(different: NDArray[np.bool_]) -> list[str] | None:
    """Return a compact letter display (Piepho, 2004) of a symmetric table of pairs that differ.

    Rows that share a letter do not differ: all begin in one group, and each pair that differs
    splits the groups that hold both. Letters follow the order of the rows. None if there are too
    many groups to read.

    >>> import numpy as np
    >>> letters_of(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ['a', 'ab', 'b']
    """
    groups = [frozenset(range(len(different)))]
    for first, second in zip(*np.nonzero(np.triu(different, 1)), strict=True):
        both = [group for group in groups if first in group and second in group]
        parts = [group - {one} for group in both for one in (first, second)]
        distinct = dict.fromkeys([*(group for group in groups if group not in both), *parts])
        groups = [one for one in distinct if not any(one < other for other in distinct)]
        if len(groups) > MOST_GROUPS:
            return None
    groups.sort(key=sorted)
    return [
        "".join(letter(k) for k, group in enumerate(groups) if row in group)
        for row in range(len(different))
    ]


def letter(index: int) -> str:
    """Return a, b, ..., z, then 27, 28, ... in brackets."""
    return chr(ord("a") + index) if index < 26 else f"({index + 1})"


@dataclass(frozen=True, eq=False)
class Pairs:
    """One entry per pair, in the order of `np.triu_indices`; NaN if no item is shared."""

    difference: Floats  # first minus second
    se: Floats
    low: Floats
    high: Floats
    p: Floats
    p_adjusted: Floats
    p_family: Floats  # adjusted for the chance of any false discovery, for the rank intervals
    shared: NDArray[np.intp]


def compare_pairs(
    values: Floats,
    grouping: Grouping,
    *,
    once: NDArray[np.bool_],
    bounded: bool,
    confidence: float,
    correction: str,
) -> Pairs:
    """Test every pair of rows, exactly if both have single answers, right or wrong.

    `once` says which rows have these, (n_rows,); their items must be unrelated.
    """
    better, worse, shared = right_alone(values)
    first, second = np.triu_indices(len(values), 1)
    exact = once[first] & once[second]
    tests = None
    if exact.any() or exact.all():
        tests = np.stack(_exact_tests(better, worse, shared, confidence))
    if tests is None or not exact.all():
        clustered = _clustered_tests(values, grouping, confidence, bounded=bounded)
        tests = clustered if tests is None else np.where(exact, tests, clustered)
    difference, se, low, high, p = tests
    adjusted, family = (
        Differences.of_tests(len(values), difference, p, name).p_adjusted
        for name in (correction, "holm")
    )
    n_shared = shared.round().astype(np.intp)
    return Pairs(difference, se, low, high, p, adjusted, family, n_shared)


def n_compared(n_respondents: int) -> int:
    """Return the number of respondents, from the first, that are compared in pairs."""
    return n_respondents if n_respondents <= MOST else BEST


def _exact_tests(
    better: Floats, worse: Floats, shared: Floats, confidence: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return difference, se, low, high and p by McNemar's exact test."""
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = (better - worse) / shared
        variance = (better + worse) / shared - difference**2
        se = np.sqrt(np.maximum(variance, 0.0) / (shared - 1.0))
    p = mcnemar(better, worse)
    approximate = paired_difference(better, worse, shared, confidence)
    low, high = _consistent(approximate, p, better, worse, shared, confidence)
    low, high, p = (np.where(shared == 0, np.nan, x) for x in (low, high, p))
    return difference, np.where(shared > 1, se, np.nan), low, high, p


def _consistent(
    approximate: tuple[Floats, Floats],
    p: Floats,
    better: Floats,
    worse: Floats,
    n: Floats,
    confidence: float,
) -> tuple[Floats, Floats]:
    """Return approximate intervals, but exact ones if they contradict the exact test of 0.

    The approximation is a little shorter than what the exact test does not reject. An interval
    that excludes 0 next to a test that finds no difference would contradict itself.
    """
    low, high = (end.copy() for end in approximate)
    odd = ((low > 0) | (high < 0)) != (p <= 1.0 - confidence)
    for pairs, end, which in ((odd & (better > worse), low, 0), (odd & (better < worse), high, 1)):
        end[pairs] = exact_difference(better[pairs], worse[pairs], n[pairs], confidence)[which]
    return low, high


def _clustered_tests(
    values: Floats, grouping: Grouping, confidence: float, *, bounded: bool
) -> Floats:
    """Return difference, se, low, high and p by Student's t with clustered standard errors.

    If a difference does not vary, its interval is that of two shares of the span of values.
    """
    parts = []
    span = 1.0 if bounded else float(np.nanmax(values) - np.nanmin(values))
    for k in range(len(values) - 1):
        means = clustered_means(values[k] - values[k + 1 :], grouping)
        reach = t_reach(means.freedom, confidence) * means.se
        low, high = means.mean - reach, means.mean + reach
        constant = ~(means.se > 1e-12) & (means.clusters > 0)
        if span > 0 and constant.any():
            share = means.mean[constant] / span
            ends = _interval_of_constant(share, means.clusters[constant], confidence)
            low[constant], high[constant] = span * ends[0], span * ends[1]
        if bounded and span > 0:
            low, high = np.maximum(low, -1.0), np.minimum(high, 1.0)
        parts.append(np.stack([means.mean, means.se, low, high, t_test(means)]))
    return np.concatenate([np.empty((5, 0)), *parts], axis=1)


def _interval_of_constant(share: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the interval of a mean on which all n clusters agree, as one of two shares.

    Their signs test it, so that they are n cases to the exact interval.
    """
    better, worse = np.maximum(share, 0.0) * n, np.maximum(-share, 0.0) * n
    approximate = paired_difference(better, worse, n, confidence)
    better, worse = np.where(share > 0, n, 0.0), np.where(share < 0, n, 0.0)
    p = np.where(share == 0, 1.0, 2.0 ** (1.0 - n))
    with np.errstate(divide="ignore"):
        low, high = _consistent(approximate, p, better, worse, n / np.abs(share), confidence)
    return np.minimum(low, share), np.maximum(high, share)


def rank_limits(pairs: Pairs, n: int, confidence: float) -> tuple[Ranks, Ranks]:
    """Return lowest and highest rank of each respondent, from significant differences."""
    return Differences(n, pairs.difference, pairs.p, pairs.p_family).rank_limits(confidence)


def rank_limits_apart(low: Floats, high: Floats) -> tuple[Ranks, Ranks]:
    """Return lowest and highest rank of each respondent from simultaneous intervals.

    Respondents whose interval lies wholly above rank higher, those wholly below rank lower. This is
    wider than by pairs, but time and memory do not grow with the number of pairs.
    """
    n = low.size
    n_better = n - np.searchsorted(np.sort(low), high, side="right")
    n_worse = np.searchsorted(np.sort(high), low, side="left")
    return 1 + n_better, n - n_worse

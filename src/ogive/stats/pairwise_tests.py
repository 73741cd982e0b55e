"""One rule for "differs"; paired rows, first places, letter display.

One rule for "differs": all pairs are tested, and who looks best is known to have been chosen.

The best of several equal ones looks best by chance, so a test of the best against another is one
of all pairs, not one alone. Rivals are compared on what both have done: over data sets or folds by
Student's t of the differences, over right and wrong responses by McNemar's exact test, over games
by who won more of them, and estimates by their joint covariance. P-values are then adjusted for
all pairs; with Holm's method, the chance to separate any two equal ones is at most alpha.

Who stands first: all that share the highest value, since a tie is won by nobody.

Groups of respondents that cannot be distinguished, as letters (compact letter display).

Whoever shares a letter does not differ significantly. Piepho (2004) describes the algorithm: all
begin in one group; each pair that differs splits the groups that hold both.

Paired tests of all respondents of a board, on the items that both answered: one rule for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats
from ogive.stats.intervals import (
    Grouping,
    Means,
    clustered_means,
    exact_difference,
    mcnemar,
    paired_difference,
    t_reach,
    t_test,
)
from ogive.stats.multiplicity import CORRECTIONS

ALPHA = 0.05  # chance of any wrong claim, in sentences
ROUNDING = 1e-12  # relative; differences that vary less do not vary


@dataclass(frozen=True, eq=False)
class Differences:
    """All pairs of `n` rivals, in the order of `np.triu_indices`; NaN for a pair that never met."""

    n: int
    difference: Floats  # (n_pairs,), first minus second, as all that follow
    p: Floats
    p_adjusted: Floats

    @classmethod
    def of_tests(
        cls, n: int, difference: Floats, p: Floats, correction: str = "holm"
    ) -> Differences:
        """Return tests that were made of all pairs, adjusted for their number."""
        return cls(n, difference, p, CORRECTIONS[correction](p))

    def behind(self, best: int, alpha: float = ALPHA) -> NDArray[np.bool_]:
        """Return which rivals are significantly lower than `best`, (n,)."""
        first, second = np.triu_indices(self.n, 1)
        sure = self.p_adjusted <= alpha
        found = np.zeros(self.n, dtype=bool)
        found[second[sure & (first == best) & (self.difference > 0)]] = True
        found[first[sure & (second == best) & (self.difference < 0)]] = True
        return found

    def level_with(self, best: int, alpha: float = ALPHA) -> NDArray[np.bool_]:
        """Return which others are not significantly lower than `best`, (n,)."""
        found: NDArray[np.bool_] = ~self.behind(best, alpha)
        found[best] = False
        return found

    def significant(self, alpha: float = ALPHA) -> NDArray[np.bool_]:
        """Return whether each pair differs, (n, n)."""
        return self._square(self.p_adjusted <= alpha)

    def compared(self) -> NDArray[np.bool_]:
        """Return whether each pair could be tested, (n, n); everybody is level with itself."""
        found: NDArray[np.bool_] = self._square(np.isfinite(self.p)) | np.eye(self.n, dtype=bool)
        return found

    def _square(self, each: NDArray[np.bool_]) -> NDArray[np.bool_]:
        found = np.zeros((self.n, self.n), dtype=bool)
        found[np.triu_indices(self.n, 1)] = each
        return found | found.T

    def tied_with(self, names: Sequence[str], alpha: float = ALPHA) -> list[str]:
        """Return for each rival, the names of those that cannot be distinguished from it."""
        alike = self.compared() & ~self.significant(alpha) & ~np.eye(self.n, dtype=bool)
        called = np.array(names, dtype=object)
        return [", ".join(called[row]) for row in alike]

    def leaders(self, names: Sequence[str], alpha: float = ALPHA) -> tuple[str, ...]:
        """The first of rivals in rank order, and all that cannot be distinguished from it."""
        level = self.compared()[0] & ~self.significant(alpha)[0]
        return tuple(np.array(names, dtype=object)[level])

    def rank_limits(self, confidence: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return lowest and highest rank of each rival, from who is significantly better or worse.

        With Holm's correction all intervals hold simultaneously with probability `confidence`, even
        where rivals are equally good (Mogstad, Romano, Shaikh and Wilhelm, 2024).
        """
        first, second = np.triu_indices(self.n, 1)
        sure = self.p_adjusted <= 1.0 - confidence
        ahead, behind = np.zeros(self.n, dtype=np.intp), np.zeros(self.n, dtype=np.intp)
        for up, down, chosen in (
            (first, second, sure & (self.difference > 0)),
            (second, first, sure & (self.difference < 0)),
        ):
            ahead += np.bincount(down[chosen], minlength=self.n)
            behind += np.bincount(up[chosen], minlength=self.n)
        return 1 + ahead, self.n - behind


def differences_over_units(
    values: Floats, n_units: int | None = None, correction: str = "holm"
) -> Differences:
    """Return Student's t of paired differences: `values` are rivals × units, such as data sets.

    A pair is compared on the units that both have. `n_units` says how many of them count as
    independent, if that are fewer than all.

    >>> scores = np.array([[0.8, 0.9, 0.7], [0.7, 0.8, 0.6], [0.2, 0.6, 0.1]])
    >>> differences_over_units(scores).level_with(0).tolist()
    [False, True, True]
    """
    parts = [_t_tests(values[k] - values[k + 1 :], n_units) for k in range(len(values) - 1)]
    difference, p = np.concatenate([np.empty((2, 0)), *parts], axis=1)
    return Differences.of_tests(len(values), difference, p, correction)


def _t_tests(away: Floats, n_units: int | None) -> Floats:
    """Return mean of each row and the p-value that it is zero, (2, n_rows)."""
    from scipy.special import stdtr

    seen = ~np.isnan(away)
    count = seen.sum(axis=1)
    n = np.maximum(count, 1)
    mean = np.where(seen, away, 0.0).sum(axis=1) / n
    apart = np.where(seen, away - mean[:, None], 0.0)
    spread = np.sqrt((apart**2).sum(axis=1) / np.maximum(count - 1, 1))
    free = count if n_units is None else np.minimum(count, n_units)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2.0 * stdtr(np.maximum(free - 1.0, 1.0), -np.abs(mean) * np.sqrt(free) / spread)
    # Where all units agree to the digit, a sign test takes the place of a quotient without divisor.
    equal = spread <= ROUNDING * np.abs(mean)
    p = np.where(equal, np.where(mean == 0, 1.0, 2.0 ** (1.0 - free)), p)
    p = np.where(free < 2, 1.0, p)
    return np.where(count > 0, np.stack([mean, p]), np.nan)


def differences_of_answers(right: Floats, correction: str = "holm") -> Differences:
    """McNemar's exact test of all pairs; `right` is 1, 0, or NaN for items that were not asked.

    >>> right = np.array([[1.0] * 20, [1.0] * 19 + [0.0], [0.0] * 20])
    >>> differences_of_answers(right).level_with(0).tolist()
    [False, True, False]
    """
    better, worse, shared = answers_alone(right)
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = (better - worse) / shared
    p = np.where(shared > 0, mcnemar(better, worse), np.nan)
    return Differences.of_tests(len(right), difference, p, correction)


def differences_of_games(
    scores: Floats, tolerance: float = 0.0, correction: str = "holm"
) -> Differences:
    """Sign tests of all pairs: `scores` are rivals × games, and the higher score wins a game.

    Scores at most `tolerance` apart are a draw, which says nothing. Who wins is all that counts, so
    nothing is assumed about the scores; a few games cannot separate many rivals.

    >>> won = differences_of_games(np.array([np.ones(9), np.zeros(9), np.zeros(9)]))
    >>> won.level_with(0).tolist(), won.p.tolist()[2]
    ([False, False, False], 1.0)
    """
    parts = []
    for k in range(len(scores) - 1):
        away = scores[k] - scores[k + 1 :]
        better, worse = ((side > tolerance).sum(axis=1).astype(float) for side in (away, -away))
        met = ~np.isnan(away).all(axis=1)
        share = np.divide(better - worse, better + worse, out=0 * better, where=better + worse > 0)
        parts.append(np.where(met, np.stack([share, mcnemar(better, worse)]), np.nan))
    difference, p = np.concatenate([np.empty((2, 0)), *parts], axis=1)
    return Differences.of_tests(len(scores), difference, p, correction)


def answers_alone(right: Floats) -> tuple[Floats, Floats, Floats]:
    """For each pair, items that only the first has right, only the second, and that both saw."""
    seen = ~np.isnan(right)
    known, upper = np.where(seen, right, 0.0), np.triu_indices(len(right), 1)
    alone = known @ (seen - known).T  # (i, j): items that i has right and j wrong
    shared = seen.astype(float) @ seen.T.astype(float)
    return alone[upper], alone.T[upper], shared[upper]


def differences_of_estimates(
    estimate: Floats,
    covariance: Floats,
    freedom: float | Floats = np.inf,
    correction: str = "holm",
) -> Differences:
    """Return tests of all pairs of estimates by their joint covariance, or by their variances.

    `covariance` is a matrix, or one variance each for estimates that are independent. `freedom`
    are the degrees of freedom with which it is known; of independent estimates, those of each, so
    that a pair has what Welch's test gives it.

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
    apart, se = estimate[first] - estimate[second], np.sqrt(np.maximum(variance, 0.0))
    return differences_by_errors(estimate.size, apart, se, freedom, correction)


def _welch(variance: Floats, freedom: Floats) -> Floats:
    """Return degrees of freedom of the difference of each pair of independent estimates."""
    first, second = np.triu_indices(variance.size, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = variance[first] / (variance[first] + variance[second])
        found: Floats = 1.0 / (share**2 / freedom[first] + (1.0 - share) ** 2 / freedom[second])
    least = np.minimum(freedom[first], freedom[second])
    return np.where(np.isfinite(share), np.maximum(found, least), least)


def differences_by_errors(
    n: int,
    difference: Floats,
    se: Floats,
    freedom: float | Floats = np.inf,
    correction: str = "holm",
) -> Differences:
    """Tests of all pairs of `n` rivals by the standard error of each difference; NaN is unknown."""
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2.0 * stdtr(freedom, -np.abs(difference) / se)
    p = np.where((difference == 0) & ~np.isnan(se), 1.0, p)
    return Differences.of_tests(n, difference, p, correction)


FINEST = 9  # decimals that are compared; the rest is rounding
LEAST_ASKED = 5  # items, below which a respondent does not stand before others who answered more


def first_places(value: Floats, within: float = 0.0) -> NDArray[np.intp]:
    """Return positions of all that share the highest value; NaN has none.

    Values that a search has found are equal if they differ by no more than `within`.

    >>> first_places(np.array([0.5, 0.7, np.nan, 0.7 + 1e-12])).tolist()
    [1, 3]
    """
    rounded = np.round(np.asarray(value, dtype=float), FINEST)
    if np.isnan(rounded).all():
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(rounded >= np.nanmax(rounded) - within)


def answered_few(asked: NDArray[np.intp], part: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return who answered too few items to be first: one lucky answer would lead every table.

    Where nobody of a part answered enough, nobody has to stand back.

    >>> answered_few(np.array([1, 10, 2]), np.array([0, 0, 1])).tolist()
    [True, False, False]
    """
    most = np.zeros(int(part.max(initial=0)) + 1, dtype=np.intp)
    np.maximum.at(most, part, asked)
    found: NDArray[np.bool_] = (asked < LEAST_ASKED) & (most[part] >= LEAST_ASKED)
    return found


MOST_GROUPS = 40  # beyond, letters say less than the pairs themselves


def letters_of(different: NDArray[np.bool_]) -> list[str] | None:
    """Return the letters of each row of a symmetric table of pairs that differ.

    None if there are too many groups to read. Letters follow the order of the rows.

    >>> import numpy as np
    >>> letters_of(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ['a', 'ab', 'b']
    """
    groups = [frozenset(range(len(different)))]
    for first, second in zip(*np.nonzero(np.triu(different, 1)), strict=True):
        both = [group for group in groups if first in group and second in group]
        parts = [group - {one} for group in both for one in (first, second)]
        groups = _largest([*(group for group in groups if group not in both), *parts])
        if len(groups) > MOST_GROUPS:
            return None
    groups.sort(key=sorted)
    return [
        "".join(letter(k) for k, group in enumerate(groups) if row in group)
        for row in range(len(different))
    ]


def _largest(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """Return the groups that no other contains."""
    distinct = list(dict.fromkeys(groups))
    return [one for one in distinct if not any(one < other for other in distinct)]


def letter(place: int) -> str:
    """Return a, b, ..., z, then 27, 28, ... in brackets."""
    return chr(ord("a") + place) if place < 26 else f"({place + 1})"


MOST = 2000  # respondents up to which all pairs are tested
BEST = 200  # respondents whose pairs are tested if there are more


@dataclass(frozen=True, eq=False)
class Pairs:
    """One entry per pair, in the order of `np.triu_indices`; NaN where no item is shared."""

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
    """Test every pair of rows, exactly where both have single answers, right or wrong.

    `once` says which rows have these, (n_rows,); their items must be unrelated.
    """
    better, worse, shared = answers_alone(values)
    first, second = np.triu_indices(len(values), 1)
    exactly = once[first] & once[second]
    if exactly.all():
        found = _exact(better, worse, shared, confidence)
    else:
        found = _by_clusters(values, grouping, confidence, bounded=bounded)
        if exactly.any():
            apart = _exact(better, worse, shared, confidence)
            both = (np.where(exactly, a, b) for a, b in zip(apart, found, strict=True))
            difference, se, low, high, p = both
            found = difference, se, low, high, p
    difference, p = found[0], found[-1]
    tested, family = (
        Differences.of_tests(len(values), difference, p, name) for name in (correction, "holm")
    )
    count = shared.round().astype(np.intp)
    return Pairs(*found, tested.p_adjusted, family.p_adjusted, count)


def n_compared(n_respondents: int) -> int:
    """Return how many respondents, from the first, are compared in pairs."""
    return n_respondents if n_respondents <= MOST else BEST


def _exact(
    better: Floats, worse: Floats, shared: Floats, confidence: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return mcNemar's exact test, from the items on which only one of the two is right."""
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = (better - worse) / shared
        spread = (better + worse) / shared - difference**2
        se = np.sqrt(np.maximum(spread, 0.0) / (shared - 1.0))
    p = mcnemar(better, worse)
    near = paired_difference(better, worse, shared, confidence)
    low, high = _agreeing(near, p, better, worse, shared, confidence)
    none = shared == 0
    low, high, p = (np.where(none, np.nan, x) for x in (low, high, p))
    return difference, np.where(shared > 1, se, np.nan), low, high, p


def _agreeing(
    near: tuple[Floats, Floats],
    p: Floats,
    better: Floats,
    worse: Floats,
    n: Floats,
    confidence: float,
) -> tuple[Floats, Floats]:
    """The ends of approximate intervals, exact where they and the exact test `p` disagree on 0.

    The approximation is a little shorter than what the exact test does not reject. An interval
    that excludes 0 beside a test that finds no difference would say two things of one pair.
    """
    low, high = (end.copy() for end in near)
    odd = ((low > 0) | (high < 0)) != (p <= 1.0 - confidence)
    ahead, behind = odd & (better > worse), odd & (better < worse)
    for mine, end, which in ((ahead, low, 0), (behind, high, 1)):
        end[mine] = exact_difference(better[mine], worse[mine], n[mine], confidence)[which]
    return low, high


def _by_clusters(
    values: Floats, grouping: Grouping, confidence: float, *, bounded: bool
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return Student's t test of the differences, with clustered standard errors."""
    parts = []
    span = 1.0 if bounded else float(np.nanmax(values) - np.nanmin(values))
    for k in range(len(values) - 1):
        means = clustered_means(values[k] - values[k + 1 :], grouping)
        low, high = _limits(means, confidence, span, bounded=bounded)
        parts.append(np.stack([means.mean, means.se, low, high, t_test(means)]))
    difference, se, low, high, p = np.concatenate([np.empty((5, 0)), *parts], axis=1)
    return difference, se, low, high, p


def _limits(
    means: Means, confidence: float, span: float, *, bounded: bool
) -> tuple[Floats, Floats]:
    """Return interval of a difference; where nothing varies, that of two shares of the `span`."""
    reach = t_reach(means.freedom, confidence) * means.se
    low, high = means.mean - reach, means.mean + reach
    still = ~(means.se > 1e-12) & (means.clusters > 0)
    if span > 0 and still.any():
        low[still], high[still] = _of_equal(
            means.mean[still] / span, means.clusters[still], confidence
        )
        low[still], high[still] = span * low[still], span * high[still]
    return (np.maximum(low, -1.0), np.minimum(high, 1.0)) if bounded and span > 0 else (low, high)


def _of_equal(share: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Interval of a mean on which all of n clusters agree to the digit, as one of two shares.

    Their signs test it, so that they are n cases to the exact interval.
    """
    floor = paired_difference(
        np.maximum(share, 0.0) * n, np.maximum(-share, 0.0) * n, n, confidence
    )
    ahead, back = np.where(share > 0, n, 0.0), np.where(share < 0, n, 0.0)
    p = np.where(share == 0, 1.0, 2.0 ** (1.0 - n))
    with np.errstate(divide="ignore"):
        low, high = _agreeing(floor, p, ahead, back, n / np.abs(share), confidence)
    return np.minimum(low, share), np.maximum(high, share)


def rank_limits(
    pairs: Pairs, n: int, confidence: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lowest and highest rank of each respondent, from who is significantly better or worse."""
    return Differences(n, pairs.difference, pairs.p, pairs.p_family).rank_limits(confidence)


def rank_limits_apart(low: Floats, high: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lowest and highest rank of each respondent from simultaneous intervals, without paired tests.

    Respondents whose interval lies wholly above rank higher, those wholly below rank lower. This is
    wider than by pairs, but time and memory do not grow with the number of pairs.
    """
    n = low.size
    ahead = n - np.searchsorted(np.sort(low), high, side="right")
    behind = np.searchsorted(np.sort(high), low, side="left")
    return 1 + ahead, n - behind

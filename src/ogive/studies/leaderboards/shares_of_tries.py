"""How much of an error comes from how single tries fell: of one mean, and of a difference of two.

More tries shorten intervals by that share at most. Two respondents are asked the same items, whose
difficulty cancels in their difference, so that tries weigh more there than in either mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import normal_reach

LEAST_AGAIN, LEAST_TELLING = 20, 2  # items asked again, of so many respondents, to speak of tries
REACH = normal_reach(0.95)

Share = tuple[float, float]  # and its standard error over items


class Tries(NamedTuple):
    """What was asked again: (n_respondents, n_items) each, or rows of them."""

    values: Floats  # means over tries; NaN where not asked
    tries: NDArray[np.int32]
    squares: Floats  # within items, summed over tries
    freedom: Floats  # tries beyond the first, where their spread is known

    def of(self, rows: NDArray[np.intp] | NDArray[np.bool_], items: NDArray[np.bool_]) -> Tries:
        """The same of some respondents and items."""
        return Tries(
            self.values[rows][:, items],
            self.tries[rows][:, items],
            self.squares[rows][:, items],
            self.freedom[rows][:, items],
        )

    @property
    def again(self) -> NDArray[np.intp]:
        """How many items each respondent was asked again."""
        return np.asarray((self.freedom > 0).sum(axis=1))


def mean_share(found: Tries, share: Floats) -> Share | None:
    """Mean of respondents' shares, and its error over items, which all share."""
    if len(share) < LEAST_TELLING:
        return None
    asked = found.tries > 0
    off = np.where(asked, found.values - np.nanmean(found.values, axis=1)[:, None], 0.0) ** 2
    moved = _of_tries(found) - _pulls(off)
    return float(share.mean()), _error((share[:, None] * moved).mean(axis=0), asked)


def apart_share(found: Tries) -> Share | None:
    """The same of differences of neighbours in rank, on items that both were asked.

    None where no two neighbours were asked enough items again. Respondents with equal responses
    show no difference, and do not count.
    """
    shares, moved = [], np.zeros(found.values.shape[1])
    for first in range(len(found.values) - 1):
        rows = np.array([first, first + 1])
        both = (found.tries[rows] > 0).all(axis=0)
        pair = found.of(rows, both)
        if (pair.again < LEAST_AGAIN).any():
            continue
        share, pulls = _of_pair(pair)
        if np.isfinite(share):
            shares.append(share)
            moved[both] += share * pulls
    if not shares:
        return None
    n = len(shares)
    return float(np.mean(shares)), _error(moved / n, found.tries > 0)


def _of_pair(pair: Tries) -> tuple[float, Floats]:
    """Share of tries in the variance of a difference, and what each item adds to it."""
    n = pair.values.shape[1]
    apart = pair.values[0] - pair.values[1]
    off = (apart - apart.mean()) ** 2
    total = float(off.sum()) / (n - 1)
    if not total > 0:
        return np.nan, np.zeros(n)
    of_each = pair.squares.sum(axis=1) / pair.freedom.sum(axis=1) * (1.0 / pair.tries).mean(axis=1)
    whole = float(of_each.sum())
    weight = of_each / whole if whole > 0 else np.zeros(2)
    return min(1.0, whole / total), weight @ _of_tries(pair) - _pulls(off[None])[0]


def _of_tries(found: Tries) -> Floats:
    """What each item adds to the variance that tries leave in a mean, as a share of it."""
    per_item = np.where(found.tries > 0, 1.0 / np.maximum(found.tries, 1), 0.0)
    return _pulls(found.squares) - _pulls(found.freedom) + _pulls(per_item)


def _pulls(part: Floats) -> Floats:
    """What each item adds to a sum, as a share of it."""
    whole = part.sum(axis=1, keepdims=True)
    found: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return found


def _error(of_items: Floats, asked: NDArray[np.bool_]) -> float:
    """Standard error of a sum over items."""
    n = max(int(asked.any(axis=0).sum()), 2)
    return float(np.sqrt(n / (n - 1) * (of_items**2).sum()))


class Said(NamedTuple):
    """A share with its interval, and by how much any number of tries shortens intervals."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Share) -> Said:
        """With a 95 % interval."""
        share, se = found
        low, high = np.clip([share - REACH * se, share + REACH * se], 0.0, 1.0)
        return cls(share, float(low), float(high))

    @property
    def percent(self) -> str:
        """The share with its interval."""
        return f"{self.share:.0%} (95 % interval {self.low:.0%} to {self.high:.0%})"

    @property
    def gain(self) -> str:
        """By how much intervals shorten at most."""
        gain, least, most = (f"{1 - np.sqrt(1 - each):.0%}" for each in self)
        return f"{gain} at most ({least} to {most})"

    @property
    def advice(self) -> str:
        """What to ask more of."""
        if self.high < 0.5:
            return "ask more items"
        return "ask more tries, too" if self.low > 0.5 else "ask more tries or more items"

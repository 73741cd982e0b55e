"""Repeated answers: pass@k, and the variance within and between items.

An estimate for each item comes first, then the mean over items with its standard error, so that
answers to one item never count as answers to several. More tries shorten an interval at most by the
share of variance within items; in a difference of two models this share is larger, because the
difficulty of items cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.predicted_accuracy import Reached, reached
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import Grouping, normal_reach

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
        """Return the same of some respondents and items."""
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
    """Return mean of respondents' shares, and its error over items, which all share."""
    if len(share) < LEAST_TELLING:
        return None
    asked = found.tries > 0
    off = np.where(asked, found.values - np.nanmean(found.values, axis=1)[:, None], 0.0) ** 2
    moved = _of_tries(found) - _pulls(off)
    return float(share.mean()), _error((share[:, None] * moved).mean(axis=0), asked)


def apart_share(found: Tries) -> Share | None:
    """Return the same of differences of neighbours in rank, on items that both were asked.

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
    """Return share of tries in the variance of a difference, and what each item adds to it."""
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
    """Return what each item adds to the variance that tries leave in a mean, as a share of it."""
    per_item = np.where(found.tries > 0, 1.0 / np.maximum(found.tries, 1), 0.0)
    return _pulls(found.squares) - _pulls(found.freedom) + _pulls(per_item)


def _pulls(part: Floats) -> Floats:
    """Return what each item adds to a sum, as a share of it."""
    whole = part.sum(axis=1, keepdims=True)
    found: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return found


def _error(of_items: Floats, asked: NDArray[np.bool_]) -> float:
    """Return standard error of a sum over items."""
    n = max(int(asked.any(axis=0).sum()), 2)
    return float(np.sqrt(n / (n - 1) * (of_items**2).sum()))


class Said(NamedTuple):
    """A share with its interval, and by how much any number of tries shortens intervals."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Share) -> Said:
        """Return with a 95 % interval."""
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


Ints = NDArray[np.intp]
SOME, ALL = "pass@", "pass^"  # one of k answers is right; all k are
TOO_FEW = (
    "Too few items were asked again to say how much of the variance comes from single tries: it "
    f"takes {LEAST_AGAIN} items each of {LEAST_TELLING} respondents."
)
USUAL = (1, 2, 3, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100)  # numbers of answers that are shown


@dataclass(frozen=True, eq=False)
class Variances:
    """What makes a mean response uncertain: which items were asked, and how each try fell."""

    tries: Floats  # (n_respondents,), as all that follow; mean number of tries per item
    between: Floats  # variance of the items' own means; NaN if no item was asked twice
    within: Floats  # variance of single answers to an item; NaN likewise
    share: Floats  # of the variance of the mean that tries make, not items; NaN likewise
    mean_share: Share | None  # over respondents; None from too few
    apart_share: Share | None  # the same of differences of neighbours in rank
    n_telling: int  # respondents of whom enough items were asked again to say so
    one_try: Floats  # variance of single answers, over items and tries
    naive_se: Floats  # as if every answer were to another item
    n: Ints  # items

    @property
    def se_many_tries(self) -> Floats:
        """The standard error that no number of tries undercuts."""
        return np.sqrt(np.maximum(self.between, 0.0) / np.maximum(self.n, 1))

    @property
    def se_one_try(self) -> Floats:
        """The standard error of the same items with a single try each."""
        return np.sqrt(self.one_try / np.maximum(self.n, 1))

    @property
    def asked_once(self) -> NDArray[np.bool_]:
        """Respondents none of whose items was asked twice: what tries add is not known."""
        return np.isnan(self.within)


@dataclass(frozen=True, eq=False)
class Attempts:
    """Shares of items of which one of k answers is right, or all of them."""

    k: int
    some: Reached
    every: Reached


@dataclass(frozen=True, eq=False)
class Repeated:
    """All that repeated answers add to a board, respondents in its order."""

    variances: Variances
    attempts: tuple[Attempts, ...]  # of right or wrong answers; by k
    measure: str = "accuracy"  # what means of responses are called

    @classmethod
    def of(
        cls, table: Responses, grouping: Grouping, confidence: float, measure: str = "accuracy"
    ) -> Repeated | None:
        """Return none if no answer was repeated."""
        tries, spread = table.tries, table.spread
        if tries is None or spread is None:
            return None
        values = table.to_frame().to_numpy()
        attempts = []
        again = (np.where(tries > 0, tries, np.iinfo(np.int32).max).min(axis=0) > 1) & (
            tries > 0
        ).any(axis=0)
        if table.kind == "binary" and again.any():
            several = np.where(again, tries, 0)  # items that nobody was asked just once
            right = np.rint(np.nan_to_num(values) * tries)
            weights = np.ones(table.n_items)
            for k in _shown(several):
                some, every = (
                    reached(one, None, grouping, weights, confidence, bounded=True)
                    for one in passed(right, several, k)
                )
                attempts.append(Attempts(k, some, every))
        return cls(variances(values, tries, spread), tuple(attempts), measure)

    def attempts_frame(self, respondents: tuple[str, ...]) -> pd.DataFrame:
        """Return one row per k and respondent."""
        parts = []
        for one in self.attempts:
            columns: dict[str, object] = {"k": one.k, "respondent": respondents}
            for word, found in (("pass_at_k", one.some), ("pass_hat_k", one.every)):
                columns |= {
                    word: found.mean,
                    f"{word}_se": found.se,
                    f"{word}_low": found.low,
                    f"{word}_high": found.high,
                }
            parts.append(pd.DataFrame({**columns, "n_items": one.some.n}))
        return pd.concat(parts, ignore_index=True)

    def variances_frame(self, respondents: tuple[str, ...], se: Floats) -> pd.DataFrame:
        """Return one row per respondent; `se` is the standard error of its accuracy."""
        found = self.variances
        columns = {
            "tries": found.tries,
            "between_sd": np.sqrt(np.maximum(found.between, 0.0)),
            "within_sd": np.sqrt(found.within),
            "share_of_tries": found.share,
            "accuracy_se": se,
            "se_one_try": found.se_one_try,
            "se_many_tries": found.se_many_tries,
            "naive_se": found.naive_se,
            "times_naive": _times(se, found.naive_se),
        }
        return pd.DataFrame(columns, index=pd.Index(respondents, name="respondent"))

    @property
    def meaning(self) -> str:
        """Whether more items or more tries would make the board surer."""
        if self.variances.mean_share is None:
            return ""
        own, tries = Said.of(self.variances.mean_share), self._usual_tries
        of_one = f"Of the variance of one respondent's {self.measure}"
        fell = "comes from how single tries fell and the rest from which items were asked"
        if self.variances.apart_share is None:
            return (
                f"{of_one} over {tries} tries per item, {own.percent} {fell}{self._of_whom}: "
                f"{own.advice}; any number of tries shortens its interval by {own.gain}."
            )
        apart = Said.of(self.variances.apart_share)
        return (
            f"Of the variance of the difference of two neighbours over {tries} tries per item, "
            f"{apart.percent} {fell}{self._of_whom}: {apart.advice}; any number of tries shortens "
            f"intervals of differences by {apart.gain}. {of_one}, tries make {own.percent}: its "
            f"interval shortens by {own.gain}."
        )

    @property
    def _usual_tries(self) -> str:
        """Mean number of tries of an item, of those who were asked any again."""
        return f"{self.variances.tries[~self.variances.asked_once].mean():.3g}"

    @property
    def _of_whom(self) -> str:
        """Whose tries tell it, if not everybody's."""
        n, telling = self.variances.n.size, self.variances.n_telling
        if telling == n:
            return ""
        least = f"{LEAST_AGAIN} items"
        return (
            f" (known from {telling} of {counted(n, 'respondent')}: of the others, fewer than "
            f"{least} were asked again)"
        )

    def notes(self) -> list[str]:
        """Return what repeated answers do not tell, and why columns are empty."""
        few = [] if self.variances.mean_share is not None else [TOO_FEW]
        return [*few, *self._asked_once()]

    def _asked_once(self) -> list[str]:
        """Return why columns are empty for respondents that were asked every item once."""
        once = int(self.variances.asked_once.sum())
        if not once:
            return []
        said = "1 respondent was" if once == 1 else f"{once:,} respondents were"
        note = (
            f"{said} asked every item once: what single tries add to their errors is not known, "
            "so within_sd, between_sd, share_of_tries and se_many_tries are empty in variances."
        )
        return [note]


class RepeatedBoard:
    """What a board shows of repeated answers, if there are any."""

    respondents: tuple[str, ...]
    reached: Reached
    repeated: Repeated | None

    def _of_repeats(self) -> dict[str, Floats]:
        """Return mean tries per item, and pass@k and pass^k for the largest common k."""
        if self.repeated is None:
            return {}
        found: dict[str, Floats] = {"tries": self.repeated.variances.tries}
        for one in self.repeated.attempts[-1:]:
            for word, share in ((SOME, one.some), (ALL, one.every)):
                name = f"{word}{one.k}"
                found |= {name: share.mean, f"{name}_low": share.low, f"{name}_high": share.high}
        return found

    @property
    def attempts(self) -> pd.DataFrame:
        """One row per k and respondent, if answers were repeated.

        `pass_at_k` is the chance that at least one of k answers is right, `pass_hat_k` that all
        are, both unbiased and as means over items, with intervals over items. Items that somebody
        was asked only once do not count.
        """
        if self.repeated is None or not self.repeated.attempts:
            raise InputError(
                "pass@k and pass^k need several right or wrong answers to each item, but these "
                "responses have " + ("scores." if self.repeated else "one answer per item.")
            )
        return self.repeated.attempts_frame(self.respondents)

    @property
    def variances(self) -> pd.DataFrame:
        """One row per respondent: what its accuracy owes to items, and what to single tries.

        `between_sd` is the standard deviation of items' own means, `within_sd` that of single
        answers to an item. `se_one_try` and `se_many_tries` are the standard errors of accuracy
        with one try per item and with very many, `naive_se` that of answers taken as unrelated.
        """
        if self.repeated is None:
            raise InputError(
                "The responses have one answer per item, so what single tries add is not known. "
                "Ask some items again."
            )
        return self.repeated.variances_frame(self.respondents, self.reached.se)

    @property
    def _said_of_tries(self) -> str:
        """Whether more items or more tries would help."""
        return "" if self.repeated is None else f" {self.repeated.meaning}".rstrip()


def _times(se: Floats, naive: Floats) -> Floats:
    """Return the ratio to the naive error; NaN if both are 0 or unknown."""
    known = naive > 0
    return np.where(known, se / np.where(known, naive, 1.0), np.nan)


def _shown(tries: NDArray[np.int32]) -> list[int]:
    """Return the usual numbers up to that which every asked cell has, and that number itself."""
    most = int(tries[tries > 0].min())
    return sorted({k for k in USUAL if k < most} | {most})


def passed(right: Floats, tries: NDArray[np.int32], k: int) -> tuple[Floats, Floats]:
    """Return for each cell, the chance that one of k answers is right, and that all of them are.

    Both are unbiased (Chen and others, 2021): of k answers drawn from those that were given,
    1 - C(wrong, k) / C(tries, k) and C(right, k) / C(tries, k). NaN with fewer than k tries.

    >>> some, every = passed(np.array([[1.0]]), np.array([[4]], dtype=np.int32), 2)
    >>> float(some[0, 0]), float(every[0, 0])
    (0.5, 0.0)
    """
    some, every = np.ones(right.shape), np.ones(right.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for taken in range(k):
            left = tries - taken
            some *= np.maximum(tries - right - taken, 0.0) / left
            every *= np.maximum(right - taken, 0.0) / left
    enough = tries >= k
    return np.where(enough, 1.0 - some, np.nan), np.where(enough, every, np.nan)


def variances(values: Floats, tries: NDArray[np.int32], spread: Floats) -> Variances:
    """Return variance between and within items by analysis of variance; items count alike.

    The variance of item means holds that of tries as well, which is taken off.
    """
    asked = tries > 0
    n = asked.sum(axis=1)
    freedom = np.where(np.isnan(spread), 0.0, np.maximum(tries - 1, 0))
    squares = freedom * np.nan_to_num(spread) ** 2  # of a single try none
    with np.errstate(divide="ignore", invalid="ignore"):
        within = squares.sum(axis=1) / freedom.sum(axis=1)
        per_item = np.where(asked, 1.0 / np.maximum(tries, 1), 0.0).sum(axis=1) / n
        mean = np.nansum(values, axis=1) / n
        total = np.nansum((values - mean[:, None]) ** 2, axis=1) / (n - 1)
        of_tries = within * per_item
        share = np.clip(np.where(total > 0, of_tries / total, np.nan), 0.0, 1.0)
        pooled = np.nansum(tries * values, axis=1) / tries.sum(axis=1)
        each = np.nansum(squares + tries * (values - pooled[:, None]) ** 2, axis=1)
        naive = np.sqrt(each / np.maximum(tries.sum(axis=1) - 1, 1) / tries.sum(axis=1))
        between = np.maximum(total - of_tries, 0.0)
        told = Tries(values, tries, squares, freedom)
        telling = (told.again >= LEAST_AGAIN) & np.isfinite(share)
        every = np.ones(values.shape[1], dtype=bool)
        return Variances(
            mean_share=mean_share(told.of(telling, every), share[telling]),
            apart_share=apart_share(told),
            n_telling=int(telling.sum()),
            tries=tries.sum(axis=1) / n,
            between=between,
            within=within,
            one_try=np.where(per_item < 1, between + within, total),
            share=share,
            naive_se=naive,
            n=np.asarray(n),
        )

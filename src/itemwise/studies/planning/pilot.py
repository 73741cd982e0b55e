"""A pilot: what respondents scored on each item, and how much single tries scatter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.planned_sizes import Spread
from itemwise.responses import Responses
from itemwise.words import counted, listed, shown

LEAST_ITEMS = 10  # that both of a pair answered
MOST_PAIRS = 50  # of neighbours; more say the same


@dataclass(frozen=True, eq=False)
class Pair:
    """Two respondents of a pilot: the variance of their difference, on the same items or not."""

    names: tuple[str, str]
    same_items: Spread
    other_items: Spread


@dataclass(frozen=True, eq=False)
class Pilot:
    """Mean scores of respondents × items, with the variance of tries."""

    respondents: tuple[str, ...]
    scores: Floats  # (n_respondents, n_items); NaN where never asked
    one_try: Floats  # (n_respondents, n_items): variance of a single try; NaN where asked once
    tries: Floats  # (n_respondents, n_items)
    clusters: NDArray[np.intp]  # (n_items,)

    @classmethod
    def of(cls, table: Responses, clusters: Sequence[str] | None) -> Pilot:
        """From responses, repeated or not."""
        codes = np.arange(table.n_items)
        if clusters is not None:
            codes = np.unique(np.array(clusters), return_inverse=True)[1].astype(np.intp)
        tries, one_try = table.observed.astype(float), np.full(table.shape, np.nan)
        if table.tries is not None and table.spread is not None:
            tries = table.tries.astype(float)
            one_try = np.stack([_completed(row) for row in table.spread**2])
        return cls(table.respondents, table.values, one_try, tries, codes)

    def pairs(self, wanted: Sequence[str] | None) -> list[Pair]:
        """The pair that was asked for, or neighbours in mean score, best first."""
        if wanted is not None:
            named = self._pair(*self._known(wanted))
            if named is None:
                raise InputError(
                    f"{' and '.join(wanted)} have fewer than {LEAST_ITEMS} items in common: a "
                    "pilot needs more of them."
                )
            return [named]
        order = np.argsort(-np.nan_to_num(np.nanmean(self.scores, axis=1), nan=-np.inf))
        near = [self._pair(a, b) for a, b in pairwise(order)]
        found = [pair for pair in near[:MOST_PAIRS] if pair is not None]
        if not found:
            raise InputError(
                f"The pilot has {counted(len(self.respondents), 'respondent')}, and no two "
                f"neighbours answered {LEAST_ITEMS} items in common. A plan needs two respondents "
                "who answered the same items; without a pilot, give accuracy instead."
            )
        return found

    def level(self, pairs: Sequence[Pair]) -> float:
        """Mean score of the respondents that are compared."""
        rows = [self.respondents.index(name) for pair in pairs for name in pair.names]
        return float(np.nanmean(self.scores[rows]))

    def _known(self, wanted: Sequence[str]) -> tuple[int, int]:
        names = [str(name) for name in wanted]
        told = shown(wanted) if isinstance(wanted, str) else shown(", ".join(names))
        if isinstance(wanted, str) or len(set(names)) != 2 or set(names) - set(self.respondents):
            raise InputError(
                f"respondents is {told}, but a comparison needs two of the pilot's: "
                f"{listed(self.respondents, 'respondent')}."
            )
        first, second = (self.respondents.index(name) for name in names)
        return first, second

    def _pair(self, first: int, second: int) -> Pair | None:
        rows = [first, second]
        both = np.flatnonzero(np.isfinite(self.scores[rows]).all(axis=0))
        clusters = np.unique(self.clusters[both], return_inverse=True)[1]
        if both.size < LEAST_ITEMS or clusters.max() < 1:
            return None
        scores, one_try = self.scores[rows][:, both], self.one_try[rows][:, both]
        tries = self.tries[rows][:, both]
        # Some may be asked more often than others: every mean is brought back to single tries.
        averaged_out = np.where(tries > 1, one_try * (1 - 1 / tries), 0.0)
        alone = [Spread.of(scores[k], averaged_out[k], one_try[k], clusters) for k in (0, 1)]
        return Pair(
            (self.respondents[first], self.respondents[second]),
            Spread.of(
                scores[0] - scores[1], averaged_out.sum(axis=0), one_try.sum(axis=0), clusters
            ),
            alone[0] + alone[1],
        )


def _completed(one_try: Floats) -> Floats:
    """Items asked once scatter as those asked twice do on average, if there are enough of these."""
    known = np.isfinite(one_try)
    return one_try if known.sum() < LEAST_ITEMS else np.where(known, one_try, one_try[known].mean())

"""A pilot: what respondents scored on each item, and how much single tries scatter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.planned_sizes import Spread
from ogive.responses import Responses
from ogive.responses.study_tables import copies
from ogive.words import listed, shown

LEAST_ITEMS = 10  # that both of a pair answered
ROUNDING = 1e-12  # relative; a difference that varies less does not vary
MOST_PAIRS = 2000  # of neighbours; of more, so many evenly along the board


@dataclass(frozen=True, eq=False)
class Pair:
    """Two respondents of a pilot: the variance of their difference, on the same items or not."""

    names: tuple[str, str]
    same_items: Spread
    other_items: Spread
    tries: float  # of an item; as many of each leave as much chance as these did
    as_asked: float  # variance per item with the tries that there were, on the same items

    @property
    def differs(self) -> bool:
        """Whether their difference varies: of copies, nothing is learned about two models."""
        return bool(self.same_items.single.sum() > ROUNDING * self.other_items.single.sum())


@dataclass(frozen=True, eq=False)
class Pilot:
    """Mean scores of respondents × items, with the variance of tries."""

    respondents: tuple[str, ...]
    scores: Floats  # (n_respondents, n_items); NaN where never asked
    one_try: Floats  # (n_respondents, n_items): variance of a single try; NaN where asked once
    tries: Floats  # (n_respondents, n_items)
    clusters: NDArray[np.intp]  # (n_items,)
    kind: NDArray[np.int64]  # (n_respondents,): who gave exactly the same responses has the same

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
        return cls(table.respondents, table.values, one_try, tries, codes, copies(table))

    @property
    def n_copies(self) -> int:
        """How many respondents gave exactly the same responses as one before them."""
        return len(self.respondents) - np.unique(self.kind).size

    @property
    def n_near(self) -> int:
        """How many pairs of neighbours there are, copies aside."""
        return len(self.respondents) - self.n_copies - 1

    def pair(self, wanted: Sequence[str]) -> Pair:
        """The pair that was asked for."""
        first, second = self._known(wanted)
        named, names = self._pair(first, second), " and ".join(wanted)
        if named is None:
            raise InputError(
                f"{names} have fewer than {LEAST_ITEMS} items in common: a pilot needs more of "
                "them."
            )
        if self.kind[first] == self.kind[second]:
            raise InputError(
                f"{names} gave exactly the same responses: that does not show how two models "
                "differ from item to item. Name two that differ."
            )
        if not named.differs:
            raise InputError(
                f"The difference of {names} is the same on all items they share: that does not "
                "show how it varies from item to item. Name two of which it does."
            )
        return named

    def neighbours(self) -> Iterator[Pair]:
        """Pairs of neighbours in mean score that share enough items, from the best to the worst.

        How much two models differ is not the same at the top of a board, where most items are
        solved, as further down: pairs are of the whole board. Copies count as one respondent.
        """
        if len(self.respondents) > 1 and not self.n_near:
            raise InputError(
                f"All {len(self.respondents):,} respondents gave exactly the same responses: that "
                "does not show how two models differ from item to item. Add one that differs; "
                "without it, give accuracy instead."
            )
        once = np.unique(self.kind, return_index=True)[1]
        mean = np.nan_to_num(_means(self.scores[once]), nan=-np.inf)
        order = once[np.argsort(-mean, kind="stable")]
        places = np.linspace(0, self.n_near - 1, min(self.n_near, MOST_PAIRS)).round()
        for place in places.astype(np.intp):
            found = self._pair(order[place], order[place + 1])
            if found is not None:
                yield found

    def level(self, names: Sequence[str]) -> float:
        """Mean score of respondents, each as often as it is compared."""
        place = {name: row for row, name in enumerate(self.respondents)}
        rows, times = np.unique([place[name] for name in names], return_counts=True)
        asked = np.isfinite(self.scores[rows]).sum(axis=1)
        return float((times * np.nansum(self.scores[rows], axis=1)).sum() / (times * asked).sum())

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
        same = Spread.of(
            scores[0] - scores[1], averaged_out.sum(axis=0), one_try.sum(axis=0), clusters
        )
        return Pair(
            (self.respondents[first], self.respondents[second]),
            same,
            alone[0] + alone[1],
            float(1.0 / (1.0 / tries).mean()),
            float(same.single.sum() - averaged_out.sum() / both.size),
        )


def _means(scores: Floats) -> Floats:
    """Mean of each row; NaN where nothing was asked."""
    asked = np.isfinite(scores).sum(axis=1)
    found: Floats = np.nansum(scores, axis=1) / np.where(asked > 0, asked, np.nan)
    return found


def _completed(one_try: Floats) -> Floats:
    """Items asked once scatter as those asked twice do on average, if there are enough of these."""
    known = np.isfinite(one_try)
    return one_try if known.sum() < LEAST_ITEMS else np.where(known, one_try, one_try[known].mean())

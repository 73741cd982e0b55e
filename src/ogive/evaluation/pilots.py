"""Variances of differences between two models: from a pilot, from a bank, or assumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive._validation import as_number, checked_share
from ogive.data.responses import Responses
from ogive.data.study_tables import copies
from ogive.errors import InputError
from ogive.evaluation.power import Aim, Spread, Variance
from ogive.results.numbers import counted, listed, shown
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach

if TYPE_CHECKING:
    from ogive.irt.calibration import Calibration


LEAST_ITEMS = 10  # fewest items that both models of a pair must have answered
ROUNDING = 1e-12  # relative; a difference that varies less does not vary
MOST_PAIRS = 2000  # pairs of neighbours; a longer board is thinned evenly


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
        """True if their difference varies: of copies, nothing is learned about two models."""
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
        """Return from responses, repeated or not."""
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
        """Return the pair that was asked for."""
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
        """Return pairs of neighbours in mean score that share enough items, best first.

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
        """Return mean score of respondents, each as often as it is compared."""
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
    """Return mean of each row; NaN where nothing was asked."""
    asked = np.isfinite(scores).sum(axis=1)
    found: Floats = np.nansum(scores, axis=1) / np.where(asked > 0, asked, np.nan)
    return found


def _completed(one_try: Floats) -> Floats:
    """Give items asked once the mean scatter of those asked twice, if there are enough."""
    known = np.isfinite(one_try)
    return one_try if known.sum() < LEAST_ITEMS else np.where(known, one_try, one_try[known].mean())


RANDOM, BEST = "scale, random items", "scale, best items"
NORMAL = float(np.sqrt(np.pi / 2))  # standard deviation by mean absolute error
AXIS = np.linspace(-4.0, 4.0, 321)


def items_on_scale(
    bank: Calibration, accuracy: float, difference: float, *, power: float, alpha: float
) -> tuple[float, float]:
    """Return how many items are needed, at random and by information; NaN if too many.

    Two respondents near `accuracy` on the whole bank differ by `difference` there. The slope of
    the expected score turns it into a difference of ability, on which each respondent's items give
    information.
    """
    expected = bank.model.expected(bank.coords, AXIS).mean(axis=0)
    place = int(np.argmin(np.abs(expected - accuracy)))
    slope = float(np.gradient(expected, AXIS)[place])
    each = np.sort(bank.model.information(bank.coords, AXIS[place : place + 1])[:, 0])[::-1]
    reach = normal_reach(1 - alpha) + normal_reach(2 * power - 1)
    wanted = 2.0 * (reach * slope / difference) ** 2  # information that one respondent must give
    sums = np.cumsum(each)
    if wanted > sums[-1]:
        return nan, nan
    return float(np.ceil(wanted / each.mean())), float(np.searchsorted(sums, wanted) + 1)


def bank_needs(
    bank: Calibration, accuracy: float, difference: float, *, power: float, alpha: float
) -> list[dict[str, Any]]:
    """Return designs with items of a bank, and how many they need; NaN where none is enough."""
    found = items_on_scale(bank, accuracy, difference, power=power, alpha=alpha)
    rows: list[dict[str, Any]] = [
        {"design": design, "items": items}
        for design, items in zip((RANDOM, BEST), found, strict=True)
    ]
    if bank.replayed is not None:
        reach = normal_reach(1 - alpha) + normal_reach(2 * power - 1)
        for way, errors in bank.replayed.compared.items():
            # Errors of two models are independent, since each is asked by itself.
            enough = [
                size
                for size, (error, _) in zip(bank.replayed.sizes, errors, strict=True)
                if reach * sqrt(2) * NORMAL * error <= difference
            ]
            items = float(enough[0]) if enough else nan
            rows.append({"design": f"{way}, as replayed", "items": items})
    return rows


SAME, OTHER = "same items", "other items"  # designs: both models share items, or not
UNTOLD = np.nan, np.nan  # a share, and its standard error
MOSTLY = 0.5  # share of the pairs; if so many were asked again, they stand for all
LEAST_PAIRS = 10  # fewest pairs for which the outer tenths are reported


@dataclass(frozen=True, eq=False)
class Measured:
    """What the pairs of a pilot show of the difference of two models."""

    rows: list[Variance]  # by design and epochs, averaged over pairs
    share: tuple[float, float]  # of single tries in the difference of two, with its error
    tries: float  # of an item in the pilot
    as_asked: Variance  # on the same items, with as many tries
    names: list[str]  # respondents of the pairs
    each: Floats  # (n_pairs,): variance on the same items, as in the first row
    notes: list[str]

    def notes_on(self, aim: Aim, n_near: int) -> list[str]:
        """Return which pairs these are, how different they are, and what they do not tell."""
        n = self.each.size
        if n < 2:
            return self.notes
        all_ = f"all {n:,}" if n == n_near else f"{n:,} of {n_near:,}"
        evenly = "evenly " if n_near > MOST_PAIRS else ""
        apart = ""
        if n >= LEAST_PAIRS:
            low, high = (
                aim.needed(self.rows[0]._replace(value=value))
                for value in np.quantile(self.each, [0.1, 0.9])
            )
            apart = (
                f": by itself, one pair in ten needs fewer than {low:,.0f} items, and one in ten "
                f"more than {high:,.0f}"
            )
        said = (
            f"Averaged over {all_} pairs of neighbours in mean score, {evenly}from the best to the "
            f"worst{apart}. To plan for two of them, name these as respondents."
        )
        return [said, *self.notes]


def measured(pilot: Pilot, wanted: Sequence[str] | None, epochs: list[int]) -> Measured:
    """Return variances of the pair that was asked for, or of neighbours, at numbers of epochs."""
    found = [pilot.pair(wanted)] if wanted is not None else pilot.neighbours()
    pairs, n_alike = _summed_up(found, epochs)
    notes = [] if wanted is not None else _on_copies(pilot, n_alike)
    if not pairs:
        raise InputError(_why_none(pilot, n_alike))
    again = [pair for pair in pairs if np.isfinite(pair.share[0])]
    repeated = len(again) >= MOSTLY * len(pairs)
    if not repeated:
        notes.append(_without_repeats(pilot))
    elif len(again) < len(pairs):
        notes.append(
            f"Figures are those of the {len(again):,} of {counted(len(pairs), 'pair')} whose items "
            "were asked again of both, so that they hold for any number of epochs."
        )
    return _averaged(again, epochs, notes) if repeated else _averaged(pairs, [], notes)


def _averaged(pairs: list[_Summary], epochs: list[int], notes: list[str]) -> Measured:
    """Return the mean over pairs of all that is known of them; without epochs, of one try alone."""
    values, errors = (np.stack(each) for each in zip(*(p.variances for p in pairs), strict=True))
    size = float(np.mean([pair.items_per_cluster for pair in pairs]))
    tries, seen = np.mean([pair.as_asked for pair in pairs], axis=0)
    return Measured(
        rows=[
            Variance(design, count, *_over_pairs(values[:, j, k], errors[:, j, k]), size)
            for j, design in enumerate((SAME, OTHER))
            for k, count in (list(enumerate(epochs, 1)) or [(0, 1)])
        ],
        share=_over_pairs(*np.array([pair.share for pair in pairs]).T) if epochs else UNTOLD,
        tries=float(tries) if epochs else 1.0,
        as_asked=Variance(SAME, round(tries), float(seen), np.nan, size),
        names=[name for pair in pairs for name in pair.names],
        each=values[:, 0, 1 if epochs else 0],
        notes=notes,
    )


@dataclass(frozen=True, eq=False)
class _Summary:
    """What is kept of a pair: thousands of them have many items."""

    names: tuple[str, str]
    variances: tuple[Floats, Floats]  # with errors, (n_designs, 1 + n_epochs); first, of one try
    share: tuple[float, float]  # of single tries; NaN where not both were asked again
    as_asked: tuple[float, float]  # tries of an item, and the variance with these
    items_per_cluster: float


def _summed_up(pairs: Iterable[Pair], epochs: list[int]) -> tuple[list[_Summary], int]:
    """Return all pairs that differ at all, and how many never do."""
    found, n_alike = [], 0
    for pair in pairs:
        if not pair.differs:
            n_alike += 1
            continue
        of = [
            [spread.variance(count) for count in (1, *epochs)]
            for spread in (pair.same_items, pair.other_items)
        ]
        values, errors = np.moveaxis(np.array(of), -1, 0)
        same = pair.same_items
        share = same.within_share() if same.repeated else UNTOLD
        asked, size = (pair.tries, pair.as_asked), same.items_per_cluster
        found.append(_Summary(pair.names, (values, errors), share, asked, size))
    return found, n_alike


def _over_pairs(values: Floats, errors: Floats) -> tuple[float, float]:
    """Return mean over pairs, and its error.

    Pairs share items, so that their errors over items do not average out; that these models stand
    for others adds how much one pair differs from the next.
    """
    chosen = float(values.var(ddof=1)) / values.size if values.size > 1 else 0.0
    return float(values.mean()), float(np.sqrt(errors.mean() ** 2 + chosen))


def _on_copies(pilot: Pilot, n_alike: int) -> list[str]:
    """Return who is left out, because it shows no difference."""
    notes, n = [], len(pilot.respondents)
    if pilot.n_copies:
        notes.append(
            f"{pilot.n_copies:,} of {counted(n, 'respondent')} gave exactly the same responses as "
            "another. Copies count as one: two of them do not show how models differ."
        )
    if n_alike:
        notes.append(
            f"Left out: {counted(n_alike, 'pair')} of neighbours whose difference is the same on "
            "all items they share, so that it does not show how differences vary."
        )
    return notes


def _why_none(pilot: Pilot, n_alike: int) -> str:
    """Return why no pair shows how two models differ."""
    n = counted(len(pilot.respondents), "respondent")
    if n_alike:
        return (
            f"The pilot has {n}, but the difference of neighbours in mean score is the same on all "
            "items they share: that does not show how differences vary. Name two of which it "
            "does as respondents; without them, give accuracy instead."
        )
    return (
        f"The pilot has {n}, and no two neighbours answered {LEAST_ITEMS} items in common. A plan "
        "needs two respondents who answered the same items; without a pilot, give accuracy instead."
    )


def _without_repeats(pilot: Pilot) -> str:
    """Return why nothing is said of epochs: nobody was asked again, or not both of each pair."""
    again = int(np.isfinite(pilot.one_try).any(axis=1).sum())
    if not again:
        return (
            "The pilot has no repeated answers to each item: whether epochs would help is unknown. "
            "A second try of a few dozen items would show it."
        )
    return (
        f"Items were asked again of {again} of {counted(len(pilot.respondents), 'respondent')}, "
        "but a comparison needs repeated answers of both: whether epochs would help is unknown. "
        "A second try of a few dozen items by the others would show it."
    )


def assumed(accuracy: object, correlation: object, aim: Aim) -> list[Variance]:
    """Return variance of right and wrong answers with these shares right, asked once."""
    if accuracy is None:
        raise InputError(
            "A plan needs responses of a pilot, or accuracy: the share of right answers that you "
            "expect, such as 0.7."
        )
    first = checked_share(accuracy, "accuracy", 0.7)
    if not -1 < as_number(correlation) < 1:
        raise InputError(f"`correlation` must be between -1 and 1, got {shown(correlation)}.")
    second = first - aim.difference if first > aim.difference else first + aim.difference
    if not 0 < second < 1:
        raise InputError(
            f"difference is {aim.difference:g}, but no accuracy is so far from {first:g}."
        )
    each = np.array([first * (1 - first), second * (1 - second)])
    shared = 2 * as_number(correlation) * float(np.sqrt(each.prod()))
    return [
        Variance(SAME, 1, float(each.sum()) - shared, np.nan),
        Variance(OTHER, 1, float(each.sum()), np.nan),
    ]

"""Variance per item of the difference of two models: as a pilot shows it, or as is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ogive.arguments import as_number, checked_share
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.studies.planning.pilot import LEAST_ITEMS, MOST_PAIRS, Pair, Pilot
from ogive.studies.planning.wanted_power import Aim, Variance
from ogive.words import counted, shown

SAME, OTHER = "same items", "other items"  # for both models, or for each of them
UNTOLD = np.nan, np.nan  # a share, and its standard error
MOSTLY = 0.5  # share of the pairs; if so many were asked again, they stand for all
LEAST_PAIRS = 10  # of which tenths are said


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
        """Which pairs these are, how different they are, and what they do not tell."""
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
    """Variances of the pair that was asked for, or of neighbours, at numbers of epochs."""
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
    """The mean over pairs of all that is known of them; without epochs, of one try alone."""
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
    """All pairs that differ at all, and how many never do."""
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
    """Mean over pairs, and its error.

    Pairs share items, so that their errors over items do not average out; that these models stand
    for others adds how much one pair differs from the next.
    """
    chosen = float(values.var(ddof=1)) / values.size if values.size > 1 else 0.0
    return float(values.mean()), float(np.sqrt(errors.mean() ** 2 + chosen))


def _on_copies(pilot: Pilot, n_alike: int) -> list[str]:
    """Who is left out, because it shows no difference."""
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
    """Why no pair shows how two models differ."""
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
    """Why nothing is said of epochs: nobody was asked again, or not both of each pair."""
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
    """Variance of right and wrong answers with these shares right, asked once."""
    if accuracy is None:
        raise InputError(
            "A plan needs responses of a pilot, or accuracy: the share of right answers that you "
            "expect, such as 0.7."
        )
    first = checked_share(accuracy, "accuracy", 0.7)
    if not -1 < as_number(correlation) < 1:
        raise InputError(f"correlation is {shown(correlation)}, but it must be between -1 and 1.")
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

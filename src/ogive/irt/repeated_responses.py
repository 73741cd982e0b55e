"""Repeated answers: the number of tries behind each cell, and their standard deviation.

A cell of repeated right or wrong answers holds the share that was right, one of repeated scores
their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ogive.errors import InputError
from ogive.irt.response_codes import LARGEST, NEVER_ASKED, Kind, Where, coded
from ogive.results.numbers import shown

Tries = NDArray[np.int32]
MOST_TRIES = 1_000_000  # largest number of tries of one cell
_ROUNDING = 1e-6  # error of a number of right answers if shares have few digits


class Repeats(NamedTuple):
    """Tries of each cell, 0 where never asked; and the spread of scores within a cell."""

    tries: Tries
    spread: NDArray[np.float64] | None  # None for right and wrong: the share tells it

    def of(self, rows: Any, columns: Any) -> Repeats:
        """Select some rows and columns."""
        part = np.ix_(rows, columns)
        return Repeats(self.tries[part], None if self.spread is None else self.spread[part])


def checked_repeats(
    tries: ArrayLike, spread: ArrayLike | None, cells: NDArray[Any], where: Where
) -> Repeats | None:
    """Return tries as whole numbers beside cells; None if no cell has more than one."""
    seen = ~np.isnan(cells) if cells.dtype.kind == "f" else np.ones(cells.shape, dtype=bool)
    given = np.asarray(tries)
    if given.ndim == 0:
        given = np.where(seen, given, 0)
    if given.shape != cells.shape or given.dtype.kind not in "iuf":
        raise InputError(
            f"tries has shape {given.shape} and type {given.dtype}, but there should be one whole "
            f"number per cell, {cells.shape}. Give the number of answers behind each response."
        )
    counts = np.nan_to_num(given, nan=0.0) if given.dtype.kind == "f" else given
    check_tries(counts, seen, where)
    found = np.where(seen, counts, 0).astype(np.int32)
    if found.max(initial=0) < 2:
        return None
    if spread is None:
        return Repeats(found, None)
    deviations = np.asarray(spread, dtype=np.float64)
    if deviations.shape != found.shape:
        raise InputError(
            f"spread has shape {deviations.shape}, but there should be one standard deviation per "
            f"cell, {found.shape}."
        )
    check_spread(deviations, where)
    return Repeats(found, np.where(found > 1, deviations, np.nan))


def check_tries(counts: NDArray[Any], seen: NDArray[np.bool_], where: Where) -> None:
    """Refuse invalid numbers of tries; 0 is valid for cells without a response."""
    wrong = np.flatnonzero(
        (counts < 0) | (counts > MOST_TRIES) | (counts != np.floor(counts)) | (seen & (counts < 1))
    )
    if wrong.size:
        first = int(wrong[0])
        raise InputError(
            f"{where(first)} has {counts.flat[first]:.6g} tries, but a response has a whole number "
            f"of them from 1 to {MOST_TRIES:,}. Correct it; where an item was never asked, give 0."
        )


def check_spread(found: NDArray[np.float64], where: Where) -> None:
    """Refuse invalid standard deviations."""
    wrong = np.flatnonzero((found < 0) | (found > LARGEST))
    if wrong.size:
        raise InputError(
            f"{where(int(wrong[0]))} has the spread {found.flat[wrong[0]]:.6g}, but a standard "
            "deviation is finite and not negative."
        )


def kind_of_repeated(
    values: NDArray[Any], tries: Tries, kind: Kind | None, where: Where, *, with_spread: bool
) -> Kind:
    """Return binary if every share is a whole number of tries, and no spread was given."""
    right = values * tries
    with np.errstate(invalid="ignore"):
        whole = np.abs(right - np.rint(right)) <= _ROUNDING * np.maximum(tries, 1)
        wrong = np.flatnonzero(~np.isnan(values) & ~(whole & (values >= 0) & (values <= 1)))
    if kind == "graded":
        raise InputError(
            "Repeated grades are averaged, and a mean is not a grade. Leave out kind, or pass "
            "kind='continuous'."
        )
    if kind == "binary" and wrong.size:
        first = int(wrong[0])
        raise InputError(
            f"{where(first)} holds {values.flat[first]:.10g} of {tries.flat[first]:,} tries, but "
            "repeated right or wrong answers are shares of their tries, from 0 to 1. Correct the "
            "cell, or pass kind='continuous'."
        )
    return kind or ("continuous" if wrong.size or with_spread else "binary")


def repeated_cells(
    values: NDArray[Any], repeats: Repeats, kind: Kind | None, where: Where
) -> tuple[NDArray[np.float64], Kind, Repeats]:
    """Return cells of repeated answers, which are floats whatever their kind."""
    cells, _ = coded(values, "continuous", where)
    found = kind_of_repeated(
        cells, repeats.tries, kind, where, with_spread=repeats.spread is not None
    )
    if found == "binary":
        tries = repeats.tries
        asked = np.maximum(tries, 1)  # shares are made exact, as files may have rounded them
        shares = np.where(tries > 0, np.rint(cells * asked) / asked, np.nan)
        return shares, found, Repeats(tries, None)
    return cells, found, repeats


def spread_of_shares(shares: NDArray[np.float64], tries: Tries) -> NDArray[np.float64]:
    """Return the sd of right and wrong answers within each cell; NaN for a single try."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.where(
            tries > 1, np.sqrt(shares * (1.0 - shares) * tries / (tries - 1.0)), np.nan
        )
    return found


def without_single_tries(
    cells: NDArray[Any], kind: Kind, repeats: Repeats | None
) -> tuple[NDArray[Any], Repeats | None]:
    """Return cells and tries as they are stored; without tries if no cell has more than one."""
    if repeats is None or repeats.tries.max(initial=0) > 1:
        return cells, repeats
    if kind == "continuous":
        return cells, None
    return np.where(np.isnan(cells), NEVER_ASKED, cells).astype(np.int8), None


def tries_or_one(tries: Tries | None, observed: NDArray[np.bool_]) -> Tries:
    """Return the tries of each cell; 1 for each response if `tries` is None."""
    return observed.astype(np.int32) if tries is None else tries


class Combined(NamedTuple):
    """One entry per pair of respondent and item, in order of first appearance."""

    first: NDArray[np.intp]  # the position at which the pair appeared first
    mean: NDArray[np.float64]
    tries: Tries
    spread: NDArray[np.float64]  # within the pair; NaN with a single try


def combined(
    pairs: NDArray[np.int64],
    scores: NDArray[np.float64],
    tries: NDArray[Any] | None = None,
    spread: NDArray[np.float64] | None = None,
) -> Combined:
    """Return mean, number and spread of the scores of each pair; missing scores do not count.

    Scores may be means of `tries` themselves, with their `spread`.

    >>> found = combined(np.array([7, 5, 7]), np.array([1.0, 1.0, 0.0]))
    >>> found.mean.tolist(), found.tries.tolist()
    ([0.5, 1.0], [2, 1])
    """
    _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    place = rank[place.reshape(-1)]
    known = ~np.isnan(scores)
    counts = known.astype(np.float64) if tries is None else np.where(known, tries, 0.0)
    filled = np.where(known, scores, 0.0)
    size = order.size
    number = np.bincount(place, counts, size)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(place, counts * filled, size) / number
        squares = counts * (filled - mean[place]) ** 2
        if spread is not None:
            squares = squares + np.where(counts > 1, (counts - 1) * spread**2, 0.0)
        within = np.sqrt(np.bincount(place, np.where(known, squares, 0.0), size) / (number - 1))
    return Combined(
        first[order], mean, number.astype(np.int32), np.where(number > 1, within, np.nan)
    )


def tries_in_words(tries: Tries) -> str:
    """Describe the numbers of tries: 5 tries per cell, or 1 to 5."""
    asked = tries[tries > 0]
    low, high = int(asked.min()), int(asked.max())
    return f"{low:,} tries per cell" if low == high else f"{low:,} to {high:,} tries per cell"


def repeat_notes(
    tries: Tries | None, respondents: Sequence[str], items: Sequence[str]
) -> list[str]:
    """Return a note on pairs that a table of single responses holds several times."""
    if tries is None:
        return []
    row, column = divmod(int(np.argmax(tries)), tries.shape[1])
    n_pairs = int((tries > 1).sum())
    many = f"{n_pairs:,} pairs of a respondent and an item have" if n_pairs > 1 else "One pair has"
    note = (
        f"{many} several responses, such as {shown(respondents[row])} on {shown(items[column])} "
        f"with {tries[row, column]:,}: they count as repeated answers. If they are not, give them "
        "respondents or items of their own."
    )
    return [note]

"""Runs that did not solve their problem: what they count as."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from itemwise.arguments import as_number
from itemwise.datasets.aslib_description import Better
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.words import counted


def timed_out(
    values: Floats,
    unsolved: NDArray[np.bool_] | None,
    better: Better,
    cutoff: float | None,
    penalty: float | None,
    notes: list[str],
) -> Floats:
    """Runs that reached the cut-off (or failed) at the cut-off, or at its penalty."""
    if better == "higher":
        raise InputError("cutoff and penalty are for runtimes: give better='lower' as well.")
    if cutoff is None:
        raise InputError("penalty is how many times the cut-off counts: give cutoff as well.")
    if not 0 < as_number(cutoff) < np.inf:
        raise InputError(f"cutoff is {cutoff!r}, but it should be a number above 0.")
    if penalty is not None:
        checked_penalty(penalty)
    # Who says how runs ended knows of one that took all its time and ended well.
    late = values >= cutoff if unsolved is None else (values > cutoff) | unsolved
    least = cutoff * (1.0 if penalty is None else penalty)
    kept = np.where(np.isnan(values), least, np.maximum(values, least))
    values = np.where(late, kept if penalty is None else least, values)
    count = int(late.sum())
    if count:
        share = count / max(int((~np.isnan(values)).sum()), 1)
        by = "" if penalty is None else f", counted as {least:,.10g}"
        notes.append(f"{counted(count, 'run')} ({share:.0%}) timed out or failed{by}.")
    return values


def at_worst(
    values: Floats, unsolved: NDArray[np.bool_], better: Better, notes: list[str]
) -> Floats:
    """Runs that failed at the worst that is recorded, where no cut-off is known."""
    if not unsolved.any() or np.isnan(values).all():
        return values
    worst = float(np.nanmax(values) if better == "lower" else np.nanmin(values))
    notes.append(
        f"{counted(int(unsolved.sum()), 'run')} timed out or failed, and no cut-off is known: "
        f"counted as the worst that is recorded, {worst:,.10g}. Say with cutoff where runs end."
    )
    return np.where(unsolved, worst, values)


def checked_penalty(penalty: object) -> float:
    """How many cut-offs a run counts as that timed out: a number from 1."""
    number = as_number(penalty)
    if not 1 <= number < np.inf:
        raise InputError(f"penalty is {penalty!r}, but it should be a number from 1.")
    return number

"""Runs that did not end: what they count as, and problems that nobody solved.

A run that did not solve its problem counts as the cut-off, as a multiple of it, or as the worst.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ogive.arguments import as_number
from ogive.datasets.aslib_description import Better
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.words import counted

Unsolved = Literal["drop", "keep"]
UNSOLVED: tuple[Unsolved, ...] = ("drop", "keep")
FEWEST_SOLVED = 3  # problems


def timed_out(
    values: Floats,
    unsolved: NDArray[np.bool_] | None,
    better: Better,
    cutoff: float | None,
    penalty: float | None,
    notes: list[str],
) -> tuple[Floats, NDArray[np.bool_]]:
    """Set runs that timed out or failed to the cut-off, or to the penalty times the cut-off.

    Returns the values, and which runs did not end.
    """
    if better == "higher":
        raise InputError("cutoff and penalty are for runtimes: give better='lower' as well.")
    if cutoff is None:
        raise InputError("penalty is a multiple of the cut-off: give cutoff as well.")
    if not 0 < as_number(cutoff) < np.inf:
        raise InputError(f"cutoff is {cutoff!r}, but it should be a number above 0.")
    if penalty is not None:
        checked_penalty(penalty)
    # Where the source says how runs ended, one at the cut-off may have succeeded.
    late = values >= cutoff if unsolved is None else (values > cutoff) | unsolved
    given, least = values, cutoff * (1.0 if penalty is None else penalty)
    kept = np.where(np.isnan(values), least, np.maximum(values, least))
    values = np.where(late, kept if penalty is None else least, values)
    count = int(late.sum())
    if count:
        share = count / max(int((~np.isnan(values)).sum()), 1)
        by = "" if penalty is None else f", counted as {least:,.10g}"
        notes.append(f"{counted(count, 'run')} ({share:.0%}) timed out or failed{by}.")
    if told := _said_of_cutoff(given, unsolved, cutoff):
        notes.append(told)
    return values, late


def _said_of_cutoff(
    values: Floats, unsolved: NDArray[np.bool_] | None, cutoff: float
) -> str | None:
    """Whether the cut-off fits the runs of a plain table; a scenario says so itself."""
    if unsolved is not None or np.isnan(values).all():
        return None
    longest = float(np.nanmax(values))
    said = f"{longest:,.0f}" if longest >= 100 else f"{longest:.3g}"
    if longest < cutoff:
        return (
            f"No run reached the cut-off of {cutoff:,.10g}: the longest took {said}. If "
            "runs were stopped earlier, give that time."
        )
    beyond = int((values > cutoff).sum())
    if not beyond:
        return None
    return (
        f"{counted(beyond, 'value')} beyond the cut-off of {cutoff:,.10g}, up to {said}: "
        "taken as timed out."
    )


def at_worst(
    values: Floats, unsolved: NDArray[np.bool_], better: Better, notes: list[str]
) -> Floats:
    """Set failed runs to the worst value on record, where no cut-off is known."""
    if not unsolved.any() or np.isnan(values).all():
        return values
    worst = float(np.nanmax(values) if better == "lower" else np.nanmin(values))
    notes.append(
        f"{counted(int(unsolved.sum()), 'run')} timed out or failed, and no cut-off is known: "
        f"counted as the worst value on record, {worst:,.10g}. Give cutoff to say where runs end."
    )
    return np.where(unsolved, worst, values)


def checked_penalty(penalty: object) -> float:
    """The multiple of the cut-off that a timed-out run counts as: 1 or more."""
    number = as_number(penalty)
    if not 1 <= number < np.inf:
        raise InputError(f"penalty is {penalty!r}, but it should be a number, 1 or more.")
    return number


def solved_by_somebody(
    late: NDArray[np.bool_], ran: NDArray[np.bool_], unsolved: Unsolved, notes: list[str]
) -> NDArray[np.bool_]:
    """The problems to keep, (n_problems,): those that somebody solved, if `unsolved` is "drop"."""
    if unsolved not in UNSOLVED:
        raise InputError(f"unsolved is {unsolved!r}, but it should be 'drop' or 'keep'.")
    # What never ran is told elsewhere.
    solved = np.asarray((ran & ~late).any(axis=1) | ~ran.any(axis=1))
    count = int((~solved).sum())
    if not count or unsolved == "keep":
        return np.ones_like(solved)
    if int(solved.sum()) < FEWEST_SOLVED:
        raise InputError(
            f"Nobody solved {counted(count, 'problem')} of {len(late):,}: too few are left to "
            "compare algorithms. Give more problems, or unsolved='keep'."
        )
    notes.append(
        f"Nobody solved {counted(count, 'problem')} ({count / len(late):.0%}): left out, since "
        "nobody leads there; unsolved='keep' keeps them."
    )
    return solved

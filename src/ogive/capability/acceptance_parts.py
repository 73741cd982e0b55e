"""What a gate accepts of each class and group, and how often the model is right there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.capability.promises import ALL, CLASS, GROUP, PREDICTION, Promise
from ogive.capability.risk import known_shares
from ogive.capability.trust import Codes, Judged
from ogive.numerics.arrays import Bools

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("held_out", "accepted")
SHARES = ("share", "share_low", "share_high")
ACCURACIES = ("accuracy", "accuracy_low", "accuracy_high")
HALF = 0.5
RARELY = 0.5  # of the share accepted overall; below it, a part is accepted rarely
SHOWN = 5  # parts that a note names


class Parts(NamedTuple):
    """A way to divide cases."""

    by: str
    codes: Codes
    names: Sequence[Any]


def parts_frame(
    held: Judged, within: Bools, classes: Sequence[Any], groups: Sequence[str], promise: Any
) -> pd.DataFrame:
    """One row for all held-out cases, and one per true class, predicted class and group.

    `promised` says whether the target was shown for the part; shares and accuracies of accepted
    cases have exact 95 % intervals.
    """
    import pandas as pd

    rows = [
        row
        for division in divisions(held, classes, groups)
        for row in _rows(division, held.right, within, promise)
    ]
    return pd.DataFrame(rows)


def divisions(held: Judged, classes: Sequence[Any], groups: Sequence[str]) -> list[Parts]:
    """All cases, true classes, predicted classes and, if there are any, groups."""
    found = [
        Parts(ALL, np.zeros(len(held.true), dtype=np.intp), ["all"]),
        Parts(CLASS, held.true, classes),
        Parts(PREDICTION, held.seen.codes, classes),
    ]
    if held.seen.groups is not None and len(groups):
        found.append(Parts(GROUP, held.seen.groups, groups))
    return found


def parts_notes(frame: pd.DataFrame, target: float | None, fact: str) -> list[str]:
    """Say which classes and groups are accepted rarely, and where those accepted are wrong."""
    whole = frame[frame["by"] == ALL].iloc[0]
    notes = []
    for by, noun in ((CLASS, "class"), (GROUP, fact)):
        rows = frame[frame["by"] == by]
        rare = rows[
            (rows["share"] < RARELY * whole["share"]) & (rows["share_high"] < whole["share_low"])
        ]
        if len(rare):
            notes.append(
                f"{100 * whole['share']:.0f} % of the held-out cases are accepted, but fewer of "
                f"some, by {noun}: {_named(rare, _rare)}."
            )
        # Of true classes: one that is never predicted has no row among the predicted ones.
        failing = rows[(rows["accepted"] > 0) & (rows["accuracy"] < HALF)]
        if target is not None:
            missed = (rows["accuracy_high"] < target) & ~rows["promised"] & (rows["accepted"] > 0)
            failing = failing[~missed[failing.index]]
            notes += _missed_notes(rows[missed], by, noun, promised=bool(rows["promised"].any()))
        if len(failing):
            notes.append(_failing_note(failing, by, noun, target))
    return notes


def _missed_notes(rows: pd.DataFrame, by: str, noun: str, *, promised: bool) -> list[str]:
    """Say in which parts the target clearly fails, if in any."""
    if rows.empty:
        return []
    other = "" if promised else f" Set by='{by}' for one that holds in each."
    said = (
        f"The target holds for all accepted cases together, but not by {noun}: "
        f"{_named(rows, _wrong)}.{other}"
    )
    return [said]


def _failing_note(rows: pd.DataFrame, by: str, noun: str, target: float | None) -> str:
    """Say of which parts the model gets most of what it is left to decide wrong."""
    which = "that are" if by == CLASS else f"of {noun}"
    said = _named(rows, partial(_failing, which)).replace("of those", "Of the held-out cases", 1)
    settings = f"by='{by}'" if target is not None else f"target_accuracy=0.9, say, and by='{by}'"
    return f"{said}. For a promise in each {noun}, set {settings}."


def _rows(division: Parts, right: Bools, within: Bools, promise: Any) -> list[dict[str, Any]]:
    n_parts = len(division.names)
    known = division.codes >= 0
    n, taken, good = (
        np.bincount(division.codes[known & part], minlength=n_parts).astype(np.float64)
        for part in (np.ones_like(within), within, within & right)
    )
    shares, accuracies = known_shares(taken, n), known_shares(good, taken)
    promised = _promised(division, taken, promise)
    return [
        {
            "by": division.by,
            "part": str(name),
            "held_out": int(n[k]),
            "accepted": int(taken[k]),
            **{column: float(values[k]) for column, values in zip(SHARES, shares, strict=True)},
            **{c: float(values[k]) for c, values in zip(ACCURACIES, accuracies, strict=True)},
            "promised": bool(promised[k]),
        }
        for k, name in enumerate(division.names)
    ]


def _promised(division: Parts, taken: Any, promise: Promise | None) -> Bools:
    none = np.zeros(len(division.names), dtype=bool)
    if promise is None:
        return none
    if promise.by == division.by:
        return np.asarray((promise.edge < np.inf) & ~promise.few)
    # What holds in each of some parts holds in all of them together.
    return np.asarray(none | (division.by == ALL and bool(taken.sum())))


def _named(rows: pd.DataFrame, say: Any) -> str:
    named = [say(row) for _, row in rows.head(SHOWN).iterrows()]
    more = len(rows) - SHOWN
    return "; ".join([*named, *([f"and {more:,} more"] if more > 0 else [])])


def _rare(row: Any) -> str:
    said = f"{row['part']} {_range(row, SHARES)}"
    if not row["accepted"]:
        return said
    return f"{said}, and the model is right on {_range(row, ACCURACIES)} of these"


def _wrong(row: Any) -> str:
    return f"{row['part']}, right on {_range(row, ACCURACIES)} of {row['accepted']:,} accepted"


def _failing(which: str, row: Any) -> str:
    taken, right = int(row["accepted"]), round(row["accuracy"] * row["accepted"])
    were = "was" if taken == 1 else "were"
    said = "none was right" if not right else f"only {right:,} of them right"
    return f"of those {which} {row['part']}, {taken:,} {were} accepted and {said}"


def _range(row: Any, columns: tuple[str, str, str]) -> str:
    value, low, high = (100 * row[name] for name in columns)
    return f"{value:.0f} % ({low:.0f} to {high:.0f} %)"

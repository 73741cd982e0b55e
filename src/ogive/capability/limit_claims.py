"""What the test cases show of the limits that were found, and how sentences may speak of them.

A test finds a limit whatever the data are, also where all cases are wrong or difficulty plays no
part. So a limit is only claimed as far as the test cases on either side of it bear it out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

SEEN, EXTRAPOLATED = "seen", "extrapolated"
NONE_RIGHT, UNSUPPORTED = "none right", "not supported"
HALF = 0.5
ALPHA = 0.05
MOST_NAMED = 4  # classes of a sentence


def standing(row: Mapping[str, Any]) -> str:
    """What the limit of a class is, by its test cases up to the limit and beyond.

    It is supported if the 95 % interval of the accuracy up to it lies above one half.
    """
    if not _n_right(row, "below") + _n_right(row, "above"):
        return NONE_RIGHT
    if row["mlc"] < row["easiest"]:
        # Should most of the cases beyond the limit be right, it is no limit.
        return UNSUPPORTED if row["accuracy_above"] > HALF else EXTRAPOLATED
    if not row["accuracy_below_low"] > HALF:
        return UNSUPPORTED
    return EXTRAPOLATED if row["mlc"] > row["hardest"] else SEEN


def claimed(classes: pd.DataFrame) -> pd.Series[bool]:
    """Which classes are shown to be right more often than wrong up to their limit."""
    known = classes["limit_is"].isin([SEEN, EXTRAPOLATED])
    return known & (classes["mlc"] >= classes["easiest"])


def claims(classes: pd.DataFrame) -> tuple[str, str]:
    """Say up to which difficulty each class can be trusted, and in which that is not shown.

    `classes` are those of one rule. The first text ends a sentence, the second is one or empty.
    """
    shown = claimed(classes)
    doubts = _named(classes[~shown], _doubt)
    if not shown.any():
        return f"the test cases show no limit of more right than wrong cases: {doubts}", ""
    limits = _named(classes[shown], _limit)
    said = f"up to these difficulties it is right more often than wrong: {limits}"
    return said, f"The test cases show no such limit for {doubts}." if doubts else ""


def limit_notes(classes: pd.DataFrame) -> list[str]:
    """Notes on limits that are extrapolated, or not supported by the test cases."""
    notes = []
    for rule, rows in classes.groupby("rule", sort=False):
        beyond = rows["mlc"] > rows["hardest"]
        before = (rows["mlc"] < rows["easiest"]) & (rows["limit_is"] == EXTRAPOLATED)
        lost = rows["limit_is"].isin([NONE_RIGHT, UNSUPPORTED])
        if (far := beyond & ~lost).any():
            notes.append(
                f"By the rule '{rule}', the limit lies beyond the hardest test case in "
                f"{_names(rows[far])}: it is extrapolated from easier cases."
            )
        if before.any():
            notes.append(
                f"By the rule '{rule}', the limit lies below the easiest test case in "
                f"{_names(rows[before])}: it is extrapolated from harder cases."
            )
        if lost.any():
            notes.append(
                f"By the rule '{rule}', the test cases do not support the limit in "
                f"{_names(rows[lost])}: leave such cases to people, or give more cases."
            )
    return notes


def not_shown_to_fall(cases: pd.DataFrame) -> list[Any]:
    """Classes in which wrong test cases are not significantly harder than right ones.

    Classes that are always right, or always wrong, have nothing to compare.
    """
    from scipy.stats import mannwhitneyu

    found = []
    for name, rows in cases.groupby("class", sort=True):
        right = rows["right"].to_numpy(dtype=bool)
        if right.all() or not right.any():
            continue
        difficulty = rows["difficulty"].to_numpy(dtype=np.float64)
        p = mannwhitneyu(difficulty[~right], difficulty[right], alternative="greater").pvalue
        if not p < ALPHA:
            found.append(name)
    return found


def fall_notes(names: Collection[Any]) -> list[str]:
    """Say of which classes the test cases do not show that success falls with difficulty."""
    if not names:
        return []
    said = (
        "The test cases do not show that success falls with case difficulty in "
        f"{', '.join(map(str, names))} (Mann-Whitney test, one-sided p of {ALPHA:g} or more): "
        "where it does not fall, the limit means little."
    )
    return [said]


def said_limit(row: Mapping[str, Any]) -> str:
    """The limit of a class with its interval, and whether it lies beyond the cases seen."""
    limit, reach = row["mlc"], 1.96 * row["mlc_se"]
    beyond = f"; extrapolated, the hardest case seen has {two_places(row['hardest'])}"
    ends = f"{two_places(limit - reach)} to {two_places(limit + reach)}"
    return f"{two_places(limit)} ({ends}{beyond if limit > row['hardest'] else ''})"


def two_places(value: float) -> str:
    """A number with two decimals, and no minus where these are zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def _limit(name: Any, row: Any) -> str:
    return f"{name}: {said_limit(row)}"


def _doubt(name: Any, row: Any) -> str:
    """Why no limit is claimed of a class."""
    n_cases, limit = int(row["cases"]), two_places(row["mlc"])
    if row["limit_is"] == NONE_RIGHT:
        return f"{name} (none of {n_cases:,} cases right)"
    right = _n_right(row, "below")
    if row["mlc"] < row["easiest"]:
        easiest = two_places(row["easiest"])
        right += _n_right(row, "above")
        return (
            f"{name} ({right:,} of {n_cases:,} cases right; {limit} is extrapolated, the easiest "
            f"case seen has {easiest})"
        )
    return f"{name} ({right:,} of {int(row['cases_below']):,} cases up to {limit} right)"


def _n_right(row: Mapping[str, Any], side: str) -> int:
    n = row[f"cases_{side}"]
    return round(row[f"accuracy_{side}"] * n) if n else 0


def _named(rows: pd.DataFrame, say: Any) -> str:
    said = ", ".join(say(name, row) for name, row in rows.head(MOST_NAMED).iterrows())
    more = len(rows) - MOST_NAMED
    return f"{said} and {more:,} more" if more > 0 else said


def _names(rows: pd.DataFrame) -> str:
    return ", ".join(map(str, rows.index))

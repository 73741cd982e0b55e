"""Facts of respondents or items as columns of numbers, and the check that abilities differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.item_curves import significantly_negative
from ogive.results.base import table
from ogive.results.numbers import counted, joined, listed, shown
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses

MAX_LEVELS = 12  # largest number of groups of one fact
LEAST_LEFT = 8  # smallest number of rows beyond the number of columns
COLLINEAR = 1e-7  # smallest singular value of standardised columns, relative to the largest
ALPHA = 0.05  # p-value above which respondents count as equal
MAX_ITER, CONVERGED = 200, 1e-10  # limits of two-way means with missing responses
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?([T ].*)?")


@dataclass(frozen=True, eq=False)
class Columns:
    """One column per number, one per word of a fact but the most frequent; the first is 1."""

    names: tuple[str, ...]
    matrix: Floats  # (n_respondents or n_items, n_columns)
    words: dict[str, tuple[str, ...]]  # by fact, the most frequent first; empty for numbers
    notes: tuple[str, ...] = ()

    @property
    def numeric(self) -> list[str]:
        """Facts that are numbers."""
        return [name for name, words in self.words.items() if not words]

    def values(self, name: str) -> Floats:
        """Return one column."""
        return np.asarray(self.matrix[:, self.names.index(name)])

    def along(self, name: str, axis: Floats) -> pd.DataFrame:
        """Return rows in which one fact moves; others are at their mean or most frequent word."""
        rows: dict[str, Any] = {
            fact: words[0] if words else self.values(fact).mean()
            for fact, words in self.words.items()
        }
        return table({**rows, name: axis})

    def design(self, facts: Any) -> Floats:
        """Return the columns of other respondents or items."""
        lacking = [name for name in self.words if name not in facts]
        if lacking:
            raise InputError(f"facts lacks {joined(lacking)}; it needs {joined(list(self.words))}.")
        columns = [np.ones(len(facts))]
        for name, words in self.words.items():
            columns += _columns(facts[name], name, words)
        return np.stack(columns, axis=1)


def fact_columns(
    responses: Responses, facts: Any, noun: str = "respondent", rows: np.ndarray | None = None
) -> Columns:
    """Read facts by name or from a frame, and refuse facts that explain nothing.

    `noun` is "respondent" or "item"; `rows` selects some of them.
    """
    frame = _frame(responses, facts, noun)
    frame = frame if rows is None else frame[rows]
    words = {str(name): _words(frame[name], str(name), noun) for name in frame}
    columns, names = [np.ones(len(frame))], ["intercept"]
    for name, levels in words.items():
        columns += _columns(frame[name], name, levels)
        names += [f"{name}: {word}" for word in levels[1:]] or [name]
    matrix = np.stack(columns, axis=1)
    _check(matrix, names, noun)
    notes = tuple(
        f"{name} is compared with {levels[0]}, its most frequent value."
        for name, levels in words.items()
        if levels
    )
    return Columns(tuple(names), matrix, words, notes)


def _frame(responses: Responses, facts: Any, noun: str) -> pd.DataFrame:
    of_items = noun == "item"
    known = responses.item_facts if of_items else responses.respondent_facts
    owners = list(responses.items if of_items else responses.respondents)
    if facts is None:
        chosen = known.select_dtypes("number")
        if chosen.empty:
            example = "length" if of_items else "log_compute"
            raise InputError(
                f"No fact of the {noun}s is a number. Name facts, give a frame, or add them: "
                f"responses.described({noun}s={{'{example}': [...]}})."
            )
        return chosen
    if hasattr(facts, "columns"):
        frame: pd.DataFrame = facts
        if len(frame) != len(owners):
            raise InputError(
                f"`facts` must have one row for each {noun} ({len(owners):,}), "
                f"got {counted(len(frame), 'row')}."
            )
        index = [str(name) for name in frame.index]
        if set(index) == set(owners):
            return frame.set_axis(index).loc[owners]
        return frame.set_axis(owners)
    names = [facts] if isinstance(facts, str) else list(facts)
    unknown = [str(name) for name in names if name not in known]
    if unknown or not names:
        raise InputError(
            f"There is no fact {shown((unknown or [''])[0])} of the {noun}s; known facts: "
            f"{', '.join(map(str, known)) or 'none'}. Give a frame, or add it with "
            f"responses.described({noun}s=...)."
        )
    return known[names]


def _words(column: pd.Series[Any], name: str, noun: str) -> tuple[str, ...]:
    """Return the values of a fact that is text, most frequent first; () for numbers and dates."""
    if column.isna().any():
        lacking = [str(place) for place in column.index[column.isna()]]
        raise InputError(
            f"{name} is not known of {listed(lacking, noun)}. Add it, or leave them out "
            "with responses.select."
        )
    if column.dtype.kind in "biufM" or all(_DATE.fullmatch(str(value)) for value in column):
        return ()
    counts = column.astype(str).value_counts()
    if len(counts) > MAX_LEVELS:
        raise InputError(
            f"`{name}` must have at most {MAX_LEVELS} different values, got {len(counts):,}. "
            "Join some of them, or give a number."
        )
    return tuple(counts.index)


def _columns(column: Any, name: str, words: Sequence[str]) -> list[Floats]:
    """Return indicators of words but the first, a number as it is, or a date as years."""
    import pandas as pd

    series = pd.Series(column)
    if words:
        unknown = sorted(set(series.astype(str)) - set(words))
        if unknown:
            raise InputError(
                f"`{name}` must be one of {joined(list(words))}, got {shown(unknown[0])}."
            )
        return [np.asarray(series.astype(str) == word, dtype=float) for word in words[1:]]
    if series.dtype.kind in "biuf":
        return [series.to_numpy(dtype=float)]
    moments = pd.to_datetime(series.astype(str), format="ISO8601", utc=True)
    year = moments.dt.year.to_numpy(dtype=float)
    return [year + (moments.dt.day_of_year.to_numpy(dtype=float) - 1) / 365.25]


def _check(matrix: Floats, names: Sequence[str], noun: str) -> None:
    """Refuse constant and collinear columns, and more of them than rows bear."""
    if not np.isfinite(matrix).all():
        raise InputError("facts must be finite numbers.")
    for column, name in zip(matrix.T[1:], names[1:], strict=True):
        if np.ptp(column) == 0:
            raise InputError(
                f"{name} is {column[0]:g} for all {noun}s, so it explains nothing. Leave it out."
            )
    if matrix.shape[0] < matrix.shape[1] + LEAST_LEFT:
        raise InputError(
            f"There are {counted(len(matrix), noun)}, but {len(names) - 1} "
            f"columns of facts take {matrix.shape[1] + LEAST_LEFT} or more."
        )
    inner = matrix[:, 1:] - matrix[:, 1:].mean(axis=0)
    inner = inner / inner.std(axis=0)
    _, sizes, directions = np.linalg.svd(inner, full_matrices=False)
    if sizes[-1] < COLLINEAR * sizes[0]:
        collinear = [names[1 + int(k)] for k in np.flatnonzero(np.abs(directions[-1]) > 0.05)]
        raise InputError(
            f"{joined(collinear)} tell the same: one follows from the others, so that their "
            "effects cannot be distinguished. Leave one out."
        )


def check_shared_ability(bank: Calibration, responses: Responses) -> None:
    """Refuse responses whose respondents differ no more than chance makes equal ones differ."""
    # Only significant signs are reversed: chance gives half of the items either sign.
    negative = significantly_negative(bank.items)
    p = p_of_equal(responses.values * np.where(negative, -1.0, 1.0))
    if not p > ALPHA:
        return
    raise InputError(
        f"Respondents differ no more over the items than chance alone makes equal ones differ (p = "
        f"{p:.2g}), so these responses show no ability, and no unit to say differences in. Give "
        "more items or respondents that differ more, or compare mean scores: leaderboard."
    )


def p_of_equal(values: Floats) -> float:
    """Test by F whether respondents are equal, given that items differ; NaN if that is impossible.

    `values` are (n_respondents, n_items), NaN where there is no response. Each item counts in units
    of its own standard deviation; items to which all responses are the same are left out.
    """
    from scipy.special import fdtrc

    known = np.isfinite(values)
    if known.any(axis=1).sum() < 2:
        return float("nan")
    high = np.where(known, values, -np.inf).max(axis=0)
    seen = known & (high > np.where(known, values, np.inf).min(axis=0))
    top = np.where(seen, np.abs(values), 0.0).max(axis=0)

    def centred(table: Floats, axis: int) -> Floats:
        """Subtract the mean of each column (axis 0) or row; 0 stays where there is no response."""
        count = np.maximum(seen.sum(axis=axis, keepdims=True), 1)
        return np.where(seen, table - table.sum(axis=axis, keepdims=True) / count, 0.0)

    residual = centred(np.where(seen, values, 0.0) / np.where(top > 0, top, 1.0), 0)
    sd = np.sqrt((residual**2).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    residual = residual / np.where(sd > 0, sd, 1.0)
    n, m = (int(seen.any(axis=axis).sum()) for axis in (1, 0))
    if not m:
        return 1.0  # items alone explain every response
    left = int(seen.sum()) - n - m + 1
    if n < 2 or left < 1:
        return float("nan")
    total = float((residual**2).sum())
    for _ in range(MAX_ITER):  # both means; one iteration is enough if no response is missing
        before = float((residual**2).sum())
        residual = centred(centred(residual, 1), 0)
        after = float((residual**2).sum())
        if before - after <= CONVERGED * total:
            break
    ratio = (total - after) / (n - 1) / max(after / left, 1e-300)
    return float(fdtrc(n - 1, left, ratio))

"""Facts of respondents or of items as columns of numbers: checked, and named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.results.numbers import counted, joined, listed, shown
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd


INTERCEPT = "intercept"
MOST_WORDS = 12  # groups of one fact
LEAST_LEFT = 8  # rows beyond the number of columns
ALIKE = 1e-7  # smallest singular value of standardised columns, relative
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
        found: Floats = self.matrix[:, self.names.index(name)]
        return found

    def along(self, name: str, axis: Floats) -> pd.DataFrame:
        """Rows in which one fact moves, numbers stay at their mean, words are the usual ones."""
        import pandas as pd

        rows: dict[str, Any] = {
            fact: words[0] if words else self.values(fact).mean()
            for fact, words in self.words.items()
        }
        return pd.DataFrame({**rows, name: axis})

    def design(self, facts: Any) -> Floats:
        """Return columns of others."""
        lacking = [name for name in self.words if name not in facts]
        if lacking:
            raise InputError(f"facts lacks {joined(lacking)}; it needs {joined(list(self.words))}.")
        found = [np.ones(len(facts))]
        for name, words in self.words.items():
            found += _columns(facts[name], name, words)
        return np.stack(found, axis=1)


def fact_columns(
    table: Responses, facts: Any, noun: str = "respondent", rows: np.ndarray | None = None
) -> Columns:
    """Read facts by name or from a frame, and refuse what explains nothing.

    `noun` says of whom they are, "respondent" or "item"; `rows` of which of them.
    """
    frame = _frame(table, facts, noun)
    frame = frame if rows is None else frame[rows]
    words = {str(name): _words(frame[name], str(name), noun) for name in frame}
    columns, names = [np.ones(len(frame))], [INTERCEPT]
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


def _frame(table: Responses, facts: Any, noun: str) -> pd.DataFrame:
    of_items = noun == "item"
    known = table.item_facts if of_items else table.respondent_facts
    owners = list(table.items if of_items else table.respondents)
    example = "'length'" if of_items else "'log_compute'"
    if facts is None:
        chosen = known.select_dtypes("number")
        if chosen.empty:
            raise InputError(
                f"No fact of the {noun}s is a number. Name facts, give a frame, or add them: "
                f"responses.described({noun}s={{{example}: [...]}})."
            )
        return chosen
    if hasattr(facts, "columns"):
        frame: pd.DataFrame = facts
        if len(frame) != len(owners):
            raise InputError(
                f"facts has {counted(len(frame), 'row')}, but there are "
                f"{counted(len(owners), noun)}. Give one row each."
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
    """The values of a fact that is text, the most frequent first; none for numbers and dates."""
    if column.isna().any():
        lacking = [str(place) for place in column.index[column.isna()]]
        raise InputError(
            f"{name} is not known of {listed(lacking, noun)}. Add it, or leave them out "
            "with responses.select."
        )
    if column.dtype.kind in "biufM" or all(_DATE.fullmatch(str(value)) for value in column):
        return ()
    counts = column.astype(str).value_counts()
    if len(counts) > MOST_WORDS:
        raise InputError(
            f"{name} has {len(counts):,} different values, but groups are at most {MOST_WORDS}. "
            "Join some of them, or give a number."
        )
    return tuple(counts.index)


def _columns(column: Any, name: str, words: Sequence[str]) -> list[Floats]:
    import pandas as pd

    series = pd.Series(column)
    if words:
        strangers = sorted(set(series.astype(str)) - set(words))
        if strangers:
            raise InputError(f"{name} is {shown(strangers[0])}, but it was: {joined(list(words))}.")
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
    _, sizes, ways = np.linalg.svd(inner, full_matrices=False)
    if sizes[-1] < ALIKE * sizes[0]:
        alike = [names[1 + int(k)] for k in np.flatnonzero(np.abs(ways[-1]) > 0.05)]
        raise InputError(
            f"{joined(alike)} tell the same: one follows from the others, so that their effects "
            "cannot be distinguished. Leave one out."
        )

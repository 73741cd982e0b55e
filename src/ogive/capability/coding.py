"""Features as items: each value of a feature becomes a grade, by a rule that people can read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.capability.cases import category_text, is_number, refuse_twice
from ogive.data.feature_columns import MOST_CATEGORIES, in_sentences, plain, plan_columns
from ogive.errors import InputError
from ogive.results.numbers import counted, listed, repeated
from ogive.stats.array_backend import Floats

Column: TypeAlias = NDArray[Any]  # of floats, or of texts and NaN


@dataclass(frozen=True)
class Grades:
    """Grades by cut points: 0 up to the first, and one more beyond each."""

    kind: ClassVar[str] = "number"
    edges: tuple[float, ...]  # ascending

    def __post_init__(self) -> None:
        known = all(math.isfinite(edge) for edge in self.edges)
        if not (self.edges and known and list(self.edges) == sorted(set(self.edges))):
            raise InputError(f"Cut points are {self.edges}; give finite numbers that ascend.")

    @property
    def top(self) -> int:
        """The highest grade."""
        return len(self.edges)

    def code(self, column: Column) -> Floats:
        """Return the grade of each value, NaN if it is missing."""
        grades = np.searchsorted(self.edges, column, side="left").astype(np.float64)
        return np.where(np.isnan(column), np.nan, grades)

    def __str__(self) -> str:
        steps = [f"{k} up to {edge:.6g}" for k, edge in enumerate(self.edges)]
        return ", ".join([*steps, f"{self.top} above"])


@dataclass(frozen=True)
class NormalRange:
    """0 inside a normal range, its ends included, and 1 outside."""

    kind: ClassVar[str] = "number"
    top: ClassVar[int] = 1
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low <= self.high or (math.isinf(self.low) and math.isinf(self.high)):
            raise InputError(
                f"The normal range from {self.low:g} to {self.high:g} has no inside or no "
                "outside. "
                "Give a lower end, an upper end, or both in their order."
            )

    def code(self, column: Column) -> Floats:
        """Return whether each value lies outside; NaN if it is missing."""
        outside = ~((column >= self.low) & (column <= self.high))
        return np.where(np.isnan(column), np.nan, outside.astype(np.float64))

    def __str__(self) -> str:
        if math.isinf(self.low):
            return f"0 up to {self.high:g}, 1 above"
        if math.isinf(self.high):
            return f"0 from {self.low:g}, 1 below"
        return f"0 from {self.low:g} to {self.high:g}, 1 outside"


@dataclass(frozen=True)
class States:
    """Categories as states; without `otherwise`, a category that is not named counts as missing.

    If all categories are words, a number counts as the state itself: 0 and 1 need no names.
    """

    kind: ClassVar[str] = "text"
    states: tuple[tuple[str, int], ...]
    otherwise: int | None = None

    def __post_init__(self) -> None:
        labels = [label for label, _ in self.states]
        if not labels or len(set(labels)) < len(labels):
            raise InputError(f"The categories are {', '.join(labels)}; name each of them once.")
        if set(self._all) != set(range(self.top + 1)) or not self.top:
            raise InputError(
                f"The states of {', '.join(labels)} are {sorted(set(self._all))}; "
                "they should count up from 0, as in 'Absent = 0, Present = 1'."
            )

    @property
    def _all(self) -> list[int]:
        other = [] if self.otherwise is None else [self.otherwise]
        return [*(state for _, state in self.states), *other]

    @property
    def top(self) -> int:
        """The highest state."""
        return max(self._all)

    @cached_property
    def known(self) -> dict[str, float]:
        """The state of each category that has one by name or by number."""
        known = {label: float(state) for label, state in self.states}
        if self.otherwise is None and not any(map(is_number, known)):
            known |= {str(state): float(state) for state in self._all}
        return known

    def code(self, column: Column) -> Floats:
        """Return the state of each value, NaN if it is missing or unknown."""
        known, other = self.known, np.nan if self.otherwise is None else float(self.otherwise)
        texts = [_text(value) for value in column]
        return np.array([np.nan if text is None else known.get(text, other) for text in texts])

    def __str__(self) -> str:
        words = [f"{label} = {state}" for label, state in self.states]
        if self.otherwise is not None:
            words.append(f"else = {self.otherwise}")
        return ", ".join(words)


Rule: TypeAlias = Grades | NormalRange | States


@dataclass(frozen=True)
class FeatureItem:
    """A feature as an item."""

    name: str  # of the item: that of the feature, unless it makes several
    feature: str
    rule: Rule


@dataclass(frozen=True, eq=False)
class Coding:
    """How each feature is coded; made by `quantile_coding` or `read_coding`, or by hand.

    >>> from ogive.capability.coding import Coding, Grades, NormalRange
    >>> coding = Coding.of({"age": Grades((65.0,)), "sodium": NormalRange(135, 145)})
    >>> list(coding.to_frame()["rule"])
    ['0 up to 65, 1 above', '0 from 135 to 145, 1 outside']
    """

    items: tuple[FeatureItem, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [item.name for item in self.items]
        if not names:
            raise InputError("The coding has no feature. Give a rule for at least one.")
        if twice := repeated(names):
            raise InputError(f"The coding has '{twice[0]}' more than once. Keep one rule for it.")

    @classmethod
    def of(cls, rules: Mapping[str, Rule]) -> Coding:
        """Return a rule for each feature."""
        return cls(tuple(FeatureItem(str(name), str(name), rule) for name, rule in rules.items()))

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Each feature once, and whether it holds a "number" or a "text"."""
        return {item.feature: item.rule.kind for item in self.items}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the items."""
        return tuple(item.name for item in self.items)

    def code(self, features: pd.DataFrame) -> Floats:
        """Return the grade of each case in each item, (n_cases, n_items); NaN if it is missing.

        Features are known by their names, in any order; others are left out.
        """
        return self.code_columns(self.columns(features))

    def columns(self, features: pd.DataFrame) -> dict[str, Column]:
        """Return each feature's values: floats, or texts with NaN for missing ones."""
        refuse_twice(features)
        column_of = {str(name): k for k, name in enumerate(features.columns)}
        if missing := [name for name in self.kinds if name not in column_of]:
            new = [name for name in column_of if name not in self.kinds]
            besides = f"; columns without a rule: {listed(new, 'column', 10)}" if new else ""
            raise InputError(
                f"The cases lack {listed(missing, 'feature', 10)} of the coding{besides}. "
                "Give the features by their names, in any order."
            )
        if all(kind == np.float64 for kind in features.dtypes):  # the quick way, for a service
            cells = features.to_numpy()
            return {name: cells[:, column_of[name]] for name in self.kinds}
        part = features.iloc[:, [column_of[name] for name in self.kinds]]
        texts = [name for name, kind in self.kinds.items() if kind == "text"]
        frame = plain(part, texts).frame
        return {name: frame[name].to_numpy() for name in self.kinds}

    def code_columns(self, columns: Mapping[str, Column]) -> Floats:
        """Return grades as `code` does, from the result of `columns`."""
        ready = {
            name: _finite(columns[name], name) if kind == "number" else columns[name]
            for name, kind in self.kinds.items()
        }
        grades = np.column_stack([item.rule.code(ready[item.feature]) for item in self.items])
        for feature, new in self.unseen(columns).items():
            own = [k for k, item in enumerate(self.items) if item.feature == feature]
            grades[np.ix_(list(new), own)] = np.nan
        return grades

    def unseen(self, columns: Mapping[str, Column]) -> dict[str, dict[int, str]]:
        """Return categories that no rule names: feature -> position of the case -> category."""
        unseen: dict[str, dict[int, str]] = {}
        for feature, labels in self._closed.items():
            texts = enumerate(_text(value) for value in columns[feature])
            if new := {k: text for k, text in texts if text and text not in labels}:
                unseen[feature] = new
        return unseen

    @cached_property
    def _closed(self) -> dict[str, set[str]]:
        """The known categories of each feature for which any other category is unknown.

        No category is unknown if a rule has "else", or if a feature has the maximum number of
        items, one per category: then the rarest categories have no item.
        """
        rules: dict[str, list[States]] = {}
        for item in self.items:
            if isinstance(item.rule, States):
                rules.setdefault(item.feature, []).append(item.rule)
        return {
            feature: {label for rule in own for label in rule.known}
            for feature, own in rules.items()
            if own[0].otherwise is None or 1 < len(own) < MOST_CATEGORIES
        }

    def select(self, keep: NDArray[np.bool_]) -> Coding:
        """Return some of the items."""
        return Coding(tuple(np.array(self.items, dtype=object)[keep]), self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item: its feature, the rule in words, and the number of grades."""
        columns = {
            "feature": [item.feature for item in self.items],
            "rule": [str(item.rule) for item in self.items],
            "grades": [item.rule.top + 1 for item in self.items],
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="item"))

    def to_dict(self) -> dict[str, Any]:
        """Return the coding as JSON values."""
        rows = [[item.name, item.feature, _written(item.rule)] for item in self.items]
        return {"items": rows, "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Coding:
        """Restore the coding that `to_dict` wrote."""
        try:
            items = tuple(
                FeatureItem(_words(name), _words(feature), _rule(rule))
                for name, feature, rule in document["items"]
            )
            return cls(items, tuple(_words(note) for note in document["notes"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"This is not a coding that to_dict() wrote: {error}.") from error


def quantile_coding(features: pd.DataFrame, levels: int) -> Coding:
    """Return numbers in `levels` grades of equally many cases; categories as states.

    Equal values share a grade, so there may be fewer grades. Of more than two categories, each
    becomes an item of its own: 1 for it and 0 for all others. Columns that are constant, free text
    or row numbers are left out, with a note.
    """
    rows = plain(features)
    plan = plan_columns(rows.frame, rows.frame, rows.dates)
    notes = [*rows.remarks, *([plan.losses] if plan.left_out else [])]
    if not plan.used:
        raise InputError(
            f"No feature distinguishes cases: {plan.losses}. Give at least one column of "
            "numbers or of few categories that varies."
        )
    items: list[FeatureItem] = []
    for name in rows.frame.columns:
        column = rows.frame[name].dropna()
        if name in plan.numbers:
            items.append(FeatureItem(name, name, _quantiles(column.to_numpy(), levels)))
        elif name in plan.categories:
            items += _category_items(name, column)
    return Coding(tuple(items), tuple(in_sentences(notes)))


def _quantiles(values: Floats, levels: int) -> Grades:
    """Return cut points between grades of equally many values, all below the highest value."""
    wanted = np.quantile(values, np.arange(1, levels) / levels, method="inverted_cdf")
    edges = np.unique(wanted[wanted < values.max()])
    if not edges.size:  # more than the highest grade holds the highest value
        edges = values[values < values.max()].max(keepdims=True)
    return Grades(tuple(edges.tolist()))


def _category_items(name: str, column: pd.Series[Any]) -> list[FeatureItem]:
    counts = column.value_counts()
    labels = sorted(counts.index[:MOST_CATEGORIES])
    if len(counts) == 2:
        return [FeatureItem(name, name, States(((labels[0], 0), (labels[1], 1))))]
    return [FeatureItem(f"{name} = {text}", name, States(((text, 1),), 0)) for text in labels]


def _finite(column: Column, name: str) -> Floats:
    """Return numbers, also spelled as texts; infinite ones are missing, others are refused."""
    numbers = column
    if column.dtype != np.float64:
        numbers = pd.to_numeric(pd.Series(column), errors="coerce").to_numpy(dtype=np.float64)
        bad = np.isnan(numbers) & ~pd.isna(column)
        if bad.any():
            raise InputError(
                f"Feature '{name}' is coded by numbers, but holds {column[bad][0]!r:.60} "
                f"({counted(int(bad.sum()), 'case')}). Give numbers, or NaN where one is missing."
            )
    return np.where(np.isinf(numbers), np.nan, numbers)


def _text(value: object) -> str | None:
    """Return a category as text, 1.0 as "1"; None if it is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return category_text(value).strip()


def _written(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, Grades):
        return {"grades": list(rule.edges)}
    if isinstance(rule, NormalRange):
        return {"range": [None if math.isinf(end) else end for end in (rule.low, rule.high)]}
    return {"states": [list(pair) for pair in rule.states], "otherwise": rule.otherwise}


def _rule(written: Mapping[str, Any]) -> Rule:
    if "grades" in written:
        return Grades(tuple(_number(edge) for edge in written["grades"]))
    if "range" in written:
        low, high = written["range"]
        return NormalRange(
            -math.inf if low is None else _number(low), math.inf if high is None else _number(high)
        )
    other = written["otherwise"]
    states = tuple((_words(label), _state(state)) for label, state in written["states"])
    return States(states, None if other is None else _state(other))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.40} is not a number")
    return float(value)


def _state(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST_CATEGORIES:
        raise TypeError(f"{value!r:.40} is not a state from 0 to {MOST_CATEGORIES}")
    return value


def _words(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return value

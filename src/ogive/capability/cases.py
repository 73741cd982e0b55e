"""Cases as a gate takes them: features known by name and kind, and groups such as a site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ogive.data.feature_columns import Plan, in_sentences, plain, plan_columns
from ogive.data.foreign_frames import as_pandas
from ogive.errors import InputError
from ogive.results.numbers import counted, listed, meant, repeated

if TYPE_CHECKING:
    from ogive.capability.gate import CapabilityGate


NUMBER, TEXT = "number", "text"


@dataclass(frozen=True)
class Features:
    """Names and kinds of the columns that a gate was fitted on."""

    kinds: Mapping[str, str]  # name -> "number" or "text", in the order of fitting
    named: bool  # False: an array, whose columns are called x0, x1, ...

    @classmethod
    def of(cls, X: Any) -> Features:
        """Return those of a frame or an array."""
        if not isinstance(X, pd.DataFrame):
            return cls({f"x{k}": NUMBER for k in range(X.shape[1])}, named=False)
        refuse_twice(X)
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes]
        kinds = [NUMBER if number else TEXT for number in numeric]
        return cls(dict(zip(map(str, X.columns), kinds, strict=True)), named=True)

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of the gate, in its order; others are left out."""
        refuse_twice(frame)
        column_of = {str(name): k for k, name in enumerate(frame.columns)}
        if missing := [name for name in self.kinds if name not in column_of]:
            new = [name for name in column_of if name not in self.kinds]
            besides = f"; unknown to it: {listed(new, 'feature', 10)}" if new else ""
            raise InputError(
                f"The cases lack {listed(missing, 'feature', 10)} of the gate{besides}. Give the "
                "features that it was fitted on, by their names, in any order."
            )
        chosen = frame.iloc[:, [column_of[name] for name in self.kinds]]
        self._refuse_text(chosen)
        return self._plain(chosen)

    def _plain(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the features by their names, categories as text, and every gap NaN."""
        names = list(self.kinds)
        named = frame if names == list(frame.columns) else frame.set_axis(names, axis=1)
        changed = {
            name: as_texts(named[name])
            if kind == TEXT
            else named[name].where(named[name].notna(), np.nan)
            for (name, kind), dtype in zip(self.kinds.items(), named.dtypes, strict=True)
            if kind == TEXT or dtype.kind == "O"
        }
        return named.assign(**changed) if changed else named

    def knows(self, frame: pd.DataFrame) -> bool:
        """Return True if all features are there by name."""
        return set(self.kinds) <= set(map(str, frame.columns))

    def _refuse_text(self, frame: pd.DataFrame) -> None:
        """Refuse numbers given as text: they would pass for categories, or fail in the model."""
        for name, (_, column) in zip(self.kinds, frame.items(), strict=True):
            if self.kinds[name] == NUMBER and not pd.api.types.is_numeric_dtype(column.dtype):
                if column.isna().all():
                    continue
                bad = pd.to_numeric(column, errors="coerce").isna() & column.notna()
                shown = column[bad].iloc[0] if bad.any() else column.dropna().iloc[0]
                raise InputError(
                    f"Feature '{name}' held numbers when the gate was fitted, but holds "
                    f"{shown!r:.60} now. Give numbers, or NaN where one is missing."
                )


def as_texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return categories as text, so that 1 and "1" are the same; missing values are NaN.

    Columns of pandas' category type keep it, for models that rely on it.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = [category_text(value) for value in column.cat.categories]
        if len(set(names)) == len(names):
            return column.cat.rename_categories(names)
    return pd.Series(_texts(column, np.nan), index=column.index, name=column.name, dtype=object)


def _texts(column: pd.Series[Any], missing: Any) -> list[Any]:
    """Return categories as text, and `missing` for missing ones."""
    pairs = zip(column, column.isna(), strict=True)
    return [missing if lacks else category_text(value) for value, lacks in pairs]


def category_text(value: object) -> str:
    """Return a category as text, a whole number without its decimal point: as services send it."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def refuse_twice(frame: pd.DataFrame) -> None:
    """Refuse a frame in which a feature occurs more than once."""
    names = [str(name) for name in frame.columns]
    if twice := repeated(names):
        raise InputError(f"The cases have the feature '{twice[0]}' more than once. Keep one.")


class CaseTable(NamedTuple):
    """The columns to learn from, as floats or text, and how a classifier uses them."""

    features: pd.DataFrame
    plan: Plan
    notes: tuple[str, ...]


def case_table(features: pd.DataFrame) -> CaseTable:
    """Return the features to learn from; constants, identifiers and free text are left out."""
    names = [str(name) for name in features.columns]
    rows = plain(features, texts=names)  # dates stay text: new cases do not come in days since 1970
    plan = plan_columns(rows.frame, rows.frame)
    if not plan.used:
        raise InputError(
            f"No column distinguishes cases: {plan.losses}. Give at least one column of "
            "numbers or of few categories that varies."
        )
    notes = [*rows.remarks, *([plan.losses] if plan.left_out else [])]
    kept = rows.frame[[name for name in rows.frame.columns if name not in plan.left_out]]
    return CaseTable(kept, plan, tuple(in_sentences(notes)))


def new_cases(table: pd.DataFrame, kinds: Mapping[str, str]) -> pd.DataFrame:
    """Return a table of new cases with columns of the kinds that a gate knows.

    Categories written as numbers are texts, and truth values are numbers, as `case_table` has them.
    """
    cases = table.rename(columns=str)
    changed: dict[str, Any] = {}
    for name in kinds.keys() & set(cases.columns):
        if kinds[name] == TEXT:
            changed[name] = as_texts(cases[name])
        elif pd.api.types.is_bool_dtype(cases[name]):
            changed[name] = cases[name].astype(np.float64)
    return cases.assign(**changed)


def training_rows(gate: CapabilityGate, X: Any, y: Any) -> tuple[Any, NDArray[Any], Features]:
    """Return training cases and classes in one form, and the features."""
    X, y = as_pandas(X), as_pandas(y)
    if isinstance(X, pd.DataFrame):
        features = Features.of(X)
        X = features.rows(X)
        validate_data(gate, X, skip_check_array=True)
        if y is None:
            raise InputError("y is None, but it should be the class of each case.")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if pd.isna(y).any():
            raise InputError(
                f"The class of {int(pd.isna(y).sum()):,} of {len(y):,} cases is missing. "
                "Leave these cases out."
            )
    else:
        X, y = validate_data(gate, X, y, dtype=np.float64, ensure_all_finite=_finite(gate))
        features = Features.of(X)
    check_classification_targets(y)
    return X, np.asarray(y), features


def new_rows(gate: CapabilityGate, X: Any) -> Any:
    """Return new cases in the form of the training cases: a frame with its columns, or an array."""
    X, features = as_pandas(X), gate.features_
    if isinstance(X, pd.DataFrame) and (features.named or features.knows(X)):
        rows = features.rows(X)
        return rows if features.named else rows.to_numpy(dtype=np.float64, na_value=np.nan)
    dtype = None if features.named else np.float64
    finite = False if features.named else _finite(gate)
    cells = validate_data(
        gate, X, dtype=dtype, ensure_all_finite=finite, ensure_min_samples=0, reset=False
    )
    if not features.named:
        return cells
    frame = pd.DataFrame(cells, columns=list(features.kinds)).infer_objects()
    return features.rows(frame)


def _finite(gate: CapabilityGate) -> Any:
    return "allow-nan" if gate.__sklearn_tags__().input_tags.allow_nan else True


UNNAMED = "group"


class Grouped(NamedTuple):
    """The group of each case."""

    codes: NDArray[np.intp]  # -1 if the group is unknown or missing
    texts: tuple[str | None, ...]  # None if it is missing


@dataclass(frozen=True)
class GroupFact:
    """The groups that a gate was fitted on."""

    name: str  # of the fact, also the column of a table of new cases
    labels: tuple[str, ...]
    numeric: bool  # whether they were given as numbers

    @classmethod
    def learn(cls, groups: Any, X: Any, n_cases: int) -> tuple[GroupFact, NDArray[np.intp]]:
        """Return the groups of training cases; each case has to have one."""
        column = _column(groups, X, n_cases)
        lack = column.isna()
        if lack.any():
            raise InputError(
                f"The group of {int(lack.sum()):,} of {counted(n_cases, 'case')} is missing. "
                "Leave these cases out, or give them a group of their own."
            )
        texts = np.array([category_text(value) for value in column], dtype=object)
        labels, codes = np.unique(texts.astype(str), return_inverse=True)
        name = UNNAMED if column.name is None else str(column.name)
        return cls(name, tuple(labels.tolist()), _numeric(column)), codes

    def find(self, groups: Any, X: Any, n_cases: int) -> Grouped:
        """Return the groups of new cases, which `X` may have as a column."""
        given = self._in(X) if groups is None else groups
        column = _column(given, X, n_cases)
        words = not self.numeric and not any(map(is_number, self.labels))
        if words and _numeric(column) and column.notna().any():
            raise InputError(
                f"The groups ({self.name}) were texts such as {self.labels[0]!r} when the gate was "
                f"fitted, but are numbers now, such as {category_text(column.dropna().iloc[0])}. "
                "Give them as texts."
            )
        texts = tuple(_texts(column, None))
        code_of = {label: code for code, label in enumerate(self.labels)}
        codes = [-1 if text is None else code_of.get(text, -1) for text in texts]
        return Grouped(np.array(codes, dtype=np.intp), texts)

    def _in(self, X: Any) -> Any:
        table = as_pandas(X)
        if isinstance(table, pd.DataFrame):
            names = [str(name) for name in table.columns]
            if self.name in names:
                return table.iloc[:, names.index(self.name)]
        raise InputError(
            f"The gate makes its promise in each group ({self.name}), so it has to know the group "
            f"of each case. Give groups=, or a frame with a column called '{self.name}'."
        )


def _column(groups: Any, X: Any, n_cases: int) -> pd.Series[Any]:
    """Return the groups as a column, by the name of a column of `X` or one value per case."""
    given = as_pandas(groups)
    if isinstance(given, str):
        table = as_pandas(X)
        names = [str(name) for name in table.columns] if isinstance(table, pd.DataFrame) else []
        if given not in names:
            raise InputError(
                f"groups is {given!r:.60}, but the cases have no column of that name. Give the "
                f"name of a column of X, or one group per case.{meant(given, names)}"
            )
        given = table.iloc[:, names.index(given)]
    if isinstance(given, pd.DataFrame) and given.shape[1] == 1:
        given = given.iloc[:, 0]
    try:
        values = given if isinstance(given, pd.Series) else pd.Series(given)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"groups is {type(groups).__name__}, but it should hold one group per case: {error}."
        ) from error
    if len(values) != n_cases:
        raise InputError(
            f"groups has {counted(len(values), 'value')}, but there are "
            f"{counted(n_cases, 'case')}. Give one group per case."
        )
    return values


def is_number(text: str) -> bool:
    """Return True if a text spells a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numeric(column: pd.Series[Any]) -> bool:
    kind = pd.api.types
    return bool(kind.is_numeric_dtype(column.dtype) and not kind.is_bool_dtype(column.dtype))

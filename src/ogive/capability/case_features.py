"""The features of cases: known by name and kind, and read from tables as people keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.errors import InputError
from ogive.learning.feature_columns import Plan, plain, plan_columns
from ogive.words import listed, repeated

if TYPE_CHECKING:
    import pandas as pd

NUMBER, TEXT = "number", "text"


@dataclass(frozen=True)
class Features:
    """Names and kinds of the columns that a gate was fitted on."""

    kinds: Mapping[str, str]  # name -> "number" or "text", in the order of fitting
    named: bool  # False: an array, whose columns are called x0, x1, ...

    @classmethod
    def of(cls, X: Any) -> Features:
        """Those of a frame or an array."""
        import pandas as pd

        if not isinstance(X, pd.DataFrame):
            return cls({f"x{k}": NUMBER for k in range(X.shape[1])}, named=False)
        _refuse_twice(X)
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes]
        kinds = [NUMBER if number else TEXT for number in numeric]
        return cls(dict(zip(map(str, X.columns), kinds, strict=True)), named=True)

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns of the gate, in its order; others are left out."""
        _refuse_twice(frame)
        there = {str(name): k for k, name in enumerate(frame.columns)}
        if missing := [name for name in self.kinds if name not in there]:
            new = [name for name in there if name not in self.kinds]
            besides = f"; unknown to it: {listed(new, 'feature', 10)}" if new else ""
            raise InputError(
                f"The cases lack {listed(missing, 'feature', 10)} of the gate{besides}. Give the "
                "features that it was fitted on, by their names, in any order."
            )
        found = frame.iloc[:, [there[name] for name in self.kinds]]
        self._refuse_text(found)
        return self._plain(found)

    def _plain(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The features by their names, categories as text, and every gap NaN."""
        names = list(self.kinds)
        found = frame if names == list(frame.columns) else frame.set_axis(names, axis=1)
        changed = {
            name: as_texts(found[name]) if kind == TEXT else _one_gap(found[name])
            for (name, kind), dtype in zip(self.kinds.items(), found.dtypes, strict=True)
            if kind == TEXT or dtype.kind == "O"
        }
        return found.assign(**changed) if changed else found

    def knows(self, frame: pd.DataFrame) -> bool:
        """Whether all features are there by name."""
        return set(self.kinds) <= set(map(str, frame.columns))

    def _refuse_text(self, frame: pd.DataFrame) -> None:
        """Refuse numbers given as text: they would pass for categories, or fail in the model."""
        import pandas as pd

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
    """Categories as text, so that 1 and "1" are the same; missing values are NaN.

    Columns of pandas' category type keep it, for models that rely on it.
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        names = [category_text(value) for value in column.cat.categories]
        if len(set(names)) == len(names):
            return column.cat.rename_categories(names)
    lack = column.isna()
    words = [
        np.nan if missing else category_text(value)
        for value, missing in zip(column, lack, strict=True)
    ]
    return pd.Series(words, index=column.index, name=column.name, dtype=object)


def category_text(value: object) -> str:
    """A category as text: a whole number without its decimal point, as a service sends it."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _one_gap(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.where(column.notna(), np.nan)


def as_array(frame: pd.DataFrame) -> Any:
    """A frame as the array that a gate without names knows."""
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _refuse_twice(frame: pd.DataFrame) -> None:
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
    return CaseTable(kept, plan, tuple(f"{note[0].upper()}{note[1:]}." for note in notes))


def new_cases(table: pd.DataFrame, kinds: Mapping[str, str]) -> pd.DataFrame:
    """Return a table of new cases with columns of the kinds that a gate knows.

    Categories written as numbers are texts, and truth values are numbers, as `case_table` has them.
    """
    import pandas as pd

    found = table.rename(columns=str)
    changed: dict[str, Any] = {}
    for name in kinds.keys() & set(found.columns):
        if kinds[name] == TEXT:
            changed[name] = as_texts(found[name])
        elif pd.api.types.is_bool_dtype(found[name]):
            changed[name] = found[name].astype(np.float64)
    return found.assign(**changed)

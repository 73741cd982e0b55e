"""Groups of cases, such as a site or a device: a fact that is known before the model decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.capability.case_features import category_text
from ogive.errors import InputError
from ogive.tables.foreign_frames import as_pandas
from ogive.words import counted, meant

if TYPE_CHECKING:
    import pandas as pd

UNNAMED = "group"


class Grouped(NamedTuple):
    """The group of each case."""

    codes: NDArray[np.intp]  # -1 if the group is unknown or missing
    texts: tuple[str | None, ...]  # None where it is missing


@dataclass(frozen=True)
class GroupFact:
    """The groups that a gate was fitted on."""

    name: str  # of the fact, also the column of a table of new cases
    labels: tuple[str, ...]
    numeric: bool  # whether they were given as numbers

    @classmethod
    def learn(cls, groups: Any, X: Any, n_cases: int) -> tuple[GroupFact, NDArray[np.intp]]:
        """The groups of training cases; each case has to have one."""
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
        """The groups of new cases, which `X` may have as a column."""
        given = self._in(X) if groups is None else groups
        column = _column(given, X, n_cases)
        words = not self.numeric and not any(map(_is_number, self.labels))
        if words and _numeric(column) and column.notna().any():
            raise InputError(
                f"The groups ({self.name}) were texts such as {self.labels[0]!r} when the gate was "
                f"fitted, but are numbers now, such as {category_text(column.dropna().iloc[0])}. "
                "Give them as texts."
            )
        lack = column.isna().tolist()
        texts = tuple(
            None if missing else category_text(value)
            for value, missing in zip(column, lack, strict=True)
        )
        known = {label: code for code, label in enumerate(self.labels)}
        codes = np.array([known.get(str(text), -1) for text in texts], dtype=np.intp)
        codes[np.array(lack, dtype=bool)] = -1
        return Grouped(codes, texts)

    def _in(self, X: Any) -> Any:
        import pandas as pd

        table = as_pandas(X)
        if isinstance(table, pd.DataFrame):
            there = [str(name) for name in table.columns]
            if self.name in there:
                return table.iloc[:, there.index(self.name)]
        raise InputError(
            f"The gate makes its promise in each group ({self.name}), so it has to know the group "
            f"of each case. Give groups=, or a frame with a column called '{self.name}'."
        )


def _column(groups: Any, X: Any, n_cases: int) -> pd.Series[Any]:
    """The groups as a column, by the name of a column of `X` or one value per case."""
    import pandas as pd

    given = as_pandas(groups)
    if isinstance(given, str):
        table = as_pandas(X)
        there = [str(name) for name in table.columns] if isinstance(table, pd.DataFrame) else []
        if given not in there:
            raise InputError(
                f"groups is {given!r:.60}, but the cases have no column of that name. Give the "
                f"name of a column of X, or one group per case.{meant(given, there)}"
            )
        given = table.iloc[:, there.index(given)]
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numeric(column: pd.Series[Any]) -> bool:
    import pandas as pd

    kind = pd.api.types
    return bool(kind.is_numeric_dtype(column.dtype) and not kind.is_bool_dtype(column.dtype))

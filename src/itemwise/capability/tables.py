"""Tables of cases as people keep them: identifiers in them, truth values, categories as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from itemwise.capability.features import TEXT, as_texts
from itemwise.errors import InputError
from itemwise.learning.columns import Plan, plain, plan_columns

if TYPE_CHECKING:
    import pandas as pd


class CaseTable(NamedTuple):
    """Columns that tell cases apart, as floats or texts, and what a classifier makes of them."""

    features: pd.DataFrame
    plan: Plan
    notes: tuple[str, ...]


def case_table(features: pd.DataFrame) -> CaseTable:
    """The features worth learning from; constants, identifiers and free text are left out."""
    names = [str(name) for name in features.columns]
    rows = plain(features, texts=names)  # nobody sends a new case in days since 1970
    plan = plan_columns(rows.frame, rows.frame)
    if not plan.used:
        raise InputError(
            f"No column tells a case from another: {plan.losses}. Give at least one column of "
            "numbers or of few categories that varies."
        )
    notes = [*rows.remarks, *([plan.losses] if plan.left_out else [])]
    kept = rows.frame[[name for name in rows.frame.columns if name not in plan.left_out]]
    return CaseTable(kept, plan, tuple(f"{note[0].upper()}{note[1:]}." for note in notes))


def new_cases(table: pd.DataFrame, kinds: Mapping[str, str]) -> pd.DataFrame:
    """A table read anew, its columns of the kinds that a gate knows.

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

"""Features of problems in the order of a table of performances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ogive.datasets.aslib import AslibScenario
from ogive.errors import InputError
from ogive.learning.feature_columns import is_frame
from ogive.studies.algorithms.performances import Performances
from ogive.tables.foreign_frames import as_pandas
from ogive.words import counted, listed


def feature_rows(performance: Any, X: Any, table: Performances) -> Any:
    """Features in the order of the table; by name where both have names."""
    if X is None and isinstance(performance, AslibScenario):
        X = performance.features
    if X is None:
        raise InputError(
            "There are no features. Give one row per problem as X, or a scenario of read_aslib "
            "that has features."
        )
    X = as_pandas(X)
    given = _names_of_problems(performance)
    wanted = list(table.modelled.index)
    if is_frame(X) and hasattr(getattr(performance, "performance", performance), "iloc"):
        named = X.set_axis([str(name) for name in X.index], axis=0)
        lacking = [name for name in wanted if name not in named.index]
        if lacking:
            raise InputError(
                f"There are no features for {listed(lacking, 'problem')}. Features are "
                "matched with runs by the names of problems (the index, or the first column of a "
                "file): give them the same names in both."
            )
        if named.index.has_duplicates:
            raise InputError("X names a problem more than once. Give one row per problem.")
        return named.loc[wanted]
    rows: Any = X if is_frame(X) else np.asarray(X)
    if np.ndim(rows) != 2 or len(rows) != len(given):
        raise InputError(
            f"X has shape {np.shape(rows)}, but there are {counted(len(given), 'problem')}. "
            "Give one row per problem and one column per feature."
        )
    places = {name: place for place, name in enumerate(given)}
    kept = [places[name] for name in wanted]  # problems without any run are left out
    return rows.iloc[kept] if is_frame(rows) else rows[kept]


def _names_of_problems(performance: Any) -> list[str]:
    table = getattr(performance, "performance", performance)
    names = getattr(table, "respondents", None)
    if names is None:
        names = getattr(table, "index", None)
    if names is None or callable(names):
        return [f"problem_{k + 1}" for k in range(len(table))]
    return [str(name) for name in names]

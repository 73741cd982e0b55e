"""Rows of features in one form: a plain frame, or an array of numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from itemwise.errors import InputError
from itemwise.learning.columns import Plain, Plan, column_transformer, plain, plan_columns
from itemwise.numerics.arrays import Floats
from itemwise.responses.naming import aligned
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

Rows: TypeAlias = "pd.DataFrame | Floats"


def is_frame(X: object) -> bool:
    """Whether X is a pandas frame, whose columns may be of any kind."""
    import pandas as pd

    return isinstance(X, pd.DataFrame)


def known_rows(X: Any, y: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Items with their difficulty by name where both have names; those without one are left out."""
    import pandas as pd

    if not isinstance(y, pd.Series) or not isinstance(X, pd.DataFrame | pd.Series):
        return X, y, ()
    y = aligned(y, X.index, "y")
    known = y.notna().to_numpy()
    if known.all():
        return X, y, ()
    lost = f"{counted(int((~known).sum()), 'item')} without a difficulty left out"
    return X[known], y[known], (lost,)


def in_sentences(remarks: Sequence[str]) -> list[str]:
    """Remarks as notes for people."""
    return [f"{text[0].upper()}{text[1:]}." for text in remarks]


def plain_rows(X: pd.DataFrame, texts: Collection[str] = ()) -> Plain:
    """A frame of float and text columns, and remarks about what was read as missing."""
    _places(X)
    return plain(X, texts)


def known_columns(X: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The columns that were learnt from, in their order; others are left out."""
    there = _places(X)
    wanted = list(names)
    if missing := [name for name in wanted if name not in there]:
        extra = [name for name in there if name not in set(wanted)]
        besides = f"; new are {listed(extra, 'column', 10)}" if extra else ""
        raise InputError(
            f"The features lack {listed(missing, 'column', 10)}, which the regressor learnt "
            f"from{besides}. Give the columns of the training items, by their names, in any order."
        )
    return X.iloc[:, [there[name] for name in wanted]]


def _places(X: pd.DataFrame) -> dict[str, int]:
    """Where each column stands; names must differ."""
    names = [str(name) for name in X.columns]
    places = {name: k for k, name in enumerate(names)}
    if len(places) < len(names):
        twice = next(name for k, name in enumerate(names) if places[name] != k)
        raise InputError(f"The features have the column '{twice}' more than once. Keep one.")
    return places


def plan_of(rows: Plain) -> Plan:
    """What becomes of the columns; refused where nothing could be learnt from any."""
    plan = plan_columns(rows.frame, rows.frame, rows.dates)
    if not plan.numbers and not plan.categories:
        raise InputError(
            f"The features have no column that says anything: {plan.losses}. "
            "Give columns of numbers or of few categories; turn free text into numbers first."
        )
    return plan


def coder_of(plan: Plan | None) -> Any:
    """An unfitted transformer into numbers without gaps; without a plan, for an array."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if plan is not None:
        return column_transformer(plan)
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )


def checked_kinds(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The plain frame, if its columns are still of the kind that was learnt."""
    changed: dict[str, Any] = {}
    for name in plan.used:
        wanted = name in plan.numbers
        if (frame[name].dtype == np.float64) == wanted:
            continue
        if frame[name].isna().all():  # nothing says of which kind an empty column is
            changed[name] = np.full(len(frame), np.nan, dtype=float if wanted else object)
            continue
        kinds = ("numbers", "text") if wanted else ("text", "numbers")
        raise InputError(
            f"Column '{name}' held {kinds[0]} when the regressor was fitted, but holds {kinds[1]} "
            "now. Give it in the same form."
        )
    return frame.assign(**changed) if changed else frame


def owners_of(coder: Any, plan: Plan) -> list[str]:
    """For each column that a fitted coder makes, the column of the frame that it comes from."""
    if not plan.categories:
        return list(plan.numbers)
    encoder = coder.named_transformers_["categories"][-1]
    # Named by their place, made columns tell where they come from: "2_red" is of the third.
    made = encoder.get_feature_names_out([str(k) for k in range(len(plan.categories))])
    places = [int(name.partition("_")[0]) for name in made]
    return [*plan.numbers, *(plan.categories[k] for k in places)]

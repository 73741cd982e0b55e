"""Data sets and what is known of them, joined by name in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from itemwise.errors import InputError
from itemwise.words import listed

if TYPE_CHECKING:
    import pandas as pd

# A row a data set; or for each, what itemwise.datasets.metadata says of it.
Metadata: TypeAlias = "pd.DataFrame | Mapping[str, Mapping[str, float]]"


def as_numbers(table: Any, what: str) -> pd.DataFrame:
    """A frame of numbers whose index names data sets, each once; other columns are left out."""
    import pandas as pd

    if isinstance(table, Mapping):
        table = pd.DataFrame.from_dict(dict(table), orient="index")
    if not isinstance(table, pd.DataFrame):
        raise InputError(
            f"{what} should be a frame with a row a data set, but it is a {type(table).__name__}."
        )
    frame = table.rename(index=str, columns=str)
    for kind, names in (("row", frame.index), ("column", frame.columns)):
        if names.has_duplicates:
            twice = names[names.duplicated()][0]
            raise InputError(f"{what} has the {kind} {twice!r} more than once. Keep one.")
    numbers = frame.select_dtypes(["number", "bool"]).astype(np.float64)
    return numbers.where(np.isfinite(numbers))


def matched(
    datasets: Any, metadata: Any, fewest: int
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Both tables over the data sets that they share, and a note on those they do not."""
    one, other = as_numbers(datasets, "datasets"), as_numbers(metadata, "metadata")
    names = [name for name in one.index if name in other.index]
    if len(names) < fewest:
        raise InputError(
            f"datasets and metadata share {listed(names, 'data set')}, but at least {fewest} are "
            "needed. The index of both names the data sets; give more of them, named alike."
        )
    lost = sorted(set(one.index).symmetric_difference(other.index))
    notes = (f"Left out, since one table lacks them: {listed(lost, 'data set')}.",) if lost else ()
    return one.loc[names], other.loc[names], notes

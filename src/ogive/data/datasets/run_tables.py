"""Runs of algorithms on problems, one row each, as a table of problems × algorithms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ogive.errors import InputError
from ogive.results.numbers import counted, listed, shown

PROBLEM, ALGORITHM, VALUE = "problem", "algorithm", "value"
_LOWER = re.compile(
    r"err|loss|time|runtime|duration|cost|memory|hours|rmse|mae|mse|mape|mase|brier|deviance|"
    r"perplexity|entropy",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"^neg_", re.IGNORECASE)  # errors with their sign changed, in scikit-learn


def better_of(measure: str) -> str:
    """Return whether "higher" or "lower" values of a measure are better, by its name.

    >>> better_of("val/log_loss"), better_of("balanced_accuracy"), better_of("neg_log_loss")
    ('lower', 'higher', 'higher')
    """
    if _NEGATED.search(measure):
        return "higher"
    return "lower" if _LOWER.search(measure) else "higher"


def table_of(
    rows: pd.DataFrame, measure: str, better: str, notes: Iterable[str] = ()
) -> pd.DataFrame:
    """Return pivot rows of problem, algorithm and value; several runs of a pair become their mean.

    Problems and algorithms are in order of appearance. `attrs` holds `measure`, `better`, `notes`.
    """
    known = rows[np.isfinite(rows[VALUE].to_numpy(dtype=float))]
    said = list(notes)
    if len(known) < len(rows):
        said.append(f"{counted(len(rows) - len(known), 'run')} without a finite value: left out.")
    if not len(known):
        raise InputError(f"No run has a value of {shown(measure)}, so there is no table to make.")
    sizes = known.groupby([PROBLEM, ALGORITHM], sort=False).size()
    if several := int((sizes > 1).sum()):
        said.append(
            f"{counted(several, 'pair')} of problem and algorithm with several runs, "
            f"{int(sizes.max()):,} at most: their mean is used."
        )
    wide = known.pivot_table(index=PROBLEM, columns=ALGORITHM, values=VALUE, aggfunc="mean")
    table: pd.DataFrame = wide.astype(float).reindex(
        index=known[PROBLEM].unique(), columns=known[ALGORITHM].unique()
    )
    if missing := int(table.isna().to_numpy().sum()):
        said.append(f"No run: {missing:,} of {counted(table.size, 'pair')}.")
    table.attrs = {"measure": measure, "better": better, "notes": said}
    return table


def chosen_metric(metric: str | None, there: Sequence[str], what: str) -> str:
    """Return the metric that is asked for, or the only one that there is."""
    if metric is None and len(there) == 1:
        return there[0]
    if metric in there:
        return str(metric)
    if not there:
        raise InputError(f"{what} holds no metric, so there is nothing to compare.")
    wrong = "" if metric is None else f"There is no metric {shown(metric)}. "
    raise InputError(
        f"{wrong}{what} holds {listed([shown(name) for name in there], 'metric', 8)}. Name one: "
        f"metric={shown(there[0])}."
    )

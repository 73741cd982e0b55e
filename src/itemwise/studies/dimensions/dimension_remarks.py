"""What a reader of several dimensions should know besides the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from itemwise.estimation.moved_nodes import MOST_EXACT
from itemwise.estimation.several_dimensions import FittedDimensions
from itemwise.studies.dimensions.item_dimensions import ItemDimensions
from itemwise.words import counted, joined, listed

if TYPE_CHECKING:
    import pandas as pd

ONE = 0.98  # a correlation of dimensions that cannot be distinguished
INEXACT = 0.05  # nats
FEW = 50  # respondents


def remarks(
    found: FittedDimensions, read: ItemDimensions, correlations: pd.DataFrame
) -> Iterator[str]:
    """Notes on how far the figures can be trusted."""
    n_respondents = len(read.codes)
    if not found.fit.converged:
        yield "The fit did not converge: loadings and correlations may be inaccurate."
    if n_respondents < FEW:
        yield (
            f"{counted(n_respondents, 'respondent')} say little about single loadings: they are "
            "drawn to the mean of their dimension, and intervals count that."
        )
    same = correlations[correlations["correlation"].abs() >= ONE]
    pairs = [f"{row.dimension} and {row.other}" for row in same.itertuples(index=False)]
    if pairs:
        yield (
            f"{joined(pairs[:3])} correlate {ONE} or more: these responses show one dimension "
            "there, not two."
        )
    if read.pattern.correlated and len(read.names) > MOST_EXACT:
        yield (
            f"Integrals over {len(read.names)} correlated dimensions use quasi-random nodes; with "
            f"other nodes the log-likelihood differs by {found.fit.integral_error:.2g}."
        )
    elif found.fit.integral_error > INEXACT:
        yield (
            "Integrals are not exact to 0.05 nats: an item is so steep that its curve is a step. "
            f"A finer grid changes the log-likelihood by {found.fit.integral_error:.2g}."
        )
    signs = np.where(read.pattern.free, found.place.loadings, 0.0)
    first = signs[:, 0] if not read.pattern.correlated else signs.min(axis=1)
    backward = [read.items[k] for k in np.flatnonzero(first < 0)]
    if backward:
        yield f"Better respondents answer worse: {listed(backward, 'item')}."

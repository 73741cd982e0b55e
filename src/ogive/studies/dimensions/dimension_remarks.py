"""What a reader of several dimensions should know besides the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ogive.calibration.shown_scale import ALPHA, SAME, SURELY_SAME
from ogive.estimation.moved_nodes import MOST_EXACT
from ogive.estimation.several_dimensions import FittedDimensions
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.studies.dimensions.dimension_frames import correlations_frame
from ogive.studies.dimensions.item_dimensions import ItemDimensions
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95  # of the intervals of correlations
NEAR_ONE = 0.98  # a correlation whose estimate alone suggests one dimension
INEXACT = 0.05  # nats
FEW = 50  # respondents
MOST_PAIRS = 3  # named


def remarks(found: FittedDimensions, read: ItemDimensions, *, converged: bool) -> Iterator[str]:
    """Notes on how far the figures can be trusted; `converged` is of all fits, folds included."""
    n_respondents = len(read.codes)
    if not found.fit.converged:
        yield "The fit did not converge: loadings and correlations may be inaccurate."
    if n_respondents < FEW:
        yield (
            f"{counted(n_respondents, 'respondent')} say little about single loadings: they are "
            "drawn to the mean of their dimension, and intervals count that."
        )
    yield from _on_pairs(correlations_frame(found, read, CONFIDENCE), converged=converged)
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
    yield from _on_backward(found, read)


def _on_pairs(pairs: pd.DataFrame, *, converged: bool) -> Iterator[str]:
    """Which dimensions are surely one, by the rule of task_scales, and which only look like it."""
    size = pairs["correlation"].abs()
    least = np.where(pairs["correlation"] < 0, -pairs["high"], pairs["low"])
    sure = (size >= SAME) & (least >= SURELY_SAME) & converged
    if sure.any():
        both = "both" if sure.sum() == 1 else "each pair"
        yield f"{_named(pairs[sure])}, so one dimension would do for {both}."
    open_pairs = (size >= NEAR_ONE) & ~sure
    if open_pairs.any():
        why = f"the interval would have to lie beyond {SURELY_SAME:.2f}"
        why = why if converged else "not all fits converged"
        yield (
            f"By the estimate, {_named(pairs[open_pairs])}, but that these are one dimension is "
            f"not shown: {why}."
        )


def _named(pairs: pd.DataFrame) -> str:
    """The first pairs, with their correlations and intervals."""
    told = [
        f"{row.dimension} and {row.other} correlate {row.correlation:.2f} "
        f"({row.low:.2f} to {row.high:.2f})"
        for row in pairs.head(MOST_PAIRS).itertuples(index=False)
    ]
    left = len(pairs) - len(told)
    return "; ".join([*told, *([f"likewise {counted(left, 'other pair')}"] if left else [])])


def _on_backward(found: FittedDimensions, read: ItemDimensions) -> Iterator[str]:
    """Items on which better respondents answer worse, by the rule of item_health; and who may be.

    Of a bifactor structure, it is the general ability that counts.
    """
    from scipy.special import ndtr

    counts = read.pattern.free.copy()
    if not read.pattern.correlated:
        counts[:, 1:] = False
    slope, se = found.place.loadings[counts], found.errors().loadings[counts]
    known = (se > 0) & found.fit.converged
    z = np.divide(slope, se, out=np.full(slope.shape, np.nan), where=known)
    item, sure = np.nonzero(counts)[0], benjamini_hochberg(ndtr(z)) < ALPHA
    surely = dict.fromkeys(read.items[k] for k in item[sure])
    maybe = dict.fromkeys(read.items[k] for k in item[slope < 0] if read.items[k] not in surely)
    if surely:
        yield f"Better respondents answer worse: {listed(list(surely), 'item')}."
    if maybe:
        why = "not significantly" if surely else "none significantly"
        why = why if found.fit.converged else "but the fit did not converge"
        yield f"Loadings estimated below zero, {why}: {listed(list(maybe), 'item')}."

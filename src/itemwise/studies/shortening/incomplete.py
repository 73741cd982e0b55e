"""Intervals of respondents who were asked a part of the short form only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses
from itemwise.studies.shortening.folds import Margin, known_of, margin
from itemwise.studies.shortening.predictors import PREDICTORS

if TYPE_CHECKING:
    from itemwise.studies.shortening.short_benchmark import ShortBenchmark

MOST = 400  # respondents that are masked; more tell little more


def reach_of(short: ShortBenchmark, observed: NDArray[np.bool_], unsure: Floats) -> Floats:
    """Half the width of each interval, (n_respondents,).

    Where items of the form were not asked, the error is that of the respondents held out, plus
    what it does to their predictions to mask them alike. Those asked equally many items count as
    alike: the respondents that are masked take their patterns in turn.
    """
    reach = short.margin.reach(unsure)
    counts = observed.sum(axis=1)
    for count in np.unique(counts[counts < len(short.items)]):
        rows = np.flatnonzero(counts == count)
        found = _masked_margin(short, observed[rows])
        reach[rows] = np.maximum(reach[rows], found.reach(unsure[rows]))
    return reach


def _masked_margin(short: ShortBenchmark, patterns: NDArray[np.bool_]) -> Margin:
    """The margin of respondents held out who are seen where others were asked."""
    n = len(short.form)
    chosen = np.linspace(0, n - 1, min(n, MOST)).round().astype(int)
    form = short.form[chosen]
    masked = np.where(patterns[np.arange(len(chosen)) % len(patterns)], form, np.nan)
    left = ~np.isnan(masked).all(axis=1)
    if not left.any():
        return Margin(np.inf, short.margin.floor)
    whole, _ = _predicted(short, form[left])
    part, unsure = _predicted(short, masked[left])
    held_out = (short.predicted - short.accuracy)[chosen][left]
    return margin(held_out + part - whole, unsure, short.confidence)


def _predicted(short: ShortBenchmark, form: Floats) -> tuple[Floats, Floats]:
    """What the short form says of these responses, and the error of the completed score."""
    names = [f"respondent {k}" for k in range(len(form))]
    kind = short.calibration.model.kind
    table = Responses(form, respondents=names, items=short.items).of_kind(kind)
    known, unsure = known_of(short.calibration, table, short.weights)
    return PREDICTORS[short.predictor].predict(short.numbers, known), unsure

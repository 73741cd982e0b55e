"""What responses to some items say about the accuracy on all of them, and how surely.

A bank completes the score by its model, which knows nothing beyond the respondents it was
calibrated on. Respondents that may be stronger than all of them are therefore expected between
that and where the curves of the items, extended beyond the range, say that they stand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ogive.calibration import Calibration
from ogive.calibration.replayed_error import RealError
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import normal_reach
from ogive.numerics.score_range import ScoreRange
from ogive.responses import Responses
from ogive.responses.study_tables import Ints
from ogive.shortening.choosers import item_shares
from ogive.shortening.folds import full_scores
from ogive.shortening.forecasts import bounds, full_cells, range_of


class Forecasts(NamedTuple):
    """Accuracy on all items, (n_respondents,) each."""

    accuracy: Floats
    se: Floats  # by the model
    bottom: Floats  # how low and high a respondent may stand beyond the range; NaN if it need not
    top: Floats  # be feared


def seen_range(bank: Calibration, table: Responses) -> ScoreRange:
    """The accuracies of the respondents in a table, and the curves of all items of a bank."""
    whole = table.select(items=list(bank.item_names))
    found = range_of(bank, whole, full_cells(bank, whole), full_scores(bank, whole))
    return ScoreRange.from_numbers(found.thinned())  # as a file holds it


def range_known(bank: Calibration, error: RealError | None) -> ScoreRange | None:
    """The accuracies that a bank was calibrated on, as far as it knows them."""
    if error is not None and error.within is not None:
        return error.range_of(bank.item_names)
    return None if bank.responses is None else seen_range(bank, bank.responses)


def forecast(
    bank: Calibration, within: ScoreRange | None, known: Responses, confidence: float
) -> Forecasts:
    """Accuracy of respondents on all items of a bank; `within` has the curves of those in `known`.

    Missing responses are items that were not asked.
    """
    found = bank.completed_scores(known)
    score, se = found["score"].to_numpy(), found["score_se"].to_numpy()
    if within is None:
        none = np.full(score.size, np.nan)
        return Forecasts(score, se, none, none)
    shares = item_shares(bank.of_items(known.items), known.values)
    placed = within.place(shares, confidence).scaled(*bounds(bank))
    return Forecasts(placed.raised(score), se, placed.bottom, placed.top)


def reached(
    error: RealError | None, asked: Ints, told: Forecasts, confidence: float
) -> tuple[Floats, Floats]:
    """How far intervals reach down and up: as errors in the replay say, and beyond the range.

    `asked` (n_respondents,) are numbers of items. Without a replay, the model's errors are used.
    """
    down = up = normal_reach(confidence) * told.se
    if error is not None:
        rows = zip(asked.tolist(), told.accuracy.tolist(), told.se.tolist(), strict=True)
        down, up = np.array([error.reaches(*row, confidence) for row in rows]).T
    return np.fmax(down, told.accuracy - told.bottom), np.fmax(up, told.top - told.accuracy)

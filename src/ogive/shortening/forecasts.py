"""What a short form predicts for respondents, and how wide intervals must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ogive.calibration import Calibration
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import conformal_quantile
from ogive.numerics.score_range import GRID, Placed, ScoreRange
from ogive.responses import Responses
from ogive.shortening.choosers import item_shares
from ogive.shortening.predictors import Known

FARTHEST, ABILITIES = 8.0, 401  # standard deviations from the mean, and points between

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predicted scores of respondents, with what their intervals need."""

    value: Floats  # (n_respondents,)
    unsure: Floats  # standard error of the score completed by the measurement model
    placed: Placed  # relative to the scores learned from

    def rows(self, rows: Rows | NDArray[np.bool_]) -> Forecast:
        """Return some of the respondents."""
        return Forecast(self.value[rows], self.unsure[rows], self.placed.rows(rows))

    @classmethod
    def joined(cls, parts: Sequence[tuple[Rows, Forecast]]) -> Forecast:
        """Put parts in the order of their rows."""
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        whole = [part for _, part in parts]
        found = cls(
            np.concatenate([part.value for part in whole]),
            np.concatenate([part.unsure for part in whole]),
            Placed.joined([part.placed for part in whole]),
        )
        return found.rows(order)


@dataclass(frozen=True, eq=False)
class Margin:
    """How far intervals reach.

    Inside the range learned from, `factor` times (standard error of the completed score + `floor`).
    If a respondent may lie beyond it, as far as its responses allow, plus the chance of that times
    `above` or `below`: what intervals lacked where the strongest or the weakest were held out.
    """

    factor: float  # infinite if there are too few respondents
    floor: float
    above: float = 0.0
    below: float = 0.0

    def reach(self, told: Forecast) -> tuple[Floats, Floats]:
        """How far each interval reaches down and up, (n_respondents,) each."""
        inside, placed = self.factor * (told.unsure + self.floor), told.placed
        down, up = _beyond(told)
        return (
            np.maximum(inside, down) + self.below * placed.maybe_below,
            np.maximum(inside, up) + self.above * placed.maybe_above,
        )

    def widened(
        self, strong: tuple[Forecast, Floats], weak: tuple[Forecast, Floats], confidence: float
    ) -> Margin:
        """Add what the intervals lack for the strongest and the weakest, whose scores are known."""
        lacks = []
        for told, score in (strong, weak):
            down, up = self.reach(told)
            off = score - told.value
            lack = np.maximum(np.maximum(off - up, -off - down), 0.0)
            lacks.append(float(np.quantile(lack, confidence)) if lack.size else 0.0)
        return replace(self, above=lacks[0], below=lacks[1])


def _beyond(told: Forecast) -> tuple[Floats, Floats]:
    """How far down and up a respondent may lie beyond the range; 0 if it need not be feared."""
    placed = told.placed
    down, up = told.value - placed.bottom, placed.top - told.value
    return np.nan_to_num(np.fmax(down, 0.0)), np.nan_to_num(np.fmax(up, 0.0))


def margin(told: Forecast, score: Floats, confidence: float) -> Margin:
    """Intervals that cover the true score for the share `confidence` of respondents like these.

    Errors are in units of the standard error of the completed score plus its mean; the standard
    error alone is too small for a respondent that solves everything or nothing.
    """
    floor = max(float(told.unsure.mean()), 1e-12)
    off, (down, up) = score - told.value, _beyond(told)
    missed = np.where((off <= up) & (-off <= down), 0.0, np.abs(off) / (told.unsure + floor))
    return Margin(conformal_quantile(missed, confidence), floor)


def full_cells(bank: Calibration, table: Responses) -> Floats:
    """Responses as numbers; missing ones as the ability predicts."""
    values = table.values
    if table.complete:
        return values
    part = bank if bank.item_names == table.items else bank.of_items(table.items)
    ability = bank.score(table, items_known=True)["ability"].to_numpy()
    return np.where(np.isnan(values), part.model.expected(part.coords, ability).T, values)


def known_of(bank: Calibration, short: Responses, weights: Floats) -> tuple[Known, Floats]:
    """What a short form says about respondents, and the standard error of the completed score."""
    scored = bank.completed_scores(short, items_known=True)
    known = Known(full_cells(bank, short), scored["score"].to_numpy(), weights)
    return known, scored["score_se"].to_numpy()


def bounds(bank: Calibration) -> tuple[float, float]:
    """The worst and the best mean response over all items."""
    n = len(bank.item_names)
    low, high = (float(np.broadcast_to(end, n).mean()) for end in bank.model.extent())
    return low, high


def range_of(bank: Calibration, short: Responses, cells: Floats, score: Floats) -> ScoreRange:
    """The range of scores that a short form is learned from; `cells` are its full responses."""
    low, high = bounds(bank)
    part = bank.of_items(short.items)
    share = (score - low) / (high - low)
    shares = item_shares(part, cells)
    return ScoreRange.learned(shares, share, _modelled(bank, short.items), len(bank.item_names))


def _modelled(bank: Calibration, items: Sequence[str]) -> Floats:
    """Expected shares of some items, where all items are expected to give the shares of `GRID`."""
    abilities = np.linspace(*bank.population.reach(FARTHEST), ABILITIES)
    low, high = bounds(bank)
    whole = (bank.model.expected(bank.coords, abilities).mean(axis=0) - low) / (high - low)
    rising = np.maximum.accumulate(whole) + 1e-9 * np.arange(ABILITIES)
    at = np.interp(GRID, rising, abilities)
    part = bank.of_items(items)
    return item_shares(part, part.model.expected(part.coords, at).T)


def placed_in(within: ScoreRange, bank: Calibration, short: Responses, confidence: float) -> Placed:
    """Where respondents to a short form stand relative to the range, in units of the score."""
    low, high = bounds(bank)
    shares = item_shares(bank.of_items(short.items), short.values)
    return within.place(shares, confidence).scaled(low, high)

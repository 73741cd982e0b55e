"""Share of problems at which each algorithm has the best curve, with its interval.

The interval is for problems like these, of which these are a sample. It holds two others: that of
splines fitted to resampled problems, and that of the curves of the fitted model, whose parameters
and problems vary. The first alone does not know that a spline is smoother than the truth, by
which it may lead where all are nearly equal; the second alone believes the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive.arguments import checked_share, whole_number
from ogive.numerics.arrays import Floats
from ogive.numerics.splines import Splines, fit_splines
from ogive.studies.algorithms.modelled_curves import ModelledCurves
from ogive.studies.algorithms.strong_places import share_within

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
DRAWS = 200
MOST_RESAMPLED = 2_000  # problems; of more, resamples are as large, and their spread is scaled


class Drawn(NamedTuple):
    """Curves as they may be, each with problems like these."""

    resampled: list[tuple[Splines, Floats]]  # and the difficulties of the resampled problems
    modelled: Floats | None  # (n_draws, n_places, n_algorithms)
    weights: Floats  # (n_draws, n_places): share of the problems at each place


@dataclass(frozen=True, eq=False)
class FittedCurves:
    """The curves of a portfolio, and what they were fitted to."""

    cells: Floats  # (n_problems, n_algorithms), higher is better; NaN: no run
    difficulty: Floats  # (n_problems,)
    splines: Splines
    fit: Callable[[Floats, Floats], Splines] = fit_splines  # of difficulties and values
    modelled: ModelledCurves | None = None  # None: there is no continuous model
    kept: dict[int, Drawn] = field(default_factory=dict, repr=False)  # by seed

    def shares(self, epsilon: float) -> Floats:
        """Share of the problems at which each algorithm is within `epsilon` of the best curve."""
        return share_within(self.splines.at(self.difficulty), epsilon, self.splines.bounds)

    def interval(
        self, epsilon: float, confidence: float = CONFIDENCE, random_state: int = 0
    ) -> tuple[Floats, Floats]:
        """Lower and upper end of the interval of each share, (n_algorithms,) each."""
        share, bounds = self.shares(epsilon), self.splines.bounds
        drawn = self._drawn(random_state)
        found = np.array([share_within(s.at(x), epsilon, bounds) for s, x in drawn.resampled])
        # Missing runs are filled in, and large tables resampled in part: both change the spread.
        runs = (~np.isnan(self.cells)).sum(axis=0)
        size = len(drawn.resampled[0][1])
        found = share + (found - share) * np.sqrt(size / np.maximum(runs, 1))
        found = found.clip(0.0, 1.0)
        low, high = _quantiles(np.where(np.isnan(found), share, found), confidence)
        if drawn.modelled is not None:
            pairs = zip(drawn.modelled, drawn.weights, strict=True)
            told = np.array([share_within(c, epsilon, bounds, w) for c, w in pairs])
            least, most = _quantiles(told, confidence)
            low, high = np.minimum(low, least), np.maximum(high, most)
        return np.minimum(low, share), np.maximum(high, share)

    def _drawn(self, random_state: int) -> Drawn:
        """Curves of this seed, drawn once."""
        if random_state not in self.kept:
            random = np.random.default_rng(random_state)
            resampled = [self._resampled(random) for _ in range(DRAWS)]
            modelled = None if self.modelled is None else self.modelled.drawn(DRAWS, random)
            places = 1 if modelled is None else modelled.shape[1]
            n = len(self.difficulty)
            weights = random.multinomial(n, np.full(places, 1 / places), DRAWS) / n
            self.kept[random_state] = Drawn(resampled, modelled, weights)
        return self.kept[random_state]

    @cached_property
    def _filled(self) -> Floats:
        """The cells, a missing run as that of the algorithm on the problem nearest in difficulty.

        Complete columns are fitted all at once, which is twenty times as fast.
        """
        filled = self.cells.copy()
        for column in np.flatnonzero(np.isnan(filled).any(axis=0) & self.splines.known):
            seen = ~np.isnan(filled[:, column])
            order = np.argsort(self.difficulty[seen], kind="stable")
            places, values = self.difficulty[seen][order], filled[seen, column][order]
            wanted = self.difficulty[~seen]
            after = np.searchsorted(places, wanted).clip(1, len(places) - 1)
            nearer = wanted - places[after - 1] < places[after] - wanted
            filled[~seen, column] = values[after - nearer]
        return filled

    def _resampled(self, random: np.random.Generator) -> tuple[Splines, Floats]:
        """Curves fitted to a resample of the problems, and the difficulties of these."""
        n = len(self.difficulty)
        rows = random.integers(0, n, min(n, MOST_RESAMPLED))
        places = self.difficulty[rows]
        fitted = replace(self.fit(places, self._filled[rows]), bounds=self.splines.bounds)
        return fitted, places


def _quantiles(shares: Floats, confidence: float) -> tuple[Floats, Floats]:
    low, high = np.quantile(shares, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return low, high


def occupancy(
    curves: FittedCurves,
    algorithms: pd.Index,
    epsilon: float,
    *,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
) -> pd.DataFrame:
    """Share of problems at whose difficulty each algorithm is within `epsilon` of the best.

    Where curves are equal, each of them is the best, so that shares may add up to more than 1;
    where all are as bad as possible, none is.
    """
    import pandas as pd

    confidence = checked_share(confidence, "confidence", CONFIDENCE)
    random_state = whole_number(random_state, "random_state", 0)
    low, high = curves.interval(epsilon, confidence, random_state)
    columns = {
        "occupancy": curves.shares(epsilon),
        "occupancy_low": low,
        "occupancy_high": high,
    }
    return pd.DataFrame(columns, index=algorithms)

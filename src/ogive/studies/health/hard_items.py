"""Right responses to hard items, compared with how many are expected.

Right responses to items that are hard for a respondent are counted. Its ability was estimated from
the same responses, so the effect of that estimate is removed (as Snijders, 2001, does for person
fit), and the skewness of the count is allowed for.

Chances are corrected by how often cells of such a chance were in fact right, so that guessing
beyond what the model includes raises no alarm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ogive.numerics.arrays import Floats, row_blocks
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.studies.health.known_chances import Judged
from ogive.studies.health.scattered_deviates import among_others

ALPHA = 0.05  # share of false discoveries among the hints
HARD = 0.3  # chance below which an item is hard for a respondent
LEAST_HARD = 5  # hard items needed for a test
BINS, LEAST_CELLS = 20, 200  # for the correction of chances
FINE = 400
NUDGE = 1e-4
LEAST_SKEW = 1e-3  # less is ignored
LEAST = 1e-3  # smallest chance of a response
CELLS = 1 << 21


def judged_by_hard_items(parts: list[Judged], n_respondents: int) -> dict[str, Any]:
    """Columns of all respondents: right on hard items, how many are expected, and the test."""
    from scipy.special import ndtr

    sums = np.full((6, n_respondents), np.nan)
    for part in parts:
        sums[:, part.rows] = _sums(part)
    n, right, mean, excess, variance, third = sums
    enough = (n >= LEAST_HARD) & (variance > 0)
    deviation = np.sqrt(np.where(enough, variance, np.nan))
    found = among_others(as_normal(excess / deviation, third / deviation**3))
    p = ndtr(-found.z)
    p_adjusted = benjamini_hochberg(p)
    return {
        "hard": _whole(n),
        "right_on_hard": _whole(right),
        "expected_on_hard": mean + found.middle * deviation,
        "expected_on_hard_se": found.scatter * deviation,
        "excess_z": found.z,
        "excess_p": p,
        "excess_p_adjusted": p_adjusted,
        "hint": p_adjusted < ALPHA,
    }


def _whole(counts: Floats) -> np.ndarray:
    """Counts as whole numbers if they are; shares of repeated answers are not."""
    whole = np.isfinite(counts).all() and (counts == np.floor(counts)).all()
    return counts.astype(int) if whole else counts


def _sums(part: Judged) -> Floats:
    corrected = _Corrected(part)
    size = max(16, CELLS // len(part.items))
    blocks = row_blocks(len(part.rows), size)
    return np.concatenate([corrected.sums(rows) for rows in blocks], axis=1)


def as_normal(z: Floats, skew: Floats) -> Floats:
    """Normal deviates of a skewed sum, by a gamma distribution with its skewness."""
    from scipy.special import gammainc, gammaincc, ndtri

    found = z.copy()
    rows = np.isfinite(z) & (np.abs(skew) > LEAST_SKEW)
    shape = 4 / skew[rows] ** 2
    right = skew[rows] > 0
    at = np.maximum(shape + np.where(right, z[rows], -z[rows]) * np.sqrt(shape), 0.0)
    above = np.where(right, gammaincc(shape, at), gammainc(shape, at))
    found[rows] = -ndtri(np.clip(above, 1e-300, 1 - 1e-16))
    return found


class _Corrected:
    """Chances of cells, corrected by how often cells of such a chance were right."""

    def __init__(self, part: Judged) -> None:
        self._part = part
        self._at, self._shift = self._curve()

    def sums(self, rows: slice) -> Floats:
        """The sums that make up the statistic of each respondent, (6, n_rows)."""
        shares, worth = self._part.shares[rows], self._part.worth[rows]
        asked = worth > 0
        raw, rise = self._part.chances.at(rows)
        chance = self._corrected(raw)
        above, below = (self._corrected(raw + way * NUDGE * rise) for way in (1, -1))
        rise = (above - below) / (2 * NUDGE)
        spread = chance * (1 - chance)
        noise = np.divide(spread, worth, out=np.zeros_like(spread), where=asked)
        hard = (asked & (chance < HARD)).astype(float)
        tells = worth * rise / np.maximum(spread, 1e-9)
        # Remove the part of the count that the estimate of ability has already used.
        information = (tells * rise).sum(axis=1)
        used = (hard * rise).sum(axis=1) / np.where(information > 0, information, np.inf)
        weight = hard - used[:, None] * tells
        away = np.where(asked, shares - chance, 0.0)
        skew = np.divide(noise * (1 - 2 * chance), worth, out=np.zeros_like(noise), where=asked)
        return np.stack(
            [
                hard.sum(axis=1),
                (hard * np.where(asked, shares, 0.0)).sum(axis=1),
                (hard * chance).sum(axis=1),
                (weight * away).sum(axis=1),
                (weight**2 * noise).sum(axis=1),
                (weight**3 * skew).sum(axis=1),
            ]
        )

    def _corrected(self, raw: Floats) -> Floats:
        return np.clip(raw + np.interp(raw, self._at, self._shift), LEAST, 1 - LEAST)

    def _curve(self) -> tuple[Floats, Floats]:
        """How much more often cells were right than predicted, by their chance."""
        n, right, chance = np.zeros((3, FINE))
        part = self._part
        for rows in row_blocks(len(part.rows), max(16, CELLS // len(part.items))):
            asked = part.worth[rows] > 0
            raw = part.chances.at(rows)[0][asked]
            places = np.minimum((raw * FINE).astype(int), FINE - 1)
            n += np.bincount(places, minlength=FINE)
            right += np.bincount(places, part.shares[rows][asked], minlength=FINE)
            chance += np.bincount(places, raw, minlength=FINE)
        # Neighbouring bins are merged until each holds enough cells.
        bins = (np.cumsum(n) - n) // max(LEAST_CELLS, n.sum() / BINS)
        _, place = np.unique(bins[n > 0], return_inverse=True)
        pooled = [np.bincount(place, each[n > 0]) for each in (n, right, chance)]
        return pooled[2] / pooled[0], (pooled[1] - pooled[2]) / pooled[0]

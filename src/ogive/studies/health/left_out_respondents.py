"""How likely each respondent is right on each item, by what all others answered.

With few respondents, the parameters of an item follow single answers: a curve that was fitted to
eight answers, one of them the respondent's own, is far too sure of all eight. So here items are a
sample from a population of curves, which is estimated with the abilities (empirical Bayes). What an
item is to one respondent is then the mean of all curves, each weighted by how well it explains the
answers of the others. Such chances are right on average, however few the others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ogive.numerics.arrays import Floats, row_blocks, workers

# The curves: slopes per standard deviation of ability, difficulties and guessing.
SLOPES = np.array([0.35, 0.6, 1.0, 1.6, 2.5, 4.0])
DIFFICULTIES = np.linspace(-5.0, 5.0, 21)
GUESSING = np.array([0.0, 0.2])
SLOPE_SD, DIFFICULTY_SD = 0.7, 2.5  # of the curves before any answer, in logarithms of slopes
CURVES_BEFORE = 1.0  # items' worth of curves that are known before
RAREST = 1e-4  # chance of an answer, whatever the curve
TURNS = 60
LONGEST = 0.5  # change of an ability in one turn
NUDGE = 1e-3
CELLS = 1 << 18


@dataclass(frozen=True, eq=False)
class Chances:
    """Of each respondent on each item: the chance to be right, and its rise with ability."""

    chance: Floats  # (n_respondents, n_items), as the other
    rise: Floats

    def at(self, rows: slice) -> tuple[Floats, Floats]:
        """Both for some respondents."""
        return self.chance[rows], self.rise[rows]


def chances_by_others(shares: Floats, worth: Floats) -> Chances:
    """Chances at the ability of each respondent, by the answers that all others gave.

    `shares` of right answers are respondents × items; `worth` says how many independent answers
    each is, 0 where the item was never asked.
    """
    right = worth * np.where(worth > 0, shares, 0.0)
    wrong = worth - right
    with workers() as run:
        ability, log_weights = _fitted(right, wrong)

        def of_items(items: slice) -> Floats:
            return _without_own(ability, log_weights, right[:, items], wrong[:, items])

        blocks = row_blocks(shares.shape[1], max(16, CELLS // log_weights.size))
        found = np.concatenate(list(run(of_items, blocks)), axis=2)
    return Chances(*found)


@cache
def _grid() -> tuple[Floats, Floats, Floats, Floats]:
    """Slope, difficulty and guessing of each curve, and its weight before any answer."""
    grids = np.meshgrid(SLOPES, DIFFICULTIES, GUESSING, indexing="ij")
    slope, difficulty, guessing = (each.ravel() for each in grids)
    apart = (np.log(slope) / SLOPE_SD) ** 2 + (difficulty / DIFFICULTY_SD) ** 2
    before = np.exp(-0.5 * apart)
    return slope, difficulty, guessing, before / before.sum()


def _curves(ability: Floats) -> Floats:
    """Chance of a right answer on each curve, (n_curves, n_abilities)."""
    slope, difficulty, guessing, _ = (each[:, None] for each in _grid())
    with np.errstate(over="ignore"):
        chance = guessing + (1 - guessing) / (1 + np.exp(-slope * (ability - difficulty)))
    found: Floats = np.clip(chance, RAREST, 1 - RAREST)
    return found


def _fitted(right: Floats, wrong: Floats) -> tuple[Floats, Floats]:
    """Abilities with mean 0 and standard deviation 1, and the logarithm of each curve's weight."""
    before = _grid()[3]
    sums = np.log((right.sum(axis=1) + 0.5) / (wrong.sum(axis=1) + 0.5))
    ability, weights = _standardised(sums), before
    for _ in range(TURNS):
        post = _posterior(ability, np.log(weights), right, wrong)
        weights = (post.sum(axis=0) + CURVES_BEFORE * before) / (len(post) + CURVES_BEFORE)
        ability = _standardised(ability + _steps(ability, right @ post, wrong @ post))
    return ability, np.log(weights)


def _standardised(ability: Floats) -> Floats:
    spread = float(ability.std())
    found: Floats = (ability - ability.mean()) / (spread if spread > 0 else 1.0)
    return found


def _posterior(ability: Floats, log_weights: Floats, right: Floats, wrong: Floats) -> Floats:
    """How likely each item follows each curve, (n_items, n_curves)."""
    return _shares(_log_likelihood(ability, right, wrong) + log_weights)


def _log_likelihood(ability: Floats, right: Floats, wrong: Floats) -> Floats:
    chance = _curves(ability).T
    found: Floats = right.T @ np.log(chance) + wrong.T @ np.log1p(-chance)
    return found


def _shares(logs: Floats) -> Floats:
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares


def _steps(ability: Floats, right: Floats, wrong: Floats) -> Floats:
    """Newton's step of each ability; `right` and `wrong` are counts by curve."""

    def fit(at: Floats) -> Floats:
        chance = _curves(at).T
        total: Floats = (right * np.log(chance) + wrong * np.log1p(-chance)).sum(axis=1)
        return total

    here, above, below = fit(ability), fit(ability + NUDGE), fit(ability - NUDGE)
    slope, bend = (above - below) / (2 * NUDGE), (above - 2 * here + below) / NUDGE**2
    newton = np.divide(slope, -bend, out=LONGEST * np.sign(slope), where=bend < 0)
    steps: Floats = np.clip(newton, -LONGEST, LONGEST)
    return steps


def _without_own(ability: Floats, log_weights: Floats, right: Floats, wrong: Floats) -> Floats:
    """Chance and rise of each respondent on each item, (2, n_respondents, n_items)."""
    together = _log_likelihood(ability, right, wrong) + log_weights
    found = np.empty((2, *right.shape))
    for row, at in enumerate(ability):
        own = _log_likelihood(np.array([at]), right[[row]], wrong[[row]])
        by_others = _shares(together - own)
        here, above, below = (by_others @ _curves(np.array([at, at + NUDGE, at - NUDGE]))).T
        found[:, row] = here, (above - below) / (2 * NUDGE)
    return found

"""Residuals of responses, what is expected of a response, and the base class of checks.

A response x has the expected value E and the variance V at the ability of its respondent:
    E = Σ k P(k) and V = Σ (k - E)² P(k) over categories k; for scores, E and V of the model.
    outfit = mean of (x - E)² / V;  infit = Σ (x - E)² / Σ V       (Wright and Masters, 1982)
    zh = Σ (log P(x) - E log P) / √ Σ var log P        (Drasgow, Levine and Williams, 1985)
Mean squares become normal deviates by the cube root of Wilson and Hilferty (1931).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.encoded_responses import effective_tries
from ogive.irt.item_curves import CONSTANT, SOLVED_BY_ALL, SOLVED_BY_NONE
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.irt.quadrature import Nodes, Population, plan_nodes
from ogive.irt.repeated_responses import tries_or_one
from ogive.irt.response_codes import as_floats
from ogive.results.base import Part, Result
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats, row_blocks, workers
from ogive.stats.linked_parts import linked_parts

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

CELLS_AT_A_TIME = 1 << 18
N_TERMS = 8  # sums over responses that `MeanSquares` holds
# The least variance of a category. Outfit divides by the variance, so that one surprise among
# responses that are all but certain would otherwise outweigh all the others.
LEAST_VARIANCE = sqrt(1e-5)
NORMAL_KURTOSIS = 3.0  # kurtosis that is assumed if a model does not give its fourth moment
LOWEST_LOG = -700.0  # the lowest log-probability; the square of a lower one could overflow
LEAST_DIFFERING = 5  # scores unlike the most frequent one that an item needs to show a spread
LARGEST_ERROR = 1.0  # standard error of a mean square above which single responses decide it
LEAST_SPREAD = 1e-12  # variance of a log-likelihood below which nothing could surprise


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Result):
    """Result of one check of a calibration."""

    page_part: ClassVar[Part] = "check"
    display: ClassVar[str]  # name of the display that draws the frame

    def plot(self, **kw: Any) -> Display:
        """Draw the frame of the check; `kw` goes to `Display.plot`."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS[self.display](self.to_frame()).plot(**kw)

    def _columns(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}


def checked_calibration(calibration: object, owner: str) -> None:
    """Raise InputError unless `calibration` is a calibration."""
    if not isinstance(calibration, Calibration):
        raise InputError(
            f"{owner} needs a calibration, got {type(calibration).__name__}. "
            f"Calibrate the responses first: {owner}(ogive.calibrate(responses))."
        )


def own_or_given(
    calibration: Calibration, responses: Table | None, owner: str
) -> tuple[Responses, Floats]:
    """Return the responses given, or the calibration's own, and the weight of each row."""
    checked_calibration(calibration, owner)
    if responses is not None and responses is not calibration.responses:
        given = as_responses(responses, calibration.model.kind)
        return given, np.ones(given.n_respondents)
    own = calibration.responses
    if own is None:
        raise InputError(
            f"{owner} needs responses, and a calibration loaded from a file has none. "
            f"Pass them: {owner}(calibration, responses)."
        )
    weights = calibration.weights
    return own, np.ones(own.n_respondents) if weights is None else weights


def population_nodes(
    model: MeasurementModel, coords: Floats, population: Population
) -> tuple[Nodes, Floats]:
    """Return quadrature nodes for some items, and the population's mass at each fine node."""
    nodes = plan_nodes(model, coords, population)
    weights = np.exp(nodes.log_weights - nodes.log_weights.max())
    return nodes, weights / weights.sum()


def _flagged(calibration: Calibration, flag: str) -> NDArray[np.bool_]:
    return np.array([flag in flags for flags in calibration.flags], dtype=bool)


def alike(calibration: Calibration) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the items that all solved and those that none solved: their parameters mean little."""
    return _flagged(calibration, SOLVED_BY_ALL), _flagged(calibration, SOLVED_BY_NONE)


def informative(calibration: Calibration) -> NDArray[np.bool_]:
    """Return the items on which respondents differ."""
    solved, unsolved = alike(calibration)
    return ~(solved | unsolved | _flagged(calibration, CONSTANT))


def upright_items(calibration: Calibration) -> NDArray[np.bool_]:
    """Return all items except those with a negative discrimination."""
    slope = calibration.model.parameters(calibration.coords)["discrimination"]
    return (slope >= 0) | ~informative(calibration)


def p_of_negative(calibration: Calibration) -> Floats:
    """Return the one-sided p-value of each item that its discrimination is not below 0.

    NaN if respondents do not differ or the standard error is not known.
    """
    items = calibration.items
    slope, se = (items[name].to_numpy(float) for name in ("discrimination", "discrimination_se"))
    known = informative(calibration) & (se > 0)
    z = np.divide(slope, se, out=np.full(len(slope), np.nan), where=known)
    return np.asarray(ndtr(z))


@dataclass(frozen=True, eq=False)
class ItemResponses:
    """Responses with the abilities of their respondents, and the model that explains them."""

    model: MeasurementModel
    coords: Floats
    cells: np.ndarray  # categories from 0, or scores; -1 or NaN if not asked
    ability: Floats  # (n_rows,)
    weights: Floats  # (n_rows,): number of respondents that each row stands for
    # (n_items,), or one for all: items whose responses differ enough to be judged
    judged: NDArray[np.bool_] = field(default_factory=lambda: np.ones(1, dtype=bool))

    @property
    def blocks(self) -> list[slice]:
        """Rows that are processed together, so that memory stays bounded."""
        width = self.coords.shape[0] * max(2, getattr(self.model, "n_categories", 2))
        return row_blocks(len(self.cells), max(1, CELLS_AT_A_TIME // width))

    def by_item(self) -> MeanSquares:
        """Return the fit of each item over the respondents who were asked it."""

        def weighted_sums(rows: slice) -> Floats:
            return np.asarray(np.einsum("tri,r->ti", self._terms(rows), self.weights[rows]))

        return MeanSquares.of(np.sum(self._map_blocks(weighted_sums), axis=0))

    def by_respondent(self) -> MeanSquares:
        """Return the fit of each respondent over the items it was asked."""
        sums = self._map_blocks(lambda rows: self._terms(rows).sum(2))
        return MeanSquares.of(np.concatenate(sums, axis=1))

    def _map_blocks(self, work: Callable[[slice], Floats]) -> list[Floats]:
        with workers() as run:
            return list(run(work, self.blocks))

    def _terms(self, rows: slice) -> Floats:
        """Return the terms of the sums of `MeanSquares`, (8, n_rows, n_items); 0 if not asked."""
        cells, ability = self.cells[rows], self.ability[rows]
        asked = observed(cells) & self.judged
        categorical = isinstance(self.model, Categorical)
        moments = moments_of_categories if categorical else moments_of_scores
        squared, variance, fourth, surprise, spread = moments(
            self.model, self.coords, cells, asked, ability
        )
        terms = np.empty((N_TERMS, *cells.shape))
        terms[0] = 1.0
        terms[1] = squared
        terms[2] = variance
        terms[3] = squared / variance
        terms[4] = fourth / variance**2
        terms[5] = fourth - variance**2
        terms[6] = surprise
        terms[7] = spread
        terms[:, ~asked] = 0.0
        return terms


def observed(cells: np.ndarray) -> np.ndarray:
    """Return True where an item was asked."""
    return np.asarray(~np.isnan(cells) if cells.dtype.kind == "f" else cells >= 0)


Moments = tuple[Floats, Floats, Floats, Floats, Floats]


def moments_of_categories(
    model: Any, coords: Floats, cells: np.ndarray, asked: np.ndarray, ability: Floats
) -> Moments:
    """Return (x - E)², V, Σ (k - E)⁴ P(k), log P(x) - E log P and var log P, (n_rows, n_items)."""
    log_prob = np.moveaxis(model.log_prob(coords, ability), 2, 1)  # categories, rows, items
    log_prob = np.maximum(log_prob, LOWEST_LOG)
    prob = np.exp(log_prob)
    codes = np.where(asked, cells, 0).astype(np.intp)
    mean: Floats = np.tensordot(np.arange(float(len(prob))), prob, 1)
    variance, fourth = np.zeros_like(mean), np.zeros_like(mean)
    for category, p in enumerate(prob):
        squared = (category - mean) ** 2
        variance += p * squared
        fourth += p * squared**2
    expected_log = (prob * log_prob).sum(axis=0)
    spread = (prob * (log_prob - expected_log) ** 2).sum(axis=0)
    own_log = np.take_along_axis(log_prob, codes[None], 0)[0]
    variance = np.maximum(variance, LEAST_VARIANCE)
    return (codes - mean) ** 2, variance, fourth, own_log - expected_log, spread


def moments_of_scores(
    model: MeasurementModel, coords: Floats, cells: np.ndarray, asked: np.ndarray, ability: Floats
) -> Moments:
    """Return the moments of `moments_of_categories` for scores, taken as normal."""
    mean = np.asarray(model.expected(coords, ability)).T
    tiny = np.finfo(float).tiny
    variance = np.maximum(np.asarray(model.variance(coords, ability)).T, tiny)
    squared = (np.where(asked, cells, mean) - mean) ** 2
    surprise = 0.5 * (1 - squared / variance)
    spread = np.full_like(mean, (NORMAL_KURTOSIS - 1) / 4)
    return squared, variance, NORMAL_KURTOSIS * variance**2, surprise, spread


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """Fit of each item or respondent; NaN if nothing was asked."""

    n: Floats  # number of responses that are judged
    infit: Floats  # squared residuals over their variances: 1 if responses vary as expected
    infit_se: Floats  # standard deviation of infit around 1 by chance
    infit_z: Floats  # infit as an approximate standard normal deviate
    outfit: Floats  # mean squared standardised residual: sensitive to single surprises
    outfit_se: Floats
    outfit_z: Floats
    noise_p: Floats  # p-value that responses are no noisier than expected, by infit and outfit
    zh: Floats  # standardised log-likelihood; far below 0 if responses are unlikely

    @classmethod
    def of(cls, sums: Floats) -> MeanSquares:
        """Return the figures from the sums of `ItemResponses._terms`, (8, n)."""
        n, squared, variance, standardised, kurtosis, fourth, surprise, spread = sums
        infit, outfit = ratio(squared, variance), ratio(standardised, n)
        infit_se = _sqrt(ratio(fourth, variance**2))
        outfit_se = _sqrt(ratio(kurtosis, n**2) - ratio(1.0, n))
        infit_z, outfit_z = _wilson_hilferty(infit, infit_se), _wilson_hilferty(outfit, outfit_se)
        # A mean square with a large standard error is decided by single responses: not judged.
        p = noise_p(
            np.where(infit_se <= LARGEST_ERROR, infit_z, np.nan),
            np.where(outfit_se <= LARGEST_ERROR, outfit_z, np.nan),
        )
        zh = ratio(surprise, np.sqrt(np.where(spread > LEAST_SPREAD, spread, 0.0)))
        return cls(n, infit, infit_se, infit_z, outfit, outfit_se, outfit_z, p, zh)


def noise_p(infit_z: Floats, outfit_z: Floats) -> Floats:
    """Return the one-sided p-value of the larger of two deviates, with Bonferroni's factor 2."""
    return np.asarray(np.minimum(2 * ndtr(-np.fmax(infit_z, outfit_z)), 1.0))


def ratio(above: Floats | float, below: Floats) -> Floats:
    """Return above / below; NaN where `below` is not positive."""
    return above / np.where(below > 0, below, np.nan)


def _sqrt(variance: Floats) -> Floats:
    return np.sqrt(np.where(variance > 0, variance, np.nan))


def _wilson_hilferty(mean_square: Floats, sd: Floats) -> Floats:
    return np.asarray((np.cbrt(mean_square) - 1) * (3 / sd) + sd / 3)


def _judged_items(calibration: Calibration, cells: np.ndarray) -> NDArray[np.bool_]:
    """Return the items whose responses differ enough that their fit can be judged.

    No normal distribution describes scores of which there are only two, or of which only a few
    differ from the most frequent one.
    """
    judged = informative(calibration)
    if isinstance(calibration.model, Categorical):
        return judged
    own = calibration.responses
    known = cells if own is None else calibration.placed(own)
    if len(known) < 2 * LEAST_DIFFERING:
        return judged
    for k in np.flatnonzero(judged):
        column = known[:, k]
        scores, counts = np.unique(column[observed(column)], return_counts=True)
        judged[k] = len(scores) > 2 and counts.sum() - counts.max() >= LEAST_DIFFERING
    return judged


def left_out(calibration: Calibration, judged: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return a note on the items whose fit is not judged, if there are any."""
    names = [calibration.item_names[k] for k in np.flatnonzero(~judged)]
    if not names:
        return ()
    reason = "all responses are the same"
    if not isinstance(calibration.model, Categorical):
        reason = (
            f"all scores are the same, there are only two, or fewer than {LEAST_DIFFERING} differ "
            "from the most frequent one"
        )
    return (f"Left out, because {reason}: {listed(names, 'item')}.",)


def item_responses(
    calibration: Calibration,
    responses: Table | None,
    owner: str,
    method: str = "eap",
    *,
    items_known: bool = True,
) -> tuple[ItemResponses, Responses, pd.DataFrame]:
    """Return the responses with their abilities, the table they come from, and its scores.

    `items_known` is False if the standard errors of abilities are shown, which costs time.
    """
    table, weights = own_or_given(calibration, responses, owner)
    scored = calibration.score(table, method, items_known=items_known)
    categorical = isinstance(calibration.model, Categorical)
    cells = calibration.cells(table) if categorical else calibration.placed(table)
    judged, ability = _judged_items(calibration, cells), scored["ability"].to_numpy()
    part = ItemResponses(calibration.model, calibration.coords, cells, ability, weights, judged)
    return part, table, scored


def effective_rows(residual: Floats) -> float:
    """Return how many independent rows would have so large a common direction; 0 if none has.

    Residuals of independent rows have no direction in common: the largest eigenvalue of their
    covariances is the mean one, except for chance.
    """
    wide = residual.shape[0] <= residual.shape[1]
    products = residual @ residual.T if wide else residual.T @ residual
    largest = float(np.linalg.eigvalsh(products)[-1])
    return float(np.trace(products) / largest) if largest > 0 else 0.0


# Probabilities of right answers from the answers of all other respondents.
#
# With few respondents, the curve of an item follows single answers: one that is fitted to eight
# answers, the respondent's own among them, is far too sure of all eight. So items are taken as a
# sample from a population of curves, which is estimated with the abilities (empirical Bayes). For
# each respondent, the curve of an item is then the mean of all curves, weighted by how well each
# explains the answers of the others.

SLOPES = np.array([0.35, 0.6, 1.0, 1.6, 2.5, 4.0])  # per standard deviation of ability
DIFFICULTIES = np.linspace(-5.0, 5.0, 21)
GUESSING = np.array([0.0, 0.2])
SLOPE_SD, DIFFICULTY_SD = 0.7, 2.5  # prior of the curves; the first is of log slopes
PRIOR_ITEMS = 1.0  # weight of the prior of the curves, in items
RAREST = 1e-4  # least probability of an answer on any curve
MAX_ITER = 60
LONGEST_STEP = 0.5  # largest change of an ability in one iteration
STEP = 1e-3  # step of numerical derivatives in ability
CELLS = 1 << 18
MANY = 100  # respondents from which on the parameters of items count as known
BANK_STEP = 1e-4  # step of the numerical derivative of a bank's curves
LEAST_OTHERS = 4  # fewest respondents by whom another one is judged

_slope, _difficulty, _guessing = (
    grid.ravel()[:, None] for grid in np.meshgrid(SLOPES, DIFFICULTIES, GUESSING, indexing="ij")
)
_PRIOR = np.exp(-0.5 * ((np.log(_slope) / SLOPE_SD) ** 2 + (_difficulty / DIFFICULTY_SD) ** 2))
_PRIOR = _PRIOR[:, 0] / _PRIOR[:, 0].sum()

# Probability of a right answer and its derivative in ability, of some rows: (n_rows, n_items) each
SuccessProbabilities = Callable[[slice], tuple[Floats, Floats]]


def probabilities_by_others(shares: Floats, n_effective: Floats) -> Floats:
    """Return probabilities of right answers and their slopes, (2, n_respondents, n_items).

    Each row is taken at the ability of its respondent and without the row's own answers. `shares`
    of right answers are respondents × items; `n_effective` is the number of independent answers
    that each stands for, 0 if the item was not asked.
    """
    right = n_effective * np.where(n_effective > 0, shares, 0.0)
    wrong = n_effective - right
    with workers() as run:
        ability, log_weights = _fit_curve_population(right, wrong)

        def of_items(items: slice) -> Floats:
            return _without_own(ability, log_weights, right[:, items], wrong[:, items])

        blocks = row_blocks(shares.shape[1], max(16, CELLS // log_weights.size))
        return np.concatenate(list(run(of_items, blocks)), axis=2)


def _curves(ability: Floats) -> Floats:
    """Return the probability of a right answer on each curve, (n_curves, n_abilities)."""
    with np.errstate(over="ignore"):
        p = _guessing + (1 - _guessing) / (1 + np.exp(-_slope * (ability - _difficulty)))
    return np.asarray(np.clip(p, RAREST, 1 - RAREST))


def _fit_curve_population(right: Floats, wrong: Floats) -> tuple[Floats, Floats]:
    """Return standardised abilities, and the log-weight of each curve in the population (EM)."""
    log_odds = np.log((right.sum(axis=1) + 0.5) / (wrong.sum(axis=1) + 0.5))
    ability, weights = _standardised(log_odds), _PRIOR
    for _ in range(MAX_ITER):
        posterior = _softmax(_log_likelihood(ability, right, wrong) + np.log(weights))
        weights = posterior.sum(axis=0) + PRIOR_ITEMS * _PRIOR
        weights = weights / (len(posterior) + PRIOR_ITEMS)
        step = _newton_step(ability, right @ posterior, wrong @ posterior)
        ability = _standardised(ability + step)
    return ability, np.log(weights)


def _standardised(ability: Floats) -> Floats:
    sd = float(ability.std())
    return np.asarray((ability - ability.mean()) / (sd if sd > 0 else 1.0))


def _log_likelihood(ability: Floats, right: Floats, wrong: Floats) -> Floats:
    """Return the log-likelihood of each item's answers on each curve, (n_items, n_curves)."""
    p = _curves(ability).T
    return np.asarray(right.T @ np.log(p) + wrong.T @ np.log1p(-p))


def _softmax(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _newton_step(ability: Floats, right: Floats, wrong: Floats) -> Floats:
    """Return Newton's step of each ability; `right` and `wrong` are counts by curve."""

    def log_likelihood(at: Floats) -> Floats:
        p = _curves(at).T
        return np.asarray((right * np.log(p) + wrong * np.log1p(-p)).sum(axis=1))

    here, above, below = map(log_likelihood, (ability, ability + STEP, ability - STEP))
    slope, curvature = (above - below) / (2 * STEP), (above - 2 * here + below) / STEP**2
    ascent = LONGEST_STEP * np.sign(slope)
    newton = np.divide(slope, -curvature, out=ascent, where=curvature < 0)
    return np.clip(newton, -LONGEST_STEP, LONGEST_STEP)


def _without_own(ability: Floats, log_weights: Floats, right: Floats, wrong: Floats) -> Floats:
    """Return probability and slope of each respondent on each item, from all other answers."""
    together = _log_likelihood(ability, right, wrong) + log_weights
    probabilities = np.empty((2, *right.shape))
    for row, at in enumerate(ability):
        own = _log_likelihood(np.array([at]), right[[row]], wrong[[row]])
        by_others = _softmax(together - own)
        here, above, below = (by_others @ _curves(np.array([at, at + STEP, at - STEP]))).T
        probabilities[:, row] = here, (above - below) / (2 * STEP)
    return probabilities


@dataclass(frozen=True, eq=False)
class JudgedPart:
    """Respondents who are judged together: their answers, and how likely these were."""

    rows: np.ndarray  # positions in the table
    items: np.ndarray
    shares: Floats  # shares of right answers, (n_rows, n_items); NaN if not asked
    n_effective: Floats  # number of independent answers, (n_rows, n_items); 0 if not asked
    probabilities: SuccessProbabilities


def items_are_known(calibration: Calibration) -> bool:
    """Return True if the calibration has enough respondents to take its items as known."""
    return calibration.n_respondents >= MANY


def judged_together(
    calibration: Calibration, table: Responses, ability: Floats
) -> Iterator[JudgedPart]:
    """Yield all respondents, judged by the bank; or each linked part, judged by its others.

    One of many respondents hardly moves the parameters of items, so that these count as known.
    """
    shares = as_floats(table.cells)
    tries = tries_or_one(table.tries, table.observed)
    n_effective = effective_tries(tries, calibration.dependence).astype(float)
    if items_are_known(calibration):
        model, coords = calibration.model, calibration.coords

        def of_bank(rows: slice) -> tuple[Floats, Floats]:
            at = ability[rows]
            here, above, below = (
                model.expected(coords, x).T for x in (at, at + BANK_STEP, at - BANK_STEP)
            )
            return here, (above - below) / (2 * BANK_STEP)

        rows, items = np.arange(table.n_respondents), np.arange(table.n_items)
        yield JudgedPart(rows, items, shares, n_effective, of_bank)
        return
    for rows, items in _linked(table):
        if rows.size > LEAST_OTHERS:
            part = np.ix_(rows, items)
            probabilities = probabilities_by_others(shares[part], n_effective[part])
            yield JudgedPart(
                rows, items, shares[part], n_effective[part], partial(_rows_of, probabilities)
            )


def _rows_of(probabilities: Floats, rows: slice) -> tuple[Floats, Floats]:
    return probabilities[0, rows], probabilities[1, rows]


def unjudged_notes(calibration: Calibration, table: Responses) -> list[str]:
    """Return a note on the respondents that are not judged, if there are any."""
    if items_are_known(calibration):
        return []
    few = [rows for rows, _ in _linked(table) if rows.size <= LEAST_OTHERS]
    names = [table.respondents[k] for rows in few for k in rows]
    if not names:
        return []
    note = (
        f"Right answers to hard items are not judged for {listed(names, 'respondent')}: how hard "
        f"the items are must come from at least {LEAST_OTHERS} others who were asked the same "
        f"items, directly or through others. Give at least {LEAST_OTHERS + 1} respondents, or a "
        f"calibration of these items by {counted(MANY, 'respondent')} or more."
    )
    return [note]


def _linked(table: Responses) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return respondents and items of each linked part, without those that have no answer."""
    seen = table.observed
    rows, items = linked_parts(seen)
    answered, asked = seen.any(axis=1), seen.any(axis=0)
    return [
        (np.flatnonzero((rows == part) & answered), np.flatnonzero((items == part) & asked))
        for part in range(int(rows.max()) + 1)
    ]

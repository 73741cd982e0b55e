"""What is expected of a response, infit, outfit.

What diagnoses are made of: a calibration, its responses, and how far they lie from the model.

Infit and outfit: Wright and Masters (1982), with the cube-root standardisation of Wilson and
Hilferty (1931). The standardised log-likelihood: Drasgow, Levine and Williams (1985).

How likely each respondent is right on each item, by what all others answered.

With few respondents, the parameters of an item follow single answers: a curve that was fitted to
eight answers, one of them the respondent's own, is far too sure of all eight. So here items are a
sample from a population of curves, which is estimated with the abilities (empirical Bayes). What an
item is to one respondent is then the mean of all curves, each weighted by how well it explains the
answers of the others. Such chances are right on average, however few the others are.

Chances of right answers for those who can be judged: by a bank, or by all other respondents.

Items that many respondents have answered are known: one respondent hardly moves their parameters.
With fewer, what an item is to a respondent comes from the others alone, part by part where no item
links the respondents, and with a handful of others nobody is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

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
    from numpy.typing import NDArray


CELLS_AT_A_TIME = 1 << 18
TERMS = 8
# Outfit divides by the variance. Where a response is all but certain, one surprise would weigh
# more than all the rest, so that no variance of a category counts for less than this.
LEAST_VARIANCE = sqrt(1e-5)
NORMAL_KURTOSIS = 3.0  # for models whose fourth moment is not known
LOWEST_LOG = -700.0  # of a probability; the square of less could overflow
LEAST_DIFFERING = 5  # scores other than the most frequent; fewer do not show a spread
LARGEST_ERROR = 1.0  # of a mean square; beyond, Wilson and Hilferty's curve leaves its tail
LEAST_SPREAD = 1e-12  # of a log-likelihood; where nothing could surprise, nothing is said


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Result):
    """What a check of a calibration found."""

    page_part: ClassVar[Part] = "check"


def checked_calibration(calibration: object, owner: str) -> None:
    """Refuse what is no calibration, and say how to get one."""
    if not isinstance(calibration, Calibration):
        raise InputError(
            f"{owner} needs a calibration, but was given {type(calibration).__name__}. "
            f"Calibrate the responses first: {owner}(ogive.calibrate(responses))."
        )


def own_or_given(
    calibration: Calibration, responses: Table | None, owner: str
) -> tuple[Responses, Floats]:
    """The responses given, or the calibration's own; how many respondents each row stands for."""
    checked_calibration(calibration, owner)
    if responses is not None and responses is not calibration.responses:
        given = as_responses(responses, calibration.model.kind)
        return given, np.ones(given.n_respondents)
    own = calibration.responses
    if own is None:
        raise InputError(
            "This calibration holds items, not responses: it was loaded from a file. "
            f"Give them, as in {owner}(calibration, responses)."
        )
    weights = calibration.weights
    return own, np.ones(own.n_respondents) if weights is None else weights


def population_nodes(
    model: MeasurementModel, coords: Floats, population: Population
) -> tuple[Nodes, Floats]:
    """Return nodes for some items, and the share of the population at each fine one."""
    nodes = plan_nodes(model, coords, population)
    weights = np.exp(nodes.log_weights - nodes.log_weights.max())
    return nodes, weights / weights.sum()


def alike(calibration: Calibration) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Items that all got right, and items that all got wrong: their parameters mean nothing."""
    flags = calibration.flags
    right, wrong = (
        np.array([word in words for words in flags], dtype=bool)
        for word in (SOLVED_BY_ALL, SOLVED_BY_NONE)
    )
    return right, wrong


def informative(calibration: Calibration) -> NDArray[np.bool_]:
    """Return items on which respondents differ."""
    solved, unsolved = alike(calibration)
    constant = np.array([CONSTANT in words for words in calibration.flags], dtype=bool)
    found: NDArray[np.bool_] = ~(solved | unsolved | constant)
    return found


def upright_items(calibration: Calibration) -> NDArray[np.bool_]:
    """Return all items but those that better respondents miss more often than worse ones."""
    slope = calibration.model.parameters(calibration.coords)["discrimination"]
    return (slope >= 0) | ~informative(calibration)


def p_of_negative(calibration: Calibration) -> Floats:
    """Return one-sided p-value of each item that its discrimination is not below 0.

    NaN where respondents do not differ, or the standard error is not known.
    """
    from scipy.special import ndtr

    items = calibration.items
    slope, se = (items[name].to_numpy(float) for name in ("discrimination", "discrimination_se"))
    known = informative(calibration) & (se > 0)
    z = np.divide(slope, se, out=np.full(len(slope), np.nan), where=known)
    found: Floats = ndtr(z)
    return found


@dataclass(frozen=True, eq=False)
class Material:
    """Responses in the order of the items, where their respondents stand, and how many each is."""

    model: MeasurementModel
    coords: Floats
    cells: np.ndarray  # categories from 0 with -1, or scores with NaN, where never asked
    ability: Floats  # (n_rows,)
    weights: Floats  # (n_rows,)
    # (n_items,), or one for all: whose responses differ enough to be judged.
    told: NDArray[np.bool_] = field(default_factory=lambda: np.ones(1, dtype=bool))

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Where an item was asked, whether or not it is judged."""
        return observed(self.cells)

    @property
    def blocks(self) -> list[slice]:
        """Rows that are worked on together, so that memory stays bounded."""
        width = self.coords.shape[0] * max(2, getattr(self.model, "n_categories", 2))
        return row_blocks(len(self.cells), max(1, CELLS_AT_A_TIME // width))

    def by_item(self) -> Fit:
        """Return the fit of each item, over all respondents who were asked it."""
        weights = self.weights

        def work(rows: slice) -> Floats:
            return np.asarray(np.einsum("tri,r->ti", self._terms(rows), weights[rows]))

        return Fit(np.sum(self._over_blocks(work), axis=0))

    def by_respondent(self) -> Fit:
        """Return the fit of each respondent, over all items it was asked."""
        return Fit(np.concatenate(self._over_blocks(lambda rows: self._terms(rows).sum(2)), axis=1))

    def _over_blocks(self, work: Callable[[slice], Floats]) -> list[Floats]:
        with workers() as run:
            return list(run(work, self.blocks))

    def _terms(self, rows: slice) -> Floats:
        """Return what the sums of `Fit` are made of, (8, n_rows, n_items); 0 where never asked."""
        cells, ability = self.cells[rows], self.ability[rows]
        asked = observed(cells) & self.told
        moments = _of_categories if isinstance(self.model, Categorical) else _of_scores
        found = moments(self.model, self.coords, cells, asked, ability)
        squared, variance, fourth, surprise, spread = found
        terms = np.empty((TERMS, *cells.shape))
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
    """Return where an item was asked."""
    asked: np.ndarray = ~np.isnan(cells) if cells.dtype.kind == "f" else cells >= 0
    return asked


Moments = tuple[Floats, Floats, Floats, Floats, Floats]


def _of_categories(
    model: Any, coords: Floats, cells: np.ndarray, asked: np.ndarray, ability: Floats
) -> Moments:
    """Squared residual, variance, fourth moment, surprise and its variance, (n_rows, n_items)."""
    log_prob = np.moveaxis(model.log_prob(coords, ability), 2, 1)  # categories, rows, items
    log_prob = np.maximum(log_prob, LOWEST_LOG)
    prob = np.exp(log_prob)
    codes = np.where(asked, cells, 0).astype(np.intp)
    mean: Floats = np.tensordot(np.arange(float(len(prob))), prob, 1)
    variance, fourth = np.zeros_like(mean), np.zeros_like(mean)
    for grade, chance in enumerate(prob):
        away = (grade - mean) ** 2
        variance += chance * away
        fourth += chance * away**2
    typical = (prob * log_prob).sum(axis=0)
    spread = (prob * (log_prob - typical) ** 2).sum(axis=0)
    found = np.take_along_axis(log_prob, codes[None], 0)[0]
    squared: Floats = (codes - mean) ** 2
    return squared, np.maximum(variance, LEAST_VARIANCE), fourth, found - typical, spread


def _of_scores(
    model: MeasurementModel, coords: Floats, cells: np.ndarray, asked: np.ndarray, ability: Floats
) -> Moments:
    """The same for scores on a scale, whose log-likelihood is taken as that of a normal one."""
    mean = np.asarray(model.expected(coords, ability)).T
    tiny = np.finfo(float).tiny
    variance = np.maximum(np.asarray(model.variance(coords, ability)).T, tiny)
    squared = (np.where(asked, cells, mean) - mean) ** 2
    surprise = 0.5 * (1 - squared / variance)
    spread = np.full_like(mean, (NORMAL_KURTOSIS - 1) / 4)
    return squared, variance, NORMAL_KURTOSIS * variance**2, surprise, spread


@dataclass(frozen=True, eq=False)
class Fit:
    """Sums over responses, and the figures that they give; NaN where nothing was asked."""

    sums: Floats  # (8, n)

    @property
    def n(self) -> Floats:
        """How many responses are judged."""
        counts: Floats = self.sums[0]
        return counts

    @property
    def infit(self) -> Floats:
        """Squared residuals over their variances: 1 where responses vary as they should."""
        return ratio(self.sums[1], self.sums[2])

    @property
    def outfit(self) -> Floats:
        """The mean of squared standardised residuals: surprises far from the difficulty count."""
        return ratio(self.sums[3], self.n)

    @property
    def infit_se(self) -> Floats:
        """How far infit varies around 1 by chance, with so many responses."""
        return _root(ratio(self.sums[5], self.sums[2] ** 2))

    @property
    def outfit_se(self) -> Floats:
        """How far outfit varies around 1 by chance, with so many responses."""
        return _root(ratio(self.sums[4], self.n**2) - ratio(1.0, self.n))

    @property
    def infit_z(self) -> Floats:
        """Infit as a standard normal deviate, about."""
        return _cube_root(self.infit, self.infit_se)

    @property
    def outfit_z(self) -> Floats:
        """Outfit as a standard normal deviate, about."""
        return _cube_root(self.outfit, self.outfit_se)

    @property
    def noise_p(self) -> Floats:
        """How likely responses are as noisy as these by chance, by infit and outfit together.

        A mean square whose standard error exceeds 1 is decided by single responses, and not judged.
        """
        infit = np.where(self.infit_se <= LARGEST_ERROR, self.infit_z, np.nan)
        outfit = np.where(self.outfit_se <= LARGEST_ERROR, self.outfit_z, np.nan)
        return noise_p(infit, outfit)

    @property
    def zh(self) -> Floats:
        """The standardised log-likelihood; far below 0 where responses are unlikely."""
        spread = np.where(self.sums[7] > LEAST_SPREAD, self.sums[7], 0.0)
        return ratio(self.sums[6], np.sqrt(spread))


def noise_p(infit_z: Floats, outfit_z: Floats) -> Floats:
    """One-sided p-value of the larger of two deviates, of which chance made the larger of two."""
    from scipy.special import ndtr

    p: Floats = np.minimum(2 * ndtr(-np.fmax(infit_z, outfit_z)), 1.0)
    return p


def ratio(above: Floats | float, below: Floats) -> Floats:
    """Return above over below; NaN where below is nothing."""
    result: Floats = above / np.where(below > 0, below, np.nan)
    return result


def _root(variance: Floats) -> Floats:
    """Return square root; NaN where there is no variance."""
    return np.sqrt(np.where(variance > 0, variance, np.nan))


def _cube_root(mean_square: Floats, sd: Floats) -> Floats:
    """Return Wilson and Hilferty's transformation of a mean square to a standard normal."""
    z: Floats = (np.cbrt(mean_square) - 1) * (3 / sd) + sd / 3
    return z


def _told(calibration: Calibration, cells: np.ndarray) -> NDArray[np.bool_]:
    """Return items whose responses differ enough that their fit can be judged.

    Where all responses are the same, nothing is known of how they vary. Where only a few scores
    differ from the others, or there are only two of them, so does no normal distribution.
    """
    told = informative(calibration)
    if isinstance(calibration.model, Categorical):
        return told
    own = calibration.responses
    known = cells if own is None else calibration.placed(own)
    if len(known) < 2 * LEAST_DIFFERING:
        return told
    for k in np.flatnonzero(told):
        column = known[:, k]
        scores, counts = np.unique(column[observed(column)], return_counts=True)
        told[k] = len(scores) > 2 and counts.sum() - counts.max() >= LEAST_DIFFERING
    return told


def left_out(calibration: Calibration, judged: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return a note on the items whose fit is not judged, if there are any."""
    names = [calibration.item_names[k] for k in np.flatnonzero(~judged)]
    if not names:
        return ()
    alike = "all responses are the same"
    if not isinstance(calibration.model, Categorical):
        alike = (
            f"all scores are the same, there are only two, or fewer than {LEAST_DIFFERING} differ "
            "from the most frequent one"
        )
    return (f"Left out, because {alike}: {listed(names, 'item')}.",)


def material_of(
    calibration: Calibration,
    responses: Table | None,
    asker: str,
    method: str = "eap",
    *,
    items_known: bool = True,
) -> tuple[Material, Responses, Floats, np.ndarray]:
    """Return what fit is judged on; the responses, and standard error and bound of each ability.

    Where the error is not shown, it is not worth its cost: then items count as known.
    """
    table, weights = own_or_given(calibration, responses, asker)
    scored = calibration.score(table, method, items_known=items_known)
    categorical = isinstance(calibration.model, Categorical)
    cells = calibration.cells(table) if categorical else calibration.placed(table)
    material = Material(
        calibration.model,
        calibration.coords,
        cells,
        scored["ability"].to_numpy(),
        weights,
        _told(calibration, cells),
    )
    return material, table, scored["se"].to_numpy(), scored["at_bound"].to_numpy()


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
        """Return both for some respondents."""
        return self.chance[rows], self.rise[rows]


def chances_by_others(shares: Floats, worth: Floats) -> Chances:
    """Return chances at the ability of each respondent, by the answers that all others gave.

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
    """Return slope, difficulty and guessing of each curve, and its weight before any answer."""
    grids = np.meshgrid(SLOPES, DIFFICULTIES, GUESSING, indexing="ij")
    slope, difficulty, guessing = (each.ravel() for each in grids)
    apart = (np.log(slope) / SLOPE_SD) ** 2 + (difficulty / DIFFICULTY_SD) ** 2
    before = np.exp(-0.5 * apart)
    return slope, difficulty, guessing, before / before.sum()


def _curves(ability: Floats) -> Floats:
    """Return chance of a right answer on each curve, (n_curves, n_abilities)."""
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
    """Return how likely each item follows each curve, (n_items, n_curves)."""
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
    """Return Newton's step of each ability; `right` and `wrong` are counts by curve."""

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
    """Return chance and rise of each respondent on each item, (2, n_respondents, n_items)."""
    together = _log_likelihood(ability, right, wrong) + log_weights
    found = np.empty((2, *right.shape))
    for row, at in enumerate(ability):
        own = _log_likelihood(np.array([at]), right[[row]], wrong[[row]])
        by_others = _shares(together - own)
        here, above, below = (by_others @ _curves(np.array([at, at + NUDGE, at - NUDGE]))).T
        found[:, row] = here, (above - below) / (2 * NUDGE)
    return found


MANY = 100  # respondents from which parameters of items count as known
LEAST_OTHERS = 4  # respondents by whom another is judged
KNOWN_CHANCES_NUDGE = 1e-4


class KnownChancesChances(Protocol):
    """Of each respondent on each item: the chance to be right, and its rise with ability."""

    def at(self, rows: slice) -> tuple[Floats, Floats]:
        """Return both for some respondents, (n_rows, n_items) each."""
        ...


@dataclass(frozen=True, eq=False)
class Judged:
    """Respondents who are judged together: their answers, and how likely these were."""

    rows: np.ndarray  # positions in the table, as `items`
    items: np.ndarray
    shares: Floats  # right answers, (n_rows, n_items); NaN where never asked
    worth: Floats  # independent answers, as large; 0 where never asked
    chances: KnownChancesChances


@dataclass(frozen=True, eq=False)
class _OfBank:
    """Chances by the parameters of a bank, at known abilities."""

    calibration: Calibration
    ability: Floats

    def at(self, rows: slice) -> tuple[Floats, Floats]:
        ability = self.ability[rows]
        here, above, below = (
            self.calibration.model.expected(self.calibration.coords, at).T
            for at in (ability, ability + KNOWN_CHANCES_NUDGE, ability - KNOWN_CHANCES_NUDGE)
        )
        return here, (above - below) / (2 * KNOWN_CHANCES_NUDGE)


def items_are_known(calibration: Calibration) -> bool:
    """Return True if enough respondents stand behind the parameters of items."""
    return calibration.n_respondents >= MANY


def judged_together(
    calibration: Calibration, table: Responses, ability: Floats
) -> Iterator[Judged]:
    """Yield everybody by the bank; or by the others, each part that no item links by itself."""
    shares = as_floats(table.cells)
    tries = tries_or_one(table.tries, table.observed)
    worth = effective_tries(tries, calibration.dependence).astype(float)
    if items_are_known(calibration):
        rows, items = np.arange(table.n_respondents), np.arange(table.n_items)
        yield Judged(rows, items, shares, worth, _OfBank(calibration, ability))
        return
    for rows, items in _parts(table):
        if rows.size > LEAST_OTHERS:
            part = np.ix_(rows, items)
            chances = chances_by_others(shares[part], worth[part])
            yield Judged(rows, items, shares[part], worth[part], chances)


def unjudged_notes(calibration: Calibration, table: Responses) -> list[str]:
    """Say who is not judged, and what it takes."""
    if items_are_known(calibration):
        return []
    few = [rows for rows, _ in _parts(table) if rows.size <= LEAST_OTHERS]
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


def _parts(table: Responses) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return respondents and items of each part, those without any answer left out."""
    observed = table.observed
    rows, items = linked_parts(observed)
    some, asked = observed.any(axis=1), observed.any(axis=0)
    return [
        (np.flatnonzero((rows == part) & some), np.flatnonzero((items == part) & asked))
        for part in range(int(rows.max()) + 1)
    ]

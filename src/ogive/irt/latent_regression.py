"""Abilities, or difficulties, regressed on facts.

Populations whose mean depends on facts of respondents: groups, and latent regression.

Ability given the facts x of a respondent is normal with mean x β and the standard deviation of its
group. What is climbed is the marginal likelihood, so that errors count how uncertain every ability
is. Where respondents are many, items are found together with the population; where they are few,
or items many, items stay where a calibration put them: their errors average out.

Items whose difficulty depends on facts about them: latent regression, seen from the items.

Difficulty given the facts x of an item is normal with mean x β and one standard deviation. What is
climbed is the likelihood of β and that deviation with every difficulty integrated out, so that
errors count how uncertain difficulties are. The likelihood of an item along its difficulty is
computed as it is: with few respondents it is skewed, and who weighs estimates by their standard
errors finds slopes that are too small, because items that seem extreme seem uncertain too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.encoded_responses import Block, Encoded, encode
from ogive.irt.estimation.latent_scale import moved_covariances, moved_directions
from ogive.irt.estimation.m_step import log_prior, prior_derivatives
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import (
    LOWEST,
    LogLikelihood,
    Nodes,
    NormalPopulation,
    likelihood_on_nodes,
    normalised,
    plan_nodes,
)
from ogive.stats.array_backend import Floats

ENOUGH = 200  # respondents from which on items are found together with the population
MOST_FREE = 400  # numbers of items that are found with it
LEAST_LOG_SD, MOST_LOG_SD = -2.5, 2.5
NARROWEST = 0.25  # standard deviation of a group that nodes are fine enough for
REACH = -14.0, 14.0
NUDGE = 1e-4


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of each respondent: columns of its mean, and the group of its sd."""

    columns: Floats  # (n_respondents, n_columns); the first is the reference's mean, 1 everywhere
    groups: np.ndarray  # (n_respondents,), whole numbers from 0

    @property
    def n_groups(self) -> int:
        """How many standard deviations there are."""
        return int(self.groups.max()) + 1


@dataclass(frozen=True, eq=False)
class ExplainedPopulation:
    """Coefficients and log standard deviations, with their covariance, and what they explain.

    `covariance` is of both, in this order; 0 for what fixes the scale.
    """

    facts: Facts
    coefficients: Floats  # (n_columns,)
    log_sd: Floats  # (n_groups,)
    covariance: Floats
    log_likelihood: float
    converged: bool
    calibration: Calibration  # its items define the scale
    joint: bool  # whether items were found together with the population
    ability: Floats  # (n_respondents,), posterior means
    ability_se: Floats

    @property
    def sd(self) -> Floats:
        """Standard deviation of each group."""
        found: Floats = np.exp(self.log_sd)
        return found

    @property
    def means(self) -> Floats:
        """Expected ability of each respondent, given its facts."""
        found: Floats = self.facts.columns @ self.coefficients
        return found


def explain_population(calibration: Calibration, facts: Facts) -> ExplainedPopulation:
    """Find the population of a calibration's respondents, given facts about them."""
    table, model = calibration.responses, calibration.model
    if table is None or not model.affine:
        why = "holds no responses" if table is None else f"uses the {model.name} model"
        raise InputError(
            f"The calibration {why}; facts explain abilities of responses by a model whose scale "
            "may move, such as 2pl, graded or continuous."
        )
    climb = _Climb.of(calibration, table, facts)
    found = climb.to_top()
    if climb.joint and climb.leaves_the_nodes(found):  # facts explain nearly all
        climb = _Climb(climb.data, model, calibration.coords, facts, joint=False)
        found = climb.to_top()
    covariance = climb.covariance(found)
    at = climb.split(found)
    value, _, ability, variance = climb.marginal(*at)
    n_columns, n_groups = facts.columns.shape[1], facts.n_groups
    whole = np.zeros((n_columns + n_groups,) * 2)
    free = np.flatnonzero(climb.free_population)
    whole[np.ix_(free, free)] = covariance
    bank = calibration
    if climb.joint:
        population = NormalPopulation()
        bank = replace(calibration, coords=at[0], population=population, encoded=None)
    return ExplainedPopulation(
        facts=facts,
        coefficients=at[1],
        log_sd=at[2],
        covariance=whole,
        log_likelihood=value,
        converged=climb.rested,
        calibration=bank,
        joint=climb.joint,
        ability=ability,
        ability_se=np.sqrt(variance),
    )


def on_scale_of_reference(found: ExplainedPopulation) -> Calibration:
    """Return the items where the first group has mean 0 and standard deviation 1."""
    bank, move = found.calibration, (float(found.coefficients[0]), float(found.sd[0]))
    if found.joint:  # they are there already
        return bank
    model, coords, known = bank.model, bank.coords, bank.uncertainty
    errors = KnownCovariances(
        moved_covariances(model, coords, known.covariances, *move),
        moved_directions(model, coords, known.shared, *move),
    )
    return replace(
        bank,
        coords=model.rescale(coords, *move),
        uncertainty=errors,
        population=NormalPopulation(),
        encoded=None,
    )


class _Climb:
    """The marginal likelihood as a function of one list of numbers, and its top."""

    def __init__(
        self, data: Encoded, model: MeasurementModel, coords: Floats, facts: Facts, *, joint: bool
    ) -> None:
        self.data, self.model, self.begin, self.facts, self.joint = (
            data,
            model,
            coords,
            facts,
            joint,
        )
        self.free_items = ~(model.at_bound(coords) | model.absent(coords)) if joint else None
        n_columns = facts.columns.shape[1]
        self.free_population = np.ones(n_columns + facts.n_groups, dtype=bool)
        if joint:  # the reference has mean 0 and standard deviation 1
            self.free_population[[0, n_columns]] = False
        self.rested = False

    @classmethod
    def of(cls, calibration: Calibration, table: Responses, facts: Facts) -> _Climb:
        """Return begin at the items of a calibration."""
        model, coords = calibration.model, calibration.coords
        data = encode(table.cells, model, collapsing=False, tries=table.tries)
        shared = model.shared
        free = int((~model.at_bound(coords))[:, ~shared].sum()) + int(shared.sum())
        joint = table.n_respondents >= ENOUGH and free <= MOST_FREE
        return cls(data, model, coords, facts, joint=joint)

    @cached_property
    def nodes(self) -> Nodes:
        """Nodes that hold every group, fine enough for the narrowest posterior."""
        narrow = NormalPopulation(0.0, NARROWEST)
        return plan_nodes(self.model, self.begin, narrow, REACH, often=self.data.often)

    def split(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        """Return items, coefficients and log standard deviations."""
        coords, n_columns = self.begin.copy(), self.facts.columns.shape[1]
        population = np.zeros(n_columns + self.facts.n_groups)
        n_free = int(self.free_population.sum())
        population[self.free_population] = flat[flat.size - n_free :]
        if self.free_items is not None:
            shared = self.model.shared
            coords[:, shared] = flat[: shared.sum()]
            own = self.free_items & ~shared
            coords[own] = flat[shared.sum() : flat.size - n_free]
        return coords, population[:n_columns], population[n_columns:]

    def start(self) -> Floats:
        """Return the items as they are, one mean, one standard deviation."""
        n_free = int(self.free_population.sum())
        if self.free_items is None:
            return np.zeros(n_free)
        shared = self.model.shared
        own = self.begin[self.free_items & ~shared]
        return np.concatenate([self.begin[0, shared], own, np.zeros(n_free)])

    def marginal(
        self, coords: Floats, coefficients: Floats, log_sd: Floats
    ) -> tuple[float, tuple[Floats, Floats, Floats], Floats, Floats]:
        """Return log-likelihood, its slopes, and mean and variance of every posterior."""
        model, nodes, facts = self.model, self.nodes, self.facts
        likelihood = LogLikelihood(model.log_terms(coords, nodes.coarse))
        mean, sd = facts.columns @ coefficients, np.exp(log_sd)[facts.groups]
        value, abilities, variances, squares = 0.0, [], [], []
        counts = np.zeros((len(model.direction), *coords.shape[:1], nodes.coarse.size))
        totals = np.zeros((coords.shape[0], nodes.coarse.size))
        for rows in self.data.blocks(nodes.fine.size):
            block = self.data.block(rows)
            joint = likelihood(block)
            if nodes.interpolation is not None:
                floor = joint.max(axis=1, keepdims=True) - LOWEST
                joint = np.maximum(joint, floor) @ nodes.interpolation
            away = (nodes.fine - mean[rows, None]) / sd[rows, None]
            scale = np.log(nodes.step / np.sqrt(2 * np.pi)) - np.log(sd[rows, None])
            posterior, log_norm = normalised(joint - 0.5 * away**2 + scale)
            value += float(self.data.counted(rows) @ log_norm)
            first = posterior @ nodes.fine
            abilities.append(first)
            variances.append(posterior @ nodes.fine**2 - first**2)
            squares.append((posterior * away**2).sum(axis=1))
            if self.joint:
                carried = posterior
                if nodes.interpolation is not None:
                    carried = posterior @ nodes.interpolation.T
                for k, statistic in enumerate(block.statistics):
                    counts[k] += statistic.T @ carried
                totals += (
                    carried.sum(axis=0) if block.observed is None else block.observed.T @ carried
                )
        ability, weights = np.concatenate(abilities), self.data.counted(slice(0, len(mean)))
        pull = weights * (ability - mean) / sd**2
        spread = weights * (np.concatenate(squares) - 1)
        of_sd: Floats = np.bincount(facts.groups, spread, facts.n_groups).astype(float)
        of_items = np.zeros_like(coords)
        if self.joint:
            of_items = model.curvature(coords, nodes.coarse, counts, totals)[0]
        slopes = of_items, facts.columns.T @ pull, of_sd
        return value, slopes, ability, np.maximum(np.concatenate(variances), 0.0)

    def loss(self, flat: Floats) -> tuple[float, Floats]:
        """Return minus the log-likelihood with priors that count once, and its gradient."""
        coords, coefficients, log_sd = self.split(flat)
        value, (of_items, *of_population), *_ = self.marginal(coords, coefficients, log_sd)
        parts = []
        if self.free_items is not None:
            share = 1 / len(coords)  # of many priors: together they count as one
            value += share * float(log_prior(self.model, coords).sum())
            slope = of_items + share * prior_derivatives(self.model, coords)[0]
            shared = self.model.shared
            parts = [slope[:, shared].sum(axis=0), slope[self.free_items & ~shared]]
        parts.append(np.concatenate(of_population)[self.free_population])
        return -value, -np.concatenate(parts)

    def to_top(self) -> Floats:
        """Climb in units in which one respondent more or less tells about as much everywhere."""
        from scipy.optimize import minimize

        bounds: list[tuple[Any, Any]] = [(None, None)] * self.start().size
        if self.free_items is not None:
            low = np.array([c.low for c in self.model.coordinates])
            high = np.array([c.high for c in self.model.coordinates])
            shared, own = self.model.shared, self.free_items & ~self.model.shared
            ends = [
                np.concatenate([end[shared], np.broadcast_to(end, own.shape)[own]])
                for end in (low, high)
            ]
            bounds[: ends[0].size] = list(zip(*ends, strict=True))
        n_sd = int(self.free_population[self.facts.columns.shape[1] :].sum())
        if n_sd:
            bounds[-n_sd:] = [(LEAST_LOG_SD, MOST_LOG_SD)] * n_sd
        options = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-13, "gtol": 1e-4, "maxcor": 30}
        found = minimize(
            self.loss, self.start(), jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        self.rested = bool(found.success)
        best: Floats = found.x
        return best

    def leaves_the_nodes(self, flat: Floats) -> bool:
        """Return True if some respondents stand where no node is."""
        _, coefficients, log_sd = self.split(flat)
        ends = np.abs(self.facts.columns @ coefficients) + 5 * np.exp(log_sd)[self.facts.groups]
        return bool(ends.max() > REACH[1])

    def covariance(self, flat: Floats) -> Floats:
        """Return covariance of what is free of the population, from the observed information.

        Differences of the gradient in every number that was found: also what items leave open.
        """
        n_free = int(self.free_population.sum())
        columns = []
        for k in range(flat.size):
            step = np.zeros(flat.size)
            step[k] = NUDGE
            up, down = self.loss(flat + step)[1], self.loss(flat - step)[1]
            columns.append((up - down) / (2 * NUDGE))
        information = np.array(columns)
        inverse = np.linalg.pinv(0.5 * (information + information.T), hermitian=True).astype(float)
        return inverse[flat.size - n_free :, flat.size - n_free :]


MANY = 1000  # answers from which on the likelihood of an item is taken as normal
CERTAIN = 0.3  # and its standard error below this
VAGUE = 5.0  # standard error of a difficulty about which nothing is known
PLACES = np.concatenate([np.arange(-6.0, -3.0), np.linspace(-3, 3, 13), np.arange(4.0, 7.0)])
FINE = np.linspace(-6.0, 6.0, 121)
STEPS = 6  # of Newton's method to a difficulty
LARGEST = 500.0  # change of a log-probability
LEAST_SD, MOST_SD = 0.02, 5.0  # beyond the facts
NEWTON = 30
EXPLAINED_ITEMS_NUDGE = 0.05


@dataclass(frozen=True, eq=False)
class ExplainedItems:
    """Coefficients and the deviation that facts leave, with errors; difficulties given the facts.

    `covariance` is of the coefficients, in units of these respondents: that other respondents
    would have given another origin and unit is no error of theirs.
    """

    used: np.ndarray  # (n_items,): whose difficulty is known
    coefficients: Floats
    covariance: Floats
    sd: float
    log_sd_error: float
    difficulty: Floats  # (n_used,), as what follows
    difficulty_se: Floats
    means: Floats


def usable_items(calibration: Calibration) -> np.ndarray:
    """Return items whose difficulty is known, and on which better respondents do better."""
    items = calibration.items
    error = items["difficulty_se"].to_numpy(dtype=float)
    found: np.ndarray = (
        np.isfinite(items["difficulty"].to_numpy(dtype=float))
        & (error < VAGUE)
        & (items["discrimination"].to_numpy(dtype=float) > 0)
    )
    return found


def explain_items_of(
    calibration: Calibration, table: Responses, columns: Floats, used: np.ndarray
) -> ExplainedItems:
    """Regress true difficulty on the columns, one row for each of the items used."""
    places = np.flatnonzero(used)
    estimate, error, shared = _difficulties(calibration, places)
    center, scale = _centers(estimate, error)
    grid = center[:, None] + scale[:, None] * FINE
    curves = -0.5 * ((grid - estimate[:, None]) / error[:, None]) ** 2
    answers = table.observed.sum(axis=0)[places]
    short = np.flatnonzero((answers < MANY) | (error > CERTAIN))
    if short.size:
        curves[short] = _curves(calibration, table, places[short], center[short], scale[short])
    climb = _ExplainedItemsClimb(grid, curves, columns)
    log_sd, log_sd_error = climb.to_top()
    coefficients, weights, mean, variance = climb.at(log_sd)
    inverse = np.linalg.inv(columns.T @ (weights[:, None] * columns))
    answer = inverse @ columns.T * weights  # how coefficients follow difficulties
    return ExplainedItems(
        used=used,
        coefficients=coefficients,
        covariance=inverse + _of_scale(answer, shared, estimate, table.n_respondents),
        sd=float(np.exp(log_sd)),
        log_sd_error=log_sd_error,
        difficulty=mean,
        difficulty_se=np.sqrt(variance),
        means=columns @ coefficients,
    )


def _difficulties(calibration: Calibration, places: np.ndarray) -> tuple[Floats, Floats, Floats]:
    """Return estimates, their own errors, and directions in which all err together."""
    slope = calibration.model.parameter_jacobian(calibration.coords)["difficulty"][places]
    known = calibration.uncertainty
    whole = np.einsum("ni,nij,nj->n", slope, known.covariances[places], slope)
    shared: Floats = np.einsum("kni,ni->kn", known.shared[:, places], slope)
    own = np.maximum(whole - (shared**2).sum(axis=0), 0.01 * whole)
    estimate = calibration.items["difficulty"].to_numpy(dtype=float)[places]
    return estimate, np.sqrt(own), shared


def _centers(estimate: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Where each likelihood is looked at: near the estimate, or near all items if it is vague."""
    middle = float(np.median(estimate))
    spread = max(0.5, 1.5 * float(np.median(np.abs(estimate - middle))) / 0.6745)
    variance = 1 / (1 / spread**2 + 1 / error**2)
    return variance * (middle / spread**2 + estimate / error**2), np.sqrt(variance)


def _of_scale(answer: Floats, shared: Floats, difficulty: Floats, n_respondents: int) -> Floats:
    """Return what origin and unit of the scale add, but for the lot that drew these respondents."""
    together = answer @ shared.T
    origin, unit = answer.sum(axis=1), answer @ difficulty
    lot = (np.outer(origin, origin) + np.outer(unit, unit) / 2) / n_respondents
    size, ways = np.linalg.eigh(together @ together.T - lot)
    return np.asarray((ways * np.maximum(size, 0.0)) @ ways.T, dtype=float)


class _ExplainedItemsClimb:
    """The restricted likelihood of the deviation, coefficients being at their best."""

    def __init__(self, grid: Floats, curves: Floats, columns: Floats) -> None:
        self.grid, self.curves, self.columns = grid, curves, columns
        top = np.take_along_axis(grid, curves.argmax(axis=1)[:, None], axis=1)[:, 0]
        self.begin = np.asarray(np.linalg.lstsq(columns, top, rcond=None)[0], dtype=float)
        self.value = 0.0

    def at(self, log_sd: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return best coefficients, weights of items, mean and variance of every difficulty."""
        precision, coefficients = np.exp(-2 * log_sd), self.begin
        for _ in range(NEWTON):
            mean, variance, value = self._posterior(coefficients, log_sd)
            weights = np.maximum(precision * (1 - precision * variance), 1e-6 * precision)
            pull = self.columns.T @ (precision * (mean - self.columns @ coefficients))
            information = self.columns.T @ (weights[:, None] * self.columns)
            step = np.linalg.solve(information, pull)
            coefficients = coefficients + step
            if np.abs(self.columns @ step).max() < 1e-8:
                break
        self.begin = coefficients
        self.value = value - 0.5 * float(np.linalg.slogdet(information)[1])
        return coefficients, weights, mean, variance

    def _posterior(self, coefficients: Floats, log_sd: float) -> tuple[Floats, Floats, float]:
        away = (self.grid - (self.columns @ coefficients)[:, None]) * np.exp(-log_sd)
        joint = self.curves - 0.5 * away**2 - log_sd
        top = joint.max(axis=1, keepdims=True)
        weights = np.exp(joint - top)
        total = weights.sum(axis=1)
        value = float((top[:, 0] + np.log(total)).sum())
        weights /= total[:, None]
        mean = (weights * self.grid).sum(axis=1)
        variance = (weights * (self.grid - mean[:, None]) ** 2).sum(axis=1)
        return mean, variance, value

    def loss(self, log_sd: float) -> float:
        """Return minus the restricted log-likelihood."""
        self.at(log_sd)
        return -self.value

    def to_top(self) -> tuple[float, float]:
        """Return the log of the deviation, and its error."""
        from scipy.optimize import minimize_scalar

        ends = np.log(LEAST_SD), np.log(MOST_SD)
        found = minimize_scalar(self.loss, bounds=ends, method="bounded", options={"xatol": 1e-5})
        best = float(
            np.clip(found.x, ends[0] + EXPLAINED_ITEMS_NUDGE, ends[1] - EXPLAINED_ITEMS_NUDGE)
        )
        sides = [
            self.loss(best + step) for step in (-EXPLAINED_ITEMS_NUDGE, 0.0, EXPLAINED_ITEMS_NUDGE)
        ]
        curvature = (sides[0] - 2 * sides[1] + sides[2]) / EXPLAINED_ITEMS_NUDGE**2
        return best, float(1 / np.sqrt(max(curvature, 0.5)))


def _curves(
    calibration: Calibration, table: Responses, places: np.ndarray, center: Floats, scale: Floats
) -> Floats:
    """Log-likelihood of items on a fine grid, given all other answers, (n_places, n_fine)."""
    from scipy.interpolate import CubicSpline

    model = calibration.model
    data = encode(table.cells, model, collapsing=False, tries=table.tries)
    nodes, joint = likelihood_on_nodes(data, model, calibration.coords, calibration.population)
    joint = joint + calibration.population.log_density(nodes)
    posterior = np.exp(joint - joint.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    block = data.block(slice(0, len(posterior)))
    targets = center[:, None] + scale[:, None] * PLACES
    coords = _moved(calibration, places, targets)
    found = np.empty((len(places), PLACES.size))
    for row, place in enumerate(places):
        found[row] = _along(model, posterior, block, place, nodes, calibration.coords, coords[row])
    return np.asarray(CubicSpline(PLACES, found, axis=1)(FINE), dtype=float)


def _along(
    model: MeasurementModel,
    posterior: Floats,
    block: Block,
    place: int,
    nodes: Floats,
    coords: Floats,
    moved: Floats,
) -> Floats:
    """Return log-likelihood of one item at moved coordinates, less that where it was found."""
    was = model.log_terms(coords[[place]], nodes)
    change = model.log_terms(moved, nodes) - was  # (1 + n_statistics, n_moved, n_nodes)
    asked = (
        np.ones(len(posterior))
        if block.observed is None
        else np.asarray(block.observed[:, place], dtype=float)
    )
    told = [np.asarray(table[:, place], dtype=float) for table in block.statistics]
    rows = np.stack([asked, *told], axis=1)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    total = np.zeros(len(moved))
    for k, kind in enumerate(kinds):
        ratio = np.exp(np.clip(np.tensordot(kind, change, axes=1), -LARGEST, LARGEST))
        total += np.log(posterior[which.reshape(-1) == k] @ ratio.T + 1e-300).sum(axis=0)
    return total


def _moved(calibration: Calibration, places: np.ndarray, targets: Floats) -> Floats:
    """Coordinates with given difficulties that lie nearest to those found, in their covariance.

    Shared directions stay: what all items have in common is not one item's to change.
    """
    model, known = calibration.model, calibration.uncertainty
    n_items, n_targets = targets.shape
    begin = np.repeat(calibration.coords[places], n_targets, axis=0)
    shared = known.shared[:, places]
    own = known.covariances[places] - np.einsum("kni,knj->nij", shared, shared)
    own += 1e-9 * np.eye(own.shape[1])
    spread = np.repeat(own, n_targets, axis=0)
    low = np.array([c.low for c in model.coordinates])
    high = np.array([c.high for c in model.coordinates])
    coords, goal = begin, targets.reshape(-1)
    for _ in range(STEPS):
        # discrimination × (difficulty - goal) is 0 where difficulty - goal is, and nearly linear
        numbers, slopes = model.parameters(coords), model.parameter_jacobian(coords)
        steep, away = numbers["discrimination"], numbers["difficulty"] - goal
        slope = steep[:, None] * slopes["difficulty"] + away[:, None] * slopes["discrimination"]
        missing = ((coords - begin) * slope).sum(axis=1) - steep * away
        way = np.einsum("nij,nj->ni", spread, slope)
        size = np.maximum((way * slope).sum(axis=1), 1e-12)
        coords = np.clip(begin + way * (missing / size)[:, None], low, high)
    return coords.reshape(n_items, n_targets, -1)

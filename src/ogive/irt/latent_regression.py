"""Abilities, or difficulties, regressed on facts.

Ability given the facts x of a respondent is normal with mean x β and the standard deviation of its
group. The marginal likelihood is maximized, so that errors count how uncertain every ability is.
With many respondents, items are found together with the population; otherwise items stay where a
calibration put them.

Difficulty given the facts x of an item is normal with mean x β and one standard deviation. The
likelihood of β and that deviation is maximized with every difficulty integrated out. The likelihood
of an item along its difficulty is used as it is: with few respondents it is skewed, and weights
from standard errors would make slopes too small, because extreme items also seem uncertain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.latent_scale import moved_covariances, moved_directions
from ogive.irt.estimation.m_step import log_prior, prior_derivatives
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.quadrature import (
    Nodes,
    NormalPopulation,
    Posterior,
    likelihood_on_nodes,
    normalised,
    plan_nodes,
)
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.data.responses import Responses

ENOUGH = 200  # smallest number of respondents for which items are found with the population
MOST_FREE = 400  # largest number of item coordinates that are found with it
LEAST_LOG_SD, MOST_LOG_SD = -2.5, 2.5
NARROWEST = 0.25  # standard deviation of a group that nodes are fine enough for
REACH = -14.0, 14.0
NUDGE = 1e-4
DELTA_STEP = 1e-5  # step of numerical derivatives for the delta method

MANY = 1000  # number of answers from which on the likelihood of an item is taken as normal
CERTAIN = 0.3  # largest standard error at which it is
VAGUE = 5.0  # standard error of a difficulty about which nothing is known
PLACES = np.concatenate([np.arange(-6.0, -3.0), np.linspace(-3, 3, 13), np.arange(4.0, 7.0)])
FINE = np.linspace(-6.0, 6.0, 121)
STEPS = 6  # Newton steps to a difficulty
LARGEST = 500.0  # largest change of a log-probability
LEAST_SD, MOST_SD = 0.02, 5.0  # bounds of the standard deviation beyond the facts
MAX_NEWTON = 30
LOG_SD_STEP = 0.05  # step of the numerical curvature in the log standard deviation


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts of each respondent: columns of its mean, and the group of its standard deviation."""

    columns: Floats  # (n_respondents, n_columns); the first is the reference's mean, 1 everywhere
    groups: np.ndarray  # (n_respondents,), whole numbers from 0

    @property
    def n_groups(self) -> int:
        """The number of standard deviations."""
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
        return np.exp(self.log_sd)

    @property
    def means(self) -> Floats:
        """Expected ability of each respondent, given its facts."""
        return np.asarray(self.facts.columns @ self.coefficients)


def explain_population(calibration: Calibration, facts: Facts) -> ExplainedPopulation:
    """Find the population of a calibration's respondents, given facts about them."""
    table, model, coords = calibration.responses, calibration.model, calibration.coords
    if table is None or not model.affine:
        why = "holds no responses" if table is None else f"uses the {model.name} model"
        raise InputError(
            f"The calibration {why}; facts explain abilities of responses by a model whose scale "
            "may move, such as 2pl, graded or continuous."
        )
    n_free = int((~model.at_bound(coords))[:, ~model.shared].sum()) + int(model.shared.sum())
    joint = table.n_respondents >= ENOUGH and n_free <= MOST_FREE
    objective = _PopulationObjective(calibration, table, facts, joint=joint)
    best, converged = objective.maximize()
    if joint and objective.leaves_the_nodes(best):  # facts explain nearly all
        objective = _PopulationObjective(calibration, table, facts, joint=False)
        best, converged = objective.maximize()
    covariance = objective.covariance(best)
    at = objective.split(best)
    value, _, ability, variance = objective.marginal(*at)
    whole = np.zeros((facts.columns.shape[1] + facts.n_groups,) * 2)
    free = np.flatnonzero(objective.free_population)
    whole[np.ix_(free, free)] = covariance
    bank = calibration
    if objective.joint:
        population = NormalPopulation()
        bank = replace(calibration, coords=at[0], population=population, encoded=None)
    return ExplainedPopulation(
        facts=facts,
        coefficients=at[1],
        log_sd=at[2],
        covariance=whole,
        log_likelihood=value,
        converged=converged,
        calibration=bank,
        joint=objective.joint,
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


def delta_jacobian(of: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return the derivatives of a function by central differences, (n_values, n_numbers)."""
    steps = DELTA_STEP * np.eye(at.size)
    return np.stack([(of(at + s) - of(at - s)) / (2 * DELTA_STEP) for s in steps], axis=1)


class _PopulationObjective:
    """The marginal likelihood as a function of one list of numbers: items, then population."""

    def __init__(
        self, calibration: Calibration, table: Responses, facts: Facts, *, joint: bool
    ) -> None:
        self.model, self.start_coords = calibration.model, calibration.coords
        self.data = encode(table.cells, self.model, collapsing=False, tries=table.tries)
        self.facts, self.joint = facts, joint
        # Numbers of items that are free: those that all share first, then each item's own.
        model, coords = self.model, self.start_coords
        self.shared = model.shared if joint else np.zeros_like(model.shared)
        free = ~(model.at_bound(coords) | model.absent(coords)) & ~model.shared
        self.own = free if joint else np.zeros_like(free)
        n_columns = facts.columns.shape[1]
        self.free_population = np.ones(n_columns + facts.n_groups, dtype=bool)
        if joint:  # the reference has mean 0 and standard deviation 1
            self.free_population[[0, n_columns]] = False
        self.n_free = int(self.free_population.sum())  # numbers of the population

    @cached_property
    def nodes(self) -> Nodes:
        """Nodes that hold every group, fine enough for the narrowest posterior."""
        narrow = NormalPopulation(0.0, NARROWEST)
        return plan_nodes(self.model, self.start_coords, narrow, REACH, often=self.data.often)

    def split(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        """Return items, coefficients and log standard deviations."""
        coords, n_columns = self.start_coords.copy(), self.facts.columns.shape[1]
        population = np.zeros(n_columns + self.facts.n_groups)
        population[self.free_population] = flat[flat.size - self.n_free :]
        n_shared = self.shared.sum()
        coords[:, self.shared] = flat[:n_shared]
        coords[self.own] = flat[n_shared : flat.size - self.n_free]
        return coords, population[:n_columns], population[n_columns:]

    def marginal(
        self, coords: Floats, coefficients: Floats, log_sd: Floats
    ) -> tuple[float, tuple[Floats, Floats, Floats], Floats, Floats]:
        """Return log-likelihood, its gradient, and mean and variance of every posterior."""
        model, nodes, facts = self.model, self.nodes, self.facts
        likelihood = Posterior(model.log_terms(coords, nodes.coarse), nodes)
        mean, sd = facts.columns @ coefficients, np.exp(log_sd)[facts.groups]
        value, abilities, variances, squares = 0.0, [], [], []
        counts = np.zeros((len(model.direction), *coords.shape[:1], nodes.coarse.size))
        totals = np.zeros((coords.shape[0], nodes.coarse.size))
        for rows in self.data.blocks(nodes.fine.size):
            block = self.data.block(rows)
            joint = likelihood.log_likelihood(block)
            z = (nodes.fine - mean[rows, None]) / sd[rows, None]
            scale = np.log(nodes.step / np.sqrt(2 * np.pi)) - np.log(sd[rows, None])
            posterior, log_norm = normalised(joint - 0.5 * z**2 + scale)
            value += float(self.data.counted(rows) @ log_norm)
            first = posterior @ nodes.fine
            abilities.append(first)
            variances.append(posterior @ nodes.fine**2 - first**2)
            squares.append((posterior * z**2).sum(axis=1))
            if self.joint:
                coarse = likelihood.on_coarse(posterior)
                for k, statistic in enumerate(block.statistics):
                    counts[k] += statistic.T @ coarse
                totals += (
                    coarse.sum(axis=0) if block.observed is None else block.observed.T @ coarse
                )
        ability, weights = np.concatenate(abilities), self.data.counted(slice(0, len(mean)))
        mean_grad = weights * (ability - mean) / sd**2
        sd_terms = weights * (np.concatenate(squares) - 1)
        sd_grad: Floats = np.bincount(facts.groups, sd_terms, facts.n_groups).astype(float)
        item_grad = np.zeros_like(coords)
        if self.joint:
            item_grad = model.curvature(coords, nodes.coarse, counts, totals)[0]
        gradient = item_grad, facts.columns.T @ mean_grad, sd_grad
        return value, gradient, ability, np.maximum(np.concatenate(variances), 0.0)

    def loss(self, flat: Floats) -> tuple[float, Floats]:
        """Return minus the log-likelihood with priors that count once, and its gradient."""
        coords, coefficients, log_sd = self.split(flat)
        value, (item_grad, *population_grad), *_ = self.marginal(coords, coefficients, log_sd)
        parts = []
        if self.joint:
            share = 1 / len(coords)  # of many priors: together they count as one
            value += share * float(log_prior(self.model, coords).sum())
            item_grad = item_grad + share * prior_derivatives(self.model, coords)[0]
            parts = [item_grad[:, self.shared].sum(axis=0), item_grad[self.own]]
        parts.append(np.concatenate(population_grad)[self.free_population])
        return -value, -np.concatenate(parts)

    def maximize(self) -> tuple[Floats, bool]:
        """Maximize the likelihood with L-BFGS-B; return the numbers, and whether it converged."""
        from scipy.optimize import minimize

        start = np.concatenate(
            [
                self.start_coords[0, self.shared],
                self.start_coords[self.own],
                np.zeros(self.n_free),
            ]
        )
        bounds: list[tuple[Any, Any]] = [(None, None)] * start.size
        ends = []
        for end in ("low", "high"):
            limit = np.array([getattr(c, end) for c in self.model.coordinates])
            own = np.broadcast_to(limit, self.own.shape)[self.own]
            ends.append(np.concatenate([limit[self.shared], own]))
        bounds[: ends[0].size] = list(zip(*ends, strict=True))
        n_sd = int(self.free_population[self.facts.columns.shape[1] :].sum())
        if n_sd:
            bounds[-n_sd:] = [(LEAST_LOG_SD, MOST_LOG_SD)] * n_sd
        options = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-13, "gtol": 1e-4, "maxcor": 30}
        found = minimize(
            self.loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return found.x, bool(found.success)

    def leaves_the_nodes(self, flat: Floats) -> bool:
        """Return True if the abilities of some respondents lie beyond all nodes."""
        _, coefficients, log_sd = self.split(flat)
        ends = np.abs(self.facts.columns @ coefficients) + 5 * np.exp(log_sd)[self.facts.groups]
        return bool(ends.max() > REACH[1])

    def covariance(self, flat: Floats) -> Floats:
        """Return the covariance of free numbers of the population, from the observed information.

        The information includes the items, so that their uncertainty counts.
        """
        columns = []
        for step in NUDGE * np.eye(flat.size):
            up, down = self.loss(flat + step)[1], self.loss(flat - step)[1]
            columns.append((up - down) / (2 * NUDGE))
        information = np.array(columns)
        inverse = np.linalg.pinv(0.5 * (information + information.T), hermitian=True).astype(float)
        return inverse[flat.size - self.n_free :, flat.size - self.n_free :]


@dataclass(frozen=True, eq=False)
class ExplainedItems:
    """Coefficients and the deviation that facts leave, with errors; difficulties given the facts.

    `covariance` is of the coefficients, in units of these respondents: that other respondents
    would have given another origin and unit is no error of theirs.
    """

    used: np.ndarray  # (n_items,): True if the difficulty is known
    coefficients: Floats
    covariance: Floats
    sd: float
    log_sd_error: float
    difficulty: Floats  # (n_used,), as the next two
    difficulty_se: Floats
    means: Floats


def usable_items(calibration: Calibration) -> np.ndarray:
    """Return items whose difficulty is known, and on which better respondents do better."""
    items = calibration.items
    found: np.ndarray = (
        np.isfinite(items["difficulty"].to_numpy(dtype=float))
        & (items["difficulty_se"].to_numpy(dtype=float) < VAGUE)
        & (items["discrimination"].to_numpy(dtype=float) > 0)
    )
    return found


def explain_items_of(
    calibration: Calibration, table: Responses, columns: Floats, used: np.ndarray
) -> ExplainedItems:
    """Regress true difficulty on the columns, one row for each of the items used."""
    places = np.flatnonzero(used)
    estimate, error, shared = _difficulties(calibration, places)
    # Each likelihood is evaluated near the estimate, or near all items if the estimate is vague.
    middle = float(np.median(estimate))
    spread = max(0.5, 1.5 * float(np.median(np.abs(estimate - middle))) / 0.6745)
    variance = 1 / (1 / spread**2 + 1 / error**2)
    center, scale = variance * (middle / spread**2 + estimate / error**2), np.sqrt(variance)
    grid = center[:, None] + scale[:, None] * FINE
    curves = -0.5 * ((grid - estimate[:, None]) / error[:, None]) ** 2
    answers = table.observed.sum(axis=0)[places]
    short = np.flatnonzero((answers < MANY) | (error > CERTAIN))
    if short.size:
        curves[short] = _curves(calibration, table, places[short], center[short], scale[short])
    objective = _DifficultyObjective(grid, curves, columns)
    log_sd, log_sd_error = objective.maximize()
    coefficients, weights, mean, variance = objective.at(log_sd)
    inverse = np.linalg.inv(columns.T @ (weights[:, None] * columns))
    influence = inverse @ columns.T * weights  # of difficulties on coefficients
    # Origin and unit of the scale add errors, except those of the sample of respondents.
    together = influence @ shared.T
    origin, unit = influence.sum(axis=1), influence @ estimate
    sampling = (np.outer(origin, origin) + np.outer(unit, unit) / 2) / table.n_respondents
    size, directions = np.linalg.eigh(together @ together.T - sampling)
    return ExplainedItems(
        used=used,
        coefficients=coefficients,
        covariance=inverse + (directions * np.maximum(size, 0.0)) @ directions.T,
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


class _DifficultyObjective:
    """The restricted likelihood of the deviation, with the best coefficients for each."""

    def __init__(self, grid: Floats, curves: Floats, columns: Floats) -> None:
        self.grid, self.curves, self.columns = grid, curves, columns
        top = np.take_along_axis(grid, curves.argmax(axis=1)[:, None], axis=1)[:, 0]
        self.coefficients = np.asarray(np.linalg.lstsq(columns, top, rcond=None)[0], dtype=float)
        self.value = 0.0

    def at(self, log_sd: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return best coefficients, weights of items, mean and variance of every difficulty."""
        precision = np.exp(-2 * log_sd)
        for _ in range(MAX_NEWTON):
            z = (self.grid - (self.columns @ self.coefficients)[:, None]) * np.exp(-log_sd)
            joint = self.curves - 0.5 * z**2 - log_sd
            top = joint.max(axis=1, keepdims=True)
            posterior = np.exp(joint - top)
            total = posterior.sum(axis=1)
            value = float((top[:, 0] + np.log(total)).sum())
            posterior /= total[:, None]
            mean = (posterior * self.grid).sum(axis=1)
            variance = (posterior * (self.grid - mean[:, None]) ** 2).sum(axis=1)
            weights = np.maximum(precision * (1 - precision * variance), 1e-6 * precision)
            gradient = self.columns.T @ (precision * (mean - self.columns @ self.coefficients))
            information = self.columns.T @ (weights[:, None] * self.columns)
            step = np.linalg.solve(information, gradient)
            self.coefficients = self.coefficients + step
            if np.abs(self.columns @ step).max() < 1e-8:
                break
        self.value = value - 0.5 * float(np.linalg.slogdet(information)[1])
        return self.coefficients, weights, mean, variance

    def loss(self, log_sd: float) -> float:
        """Return minus the restricted log-likelihood."""
        self.at(log_sd)
        return -self.value

    def maximize(self) -> tuple[float, float]:
        """Return the log of the deviation, and its error."""
        from scipy.optimize import minimize_scalar

        ends = np.log(LEAST_SD), np.log(MOST_SD)
        found = minimize_scalar(self.loss, bounds=ends, method="bounded", options={"xatol": 1e-5})
        best = float(np.clip(found.x, ends[0] + LOG_SD_STEP, ends[1] - LOG_SD_STEP))
        sides = [self.loss(best + step) for step in (-LOG_SD_STEP, 0.0, LOG_SD_STEP)]
        curvature = (sides[0] - 2 * sides[1] + sides[2]) / LOG_SD_STEP**2
        return best, float(1 / np.sqrt(max(curvature, 0.5)))


def _curves(
    calibration: Calibration, table: Responses, places: np.ndarray, center: Floats, scale: Floats
) -> Floats:
    """Return log-likelihoods of items on a fine grid, given all other answers."""
    from scipy.interpolate import CubicSpline

    model = calibration.model
    data = encode(table.cells, model, collapsing=False, tries=table.tries)
    nodes, joint = likelihood_on_nodes(data, model, calibration.coords, calibration.population)
    joint = joint + calibration.population.log_density(nodes)
    posterior = np.exp(joint - joint.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    block = data.block(slice(0, len(posterior)))
    targets = center[:, None] + scale[:, None] * PLACES
    coords = _with_difficulties(calibration, places, targets)
    found = np.zeros((len(places), PLACES.size))
    for row, place in enumerate(places):
        before = model.log_terms(calibration.coords[[place]], nodes)
        change = model.log_terms(coords[row], nodes) - before  # (1 + n_statistics, n_moved, nodes)
        statistics = [np.asarray(part[:, place], dtype=float) for part in block.statistics]
        asked = np.ones(len(posterior))
        if block.observed is not None:
            asked = np.asarray(block.observed[:, place], dtype=float)
        answers = np.stack([asked, *statistics], axis=1)
        kinds, which = np.unique(answers, axis=0, return_inverse=True)
        for k, kind in enumerate(kinds):
            ratio = np.exp(np.clip(np.tensordot(kind, change, axes=1), -LARGEST, LARGEST))
            same = posterior[which.reshape(-1) == k]
            found[row] += np.log(same @ ratio.T + 1e-300).sum(axis=0)
    return np.asarray(CubicSpline(PLACES, found, axis=1)(FINE), dtype=float)


def _with_difficulties(calibration: Calibration, places: np.ndarray, targets: Floats) -> Floats:
    """Return coordinates with given difficulties, nearest to the estimates in their covariance.

    Shared directions stay: one item cannot change what all items have in common.
    """
    model, known = calibration.model, calibration.uncertainty
    n_items, n_targets = targets.shape
    start = np.repeat(calibration.coords[places], n_targets, axis=0)
    shared = known.shared[:, places]
    own = known.covariances[places] - np.einsum("kni,knj->nij", shared, shared)
    own += 1e-9 * np.eye(own.shape[1])
    covariance = np.repeat(own, n_targets, axis=0)
    low = np.array([c.low for c in model.coordinates])
    high = np.array([c.high for c in model.coordinates])
    coords, goal = start, targets.reshape(-1)
    for _ in range(STEPS):
        # discrimination × (difficulty - goal) is 0 where difficulty - goal is, and nearly linear
        numbers, slopes = model.parameters(coords), model.parameter_jacobian(coords)
        steep, gap = numbers["discrimination"], numbers["difficulty"] - goal
        slope = steep[:, None] * slopes["difficulty"] + gap[:, None] * slopes["discrimination"]
        missing = ((coords - start) * slope).sum(axis=1) - steep * gap
        direction = np.einsum("nij,nj->ni", covariance, slope)
        size = np.maximum((direction * slope).sum(axis=1), 1e-12)
        coords = np.clip(start + direction * (missing / size)[:, None], low, high)
    return coords.reshape(n_items, n_targets, -1)

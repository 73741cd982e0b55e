"""Populations whose mean depends on facts of respondents: groups, and latent regression.

Ability given the facts x of a respondent is normal with mean x β and the standard deviation of its
group. What is climbed is the marginal likelihood, so that errors count how uncertain every ability
is. Where respondents are many, items are found together with the population; where they are few,
or items many, items stay where a calibration put them: their errors average out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ogive.calibration import Calibration
from ogive.calibration.uncertainty import KnownCovariances
from ogive.errors import InputError
from ogive.estimation.maximization import (
    log_penalty,
    moved_covariances,
    moved_directions,
    penalty_slopes,
)
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.responses import Responses
from ogive.responses.encoding import Encoded, encode
from ogive.scoring.posterior import (
    LOWEST,
    LogLikelihood,
    Nodes,
    NormalPopulation,
    normalised,
    plan_nodes,
)

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
    """The items where the first group has mean 0 and standard deviation 1."""
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
        """Begin at the items of a calibration."""
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
        """Items, coefficients and log standard deviations."""
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
        """The items as they are, one mean, one standard deviation."""
        n_free = int(self.free_population.sum())
        if self.free_items is None:
            return np.zeros(n_free)
        shared = self.model.shared
        own = self.begin[self.free_items & ~shared]
        return np.concatenate([self.begin[0, shared], own, np.zeros(n_free)])

    def marginal(
        self, coords: Floats, coefficients: Floats, log_sd: Floats
    ) -> tuple[float, tuple[Floats, Floats, Floats], Floats, Floats]:
        """Log-likelihood, its slopes, and mean and variance of every posterior."""
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
        """Minus the log-likelihood with priors that count once, and its gradient."""
        coords, coefficients, log_sd = self.split(flat)
        value, (of_items, *of_population), *_ = self.marginal(coords, coefficients, log_sd)
        parts = []
        if self.free_items is not None:
            share = 1 / len(coords)  # of many priors: together they count as one
            value += share * float(log_penalty(self.model, coords).sum())
            slope = of_items + share * penalty_slopes(self.model, coords)[0]
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
        """Whether some respondents stand where no node is."""
        _, coefficients, log_sd = self.split(flat)
        ends = np.abs(self.facts.columns @ coefficients) + 5 * np.exp(log_sd)[self.facts.groups]
        return bool(ends.max() > REACH[1])

    def covariance(self, flat: Floats) -> Floats:
        """Covariance of what is free of the population, from the observed information.

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

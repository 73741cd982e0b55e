"""The step that one iteration proposes, and Anderson acceleration with backtracking.

A proposed step has three parts: the M-step of every item, a Newton step along the latent scale,
and, in its place, Newton steps alone, which never lose if they are short enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.e_step import Tables, tables_of_items
from ogive.irt.estimation.latent_scale import FixedItems, prior_information, scale_step
from ogive.irt.estimation.m_step import (
    add_diagonal,
    bounded_step,
    keep_inside,
    maximize_items,
    shorten,
)
from ogive.irt.estimation.objective import Iterate, Problem
from ogive.irt.models.base import MeasurementModel
from ogive.stats.array_backend import Array, Run, array_namespace, as_numpy, by_items, like
from ogive.stats.newton import Anderson, is_safe

CLOSE = 100.0  # items' gain in nats below which a model that is not affine takes a scale step
NEAR = 1.0  # items' gain in nats below which nodes are planned for good
LEAST_POPULATION_INFORMATION = 0.3  # information per respondent that can guide a population step
MAX_POPULATION_STEP = 0.5  # population standard deviations
MANY_RESPONDENTS = 1_000  # respondents with which, given priors, Newton steps reach every maximum
SMALL_GAIN = 1e-3  # nats below which the Newton step of an item reaches its maximum
MAX_BACKTRACKS = 12  # shorter and shorter steps that all lose before rounding errors are blamed
STALL_ITER = 15  # iterations without halving of the decrement that count as a stall
STALL_DECREMENT = 1e-3  # nats below which a stall is possible
PLAIN_ITER = 40  # iterations without acceleration after a stall


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """A step from an iterate, the gain that it promises, and the metric of the acceleration."""

    iterate: Iterate
    full: Array  # M-step and scale step
    m_step: Array  # of each item by itself, as in plain EM: never a loss
    newton_only: Array  # one Newton step instead of the M-step: no loss either, if short enough
    gains: Array  # (n_items,): log-likelihood in nats that each item still has to gain
    decrement: float  # the same of all items and their scale
    metric: Array

    @property
    def coords(self) -> Array:
        """The point at which the step begins."""
        return self.iterate.coords


def propose(problem: Problem, data: Encoded, iterate: Iterate) -> NewtonStep:
    """Return the step of one iteration; `data` is the problem's, or it in single precision."""
    if problem.fixed_items is not None:
        return _propose_beside_fixed(problem, data, iterate, problem.fixed_items)
    model, xp = problem.model, array_namespace(iterate.coords)
    coords, expectation, system = iterate.coords, iterate.expectation, iterate.system
    newton, gains = bounded_step(model, coords, system)
    m_step = newton
    n = data.n_respondents
    has_priors = n >= MANY_RESPONDENTS and all(c.prior is not None for c in model.coordinates)
    newton_suffices = has_priors and float(xp.sum(gains)) < NEAR
    if expectation.tables is not None and not (newton_suffices or model.shared.any()):
        m_step = _m_step(problem, data, iterate, expectation.tables, newton, gains)
    along_scale, scale_gain = 0 * m_step, 0.0
    if model.affine or float(xp.sum(gains)) < CLOSE:
        directions = model.scale_directions(coords)
        population = expectation.scale + prior_information(
            model, directions, iterate.prior_curvature
        )
        population = population + n * model.scale_information(coords)
        along_scale, scale_gain = scale_step(
            directions, system.gradient, system.information, population
        )
    return NewtonStep(
        iterate,
        full=shorten(model, m_step + along_scale),
        m_step=shorten(model, m_step),
        newton_only=shorten(model, newton),
        gains=gains,
        decrement=float(xp.sum(gains)) + scale_gain,
        metric=xp.linalg.diagonal(system.information),
    )


def _m_step(
    problem: Problem, data: Encoded, iterate: Iterate, tables: Tables, newton: Array, gains: Array
) -> Array:
    """Return the M-step of every item; `newton` is that for items with little to gain."""
    xp, expectation = array_namespace(newton), iterate.expectation
    observed, expected = (
        add_diagonal(information, iterate.prior_curvature)
        for information in (expectation.observed, expectation.expected)
    )
    items = xp.nonzero((gains > SMALL_GAIN) | ~is_safe(observed, expected))[0]
    step = newton + 0
    if items.shape[0]:
        if not isinstance(tables[0], np.ndarray):  # a GPU does all sooner than it selects some
            items = xp.arange(gains.shape[0], device=gains.device)
        start = iterate.coords[items]
        correction = iterate.prior_grad_correction[items]
        tables = tables_of_items(tables, items)
        maxima = _item_maxima(
            problem.model, data, start, newton[items], gains[items], tables, correction, problem.run
        )
        step[items] = maxima - start
    return xp.where(iterate.fixed, 0 * step, step)


def _item_maxima(
    model: MeasurementModel,
    data: Encoded,
    coords: Array,
    first_step: Array,
    gains: Array,
    tables: Tables,
    correction: Array,
    run: Run,
) -> Array:
    """Return every item at its maximum; items are split into blocks, where the tables lie."""
    placed = [like(values, tables[0]) for values in (coords, first_step, gains, correction)]

    def maximize(items: slice) -> tuple[Array]:
        start, step, gain, own_correction = (values[items] for values in placed)
        own = tables_of_items(tables, items)
        return (maximize_items(model, start, step, gain, own, own_correction, data.recordings),)

    (maxima,) = by_items(run, placed[0], tables[0].shape[0], maximize)
    return like(maxima, coords)


def _propose_beside_fixed(
    problem: Problem, data: Encoded, iterate: Iterate, fixed_items: FixedItems
) -> NewtonStep:
    """Return the step of one iteration beside fixed items: of the others, and of the population.

    Moving the population is moving all items the other way; priors of items do not affect it.
    """
    model, xp = problem.model, array_namespace(iterate.coords)
    coords, expectation = iterate.coords, iterate.expectation
    newton, gains = bounded_step(model, coords, iterate.system)
    m_step = newton + 0
    items = xp.astype(like(np.flatnonzero(~fixed_items.mask), coords), xp.int64)
    if expectation.tables is not None and items.shape[0] and not model.shared.any():
        start, tables = coords[items], tables_of_items(expectation.tables, items)
        maxima = _item_maxima(
            model, data, start, newton[items], gains[items], tables, 0 * start, problem.run
        )
        m_step[items] = maxima - start
    along_scale, scale_gain = _population_step(model, iterate, fixed_items, data.n_respondents)
    m_step, newton = shorten(model, m_step), shorten(model, newton)
    return NewtonStep(
        iterate,
        full=m_step + along_scale,
        m_step=m_step,
        newton_only=newton + along_scale,
        gains=gains,
        decrement=float(xp.sum(gains)) + scale_gain,
        metric=xp.linalg.diagonal(iterate.system.information),
    )


def _population_step(
    model: MeasurementModel, iterate: Iterate, fixed_items: FixedItems, n_respondents: float
) -> tuple[Array, float]:
    """Return a Newton step of the population's mean and sd beside fixed items, and its gain."""
    coords, expectation = iterate.coords, iterate.expectation
    xp = array_namespace(coords)
    flat = xp.reshape(model.scale_directions(coords), (2, -1))
    prior_grad, prior_curvature = fixed_items.population_prior(model, coords)
    gradient = as_numpy(flat @ xp.reshape(expectation.gradient, (-1,))) + prior_grad
    information = expectation.scale + np.diag(prior_curvature)
    if np.linalg.eigvalsh(information)[0] < LEAST_POPULATION_INFORMATION * n_respondents:
        # Too little to guide a step: take that of complete data instead.
        information = n_respondents * np.diag([1.0, 2.0]) + np.diag(prior_curvature)
    step = np.linalg.solve(information, gradient)
    gain = max(0.0, 0.5 * float(gradient @ step))
    step = np.clip(step, -MAX_POPULATION_STEP, MAX_POPULATION_STEP)
    return xp.reshape(like(step, coords) @ flat, coords.shape), gain


class StepController:
    """Choose the next point: accelerated, plain after a stall, shorter after a loss.

    Anderson acceleration (Anderson, 1965) takes a flat stretch, over which an item creeps, for a
    maximum; plain steps lead on from there.
    """

    def __init__(self, model: MeasurementModel, fixed_items: FixedItems | None = None) -> None:
        self._model, self._fixed_items = model, fixed_items
        self._anderson = Anderson()
        self._best_decrement, self._stalled, self._plain, self._tries = inf, 0, 0, 0

    def reset(self) -> None:
        """Restart the acceleration: the map has changed, or the last step lost."""
        self._anderson.forget()

    def plain_step(self, step: NewtonStep) -> Array:
        """Return the point that the full step leads to."""
        return self._inside(step, step.full)

    def advance(self, step: NewtonStep) -> Array:
        """Return the next point, accelerated except after a stall."""
        self._tries = 0
        if step.decrement < 0.5 * self._best_decrement:
            self._best_decrement, self._stalled = step.decrement, 0
        self._stalled += 1
        if self._stalled > STALL_ITER and step.decrement < STALL_DECREMENT:
            self._best_decrement, self._stalled, self._plain = inf, 0, PLAIN_ITER
            self.reset()
        if self._plain:
            self._plain -= 1
            return self.plain_step(step)
        next_coords = self._anderson.advance(step.coords, step.full, step.metric)
        fixed_items = self._fixed_items
        if fixed_items is not None and fixed_items.changes_sd_much(
            self._model, step.coords, next_coords
        ):
            self.reset()  # from a population without width there is no way back
            return self.plain_step(step)
        return keep_inside(self._model, step.coords, next_coords)

    def backtrack(self, step: NewtonStep) -> Array | None:
        """Return another point from where the last step began, since it lost; None after many."""
        self.reset()
        self._tries += 1
        if self._tries > MAX_BACKTRACKS:
            return None
        if self._tries <= 2:
            return self._inside(step, step.full if self._tries == 1 else step.m_step)
        return self._inside(step, 0.5 ** (self._tries - 3) * step.newton_only)

    def _inside(self, step: NewtonStep, move: Array) -> Array:
        return keep_inside(self._model, step.coords, step.coords + move)

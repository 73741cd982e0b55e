"""Where a fit stands, the step that one iteration proposes from there, and where it goes next.

With priors that count once along the scale (`once_only`) what is climbed is not a function of the
coordinates but a field of slopes: the slope of log-likelihood and log-prior, and a `tilt`. Between
two places it does `work`, the trapezoid of the tilt along the way; without priors, or where they
count as usual, the work is the difference of two values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.fit import Expectation, Tables, of_items
from ogive.irt.estimation.latent_scale import Held
from ogive.irt.estimation.m_step import (
    Slopes,
    add_diagonal,
    bounded_step,
    climb_items,
    keep_inside,
    log_penalty,
    once_only,
    penalised_information,
    penalty_slopes,
    prior_information,
    scale_step,
    shorten,
    stuck,
    take_out,
    tangents,
)
from ogive.irt.models.base import MeasurementModel
from ogive.stats.array_backend import Array, Run, array_namespace, as_numpy, by_items, like
from ogive.stats.newton import Anderson, is_safe

CLOSE = 100.0  # nats left to gain at which a scale that is no direction of its own is one, nearly
NEAR = 1.0  # nats left to gain at which nodes are planned for good
VAGUE = 0.3  # information on a population, by respondent, too little to take a step by
LONGEST_MOVE = 0.5  # of a population, in its standard deviations
MANY = 1_000  # respondents who, with priors, leave no item far from its top in the end
LITTLE = 1e-3  # nats that an item has to gain at which Newton's step leads to its top
ROUNDING = 1e-12, 1e-7  # of a log-likelihood, relative, in double and in single precision
HARDLY = 1e-2  # nats that a longest step costs where nothing is determined
MOST_SCALED = 2.0  # a longest step, where a model has no limit
INTERPOLATION = 1e-9  # of a log-likelihood, by respondent, where posteriors come from a table
MOST_TRIES = 12  # shorter and shorter steps that all lose: what is left is rounding errors
STALL = 15  # iterations in which what is left to gain, next to nothing, was never halved
NEXT_TO_NOTHING = 1e-3  # nats
STEPS_THROUGH = 40  # plain ones after a stall


@dataclass(frozen=True, eq=False)
class Place:
    """A point, the E-step there, and what is climbed: its value and its slopes."""

    coords: Array
    found: Expectation
    value: float  # log-likelihood and log-priors
    tilt: Array  # (n_items, width): what the priors' part along the scale takes back
    stiffness: Array  # (n_items, width)
    slopes: Slopes  # what is fixed is taken out
    fixed: Array  # (n_items, width): what presses against a bound, is absent, or held

    def work(self, other: Place) -> float:
        """Return what is gained on the way from here to the `other` place."""
        xp = array_namespace(self.coords)
        along = 0.5 * (self.tilt + other.tilt) * (other.coords - self.coords)
        return other.value - self.value + float(xp.sum(along))

    def rounding(self, data: Encoded) -> float:
        """Return differences of values smaller than this say nothing."""
        relative = ROUNDING[int(data.single)]
        return relative * abs(self.value) + INTERPOLATION * data.n_respondents


@dataclass(frozen=True, eq=False)
class Move:
    """A step from a place, what it promises, and the metric to compare it in."""

    place: Place
    step: Array  # of all items, and of their scale
    own: Array  # of each item by itself: what EM does, and never a loss
    slight: Array  # Newton's: where it is short enough, never a loss either
    gains: Array  # (n_items,): log-likelihood that each item still has to gain, in nats
    decrement: float  # the same of all items and their scale
    metric: Array

    @property
    def coords(self) -> Array:
        """Where the step begins."""
        return self.place.coords


def survey(
    model: MeasurementModel,
    coords: Array,
    found: Expectation,
    held: Held | None = None,
    frozen: Array | None = None,
    *,
    once: bool = True,
) -> Place:
    """Value and slopes at `coords`, where the E-step gave `found`; what is `frozen` is fixed.

    Along the scale, priors count `once` or in full.
    """
    xp = array_namespace(coords)
    if held is not None:
        pull, stiffness = held.penalty_slopes(model, coords)
        value = found.log_likelihood + held.log_penalty(model, coords)
        tilt = held.tilt(model, coords, pull)
    else:
        pull, stiffness = penalty_slopes(model, coords)
        value = found.log_likelihood + float(xp.sum(log_penalty(model, coords)))
        metric = add_diagonal(found.expected, stiffness)
        tilt = -once_only(model, tangents(model, coords), pull, metric) if once else 0 * pull
    information = penalised_information(found.observed, found.expected, stiffness)
    gradient = found.gradient + pull + tilt
    fixed = stuck(model, coords, gradient)
    if held is not None:
        fixed = fixed | (like(held.free(model), coords) == 0)
    if frozen is not None:
        fixed = fixed | frozen
    slopes = take_out(Slopes(gradient, information), fixed)
    return Place(coords, found, value, tilt, stiffness, slopes, fixed)


def weakest(model: MeasurementModel, place: Place) -> tuple[Array, Array]:
    """What the responses hardly determine: items (n_items,), and of each its loosest coordinate.

    Some longest step of such an item changes what is climbed by less than a hundredth of a nat,
    even if abilities were known. The coordinates are (n_items, width).
    """
    longest = np.array([min(c.longest, MOST_SCALED) for c in model.coordinates])
    information = as_numpy(place.slopes.information) * longest[:, None] * longest
    free = ~as_numpy(place.fixed)
    both = free[:, :, None] & free[:, None, :]
    values, vectors = np.linalg.eigh(np.where(both, information, np.eye(model.width)))
    loose = (values[:, 0] < 2 * HARDLY) & free.any(axis=1)
    loosest = np.argmax(np.abs(vectors[:, :, 0]) * free, axis=1)
    mask = loose[:, None] & (np.arange(model.width) == loosest[:, None]) & ~model.shared
    return like(mask.any(axis=1), place.coords) > 0, like(mask, place.coords) > 0


def propose(data: Encoded, model: MeasurementModel, place: Place, run: Run = map) -> Move:
    """Return the step of one iteration."""
    xp = array_namespace(place.coords)
    coords, found, slopes = place.coords, place.found, place.slopes
    own, gains = bounded_step(model, coords, slopes)
    slight = own
    n_respondents = data.n_respondents
    sure = n_respondents >= MANY and all(c.prior is not None for c in model.coordinates)
    on_top = sure and float(xp.sum(gains)) < NEAR
    if found.tables is not None and not (on_top or model.shared.any()):
        own = _climb(data, model, place, found.tables, own, gains, run)
    common, gain = 0 * own, 0.0
    if model.affine or float(xp.sum(gains)) < CLOSE:
        directions = tangents(model, coords)
        known = found.scale + prior_information(model, directions, place.stiffness)
        known = known + n_respondents * model.scale_information(coords)
        common, gain = scale_step(directions, slopes.gradient, slopes.information, known)
    return Move(
        place,
        shorten(model, own + common),
        shorten(model, own),
        shorten(model, slight),
        gains,
        float(xp.sum(gains)) + gain,
        xp.linalg.diagonal(slopes.information),
    )


def propose_beside(
    data: Encoded, model: MeasurementModel, place: Place, held: Held, run: Run = map
) -> Move:
    """Return the step of one iteration where some items are held: free items, and the population.

    Moving the population is moving all items the other way; priors of items do not affect it.
    """
    xp = array_namespace(place.coords)
    coords, found, slopes = place.coords, place.found, place.slopes
    slight, gains = bounded_step(model, coords, slopes)
    own = slight + 0
    items = xp.astype(like(np.flatnonzero(~held.mask), coords), xp.int64)
    if found.tables is not None and items.shape[0] and not model.shared.any():
        here, tables = coords[items], of_items(found.tables, items)
        ahead = _climbed(data, model, here, slight[items], gains[items], tables, 0 * here, run)
        own[items] = ahead - here
    together, gain = _population_step(model, coords, found, held, data.n_respondents)
    own, slight = shorten(model, own), shorten(model, slight)
    return Move(
        place,
        own + together,
        own,
        slight + together,
        gains,
        float(xp.sum(gains)) + gain,
        xp.linalg.diagonal(slopes.information),
    )


def _population_step(
    model: MeasurementModel, coords: Array, found: Expectation, held: Held, n_respondents: float
) -> tuple[Array, float]:
    """Return a Newton step of the population's mean and sd beside held items, and its gain."""
    xp = array_namespace(coords)
    flat = xp.reshape(tangents(model, coords), (2, -1))
    pull, stiffness = held.population_pull(model, coords)
    along = as_numpy(flat @ xp.reshape(found.gradient, (-1,))) + pull
    known = found.scale + np.diag(stiffness)
    if np.linalg.eigvalsh(known)[0] < VAGUE * n_respondents:  # no guide; as if abilities were seen
        known = n_respondents * np.diag([1.0, 2.0]) + np.diag(stiffness)
    step = np.linalg.solve(known, along)
    gain = max(0.0, 0.5 * float(along @ step))
    step = np.clip(step, -LONGEST_MOVE, LONGEST_MOVE)
    return xp.reshape(like(step, coords) @ flat, coords.shape), gain


def _climb(
    data: Encoded,
    model: MeasurementModel,
    place: Place,
    tables: Tables,
    step: Array,
    gains: Array,
    run: Run,
) -> Array:
    """Return the way to the top of every item; Newton's `step` is that where little is to gain."""
    xp, found = array_namespace(step), place.found
    observed, expected = (
        add_diagonal(told, place.stiffness) for told in (found.observed, found.expected)
    )
    items = xp.nonzero((gains > LITTLE) | ~is_safe(observed, expected))[0]
    own = step + 0
    if items.shape[0]:
        if not isinstance(tables[0], np.ndarray):  # a device is sooner told of all than of some
            items = xp.arange(gains.shape[0], device=gains.device)
        here, tilt = place.coords[items], place.tilt[items]
        tables = of_items(tables, items)
        own[items] = (
            _climbed(data, model, here, step[items], gains[items], tables, tilt, run) - here
        )
    return xp.where(place.fixed, 0 * own, own)


def _climbed(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    step: Array,
    gains: Array,
    tables: Tables,
    tilt: Array,
    run: Run,
) -> Array:
    """Return every item on its top, in blocks, where the tables lie."""
    there = [like(given, tables[0]) for given in (coords, step, gains, tilt)]

    def climb(items: slice) -> tuple[Array]:
        begin, first, gain, pull = (given[items] for given in there)
        own = of_items(tables, items)
        return (climb_items(model, begin, first, gain, own, pull, data.recordings),)

    (found,) = by_items(run, there[0], tables[0].shape[0], climb)
    return like(found, coords)


class Course:
    """Where the iterations go next: mixed steps, plain ones, and shorter ones after a loss.

    Mixing holds an item back that creeps over a flat stretch, since it takes the stretch for a
    maximum; plain steps go on.
    """

    def __init__(self, model: MeasurementModel, held: Held | None = None) -> None:
        self._model, self._held = model, held
        self._mixing = Anderson()
        self._mark, self._stalled, self._plain, self._tries = inf, 0, 0, 0

    def forget(self) -> None:
        """Start mixing again: the map has changed, or the last step was a bad one."""
        self._mixing.forget()

    def step(self, move: Move) -> Array:
        """Return the point that a plain step leads to."""
        return self._inside(move, move.step)

    def onward(self, move: Move) -> Array:
        """Return the next point."""
        self._tries = 0
        if move.decrement < 0.5 * self._mark:
            self._mark, self._stalled = move.decrement, 0
        self._stalled += 1
        if self._stalled > STALL and move.decrement < NEXT_TO_NOTHING:
            self._mark, self._stalled, self._plain = inf, 0, STEPS_THROUGH
            self.forget()
        if self._plain:
            self._plain -= 1
            return self.step(move)
        ahead = self._mixing.advance(move.coords, move.step, move.metric)
        if self._held is not None and self._held.leaps(self._model, move.coords, ahead):
            self.forget()  # towards a population without width there is no way back
            return self.step(move)
        return keep_inside(self._model, move.coords, ahead)

    def back(self, move: Move) -> Array | None:
        """Return another point from where the last step began, since it lost; None after many."""
        self.forget()
        self._tries += 1
        if self._tries > MOST_TRIES:
            return None
        if self._tries <= 2:
            return self._inside(move, move.step if self._tries == 1 else move.own)
        return self._inside(move, 0.5 ** (self._tries - 3) * move.slight)

    def _inside(self, move: Move, step: Array) -> Array:
        return keep_inside(self._model, move.coords, move.coords + step)

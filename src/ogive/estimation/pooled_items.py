"""Items of one test are alike: what all of them show tells of each (partial pooling).

Few respondents leave every item vague, and its most likely parameters are too good to be true:
discriminations lie higher and farther apart than those of the items do, so that responses seem to
tell more of respondents than they can. How far items really lie apart is learnt from all of them
together, as the mean and the spread of each coordinate (empirical Bayes; Mislevy, 1986), and is
the prior under which the items are found once more. The errors of respondents are computed from
these items; those that the calibration reports keep the priors that were asked for.

Where the curves themselves tell the unit of the scale, as those of the beta model do, a common
prior would speak of the unit, too. Items stay as they are then, and only their errors widen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ogive.calibration import KnownCovariances, PooledItems
from ogive.estimation.ascent import ascend
from ogive.estimation.fit_task import Ascent, Task
from ogive.estimation.observed_information import observed_inverse
from ogive.estimation.population_shape import with_unknown_shape
from ogive.models import MeasurementModel
from ogive.models.priors import Normal
from ogive.numerics.arrays import Floats, Run, as_numpy
from ogive.responses.encoding import Encoded, Work
from ogive.scoring import HistogramPopulation

FEW = 150  # respondents; where there are more, items are known well enough by themselves
LEAST_ITEMS = 10  # with which the spread of items is known
TURNS = 4
ROUGH = 1e-3  # nats that are left to gain when the items are found once more
MOST_ITERATIONS = 50
LEAST_SPREAD = 0.05  # of a coordinate over the items
LEAST_SHARE = 0.05  # of the variance over items that is never called noise
LEAST_NOISE = 1e-6


def poolable(task: Task) -> bool:
    """Whether items are vague, and many enough to learn from each other."""
    return (
        task.data.n_respondents < FEW
        and task.data.shape[1] >= LEAST_ITEMS
        and task.held is None
        and not task.model.shared.any()
    )


def pool(task: Task, found: Ascent) -> PooledItems | None:
    """Items given what they have in common; None where they cannot be found."""
    telling = _telling(task.model, as_numpy(found.coords))
    if not telling.all():
        return _beside_constant(task, found, telling)
    errors, learnt = _errors(task, found), False
    for _ in range(TURNS):
        coords = as_numpy(found.coords)
        model = _with_common_priors(task.model, coords, errors, learnt=learnt)
        task, learnt = replace(task, model=model), True
        found = ascend(task, found.coords, tolerance=ROUGH, most=MOST_ITERATIONS)
        errors = _errors(task, found)
    coords = as_numpy(found.coords)
    sound = all(np.isfinite(part).all() for part in (coords, errors.covariances, errors.shared))
    return PooledItems(coords, errors.covariances, errors.shared) if sound else None


def _beside_constant(task: Task, found: Ascent, telling: np.ndarray) -> PooledItems | None:
    """The other items given what they have in common; constant ones as they were found."""
    if telling.sum() < LEAST_ITEMS:
        return None
    places = np.flatnonzero(telling)
    part = replace(task, data=task.data.of_items(places), model=task.model.of_items(places))
    start = ascend(part, found.coords[places], tolerance=ROUGH, most=MOST_ITERATIONS)
    pooled = pool(part, start)
    if pooled is None:
        return None
    coords = as_numpy(found.coords).copy()
    covariances = np.zeros((*coords.shape, coords.shape[1]))
    shared = np.zeros((len(pooled.shared), *coords.shape))
    coords[places], covariances[places] = pooled.coords, pooled.covariances
    shared[:, places] = pooled.shared
    return PooledItems(coords, covariances, shared)


def _telling(model: MeasurementModel, coords: Floats) -> np.ndarray:
    """Items of which others can learn: a score that all respondents share has no noise."""
    if model.kind != "continuous":
        return np.ones(len(coords), dtype=bool)
    noiseless: np.ndarray = np.asarray(model.at_bound(coords)) & ~model.shared
    return np.asarray(~noiseless.any(axis=1))


def _errors(task: Task, found: Ascent) -> KnownCovariances:
    """Item by item, and of the scale: the common priors move with it, and tell nothing of it."""
    data, model, coords = task.data, task.model, found.coords
    nodes, seen, population = found.nodes, found.expectation, found.population
    inverse = observed_inverse(data, model, coords, nodes, seen, population, by_item=True)
    errors = inverse.errors()
    if model.affine and isinstance(population, HistogramPopulation):
        return with_unknown_shape(errors, data, model, coords, nodes, seen)
    return errors


def widened(task: Task, found: Ascent, errors: KnownCovariances) -> PooledItems:
    """Items as they were found, with errors as wide as few respondents make them.

    What such items tell of the unit is how far responses scatter about their curves, and their
    discriminations go with 1 / scatter. Of n responses to an item, p coordinates took up their
    share: the mean of 1 / scatter is too large by n / (n - p - 2), exactly so for normal responses.
    So is the information, and 1 / scatter varies as much more than the information says.

    All items err together by the same respondents. Squares of their scores exceed the information
    by that factor, and are too small by it themselves, since the items were fitted to them: the
    error of the unit is wider by its square (benchmarks/coverage.py).
    """
    p = task.model.width
    alone = _too_sure(asked(task.data), p) ** 2
    together = _too_sure(as_numpy(task.data.weights).sum(), p) ** 4
    common = np.einsum("kni,knj->nij", errors.shared, errors.shared)
    own = errors.covariances - common
    return PooledItems(
        as_numpy(found.coords),
        own * alone[:, None, None] + common * together,
        errors.shared * np.sqrt(together),
    )


def _too_sure(n: Floats, p: int) -> Floats:
    """How much too large 1 / scatter is, on average, of `n` responses and `p` coordinates."""
    found: Floats = n / np.maximum(n - p - 2, 1.0)
    return found


def asked(data: Encoded) -> Floats:
    """How many respondents answered each item."""

    def over(part: Encoded, run: Run) -> Work:
        del run
        return lambda rows: (part.counted(rows) @ part.block(rows).asked,)

    found: Floats = as_numpy(data.gather(map, over)[0])
    return found


def _with_common_priors(
    model: MeasurementModel,
    coords: Floats,
    errors: KnownCovariances,
    *,
    learnt: bool,
) -> MeasurementModel:
    """The model with the items' own mean and spread as the prior of each coordinate."""
    own = errors.covariances - np.einsum("kni,knj->nij", errors.shared, errors.shared)
    there = ~model.absent(coords)
    coordinates = []
    for k, coordinate in enumerate(model.coordinates):
        prior, some = coordinate.prior, there[:, k]
        if prior is None or isinstance(prior, Normal):
            values, noise = coords[some, k], np.maximum(own[some, k, k], LEAST_NOISE)
            known = np.isfinite(noise)  # without priors, responses may say nothing of an item
            if not known.any():
                coordinates.append(coordinate)
                continue
            values, noise = values[known], noise[known]
            if prior is not None and learnt:
                mean, square = _next(values, noise, prior.sd)
            else:
                mean, square = _first(values, noise)
            spread = max(float(np.sqrt(square)), LEAST_SPREAD)
            coordinate = replace(coordinate, prior=Normal(float(mean), spread))
        coordinates.append(coordinate)
    return model.with_coordinates(tuple(coordinates))


def _first(values: Floats, noise: Floats) -> tuple[float, float]:
    """Mean and squared spread of items, of which `values` are known with variance `noise`."""
    mean = np.average(values, weights=1 / noise)
    beyond = np.average((values - mean) ** 2 - noise, weights=1 / noise)
    return mean, max(float(beyond), LEAST_SHARE * float(np.var(values)))


def _next(values: Floats, noise: Floats, spread: float) -> tuple[float, float]:
    """The same, one step of EM on: `values` and `noise` are the items given the last `spread`."""
    mean = values.mean()
    return mean, float(((values - mean) ** 2 + np.minimum(noise, spread**2)).mean())

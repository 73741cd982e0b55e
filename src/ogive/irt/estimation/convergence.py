"""Convergence.

Where an ascent came to rest: whether it is a maximum, which way up, and what is left to say.

A few respondents and many times as many items: where the scale comes from.

Elsewhere priors of items count once along the scale (`maximization.once_only`). What is climbed is
then no density, and three respondents do not hold the scale against thousands of items: iterations
go round in circles. Here priors count in full, which stretches the scale by as much as there are
items; so in the end its origin and unit are those of the respondents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.acceleration import survey
from ogive.irt.estimation.em_state import Ascent, Task
from ogive.irt.estimation.identifiability import LEAST_RESPONDENTS
from ogive.irt.estimation.m_step import log_penalty
from ogive.irt.estimation.standard_errors import MOST_EXACT
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import plan_nodes
from ogive.stats.array_backend import Array, Floats, array_namespace, like

MOST_CHECKED = 20_000_000  # rows x numbers²: a check this large takes some hundredths of a second
ASIDE = 0.02  # standard errors
LENGTHS = (4.0, 1.0, 0.5, 0.2, 0.05, 0.01)  # of steps off a saddle, in standard errors


def worth(found: Ascent, model: MeasurementModel) -> float:
    """Return log-likelihood of an ascent and what the priors of `model` say of its items."""
    opinion = array_namespace(found.coords).sum(log_penalty(model, found.coords))
    return found.expectation.log_likelihood + float(opinion)


def checkable(data: Encoded, model: MeasurementModel) -> bool:
    """Return True if the table is small enough to look at its whole information.

    Saddles are a matter of small tables, and of items that have next to nothing in common.
    """
    n_rows, n_items = data.shape
    numbers = n_items * model.width
    return numbers <= MOST_EXACT and n_rows * numbers**2 <= MOST_CHECKED


def highest_along(task: Task, found: Ascent, way: Floats) -> Array | None:
    """Return the best of some points along `way`, both ways; None where none is higher."""
    direction = like(way.reshape(found.coords.shape), found.coords)
    here = survey(task.model, found.coords, found.expectation, task.held)
    best, gain = None, here.rounding(task.data)
    for length in LENGTHS:
        for sign in (-1.0, 1.0):
            there = task.model.bounded(found.coords + sign * length * direction)
            work = here.work(task.stand(task.data, there, found.nodes))
            if work > gain:
                best, gain = there, work
    return best


def bend_along(task: Task, found: Ascent, way: Floats) -> float:
    """Return how much what is climbed bends down along `way`, from its slopes at either side."""
    direction = like(way.reshape(found.coords.shape), found.coords)
    ahead, behind = (
        task.stand(task.data, task.model.bounded(found.coords + step * direction), found.nodes)
        for step in (ASIDE, -ASIDE)
    )
    fall = (behind.slopes.gradient - ahead.slopes.gradient) * direction
    return float(array_namespace(fall).sum(fall)) / (2 * ASIDE)


def nested(model: MeasurementModel, coords: Array) -> Array:
    """`coords` with every bounded coordinate that has no prior at its lower bound, if that is 0."""
    xp = array_namespace(coords)
    columns = [
        xp.zeros_like(coords[:, k]) if c.prior is None and c.low == 0 else coords[:, k]
        for k, c in enumerate(model.coordinates)
    ]
    return xp.stack(columns, axis=1)


def upright(task: Task, found: Ascent) -> Ascent:
    """Turn the scale so that higher ability goes with better responses.

    The responses as a whole decide, by the covariance of ability with the response among those
    who were asked; no single item does.
    """
    if found.expectation.alignment >= 0:
        return found
    coords = task.model.rescale(found.coords, 0.0, -1.0)
    low, high = float(found.nodes.fine[0]), float(found.nodes.fine[-1])
    nodes = plan_nodes(task.model, coords, reach=(-high, -low), often=task.data.often)
    turned = task.expect(task.data, coords, nodes)
    return replace(found, coords=coords, nodes=nodes, expectation=turned, information=None)


def unfinished(task: Task, found: Ascent) -> str:
    """Return the note on a fit that did not converge."""
    if task.saturated and task.by_chance:
        return (
            f"Not converged after {found.iterations} iterations: each item has "
            f"{task.model.width} parameters for {task.data.n_respondents:g} respondents, and no "
            "priors, so a longer climb would fit chance. Use priors or a model with fewer "
            "parameters."
        )
    if task.by_chance:
        return (
            f"Not converged after {found.iterations} iterations: with fewer than "
            f"{LEAST_RESPONDENTS} respondents, a longer climb would fit chance. Only more "
            "respondents will do."
        )
    if found.at_saddle:
        return (
            f"Not converged after {found.iterations} iterations: it came to rest where the "
            "likelihood still bends upwards, and no way up was found. Items have too little in "
            "common; only more respondents or a model with fewer parameters will do."
        )
    bare = any(c.prior is None for c in task.model.coordinates)
    advice = "priors" if bare else "more respondents"
    return (
        f"Not converged after {found.iterations} iterations: about {found.decrement:.1g} of "
        "log-likelihood is still to be gained. Allow more with max_iterations; where some items "
        f"are nearly undetermined, only {advice} or a model with fewer parameters will do."
    )


LEAST_UNIT = 0.1  # standard deviations; respondents who are all alike give no unit


def on_own_scale(task: Task, found: Ascent) -> Ascent:
    """The same fit on the scale on which the respondents have mean 0 and standard deviation 1.

    The population moves along, so nothing that the fit says of a response changes.
    """
    mass, points = found.expectation.mass, found.nodes.fine
    if mass is None:
        return found
    mean = float(mass @ points / mass.sum())
    unit = max(float(np.sqrt(mass @ (points - mean) ** 2 / mass.sum())), LEAST_UNIT)
    coords = task.model.rescale(found.coords, mean, unit)
    population = found.population.moved(mean, unit)
    there = replace(task, population=population)
    nodes = there.plan(coords, tuple((found.nodes.fine[[0, -1]] - mean) / unit))
    return replace(
        found,
        coords=coords,
        nodes=nodes,
        expectation=there.expect(task.data, coords, nodes),
        information=None,
        population=population,
    )


def scale_note(data: Encoded) -> str:
    """Return where the scale comes from, in a sentence."""
    return (
        f"{data.shape[1]:,} items for {data.n_respondents:g} respondents: too few to tell how "
        "abilities are spread. The scale is theirs (mean 0, standard deviation 1), and what "
        "the items' priors leave open of it is held by them."
    )

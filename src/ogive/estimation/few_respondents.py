"""A few respondents and many times as many items: where the scale comes from.

Elsewhere priors of items count once along the scale (`maximization.once_only`). What is climbed is
then no density, and three respondents do not hold the scale against thousands of items: iterations
go round in circles. Here priors count in full, which stretches the scale by as much as there are
items; so in the end its origin and unit are those of the respondents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ogive.estimation.fit_task import Ascent, Task
from ogive.responses.encoding import Encoded

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
    """Where the scale comes from, in a sentence."""
    return (
        f"{data.shape[1]:,} items for {data.n_respondents:g} respondents: too few to tell how "
        "abilities are spread. The scale is theirs (mean 0, standard deviation 1), and what "
        "the items' priors leave open of it is held by them."
    )

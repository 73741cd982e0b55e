"""What an E-step finds, and what it leaves for the M-step."""

from __future__ import annotations

from dataclasses import dataclass

from itemwise.numerics.arrays import Array, Floats

Tables = tuple[Array, Array, Array]  # abilities, counts, totals: see MeasurementModel.curvature


@dataclass(frozen=True, eq=False)
class Expectation:
    """Log-likelihood, its gradient, complete-data information, and what abilities say together."""

    log_likelihood: float
    gradient: Array  # (n_items, width)
    expected: Array  # (n_items, width, width), Fisher information
    observed: Array  # (n_items, width, width), minus the second derivatives
    scale: Floats  # (2, 2), information on origin and log-unit of the population
    edges: tuple[float, float]  # largest posterior mass at the first and the last node
    alignment: float  # covariance of ability with the response, summed over items
    mass: Floats | None = None  # posterior mass of all respondents on the fine nodes
    tables: Tables | None = None  # of the general way only


def of_items(tables: Tables, items: slice | Array) -> Tables:
    """The tables of some items; totals that all items share stay as they are."""
    abilities, counts, totals = tables
    return abilities, counts[:, items], totals if totals.shape[0] == 1 else totals[items]

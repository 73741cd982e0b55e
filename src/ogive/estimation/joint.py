"""Joint maximum likelihood: items and abilities in turn (Birnbaum, 1968).

The method of the decoding papers. It is simple and needs no population, but its estimates are
biased outwards, and the bias does not vanish with more respondents; prefer EM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ogive.calibration import KnownCovariances
from ogive.errors import InputError
from ogive.estimation.fits import Fit, check_settings, log_base, tell_iteration
from ogive.estimation.maximization import (
    add_diagonal,
    climb_items,
    item_slopes,
    newton_step,
)
from ogive.estimation.starting_values import centred, start
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Floats, row_blocks
from ogive.progress import Progress, silent
from ogive.responses.encoding import Encoded, encode
from ogive.scoring import score_abilities
from ogive.scoring.posterior import STANDARD

FARTHEST = 5.0  # standard deviations; a perfect respondent would go to infinity
TABLE_CELLS = 1 << 21
NOT_ENDED = (
    "Not converged after {} iterations: joint maximum likelihood lets steep items run away. "
    "Use engine='em'."
)
WHAT_IT_SAYS = (
    "Joint maximum likelihood: log_likelihood is that of items and abilities together, and "
    "standard errors take the abilities as known."
)


@dataclass(frozen=True)
class Joint:
    """Settings of the joint engine: stop when the log-likelihood gains less than `tolerance`.

    Items and abilities in turn (Birnbaum, 1968); `n_jobs` as in `EM`.

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 200, 10, random_state=0).responses
    >>> og.calibrate(drawn, "2pl", engine=og.Joint(max_iterations=200)).converged
    True
    """

    name: ClassVar[str] = "joint"

    tolerance: float = 1e-2
    max_iterations: int = 100
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_settings(self.tolerance, self.max_iterations)

    def fit(
        self,
        cells: np.ndarray,
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress = silent,
        *,
        tries: np.ndarray | None = None,
    ) -> Fit:
        """Start abilities from the mean responses; then items, abilities, in turn."""
        if model.shared.any():
            raise InputError(
                f"The joint engine fits every item by itself, but the {model.name} model shares "
                "a parameter among items. Use engine='em'."
            )
        data = encode(cells, model, weights, collapsing=False, tries=tries)
        abilities, coords = response_start(data, model), start(data, model)
        value = -np.inf
        for iteration in range(1, self.max_iterations + 1):
            coords = fit_items(data, model, coords, abilities)
            abilities = score_abilities(
                data, model, coords, STANDARD, "ml", self.n_jobs, FARTHEST
            ).ability
            mean, sd = standard(abilities, data.weights)
            abilities = (abilities - mean) / sd
            coords = model.bounded(model.rescale(coords, mean, sd))
            last, value = value, joint_log_likelihood(data, model, coords, abilities)
            tell_iteration(progress, iteration, value, value - last)
            if abs(value - last) < self.tolerance:
                break
        converged = bool(abs(value - last) < self.tolerance)
        return Fit(
            coords=coords,
            uncertainty=KnownCovariances(item_covariances(data, model, coords, abilities)),
            population=STANDARD,
            log_likelihood=value + log_base(cells, model, data.weights),
            iterations=iteration,
            converged=converged,
            notes=(WHAT_IT_SAYS,) if converged else (WHAT_IT_SAYS, NOT_ENDED.format(iteration)),
        )


def response_start(data: Encoded, model: MeasurementModel) -> Floats:
    """Standardised mean response, each item in units of its standard deviation."""
    block = data.block(slice(None))
    table = np.zeros(data.shape)
    for weight, statistic in zip(model.direction, block.statistics, strict=True):
        table += weight * statistic
    some = np.maximum(data.weights @ block.asked, 1e-300)
    apart = centred(table, block.asked, data.weights)
    spread = np.sqrt(data.weights @ apart**2 / some)
    # One response more, at the item's mean, holds those who answered little near the middle.
    place = (apart / np.where(spread > 0, spread, 1.0)).sum(axis=1) / (block.asked.sum(axis=1) + 1)
    mean, sd = standard(place, data.weights)
    abilities: Floats = (place - mean) / sd
    return abilities


def standard(values: Floats, weights: Floats) -> tuple[float, float]:
    """Mean and standard deviation, which is 1 where all values are the same."""
    mean = float(np.average(values, weights=weights))
    sd = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    return mean, sd if sd > 1e-9 else 1.0


def fit_items(data: Encoded, model: MeasurementModel, coords: Floats, abilities: Floats) -> Floats:
    """Maximise every item at the respondents' abilities: each respondent is a node."""
    parts = []
    for items in _item_blocks(data):
        tables = _tables(data, items, abilities)
        own = coords[items]
        slopes = item_slopes(model, own, tables, 0 * own)
        step = newton_step(model, slopes)
        gain = 0.5 * np.sum(slopes.gradient * step, axis=1)
        parts.append(climb_items(model, own, step, gain, tables, 0 * own))
    return np.concatenate(parts)


def item_covariances(
    data: Encoded, model: MeasurementModel, coords: Floats, abilities: Floats
) -> Floats:
    """Inverse information of each item, abilities taken as known."""
    parts = []
    for items in _item_blocks(data):
        own = coords[items]
        slopes = item_slopes(model, own, _tables(data, items, abilities), 0 * own)
        ridge = 1e-9 * np.einsum("nii->ni", slopes.information) + 1e-12
        parts.append(np.linalg.inv(add_diagonal(slopes.information, ridge)))
    return np.concatenate(parts)


def joint_log_likelihood(
    data: Encoded, model: MeasurementModel, coords: Floats, abilities: Floats
) -> float:
    """Log-likelihood of all responses at these items and abilities."""
    total = 0.0
    for items in _item_blocks(data):
        where, counts, totals = _tables(data, items, abilities)
        terms = model.log_terms(coords[items], where)
        total += float((totals * terms[0]).sum() + (counts * terms[1:]).sum())
    return total


def _item_blocks(data: Encoded) -> list[slice]:
    n_rows, n_items = data.shape
    return row_blocks(n_items, max(1, TABLE_CELLS // n_rows))


def _tables(data: Encoded, items: slice, abilities: Floats) -> tuple[Floats, Floats, Floats]:
    """Weighted responses of some items, with one node a respondent."""
    part = data.of_items(items)
    block = part.block(slice(None))
    counts = [data.weights * statistic.T for statistic in block.statistics]
    return abilities, np.stack(counts), data.weights * block.asked.T

"""Joint ML, Shojima's EM, decodIRT's staged abilities.

Joint maximum likelihood: items and abilities in turn (Birnbaum, 1968).

The method of the decoding papers. It is simple and needs no population, but its estimates are
biased outwards, and the bias does not vanish with more respondents; prefer EM.

The continuous response model as published: Shojima's closed-form EM (2005), as airt runs it.

It stops when its log-likelihood changes by little, long before the maximum: on the data of the AIRT
paper, discriminations end about 1.27 times too small. It is here to reproduce published figures;
the EM engine goes to the maximum.

The staged estimate of ability, that of decodIRT.

Ten groups of items, from easy to hard. Each group alone gives an estimate, so that the last and
hardest group decides. Where a respondent gets a whole group right or wrong, no maximum of the
likelihood exists, and the estimate goes half the way to the hardest or the easiest item (Dodd,
1990).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ogive._progress import Progress, silent
from ogive.errors import InputError
from ogive.irt.abilities import LEAST_INFORMATION, Abilities, score_abilities
from ogive.irt.encoded_responses import Encoded, encode
from ogive.irt.estimation.fit import Fit, check_settings, log_base, tell_iteration
from ogive.irt.estimation.m_step import add_diagonal, climb_items, item_slopes, newton_step
from ogive.irt.estimation.multistart import centred, start
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models.base import MeasurementModel, NormalSums
from ogive.irt.quadrature import STANDARD
from ogive.stats.array_backend import Array, Floats, row_blocks
from ogive.stats.newton import positive_inverse

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
        """Return start abilities from the mean responses; then items, abilities, in turn."""
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
    """Return standardised mean response, each item in units of its standard deviation."""
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
    """Return mean and standard deviation, which is 1 where all values are the same."""
    mean = float(np.average(values, weights=weights))
    sd = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    return mean, sd if sd > 1e-9 else 1.0


def fit_items(data: Encoded, model: MeasurementModel, coords: Floats, abilities: Floats) -> Floats:
    """Return maximise every item at the respondents' abilities: each respondent is a node."""
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
    """Return inverse information of each item, abilities taken as known."""
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
    """Return log-likelihood of all responses at these items and abilities."""
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
    """Return weighted responses of some items, with one node a respondent."""
    part = data.of_items(items)
    block = part.block(slice(None))
    counts = [data.weights * statistic.T for statistic in block.statistics]
    return abilities, np.stack(counts), data.weights * block.asked.T


SHOJIMA_WHAT_IT_SAYS = (
    "Shojima's EM, as published: it stops when its log-likelihood changes by at most {:g}, which "
    "need not be near the maximum. Standard errors take the abilities as known."
)
STOPPED = "Not converged after {} iterations; allow more with max_iterations."


@dataclass(frozen=True)
class Shojima:
    """Settings: stop when the expected log-likelihood changes by at most `tolerance`."""

    name: ClassVar[str] = "shojima"

    tolerance: float = 1e-2
    max_iterations: int = 200

    def __post_init__(self) -> None:
        check_settings(self.tolerance, self.max_iterations)

    def fit(
        self,
        cells: np.ndarray,
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress = silent,
        *,
        tries: np.ndarray | None = None,  # noqa: ARG002 - means count as single scores
    ) -> Fit:
        """Return alternate the posterior of abilities and the items, from equal discriminations."""
        if not model.normal:
            raise InputError(
                f"The shojima engine fits the continuous model only, not the {model.name} model. "
                "Use engine='em'."
            )
        data = encode(cells, model)
        if weights is not None or not data.complete:
            raise InputError(
                "The shojima engine, as published, needs every cell and knows no weights. "
                "Use engine='em'."
            )
        z = data.cells
        if len(z) < 3:
            raise InputError(
                f"The shojima engine needs at least 3 respondents; there are {len(z)}. "
                "Use engine='em'."
            )
        mean, variance = z.mean(axis=0), z.var(axis=0, ddof=1)
        spans = np.ptp(z, axis=0)
        if not (spans > 0).all():
            raise InputError(
                f"Item {int(np.argmin(spans)) + 1}, by position, is constant, which the shojima "
                "engine, as published, cannot fit. Leave it out, or use engine='em'."
            )
        slope, place, scale = np.ones(z.shape[1]), -mean, np.ones(z.shape[1])
        value, last = -np.inf, np.nan
        for iteration in range(1, self.max_iterations + 1):
            left = 1 / (1 + float(slope @ slope))
            ability = left * ((place + scale * z) @ slope**2)
            spread = ability.var(ddof=1) + left
            apart = (ability - ability.mean()) @ (z - mean) / (len(z) - 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = spread / apart
            place = ability.mean() - scale * mean
            noise = scale**2 * variance - spread
            if not (np.isfinite(noise).all() and (noise > 0).all()):
                worst = int(np.argmin(np.where(np.isfinite(noise), noise, -np.inf))) + 1
                raise InputError(
                    f"Item {worst}, by position, leaves no noise: it goes with others, or with "
                    "few respondents, without any error. The shojima engine, as published, has no "
                    "answer then. Use engine='em'."
                )
            slope = np.sign(scale) / np.sqrt(noise)
            last, value = value, _expected_value(z, slope, place, scale, ability, left)
            tell_iteration(progress, iteration, value, abs(value - last))
            if abs(value - last) <= self.tolerance:
                break
        converged = abs(value - last) <= self.tolerance
        coords = model.bounded(
            model.from_parameters({"discrimination": slope, "difficulty": place, "scaling": scale})
        )
        said = (SHOJIMA_WHAT_IT_SAYS.format(self.tolerance),)
        return Fit(
            coords=coords,
            uncertainty=KnownCovariances(_covariances(model, coords, z)),
            population=STANDARD,
            log_likelihood=_log_likelihood(model, coords, z)
            + log_base(cells, model, np.ones(len(z))),
            iterations=iteration,
            converged=bool(converged),
            notes=said if converged else (*said, STOPPED.format(iteration)),
        )


def _expected_value(
    z: Floats, slope: Floats, place: Floats, scale: Floats, ability: Floats, left: float
) -> float:
    """Return the expected log-likelihood whose change is watched, up to a constant."""
    apart = place + scale * z - ability[:, None]
    size = len(z) * np.log(np.abs(slope * scale)).sum()
    return float(size - 0.5 * ((apart**2 + left) @ slope**2).sum())


def _log_likelihood(model: MeasurementModel, coords: Floats, z: Floats) -> float:
    """Return marginal log-likelihood of the log-odds."""
    loading, intercept = model.loadings(coords), coords[:, 1]
    precision = np.exp(-2 * coords[:, 2])
    apart, left = z - intercept, 1 / (1 + precision @ loading**2)
    pull = apart @ (loading * precision)
    constant = -0.5 * np.log(2 * np.pi) * z.shape[1] - coords[:, 2].sum() + 0.5 * np.log(left)
    return float((constant - 0.5 * (apart**2 @ precision) + 0.5 * left * pull**2).sum())


def _covariances(model: MeasurementModel, coords: Floats, z: Floats) -> Floats:
    """Return inverse information of each item, abilities taken as known."""
    loading = model.loadings(coords)
    weights = loading * np.exp(-2 * coords[:, 2])
    left = 1 / (1 + weights @ loading)
    ability = left * ((z - coords[:, 1]) @ weights)
    one = np.ones(z.shape[1])
    sums = NormalSums(
        asked=len(z) * one,
        ability=ability.sum() * one,
        ability_square=(ability @ ability + len(z) * left) * one,
        z=z.sum(axis=0),
        z_ability=ability @ z,
        z_square=(z**2).sum(axis=0),
    )
    _, expected, _ = model.curvature_of_sums(coords, sums)
    return positive_inverse(expected)


GROUPS = 10


def staged_abilities(
    cells: Array, model: MeasurementModel, coords: Floats, groups: int = GROUPS
) -> Abilities:
    """Return ability of every row of right (1) and wrong (0) responses; -1 was never asked.

    All groups have the same size; the hardest items that do not fill a group are left out. The
    standard error is that of the last group alone, at the estimate.
    """
    if model.kind != "binary":
        raise InputError(
            f"The staged estimate is for right and wrong responses, but the model is "
            f"{model.name}. Choose another method, such as 'eap'."
        )
    difficulty = model.parameters(coords)["difficulty"]
    size = difficulty.size // groups
    if not size:
        raise InputError(
            f"The staged estimate needs {groups} items or more, but there are {difficulty.size}. "
            "Choose another method, such as 'eap'."
        )
    order = np.argsort(difficulty, kind="stable")[: groups * size]
    asked = cells >= 0
    ability = (cells == 1).sum(axis=1) / np.maximum(asked.sum(axis=1), 1)
    at_bound = np.zeros(ability.size, dtype=bool)
    for group in np.split(order, groups):
        there, part = asked[:, group], cells[:, group]
        right, wrong = (~there | (part == 1)).all(axis=1), (part != 1).all(axis=1)
        found = _most_likely(part, model.of_items(group), coords[group])
        found = np.where(right, 0.5 * (ability + difficulty.max()), found)
        found = np.where(wrong, 0.5 * (ability + difficulty.min()), found)
        some = there.any(axis=1)
        ability = np.where(some, found, ability)
        at_bound = np.where(some, right | wrong, at_bound)
    last = order[-size:]
    information = model.of_items(last).information(coords[last], ability)
    told = (asked[:, last].T * information).sum(axis=0)
    return Abilities(ability, 1 / np.sqrt(np.maximum(told, LEAST_INFORMATION)), at_bound)


def _most_likely(cells: Array, model: MeasurementModel, coords: Floats) -> Floats:
    data = encode(cells, model, collapsing=False)
    return score_abilities(data, model, coords, method="ml").ability

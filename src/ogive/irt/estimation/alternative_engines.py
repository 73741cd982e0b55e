"""Published methods other than marginal likelihood, to reproduce published figures.

`Joint`: joint maximum likelihood, items and abilities in turn (Birnbaum, 1968), the method of the
decoding papers. It needs no population, but its estimates are biased outwards, and the bias does
not vanish with more respondents.

`Shojima`: the closed-form EM of the continuous response model (Shojima, 2005), as airt runs it. It
stops when its log-likelihood changes by little, long before the maximum: on the data of the AIRT
paper, discriminations end about 1.27 times too small.

`staged_abilities`: the ability of decodIRT, from ten groups of items, easy to hard. Each group
alone gives an estimate, so that the last and hardest group decides. If a respondent gets a whole
group right or wrong, no maximum of the likelihood exists, and the estimate moves half the way to
the hardest or the easiest item (Dodd, 1990).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ogive._progress import Progress, silent
from ogive.errors import InputError
from ogive.irt.abilities import LEAST_INFORMATION, Abilities, score_abilities
from ogive.irt.encoded_responses import Encoded, encode
from ogive.irt.estimation.engine import Fit, check_settings, log_base, report_iteration
from ogive.irt.estimation.m_step import add_diagonal, item_system, maximize_items, solve_items
from ogive.irt.estimation.multistart import centred, component_start
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models.base import MeasurementModel, NormalSums
from ogive.irt.quadrature import STANDARD
from ogive.stats.array_backend import Array, Floats, row_blocks
from ogive.stats.newton import positive_inverse

MAX_ABILITY = 5.0  # standard deviations; that of a perfect respondent would be infinite
TABLE_CELLS = 1 << 21  # cells of a block of items
GROUPS = 10  # groups of items of `staged_abilities`

JOINT_NOTE = (
    "Joint maximum likelihood: log_likelihood is that of items and abilities together, and "
    "standard errors take the abilities as known."
)
JOINT_NOT_CONVERGED = (
    "Not converged after {} iterations: joint maximum likelihood lets steep items run away. "
    "Use engine='em'."
)
SHOJIMA_NOTE = (
    "Shojima's EM, as published: it stops when its log-likelihood changes by at most {:g}, which "
    "need not be near the maximum. Standard errors take the abilities as known."
)
SHOJIMA_NOT_CONVERGED = "Not converged after {} iterations; allow more with max_iterations."


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
        """Start abilities from the mean responses; then fit items and abilities in turn."""
        if model.shared.any():
            raise InputError(
                f"The joint engine fits every item by itself, but the {model.name} model shares "
                "a parameter among items. Use engine='em'."
            )
        data = encode(cells, model, weights, collapsing=False, tries=tries)
        abilities, coords = response_start(data, model), component_start(data, model)
        value = -np.inf
        for iteration in range(1, self.max_iterations + 1):
            coords = fit_items(data, model, coords, abilities)
            abilities = score_abilities(
                data, model, coords, STANDARD, "ml", self.n_jobs, MAX_ABILITY
            ).ability
            mean, sd = mean_and_sd(abilities, data.weights)
            abilities = (abilities - mean) / sd
            coords = model.bounded(model.rescale(coords, mean, sd))
            last, value = value, joint_log_likelihood(data, model, coords, abilities)
            report_iteration(progress, iteration, value, value - last)
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
            notes=(JOINT_NOTE, *([] if converged else [JOINT_NOT_CONVERGED.format(iteration)])),
        )


def response_start(data: Encoded, model: MeasurementModel) -> Floats:
    """Return the standardized mean response, each item in units of its standard deviation."""
    block = data.block(slice(None))
    table = np.zeros(data.shape)
    for weight, statistic in zip(model.direction, block.statistics, strict=True):
        table += weight * statistic
    count = np.maximum(data.weights @ block.asked, 1e-300)
    diff = centred(table, block.asked, data.weights)
    item_sd = np.sqrt(data.weights @ diff**2 / count)
    # One more response, at the item's mean, keeps those with few answers near the middle.
    z = diff / np.where(item_sd > 0, item_sd, 1.0)
    z = z.sum(axis=1) / (block.asked.sum(axis=1) + 1)
    mean, sd = mean_and_sd(z, data.weights)
    return np.asarray((z - mean) / sd)


def mean_and_sd(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return mean and standard deviation, which is 1 if all values are the same."""
    mean = float(np.average(values, weights=weights))
    sd = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    return mean, sd if sd > 1e-9 else 1.0


def fit_items(data: Encoded, model: MeasurementModel, coords: Floats, abilities: Floats) -> Floats:
    """Maximize every item at the respondents' abilities: each respondent is a node."""
    parts = []
    for items in _item_blocks(data):
        tables = _tables(data, items, abilities)
        own = coords[items]
        system = item_system(model, own, tables, 0 * own)
        step = solve_items(model, system)
        gain = 0.5 * np.sum(system.gradient * step, axis=1)
        parts.append(maximize_items(model, own, step, gain, tables, 0 * own))
    return np.concatenate(parts)


def item_covariances(
    data: Encoded, model: MeasurementModel, coords: Floats, abilities: Floats
) -> Floats:
    """Return the inverse information of each item, for known abilities."""
    parts = []
    for items in _item_blocks(data):
        own = coords[items]
        system = item_system(model, own, _tables(data, items, abilities), 0 * own)
        ridge = 1e-9 * np.einsum("nii->ni", system.information) + 1e-12
        parts.append(np.linalg.inv(add_diagonal(system.information, ridge)))
    return np.concatenate(parts)


def joint_log_likelihood(
    data: Encoded, model: MeasurementModel, coords: Floats, abilities: Floats
) -> float:
    """Return the log-likelihood of all responses at these items and abilities."""
    total = 0.0
    for items in _item_blocks(data):
        nodes, counts, totals = _tables(data, items, abilities)
        terms = model.log_terms(coords[items], nodes)
        total += float((totals * terms[0]).sum() + (counts * terms[1:]).sum())
    return total


def _item_blocks(data: Encoded) -> list[slice]:
    n_rows, n_items = data.shape
    return row_blocks(n_items, max(1, TABLE_CELLS // n_rows))


def _tables(data: Encoded, items: slice, abilities: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the weighted responses of some items, with one node per respondent."""
    block = data.of_items(items).block(slice(None))
    counts = [data.weights * statistic.T for statistic in block.statistics]
    return abilities, np.stack(counts), data.weights * block.asked.T


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
        """Alternate the posterior of abilities and the items, from equal discriminations."""
        z = self._checked(cells, model, weights)
        mean, variance = z.mean(axis=0), z.var(axis=0, ddof=1)
        slope, place, scale = np.ones(z.shape[1]), -mean, np.ones(z.shape[1])
        value, last = -np.inf, np.nan
        for iteration in range(1, self.max_iterations + 1):
            # E-step: abilities are normal, with the same posterior variance for all.
            posterior_var = 1 / (1 + float(slope @ slope))
            ability = posterior_var * ((place + scale * z) @ slope**2)
            # M-step: place and scale by regression, then the noise that is left.
            spread = ability.var(ddof=1) + posterior_var
            covariance = (ability - ability.mean()) @ (z - mean) / (len(z) - 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = spread / covariance
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
            # The expected log-likelihood, up to a constant.
            diff = place + scale * z - ability[:, None]
            log_det = len(z) * np.log(np.abs(slope * scale)).sum()
            last, value = (
                value,
                float(log_det - 0.5 * ((diff**2 + posterior_var) @ slope**2).sum()),
            )
            report_iteration(progress, iteration, value, abs(value - last))
            if abs(value - last) <= self.tolerance:
                break
        converged = bool(abs(value - last) <= self.tolerance)
        coords = model.bounded(
            model.from_parameters({"discrimination": slope, "difficulty": place, "scaling": scale})
        )
        log_likelihood, covariances = _normal_fit(model, coords, z)
        note = SHOJIMA_NOTE.format(self.tolerance)
        return Fit(
            coords=coords,
            uncertainty=KnownCovariances(covariances),
            population=STANDARD,
            log_likelihood=log_likelihood + log_base(cells, model, np.ones(len(z))),
            iterations=iteration,
            converged=converged,
            notes=(note, *([] if converged else [SHOJIMA_NOT_CONVERGED.format(iteration)])),
        )

    def _checked(
        self, cells: np.ndarray, model: MeasurementModel, weights: Floats | None
    ) -> Floats:
        """Return the log-odds of the scores; refuse what the published method cannot fit."""
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
        z: Floats = data.cells
        if len(z) < 3:
            raise InputError(
                f"The shojima engine needs at least 3 respondents; there are {len(z)}. "
                "Use engine='em'."
            )
        spans = np.ptp(z, axis=0)
        if not (spans > 0).all():
            raise InputError(
                f"Item {int(np.argmin(spans)) + 1}, by position, is constant, which the shojima "
                "engine, as published, cannot fit. Leave it out, or use engine='em'."
            )
        return z


def _normal_fit(model: MeasurementModel, coords: Floats, z: Floats) -> tuple[float, Floats]:
    """Return the marginal log-likelihood, and each item's covariance for known abilities."""
    loading, intercept = model.loadings(coords), coords[:, 1]
    precision = np.exp(-2 * coords[:, 2])
    diff, posterior_var = z - intercept, 1 / (1 + precision @ loading**2)
    score = diff @ (loading * precision)
    constant = -0.5 * np.log(2 * np.pi) * z.shape[1] - coords[:, 2].sum()
    constant = constant + 0.5 * np.log(posterior_var)
    value = constant - 0.5 * (diff**2 @ precision) + 0.5 * posterior_var * score**2

    weights = loading * np.exp(-2 * coords[:, 2])
    posterior_var = 1 / (1 + weights @ loading)
    ability = posterior_var * ((z - coords[:, 1]) @ weights)
    one = np.ones(z.shape[1])
    sums = NormalSums(
        asked=len(z) * one,
        ability=ability.sum() * one,
        ability_square=(ability @ ability + len(z) * posterior_var) * one,
        z=z.sum(axis=0),
        z_ability=ability @ z,
        z_square=(z**2).sum(axis=0),
    )
    _, expected, _ = model.curvature_of_sums(coords, sums)
    return float(value.sum()), positive_inverse(expected)


def staged_abilities(
    cells: Array, model: MeasurementModel, coords: Floats, groups: int = GROUPS
) -> Abilities:
    """Return the staged ability of every row of right (1), wrong (0) and missing (-1) responses.

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
    observed = cells >= 0
    ability = (cells == 1).sum(axis=1) / np.maximum(observed.sum(axis=1), 1)
    at_bound = np.zeros(ability.size, dtype=bool)
    for group in np.split(order, groups):
        asked, part, own = observed[:, group], cells[:, group], model.of_items(group)
        all_right, all_wrong = (~asked | (part == 1)).all(axis=1), (part != 1).all(axis=1)
        data = encode(part, own, collapsing=False)
        estimate = score_abilities(data, own, coords[group], method="ml").ability
        estimate = np.where(all_right, 0.5 * (ability + difficulty.max()), estimate)
        estimate = np.where(all_wrong, 0.5 * (ability + difficulty.min()), estimate)
        met = asked.any(axis=1)
        ability = np.where(met, estimate, ability)
        at_bound = np.where(met, all_right | all_wrong, at_bound)
    last = order[-size:]
    information = model.of_items(last).information(coords[last], ability)
    total = (observed[:, last].T * information).sum(axis=0)
    return Abilities(ability, 1 / np.sqrt(np.maximum(total, LEAST_INFORMATION)), at_bound)

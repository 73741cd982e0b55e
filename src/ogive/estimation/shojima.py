"""The continuous response model as published: Shojima's closed-form EM (2005), as airt runs it.

It stops when its log-likelihood changes by little, long before the maximum: on the data of the AIRT
paper, discriminations end about 1.27 times too small. It is here to reproduce published figures;
the EM engine goes to the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ogive.calibration import KnownCovariances
from ogive.errors import InputError
from ogive.estimation.fits import Fit, check_settings, log_base, tell_iteration
from ogive.models.measurement import MeasurementModel, NormalSums
from ogive.numerics.arrays import Floats
from ogive.numerics.newton import positive_inverse
from ogive.progress import Progress, silent
from ogive.responses.encoding import encode
from ogive.scoring.posterior import STANDARD

WHAT_IT_SAYS = (
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
        """Alternate the posterior of abilities and the items, from equal discriminations."""
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
        said = (WHAT_IT_SAYS.format(self.tolerance),)
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
    """The expected log-likelihood whose change is watched, up to a constant."""
    apart = place + scale * z - ability[:, None]
    size = len(z) * np.log(np.abs(slope * scale)).sum()
    return float(size - 0.5 * ((apart**2 + left) @ slope**2).sum())


def _log_likelihood(model: MeasurementModel, coords: Floats, z: Floats) -> float:
    """Marginal log-likelihood of the log-odds."""
    loading, intercept = model.loadings(coords), coords[:, 1]
    precision = np.exp(-2 * coords[:, 2])
    apart, left = z - intercept, 1 / (1 + precision @ loading**2)
    pull = apart @ (loading * precision)
    constant = -0.5 * np.log(2 * np.pi) * z.shape[1] - coords[:, 2].sum() + 0.5 * np.log(left)
    return float((constant - 0.5 * (apart**2 @ precision) + 0.5 * left * pull**2).sum())


def _covariances(model: MeasurementModel, coords: Floats, z: Floats) -> Floats:
    """Inverse information of each item, abilities taken as known."""
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

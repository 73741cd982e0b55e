"""The E-step of normal responses, in closed form (Shojima, 2005).

Given a respondent's log-odds z, ability is normal: its precision is 1 + Σ λ²/ψ over the items that
were asked, its mean a weighted sum of z. Where all were asked, the sums over respondents need
nothing but the mean and the covariance of z, and a step costs the same for ten respondents and for
ten million.
"""

from __future__ import annotations

from dataclasses import replace
from math import log, pi

import numpy as np

from ogive.estimation.fits import Expectation
from ogive.models.measurement import MeasurementModel, NormalSums
from ogive.numerics.arrays import Array, Floats, Run, array_namespace, like
from ogive.responses.encoding import Encoded, Work

MOST_ITEMS = 2_000  # a covariance of more would be larger than most tables


def with_moments(data: Encoded, run: Run) -> Encoded:
    """`data` with the mean and covariance of its scores, where those are all that is needed."""
    if not data.complete or data.shape[1] > MOST_ITEMS:
        return data
    xp = array_namespace(data.weights)
    centre = xp.mean(data.values(data.blocks(1)[0])[0], axis=0)  # near the mean: nothing cancels

    def over(part: Encoded, run: Run) -> Work:
        del run
        middle = like(centre, part.weights)
        xp = array_namespace(middle)

        def pass_over(rows: slice) -> tuple[Array, Array]:
            apart = part.values(rows)[0] - middle
            if part.unweighted:
                return xp.sum(apart, axis=0), apart.T @ apart
            weighted = apart * part.counted(rows)[:, None]
            return xp.sum(weighted, axis=0), weighted.T @ apart

        return pass_over

    total, products = data.gather(run, over)
    n = data.n_respondents
    shift = total / n
    return replace(data, moments=(centre + shift, products / n - shift[:, None] * shift))


def expect_normally(
    data: Encoded, model: MeasurementModel, coords: Array, run: Run = map
) -> Expectation:
    """One E-step at `coords`, for abilities that are standard normal."""
    if data.moments is not None:
        return _expect_by_moments(data, model, coords)
    return _expect_by_rows(data, model, coords, run)


def _expect_by_moments(data: Encoded, model: MeasurementModel, coords: Array) -> Expectation:
    """All from the mean and the covariance of z."""
    xp = array_namespace(coords)
    assert data.moments is not None  # noqa: S101 - the caller looked
    mean, covariance = data.moments
    n = data.n_respondents
    loading, apart = model.loadings(coords), mean - coords[:, 1]
    precision = xp.exp(-2 * coords[:, 2])
    weights = loading * precision
    left = 1 / (1 + float(weights @ loading))  # variance of ability that responses leave
    pull = covariance @ weights
    level, spread = left * float(weights @ apart), left**2 * float(weights @ pull)
    one = xp.ones_like(loading)
    variance = xp.linalg.diagonal(covariance)
    sums = NormalSums(
        asked=n * one,
        ability=n * level * one,
        ability_square=n * (spread + level**2 + left) * one,
        z=n * mean,
        z_ability=n * (left * pull + mean * level),
        z_square=n * (variance + mean**2),
    )
    distance = float(precision @ (variance + apart**2)) - (spread + level**2) / left
    log_det = 2 * float(xp.sum(coords[:, 2])) - log(left) + loading.shape[0] * log(2 * pi)
    gradient, expected, observed = model.curvature_of_sums(coords, sums)
    return Expectation(
        log_likelihood=-0.5 * n * (log_det + distance),
        gradient=gradient,
        expected=expected,
        observed=observed,
        scale=_scale_information(n, left, level, spread + level**2),
        edges=(0.0, 0.0),
        alignment=n * left * float(xp.sum(pull)),
    )


def _expect_by_rows(data: Encoded, model: MeasurementModel, coords: Array, run: Run) -> Expectation:
    """Each respondent's own posterior, over the items that were asked."""
    xp = array_namespace(coords)

    def over(part: Encoded, run: Run) -> Work:
        del run
        return _row_sums(part, model, like(coords, part.weights))

    value, whole, sums = data.gather(run, over, width=16)
    parts = NormalSums(*sums)
    gradient, expected, observed = model.curvature_of_sums(coords, parts)
    centred = parts.z_ability - parts.z / xp.clip(parts.asked, 1e-300, None) * parts.ability
    n = data.n_respondents
    left, mean, square = (float(part) / n for part in whole)
    return Expectation(
        log_likelihood=float(value),
        gradient=gradient,
        expected=expected,
        observed=observed,
        scale=_scale_information(n, left, mean, square),
        edges=(0.0, 0.0),
        alignment=float(xp.sum(centred)),
    )


def _row_sums(data: Encoded, model: MeasurementModel, coords: Array) -> Work:
    """Sums over a block of rows: log-likelihood, what abilities say, and what items need."""
    xp = array_namespace(coords)
    loading, intercept = model.loadings(coords), coords[:, 1]
    precision = xp.exp(-2 * coords[:, 2])
    weights = loading * precision
    constant = -0.5 * log(2 * pi) - coords[:, 2]

    def pass_over(rows: slice) -> list[Array]:
        z, asked = data.values(rows)
        asked = xp.ones_like(z) if asked is None else asked
        counted = data.counted(rows)
        apart = (z - intercept) * asked
        left = 1 / (1 + asked @ (weights * loading))
        mean = left * (apart @ weights)
        value = asked @ constant - 0.5 * (apart**2 @ precision) + 0.5 * mean**2 / left
        value = value + 0.5 * xp.log(left)
        sums = [
            counted @ asked,
            (counted * mean) @ asked,
            (counted * (mean**2 + left)) @ asked,
            counted @ z,
            (counted * mean) @ z,
            counted @ z**2,
        ]
        whole = xp.stack([counted @ left, counted @ mean, counted @ mean**2])
        return [counted @ value, whole, xp.stack(sums)]

    return pass_over


def _scale_information(n: float, left: float, mean: float, square: float) -> Floats:
    """Information on origin and log-unit of the abilities of `n` respondents (Louis, 1982), (2, 2).

    `left` is their mean posterior variance, `mean` and `square` are mean and mean square of their
    posterior means. Far from the maximum it need not be positive; what is expected of it at the
    maximum then takes its place. It steers steps only, so the mean variance stands for each.
    """
    cross = 2 * mean * (1 - left)
    unit = 2 * (square + left) - 4 * left * square - 2 * left**2
    found = n * np.array([[1 - left, cross], [cross, unit]])
    known = n * np.diag([1 - left, 2 * (1 - left) ** 2]) + 1e-9 * n * np.eye(2)
    return found if np.linalg.eigvalsh(found)[0] > 0 else known

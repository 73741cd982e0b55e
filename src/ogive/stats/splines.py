"""Penalised cubic regression splines of many series along one axis (Wood, 2017, section 5.3).

A curve is a natural cubic spline through few knots at quantiles. Its penalty is the integral of
the squared second derivative; level lines and slopes, which that leaves free, are penalised a
little as well, so that a curve may shrink to its mean. The strength of the penalty is chosen for
each series by restricted maximum likelihood or by generalised cross-validation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.stats.array_backend import Floats, workers

# Penalty of level lines and slopes, as a share of the smallest penalty of a curve. One factor for
# both: then the result does not depend on which two directions span them.
SHRINKAGE = 0.1
FEWEST_KNOTS = 3
FEWEST_VALUES = 5  # values of a series with gaps that a curve needs
SMOOTHINGS = ("reml", "gcv")
STRENGTHS = np.linspace(-25.0, 35.0, 121)  # first grid of log-penalties
ROUNDS, STEPS = 5, 11  # further grids around the best one, finer each time, and their size
FLAT = 1e-12  # variation relative to the level that counts as none
PER_SERIES = ("level", "level_se", "weights", "weights_se", "freedom")


@dataclass(frozen=True, eq=False)
class Splines:
    """Curves of several series; `at` and `se_at` evaluate them."""

    knots: Floats  # (n_knots,); one if the axis has too few different values for a curve
    rotation: Floats  # (n_knots, n_directions): directions in which penalties are independent
    level: Floats  # (n_series,): mean of each series
    level_se: Floats  # (n_series,)
    weights: Floats  # (n_directions, n_series)
    weights_se: Floats  # (n_directions, n_series)
    freedom: Floats  # (n_series,): effective degrees of freedom
    likeness: Floats  # (n_series, n_series): correlation of the residuals
    bounds: tuple[float, float] | None = None  # that no curve leaves

    @property
    def known(self) -> NDArray[np.bool_]:
        """True for series that have a curve, (n_series,); the others are NaN everywhere."""
        return np.isfinite(self.level)

    def at(self, places: Floats) -> Floats:
        """Return the values of the curves, (n_places, n_series)."""
        with workers(1):
            return self.bounded(self.level + self._directions(places) @ self.weights)

    def bounded(self, values: Floats) -> Floats:
        """Return values moved to the bounds that they leave, if there are bounds."""
        return values if self.bounds is None else np.clip(values, *self.bounds)

    def se_at(self, places: Floats) -> Floats:
        """Return standard errors, (n_places, n_series), given the strength of the penalty."""
        return np.sqrt(self._directions(places) ** 2 @ self.weights_se**2 + self.level_se**2)

    def draws_at(self, places: Floats, draws: int, random: np.random.Generator) -> Floats:
        """Return draws of the curves from their distribution, (draws, n_places, n_series).

        Series of one table err together, as their residuals do, so that the difference of two
        curves is known better than each of them.
        """
        sizes, directions = np.linalg.eigh(self.likeness)
        root = directions * np.sqrt(np.clip(sizes, 0.0, None))
        count, width = self.level.size, len(self.weights)
        with workers(1):
            noise = random.standard_normal((draws, width + 1, count)) @ root.T
            shapes = self._directions(places) @ (self.weights + self.weights_se * noise[:, 1:])
        return self.bounded((self.level + self.level_se * noise[:, 0])[:, None, :] + shapes)

    def _directions(self, places: Floats) -> Floats:
        if self.knots.size < FEWEST_KNOTS:
            return np.zeros((len(places), 0))
        return _basis(np.clip(places, self.knots[0], self.knots[-1]), self.knots) @ self.rotation


def too_few(series: Floats) -> NDArray[np.bool_]:
    """Return True for columns with too few values for a curve; without gaps there are enough."""
    return np.asarray((~np.isnan(series)).sum(axis=0) < min(FEWEST_VALUES, len(series)))


def fit_splines(
    places: Floats, series: Floats, *, n_knots: int = 10, smoothing: str = "reml"
) -> Splines:
    """Fit curves to all columns of `series` (n_places, n_series) along `places`, without NaN.

    Beyond the outer places a curve keeps its last value. A column with gaps and fewer than
    `FEWEST_VALUES` values has no curve: it is NaN.
    """
    if smoothing not in SMOOTHINGS:
        raise InputError(f"`smoothing` must be one of {', '.join(SMOOTHINGS)}, got {smoothing!r}.")
    if n_knots < FEWEST_KNOTS:
        raise InputError(f"n_knots is {n_knots}, but a curve needs {FEWEST_KNOTS} or more.")
    series = np.where(too_few(series), np.nan, series)
    distinct = np.unique(places)
    n_knots = min(n_knots, distinct.size)
    if n_knots < FEWEST_KNOTS:
        return _level_lines(places, series)
    knots = np.quantile(distinct, np.linspace(0.0, 1.0, n_knots))
    basis, penalty = _basis(places, knots), _penalty(knots)
    observed = ~np.isnan(series)
    with workers(1):
        if observed.all():
            return _fit(knots, basis, penalty, series, smoothing)
        level = _level_lines(places, series).level
        whole = _fit(knots, basis, penalty, np.where(observed, series, level), smoothing)
        # Columns with gaps each by itself, in the directions that the whole table has.
        parts: dict[str, Any] = {name: np.array(getattr(whole, name)) for name in PER_SERIES}
        for column in np.flatnonzero(~observed.all(axis=0)):
            values: tuple[Any, ...] = (np.nan, np.nan, 0.0, np.nan, 1.0)
            if observed[:, column].any():
                values = _fit_alone(whole, basis, penalty, series[:, column], smoothing)
            for name, value in zip(PER_SERIES, values, strict=True):
                parts[name][..., column] = value
    return replace(whole, **parts)


def _fit(knots: Floats, basis: Floats, penalty: Floats, series: Floats, smoothing: str) -> Splines:
    """Fit all columns at once: they share basis and penalty."""
    rotation, sizes = _independent_directions(basis, penalty)
    level = series.mean(axis=0)
    centred = series - level
    along = (basis @ rotation).T @ centred
    total = np.einsum("ij,ij->j", centred, centred)
    strength = _strengths(along, total, sizes, len(series), smoothing)
    kept = 1 / (1 + np.exp(strength) * sizes[:, None])
    weights = kept * along
    residual = np.clip(total - ((2 * kept - kept**2) * along**2).sum(axis=0), 0.0, None)
    freedom = 1 + kept.sum(axis=0)
    sd = np.sqrt(residual / np.clip(len(series) - freedom, 1.0, None))
    flat = total <= (FLAT * (1 + np.abs(level))) ** 2 * len(series)
    return Splines(
        knots=knots,
        rotation=rotation,
        level=level,
        level_se=np.where(flat, 0.0, sd / np.sqrt(len(series))),
        weights=np.where(flat, 0.0, weights),
        weights_se=np.where(flat, 0.0, sd * np.sqrt(kept)),
        freedom=np.where(flat, 1.0, freedom),
        likeness=_correlation(centred - basis @ (rotation @ weights)),
    )


def _fit_alone(
    whole: Splines, basis: Floats, penalty: Floats, column: Floats, smoothing: str
) -> tuple[float, float, Floats, Floats, float]:
    """Fit one series with gaps, rotated to the directions of the whole table.

    Its own directions are centred elsewhere, so that level and weights move; their errors are then
    no longer independent, and the small part that this adds is left out.
    """
    observed = ~np.isnan(column)
    own = _fit(whole.knots, basis[observed], penalty, column[observed, None], smoothing)
    if not own.weights.any():
        zeros = np.zeros(whole.weights.shape[0])
        return own.level.item(), own.level_se.item(), zeros, zeros, 1.0
    at_knots = own.level + own.rotation @ own.weights  # a cubic spline is its values at knots
    centre = basis.mean(axis=0)
    level = float(centre @ at_knots[:, 0])
    back = np.linalg.pinv(whole.rotation)
    weights = back @ (at_knots[:, 0] - level)
    errors = np.sqrt((back @ own.rotation) ** 2 @ own.weights_se[:, 0] ** 2)
    return level, own.level_se.item(), weights, errors, own.freedom.item()


def _level_lines(places: Floats, series: Floats) -> Splines:
    """Return level lines: there are too few distinct places for a curve."""
    observed = ~np.isnan(series)
    count = np.where(observed.any(axis=0), observed.sum(axis=0), np.nan)
    level = np.where(observed, series, 0.0).sum(axis=0) / count
    centred = np.where(observed, series - level, 0.0)
    sd = np.sqrt((centred**2).sum(axis=0) / np.clip(count - 1, 1.0, None))
    no_weights = np.zeros((0, series.shape[1]))
    return Splines(
        knots=np.unique(places)[:1],
        rotation=np.zeros((1, 0)),
        level=level,
        level_se=sd / np.sqrt(count),
        weights=no_weights,
        weights_se=no_weights,
        freedom=np.ones(series.shape[1]),
        likeness=_correlation(centred),
    )


def _correlation(residuals: Floats) -> Floats:
    """Return correlations of columns around 0; 0 with a column of zeros."""
    products = residuals.T @ residuals
    size = np.sqrt(np.diag(products))
    size = np.where(size > 0, size, 1.0)
    correlation: Floats = np.nan_to_num(products / np.outer(size, size))
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _basis(places: Floats, knots: Floats) -> Floats:
    """Return natural cubic splines, each 1 at one knot and 0 at the others, (n_places, n_knots)."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(knots, np.eye(knots.size), bc_type="natural")(places))


def _penalty(knots: Floats) -> Floats:
    """Return the integral of the squared second derivative as a form in the values at the knots."""
    gaps, inner = np.diff(knots), knots.size - 2
    second, products = np.zeros((inner, knots.size)), np.zeros((inner, inner))
    for i in range(inner):
        left, right = gaps[i], gaps[i + 1]
        second[i, i : i + 3] = 1 / left, -1 / left - 1 / right, 1 / right
        products[i, i] = (left + right) / 3
        if i + 1 < inner:
            products[i, i + 1] = products[i + 1, i] = right / 6
    form = second.T @ np.linalg.solve(products, second)
    sizes, directions = np.linalg.eigh((form + form.T) / 2)
    sizes[:2] = SHRINKAGE * sizes[2]
    return np.asarray((directions * sizes) @ directions.T)


def _independent_directions(basis: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Return directions of mean 0 and unit size in which the penalty is diagonal, and its sizes."""
    from scipy.linalg import eigh

    centre = np.linalg.qr(basis.sum(axis=0)[:, None], mode="complete")[0][:, 1:]
    centred = basis @ centre
    form = centre.T @ penalty @ centre
    gram = centred.T @ centred
    # At knots without any value, the penalty alone determines the curve.
    gram = gram + 1e-12 * np.trace(gram) / len(gram) * np.eye(len(gram))
    sizes, directions = eigh(form, gram)
    return centre @ directions, np.clip(sizes, 1e-300, None)


def _strengths(along: Floats, total: Floats, sizes: Floats, n: int, smoothing: str) -> Floats:
    """Return the log-penalty of each series: the best of a grid, then of finer grids around it."""
    criterion = _restricted_likelihood if smoothing == "reml" else _cross_validation
    candidates: Floats = np.repeat(STRENGTHS[:, None], total.size, axis=1)
    best: Floats = candidates[0]
    reach = STRENGTHS[1] - STRENGTHS[0]
    for _ in range(ROUNDS):
        loss = np.stack([criterion(row, along, total, sizes, n) for row in candidates])
        best = np.take_along_axis(candidates, loss.argmin(axis=0)[None], axis=0)[0]
        candidates = best + np.linspace(-reach, reach, STEPS)[:, None]
        reach = 2 * reach / (STEPS - 1)
    return best


def _restricted_likelihood(
    strength: Floats, along: Floats, total: Floats, sizes: Floats, n: int
) -> Floats:
    """Return minus the restricted log-likelihood, maximized over the sd of the noise."""
    scaled = np.exp(strength) * sizes[:, None]
    left = total - (along**2 / (1 + scaled)).sum(axis=0)
    free = (np.log1p(scaled) - np.log(scaled)).sum(axis=0)
    return np.asarray((n - 1) * np.log(np.clip(left, 1e-300, None)) + free)


def _cross_validation(
    strength: Floats, along: Floats, total: Floats, sizes: Floats, n: int
) -> Floats:
    """Return the log of generalised cross-validation: squared error over squared freedom left."""
    kept = 1 / (1 + np.exp(strength) * sizes[:, None])
    left = total - ((2 * kept - kept**2) * along**2).sum(axis=0)
    free = np.clip(n - 1 - kept.sum(axis=0), 1e-9, None)
    return np.asarray(np.log(np.clip(left, 1e-300, None)) - 2 * np.log(free))

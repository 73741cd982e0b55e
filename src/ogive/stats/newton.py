"""Newton steps for many small problems at once or one large one, and Anderson acceleration.

Steihaug (1983); Anderson (1965); Walker and Ni (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ogive.stats.array_backend import Array, Floats, array_namespace

NOTHING = 1e-100  # entry of a scaled matrix that counts as 0, or LAPACK's inverse would overflow
FAINTEST = 1e-12  # least information, so that the standard error stays a finite number
NARROW = 8  # most parameters of an item that a GPU eliminates one by one
FLATTEST = 1e-8  # least eigenvalue of a scaled information; below it, a direction is flat


def solve_blocks(information: Array, gradient: Array, shared: tuple[bool, ...]) -> Array:
    """Solve information @ step = gradient for every item.

    `information` is (n_items, width, width), `gradient` (n_items, width). A `shared` coordinate
    is one number for all items: it is solved for first, with the others eliminated item by item.
    """
    xp = array_namespace(gradient)
    if not any(shared):
        if isinstance(gradient, np.ndarray) or gradient.shape[1] > NARROW:
            return xp.linalg.solve(information, gradient[..., None])[..., 0]
        return _solve_narrow(information, gradient)
    common = [k for k, is_shared in enumerate(shared) if is_shared]
    own = [k for k, is_shared in enumerate(shared) if not is_shared]
    cross = information[:, own, :][:, :, common]
    inner = information[:, own, :][:, :, own]
    eliminated = xp.linalg.solve(inner, xp.concat([cross, gradient[:, own, None]], axis=2))
    back = xp.permute_dims(cross, (0, 2, 1)) @ eliminated
    outer = xp.sum(information[:, common, :][:, :, common] - back[:, :, :-1], axis=0)
    right = xp.sum(gradient[:, common] - back[:, :, -1], axis=0)[:, None]
    common_step = xp.linalg.solve(outer, right)
    step = 0 * gradient
    step[:, common] = common_step[:, 0]
    step[:, own] = eliminated[:, :, -1] - (eliminated[:, :, :-1] @ common_step)[..., 0]
    return step


def _solve_narrow(matrices: Array, rights: Array) -> Array:
    """Eliminate for all items at once; positive matrices need no pivots.

    On a GPU, a library would check its solution on the CPU, and everything would wait.
    """
    width = rights.shape[1]
    right = [rights[:, i] for i in range(width)]
    upper = {(i, k): matrices[:, i, k] for i in range(width) for k in range(i, width)}
    for j in range(width):
        for i in range(j + 1, width):
            factor = upper[j, i] / upper[j, j]
            right[i] = right[i] - factor * right[j]
            for k in range(i, width):
                upper[i, k] = upper[i, k] - factor * upper[j, k]
    for i in reversed(range(width)):
        for k in range(i + 1, width):
            right[i] = right[i] - upper[i, k] * right[k]
        right[i] = right[i] / upper[i, i]
    return array_namespace(rights).stack(right, axis=1)


def symmetric(upper: list[Array]) -> Array:
    """Stack (n_items,) entries of an upper triangle, row by row, into (n_items, width, width)."""
    xp = array_namespace(upper[0])
    width = int((8 * len(upper) + 1) ** 0.5 - 1) // 2
    pairs = [(i, k) for i in range(width) for k in range(i, width)]
    entry = dict(zip(pairs, upper, strict=True))
    entries = [entry[min(i, k), max(i, k)] for i in range(width) for k in range(width)]
    return xp.reshape(xp.stack(entries, axis=-1), (*upper[0].shape, width, width))


def safe_information(observed: Array, expected: Array) -> Array:
    """Return observed information for items where it `is_safe`, the expected one for others.

    Observed information gives better steps near the maximum, but far from it, or with few
    responses, it need not be positive.
    """
    if observed is expected:
        return expected
    xp = array_namespace(observed)
    return xp.where(is_safe(observed, expected)[:, None, None], observed, expected)


def is_safe(observed: Array, expected: Array) -> Array:
    """Return True for items whose observed information is safely positive, (n_items,).

    Its leading minors are compared with the expected ones.
    """
    xp = array_namespace(observed)
    # Both are divided by the same scale, so that no entry is above 1, and no minor overflows.
    largest = xp.maximum(xp.max(xp.abs(observed), axis=2), xp.linalg.diagonal(expected))
    scale = 1 / xp.sqrt(xp.clip(largest, 1e-100, None))
    both = scale[:, :, None] * scale[:, None, :]
    observed, expected = (
        xp.where(xp.abs(scaled) < NOTHING, 0 * scaled, scaled)
        for scaled in (observed * both, expected * both)
    )
    safe = observed[:, 0, 0] > 0.1 * expected[:, 0, 0]
    for k in range(2, observed.shape[-1] + 1):
        safe = safe & (_minor(observed, k) > 0.1 * _minor(expected, k))
    return safe


def _minor(matrices: Array, k: int) -> Array:
    """Return the leading minor of size `k` of symmetric matrices; small ones are spelt out."""
    if k > 3:
        return array_namespace(matrices).linalg.det(matrices[:, :k, :k])
    a, b, d = matrices[:, 0, 0], matrices[:, 0, 1], matrices[:, 1, 1]
    if k == 2:
        return a * d - b * b
    c, e, f = matrices[:, 0, 2], matrices[:, 1, 2], matrices[:, 2, 2]
    return a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)


def positive_inverse(matrices: Floats) -> Floats:
    """Return the inverse of one or more matrices that should be positive.

    A flat direction, which rounding may even have made negative, gets a very large variance.
    """
    diagonal = np.abs(np.diagonal(matrices, axis1=-2, axis2=-1))
    scale = 1 / np.sqrt(np.maximum(diagonal, FAINTEST))
    both = scale[..., :, None] * scale[..., None, :]
    values, vectors = np.linalg.eigh(matrices * both)
    values = np.maximum(values, FLATTEST)
    return np.asarray((vectors / values[..., None, :]) @ np.swapaxes(vectors, -1, -2) * both)


def root_of(matrices: Array) -> Floats:
    """Return matrices r with r @ r.T = one or more covariances, without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


class Truncated(NamedTuple):
    """A step of Newton's method within a trust region."""

    step: Array
    gain: float  # predicted by the quadratic model
    length: float
    inside: bool  # whether the step is Newton's own, not cut off at the edge of the region


def truncated_newton(
    gradient: Array,
    times: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    radius: float,
    *,
    forcing: float,
    most: int,
) -> Truncated:
    """Maximize gradient·s - s·times(s)/2 by conjugate gradients, within |s| <= radius.

    Lengths are measured by the inverse of `precondition`, which is positive. A direction of
    negative curvature is followed to the edge of the region. Iteration ends when the residual is
    `forcing` times the gradient, or after `most` products.
    """
    xp = array_namespace(gradient)

    def dot(x: Array, y: Array) -> float:
        return float(xp.sum(x * y))

    step, product, residual = 0 * gradient, 0 * gradient, gradient
    scaled = precondition(residual)
    slope = first = dot(residual, scaled)
    direction, length, mixed, square = scaled, 0.0, 0.0, slope
    inside = slope <= 0
    for _ in range(most if slope > 0 else 0):
        image = times(direction)
        curvature = dot(direction, image)
        size = slope / curvature if curvature > 1e-14 * square else np.inf
        if not length + 2 * size * mixed + size * size * square < radius**2:
            discriminant = mixed**2 + square * (radius**2 - length)
            size = (np.sqrt(max(discriminant, 0.0)) - mixed) / square
            step, product = step + size * direction, product + size * image
            length = radius**2
            break
        step, product = step + size * direction, product + size * image
        residual = residual - size * image
        length += 2 * size * mixed + size * size * square
        scaled = precondition(residual)
        last, slope = slope, dot(residual, scaled)
        if slope <= forcing**2 * first:
            inside = True
            break
        beta = slope / last
        direction = scaled + beta * direction
        mixed, square = beta * (mixed + size * square), slope + beta**2 * square
    gain = dot(gradient, step) - 0.5 * dot(step, product)
    return Truncated(step, gain, float(np.sqrt(length)), inside)


class Anderson:
    """Acceleration that combines the last few steps into a longer one.

    `advance(x, step, metric)` returns the next point. Differences between steps are measured
    with the diagonal `metric`, so that parameters of different units weigh alike.
    """

    def __init__(self, memory: int = 6) -> None:
        self.memory = memory
        self._points: list[Array] = []
        self._steps: list[Array] = []

    def forget(self) -> None:
        """Clear the memory: the map has changed, or the last step was a bad one."""
        self._points.clear()
        self._steps.clear()

    def advance(self, x: Array, step: Array, metric: Array) -> Array:
        """Return the next point from `x`, given the plain `step` of the map there."""
        self._points = [*self._points, x][-self.memory - 1 :]
        self._steps = [*self._steps, step][-self.memory - 1 :]
        if len(self._points) == 1:
            return x + step
        xp = array_namespace(x)
        n = len(self._points) - 1
        d_points = xp.stack([xp.reshape(point - x, (-1,)) for point in self._points[:-1]])
        d_steps = xp.stack([xp.reshape(other - step, (-1,)) for other in self._steps[:-1]])
        scaled = d_steps * xp.reshape(metric, (-1,))
        gram = scaled @ d_steps.T
        # A ridge of rounding size keeps nearly parallel memories from cancelling violently.
        size = 1e-10 * xp.linalg.trace(gram) + 1e-300
        ridge = size * xp.eye(n, dtype=gram.dtype, device=gram.device)
        right = -(scaled @ xp.reshape(step, (-1,)))
        weights = xp.linalg.solve(gram + ridge, right[:, None])[:, 0]
        return x + step + xp.reshape(weights @ (d_points + d_steps), x.shape)

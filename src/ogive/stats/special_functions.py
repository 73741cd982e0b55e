"""Special functions that stay exact in the tails, for NumPy and torch."""

from __future__ import annotations

import numpy as np
from scipy import special

from ogive.stats.array_backend import Array, array_namespace

FARTHEST = 700.0  # exponent beyond which the exponential leaves the range of float64
SHIFT = 12  # argument from which the asymptotic series of polygamma is exact
LARGE = 30.0  # argument from which Stirling's series is exact
SMALL = 0.5  # argument up to which eight terms of a power series hold nine digits
ROUNDING = 1e-18  # terms of a series below it change nothing

# Stirling's series of digamma and its derivatives: powers of 1 / x and their factors.
STIRLING = {
    0: ((1, -1 / 2), (2, -1 / 12), (4, 1 / 120), (6, -1 / 252)),
    1: ((1, 1.0), (2, 1 / 2), (3, 1 / 6), (5, -1 / 30), (7, 1 / 42)),
    2: ((2, -1.0), (3, -1.0), (4, -1 / 2), (6, 1 / 6), (8, -1 / 6)),
}


def sigmoid_pair(x: Array) -> tuple[Array, Array]:
    """Return the logistic function and its complement, neither by subtraction from one."""
    xp = array_namespace(x)
    odds_against = xp.exp(-xp.clip(x, -FARTHEST, FARTHEST))
    rise = 1 / (1 + odds_against)
    return rise, odds_against * rise


def log_sigmoid(x: Array) -> Array:
    """Return the log of the logistic function, exact in both tails."""
    xp = array_namespace(x)
    return xp.where(x < 0, x, 0 * x) - xp.log1p(xp.exp(-xp.abs(x)))


def log_fall(x: Array, rise: Array) -> Array:
    """Return the log of 1 - sigmoid(x) to 1e-13, given the sigmoid `rise`."""
    xp = array_namespace(x)
    return xp.log(rise) - xp.clip(x, -FARTHEST, None)


def logit(p: Array) -> Array:
    """Return the log-odds of a probability inside (0, 1)."""
    xp = array_namespace(p)
    return xp.log(p) - xp.log1p(-p)


def log_one_less(x: Array) -> Array:
    """Return the log of 1 - exp(-x) for x > 0, exact for small and for large x."""
    xp = array_namespace(x)
    near = xp.clip(x, None, 0.7)
    return xp.where(x < 0.7, xp.log(-xp.expm1(-near)), xp.log1p(-xp.exp(-xp.clip(x, 0.7, None))))


def log_normal_cdf(x: Array) -> Array:
    """Return the log of the standard normal distribution function, exact in the lower tail."""
    return special.log_ndtr(x) if isinstance(x, np.ndarray) else _torch_special().log_ndtr(x)


def scaled_log_normal_cdf(x: Array) -> Array:
    """Return the log of the standard normal distribution function plus x² / 2.

    Over -x, the exponential of it is about 1 / √(2π): what Mills' ratio leaves of a far tail.
    """
    xp = array_namespace(x)
    below = xp.clip(x, None, 0.0) / -(2.0**0.5)
    functions = special if isinstance(x, np.ndarray) else _torch_special()
    lower = xp.log(0.5 * functions.erfcx(below))
    above = xp.clip(x, 0.0, None)
    return xp.where(x < 0, lower, log_normal_cdf(above) + 0.5 * above**2)


def _torch_special() -> Array:
    import torch

    return torch.special


def log_gamma(x: Array) -> Array:
    """Return the log of the gamma function."""
    return special.gammaln(x) if isinstance(x, np.ndarray) else x.lgamma()


def digamma(x: Array) -> Array:
    """Return the derivative of log-gamma."""
    return special.digamma(x) if isinstance(x, np.ndarray) else x.digamma()


def polygamma(order: int, x: Array) -> Array:
    """Return the first or second derivative of the digamma function, for x > 0.

    Recurrence up to where the asymptotic series is exact: SciPy's takes ten times as long, and
    torch's holds nine digits.
    """
    total = 0 * x
    for k in range(SHIFT):
        part = 1 / (x + k)
        total = total + (part * part if order == 1 else part * part * part)
    y = 1 / (x + SHIFT)
    square = y * y
    if order == 1:
        series = 1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30))
        return total + y + square * (0.5 + y * series)
    series = 1 + y * (1 + y * (0.5 - square * (1 / 6 - square * (1 / 6 - 0.3 * square))))
    return -2 * total - square * series


def gamma_drop(order: int, x: Array, y: Array) -> Array:
    """Return log-gamma (-1), digamma (0) or its derivatives (1, 2) at x, less that at x + y.

    If x is large, both lose the digits in which they differ, so that Stirling's series is
    subtracted term by term.
    """
    xp = array_namespace(x)
    if order == -1:
        near = log_gamma(x) - log_gamma(x + y)
    elif order == 0:
        near = digamma(x) - digamma(x + y)
    else:
        near = polygamma(order, x) - polygamma(order, x + y)
    large = x > LARGE
    if bool(xp.any(large)):
        near[large] = _gamma_drop_of_large(order, x[large], y[large])
    return near


def _gamma_drop_of_large(order: int, x: Array, y: Array) -> Array:
    xp = array_namespace(x)
    log_ratio = xp.log1p(y / x)

    def inverse(power: int) -> Array:
        return -xp.expm1(-power * log_ratio) * (1 / x) ** power  # x**-power less that of x + y

    if order == -1:
        drop = y - y * xp.log(x) - (x + y - 0.5) * log_ratio
        return drop + inverse(1) / 12 - inverse(3) / 360 + inverse(5) / 1260
    drop = -log_ratio if order == 0 else 0 * log_ratio
    for power, factor in STIRLING[order]:
        drop = drop + factor * inverse(power)
    return drop


def log_lower_gamma(shape: Array, x: Array) -> Array:
    """Return the log of ∫₀¹ t^(shape - 1) exp(-x t) dt, for any x ≥ 0."""
    xp = array_namespace(shape)
    near_x = xp.clip(x, None, SMALL)
    largest = float(xp.max(near_x)) if x.shape[0] else 0.0
    term, total = xp.ones_like(shape), xp.ones_like(shape)
    for n in range(1, 9):
        if largest**n < ROUNDING:  # terms are smaller still
            break
        term = term * (near_x / (shape + n))
        total = total + term
    result = xp.log(total) - x - xp.log(shape)
    far = x > SMALL
    if bool(xp.any(far)):
        result[far] = _log_lower_gamma_of_large(shape[far], x[far])
    return result


def _log_lower_gamma_of_large(shape: Array, x: Array) -> Array:
    xp = array_namespace(shape)
    functions = special if isinstance(x, np.ndarray) else _torch_special()
    share = functions.gammainc(shape, x)  # regularised
    representable = share > 1e-200  # elsewhere x is far below the shape
    share = xp.where(representable, share, xp.ones_like(share))
    direct = xp.log(share) + log_gamma(shape) - shape * xp.log(x)
    below = -x - xp.log(shape) - xp.log1p(-xp.clip(x / (shape + 1), None, 0.9))
    return xp.where(representable, direct, below)

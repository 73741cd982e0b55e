"""Special functions that stay exact in the tails."""

from __future__ import annotations

from itemwise.numerics.arrays import Array, array_namespace

FARTHEST = 700.0  # the exponential of anything farther leaves the range of float64


def sigmoid_pair(x: Array) -> tuple[Array, Array]:
    """The logistic function and its complement, neither by subtraction from one."""
    xp = array_namespace(x)
    odds_against = xp.exp(-xp.clip(x, -FARTHEST, FARTHEST))
    rise = 1 / (1 + odds_against)
    return rise, odds_against * rise


def log_sigmoid(x: Array) -> Array:
    """Log of the logistic function, exact in both tails."""
    xp = array_namespace(x)
    return xp.where(x < 0, x, 0 * x) - xp.log1p(xp.exp(-xp.abs(x)))


def log_fall(x: Array, rise: Array) -> Array:
    """Log of 1 - sigmoid(x) to 1e-13, where the sigmoid itself, `rise`, is known already."""
    xp = array_namespace(x)
    return xp.log(rise) - xp.clip(x, -FARTHEST, None)


def logit(p: Array) -> Array:
    """Log-odds of a probability inside (0, 1)."""
    xp = array_namespace(p)
    return xp.log(p) - xp.log1p(-p)

"""How far predictions are off: of values, with their ranks and intervals, and of probabilities.

For probabilities, the expected calibration error and its interval.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import reach_of_parts
from ogive.numerics.rankings import rank_agreement

COLUMNS = (
    *("mae", "mae_se", "rmse", "rmse_se", "bias", "bias_se"),
    *("kendall", "spearman", "coverage", "coverage_se", "width"),
)

N_BINS = 10
STEPS = 201  # between no error and the largest looked at
WIDEST = 3.0  # mean errors of noise alone, beyond the error itself


def prediction_error(
    predicted: Floats,
    truth: Floats,
    groups: NDArray[np.int64],
    reach: Floats | tuple[Floats, Floats] | None = None,
) -> dict[str, float]:
    """The figures of `COLUMNS`; all arguments are (n,).

    Predictions of one of the `groups` (numbered from 0) are dependent, and count as one for
    standard errors. `reach` is half the width of each interval, or how far it reaches down and up;
    without it, nothing is said of intervals.
    """
    error = predicted - truth
    off, rmse = np.abs(error), float(np.sqrt((error**2).mean()))
    found = {
        "mae": float(off.mean()),
        "mae_se": grouped_se(off, groups),
        "rmse": rmse,
        "rmse_se": grouped_se(error**2, groups) / (2 * max(rmse, 1e-300)),
        "bias": float(error.mean()),
        "bias_se": grouped_se(error, groups),
        **rank_agreement(predicted, truth),
    }
    if reach is None:
        return {**found, "coverage": np.nan, "coverage_se": np.nan, "width": np.nan}
    down, up = reach if isinstance(reach, tuple) else (reach, reach)
    held = ((error <= down) & (-error <= up)).astype(float)
    coverage = {"coverage": float(held.mean()), "coverage_se": grouped_se(held, groups)}
    return {**found, **coverage, "width": float(np.mean(down + up))}


def mean_error_ends(
    mean: Floats, se: Floats, n_parts: int, confidence: float
) -> tuple[Floats, Floats]:
    """Ends of the interval of a mean absolute error over so many folds (Student's t).

    Errors within a fold share what was learned, so that a mean over them is as uncertain as one
    over so many folds.
    """
    reach = reach_of_parts(n_parts, confidence) * se
    return np.maximum(mean - reach, 0.0), mean + reach


def grouped_se(values: Floats, groups: NDArray[np.int64]) -> float:
    """Standard error of a mean whose values come in groups; NaN where there is but one."""
    sums = np.bincount(groups, values - values.mean())[np.bincount(groups) > 0]
    if sums.size < 2:
        return float("nan")
    return float(np.sqrt((sums**2).sum() * sums.size / (sums.size - 1)) / values.size)


def confidence_bins(confidence: Floats, n_bins: int = N_BINS) -> NDArray[np.intp]:
    """In which of equally wide bins from 0 to 1 each confidence lies; the last holds 1."""
    found: NDArray[np.intp] = np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1)
    return found


def calibration_error(confidence: Floats, right: Floats, place: NDArray[np.intp]) -> float:
    """Distance of confidence and accuracy in each bin, over bins by their size (ECE)."""
    return float(np.abs(np.bincount(place, confidence - right)).sum() / confidence.size)


def error_interval(
    confidence: Floats,
    right: Floats,
    place: NDArray[np.intp],
    level: float,
    n_resamples: int,
    random: Generator,
) -> tuple[float, float]:
    """Interval of the calibration error: true errors under which this one is no surprise.

    Distances add up whatever their sign, so that chance only ever makes the error larger, and
    plain draws of the items would start from an error that is too large already. So the gaps of
    all bins are grown from none to beyond those observed, with noise as large as theirs, and kept
    where the error observed lies between the outer quantiles. It is always inside itself.
    """
    gap, noise = _gaps(confidence, right, place, n_resamples, random)
    error = calibration_error(confidence, right, place)
    furthest = error + WIDEST * float(np.abs(noise).sum(axis=1).mean())
    true = np.linspace(0.0, min(1.0, furthest), STEPS)
    direction = gap / error if error else np.full(gap.shape, 1 / gap.size)
    found = np.array([np.abs(size * direction + noise).sum(axis=1) for size in true])
    tail = (1 - level) / 2
    kept = true[((found >= error).mean(axis=1) >= tail) & ((found <= error).mean(axis=1) >= tail)]
    # Nothing is kept where the error is smaller than that of noise alone: then it may be none.
    return min([error, *(kept if kept.size else [0.0])]), max([error, *kept])


def _gaps(
    confidence: Floats, right: Floats, place: NDArray[np.intp], n_resamples: int, random: Generator
) -> tuple[Floats, Floats]:
    """Signed part of each bin in the error, and samples of its noise, (n_resamples, n_bins)."""
    gap, n = confidence - right, confidence.size
    count = np.maximum(np.bincount(place), 1)
    total = np.bincount(place, gap)
    square = np.bincount(place, (gap - (total / count)[place]) ** 2)
    # A single item shows no variance; that of its own probability takes its place.
    alone = np.bincount(place, confidence * (1 - confidence))
    variance = np.where(count > 1, square * count / np.maximum(count - 1, 1), alone)
    noise = random.normal(size=(n_resamples, count.size)) * np.sqrt(variance) / n
    return total / n, noise


def error_by_chance(
    confidence: Floats, place: NDArray[np.intp], n_resamples: int, random: Generator
) -> float:
    """Mean calibration error on so many items of a model whose confidence is right."""
    n = confidence.size
    right = ((random.uniform(size=n) < confidence).astype(np.float64) for _ in range(n_resamples))
    return float(np.mean([calibration_error(confidence, drawn, place) for drawn in right]))


def mean_interval(
    values: Floats, level: float, lowest: float, highest: float
) -> tuple[float, float, float]:
    """Mean of values between two bounds, and its interval; of one value, all is possible."""
    from scipy.special import stdtrit

    mean, n = float(values.mean()), values.size
    if n < 2:
        return mean, lowest, highest
    reach = float(stdtrit(n - 1, 0.5 + level / 2) * values.std(ddof=1) / np.sqrt(n))
    return mean, max(lowest, mean - reach), min(highest, mean + reach)

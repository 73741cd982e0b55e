"""Rank agreement, classification metrics, bins, and errors of predictions.

Every metric of classifiers is a share, and a share of nothing is 0, as with scikit-learn's
`zero_division=0`: precision if nothing is predicted positive, recall if no item is positive,
specificity if none is negative, AUC if one of the two classes has no members.
"""

from __future__ import annotations

from math import atanh, sqrt, tanh
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import stdtrit

from ogive.errors import InputError
from ogive.results.plots.marks import robust_limits
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import reach_of_parts

Signs: TypeAlias = NDArray[np.float32]  # sums of them are exact up to millions of pairs
Codes = NDArray[np.integer[Any]]

ROUNDING = 1e-9  # difference by which neighbours on a line may seem closer or farther apart
SMALLEST, LARGEST = 0.05, 20.0  # errors, in units, outside of which scores do not change
COLUMNS = (
    *("mae", "mae_se", "rmse", "rmse_se", "bias", "bias_se"),
    *("kendall", "spearman", "coverage", "coverage_se", "width"),
)
N_BINS = 10
STEPS = 201  # grid points between no error and the largest that is considered
WIDEST = 3.0  # mean errors of noise alone that the largest error lies above the observed one


def pair_signs(values: Floats) -> Signs:
    """Return 1, 0 or -1 for each pair of the last axis: the first is above, level or below."""
    first, second = np.triu_indices(values.shape[-1], 1)
    one, other = values[..., first], values[..., second]
    # In the search for data sets nearly all the time is spent here, so numbers are kept small.
    signs = np.subtract(one > other, one < other, dtype=np.int8)
    return signs.astype(np.float32)


def sign_agreement(signs: Signs, others: Signs) -> Floats:
    """Return Kendall's tau-b of rankings given as `pair_signs`; 0 if one of them is all ties."""

    def dot(left: Signs, right: Signs) -> Floats:
        return np.asarray(np.einsum("...p,...p->...", left, right), dtype=np.float64)

    # Signs are 1, 0 and -1, so that their squares count the pairs that are no ties.
    return _share(dot(signs, others), np.sqrt(dot(signs, signs) * dot(others, others)))


def kendall(values: Floats, others: Floats) -> Floats:
    """Return Kendall's tau-b over the last axis; 0 if one of the two is all ties."""
    return sign_agreement(pair_signs(values), pair_signs(others))


def correlation(values: Floats, others: Floats) -> Floats:
    """Return Pearson's correlation over the last axis; 0 if one of the two is constant."""
    x = values - values.mean(axis=-1, keepdims=True)
    y = others - others.mean(axis=-1, keepdims=True)
    return _share((x * y).sum(axis=-1), np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1)))


def spearman(values: Floats, others: Floats) -> Floats:
    """Return Spearman's rho over the last axis, ties sharing their mean rank."""
    from scipy.stats import rankdata

    return correlation(rankdata(values, axis=-1), rankdata(others, axis=-1))


def rank_agreement(values: Floats, others: Floats) -> dict[str, float]:
    """Return Kendall's tau-b and Spearman's rho of two rankings; NaN if one is all ties."""
    from scipy.stats import kendalltau

    if is_constant(values) or is_constant(others):
        return {"kendall": np.nan, "spearman": np.nan}
    # Unlike `kendall`, in memory that does not grow with the number of pairs.
    tau = float(kendalltau(values, others).statistic)
    return {"kendall": tau, "spearman": float(spearman(values, others))}


def correlation_interval(r: float, n: float, *, ranks: bool) -> tuple[float, float]:
    """Return the 95 % interval of a correlation over `n` pairs, by Fisher's transformation.

    For ranks with the variance of Bonett and Wright (2000). NaN for three pairs or fewer, and if
    all points lie on a line.
    """
    if not abs(r) <= 1 - 1e-12 or n <= 3:
        return np.nan, np.nan
    reach = 1.959963984540054 * sqrt((1 + r**2 / 2 if ranks else 1.0) / (n - 3))
    return tanh(atanh(r) - reach), tanh(atanh(r) + reach)


def is_constant(values: Floats) -> bool:
    """Return True if all values are exactly equal; by rounding, their sd need not be 0 then."""
    return values.size > 0 and bool(values.min() == values.max())


def prediction_figures(predicted: Floats, truth: Floats) -> dict[str, float]:
    """Return how well `predicted` predicts `truth`; NaN if the truth does not vary.

    `nrmse` is the root mean squared error divided by the standard deviation of the truth (1: no
    better than its mean), `spearman` the rank correlation.
    """
    if is_constant(truth):
        return {"nrmse": np.nan, "spearman": np.nan}
    error = float(np.sqrt(((predicted - truth) ** 2).mean()) / truth.std())
    return {"nrmse": error, "spearman": float(spearman(predicted, truth))}


def runs_within(ascending: Floats, reach: float) -> list[tuple[int, int]]:
    """Return slices of at least two neighbours less than `reach` apart, none inside another."""
    runs: list[tuple[int, int]] = []
    for start in range(len(ascending)):
        stop = int(np.searchsorted(ascending, ascending[start] + reach - ROUNDING))
        if stop - start > 1 and (not runs or stop > runs[-1][1]):
            runs.append((start, stop))
    return runs


def confusion_counts(
    true: Codes, predicted: Codes, n_classes: int, weights: NDArray[Any] | None = None
) -> Floats:
    """Return how many items of each class (rows) are predicted as each class (columns).

    `true` is (n_items,) and `predicted` (n_models, n_items), codes from 0; any other code, such as
    -1 for no answer, is counted nowhere. Without `weights` the counts are (n_models, k, k); with
    weights (n_resamples, n_items), how often each item was drawn, (n_resamples, n_models, k, k).
    """
    codes, drawn = np.arange(n_classes), _weights(weights, len(true))
    counts = np.empty((*drawn.shape[:-1], len(predicted), n_classes, n_classes))
    for code in codes:
        members = np.flatnonzero(true == code)
        # One column for each model and predicted class, so that resamples are a matrix product.
        answers = (predicted[:, members].T[:, :, None] == codes).astype(np.float64)
        product = drawn[..., members] @ answers.reshape(len(members), len(predicted) * n_classes)
        counts[..., code, :] = product.reshape(*drawn.shape[:-1], len(predicted), n_classes)
    return counts


def classic_metrics(counts: Floats, positive: int | None = None) -> dict[str, Floats]:
    """Return accuracy, F1, precision, recall, AUC and specificity of matrices (..., k, k).

    `positive` is the class against all others. Left out, it is class 1 of two; of more classes, the
    metrics are means over each class against all others, classes without members left out, and
    accuracy is the share of right predictions. `auc` is that of labels alone, without scores: the
    mean of recall and specificity.
    """
    if positive is None and counts.shape[-1] == 2:
        positive = 1
    hits = np.diagonal(counts, axis1=-2, axis2=-1)
    members, predicted = counts.sum(axis=-1), counts.sum(axis=-2)
    total = members.sum(axis=-1, keepdims=True)
    others = total - members
    rejected = total - members - predicted + hits  # rightly
    recall, specificity = _share(hits, members), _share(rejected, others)
    by_class = {
        "accuracy": _share(hits + rejected, total),
        "f1": _share(2 * hits, members + predicted),
        "precision": _share(hits, predicted),
        "recall": recall,
        "auc": np.where((members > 0) & (others > 0), (recall + specificity) / 2, 0.0),
        "specificity": specificity,
    }
    if positive is not None:
        return {name: values[..., positive] for name, values in by_class.items()}
    known = members > 0
    means = {
        name: _share((values * known).sum(axis=-1), known.sum(axis=-1))
        for name, values in by_class.items()
    }
    right = np.trace(counts, axis1=-2, axis2=-1)
    return {**means, "accuracy": _share(right, counts.sum(axis=(-2, -1)))}


def auc_of_scores(true: Codes, scores: Floats, weights: NDArray[Any] | None = None) -> Floats:
    """Return the ROC AUC: the share of pairs in which the positive item scores higher.

    Ties count half. `true` is (n_items,), 1 for positive and 0 for negative; `scores` is
    (n_models, n_items). The result is (n_models,), or with weights (n_resamples, n_items) it is
    (n_resamples, n_models).
    """
    # Items first, so that choosing and adding up items moves whole rows of resamples.
    drawn = _weights(weights, len(true)).T
    is_positive, is_negative = true == 1, true == 0
    positive, negative = drawn[is_positive], drawn[is_negative]
    won = []
    for row in scores:
        order = np.argsort(row[is_negative], kind="stable")
        ascending = row[is_negative][order]
        beaten = np.concatenate([np.zeros((1, *drawn.shape[1:])), negative[order].cumsum(axis=0)])
        below = np.searchsorted(ascending, row[is_positive], side="left")
        not_above = np.searchsorted(ascending, row[is_positive], side="right")
        both = beaten[below] + beaten[not_above]
        won.append(np.einsum("i...,i...->...", positive, both) / 2)
    pairs = positive.sum(axis=0) * negative.sum(axis=0)
    return _share(np.stack(won, axis=-1), pairs[..., None])


def auc_error(true: Codes, scores: Floats) -> float:
    """Return the standard error of the ROC AUC (DeLong, DeLong and Clarke-Pearson, 1988).

    `true` and `scores` are (n_items,) each. To each of the two classes an item is added that wins
    half of its comparisons: without it, a perfect order of few items would seem certain.
    """
    parts = []
    for own in (1, 0):  # the share that a negative item wins is spread as the share it loses
        one, other = scores[true == own], np.sort(scores[true != own])
        if not one.size or not other.size:
            return np.nan
        below, not_above = (np.searchsorted(other, one, side) for side in ("left", "right"))
        won = np.append((below + not_above) / (2 * other.size), 0.5)
        parts.append(won.var(ddof=1) / won.size)
    return float(np.sqrt(sum(parts)))


def _weights(weights: NDArray[Any] | None, n_items: int) -> Floats:
    return np.ones(n_items) if weights is None else np.asarray(weights, dtype=np.float64)


def _share(part: Floats, whole: NDArray[Any]) -> Floats:
    """Return part / whole; 0 where the whole is not positive."""
    zeros = np.zeros(np.broadcast_shapes(part.shape, whole.shape))
    return np.asarray(np.divide(part, whole, out=zeros, where=whole > 0))


def edges_by_quantile(values: Floats, n_bins: int) -> Floats:
    """Return edges between which equally many values lie; equal values share a bin."""
    return np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1)))


def edges_by_width(values: Floats, n_bins: int) -> Floats:
    """Return edges at equal distances; the outer bins also hold outliers."""
    edges = np.linspace(*robust_limits(values), n_bins + 1)
    edges[0], edges[-1] = values.min(), values.max()
    return np.unique(edges)


def places(values: Floats, edges: Floats) -> NDArray[np.intp]:
    """Return the bin of each value, from 0; -1 for values outside and NaN.

    Bins hold their lower edge, the last holds both. A single edge makes one bin of that value.
    """
    last = max(len(edges) - 2, 0)
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, last)
    outside = ~((values >= edges[0]) & (values <= edges[-1]))
    return np.where(outside, -1, bins)


def sums_by_bin(cells: Floats, bins: NDArray[np.intp], n_bins: int) -> tuple[Floats, Floats]:
    """Return the number and the sum of the cells of each row by bin, (n_rows, n_bins) each.

    NaN cells do not count. `bins` is the bin of each column; columns at -1 are left out.
    """
    member = (bins[:, None] == np.arange(n_bins)).astype(np.float64)
    observed = ~np.isnan(cells)
    return observed.astype(np.float64) @ member, np.where(observed, cells, 0.0) @ member


def error_unit(target: Floats) -> float:
    """Return the median error of always predicting the median of a target.

    If more than half of the values are equal, it is the mean error.

    >>> error_unit(np.array([1.0, 2.0, 3.0, 7.0, 100.0]))
    2.0
    """
    errors = np.abs(target - np.median(target))
    unit = float(np.median(errors)) or float(errors.mean())
    if not np.isfinite(unit) or unit <= 0:
        raise InputError(
            "The target has the same value in every row of the training part, so errors have no "
            "unit. Give a target that varies."
        )
    return unit


def error_scores(errors: Floats, unit: float) -> Floats:
    """Return scores 1 / (1 + error / unit): 1/2 at one unit, more below it; NaN stays.

    The log-odds of a score are minus the logarithm of the error in units. An error that happens to
    be almost zero is no better than a small one, so errors count as at least a twentieth of the
    unit, and as at most twenty.

    >>> error_scores(np.array([0.0, 2.0, 6.0]), 2.0).round(3).tolist()
    [0.952, 0.5, 0.25]
    """
    return np.asarray(1.0 / (1.0 + np.clip(np.abs(errors) / unit, SMALLEST, LARGEST)))


def prediction_error(
    predicted: Floats,
    truth: Floats,
    groups: NDArray[np.int64],
    reach: Floats | tuple[Floats, Floats] | None = None,
) -> dict[str, float]:
    """Return the figures of `COLUMNS`; all arguments are (n,).

    Predictions of one of the `groups` (numbered from 0) are dependent, and count as one for
    standard errors. `reach` is half the width of each interval, or how far it reaches down and up;
    without it, the figures of intervals are NaN.
    """
    error = predicted - truth
    off, rmse = np.abs(error), float(np.sqrt((error**2).mean()))
    figures = {
        "mae": float(off.mean()),
        "mae_se": grouped_se(off, groups),
        "rmse": rmse,
        "rmse_se": grouped_se(error**2, groups) / (2 * max(rmse, 1e-300)),
        "bias": float(error.mean()),
        "bias_se": grouped_se(error, groups),
        **rank_agreement(predicted, truth),
        **dict.fromkeys(("coverage", "coverage_se", "width"), np.nan),
    }
    if reach is not None:
        down, up = reach if isinstance(reach, tuple) else (reach, reach)
        covered = ((error <= down) & (-error <= up)).astype(float)
        figures["coverage"] = float(covered.mean())
        figures["coverage_se"] = grouped_se(covered, groups)
        figures["width"] = float(np.mean(down + up))
    return figures


def mean_error_ends(
    mean: Floats, se: Floats, n_parts: int, confidence: float
) -> tuple[Floats, Floats]:
    """Return the interval of a mean absolute error over `n_parts` folds (Student's t).

    Errors within a fold share what was learned, so that the folds count as the observations.
    """
    reach = reach_of_parts(n_parts, confidence) * se
    return np.maximum(mean - reach, 0.0), mean + reach


def grouped_se(values: Floats, groups: NDArray[np.int64]) -> float:
    """Return the standard error of a mean whose values come in groups; NaN if there is only one."""
    sums = np.bincount(groups, values - values.mean())[np.bincount(groups) > 0]
    if sums.size < 2:
        return float("nan")
    return float(np.sqrt((sums**2).sum() * sums.size / (sums.size - 1)) / values.size)


def confidence_bins(confidence: Floats, n_bins: int = N_BINS) -> NDArray[np.intp]:
    """Return in which of equally wide bins from 0 to 1 each confidence lies; the last holds 1."""
    return np.asarray(np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1))


def calibration_error(confidence: Floats, right: Floats, bins: NDArray[np.intp]) -> float:
    """Return the expected calibration error: mean |confidence - accuracy| of bins, by size."""
    return float(np.abs(np.bincount(bins, confidence - right)).sum() / confidence.size)


def error_interval(
    confidence: Floats,
    right: Floats,
    bins: NDArray[np.intp],
    level: float,
    n_resamples: int,
    random: Generator,
) -> tuple[float, float]:
    """Return the interval of true calibration errors under which this one is no surprise.

    Distances add up whatever their sign, so that chance only ever makes the error larger, and
    plain draws of the items would start from an error that is too large already. So the gaps of
    all bins are scaled from none to beyond those observed, with noise as large as theirs, and kept
    if the observed error lies between the outer quantiles. It is always inside itself.
    """
    gap, noise = _gaps(confidence, right, bins, n_resamples, random)
    error = calibration_error(confidence, right, bins)
    furthest = error + WIDEST * float(np.abs(noise).sum(axis=1).mean())
    true = np.linspace(0.0, min(1.0, furthest), STEPS)
    direction = gap / error if error else np.full(gap.shape, 1 / gap.size)
    drawn = np.array([np.abs(size * direction + noise).sum(axis=1) for size in true])
    tail = (1 - level) / 2
    kept = true[((drawn >= error).mean(axis=1) >= tail) & ((drawn <= error).mean(axis=1) >= tail)]
    # Nothing is kept if the error is smaller than that of noise alone: the true one may be 0 then.
    return min([error, *(kept if kept.size else [0.0])]), max([error, *kept])


def _gaps(
    confidence: Floats, right: Floats, bins: NDArray[np.intp], n_resamples: int, random: Generator
) -> tuple[Floats, Floats]:
    """Return the signed part of each bin in the error, and its noise, (n_resamples, n_bins)."""
    gap, n = confidence - right, confidence.size
    count = np.maximum(np.bincount(bins), 1)
    total = np.bincount(bins, gap)
    square = np.bincount(bins, (gap - (total / count)[bins]) ** 2)
    # The variance of a single item is that of its own probability.
    of_one = np.bincount(bins, confidence * (1 - confidence))
    variance = np.where(count > 1, square * count / np.maximum(count - 1, 1), of_one)
    noise = random.normal(size=(n_resamples, count.size)) * np.sqrt(variance) / n
    return total / n, noise


def error_by_chance(
    confidence: Floats, bins: NDArray[np.intp], n_resamples: int, random: Generator
) -> float:
    """Return the mean calibration error on as many items of a model whose confidence is right."""
    n = confidence.size
    right = ((random.uniform(size=n) < confidence).astype(np.float64) for _ in range(n_resamples))
    return float(np.mean([calibration_error(confidence, drawn, bins) for drawn in right]))


def mean_interval(
    values: Floats, level: float, lowest: float, highest: float
) -> tuple[float, float, float]:
    """Return the mean of values between two bounds, and its interval; of one value, the bounds."""
    mean, n = float(values.mean()), values.size
    if n < 2:
        return mean, lowest, highest
    reach = float(stdtrit(n - 1, 0.5 + level / 2) * values.std(ddof=1) / np.sqrt(n))
    return mean, max(lowest, mean - reach), min(highest, mean + reach)

"""Classic metrics of classifiers from confusion matrices, for many models and resamples at once.

Every metric is a share, and a share of nothing is 0, as with scikit-learn's `zero_division=0`:
precision where nothing is predicted positive, recall where no item is positive, specificity where
none is negative, AUC where one of the two classes has no members.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats

Codes = NDArray[np.integer[Any]]


def confusion_counts(
    true: Codes, predicted: Codes, n_classes: int, weights: NDArray[Any] | None = None
) -> Floats:
    """How many items of each class (rows) are predicted as each class (columns).

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
        found = drawn[..., members] @ answers.reshape(len(members), len(predicted) * n_classes)
        counts[..., code, :] = found.reshape(*drawn.shape[:-1], len(predicted), n_classes)
    return counts


def classic_metrics(counts: Floats, positive: int | None = None) -> dict[str, Floats]:
    """Accuracy, F1, precision, recall, AUC and specificity of confusion matrices (..., k, k).

    `positive` is the class against all others. Left out, it is class 1 of two; of more classes, the
    metrics are means over each class against all others, classes without members left out, and
    accuracy is the share of right predictions. `auc` is that of labels alone, without scores: the
    mean of recall and specificity.
    """
    if positive is None and counts.shape[-1] == 2:
        positive = 1
    each = _one_against_all(counts)
    if positive is not None:
        return {name: values[..., positive] for name, values in each.items()}
    members = counts.sum(axis=-1) > 0
    right = np.trace(counts, axis1=-2, axis2=-1)
    means = {
        name: _share((values * members).sum(axis=-1), members.sum(axis=-1))
        for name, values in each.items()
    }
    return {**means, "accuracy": _share(right, counts.sum(axis=(-2, -1)))}


def auc_of_scores(true: Codes, scores: Floats, weights: NDArray[Any] | None = None) -> Floats:
    """How likely a positive item scores above a negative one, ties counted half (the ROC AUC).

    `true` is (n_items,), 1 for positive and 0 for negative; `scores` is (n_models, n_items), higher
    for more likely positive. The result is (n_models,), or with weights (n_resamples, n_items) it
    is (n_resamples, n_models).
    """
    # Items first, so that choosing and adding up items moves whole rows of resamples.
    drawn = _weights(weights, len(true)).T
    is_positive, is_negative = true == 1, true == 0
    positive, negative = drawn[is_positive], drawn[is_negative]
    won = []
    for row in scores:
        order = np.argsort(row[is_negative], kind="stable")
        ladder = row[is_negative][order]
        beaten = np.concatenate([np.zeros((1, *drawn.shape[1:])), negative[order].cumsum(axis=0)])
        below = np.searchsorted(ladder, row[is_positive], side="left")
        not_above = np.searchsorted(ladder, row[is_positive], side="right")
        both = beaten[below] + beaten[not_above]
        won.append(np.einsum("i...,i...->...", positive, both) / 2)
    pairs = positive.sum(axis=0) * negative.sum(axis=0)
    return _share(np.stack(won, axis=-1), pairs[..., None])


def auc_error(true: Codes, scores: Floats) -> float:
    """Standard error of the ROC AUC (DeLong, DeLong and Clarke-Pearson, 1988).

    `true` (n_items,) is 1 for positive and 0 for negative, `scores` (n_items,) as above. To each of
    the two classes an item is added that wins half of its comparisons: without it, a perfect order
    of few items would seem certain.
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


def _one_against_all(counts: Floats) -> dict[str, Floats]:
    """The metrics of each class as the positive one, (..., k) each."""
    hits = np.diagonal(counts, axis1=-2, axis2=-1)
    members, predicted = counts.sum(axis=-1), counts.sum(axis=-2)
    total = members.sum(axis=-1, keepdims=True)
    others = total - members
    rejected = total - members - predicted + hits  # rightly
    recall, specificity = _share(hits, members), _share(rejected, others)
    return {
        "accuracy": _share(hits + rejected, total),
        "f1": _share(2 * hits, members + predicted),
        "precision": _share(hits, predicted),
        "recall": recall,
        "auc": np.where((members > 0) & (others > 0), (recall + specificity) / 2, 0.0),
        "specificity": specificity,
    }


def _weights(weights: NDArray[Any] | None, n_items: int) -> Floats:
    return np.ones(n_items) if weights is None else np.asarray(weights, dtype=np.float64)


def _share(part: Floats, whole: NDArray[Any]) -> Floats:
    """Part of a whole; 0 where the whole is nothing."""
    empty = np.zeros(np.broadcast_shapes(part.shape, whole.shape))
    found: Floats = np.divide(part, whole, out=empty, where=whole > 0)
    return found

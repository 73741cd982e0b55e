"""Classic metrics and IRT scores of models on the same items, with ranges over resampled items.

Items are resampled with replacement; their parameters stay fixed. A resampled test is a vector of
weights, so thousands of them are matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import row_blocks
from ogive.numerics.classification import auc_of_scores, classic_metrics, confusion_counts
from ogive.numerics.differing import Differences, differences_of_estimates
from ogive.numerics.rankings import kendall

if TYPE_CHECKING:
    import pandas as pd

    from ogive.calibration import Calibration
    from ogive.numerics.arrays import Floats
    from ogive.studies.classifiers.predictions import Predictions

CLASSIC = ("accuracy", "f1", "precision", "recall", "auc", "specificity")
MEASURES = (*CLASSIC, "true_score", "total_score")
RANGE, CONFIDENCE = (0.025, 0.975), 0.95
CELLS = 1 << 22  # weights held at once
NEAR = np.linspace(-6.0, 6.0, 33)  # standard errors of the ability around its estimate
FAR, FAR_NODES = 6.0, 48  # population standard deviations: resampled abilities may lie far out
SMALLEST = 1e-15
FINEST = 9  # decimals that count in a rank, to ignore rounding errors


@dataclass(frozen=True, eq=False)
class Measured:
    """Measures of models with their 95 % ranges, and ranks (1 is best) with their limits.

    Limits of ranks follow from all pairs: one above the number of models that are significantly
    better, and as many from the end as are significantly worse. So they never contradict each
    other, and whoever may rank first is not significantly lower than any.
    """

    value: Floats  # (n_measures, n_models), as all that follow; scores are means over items
    low: Floats
    high: Floats
    rank: Floats
    rank_low: Floats
    rank_high: Floats
    drawn: Floats  # (n_draws, n_measures, n_models)

    def agreement(self) -> pd.DataFrame:
        """How similarly two measures rank the models: Kendall's tau-b and its 95 % range."""
        import pandas as pd

        there = np.flatnonzero(~np.isnan(self.value).any(axis=1))
        drawn = self.drawn[~np.isnan(self.drawn[:, there]).any(axis=(1, 2))]
        rows = []
        for one, other in combinations(there, 2):
            low, high = np.quantile(kendall(drawn[:, one], drawn[:, other]), RANGE)
            tau = float(kendall(self.value[one], self.value[other]))
            names = {"measure": MEASURES[one], "other": MEASURES[other]}
            # Resamples agree less than the items themselves, at times all of them.
            ends = {"low": min(low, tau), "high": max(high, tau)}
            rows.append({**names, "kendall": tau, **ends})
        return pd.DataFrame(rows)


def measure(
    predictions: Predictions,
    calibration: Calibration,
    ability: Floats,
    ability_se: Floats,
    *,
    exact: Floats,
    positive: int | None,
    n_resamples: int,
    random_state: int,
) -> Measured:
    """All measures of all models, and their ranges over `n_resamples` resamples of the items.

    `exact` holds mean true and total scores, (2, n_models), which are otherwise approximated.
    """
    scores = _TrueScores(calibration, predictions.right, ability, ability_se)
    once = _measured(predictions, scores, None, positive)[0]
    once[-2:] = exact
    n_items = predictions.true.size
    random = np.random.default_rng(random_state)
    drawn = [
        _measured(predictions, scores, _draw(random, rows.stop - rows.start, n_items), positive)
        for rows in row_blocks(n_resamples, max(1, CELLS // n_items))
    ]
    values = np.concatenate(drawn)
    low, high = _range(values)
    rank = ranks(once)
    rank_low, rank_high = _rank_limits(once, rank, values, n_items)
    return Measured(once, low, high, rank, rank_low, rank_high, values)


def _rank_limits(once: Floats, rank: Floats, drawn: Floats, n_items: int) -> Floats:
    """Lowest and highest rank by each measure, (2, n_measures, n_models); NaN where undefined."""
    found = np.full((2, *once.shape), np.nan)
    for k, value in enumerate(once):
        there = np.flatnonzero(~np.isnan(value))
        if there.size:
            tested = differences_over_draws(value[there], drawn[:, k, there], n_items)
            low, high = tested.rank_limits(CONFIDENCE)
            mine = rank[k, there]
            found[:, k, there] = np.minimum(low, mine), np.maximum(high, mine)
    return found


def differences_over_draws(value: Floats, drawn: Floats, n_items: int) -> Differences:
    """Tests of all pairs by how their differences vary over resampled items, (n_draws, n_models).

    A resample in which a model has no value is left out for its pairs. Differences that are the
    same on all items do not vary, but few items prove little: no p-value is below a sign test's.
    """
    import pandas as pd

    size = value.size
    covariance = (
        pd.DataFrame(drawn).cov().to_numpy() if len(drawn) > 1 else np.full((size, size), np.nan)
    )
    found = differences_of_estimates(value, covariance, max(n_items - 1.0, 1.0))
    p = np.maximum(found.p, 2.0 ** (1.0 - n_items))
    return Differences.of_tests(found.n, found.difference, p)


def ranks(values: Floats) -> Floats:
    """Rank 1 for the highest along the last axis; ties share the best rank; NaN stays NaN."""
    rounded = np.round(values, FINEST)
    above = rounded[..., None, :] > rounded[..., :, None]
    return np.where(np.isnan(values), np.nan, 1.0 + above.sum(axis=-1))


def _range(values: Floats) -> Floats:
    """The 95 % range of the resamples where the measure is defined; NaN if in none."""
    there = ~np.isnan(values).all(axis=0)
    found = np.full((2, *values.shape[1:]), np.nan)
    found[:, there] = np.nanquantile(values[:, there], RANGE, axis=0)
    return found


def _draw(random: np.random.Generator, count: int, n_items: int) -> Floats:
    """How often each item occurs in each resampled test, (count, n_items)."""
    places = random.integers(n_items, size=(count, n_items))
    places += n_items * np.arange(count)[:, None]
    drawn = np.bincount(places.ravel(), minlength=count * n_items)
    return drawn.reshape(count, n_items).astype(np.float64)


def _measured(
    predictions: Predictions, scores: _TrueScores, weights: Floats | None, positive: int | None
) -> Floats:
    """All measures in each test, (n_tests, n_measures, n_models); without weights, one test."""
    true, n_classes = predictions.true, len(predictions.classes)
    drawn = np.ones((1, true.size)) if weights is None else weights
    counts = confusion_counts(true, predictions.predicted, n_classes, drawn)
    found = classic_metrics(counts, positive)
    if predictions.scores is not None:
        found["auc"] = auc_of_scores(true == positive, predictions.scores, drawn)
    if positive is not None:
        _leave_undefined(found, counts, positive)
    true_score, total_score = scores.of(drawn)
    return np.stack([*(found[name] for name in CLASSIC), true_score, total_score], axis=1)


def _leave_undefined(found: dict[str, Floats], counts: Floats, positive: int) -> None:
    """Set metrics to NaN where a class has no items."""
    of_class = counts.sum(axis=-1)
    without = of_class[..., positive] == 0, of_class[..., 1 - positive] == 0
    for absent, names in zip(
        without, (("recall", "precision", "f1"), ("specificity",)), strict=True
    ):
        for name in (*names, "auc"):
            found[name] = np.where(absent, np.nan, found[name])


class _TrueScores:
    """True and total scores of models in resampled tests, with ability estimated in each."""

    def __init__(
        self, calibration: Calibration, right: NDArray[np.int8], ability: Floats, se: Floats
    ) -> None:
        self.right = right.astype(np.float64)
        far = np.linspace(*calibration.population.reach(FAR), FAR_NODES)
        near = ability[:, None] + se[:, None] * NEAR
        every = np.broadcast_to(far, (ability.size, FAR_NODES))
        self.nodes = np.sort(np.concatenate([near, every], axis=1), axis=1)
        model, coords = calibration.model, calibration.coords
        chance = [model.expected(coords, nodes) for nodes in self.nodes]
        self.chance = np.stack(chance).astype(np.float32)  # (n_models, n_items, n_nodes)
        density = calibration.population.log_density(self.nodes.ravel())
        widths = np.gradient(self.nodes, axis=1)  # quadrature weights of the uneven nodes
        self.prior = density.reshape(self.nodes.shape) + np.log(np.maximum(widths, SMALLEST))
        exact = np.stack(chance).clip(SMALLEST, 1 - SMALLEST)
        hit, miss = np.log(exact), np.log1p(-exact)
        log_chance = np.where(self.right[:, :, None] == 1, hit, miss)
        # Only differences along the nodes matter; small numbers are safe in single precision.
        log_chance -= log_chance[:, :, NEAR.size // 2, None]
        self.log_chance = log_chance.astype(np.float32)

    def of(self, weights: Floats) -> tuple[Floats, Floats]:
        """Mean true and total score, (n_draws, n_models) each."""
        asked, counts = weights.sum(axis=1), weights.astype(np.float32)
        true_scores, total_scores = [], []
        for k, right in enumerate(self.right):
            log_posterior = counts @ self.log_chance[k] + self.prior[k]
            posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
            posterior /= posterior.sum(axis=1, keepdims=True)
            expected = _at(posterior @ self.nodes[k], self.nodes[k], counts @ self.chance[k])
            true_scores.append(expected / asked)
            total_scores.append((expected + weights @ (right - 1.0)) / asked)
        return np.stack(true_scores, axis=1), np.stack(total_scores, axis=1)


def _at(ability: Floats, nodes: Floats, values: Floats) -> Floats:
    """Values along nodes, linearly interpolated at the ability of each row."""
    left = np.clip(np.searchsorted(nodes, ability) - 1, 0, nodes.size - 2)
    rows = np.arange(ability.size)
    share = (ability - nodes[left]) / np.maximum(nodes[left + 1] - nodes[left], SMALLEST)
    found: Floats = (1 - share) * values[rows, left] + share * values[rows, left + 1]
    return found

"""Prediction-powered inference: means of scores that few people and one judge gave.

The judge scores everything, people score some of it. The estimate is the mean of the human scores,
moved by how much the judge's scores of the rest differ from those of what people scored, times a
weight that makes its variance smallest (PPI++; Angelopoulos, Duchi and Zrnic, 2023). A judge that
is wrong makes the interval wide, never the estimate biased, if what people scored was chosen at
random. With few labels, rare disagreements may not have been seen yet: intervals for right or wrong
labels count half a case of each kind of agreement and disagreement (as Agresti and Min, 2005, for
paired shares), use Student's t, and allow for the weight that was fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats

Ints = NDArray[np.intp]

ADDED = 0.5  # cases of each kind that are added, times the cases of a cluster that are alike
HUMAN = np.array([0.0, 0.0, 1.0, 1.0])
JUDGE = np.array([0.0, 1.0, 0.0, 1.0])
MOST_LEVERAGE = 0.9


@dataclass(frozen=True, eq=False)
class Mean:
    """An estimate with the middle and the standard error of its interval."""

    estimate: Floats  # (n_rows,), as all that follow
    middle: Floats
    se: Floats

    def limits(self, reach: Floats, low: float, high: float) -> tuple[Floats, Floats]:
        """Return the interval of `reach` standard errors each way, within bounds."""
        left = np.minimum(self.middle - reach * self.se, self.estimate)
        right = np.maximum(self.middle + reach * self.se, self.estimate)
        return np.maximum(left, low), np.minimum(right, high)


@dataclass(frozen=True, eq=False)
class Powered:
    """Estimates by people and a judge together, and by each alone."""

    both: Mean
    human: Mean  # by human scores alone
    bias: Mean  # mean score of the judge minus that of people, where both scored
    weight: Floats  # (n_rows,): of the judge; 0 uses human scores alone
    judge: Floats  # (n_rows,): mean of all scores of the judge
    covariance: Floats  # (n_rows, n_rows) of the estimates `both`
    freedom: Floats  # (n_rows,): effective number of clusters with human scores less one
    n_human: Ints
    n_judge: Ints
    shifted: Floats  # (n_rows,): z by which the judge scores differ where people scored


def prediction_powered(
    judge: Floats, human: Floats, cluster: Ints, *, binary: bool, top: float = 1.0
) -> Powered:
    """Estimate the mean human score of each row; `human` is NaN if only the judge scored.

    `judge` is NaN if neither did. `cluster` are the clusters of columns, `binary` says whether
    human scores are right or wrong, `top` is the largest weight.
    """
    rows = [
        _Row.of(f, y, cluster, binary=binary, top=top) for f, y in zip(judge, human, strict=True)
    ]
    n_clusters = int(cluster.max()) + 1
    moved = np.stack([row.moved(row.weight, cluster, n_clusters) for row in rows])
    added = np.array([row.added(row.weight) for row in rows])
    freedom = np.array([row.freedom(cluster, n_clusters) for row in rows])
    covariance = moved @ moved.T + np.diag(added)
    unknown = freedom < 1
    covariance[unknown] = covariance[:, unknown] = np.nan

    def mean(weights: list[float], *, sign: float = 1.0, rest: bool = True) -> Mean:
        pairs = list(zip(rows, weights, strict=True))
        se = [
            np.sqrt((row.moved(w, cluster, n_clusters, rest=rest) ** 2).sum() + row.added(w))
            for row, w in pairs
        ]
        estimate, middle = np.array([row.estimates(w, rest=rest) for row, w in pairs]).T
        return Mean(sign * estimate, sign * middle, np.where(unknown, np.nan, se))

    none, whole = [0.0] * len(rows), [1.0] * len(rows)
    return Powered(
        both=mean([row.weight for row in rows]),
        human=mean(none),
        bias=mean(whole, sign=-1.0, rest=False),
        weight=np.array([row.weight for row in rows]),
        judge=np.array([np.nanmean(f) for f in judge]),
        covariance=covariance,
        freedom=np.maximum(freedom, 1.0),
        n_human=np.array([row.y.size for row in rows], dtype=np.intp),
        n_judge=np.isfinite(judge).sum(axis=1),
        shifted=np.array([row.shifted() for row in rows]),
    )


@dataclass(frozen=True, eq=False)
class _Row:
    """Scores of one row: by people and judge, or by the judge alone."""

    y: Floats  # (n_both,), human scores of what both scored
    f: Floats  # (n_both,), the judge's scores of it
    rest: Floats  # the judge's scores of the rest
    at: Ints  # columns that both scored
    others: Ints  # columns that the judge scored alone
    size: float  # cases of each kind that are added
    weight: float

    @classmethod
    def of(cls, judge: Floats, human: Floats, cluster: Ints, *, binary: bool, top: float) -> _Row:
        both = np.flatnonzero(np.isfinite(human) & np.isfinite(judge))
        others = np.flatnonzero(~np.isfinite(human) & np.isfinite(judge))
        y, f, rest = human[both], judge[both], judge[others]
        size = ADDED * _design_effect(y, cluster[both]) if binary else 0.0
        return cls(y, f, rest, both, others, size, _weight(y, f, rest, top))

    @property
    def cases(self) -> float:
        """Cases that both scored, with those that are added."""
        return self.y.size + 4 * self.size

    def estimates(self, weight: float, *, rest: bool = True) -> tuple[float, float]:
        """Return the estimate, and the middle of its interval."""
        corrected = self.y - weight * self.f
        shift = weight * float(self.rest.mean()) if rest and weight else 0.0
        if not self.y.size:
            return np.nan, np.nan
        added = self.size * float((HUMAN - weight * JUDGE).sum())
        middle = float(corrected.sum() + added) / self.cases
        return float(corrected.mean()) + shift, middle + shift

    def moved(self, weight: float, cluster: Ints, n: int, *, rest: bool = True) -> Floats:
        """Return how far each cluster moves the estimate, (n_clusters,)."""
        corrected = self.y - weight * self.f
        residual = corrected - (self.estimates(weight, rest=False)[1] if corrected.size else 0.0)
        count = max(np.unique(cluster[self.at]).size + 4 * self.size, 1.0)
        scale = np.sqrt(count / max(count - 1.0, 1.0)) / max(self.cases, 1.0)
        pulls = scale * residual / (1 - self._leverage(weight))
        moved = np.bincount(cluster[self.at], pulls, n)
        if rest and weight:
            back = weight * (self.rest - self.rest.mean()) / self.rest.size
            moved = moved + np.bincount(cluster[self.others], back, n)
        return np.asarray(moved, dtype=np.float64)

    def added(self, weight: float) -> float:
        """Return the variance due to the cases that are added."""
        if not self.size or not self.y.size:
            return 0.0
        residual = HUMAN - weight * JUDGE - self.estimates(weight, rest=False)[1]
        return self.size * float((residual**2).sum()) / (self.cases * (self.cases - 1.0))

    def _leverage(self, weight: float) -> Floats:
        """Return the leverage of each case on the fitted weight; 0 for weights that are given."""
        if weight in (0.0, 1.0):
            return np.zeros_like(self.f)
        mean = (self.size * float(JUDGE.sum()) + float(self.f.sum())) / self.cases
        squares = (self.f - mean) ** 2
        total = float(squares.sum()) + self.size * float(((JUDGE - mean) ** 2).sum())
        return np.minimum(squares / max(total, 1e-300), MOST_LEVERAGE)

    def freedom(self, cluster: Ints, n: int) -> float:
        """Return the effective number of clusters that people scored, less one."""
        size = np.bincount(cluster[self.at], minlength=n).astype(float)
        return float(size.sum() ** 2 / max((size**2).sum(), 1.0)) - 1.0

    def shifted(self) -> float:
        """Return the standard errors by which the judge's scores differ where people scored."""
        if self.f.size < 2 or self.rest.size < 2:
            return 0.0
        both = np.r_[self.f, self.rest]
        se = both.std(ddof=1) * np.sqrt(1 / self.f.size + 1 / self.rest.size)
        return float((self.f.mean() - self.rest.mean()) / se) if se > 0 else 0.0


def _design_effect(y: Floats, cluster: Ints) -> float:
    """Return how many cases of a cluster count as one: from 1, to all if nothing varies."""
    index = np.unique(cluster, return_inverse=True)[1]
    size = np.bincount(index)
    if not y.size or size.max() == 1:
        return 1.0
    most = float((size**2).sum() / size.sum())
    centred = y - y.mean()
    of_single_cases = float((centred**2).sum())
    if of_single_cases <= 0:
        return most
    of_clusters = (np.bincount(index, centred) ** 2).sum()
    return float(np.clip(of_clusters / of_single_cases, 1.0, most))


def _weight(y: Floats, f: Floats, rest: Floats, top: float) -> float:
    """Return the weight of the judge that makes the variance smallest, from 0 to `top`."""
    if y.size < 2 or not rest.size:
        return 0.0
    variance = float(np.var(np.r_[f, rest], ddof=1))
    if variance <= 0:
        return 0.0
    covariance = float(((y - y.mean()) * (f - f.mean())).mean())
    return float(np.clip(covariance / ((1 + y.size / rest.size) * variance), 0.0, top))

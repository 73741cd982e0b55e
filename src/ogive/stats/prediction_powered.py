"""Means of scores that few people and one judge gave: prediction-powered inference.

The judge scores everything, people score some of it. The estimate is the mean of the human scores,
moved by how much the judge's scores of the rest differ from those of what people scored, times a
weight that makes its variance smallest (PPI++; Angelopoulos, Duchi and Zrnic, 2023). A judge that
is wrong makes the interval wide, never the estimate biased, if what people scored was chosen at
random.

With few labels, disagreements that are rare may not have been seen yet. Intervals for right or
wrong labels therefore count half a case of each kind of agreement and disagreement (as Agresti and
Min, 2005, for paired shares), use Student's t, and allow for the weight that was fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats

Ints = NDArray[np.intp]

ADDED = 0.5  # cases of each kind, in clusters where cases of one are alike
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
        """Interval of so many standard errors each way, within bounds, around the estimate."""
        left = np.minimum(self.middle - reach * self.se, self.estimate)
        right = np.maximum(self.middle + reach * self.se, self.estimate)
        return np.maximum(left, low), np.minimum(right, high)


@dataclass(frozen=True, eq=False)
class Powered:
    """What people and a judge say together, and each alone."""

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
    """Estimate the mean human score of each row; `human` is NaN where only the judge scored.

    `judge` is NaN where nobody did. `cluster` are the clusters of columns, `binary` says whether
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
        spread = [
            np.sqrt((row.moved(w, cluster, n_clusters, rest=rest) ** 2).sum() + row.added(w))
            for row, w in zip(rows, weights, strict=True)
        ]
        pairs = zip(rows, weights, strict=True)
        ends = np.array([row.estimates(w, rest=rest) for row, w in pairs]).T
        return Mean(sign * ends[0], sign * ends[1], np.where(unknown, np.nan, spread))

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
    """Scores of one row: of people and judge where both scored, of the judge elsewhere."""

    y: Floats  # (n_both,), as the next
    f: Floats
    rest: Floats  # of the judge alone
    at: Ints  # columns that both scored
    others: Ints  # columns that the judge scored alone
    size: float  # cases of each kind that are added
    weight: float

    @classmethod
    def of(cls, judge: Floats, human: Floats, cluster: Ints, *, binary: bool, top: float) -> _Row:
        both = np.flatnonzero(np.isfinite(human) & np.isfinite(judge))
        others = np.flatnonzero(~np.isfinite(human) & np.isfinite(judge))
        y, f, rest = human[both], judge[both], judge[others]
        size = ADDED * _alike(y, cluster[both]) if binary else 0.0
        return cls(y, f, rest, both, others, size, _weight(y, f, rest, top))

    @property
    def cases(self) -> float:
        """Cases that both scored, with those that are added."""
        return self.y.size + 4 * self.size

    def estimates(self, weight: float, *, rest: bool = True) -> tuple[float, float]:
        """Return the estimate, and the middle of its interval."""
        away = self.y - weight * self.f
        shift = weight * float(self.rest.mean()) if rest and weight else 0.0
        if not self.y.size:
            return np.nan, np.nan
        added = self.size * float((HUMAN - weight * JUDGE).sum())
        return float(away.mean()) + shift, float(away.sum() + added) / self.cases + shift

    def moved(self, weight: float, cluster: Ints, n: int, *, rest: bool = True) -> Floats:
        """Return how far each cluster moves the estimate, (n_clusters,)."""
        away = self.y - weight * self.f
        apart = away - (self.estimates(weight, rest=False)[1] if away.size else 0.0)
        count = max(np.unique(cluster[self.at]).size + 4 * self.size, 1.0)
        scale = np.sqrt(count / max(count - 1.0, 1.0)) / max(self.cases, 1.0)
        found = np.bincount(cluster[self.at], scale * apart / (1 - self._leverage(weight)), n)
        if rest and weight:
            back = weight * (self.rest - self.rest.mean()) / self.rest.size
            found = found + np.bincount(cluster[self.others], back, n)
        return np.asarray(found, dtype=np.float64)

    def added(self, weight: float) -> float:
        """Return variance by the cases that are added."""
        if not self.size or not self.y.size:
            return 0.0
        apart = HUMAN - weight * JUDGE - self.estimates(weight, rest=False)[1]
        return self.size * float((apart**2).sum()) / (self.cases * (self.cases - 1.0))

    def _leverage(self, weight: float) -> Floats:
        """Return how far each case draws the fitted weight to itself; other weights are given."""
        if weight in (0.0, 1.0):
            return np.zeros_like(self.f)
        total = self.size * float(JUDGE.sum()) + float(self.f.sum())
        apart = self.f - total / self.cases
        square = float((apart**2).sum()) + self.size * float(
            ((JUDGE - total / self.cases) ** 2).sum()
        )
        found: Floats = np.minimum(apart**2 / max(square, 1e-300), MOST_LEVERAGE)
        return found

    def freedom(self, cluster: Ints, n: int) -> float:
        """Return effective number of clusters that people scored, less one."""
        size = np.bincount(cluster[self.at], minlength=n).astype(float)
        return float(size.sum() ** 2 / max((size**2).sum(), 1.0)) - 1.0

    def shifted(self) -> float:
        """Return standard errors by which the judge's scores differ where people scored."""
        if self.f.size < 2 or self.rest.size < 2:
            return 0.0
        both = np.r_[self.f, self.rest]
        se = both.std(ddof=1) * np.sqrt(1 / self.f.size + 1 / self.rest.size)
        return float((self.f.mean() - self.rest.mean()) / se) if se > 0 else 0.0


def _alike(y: Floats, cluster: Ints) -> float:
    """How many cases of a cluster count as one: from 1, to all where nothing says otherwise."""
    place = np.unique(cluster, return_inverse=True)[1]
    size = np.bincount(place)
    if not y.size or size.max() == 1:
        return 1.0
    most = float((size**2).sum() / size.sum())
    apart = y - y.mean()
    alone = float((apart**2).sum())
    if alone <= 0:
        return most
    return float(np.clip((np.bincount(place, apart) ** 2).sum() / alone, 1.0, most))


def _weight(y: Floats, f: Floats, rest: Floats, top: float) -> float:
    """Return the weight of the judge that makes the variance smallest, from 0 to `top`."""
    if y.size < 2 or not rest.size:
        return 0.0
    spread = float(np.var(np.r_[f, rest], ddof=1))
    if spread <= 0:
        return 0.0
    together = float(((y - y.mean()) * (f - f.mean())).mean())
    return float(np.clip(together / ((1 + y.size / rest.size) * spread), 0.0, top))

"""How many items a comparison of means needs, from the variance that a pilot shows.

A score is the item's own value plus the chance of one try. Asking an item K times divides only
the second part by K, so that the variance of a mean over n items is (between + within / K) / n.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.arrays import Floats
from itemwise.numerics.intervals import normal_reach

FEWEST = 3  # items of which a variance is a rough guess at least
MOST = 10**12


@dataclass(frozen=True, eq=False)
class Spread:
    """What clusters of items add to the variance of a mean, one try each: they sum to it."""

    between: Floats  # (n_clusters,): of the items' own values
    within: Floats  # (n_clusters,): of one try; NaN where no item was asked twice
    items_per_cluster: float

    @classmethod
    def of(
        cls, values: Floats, noise: Floats, one_try: Floats, clusters: NDArray[np.intp]
    ) -> Spread:
        """From the value of each item, (n_items,).

        `noise` is the variance that tries leave in these values, `one_try` what a single try would
        leave; both are NaN where no item was asked twice, and then all is between items.
        """
        n_items, n_clusters = values.size, int(clusters.max()) + 1
        off = np.bincount(clusters, values - values.mean())
        between = off**2 * n_clusters / (n_clusters - 1) / n_items
        known = bool(np.isfinite(noise).all())
        if known:
            between = between - np.bincount(clusters, noise) / n_items
        within = np.bincount(clusters, one_try if known else np.full(n_items, np.nan)) / n_items
        return cls(between, within, n_items / n_clusters)

    def __add__(self, other: Spread) -> Spread:
        """Of the difference of two means over different items."""
        return Spread(
            self.between + other.between, self.within + other.within, self.items_per_cluster
        )

    def variance(self, epochs: int = 1) -> tuple[float, float]:
        """Variance per item with so many tries of each, and its standard error."""
        parts, total = self.between, max(float(self.between.sum()), 0.0)
        if self.repeated:
            parts, total = parts + self.within / epochs, total + float(self.within.sum()) / epochs
        return total, float(np.sqrt(parts.size * parts.var(ddof=1)))

    @property
    def repeated(self) -> bool:
        """Whether the pilot shows what a repetition changes."""
        return bool(np.isfinite(self.within).all())

    def within_share(self) -> float:
        """Share of the variance of single tries that repeating them would remove."""
        total = self.variance()[0]
        return float(self.within.sum() / total) if total > 0 else np.nan


def detectable(
    variance: float, n_items: float, *, power: float, alpha: float, items_per_cluster: float = 1.0
) -> float:
    """The smallest true difference that a t-test over so many items finds with this power."""
    from scipy.special import stdtrit

    freedom = max(n_items / items_per_cluster - 1.0, 1.0)
    reach = float(stdtrit(freedom, 1 - alpha / 2) + stdtrit(freedom, power))
    return reach * float(np.sqrt(variance / n_items))


def needed(
    variance: float,
    difference: float,
    *,
    power: float,
    alpha: float,
    items_per_cluster: float = 1.0,
) -> float:
    """The smallest number of items with which a difference is found with this power."""

    def found(n: int) -> float:
        return detectable(
            variance, n, power=power, alpha=alpha, items_per_cluster=items_per_cluster
        )

    reach = normal_reach(1 - alpha) + normal_reach(2 * power - 1)
    rough = variance * (reach / difference) ** 2  # never too many: Student's t reaches further
    if rough >= MOST:
        return inf
    low = high = max(ceil(rough), FEWEST)
    while found(high) > difference:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) <= difference else (middle, high)
    return float(high)

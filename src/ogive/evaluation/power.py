"""Power of a comparison of means, from the variances within and between items.

A score is the value of the item plus the chance of one try. Asking an item K times divides only the
second part by K, so the variance of a mean over n items is (between + within / K) / n.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach

FEWEST = 3  # items of which a variance is a rough guess at least
MOST = 10**12


@dataclass(frozen=True, eq=False)
class Spread:
    """What clusters of items add to the variance of a mean: they sum to it."""

    single: Floats  # (n_clusters,): with a single try of each item
    within: Floats  # (n_clusters,): of that, chance of the try; NaN where no item was asked twice
    items_per_cluster: float

    @classmethod
    def of(
        cls, values: Floats, averaged_out: Floats, one_try: Floats, clusters: NDArray[np.intp]
    ) -> Spread:
        """Return from the value of each item, (n_items,), the mean over its tries.

        `one_try` is the variance by chance of a single try, NaN where it is unknown;
        `averaged_out` is how much of it the mean over tries lacks: 0 where an item was asked once,
        whatever its variance.
        """
        n_items, n_clusters = values.size, int(clusters.max()) + 1
        off = np.bincount(clusters, values - values.mean())
        seen = off**2 * n_clusters / (n_clusters - 1)
        return cls(
            (seen + np.bincount(clusters, averaged_out)) / n_items,
            np.bincount(clusters, one_try) / n_items,
            n_items / n_clusters,
        )

    def __add__(self, other: Spread) -> Spread:
        """Return of the difference of two means over different items."""
        return Spread(
            self.single + other.single, self.within + other.within, self.items_per_cluster
        )

    def variance(self, epochs: int = 1) -> tuple[float, float]:
        """Return variance per item with so many tries of each, and its standard error."""
        parts, total = self.single, float(self.single.sum())
        if self.repeated:
            parts = parts - self.within * (1 - 1 / epochs)
            total -= min(float(self.within.sum()), total) * (1 - 1 / epochs)
        return total, float(np.sqrt(parts.size * parts.var(ddof=1)))

    @property
    def repeated(self) -> bool:
        """True if the pilot shows what a repetition changes."""
        return bool(np.isfinite(self.within).all())

    def within_share(self) -> tuple[float, float]:
        """Return the share of variance that repeated tries would remove, and its error."""
        single, within = float(self.single.sum()), float(self.within.sum())
        if not single > 0:
            return np.nan, np.nan
        share = within / single
        pulls = (self.within - share * self.single) / single
        se = float(np.sqrt(pulls.size * pulls.var(ddof=1)))
        return float(np.minimum(1.0, share)), se


def detectable(
    variance: float, n_items: float, *, power: float, alpha: float, items_per_cluster: float = 1.0
) -> float:
    """Return the smallest true difference that a t-test over `n` items finds."""
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
    """Return the smallest number of items with which a difference is found with this power."""

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


class Variance(NamedTuple):
    """Variance per item of a difference, by design and epochs."""

    design: str
    epochs: int
    value: float
    error: float  # NaN if it was assumed
    items_per_cluster: float = 1.0


class Aim(NamedTuple):
    """What a comparison is to find."""

    difference: float
    power: float
    alpha: float

    def needed(self, of: Variance, factor: float = 1.0) -> float:
        """Return items that are needed if the variance is so many times the estimate."""
        return needed(
            of.value * factor,
            self.difference,
            power=self.power,
            alpha=self.alpha,
            items_per_cluster=of.items_per_cluster,
        )

    def detectable(self, of: Variance, n_items: float) -> float:
        """Return the smallest difference that so many items show."""
        return detectable(
            of.value,
            n_items,
            power=self.power,
            alpha=self.alpha,
            items_per_cluster=of.items_per_cluster,
        )

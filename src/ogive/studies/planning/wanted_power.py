"""What a comparison is to find, and how many items that takes at a variance."""

from __future__ import annotations

from typing import NamedTuple

from ogive.numerics.planned_sizes import detectable, needed


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
        """Items that are needed if the variance is so many times the estimate."""
        return needed(
            of.value * factor,
            self.difference,
            power=self.power,
            alpha=self.alpha,
            items_per_cluster=of.items_per_cluster,
        )

    def detectable(self, of: Variance, n_items: float) -> float:
        """The smallest difference that so many items show."""
        return detectable(
            of.value,
            n_items,
            power=self.power,
            alpha=self.alpha,
            items_per_cluster=of.items_per_cluster,
        )

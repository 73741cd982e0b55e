"""Intervals of a score on all items, by the model or by the error that replays really had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.reach import conformal_quantile
from itemwise.words import counted


@dataclass(frozen=True, eq=False, repr=False)
class RealError:
    """By how many standard errors predictions missed, after so many items.

    A standard error of the model takes the benchmark for one scale. Where it is not, predictions
    miss by more; intervals by these figures hold what they promise for models like those replayed
    (conformal prediction, with the standard error as the measure of difficulty).
    """

    items: frozenset[str]
    selector: str
    sizes: tuple[int, ...]
    misses: tuple[Floats, ...]  # |predicted - true| / standard error, for each size

    def __repr__(self) -> str:
        n = self.misses[0].size if self.misses else 0
        sizes = ", ".join(map(str, self.sizes))
        return (
            f"RealError({counted(n, 'respondent')}, {counted(len(self.items), 'item')}, "
            f"sizes {sizes}, selector {self.selector})"
        )

    def reach(self, asked: int, confidence: float) -> float:
        """Standard errors each way of an interval after `asked` items; sizes between are joined.

        Infinite where too few models were replayed to promise anything.
        """
        reaches = [conformal_quantile(missed, confidence) for missed in self.misses]
        if not np.isfinite(reaches).all():  # all have as many misses
            return float("inf")
        return float(np.interp(asked, self.sizes, reaches))

    def refuse_unless_for(self, items: tuple[str, ...], selector: str) -> None:
        """The error of another bank, or of another way to ask, says nothing here."""
        if self.items != frozenset(items):
            raise InputError(
                f"error is of a replay with {len(self.items):,} other items than the "
                f"{len(items):,} of this bank. Replay on responses to the same items."
            )
        if self.selector != selector:
            raise InputError(
                f"error is of a replay with the selector {self.selector}, but here it is "
                f"{selector}. Replay with the same selector."
            )


def as_real_error(given: Any) -> RealError | None:
    """The error itself, or that of a replay."""
    if given is None:
        return None
    found = getattr(given, "real_error", given)
    if not isinstance(found, RealError):
        raise InputError(
            f"error is {type(given).__name__}, but it should be what replay_adaptively() returns."
        )
    return found


def possible_scores(bank: Calibration, items: Any, values: Floats) -> tuple[Floats, Floats]:
    """The lowest and the highest mean over all items that known responses allow.

    `items` (..., k) are places in the bank, `values` (..., k) the responses to them.
    """
    low, high = (np.broadcast_to(end, len(bank.item_names)) for end in bank.model.extent())
    count = len(bank.item_names)
    lowest: Floats = ((values - low[items]).sum(axis=-1) + low.sum()) / count
    highest: Floats = ((values - high[items]).sum(axis=-1) + high.sum()) / count
    return lowest, highest

"""The samples that an alarm compares: read, checked, and binned for its figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError
from ogive.learning.known_difficulty import difficulty_of
from ogive.numerics.arrays import Floats
from ogive.numerics.binning import edges_by_quantile, places, sums_by_bin
from ogive.numerics.intervals import wilson
from ogive.numerics.robust import robust_limits
from ogive.numerics.success_curves import Curves
from ogive.responses.names_and_facts import aligned
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd

MOST_BINS = 10
ITEMS_IN_BIN = 10  # on average, at least
GRID = 101
FARTHEST = 1e6  # beyond, a difficulty must be a mistake
FEWEST = 10  # items; with fewer, no test has any power


def alarm_points(curves: Curves, reference: Sample, new: Sample, confidence: float) -> pd.DataFrame:
    """One row per point: `sample`, `difficulty`, `share` with `low` and `high`, and `n`.

    Bins hold equally many items of their sample. The curve has no `n`; bins of a sample without
    responses have no share.
    """
    import pandas as pd

    whole = np.concatenate([reference.difficulty, new.difficulty])
    grid = np.linspace(*robust_limits(whole), GRID)
    chance = curves.success(grid)
    ends = ((1 - confidence) / 2, (1 + confidence) / 2)
    low, high = ([curves.quantile(column, end) for column in chance.T] for end in ends)
    curve: dict[str, Any] = {
        "sample": "expected",
        "difficulty": grid,
        "share": curves.weight @ chance,
        "low": low,
        "high": high,
        "n": np.nan,
    }
    parts = [curve, _binned("reference", reference, confidence), _binned("new", new, confidence)]
    return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)


def _binned(name: str, sample: Sample, confidence: float) -> dict[str, Any]:
    count = max(1, min(MOST_BINS, len(sample) // ITEMS_IN_BIN))
    edges = edges_by_quantile(sample.difficulty, count)
    found = places(sample.difficulty, edges)
    used = np.unique(found)
    place = np.searchsorted(used, found)
    right = np.full(len(sample), np.nan) if sample.right is None else sample.right
    n, hits = sums_by_bin(right[None], place, used.size)
    low, high = wilson(hits, n, confidence)
    return {
        "sample": name,
        "difficulty": [float(np.median(sample.difficulty[place == k])) for k in range(used.size)],
        "share": np.divide(hits, n, out=np.full(n.shape, np.nan), where=n > 0)[0],
        "low": low[0],
        "high": high[0],
        "n": np.bincount(place, minlength=used.size),
    }


@dataclass(frozen=True, eq=False)
class Sample:
    """Difficulty of items, and whether the model was right, if known."""

    difficulty: Floats
    right: Floats | None  # 1 or 0

    def __len__(self) -> int:
        return len(self.difficulty)

    @property
    def hits(self) -> Floats:
        """Where the model was right; refused if unknown."""
        if self.right is None:
            raise InputError("These items have no responses. Give 'right', 0 or 1 for each.")
        return self.right


def read_sample(given: Any, name: str) -> Sample:
    """A frame or mapping with `difficulty` and optionally `right`, a pair, or difficulties."""
    difficulty, right = _parts(given, name)
    values = _numbers(difficulty, f"{name}: difficulty")
    if len(values) < FEWEST:
        raise InputError(
            f"{name} has {counted(len(values), 'item')}, but an alarm needs at least {FEWEST}. "
            "Collect more."
        )
    odd = np.flatnonzero(~(np.abs(values) <= FARTHEST))
    if odd.size:
        raise InputError(
            f"{name}: difficulty is {values[odd[0]]:g} at position {odd[0]}, but it must be a "
            f"number within ±{FARTHEST:,.0f}. Leave such items out."
        )
    right = _beside(right, difficulty, name)
    return Sample(values, None if right is None else _right(right, len(values), name))


def _parts(given: Any, name: str) -> tuple[Any, Any]:
    given = difficulty_of(given)
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        if "difficulty" not in given:
            there = ", ".join(repr(key) for key in list(given)[:10]) or "none"
            raise InputError(f"{name} needs the columns 'difficulty' and 'right'; it has: {there}.")
        return difficulty_of(given["difficulty"]), given.get("right")
    if isinstance(given, tuple | list) and len(given) == 2 and not np.isscalar(given[0]):
        return difficulty_of(given[0]), given[1]
    return given, None


def _beside(right: Any, difficulty: Any, name: str) -> Any:
    """`right` in the order of `difficulty`, if both name their items."""
    if hasattr(right, "index") and hasattr(difficulty, "index") and hasattr(right, "reindex"):
        return aligned(right, difficulty.index, f"{name}: right")
    return right


def _numbers(values: Any, what: str) -> Floats:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} should be numbers, but: {error}.") from error
    if found.ndim != 1:
        raise InputError(f"{what} has shape {found.shape}, but it should be one value per item.")
    return found


def _right(values: Any, count: int, name: str) -> Floats:
    found = _numbers(values, f"{name}: right")
    if len(found) != count:
        raise InputError(
            f"{name} has {counted(count, 'item')}, "
            f"but right has {len(found):,}. Give one of each per item."
        )
    odd = np.flatnonzero((found != 0) & (found != 1))
    if odd.size:
        raise InputError(
            f"{name}: right is {found[odd[0]]:g} at position {odd[0]}, but it must be 1 where the "
            "model was right and 0 where it was wrong. Leave out items without a response."
        )
    return found

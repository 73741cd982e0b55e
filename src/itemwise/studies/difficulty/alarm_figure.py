"""What the figure of an alarm shows: shares by difficulty on two samples, and the curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.numerics.binning import edges_by_quantile, places, sums_by_bin, wilson
from itemwise.numerics.robust import robust_limits
from itemwise.numerics.success import Curves
from itemwise.studies.difficulty.alarm_input import Sample

if TYPE_CHECKING:
    import pandas as pd

MOST_BINS = 10
ITEMS_IN_BIN = 10  # at least, on average
GRID = 101


def alarm_points(curves: Curves, reference: Sample, new: Sample, confidence: float) -> pd.DataFrame:
    """A row a point: the `sample`, its `difficulty`, the `share` from `low` to `high`, and `n`.

    Bins hold equally many items of their own sample. The curve has no `n`; bins of a sample
    without responses have no share.
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

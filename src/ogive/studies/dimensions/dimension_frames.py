"""Tables of what several dimensions found, with standard errors and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.estimation.several_dimensions import FittedDimensions
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import normal_reach
from ogive.studies.dimensions.held_out_cells import HeldOut
from ogive.studies.dimensions.item_dimensions import ItemDimensions

if TYPE_CHECKING:
    import pandas as pd


def loadings_frame(
    found: FittedDimensions, read: ItemDimensions, confidence: float
) -> pd.DataFrame:
    """One row per item and dimension."""
    import pandas as pd

    item, dimension = np.nonzero(read.pattern.free)
    columns = {
        "item": [read.items[k] for k in item],
        "dimension": [read.names[k] for k in dimension],
        **_with_interval(
            "loading",
            found.place.loadings[item, dimension],
            found.errors().loadings[item, dimension],
            confidence,
        ),
    }
    return pd.DataFrame(columns)


def thresholds_frame(
    found: FittedDimensions, read: ItemDimensions, confidence: float
) -> pd.DataFrame:
    """One row per item and threshold: the log-odds of more than that, at abilities of 0."""
    import pandas as pd

    item, step = np.nonzero(read.pattern.of_thresholds >= 0)
    columns = {
        "item": [read.items[k] for k in item],
        "step": step + 1,
        **_with_interval(
            "threshold",
            found.place.thresholds[item, step],
            found.errors().thresholds[item, step],
            confidence,
        ),
    }
    return pd.DataFrame(columns)


def correlations_frame(
    found: FittedDimensions, read: ItemDimensions, confidence: float
) -> pd.DataFrame:
    """One row per pair of dimensions; intervals by Fisher's transformation."""
    import pandas as pd

    left, right = read.pattern.pairs
    value, error = found.place.correlation[left, right], found.errors().correlation[left, right]
    reach = normal_reach(confidence) * error / np.maximum(1 - value**2, 1e-6)
    middle = np.arctanh(np.clip(value, -1 + 1e-9, 1 - 1e-9))
    columns = {
        "dimension": [read.names[k] for k in left],
        "other": [read.names[k] for k in right],
        "correlation": value,
        "se": error,
        "low": np.tanh(middle - reach),
        "high": np.tanh(middle + reach),
    }
    return pd.DataFrame(columns)


def abilities_frame(
    found: FittedDimensions,
    read: ItemDimensions,
    respondents: tuple[str, ...],
    confidence: float,
) -> pd.DataFrame:
    """One row per respondent and dimension."""
    import pandas as pd

    asked = (read.codes >= 0).astype(int) @ read.pattern.free.astype(int)
    columns = {
        "respondent": np.repeat(np.array(respondents, dtype=object), len(read.names)),
        "dimension": list(read.names) * len(respondents),
        **_with_interval("ability", found.ability.ravel(), found.ability_se.ravel(), confidence),
        "n_items": asked.ravel(),
    }
    return pd.DataFrame(columns)


def comparison_frame(held: HeldOut | None, confidence: float) -> pd.DataFrame:
    """Mean log scores of held-out answers, and their difference; no row if nothing was held out."""
    import pandas as pd

    columns = ["log_score", "se", "low", "high", "n_cells"]
    if held is None:
        return pd.DataFrame(columns=columns, dtype=float).rename_axis("dimensions")
    value, reach, nothing = held.difference, normal_reach(confidence) * held.se, float("nan")
    rows = {
        "several": (held.several, nothing, nothing, nothing, held.n_cells),
        "one": (held.one, nothing, nothing, nothing, held.n_cells),
        "difference": (value, held.se, value - reach, value + reach, held.n_cells),
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return frame.rename_axis("dimensions")


def _with_interval(name: str, value: Floats, error: Floats, confidence: float) -> dict[str, Floats]:
    reach = normal_reach(confidence) * error
    return {name: value, "se": error, "low": value - reach, "high": value + reach}

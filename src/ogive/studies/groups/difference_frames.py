"""Differences between groups as frames: by item, along the scale, and of the groups themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.diagnostics.group_differences import GroupDifferences
from ogive.models import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import normal_reach
from ogive.numerics.mantel_haenszel import common_odds
from ogive.studies.groups.effect_sizes import effect_sizes
from ogive.studies.groups.respondent_groups import RespondentGroups

if TYPE_CHECKING:
    import pandas as pd

REACH = normal_reach(0.95)
NEGLIGIBLE, LARGE = 1.0, 1.5  # classes A, B and C of ETS, on its delta scale
NO_ODDS = (np.nan, np.nan, np.nan)


def difference_frame(
    found: GroupDifferences,
    values: Floats,
    names: Sequence[str],
    split: RespondentGroups,
    model: MeasurementModel,
) -> pd.DataFrame:
    """One row per item and group besides the reference, in the order of the items."""
    import pandas as pd

    parts = []
    for g, group in enumerate(split.names[1:], start=1):
        told, sizes = found.found[g - 1], effect_sizes(found.curves, g)
        sizes["difference"] = told.effects[:, 0]  # without what all items have in common
        error = sizes["difference_se"]
        both = np.isin(split.codes, (0, g))
        odds = _odds(values[both], split.codes[both] == g, found.anchors, model)
        seen = np.isfinite(values)
        columns = {
            "group": group,
            "difference": sizes.pop("difference"),
            "difference_se": sizes.pop("difference_se"),
            "p_adjusted": found.p_adjusted[g - 1],
            "differs": found.differs[g - 1],
            "difficulty_difference": sizes.pop("difficulty_difference"),
            "difficulty_difference_se": sizes.pop("difficulty_difference_se"),
            "low": told.effects[:, 0] - REACH * error,
            "high": told.effects[:, 0] + REACH * error,
            **sizes,
            "p": told.p,
            "statistic": told.statistic,
            "likelihood_ratio": found.curves.likelihood_ratio,
            **odds,
            "anchor": found.anchors,
            "share_reached": np.nanmean(values, axis=0) / np.fmax(np.nanmax(values, axis=0), 1.0),
            "n": seen[split.codes == g].sum(axis=0),
            "n_reference": seen[split.codes == 0].sum(axis=0),
        }
        parts.append(pd.DataFrame(columns, index=pd.Index(names, name="item")))
    together = pd.concat(parts)
    order = np.argsort(np.tile(np.arange(len(names)), len(parts)), kind="stable")
    return together.iloc[order]


def _odds(
    values: Floats, second: np.ndarray, anchors: np.ndarray, model: MeasurementModel
) -> dict[str, Any]:
    """Mantel-Haenszel on the delta scale, by score on the anchors and the item; two values only."""
    rows: list[tuple[float, float, float]] = []
    for j in range(values.shape[1]):
        counted_in = anchors.copy()
        counted_in[j] = True
        whole = np.isfinite(values[:, counted_in]).all(axis=1)
        if model.kind != "binary" or not whole.any():
            rows.append(NO_ODDS)
            continue
        score = values[np.ix_(whole, counted_in)].sum(axis=1)
        odds = common_odds(values[whole, j], second[whole], score)
        rows.append((odds.delta, odds.delta_se, odds.p))
    delta, error, p = np.array(rows).T
    return {"mh_delta": delta, "mh_delta_se": error, "mh_p": p, "ets": _classes(delta, error, p)}


def _classes(delta: Floats, error: Floats, p: Floats) -> np.ndarray:
    """A: negligible, B: moderate, C: large, as ETS classifies items; "" where unknown."""
    size = np.abs(delta)
    small = (size < NEGLIGIBLE) | (p >= 0.05)
    large = (size >= LARGE) & ((size - NEGLIGIBLE) / error > normal_reach(0.90))
    found = np.where(small, "A", np.where(large, "C", "B"))
    return np.where(np.isfinite(delta), found, "")


def group_curve_frame(
    found: GroupDifferences, names: Sequence[str], split: RespondentGroups
) -> pd.DataFrame:
    """Curves of every item by group, where nearly all of that group are."""
    import pandas as pd
    from scipy.special import expit

    matching, parts = found.curves.matching, []
    for g, group in enumerate(split.names):
        below = matching.densities[g].cumsum()
        here = np.flatnonzero((below >= 0.01) & (below <= 0.99))
        here = here if here.size > 1 else np.argsort(-matching.densities[g])[:2]
        log_odds, error = found.curves.log_odds(g)[:, here], found.curves.log_odds_se(g)[:, here]
        ends = np.clip(log_odds + REACH * error * np.array([0, -1, 1])[:, None, None], -40, 40)
        share, low, high = expit(ends)
        columns = {
            "item": np.repeat(np.array(names, dtype=object), here.size),
            "group": group,
            "ability": np.tile(matching.nodes[here], len(names)),
            "expected": share.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def population_frame(found: GroupDifferences, split: RespondentGroups) -> pd.DataFrame:
    """Where each group stands on the scale, and how surely."""
    import pandas as pd

    matching = found.curves.matching
    mean, sd = matching.populations.T
    middle = matching.weights @ matching.nodes
    unsure = matching.weights @ matching.nodes**2 - middle**2  # variance of each posterior
    left = np.bincount(split.codes, unsure) / split.sizes
    # Respondents vary by sd, and what is measured of them by the error that such posteriors imply.
    noise = left * sd**2 / np.maximum(sd**2 - left, 0.05 * sd**2)
    mean_se = np.sqrt((sd**2 + noise) / split.sizes)
    columns = {"n": split.sizes, "mean": mean, "mean_se": mean_se, "sd": sd}
    return pd.DataFrame(columns, index=pd.Index(split.names, name="group"))

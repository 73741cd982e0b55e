"""Groups of items on which a respondent does better than its other responses predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ogive.calibration import Calibration
from ogive.numerics.arrays import Floats
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.responses import Responses
from ogive.responses.stored_cells import as_floats
from ogive.studies.health.benchmark_saturation import score_ends
from ogive.studies.health.hard_items import ALPHA
from ogive.studies.health.known_chances import Judged, items_are_known
from ogive.studies.health.scattered_deviates import ENOUGH_TO_SCATTER, among_others

if TYPE_CHECKING:
    import pandas as pd

LEAST_OUTSIDE = 5  # items outside a group needed to estimate the ability
FARTHEST = 1.0  # standard deviations that the ability elsewhere may lie from that on all items
NUDGE = 1e-4

_COLUMNS = (
    *("respondent", "group", "n_items", "share_reached", "expected", "expected_se"),
    *("z", "p", "p_adjusted", "hint"),
)
Sums = tuple[Floats, Floats, Floats, Floats, np.ndarray]  # n, seen, mean, error, who is judged


def group_frame(
    calibration: Calibration, table: Responses, groups: Sequence[str], parts: list[Judged]
) -> pd.DataFrame:
    """One row per respondent and group: its result there, and what its ability elsewhere predicts.

    Groups are judged if at least five items lie outside; `p` is the probability of such a result.
    `parts` are those who are judged together, by right and wrong.
    """
    import pandas as pd
    from scipy.special import ndtr

    names = list(dict.fromkeys(groups))
    rows = []
    for name in names:
        inside = np.array([group == name for group in groups])
        if np.count_nonzero(~inside) < LEAST_OUTSIDE:
            continue
        by_others = calibration.model.kind == "binary" and not items_are_known(calibration)
        sums = (
            _by_others(parts, table, inside)
            if by_others
            else _by_calibration(calibration, table, inside)
        )
        rows.append(_described(table, *sums).assign(group=name))
    if not rows:
        return pd.DataFrame(columns=[*_COLUMNS])
    frame = pd.concat(rows, ignore_index=True)
    frame["p"] = ndtr(-frame["z"].to_numpy())
    frame["p_adjusted"] = benjamini_hochberg(frame["p"].to_numpy())
    frame["hint"] = frame["p_adjusted"] < ALPHA
    return frame[[*_COLUMNS]]


def _described(
    table: Responses, n: Floats, seen: Floats, mean: Floats, error: Floats, sure: np.ndarray
) -> pd.DataFrame:
    import pandas as pd

    z = np.divide(seen - mean, error, out=np.full(len(n), np.nan), where=sure & (error > 0))
    count = np.where(n > 0, n, np.nan)
    return pd.DataFrame(
        {
            "respondent": list(table.respondents),
            "n_items": n.astype(int),
            "share_reached": seen / count,
            "expected": mean / count,
            "expected_se": error / count,
            "z": among_others(z).z,
        }
    )


def _by_calibration(calibration: Calibration, table: Responses, inside: np.ndarray) -> Sums:
    """Sums over a group at the ability on the other items, by the parameters of all items.

    Where few respondents stand behind these, all are judged by their variation, which takes enough
    of them.
    """
    there, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    elsewhere = calibration.of_items([table.items[k] for k in others])
    scored = elsewhere.score(table.select(items=others), items_known=True)
    ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
    model, coords = calibration.model.of_items(there), calibration.coords[there]
    low, high = (end[there] for end in score_ends(calibration))
    values = (as_floats(table.cells[:, there]) - low) / (high - low)
    asked = ~np.isnan(values)
    unit = (high - low)[:, None]
    expected = ((model.expected(coords, ability) - low[:, None]) / unit).T
    variance = (model.variance(coords, ability) / unit**2).T
    rise = (
        (model.expected(coords, ability + NUDGE) - model.expected(coords, ability - NUDGE)) / unit
    ).T / (2 * NUDGE)
    n = asked.sum(axis=1)
    seen, mean, noise, pull = (
        np.where(asked, part, 0.0).sum(axis=1) for part in (values, expected, variance, rise)
    )
    error = np.sqrt(noise + (pull * se) ** 2)
    enough = items_are_known(calibration) or table.n_respondents >= ENOUGH_TO_SCATTER
    outside = table.observed[:, others].sum(axis=1)
    return n, seen, mean, error, enough & (n > 0) & (outside >= LEAST_OUTSIDE)


def _by_others(parts: list[Judged], table: Responses, inside: np.ndarray) -> Sums:
    """Sums over a group, by what other respondents answered to its items and to all else.

    The ability elsewhere is one step of scoring from that on all items.
    """
    found = np.zeros((4, table.n_respondents))
    observed = table.observed[:, inside]
    found[0] = observed.sum(axis=1)
    found[1] = np.where(observed, as_floats(table.cells[:, inside]), 0.0).sum(axis=1)
    found[2:] = np.nan
    sure = np.zeros(table.n_respondents, dtype=bool)
    for part in parts:
        asked, there = part.worth > 0, inside[part.items]
        chance, rise = part.chances.at(slice(None))
        away = np.where(asked, part.shares - chance, 0.0)
        spread = chance * (1 - chance)
        tells = part.worth * rise / spread
        information = (tells * rise)[:, ~there].sum(axis=1)
        told = information > 0
        safe = np.where(told, information, 1.0)
        shift = np.clip((tells * away)[:, ~there].sum(axis=1) / safe, -FARTHEST, FARTHEST)
        mean, pull = (np.where(asked, x, 0.0)[:, there].sum(axis=1) for x in (chance, rise))
        noise = np.divide(spread, part.worth, out=np.zeros_like(spread), where=asked)
        found[2, part.rows] = np.clip(mean + pull * shift, 0.0, found[0, part.rows])
        found[3, part.rows] = np.sqrt(noise[:, there].sum(axis=1) + pull**2 / safe)
        outside = asked[:, ~there].sum(axis=1)
        sure[part.rows] = told & (found[0, part.rows] > 0) & (outside >= LEAST_OUTSIDE)
    return found[0], found[1], found[2], found[3], sure

"""Respondents who are right more often than their ability predicts: a hint, never a proof.

There are two statistics, each a standard normal deviate. The first counts right responses to items
that are hard for the respondent. Its ability was estimated from the same responses, so the effect
of that estimate is removed (as Snijders, 2001, does for person fit), and the skewness of the count
is allowed for. The second compares each group of items with the ability on all others.

Probabilities are those of the model, corrected by how often cells of such a probability were in
fact right, so that guessing that the model does not include raises no alarm. If respondents vary
more than the model allows, all of them are judged by the variation observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics import respondent_fit
from itemwise.numerics.arrays import Floats, row_blocks
from itemwise.numerics.multiplicity import benjamini_hochberg
from itemwise.responses import Responses
from itemwise.responses.stored_cells import as_floats
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05  # share of false discoveries among the hints
HARD = 0.3  # probability below which an item is hard for a respondent
LEAST_HARD = 5  # hard items needed for a test
LEAST_OTHERS = 5  # items outside a group needed to estimate the ability
BINS, LEAST_CELLS = 20, 200  # for the correction of probabilities
ENOUGH_TO_SCATTER = 20  # respondents needed to estimate their variation
NORMAL_MAD = 1.4826
NUDGE = 1e-4
FINE = 400
LEAST_SKEW = 1e-3  # less is ignored
LEAST = 1e-3  # smallest probability of a response
CELLS = 1 << 21
SURE = 1.96  # standard errors that an interval in a sentence reaches both ways


def respondent_frame(calibration: Calibration, table: Responses) -> pd.DataFrame:
    """One row per respondent: ability, fit and, for right or wrong responses, the hard items."""
    fit = respondent_fit(calibration, table)
    names = {"se": "ability_se", "p": "fit_p", "n": "n_items"}
    frame = fit.to_frame()[["ability", "se", "zh", "p", "n"]].rename(columns=names)
    frame["n_items"] = frame["n_items"].astype(int)
    low, high = calibration.model.extent()
    places = (as_floats(table.cells) - low) / (np.asarray(high) - low)
    asked = np.maximum(frame["n_items"].to_numpy(), 1)
    shares = np.where(frame["n_items"] > 0, np.nansum(places, axis=1) / asked, np.nan)
    frame.insert(2, "share_right", shares)
    if calibration.model.kind != "binary":
        return frame
    for name, column in _hard_items(calibration, table, fit.ability).items():
        frame[name] = column
    return frame


def group_frame(calibration: Calibration, table: Responses, groups: Sequence[str]) -> pd.DataFrame:
    """One row per respondent and group: its result there, and what its ability elsewhere predicts.

    Groups are judged if at least five items lie outside; `p` is the probability of such a result.
    """
    import pandas as pd
    from scipy.special import ndtr

    names = list(dict.fromkeys(groups))
    parts = []
    for name in names:
        inside = np.array([group == name for group in groups])
        if np.count_nonzero(~inside) < LEAST_OTHERS:
            continue
        parts.append(_one_group(calibration, table, inside).assign(group=name))
    if not parts:
        return pd.DataFrame(columns=[*_GROUP_COLUMNS])
    frame = pd.concat(parts, ignore_index=True)
    frame["p"] = ndtr(-frame["z"].to_numpy())
    frame["p_adjusted"] = benjamini_hochberg(frame["p"].to_numpy())
    frame["hint"] = frame["p_adjusted"] < ALPHA
    return frame[[*_GROUP_COLUMNS]]


def hint_said(name: str, row: pd.Series[Any]) -> str:
    """Say what is unexpected about one respondent, a row of the frame of respondents."""
    mean, reach = row["expected_on_hard"], SURE * row["expected_on_hard_se"]
    low, high = max(mean - reach, 0.0), min(mean + reach, row["hard"])
    hard = (
        f"right on {row['right_on_hard']:,} of {counted(int(row['hard']), 'hard item')}, where "
        f"{mean:.1f} ({low:.1f} to {high:.1f}) are expected"
    )
    groups = f"better on {row['too_good_on']} than its other responses predict"
    said = [text for text, told in ((hard, row["hint"]), (groups, row["too_good_on"])) if told]
    return f"{name} is {' and '.join(said)}"


_GROUP_COLUMNS = (
    *("respondent", "group", "n_items", "share_right", "expected", "expected_se"),
    *("z", "p", "p_adjusted", "hint"),
)


def _one_group(calibration: Calibration, table: Responses, inside: np.ndarray) -> pd.DataFrame:
    """Share right in a group of items, compared with the ability on the others."""
    import pandas as pd

    there, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    elsewhere = calibration.of_items([table.items[k] for k in others])
    scored = elsewhere.score(table.select(items=others), items_known=True)
    ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
    model, coords = calibration.model.of_items(there), calibration.coords[there]
    low, high = (np.broadcast_to(end, table.n_items)[there] for end in calibration.model.extent())
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
    sure = (n > 0) & (error > 0) & (len(others) - _missing(table, others) >= LEAST_OTHERS)
    z = np.divide(seen - mean, error, out=np.full(len(n), np.nan), where=sure)
    count = np.where(n > 0, n, np.nan)
    return pd.DataFrame(
        {
            "respondent": list(table.respondents),
            "n_items": n,
            "share_right": seen / count,
            "expected": mean / count,
            "expected_se": error / count,
            "z": _among_others(z),
        }
    )


def _missing(table: Responses, items: np.ndarray) -> np.ndarray:
    """How many of these items each respondent was not asked."""
    missing: np.ndarray = (~table.observed[:, items]).sum(axis=1)
    return missing


def _hard_items(calibration: Calibration, table: Responses, ability: Floats) -> dict[str, Floats]:
    """Right responses to hard items: observed, expected, and the test of the difference."""
    from scipy.special import ndtr

    corrected = _Corrected(calibration, table, ability)
    size = max(16, CELLS // table.n_items)
    parts = [corrected.sums(rows) for rows in row_blocks(table.n_respondents, size)]
    n, right, mean, excess, variance, third = np.concatenate(parts, axis=1)
    enough = (n >= LEAST_HARD) & (variance > 0)
    deviation = np.sqrt(np.where(enough, variance, np.nan))
    z = excess / deviation
    skew = third / deviation**3
    normal = _as_normal(z, skew)
    middle, scatter = _scatter(normal)
    z = (normal - middle) / scatter
    p = ndtr(-z)
    p_adjusted = benjamini_hochberg(p)
    return {
        "hard": n.astype(int),
        "right_on_hard": right.astype(int),
        "expected_on_hard": mean + middle * deviation,
        "expected_on_hard_se": scatter * deviation,
        "excess_z": z,
        "excess_p": p,
        "excess_p_adjusted": p_adjusted,
        "hint": p_adjusted < ALPHA,
    }


def _as_normal(z: Floats, skew: Floats) -> Floats:
    """Normal deviates of a skewed sum, by a gamma distribution with its skewness."""
    from scipy.special import gammainc, gammaincc, ndtri

    found = z.copy()
    rows = np.isfinite(z) & (np.abs(skew) > LEAST_SKEW)
    shape = 4 / skew[rows] ** 2
    right = skew[rows] > 0
    at = np.maximum(shape + np.where(right, z[rows], -z[rows]) * np.sqrt(shape), 0.0)
    above = np.where(right, gammaincc(shape, at), gammainc(shape, at))
    found[rows] = -ndtri(np.clip(above, 1e-300, 1 - 1e-16))
    return found


def _among_others(z: Floats) -> Floats:
    """Deviates standardised by the median and spread of all, if these exceed the model's."""
    middle, scatter = _scatter(z)
    return (z - middle) / scatter


def _scatter(z: Floats) -> tuple[float, float]:
    """Median and spread of deviates; 0 and 1, as the model has them, if there are few."""
    seen = z[np.isfinite(z)]
    if len(seen) < ENOUGH_TO_SCATTER:
        return 0.0, 1.0
    middle = float(np.median(seen))
    return middle, max(NORMAL_MAD * float(np.median(np.abs(seen - middle))), 1.0)


class _Corrected:
    """Probabilities of cells, corrected by how often cells of such a probability were right."""

    def __init__(self, calibration: Calibration, table: Responses, ability: Floats) -> None:
        self._calibration, self._table, self._ability = calibration, table, ability
        self._at, self._shift = self._curve()

    def sums(self, rows: slice) -> Floats:
        """The sums that make up the statistic of each respondent, (6, n_rows)."""
        cells, ability = self._table.cells[rows], self._ability[rows]
        asked = (cells >= 0).astype(float)
        chance = self._chance(ability)
        rise = (self._chance(ability + NUDGE) - self._chance(ability - NUDGE)) / (2 * NUDGE)
        noise = asked * chance * (1 - chance)
        hard = asked * (chance < HARD)
        tells = np.where(asked > 0, rise / np.maximum(chance * (1 - chance), 1e-9), 0.0)
        # Remove the part of the count that the estimate of ability has already used.
        information = (tells * rise).sum(axis=1)
        used = (hard * rise).sum(axis=1) / np.where(information > 0, information, np.inf)
        weight = hard - used[:, None] * tells
        away = np.where(asked > 0, cells - chance, 0.0)
        return np.stack(
            [
                hard.sum(axis=1),
                (hard * (cells == 1)).sum(axis=1),
                (hard * chance).sum(axis=1),
                (weight * away).sum(axis=1),
                (weight**2 * noise).sum(axis=1),
                (weight**3 * noise * (1 - 2 * chance)).sum(axis=1),
            ]
        )

    def _chance(self, ability: Floats) -> Floats:
        raw = self._raw(ability)
        return np.clip(raw + np.interp(raw, self._at, self._shift), LEAST, 1 - LEAST)

    def _raw(self, ability: Floats) -> Floats:
        model, coords = self._calibration.model, self._calibration.coords
        found: Floats = model.expected(coords, ability).T
        return found

    def _curve(self) -> tuple[Floats, Floats]:
        """How much more often cells were right than the model predicts, by its probability."""
        n, right, chance = np.zeros((3, FINE))
        for rows in row_blocks(len(self._ability), max(16, CELLS // self._table.n_items)):
            cells = self._table.cells[rows]
            asked = cells >= 0
            raw = self._raw(self._ability[rows])[asked]
            places = np.minimum((raw * FINE).astype(int), FINE - 1)
            n += np.bincount(places, minlength=FINE)
            right += np.bincount(places, cells[asked] == 1, minlength=FINE)
            chance += np.bincount(places, raw, minlength=FINE)
        # Neighbouring bins are merged until each holds enough cells.
        bins = (np.cumsum(n) - n) // max(LEAST_CELLS, n.sum() / BINS)
        _, place = np.unique(bins[n > 0], return_inverse=True)
        pooled = [np.bincount(place, part[n > 0]) for part in (n, right, chance)]
        return pooled[2] / pooled[0], (pooled[1] - pooled[2]) / pooled[0]

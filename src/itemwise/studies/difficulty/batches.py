"""Items calibrated in batches that all respondents answer, put on one scale.

Each batch has the same respondents, whose abilities are standard in each: the scales agree but for
chance. What is left is taken out by their means and deviations. A batch knows less of abilities
than all items together do, so that small batches cost accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.estimation import calibrate
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses

LEAST_SPREAD = 0.5  # of abilities in a part, by the usual spread; less is that of too few items


@dataclass(frozen=True, eq=False)
class OnScale:
    """Items and respondents of one model on one scale."""

    difficulty: Floats  # (n_items,)
    difficulty_se: Floats
    discrimination: Floats
    discrimination_se: Floats
    flag: tuple[str, ...]
    ability: Floats  # (n_respondents,)
    converged: bool


def on_one_scale(table: Responses, model: str, batches: int | None, random_state: int) -> OnScale:
    """Calibrate all items at once, or in `batches` that are linked."""
    if batches is None or batches == 1:
        return _calibrated(table, model)
    dealt = deal(table, batches, random_state)
    parts = [
        _calibrated(table.select(items=np.flatnonzero(dealt == k)), model) for k in range(batches)
    ]
    moved = _linked(parts)
    order = np.argsort(dealt, kind="stable").argsort(kind="stable")
    columns = {
        name: np.concatenate([getattr(part, name) for part in moved])[order]
        for name in ("difficulty", "difficulty_se", "discrimination", "discrimination_se")
    }
    flags = [flag for part in moved for flag in part.flag]
    return OnScale(
        **columns,
        flag=tuple(flags[k] for k in order),
        ability=np.mean([part.ability for part in moved], axis=0),
        converged=all(part.converged for part in moved),
    )


def deal(table: Responses, batches: int, random_state: int) -> NDArray[np.intp]:
    """The batch of each item: drawn, but with as many easy and hard ones in each."""
    asked = np.maximum((table.cells >= 0).sum(axis=0), 1)
    share = (table.cells > 0).sum(axis=0) / asked
    random = np.random.default_rng(random_state)
    order = np.lexsort([random.uniform(size=share.size), share])
    hands = [random.permutation(batches) for _ in range(-(-share.size // batches))]
    found = np.empty(share.size, dtype=np.intp)
    found[order] = np.concatenate(hands)[: share.size]
    return found


def _calibrated(table: Responses, model: str) -> OnScale:
    calibration = calibrate(table, model)
    items = calibration.items
    return OnScale(
        **{
            name: items[name].to_numpy(float)
            for name in ("difficulty", "difficulty_se", "discrimination", "discrimination_se")
        },
        flag=tuple(items["flag"]),
        ability=calibration.abilities()["ability"].to_numpy(float),
        converged=calibration.converged,
    )


def _linked(parts: list[OnScale]) -> list[OnScale]:
    """Parts moved so that abilities have the same mean and deviation in each, the usual one."""
    means = np.array([part.ability.mean() for part in parts])
    deviations = np.array([part.ability.std() for part in parts])
    # Where respondents hardly differ in a part, it has no unit to compare.
    usual = float(np.median(deviations))
    told = deviations > LEAST_SPREAD * usual
    units = np.divide(usual, deviations, out=np.ones_like(deviations), where=told)
    shifts = means.mean() - units * means
    return [
        OnScale(
            difficulty=unit * part.difficulty + shift,
            difficulty_se=unit * part.difficulty_se,
            discrimination=part.discrimination / unit,
            discrimination_se=part.discrimination_se / unit,
            flag=part.flag,
            ability=unit * part.ability + shift,
            converged=part.converged,
        )
        for part, unit, shift in zip(parts, units, shifts, strict=True)
    ]

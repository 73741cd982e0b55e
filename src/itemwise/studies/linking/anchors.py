"""Which items tie two scales, and where their curves are compared."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.studies.linking.lines import POINTS, Anchors, Grid, Line, is_shared
from itemwise.words import listed

LEAST_SLOPE = 0.05  # a flatter curve has no place on a scale
REACH = 4.0  # deviations of either population
NOMINAL = ("never asked", "all right", "all wrong", "constant")  # flags: nothing is known of these


def choose_anchors(
    old: Calibration, new: Calibration, wanted: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Names of the anchors, and notes on common items that cannot be any."""
    common = _common(old, new, wanted)
    unfit = {
        "nobody, or everybody, solved them on one of the scales": _nominal(old, new, common),
        "they hardly discriminate, or negatively, on one of the scales": _negative(
            old, new, common
        ),
        "grades or bounds differ between the scales": _reshaped(old, new, common),
    }
    notes, left_out = [], set[str]()
    for reason, names in unfit.items():
        fresh = [name for name in names if name not in left_out]
        left_out.update(fresh)
        if fresh:
            notes.append(f"{listed(fresh, 'item')} left out of the anchors: {reason}.")
    chosen = [name for name in common if name not in left_out]
    least = 1 if is_shared(old.model) else 2
    if len(chosen) < least:
        raise InputError(
            f"{len(chosen)} of {len(common)} common items can be anchors, but at least {least} are "
            f"needed to find the line between the scales. {' '.join(notes)}".strip()
        )
    return chosen, notes


def _common(old: Calibration, new: Calibration, wanted: Sequence[str] | None) -> list[str]:
    _refuse_unless_names(wanted)
    known = set(new.item_names)
    common = [name for name in old.item_names if name in known]
    if wanted is not None:
        both = set(common)
        unknown = [name for name in wanted if name not in both]
        if unknown:
            raise InputError(
                f"{listed(unknown, 'anchor')} not in both banks. They have "
                f"{listed(common, 'item')} in common."
            )
        common = list(dict.fromkeys(wanted))
    if not common:
        raise InputError(
            "The two banks have no item in common. The old one has "
            f"{listed(old.item_names, 'item')}, the new one {listed(new.item_names, 'item')}. "
            "Items are known by name: rename those that are the same."
        )
    return common


def _refuse_unless_names(wanted: object) -> None:
    if wanted is None:
        return
    several = isinstance(wanted, Collection) and not isinstance(wanted, str | bytes)
    if not several or not all(isinstance(name, str) for name in wanted):  # type: ignore[attr-defined]
        raise InputError(f"anchors is {wanted!r:.60}; give a list of names of items.")
    if not len(wanted):  # type: ignore[arg-type]
        raise InputError(
            "anchors is empty, but items are needed that tie the scales. Name some, or leave it "
            "out for all that both banks have."
        )


def paired(old: Calibration, new: Calibration, names: Sequence[str]) -> Anchors:
    """The anchors as both scales know them, in one shape."""
    first, second = old.of_items(names), new.of_items(names)
    width = max(first.coords.shape[1], second.coords.shape[1])
    wider = first.model if first.model.width == width else second.model

    return Anchors(
        wider,
        wider.widened(first.coords),
        wider.widened(second.coords),
        wider.widened_covariances(first.uncertainty.covariances),
        wider.widened_covariances(second.uncertainty.covariances),
    )


def common_grid(old: Calibration, new: Calibration, line: Line) -> Grid:
    """Where old and new respondents are on the old scale, both counting alike."""
    there = new.population.moved(line.shift, line.scale)
    ends = np.array([old.population.reach(REACH), there.reach(REACH)])
    points = np.linspace(ends.min(), ends.max(), POINTS)
    weights = sum(
        density / density.sum()
        for density in (np.exp(p.log_density(points)) for p in (old.population, there))
    )
    return Grid(points, np.asarray(weights) / 2)


def _nominal(old: Calibration, new: Calibration, names: list[str]) -> list[str]:
    flags = [dict(zip(bank.item_names, bank.flags, strict=True)) for bank in (old, new)]
    return [name for name in names if any(set(flag[name]) & set(NOMINAL) for flag in flags)]


def _negative(old: Calibration, new: Calibration, names: list[str]) -> list[str]:
    sound = np.ones(len(names), dtype=bool)
    for bank in (old, new):
        part = bank.of_items(names)
        sound &= part.model.parameters(part.coords)["discrimination"] > LEAST_SLOPE
    return [name for name, good in zip(names, sound, strict=True) if not good]


def _reshaped(old: Calibration, new: Calibration, names: list[str]) -> list[str]:
    ends = []
    for bank in (old, new):
        low, high = bank.of_items(names).model.extent()
        ends.append(np.stack([np.broadcast_to(end, len(names)) for end in (low, high)], axis=1))
    same = np.isclose(ends[0], ends[1]).all(axis=1)
    return [name for name, alike in zip(names, same, strict=True) if not alike]

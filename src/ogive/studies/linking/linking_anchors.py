"""Anchors: the items that link two scales, where their curves are compared, and which drifted.

An anchor drifted if it changed between two versions of a benchmark. Its two curves are compared
where the respondents are: their mean difference, and the trend of the difference along the scale.
Both are judged jointly by their standard errors and by the scatter of all anchors: respondents of
another ability meet another part of a curve that fits only roughly. Where both calibrations have
their responses, the curves are free of the model (`linking_responses`). Drifted anchors distort
the line by which all are judged; so the search starts from medians, and is repeated without the
drifted anchors until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ogive.calibration import Calibration
from ogive.calibration.shown_scale import NOMINAL
from ogive.errors import InputError
from ogive.estimation.maximization import moved_covariances
from ogive.numerics.arrays import Floats
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.numerics.standing_out import stand_out
from ogive.studies.linking.linking_lines import (
    POINTS,
    Anchors,
    Grid,
    Line,
    is_shared,
    line_ways,
)
from ogive.words import listed

LEAST_SLOPE = 0.05  # a flatter curve has no well-defined difficulty
REACH = 4.0  # standard deviations of either population
MOST_ROUNDS = 20


def choose_anchors(
    old: Calibration, new: Calibration, wanted: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the names of the anchors, and notes on common items that cannot be used."""
    common = _common(old, new, wanted)
    unfit = {
        "nobody or everybody solved them in one of the tables": _nominal(old, new, common),
        "they discriminate little or negatively on one of the scales": _negative(old, new, common),
        "their grades or bounds differ between the scales": _reshaped(old, new, common),
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
            f"needed to link the scales. {' '.join(notes)}".strip()
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
                f"{listed(unknown, 'anchor')} not in both banks, which have "
                f"{listed(common, 'item')} in common."
            )
        common = list(dict.fromkeys(wanted))
    if not common:
        raise InputError(
            "The two banks have no item in common. The old one has "
            f"{listed(old.item_names, 'item')}, the new one {listed(new.item_names, 'item')}. "
            "Items are matched by name: give the same items the same names."
        )
    return common


def _refuse_unless_names(wanted: object) -> None:
    if wanted is None:
        return
    several = isinstance(wanted, Collection) and not isinstance(wanted, str | bytes)
    if not several or not all(isinstance(name, str) for name in wanted):  # type: ignore[attr-defined]
        raise InputError(f"anchors is {wanted!r:.60}; give a list of item names.")
    if not len(wanted):  # type: ignore[arg-type]
        raise InputError(
            "anchors is empty, but linking needs common items. Name some, or omit it to use all "
            "items that both banks have."
        )


def paired(old: Calibration, new: Calibration, names: Sequence[str]) -> Anchors:
    """The anchors with their parameters on both scales, in one shape."""
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
    """Abilities on the old scale, weighted by where old and new respondents are, in equal parts."""
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


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far apart the two curves of each anchor are, (n_anchors,) each."""

    distance: Floats  # root mean square difference of expected responses
    statistic: Floats
    p: Floats
    p_adjusted: Floats
    scatter: float  # of the mean differences, beyond their errors


def compare(anchors: Anchors, grid: Grid, line: Line) -> Comparison:
    """Test each anchor by two contrasts of its curves; p-values are adjusted for all anchors."""
    model, linked = anchors.model, line.moved(anchors.model, anchors.new)
    gap = model.expected(anchors.old, grid.points) - model.expected(linked, grid.points)
    contrasts = _contrasts(grid)
    moved = moved_covariances(model, anchors.new, anchors.new_covariances, line.shift, line.scale)
    variance = np.zeros((len(gap), 2, 2))
    for coords, covariances in ((anchors.old, anchors.old_covariances), (linked, moved)):
        slopes = np.einsum("ck,wnk->ncw", contrasts, model.expected_slopes(coords, grid.points))
        variance += np.einsum("ncw,nwv,ndv->ncd", slopes, covariances, slopes)
    ways = np.einsum("mnw,ncw->mnc", line_ways(model, anchors.new, line), slopes)
    variance += np.einsum("mnc,ml,lnd->ncd", ways, line.covariance, ways)
    found = stand_out(gap @ contrasts.T, variance, np.zeros((len(gap), 2, 0)))
    distance = np.sqrt(gap**2 @ grid.weights)
    p_adjusted = benjamini_hochberg(found.p)
    return Comparison(distance, found.statistic, found.p, p_adjusted, float(found.scatter[0]))


def purified(
    anchors: Anchors,
    grid: Grid,
    start: Line,
    find: Callable[[Anchors, Line], Line],
    alpha: float,
    least: int,
) -> tuple[Line, np.ndarray]:
    """Return the line through the anchors that did not drift, and which ones did.

    If fewer than `least` would remain, the best-fitting ones are kept.
    """
    line, seen = start, set[bytes]()
    drifted = np.zeros(len(anchors.old), dtype=bool)
    for _ in range(MOST_ROUNDS):
        found = compare(anchors, grid, line)
        ahead = found.p_adjusted < alpha
        if (~ahead).sum() < least:
            ahead = np.ones(len(ahead), dtype=bool)
            ahead[np.argsort(found.statistic, kind="stable")[:least]] = False
        if ahead.tobytes() in seen:  # nothing changed, or the same sets take turns
            ahead = ahead | drifted if (~(ahead | drifted)).sum() >= least else ahead
            return find(anchors.part(~ahead), line), ahead
        seen.add(ahead.tobytes())
        drifted = ahead
        line = find(anchors.part(~drifted), line)
    return line, drifted


def _contrasts(grid: Grid) -> Floats:
    """Weights of the mean over respondents, and of the trend along the scale, (2, n_points)."""
    mean = float(grid.weights @ grid.points)
    spread = float(np.sqrt(grid.weights @ (grid.points - mean) ** 2))
    return np.stack([grid.weights, grid.weights * (grid.points - mean) / spread])

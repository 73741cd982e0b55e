"""Anchors; mean-sigma, Haebara, Stocking-Lord with errors.

The line from one scale to another that brings the anchors' curves together.

Old ability = slope x new ability + intercept. Mean-sigma and mean-mean compare moments of the
parameters (Marco, 1977; Loyd and Hoover, 1980), Haebara (1980) the anchors' curves one by one, and
Stocking and Lord (1983) their sum.

Anchors: the items that link two scales, where their curves are compared, and which drifted.

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
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.estimation.latent_scale import moved_covariances, moved_directions
from ogive.irt.item_covariances import KnownCovariances, PooledItems, Uncertainty
from ogive.irt.item_curves import NOMINAL
from ogive.irt.models.base import MeasurementModel
from ogive.results.numbers import listed
from ogive.stats.array_backend import Floats
from ogive.stats.multiplicity import benjamini_hochberg, stand_out
from ogive.stats.newton import root_of

MOST_STEPS = 100
SETTLED = 1e-10  # change of the line at which the search stops
SHORTEST = 1e-6  # smallest fraction of a step that is tried
POINTS = 81  # at which curves are compared


@dataclass(frozen=True, eq=False)
class Anchors:
    """Items common to both scales, with coordinates and covariances on each."""

    model: MeasurementModel
    old: Floats  # (n_anchors, width)
    new: Floats
    old_covariances: Floats  # (n_anchors, width, width)
    new_covariances: Floats

    def part(self, keep: np.ndarray) -> Anchors:
        """Return some of the anchors."""
        return Anchors(
            self.model.of_items(np.flatnonzero(keep)),
            self.old[keep],
            self.new[keep],
            self.old_covariances[keep],
            self.new_covariances[keep],
        )


@dataclass(frozen=True, eq=False)
class Line:
    """Old ability = slope x new ability + intercept, with the covariance of the two."""

    slope: float
    intercept: float
    covariance: Floats  # (2, 2)

    @property
    def shift(self) -> float:
        """The new ability at which the old one is zero, as `model.rescale` takes it."""
        return -self.intercept / self.slope

    @property
    def scale(self) -> float:
        """New units per old unit, as `model.rescale` takes it."""
        return 1 / self.slope

    def moved(self, model: MeasurementModel, coords: Floats) -> Floats:
        """Move coordinates from the new scale to the old one."""
        found: Floats = model.rescale(coords, self.shift, self.scale)
        return found

    def covariances(self, model: MeasurementModel, coords: Floats, own: Floats) -> Floats:
        """Covariances of coordinates on the old scale, including the uncertainty of the line."""
        moved = moved_covariances(model, coords, own, self.shift, self.scale)
        ways = line_ways(model, coords, self)
        found: Floats = moved + np.einsum("mni,ml,lnj->nij", ways, self.covariance, ways)
        return found

    def errors(
        self, model: MeasurementModel, coords: Floats, known: Uncertainty
    ) -> KnownCovariances:
        """Return errors of items on the old scale; all of them err together where the line does."""
        pooled = known.pooled
        if pooled is not None:
            pooled = PooledItems(
                self.moved(model, pooled.coords),
                self.covariances(model, pooled.coords, pooled.covariances),
                self._together(model, pooled.coords, pooled.shared),
            )
        return KnownCovariances(
            self.covariances(model, coords, known.covariances),
            self._together(model, coords, known.shared),
            pooled,
        )

    def _together(self, model: MeasurementModel, coords: Floats, shared: Floats) -> Floats:
        """Return directions in which all items err together on the old scale."""
        moved = moved_directions(model, coords, shared, self.shift, self.scale)
        ways = line_ways(model, coords, self)
        return np.concatenate([moved, np.einsum("mk,mni->kni", root_of(self.covariance), ways)])


@dataclass(frozen=True, eq=False)
class Grid:
    """Abilities of the old scale at which curves are compared, and their weights."""

    points: Floats  # (n_points,)
    weights: Floats  # (n_points,), sum to one


def robust_line(anchors: Anchors) -> Line:
    """Return a first line from medians, which a few drifted anchors hardly affect."""
    old, new = (anchors.model.parameters(coords) for coords in (anchors.old, anchors.new))
    slope = float(np.median(new["discrimination"] / old["discrimination"]))
    apart = old["difficulty"] - slope * new["difficulty"]
    return Line(slope, float(np.median(apart)), np.zeros((2, 2)))


def line_ways(model: MeasurementModel, coords: Floats, line: Line) -> Floats:
    """How coordinates on the old scale change with slope and intercept, (2, n_items, width)."""
    to_shift = model.rescale(coords, 1.0, line.scale) - model.rescale(coords, 0.0, line.scale)
    to_scale = model.rescale(coords, line.shift, 1.0) - model.rescale(coords, line.shift, 0.0)
    slope, intercept = line.slope, line.intercept
    return np.stack(
        [to_shift * intercept / slope**2 - to_scale / slope**2, -to_shift / slope],
    )


def is_shared(model: MeasurementModel) -> bool:
    """Return True if all items share one discrimination, which then determines the slope."""
    return bool(model.shared.any())


def _by_curves(anchors: Anchors, grid: Grid, start: Line, *, together: bool) -> Line:
    """Return minimise the squared differences of the curves by damped Gauss-Newton."""
    if is_shared(anchors.model):
        start = shared_slope(anchors, start)
    line = start
    for _ in range(MOST_STEPS):
        gap, change = _gaps(anchors, grid, line)
        gap, change = _joined(gap, together=together), _joined(change, together=together)
        step = _solve(change * grid.weights, change, gap, shared=is_shared(anchors.model))
        ahead = _downhill(anchors, grid, line, step, together=together)
        moved = max(abs(ahead.slope - line.slope), abs(ahead.intercept - line.intercept))
        line = ahead
        if moved < SETTLED:
            break
    return replace(line, covariance=_covariance(anchors, grid, line, together=together))


def _downhill(anchors: Anchors, grid: Grid, line: Line, step: Floats, *, together: bool) -> Line:
    """Take as much of the step as brings the curves closer; `line` itself if nothing does."""
    value, length = _distance(anchors, grid, line, together=together), 1.0
    while length > SHORTEST:
        slope, intercept = np.array([line.slope, line.intercept]) + length * step
        ahead = replace(line, slope=float(slope), intercept=float(intercept))
        if slope > 0 and _distance(anchors, grid, ahead, together=together) <= value:
            return ahead
        length /= 2
    return line


def _gaps(anchors: Anchors, grid: Grid, line: Line) -> tuple[Floats, Floats]:
    """Old minus linked curves, (n_anchors, n_points), and how the latter change with the line."""
    model, linked = anchors.model, line.moved(anchors.model, anchors.new)
    slopes = model.expected_slopes(linked, grid.points)
    change = np.einsum("mnw,wnk->mnk", line_ways(model, anchors.new, line), slopes)
    return _gap(anchors, grid, line), change


def _distance(anchors: Anchors, grid: Grid, line: Line, *, together: bool) -> float:
    gap = _joined(_gap(anchors, grid, line), together=together)
    return float((gap**2 * grid.weights).sum())


def _gap(anchors: Anchors, grid: Grid, line: Line) -> Floats:
    """Return old minus linked curves, (n_anchors, n_points)."""
    model, linked = anchors.model, line.moved(anchors.model, anchors.new)
    found: Floats = model.expected(anchors.old, grid.points) - model.expected(linked, grid.points)
    return found


def _joined(curves: Floats, *, together: bool) -> Floats:
    """Return curves (..., n_anchors, n_points), summed over the anchors if `together`."""
    return np.asarray(curves.sum(axis=-2)) if together else curves


def _solve(weighted: Floats, change: Floats, gap: Floats, *, shared: bool) -> Floats:
    """Least-squares step in slope and intercept from `change` to `gap`; a shared slope stays."""
    flat, against = weighted.reshape(2, -1), change.reshape(2, -1)
    if shared:
        return np.array([0.0, float(flat[1] @ gap.reshape(-1)) / float(flat[1] @ against[1])])
    return np.asarray(np.linalg.solve(flat @ against.T, flat @ gap.reshape(-1)), dtype=float)


def _covariance(anchors: Anchors, grid: Grid, line: Line, *, together: bool) -> Floats:
    """Return covariance by the delta method, from those of the anchors on both scales."""
    model, linked = anchors.model, line.moved(anchors.model, anchors.new)
    _, each = _gaps(anchors, grid, line)
    change = _joined(each, together=together)
    own = np.broadcast_to(change[:, None], each.shape) if together else each
    inner = (change * grid.weights).reshape(2, -1) @ change.reshape(2, -1).T
    shared = is_shared(model)
    pull = np.diag([0.0, 1 / inner[1, 1]]) if shared else np.linalg.inv(inner)
    moved = moved_covariances(model, anchors.new, anchors.new_covariances, line.shift, line.scale)
    total = np.zeros((2, 2))
    for coords, covariances in ((anchors.old, anchors.old_covariances), (linked, moved)):
        slopes = model.expected_slopes(coords, grid.points)
        influence = np.einsum("lm,mnk,k,wnk->lnw", pull, own, grid.weights, slopes)
        total += _spread(influence, covariances)
    if shared:
        total[0, 0] = shared_slope(anchors, line).covariance[0, 0]
    return total


def _spread(influence: Floats, covariances: Floats) -> Floats:
    """Covariance of slope and intercept, (2, 2), from the influence of coordinates on them."""
    found: Floats = np.einsum("lnw,nwv,mnv->lm", influence, covariances, influence)
    return found


def shared_slope(anchors: Anchors, line: Line) -> Line:
    """Return the line whose slope is the ratio of the two common discriminations."""
    k = int(np.flatnonzero(anchors.model.shared)[0])
    old, new = anchors.old[0, k], anchors.new[0, k]
    spread = anchors.new_covariances[0, k, k] / new**2 + anchors.old_covariances[0, k, k] / old**2
    covariance = np.array([[(new / old) ** 2 * spread, 0.0], [0.0, 0.0]])
    return Line(float(new / old), line.intercept, covariance)


def _by_moments(anchors: Anchors, grid: Grid, start: Line, *, sigma: bool) -> Line:
    """Return match means and standard deviations of difficulties, or means of discriminations."""
    del grid
    old = _Moments.of(anchors.model, anchors.old)
    new = _Moments.of(anchors.model, anchors.new)
    if is_shared(anchors.model):
        start = shared_slope(anchors, start)
        slope, to_old, to_new = start.slope, 0 * old.to_mean, 0 * new.to_mean
    elif sigma:
        if old.sd == 0 or new.sd == 0:
            raise InputError(
                "All anchors have the same difficulty, so they do not determine the unit of the "
                "scale. Use method='mean-mean' or 'stocking-lord'."
            )
        slope = old.sd / new.sd
        to_old, to_new = slope * old.to_log_sd, -slope * new.to_log_sd
    else:
        slope = new.slope / old.slope
        to_old, to_new = -slope * old.to_slope / old.slope, slope * new.to_slope / new.slope
    intercept = old.mean - slope * new.mean
    total = np.zeros((2, 2))
    for first, second, covariances in (
        (to_old, old.to_mean - new.mean * to_old, anchors.old_covariances),
        (to_new, -slope * new.to_mean - new.mean * to_new, anchors.new_covariances),
    ):
        total += _spread(np.stack([first, second]), covariances)
    if is_shared(anchors.model):
        total[0, 0] = start.covariance[0, 0]
    return Line(float(slope), float(intercept), total)


@dataclass(frozen=True, eq=False)
class _Moments:
    """Mean and standard deviation of difficulties, mean discrimination, and derivatives."""

    mean: float
    sd: float
    slope: float
    to_mean: Floats  # (n_anchors, width): derivatives in the coordinates
    to_log_sd: Floats
    to_slope: Floats

    @classmethod
    def of(cls, model: MeasurementModel, coords: Floats) -> _Moments:
        found, jacobian = model.parameters(coords), model.parameter_jacobian(coords)
        steps = [name for name in found if name.startswith("difficulty_")] or ["difficulty"]
        difficulty = np.stack([found[name] for name in steps])
        slopes = np.nan_to_num(np.stack([jacobian[name] for name in steps]))
        seen = np.isfinite(difficulty)
        n, mean = int(seen.sum()), float(difficulty[seen].mean())
        apart = np.where(seen, difficulty - mean, 0.0)
        variance = float((apart**2).sum()) / n
        return cls(
            mean=mean,
            sd=variance**0.5,
            slope=float(found["discrimination"].mean()),
            to_mean=slopes.sum(axis=0) / n,
            to_log_sd=(apart[..., None] * slopes).sum(axis=0) / (n * max(variance, 1e-300)),
            to_slope=jacobian["discrimination"] / len(coords),
        )


CURVES, FIXED = "stocking-lord", "fixed"
LINES: dict[str, Callable[[Anchors, Grid, Line], Line]] = {
    CURVES: partial(_by_curves, together=True),
    "haebara": partial(_by_curves, together=False),
    "mean-sigma": partial(_by_moments, sigma=True),
    "mean-mean": partial(_by_moments, sigma=False),
}
METHODS = (*LINES, FIXED)  # the last holds items, and needs no line


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
    """Return the anchors with their parameters on both scales, in one shape."""
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

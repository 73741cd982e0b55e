"""The line from one scale to another: anchors, linking methods, and the search for drift.

Old ability = slope x new ability + intercept. Mean-sigma and mean-mean compare moments of the
parameters (Marco, 1977; Loyd and Hoover, 1980), Haebara (1980) the anchors' curves one by one, and
Stocking and Lord (1983) their sum.

An anchor drifted if it changed between two versions of a benchmark. Its two curves are compared
where the respondents are: their mean difference, and the trend of the difference along the scale.
Both are judged jointly by their standard errors and by the scatter of all anchors. Drifted anchors
distort the line by which all are judged, so the search starts from medians and is repeated without
the drifted anchors until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.differential_functioning import mean_and_trend
from ogive.irt.estimation.latent_scale import moved_covariances, moved_directions
from ogive.irt.item_covariances import KnownCovariances, PooledItems, Uncertainty
from ogive.irt.item_curves import NOMINAL
from ogive.irt.models.base import MeasurementModel
from ogive.results.numbers import listed
from ogive.stats.array_backend import Floats
from ogive.stats.multiplicity import benjamini_hochberg, stand_out
from ogive.stats.newton import root_of

MAX_STEPS = 100
CONVERGED = 1e-10  # change of the line at which the search stops
SHORTEST = 1e-6  # smallest fraction of a step that is tried
POINTS = 81  # number of abilities at which curves are compared
LEAST_SLOPE = 0.05  # smallest discrimination of an anchor; flatter curves have no difficulty
REACH = 4.0  # range of compared abilities, in standard deviations of either population
MAX_ROUNDS = 20


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
        arrays = self.old, self.new, self.old_covariances, self.new_covariances
        return Anchors(self.model.of_items(np.flatnonzero(keep)), *(x[keep] for x in arrays))

    @property
    def shared_slope(self) -> bool:
        """True if all items share one discrimination, which then determines the slope."""
        return bool(self.model.shared.any())

    @property
    def least(self) -> int:
        """The smallest number of anchors that determine a line."""
        return 1 if self.shared_slope else 2


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
        return np.asarray(model.rescale(coords, self.shift, self.scale))

    def jacobian(self, model: MeasurementModel, coords: Floats) -> Floats:
        """Return derivatives of moved coordinates in slope and intercept, (2, n_items, width)."""
        to_shift = model.rescale(coords, 1.0, self.scale) - model.rescale(coords, 0.0, self.scale)
        to_scale = model.rescale(coords, self.shift, 1.0) - model.rescale(coords, self.shift, 0.0)
        slope, intercept = self.slope, self.intercept
        return np.stack(
            [to_shift * intercept / slope**2 - to_scale / slope**2, -to_shift / slope],
        )

    def covariances(self, model: MeasurementModel, coords: Floats, own: Floats) -> Floats:
        """Return covariances on the old scale, including the uncertainty of the line."""
        moved = moved_covariances(model, coords, own, self.shift, self.scale)
        jacobian = self.jacobian(model, coords)
        return np.asarray(moved + np.einsum("mni,ml,lnj->nij", jacobian, self.covariance, jacobian))

    def errors(
        self, model: MeasurementModel, coords: Floats, known: Uncertainty
    ) -> KnownCovariances:
        """Return errors of items on the old scale; they share the error of the line."""

        def shared(coords: Floats, own: Floats) -> Floats:
            moved = moved_directions(model, coords, own, self.shift, self.scale)
            jacobian = self.jacobian(model, coords)
            of_line = np.einsum("mk,mni->kni", root_of(self.covariance), jacobian)
            return np.concatenate([moved, of_line])

        pooled = known.pooled
        if pooled is not None:
            pooled = PooledItems(
                self.moved(model, pooled.coords),
                self.covariances(model, pooled.coords, pooled.covariances),
                shared(pooled.coords, pooled.shared),
            )
        covariances = self.covariances(model, coords, known.covariances)
        return KnownCovariances(covariances, shared(coords, known.shared), pooled)


@dataclass(frozen=True, eq=False)
class Grid:
    """Abilities of the old scale at which curves are compared, and their weights."""

    points: Floats  # (n_points,)
    weights: Floats  # (n_points,), sum to one


def robust_line(anchors: Anchors) -> Line:
    """Return a first line from medians, which a few drifted anchors hardly affect."""
    old, new = (anchors.model.parameters(coords) for coords in (anchors.old, anchors.new))
    slope = float(np.median(new["discrimination"] / old["discrimination"]))
    difference = old["difficulty"] - slope * new["difficulty"]
    return Line(slope, float(np.median(difference)), np.zeros((2, 2)))


def _by_curves(anchors: Anchors, grid: Grid, start: Line, *, together: bool) -> Line:
    """Minimize the squared differences of the curves by damped Gauss-Newton.

    With `together`, the curves are summed over the anchors first.
    """
    model, shared = anchors.model, anchors.shared_slope

    def joined(curves: Floats) -> Floats:
        return np.asarray(curves.sum(axis=-2)) if together else curves

    def gap(line: Line) -> Floats:
        linked = line.moved(model, anchors.new)
        return joined(
            model.expected(anchors.old, grid.points) - model.expected(linked, grid.points)
        )

    def distance(line: Line) -> float:
        return float((gap(line) ** 2 * grid.weights).sum())

    def change(line: Line) -> Floats:
        """Return derivatives of linked curves in slope and intercept, (2, n_anchors, n_points)."""
        slopes = model.expected_slopes(line.moved(model, anchors.new), grid.points)
        return np.asarray(np.einsum("mnw,wnk->mnk", line.jacobian(model, anchors.new), slopes))

    def downhill(line: Line, step: Floats) -> Line:
        """Take as much of the step as brings the curves closer; `line` itself if nothing does."""
        value, length = distance(line), 1.0
        while length > SHORTEST:
            slope, intercept = np.array([line.slope, line.intercept]) + length * step
            trial = replace(line, slope=float(slope), intercept=float(intercept))
            if slope > 0 and distance(trial) <= value:
                return trial
            length /= 2
        return line

    line = shared_slope(anchors, start) if shared else start
    for _ in range(MAX_STEPS):
        difference, jacobian = gap(line).reshape(-1), joined(change(line))
        flat, weighted = jacobian.reshape(2, -1), (jacobian * grid.weights).reshape(2, -1)
        if shared:  # the slope stays
            step = np.array([0.0, float(weighted[1] @ difference) / float(weighted[1] @ flat[1])])
        else:
            step = np.asarray(
                np.linalg.solve(weighted @ flat.T, weighted @ difference), dtype=float
            )
        before, line = line, downhill(line, step)
        if max(abs(line.slope - before.slope), abs(line.intercept - before.intercept)) < CONVERGED:
            break
    # Covariance by the delta method, from those of the anchors on both scales.
    each = change(line)
    jacobian = joined(each)
    own = np.broadcast_to(jacobian[:, None], each.shape) if together else each
    inner = (jacobian * grid.weights).reshape(2, -1) @ jacobian.reshape(2, -1).T
    inverse = np.diag([0.0, 1 / inner[1, 1]]) if shared else np.linalg.inv(inner)
    linked = line.moved(model, anchors.new)
    moved = moved_covariances(model, anchors.new, anchors.new_covariances, line.shift, line.scale)
    total = np.zeros((2, 2))
    for coords, covariances in ((anchors.old, anchors.old_covariances), (linked, moved)):
        slopes = model.expected_slopes(coords, grid.points)
        influence = np.einsum("lm,mnk,k,wnk->lnw", inverse, own, grid.weights, slopes)
        total += np.einsum("lnw,nwv,mnv->lm", influence, covariances, influence)
    if shared:
        total[0, 0] = shared_slope(anchors, line).covariance[0, 0]
    return replace(line, covariance=total)


def shared_slope(anchors: Anchors, line: Line) -> Line:
    """Return the line whose slope is the ratio of the two common discriminations."""
    k = int(np.flatnonzero(anchors.model.shared)[0])
    old, new = anchors.old[0, k], anchors.new[0, k]
    variance = anchors.new_covariances[0, k, k] / new**2 + anchors.old_covariances[0, k, k] / old**2
    covariance = np.array([[(new / old) ** 2 * variance, 0.0], [0.0, 0.0]])
    return Line(float(new / old), line.intercept, covariance)


def _by_moments(anchors: Anchors, grid: Grid, start: Line, *, sigma: bool) -> Line:
    """Match means and standard deviations of difficulties, or means of discriminations."""
    del grid
    old = _Moments.of(anchors.model, anchors.old)
    new = _Moments.of(anchors.model, anchors.new)
    if anchors.shared_slope:
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
    for to_slope, to_intercept, covariances in (
        (to_old, old.to_mean - new.mean * to_old, anchors.old_covariances),
        (to_new, -slope * new.to_mean - new.mean * to_new, anchors.new_covariances),
    ):
        influence = np.stack([to_slope, to_intercept])
        total += np.einsum("lnw,nwv,mnv->lm", influence, covariances, influence)
    if anchors.shared_slope:
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
        parameters, jacobian = model.parameters(coords), model.parameter_jacobian(coords)
        steps = [name for name in parameters if name.startswith("difficulty_")] or ["difficulty"]
        difficulty = np.stack([parameters[name] for name in steps])
        slopes = np.nan_to_num(np.stack([jacobian[name] for name in steps]))
        seen = np.isfinite(difficulty)
        n, mean = int(seen.sum()), float(difficulty[seen].mean())
        centred = np.where(seen, difficulty - mean, 0.0)
        variance = float((centred**2).sum()) / n
        return cls(
            mean=mean,
            sd=variance**0.5,
            slope=float(parameters["discrimination"].mean()),
            to_mean=slopes.sum(axis=0) / n,
            to_log_sd=(centred[..., None] * slopes).sum(axis=0) / (n * max(variance, 1e-300)),
            to_slope=jacobian["discrimination"] / len(coords),
        )


CURVES, FIXED = "stocking-lord", "fixed"
LINES: dict[str, Callable[[Anchors, Grid, Line], Line]] = {
    CURVES: partial(_by_curves, together=True),
    "haebara": partial(_by_curves, together=False),
    "mean-sigma": partial(_by_moments, sigma=True),
    "mean-mean": partial(_by_moments, sigma=False),
}
METHODS = (*LINES, FIXED)  # the last keeps items fixed and needs no line


def choose_anchors(
    old: Calibration, new: Calibration, wanted: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the names of the anchors, and notes on common items that cannot be used."""
    common = _common_items(old, new, wanted)
    constant, steep, extents = np.zeros(len(common), dtype=bool), ~np.zeros(len(common), bool), []
    for bank in (old, new):
        part = bank.of_items(common)
        constant |= np.array([bool(set(words) & set(NOMINAL)) for words in part.flags])
        steep &= part.model.parameters(part.coords)["discrimination"] > LEAST_SLOPE
        ends = [np.broadcast_to(end, len(common)) for end in part.model.extent()]
        extents.append(np.stack(ends, axis=1))
    unfit = {
        "nobody or everybody solved them in one of the tables": constant,
        "they discriminate little or negatively on one of the scales": ~steep,
        "their grades or bounds differ between the scales": ~np.isclose(extents[0], extents[1]).all(
            axis=1
        ),
    }
    notes, left_out = [], np.zeros(len(common), dtype=bool)
    for reason, mask in unfit.items():
        names = [common[k] for k in np.flatnonzero(mask & ~left_out)]
        left_out |= mask
        if names:
            notes.append(f"{listed(names, 'item')} left out of the anchors: {reason}.")
    chosen = [common[k] for k in np.flatnonzero(~left_out)]
    least = 1 if old.model.shared.any() else 2
    if len(chosen) < least:
        raise InputError(
            f"{len(chosen)} of {len(common)} common items can be anchors, but at least {least} are "
            f"needed to link the scales. {' '.join(notes)}".strip()
        )
    return chosen, notes


def _common_items(old: Calibration, new: Calibration, wanted: Sequence[str] | None) -> list[str]:
    common = [name for name in old.item_names if name in set(new.item_names)]
    if wanted is not None:
        several = isinstance(wanted, Collection) and not isinstance(wanted, str | bytes)
        if not several or not all(isinstance(name, str) for name in wanted):
            raise InputError(f"`anchors` must be a list of item names, got {wanted!r:.60}.")
        if not len(wanted):
            raise InputError(
                "anchors is empty, but linking needs common items. Name some, or omit it to use "
                "all items that both banks have."
            )
        unknown = [name for name in wanted if name not in set(common)]
        if unknown:
            raise InputError(
                f"{listed(unknown, 'anchor')} not in both banks, which have "
                f"{listed(common, 'item')} in common."
            )
        return list(dict.fromkeys(wanted))
    if not common:
        raise InputError(
            "The two banks have no item in common. The old one has "
            f"{listed(old.item_names, 'item')}, the new one {listed(new.item_names, 'item')}. "
            "Items are matched by name: give the same items the same names."
        )
    return common


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
    """Return abilities on the old scale, weighted equally by old and new respondents."""
    moved = new.population.moved(line.shift, line.scale)
    ends = np.array([old.population.reach(REACH), moved.reach(REACH)])
    points = np.linspace(ends.min(), ends.max(), POINTS)
    weights = sum(
        density / density.sum()
        for density in (np.exp(p.log_density(points)) for p in (old.population, moved))
    )
    return Grid(points, np.asarray(weights) / 2)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Distances of the two curves of each anchor, (n_anchors,) each."""

    distance: Floats  # root mean square difference of expected responses
    statistic: Floats
    p: Floats
    p_adjusted: Floats
    scatter: float  # of the mean differences, beyond their errors


def compare(anchors: Anchors, grid: Grid, line: Line) -> Comparison:
    """Test each anchor by two contrasts of its curves; p-values are adjusted for all anchors."""
    model, linked = anchors.model, line.moved(anchors.model, anchors.new)
    gap = model.expected(anchors.old, grid.points) - model.expected(linked, grid.points)
    contrasts = mean_and_trend(grid.points, grid.weights)
    moved = moved_covariances(model, anchors.new, anchors.new_covariances, line.shift, line.scale)
    variance = np.zeros((len(gap), 2, 2))
    for coords, covariances in ((anchors.old, anchors.old_covariances), (linked, moved)):
        slopes = np.einsum("ck,wnk->ncw", contrasts, model.expected_slopes(coords, grid.points))
        variance += np.einsum("ncw,nwv,ndv->ncd", slopes, covariances, slopes)
    by_line = np.einsum("mnw,ncw->mnc", line.jacobian(model, anchors.new), slopes)
    variance += np.einsum("mnc,ml,lnd->ncd", by_line, line.covariance, by_line)
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
) -> tuple[Line, np.ndarray]:
    """Return the line through the anchors that did not drift, and which ones did.

    If fewer than `anchors.least` would remain, the best-fitting ones are kept.
    """
    line, tried, least = start, set[bytes](), anchors.least
    drifted = np.zeros(len(anchors.old), dtype=bool)
    for _ in range(MAX_ROUNDS):
        compared = compare(anchors, grid, line)
        suspect = compared.p_adjusted < alpha
        if (~suspect).sum() < least:
            suspect = np.ones(len(suspect), dtype=bool)
            suspect[np.argsort(compared.statistic, kind="stable")[:least]] = False
        if suspect.tobytes() in tried:  # nothing changed, or the same sets take turns
            either = suspect | drifted
            suspect = either if (~either).sum() >= least else suspect
            return find(anchors.part(~suspect), line), suspect
        tried.add(suspect.tobytes())
        drifted = suspect
        line = find(anchors.part(~drifted), line)
    return line, drifted

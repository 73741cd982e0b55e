"""Items whose difficulty depends on facts about them: latent regression, seen from the items.

Difficulty given the facts x of an item is normal with mean x β and one standard deviation. What is
climbed is the likelihood of β and that deviation with every difficulty integrated out, so that
errors count how uncertain difficulties are. The likelihood of an item along its difficulty is
computed as it is: with few respondents it is skewed, and who weighs estimates by their standard
errors finds slopes that are too small, because items that seem extreme seem uncertain too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ogive.calibration import Calibration
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.responses import Responses
from ogive.responses.encoding import Block, encode
from ogive.scoring.posterior import likelihood_on_nodes

MANY = 1000  # answers from which on the likelihood of an item is taken as normal
CERTAIN = 0.3  # and its standard error below this
VAGUE = 5.0  # standard error of a difficulty about which nothing is known
PLACES = np.concatenate([np.arange(-6.0, -3.0), np.linspace(-3, 3, 13), np.arange(4.0, 7.0)])
FINE = np.linspace(-6.0, 6.0, 121)
STEPS = 6  # of Newton's method to a difficulty
LARGEST = 500.0  # change of a log-probability
LEAST_SD, MOST_SD = 0.02, 5.0  # beyond the facts
NEWTON = 30
NUDGE = 0.05


@dataclass(frozen=True, eq=False)
class ExplainedItems:
    """Coefficients and the deviation that facts leave, with errors; difficulties given the facts.

    `covariance` is of the coefficients, in units of these respondents: that other respondents
    would have given another origin and unit is no error of theirs.
    """

    used: np.ndarray  # (n_items,): whose difficulty is known
    coefficients: Floats
    covariance: Floats
    sd: float
    log_sd_error: float
    difficulty: Floats  # (n_used,), as what follows
    difficulty_se: Floats
    means: Floats


def usable_items(calibration: Calibration) -> np.ndarray:
    """Items whose difficulty is known, and on which better respondents do better."""
    items = calibration.items
    error = items["difficulty_se"].to_numpy(dtype=float)
    found: np.ndarray = (
        np.isfinite(items["difficulty"].to_numpy(dtype=float))
        & (error < VAGUE)
        & (items["discrimination"].to_numpy(dtype=float) > 0)
    )
    return found


def explain_items_of(
    calibration: Calibration, table: Responses, columns: Floats, used: np.ndarray
) -> ExplainedItems:
    """Regress true difficulty on the columns, one row for each of the items used."""
    places = np.flatnonzero(used)
    estimate, error, shared = _difficulties(calibration, places)
    center, scale = _centers(estimate, error)
    grid = center[:, None] + scale[:, None] * FINE
    curves = -0.5 * ((grid - estimate[:, None]) / error[:, None]) ** 2
    answers = table.observed.sum(axis=0)[places]
    short = np.flatnonzero((answers < MANY) | (error > CERTAIN))
    if short.size:
        curves[short] = _curves(calibration, table, places[short], center[short], scale[short])
    climb = _Climb(grid, curves, columns)
    log_sd, log_sd_error = climb.to_top()
    coefficients, weights, mean, variance = climb.at(log_sd)
    inverse = np.linalg.inv(columns.T @ (weights[:, None] * columns))
    answer = inverse @ columns.T * weights  # how coefficients follow difficulties
    return ExplainedItems(
        used=used,
        coefficients=coefficients,
        covariance=inverse + _of_scale(answer, shared, estimate, table.n_respondents),
        sd=float(np.exp(log_sd)),
        log_sd_error=log_sd_error,
        difficulty=mean,
        difficulty_se=np.sqrt(variance),
        means=columns @ coefficients,
    )


def _difficulties(calibration: Calibration, places: np.ndarray) -> tuple[Floats, Floats, Floats]:
    """Estimates, their own errors, and directions in which all err together."""
    slope = calibration.model.parameter_jacobian(calibration.coords)["difficulty"][places]
    known = calibration.uncertainty
    whole = np.einsum("ni,nij,nj->n", slope, known.covariances[places], slope)
    shared: Floats = np.einsum("kni,ni->kn", known.shared[:, places], slope)
    own = np.maximum(whole - (shared**2).sum(axis=0), 0.01 * whole)
    estimate = calibration.items["difficulty"].to_numpy(dtype=float)[places]
    return estimate, np.sqrt(own), shared


def _centers(estimate: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Where each likelihood is looked at: near the estimate, or near all items if it is vague."""
    middle = float(np.median(estimate))
    spread = max(0.5, 1.5 * float(np.median(np.abs(estimate - middle))) / 0.6745)
    variance = 1 / (1 / spread**2 + 1 / error**2)
    return variance * (middle / spread**2 + estimate / error**2), np.sqrt(variance)


def _of_scale(answer: Floats, shared: Floats, difficulty: Floats, n_respondents: int) -> Floats:
    """What origin and unit of the scale add, but for the lot that drew these respondents."""
    together = answer @ shared.T
    origin, unit = answer.sum(axis=1), answer @ difficulty
    lot = (np.outer(origin, origin) + np.outer(unit, unit) / 2) / n_respondents
    size, ways = np.linalg.eigh(together @ together.T - lot)
    return np.asarray((ways * np.maximum(size, 0.0)) @ ways.T, dtype=float)


class _Climb:
    """The restricted likelihood of the deviation, coefficients being at their best."""

    def __init__(self, grid: Floats, curves: Floats, columns: Floats) -> None:
        self.grid, self.curves, self.columns = grid, curves, columns
        top = np.take_along_axis(grid, curves.argmax(axis=1)[:, None], axis=1)[:, 0]
        self.begin = np.asarray(np.linalg.lstsq(columns, top, rcond=None)[0], dtype=float)
        self.value = 0.0

    def at(self, log_sd: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Best coefficients, weights of items, mean and variance of every difficulty."""
        precision, coefficients = np.exp(-2 * log_sd), self.begin
        for _ in range(NEWTON):
            mean, variance, value = self._posterior(coefficients, log_sd)
            weights = np.maximum(precision * (1 - precision * variance), 1e-6 * precision)
            pull = self.columns.T @ (precision * (mean - self.columns @ coefficients))
            information = self.columns.T @ (weights[:, None] * self.columns)
            step = np.linalg.solve(information, pull)
            coefficients = coefficients + step
            if np.abs(self.columns @ step).max() < 1e-8:
                break
        self.begin = coefficients
        self.value = value - 0.5 * float(np.linalg.slogdet(information)[1])
        return coefficients, weights, mean, variance

    def _posterior(self, coefficients: Floats, log_sd: float) -> tuple[Floats, Floats, float]:
        away = (self.grid - (self.columns @ coefficients)[:, None]) * np.exp(-log_sd)
        joint = self.curves - 0.5 * away**2 - log_sd
        top = joint.max(axis=1, keepdims=True)
        weights = np.exp(joint - top)
        total = weights.sum(axis=1)
        value = float((top[:, 0] + np.log(total)).sum())
        weights /= total[:, None]
        mean = (weights * self.grid).sum(axis=1)
        variance = (weights * (self.grid - mean[:, None]) ** 2).sum(axis=1)
        return mean, variance, value

    def loss(self, log_sd: float) -> float:
        """Minus the restricted log-likelihood."""
        self.at(log_sd)
        return -self.value

    def to_top(self) -> tuple[float, float]:
        """The log of the deviation, and its error."""
        from scipy.optimize import minimize_scalar

        ends = np.log(LEAST_SD), np.log(MOST_SD)
        found = minimize_scalar(self.loss, bounds=ends, method="bounded", options={"xatol": 1e-5})
        best = float(np.clip(found.x, ends[0] + NUDGE, ends[1] - NUDGE))
        sides = [self.loss(best + step) for step in (-NUDGE, 0.0, NUDGE)]
        curvature = (sides[0] - 2 * sides[1] + sides[2]) / NUDGE**2
        return best, float(1 / np.sqrt(max(curvature, 0.5)))


def _curves(
    calibration: Calibration, table: Responses, places: np.ndarray, center: Floats, scale: Floats
) -> Floats:
    """Log-likelihood of items on a fine grid, given all other answers, (n_places, n_fine)."""
    from scipy.interpolate import CubicSpline

    model = calibration.model
    data = encode(table.cells, model, collapsing=False, tries=table.tries)
    nodes, joint = likelihood_on_nodes(data, model, calibration.coords, calibration.population)
    joint = joint + calibration.population.log_density(nodes)
    posterior = np.exp(joint - joint.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    block = data.block(slice(0, len(posterior)))
    targets = center[:, None] + scale[:, None] * PLACES
    coords = _moved(calibration, places, targets)
    found = np.empty((len(places), PLACES.size))
    for row, place in enumerate(places):
        found[row] = _along(model, posterior, block, place, nodes, calibration.coords, coords[row])
    return np.asarray(CubicSpline(PLACES, found, axis=1)(FINE), dtype=float)


def _along(
    model: MeasurementModel,
    posterior: Floats,
    block: Block,
    place: int,
    nodes: Floats,
    coords: Floats,
    moved: Floats,
) -> Floats:
    """Log-likelihood of one item at moved coordinates, less that where it was found."""
    was = model.log_terms(coords[[place]], nodes)
    change = model.log_terms(moved, nodes) - was  # (1 + n_statistics, n_moved, n_nodes)
    asked = (
        np.ones(len(posterior))
        if block.observed is None
        else np.asarray(block.observed[:, place], dtype=float)
    )
    told = [np.asarray(table[:, place], dtype=float) for table in block.statistics]
    rows = np.stack([asked, *told], axis=1)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    total = np.zeros(len(moved))
    for k, kind in enumerate(kinds):
        ratio = np.exp(np.clip(np.tensordot(kind, change, axes=1), -LARGEST, LARGEST))
        total += np.log(posterior[which.reshape(-1) == k] @ ratio.T + 1e-300).sum(axis=0)
    return total


def _moved(calibration: Calibration, places: np.ndarray, targets: Floats) -> Floats:
    """Coordinates with given difficulties that lie nearest to those found, in their covariance.

    Shared directions stay: what all items have in common is not one item's to change.
    """
    model, known = calibration.model, calibration.uncertainty
    n_items, n_targets = targets.shape
    begin = np.repeat(calibration.coords[places], n_targets, axis=0)
    shared = known.shared[:, places]
    own = known.covariances[places] - np.einsum("kni,knj->nij", shared, shared)
    own += 1e-9 * np.eye(own.shape[1])
    spread = np.repeat(own, n_targets, axis=0)
    low = np.array([c.low for c in model.coordinates])
    high = np.array([c.high for c in model.coordinates])
    coords, goal = begin, targets.reshape(-1)
    for _ in range(STEPS):
        # discrimination × (difficulty - goal) is 0 where difficulty - goal is, and nearly linear
        numbers, slopes = model.parameters(coords), model.parameter_jacobian(coords)
        steep, away = numbers["discrimination"], numbers["difficulty"] - goal
        slope = steep[:, None] * slopes["difficulty"] + away[:, None] * slopes["discrimination"]
        missing = ((coords - begin) * slope).sum(axis=1) - steep * away
        way = np.einsum("nij,nj->ni", spread, slope)
        size = np.maximum((way * slope).sum(axis=1), 1e-12)
        coords = np.clip(begin + way * (missing / size)[:, None], low, high)
    return coords.reshape(n_items, n_targets, -1)

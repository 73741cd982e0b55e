"""Right or wrong: the logistic family, P = c + (d - c) σ(a(θ - b)), slip = 1 - d.

Engines move slope a, intercept -ab, guessing c and slip 1 - d; unlike difficulty b, the
intercept stays finite where an item discriminates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ogive.errors import InputError
from ogive.irt.models.base import FLATTEST, Beta, Coordinate, Normal
from ogive.irt.models.categorical import LOGISTIC_UNIT, Categorical, slope_of_loading
from ogive.stats.array_backend import Array, Floats, array_namespace, numbers
from ogive.stats.newton import symmetric
from ogive.stats.special_functions import log_sigmoid, logit, sigmoid_pair

# Weak and without a sign: three times the slope of a good item, so that only separation and
# constant items feel it. Intercepts of useful items lie within five.
SLOPE = Coordinate("discrimination", Normal(0, 3), low=-20.0, high=20.0, longest=1.5)
INTERCEPT = Coordinate("intercept", Normal(0, 5), longest=2.0)
# Hardly any response distinguishes guessing from a flatter curve, so its prior is worth 20 of
# them, with mode 0.2; slip likewise, with mode 0.05. Bounds keep the asymptotes in order.
GUESSING = Coordinate("guessing", Beta(5, 17), low=0.0, high=0.95, longest=0.1)
SLIP = Coordinate("slip", Beta(2, 20), low=0.0, high=0.475, longest=0.1)

PARAMETERS = ("discrimination", "difficulty", "guessing", "slip")
LEAST_UNIT = 0.05  # smallest common discrimination that does not look flat

START_LOW, START_SLIP = 0.2, 0.05  # the modes of the priors

_TINIEST = 1e-300
_MAX_LOG_ODDS = 600.0  # log-odds up to which a probability is far above the tiniest number
_TINY = 1e-8  # probability below which a division by it is cut


class Logistic(Categorical):
    """What the members of the family share; they differ in their coordinates."""

    kind: ClassVar[str] = "binary"
    n_categories: int = 2

    def log_prob(self, coords: Array, abilities: Array) -> Array:
        """Return log-probability of wrong and right, (2, n_items, n_abilities)."""
        return array_namespace(coords).stack(self._log_probs(coords, abilities))

    def slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of the log-probabilities, (width, 2, n_items, n_abilities)."""
        xp = array_namespace(coords)
        rise, fall = sigmoid_pair(coords[:, :1] * abilities + coords[:, 1:2])
        ups, downs = self._ratios(coords, rise, fall)
        pairs = [(-downs[0] * abilities, ups[0] * abilities)]
        pairs += [(-down, up) for up, down in zip(ups, downs, strict=True)]
        return xp.stack([xp.stack(pair) for pair in pairs])

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Return gradient, Fisher and observed information of the expected log-likelihood."""
        xp = array_namespace(coords)
        rise, fall = sigmoid_pair(coords[:, :1] * abilities + coords[:, 1:2])
        if self.width == 2:
            residual, weight = counts[0] - totals * rise, totals * rise * fall
            gradient = xp.stack([residual @ abilities, xp.sum(residual, axis=1)], axis=1)
            information = symmetric(
                [weight @ abilities**2, weight @ abilities, xp.sum(weight, axis=1)]
            )
            return gradient, information, information
        if self.width == 3:
            return _curvature_of_guessing(coords[:, 2:], abilities, rise, fall, counts[0], totals)
        low, slip = self._asymptotes(coords)
        ups, downs = self._ratios(coords, rise, fall)
        hits, misses = counts[0], totals - counts[0]
        gradient = [hits * up - misses * down for up, down in zip(ups, downs, strict=True)]
        pairs = [(i, k) for i in range(len(ups)) for k in range(i, len(ups))]
        expected = [totals * ups[i] * downs[k] for i, k in pairs]
        observed = [hits * ups[i] * ups[k] + misses * downs[i] * downs[k] for i, k in pairs]
        observed[0] = observed[0] - gradient[0] * (fall - rise)
        for k in range(1, len(ups)):  # how an asymptote changes the slope of the curve
            observed[k] = observed[k] + gradient[0] / (1 - slip - low)
        return (
            xp.stack(_sums(gradient, abilities), axis=1),
            symmetric(_pair_sums(expected, abilities, len(ups))),
            symmetric(_pair_sums(observed, abilities, len(ups))),
        )

    def ability_derivatives(self, coords: Array, abilities: Array) -> tuple[Array, Array, Array]:
        """Return probabilities of wrong and right with two derivatives in ability."""
        xp = array_namespace(coords)
        slope = coords[:, :1]
        rise, fall = sigmoid_pair(slope * abilities + coords[:, 1:2])
        low, slip = self._asymptotes(coords)
        span = 1 - slip - low
        right, wrong = low + span * rise, slip + span * fall
        first = span * slope * rise * fall
        second = first * slope * (fall - rise)
        return xp.stack([wrong, right]), xp.stack([-first, first]), xp.stack([-second, second])

    def information(self, coords: Array, abilities: Array) -> Array:
        """Return Fisher information on ability, (n_items, n_abilities)."""
        slope = coords[:, :1]
        rise, fall = sigmoid_pair(slope * abilities + coords[:, 1:2])
        bell = rise * fall
        if self.width == 2:
            return slope**2 * bell
        low, slip = self._asymptotes(coords)
        span = 1 - slip - low
        return (span * slope * bell) ** 2 / ((low + span * rise) * (slip + span * fall) + _TINIEST)

    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Return log-probability of a wrong response, and the log-odds."""
        xp = array_namespace(coords)
        if self.width > 2:
            wrong, right = self._log_probs(coords, abilities)
            return xp.stack([wrong, right - wrong])
        z = coords[:, :1] * abilities + coords[:, 1:2]
        return xp.stack([log_sigmoid(-z), z])

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `log_terms` in the coordinates."""
        if self.width > 2:
            return super().term_slopes(coords, abilities)
        xp = array_namespace(coords)
        rise = sigmoid_pair(coords[:, :1] * abilities + coords[:, 1:2])[0]
        one = xp.ones_like(rise)
        slopes = xp.stack([-rise * abilities, one * abilities, -rise, one])
        return xp.reshape(slopes, (2, 2, *rise.shape))

    def extent(self) -> tuple[float, float]:
        """Return wrong and right."""
        return 0.0, 1.0

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Return slope from the loading, intercept from the share of right responses."""
        xp = array_namespace(means)
        # Half a response in either direction keeps the log-odds of constant items finite.
        easiness = logit((means[0] * asked + 0.5) / (asked + 1.0))
        slope = slope_of_loading(loading)
        if self.coordinates[0].shared:
            slope = xp.full_like(slope, float(xp.mean(slope)))
        if self.width > 2:  # asymptotes flatten what is seen of the curve, and lift it
            slip = START_SLIP if self.width > 3 else 0.0
            span = 1 - START_LOW - slip
            right = (sigmoid_pair(easiness)[0] - START_LOW) / span
            easiness, slope = logit(xp.clip(right, 0.02, 0.98)), slope / span
        intercept = easiness * xp.sqrt(1 + (slope / LOGISTIC_UNIT) ** 2)
        columns = [
            slope,
            intercept,
            xp.full_like(slope, START_LOW),
            xp.full_like(slope, START_SLIP),
        ]
        return xp.stack(columns[: self.width], axis=1)

    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Move the origin of the scale to `shift` and its unit to `scale`."""
        xp = array_namespace(coords)
        slope, intercept = coords[:, :1], coords[:, 1:2]
        return xp.concat([slope * scale, intercept + slope * shift, coords[:, 2:]], axis=1)

    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Return discrimination, difficulty, guessing and slip.

        A slope within `FLATTEST` of zero is reported as that: the pair of discrimination and
        difficulty then still describes the curve, and difficulty is large, not infinite.
        """
        slope = np.where(self.flat(coords), FLATTEST, coords[:, 0])
        low, slip = (column[:, 0] + np.zeros_like(slope) for column in self._asymptotes(coords))
        return {
            "discrimination": slope,
            "difficulty": -coords[:, 1] / slope,
            "guessing": low,
            "slip": slip,
        }

    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Return coordinates of items with these public parameters."""
        slope = np.asarray(parameters["discrimination"], dtype=float)
        columns = [slope, -slope * parameters["difficulty"]]
        columns += [np.asarray(parameters[c.name], dtype=float) for c in self.coordinates[2:]]
        return np.stack(columns, axis=1)

    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """Return derivatives of the public parameters in the coordinates."""
        flat = self.flat(coords)
        slope = np.where(flat, FLATTEST, coords[:, 0])
        jacobian = {name: np.zeros(coords.shape) for name in PARAMETERS}
        jacobian["discrimination"][:, 0] = 1
        jacobian["difficulty"][:, 0] = np.where(flat, 0.0, coords[:, 1] / slope**2)
        jacobian["difficulty"][:, 1] = -1 / slope
        for k, coordinate in enumerate(self.coordinates[2:], start=2):
            jacobian[coordinate.name][:, k] = 1
        return jacobian

    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Return log-normal discrimination, normal difficulty, uniform guessing and slip."""
        sample = {
            "discrimination": np.exp(random.normal(0.2, 0.3, n_items)),
            "difficulty": random.normal(0.0, 1.0, n_items),
            "guessing": random.uniform(0.05, 0.30, n_items),
            "slip": random.uniform(0.0, 0.10, n_items),
        }
        if self.coordinates[0].shared:
            sample["discrimination"][:] = getattr(self, "discrimination", None) or 1.0
        return {name: 0 * x if name in self.fixed else x for name, x in sample.items()}

    @property
    def fixed(self) -> tuple[str, ...]:
        """Asymptotes that the model does not move."""
        moved = {coordinate.name for coordinate in self.coordinates}
        return tuple(name for name in ("guessing", "slip") if name not in moved)

    def _log_probs(self, coords: Array, abilities: Array) -> tuple[Array, Array]:
        """Return log-probability of wrong, and of right."""
        xp = array_namespace(coords)
        z = coords[:, :1] * abilities + coords[:, 1:2]
        if self.width == 2:
            right = log_sigmoid(z)
            return right - z, right
        rise, fall = sigmoid_pair(z)
        low, slip = self._asymptotes(coords)
        span = 1 - slip - low
        right = xp.log(low + span * rise + _TINIEST)
        wrong = xp.log(slip + span * fall + _TINIEST)
        if _in_range(coords, abilities):
            return wrong, right
        right = xp.where(low > 0, right, xp.log1p(-slip) + log_sigmoid(z))
        wrong = xp.where(slip > 0, wrong, xp.log1p(-low) + log_sigmoid(-z))
        return wrong, right

    def _ratios(self, coords: Array, rise: Array, fall: Array) -> tuple[list[Array], list[Array]]:
        """Return derivatives of P in z = aθ - ab, guessing and slip, over P and over 1 - P.

        Most are ratios of numbers that vanish together, exact far in the tails; the others are cut
        if a response is all but impossible.
        """
        xp = array_namespace(coords)
        low, slip = self._asymptotes(coords)
        span = 1 - slip - low
        right, wrong = low + span * rise + _TINIEST, slip + span * fall + _TINIEST
        bell = span * rise * fall
        ups = [bell / right, fall / xp.clip(right, _TINY, None), -rise / right]
        downs = [bell / wrong, fall / wrong, -rise / xp.clip(wrong, _TINY, None)]
        return ups[: self.width - 1], downs[: self.width - 1]

    def _asymptotes(self, coords: Array) -> tuple[Array, Array]:
        """Return guessing and slip as columns; zero where the model has none."""
        low = coords[:, 2:3] if self.width > 2 else numbers([0.0], coords)[:, None]
        slip = coords[:, 3:4] if self.width > 3 else numbers([0.0], coords)[:, None]
        return low, slip


@dataclass(frozen=True, kw_only=True)
class OnePL(Logistic):
    """One discrimination for all items.

    With `discrimination` given, it is that number, and the standard deviation of the population is
    estimated in its place: with 1 the Rasch model, the same curves in another unit.

    Rasch (1960), Birnbaum (1968). Items have a discrimination, the same for all, and a difficulty.

    >>> import ogive as og
    >>> drawn = og.simulate("1pl", 200, 10, random_state=0).responses
    >>> og.calibrate(drawn, og.OnePL(discrimination=1)).items["discrimination"].unique().tolist()
    [1.0]
    """

    name: ClassVar[str] = "1pl"
    linear: ClassVar[bool] = True
    coordinates: tuple[Coordinate, ...] = (replace(SLOPE, shared=True), INTERCEPT)
    discrimination: float | None = None

    def __post_init__(self) -> None:
        given = self.discrimination
        if given is None:
            return
        if isinstance(given, bool | str) or not LEAST_UNIT <= given <= SLOPE.high:
            raise InputError(
                f"`discrimination` must be a number from {LEAST_UNIT} to {SLOPE.high:g}, such as 1 "
                f"for the Rasch model, got {given!r}."
            )

    def reported(self, coords: Floats) -> tuple[Floats, float]:
        """Return items on the scale of the given discrimination, and the population's sd on it."""
        if self.discrimination is None or coords[0, 0] == 0:
            return coords, 1.0
        unit = abs(float(coords[0, 0])) / self.discrimination
        given = np.copysign(self.discrimination, coords[:, :1])  # exact, because not computed
        return np.concatenate([given, coords[:, 1:]], axis=1), unit


@dataclass(frozen=True, kw_only=True)
class TwoPL(Logistic):
    """Discrimination and difficulty.

    Birnbaum (1968). `coordinates` say the prior and the limits of each.

    >>> import ogive as og
    >>> drawn = og.simulate(og.TwoPL(), 200, 10, random_state=0).responses
    >>> og.calibrate(drawn, og.TwoPL()).items.columns[:2].tolist()
    ['discrimination', 'difficulty']
    """

    name: ClassVar[str] = "2pl"
    linear: ClassVar[bool] = True
    coordinates: tuple[Coordinate, ...] = (SLOPE, INTERCEPT)


@dataclass(frozen=True, kw_only=True)
class ThreePL(Logistic):
    """Discrimination, difficulty and guessing.

    Birnbaum (1968). A guessing of 0.25 suits items with four options.

    >>> import ogive as og
    >>> drawn = og.simulate("3pl", 200, 10, random_state=0).responses
    >>> og.calibrate(drawn, og.ThreePL()).items.columns[:3].tolist()
    ['discrimination', 'difficulty', 'guessing']
    """

    name: ClassVar[str] = "3pl"
    coordinates: tuple[Coordinate, ...] = (SLOPE, INTERCEPT, GUESSING)


@dataclass(frozen=True, kw_only=True)
class FourPL(Logistic):
    """Discrimination, difficulty, guessing and slip.

    Barton and Lord (1981). Slip is how often the able err nevertheless.

    >>> import ogive as og
    >>> drawn = og.simulate("4pl", 200, 10, random_state=0).responses
    >>> og.calibrate(drawn, og.FourPL()).items.columns[:4].tolist()
    ['discrimination', 'difficulty', 'guessing', 'slip']
    """

    name: ClassVar[str] = "4pl"
    coordinates: tuple[Coordinate, ...] = (SLOPE, INTERCEPT, replace(GUESSING, high=0.475), SLIP)


def _curvature_of_guessing(
    low: Array, abilities: Array, rise: Array, fall: Array, hits: Array, totals: Array
) -> tuple[Array, Array, Array]:
    """Return `Logistic.curvature` with guessing and without slip, where ratios simplify.

    With r = (1 - σ) / P, the derivatives of P over P are (1 - c) σ r and r, and over 1 - P they
    are σ and 1 / (1 - c).
    """
    xp = array_namespace(low)
    span = 1 - low
    right = low + span * rise + _TINIEST
    ratio = fall / xp.clip(right, _TINY, None)
    up = span * rise * (fall / right)
    hit, miss, weight = hits * up, (totals - hits) * rise, totals * up
    powers = xp.stack([abilities**2, abilities, xp.ones_like(abilities)], axis=1)
    own = span[:, 0]
    n_missed = xp.sum(totals, axis=1) - xp.sum(hits, axis=1)
    guessed = hits * ratio
    by_line = (hit - miss) @ powers[:, 1:]
    by_guessing = xp.sum(guessed, axis=1) - n_missed / own
    gradient = xp.concat([by_line, by_guessing[:, None]], axis=1)
    expected = _three_by_three(
        (weight * rise) @ powers,
        weight @ powers[:, 1:] / span,
        xp.sum(totals * ratio, axis=1) / own,
    )
    observed = _three_by_three(
        (hit * (up + rise - fall) + miss * fall) @ powers,
        (hit * (ratio + 1 / span)) @ powers[:, 1:],
        xp.sum(guessed * ratio, axis=1) + n_missed / own**2,
    )
    return gradient, expected, observed


def _three_by_three(line: Array, mixed: Array, third: Array) -> Array:
    """Return matrices of slope, intercept and a third coordinate, from powers of ability."""
    return symmetric([line[:, 0], line[:, 1], mixed[:, 0], line[:, 2], mixed[:, 1], third])


def _in_range(coords: Array, abilities: Array) -> bool:
    """Return True if no log-odds are so large that a probability underflows."""
    if not isinstance(coords, np.ndarray):  # would make the CPU wait for a GPU
        return False
    if not (coords.size and abilities.size):
        return True
    slope, intercept = np.abs(coords[:, :2]).max(axis=0)
    return bool(slope * np.abs(abilities).max() + intercept < _MAX_LOG_ODDS)


def _sums(terms: list[Array], abilities: Array) -> list[Array]:
    """Return sums over nodes of a gradient whose first term is that of slope and intercept."""
    xp = array_namespace(abilities)
    return [terms[0] @ abilities, *(xp.sum(term, axis=1) for term in terms)]


def _pair_sums(terms: list[Array], abilities: Array, n: int) -> list[Array]:
    """Return `_sums` for the upper triangle of a matrix, row by row."""
    xp = array_namespace(abilities)
    first, rest = terms[:n], terms[n:]
    of_slope = [first[0] @ abilities**2, *(term @ abilities for term in first)]
    return [*of_slope, *(xp.sum(term, axis=1) for term in [*first, *rest])]

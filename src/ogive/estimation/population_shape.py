"""The shape of the population: a smooth histogram of abilities (Silverman, 1982).

The log-density is penalised for its third derivative, so that the smoothest shape of all is a
normal distribution, and bumps must be earned by the responses.

Mean 0 and standard deviation 1 are held while the shape is found, not restored afterwards: a
wider histogram is smoother, so that a shape that is free to grow, and then shrunk, and items that
follow it chase each other without end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from ogive.calibration import KnownCovariances
from ogive.estimation.fits import Expectation
from ogive.estimation.maximization import tangents
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Array, Floats, Run, array_namespace, as_numpy, like
from ogive.numerics.newton import Anderson, positive_inverse
from ogive.responses.encoding import Encoded, Work
from ogive.scoring.posterior import HistogramPopulation, Nodes, Population, Posterior

POINTS = 49
# Less is never known of the mean and of the log standard deviation, not even where items that tell
# nothing of abilities leave them open.
LEAST_KNOWN = np.diag([1 / 5**2, 1.0])
REACH = 6.0
SMOOTHING = 0.02  # nats for a squared third derivative of one, over one unit of ability
# The same for a second derivative that differs by one from that of the normal: where responses
# tell nothing, the density falls as the normal does. It grows outwards, where respondents are few:
# a tail and the one respondent who stands in it would carry each other ever farther out.
PULLING = 0.2
FAR = 1.5  # distance from the middle at which pulling is twice as strong
MOST_TURNS = 50
ENOUGH = 1e-8  # nats that another turn promises, at which a shape is found
LEAST_MASS = 1e-250


@dataclass(frozen=True, eq=False)
class Density:
    """A population as a histogram, and what its roughness costs in nats.

    Where it is `standard`, its mean is 0 and its standard deviation 1.
    """

    population: HistogramPopulation
    standard: bool

    @classmethod
    def of(cls, population: Population, *, standard: bool) -> Self:
        """A histogram of that shape."""
        points = np.linspace(*population.reach(REACH), POINTS)
        return cls(_histogram(points, population.log_density(points)), standard)

    @cached_property
    def roughness(self) -> float:
        """What the penalty takes from the log-likelihood."""
        return _Climb(self.population.points, standard=self.standard).cost(
            np.log(self.population.mass)
        )

    def fitted(self, nodes: Nodes, found: Expectation, mixing: Anderson) -> Density:
        """The shape that posterior masses ask for.

        EM creeps; `mixing` makes longer steps of some short ones.
        """
        assert found.mass is not None  # noqa: S101 - only the normal way has none
        here = self._wide_enough(nodes)
        if here.population.points.size > self.population.points.size:
            mixing.forget()
        points = here.population.points
        inside = (nodes.fine >= points[0]) & (nodes.fine <= points[-1])
        basis = _basis(points, nodes.fine[inside])
        before = np.log(here.population.mass)
        climb = _Climb(points, standard=self.standard)
        ahead = climb.to_top(before, basis, found.mass[inside])
        ahead += float(here.population.mass @ (before - ahead))
        log_mass = mixing.advance(before, ahead - before, here.population.mass)
        return Density(_histogram(points, climb.standing(log_mass)), self.standard)

    def _wide_enough(self, nodes: Nodes) -> Density:
        """The same shape with points wherever respondents may stand."""
        points = self.population.points
        step = points[1] - points[0]
        more = [
            max(0, int(np.ceil((points[0] - nodes.fine[0]) / step - 1e-6))),
            max(0, int(np.ceil((nodes.fine[-1] - points[-1]) / step - 1e-6))),
        ]
        if not any(more):
            return self
        wider = points[0] + step * np.arange(-more[0], points.size + more[1])
        return Density(_histogram(wider, self.population.log_density(wider)), self.standard)


def with_unknown_shape(
    errors: KnownCovariances,
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    known: Expectation,
) -> KnownCovariances:
    """The errors of items, and what a shape adds to them that was found, not known.

    With a shape that is known, every respondent near an edge of it tells where the scale lies.
    With one that is found, origin and unit are mean and standard deviation of respondents alone.
    """

    def posterior_on(part: Encoded) -> Posterior:
        here = like(coords, part.weights)
        return Posterior(model.log_terms(here, like(nodes.coarse, here)), nodes)

    found = covariance_of_moments(data, posterior_on, nodes)
    found = positive_inverse(positive_inverse(found) + LEAST_KNOWN)
    values, vectors = np.linalg.eigh(found - positive_inverse(known.scale))
    ways = as_numpy(tangents(model, coords))
    added = np.einsum("lk,lni->kni", vectors * np.sqrt(np.maximum(values, 0.0)), ways)
    return KnownCovariances(
        errors.covariances + np.einsum("kni,knj->nij", added, added),
        np.concatenate([errors.shared, added]),
    )


def covariance_of_moments(
    data: Encoded, posterior_on: Callable[[Encoded], Posterior], nodes: Nodes
) -> Floats:
    """Covariance of the mean and the log standard deviation of abilities, (2, 2).

    A density tilted by ability and its square changes both; how surely the tilt is known follows
    from what each respondent's responses tell of ability and its square.
    """

    def over(part: Encoded, run: Run) -> Work:
        del run
        posterior_of = posterior_on(part)
        points = posterior_of.abilities
        moments = array_namespace(points).stack([points, 0.5 * (points**2 - 1)], axis=1)

        def pass_over(rows: slice) -> tuple[Array, Array, Array]:
            posterior, _ = posterior_of(part.block(rows))
            weights = part.counted(rows)
            seen, mass = posterior @ moments, weights @ posterior
            return (seen.T * weights) @ seen, (moments.T * mass) @ moments, mass @ moments

        return pass_over

    told, spread, mean = map(as_numpy, data.gather(map, over, width=nodes.fine.size))
    n = data.n_respondents
    centre = np.outer(mean, mean) / n
    change = (spread - centre) / n  # of mean and log unit, by a unit of the tilt
    found: Floats = change @ positive_inverse(told - centre) @ change
    return found


def _histogram(points: Floats, log_mass: Floats) -> HistogramPopulation:
    mass = np.exp(np.maximum(log_mass - log_mass.max(), -600.0))
    mass = np.maximum(mass / mass.sum(), LEAST_MASS)
    return HistogramPopulation(points, mass / mass.sum())


class _Climb:
    """The way to the best log-masses at `points`, on which posterior masses are expected."""

    def __init__(self, points: Floats, *, standard: bool) -> None:
        self._points, self._standard = points, standard
        self._moments = np.stack([points, points**2])
        self._bend, self._pull = _roughness(points)

    def cost(self, x: Floats) -> float:
        """What the roughness of log-masses costs."""
        return 0.5 * float(x @ self._bend @ x) - float(self._pull @ x)

    def standing(self, x: Floats) -> Floats:
        """Log-masses tilted to mean 0 and standard deviation 1, where they shall have them."""
        if not self._standard:
            return x
        for _ in range(MOST_TURNS):
            mass = _shares(x)
            off = self._moments @ mass - (0.0, 1.0)
            if np.abs(off).max() < 1e-12:
                break
            spread = (self._moments * mass) @ self._moments.T - np.outer(
                self._moments @ mass, self._moments @ mass
            )
            tilt = np.linalg.solve(spread, off)
            x = x - np.clip(tilt, -0.5, 0.5) @ self._moments
        return x

    def to_top(self, x: Floats, basis: Floats, seen: Floats) -> Floats:
        """Newton on Σ seen x log-density less the roughness, from log-masses `x`."""
        total = float(seen.sum())

        def value(x: Floats) -> float:
            height = basis @ x
            top = height.max()
            norm = top + np.log(np.exp(height - top).sum())
            return float(seen @ height) - total * float(norm) - self.cost(x)

        x = self.standing(x)
        here = value(x)
        for _ in range(MOST_TURNS):
            prob = _shares(basis @ x)
            gradient = basis.T @ (seen - total * prob) - self._bend @ x + self._pull
            mean = basis.T @ prob
            information = total * ((basis.T * prob) @ basis - np.outer(mean, mean)) + self._bend
            step = self._step(x, gradient, information)
            length, promise = 1.0, 0.5 * float(gradient @ step)
            ahead = self.standing(x + step)
            while (reached := value(ahead)) < here and length > 1e-4:
                length /= 2
                ahead = self.standing(x + length * step)
            if reached < here:
                break
            x, here = ahead, reached
            if promise < ENOUGH:
                break
        return x

    def _step(self, x: Floats, gradient: Floats, information: Floats) -> Floats:
        """A Newton step that leaves mean and standard deviation as they are, where it shall."""
        n = x.size
        # Masses do not change when a constant is added to all log-masses.
        known = information + 1e-9 * np.trace(information) / n * np.eye(n)
        solved = np.linalg.solve(known, np.column_stack([gradient, self._normals(x).T]))
        step, ways = solved[:, 0], solved[:, 1:]
        if self._standard:
            normals = self._normals(x)
            step = step - ways @ np.linalg.solve(normals @ ways, normals @ step)
        found: Floats = step
        return found

    def _normals(self, x: Floats) -> Floats:
        """How mean and mean square change with the log-masses, (2, n_points)."""
        mass = _shares(x)
        found: Floats = (self._moments - (self._moments @ mass)[:, None]) * mass
        return found


def _shares(log_mass: Floats) -> Floats:
    """Masses that sum to one."""
    mass = np.exp(log_mass - log_mass.max())
    found: Floats = mass / mass.sum()
    return found


def _basis(points: Floats, places: Floats) -> Floats:
    """What a spline through values at `points` is at `places`, (n_places, n_points)."""
    from scipy.interpolate import CubicSpline

    found: Floats = CubicSpline(points, np.eye(points.size), bc_type="natural")(places)
    return found


def _roughness(points: Floats) -> tuple[Floats, Floats]:
    """The penalty on the log-masses x, as a form and a vector: ½ x form x - vector x."""
    step = points[1] - points[0]
    third = np.diff(np.eye(points.size), 3, axis=0) / step**3
    second = np.diff(np.eye(points.size), 2, axis=0) / step**2
    stiff = PULLING * (1 + (points[1:-1] / FAR) ** 4)
    form = step * (SMOOTHING * third.T @ third + (second.T * stiff) @ second)
    return form, -step * stiff @ second

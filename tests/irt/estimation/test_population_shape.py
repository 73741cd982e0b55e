"""The shape of a population, part by part: by definition and by a general optimiser."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive.irt.estimation.empirical_bayes import (
    Density,
    _basis,
    _Climb,
    _histogram,
    _roughness,
    _shares,
    covariance_of_moments,
)
from ogive.irt.quadrature import HistogramPopulation, Nodes, NormalPopulation
from ogive.stats.array_backend import fold
from ogive.stats.newton import Anderson

POINTS = np.linspace(-6, 6, 49)


def cost(x, points=POINTS):
    """Of log-masses, from its definition: what is rough, and what does not bend as the normal."""
    step = points[1] - points[0]
    third = np.diff(x, 3) / step**3
    bend = np.diff(x, 2) / step**2 + 1  # that of the standard normal is -1
    strength = 0.2 * (1 + (points[1:-1] / 1.5) ** 4)
    constant = 0.5 * step * strength.sum()
    return step * (0.02 * third @ third + strength @ bend**2) / 2 - constant


def test_the_penalty_is_none_for_the_normal_and_that_of_its_definition_elsewhere():
    form, vector = _roughness(POINTS)
    climb = _Climb(POINTS, standard=True)
    for x in (-0.5 * POINTS**2, np.sin(POINTS) - 0.3 * POINTS**2, np.zeros(49)):
        assert climb.cost(x) == pytest.approx(cost(x), rel=1e-9)
        assert 0.5 * x @ form @ x - vector @ x == pytest.approx(cost(x), rel=1e-9)
    lowest = cost(-0.5 * POINTS**2)
    assert cost(-0.45 * POINTS**2) > lowest
    assert Density.of(NormalPopulation(), standard=True).roughness == pytest.approx(lowest)


def test_log_masses_are_tilted_to_mean_zero_and_deviation_one():
    x = -0.5 * (POINTS - 0.8) ** 2 / 1.5 + 0.2 * np.sin(2 * POINTS)
    mass = _shares(_Climb(POINTS, standard=True).standing(x))
    assert mass.sum() == pytest.approx(1.0)
    assert mass @ POINTS == pytest.approx(0.0, abs=1e-11)
    assert mass @ POINTS**2 == pytest.approx(1.0, abs=1e-11)
    tilt = np.log(mass) - x
    np.testing.assert_allclose(np.diff(tilt, 3), 0.0, atol=1e-9)  # by a line and a parabola alone
    assert _Climb(POINTS, standard=False).standing(x) is x


def test_the_best_shape_is_that_of_a_general_optimiser():
    points = np.linspace(-3, 3, 13)
    places = np.linspace(-3, 3, 31)
    basis = _basis(points, places)
    seen = 40 * np.exp(-0.5 * (places + 0.7) ** 2) + 25 * np.exp(-3 * (places - 1.2) ** 2)
    climb = _Climb(points, standard=False)

    def loss(x):
        height = basis @ x
        return -(seen @ height - seen.sum() * np.log(np.exp(height).sum()) - climb.cost(x))

    found = climb.to_top(-0.5 * points**2, basis, seen)
    best = minimize(loss, -0.5 * points**2, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    assert loss(found) == pytest.approx(best.fun, abs=1e-5)
    np.testing.assert_allclose(_shares(found), _shares(best.x), atol=1e-4)
    held = _Climb(points, standard=True)
    inside = held.to_top(-0.5 * points**2, basis, seen)
    mass = _shares(inside)
    assert (mass @ points, mass @ points**2) == pytest.approx((0.0, 1.0), abs=1e-9)
    # No way that keeps mean and deviation leads higher.
    for seed in range(6):
        away = 0.02 * np.random.default_rng(seed).normal(size=13)
        assert loss(held.standing(inside + away)) >= loss(inside) - 1e-6


def test_masses_sum_to_one_and_are_never_nothing():
    found = _histogram(POINTS, -50.0 * POINTS**2)
    assert found.mass.sum() == pytest.approx(1.0)
    assert found.mass.min() == pytest.approx(1e-250)
    x = np.sin(POINTS)
    np.testing.assert_allclose(_histogram(POINTS, x + 7).mass, np.exp(x) / np.exp(x).sum())


def test_a_histogram_grows_points_wherever_nodes_lie():
    density = Density.of(NormalPopulation(), standard=True)
    step = 12 / 48
    assert density.population.points.size == 49
    for low, high, size in ((-6.0, 6.0, 49), (-6.1, 6.0, 50), (-6.0, 6.0 + 2.5 * step, 52)):
        nodes = SimpleNamespace(fine=np.linspace(low, high, 61))
        wider = density._wide_enough(nodes).population
        assert wider.points.size == size
        np.testing.assert_allclose(np.diff(wider.points), step)
        assert wider.points[0] <= low + 1e-9
        assert wider.points[-1] >= high - 1e-9
    assert density._wide_enough(SimpleNamespace(fine=np.linspace(-5, 5, 9))) is density


def test_posterior_masses_of_a_normal_pool_ask_for_a_normal_shape():
    fine = np.linspace(-6, 6, 121)
    mass = np.exp(-0.5 * fine**2)
    nodes = Nodes(fine, fine, np.zeros(121))
    found = SimpleNamespace(mass=500 * mass / mass.sum())
    density = Density.of(NormalPopulation(), standard=True)
    after = density.fitted(nodes, found, Anderson()).population
    np.testing.assert_allclose(after.mass, density.population.mass, atol=1e-6)
    humps = np.exp(-4 * (fine - 0.87) ** 2) + np.exp(-4 * (fine + 0.87) ** 2)
    found = SimpleNamespace(mass=500 * humps / humps.sum())
    flat = density.fitted(nodes, found, Anderson()).population
    assert flat.mass[24] < 0.8 * flat.mass[[20, 28]].min()  # a dip in the middle
    assert (flat.mean, flat.sd) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_the_covariance_of_mean_and_deviation_is_that_of_a_sample_where_abilities_are_seen():
    """Then the mean has variance s² / n, and the log deviation that of its influence."""
    points = np.linspace(-4, 4, 81)
    places = np.random.default_rng(0).integers(20, 61, 50)
    weights = np.random.default_rng(1).integers(1, 4, 50).astype(float)
    seen = np.eye(81)[places]
    data = SimpleNamespace(
        block=lambda rows: seen[rows],
        weights=weights,
        counted=lambda rows: weights[rows],
        n_respondents=weights.sum(),
        gather=lambda run, over, width: fold(run, [slice(0, 20), slice(20, 50)], over(data, run)),
    )

    class Seen:
        abilities = points

        def __call__(self, block):
            return block, None

    found = covariance_of_moments(data, lambda part: Seen(), SimpleNamespace(fine=points))
    x = np.stack([points[places], 0.5 * (points[places] ** 2 - 1)])
    n = weights.sum()
    np.testing.assert_allclose(found, np.cov(x, bias=True, fweights=weights.astype(int)) / n)


def test_a_shape_of_a_histogram_is_itself():
    mass = np.exp(-0.5 * POINTS**2) * (1.2 + np.tanh(POINTS))
    given = HistogramPopulation(POINTS, mass / mass.sum())
    kept = Density.of(given, standard=False).population
    assert (kept.mean, kept.sd) == pytest.approx((given.mean, given.sd), abs=1e-5)

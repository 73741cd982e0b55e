"""Where respondents come from: normal and free shapes, against differences and integrals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from itemwise.errors import InputError
from itemwise.scoring import HistogramPopulation, NormalPopulation
from itemwise.scoring.posterior import scale_scores

POINTS = np.linspace(-6, 6, 61)
FINE = np.linspace(-12, 12, 24_001)


def histogram(density, points=POINTS):
    mass = density(points)
    return HistogramPopulation(points, mass / mass.sum())


def two_humps(x):
    return 0.35 * norm.pdf(x, -1.6, 0.7) + 0.65 * norm.pdf(x, 0.8, 0.9)


POPULATIONS = {
    "standard": NormalPopulation(),
    "normal": NormalPopulation(0.7, 1.8),
    "histogram": histogram(two_humps),
    "skewed": histogram(lambda x: norm.pdf(x) * norm.cdf(2 * x + 1)),
}


@pytest.fixture(params=POPULATIONS.values(), ids=POPULATIONS)
def population(request):
    return request.param


def test_the_density_integrates_to_one_with_the_mean_and_deviation_that_are_said(population):
    density = np.exp(population.log_density(FINE))
    # Masses at points a fifth apart sum such shapes to 1e-5.
    assert np.trapezoid(density, FINE) == pytest.approx(1.0, abs=1e-5)
    mean = np.trapezoid(density * FINE, FINE)
    assert mean == pytest.approx(population.mean, abs=1e-5)
    spread = np.trapezoid(density * (FINE - mean) ** 2, FINE)
    assert np.sqrt(spread) == pytest.approx(population.sd, abs=1e-5)


def test_slope_and_curvature_agree_with_differences(population):
    x, nudge = np.linspace(-9.03, 9.03, 75), 1e-5  # inside and beyond the points of a histogram
    first = (population.log_density(x + nudge) - population.log_density(x - nudge)) / (2 * nudge)
    second = (population.slope(x + nudge) - population.slope(x - nudge)) / (2 * nudge)
    np.testing.assert_allclose(population.slope(x), first, rtol=1e-6, atol=1e-8)
    # A cubic spline bends evenly between points, which differences across one do not see.
    np.testing.assert_allclose(population.curvature(x), -second, rtol=1e-5, atol=1e-4)


def test_the_ends_of_the_scale_are_so_many_deviations_away(population):
    for deviations in (1.0, 6.0, 10.0):
        low, high = population.reach(deviations)
        assert (low + high) / 2 == pytest.approx(population.mean)
        assert (high - low) / 2 == pytest.approx(deviations * population.sd)
    assert population.reach() == population.reach(6.0)


@settings(deadline=None, max_examples=40)
@pytest.mark.parametrize("name", POPULATIONS)
@given(shift=st.floats(-3, 3), scale=st.one_of(st.floats(-4, -0.2), st.floats(0.2, 4)))
def test_a_moved_population_is_that_of_the_moved_abilities(name, shift, scale):
    population = POPULATIONS[name]
    moved = population.moved(shift, scale)
    x = np.linspace(-8, 8, 41)
    expected = population.log_density(x) + np.log(abs(scale))
    np.testing.assert_allclose(
        moved.log_density((x - shift) / scale), expected, rtol=1e-9, atol=1e-9
    )
    assert moved.mean == pytest.approx((population.mean - shift) / scale, abs=1e-12)
    assert moved.sd == pytest.approx(population.sd / abs(scale))


def test_scores_of_origin_and_unit_agree_with_differences(population):
    """Of log p((x - mean - o sd) / exp(u) + mean) - u, at o = u = 0."""
    x, nudge = np.linspace(-5.03, 5.03, 41), 1e-4

    def log_density(origin, unit):
        apart = (x - population.mean - origin * population.sd) / np.exp(unit)
        return population.log_density(apart + population.mean) - unit

    scores, curvature = scale_scores(population, x)
    here, h = log_density(0, 0), nudge
    by_origin, by_unit = (
        (log_density(a, b) - log_density(-a, -b)) / (2 * h) for a, b in ((h, 0), (0, h))
    )
    np.testing.assert_allclose(scores, np.stack([by_origin, by_unit], axis=1), atol=1e-5)
    twice = [
        (log_density(a, b) - 2 * here + log_density(-a, -b)) / h**2 for a, b in ((h, 0), (0, h))
    ]
    both = (log_density(h, h) - log_density(h, -h) - log_density(-h, h) + log_density(-h, -h)) / (
        4 * h**2
    )
    expected = -np.stack([twice[0], both, twice[1]], axis=1)
    # Across a knot of the spline, whose third derivative jumps, differences of 1e-4 miss as much.
    np.testing.assert_allclose(curvature, expected, rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (0.6, 0.8)])
def test_a_histogram_of_a_normal_shape_is_the_normal_population(mean, sd):
    points = mean + sd * POINTS
    found = histogram(lambda x: norm.pdf(x, mean, sd), points)
    plain = NormalPopulation(mean, sd)
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert found.sd == pytest.approx(sd, rel=1e-6)  # six deviations hold the rest
    x = mean + sd * np.linspace(-4, 4, 81)
    # The spline is straight at its ends; twenty points inside, nothing of that is left.
    np.testing.assert_allclose(found.log_density(x), plain.log_density(x), atol=1e-7)
    np.testing.assert_allclose(found.slope(x), plain.slope(x), atol=1e-5)
    np.testing.assert_allclose(found.curvature(x), plain.curvature(x), atol=1e-3)


def test_a_histogram_keeps_its_masses_at_its_points():
    found = POPULATIONS["histogram"]
    np.testing.assert_allclose(np.exp(found.log_density(POINTS)) * 0.2, found.mass, rtol=1e-12)
    assert found.mean == pytest.approx(found.mass @ POINTS)
    assert found.sd == pytest.approx(np.sqrt(found.mass @ (POINTS - found.mean) ** 2))


def test_beyond_its_points_a_histogram_falls_as_a_normal_density():
    found = POPULATIONS["histogram"]
    for end, sign in ((6.0, 1.0), (-6.0, -1.0)):
        beyond = sign * np.array([0.0, 0.5, 2.0, 50.0])
        value, slope = found.log_density(np.array([end]))[0], found.slope(np.array([end]))[0]
        expected = value + slope * beyond - 0.5 * (beyond / found.sd) ** 2
        np.testing.assert_allclose(found.log_density(end + beyond), expected, rtol=1e-12)


def uneven():
    points = POINTS.copy()
    points[30] += 0.05
    return points


@pytest.mark.parametrize(
    "points",
    [POINTS[:7], POINTS[::-1], np.zeros(61), uneven(), np.full(61, np.nan), POINTS.reshape(1, -1)],
    ids=["few", "descending", "equal", "uneven", "nan", "flat table"],
)
def test_points_that_are_no_even_ladder_are_refused(points):
    with pytest.raises(InputError, match=r"at least 8 ascending, equally spaced points"):
        HistogramPopulation(points, np.full(points.size, 1 / points.size).reshape(points.shape))


@pytest.mark.parametrize(
    "mass",
    [np.full(61, 1 / 60), np.full(60, 1 / 60), np.r_[0.0, np.full(60, 1 / 60)],
     np.r_[-1 / 59, np.full(60, 1 / 59)], np.full(61, np.nan)],
    ids=["sum", "size", "zero", "negative", "nan"],
)  # fmt: skip
def test_masses_must_be_positive_and_sum_to_one(mass):
    with pytest.raises(InputError, match=r"positive mass at each point; they sum to 1"):
        HistogramPopulation(POINTS, mass)

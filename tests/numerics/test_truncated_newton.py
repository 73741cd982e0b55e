"""Newton's method within a trust region, against dense solutions."""

import numpy as np

from itemwise.numerics.newton import truncated_newton

RANDOM = np.random.default_rng(0)
ROOT = RANDOM.normal(size=(12, 12))
BEND, GRADIENT = ROOT @ ROOT.T + np.eye(12), RANDOM.normal(size=12)
METRIC = RANDOM.uniform(0.5, 2.0, 12)


def climb(bend, radius, forcing=1e-10):
    return truncated_newton(
        GRADIENT,
        lambda v: bend @ v,
        lambda v: v / METRIC,
        radius,
        forcing=forcing,
        most=200,
    )


def test_inside_the_region_it_is_newtons_step():
    found, wanted = climb(BEND, 100.0), np.linalg.solve(BEND, GRADIENT)
    np.testing.assert_allclose(found.step, wanted, rtol=1e-6)
    assert found.inside
    np.testing.assert_allclose(found.gain, 0.5 * GRADIENT @ wanted)
    np.testing.assert_allclose(found.length, np.sqrt(METRIC @ found.step**2))


def test_it_ends_at_the_edge_of_the_region_and_still_gains():
    found = climb(BEND, 0.1)
    assert not found.inside
    np.testing.assert_allclose(METRIC @ found.step**2, 0.1**2)
    assert found.gain > 0


def test_where_the_surface_bends_upwards_it_goes_to_the_edge():
    vector = np.linalg.eigh(BEND)[1][:, 0]
    found = climb(BEND - 5 * BEND.trace() * np.outer(vector, vector), 3.0)
    assert not found.inside
    np.testing.assert_allclose(METRIC @ found.step**2, 9.0)
    assert abs(vector @ found.step) > 0.5


def test_without_a_slope_there_is_no_step():
    found = truncated_newton(0 * GRADIENT, lambda v: v, lambda v: v, 1.0, forcing=0.1, most=5)
    assert found.inside
    assert not found.step.any()

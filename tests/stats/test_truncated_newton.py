"""Newton's method within a trust region, against dense solutions."""

import numpy as np
import pytest

from ogive.stats.newton import truncated_newton

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


def steihaug(bend, radius):
    """The same path in plain steps: conjugate gradients until the edge, found by its roots."""
    step, left = np.zeros(12), GRADIENT.copy()
    way = left / METRIC
    for _ in range(200):
        curve = way @ bend @ way
        size = left @ (left / METRIC) / curve
        ahead = step + size * way
        if curve <= 0 or METRIC @ ahead**2 >= radius**2:
            square = [METRIC @ way**2, 2 * METRIC @ (way * step), METRIC @ step**2 - radius**2]
            return step + max(np.roots(square)) * way
        new = left - size * bend @ way
        if np.sqrt(new @ (new / METRIC)) <= 1e-10 * np.sqrt(GRADIENT @ (GRADIENT / METRIC)):
            return ahead
        way = new / METRIC + new @ (new / METRIC) / (left @ (left / METRIC)) * way
        step, left = ahead, new
    raise AssertionError


def test_the_step_is_where_the_path_of_conjugate_gradients_leaves_the_region(subtests):
    whole = np.sqrt(METRIC @ np.linalg.solve(BEND, GRADIENT) ** 2)
    downwards = BEND - 8.0 * np.eye(12)
    for share, bend in ((0.2, BEND), (0.5, BEND), (0.8, BEND), (0.97, BEND), (0.6, downwards)):
        with subtests.test(share=share):
            found = climb(bend, share * whole)
            wanted = steihaug(bend, share * whole)
            np.testing.assert_allclose(found.step, wanted, rtol=1e-8, atol=1e-10)
            assert found.length == pytest.approx(share * whole)
            gain = GRADIENT @ wanted - 0.5 * wanted @ bend @ wanted
            assert found.gain == pytest.approx(gain)
            assert not found.inside


def test_it_ends_when_the_gradient_has_fallen_enough_or_after_as_many_products_as_allowed():
    calls = []

    def times(v):
        calls.append(1)
        return BEND @ v

    def count(forcing, most):
        calls.clear()
        found = truncated_newton(
            GRADIENT, times, lambda v: v / METRIC, 1e6, forcing=forcing, most=most
        )
        left = GRADIENT - BEND @ found.step
        return len(calls), np.sqrt(left @ (left / METRIC)), found.inside

    first = np.sqrt(GRADIENT @ (GRADIENT / METRIC))
    turns, left, inside = count(0.1, 200)
    assert inside
    assert left <= 0.1 * first
    assert count(0.1, turns - 1)[1] > 0.1 * first
    assert count(0.1, 3)[0] == 3
    assert not count(0.1, 3)[2]

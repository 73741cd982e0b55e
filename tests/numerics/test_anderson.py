import numpy as np
import pytest

from itemwise.numerics.anderson import Anderson

RATES = np.array([0.99, 0.9, 0.5, -0.3])
TARGET = np.array([3.0, -1.0, 0.5, 10.0])


def plain_step(x):
    """A linear map that leaves `RATES` of the error in each coordinate."""
    return (RATES - 1) * (x - TARGET)


def iterate(anderson, turns, metric=1.0):
    x = np.zeros(4)
    for _ in range(turns):
        x = anderson.advance(x, plain_step(x), metric + np.zeros(4))
    return np.abs(x - TARGET).max()


def test_a_linear_problem_is_solved_in_twice_as_many_steps_as_it_has_directions():
    assert iterate(Anderson(), turns=8) < 1e-9
    assert np.abs(RATES**8 * TARGET).max() > 1  # the plain iteration is nowhere near


def test_the_metric_changes_the_way_and_not_the_end():
    assert iterate(Anderson(), turns=8, metric=np.array([1.0, 100.0, 0.01, 1.0])) < 1e-6


def test_the_first_step_is_the_plain_one():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    found = Anderson().advance(x, plain_step(x), np.ones(4))
    np.testing.assert_array_equal(found, x + plain_step(x))


def test_after_forgetting_the_next_step_is_plain_again():
    anderson = Anderson()
    iterate(anderson, turns=4)
    anderson.forget()
    x = np.ones(4)
    np.testing.assert_array_equal(anderson.advance(x, plain_step(x), np.ones(4)), x + plain_step(x))


@pytest.mark.parametrize("memory", [1, 3, 6])
def test_memory_is_bounded(memory):
    anderson, random = Anderson(memory), np.random.default_rng(0)
    for _ in range(20):
        anderson.advance(random.normal(size=4), random.normal(size=4), np.ones(4))
    assert len(anderson._points) == len(anderson._steps) == memory + 1


def test_at_the_fixed_point_it_stays():
    anderson = Anderson()
    for _ in range(3):
        np.testing.assert_array_equal(anderson.advance(TARGET, 0 * TARGET, np.ones(4)), TARGET)


def test_a_map_that_steps_evenly_is_followed():
    anderson, x, step = Anderson(), np.zeros(4), np.array([1.0, 0.0, -2.0, 0.5])
    for _ in range(5):
        x = anderson.advance(x, step, np.ones(4))
    assert np.isfinite(x).all()
    assert (x * step >= 0).all()


def test_arrays_of_any_shape_are_advanced():
    x, step = np.zeros((2, 3)), np.ones((2, 3))
    anderson = Anderson()
    first = anderson.advance(x, step, np.ones((2, 3)))
    assert anderson.advance(first, 0.5 * step, np.ones((2, 3))).shape == (2, 3)

"""Newton's method within a trust region, against dense solutions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.stats.newton import (
    Anderson,
    is_safe,
    positive_inverse,
    root_of,
    safe_information,
    solve_blocks,
    symmetric,
    truncated_newton,
)


def positive_blocks(random, n_items, width):
    roots = random.normal(size=(n_items, width, width + 2))
    return roots @ np.swapaxes(roots, 1, 2)


@given(n_items=st.integers(1, 7), width=st.integers(1, 4), seed=st.integers(0, 99))
def test_items_of_their_own_are_solved_one_by_one(n_items, width, seed):
    random = np.random.default_rng(seed)
    blocks, gradient = positive_blocks(random, n_items, width), random.normal(size=(n_items, width))
    found = solve_blocks(blocks, gradient, (False,) * width)
    for block, right, step in zip(blocks, gradient, found, strict=True):
        np.testing.assert_allclose(block @ step, right, atol=1e-8)


def test_items_on_a_device_are_solved_as_in_numpy(subtests):
    torch = pytest.importorskip("torch")
    for width in [1, 2, 3, 5, 9]:
        with subtests.test(width=width):
            random = np.random.default_rng(width)
            blocks, gradient = positive_blocks(random, 6, width), random.normal(size=(6, width))
            there = solve_blocks(torch.asarray(blocks), torch.asarray(gradient), (False,) * width)
            here = solve_blocks(blocks, gradient, (False,) * width)
            np.testing.assert_allclose(there.numpy(), here, rtol=1e-9)


@given(
    shared=st.sampled_from([(True, False), (False, True, False), (True, False, True, False)]),
    n_items=st.integers(1, 7),
    seed=st.integers(0, 99),
)
def test_a_shared_coordinate_agrees_with_the_dense_system(shared, n_items, seed):
    random = np.random.default_rng(seed)
    width = len(shared)
    blocks, gradient = positive_blocks(random, n_items, width), random.normal(size=(n_items, width))
    common = [k for k in range(width) if shared[k]]
    own = [(i, k) for i in range(n_items) for k in range(width) if not shared[k]]
    places = np.zeros((n_items, width), dtype=int)
    places[:, common] = np.arange(len(common))
    for number, (i, k) in enumerate(own):
        places[i, k] = len(common) + number
    size = len(common) + len(own)
    matrix, right = np.zeros((size, size)), np.zeros(size)
    for i in range(n_items):
        matrix[np.ix_(places[i], places[i])] += blocks[i]
        right[places[i]] += gradient[i]
    dense = np.linalg.solve(matrix, right)
    found = solve_blocks(blocks, gradient, shared)
    np.testing.assert_allclose(found, dense[places], rtol=1e-7, atol=1e-8)


def test_an_upper_triangle_becomes_symmetric_matrices(subtests):
    for width in [1, 2, 3, 4]:
        with subtests.test(width=width):
            full = positive_blocks(np.random.default_rng(width), 5, width)
            upper = [full[:, i, k] for i in range(width) for k in range(i, width)]
            np.testing.assert_array_equal(
                symmetric(upper), np.triu(full) + np.triu(full, 1).swapaxes(1, 2)
            )


def test_observed_information_is_used_where_it_is_safely_positive():
    expected = np.stack([np.diag([2.0, 1.0, 3.0])] * 4)
    observed = expected.copy()
    observed[0] *= 1.5
    observed[1, 0, 0] = -1.0
    observed[2, 2, 2] = -1.0
    observed[3, 1, 1] = 0.01  # positive, but not safely
    found = safe_information(observed, expected)
    np.testing.assert_array_equal(found[0], observed[0])
    np.testing.assert_array_equal(found[1:], expected[1:])


@given(seed=st.integers(0, 200))
def test_safe_information_is_always_positive_definite(seed):
    random = np.random.default_rng(seed)
    expected = positive_blocks(random, 4, 3)
    noise = random.normal(size=(4, 3, 3))
    observed = expected + 3 * (noise + noise.swapaxes(1, 2))
    assert (np.linalg.eigvalsh(safe_information(observed, expected)) > 0).all()


@given(n_items=st.integers(1, 5), width=st.integers(1, 4), seed=st.integers(0, 99))
def test_the_inverse_of_positive_matrices_is_the_inverse(n_items, width, seed):
    blocks = positive_blocks(np.random.default_rng(seed), n_items, width)
    np.testing.assert_allclose(
        positive_inverse(blocks) @ blocks, np.eye(width) + 0 * blocks, atol=1e-6
    )


def test_a_flat_direction_gets_a_large_finite_variance(subtests):
    for least in [0.0, -1e-14, -0.5]:
        with subtests.test(least=least):
            rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
            found = positive_inverse(rotation @ np.diag([2.0, 1.0, least]) @ rotation.T)
            assert np.isfinite(found).all()
            assert (np.linalg.eigvalsh(found) > 0).all()
            assert rotation[:, 2] @ found @ rotation[:, 2] > 1e4


def test_no_information_at_all_has_a_finite_inverse():
    assert np.isfinite(positive_inverse(np.zeros((2, 3, 3)))).all()


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


def test_memory_is_bounded(subtests):
    for memory in [1, 3, 6]:
        with subtests.test(memory=memory):
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


def test_observed_information_is_safe_above_a_tenth_of_each_minor(subtests):
    expected = np.diag([4.0, 1.0, 2.0])[None]
    for shares, safe in {
        (0.11, 1.0, 1.0): True,
        (0.09, 2.0, 2.0): False,
        (0.5, 0.19, 3.0): False,
        (0.5, 0.21, 1.0): True,
        (1.0, 1.0, 0.09): False,
        (1.0, 1.0, 0.11): True,
    }.items():
        with subtests.test(shares=shares):
            observed = expected * np.array(shares)
            found = safe_information(observed, expected)
            np.testing.assert_array_equal(found, observed if safe else expected)


def test_a_root_of_covariances_is_one():
    covariances = positive_blocks(np.random.default_rng(0), 3, 2)
    root = root_of(covariances)
    np.testing.assert_allclose(root @ root.swapaxes(1, 2), covariances)
    rounded = root_of(np.array([[1.0, 1.0], [1.0, 1.0 - 1e-15]]))
    np.testing.assert_allclose(rounded @ rounded.T, np.ones((2, 2)))


def test_a_flat_direction_has_the_variance_of_the_least_information():
    found = positive_inverse(np.diag([4.0, 1e-14]))
    np.testing.assert_allclose(found, np.diag([1 / 4, 1e12 / 0.01]))
    parallel = positive_inverse(np.full((2, 2), 2.0))
    # Scaled, eigenvalues are 2 and 0; the second counts as 1e-8.
    wanted = (np.full((2, 2), 0.25) + 1e8 * np.array([[0.5, -0.5], [-0.5, 0.5]])) / 2
    np.testing.assert_allclose(parallel, wanted)


def test_two_steps_are_combined_so_that_what_is_left_is_least():
    """By hand: x + f + m (x0 - x + f0 - f), where m makes f + m (f0 - f) least."""
    anderson, metric = Anderson(), np.array([1.0, 4.0])
    x0, f0 = np.array([0.0, 0.0]), np.array([1.0, 2.0])
    x1, f1 = np.array([1.0, 1.0]), np.array([0.5, 0.8])
    anderson.advance(x0, f0, metric)
    found = anderson.advance(x1, f1, metric)
    turn = f0 - f1
    mix = -(metric * turn) @ f1 / ((metric * turn) @ turn)
    np.testing.assert_allclose(found, x1 + f1 + mix * (x0 - x1 + turn), rtol=1e-8)


def test_what_is_safe_is_told_by_the_leading_minors(subtests):
    random = np.random.default_rng(4)
    for width in (2, 3, 4):
        with subtests.test(width):
            root = random.normal(size=(60, width, width))
            expected = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(width)
            turned = random.normal(size=(60, width, width))
            observed = expected + 0.6 * (turned + turned.transpose(0, 2, 1))
            scale = 1 / np.sqrt(np.diagonal(expected, axis1=1, axis2=2))
            both = scale[:, :, None] * scale[:, None, :]
            by_hand = np.ones(60, dtype=bool)
            for k in range(1, width + 1):
                ours = np.linalg.det((observed * both)[:, :k, :k])
                by_hand &= ours > 0.1 * np.linalg.det((expected * both)[:, :k, :k])
            assert 5 < by_hand.sum() < 55
            np.testing.assert_array_equal(is_safe(observed, expected), by_hand)


def test_no_minor_overflows_where_next_to_nothing_is_expected():
    # A warning of NumPy is an error in these tests.
    expected = np.stack([1e-120 * np.eye(4), np.eye(4)])
    observed = np.stack([np.diag([1.0, 1e90, 1e40, 1.0]), np.eye(4) - 0.2])
    assert is_safe(observed, expected).tolist() == [True, True]
    assert is_safe(-observed, expected).tolist() == [False, False]


def test_no_minor_is_divided_by_what_is_next_to_nothing():
    faint = np.diag([2.3e-312, 9.9e-313, 1e-8, 9.9e-313])
    faint[1, 0] = faint[0, 1] = -7.4e-313
    faint[3, 0] = faint[0, 3] = 7.4e-313
    faint[2, :2] = faint[:2, 2] = -7.4e-15, 9.9e-15
    assert is_safe(np.eye(4)[None], faint[None]).tolist() == [True]
    assert is_safe(faint[None], np.eye(4)[None]).tolist() == [False]


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

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import beta, binom

from ogive.stats.logistic_curves import (
    MOST_POINTS,
    Curves,
    Points,
    curves_at_mean,
    curves_of,
    logistic_curves,
    points,
    predicted_right,
)


def drawn(n, intercept, slope, seed=0, floor=0.0):
    random = np.random.default_rng(seed)
    difficulty = random.normal(size=n)
    chance = floor + (1 - floor) / (1 + np.exp(slope * difficulty - intercept))
    return difficulty, (random.random(n) < chance).astype(float)


def one_curve(intercept, slope=1.0):
    return Curves(np.array([intercept]), np.array([slope]), np.ones(1))


def test_the_curve_that_made_a_sample_is_found_with_its_standard_error():
    difficulty, right = drawn(4000, 1.0, 1.5)
    curves = curves_of(points(difficulty, right), 0.0)
    for found, truth in ((curves.intercept, 1.0), (curves.slope, 1.5)):
        mean = curves.weight @ found
        error = np.sqrt(curves.weight @ (found - mean) ** 2)
        assert abs(mean - truth) < 3 * error
        assert 0.02 < error < 0.08


@pytest.mark.parametrize("n", [30, 3000])
def test_the_heaviest_curve_is_the_penalised_regression(n):
    difficulty, right = drawn(n, 1.0, 1.5)
    curves = curves_of(points(difficulty, right), 0.0)
    intercept, slope = logistic_curves(right[None], difficulty)[0]
    top = np.argmax(curves.weight)
    grid_step = 0.5 * np.sqrt(curves.weight @ (curves.slope - curves.weight @ curves.slope) ** 2)
    assert curves.slope[top] == pytest.approx(-slope, abs=2 * grid_step)
    assert curves.success(np.zeros(1))[top, 0] == pytest.approx(
        1 / (1 + np.exp(-intercept)), abs=1 / np.sqrt(n)
    )


def test_a_floor_is_taken_into_account():
    difficulty, right = drawn(8000, 0.0, 2.0, floor=0.25)
    with_floor, without = (curves_of(points(difficulty, right), c) for c in (0.25, 0.0))
    assert with_floor.weight @ with_floor.slope == pytest.approx(2.0, abs=0.3)
    assert without.weight @ without.slope < 1.5
    assert with_floor.success(np.array([50.0])) == pytest.approx(0.25)


def test_a_separated_sample_still_has_finite_curves():
    difficulty = np.linspace(-1.0, 1.0, 20)
    curves = curves_of(points(difficulty, (difficulty < 0).astype(float)), 0.0)
    assert np.isfinite([curves.intercept, curves.slope]).all()
    assert curves.weight @ curves.slope > 2


def test_large_samples_are_taken_together_without_losing_a_response():
    difficulty, right = drawn(12_345, 0.0, 1.0)
    found = points(difficulty, right)
    assert len(found.n) == MOST_POINTS
    assert found.n.sum() == 12_345
    assert found.right.sum() == right.sum()
    assert found.n @ found.difficulty == pytest.approx(difficulty.sum())


def test_slope_one_through_the_share_at_the_mean():
    curves = curves_at_mean(-2.0, 100, 90)
    share = curves.success(np.array([-2.0]))[:, 0]
    assert curves.weight @ share == pytest.approx(90.5 / 101, abs=1e-4)
    assert np.sqrt(curves.weight @ (share - curves.weight @ share) ** 2) == pytest.approx(
        0.03, abs=0.002
    )


def test_equal_chances_on_one_sure_curve_are_binomial(subtests):
    for intercept in [-2.0, 0.3, 2.0]:
        with subtests.test(intercept=intercept):
            ahead = predicted_right(one_curve(intercept, 0.0), np.zeros(1), np.array([40.0]))
            law = binom(40, 1 / (1 + np.exp(-intercept)))
            for right in (0, 5, 20, 33, 40):
                tail = min(law.cdf(right), law.sf(right - 1))
                assert ahead.p(right) == pytest.approx(min(1, 2 * tail), abs=1e-9)


def test_unequal_chances_are_as_frequent_as_said():
    difficulty = np.random.default_rng(0).normal(0, 3, 60)
    ahead = predicted_right(one_curve(0.5), difficulty, np.ones(60))
    chance = one_curve(0.5).success(difficulty)[0]
    counts = (np.random.default_rng(1).random((20_000, 60)) < chance).sum(axis=1)
    for right in (26, 28, 38, 40):
        tail = min((counts <= right).mean(), (counts >= right).mean())
        assert ahead.p(right) == pytest.approx(2 * tail, abs=0.012)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-6, 6),
    st.floats(-3, 3),
    st.integers(1, 200),
    st.floats(0.001, 0.5),
    st.integers(0, 9),
)
def test_limits_hold_exactly_the_counts_that_are_not_rare(intercept, slope, n, rate, seed):
    difficulty = np.random.default_rng(seed).normal(size=n)
    ahead = predicted_right(one_curve(intercept, slope), difficulty, np.ones(n))
    low, high = ahead.limits(rate)
    common = [k for k in range(n + 1) if ahead.p(k) > rate]
    assert (low, high) == (common[0], common[-1])
    assert len(common) == high - low + 1


def penalised(parameters, x, y):
    """Minus the log-likelihood with Jeffreys' prior, written out."""
    z = parameters[0] + parameters[1] * x
    design = np.stack([np.ones_like(x), x], axis=1)
    weight = expit(z) * expit(-z)
    information = design.T @ (weight[:, None] * design)
    fit = (y * log_expit(z) + (1 - y) * log_expit(-z)).sum()
    return -(fit + 0.5 * np.linalg.slogdet(information)[1])


def test_a_step_at_two_places_by_hand(subtests):
    for n in [1, 4, 50]:
        with subtests.test(n=n):
            # Saturated, the penalty adds half a cell to each kind: n + 1/2 right of n + 1.
            x = np.repeat([-1.0, 1.0], n)
            found = logistic_curves((x < 0).astype(float)[None], x)
            np.testing.assert_allclose(found, [[0.0, -np.log(2 * n + 1)]], atol=1e-7)


def test_curves_are_at_the_top_of_the_penalised_likelihood(subtests):
    for seed in range(5):
        with subtests.test(seed=seed):
            random = np.random.default_rng(seed)
            x = random.normal(2.0, 3.0, 40)
            y = (random.uniform(size=40) < expit(1.0 - 0.6 * x)).astype(float)
            found = logistic_curves(y[None], x)[0]
            best = minimize(penalised, np.zeros(2), (x, y), method="BFGS", options={"gtol": 1e-9})
            np.testing.assert_allclose(found, best.x, atol=1e-5)


def test_slopes_are_hardly_biased_with_few_cells():
    random = np.random.default_rng(0)
    x = np.linspace(-2.5, 2.5, 40)
    cells = (random.uniform(size=(4000, 40)) < expit(-1.2 * x)).astype(float)
    slope = logistic_curves(cells, x)[:, 1]
    assert slope.mean() == pytest.approx(-1.2, abs=4 * slope.std() / np.sqrt(4000))


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_weights_are_cells_that_are_there_more_often_and_nan_ones_that_are_not(seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=12)
    cells = random.integers(0, 2, (3, 12)).astype(float)
    counts = random.integers(0, 3, 12)
    counts[:2] = 1
    weighted = logistic_curves(cells, x, counts.astype(float))
    repeated = logistic_curves(np.repeat(cells, counts, axis=1), np.repeat(x, counts))
    hidden = logistic_curves(np.where(counts == 0, np.nan, cells), x, np.maximum(counts, 1.0))
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)
    np.testing.assert_allclose(hidden, weighted, atol=1e-5)


def test_rows_that_tell_little_stay_finite(subtests):
    for row in [[1.0] * 6, [0.0] * 6, [np.nan] * 6, [1.0, *[np.nan] * 5]]:
        with subtests.test(row=row):
            assert np.isfinite(logistic_curves(np.array([row]), np.arange(6.0))).all()


def test_at_one_place_there_is_no_slope():
    found = logistic_curves(np.array([[1.0, 1.0, 0.0]]), np.full(3, 4.0))
    assert found[0, 1] == pytest.approx(0.0, abs=1e-6)


def by_brute_force(sample, floor):
    """Mean and deviation of intercept and slope under Jeffreys' prior, on a dense wide grid."""
    intercept, slope = np.linspace(-6, 9, 301)[:, None, None], np.linspace(-2, 9, 301)[:, None]
    rise = expit(intercept - slope * sample.difficulty)
    chance = floor + (1 - floor) * rise
    bend = (1 - floor) ** 2 * (rise * (1 - rise)) ** 2 / (chance * (1 - chance)) * sample.n
    first, cross, second = bend.sum(-1), bend @ sample.difficulty, bend @ sample.difficulty**2
    level = np.log(chance) @ sample.right + np.log(1 - chance) @ (sample.n - sample.right)
    level = level + 0.5 * np.log(first * second - cross**2)
    weight = np.exp(level - level.max())
    weight /= weight.sum()
    found = []
    for values in (intercept[..., 0], slope[..., 0]):
        mean = (weight * values).sum()
        found += [mean, np.sqrt((weight * (values - mean) ** 2).sum())]
    return found


def test_curves_are_weighed_as_the_posterior_under_jeffreys_prior(subtests):
    sample = Points(
        np.array([-1.5, -0.5, 0.0, 0.4, 1.5]),
        np.array([9.0, 12.0, 8.0, 10.0, 9.0]),
        np.array([8.0, 10.0, 5.0, 5.0, 3.0]),
    )
    for floor in (0.0, 0.2):
        with subtests.test(floor=floor):
            curves = curves_of(sample, floor)
            assert curves.weight.sum() == pytest.approx(1.0)
            assert curves.weight.min() > 1e-9 * curves.weight.max() * 0.99
            found = []
            for values in (curves.intercept, curves.slope):
                mean = curves.weight @ values
                found += [mean, np.sqrt(curves.weight @ (values - mean) ** 2)]
            assert found == pytest.approx(by_brute_force(sample, floor), rel=4e-3)


def test_points_of_a_small_sample_are_its_responses_in_order():
    found = points(np.array([2.0, -1.0, 0.5]), np.array([0.0, 1.0, 1.0]))
    assert found.difficulty.tolist() == [-1.0, 0.5, 2.0]
    assert found.n.tolist() == [1.0, 1.0, 1.0]
    assert found.right.tolist() == [1.0, 1.0, 0.0]


def test_neighbours_are_taken_together_in_equal_numbers():
    order = np.random.default_rng(0).permutation(3 * MOST_POINTS)
    found = points(order.astype(float), (order % 3 == 0).astype(float))
    assert (found.n == 3).all()
    np.testing.assert_array_equal(found.difficulty, np.arange(MOST_POINTS) * 3 + 1.0)
    assert (found.right == 1).all()


def test_curves_at_one_difficulty_pass_the_quantiles_of_the_share():
    curves = curves_at_mean(0.7, 20, 15, steps=4)
    share = curves.success(np.array([0.7]))[:, 0]
    np.testing.assert_allclose(share, beta(15.5, 5.5).ppf([0.125, 0.375, 0.625, 0.875]))
    assert curves.slope.tolist() == [1.0] * 4
    assert curves.weight.tolist() == [0.25] * 4
    assert len(curves_at_mean(0.7, 20, 15).weight) == 400
    assert np.isfinite(curves_at_mean(0.0, 10**13, 0).intercept).all()


def test_a_quantile_of_curves_is_read_between_the_middles_of_their_weights():
    curves = Curves(np.zeros(3), np.ones(3), np.array([0.2, 0.5, 0.3]))
    values = np.array(
        [30.0, 10.0, 20.0]
    )  # in order: weights 0.5, 0.3, 0.2; middles 0.25, 0.65, 0.9
    assert curves.quantile(values, 0.25) == pytest.approx(10.0)
    assert curves.quantile(values, 0.45) == pytest.approx(15.0)
    assert curves.quantile(values, 0.9) == pytest.approx(30.0)
    assert curves.quantile(values, 0.01) == 10.0


def test_success_on_a_curve_by_hand():
    curves = Curves(np.array([1.0, 0.0]), np.array([2.0, 1.0]), np.full(2, 0.5), floor=0.2)
    wanted = 0.2 + 0.8 * expit(np.array([[1.0, -3.0], [0.0, -2.0]]))
    np.testing.assert_allclose(curves.success(np.array([0.0, 2.0])), wanted)


def test_the_rarer_outcome_is_matched_by_a_binomial_of_its_mean_and_variance():
    chance, n = np.array([0.9, 0.6]), np.array([10.0, 5.0])
    curve = Curves(np.zeros(1), np.ones(1), np.ones(1))
    ahead = predicted_right(curve, -np.log(chance / (1 - chance)), n)
    assert ahead.counts_wrong
    assert ahead.total == 15
    assert ahead.expected == pytest.approx(12 / 15)
    # Wrong: mean 1 + 2, variance 0.9 + 1.2, so that share is 1 - 2.1 / 3.
    assert ahead.share == pytest.approx([0.3])
    assert ahead.size == pytest.approx([10.0])
    law = binom(10, 0.3)
    for right in (3, 5, 12, 15):
        wrong = 15 - right
        tail = min(law.cdf(wrong), law.sf(wrong - 1))
        assert ahead.p(right) == pytest.approx(min(1.0, 2 * tail), abs=1e-9)
    fewer = predicted_right(curve, np.log(chance / (1 - chance)), n)
    assert not fewer.counts_wrong
    assert fewer.p(3) == pytest.approx(ahead.p(12))
    low, high = ahead.limits(0.05)
    assert fewer.limits(0.05) == (15 - high, 15 - low)

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import kendalltau, norm, spearmanr

from ogive.stats.metrics import (
    COLUMNS,
    _gaps,
    calibration_error,
    confidence_bins,
    error_by_chance,
    error_interval,
    grouped_se,
    mean_interval,
    prediction_error,
)

RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.random(50)
PREDICTED = TRUTH + RANDOM.normal(0.05, 0.1, 50)
ALONE = np.arange(50)


def test_figures_are_those_by_hand():
    found = prediction_error(PREDICTED, TRUTH, ALONE, np.full(50, 0.15))
    error = PREDICTED - TRUTH
    assert tuple(found) == COLUMNS
    assert found["mae"] == pytest.approx(np.abs(error).mean())
    assert found["mae_se"] == pytest.approx(np.abs(error).std(ddof=1) / np.sqrt(50))
    assert found["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    assert found["bias_se"] == pytest.approx(error.std(ddof=1) / np.sqrt(50))
    assert found["kendall"] == pytest.approx(kendalltau(PREDICTED, TRUTH).statistic)
    assert found["spearman"] == pytest.approx(spearmanr(PREDICTED, TRUTH).statistic)
    assert found["coverage"] == (np.abs(error) <= 0.15).mean()
    assert found["width"] == pytest.approx(0.3)


def test_copies_do_not_make_standard_errors_smaller():
    once = prediction_error(PREDICTED, TRUTH, ALONE)
    twice = prediction_error(*(np.tile(x, 2) for x in (PREDICTED, TRUTH, ALONE)))
    for name in ("mae", "mae_se", "rmse_se", "bias_se"):
        assert twice[name] == pytest.approx(once[name])


def test_nothing_is_said_where_nothing_varies_or_one_is_alone():
    found = prediction_error(np.ones(3), TRUTH[:3], np.arange(3))
    assert np.isnan([found["kendall"], found["spearman"], found["coverage"], found["width"]]).all()
    assert np.isnan(grouped_se(TRUTH, np.zeros(50, dtype=int)))


def test_bins_are_equally_wide_and_the_last_holds_one():
    given = np.array([0.0, 0.05, 0.1, 0.55, 0.999, 1.0])
    np.testing.assert_array_equal(confidence_bins(given), [0, 0, 1, 5, 9, 9])


def test_the_error_by_hand():
    # Bins: (0.9, 0.95) with one right, gap 0.425; (0.6) right, gap -0.4. Weighted 2/3 and 1/3.
    confidence, right = np.array([0.9, 0.95, 0.6]), np.array([1.0, 0.0, 1.0])
    found = calibration_error(confidence, right, confidence_bins(confidence))
    assert found == pytest.approx((2 * 0.425 + 0.4) / 3)


@pytest.mark.parametrize(
    ("name", "chance"),
    [
        ("right", lambda c: c),
        ("too sure", lambda c: 0.5 + 0.6 * (c - 0.5)),
        ("a little too sure", lambda c: c - 0.05),
    ],
)
def test_intervals_cover_the_true_error(name, chance):
    random = np.random.default_rng(0)
    many = np.maximum(random.beta(4, 1.5, 200_000), 0.1)
    true = calibration_error(many, chance(many), confidence_bins(many))
    hits = []
    for _ in range(100):
        confidence = np.maximum(random.beta(4, 1.5, 300), 0.1)
        right = (random.uniform(size=300) < chance(confidence)).astype(float)
        place = confidence_bins(confidence)
        low, high = error_interval(confidence, right, place, 0.95, 200, random)
        hits.append(low <= true <= high)
        assert low <= calibration_error(confidence, right, place) <= high
    assert np.mean(hits) >= 0.89  # of 100: three standard errors below 95 %


def test_error_by_chance_is_what_a_calibrated_model_shows():
    random = np.random.default_rng(0)
    confidence = np.full(400, 0.8)
    # One bin: the mean distance of a share of 400 from 0.8, sqrt(2 / pi) of its deviation.
    wanted = np.sqrt(2 / np.pi * 0.8 * 0.2 / 400)
    found = error_by_chance(confidence, confidence_bins(confidence), 4000, random)
    assert found == pytest.approx(wanted, rel=0.05)


def test_a_mean_has_the_interval_of_student():
    from scipy.stats import ttest_1samp

    values = np.array([0.2, 0.5, 0.9, 0.4])
    wanted = ttest_1samp(values, 0.0).confidence_interval(0.9)
    mean, low, high = mean_interval(values, 0.9, 0.0, 1.0)
    assert (mean, low, high) == pytest.approx((0.5, wanted.low, wanted.high))
    assert mean_interval(values, 0.999, 0.3, 0.6)[1:] == (0.3, 0.6)
    assert mean_interval(values[:1], 0.9, 0.0, 1.0) == (0.2, 0.0, 1.0)


class Given:
    """In place of a random generator: the same numbers in every column."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def normal(self, size):
        assert size[0] == len(self.values)
        return np.repeat(self.values[:, None], size[1], axis=1)


def test_the_ends_of_an_interval_are_errors_that_would_just_show_this_one(subtests):
    """In one bin: the distance of a normal number from 0."""
    confidence, right = np.full(40, 0.8), np.repeat([1.0, 0.0], [25, 15])
    place, error = confidence_bins(confidence), 0.8 - 25 / 40
    sd = right.std(ddof=1) / np.sqrt(40)
    numbers = norm.ppf((np.arange(4000) + 0.5) / 4000)
    for level in (0.8, 0.95):
        with subtests.test(level=level):
            found = error_interval(confidence, right, place, level, 4000, Given(numbers))
            tail = (1 - level) / 2

            def beyond(true, tail=tail):
                return norm.sf((error - true) / sd) + norm.cdf((-error - true) / sd) - tail

            def within(true, tail=tail):
                return norm.cdf((error - true) / sd) - norm.cdf((-error - true) / sd) - tail

            step = (error + 3 * sd * np.sqrt(2 / np.pi)) / 200
            low, high = brentq(beyond, 0.0, error), brentq(within, error, 1.0)
            assert low - 1e-4 < found[0] < low + step
            assert high - step < found[1] < high + 1e-4


def test_without_any_noise_an_interval_is_its_error_and_perfect_bins_have_none():
    confidence, right = np.array([0.9, 0.9, 0.2, 0.2]), np.array([1.0, 0.0, 0.0, 1.0])
    place = confidence_bins(confidence)
    found = error_interval(confidence, right, place, 0.95, 5, Given(np.zeros(5)))
    assert found == pytest.approx((0.35, 0.35))
    even = error_interval(
        np.full(2, 0.5), np.array([1.0, 0.0]), np.zeros(2, int), 0.9, 5, Given(np.zeros(5))
    )
    assert even == (0.0, 0.0)


def test_an_error_less_than_that_of_noise_alone_may_be_none():
    confidence, right = np.full(4, 0.51), np.array([1.0, 0.0, 1.0, 0.0])
    found = error_interval(confidence, right, np.zeros(4, dtype=int), 0.95, 2, Given([-9.0, 9.0]))
    assert found[0] == 0.0
    assert found[1] == pytest.approx(0.01)


def test_gaps_and_their_noise_by_hand():
    confidence, right = np.array([0.9, 0.95, 0.6, 0.1, 0.3]), np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    place = np.array([3, 3, 1, 0, 0])  # the bin at 2 is empty
    gap, noise = _gaps(confidence, right, place, 2, Given([1.0, -2.0]))
    np.testing.assert_allclose(gap, np.array([0.1 - 0.7, -0.4, 0.0, -0.1 + 0.95]) / 5)
    # Two items: the variance of a sum is twice that of one; alone, that of its probability.
    variance = np.array(
        [2 * np.var([0.1, -0.7], ddof=1), 0.24, 0, 2 * np.var([-0.1, 0.95], ddof=1)]
    )
    np.testing.assert_allclose(noise, np.outer([1, -2], np.sqrt(variance)) / 5)


def test_errors_of_root_mean_squares_and_coverage_by_hand():
    predicted, truth = np.array([1.0, 2.0, 4.0]), np.array([0.0, 2.5, 2.0])
    found = prediction_error(predicted, truth, np.arange(3), np.array([1.0, 0.1, 1.5]))
    square = np.array([1.0, 0.25, 4.0])
    assert found["rmse_se"] == pytest.approx(
        square.std(ddof=1) / np.sqrt(3) / (2 * np.sqrt(square.mean()))
    )
    assert found["bias"] == pytest.approx(2.5 / 3)
    assert found["coverage"] == pytest.approx(1 / 3)  # the first lies on the end of its interval
    assert found["coverage_se"] == pytest.approx(np.std([1, 0, 0], ddof=1) / np.sqrt(3))
    assert found["width"] == pytest.approx(2 * 2.6 / 3)
    exact = prediction_error(truth, truth, np.arange(3))
    assert (exact["rmse"], exact["rmse_se"]) == (0.0, 0.0)


def test_values_of_a_group_count_as_their_sum():
    values, groups = np.array([1.0, 3.0, 4.0, 8.0, 9.0]), np.array([0, 0, 2, 5, 5])
    sums = np.array([1 + 3 - 10, 4 - 5, 8 + 9 - 10.0])
    wanted = np.sqrt((sums**2).sum() * 3 / 2) / 5
    assert grouped_se(values, groups) == pytest.approx(wanted)
    assert np.isfinite(grouped_se(values, groups // 5))


def test_bins_may_be_of_any_number():
    assert confidence_bins(np.array([0.24, 0.25, 0.74, 1.0]), 4).tolist() == [0, 1, 2, 3]

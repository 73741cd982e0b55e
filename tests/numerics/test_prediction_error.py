import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from itemwise.numerics.prediction_error import (
    COLUMNS,
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

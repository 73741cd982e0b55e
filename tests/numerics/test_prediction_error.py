import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from itemwise.numerics.prediction_error import COLUMNS, grouped_se, prediction_error

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

"""Measures of goodness by hand, and areas against the curves that are drawn."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ogive.portfolios.algorithm_traits import Goodness, published_goodness

ACTUAL = np.array([[0.0, 0.4], [0.5, 0.8], [1.0, np.nan]])
PREDICTED = np.array([[0.2, 0.4], [0.5, 0.6], [0.7, 0.9]])
NAMES = pd.Index(["a", "b"], name="algorithm")
SHARES = st.floats(0, 1, width=16)
TABLES = arrays(float, (6, 3), elements=SHARES)


def test_measures_of_a_table_done_by_hand():
    found = Goodness(ACTUAL, PREDICTED).frame(NAMES)
    np.testing.assert_allclose(found["mse"], [(0.04 + 0 + 0.09) / 3, 0.04 / 2])
    np.testing.assert_allclose(found["aucdf"], [1 - 0.5 / 3, 1 - 0.1])
    np.testing.assert_allclose(found["auaec"], [0.5, 0.6])
    np.testing.assert_allclose(found["aupec"], [1.4 / 3, 0.5])
    np.testing.assert_allclose(found["difference"], [0.1 / 3, 0.1])


def test_standard_errors_are_of_the_mean_over_the_runs_there_are():
    found = Goodness(ACTUAL, PREDICTED).frame(NAMES)
    np.testing.assert_allclose(found["auaec_se"], [0.5 / np.sqrt(3), 0.2])
    np.testing.assert_allclose(found["aucdf_se"].iloc[1], 0.1)
    np.testing.assert_allclose(
        found["difference_se"].iloc[0], np.std([-0.2, 0, 0.3], ddof=1) / 3**0.5
    )


def test_an_algorithm_with_one_run_has_no_standard_error():
    actual = np.array([[0.5, 0.2], [0.4, np.nan]])
    found = Goodness(actual, actual).frame(NAMES)
    assert np.isnan(found.loc["b", "auaec_se"])
    assert found.loc["b", "auaec"] == 0.2


def exact_area(values):
    """Area under the share of values up to each threshold in [0, 1], step by step."""
    edges = np.unique(np.concatenate([[0.0, 1.0], values]))
    shares = [(values <= left).mean() for left in edges[:-1]]
    return float(np.diff(edges) @ shares)


@settings(max_examples=20, deadline=None)
@given(TABLES, TABLES)
def test_areas_are_the_exact_integrals_of_their_curves(actual, predicted):
    found = Goodness(actual, predicted).frame(pd.Index(list("abc")))
    for k, name in enumerate("abc"):
        for measure, cells in (
            ("aucdf", np.abs(actual - predicted)[:, k]),
            ("auaec", 1 - actual[:, k]),
            ("aupec", 1 - predicted[:, k]),
        ):
            expected = exact_area(cells)
            assert found.loc[name, measure] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(TABLES, TABLES)
def test_curves_rise_to_one_and_their_areas_are_the_measures(actual, predicted):
    names = pd.Index(list("abc"))
    goodness = Goodness(actual, predicted)
    frame, curves = goodness.frame(names), goodness.curves(names)
    pairs = {"residuals": "aucdf", "actual": "auaec", "predicted": "aupec"}
    for (name, curve), line in curves.groupby(["algorithm", "curve"]):
        share = line["share"].to_numpy()
        assert (np.diff(share) >= 0).all()
        assert share[-1] == 1.0
        area = np.trapezoid(share, line["tolerance"])
        assert area == pytest.approx(frame.loc[name, pairs[curve]], abs=0.011)  # a step is 0.01


def test_a_perfect_prediction_leaves_nothing():
    found = Goodness(ACTUAL, ACTUAL).frame(NAMES)
    assert (found["mse"] == 0).all()
    assert (found["aucdf"] == 1).all()
    assert (found["difference"] == 0).all()


def test_published_predictions_stop_at_ten_and_values_at_a_bound_move_inside():
    performance = np.array([[0.0, 0.5], [1.0, 0.5], [0.5, 0.7], [0.2, 0.1]])
    items = pd.DataFrame({"discrimination": 1.0, "difficulty": [0.0, -1e6], "scaling": 1.0})
    found = published_goodness(performance, (0.0, 1.0), items)
    assert found.published
    np.testing.assert_allclose(found.actual[:, 0], [0.01, 0.99, 0.5, 0.2])
    np.testing.assert_allclose(found.predicted[:, 1], 1 / (1 + np.exp(-10)))


def test_published_areas_are_on_a_grid_of_a_hundred_points():
    """Every performance is 0.5: the share is 0 up to 0.49 below the best, then 1."""
    half = np.full((4, 1), 0.5)
    found = Goodness(half, half, published=True).frame(pd.Index(["a"]))
    thresholds = 1 - np.arange(100) / 100
    share = (thresholds - 1e-12 <= 0.5).astype(float)
    expected = np.trapezoid(share, np.linspace(0, 1, 100))
    assert found.loc["a", "auaec"] == pytest.approx(expected)
    assert found.loc["a", "aucdf"] == pytest.approx(1.0)


@pytest.mark.filterwarnings("error")
def test_published_goodness_of_an_extreme_scaling_does_not_overflow():
    items = pd.DataFrame(
        {"discrimination": [1.0, 0.01], "difficulty": [0.0, 400.0], "scaling": [1.0, 50.0]}
    )
    cells = np.linspace(0.05, 0.95, 20)[:, None] * [1.0, 1.0]
    found = published_goodness(cells, (0.0, 1.0), items)
    assert np.isfinite(found.predicted).all()
    assert found.predicted.min() < 1e-12

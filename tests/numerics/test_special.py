import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemwise.numerics.special import log_fall, log_sigmoid, logit, sigmoid_pair

# σ(x), 1 - σ(x) and log σ(x), computed with 400 digits and rounded to float64.
EXACT = [
    (-700.0, 9.859676543759770e-305, 1.0, -700.0),
    (-40.0, 4.248354255291589e-18, 1.0, -40.0),
    (-3.0, 0.04742587317756678, 0.9525741268224333, -3.048587351573742),
    (-1e-9, 0.49999999975, 0.50000000025, -0.6931471810599453),
    (0.0, 0.5, 0.5, -0.6931471805599453),
    (2.0, 0.8807970779778824, 0.11920292202211756, -0.1269280110429725),
    (40.0, 1.0, 4.248354255291589e-18, -4.248354255291589e-18),
    (700.0, 1.0, 9.859676543759770e-305, -9.859676543759770e-305),
]


@pytest.mark.parametrize(("x", "rise", "fall", "log_rise"), EXACT)
def test_the_logistic_function_is_exact_in_both_tails(x, rise, fall, log_rise):
    at = np.array([x])
    np.testing.assert_allclose(sigmoid_pair(at), [[rise], [fall]], rtol=1e-14)
    np.testing.assert_allclose(log_sigmoid(at), log_rise, rtol=1e-14)


@pytest.mark.parametrize("x", [-1e308, -1e5, 1e5, 1e308])
def test_beyond_the_range_of_floats_nothing_overflows(x):
    at = np.array([x])
    rise, fall = sigmoid_pair(at)
    assert np.isfinite([rise, fall]).all()
    np.testing.assert_allclose(rise + fall, 1.0)
    np.testing.assert_allclose(log_sigmoid(at), min(x, 0.0))


@given(st.floats(-690, 690))
def test_log_fall_agrees_with_the_log_of_the_other_side(x):
    at = np.array([x])
    rise, _ = sigmoid_pair(at)
    np.testing.assert_allclose(log_fall(at, rise), log_sigmoid(-at), rtol=1e-12, atol=2e-13)


@given(st.floats(-30, 30))
def test_logit_undoes_the_logistic_function(x):
    near_one = np.exp(max(x, 0.0)) * 2.3e-16  # what a probability near one cannot hold
    found = logit(sigmoid_pair(np.array([x]))[0])
    np.testing.assert_allclose(found, x, rtol=1e-12, atol=1e-12 + near_one)

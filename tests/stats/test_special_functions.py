from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import hyp1f1

from ogive.stats.special_functions import (
    digamma,
    gamma_drop,
    log_fall,
    log_gamma,
    log_lower_gamma,
    log_normal_cdf,
    log_one_less,
    log_sigmoid,
    logit,
    polygamma,
    sigmoid_pair,
)

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


def test_the_logistic_function_is_exact_in_both_tails(subtests):
    for x, rise, fall, log_rise in EXACT:
        with subtests.test(x=x, rise=rise, fall=fall, log_rise=log_rise):
            at = np.array([x])
            np.testing.assert_allclose(sigmoid_pair(at), [[rise], [fall]], rtol=1e-14)
            np.testing.assert_allclose(log_sigmoid(at), log_rise, rtol=1e-14)


def test_beyond_the_range_of_floats_nothing_overflows(subtests):
    for x in [-1e308, -1e5, 1e5, 1e308]:
        with subtests.test(x=x):
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


# log(1 - exp(-x)), computed with 60 digits.
ONE_LESS = [
    (1e-300, -690.7755278982137),
    (1e-9, -20.723265837446411),
    (0.1, -2.3521684610440908),
    (0.6999999, -0.68634110145178126),
    (0.7000001, -0.68634090416500853),
    (5.0, -0.006760749449488557),
    (40.0, -4.248354255291589e-18),
    (1000.0, 0.0),
]


def test_the_log_of_one_less_an_exponential_is_exact_for_small_and_large(subtests):
    for x, expected in ONE_LESS:
        with subtests.test(x=x):
            np.testing.assert_allclose(log_one_less(np.array([x])), expected, rtol=1e-14)


# log Φ(x), computed with 60 digits.
NORMAL = [
    (-800.0, -320007.60355182337),
    (-40.0, -804.6084420137538),
    (-3.0, -6.6077262215103495),
    (0.0, -0.6931471805599453),
    (2.0, -0.023012909328963488),
    (9.0, -1.1285884059538406e-19),
]


def test_the_log_of_the_normal_distribution_is_exact_in_the_lower_tail(subtests):
    for x, expected in NORMAL:
        with subtests.test(x=x):
            np.testing.assert_allclose(log_normal_cdf(np.array([x])), expected, rtol=1e-13)


@given(st.floats(1e-6, 1e6))
def test_polygamma_functions_are_derivatives_of_the_log_gamma_function(x):
    """By their recurrences, which tell x + 1 from x exactly."""
    at, after = np.array([x]), np.array([x + 1])
    rounding = 1e-14 * float(1 + np.abs(log_gamma(after))[0])
    np.testing.assert_allclose(log_gamma(after) - log_gamma(at), np.log(x), rtol=0, atol=rounding)
    np.testing.assert_allclose(digamma(after) - digamma(at), 1 / x, rtol=1e-14, atol=1e-12)
    for order, factor in ((1, -1.0), (2, 2.0)):
        low, high, step = polygamma(order, at), polygamma(order, after), x ** -(order + 1.0)
        rounding = 1e-13 * float((np.abs(low) + np.abs(high))[0])  # twelve terms are summed
        np.testing.assert_allclose(high - low, factor * step, rtol=1e-14, atol=rounding)


TORCH = {
    "log_sigmoid": (log_sigmoid, True, 1e-13),
    "log_normal_cdf": (log_normal_cdf, True, 1e-13),
    "sigmoid_pair": (lambda x: sigmoid_pair(x)[1], True, 1e-13),
    "log_one_less": (log_one_less, False, 1e-13),
    "log_gamma": (log_gamma, False, 1e-12),
    "digamma": (lambda x: polygamma(0, x), False, 1e-12),
    "trigamma": (lambda x: polygamma(1, x), False, 1e-9),  # the series of torch is that short
    "tetragamma": (lambda x: polygamma(2, x), False, 1e-12),
}


def test_special_functions_on_torch_are_those_of_numpy(subtests):
    torch = pytest.importorskip("torch")
    for case, (function, signed, rtol) in TORCH.items():
        with subtests.test(case):
            x = np.linspace(-40, 40, 81) if signed else np.geomspace(1e-6, 1e4, 41)
            found = np.asarray(function(torch.asarray(x)))
            np.testing.assert_allclose(found, function(x), rtol=rtol, atol=1e-13)


def test_drops_of_gamma_functions_keep_their_digits_where_the_argument_is_large(subtests):
    """With y = 1, recurrences give them exactly."""
    for order in [-1, 0, 1, 2]:
        with subtests.test(order=order):
            x = 10.0 ** np.arange(-3.0, 16.0)
            exact = {-1: -np.log(x), 0: -1 / x, 1: 1 / x**2, 2: -2 / x**3}[order]
            np.testing.assert_allclose(gamma_drop(order, x, np.ones(x.size)), exact, rtol=1e-9)


def test_the_lower_gamma_integral_is_kummers_function(subtests):
    """∫ t^(s-1) exp(-x t) dt is exp(-x) M(1, s + 1, x) / s; a millionth is what its tail leaves."""
    for x, shape in product(
        [0.0, 1e-6, 0.3, 0.7, 5.0, 30.0, 300.0], [1e-6, 0.2, 1.0, 7.0, 300.0, 1e5]
    ):
        with subtests.test(x=x, shape=shape):
            expected = -x - np.log(shape) + np.log(hyp1f1(1, shape + 1, x))
            found = log_lower_gamma(np.array([shape]), np.array([x]))[0]
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


ZETA_3 = 1.2020569031595942  # Apéry's constant


def test_polygamma_functions_have_their_known_values(subtests):
    known = {
        (1, 1.0): np.pi**2 / 6,
        (1, 0.5): np.pi**2 / 2,
        (1, 3.0): np.pi**2 / 6 - 5 / 4,
        (2, 1.0): -2 * ZETA_3,
        (2, 0.5): -14 * ZETA_3,
        (2, 3.0): -2 * ZETA_3 + 9 / 4,
    }
    for (order, x), value in known.items():
        with subtests.test(order=order, x=x):
            np.testing.assert_allclose(polygamma(order, np.array([x])), value, rtol=1e-13)


def test_drops_over_three_are_sums_of_three_terms_on_both_sides_of_the_series(subtests):
    x = np.array([29.0, 30.0, 30.001, 31.0, 45.5])
    terms = [x, x + 1, x + 2]
    exact = {
        -1: -sum(np.log(term) for term in terms),
        0: -sum(1 / term for term in terms),
        1: sum(1 / term**2 for term in terms),
        2: -2 * sum(1 / term**3 for term in terms),
    }
    for order, wanted in exact.items():
        with subtests.test(order=order):
            found = gamma_drop(order, x, np.full(5, 3.0))
            np.testing.assert_allclose(found, wanted, rtol=3e-12)


def test_the_lower_gamma_integral_of_whole_shapes_is_elementary():
    x = np.array([0.01, 0.1, 0.4999, 0.5, 0.5001, 0.6, 2.0, 40.0])
    one = np.log(-np.expm1(-x) / x)
    two = np.log((1 - (1 + x) * np.exp(-x)) / x**2)
    np.testing.assert_allclose(log_lower_gamma(np.ones(8), x), one, rtol=3e-9)
    np.testing.assert_allclose(log_lower_gamma(np.full(8, 2.0), x), two, rtol=3e-9)


def test_the_lower_gamma_integral_far_below_its_shape_is_nearly_a_geometric_series():
    """It is exp(-x) / s (1 + x / (s + 1) + ...): each factor is hardly less than the first."""
    shape, x = np.full(2, 1e6), np.array([1e3, 1e5])
    wanted = -x - np.log(shape) - np.log1p(-x / (shape + 1))
    np.testing.assert_allclose(log_lower_gamma(shape, x), wanted, rtol=1e-12)


def test_of_no_rows_there_is_no_integral():
    assert log_lower_gamma(np.empty(0), np.empty(0)).size == 0

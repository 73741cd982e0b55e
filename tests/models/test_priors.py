import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemwise.errors import InputError
from itemwise.models import Beta, Normal
from itemwise.models.logistic import GUESSING, INTERCEPT, SLIP, SLOPE

inside = st.floats(0.05, 0.95)
at_least_one = st.floats(1, 30)


def assert_derivatives(prior, x):
    x, nudge = np.array([x]), 1e-6
    first = (prior.log_density(x + nudge) - prior.log_density(x - nudge)) / (2 * nudge)
    second = (prior.slope(x + nudge) - prior.slope(x - nudge)) / (2 * nudge)
    np.testing.assert_allclose(prior.slope(x), first, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(prior.curvature(x), -second, rtol=1e-5, atol=1e-5)


@given(mean=st.floats(-3, 3), sd=st.floats(0.1, 10), x=st.floats(-5, 5))
def test_derivatives_of_a_normal_prior_agree_with_differences(mean, sd, x):
    assert_derivatives(Normal(mean, sd), x)


@given(a=at_least_one, b=at_least_one, x=inside)
def test_derivatives_of_a_beta_prior_agree_with_differences(a, b, x):
    assert_derivatives(Beta(a, b), x)


def test_the_mode_of_a_beta_prior_is_where_its_slope_vanishes():
    assert Beta(5, 17).slope(np.array([4 / 20])) == pytest.approx(0.0)


@pytest.mark.parametrize("sd", [0.0, -1.0, float("nan")])
def test_a_normal_prior_needs_a_deviation_above_zero(sd):
    with pytest.raises(InputError, match=r"sd .*give a number above 0"):
        Normal(0.0, sd)


@pytest.mark.parametrize(("a", "b"), [(0.5, 2.0), (2.0, 0.0), (float("nan"), 2.0)])
def test_a_beta_prior_needs_a_maximum_inside(a, b):
    with pytest.raises(InputError, match="at least 1"):
        Beta(a, b)


def test_default_priors_have_no_sign_and_sit_where_they_are_said_to():
    assert SLOPE.prior == Normal(0, 3)
    assert INTERCEPT.prior == Normal(0, 5)
    assert GUESSING.prior == Beta(5, 17)
    assert SLIP.prior == Beta(2, 20)

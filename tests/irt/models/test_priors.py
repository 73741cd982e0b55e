import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.errors import InputError
from ogive.irt.models import MODELS, with_priors
from ogive.irt.models.base import Beta, Normal, Prior
from ogive.irt.models.logistic import GUESSING, INTERCEPT, SLIP, SLOPE

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


def test_a_normal_prior_needs_a_deviation_above_zero(subtests):
    for sd in [0.0, 1e-300, -1.0, float("nan"), float("inf")]:
        with (
            subtests.test(sd=sd),
            pytest.raises(InputError, match=r"sd .*give a finite mean and an sd of at least 1e-06"),
        ):
            Normal(0.0, sd)


def test_a_normal_prior_needs_a_finite_mean(subtests):
    for mean in [float("nan"), float("inf"), -float("inf")]:
        with (
            subtests.test(mean=mean),
            pytest.raises(InputError, match=rf"mean {mean} .*finite mean"),
        ):
            Normal(mean, 1.0)


def test_a_beta_prior_needs_a_maximum_inside(subtests):
    for a, b in [(0.5, 2.0), (2.0, 0.0), (float("nan"), 2.0)]:
        with subtests.test(a=a, b=b), pytest.raises(InputError, match="at least 1"):
            Beta(a, b)


def test_default_priors_have_no_sign_and_sit_where_they_are_said_to():
    assert SLOPE.prior == Normal(0, 3)
    assert INTERCEPT.prior == Normal(0, 5)
    assert GUESSING.prior == Beta(5, 17)
    assert SLIP.prior == Beta(2, 20)


def test_only_a_density_that_vanishes_at_zero_keeps_off_it():
    assert Beta(1.5, 3).keeps_off
    assert not Beta(1, 3).keeps_off
    assert not Normal(0, 1).keeps_off


def test_a_beta_prior_from_one_is_finite_at_zero():
    zero, prior = np.zeros(1), Beta(1, 4)
    assert prior.log_density(zero) == 0
    assert prior.slope(zero) == -3
    assert prior.curvature(zero) == 3


def test_a_prior_has_two_derivatives_and_says_whether_it_keeps_off():
    class Bare:
        def log_density(self, x):
            return 0 * x

        slope = curvature = log_density

    assert not isinstance(Bare(), Prior)
    Bare.keeps_off = False
    assert isinstance(Bare(), Prior)
    assert isinstance(Normal(), Prior)
    assert isinstance(Beta(2, 2), Prior)


OUTSIDE_THE_UNIT = [
    (model, coordinate.name)
    for model, kind in MODELS.items()
    for coordinate in kind().coordinates
    if coordinate.low < 0 or coordinate.high > 1
]


def test_a_beta_prior_is_refused_where_the_parameter_may_leave_its_range(subtests):
    for model, name in OUTSIDE_THE_UNIT:
        with (
            subtests.test(name, model=model),
            pytest.raises(InputError, match=rf"prior of {name} is Beta.*\[0, 1\].*Normal"),
        ):
            with_priors(MODELS[model](), {name: Beta(2, 2)})


def test_every_model_has_parameters_outside_the_unit():
    assert {model for model, _ in OUTSIDE_THE_UNIT} == set(MODELS)
    assert ("2pl", "intercept") in OUTSIDE_THE_UNIT
    assert ("4pl", "slip") not in OUTSIDE_THE_UNIT


def test_a_beta_prior_suits_a_share():
    model = with_priors(MODELS["4pl"](), {"guessing": Beta(2, 3), "slip": Beta(1, 4)})
    assert [c.prior for c in model.coordinates[2:]] == [Beta(2, 3), Beta(1, 4)]


def test_what_is_no_prior_is_refused(subtests):
    for prior in ["wide", 3, Normal, (0, 1)]:
        with (
            subtests.test(prior=prior),
            pytest.raises(InputError, match=r"prior of intercept is .*Normal\(mean, sd\)"),
        ):
            with_priors(MODELS["2pl"](), {"intercept": prior})

"""The continuous response model: the parametrisation of airt, and a factor analysis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from ogive.errors import InputError
from ogive.irt.models.base import NormalSums
from ogive.irt.models.continuous import Continuous

ABILITIES = np.linspace(-3.0, 3.0, 13)


def one_item(alpha=1.5, beta=-0.5, gamma=0.8):
    return Continuous().from_parameters(
        {"discrimination": [alpha], "difficulty": [beta], "scaling": [gamma]}
    )


def test_coordinates_are_discrimination_intercept_and_logarithm_of_the_noise():
    np.testing.assert_allclose(one_item(), [[1.5, 0.625, -np.log(1.2)]])
    np.testing.assert_allclose(one_item(-1.5, -0.5, -0.8), [[-1.5, -0.625, -np.log(1.2)]])
    np.testing.assert_allclose(Continuous().loadings(one_item()), 1.25)


signs = st.sampled_from([-1.0, 1.0])


@settings(deadline=None)
@given(
    alpha=st.floats(0.3, 3), beta=st.floats(-2, 2), gamma=st.floats(0.4, 2), sign=signs,
    z=st.floats(-3, 3),
)  # fmt: skip
def test_the_chance_of_more_than_z_is_the_normal_ogive_of_the_documentation(
    alpha, beta, gamma, sign, z
):
    alpha, gamma = sign * alpha, sign * gamma
    model, coords = Continuous(), one_item(alpha, beta, gamma)
    nudge = 1e-4

    def more_than(z):  # P(Z ≥ z) rises with α(θ - β - γz) whatever their common sign
        return norm.cdf(alpha * (ABILITIES - beta - gamma * z))

    density = (more_than(z - nudge) - more_than(z + nudge)) / (2 * nudge)
    terms = model.log_terms(coords, ABILITIES)[:, 0]
    found = np.exp(terms[0] + z * terms[1] + z**2 * terms[2])
    # Differences of step 1e-4 leave a third derivative of (αγ)³ at most.
    np.testing.assert_allclose(found, density, atol=3e-9 * abs(alpha * gamma) ** 3 + 1e-11)


def test_information_is_the_squared_discrimination_everywhere():
    far = np.array([-800.0, -3.0, 0.0, 3.0, 800.0])
    np.testing.assert_allclose(Continuous().information(one_item(), far), 2.25)
    np.testing.assert_array_equal(Continuous().ability_slopes(one_item(), far).bias, 0.0)


def logistic_normal_moment(power, centre, noise):
    """E (-1 + 4 σ(centre + noise t))^power over standard normal t."""

    def integrand(t):
        return norm.pdf(t) * (-1 + 4 * expit(centre + noise * t)) ** power

    turn = float(np.clip(-centre / noise, -9, 9))  # where the score passes its middle
    parts = [quad(integrand, *ends, epsabs=1e-12)[0] for ends in ((-10, turn), (turn, 10))]
    return sum(parts)


def test_expected_score_and_variance_are_those_of_a_logistic_normal(subtests):
    model, abilities = Continuous(bounds=(-1.0, 3.0)), np.array([-3.0, 0.0, 1.0, 8.0])
    for noise in [0.1, 0.5, 1.0, 3.0, 8.0]:
        with subtests.test(noise=noise):
            coords = np.array([[1 / noise, 0.2, np.log(noise)]])
            expected = model.expected(coords, abilities)
            variance = model.variance(coords, abilities)
            for k, ability in enumerate(abilities):
                mean, square = (
                    logistic_normal_moment(power, ability + 0.2, noise) for power in (1, 2)
                )
                assert expected[0, k] == pytest.approx(mean, abs=1e-6)
                assert variance[0, k] == pytest.approx(square - mean**2, abs=1e-6)


def test_with_known_abilities_the_maximum_is_the_regression_of_log_odds_on_ability():
    random = np.random.default_rng(0)
    ability = random.normal(size=200)
    z = 1.3 * ability - 0.4 + 0.6 * random.normal(size=200)
    slope, intercept = np.polyfit(ability, z, 1)
    noise = np.sqrt(np.mean((z - slope * ability - intercept) ** 2))
    sums = NormalSums(
        *(
            np.array([total])
            for total in (
                200.0, ability.sum(), (ability**2).sum(), z.sum(), z @ ability, (z**2).sum(),
            )
        )
    )  # fmt: skip
    model, coords = Continuous(), np.array([[slope / noise, intercept, np.log(noise)]])
    gradient, expected, observed = model.curvature_of_sums(coords, sums)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    np.testing.assert_allclose(observed, expected, atol=1e-8)
    errors = np.sqrt(np.diag(np.linalg.inv(expected[0])))
    assert errors[1] == pytest.approx(noise / np.sqrt(200), rel=0.02)
    assert errors[2] == pytest.approx(1 / np.sqrt(400), rel=1e-9)
    by_loading = model.parameter_jacobian(coords)["scaling"][0] * slope**2
    error = np.sqrt(by_loading @ np.linalg.inv(expected[0]) @ by_loading)
    centred = ability - ability.mean()
    assert error == pytest.approx(noise / np.sqrt(centred @ centred), rel=1e-9)


def test_sums_over_respondents_are_sums_over_nodes():
    random = np.random.default_rng(1)
    z = random.normal(size=ABILITIES.size)
    model, coords = Continuous(), one_item()
    by_nodes = model.curvature(
        coords, ABILITIES, np.array([[z], [z**2]]), np.ones((1, ABILITIES.size))
    )
    totals = (
        ABILITIES.size, ABILITIES.sum(), (ABILITIES**2).sum(), z.sum(), z @ ABILITIES, (z**2).sum(),
    )  # fmt: skip
    by_respondents = model.curvature_of_sums(coords, NormalSums(*(np.array([t]) for t in totals)))
    for one, other in zip(by_nodes, by_respondents, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_discrimination_and_scaling_of_different_sign_are_refused(subtests):
    for alpha, gamma in [(1.0, -1.0), (-0.5, 0.5), (0.0, 1.0), (1.0, np.nan)]:
        with (
            subtests.test(alpha=alpha, gamma=gamma),
            pytest.raises(InputError, match=r"discrimination and scaling .*same sign.*neither .*0"),
        ):
            one_item(alpha, 0.0, gamma)


def test_a_flat_item_is_reported_with_the_least_discrimination():
    found = Continuous().parameters(np.array([[0.0, 1.0, np.log(2.0)]]))
    assert found["discrimination"] == pytest.approx(0.01)
    assert found["difficulty"] == pytest.approx(-1 / 0.02)
    assert found["scaling"] == pytest.approx(50.0)


def test_the_default_prior_is_a_penalty_on_unique_variances():
    """Of weight one, Σ s / ψ / 2 where s = λ² + ψ (Martin and McDonald, 1975; Akaike, 1987)."""
    model, coords = Continuous(), np.array([[0.7, 0.1, -0.4], [-2.0, 1.0, 0.3]])
    loading, unique = model.loadings(coords), np.exp(2 * coords[:, 2])
    penalty = 0.5 * (loading**2 + unique) / unique
    np.testing.assert_allclose(
        model.coordinates[0].prior.log_density(coords[:, 0]), 0.5 - penalty, rtol=1e-12
    )
    assert [c.prior for c in model.coordinates[1:]] == [None, None]


def test_a_start_is_the_mean_and_deviation_of_the_log_odds_parted_by_the_loading():
    z = np.random.default_rng(0).normal(0.7, 2.0, 500)
    means = np.array([[z.mean()], [(z**2).mean()]])
    found = Continuous().start(means, np.array([500.0]), np.array([0.6]))[0]
    expected = [0.6 / 0.8, z.mean(), np.log(0.8 * z.std())]
    np.testing.assert_allclose(found, expected, rtol=1e-12)

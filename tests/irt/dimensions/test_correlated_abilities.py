"""Joint normal abilities: against the double integral, closed forms, EM and simulated truth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from scipy.stats import t as student

from ogive.irt.dimensions.correlated_abilities import (
    FactoredNormal,
    GaussianSites,
    JointNormal,
    Scale,
    correlations,
    fit_joint_normal,
    posterior,
    refine_sites,
    tilted_moments,
)

NODES = np.linspace(-6.0, 6.0, 121)


def normal_scale(seen, error, asked=None):
    """A likelihood that is a bell curve: an ability seen with a known error."""
    asked = np.ones(len(seen), dtype=bool) if asked is None else asked
    bell = -0.5 * ((NODES - seen[:, None]) / error) ** 2
    return Scale(NODES, np.where(asked[:, None], bell, 0.0), asked)


def item_scale(ability, difficulties, random):
    """The likelihood of right and wrong responses to items of slope 1.5."""
    chance = 1 / (1 + np.exp(-1.5 * (ability[:, None] - difficulties)))
    right = random.random(chance.shape) < chance
    odds = 1.5 * (NODES - difficulties[:, None])
    return Scale(NODES, right @ odds - np.logaddexp(0, odds).sum(axis=0), np.ones(len(right), bool))


def drawn(n, correlation, seed):
    random = np.random.default_rng(seed)
    pair = random.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n)
    return pair, random


def by_double_integral(first, second):
    """Maximum likelihood of the correlation, from the definition: means and deviations free."""
    left, right = (
        np.exp(s.log_likelihood - s.log_likelihood.max(1)[:, None]) for s in (first, second)
    )

    def loss(place):
        mean, sd, r = place[:2], np.exp(place[2:4]), np.tanh(place[4])
        x, y = (NODES[:, None] - mean[0]) / sd[0], (NODES - mean[1]) / sd[1]
        density = np.exp(-0.5 * (x**2 - 2 * r * x * y + y**2) / (1 - r**2))
        density /= sd.prod() * np.sqrt(1 - r**2)
        return -np.log(((left @ density) * right).sum(axis=1)).sum()

    return np.tanh(minimize(loss, [0, 0, 0, 0, 0.5]).x[4])


def test_the_correlation_is_that_of_the_double_integral(subtests):
    for correlation in [0.0, 0.6, 0.9]:
        with subtests.test(correlation=correlation):
            pair, random = drawn(150, correlation, seed=1)
            scales = [item_scale(pair[:, k], np.linspace(-2, 2, 8), random) for k in range(2)]
            found = fit_joint_normal(scales)
            assert found.converged
            assert found.correlation[0, 1] == pytest.approx(by_double_integral(*scales), abs=0.003)


def test_bell_curves_give_the_disattenuated_correlation():
    """With a known error, maximum likelihood takes its square off the variances."""
    pair, random = drawn(400, 0.7, seed=2)
    seen = pair + random.normal(0, 0.5, pair.shape)
    found = fit_joint_normal([normal_scale(seen[:, k], 0.5) for k in range(2)])
    cov = np.cov(seen.T, bias=True) - 0.25 * np.eye(2)
    wanted = cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])
    assert found.correlation[0, 1] == pytest.approx(wanted, abs=1e-3)
    assert wanted > np.corrcoef(seen.T)[0, 1] + 0.05
    np.testing.assert_allclose(found.mean, seen.mean(axis=0), atol=2e-3)


def test_without_error_the_standard_error_is_the_one_of_a_plain_correlation():
    pair, _ = drawn(300, 0.5, seed=3)
    found = fit_joint_normal([normal_scale(pair[:, k], 0.11) for k in range(2)])
    r = found.correlation[0, 1]
    told = correlations(found, 0.95)
    assert told.se[0, 1] == pytest.approx((1 - r**2) / np.sqrt(297), rel=0.05)
    low = np.tanh(np.arctanh(r) - 1.96 / np.sqrt(297))
    assert told.low[0, 1] == pytest.approx(low, abs=0.01)


def test_an_end_lies_as_far_as_its_own_standard_error_says():
    """Classically: z(r) ± t / √(n - 3) has the same reach from wherever one looks."""
    pair, random = drawn(60, 0.9, seed=4)
    seen = pair + random.normal(0, 0.4, pair.shape)
    found = fit_joint_normal([normal_scale(seen[:, k], 0.4) for k in range(2)])
    told = correlations(found, 0.95)
    low, r = told.low[0, 1], found.correlation[0, 1]
    there = found.covariance.copy()
    there[0, 1] = there[1, 0] = low * np.sqrt(there[0, 0] * there[1, 1])
    error = correlations(replace(found, covariance=there), 0.95).se[0, 1]
    share = np.prod(np.sqrt(1 / (1 + 0.16 / np.diag(found.covariance))))
    apart = (np.arctanh(share * r) - np.arctanh(share * low)) * (1 - (share * low) ** 2) / share
    assert apart / error == pytest.approx(student.ppf(0.975, 57), rel=0.02)
    assert r - low > student.ppf(0.975, 57) * told.se[0, 1]  # the error of the estimate is less


def test_a_blur_is_an_error_that_the_likelihood_does_not_know_of():
    pair, random = drawn(200, 0.8, seed=9)
    seen = pair + random.normal(0, 0.5, pair.shape)
    plain = fit_joint_normal([normal_scale(seen[:, k], 0.5) for k in range(2)])
    blurred = fit_joint_normal(
        [replace(normal_scale(seen[:, k], 0.3), blur=np.full(200, 0.16)) for k in range(2)]
    )
    np.testing.assert_allclose(blurred.covariance, plain.covariance, atol=3e-3)
    np.testing.assert_allclose(blurred.ability, plain.ability, atol=0.02)
    np.testing.assert_allclose(blurred.se, plain.se, rtol=0.02)


def test_posteriors_are_those_of_plain_algebra():
    random = np.random.default_rng(4)
    root = random.normal(size=(3, 3))
    covariance, mean = root @ root.T + np.eye(3), random.normal(size=3)
    sites = GaussianSites(random.uniform(0.1, 4, (2, 3)), random.normal(size=(2, 3)))
    ability, spread = posterior(sites, mean, covariance)
    for row in range(2):
        wanted = np.linalg.inv(np.linalg.inv(covariance) + np.diag(sites.precision[row]))
        np.testing.assert_allclose(spread[row], wanted, atol=1e-12)
        centre = wanted @ (np.linalg.inv(covariance) @ mean + sites.shift[row])
        np.testing.assert_allclose(ability[row], centre, atol=1e-12)


def test_who_missed_a_scale_stands_where_the_other_predicts():
    pair, random = drawn(300, 0.8, seed=5)
    seen = pair + random.normal(0, 0.3, pair.shape)
    asked = np.arange(300) > 30
    found = fit_joint_normal([normal_scale(seen[:, 0], 0.3), normal_scale(seen[:, 1], 0.3, asked)])
    slope = found.covariance[0, 1] / found.covariance[0, 0]
    predicted = found.mean[1] + slope * (found.ability[~asked, 0] - found.mean[0])
    np.testing.assert_allclose(found.ability[~asked, 1], predicted, atol=1e-6)
    assert found.se[~asked, 1].min() > found.se[asked, 1].max()
    assert correlations(found, 0.95).rows[0, 1] == asked.sum()


def test_a_scale_that_says_nothing_has_no_known_correlation():
    pair, _ = drawn(50, 0.8, seed=6)
    silent = Scale(NODES, np.zeros((50, len(NODES))), np.ones(50, dtype=bool))
    told = correlations(fit_joint_normal([normal_scale(pair[:, 0], 0.3), silent]), 0.95)
    assert (told.low[0, 1], told.high[0, 1]) == (-1.0, 1.0)


def test_the_same_ability_twice_correlates_one_and_ends_there():
    pair, random = drawn(500, 0.5, seed=8)
    same = pair[:, 0]
    noisy = [same + random.normal(0, 0.6, 500) for _ in range(2)]
    found = fit_joint_normal([normal_scale(seen, 0.6) for seen in noisy])
    told = correlations(found, 0.95)
    assert told.high[0, 1] == 1.0
    assert 0.9 < told.low[0, 1] <= found.correlation[0, 1] <= 1.0


@settings(max_examples=15, deadline=None)
@given(st.integers(5, 40), st.integers(2, 5), st.integers(0, 10_000))
def test_intervals_hold_their_correlation_and_stay_within_one(n, width, seed):
    random = np.random.default_rng(seed)
    seen = random.normal(size=(n, width)) + random.normal(size=(n, 1))
    found = fit_joint_normal([normal_scale(seen[:, k], 0.5) for k in range(width)])
    told = correlations(found, 0.95)
    off = ~np.eye(width, dtype=bool)
    assert (np.linalg.eigvalsh(found.covariance) > -1e-9).all()
    assert (told.low[off] >= -1).all()
    assert (told.high[off] <= 1).all()
    assert (told.low[off] <= told.value[off] + 1e-9).all()
    assert (told.value[off] <= told.high[off] + 1e-9).all()
    np.testing.assert_allclose(told.value, told.value.T)


def test_moments_under_a_normal_prior_are_exact_for_a_bell_curve():
    scale = normal_scale(np.array([0.4, -1.0]), 0.5)
    centre, width = tilted_moments(
        NODES, scale.log_likelihood, np.array([1.0, 0.0]), np.array([1.0, 0.25])
    )
    np.testing.assert_allclose(width, [0.2, 0.125], rtol=1e-6)
    np.testing.assert_allclose(centre, [0.52, -0.5], rtol=1e-6)


PAIR = np.array([[1.5, 0.6], [0.6, 0.8]])


def pair_of(precision, covariance=PAIR):
    """A joint normal distribution whose bell curves are given."""
    sites = GaussianSites(precision, 0.0 * precision)
    return JointNormal(np.zeros(2), covariance, 0 * precision, 0 * precision, sites, True)


def test_abilities_that_are_seen_exactly_have_fishers_interval(subtests):
    for n, sign in [(4, 1), (5, 1), (50, 1), (50, -1)]:
        with subtests.test(n=n, sign=sign):
            covariance = np.where(np.eye(2) > 0, PAIR, sign * PAIR)
            r = sign * PAIR[0, 1] / np.sqrt(PAIR[0, 0] * PAIR[1, 1])
            told = correlations(pair_of(np.full((n, 2), 1e9), covariance), 0.9)
            assert told.se[0, 1] == pytest.approx((1 - r**2) / np.sqrt(n - 3), rel=1e-6)
            reach = student.ppf(0.95, n - 3) / np.sqrt(n - 3) * np.array([-1, 1])
            wanted = np.tanh(np.arctanh(r) + reach)
            assert (told.low[0, 1], told.high[0, 1]) == pytest.approx(tuple(wanted), abs=2e-4)
            assert (told.low[1, 0], told.high[1, 0]) == (told.low[0, 1], told.high[0, 1])
            assert told.rows[1, 0] == n


def test_three_respondents_say_nothing_of_a_correlation():
    told = correlations(pair_of(np.full((3, 2), 1e9)), 0.95)
    assert (told.se[0, 1], told.low[0, 1], told.high[0, 1]) == (np.inf, -1.0, 1.0)
    assert told.rows[0, 1] == 3


def test_the_standard_error_is_that_of_the_expected_information_with_error_added():
    """Information on both variances and the covariance of what is seen, by differences."""
    precision = np.random.default_rng(3).uniform(0.5, 5.0, (12, 2))

    def seen(place):
        a, b, c = place
        return np.array([[a, c], [c, b]]) + np.array([np.diag(1 / row) for row in precision])

    place, steps = np.array([PAIR[0, 0], PAIR[1, 1], PAIR[0, 1]]), 1e-5 * np.eye(3)
    inverse = np.linalg.inv(seen(place))
    slopes = [inverse @ (seen(place + h) - seen(place - h)) / 2e-5 for h in steps]
    information = [[np.einsum("nij,nji->", x, y) / 2 for x in slopes] for y in slopes]

    def r(place):
        return place[2] / np.sqrt(place[0] * place[1])

    slope = np.array([(r(place + h) - r(place - h)) / 2e-5 for h in steps])
    wanted = np.sqrt(slope @ np.linalg.inv(information) @ slope * 12 / 9)
    assert correlations(pair_of(precision), 0.95).se[0, 1] == pytest.approx(wanted, rel=1e-6)


def test_both_ends_of_an_interval_are_as_many_of_their_own_errors_away():
    precision = np.random.default_rng(3).uniform(2.0, 9.0, (40, 2))
    told = correlations(pair_of(precision), 0.8)
    seen = precision * np.diag(PAIR)
    share = np.sqrt((seen / (1 + seen)).mean(axis=0).prod())
    unit = np.sqrt(PAIR[0, 0] * PAIR[1, 1])
    for end, side in ((told.low[0, 1], -1), (told.high[0, 1], 1)):
        there = np.where(np.eye(2) > 0, PAIR, end * unit)
        error = correlations(pair_of(precision, there), 0.8).se[0, 1]
        apart = np.arctanh(share * end) - np.arctanh(share * PAIR[0, 1] / unit)
        reach = error * share / (1 - (share * end) ** 2)
        assert apart / reach == pytest.approx(side * student.ppf(0.9, 37), rel=2e-3)


def test_bell_curves_in_place_of_bell_curves_are_the_same(subtests):
    """With a blur, its variance is added to the error that the likelihood knows of."""
    seen, mean = np.array([0.3, -1.2, 0.9]), np.array([0.1, -0.2])
    for blur in (None, np.full(3, 0.2)):
        with subtests.test(blur=blur):
            first = replace(normal_scale(seen, 0.5), blur=blur)
            scales = [first, normal_scale(seen + 0.1, 0.4)]
            flat = GaussianSites(np.zeros((3, 2)), np.zeros((3, 2)))
            found = refine_sites(scales, mean, PAIR, refine_sites(scales, mean, PAIR, flat))
            error = np.array([0.25 if blur is None else 0.45, 0.16])
            np.testing.assert_allclose(found.precision, 1 / error + np.zeros((3, 2)), rtol=1e-5)
            wanted = np.stack([seen, seen + 0.1], axis=1) / error
            np.testing.assert_allclose(found.shift, wanted, rtol=1e-5)


def test_a_likelihood_narrower_than_the_nodes_shows_half_a_node_and_then_stays():
    peak = np.where(np.abs(NODES - 1.0) < 0.01, 0.0, -1e4)[None]
    scale = Scale(NODES, peak, np.ones(1, dtype=bool))
    flat = GaussianSites(np.zeros((1, 1)), np.zeros((1, 1)))
    once = refine_sites([scale], np.zeros(1), np.eye(1), flat)
    narrowest = 0.5 * 0.1**2
    assert once.precision[0, 0] == pytest.approx(1 / narrowest - 1, rel=1e-6)
    assert once.shift[0, 0] == pytest.approx(1 / narrowest, rel=1e-6)
    twice = refine_sites([scale], np.zeros(1), np.eye(1), once)
    assert (twice.precision[0, 0], twice.shift[0, 0]) == (once.precision[0, 0], once.shift[0, 0])


def test_a_likelihood_that_says_nothing_gets_the_least_precision_of_its_unit():
    flat = GaussianSites(np.zeros((2, 1)), np.zeros((2, 1)))
    silent = Scale(NODES, np.zeros((2, len(NODES))), np.array([True, False]), sd=0.5)
    found = refine_sites([silent], np.zeros(1), np.full((1, 1), 0.25), flat)
    np.testing.assert_allclose(found.precision[:, 0], [1e-3 / 0.25, 0.0], rtol=1e-6)


def test_the_fit_is_where_em_stays():
    pair, random = drawn(80, 0.6, seed=11)
    seen = pair * [1.0, 0.7] + [0.5, -0.3] + random.normal(0, 0.4, pair.shape)
    found = fit_joint_normal([normal_scale(seen[:, k], 0.4) for k in range(2)])
    cov = np.cov(seen.T, bias=True) - 0.16 * np.eye(2)
    np.testing.assert_allclose(found.covariance, cov, atol=2e-3)
    np.testing.assert_allclose(found.mean, seen.mean(axis=0), atol=1e-3)
    assert found.converged
    weight = np.linalg.inv(found.covariance) + np.eye(2) / 0.16
    wanted = np.sqrt(np.diag(np.linalg.inv(weight)))
    np.testing.assert_allclose(found.se, wanted + np.zeros((80, 2)), rtol=1e-4)


MEAN = np.array([0.2, -0.4, 0.1])
FACTOR = np.array([[1.0, 0.0], [0.6, 0.5], [-0.3, 0.8]])


def told(n, factor, error, seed):
    """Abilities of covariance factor @ factor.T, each seen with an error."""
    random = np.random.default_rng(seed)
    ability = random.normal(size=(n, factor.shape[1])) @ factor.T
    error = error * random.uniform(0.7, 1.5, ability.shape)
    seen = ability + error * random.normal(size=ability.shape)
    return FactoredNormal(1 / error**2, seen / error**2), seen, error


def log_likelihood(seen, error, mean, covariance):
    return sum(
        multivariate_normal(mean, covariance + np.diag(one**2)).logpdf(y)
        for one, y in zip(error, seen, strict=True)
    )


def test_the_likelihood_is_that_of_what_was_seen_up_to_a_constant():
    normal, seen, error = told(9, FACTOR, 0.8, seed=1)
    places = [(MEAN, FACTOR), (0 * MEAN, FACTOR[:, :1]), (2 * MEAN, 0.3 * FACTOR)]
    ours = [normal.value_and_gradient(mean, factor)[0] for mean, factor in places]
    theirs = [log_likelihood(seen, error, mean, f @ f.T) for mean, f in places]
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs))


def test_slopes_are_differences():
    normal, _, _ = told(9, FACTOR, 0.8, seed=2)
    _, by_mean, by_factor = normal.value_and_gradient(MEAN, FACTOR)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        up, down = (normal.value_and_gradient(MEAN + s, FACTOR)[0] for s in (step, -step))
        assert (up - down) / 2e-6 == pytest.approx(by_mean[k], rel=1e-6)
        for j in range(2):
            turn = np.zeros_like(FACTOR)
            turn[k, j] = 1e-6
            up, down = (normal.value_and_gradient(MEAN, FACTOR + s)[0] for s in (turn, -turn))
            assert (up - down) / 2e-6 == pytest.approx(by_factor[k, j], rel=1e-5, abs=1e-6)


def test_the_top_is_where_em_stays():
    whole = np.array([[1.0, 0.0, 0.0], [0.6, 0.7, 0.0], [-0.3, 0.5, 0.8]])
    normal, _, _ = told(400, whole, 0.5, seed=3)
    mean, covariance = normal.maximized(np.zeros(3), np.eye(3), 1e-8)
    ability, spread = posterior(GaussianSites(normal.precision, normal.shift), mean, covariance)
    np.testing.assert_allclose(ability.mean(axis=0), mean, atol=1e-5)
    again = np.cov(ability.T, bias=True) + spread.mean(axis=0)
    np.testing.assert_allclose(again, covariance, atol=1e-5)
    np.testing.assert_allclose(covariance, whole @ whole.T, atol=0.25)


def test_a_singular_covariance_is_reached_and_nothing_rises_from_there():
    single = np.array([[1.0], [0.8], [0.9], [0.7], [1.1]])
    normal, _, _ = told(300, single, 1.5, seed=4)
    mean, covariance = normal.maximized(np.zeros(5), np.eye(5), 1e-7)
    values, vectors = np.linalg.eigh(covariance)
    assert values[0] < 1e-4 < 0.5 < values[-1]
    held = values > 1e-6
    rise = normal._covariance_gradient(mean, vectors[:, held] * np.sqrt(values[held])) / 300
    assert np.linalg.eigvalsh(rise)[-1] < 1e-3
    assert np.abs(rise @ covariance).max() < 1e-4


def test_directions_that_were_left_out_come_back():
    whole = np.array([[1.0, 0.0], [0.2, 0.9]])
    normal, _, _ = told(300, whole, 0.4, seed=5)
    alone = np.array([[1.0, 0.5], [0.5, 0.25]])  # of rank one
    found = normal.maximized(np.zeros(2), alone, 1e-7)
    expected = normal.maximized(np.zeros(2), np.eye(2), 1e-7)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_where_nothing_varies_the_covariance_is_nothing():
    normal = FactoredNormal(np.full((6, 2), 3.0), np.full((6, 2), 1.5))  # all see the same
    for begin in (np.zeros((2, 2)), np.eye(2)):
        mean, covariance = normal.maximized(np.zeros(2), begin, 1e-9)
        np.testing.assert_allclose(mean, 0.5, atol=1e-6)
        np.testing.assert_allclose(covariance, 0.0, atol=1e-4)

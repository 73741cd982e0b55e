"""The continuous model with scores that are cut off."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

from ogive.errors import InputError
from ogive.irt.models.censored import Censored
from ogive.irt.models.continuous import Continuous

ABILITIES = np.linspace(-3.0, 3.0, 7)
LIMITS = (0.2, 0.9)
ITEMS = {"discrimination": [1.5, -0.8], "difficulty": [-0.5, 0.7], "scaling": [0.8, -1.1]}


def fitted(limits=LIMITS, bounds=(0.0, 1.0)):
    cells = np.array([[0.2, 0.5], [0.6, 0.9], [0.3, 0.4]])
    return Censored(bounds=bounds, limits=limits).fitted_to(cells, ["a", "b"])


def log_density(model, cells, coords):
    """Of each cell at each ability, (n_cells, n_items, n_abilities), with the part of no item."""
    table = np.repeat(np.asarray(cells, dtype=float)[:, None], 2, axis=1)
    statistics = model.statistics(model.read(table), np.float64)
    terms = model.log_terms(coords, ABILITIES)
    base = [model.log_base(table[[row]], np.ones(1)) / 2 for row in range(len(table))]
    found = terms[0] + sum(t[..., None] * g for t, g in zip(statistics, terms[1:], strict=True))
    return found + np.array(base)[:, None, None]


def test_a_score_beyond_a_limit_contributes_the_chance_of_lying_there():
    model = fitted()
    coords = model.from_parameters(ITEMS)
    alpha, beta, gamma = (np.array(ITEMS[name])[:, None] for name in ITEMS)
    mean, spread = (ABILITIES - beta) / gamma, 1 / (alpha * gamma)
    low, inside, high = log_density(model, [0.2, 0.5, 0.9], coords)
    np.testing.assert_allclose(low, norm.logcdf(logit(0.2), mean, spread), rtol=1e-10)
    np.testing.assert_allclose(high, norm.logsf(logit(0.9), mean, spread), rtol=1e-10)
    dense = norm.logpdf(0.0, mean, spread) + np.log(4.0)  # dz / dy at one half
    np.testing.assert_allclose(inside, dense, rtol=1e-10)
    farther = log_density(model, [0.01, 0.999], coords)
    np.testing.assert_allclose(farther, [low, high], rtol=1e-12)


def test_chances_and_expected_scores_are_those_of_a_normal_that_is_cut_off():
    model = fitted()
    coords = model.from_parameters(ITEMS)
    below, above = model.chance_beyond(coords, ABILITIES)
    expected = model.expected(coords, ABILITIES)
    for item in range(2):
        alpha, beta, gamma = (ITEMS[name][item] for name in ITEMS)
        for place, ability in enumerate(ABILITIES):
            z = norm((ability - beta) / gamma, 1 / (alpha * gamma))
            assert below[item, place] == pytest.approx(z.cdf(logit(0.2)), rel=1e-9)
            assert above[item, place] == pytest.approx(z.sf(logit(0.9)), rel=1e-9)
            score = quad(lambda x, z=z: np.clip(expit(x), 0.2, 0.9) * z.pdf(x), -40, 40,
                         points=[logit(0.2), logit(0.9), z.mean()], limit=200)[0]  # fmt: skip
            assert expected[item, place] == pytest.approx(score, rel=1e-7)


def test_derivatives_and_informations_hold_where_scores_are_cut_off():
    model, nudge = fitted(), 1e-5
    coords = model.from_parameters(ITEMS)
    steps = nudge * np.eye(3)
    by_differences = np.stack(
        [
            (model.log_terms(coords + s, ABILITIES) - model.log_terms(coords - s, ABILITIES))
            / (2 * nudge)
            for s in steps
        ]
    )
    found = model.term_slopes(coords, ABILITIES)
    np.testing.assert_allclose(found, by_differences, rtol=1e-6, atol=1e-7)
    random = np.random.default_rng(0)
    counts = random.uniform(0.5, 2, (4, 2, ABILITIES.size))
    counts[1] += counts[0] ** 2
    totals = counts[2] + counts[3] + random.uniform(1, 3, (2, ABILITIES.size))
    gradient, _, observed = model.curvature(coords, ABILITIES, counts, totals)

    def value(moved):
        terms = model.log_terms(moved, ABILITIES)
        return (totals * terms[0]).sum(axis=1) + (counts * terms[1:]).sum(axis=(0, 2))

    slopes = np.stack([(value(coords + s) - value(coords - s)) / (2 * nudge) for s in steps], 1)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6)
    moved = [
        (
            model.curvature(coords + s, ABILITIES, counts, totals)[0]
            - model.curvature(coords - s, ABILITIES, counts, totals)[0]
        )
        / (2 * nudge)
        for s in steps
    ]
    np.testing.assert_allclose(observed, -np.stack(moved, axis=1), rtol=1e-5, atol=1e-5)


def test_the_information_of_a_score_that_is_cut_off_is_the_mean_square_of_its_slope():
    model = fitted()
    coords = model.from_parameters(ITEMS)
    found = model.ability_slopes(coords, ABILITIES)
    alpha, beta, gamma = (ITEMS[name][0] for name in ITEMS)
    z = logit(np.linspace(0.2, 0.9, 40_001))
    for place, ability in enumerate(ABILITIES):
        spread = 1 / (alpha * gamma)
        x, low, high = ((end - (ability - beta) / gamma) / spread for end in (z, z[0], z[-1]))
        ratios = norm.pdf(low) ** 2 / norm.cdf(low) + norm.pdf(high) ** 2 / norm.sf(high)
        inner = np.trapezoid(x**2 * norm.pdf(x), x)
        assert found.information[0, place] == pytest.approx(alpha**2 * (inner + ratios), rel=1e-6)
    assert (found.information[0] < Continuous().information(coords, ABILITIES)[0]).all()


@pytest.mark.parametrize("noise", [0.5, 6.0, 20.0])
@pytest.mark.parametrize("model", [Censored(), fitted()], ids=["not cut off", "cut off"])
def test_moments_of_noisy_scores_are_those_of_an_adaptive_integral(noise, model):
    coords = np.array([[0.7, -0.4, np.log(noise)]])
    mean = 0.7 * noise * 1.0 - 0.4
    low, high = (float(end[0]) for end in model.ends(coords))
    worst, best = expit(low), expit(high)

    def moment(power):
        def density(x):
            return norm.pdf(x) * np.clip(expit(mean + noise * x), worst, best) ** power

        kinks = [(place - mean) / noise for place in (low, 0.0, high)]
        inside = [x for x in kinks if abs(x) < 9]
        return quad(density, -9, 9, points=inside, epsabs=1e-13, epsrel=1e-12, limit=500)[0]

    first, second = moment(1), moment(2)
    at = np.array([1.0])
    assert model.expected(coords, at)[0, 0] == pytest.approx(first, rel=1e-8)
    assert model.variance(coords, at)[0, 0] == pytest.approx(second - first**2, rel=1e-7)


def test_limits_that_cannot_be_are_refused():
    for limits in [(0.9, 0.2), (0.2, np.nan), "ab", (0.2,), 3]:
        with pytest.raises(InputError, match="limits"):
            Censored(limits=limits)
    with pytest.raises(InputError, match="within the bounds"):
        fitted(limits=(-1.0, 0.9))
    with pytest.raises(InputError, match="right or wrong"):
        Censored(limits=LIMITS).fitted_to(np.array([[0.1, 0.95], [0.2, 0.9]]), ["a", "b"])
    with pytest.raises(InputError, match="at_bounds"):
        Censored(at_bounds=0.01)

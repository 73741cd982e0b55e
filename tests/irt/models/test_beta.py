"""The beta model: the formula of its authors, its shapes, its tails."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln, digamma

from ogive.errors import InputError
from ogive.irt.models.beta import BetaResponse, BoundTerm

ABILITIES = np.linspace(-3.0, 3.0, 13)
SCORES = np.array([1e-6, 0.05, 0.3, 0.5, 0.8, 0.999])


def density(discrimination, difficulty, abilities=ABILITIES, scores=SCORES):
    """Log-density of each score at each ability, with the part that no item changes."""
    model, coords = BetaResponse(), np.array([[discrimination, difficulty]])
    terms = model.log_terms(coords, abilities)[:, 0]
    found = []
    for score in scores:
        cell = np.array([[score]])
        statistics = [table[0, 0] for table in model.statistics(model.read(cell), np.float64)]
        found.append(terms[0] + statistics @ terms[1:] + model.log_base(cell, np.ones(1)))
    return np.array(found)


def test_scores_follow_the_beta_distribution_of_the_paper(subtests):
    for discrimination, difficulty in product([-2.0, -0.7, 0.4, 1.0, 2.5], [-1.2, 0.0, 0.8]):
        with subtests.test(discrimination=discrimination, difficulty=difficulty):
            able, hard = stats.norm.cdf(ABILITIES), stats.norm.cdf(difficulty)
            alpha = (able / hard) ** discrimination
            beta = ((1 - able) / (1 - hard)) ** discrimination
            np.testing.assert_allclose(
                density(discrimination, difficulty),
                stats.beta.logpdf(SCORES[:, None], alpha, beta),
                rtol=1e-9,
                atol=1e-9,
            )
            model, coords = BetaResponse(), np.array([[discrimination, difficulty]])
            np.testing.assert_allclose(
                model.expected(coords, ABILITIES)[0], stats.beta.mean(alpha, beta)
            )
            np.testing.assert_allclose(
                model.variance(coords, ABILITIES)[0], stats.beta.var(alpha, beta)
            )


def test_a_discrimination_of_one_at_medium_difficulty_is_a_line_in_the_papers_ability():
    expected = BetaResponse().expected(np.array([[1.0, 0.0]]), ABILITIES)[0]
    np.testing.assert_allclose(expected, stats.norm.cdf(ABILITIES), rtol=1e-12)


def test_at_its_difficulty_every_score_is_as_likely_as_any_other(subtests):
    for discrimination in [-2.0, 0.5, 3.0]:
        with subtests.test(discrimination=discrimination):
            np.testing.assert_allclose(
                density(discrimination, 0.7, np.array([0.7])), 0.0, atol=1e-12
            )


def test_with_negative_discrimination_the_expected_score_falls(subtests):
    for discrimination in [-3.0, -1.0, -0.2]:
        with subtests.test(discrimination=discrimination):
            expected = BetaResponse().expected(np.array([[discrimination, 0.3]]), ABILITIES)[0]
            assert (np.diff(expected) < 0).all()
            assert expected[0] > 0.5 > expected[-1]


# Discrimination, difficulty and ability; then the constant term and its derivatives in the three,
# computed with 60 digits. One shape is as large as 1e12 or as small as 1e-30; differences of
# their log-gammas stay within range.
EXACT = [
    (1.5, 0.5, 1.0,
     -0.85964609765802331, -0.65199258982961066, 1.5598885764283248, -2.3535241258069589),
    (-2.0, 0.0, 2.0,
     0.3781901028481218, 0.98211481794433937, 3.8482953655024328, 0.94803408582147658),
    (-2.0, 0.0, 4.0,
     3.5458277522782374, 1.6660061363978501, 9.0011427651251582, 2.1113606692154709),
    (-2.0, 0.0, -5.0,
     5.8979078076349786, 2.1205015708125499, -12.754652194805519, -2.5932289608336552),
    (-1.0, 0.5, 6.0,
     13.25421126558541, -8.2179008669639971, 6.5358171581067966, 4.2583594583452516),
    (4.0, -3.0, 2.0,
     -15.127326845605323, -3.7818591657751501, 0.017747947924911411, -9.4929308880334248),
    (2.0, 0.0, 5.0,
     -28.743702426856958, -14.371851213437182, 1.5957691216060968, -10.373007934257935),
    (2.0, 0.0, -6.0,
     -40.087243538829521, -20.04362176941476, -1.5957691216057307, 12.316965209089198),
    (2.0, 1.0, 8.0,
     -66.344831029810573, -33.172415514905286, 3.0502705523219624, -16.242736224472225),
]  # fmt: skip


def test_terms_are_exact_where_a_shape_is_very_large_or_very_small(subtests):
    for case in EXACT:
        with subtests.test(case=case):
            a, b, ability, constant, by_slope, by_difficulty, by_ability = case
            model, coords, at = BetaResponse(), np.array([[a, b]]), np.array([ability])
            slopes = model.term_slopes(coords, at)[:, 0, 0, 0]
            assert model.log_terms(coords, at)[0, 0, 0] == pytest.approx(constant, rel=1e-8)
            assert slopes[0] == pytest.approx(by_slope, rel=1e-8)
            assert slopes[1] == pytest.approx(by_difficulty, rel=1e-8)
            assert model.ability_slopes(coords, at).terms[0, 0, 0] == pytest.approx(
                by_ability, rel=1e-8
            )


def test_slopes_are_those_of_the_terms_as_far_as_abilities_are_looked_for(subtests):
    for ability, discrimination in product([-9.0, -7.0, -5.0, 5.0, 7.0, 9.0], [-1.5, 0.7, 2.0]):
        with subtests.test(ability=ability, discrimination=discrimination):
            model, coords, nudge = BetaResponse(), np.array([[discrimination, 0.3]]), 1e-4
            up, down = (model.log_terms(coords, np.array([ability + s])) for s in (nudge, -nudge))
            found = model.ability_slopes(coords, np.array([ability])).terms
            np.testing.assert_allclose(found, (up - down) / (2 * nudge), rtol=1e-5, atol=1e-8)


def test_a_score_that_counts_as_at_a_bound_has_the_chance_of_all_beyond(subtests):
    for nearest, discrimination in product([1e-9, 1e-4, 5e-3], [-1.5, 0.7, 2.0]):
        with subtests.test(nearest=nearest, discrimination=discrimination):
            model, coords = (
                BetaResponse(inside=(nearest, 1 - nearest)),
                np.array([[discrimination, 0.3]]),
            )
            able, hard = stats.norm.cdf(ABILITIES), stats.norm.cdf(0.3)
            alpha = (able / hard) ** discrimination
            beta = ((1 - able) / (1 - hard)) ** discrimination
            terms = model.log_terms(coords, ABILITIES)[:, 0]
            for score, expected in (
                (0.0, stats.beta.cdf(nearest, alpha, beta)),
                (1.0, stats.beta.sf(1 - nearest, alpha, beta)),
            ):
                cell = np.array([[score]])
                assert model.log_base(cell, np.ones(1)) == 0.0
                statistics = [
                    table[0, 0] for table in model.statistics(model.read(cell), np.float64)
                ]
                found = np.exp(terms[0] + statistics @ terms[1:])
                np.testing.assert_allclose(found, expected, rtol=0.05, atol=1e-9)


def test_only_scores_at_the_bounds_are_cut_off():
    cells = np.array([[0.0, 0.4], [1.0, 0.8], [1e-5, 0.002]])
    model = BetaResponse().fitted_to(cells, ["a", "b"])
    low, high = model.statistics(model.read(cells), np.float64)[2:]
    np.testing.assert_array_equal(low, [[1, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(high, [[0, 0], [1, 0], [0, 0]])


def test_rescaling_keeps_the_place_of_an_item_and_its_sign():
    coords = np.array([[1.5, 0.4], [-0.8, -1.0]])
    moved = BetaResponse().rescale(coords, 0.5, 2.0)
    np.testing.assert_allclose(moved[:, 1], (coords[:, 1] - 0.5) / 2.0)
    np.testing.assert_allclose(moved[:, 0], 2.0 * coords[:, 0])
    turned = BetaResponse().rescale(coords, 0.0, -1.0)
    np.testing.assert_allclose(
        BetaResponse().expected(turned, -ABILITIES), BetaResponse().expected(coords, ABILITIES)
    )


def test_every_item_starts_with_a_discrimination_that_can_move(subtests):
    for loading in [-0.9, -0.05, 0.0, 0.05, 0.9]:
        with subtests.test(loading=loading):
            found = BetaResponse().start(
                np.array([[-0.7], [-0.7]]), np.ones(1), np.array([loading])
            )
            assert abs(found[0, 0]) >= 0.2
            assert (found[0, 0] < 0) == (loading < 0)


def test_a_score_outside_zero_and_one_is_refused(subtests):
    for score in [-0.1, 1.5, -3.0]:
        with (
            subtests.test(score=score),
            pytest.raises(
                InputError,
                match=rf"Item 'a' has the response {score:g}, outside .*beta model.*continuous",
            ),
        ):
            BetaResponse().fitted_to(np.array([[score], [0.5]]), ["a"])


def test_other_bounds_than_zero_and_one_are_refused(subtests):
    """The distribution is one of shares; its expected score would lie on another scale."""
    for bounds in [(0, 10), "table", "items", ((0, 1), (0, 5))]:
        with subtests.test(bounds=bounds), pytest.raises(InputError, match="bounds"):
            BetaResponse(bounds=bounds)


def test_scores_at_the_bounds_stand_midway_to_the_nearest_inside_or_closer():
    near, far = np.array([[0.0, 0.004], [1.0, 0.8]]), np.array([[0.0, 0.4], [1.0, 0.8]])
    assert BetaResponse().fitted_to(near, ["a", "b"]).inside == pytest.approx((0.002, 0.99))
    assert BetaResponse().fitted_to(far, ["a", "b"]).inside == pytest.approx((0.01, 0.99))


def divergence(model, coords, abilities, other, others):
    """Mean Kullback-Leibler divergence of responses from those of other items and abilities."""
    a, b = model.log_terms(coords, abilities)[1:3]
    c, d = model.log_terms(other, others)[1:3]
    found = betaln(c, d) - betaln(a, b) + (a - c) * digamma(a) + (b - d) * digamma(b)
    found += (c - a + d - b) * digamma(a + b)
    return float((found @ np.exp(-0.5 * abilities**2)).sum())


def test_directions_of_the_scale_are_the_moves_of_items_nearest_to_a_move_of_abilities(subtests):
    """Nearest in Kullback-Leibler divergence: every other move of the item is farther off."""
    model, step, at = BetaResponse(), 1e-3, np.linspace(-2.5, 2.5, 21)
    coords = np.array([[1.5, 0.8], [0.7, -1.0], [2.5, 0.3]])
    ways = model.scale_directions(coords)
    for name, way, there in zip(
        ("origin", "unit"), ways, (at + step, at * (1 + step)), strict=True
    ):
        best = divergence(model, coords, at, coords + step * way, 2 * at - there)
        for k, nudge in product((0, 1), (-0.1, 0.1)):
            with subtests.test(name, coordinate=k, nudge=nudge):
                aside = way + nudge * np.eye(2)[k]
                assert divergence(model, coords, at, coords + step * aside, 2 * at - there) > best
    assert (np.linalg.eigvalsh(model.scale_information(coords)) > 0).all()


def test_the_chance_of_a_bound_has_the_derivatives_of_its_integral(subtests):
    """Against integrals: moments of log t and of t under t^(shape - 1) exp(-x t) on (0, 1)."""
    for shape, x in product([0.4, 1.0, 3.0], [0.0, 0.3, 4.0]):
        with subtests.test(shape=shape, x=x):
            found = BoundTerm.of(np.array([shape]), np.array([x]))

            def moment(power, length, shape=shape, x=x):
                """In u = t^shape, which has no pole."""
                return quad(
                    lambda u: (
                        (np.log(u) / shape) ** power
                        * u ** (length / shape)
                        * np.exp(-x * u ** (1 / shape))
                        / shape
                    ),
                    0.0,
                    1.0,
                )[0]

            whole = moment(0, 0)
            log, square, long = (moment(*each) / whole for each in [(1, 0), (2, 0), (0, 1)])
            assert found.value[0] == pytest.approx(np.log(whole), rel=1e-6)
            assert found.own[0] == pytest.approx(shape * log, rel=1e-5)
            bend = shape * log + shape**2 * (square - log**2)
            assert found.own_own[0] == pytest.approx(bend, rel=1e-3, abs=1e-6)
            assert found.other[0] == pytest.approx(-x * long, rel=1e-6, abs=1e-12)

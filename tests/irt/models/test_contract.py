"""What every model promises, over the registry."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, log_expit, log_softmax

from ogive.errors import InputError
from ogive.irt.models import MODELS, find_model, with_priors
from ogive.irt.models.base import Beta, MeasurementModel, Normal
from ogive.irt.models.beta import Shapes
from ogive.irt.models.categorical import Categorical
from ogive.irt.models.censored import Censored

ABILITIES = np.linspace(-4.0, 4.0, 17)
FAR = np.array([-800.0, 800.0])
ITEMS = list("abcde")
FIXTURE_IS_CONSTANT = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
seeds = st.integers(0, 10_000)
# A chance near zero or one has a logarithm too steep for differences.
RANGES = {"discrimination": (0.3, 2.0), "difficulty": (-2.0, 2.0), "slip": (0.03, 0.1)}


def abilities_of(model):
    """Where the model is asked.

    Half as far if it is not affine: the shapes of the beta model grow as powers of 1 / Φ, and
    differences of log-gammas of 1e8 are noise. `test_beta` has exact values farther out.
    """
    return ABILITIES if model.affine else ABILITIES / 2


def some_items(model, seed=0, n_items=5):
    """Plausible coordinates, where finite differences are sharp; the first slope is negative."""
    random = np.random.default_rng(seed)
    coords = model.from_parameters(
        {
            name: np.clip(column, *RANGES.get(name, (-np.inf, np.inf)))
            for name, column in model.sample(n_items, random).items()
        }
    )
    if not model.coordinates[0].shared:
        coords[:1] = model.rescale(coords[:1], 0.0, -1.0)
    return coords


def numeric(function, coords, nudge):
    """Central differences of `function` in each coordinate, stacked first."""
    steps = nudge * np.eye(coords.shape[1])
    return np.stack(
        [(function(coords + step) - function(coords - step)) / (2 * nudge) for step in steps]
    )


@dataclass(frozen=True)
class Support:
    """All responses: as engines read them, as they are given, and the weight of each in a sum."""

    values: np.ndarray  # (n_points,)
    responses: np.ndarray  # (n_points,)
    weights: np.ndarray  # (n_points,)

    def mean(self, density, of):
        """Mean of `of` (n_points, ...) under `density` (n_points, n_items, n_abilities)."""
        return np.einsum("p,pij,pij->ij", self.weights, density, np.broadcast_to(of, density.shape))


def support(model):
    """The categories; or log-odds of scores, spaced evenly near zero and ever wider beyond.

    With z = sinh(u), sums over equal steps of u are integrals over z to 1e-12, also of a beta
    density whose tail in z is as flat as exp(-1e-9 z).
    """
    if model.kind != "continuous":
        categories = np.arange(model.n_categories)
        worth = model.scored(categories + float(model.lowest or 0))
        return Support(categories, worth, np.ones(model.n_categories))
    u = np.linspace(-26.0, 26.0, 2601)
    low, high = model.extent()
    return Support(np.sinh(u), low + (high - low) * expit(np.sinh(u)), 0.02 * np.cosh(u))


def statistics_of(model, values):
    """Statistics of `values`; for the beta model, of scores that no bound has cut off."""
    if model.name == "beta":
        return [log_expit(values), log_expit(-values), 0 * values, 0 * values]
    return model.statistics(np.asarray(values), np.float64)


def log_density(model, coords, abilities, values):
    """g₀ + Σ t g: what engines take for the log-density, (n_values, n_items, n_abilities)."""
    return combined(model, model.log_terms(coords, abilities), values)


def combined(model, terms, values):
    """Terms, or derivatives of them, summed with the statistics of `values` (n_values,)."""
    statistics = statistics_of(model, values)
    return terms[0] + sum(t[:, None, None] * g for t, g in zip(statistics, terms[1:], strict=True))


def test_the_registry_names_its_models(bares, subtests):
    for bare in bares:
        with subtests.test(bare.name):
            assert find_model(bare.name) == bare
            assert find_model(bare.name.upper()) == bare
            assert find_model(bare) is bare


# The models of the documentation in their public parameters, written with SciPy: log-densities
# of `responses` (n, 1, 1) where parameters are (n_items, 1) and abilities (n_abilities,).


def plain_logistic(responses, abilities, bounds, p):
    low, span = p["guessing"], 1 - p["slip"] - p["guessing"]
    chance = low + span * expit(p["discrimination"] * (abilities - p["difficulty"]))
    return stats.bernoulli.logpmf(responses, chance)


def steps_of(p):
    return [p[name] for name in sorted(p) if name.startswith("difficulty_")]


def plain_graded(responses, abilities, bounds, p):
    reached = [expit(p["discrimination"] * (abilities - b)) for b in steps_of(p)]
    ladder = np.stack([np.ones_like(reached[0]), *reached, np.zeros_like(reached[0])])
    return np.log(-np.diff(ladder, axis=0))[responses[:, 0, 0]]


def plain_partial_credit(responses, abilities, bounds, p):
    rises = [p["discrimination"] * (abilities - b) for b in steps_of(p)]
    odds = np.cumsum([np.zeros_like(rises[0]), *rises], axis=0)
    return log_softmax(odds, axis=0)[responses[:, 0, 0]]


def plain_nominal(responses, abilities, bounds, p):
    wrong = range(1, 1 + sum(name.startswith("slope_") for name in p))
    odds = [p[f"slope_{k}"] * abilities + p[f"intercept_{k}"] for k in wrong]
    return log_softmax(np.stack([0 * odds[0], *odds]), axis=0)[responses[:, 0, 0]]


def plain_continuous(responses, abilities, bounds, p):
    low, high = bounds
    z = np.log((responses - low) / (high - responses))
    mean = (abilities - p["difficulty"]) / p["scaling"]
    deviation = 1 / (p["discrimination"] * p["scaling"])
    stretch = (high - low) / ((responses - low) * (high - responses))
    return stats.norm.logpdf(z, mean, deviation) + np.log(stretch)


def plain_beta(responses, abilities, bounds, p):
    able, hard = stats.norm.cdf(abilities), stats.norm.cdf(p["difficulty"])
    up = (able / hard) ** p["discrimination"]
    down = ((1 - able) / (1 - hard)) ** p["discrimination"]
    return stats.beta.logpdf(responses, up, down)


PLAIN = {
    "1pl": plain_logistic,
    "2pl": plain_logistic,
    "3pl": plain_logistic,
    "4pl": plain_logistic,
    "graded": plain_graded,
    "gpcm": plain_partial_credit,
    "nominal": plain_nominal,
    "continuous": plain_continuous,
    "censored": plain_continuous,  # no score of these tests lies beyond a limit
    "beta": plain_beta,
}


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_terms_and_statistics_give_the_density_of_the_documentation(model, seed):
    """Also that of each response alone, with the part that no item changes."""
    coords, abilities = some_items(model, seed), np.linspace(-2.5, 2.5, 11)
    low, high = model.extent()
    if model.kind == "continuous":
        responses = low + (high - low) * np.array([1e-4, 0.03, 0.4, 0.77, 0.999])
    else:
        responses = np.arange(model.n_categories)
    parameters = {name: column[:, None] for name, column in model.parameters(coords).items()}
    expected = PLAIN[model.name](responses[:, None, None], abilities, (low, high), parameters)
    cells = np.repeat(responses[:, None], 5, axis=1)
    base = [model.log_base(cells[[row]], np.ones(1)) / 5 for row in range(len(cells))]
    terms = model.log_terms(coords, abilities)
    statistics = model.statistics(model.read(cells), np.float64)
    found = terms[0] + sum(t[..., None] * g for t, g in zip(statistics, terms[1:], strict=True))
    # A chance by subtraction of two others holds 1e-12 of itself where it is above 1e-4.
    np.testing.assert_allclose(
        found + np.array(base)[:, None, None], expected, rtol=1e-9, atol=1e-9
    )


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_probabilities_sum_and_densities_integrate_to_one(model, seed):
    abilities = abilities_of(model)
    coords, all_of_them = some_items(model, seed), support(model)
    density = np.exp(log_density(model, coords, abilities, all_of_them.values))
    total = all_of_them.mean(density, 1.0)
    assert total.shape == (5, abilities.size)
    np.testing.assert_allclose(total, 1.0, rtol=1e-11 if model.exclusive else 1e-9)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_probabilities_of_the_categories_are_one_thing_however_they_are_asked(model, seed):
    abilities = abilities_of(model)
    if not isinstance(model, Categorical):
        return
    coords = some_items(model, seed)
    log_prob = model.log_prob(coords, abilities)
    assert log_prob.shape == (model.n_categories, 5, abilities.size)
    np.testing.assert_allclose(np.exp(log_prob).sum(axis=0), 1.0, rtol=1e-11)
    prob = model.ability_derivatives(coords, abilities)[0]
    np.testing.assert_allclose(prob, np.exp(log_prob), rtol=1e-10, atol=1e-11)
    np.testing.assert_array_equal(model.category_probabilities(coords, abilities), prob)
    of_terms = log_density(model, coords, abilities, np.arange(model.n_categories))
    np.testing.assert_allclose(of_terms, log_prob, rtol=1e-11, atol=1e-13)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_extreme_abilities_stay_finite(model, seed):
    coords = some_items(model, seed)
    assert np.isfinite(model.log_terms(coords, FAR)).all()
    assert np.isfinite(model.term_slopes(coords, FAR)).all()
    assert np.isfinite(model.information(coords, FAR)).all()
    assert all(np.isfinite(part).all() for part in model.ability_slopes(coords, FAR))
    assert all(
        np.isfinite(found(coords, FAR)).all()
        for found in (model.expected, model.variance, model.expected_slopes)
    )
    counts, totals = some_counts(model, seed, FAR, own_totals=True)
    assert all(np.isfinite(part).all() for part in model.curvature(coords, FAR, counts, totals))
    if isinstance(model, Categorical):
        assert np.isfinite(model.log_prob(coords, FAR)).all()
        assert np.isfinite(model.slopes(coords, FAR)).all()
        assert all(np.isfinite(part).all() for part in model.ability_derivatives(coords, FAR))


def test_expected_responses_rise_with_ability_where_discrimination_is_positive(models, subtests):
    for model in models:
        with subtests.test(model.name):
            coords = some_items(model)
            slope = model.parameters(coords)["discrimination"]
            far = np.array([-800.0, -4.0, -1.0, 0.0, 1.0, 4.0, 800.0])
            low, high = model.extent()
            found = model.expected(coords, far)
            rounding = 1e-14 * np.max(high - low)
            assert ((found >= np.min(low) - rounding) & (found <= np.max(high) + rounding)).all()
            assert (model.variance(coords, far) >= 0).all()
            tables = [found]
            if isinstance(model, Categorical):
                best = 0 if model.kind == "nominal" else -1
                tables.append(np.exp(model.log_prob(coords, far)[best]))
            for table in tables:
                rising = np.diff(table, axis=1) * np.sign(slope)[:, None]
                assert (rising >= 0).all()
                assert (rising[:, 1:-1] > 0).all()
            assert len(set(np.sign(slope))) == (1 if model.coordinates[0].shared else 2)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_slopes_agree_with_finite_differences(model, seed):
    abilities = abilities_of(model)
    coords = some_items(model, seed)
    found = model.term_slopes(coords, abilities)
    nudge = 1e-6 if model.affine else 1e-5  # log-gammas of 1e4 hold 1e-12
    expected = numeric(lambda c: model.log_terms(c, abilities), coords, nudge)
    assert found.shape == (model.width, *model.log_terms(coords, abilities).shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    if isinstance(model, Categorical):
        found = model.slopes(coords, abilities)
        expected = numeric(lambda c: model.log_prob(c, abilities), coords, 1e-6)
        assert found.shape == (model.width, model.n_categories, 5, abilities.size)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_closed_slopes_agree_with_those_of_the_base_class(model, seed):
    abilities = abilities_of(model)
    coords = some_items(model, seed)
    generic = MeasurementModel.term_slopes(model, coords, abilities)
    np.testing.assert_allclose(model.term_slopes(coords, abilities), generic, rtol=1e-6, atol=1e-7)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_ability_derivatives_agree_with_finite_differences(model, seed):
    abilities = abilities_of(model)
    coords, nudge = some_items(model, seed), 1e-5
    up, down = (model.log_terms(coords, abilities + s) for s in (nudge, -nudge))
    found = model.ability_slopes(coords, abilities).terms
    rounding = 1e-8 if model.affine else 1e-6  # logarithms of 50 hold 1e-14, of 1e4 1e-12
    np.testing.assert_allclose(found, (up - down) / (2 * nudge), rtol=1e-6, atol=rounding)
    if isinstance(model, Categorical):
        _, first, second = model.ability_derivatives(coords, abilities)
        up, down = (model.ability_derivatives(coords, abilities + s) for s in (nudge, -nudge))
        # What differences leave out grows with the fourth power of slope times grades.
        left_out = 1e-9 if model.n_categories == 2 else 1e-8
        np.testing.assert_allclose(first, (up[0] - down[0]) / (2 * nudge), rtol=1e-6, atol=left_out)
        np.testing.assert_allclose(
            second, (up[1] - down[1]) / (2 * nudge), rtol=1e-6, atol=left_out
        )


def some_counts(model, seed, abilities=None, n_items=5, *, own_totals):
    """Statistics of responses of every kind, summed; totals of each item or the same for all."""
    random = np.random.default_rng(seed)
    abilities = abilities_of(model) if abilities is None else abilities
    values = support(model).values
    if model.kind == "continuous":
        values = np.r_[-21.0, random.normal(0, 2, 6), 21.0]  # with scores as good as at a bound
    weights = random.uniform(0, 3, (values.size, n_items, abilities.size))
    if not own_totals:
        weights *= random.uniform(3, 9, abilities.size) / weights.sum(axis=0)
    statistics = np.array(model.statistics(values, np.float64))
    totals = weights.sum(axis=0)
    return np.einsum("tp,pij->tij", statistics, weights), totals if own_totals else totals[:1]


def counted(model, counts, totals):
    """Log-likelihood of each item, as a function of the coordinates."""
    abilities = abilities_of(model)

    def value(coords):
        terms = model.log_terms(coords, abilities)
        return (totals * terms[0]).sum(axis=1) + (counts * terms[1:]).sum(axis=(0, 2))

    return value


@pytest.mark.parametrize("own_totals", [True, False], ids=["masked", "complete"])
@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_curvature_is_gradient_and_hessian_of_the_counted_log_likelihood(model, seed, own_totals):
    abilities = abilities_of(model)
    coords = some_items(model, seed)
    counts, totals = some_counts(model, seed, own_totals=own_totals)
    gradient, expected, observed = model.curvature(coords, abilities, counts, totals)
    by_differences = numeric(counted(model, counts, totals), coords, 1e-6).T
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-5, atol=1e-5)

    def gradient_at(moved):
        return model.curvature(moved, abilities, counts, totals)[0]

    hessian = -np.moveaxis(numeric(gradient_at, coords, 1e-5), 0, 1)
    np.testing.assert_allclose(observed, hessian, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(observed, observed.swapaxes(1, 2))
    np.testing.assert_allclose(expected, expected.swapaxes(1, 2))


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_observed_information_at_expected_counts_is_the_expected_one(model, seed):
    abilities = abilities_of(model)
    coords, all_of_them = some_items(model, seed), support(model)
    _, totals = some_counts(model, seed, own_totals=True)
    density = np.exp(log_density(model, coords, abilities, all_of_them.values))
    statistics = statistics_of(model, all_of_them.values)
    counts = totals * np.array(
        [all_of_them.mean(density, table[:, None, None]) for table in statistics]
    )
    gradient, expected, observed = model.curvature(coords, abilities, counts, totals)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6 if model.name == "beta" else 1e-8)
    if model.name != "beta":  # what bounds cut off does not tell as much: see `test_beta`
        np.testing.assert_allclose(observed, expected, rtol=1e-8, atol=1e-8)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_expected_information_is_the_expected_product_of_the_slopes(model, seed):
    abilities = abilities_of(model)
    coords, all_of_them = some_items(model, seed), support(model)
    _, totals = some_counts(model, seed, own_totals=True)
    density = np.exp(log_density(model, coords, abilities, all_of_them.values))
    scores = [
        combined(model, slope, all_of_them.values) for slope in model.term_slopes(coords, abilities)
    ]
    found = model.curvature(coords, abilities, 0 * model.log_terms(coords, abilities)[1:], totals)
    if model.name == "beta":  # of what would be told without bounds, the share of scores inside
        shapes = Shapes(coords, abilities)
        totals = totals * model._probability_inside(shapes, model._bound_values(shapes))
    for i, one in enumerate(scores):
        for k, other in enumerate(scores):
            product = (totals * all_of_them.mean(density, one * other)).sum(axis=1)
            np.testing.assert_allclose(found[1][:, i, k], product, rtol=1e-8, atol=1e-8)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_closed_curvature_agrees_with_that_of_the_base_class(model, seed):
    abilities = abilities_of(model)
    if not isinstance(model, Categorical):
        return
    coords = some_items(model, seed)
    counts, totals = some_counts(model, seed, own_totals=True)
    closed = model.curvature(coords, abilities, counts, totals)
    generic = Categorical.curvature(model, coords, abilities, counts, totals)
    np.testing.assert_allclose(closed[0], generic[0], rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(closed[1], generic[1], rtol=1e-7, atol=1e-6)
    # Differences of a gradient of some hundreds.
    np.testing.assert_allclose(closed[2], generic[2], rtol=1e-5, atol=1e-4)


def seen(model, coords, abilities):
    """The share of responses that tell of the ability; for the beta model, those off the bounds."""
    if model.name != "beta":
        return 1.0
    able, hard = stats.norm.cdf(abilities), stats.norm.cdf(coords[:, 1:])
    up, down = (able / hard) ** coords[:, :1], ((1 - able) / (1 - hard)) ** coords[:, :1]
    return 1 - stats.beta.cdf(1e-9, up, down) - stats.beta.sf(1 - 1e-9, up, down)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_information_and_bias_are_moments_of_the_score(model, seed):
    """E s² and E s (s' + s²) = Σ f' f'' / f, where s is the derivative of log f."""
    abilities = abilities_of(model)
    coords, all_of_them, nudge = some_items(model, seed), support(model), 1e-5

    def score(abilities):
        terms = model.ability_slopes(coords, abilities).terms
        return combined(model, terms, all_of_them.values)

    density = np.exp(log_density(model, coords, abilities, all_of_them.values))
    here = score(abilities)
    change = (score(abilities + nudge) - score(abilities - nudge)) / (2 * nudge)
    found = model.ability_slopes(coords, abilities)
    share = seen(model, coords, abilities)
    information = share * all_of_them.mean(density, here**2)
    bias = share * all_of_them.mean(density, here * (change + here**2))
    np.testing.assert_allclose(found.information, information, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.bias, bias, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        model.information(coords, abilities), found.information, rtol=1e-10, atol=1e-12
    )


def test_information_is_the_expected_squared_slope_of_the_log_likelihood(models, subtests):
    for model in models:
        with subtests.test(model.name):
            abilities = abilities_of(model)
            coords, all_of_them, nudge = some_items(model), support(model), 1e-5
            up, here, down = (
                log_density(model, coords, abilities + step, all_of_them.values)
                for step in (nudge, 0.0, -nudge)
            )
            score = (up - down) / (2 * nudge)
            expected = seen(model, coords, abilities) * all_of_them.mean(np.exp(here), score**2)
            np.testing.assert_allclose(
                model.information(coords, abilities), expected, rtol=1e-7, atol=1e-9
            )


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_expected_response_and_variance_are_moments_of_the_response(model, seed):
    abilities = abilities_of(model)
    coords, all_of_them = some_items(model, seed), support(model)
    density = np.exp(log_density(model, coords, abilities, all_of_them.values))
    responses = all_of_them.responses[:, None, None]
    mean = all_of_them.mean(density, responses)
    variance = all_of_them.mean(density, (responses - mean) ** 2)
    np.testing.assert_allclose(model.expected(coords, abilities), mean, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.variance(coords, abilities), variance, rtol=1e-6, atol=1e-9)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_slopes_of_the_expected_response_agree_with_differences(model, seed):
    abilities = abilities_of(model)
    coords = some_items(model, seed)
    found = model.expected_slopes(coords, abilities)
    by_differences = numeric(lambda c: model.expected(c, abilities), coords, 1e-6)
    assert found.shape == (model.width, 5, abilities.size)
    np.testing.assert_allclose(found, by_differences, rtol=1e-5, atol=1e-7)


@FIXTURE_IS_CONSTANT
@given(
    seed=seeds,
    shift=st.floats(-3, 3),
    scale=st.one_of(st.floats(-4, -0.2), st.floats(0.2, 4)),
)
def test_rescaling_moves_the_scale_and_leaves_the_chances(model, seed, shift, scale):
    abilities = abilities_of(model)
    if not model.affine:
        return
    coords = some_items(model, seed)
    moved = model.rescale(coords, shift, scale)
    before = model.log_terms(coords, abilities)
    after = model.log_terms(moved, (abilities - shift) / scale)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)


def test_rescaling_is_linear_in_shift_and_scale(models, subtests):
    for model in models:
        with subtests.test(model.name):
            if not model.affine:
                continue
            coords = some_items(model)
            by_shift = [model.rescale(coords, s, 1.0) - coords for s in (1.0, 2.5)]
            by_scale = [model.rescale(coords, 0.0, 1 + s) - coords for s in (1.0, 2.5)]
            np.testing.assert_allclose(by_shift[1], 2.5 * by_shift[0], atol=1e-14)
            np.testing.assert_allclose(by_scale[1], 2.5 * by_scale[0], atol=1e-14)


def test_the_same_origin_and_unit_leave_the_items_as_they_are(models, subtests):
    for model in models:
        with subtests.test(model.name):
            coords = some_items(model)
            np.testing.assert_array_equal(model.rescale(coords, 0.0, 1.0), coords)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_parameters_and_coordinates_are_two_forms_of_the_same(model, seed):
    coords = some_items(model, seed)
    back = model.from_parameters(model.parameters(coords))
    np.testing.assert_allclose(back, coords, rtol=1e-12, atol=1e-14)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_the_jacobian_of_the_parameters_agrees_with_finite_differences(model, seed):
    coords = some_items(model, seed)
    found = model.parameter_jacobian(coords)
    assert list(found) == list(model.parameters(coords))
    for name, slope in found.items():
        by_differences = numeric(lambda c, name=name: model.parameters(c)[name], coords, 1e-6).T
        np.testing.assert_allclose(slope, by_differences, rtol=1e-6, atol=1e-7)


def test_an_item_without_slope_has_a_large_and_finite_difficulty(models, subtests):
    for model in models:
        with subtests.test(model.name):
            coords = some_items(model)
            coords[:, 0], coords[:, 1] = [0.0, -0.0, 1e-9, -1e-9, 0.0], 1.5
            if model.kind == "nominal":
                coords[:, 2:] = -np.tile(coords[:, :2], model.n_categories - 2)
                coords[:, 1] = -1.5
            found = model.parameters(coords)
            assert all(np.isfinite(column).all() for column in found.values())
            assert all(np.isfinite(j).all() for j in model.parameter_jacobian(coords).values())
            if model.coordinates[1].name != "difficulty":  # else it is a coordinate, and stays
                difficulty = found.get("difficulty_1", found["difficulty"])
                assert (difficulty < -20).all()  # easy, whatever sign rounding gave the slope


LOADING = np.array([-0.99, -0.3, 0.0, 0.5, 1.0])


def seen_by(model, values):
    """Means of the statistics of `values` (n_respondents, n_items)."""
    return np.array(model.statistics(values, np.float64)).mean(axis=1)


def test_starts_lie_inside_the_bounds_and_point_along_the_loadings(models, subtests):
    for model in models:
        with subtests.test(model.name):
            values = np.random.default_rng(0).choice(support(model).values[-3:], (40, 5))
            if model.kind == "continuous":
                values = np.random.default_rng(0).normal([-5.0, -1.0, 0.0, 1.0, 5.0], 2.0, (40, 5))
            coords = model.start(seen_by(model, values), np.full(5, 40.0), LOADING)
            assert coords.shape == (5, model.width)
            for k, coordinate in enumerate(model.coordinates):
                assert ((coords[:, k] > coordinate.low) & (coords[:, k] < coordinate.high)).all()
            if not model.coordinates[0].shared:
                towards = LOADING != 0
                np.testing.assert_array_equal(
                    np.sign(model.parameters(coords)["discrimination"][towards]),
                    np.sign(LOADING[towards]),
                )


def test_a_constant_item_starts_inside_the_bounds(models, subtests):
    for model, place in product(models, [0, -1]):  # the worst and the best response
        with subtests.test(model.name, place=place):
            constant = 27.6 if model.kind == "continuous" else support(model).values[-1]
            values = np.full(
                (40, 5), constant if place else -constant * (model.kind == "continuous")
            )
            coords = model.start(seen_by(model, values), np.full(5, 40.0), LOADING)
            for k, coordinate in enumerate(model.coordinates):
                assert ((coords[:, k] > coordinate.low) & (coords[:, k] < coordinate.high)).all()


def test_the_direction_of_the_statistics_is_that_of_better_responses(models, subtests):
    for model in models:
        with subtests.test(model.name):
            values = np.linspace(-8, 8, 33) if model.kind == "continuous" else support(model).values
            better = np.array(model.direction) @ np.array(model.statistics(values, np.float64))
            if model.kind == "nominal":  # the first is right, and the others are alike
                assert better.tolist() == [0.0, *[-1.0] * (len(values) - 1)]
            else:
                assert (np.diff(better) > 0).all()


def test_sampled_items_have_the_models_parameters_and_follow_the_seed(models, subtests):
    for model in models:
        with subtests.test(model.name):
            one, same, other = (model.sample(7, np.random.default_rng(s)) for s in (1, 1, 2))
            assert tuple(one) == model.inputs
            assert set(one) <= set(model.parameters(model.from_parameters(one)))
            assert all(np.array_equal(one[name], same[name]) for name in one)
            hard = next(name for name in one if name.startswith(("difficulty", "intercept")))
            assert not np.array_equal(one[hard], other[hard])


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_sampled_items_lie_inside_the_bounds(model, seed):
    coords = model.from_parameters(model.sample(30, np.random.default_rng(seed)))
    np.testing.assert_array_equal(model.bounded(coords), coords)
    assert not model.absent(coords).any()


def test_drawn_responses_have_the_mean_and_the_variance_that_is_said(models, subtests):
    for model in models:
        with subtests.test(model.name):
            n = 20_000
            coords, abilities = some_items(model), np.array([-1.5, 0.0, 1.5])
            drawn = model.draw(coords, np.repeat(abilities, n), np.random.default_rng(0))
            assert (drawn.dtype.kind == "f") == (model.kind == "continuous")
            sample = model.scored(drawn.reshape(5, 3, n).astype(float))
            apart = sample - model.expected(coords, abilities)[:, :, None]
            # Five standard errors, which the moments of the sample itself give.
            error = sample.std(axis=2) / np.sqrt(n)
            assert (np.abs(apart.mean(axis=2)) < 5 * error).all()
            error = (apart**2).std(axis=2) / np.sqrt(n)
            spread = (apart**2).mean(axis=2) - model.variance(coords, abilities)
            assert (np.abs(spread) < 5 * error + 1e-12).all()


def test_drawn_responses_follow_the_seed(models, subtests):
    for model in models:
        with subtests.test(model.name):
            abilities = abilities_of(model)
            coords = some_items(model)
            one, same, other = (
                model.draw(coords, abilities, np.random.default_rng(s)).tobytes() for s in (1, 1, 2)
            )
            assert one == same
            assert one != other


def test_a_table_of_drawn_responses_suits_the_model(models, bares, subtests):
    for model, bare in zip(models, bares, strict=True):
        with subtests.test(model.name):
            cells = model.draw(
                some_items(model), np.linspace(-2, 2, 400), np.random.default_rng(0)
            ).T
            fitted = bare.fitted_to(cells, ITEMS)
            low, high = fitted.extent()
            worth = fitted.scored(cells.astype(float))
            assert ((worth >= low) & (worth <= high)).all()
            assert fitted.width == model.width
            assert np.isfinite(fitted.read(cells)).all()
            assert all(
                np.isfinite(t).all() for t in fitted.statistics(fitted.read(cells), np.float64)
            )


def drawn_table(model):
    """Responses that the model draws, and the model fitted to them."""
    drawn = model.draw(some_items(model), abilities_of(model), np.random.default_rng(0))
    cells = np.ascontiguousarray(drawn.T)
    return model.fitted_to(cells, ITEMS), cells


def test_what_was_never_asked_stays_so_and_has_no_weight(models, subtests):
    for model in models:
        with subtests.test(model.name):
            model, cells = drawn_table(model)
            never = np.random.default_rng(1).random(cells.shape) < 0.4
            holed = cells.copy()
            holed[never] = np.nan if model.kind == "continuous" else -1
            read = model.read(holed)
            lost = np.isnan(read) if model.kind == "continuous" else read == -1
            np.testing.assert_array_equal(lost, never)
            np.testing.assert_array_equal(read[~never], model.read(cells)[~never])
            weights = np.random.default_rng(2).uniform(0.5, 2, len(cells))
            expected = sum(
                weights[row] * model.log_base(cells[[row]][:, [k]], np.ones(1))
                for row, k in np.argwhere(~never)
            )
            assert model.log_base(holed, weights) == pytest.approx(expected, rel=1e-12)


def test_reading_leaves_the_table_as_it_is(models, subtests):
    for model in models:
        with subtests.test(model.name):
            model, cells = drawn_table(model)
            before = cells.copy()
            model.read(cells)
            model.log_base(cells, np.ones(len(cells)))
            np.testing.assert_array_equal(cells, before)


def assert_torch_agrees(model, torch):
    abilities = abilities_of(model)
    coords, loading = some_items(model), np.array([-0.9, -0.3, 0.1, 0.5, 0.9])
    counts, totals = some_counts(model, 0, own_totals=True)
    model, cells = drawn_table(model)
    means = seen_by(model, model.read(cells))

    def ask(make):
        c, x = make(coords), make(abilities)
        read = model.read(make(cells))
        return {
            "terms": model.log_terms(c, x),
            "slopes": model.term_slopes(c, x),
            "curvature": model.curvature(c, x, make(counts), make(totals)),
            "of ability": model.ability_slopes(c, x),
            "information": model.information(c, x),
            "expected": model.expected(c, x),
            "expected slopes": model.expected_slopes(c, x),
            "variance": model.variance(c, x),
            "start": model.start(make(means), make(np.full(5, 40.0)), make(loading)),
            "rescaled": model.rescale(c, 0.3, 1.2),
            "bounded": model.bounded(c),
            "at bound": model.at_bound(c),
            "absent": model.absent(c),
            "read": read,
            "statistics": model.statistics(read, torch.float64 if make is there else np.float64),
            "base": model.log_base(make(cells), make(np.ones(len(cells)))),
        }

    def there(values):
        return torch.asarray(values)

    ours, theirs = ask(np.asarray), ask(there)
    for name, expected in ours.items():
        parts = expected if isinstance(expected, list | tuple) else [expected]
        found = theirs[name] if isinstance(expected, list | tuple) else [theirs[name]]
        for one, other in zip(found, parts, strict=True):
            # The trigamma function of torch, which the beta model alone asks, holds 1e-9.
            rtol = 1e-10 if model.affine else 1e-8
            np.testing.assert_allclose(np.asarray(one), other, rtol=rtol, atol=1e-11, err_msg=name)


def test_torch_gives_the_numbers_of_numpy(models, subtests):
    torch = pytest.importorskip("torch")
    for model in models:
        with subtests.test(model.name):
            assert_torch_agrees(model, torch)


def test_only_a_normal_model_has_what_engines_ask_of_normal_ones(models, subtests):
    for model in models:
        with subtests.test(model=model.name):
            coords = some_items(model)
            if model.normal or isinstance(model, Censored):  # which censors a normal one
                assert model.loadings(coords).shape == (5,)
            else:
                with pytest.raises(NotImplementedError):
                    model.loadings(coords)


def test_coordinates_have_room_between_their_bounds_and_steps_forwards(models, subtests):
    for model in models:
        for coordinate in model.coordinates:
            with subtests.test(model=model.name, coordinate=coordinate.name):
                assert coordinate.low < coordinate.high
                assert coordinate.longest > 0
                assert coordinate.absent in (None, coordinate.low, coordinate.high)


def test_priors_can_be_dropped_replaced_and_restored(models, subtests):
    for model in models:
        with subtests.test(model.name):
            bare = with_priors(model, None)
            assert all(c.prior is None for c in bare.coordinates)
            assert bare.regularised() == model
            changed = with_priors(model, {model.coordinates[0].name: Normal(1.0, 0.5)})
            assert changed.coordinates[0].prior == Normal(1.0, 0.5)
            assert changed.coordinates[1:] == model.coordinates[1:]


def test_a_prior_on_a_parameter_that_is_not_there_is_refused(models, subtests):
    for model in models:
        with subtests.test(model.name):
            last = model.coordinates[1].name
            with pytest.raises(
                InputError, match=rf"priors names 'luck'.*{model.name} model.*{last}"
            ):
                with_priors(model, {"luck": Beta(2, 2)})


def test_the_class_of_a_model_is_refused_with_the_call_to_make(models, subtests):
    for model in models:
        with subtests.test(model.name):
            name = type(model).__name__
            with pytest.raises(InputError, match=rf"class {name}; call it: {name}\(\)"):
                find_model(type(model))


def test_a_model_that_is_not_there_is_refused(subtests):
    for unknown in ["5pl", "", "rasch", 3, None, MODELS]:
        with (
            subtests.test(unknown=unknown),
            pytest.raises(InputError, match=rf"There is no model .*{', '.join(MODELS)}"),
        ):
            find_model(unknown)

"""What every model promises, over the registry."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from itemwise.errors import InputError
from itemwise.models import MODELS, Beta, MeasurementModel, Normal, find_model, with_priors

ABILITIES = np.linspace(-4.0, 4.0, 17)
FIXTURE_IS_CONSTANT = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
seeds = st.integers(0, 10_000)
# A chance near zero or one has a logarithm too steep for differences.
RANGES = {"discrimination": (0.3, 2.0), "difficulty": (-2.0, 2.0), "slip": (0.03, 0.1)}


def some_items(model, seed=0, n_items=5):
    """Plausible coordinates, where finite differences are sharp; the first slope is negative."""
    random = np.random.default_rng(seed)
    parameters = {
        name: np.clip(column, *RANGES.get(name, (-np.inf, np.inf)))
        for name, column in model.sample(n_items, random).items()
    }
    if not model.coordinates[0].shared:
        parameters["discrimination"][0] *= -1
    return model.from_parameters(parameters)


def numeric(function, coords, nudge):
    """Central differences of `function` in each coordinate, stacked first."""
    steps = nudge * np.eye(coords.shape[1])
    return np.stack(
        [(function(coords + step) - function(coords - step)) / (2 * nudge) for step in steps]
    )


def test_the_registry_names_its_models(model):
    assert find_model(model.name) == model
    assert find_model(model.name.upper()) == model
    assert find_model(model) is model


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_probabilities_of_the_categories_sum_to_one(model, seed):
    coords = some_items(model, seed)
    log_prob = model.log_prob(coords, ABILITIES)
    assert log_prob.shape == (model.n_categories, 5, ABILITIES.size)
    np.testing.assert_allclose(np.exp(log_prob).sum(axis=0), 1.0, rtol=1e-11)
    prob = model.ability_derivatives(coords, ABILITIES)[0]
    np.testing.assert_allclose(prob, np.exp(log_prob), rtol=1e-10, atol=1e-11)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_extreme_abilities_stay_finite(model, seed):
    coords, far = some_items(model, seed), np.array([-800.0, 800.0])
    assert np.isfinite(model.log_prob(coords, far)).all()
    assert np.isfinite(model.slopes(coords, far)).all()
    assert np.isfinite(model.information(coords, far)).all()
    assert all(np.isfinite(part).all() for part in model.ability_derivatives(coords, far))


def test_expected_responses_rise_with_ability_where_discrimination_is_positive(model):
    coords = some_items(model)
    slope = model.parameters(coords)["discrimination"]
    far = np.array([-800.0, -4.0, -1.0, 0.0, 1.0, 4.0, 800.0])
    right = np.exp(model.log_prob(coords, far)[-1])
    rising = np.diff(right, axis=1) * np.sign(slope)[:, None]
    assert (rising >= 0).all()
    assert (rising[:, 1:-1] > 0).all()
    assert len(set(np.sign(slope))) == (1 if model.coordinates[0].shared else 2)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_slopes_agree_with_finite_differences(model, seed):
    coords = some_items(model, seed)
    found = model.slopes(coords, ABILITIES)
    expected = numeric(lambda c: model.log_prob(c, ABILITIES), coords, 1e-6)
    assert found.shape == (model.width, model.n_categories, 5, ABILITIES.size)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_closed_slopes_agree_with_those_of_the_base_class(model, seed):
    coords = some_items(model, seed)
    generic = MeasurementModel.slopes(model, coords, ABILITIES)
    np.testing.assert_allclose(model.slopes(coords, ABILITIES), generic, rtol=1e-6, atol=1e-7)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_ability_derivatives_agree_with_finite_differences(model, seed):
    coords, nudge = some_items(model, seed), 1e-5
    _, first, second = model.ability_derivatives(coords, ABILITIES)
    up, down = (model.ability_derivatives(coords, ABILITIES + s) for s in (nudge, -nudge))
    np.testing.assert_allclose(first, (up[0] - down[0]) / (2 * nudge), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(second, (up[1] - down[1]) / (2 * nudge), rtol=1e-6, atol=1e-9)


def some_counts(model, seed, n_items=5, *, own_totals):
    """Positive counts of each category; the totals are of each item or the same for all."""
    random = np.random.default_rng(seed)
    counts = random.uniform(0, 3, (model.n_categories - 1, n_items, ABILITIES.size))
    first = random.uniform(0, 3, (n_items if own_totals else 1, ABILITIES.size))
    totals = first + (counts.sum(axis=0) if own_totals else counts.sum(axis=0).max(axis=0))
    return counts, totals


def counted(model, counts, totals):
    """Sum of counts × log-probability of each item, as a function of the coordinates."""

    def value(coords):
        log_prob = model.log_prob(coords, ABILITIES)
        first = totals - counts.sum(axis=0)
        return (first * log_prob[0]).sum(axis=1) + (counts * log_prob[1:]).sum(axis=(0, 2))

    return value


@pytest.mark.parametrize("own_totals", [True, False], ids=["masked", "complete"])
@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_curvature_is_gradient_and_hessian_of_the_counted_log_likelihood(model, seed, own_totals):
    coords = some_items(model, seed)
    counts, totals = some_counts(model, seed, own_totals=own_totals)
    gradient, expected, observed = model.curvature(coords, ABILITIES, counts, totals)
    by_differences = numeric(counted(model, counts, totals), coords, 1e-6).T
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-5, atol=1e-5)

    def gradient_at(moved):
        return model.curvature(moved, ABILITIES, counts, totals)[0]

    hessian = -np.moveaxis(numeric(gradient_at, coords, 1e-5), 0, 1)
    np.testing.assert_allclose(observed, hessian, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(observed, observed.swapaxes(1, 2))
    np.testing.assert_allclose(expected, expected.swapaxes(1, 2))


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_observed_information_at_expected_counts_is_the_expected_one(model, seed):
    coords = some_items(model, seed)
    _, totals = some_counts(model, seed, own_totals=True)
    counts = totals * np.exp(model.log_prob(coords, ABILITIES))[1:]
    gradient, expected, observed = model.curvature(coords, ABILITIES, counts, totals)
    np.testing.assert_allclose(observed, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-8)


@FIXTURE_IS_CONSTANT
@given(seed=seeds)
def test_closed_curvature_agrees_with_that_of_the_base_class(model, seed):
    coords = some_items(model, seed)
    counts, totals = some_counts(model, seed, own_totals=True)
    closed = model.curvature(coords, ABILITIES, counts, totals)
    generic = MeasurementModel.curvature(model, coords, ABILITIES, counts, totals)
    np.testing.assert_allclose(closed[0], generic[0], rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(closed[1], generic[1], rtol=1e-7, atol=1e-6)


@FIXTURE_IS_CONSTANT
@given(
    seed=seeds,
    shift=st.floats(-3, 3),
    scale=st.one_of(st.floats(-4, -0.2), st.floats(0.2, 4)),
)
def test_rescaling_moves_the_scale_and_leaves_the_chances(model, seed, shift, scale):
    coords = some_items(model, seed)
    moved = model.rescale(coords, shift, scale)
    before = model.log_prob(coords, ABILITIES)
    after = model.log_prob(moved, (ABILITIES - shift) / scale)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)


def test_rescaling_is_linear_in_shift_and_scale(model):
    coords = some_items(model)
    by_shift = [model.rescale(coords, s, 1.0) - coords for s in (1.0, 2.5)]
    by_scale = [model.rescale(coords, 0.0, 1 + s) - coords for s in (1.0, 2.5)]
    np.testing.assert_allclose(by_shift[1], 2.5 * by_shift[0], atol=1e-14)
    np.testing.assert_allclose(by_scale[1], 2.5 * by_scale[0], atol=1e-14)


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
    for name, found in model.parameter_jacobian(coords).items():
        by_differences = numeric(lambda c, name=name: model.parameters(c)[name], coords, 1e-6).T
        np.testing.assert_allclose(found, by_differences, rtol=1e-6, atol=1e-7)


def test_an_item_without_slope_has_a_large_and_finite_difficulty(model):
    coords = some_items(model)
    coords[:, 0], coords[:, 1] = [0.0, -0.0, 1e-9, -1e-9, 0.0], 1.5
    difficulty = model.parameters(coords)["difficulty"]
    assert np.isfinite(difficulty).all()
    assert (difficulty < -20).all()  # easy, whatever sign rounding gave the slope
    assert all(np.isfinite(j).all() for j in model.parameter_jacobian(coords).values())


def test_information_is_the_expected_squared_slope_of_the_log_likelihood(model):
    coords, nudge = some_items(model), 1e-5
    up, down = (model.log_prob(coords, ABILITIES + step) for step in (nudge, -nudge))
    score = (up - down) / (2 * nudge)
    expected = (np.exp(model.log_prob(coords, ABILITIES)) * score**2).sum(axis=0)
    np.testing.assert_allclose(model.information(coords, ABILITIES), expected, rtol=1e-7, atol=1e-9)


def test_starts_lie_inside_the_bounds_and_point_along_the_loadings(model):
    loading = np.array([-0.99, -0.3, 0.0, 0.5, 1.0])
    coords = model.start(np.array([-5.0, -1.0, 0.0, 1.0, 5.0]), loading)
    assert coords.shape == (5, model.width)
    for k, coordinate in enumerate(model.coordinates):
        assert ((coords[:, k] > coordinate.low) & (coords[:, k] < coordinate.high)).all()
    if not model.coordinates[0].shared:
        np.testing.assert_array_equal(np.sign(coords[:, 0]), np.sign(loading))


def test_sampled_items_have_the_models_parameters_and_follow_the_seed(model):
    one, same, other = (model.sample(7, np.random.default_rng(s)) for s in (1, 1, 2))
    assert set(one) == {"discrimination", "difficulty", "guessing", "slip"}
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["difficulty"], other["difficulty"])


def test_priors_can_be_dropped_replaced_and_restored(model):
    bare = with_priors(model, None)
    assert all(c.prior is None for c in bare.coordinates)
    assert bare.regularised() == model
    changed = with_priors(model, {"discrimination": Normal(1.0, 0.5)})
    assert changed.coordinates[0].prior == Normal(1.0, 0.5)
    assert changed.coordinates[1:] == model.coordinates[1:]


def test_a_prior_on_a_parameter_that_is_not_there_is_refused(model):
    with pytest.raises(InputError, match=rf"priors names 'luck'.*{model.name} model.*intercept"):
        with_priors(model, {"luck": Beta(2, 2)})


def test_the_class_of_a_model_is_refused_with_the_call_to_make(model):
    name = type(model).__name__
    with pytest.raises(InputError, match=rf"class {name}; call it: {name}\(\)"):
        find_model(type(model))


@pytest.mark.parametrize("unknown", ["5pl", "", "rasch", 3, None, MODELS])
def test_a_model_that_is_not_there_is_refused(unknown):
    with pytest.raises(InputError, match=r"There is no model .*1pl, 2pl, 3pl, 4pl"):
        find_model(unknown)

"""The maximum is a maximum: against a plain likelihood on a fine grid, and scipy.optimize."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from ogive import calibrate, simulate
from ogive.irt.estimation import standard_errors as observed_information
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models import MODELS

BOUNDS = [(-20, 20), (None, None), (0, 0.95), (0, 0.475)]

# Five easy items of low discrimination and 1,000 respondents: what a section of the LSAT is like.
LIKE_LSAT = {
    "discrimination": [0.8, 0.7, 0.9, 0.7, 0.7],
    "difficulty": [-3.4, -1.4, -0.3, -1.9, -3.1],
}


def best_by_scipy(plain, values, weights, begin, *, same_slope=False):
    """The highest plain log-likelihood that L-BFGS-B finds from `begin`."""

    def unpacked(x):
        if not same_slope:
            return x.reshape(begin.shape)
        return np.stack([np.full(len(begin), x[0]), x[1:]], axis=1)

    def loss(x):
        value, slope = plain.marginal(unpacked(x), values, weights, nodes=161)
        packed = np.r_[slope[:, 0].sum(), slope[:, 1]] if same_slope else slope.reshape(-1)
        return -value, -packed

    x = np.r_[begin[0, 0], begin[:, 1]] if same_slope else begin.reshape(-1)
    bounds = None if same_slope else BOUNDS[: begin.shape[1]] * len(begin)
    settings = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-7}
    with threadpool_limits(1):  # products this small only suffer from threads
        found = minimize(loss, x, jac=True, method="L-BFGS-B", bounds=bounds, options=settings)
    return plain.marginal(unpacked(found.x), values, weights)[0]


def starts(width, n_items):
    """Two places to begin with: alike items, and scattered ones."""
    random = np.random.default_rng(7)
    plainest = np.tile([1.0, 0.0, 0.1, 0.05][:width], (n_items, 1))
    scattered = np.stack(
        [
            random.uniform(0.5, 2.0, n_items),
            random.normal(0, 1, n_items),
            random.uniform(0.05, 0.3, n_items),
            random.uniform(0.01, 0.1, n_items),
        ][:width],
        axis=1,
    )
    return plainest, scattered


def assert_highest(cal, plain, values, weights=None, *, within, same_slope=False):
    value, _ = plain.marginal(cal.coords, values, weights)
    assert cal.log_likelihood == pytest.approx(value, rel=1e-6)
    for begin in starts(cal.coords.shape[1], cal.coords.shape[0]):
        best = best_by_scipy(plain, values, weights, begin, same_slope=same_slope)
        assert value >= best - within


def test_scipy_finds_nothing_better_on_a_short_easy_test(plain, subtests):
    for seed, model in product([6, 7], ["1pl", "2pl"]):
        with subtests.test(model, seed=seed):
            values = simulate("2pl", 1000, items=LIKE_LSAT, random_state=seed).responses.values
            cal = calibrate(values, model, priors=None)
            assert cal.converged
            assert_highest(cal, plain, values, within=1e-5, same_slope=model == "1pl")


@pytest.mark.parametrize("model", ["1pl", "2pl"])
def test_scipy_finds_nothing_better_on_simulated_responses(plain, small, model):
    cal = calibrate(small, model, priors=None)
    assert cal.converged
    assert_highest(cal, plain, small.values, within=1e-5, same_slope=model == "1pl")


def test_scipy_finds_nothing_better_with_missing_responses(plain, small):
    values = small.values
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    cal = calibrate(values, "2pl", priors=None)
    assert cal.converged
    assert_highest(cal, plain, values, within=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 6])
def test_scipy_finds_nothing_better_for_guessing(plain, seed):
    responses = simulate("3pl", 300, 8, random_state=seed).responses
    cal = calibrate(responses, "3pl", priors=None)
    assert_highest(cal, plain, responses.values, within=0.01)


@pytest.mark.slow
def test_wider_models_fit_no_worse(small):
    models = ["1pl", "2pl", "3pl", "4pl"]
    values = [calibrate(small, model, priors=None).log_likelihood for model in models]
    assert (np.diff(values) > -1e-6).all()


def test_the_log_likelihood_of_every_binary_model_is_the_plain_one(plain, binary_names, subtests):
    for missing, binary_name in product([0.0, 0.2], binary_names):
        with subtests.test(binary_name, missing=missing):
            responses = simulate(binary_name, 400, 10, missing=missing, random_state=4).responses
            cal = calibrate(responses, binary_name)
            value, _ = plain.marginal(cal.coords, responses.values)
            assert cal.log_likelihood == pytest.approx(value, rel=1e-6)


def test_the_log_likelihood_of_every_model_is_the_integral_of_its_formula(
    definition, model_names, subtests
):
    for missing, model_name in product([0.0, 0.2], model_names):
        with subtests.test(model_name, missing=missing):
            responses = simulate(model_name, 150, 6, missing=missing, random_state=4).responses
            cal = calibrate(responses, model_name)
            assert cal.log_likelihood == pytest.approx(
                definition.marginal(cal, responses.values), rel=1e-6, abs=1e-4
            )


@pytest.mark.parametrize("model", ["2pl", "graded", "continuous", "beta"])
def test_the_log_likelihood_is_the_integral_over_a_population_of_any_shape(definition, model):
    """To 1e-5 a respondent: log-densities of scores cancel, so a share of their sum says less."""
    responses = simulate(model, 80, 5, missing=0.1, random_state=4).responses
    cal = calibrate(responses, model, population="histogram", tolerance=1e-2)
    value = definition.marginal(cal, responses.values, cal.population.log_density)
    assert cal.log_likelihood == pytest.approx(value, abs=80e-5)


def test_the_log_likelihood_of_rows_with_weights_is_the_weighted_sum(
    definition, model_names, subtests
):
    for model_name in model_names:
        with subtests.test(model_name):
            responses = simulate(model_name, 60, 5, missing=0.1, random_state=4).responses
            weights = np.random.default_rng(0).integers(0, 4, 60).astype(float)
            cal = calibrate(responses, model_name, weights=weights)
            value = definition.marginal(cal, responses.values, weights=weights)
            assert cal.log_likelihood == pytest.approx(value, rel=1e-6, abs=1e-4)


def test_no_small_step_of_any_coordinate_is_a_step_up(definition, subtests):
    """Without priors; asymptotes make a ridge of that, and are compared with scipy above."""
    for model in [name for name in MODELS if name not in ("3pl", "4pl")]:
        with subtests.test(model=model):
            responses = simulate(model, 120, 5, missing=0.1, random_state=8).responses
            cal = calibrate(responses, model, priors=None, tolerance=1e-9)
            assert cal.converged
            top = definition.marginal(cal, responses.values, nodes=401)
            step = 0.02  # large against what the tolerance leaves, small against a standard error
            for k, coordinate in enumerate(cal.model.coordinates):
                for sign in (-1, 1):
                    coords = cal.coords.copy()
                    items = slice(None) if coordinate.shared else slice(1, 2)
                    coords[items, k] += sign * step
                    moved = replace(cal, coords=cal.model.bounded(coords))
                    assert definition.marginal(moved, responses.values, nodes=401) <= top + 1e-6


@pytest.mark.parametrize(("n_respondents", "n_items"), [(2000, 30), (60, 400)])
@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["complete", "missing"])
@pytest.mark.parametrize("model", ["2pl", "3pl"])
def test_the_log_likelihood_is_the_plain_one_for_long_tests_and_many_respondents(
    plain, n_respondents, n_items, missing, model
):
    simulated = simulate(model, n_respondents, n_items, missing=missing, random_state=4)
    cal = calibrate(simulated.responses, model)
    value, _ = plain.marginal(cal.coords, simulated.responses.values, nodes=1601)
    assert cal.log_likelihood == pytest.approx(value, rel=1e-6)


def penalised_hessian(plain, cal, values):
    """Minus the second derivatives of log-likelihood and log-prior in all coordinates."""
    coords, nudge = cal.coords, 1e-4
    n = coords.size
    hessian = np.zeros((n, n))
    for k in range(n):
        step = np.zeros(n)
        step[k] = nudge
        step = step.reshape(coords.shape)
        up, down = (plain.marginal(coords + s, values, nodes=201)[1] for s in (step, -step))
        hessian[k] = -((up - down) / (2 * nudge)).reshape(-1)
    for k, coordinate in enumerate(cal.model.coordinates):
        if coordinate.prior is not None:
            places = np.arange(coords.shape[0]) * coords.shape[1] + k
            hessian[places, places] += coordinate.prior.curvature(coords[:, k])
    return hessian


def errors_of(cal, covariance):
    """Standard errors of the public parameters, by the delta method."""
    n_items, width = cal.coords.shape
    cube = covariance.reshape(n_items, width, n_items, width)
    blocks = np.stack([cube[i, :, i] for i in range(n_items)])
    return {
        name: np.sqrt(np.einsum("ni,nij,nj->n", slope, blocks, slope))
        for name, slope in cal.model.parameter_jacobian(cal.coords).items()
    }


@pytest.mark.parametrize(
    ("model", "priors", "within"),
    [("2pl", None, 0.01), ("2pl", "default", 0.01), ("3pl", "default", 0.02)],
)
def test_standard_errors_are_those_of_the_plain_likelihood(plain, model, priors, within):
    responses = simulate(model, 3000, 8, random_state=3).responses
    cal = calibrate(responses, model, priors=priors)
    assert cal.converged
    expected = errors_of(cal, np.linalg.inv(penalised_hessian(plain, cal, responses.values)))
    for coordinate in ("discrimination", "difficulty", "guessing")[: cal.coords.shape[1]]:
        np.testing.assert_allclose(cal.items[f"{coordinate}_se"], expected[coordinate], rtol=within)


def test_the_standard_error_of_a_shared_slope_is_that_of_the_plain_likelihood(plain, small):
    cal = calibrate(small, "1pl", priors=None)
    n_items = small.n_items
    once = np.zeros((2 * n_items, n_items + 1))
    once[::2, 0] = 1
    once[np.arange(n_items) * 2 + 1, np.arange(n_items) + 1] = 1
    whole = penalised_hessian(plain, cal, small.values)
    expected = errors_of(cal, once @ np.linalg.inv(once.T @ whole @ once) @ once.T)
    for name in ("discrimination", "difficulty"):
        np.testing.assert_allclose(cal.items[f"{name}_se"], expected[name], rtol=0.01)
    assert cal.items["discrimination_se"].nunique() == 1


@pytest.mark.parametrize("model", ["2pl", "3pl"])
def test_structured_standard_errors_agree_with_exact_ones(monkeypatch, model):
    responses = simulate(model, 1500, 60, random_state=6).responses
    monkeypatch.setattr(observed_information, "MAX_EXACT", 10_000)
    exact = calibrate(responses, model).items
    monkeypatch.setattr(observed_information, "MAX_EXACT", 0)
    structured = calibrate(responses, model).items
    for name in ("discrimination_se", "difficulty_se"):
        np.testing.assert_allclose(structured[name], exact[name], rtol=0.02)
    assert not structured["difficulty_se"].equals(exact["difficulty_se"])


def test_standard_errors_of_many_rows_are_those_of_rows_that_stand_for_all(monkeypatch):
    responses = simulate("2pl", 9000, 25, random_state=6).responses
    every = calibrate(responses).items
    monkeypatch.setattr(observed_information, "MAX_ROWS", 3000)
    some = calibrate(responses).items
    for name in ("discrimination_se", "difficulty_se"):
        np.testing.assert_allclose(some[name], every[name], rtol=0.05)
        assert not some[name].equals(every[name])


def test_covariances_in_another_unit_leave_what_is_known_exactly_without_error(subtests):
    for model in MODELS:
        with subtests.test(model=model):
            chosen = MODELS[model]()
            before = np.tile(np.eye(chosen.width) + 1.0, (3, 1, 1))
            errors = KnownCovariances(before)
            found = observed_information.in_unit(errors, chosen).covariances
            known = chosen.shared
            assert (found[:, known] == 0).all()
            assert (found[:, :, known] == 0).all()
            np.testing.assert_array_equal(
                found[:, ~known][:, :, ~known], before[:, ~known][:, :, ~known]
            )


def test_what_has_converged_is_no_saddle(plain, subtests):
    """Items that have nothing in common: mixing comes to rest where the likelihood bends up."""
    for seed in [4, 11, 14]:
        with subtests.test(seed=seed):
            random = np.random.default_rng(seed)
            values = (random.random((150, 5)) < random.uniform(0.2, 0.8, 5)).astype(float)
            cal = calibrate(values)
            assert cal.converged
            bend = penalised_hessian(plain, cal, values)
            scale = 1 / np.sqrt(np.diag(bend))
            assert np.linalg.eigvalsh(bend * scale * scale[:, None])[0] > 0

"""Scores in an interval: the continuous model is a factor analysis of their log-odds."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from ogive import Responses, calibrate, simulate
from ogive.irt.estimation import e_step as normal_responses
from ogive.irt.models.continuous import Continuous

PARAMETERS = ["discrimination", "difficulty", "scaling"]


@pytest.fixture(scope="module")
def complete():
    """400 × 7 scores in (0, 1)."""
    return simulate("continuous", 400, 7, random_state=1).responses


@pytest.fixture(scope="module")
def holed():
    """The same, two in ten never asked."""
    return simulate("continuous", 400, 7, missing=0.2, random_state=1).responses


def base(cal):
    """What the change from log-odds to scores adds to the log-likelihood."""
    return cal.model.log_base(cal.responses.cells, np.ones(cal.responses.n_respondents))


def gaussian(coords, z):
    """Log-likelihood of log-odds: each row is normal, with the covariance of one factor."""
    slope, intercept, noise = coords.T
    loading = slope * np.exp(noise)
    covariance = np.outer(loading, loading) + np.diag(np.exp(2 * noise))
    total = 0.0
    for row in z:
        asked = ~np.isnan(row)
        own, apart = covariance[np.ix_(asked, asked)], (row - intercept)[asked]
        _, log_det = np.linalg.slogdet(2 * np.pi * own)
        total -= 0.5 * (log_det + apart @ np.linalg.solve(own, apart))
    return total


def test_without_priors_it_is_the_factor_analysis_of_scikit_learn(complete):
    cal = calibrate(complete, priors=None, tolerance=1e-10)
    z = logit(complete.values)
    from sklearn.decomposition import FactorAnalysis

    fa = FactorAnalysis(1, tol=1e-12, max_iter=20_000, svd_method="lapack").fit(z)
    assert cal.converged
    assert cal.log_likelihood - base(cal) >= fa.score(z) * len(z) - 1e-6
    sign = np.sign(fa.components_[0].sum())
    np.testing.assert_allclose(1 / cal.items["scaling"], sign * fa.components_[0], atol=1e-4)
    alpha = sign * fa.components_[0] / np.sqrt(fa.noise_variance_)
    np.testing.assert_allclose(cal.items["discrimination"], alpha, atol=1e-3)


def test_its_log_likelihood_is_that_of_normal_log_odds(complete, holed):
    for responses in (complete, holed):
        cal = calibrate(responses)
        expected = gaussian(cal.coords, logit(responses.values))
        assert cal.log_likelihood - base(cal) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_scipy_finds_nothing_better_where_cells_are_missing(holed):
    """200 rows, five items."""
    table = holed.select(range(200), range(5))
    cal, z = calibrate(table, priors=None, tolerance=1e-10), logit(table.values)
    begin = np.stack([np.ones(5), np.nanmean(z, axis=0), np.zeros(5)], axis=1)
    found = minimize(
        lambda x: -gaussian(x.reshape(5, 3), z),
        begin.ravel(),
        method="L-BFGS-B",
        options={"maxiter": 500, "maxfun": 20_000, "ftol": 1e-13, "gtol": 1e-6},
    )
    assert cal.converged
    assert cal.log_likelihood - base(cal) >= -found.fun - 1e-6


def test_by_rows_is_by_moments_where_nothing_is_missing(monkeypatch, complete):
    by_moments = calibrate(complete, priors=None, tolerance=1e-10)
    monkeypatch.setattr(
        normal_responses, "MAX_ITEMS_OF_MOMENTS", 0
    )  # too many items for a covariance
    by_rows = calibrate(complete, priors=None, tolerance=1e-10)
    np.testing.assert_allclose(by_rows.coords, by_moments.coords, atol=1e-6)
    assert by_rows.log_likelihood == pytest.approx(by_moments.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(
        by_rows.items[[f"{name}_se" for name in PARAMETERS]],
        by_moments.items[[f"{name}_se" for name in PARAMETERS]],
        rtol=1e-5,
    )


def test_an_empty_row_goes_by_rows_and_changes_nothing(complete):
    empty = np.vstack([complete.values, np.full(7, np.nan)])
    one, other = (calibrate(given, priors=None, tolerance=1e-10) for given in (complete, empty))
    assert not other.responses.complete
    np.testing.assert_allclose(other.coords, one.coords, atol=1e-6)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-6)


def test_standard_errors_are_those_of_the_plain_likelihood(holed):
    table = holed.select(range(200), range(4))
    cal = calibrate(table, priors=None, tolerance=1e-10)
    z, nudge, n = logit(table.values), 1e-3, cal.coords.size

    def value(i, k, step_i, step_k):
        coords = cal.coords.copy().ravel()
        coords[i] += step_i
        coords[k] += step_k
        return gaussian(coords.reshape(-1, 3), z)

    hessian = np.zeros((n, n))
    for i in range(n):
        for k in range(i, n):
            pairs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            parts = [a * b * value(i, k, a * nudge, b * nudge) for a, b in pairs]
            hessian[i, k] = hessian[k, i] = -sum(parts) / (4 * nudge**2)
    covariance = np.linalg.inv(hessian).reshape(4, 3, 4, 3)
    blocks = np.stack([covariance[j, :, j] for j in range(4)])
    for name, slope in cal.model.parameter_jacobian(cal.coords).items():
        expected = np.sqrt(np.einsum("ni,nij,nj->n", slope, blocks, slope))
        np.testing.assert_allclose(cal.items[f"{name}_se"], expected, rtol=0.01)


def test_the_unit_of_scores_changes_nothing_but_the_density(complete):
    """Percent, or a range that begins elsewhere: the same items, another log-likelihood."""
    plain = calibrate(complete, Continuous(bounds=(0, 1)))
    percent = calibrate(100 * complete.values, Continuous(bounds=(0, 100)))
    shifted = calibrate(5 - 8 * complete.values, Continuous(bounds=(-3, 5)))
    np.testing.assert_allclose(percent.coords, plain.coords, atol=1e-6)
    change = complete.values.size * np.log(100)
    assert percent.log_likelihood == pytest.approx(plain.log_likelihood - change, rel=1e-9)
    np.testing.assert_allclose(
        shifted.items["discrimination"].abs(), plain.items["discrimination"].abs(), atol=1e-5
    )
    np.testing.assert_allclose(percent.probability([0.5]), 100 * plain.probability([0.5]))


def test_bounds_of_items_may_differ(complete):
    scale = np.array([1.0, 10.0, 100.0, 2.0, 1.0, 1.0, 1.0])
    bounds = tuple((0.0, top) for top in scale)
    cal = calibrate(complete.values * scale, Continuous(bounds=bounds))
    plain = calibrate(complete, Continuous(bounds=(0, 1)))
    np.testing.assert_allclose(cal.coords, plain.coords, atol=1e-6)
    np.testing.assert_allclose(cal.probability([0.5]), scale * plain.probability([0.5]))
    np.testing.assert_allclose(cal.curves("item_3").expected, 100 * plain.curves("item_3").expected)


def test_a_constant_column_is_flagged_and_leaves_the_others_alone(complete, subtests):
    for constant in [0.3, 0.0, 1.0]:
        with subtests.test(constant=constant):
            table = np.column_stack([complete.values, np.full(400, constant)])
            cal, alone = calibrate(table), calibrate(complete)
            assert cal.converged
            assert cal.flags[7][0] == "constant"
            assert any(
                "with the same response from all" in note and "item_8" in note for note in cal.notes
            )
            assert np.isfinite(cal.items[PARAMETERS]).all(axis=None)
            if constant == 0.3:  # scores at a bound move where other scores at bounds would stand
                np.testing.assert_allclose(cal.coords[:7], alone.coords, atol=1e-3)


def test_an_item_that_repeats_another_is_held_at_its_bound_and_said():
    """Two columns that are the same explain each other without noise: a Heywood case."""
    values = simulate("continuous", 200, 4, random_state=2).responses.values
    table = np.column_stack([values, values[:, 0]])
    cal = calibrate(table, priors=None)
    assert np.isfinite(cal.items[PARAMETERS]).all(axis=None)
    assert cal.converged or any("Not converged" in note for note in cal.notes)
    held = ["noise at bound" in words for words in cal.flags]
    assert held[0]
    assert held[4]


def test_the_published_engine_climbs_towards_the_maximum(complete):
    best = calibrate(complete, priors=None, tolerance=1e-10)
    early = calibrate(complete, engine="shojima")
    late = calibrate(complete, engine="shojima", tolerance=1e-12, max_iterations=20_000)
    assert early.log_likelihood < late.log_likelihood < best.log_likelihood + 1e-6
    # Its variances divide by n - 1, the maximum by n: 1 / 800 in deviations.
    np.testing.assert_allclose(late.coords, best.coords, atol=2e-3)


def test_log_odds_far_out_are_no_trouble():
    """Scores a billionth from the bounds."""
    random = np.random.default_rng(0)
    z = 8 * random.standard_normal((300, 1)) + 4 * random.standard_normal((300, 5))
    cal = calibrate(Responses(np.clip(expit(z), 1e-9, 1 - 1e-9), kind="continuous"))
    assert cal.converged
    np.testing.assert_allclose(1 / cal.items["scaling"], 8, rtol=0.2)
    assert np.isfinite(cal.items.drop(columns="flag")).all(axis=None)


def test_few_respondents_leave_noise_in_every_item(subtests):
    """Noise of 10 x 8 was a Heywood case: one item was ability, its error 0.008."""
    for seed in range(4):
        with subtests.test(seed=seed):
            noise = np.random.default_rng(seed).random((10, 8)).round(3)
            cal, bare = calibrate(noise), calibrate(noise, priors=None)
            assert cal.converged
            left = np.exp(2 * cal.coords[:, 2]) / logit(noise).var(axis=0)
            assert left.min() > 0.05
            assert (cal.abilities(items_known=True)["se"] > 0.2).all()
            assert cal.log_likelihood < bare.log_likelihood + 1e-6


def test_without_priors_a_heywood_case_is_said():
    noise = np.random.default_rng(0).random((10, 8)).round(3)
    cal = calibrate(noise, priors=None)
    assert any("item_8" in note and "a Heywood case" in note for note in cal.notes)
    assert cal.flags[7] == ("noise at bound",)


def test_with_the_scale_held_the_default_prior_penalises_unique_variances():
    """Martin and McDonald's penalty, by SciPy; origin and unit of the scale are aligned."""
    drawn = simulate("continuous", 15, 30, random_state=3).responses
    z, cal = logit(drawn.values), calibrate(drawn, tolerance=1e-10)
    covariance, loading = np.cov(z.T, bias=True), cal.model.loadings(cal.coords)

    def loss(x):
        """Minus the penalised log-likelihood of a row x 15; its weight is alpha squared."""
        load, noise = x[:30], x[30:]
        unique = np.exp(2 * noise)
        inverse = np.diag(1 / unique) - np.outer(load / unique, load / unique) / (
            1 + load @ (load / unique)
        )
        told = inverse @ covariance
        value = 7.5 * (2 * noise.sum() + np.log1p(load @ (load / unique)) + np.trace(told))
        slope = 15 * (inverse - told @ inverse)
        penalty = 0.5 * loading**2 / unique  # s held, less the part that does not depend on it
        slopes = np.concatenate([slope @ load, np.diag(slope) * unique - 2 * penalty])
        return value + penalty.sum(), slopes

    begin = np.concatenate([loading, cal.coords[:, 2]])
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 5000}).x
    ratio = found[:30] / loading
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=2e-3)
    np.testing.assert_allclose(found[30:], cal.coords[:, 2], atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "missing"), [((10, 8), 0.0), ((30, 12), 0.3), ((20, 60), 0.0)])
def test_intervals_of_abilities_and_of_differences_hold_with_few_respondents(shape, missing):
    alone, apart = [], []
    for seed in range(40):
        drawn, truth = simulate("continuous", *shape, missing=missing, random_state=seed)
        found, ability = calibrate(drawn).ability_covariance(), truth.abilities["ability"]
        first, second = np.triu_indices(shape[0], 1)
        error = found.ability - ability.to_numpy()
        alone.append(np.abs(error) < 1.96 * found.se)
        limit = 1.96 * found.difference_se(first, second)
        apart.append(np.abs(error[first] - error[second]) < limit)
    assert 0.9 < np.mean(alone) < 0.99
    assert 0.92 <= np.mean(apart) <= 0.985

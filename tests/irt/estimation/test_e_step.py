"""The E-step: several ways to the same sums, moments, and what they say of the scale."""

from itertools import product

import numpy as np
import pytest

from ogive import simulate
from ogive.irt import quadrature as sufficient_scores
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation import e_step as normal_responses
from ogive.irt.estimation.e_step import (
    _normal_scale_information,
    expect,
    expect_generally,
    outer_sums,
    population_information,
    with_moments,
)
from ogive.irt.models import MODELS
from ogive.irt.models.continuous import Continuous
from ogive.irt.quadrature import NormalPopulation, Posterior, plan_nodes

BINARY = [name for name, model in MODELS.items() if model.kind == "binary"]


@pytest.fixture(scope="module")
def linear():
    """A complete table and its true 2PL items; 30 items, so that no rows are collapsed."""
    responses, truth = simulate("2pl", 2000, 30, random_state=1)
    coords = truth.model.from_parameters(truth.items)
    return (
        encode(responses.cells, truth.model),
        truth.model,
        coords,
        plan_nodes(truth.model, coords),
    )


def assert_same(found, other, rtol):
    assert found.log_likelihood == pytest.approx(other.log_likelihood, rel=rtol)
    for name in ("gradient", "expected", "observed", "scale"):
        one, two = getattr(found, name), getattr(other, name)
        np.testing.assert_allclose(one, two, rtol=rtol, atol=rtol * np.abs(two).max())
    assert found.alignment == pytest.approx(other.alignment, rel=rtol)


def test_the_way_by_rows_gives_what_the_general_way_gives(linear, monkeypatch):
    data, model, coords, nodes = linear
    general = expect_generally(data, model, coords, nodes)
    assert general.tables is not None
    monkeypatch.setattr(sufficient_scores, "TABLE_STEP", 1e-9)  # too many steps for a table
    by_row = expect(data, model, coords, nodes)
    assert_same(by_row, general, 1e-9)
    np.testing.assert_allclose(by_row.edges, general.edges)


def test_the_way_by_a_table_gives_what_the_general_way_gives(linear):
    data, model, coords, nodes = linear
    general, by_table = (way(data, model, coords, nodes) for way in (expect_generally, expect))
    assert 2 * np.abs(coords[:, 0]).sum() / sufficient_scores.TABLE_STEP < data.shape[0]
    assert_same(by_table, general, 1e-7)
    # Between two scores of the table lies a respondent: ends are those of the outer one.
    assert (np.array(by_table.edges) >= 0.999 * np.array(general.edges)).all()


def small_table(model, missing):
    """60 × 6 responses as engines read them, with the items that they were drawn from."""
    responses, truth = simulate(model, 60, 6, missing=missing, random_state=2)
    fitted = truth.model.fitted_to(responses.cells, responses.items)
    coords = truth.model.from_parameters(truth.items)
    return encode(responses.cells, fitted, collapsing=False), fitted, coords


def test_alignment_is_the_covariance_of_ability_with_the_response(plain, subtests):
    """Summed over items, among those who were asked."""
    for missing, model in product([0.0, 0.3], BINARY):
        with subtests.test(model, missing=missing):
            data, fitted, coords = small_table(model, missing)
            values = np.where(data.cells < 0, np.nan, data.cells)
            found = expect(data, fitted, coords, plan_nodes(fitted, coords))
            mean, _, _ = plain.posterior(coords, values)
            expected = 0.0
            for column in values.T:
                asked = ~np.isnan(column)
                expected += ((column[asked] - column[asked].mean()) * mean[asked]).sum()
            assert found.alignment == pytest.approx(expected, rel=1e-4)


def test_alignment_is_the_covariance_of_ability_with_what_makes_a_response_better(subtests):
    """The grade, or the log-odds of the score; where asked, with the posterior mean of ability."""
    for missing, model in product([0.0, 0.3], [name for name in MODELS if name not in BINARY]):
        with subtests.test(model, missing=missing):
            data, fitted, coords = small_table(model, missing)
            nodes = plan_nodes(fitted, coords)
            block = data.block(slice(None))
            better = sum(w * t for w, t in zip(fitted.direction, block.statistics, strict=True))
            posterior, _ = Posterior(fitted.log_terms(coords, nodes.coarse), nodes)(block)
            mean = posterior @ nodes.fine
            expected = 0.0
            for column, asked in zip(better.T, block.asked.T == 1, strict=True):
                expected += ((column[asked] - column[asked].mean()) * mean[asked]).sum()
            found = expect(data, fitted, coords, nodes)
            assert found.alignment == pytest.approx(expected, rel=1e-4)


def test_alignment_turns_with_the_scale(subtests):
    for model in [name for name, model in MODELS.items() if model.affine]:
        with subtests.test(model=model):
            data, fitted, coords = small_table(model, 0.2)
            nodes = plan_nodes(fitted, coords)
            turned = fitted.rescale(coords, 0.0, -1.0)
            upright, reflected = (expect(data, fitted, c, nodes) for c in (coords, turned))
            assert upright.alignment > 0
            assert reflected.alignment == pytest.approx(-upright.alignment)
            assert reflected.log_likelihood == pytest.approx(upright.log_likelihood)


def test_the_gradient_is_that_of_the_log_likelihood(subtests):
    """By central differences: a thousandth of a nat in a step of 1e-4 would be seen."""
    for missing, model in product([0.0, 0.3], MODELS):
        with subtests.test(model, missing=missing):
            data, fitted, coords = small_table(model, missing)
            nodes, step = plan_nodes(fitted, coords), 1e-4
            found = expect(data, fitted, coords, nodes).gradient
            for place in np.ndindex(coords.shape):
                if fitted.absent(coords)[place]:
                    continue
                moved = np.zeros_like(coords)
                moved[place] = step
                up, down = (
                    expect(data, fitted, coords + s, nodes).log_likelihood for s in (moved, -moved)
                )
                assert found[place] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing"])
def test_the_closed_form_of_normal_responses_gives_what_the_general_way_gives(missing):
    """`scale` steers steps only and stands for the mean respondent where cells are missing."""
    data, fitted, coords = small_table("continuous", missing)
    nodes = plan_nodes(fitted, coords)
    closed, general = (way(data, fitted, coords, nodes) for way in (expect, expect_generally))
    assert general.tables is not None
    assert closed.tables is None
    for name in ("log_likelihood", "gradient", "expected", "observed", "alignment"):
        np.testing.assert_allclose(
            getattr(closed, name), getattr(general, name), rtol=1e-9, atol=1e-7
        )
    if not missing:
        np.testing.assert_allclose(closed.scale, general.scale, rtol=1e-6)


def test_moments_give_what_rows_give():
    data, fitted, coords = small_table("continuous", 0.0)
    by_moments, by_rows = (
        expect(given, fitted, coords, plan_nodes(fitted, coords))
        for given in (with_moments(data, map), data)
    )
    assert with_moments(data, map).moments is not None
    for name in ("log_likelihood", "gradient", "expected", "observed", "alignment", "scale"):
        np.testing.assert_allclose(
            getattr(by_moments, name), getattr(by_rows, name), rtol=1e-9, atol=1e-8
        )


def test_products_of_mean_scores_are_summed_by_weight():
    means, weights = np.array([[1.0, 2.0], [-1.0, 3.0]]), np.array([2.0, 0.5])
    np.testing.assert_allclose(outer_sums(means, weights), [2.5, 4 - 1.5, 8 + 4.5])


def test_information_on_the_scale_is_that_of_louis_where_it_is_positive():
    """Of a normal posterior: 1 - v, 2 m (1 - v), and 2 (m² + v) less the variance of θ²."""
    n, left, mean = 40.0, 0.3, 0.4
    square = 0.7
    found = _normal_scale_information(n, left, mean, square)
    unit = 2 * (square + left) - (4 * left * square + 2 * left**2)
    np.testing.assert_allclose(found, 40 * np.array([[0.7, 0.56], [0.56, unit]]))


def test_elsewhere_it_is_what_the_maximum_would_have():
    for given in ((10.0, 0.5, 3.0, 0.1), (10.0, 0.9, 0.0, 3.0)):
        n, left, _, _ = given
        wanted = n * np.diag([1 - left, 2 * (1 - left) ** 2]) + 1e-9 * n * np.eye(2)
        np.testing.assert_allclose(_normal_scale_information(*given), wanted)


def test_moments_are_those_of_numpy_weighted_or_not(monkeypatch):
    random = np.random.default_rng(0)
    values = 1 / (1 + np.exp(-random.normal(3.0, 0.5, (30, 4))))
    model = Continuous(bounds=(0, 1))
    model = model.fitted_to(values, list("abcd"))
    z = np.log(values / (1 - values))
    plain = with_moments(encode(values, model), map)
    np.testing.assert_allclose(plain.moments[0], z.mean(axis=0))
    np.testing.assert_allclose(plain.moments[1], np.cov(z.T, bias=True))
    weights = random.integers(1, 4, 30).astype(float)
    heavy = with_moments(encode(values, model, weights), map)
    np.testing.assert_allclose(heavy.moments[0], np.average(z, axis=0, weights=weights))
    np.testing.assert_allclose(
        heavy.moments[1], np.cov(z.T, bias=True, fweights=weights.astype(int))
    )
    holed = values.copy()
    holed[3, 1] = np.nan
    assert with_moments(encode(holed, model), map).moments is None
    monkeypatch.setattr(normal_responses, "MAX_ITEMS_OF_MOMENTS", 3)
    assert with_moments(encode(values, model), map).moments is None
    monkeypatch.setattr(normal_responses, "MAX_ITEMS_OF_MOMENTS", 4)
    assert with_moments(encode(values, model), map).moments is not None


def test_information_on_the_population_is_that_of_louis_and_positive_in_any_case():
    points, sd = np.linspace(-8, 8, 801), np.array([0.5, 0.6, 0.4])
    means = np.array([-0.8, 0.1, 0.9])
    posteriors = np.exp(-0.5 * ((points - means[:, None]) / sd[:, None]) ** 2)
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    scores = np.stack([points, points**2 - 1], axis=1)
    seen = posteriors @ scores
    outer = np.array([seen[:, 0] @ seen[:, 0], seen[:, 0] @ seen[:, 1], seen[:, 1] @ seen[:, 1]])
    found = population_information(NormalPopulation(), points, posteriors.sum(axis=0), outer)
    # Of each: 1 - v, 2 m (1 - v) and 2 (m² + v) - 4 m² v - 2 v².
    m, v = means, sd**2
    wanted = np.array(
        [
            [(1 - v).sum(), (2 * m * (1 - v)).sum()],
            [(2 * m * (1 - v)).sum(), (2 * (m**2 + v) - 4 * m**2 * v - 2 * v**2).sum()],
        ]
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    wide = np.exp(-0.5 * (points / 1.5) ** 2)
    wide *= 3 / wide.sum()
    safe = population_information(NormalPopulation(), points, wide, outer)
    known = np.array([[outer[0], outer[1]], [outer[1], outer[2]]])
    np.testing.assert_allclose(safe, known + 3e-3 * np.eye(2))

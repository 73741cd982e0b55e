"""The E-step: several ways to the same sums, and the sign of the scale."""

from itertools import product

import numpy as np
import pytest

from ogive import simulate
from ogive.irt import quadrature as sufficient_scores
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.e_step import expect, expect_generally, outer_sums, with_moments
from ogive.irt.models import MODELS
from ogive.irt.quadrature import Posterior, plan_nodes

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

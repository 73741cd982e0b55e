"""The E-step: three ways to the same sums, and the sign of the scale."""

import numpy as np
import pytest

from itemwise import simulate
from itemwise.estimation import expectation
from itemwise.estimation.expectation import expect, expect_generally
from itemwise.models import MODELS
from itemwise.responses.encoding import encode
from itemwise.scoring.likelihood import plan_nodes


@pytest.fixture(scope="module")
def linear():
    """A complete table and its true 2PL items; 30 items, so that no rows are collapsed."""
    responses, truth = simulate("2pl", 2000, 30, random_state=1)
    coords = truth.model.from_parameters(truth.items)
    return encode(responses.cells, 2), truth.model, coords, plan_nodes(truth.model, coords)


def assert_same(found, other, rtol):
    assert found.log_likelihood == pytest.approx(other.log_likelihood, rel=rtol)
    for name in ("gradient", "expected", "observed", "spread"):
        one, two = getattr(found, name), getattr(other, name)
        np.testing.assert_allclose(one, two, rtol=rtol, atol=rtol * np.abs(two).max())
    assert found.alignment == pytest.approx(other.alignment, rel=rtol)


def test_the_way_by_rows_gives_what_the_general_way_gives(linear, monkeypatch):
    data, model, coords, nodes = linear
    general = expect_generally(data, model, coords, nodes)
    assert general.tables is not None
    monkeypatch.setattr(expectation, "TABLE_STEP", 1e-9)  # too many steps for a table
    by_row = expect(data, model, coords, nodes)
    assert_same(by_row, general, 1e-9)
    np.testing.assert_allclose(by_row.edges, general.edges)


def test_the_way_by_a_table_gives_what_the_general_way_gives(linear):
    data, model, coords, nodes = linear
    general, by_table = (way(data, model, coords, nodes) for way in (expect_generally, expect))
    assert 2 * np.abs(coords[:, 0]).sum() / expectation.TABLE_STEP < data.shape[0]
    assert_same(by_table, general, 1e-7)
    # Between two scores of the table lies a respondent: ends are those of the outer one.
    assert (np.array(by_table.edges) >= 0.999 * np.array(general.edges)).all()


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing"])
@pytest.mark.parametrize("model", MODELS)
def test_alignment_is_the_covariance_of_ability_with_the_response(plain, model, missing):
    """Summed over items, among those who were asked."""
    responses, truth = simulate(model, 60, 6, missing=missing, random_state=2)
    coords = truth.model.from_parameters(truth.items)
    data = encode(responses.cells, 2, collapsing=False)
    found = expect(data, truth.model, coords, plan_nodes(truth.model, coords))
    mean, _, _ = plain.posterior(coords, responses.values)
    expected = 0.0
    for column in responses.values.T:
        asked = ~np.isnan(column)
        expected += ((column[asked] - column[asked].mean()) * mean[asked]).sum()
    assert found.alignment == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_alignment_turns_with_the_scale(model):
    responses, truth = simulate(model, 300, 8, missing=0.2, random_state=2)
    coords = truth.model.from_parameters(truth.items)
    data = encode(responses.cells, 2)
    nodes = plan_nodes(truth.model, coords)
    turned = truth.model.rescale(coords, 0.0, -1.0)
    upright, reflected = (expect(data, truth.model, c, nodes) for c in (coords, turned))
    assert upright.alignment > 0
    assert reflected.alignment == pytest.approx(-upright.alignment)
    assert reflected.log_likelihood == pytest.approx(upright.log_likelihood)

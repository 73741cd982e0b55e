"""Observed information and curvature, against differences of slopes and brute force."""

from dataclasses import replace

import numpy as np
import pytest

from ogive import simulate
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.curvature import WholeCurvature, _by_differences
from ogive.irt.estimation.e_step import expect, expect_generally
from ogive.irt.estimation.em_state import Task
from ogive.irt.estimation.missing_information import Scores, _orthogonal
from ogive.irt.estimation.standard_errors import WholeInformation, observed_inverse
from ogive.irt.models.graded import Graded
from ogive.irt.models.logistic import TwoPL
from ogive.irt.quadrature import plan_nodes


def without_priors(model):
    return model.with_coordinates(tuple(replace(c, prior=None) for c in model.coordinates))


@pytest.fixture(scope="module")
def case():
    model = without_priors(TwoPL())
    coords = np.array([[1.0, 0.2], [0.5, -0.4], [2.0, 1.0], [1.3, 0.0]])
    items = model.parameters(coords)
    cells = simulate("2pl", 300, items=items, missing=0.2, random_state=1).responses.cells
    weights = np.random.default_rng(2).integers(1, 3, 300).astype(float)
    data = encode(cells, model, weights, collapsing=False)
    nodes = plan_nodes(model, coords)
    return data, model, coords, nodes


@pytest.fixture(scope="module")
def bend(case):
    """Minus the second derivatives of the log-likelihood, as differences of its slopes."""
    data, model, coords, nodes = case
    rows = []
    for k in range(coords.size):
        step = np.zeros(coords.size)
        step[k] = 1e-5
        up, down = (
            expect_generally(data, model, coords + sign * step.reshape(4, 2), nodes).gradient
            for sign in (1, -1)
        )
        rows.append((down - up).reshape(-1) / 2e-5)
    return np.stack(rows)


def test_the_whole_information_is_minus_the_second_derivative(case, bend):
    data, model, coords, nodes = case
    found = expect_generally(data, model, coords, nodes)
    whole = WholeInformation.at(data, model, coords, nodes, found)
    np.testing.assert_allclose(whole.matrix, bend, atol=5e-3)
    np.testing.assert_array_equal(whole.spread, np.eye(8))
    errors = whole.inverse(model, coords, found).errors()
    inverse = np.linalg.inv(bend)
    for k in range(4):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(errors.covariances[k], inverse[own, own], rtol=5e-3)
    assert whole.way_up() is None


def test_a_way_up_is_found_where_the_likelihood_bends_upwards(case, bend):
    spread = np.eye(8)
    values, vectors = np.linalg.eigh(bend)
    up = bend - 1.5 * values[0] * np.outer(vectors[:, 0], vectors[:, 0])
    way = WholeInformation(up, spread, spread).way_up()
    assert way @ up @ way < 0
    scale = 1 / np.sqrt(np.abs(np.diag(up)))
    _, scaled = np.linalg.eigh(up * scale[:, None] * scale)
    np.testing.assert_allclose(np.abs(way), np.abs(scale * scaled[:, 0]))
    twins = np.eye(8)
    twins[0, 1] = twins[1, 0] = 1 + 0.9e-3  # bent up by less than rounding may
    assert WholeInformation(twins, spread, spread).way_up() is None
    twins[0, 1] = twins[1, 0] = 1 + 1.1e-3
    assert WholeInformation(twins, spread, spread).way_up() is not None


def test_products_with_the_curvature_are_those_of_the_matrix(case, bend):
    data, model, coords, nodes = case
    task = Task(data, model)
    place = task.stand(data, coords, nodes)
    vector = np.random.default_rng(10).normal(size=(4, 2))
    product = task.bend(place, nodes).times(vector)
    np.testing.assert_allclose(product.reshape(-1), bend @ vector.reshape(-1), atol=2e-3)

    def gradient_at(there):
        return expect_generally(data, model, there, nodes).gradient

    aside = _by_differences(model, coords, gradient_at)
    np.testing.assert_allclose(aside(vector).reshape(-1), bend @ vector.reshape(-1), atol=2e-3)
    assert not aside(0 * vector).any()


def test_priors_bend_what_is_climbed_and_count_once_along_the_scale(case):
    data, _, coords, nodes = case
    model = TwoPL()
    task = Task(data, model)
    place = task.stand(data, coords, nodes)
    plain = Task(data, without_priors(model))
    bare = plain.stand(data, coords, nodes)
    both = task.bend(place, nodes), plain.bend(bare, nodes)
    prior = np.stack(
        [(both[0].times(v) - both[1].times(v)).reshape(-1) for v in np.eye(8).reshape(8, 4, 2)]
    )
    np.testing.assert_allclose(prior, prior.T, atol=1e-9)
    metric = np.zeros((8, 8))
    for k in range(4):
        own = slice(2 * k, 2 * k + 2)
        metric[own, own] = place.found.expected[k] + np.diag(place.stiffness[k])
    ways = model.scale_directions(coords).reshape(2, -1)
    along = ways.T @ np.linalg.solve(ways @ metric @ ways.T, ways @ metric)
    left = np.eye(8) - (1 - 1 / 4) * along
    wanted = left.T @ np.diag(place.stiffness.reshape(-1)) @ left
    np.testing.assert_allclose(prior, wanted, atol=1e-6)


def test_the_ways_to_the_curvature_agree(case, monkeypatch):
    from ogive.irt.estimation import curvature as module

    data, model, coords, nodes = case
    task = Task(data, model)
    place = task.stand(data, coords, nodes)
    vector = np.random.default_rng(11).normal(size=(4, 2))
    wanted = task.bend(place, nodes).times(vector)
    for name, value in (("MOST_WORK", 0), ("MOST_KEPT", 0), ("MOST_EXACTLY", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            found = task.bend(place, nodes).times(vector)
        np.testing.assert_allclose(found, wanted, atol=5e-3 * np.abs(wanted).max())
    assert isinstance(task.bend(place, nodes), WholeCurvature)


def by_brute_force(data, model, coords, nodes):
    """Covariance of the scores of all items over each posterior, summed over rows."""
    fine = nodes.fine
    slopes = model.term_slopes(coords, fine)  # (width, n_terms, n_items, n_nodes)
    block = data.block(slice(None))
    terms = model.log_terms(coords, fine)
    total = np.zeros((coords.size, coords.size))
    for row in range(data.shape[0]):
        asked = block.asked[row]
        log = asked @ terms[0] + sum(
            s[row] @ t for s, t in zip(block.statistics, terms[1:], strict=True)
        )
        weight = np.exp(log + nodes.log_weights)
        weight /= weight.sum()
        score = asked[:, None] * slopes[:, 0]
        for k, statistic in enumerate(block.statistics, start=1):
            score = score + statistic[row][:, None] * slopes[:, k]
        flat = np.moveaxis(score, 0, 1).reshape(coords.size, -1)
        apart = flat - (flat @ weight)[:, None]
        total += data.weights[row] * (apart * weight) @ apart.T
    return total


def test_missing_information_is_the_covariance_of_scores_over_posteriors(case, subtests):
    graded = Graded().fitted_to(np.array([[0, 1, 2], [2, 1, 0], [1, 0, 0], [0, 2, 1]]), list("abc"))
    coords = graded.from_parameters(
        {
            "discrimination": np.array([1.0, 1.5, 0.8]),
            "difficulty_1": np.array([-0.5, -1.0, 0.0]),
            "difficulty_2": np.array([0.7, 0.5, 1.0]),
        }
    )
    cells = np.random.default_rng(5).integers(-1, 3, (25, 3)).astype(np.int8)
    grades = encode(cells, graded, collapsing=False), graded, coords, plan_nodes(graded, coords)
    for name, (data, model, items, nodes) in {"2pl": case, "graded": grades}.items():
        with subtests.test(name):
            wanted = by_brute_force(data, model, items, nodes)
            scores = Scores(data, model, items, nodes)
            np.testing.assert_allclose(scores.missing_of_all(map), wanted, atol=2e-3)
            own = scores.missing_of_each(map)
            pairs = [(i, k) for i in range(model.width) for k in range(i, model.width)]
            orders = scores._missing_by_orders(map, pairs)
            for k in range(len(items)):
                part = slice(k * model.width, (k + 1) * model.width)
                np.testing.assert_allclose(own[k], wanted[part, part], atol=2e-3)
                np.testing.assert_allclose(orders[k], wanted[part, part], atol=2e-3)
            kept = np.concatenate(scores.of_all(map))
            np.testing.assert_allclose(kept.T @ kept, wanted, atol=2e-3)


def test_polynomials_are_orthonormal_under_each_posterior():
    points = np.linspace(-3, 3, 41)
    posterior = np.exp(
        -0.5 * ((points - np.array([[0.3], [-1.0]])) / np.array([[0.8], [0.4]])) ** 2
    )
    posterior /= posterior.sum(axis=1, keepdims=True)
    found = list(_orthogonal(posterior, points, 4))
    for i, one in enumerate(found):
        np.testing.assert_allclose((posterior * one).sum(axis=1), 0.0, atol=1e-9)
        for k, other in enumerate(found):
            np.testing.assert_allclose(
                (posterior * one * other).sum(axis=1), float(i == k), atol=1e-8
            )
    alone = np.zeros((1, 41))
    alone[0, 7] = 1.0
    assert not any(part.any() for part in _orthogonal(alone, points, 2))


def test_item_by_item_every_item_has_its_own_block_and_the_scale_of_the_population(case):
    data, model, coords, nodes = case
    found = expect(data, model, coords, nodes)
    parts = observed_inverse(data, model, coords, nodes, found, by_item=True).errors()
    missing = by_brute_force(data, model, coords, nodes)
    ways = model.scale_directions(coords)
    own = np.stack(
        [found.observed[k] - missing[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] for k in range(4)]
    )
    known = np.einsum("kni,nij,lnj->kl", ways, own, ways)
    extra = np.linalg.inv(found.scale) - np.linalg.inv(known)
    wanted = np.linalg.inv(own) + np.einsum("kni,kl,lnj->nij", ways, extra, ways)
    np.testing.assert_allclose(parts.covariances, wanted, rtol=2e-3)


def test_a_direction_in_doubt_is_as_bent_as_was_measured(case, bend):
    spread = np.eye(8)
    values, vectors = np.linalg.eigh(bend)
    wrong = bend - 1.5 * values[0] * np.outer(vectors[:, 0], vectors[:, 0])
    whole = WholeInformation(wrong, spread, spread)
    assert whole.way_up() is not None
    found = whole.checked(lambda way: way @ bend @ way)
    assert found.way_up() is None
    scale = 1 / np.sqrt(np.abs(np.diag(wrong)))
    way = scale * np.linalg.eigh(wrong * scale[:, None] * scale)[1][:, 0]
    assert way @ found.matrix @ way == pytest.approx(way @ bend @ way)


def test_what_is_bent_upwards_indeed_stays_so(case, bend):
    spread = np.eye(8)
    values, vectors = np.linalg.eigh(bend)
    up = bend - 1.5 * values[0] * np.outer(vectors[:, 0], vectors[:, 0])
    found = WholeInformation(up, spread, spread).checked(lambda way: way @ up @ way)
    np.testing.assert_array_equal(found.matrix, up)

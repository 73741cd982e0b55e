"""Observed information and its inverse, against differences, brute force and dense algebra."""

from dataclasses import replace

import numpy as np
import pytest

from ogive import simulate
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.e_step import expect_generally
from ogive.irt.estimation.missing_information import Scores, _orthogonal
from ogive.irt.estimation.objective import Problem
from ogive.irt.estimation.standard_errors import (
    WholeInformation,
    WholeInverse,
    error_directions,
    items_alone,
    items_and_scale,
    items_beside_fixed,
    observed_inverse,
)
from ogive.irt.models.graded import Graded
from ogive.irt.models.logistic import OnePL, TwoPL
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
def solved(case):
    """The same as a problem and its solution."""
    data, model, coords, nodes = case
    problem = Problem(data, model)
    iterate = problem.evaluate(data, coords, nodes)
    return problem, problem.solution(iterate, nodes, 1, 0.0, converged=True)


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


def test_the_whole_information_is_minus_the_second_derivative(solved, bend):
    whole = WholeInformation.at(*solved)
    np.testing.assert_allclose(whole.matrix, bend, atol=5e-3)
    np.testing.assert_array_equal(whole.inputs, np.eye(8))
    errors = whole.inverse(*solved).errors()
    inverse = np.linalg.inv(bend)
    for k in range(4):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(errors.covariances[k], inverse[own, own], rtol=5e-3)
    assert whole.ascent_direction() is None


def test_a_way_up_is_found_where_the_likelihood_bends_upwards(case, bend):
    spread = np.eye(8)
    values, vectors = np.linalg.eigh(bend)
    up = bend - 1.5 * values[0] * np.outer(vectors[:, 0], vectors[:, 0])
    way = WholeInformation(up, spread, spread).ascent_direction()
    assert way @ up @ way < 0
    scale = 1 / np.sqrt(np.abs(np.diag(up)))
    _, scaled = np.linalg.eigh(up * scale[:, None] * scale)
    np.testing.assert_allclose(np.abs(way), np.abs(scale * scaled[:, 0]))
    twins = np.eye(8)
    twins[0, 1] = twins[1, 0] = 1 + 0.9e-3  # bent up by less than rounding may
    assert WholeInformation(twins, spread, spread).ascent_direction() is None
    twins[0, 1] = twins[1, 0] = 1 + 1.1e-3
    assert WholeInformation(twins, spread, spread).ascent_direction() is not None


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
            assert scores.exclusive
            scores.exclusive = False
            orders = scores.missing_of_each(map)
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


def test_item_by_item_every_item_has_its_own_block_and_the_scale_of_the_population(case, solved):
    data, model, coords, nodes = case
    found = solved[1].expectation
    parts = observed_inverse(*solved, by_item=True).errors()
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
    assert whole.ascent_direction() is not None
    found = whole.checked(lambda way: way @ bend @ way)
    assert found.ascent_direction() is None
    scale = 1 / np.sqrt(np.abs(np.diag(wrong)))
    way = scale * np.linalg.eigh(wrong * scale[:, None] * scale)[1][:, 0]
    assert way @ found.matrix @ way == pytest.approx(way @ bend @ way)


def test_what_is_bent_upwards_indeed_stays_so(case, bend):
    spread = np.eye(8)
    values, vectors = np.linalg.eigh(bend)
    up = bend - 1.5 * values[0] * np.outer(vectors[:, 0], vectors[:, 0])
    found = WholeInformation(up, spread, spread).checked(lambda way: way @ up @ way)
    np.testing.assert_array_equal(found.matrix, up)


RANDOM = np.random.default_rng(3)
N, WIDTH = 4, 2


def positive(*shape):
    root = np.random.default_rng(10).normal(size=(*shape, shape[-1] + 2))
    return root @ root.swapaxes(-1, -2)


OWN = np.stack([positive(WIDTH) for _ in range(N)])
WAYS = RANDOM.normal(size=(2, N, WIDTH))
FREE = np.ones((N, WIDTH), dtype=bool)
FREE[1, 0] = False


def test_items_alone_have_their_own_inverse_of_what_is_free():
    errors = items_alone(TwoPL(), OWN, FREE).errors()
    np.testing.assert_allclose(errors.covariances[0], np.linalg.inv(OWN[0]))
    np.testing.assert_allclose(errors.covariances[1], np.diag([0.0, 1 / OWN[1, 1, 1]]))
    assert errors.shared.shape == (0, N, WIDTH)
    shared = items_alone(OnePL(), OWN, FREE).errors().covariances
    np.testing.assert_allclose(shared[:, 0], 0.0)


def test_with_a_scale_it_is_the_inverse_of_all_where_items_share_nothing_else():
    """Woodbury: blocks whose information along the scale is that of the population."""
    free = np.ones((N, WIDTH), dtype=bool)
    population = positive(2)
    found = items_and_scale(TwoPL(), OWN, WAYS, population, free)
    flat = WAYS.reshape(2, -1)
    whole = np.zeros((8, 8))
    for k in range(N):
        whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = np.linalg.inv(OWN[k])
    known = np.einsum("kni,nij,lnj->kl", WAYS, OWN, WAYS)
    whole += flat.T @ (np.linalg.inv(population) - np.linalg.inv(known)) @ flat
    errors = found.errors()
    for k in range(N):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(errors.covariances[k], whole[own, own], atol=1e-9)
    scores = np.random.default_rng(11).normal(size=(3, N, WIDTH))
    items, scale = found.moves(scores)
    np.testing.assert_allclose(items.reshape(3, -1), scores.reshape(3, -1) @ whole, atol=1e-9)
    np.testing.assert_allclose(scale, scores.reshape(3, -1) @ flat.T @ found.scale)
    variances = np.random.default_rng(12).uniform(0.5, 2.0, (N, WIDTH))
    inverse = np.linalg.inv(OWN)
    wanted = np.einsum("nij,nj,njk->nik", inverse, variances, inverse)
    np.testing.assert_allclose(found.covariance_of(variances), wanted)


def test_beside_held_items_found_ones_move_against_the_population():
    held = np.array([True, True, False, False])
    found = np.repeat(~held[:, None], WIDTH, axis=1)
    free = np.ones((N, WIDTH), dtype=bool)
    errors = items_beside_fixed(OWN, WAYS, free, found, held).errors()
    known = np.einsum("kni,nij,lnj->kl", WAYS[:, held], OWN[held], WAYS[:, held])
    for k in (2, 3):
        wanted = np.linalg.inv(OWN[k]) + WAYS[:, k].T @ np.linalg.inv(known) @ WAYS[:, k]
        np.testing.assert_allclose(errors.covariances[k], wanted)
    assert not errors.covariances[:2].any()
    scores = np.zeros((1, N, WIDTH))
    scores[0, 0] = [1.0, 2.0]  # of a held item: it speaks of the population
    items, scale = items_beside_fixed(OWN, WAYS, free, found, held).moves(scores)
    np.testing.assert_allclose(scale[0], -np.linalg.inv(known) @ (WAYS[:, 0] @ [1.0, 2.0]))
    np.testing.assert_allclose(items[0, 2], scale[0] @ WAYS[:, 2])


def test_the_whole_inverse_moves_items_as_a_matrix_does():
    matrix, spread = positive(6), np.random.default_rng(13).normal(size=(8, 6))
    shown = spread.copy()
    shown[:2] = 0.0
    scale = positive(2)
    found = WholeInverse(matrix, spread, shown, WAYS, scale)
    errors = found.errors()
    whole = shown @ matrix @ shown.T
    for k in range(N):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(errors.covariances[k], whole[own, own])
    scores = np.random.default_rng(14).normal(size=(3, N, WIDTH))
    items, moved = found.moves(scores)
    flat = scores.reshape(3, -1)
    np.testing.assert_allclose(items.reshape(3, -1), flat @ spread @ matrix @ shown.T)
    np.testing.assert_allclose(moved, flat @ WAYS.reshape(2, -1).T @ scale)
    variances = np.random.default_rng(15).uniform(0.5, 2.0, (N, WIDTH))
    through = spread @ matrix @ shown.T
    dense = through.T @ np.diag(variances.reshape(-1)) @ through
    for k in range(N):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(found.covariance_of(variances)[k], dense[own, own])
    roots = error_directions(scale, WAYS)
    np.testing.assert_allclose(
        np.einsum("kni,kmj->nimj", roots, roots),
        np.einsum("kni,kl,lmj->nimj", WAYS, scale, WAYS),
        atol=1e-9,
    )

"""One score of a row says all of it, where log-odds are linear and nothing is missing."""

import numpy as np

from ogive import simulate
from ogive.irt import abilities
from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.quadrature import (
    LinearCurves,
    NormalPopulation,
    ScoreGrid,
    cubic_weights,
    plan_nodes,
)


def test_cubic_weights_reproduce_cubics():
    u = np.array([0.0, 0.2, 0.5, 0.99])
    weights = np.stack(cubic_weights(u))
    for degree in range(4):
        values = np.array([-1.0, 0.0, 1.0, 2.0]) ** degree
        np.testing.assert_allclose(values @ weights, u**degree, atol=1e-12)


def test_the_grid_reaches_beyond_every_score():
    slopes = np.array([1.5, -0.5, 2.0, -3.0])
    grid = ScoreGrid.of(slopes)
    points = grid.points(slopes)
    for score in (-3.5, 3.5, 0.0):  # all that lowers, all that raises, nothing
        near = grid.near(np.array([score]))[0][:, 0]
        assert min(near) >= 0
        assert max(near) < grid.size
        assert points[near[1]] <= score < points[near[2]]


def test_the_posterior_of_a_score_is_that_of_the_responses():
    drawn = simulate("2pl", 50, 8, random_state=0)
    model = drawn.truth.model
    coords = model.from_parameters(drawn.truth.items)
    data = encode(drawn.responses.cells, model, collapsing=False)
    nodes = plan_nodes(model, coords)
    rights = data.rights(slice(None))
    found, value = LinearCurves.at(coords, nodes).posterior(rights @ coords[:, 0])
    rise = 1 / (1 + np.exp(-(coords[:, :1] * nodes.fine + coords[:, 1:2])))
    right = drawn.responses.cells[:, :, None] == 1
    joint = np.where(right, rise, 1 - rise).prod(axis=1) * np.exp(nodes.log_weights)
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(value + rights @ coords[:, 1], np.log(joint.sum(axis=1)))


def test_many_rows_are_scored_as_few_are(monkeypatch, subtests):
    drawn = simulate("2pl", 3_000, 12, random_state=1)
    model = drawn.truth.model
    coords = model.from_parameters(drawn.truth.items)
    data = encode(drawn.responses.cells, model, collapsing=False)
    plain = [
        score_abilities(data.of_rows(np.arange(k, k + 500)), model, coords) for k in (0, 2_500)
    ]
    for pays in (True, False):
        with subtests.test("by table" if pays else "by row"):
            monkeypatch.setattr(ScoreGrid, "pays", lambda *_, pays=pays: pays)
            monkeypatch.setattr(abilities, "MOST_SEEN", 0)
            found = score_abilities(data, model, coords)
            for first, part in zip((0, 2_500), plain, strict=True):
                rows = slice(first, first + 500)
                np.testing.assert_allclose(found.ability[rows], part.ability, atol=1e-7)
                np.testing.assert_allclose(found.se[rows], part.se, atol=1e-7)


def test_far_rows_of_other_models_are_looked_at_again(monkeypatch):
    drawn = simulate("3pl", 60, 300, random_state=2)
    model = drawn.truth.model
    coords = model.from_parameters(drawn.truth.items)
    cells = drawn.responses.cells.copy()
    cells[0], cells[1], cells[2, 150:] = 1, 0, -1
    data = encode(cells, model, collapsing=False)
    population = NormalPopulation(0.0, 0.5)  # its nodes end nearer than the best and the worst
    kept = score_abilities(data, model, coords, population)
    monkeypatch.setattr(abilities, "MOST_SEEN", 0)
    found = score_abilities(data, model, coords, population)
    np.testing.assert_allclose(found.ability, kept.ability, atol=1e-6)
    np.testing.assert_allclose(found.se, kept.se, atol=1e-6)
    np.testing.assert_array_equal(found.at_bound, kept.at_bound)

"""Fits come to rest: nothing that is climbed falls, and what stays undetermined is said by name."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ogive import calibrate, simulate
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.m_step import NewtonSystem, bounded_step, solve_items
from ogive.irt.estimation.objective import Problem, undetermined_items
from ogive.irt.estimation.standard_errors import WholeInformation
from ogive.irt.models import MODELS

GUTTMAN = (np.arange(60)[:, None] >= 3 * np.arange(20)).astype(float)


def noise(seed, shape=(60, 20)):
    return (np.random.default_rng(seed).random(shape) < 0.5).astype(float)


@pytest.fixture
def falls(monkeypatch):
    """By how much what is climbed fell, for each step between places seen on the same nodes."""
    found, seen, last = [], {}, []
    stand, tell = Problem.evaluate, Problem.report

    def standing(task, data, coords, nodes):
        place = stand(task, data, coords, nodes)
        seen[id(place)] = place, nodes, data.single, task.model, data
        return place

    def telling(task, iteration, place, left):
        tell(task, iteration, place, left)
        if last and id(last[-1]) in seen and id(place) in seen:
            (before, *how, _), (after, *same, data) = seen[id(last[-1])], seen[id(place)]
            if all(one is other or one == other for one, other in zip(how, same, strict=True)):
                found.append(-before.gain(after) - before.rounding(data))
        last.append(place)

    monkeypatch.setattr(Problem, "evaluate", standing)
    monkeypatch.setattr(Problem, "report", telling)
    return found


QUICK = {
    "noise, 2PL, a saddle": (noise(1), "2pl", "default"),
    "noise, 2PL without priors": (noise(4), "2pl", None),
    "Guttman, 1PL without priors": (np.tril(np.ones((12, 11))), "1pl", None),
    "Guttman, 2PL without priors": (GUTTMAN, "2pl", None),
}


@pytest.mark.parametrize("name", QUICK)
def test_tables_that_never_came_to_rest_do(name, falls):
    values, model, priors = QUICK[name]
    cal = calibrate(values, model, priors=priors)
    assert cal.converged
    assert cal.iterations < 100
    assert max(falls) <= 0


SLOW = {
    "noise 0, 3PL": (noise(0), "3pl", None, -792.987),
    "noise 3, 3PL": (noise(3), "3pl", None, -806.255),
    "noise 5, 3PL": (noise(5), "3pl", None, -803.585),
    "noise 4, 4PL": (noise(4), "4pl", None, -787.365),
    "Guttman, 3PL": (GUTTMAN, "3pl", None, -182.037),
    "100 x 100, 3PL": (simulate("3pl", 100, 100, random_state=0), "3pl", None, -5171.559),
    "100 x 100, 4PL": (simulate("3pl", 100, 100, random_state=2), "4pl", None, -5229.639),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_asymptotes_without_priors_come_to_rest_no_lower_than_where_they_used_to_wander(
    name, falls
):
    """The figures are those at which 200 iterations without a safeguard ended, most unconverged."""
    values, model, priors, before = SLOW[name]
    cal = calibrate(getattr(values, "responses", values), model, priors=priors)
    assert cal.converged
    assert cal.iterations < 200
    assert cal.log_likelihood > before - 1e-3
    assert max(falls) <= 0


@pytest.mark.parametrize("seed", [1, 4, 7])
def test_a_converged_fit_has_nothing_left_to_gain_by_another_implementation(plain, seed):
    """Newton's decrement of the plain likelihood over the coordinates that are free."""
    values = noise(seed, (60, 8))
    cal = calibrate(values, "2pl", priors=None)
    assert cal.converged
    free = ~cal.model.at_bound(cal.coords).reshape(-1)

    def slope(flat):
        return plain.marginal(flat.reshape(cal.coords.shape), values, nodes=801)[1].reshape(-1)

    here = cal.coords.reshape(-1)
    bend = np.array([slope(here - s) - slope(here + s) for s in 1e-4 * np.eye(here.size)]) / 2e-4
    bend = ((bend + bend.T) / 2)[np.ix_(free, free)]
    values_, vectors = np.linalg.eigh(bend)
    along = vectors.T @ slope(here)[free]
    assert values_.min() > -1e-3 * values_.max()  # no saddle
    assert np.sum(along**2 / (2 * np.maximum(values_, 1e-3))) < 1e-3


def test_a_flat_item_is_undetermined_where_it_may_guess_and_nothing_else_is():
    """On a flat curve, more guessing and a harder item are the same."""
    responses = simulate("2pl", 200, 6, random_state=3).responses
    coords = np.array([[1.0, 0.0, 0.2]] * 5 + [[0.0, -1.0, 0.2]])
    for priors, wanted in [(None, 1), ("default", 0)]:
        model = MODELS["3pl"]()
        if priors is None:
            model = model.with_coordinates(tuple(replace(c, prior=None) for c in model.coordinates))
        task = Problem(encode(responses.cells, model), model)
        items, coordinates = undetermined_items(
            model, task.evaluate(task.data, coords, task.plan(coords))
        )
        assert items.tolist() == [False] * 5 + [bool(wanted)]
        assert coordinates.sum() == wanted


def test_undetermined_items_are_said_by_name():
    responses = simulate("2pl", 120, 8, random_state=2).responses
    values = responses.to_frame().to_numpy(float).copy()
    values[:, 2] = np.random.default_rng(2).random(120) < 0.45
    cal = calibrate(values, "3pl", priors=None)
    assert cal.converged
    named = [
        name for name, said in zip(cal.item_names, cal.flags, strict=True) if "undetermined" in said
    ]
    notes = [note for note in cal.notes if "undetermined" in note]
    assert len(notes) == bool(named)
    assert all(name in notes[0] for name in named[:3])
    assert not any("undetermined" in said for said in calibrate(values, "3pl").flags)


def test_a_step_within_bounds_is_never_a_loss_and_newtons_own_where_no_bound_is_near(subtests):
    random, model = np.random.default_rng(0), MODELS["4pl"]()
    coords = np.tile([1.0, 0.0, 0.02, 0.02], (30, 1))
    root = random.normal(size=(30, 4, 4)) * [1, 1, 10, 10]
    slopes = NewtonSystem(
        random.normal(size=(30, 4)) * [1, 1, 5, 5], np.swapaxes(root, 1, 2) @ root
    )
    step, gain = bounded_step(model, coords, slopes)
    with subtests.test("inside"):
        ahead = coords + step
        assert (ahead >= [c.low for c in model.coordinates]).all()
        assert (ahead <= [c.high for c in model.coordinates]).all()
    with subtests.test("never a loss"):
        assert (gain >= 0).all()
    with subtests.test("no more than without bounds"):
        free = solve_items(model, slopes)
        most = 0.5 * (free * slopes.gradient).sum(axis=1)
        assert (gain <= most * (1 + 1e-6)).all()
    with subtests.test("Newton's own where no bound is reached"):
        inside = ((coords + free >= 0) | [True, True, False, False]).all(axis=1)
        inside &= (coords + free <= 0.475)[:, 2:].all(axis=1) & (np.abs(free[:, 0]) < 19)
        assert inside.any()
        np.testing.assert_allclose(step[inside], free[inside], rtol=1e-6)


def test_steep_items_bend_the_likelihood_as_its_slopes_say():
    """A few polynomials of ability do not carry a step; what they leave out made steps creep."""
    model = MODELS["4pl"]()
    model = model.with_coordinates(tuple(replace(c, prior=None) for c in model.coordinates))
    task = Problem(encode(noise(0, (30, 6)).astype(np.int8), model), model)
    coords = np.array(
        [
            [19.0, 3.0, 0.3, 0.2],
            [-19.0, 9.0, 0.3, 0.2],
            [19.0, -8.0, 0.2, 0.3],
            [2.0, 1.0, 0.2, 0.1],
            [-19.0, -6.0, 0.4, 0.1],
            [12.0, 0.0, 0.1, 0.4],
        ]
    )
    nodes = task.plan(coords)
    iterate = task.evaluate(task.data, coords, nodes)
    found = iterate.expectation
    whole = WholeInformation.at(task, task.solution(iterate, nodes, 0, 0.0, converged=True))

    def slope(flat):
        return task.expect(task.data, flat.reshape(coords.shape), nodes).gradient.reshape(-1)

    here = coords.reshape(-1)
    bend = np.array([slope(here - s) - slope(here + s) for s in 1e-5 * np.eye(here.size)]) / 2e-5
    told = np.diagonal(found.expected, axis1=1, axis2=2).reshape(-1)  # were abilities known
    size = np.sqrt(np.outer(told, told))
    assert np.abs((whole.matrix - bend) / size).max() < 1e-5


def board(shared, name):
    path = shared / "data" / "llm" / f"metabench_{name}_responses.csv.gz"
    return pd.read_csv(path, index_col=0)


BOARDS = [
    ("winogrande", "2pl", None, -199553.422),
    ("winogrande", "4pl", "default", -191680.238),
    ("winogrande", "4pl", None, -191500.203),
    ("arc_2pl", "3pl", None, -115802.784),
    ("arc_2pl", "4pl", None, -115381.59),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model", "priors", "before"), BOARDS)
def test_leaderboards_come_to_rest_no_lower_than_before(shared, falls, name, model, priors, before):
    cal = calibrate(board(shared, name), model, priors=priors)
    assert cal.converged
    assert cal.iterations < 100
    assert cal.log_likelihood > before - 0.1  # with priors, not what is climbed
    assert max(falls) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blood-transfusion-service-center", "tic-tac-toe"])
def test_tables_of_decodirt_come_to_rest_without_priors(shared, name):
    path = shared / "data" / "decodirt" / "benchmarking" / name / f"{name}_irt.csv.gz"
    values = pd.read_csv(path).select_dtypes("number").to_numpy(float)
    assert calibrate(values, "3pl", priors=None).converged

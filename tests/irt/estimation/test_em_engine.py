"""Fits by EM: items fixed by a bank, few respondents, and what is left to gain at the end."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import ogive as og
from ogive import EM, calibrate, simulate
from ogive.errors import InputError
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation import standard_errors as observed_information
from ogive.irt.estimation.m_step import NewtonSystem, bounded_step, solve_items
from ogive.irt.estimation.objective import Problem, undetermined_items
from ogive.irt.estimation.standard_errors import WholeInformation
from ogive.irt.models import MODELS
from ogive.stats.special_functions import sigmoid_pair

FIXABLE = ("1pl", "2pl", "3pl", "graded", "gpcm", "continuous")
MEAN, SD = 1.0, 1.2  # of the new respondents on the scale of the old ones


@cache
def world(model, n=1500, n_anchors=12, n_new=6):
    """Items, a bank of some, and responses of better respondents to all."""
    random = np.random.default_rng(1)
    items = simulate(model, 2, n_anchors + n_new, random_state=5).truth.items
    first, second = random.normal(size=n), random.normal(MEAN, SD, n)
    old = simulate(model, items=items.iloc[:n_anchors], abilities=first, random_state=2)
    new = simulate(model, items=items, abilities=second, random_state=3)
    # The scale of the bank is that of the respondents who were drawn for it.
    origin, unit = first.mean(), first.std()
    items["difficulty"] = (items["difficulty"] - origin) / unit
    place = (second.mean() - origin) / unit, second.std() / unit
    return items, calibrate(old.responses, model), new.responses, place


@cache
def beside(model):
    _, bank, responses, _ = world(model)
    return calibrate(responses, fixed=bank)


@pytest.mark.parametrize("model", FIXABLE)
def test_items_of_the_bank_do_not_move(model):
    _, bank, _, _ = world(model)
    found = beside(model)
    assert found.converged
    held = found.of_items(bank.item_names)
    np.testing.assert_array_equal(held.coords[:, : bank.coords.shape[1]], bank.coords)
    np.testing.assert_array_equal(held.items["difficulty_se"], bank.items["difficulty_se"])
    assert held.items["flag"].str.contains("held").all()


def test_new_items_stand_where_they_are_on_the_old_scale_though_respondents_are_better(subtests):
    for model in FIXABLE:
        with subtests.test(model=model):
            items, bank, _, (mean, sd) = world(model)
            found = beside(model)
            assert found.population.mean == pytest.approx(mean, abs=0.1)
            assert found.population.sd == pytest.approx(sd, abs=0.1)
            new = found.items.drop(index=list(bank.item_names))
            truth = items.loc[new.index]
            z = (new["difficulty"] - truth["difficulty"]) / new["difficulty_se"]
            assert np.abs(z).max() < 4
            free = calibrate(world(model)[2], model).items.loc[new.index]
            assert (free["difficulty"] - truth["difficulty"]).mean() < -0.4  # on a scale of its own


def test_the_population_is_the_one_of_highest_likelihood():
    _, bank, responses, _ = world("2pl")
    found = calibrate(responses.select(items=bank.item_names), fixed=bank)
    points = np.linspace(-8, 8, 401)
    prob = bank.probability(points).to_numpy()
    right = responses.select(items=bank.item_names).values
    log_rows = right @ np.log(prob).T + (1 - right) @ np.log1p(-prob).T

    def height(mean, sd):
        weights = np.exp(-0.5 * ((points - mean) / sd) ** 2)
        return np.log(np.exp(log_rows) @ (weights / weights.sum())).sum()

    mean, sd = found.population.mean, found.population.sd
    top = height(mean, sd)
    assert top == pytest.approx(found.log_likelihood, abs=1e-3)
    for other in ((mean + 0.01, sd), (mean - 0.01, sd), (mean, sd + 0.01), (mean, sd - 0.01)):
        assert height(*other) < top


@pytest.mark.parametrize("model", ["1pl", "2pl", "graded"])
def test_standard_errors_of_many_items_agree_with_those_of_the_whole_matrix(model, monkeypatch):
    _, bank, responses, _ = world(model)
    whole = beside(model).items.drop(index=list(bank.item_names))
    monkeypatch.setattr(observed_information, "MAX_EXACT", 0)
    monkeypatch.setattr("ogive.irt.estimation.multistart.MAX_EXACT", 0)
    parts = calibrate(responses, fixed=bank).items.loc[whole.index]
    np.testing.assert_allclose(parts["difficulty_se"], whole["difficulty_se"], rtol=0.06)


def test_missing_responses_and_fewer_grades_than_the_bank_knows_are_fine():
    _, bank, responses, _ = world("graded")
    few = responses.select(respondents=responses.respondents[:200])
    values = few.values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    values[:, 0] = np.minimum(values[:, 0], 2)
    table = og.Responses(values, few.respondents, few.items, "graded")
    found = calibrate(table, fixed=bank)
    assert found.converged
    assert "12 items held as the bank has them, 6 items found beside them" in found.notes[0]


def test_the_likelihood_of_scores_beside_a_bank_is_that_of_normal_log_odds():
    _, bank, responses, _ = world("continuous")
    usual = (np.abs(responses.values - 0.5) < 0.499).all(axis=1)  # as near to a bound as the bank's
    few = responses.select(respondents=np.array(responses.respondents)[usual][:200])
    found = calibrate(few, fixed=bank)
    items, x = found.items, few.values
    loading = 1 / items["scaling"].to_numpy()
    noise = loading / items["discrimination"].to_numpy()
    mean = loading * (found.population.mean - items["difficulty"].to_numpy())
    spread = found.population.sd**2 * np.outer(loading, loading) + np.diag(noise**2)
    density = multivariate_normal(mean, spread).logpdf(np.log(x / (1 - x)))
    wanted = density.sum() - np.log(x * (1 - x)).sum()  # of scores, not of their log-odds
    assert found.log_likelihood == pytest.approx(wanted, rel=1e-6)


def test_only_what_was_found_counts_as_a_parameter():
    assert beside("2pl").n_parameters == 6 * 2 + 2
    assert beside("1pl").n_parameters == 6 + 2


def test_what_cannot_hold_items_is_refused(subtests):
    for change, message in [
        ({"engine": "joint"}, "held by the em engine with a normal population only"),
        ({"population": "histogram"}, "held by the em engine with a normal population only"),
        ({"model": "3pl"}, "must be that of the bank, '2pl', got '3pl'"),
    ]:
        with subtests.test(change=change):
            _, bank, responses, _ = world("2pl")
            with pytest.raises(InputError, match=message):
                calibrate(responses, fixed=bank, **change)


def test_a_bank_that_knows_none_of_the_items_is_refused_with_names_of_both():
    _, bank, responses, _ = world("2pl")
    strange = og.Responses(responses.values, items=[f"q{k}" for k in range(responses.n_items)])
    with pytest.raises(InputError, match=r"0 items.*\(q0, q1, q2, \.\.\.\).*\(item_1, item_2"):
        calibrate(strange, fixed=bank)


def test_a_model_whose_curves_do_not_move_with_the_scale_is_refused():
    scores = simulate("beta", 60, 5, random_state=1).responses
    with pytest.raises(InputError, match="beta model cannot be held"):
        calibrate(scores, fixed=calibrate(scores, "beta"))


@pytest.mark.parametrize("n", [1, 5])
def test_a_population_that_got_everything_right_stays_finite(n):
    _, bank, _, _ = world("2pl")
    found = calibrate(og.Responses(np.ones((n, 12)), items=list(bank.item_names)), fixed=bank)
    assert found.converged
    assert 1 < found.population.mean < 10
    assert 0.2 < found.population.sd < 5


def test_a_bank_with_guessing_at_its_bound_can_be_held():
    table = simulate("3pl", 400, 10, random_state=4).responses
    bank = calibrate(table.select(items=table.items[:7]), "3pl", priors={"guessing": None})
    assert (bank.items["guessing"] == 0).any()
    regular = replace(bank, model=bank.model.regularised())
    assert calibrate(table, fixed=regular).converged


def drawn(n_respondents, n_items, seed=0):
    random = np.random.default_rng(seed)
    ability = np.linspace(-1.2, 1.2, n_respondents)
    chance = sigmoid_pair(ability[:, None] - random.normal(size=n_items))[0]
    return (random.random(chance.shape) < chance).astype(float), ability


def test_the_climb_ends_and_respondents_keep_their_order(subtests):
    # Such fits went round in circles for all of their 200 iterations: 65 s for 3 x 4,000.
    for n_respondents, n_items, model in ((3, 400, "2pl"), (2, 300, "3pl"), (6, 400, "2pl")):
        with subtests.test(f"{n_respondents} x {n_items}, {model}"):
            cells, ability = drawn(n_respondents, n_items)
            found = calibrate(cells, model)
            place = found.abilities()["ability"].to_numpy()
            assert found.converged
            assert found.iterations < 100
            assert np.corrcoef(place, ability)[0, 1] > 0.8
            assert abs(place.mean()) < 0.1
            assert abs(place.std() - 1) < 0.1
            assert any("too few to tell how abilities are spread" in note for note in found.notes)


def test_items_with_the_same_responses_get_the_same_curve():
    cells, _ = drawn(3, 400)
    items = calibrate(cells, "2pl").items
    pattern = cells.T @ [1, 2, 4]
    spread = items.groupby(pattern)[["discrimination", "difficulty"]].agg(np.ptp)
    assert (spread.to_numpy() < 1e-6 * (1 + items["difficulty"].abs().max())).all()


def test_the_fit_is_a_maximum_of_likelihood_and_priors():
    """Moving any item a little, on the scale on which it was found, gains nothing."""
    cells, _ = drawn(3, 160)
    found = calibrate(cells, "2pl", engine=EM(tolerance=1e-9))
    unit, shift = 1 / found.population.sd, -found.population.mean / found.population.sd
    items = found.items.iloc[:3]
    slope = items["discrimination"].to_numpy() / unit
    place = items["difficulty"].to_numpy() * unit + shift
    rest = found.items.iloc[3:]
    theta = np.linspace(-9, 9, 1201)

    def height(slope, place):
        a = np.concatenate([slope, rest["discrimination"] / unit])
        b = np.concatenate([place, rest["difficulty"] * unit + shift])
        z = a[:, None] * (theta - b[:, None])
        log_chances = cells @ -np.logaddexp(0, -z) + (1 - cells) @ -np.logaddexp(0, z)
        joint = log_chances - 0.5 * theta**2
        top = joint.max(axis=1, keepdims=True)
        likelihood = (top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))).sum()
        return likelihood - 0.5 * (slope**2 / 9 + (slope * place) ** 2 / 25).sum()

    best = height(slope, place)
    for k in range(3):
        for step in (-0.02, 0.02):
            aside = np.eye(3)[k] * step
            assert height(slope + aside, place * slope / (slope + aside)) < best
            assert height(slope, place + aside) < best


def test_ordinary_tables_are_not_concerned():
    model = MODELS["2pl"]()
    for shape in ((30, 100), (40, 2_100)):
        answers = simulate(model, *shape, random_state=0).responses
        notes = calibrate(answers, "2pl", engine=EM(max_iterations=3)).notes
        assert not any("how abilities are spread" in note for note in notes)


def test_scores_of_a_few_do_not_climb_for_long_and_the_note_says_why():
    scores = simulate("beta", 3, 40, random_state=3).responses  # took 200 iterations and 2.5 s
    cal = calibrate(scores, "beta")
    assert cal.iterations <= 41
    (said,) = (note for note in cal.notes if "Not converged" in note)
    assert "fewer than 10 respondents" in said
    assert "max_iterations" not in said
    assert calibrate(scores, "beta", max_iterations=3).iterations == 3


def test_scores_of_five_still_converge():
    assert calibrate(simulate("beta", 5, 40, random_state=3).responses, "beta").converged


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

"""True scores and total scores against their definitions, written as loops."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

import ogive as og
from ogive import Responses, calibrate, simulate
from ogive.errors import InputError
from ogive.irt import expected_scores, scored_respondents
from ogive.irt import expected_scores as many_scores
from ogive.irt.abilities import Abilities, score_abilities
from ogive.irt.banks import known_items
from ogive.irt.encoded_responses import encode
from ogive.irt.models.logistic import TwoPL
from ogive.irt.quadrature import NormalPopulation
from ogive.irt.score_errors import ItemErrors


@pytest.fixture(scope="module")
def cal():
    values = simulate("3pl", 300, 8, missing=0.2, random_state=1).responses.values
    values[:, 1] = 1 - values[:, 1]
    return calibrate(values, "3pl")


def chance(item, ability):
    return item.guessing + (1 - item.slip - item.guessing) / (
        1 + np.exp(-item.discrimination * (ability - item.difficulty))
    )


def test_one_item_is_negative(cal):
    assert (cal.items["discrimination"] < 0).tolist() == [k == 1 for k in range(8)]


def test_a_true_score_is_the_expected_number_right(cal, subtests):
    for method, negative in product(["eap", "ml"], [True, False]):
        with subtests.test(method, negative=negative):
            found = cal.true_scores(method=method, keep_negative=negative)
            abilities = cal.abilities(method)["ability"]
            counted = [i for i in cal.items.itertuples() if negative or i.discrimination >= 0]
            assert len(counted) == (8 if negative else 7)
            for row in range(10):
                expected = sum(chance(item, abilities.iloc[row]) for item in counted)
                assert found["true_score"].iloc[row] == pytest.approx(expected)
                assert found["true_score_mean"].iloc[row] == pytest.approx(expected / len(counted))


def test_a_true_score_of_two_items_computed_by_hand():
    items = {"discrimination": [1.0, 2.0], "difficulty": [0.0, 0.5]}
    cal = calibrate(simulate("2pl", 50, items=items, random_state=0).responses)
    object.__setattr__(cal, "coords", np.array([[1.0, 0.0], [2.0, -1.0]]))
    found = cal.true_scores(Responses([[np.nan, np.nan]], items=cal.item_names))
    assert found["true_score"].iloc[0] == pytest.approx(0.5 + 0.2689414213699951, abs=1e-6)


@pytest.mark.parametrize("negative", [True, False])
def test_a_total_score_adds_chances_of_hits_and_takes_those_of_misses(cal, negative):
    found = cal.total_scores(keep_negative=negative)
    abilities, values = cal.abilities()["ability"], cal.responses.values
    for row in range(12):
        total, asked = 0.0, 0
        for item, response in zip(cal.items.itertuples(), values[row], strict=True):
            if np.isnan(response) or (item.discrimination < 0 and not negative):
                continue
            right = chance(item, abilities.iloc[row])
            total += right if response == 1 else -(1 - right)
            asked += 1
        assert found["total_score"].iloc[row] == pytest.approx(total)
        assert found["total_score_mean"].iloc[row] == pytest.approx(total / asked)


def test_standard_errors_on_known_items_follow_from_those_of_ability(cal):
    scored, nudge = cal.abilities(items_known=True), 1e-5
    up, down = (cal.probability(scored["ability"] + s).sum(axis=1) for s in (nudge, -nudge))
    expected = np.abs(up - down) / (2 * nudge) * scored["se"]
    found = cal.true_scores(items_known=True)
    np.testing.assert_allclose(found["true_score_se"], expected, rtol=1e-6)
    np.testing.assert_allclose(found["true_score_mean_se"], expected / 8, rtol=1e-6)


def test_who_was_asked_nothing_has_a_total_score_of_zero(cal):
    empty = Responses(np.full((1, 8), np.nan), items=cal.item_names)
    row = cal.total_scores(empty).iloc[0]
    assert row.tolist() == [0.0, 0.0, 0.0, 0.0]


def test_scores_of_new_respondents_are_asked_by_name(cal):
    new = simulate("3pl", 5, 8, random_state=9).responses
    turned = new.select(items=list(reversed(new.items)))
    assert cal.total_scores(turned).equals(cal.total_scores(new))
    assert list(cal.true_scores(new).index) == list(new.respondents)


def test_more_respondents_than_a_block_are_scored_alike(cal):
    many = simulate("3pl", 2500, 8, random_state=9).responses
    whole = cal.total_scores(many)
    part = cal.total_scores(many.select(respondents=slice(1000, 1600)))
    np.testing.assert_allclose(whole.iloc[1000:1600], part, rtol=1e-4)
    few = cal.total_scores(many.select(respondents=slice(1000, 1100)))  # errors answer by answer
    np.testing.assert_allclose(whole["total_score"].iloc[1000:1100], few["total_score"])
    np.testing.assert_allclose(
        whole["total_score_se"].iloc[1000:1100], few["total_score_se"], rtol=0.1
    )


def test_nothing_left_to_score_is_said(cal):
    only = calibrate(simulate("2pl", 100, 3, random_state=0).responses)
    object.__setattr__(only, "coords", -only.coords)
    with pytest.raises(InputError, match=r"All items discriminate negatively.*keep_negative=True"):
        only.true_scores(keep_negative=False)


def test_frames_and_arrays_have_scores_as_responses_have(cal):
    new = simulate("3pl", 5, 8, random_state=9).responses
    for ask in (cal.true_scores, cal.total_scores):
        expected = ask(new, "map")
        assert ask(new.to_frame(), "MAP").equals(expected)
        np.testing.assert_array_equal(ask(new.values, method="map"), expected)


def test_what_to_keep_is_asked_by_name(cal):
    with pytest.raises(TypeError):
        cal.true_scores(None, "eap", False)
    with pytest.raises(TypeError, match="negative"):
        cal.total_scores(negative=False)


A, B = np.array([1.0, 1.5, 0.7, 2.0]), np.array([-1.0, 0.0, 0.5, 1.0])


@pytest.fixture(scope="module")
def four():
    model = TwoPL()
    return known_items(model, model.from_parameters({"discrimination": A, "difficulty": B}))


def brute_force(row):
    """Mean and deviation of the mean response by a sum over a fine grid."""
    grid = np.linspace(-9, 9, 6001)
    p = expit(A * (grid[:, None] - B))
    weight = np.exp(-(grid**2) / 2)
    for k, response in enumerate(row):
        if not np.isnan(response):
            weight = weight * (p[:, k] if response else 1 - p[:, k])
    weight /= weight.sum()
    left = np.isnan(row)
    total = p[:, left].sum(axis=1)
    mean = weight @ total
    variance = weight @ (total - mean) ** 2 + weight @ (p * (1 - p))[:, left].sum(axis=1)
    return (np.nansum(row) + mean) / 4, np.sqrt(variance) / 4


def test_the_completed_score_is_the_sum_over_the_posterior(four):
    rows = np.array([[1, np.nan, 0, np.nan], [np.nan, np.nan, np.nan, 1], [0, 0, np.nan, 0]])
    found = four.completed_scores(Responses(rows, items=four.item_names, kind="binary"))
    expected = np.array([brute_force(row) for row in rows])
    np.testing.assert_allclose(found[["score", "score_se"]], expected, atol=1e-6)
    assert found["asked"].tolist() == [2, 1, 3]


def test_who_was_asked_everything_is_known_without_error(four):
    found = four.completed_scores(Responses([[1, 0, 1, 1]], items=four.item_names))
    assert found["score"].iloc[0] == 0.75
    assert found["score_se"].iloc[0] == 0


def test_intervals_hold_the_full_score_as_often_as_they_say():
    made = og.simulate("2pl", 2000, 60, random_state=3)
    bank = og.calibrate(made.responses)
    values = made.responses.values
    full = values.mean(axis=1)
    values[:, 12:] = np.nan
    found = bank.completed_scores(Responses(values, items=bank.item_names, kind="binary"))
    z = (full - found["score"].to_numpy()) / found["score_se"].to_numpy()
    assert abs((np.abs(z) < 1.96).mean() - 0.95) < 0.015
    assert abs(z.mean()) < 0.07


def test_grades_are_completed_too():
    made = og.simulate("graded", 300, 8, random_state=0)
    bank = og.calibrate(made.responses, model="graded")
    values = made.responses.values
    full = values.mean(axis=1)
    values[:, 4:] = np.nan
    found = bank.completed_scores(Responses(values, items=bank.item_names, kind="graded"))
    assert np.corrcoef(found["score"], full)[0, 1] > 0.8


ABILITY, SE = np.array([0.3, -1.0, 2.0]), np.array([0.2, 0.5, 0.1])


def two_pl():
    model = TwoPL()
    return model, model.from_parameters({"discrimination": A, "difficulty": B})


def test_sums_and_their_errors_by_hand(monkeypatch):
    model, coords = two_pl()
    p = expit(A * (ABILITY[:, None] - B))
    slope = A * p * (1 - p)
    cells = np.array([[1, 0, -1, 1], [0, 0, 1, -1], [-1, -1, -1, -1]], dtype=np.int8)
    for rows in (1024, 2):
        monkeypatch.setattr(expected_scores, "ROWS", rows)
        true = expected_scores.true_scores(model, coords, ABILITY, SE)
        np.testing.assert_allclose(true.total, p.sum(axis=1))
        np.testing.assert_allclose(true.se, slope.sum(axis=1) * SE, rtol=1e-8)
        assert true.n_items.tolist() == [4, 4, 4]
        total = expected_scores.total_scores(cells, model, coords, ABILITY, SE)
        earned = np.where(cells == 1, p, np.where(cells == 0, p - 1, 0.0))
        np.testing.assert_allclose(total.total, earned.sum(axis=1))
        np.testing.assert_allclose(total.se, (slope * (cells >= 0)).sum(axis=1) * SE, rtol=1e-8)
        assert total.n_items.tolist() == [3, 3, 0]
        found = Abilities(ABILITY, SE, np.zeros(3, dtype=bool))
        weights = np.array([1.0, 0.0, 2.0, -1.0])
        sums = expected_scores.expected_sums(model, coords, found, weights)
        np.testing.assert_allclose(sums, p @ weights)
        each = np.arange(12.0).reshape(3, 4)
        sums = expected_scores.expected_sums(model, coords, found, each)
        np.testing.assert_allclose(sums, (p * each).sum(axis=1))


def test_grades_count_by_their_place_between_the_worst_and_the_best():
    made = simulate("graded", 40, 5, random_state=2)
    model = made.truth.model.fitted_to(made.responses.cells, made.responses.items)
    coords = model.from_parameters(made.truth.items)
    cells, ability, se = made.responses.cells[:3], ABILITY, SE
    total = expected_scores.total_scores(cells, model, coords, ability, se)
    low, high = (np.broadcast_to(end, 5) for end in model.extent())
    expected = model.expected(coords, ability).T
    share = (made.responses.values[:3] - low) / (high - low)
    wanted = (share + (expected - low) / (high - low) - 1).sum(axis=1)
    np.testing.assert_allclose(total.total, wanted)
    nudge = 1e-4
    up, down = (model.expected(coords, ability + s).T / (high - low) for s in (nudge, -nudge))
    slope = (up - down).sum(axis=1) / (2 * nudge)
    np.testing.assert_allclose(total.se, np.abs(slope) * se, rtol=1e-5)


def item_errors(coords, random):
    """Errors of the items: own ones, and one that moves all of them."""
    roots = 0.1 * random.normal(size=(4, 2, 2))
    shared = 0.1 * random.normal(size=(1, 4, 2))
    covariances = roots @ roots.swapaxes(1, 2) + np.einsum("kni,knj->nij", shared, shared)
    whole = np.einsum("i,j->ij", shared.reshape(-1), shared.reshape(-1))
    for k in range(4):
        whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = covariances[k]
    return ItemErrors.of(coords, covariances, shared), whole


def by_differences(coords, value):
    """Derivative of each row's value in all coordinates, (n_rows, 8)."""
    found = []
    for k in range(coords.size):
        ends = []
        for step in (1e-4, -1e-4):
            moved = coords.copy()
            moved.flat[k] += step
            ends.append(value(moved))
        found.append((ends[0] - ends[1]) / 2e-4)
    return np.stack(found, axis=1)


CELLS = np.array([[1, 0, -1, 1], [0, -1, 1, -1], [1, 1, 0, 0]], dtype=np.int8)


@pytest.mark.parametrize("method", ["eap", "map"])
def test_errors_of_sums_are_those_of_differences_in_the_items(method):
    """The derivative of the whole path from items to ability to sum; both errors add up."""
    model, coords = two_pl()
    errors, whole = item_errors(coords, np.random.default_rng(0))
    data, population = encode(CELLS, model, collapsing=False), NormalPopulation()
    weights = np.array([1.0, 0.5, 2.0, 0.0])

    def value(at):
        found = score_abilities(data, model, at, population, method)
        return expected_scores.expected_sums(model, at, found, weights)

    reported = value(coords) + np.array([0.0, 0.1, -0.2])
    found = expected_scores.sum_errors(data, model, population, method, reported, errors, weights)
    scored = score_abilities(data, model, coords, population, method)
    p = expit(A * (scored.ability[:, None] - B))
    along = (weights * A * p * (1 - p)).sum(axis=1) * scored.se
    slopes = by_differences(coords, value)
    through = np.einsum("ri,ij,rj->r", slopes, whole, slopes)
    wanted = np.sqrt(along**2 + through + np.array([0.0, 0.01, 0.04]))
    np.testing.assert_allclose(found, wanted, rtol=2e-4)


def test_errors_of_completed_means_are_those_of_differences_in_the_items():
    model, coords = two_pl()
    errors, whole = item_errors(coords, np.random.default_rng(1))
    data, population = encode(CELLS, model, collapsing=False), NormalPopulation(0.2, 1.3)

    def value(at):
        return expected_scores.completed_means(data, CELLS, model, at, population).mean

    plain = expected_scores.completed_means(data, CELLS, model, coords, population)
    away = np.array([0.05, 0.0, -0.1])
    found = expected_scores.completed_errors(
        data, CELLS, model, population, value(coords) + away, errors
    )
    slopes = by_differences(coords, value)
    through = np.einsum("ri,ij,rj->r", slopes, whole, slopes)
    np.testing.assert_allclose(found, np.sqrt(plain.se**2 + through + away**2), rtol=2e-4)
    assert plain.asked.tolist() == [3, 2, 4]


SCORES = ("true_scores", "total_scores", "completed_scores")


@pytest.fixture(scope="module", params=[("2pl", 0.0), ("3pl", 0.3), ("graded", 0.2)])
def drawn(request):
    model, missing = request.param
    return model, og.simulate(model, 900, 12, missing=missing, random_state=3).responses


@pytest.fixture(scope="module")
def cal_many(drawn):
    return og.calibrate(drawn[1], drawn[0], progress=False)


def one_by_one(cal_many, name, monkeypatch, **options):
    with monkeypatch.context() as patch:
        patch.setattr(scored_respondents, "averages", lambda *_: False)
        return getattr(cal_many, name)(**options)


def test_scores_are_those_of_single_answers_and_errors_are_near(cal_many, monkeypatch, subtests):
    for name in SCORES:
        with subtests.test(name):
            found, exact = getattr(cal_many, name)(), one_by_one(cal_many, name, monkeypatch)
            value, se = found.columns[:2]
            np.testing.assert_allclose(found[value], exact[value], atol=1e-10)
            if not exact[se].any():
                assert not found[se].any()
                continue
            moved = exact[se] > 0
            assert abs((found[se][moved] / exact[se][moved]).mean() - 1) < 0.012
            assert (found[se] == 0).equals(exact[se] == 0)


def test_what_items_add_to_the_error_is_nearly_that_of_single_answers(monkeypatch):
    cal_many = og.calibrate(og.simulate("2pl", 900, 12, random_state=3).responses, progress=False)
    found, exact = cal_many.true_scores(), one_by_one(cal_many, "true_scores", monkeypatch)
    known = cal_many.true_scores(items_known=True)["true_score_se"] ** 2
    added, exactly = (made["true_score_se"] ** 2 - known for made in (found, exact))
    assert exactly.sum() > 0.01 * known.sum()  # else there is nothing to see
    assert abs(added.sum() / exactly.sum() - 1) < 0.06


def test_on_known_items_errors_are_those_of_single_answers(cal_many, monkeypatch, subtests):
    for name in SCORES:
        with subtests.test(name):
            found = getattr(cal_many, name)(items_known=True)
            exact = one_by_one(cal_many, name, monkeypatch, items_known=True)
            np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-10)


def test_a_spline_stands_for_the_curve_of_all_items(cal_many, monkeypatch):
    plain = cal_many.true_scores()
    monkeypatch.setattr(many_scores, "PLACES", 800)  # fewer than respondents
    np.testing.assert_allclose(cal_many.true_scores(), plain, rtol=1e-7)


def test_blocks_make_no_difference(cal_many, monkeypatch, subtests):
    for name in SCORES:
        with subtests.test(name):
            whole = getattr(cal_many, name)()
            with monkeypatch.context() as patch:
                patch.setattr(many_scores, "CELLS", 500)
                np.testing.assert_allclose(getattr(cal_many, name)(), whole, rtol=1e-10)


def test_scores_are_computed_where_the_engine_has_its_device(drawn, cal_many, subtests):
    pytest.importorskip("torch")
    there = og.calibrate(drawn[1], drawn[0], engine=og.EM(device="cpu"), progress=False)
    object.__setattr__(there, "coords", cal_many.coords)
    object.__setattr__(there, "uncertainty", cal_many.uncertainty)
    for name in SCORES:
        with subtests.test(name):
            np.testing.assert_allclose(getattr(there, name)(), getattr(cal_many, name)(), atol=1e-8)


def test_items_that_were_held_back_are_expected_as_often_as_intervals_say():
    made = og.simulate("2pl", 3000, 40, random_state=3)
    values = made.responses.values
    full = values.mean(axis=1)
    bank = og.calibrate(made.responses, progress=False)
    values[:, 10:] = np.nan
    found = bank.completed_scores(og.Responses(values, items=bank.item_names, kind="binary"))
    inside = np.abs(full - found["score"]) < 1.96 * found["score_se"]
    assert abs(inside.mean() - 0.95) < 0.015


def test_negative_items_may_be_left_out(monkeypatch):
    values = og.simulate("2pl", 700, 8, missing=0.2, random_state=1).responses.values
    values[:, 1] = 1 - values[:, 1]
    cal_many = og.calibrate(values, "2pl", progress=False)
    for name in ("true_scores", "total_scores"):
        found = getattr(cal_many, name)(keep_negative=False)
        exact = one_by_one(cal_many, name, monkeypatch, keep_negative=False)
        np.testing.assert_allclose(found, exact, rtol=0.06, atol=1e-3)
        np.testing.assert_allclose(found.iloc[:, 0], exact.iloc[:, 0], atol=1e-10)

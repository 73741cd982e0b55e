"""Linking: the line between two scales, and the anchors that drifted."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import t

import ogive as og
from ogive import calibrate, link, simulate
from ogive.errors import InputError
from ogive.irt.banks import known_items
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.linking_constants import (
    LINES,
    METHODS,
    choose_anchors,
    common_grid,
    paired,
    robust_line,
)
from ogive.irt.models import MODELS
from ogive.irt.models.logistic import TwoPL
from ogive.results.numbers import with_interval

MOVED = list(LINES)
AFFINE = [name for name, model in MODELS.items() if model.affine]


@cache
def bank(model="2pl", n=300, n_items=12, seed=1):
    return calibrate(simulate(model, n, n_items, random_state=seed).responses, model)


def seen_from_elsewhere(calibration, slope, intercept):
    """The same items on a scale where old = slope x new + intercept."""
    coords = calibration.model.rescale(calibration.coords, intercept, slope)
    return replace(calibration, coords=np.array(coords))


@cache
def versions(n_anchors=30, n=1000, drifting=3, seed=1, size=0.8):
    """Calibrations of two versions, with the true line, the first anchors `size` harder."""
    random = np.random.default_rng(seed)
    items = simulate("2pl", 2, n_anchors + 5, random_state=seed).truth.items
    later = items.copy()
    later.iloc[:drifting, later.columns.get_loc("difficulty")] += size
    before, after = random.normal(size=n), random.normal(0.5, 1.2, n)
    old = simulate("2pl", items=items.iloc[:n_anchors], abilities=before, random_state=seed + 10)
    new = simulate("2pl", items=later, abilities=after, random_state=seed + 20)
    truth = after.std() / before.std(), (after.mean() - before.mean()) / before.std()
    return calibrate(old.responses, "2pl"), calibrate(new.responses, "2pl"), truth, items


@pytest.mark.slow
def test_a_scale_that_was_moved_is_found_again(subtests):
    for model, method in product(AFFINE, MOVED):
        with subtests.test(model=model, method=method):
            old = bank(model)
            found = link(old, seen_from_elsewhere(old, 1.25, -0.4), method=method)
            assert found.slope == pytest.approx(1.25, abs=1e-6)
            assert found.intercept == pytest.approx(-0.4, abs=1e-6)
            np.testing.assert_allclose(found.calibration.coords, old.coords, atol=1e-5)
            assert found.drifted == ()


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.floats(0.4, 2.5), st.floats(-2, 2), st.sampled_from(MOVED))
def test_every_line_is_found_again(slope, intercept, method):
    found = link(bank(), seen_from_elsewhere(bank(), slope, intercept), method=method)
    assert found.slope == pytest.approx(slope, abs=1e-6)
    assert found.intercept == pytest.approx(intercept, abs=1e-6)


def of_numbers(discrimination, difficulty):
    parameters = {"discrimination": np.array(discrimination), "difficulty": np.array(difficulty)}
    return known_items(TwoPL(), TwoPL().from_parameters(parameters))


def test_moments_are_those_computed_by_hand():
    old = of_numbers([1.0, 2.0, 1.5], [-1.0, 0.0, 2.0])
    new = of_numbers([1.2, 2.1, 2.1], [-1.0, 0.5, 1.1])
    old_sd = np.sqrt((1.0 + 0.0 + 4.0) / 3 - (1 / 3) ** 2)
    new_sd = np.sqrt((1.0 + 0.25 + 1.21) / 3 - 0.2**2)
    found = link(old, new, method="mean-sigma", drift="keep")
    assert found.slope == pytest.approx(old_sd / new_sd)
    assert found.intercept == pytest.approx(1 / 3 - 0.2 * old_sd / new_sd)
    found = link(old, new, method="mean-mean", drift="keep")
    assert found.slope == pytest.approx(5.4 / 4.5)
    assert found.intercept == pytest.approx(1 / 3 - 0.2 * 1.2)
    assert any("no standard errors: drift was not tested" in note for note in found.notes)


@pytest.mark.parametrize("method", ["stocking-lord", "haebara"])
def test_curves_are_brought_as_near_as_a_search_by_another_program(method):
    old, new, _, _ = versions()
    names, _ = choose_anchors(old, new, None)
    pair = paired(old, new, names)
    grid = common_grid(old, new, robust_line(pair))
    one, other = (old.of_items(names).items, new.of_items(names).items)

    def curves(slope, place):
        return 1 / (1 + np.exp(-slope[:, None] * (grid.points - place[:, None])))

    def distance(x):
        a, b = other["discrimination"].to_numpy(), other["difficulty"].to_numpy()
        gap = curves(*one[["discrimination", "difficulty"]].to_numpy().T)
        gap = gap - curves(a / x[0], x[0] * b + x[1])
        total = gap.sum(axis=0) ** 2 if method == "stocking-lord" else (gap**2).sum(axis=0)
        return total @ grid.weights

    wanted = minimize(distance, [1.0, 0.1], tol=1e-7)
    found = LINES[method](pair, grid, robust_line(pair))
    assert [found.slope, found.intercept] == pytest.approx(wanted.x.tolist(), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("method", MOVED)
def test_standard_errors_are_the_spread_over_banks_drawn_from_theirs(method):
    old, new, _, _ = versions(drifting=0)
    pair = paired(old, new, choose_anchors(old, new, None)[0])
    grid, start = common_grid(old, new, robust_line(pair)), robust_line(pair)
    wanted = np.sqrt(np.diag(LINES[method](pair, grid, start).covariance))
    random, found = np.random.default_rng(0), []
    roots = [np.linalg.cholesky(c) for c in (pair.old_covariances, pair.new_covariances)]
    for _ in range(150):  # which know their spread to 6 %: 20 % is beyond chance
        noise = [np.einsum("nij,nj->ni", r, random.normal(size=pair.old.shape)) for r in roots]
        drawn = replace(pair, old=pair.old + noise[0], new=pair.new + noise[1])
        line = LINES[method](drawn, grid, start)
        found.append((line.slope, line.intercept))
    np.testing.assert_allclose(np.std(found, axis=0), wanted, rtol=0.2)


@pytest.mark.slow
def test_drift_is_found_and_taken_out_of_the_line(subtests):
    old, new, truth, items = versions()
    for method in METHODS:
        with subtests.test(method=method):
            found = link(old, new, method=method)
            assert set(found.drifted) == set(items.index[:3])
            assert abs(found.slope - truth[0]) < 4 * found.slope_se
            assert abs(found.intercept - truth[1]) < 4 * found.intercept_se
            kept = link(old, new, method=method, drift="keep")
            assert abs(kept.intercept - truth[1]) > abs(found.intercept - truth[1])
            assert kept.anchors["used"].all()


def test_nothing_is_called_drifted_where_nothing_drifted():
    old, new, _, _ = versions(drifting=0)
    assert link(old, new).drifted == ()
    assert "no anchor drifted significantly" in link(old, new).meaning
    assert "what other samples of them would change is not counted" in link(old, new).meaning


def split_by_ability(values, seed=0):
    """Better and other respondents of one table: nothing drifted between them."""
    score = values.mean(axis=1)
    chance = 1 / (1 + np.exp(-1.5 * (score - score.mean()) / score.std()))
    return np.random.default_rng(seed).random(len(score)) < chance


def test_better_respondents_are_no_drift_where_curves_do_not_fit():
    values = simulate("3pl", 2400, 30, random_state=4).responses.values
    better = split_by_ability(values)
    found = link(calibrate(values[~better], "2pl"), calibrate(values[better], "2pl"))
    assert found.drifted == ()
    assert np.isfinite(found.anchors["p"]).all()


def test_banks_without_responses_are_judged_by_their_parameters_and_it_is_said():
    old, new, _, items = versions()
    found = link(replace(old, responses=None), replace(new, responses=None))
    assert set(found.drifted) == set(items.index[:3])
    assert any("judged by parameters alone" in note for note in found.notes)
    assert not any("judged by parameters alone" in note for note in link(old, new).notes)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["2pl", "3pl"])
@pytest.mark.parametrize("board", ["arc_2pl", "mmlu_3pl", "winogrande"])
def test_better_models_are_no_drift_on_real_boards(shared, board, model):
    path = shared / "data" / "llm" / f"metabench_{board}_responses.csv.gz"
    table = og.read_responses(path)
    shares = []
    for seed in range(2):
        better = split_by_ability(table.values, seed)
        banks = [calibrate(table.select(respondents=rows), model) for rows in (~better, better)]
        shares.append(link(*banks).anchors["drifted"].mean())
    assert np.mean(shares) <= 0.05


def test_holding_items_agrees_with_the_curves():
    old, new, _, _ = versions()
    curves, held = link(old, new), link(old, new.responses, method="fixed")
    assert held.slope == pytest.approx(curves.slope, abs=2 * curves.slope_se)
    assert held.intercept == pytest.approx(curves.intercept, abs=2 * curves.intercept_se)
    fresh = [name for name in new.item_names if name not in old.item_names]
    apart = held.calibration.items.loc[fresh] - curves.calibration.items.loc[fresh, ["difficulty"]]
    assert np.abs(apart["difficulty"]).max() < 0.1


def test_the_bank_keeps_anchors_as_they_were_and_drifted_ones_as_they_are(tmp_path):
    old, new, _, items = versions()
    found = link(old, new)
    merged = og.load(found.bank.save(tmp_path / "bank.json"))
    assert set(merged.item_names) == set(items.index)
    steady = list(items.index[3:30])
    np.testing.assert_array_equal(
        merged.items.loc[steady, "difficulty"], old.items.loc[steady, "difficulty"]
    )
    gone = list(items.index[:3])
    np.testing.assert_allclose(
        merged.items.loc[gone, "difficulty"], found.calibration.items.loc[gone, "difficulty"]
    )
    assert merged.items.loc[gone, "flag"].str.contains("drifted").all()
    abilities = merged.score(new.responses, "wle")["ability"]
    assert abilities.mean() == pytest.approx(found.populations.loc["new", "mean"], abs=0.05)


@pytest.mark.parametrize("model", ["graded", "continuous"])
def test_banks_with_grades_and_bounds_are_merged_and_saved(model, tmp_path):
    table = simulate(model, 200, 9, random_state=3).responses
    old = calibrate(table.select(items=table.items[:6]), model)
    found = link(old, calibrate(table.select(items=table.items[2:]), model))
    assert found.slope == pytest.approx(1, abs=0.1)
    merged = og.load(found.bank.save(tmp_path / "bank.json"))
    assert merged.item_names == table.items
    assert len(merged.score(table)) == 200


def test_what_the_line_leaves_unknown_adds_to_the_errors_of_linked_items():
    old, new, _, _ = versions()
    linked = link(old, new)
    own = new.items["difficulty_se"] * linked.slope
    assert (linked.calibration.items["difficulty_se"] >= own - 1e-9).all()
    assert linked.calibration.log_likelihood == new.log_likelihood


def test_items_that_cannot_be_anchors_are_left_out_and_named():
    values = simulate("2pl", 200, 8, random_state=1).responses.values.copy()
    values[:, 0], values[:, 1] = 1.0, 1 - values[:, 2]
    old = calibrate(values, "2pl")
    found = link(old, calibrate(values[::-1].copy(), "2pl"))
    assert list(found.anchors.index) == [f"item_{k}" for k in range(3, 9)]
    assert any("1 item (item_1) left out" in note for note in found.notes)
    assert any("negatively" in note and "item_2" in note for note in found.notes)


def test_few_anchors_and_banks_that_did_not_converge_are_said():
    old, new, _, items = versions()
    found = link(replace(old, converged=False), new, anchors=list(items.index[5:8]))
    assert any("Only 3 anchors" in note for note in found.notes)
    assert any("old bank did not converge" in note for note in found.notes)


def test_most_anchors_drifting_is_said():
    old, new, _, _ = versions(drifting=12, size=1.0)
    assert any("cannot tell which ones stayed the same" in note for note in link(old, new).notes)


def test_wrong_arguments_are_refused(subtests):
    cases = [
        ({"method": "guess"}, "`method` must be one of: stocking-lord.*got 'guess'"),
        ({"drift": "ignore"}, "`drift` must be one of: remove, keep.*got 'ignore'"),
        ({"alpha": 1}, "`alpha` must be a number between 0 and 1.*got 1"),
        ({"anchors": ["item_1", "nobody"]}, r"1 anchor \(nobody\) not in both banks"),
        ({"anchors": "item_1"}, "must be a list of item names, got 'item_1'"),
        ({"alpha": None}, r"`alpha` must be .*got None"),
        ({"anchors": 3}, "must be a list of item names, got 3"),
        ({"anchors": [1, 2]}, r"must be a list of item names, got"),
        ({"anchors": []}, "anchors is empty, but linking needs"),
        ({"anchors": ["item_1"]}, "1 of 1 common items can be anchors, but at least 2"),
    ]
    for change, message in cases:
        with (
            subtests.test(change=change, message=message),
            pytest.raises(InputError, match=message),
        ):
            link(bank(), bank(seed=2), **change)


def test_banks_that_cannot_be_linked_are_refused():
    with pytest.raises(InputError, match="of the 2pl model, the new one of the 3pl model"):
        link(bank(), bank("3pl"))
    with pytest.raises(InputError, match="beta model cannot be linked"):
        link(bank("beta"), bank("beta"))
    strange = replace(bank(), item_names=tuple(f"q{k}" for k in range(12)))
    with pytest.raises(InputError, match=r"no item in common.*\(item_1, .*\(q0, q1, q2, \.\.\.\)"):
        link(bank(), strange)
    with pytest.raises(InputError, match="loaded without them"):
        link(bank(), replace(bank(), responses=None), method="fixed")
    with pytest.raises(InputError, match="got Responses"):
        link(bank().responses, bank())


def test_a_bank_linked_to_itself_is_not_said_to_have_no_errors():
    assert not any("standard errors" in note for note in link(bank(), bank()).notes)


def test_unknown_errors_do_not_call_anything_drifted():
    old = replace(bank(), uncertainty=KnownCovariances(np.zeros((12, 2, 2))))
    assert link(old, seen_from_elsewhere(old, 1.1, 0.2)).drifted == ()


def test_the_plot_and_the_page_show_the_anchors(tmp_path):
    old, new, _, _ = versions()
    found = link(old, new)
    assert found.plot().ax_.get_xlabel() == "difficulty in the old calibration"
    found.save(tmp_path / "anchors.html")
    assert "old ability = " in repr(found)


ABILITIES = np.array([1.3, 1.3, 0.4, 0.4, 0.0, -0.3, -1.2, -2.0, 0.6])


def two_runs(seed, *, related=True):
    """Nine models on 150 items, twice; the second time on others of the same names, or not."""
    random = np.random.default_rng(seed)
    places, slopes = random.normal(size=150), 1.5 * random.lognormal(0.1, 0.3, 150)
    runs = []
    for _ in range(2):
        chance = 1 / (1 + np.exp(-slopes * (ABILITIES[:, None] - places)))
        runs.append(og.Responses((random.random(chance.shape) < chance).astype(int)))
        places = places if related else random.normal(size=150)
    return og.link(og.calibrate(runs[0], "2pl"), runs[1])


def test_unrelated_items_of_the_same_names_are_said_first_not_to_agree():
    found = two_runs(100, related=False)
    assert found.meaning.startswith("The anchors do not agree: they scatter by")
    assert "cannot be trusted" in found.meaning
    assert two_runs(100).meaning.startswith("Linked by")


@pytest.mark.slow
def test_the_interval_of_the_shift_holds_for_a_handful_of_models():
    held = []
    for seed in range(80):
        found = two_runs(seed).populations
        shift, error = found.loc["new", "mean"] - found.loc["old", "mean"], found.loc["new"]
        held.append(abs(shift) <= t.ppf(0.975, 8) * error["mean_se"])
    assert np.mean(held) >= 0.91  # with 1.96 standard errors, 0.89 of 130


def test_the_interval_of_a_handful_is_students():
    found = two_runs(100)
    new, old = found.populations.loc["new"], found.populations.loc["old"]
    away, reach = abs(new["mean"] - old["mean"]), t.ppf(0.975, 8) * new["mean_se"]
    assert with_interval(away / old["sd"], reach / old["sd"]) in found.meaning


def test_where_a_few_stand_is_what_scoring_them_says():
    """Nine models on 460 items give their scale themselves: their prior is not where they are."""
    random = np.random.default_rng(51)
    z = random.normal(size=(12, 1)) - random.normal(size=460)
    answers = (random.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    items = [f"q{k}" for k in range(460)]
    old = og.calibrate(og.Responses(answers, items=items))
    new = og.Responses(answers[2:11], items=items)
    found = og.link(old, og.calibrate(new))
    there = old.score(new)["ability"].mean()
    assert abs(found.populations.loc["new", "mean"] - there) < 0.06
    assert abs(found.populations.loc["new", "mean"] - found.intercept) < 0.06

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

import ogive as og
from ogive.difficulty.model_selection import ModelSelection, select_models
from ogive.errors import InputError
from ogive.results.plots.figure import Display


def drawn(chance, seed=0):
    random = np.random.default_rng(seed)
    right = (random.uniform(size=chance.shape) < chance).astype(float)
    names = [f"item {k}" for k in range(chance.shape[1])]
    return pd.DataFrame(right, index=[f"m{k}" for k in range(len(chance))], columns=names)


def crossing(m=2000, seed=0):
    """m0 is best on easy items, m1 on hard ones; m1 is the single best, by 0.05."""
    difficulty = np.random.default_rng(seed).normal(size=m)
    easy = difficulty < 0
    chance = np.stack([np.where(easy, 0.9, 0.3), np.where(easy, 0.7, 0.6), np.full(m, 0.4)])
    return drawn(chance, seed), difficulty


def test_the_best_of_each_bin_by_hand():
    table = pd.DataFrame(
        [[1, 1, 1, 0, 0, 0], [1, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0]], index=["a", "b", "c"]
    )
    difficulty = [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]
    found = select_models(table, difficulty, bins=[-4, 0, 4], cv=3)
    assert found.best == ("a", "b")  # a and c are alike; the first of the best overall leads
    assert found.single == "a"
    assert found.choose([-9.0, -0.5, 0.0, 2.0, 9.0, np.nan]) == ["a", "a", "b", "b", "b", "a"]
    frame = found.to_frame()
    np.testing.assert_allclose(frame["share"], [1.0, 2 / 3])
    np.testing.assert_allclose(frame["share_single"], [1.0, 0.0])
    assert frame["tied"].tolist() == ["b, c", "a, c"]  # 2 of 2 items are no evidence


def test_ties_are_what_an_exact_test_cannot_tell_apart():
    table, difficulty = crossing(400)
    found = select_models(table, difficulty, bins=4)
    for k, (best, tied) in enumerate(zip(found.best, found.tied, strict=True)):
        low, high = found.edges[k], found.edges[k + 1]
        inside = (difficulty >= low) & ((difficulty < high) | (k == 3))
        part = table.loc[:, inside]
        for name in set(table.index) - {best}:
            ahead = int((part.loc[best] > part.loc[name]).sum())
            behind = int((part.loc[best] < part.loc[name]).sum())
            assert (name in tied) == (binomtest(ahead, ahead + behind).pvalue >= 0.05)


def test_a_gain_that_is_there_is_found_and_its_interval_holds_it():
    table, difficulty = crossing()
    found = select_models(table, difficulty)
    # By construction: (0.9 + 0.6) / 2 against (0.7 + 0.6) / 2; a bin at 0 is mixed.
    assert found.gain_low < 0.1 < found.gain_high
    assert found.gain_low > 0
    assert found.single == "m1"
    assert "pays" in found.meaning
    assert "m0 up to" in found.meaning
    assert found.share_chosen - found.share_single == pytest.approx(found.gain)
    assert found.share_chosen <= found.share_any


def test_gains_are_rarely_found_where_there_are_none():
    false = 0
    for seed in range(60):
        difficulty = np.random.default_rng(seed).normal(size=200)
        found = select_models(drawn(np.full((4, 200), 0.6), seed), difficulty, bins=5)
        false += found.gain_low > 0
    assert false <= 5  # of 60; 2.5 % each


def test_gains_on_held_out_items_are_those_on_new_items():
    gains, news = [], []
    for seed in range(20):
        table, difficulty = crossing(300, seed)
        found = select_models(table, difficulty)
        fresh, harder = crossing(5000, 1000 + seed)
        rows = [fresh.index.get_loc(name) for name in found.choose(harder)]
        chosen = fresh.to_numpy()[rows, np.arange(5000)].mean()
        gains.append(found.gain)
        news.append(chosen - fresh.loc[found.single].mean())
    assert np.mean(gains) == pytest.approx(np.mean(news), abs=3 * np.std(gains) / np.sqrt(20))


@given(st.integers(0, 500), st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_respondents_and_items_in_another_order_change_nothing_but_ties(seed, bins):
    random = np.random.default_rng(seed)
    difficulty = pd.Series(random.normal(size=40), index=[f"item {k}" for k in range(40)])
    table = drawn(np.full((3, 40), 0.5), seed)
    found = select_models(table, difficulty, bins=bins, cv=4)
    turned = select_models(table.iloc[:, ::-1], difficulty.sample(frac=1), bins=bins, cv=4)
    np.testing.assert_array_equal(found.share, turned.share)
    assert found.best == turned.best
    assert found.tied == turned.tied
    frame = found.to_frame()
    assert (frame["share"] >= frame["share_single"]).all()
    assert found.n.sum() == 120


def test_items_that_were_not_asked_are_not_judged():
    table, difficulty = crossing(200)
    table.iloc[:, :50] = np.nan
    found = select_models(table, difficulty)
    assert found.judged == 150
    assert "(not asked of both models): 50 items" in found.notes[-1]
    apart = pd.DataFrame([[1, np.nan], [np.nan, 0]], index=["a", "b"])
    with pytest.raises(InputError, match="No held-out item"):
        select_models(apart, [0.0, 1.0], cv=2)


def test_a_calibration_knows_the_difficulties_and_the_result_shows_itself():
    responses = og.simulate("2pl", n_respondents=50, n_items=60, random_state=0).responses
    calibration = og.calibrate(responses, "2pl")
    few = responses.select(respondents=[0, 1, 2])
    found = select_models(few, calibration=calibration, bins=3)
    assert isinstance(found, ModelSelection)
    assert isinstance(found.plot(), Display)
    assert found.choose(0.0)[0] in few.respondents


def test_bad_input_is_told_what_is_wrong(subtests):
    cases = [
        ({}, "select_models needs to know how hard"),
        ({"difficulty": [0.0, 1.0, 2.0], "cv": 1}, r"`cv` must be .*got 1"),
        ({"difficulty": [0.0, 1.0, np.nan], "cv": 3}, "2 items with a difficulty"),
        ({"difficulty": [0.0, 1.0, 2.0], "confidence": 2}, r"`confidence` must be .*got 2"),
        ({"difficulty": [0.0, 1.0, 2.0], "bins": 0}, r"`bins` must be .*got 0"),
        ({"difficulty": ["a", "b", "c"]}, "should be numbers"),
    ]
    for arguments, match in cases:
        with (
            subtests.test(arguments=arguments, match=match),
            pytest.raises(InputError, match=match),
        ):
            select_models([[0, 1, 1], [1, 0, 1]], **arguments)


def test_one_model_leaves_no_choice_and_text_is_no_difficulty():
    with pytest.raises(InputError, match="only one respondent"):
        select_models([[0, 1, 1]], [0.0, 1.0, 2.0])
    table, difficulty = crossing(50)
    with pytest.raises(InputError, match="should be numbers"):
        select_models(table, difficulty).choose(["hard"])

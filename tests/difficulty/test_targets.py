import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, spearmanr

import ogive as og
from ogive.difficulty.targets import (
    DifficultyTargets,
    deal,
    difficulty_targets,
    on_one_scale,
    with_artificial,
)
from ogive.errors import InputError
from ogive.results.plots.figure import Display

SIMULATED = og.simulate("2pl", n_respondents=150, n_items=120, random_state=0)


@pytest.fixture(scope="module")
def targets():
    return difficulty_targets(SIMULATED.responses)


def test_each_method_has_its_columns_one_row_an_item(targets):
    frame = targets.to_frame()
    assert isinstance(targets, DifficultyTargets)
    assert tuple(frame.index) == SIMULATED.responses.items
    assert frame.columns.tolist() == [
        "difficulty_1pl",
        "difficulty_1pl_se",
        "difficulty_2pl",
        "difficulty_2pl_se",
        "average_error",
        "average_error_se",
        "discrimination",
        "discrimination_se",
        "negative",
        "flag",
    ]


@pytest.mark.parametrize("model", ["1pl", "2pl"])
def test_difficulties_are_those_of_the_calibration(targets, model):
    items = og.calibrate(SIMULATED.responses, model).items
    np.testing.assert_array_equal(targets.difficulties[model], items["difficulty"])
    np.testing.assert_array_equal(targets.errors[model], items["difficulty_se"])


def test_known_difficulties_are_found_again(targets):
    truth = SIMULATED.truth.items["difficulty"].to_numpy()
    for method in ("1pl", "2pl", "average_error"):
        assert spearmanr(targets.difficulties[method], truth).statistic > 0.9
    z = (targets.difficulties["2pl"] - truth) / targets.errors["2pl"]
    assert 0.7 < np.median(np.abs(z)) / 0.6745 < 1.3


def test_the_average_error_by_hand():
    table = [[1, 0, np.nan], [1, 0, np.nan], [1, 1, np.nan], [1, np.nan, np.nan]]
    found = difficulty_targets(table, methods="average_error")
    np.testing.assert_allclose(found.difficulties["average_error"], [0.0, 2 / 3, np.nan])
    wanted = [beta(0.5, 4.5).std(), beta(2.5, 1.5).std(), np.nan]
    np.testing.assert_allclose(found.errors["average_error"], wanted)
    assert found.discrimination is None
    assert found.abilities.shape == (4, 0)


def test_the_average_error_counts_every_try():
    """A cell with a right try counted as right: errors were 0 and 1/2, not 1/2 and 7/8."""
    shares = og.Responses([[0.5, 0.25], [0.5, 0.0]], tries=4)
    found = difficulty_targets(shares, methods="average_error")
    np.testing.assert_allclose(found.difficulties["average_error"], [1 / 2, 7 / 8])
    wanted = [beta(4.5, 4.5).std(), beta(7.5, 1.5).std()]
    np.testing.assert_allclose(found.errors["average_error"], wanted)
    easy_and_hard = np.repeat([[0.75, 0.25]], 20, axis=0).T.reshape(1, -1)
    batch = deal(og.Responses(easy_and_hard, tries=4), 2, 0)
    assert [int((batch[:20] == k).sum()) for k in (0, 1)] == [10, 10]


def test_items_of_negative_discrimination_are_marked():
    cells = SIMULATED.responses.to_frame()
    cells.iloc[:, 3] = 1 - cells.iloc[:, 3]
    found = difficulty_targets(cells)
    assert found.negative[3]
    assert "1 item with negative discrimination" in " ".join(found.notes)
    assert len(found.difficulty("2pl", keep_negative=False)) == 119
    assert len(found.difficulty("2pl")) == 120


@pytest.fixture(scope="module")
def extreme():
    random = np.random.default_rng(1)
    cells = SIMULATED.responses.to_frame()
    for k in range(4):  # unrelated to ability, and nearly always right: flat, so far out
        cells.iloc[:, k] = (random.uniform(size=150) < 0.97).astype(float)
    return cells


def test_abnormal_values_are_kept_clipped_or_dropped_and_counted(extreme):
    kept, clipped, dropped = (
        difficulty_targets(extreme, abnormal=way, limit=4.0) for way in ("keep", "clip", "drop")
    )
    beyond = np.abs(kept.difficulties["2pl"]) > 4
    assert 0 < beyond.sum() == kept.abnormal["2pl"] == dropped.abnormal["2pl"]
    assert np.abs(clipped.difficulties["2pl"]).max() == 4
    np.testing.assert_array_equal(
        clipped.difficulties["2pl"][~beyond], kept.difficulties["2pl"][~beyond]
    )
    np.testing.assert_array_equal(np.isnan(dropped.difficulties["2pl"]), beyond)
    assert len(dropped.difficulty("2pl")) == 120 - beyond.sum()
    assert len(dropped.to_frame()) == 120
    for found, word in ((kept, "kept"), (clipped, "clipped to ±4"), (dropped, "dropped")):
        assert any(f"beyond ±4: {word}." in note for note in found.notes)


def test_artificial_respondents_stand_at_the_ends():
    labels = ["a", "b"] * 60
    found = difficulty_targets(SIMULATED.responses, artificial=True, labels=labels)
    order = found.abilities["ability_2pl"].sort_values().index
    assert (order[0], order[-1]) == ("pessimal", "optimal")
    assert "random 1" in order
    plain = difficulty_targets(SIMULATED.responses)
    np.testing.assert_array_equal(
        found.difficulties["average_error"], plain.difficulties["average_error"]
    )
    assert difficulty_targets(SIMULATED.responses, artificial=True).abilities.shape == (152, 2)


def test_the_random_respondent_is_right_by_the_share_of_each_class():
    table = og.Responses(np.zeros((1, 20_000)), kind="binary")
    labels = pd.Series(["rare"] * 2000 + ["common"] * 18_000, index=table.items)
    right = with_artificial(table, labels.sample(frac=1, random_state=0), 0).cells[3]
    assert right[:2000].mean() == pytest.approx(0.1, abs=0.02)
    assert right[2000:].mean() == pytest.approx(0.9, abs=0.007)
    again = with_artificial(table, labels, 0).cells[3]
    np.testing.assert_array_equal(right, again)


def test_batches_are_of_one_size_and_of_one_difficulty():
    dealt = deal(SIMULATED.responses, 7, 0)
    sizes = np.bincount(dealt)
    assert sizes.max() - sizes.min() <= 1
    share = SIMULATED.responses.cells.mean(axis=0)
    means = [share[dealt == k].mean() for k in range(7)]
    assert np.ptp(means) < 0.1


@pytest.mark.parametrize("model", ["1pl", "2pl"])
def test_batches_find_nearly_what_all_items_at_once_find(model):
    whole = on_one_scale(SIMULATED.responses, model, None, 0)
    parts = on_one_scale(SIMULATED.responses, model, 3, 0)
    near = np.abs(whole.difficulty) < 3
    slope, shift = np.polyfit(whole.difficulty[near], parts.difficulty[near], 1)
    assert slope == pytest.approx(1.0, abs=0.1)
    assert shift == pytest.approx(0.0, abs=0.1)
    assert spearmanr(whole.difficulty, parts.difficulty).statistic > 0.97
    assert np.corrcoef(whole.ability, parts.ability)[0, 1] > 0.98


def test_batches_are_on_one_scale_even_where_their_items_differ():
    found = on_one_scale(SIMULATED.responses, "2pl", 4, 0)
    truth = SIMULATED.truth.items["difficulty"].to_numpy()
    dealt = deal(SIMULATED.responses, 4, 0)
    bias = [np.median((found.difficulty - truth)[dealt == k]) for k in range(4)]
    assert np.ptp(bias) < 0.25


@given(st.integers(2, 6), st.integers(0, 100))
@settings(max_examples=10, deadline=None)
def test_each_item_keeps_its_name_in_batches(batches, seed):
    table = SIMULATED.responses.select(items=slice(0, 60))
    found = difficulty_targets(table, batches=batches, random_state=seed)
    assert found.items == table.items
    error, easy = found.difficulties["average_error"], found.difficulties["1pl"]
    assert spearmanr(error, easy).statistic > 0.95


def test_constant_items_and_one_respondent_have_a_defined_result():
    cells = SIMULATED.responses.to_frame()
    cells.iloc[:, 0], cells.iloc[:, 1] = 1.0, 0.0
    found = difficulty_targets(cells, batches=4)
    assert found.flags[:2] == ("solved by all", "solved by none")
    assert np.isfinite(found.difficulties["2pl"]).all()
    alone = difficulty_targets([[1, 0, 1, 1]])
    assert np.isfinite(alone.difficulties["2pl"]).all()


def test_a_target_is_taken_by_its_name(targets):
    pd.testing.assert_series_equal(
        targets.difficulty("2pl"), targets.to_frame()["difficulty_2pl"].rename("difficulty")
    )
    assert targets.difficulty().name == "difficulty"
    with pytest.raises(InputError, match=r"`method` must be"):
        targets.difficulty("3pl")


def test_dropped_items_are_there_as_nan_on_request(extreme):
    found = difficulty_targets(extreme, methods="2pl", abnormal="drop", limit=4.0)
    every = found.difficulty(keep_dropped=True)
    assert tuple(every.index) == found.items
    assert every.isna().sum() == found.abnormal["2pl"] > 0


def test_the_result_shows_itself_and_repeats(targets):
    assert "120 items" in targets.meaning
    assert isinstance(targets.plot(), Display)
    alone = difficulty_targets(SIMULATED.responses, methods=["average_error"])
    assert alone.plot().ax_.get_xlabel() == "average error"
    again = difficulty_targets(SIMULATED.responses)
    pd.testing.assert_frame_equal(again.to_frame(), targets.to_frame())


def test_bad_input_is_told_what_is_wrong(subtests):
    cases = [
        ({"methods": ("3pl",)}, "one or more of: 1pl, 2pl, average_error"),
        ({"methods": ()}, "one or more of"),
        ({"abnormal": "crop"}, "one of: keep, clip, drop"),
        ({"limit": 0}, r"`limit` must be .*got 0"),
        ({"limit": np.nan}, r"`limit` must be .*got nan"),
        ({"artificial": "no"}, "`artificial` must be True or False.*got 'no'"),
        ({"batches": 0}, r"`batches` must be .*got 0"),
        ({"batches": 200}, "some hold only 0 of 120 items"),
        ({"labels": ["a"] * 120}, "give artificial=True"),
        ({"labels": ["a"], "artificial": True}, "1 label and 120 items"),
        ({"labels": {"item_1": "a"}, "artificial": True}, "no class for 119 items"),
        ({"labels": [None] * 120, "artificial": True}, "empty entry"),
        ({"random_state": -1}, r"`random_state` must be .*got -1"),
    ]
    for arguments, match in cases:
        with (
            subtests.test(arguments=arguments, match=match),
            pytest.raises(InputError, match=match),
        ):
            difficulty_targets(SIMULATED.responses, **arguments)


def test_a_name_that_is_taken_is_refused():
    table = pd.DataFrame([[1, 0], [0, 1]], index=["optimal", "other"])
    with pytest.raises(InputError, match="already a respondent 'optimal'"):
        difficulty_targets(table, artificial=True)


def test_an_item_that_nobody_was_asked_has_no_difficulty():
    table = og.simulate("2pl", 80, 20, random_state=0).responses.to_frame()
    table["item_3"] = np.nan
    found = difficulty_targets(table)
    assert found.to_frame().loc["item_3", ["difficulty_1pl", "difficulty_2pl"]].isna().all()
    assert "item_3" not in found.difficulty("1pl").index


def test_batches_too_small_for_a_scale_are_refused():
    table = og.simulate("1pl", 40, 120, random_state=0).responses
    with pytest.raises(InputError, match="some hold only 4 of 120 items"):
        difficulty_targets(table, batches=30)

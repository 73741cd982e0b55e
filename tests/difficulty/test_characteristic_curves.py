import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest

import ogive as og
from ogive.difficulty.characteristic_curves import CharacteristicCurves, characteristic_curves
from ogive.errors import InputError
from ogive.results.plots.figure import Display

BY_HAND = pd.DataFrame(
    {"e1": [1, 1], "e2": [1, np.nan], "h1": [0, 1], "h2": [1, 1], "h3": [0, 1]}, index=["x", "y"]
)
DIFFICULTY = {"e1": -1.0, "e2": -2.0, "h1": 1.0, "h2": 2.0, "h3": 9.0}


def simulated(n=4, m=4000, seed=0):
    random = np.random.default_rng(seed)
    difficulty = pd.Series(random.normal(size=m), index=[f"item {k}" for k in range(m)])
    ability = np.linspace(1.5, -1.5, n)
    chance = expit(ability[:, None] - difficulty.to_numpy())
    right = (random.uniform(size=chance.shape) < chance).astype(float)
    table = pd.DataFrame(right, index=[f"model {k}" for k in range(n)], columns=difficulty.index)
    return table, difficulty, chance


def test_shares_by_hand():
    found = characteristic_curves(BY_HAND, DIFFICULTY, bins=[-5, 0, 10])
    np.testing.assert_array_equal(found.n, [[2, 3], [1, 3]])
    np.testing.assert_allclose(found.share, [[1, 1 / 3], [1, 1]])
    np.testing.assert_array_equal(found.difficulty, [-1.5, 2.0])
    np.testing.assert_array_equal(found.items, [2, 3])
    wanted = binomtest(1, 3).proportion_ci(0.95, method="wilson")
    row = found.to_frame().set_index(["respondent", "bin"]).loc[("x", 2)]
    assert (row["low"], row["high"]) == pytest.approx((wanted.low, wanted.high))


def test_difficulties_may_come_in_any_dress(subtests):
    cases = [
        DIFFICULTY,
        pd.Series(DIFFICULTY).iloc[::-1],
        pd.DataFrame({"difficulty": DIFFICULTY, "flag": ""}),
        list(DIFFICULTY.values()),
    ]
    for offered in cases:
        with subtests.test(offered=offered):
            found = characteristic_curves(BY_HAND, offered, bins=[-5, 0, 10])
            np.testing.assert_allclose(found.share, [[1, 1 / 3], [1, 1]])


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_curves_lie_around_the_true_probability(strategy):
    table, difficulty, chance = simulated()
    found = characteristic_curves(table, difficulty, bins=8, strategy=strategy)
    middle = np.searchsorted(found.edges[1:-1], difficulty, side="right")
    truth = np.stack([chance[:, middle == k].mean(axis=1) for k in range(8)], axis=1)
    inside = (found.low <= truth) & (truth <= found.high)
    assert inside.mean() >= 0.9  # of 32; 95 % each


def test_intervals_cover_as_often_as_the_level_says():
    hits = []
    for seed in range(60):
        table, difficulty, chance = simulated(3, 200, seed)
        found = characteristic_curves(table, difficulty, bins=5, confidence=0.8)
        place = np.searchsorted(found.edges[1:-1], difficulty, side="right")
        truth = np.stack([chance[:, place == k].mean(axis=1) for k in range(5)], axis=1)
        hits.append((found.low <= truth) & (truth <= found.high))
    # Three standard errors of 900 hits; items of a bin differ, so that counts vary a little less.
    assert np.mean(hits) == pytest.approx(0.8, abs=0.04)


def test_a_calibration_gives_difficulties_and_what_was_to_be_expected():
    responses = og.simulate("2pl", n_respondents=300, n_items=40, random_state=0).responses
    calibration = og.calibrate(responses, "2pl")
    found = characteristic_curves(responses, calibration=calibration, bins=4)
    np.testing.assert_allclose(
        found.share, characteristic_curves(responses, calibration.items, bins=4).share
    )
    assert "expected" in found.to_frame().columns
    chance = calibration.probability(calibration.abilities()["ability"]).to_numpy()
    hardest = calibration.items["difficulty"].to_numpy() >= found.edges[-2]
    np.testing.assert_allclose(found.expected[:, -1], chance[:, hardest].mean(axis=1))
    assert np.abs(found.expected.mean(axis=0) - found.share.mean(axis=0)).max() < 0.03


def test_expected_shares_count_only_what_was_asked():
    responses = og.simulate("2pl", n_respondents=200, n_items=10, random_state=0).responses
    calibration = og.calibrate(responses, "2pl")
    one = pd.DataFrame([[1.0, *[np.nan] * 9]], columns=responses.items)
    found = characteristic_curves(one, calibration=calibration, bins=1)
    ability = calibration.score(one)["ability"]
    wanted = calibration.probability(ability).iloc[0, 0]
    assert found.expected.item() == pytest.approx(wanted)


@given(st.integers(0, 1000), st.integers(1, 12), st.sampled_from(["quantile", "uniform"]))
@settings(max_examples=30, deadline=None)
def test_all_responses_are_counted_and_order_does_not_matter(seed, bins, strategy):
    table, difficulty, _ = simulated(3, 30, seed)
    table = table.mask(np.random.default_rng(seed).uniform(size=table.shape) < 0.2)
    found = characteristic_curves(table, difficulty, bins=bins, strategy=strategy)
    np.testing.assert_array_equal(found.n.sum(axis=1), table.notna().sum(axis=1))
    np.testing.assert_allclose(np.nansum(found.share * found.n, axis=1), table.sum(axis=1))
    moved = table.sample(frac=1, axis=1, random_state=seed)
    np.testing.assert_array_equal(
        characteristic_curves(moved, difficulty, bins=bins, strategy=strategy).share, found.share
    )
    known = found.n > 0
    assert (found.low <= found.share)[known].all()
    assert (found.share <= found.high)[known].all()


def test_nobody_leads_where_it_was_not_asked():
    table = pd.DataFrame({"e": [1.0, 0.0], "h": [np.nan, 1.0]}, index=["x", "y"])
    found = characteristic_curves(table, {"e": -1, "h": 1}, bins=2, strategy="uniform")
    assert np.isnan([found.share[0, 1], found.low[0, 1], found.high[0, 1]]).all()
    assert "nan" not in found.meaning


def test_items_without_a_difficulty_are_left_out_and_noted():
    given = {**DIFFICULTY, "e1": np.inf, "e2": np.nan}
    found = characteristic_curves(BY_HAND, given, bins=1)
    assert found.items.tolist() == [3]
    assert found.notes == ("Left out (no finite difficulty): 2 items (e1, e2).",)
    beyond = characteristic_curves(BY_HAND, DIFFICULTY, bins=[0, 3])
    assert beyond.notes == ("Left out (beyond the edges): 3 items.",)


def test_items_of_one_difficulty_make_one_bin():
    found = characteristic_curves(BY_HAND, dict.fromkeys(BY_HAND.columns, 0.5))
    assert found.items.tolist() == [5]


def test_it_is_a_finding_that_shows_itself(tmp_path):
    table, difficulty, _ = simulated(3, 100)
    found = characteristic_curves(table, difficulty)
    assert isinstance(found, CharacteristicCurves)
    assert isinstance(found.plot(), Display)
    assert found.meaning in repr(found)
    assert found.save(tmp_path / "curves.html").exists()


def test_what_cannot_be_used_is_refused(subtests):
    cases = [
        ({"difficulty": None}, "needs to know how hard"),
        ({"difficulty": {"other": 1.0}}, "No item of the responses has a finite difficulty"),
        ({"difficulty": [1.0, 2.0]}, r"shape \(2,\), but there are 5 items"),
        ({"difficulty": pd.DataFrame({"hard": DIFFICULTY})}, "without the column 'difficulty'"),
        ({"difficulty": dict.fromkeys(DIFFICULTY, "hard")}, "should be numbers"),
        ({"difficulty": pd.Series([1.0, 2.0], index=["e1", "e1"])}, "more than one value"),
        ({"bins": 0}, "`bins` must be a whole number of at least 1.*got 0"),
        ({"bins": "10"}, "`bins` must be a whole number of at least 1.*got '10'"),
        ({"bins": True}, "`bins` must be a whole number of at least 1.*got True"),
        ({"bins": ["low", "high"]}, "at least two ascending edges"),
        ({"bins": [1.0, 0.0]}, "ascending edges"),
        ({"bins": [20, 30]}, "No item has a difficulty between the edges 20 and 30"),
        ({"strategy": "height"}, "one of: quantile, uniform"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"calibration": "bank.json"}, "calibration should be a Calibration, but it is a str"),
    ]
    for change, said in cases:
        with subtests.test(change=change, said=said), pytest.raises(InputError, match=said):
            characteristic_curves(**{"responses": BY_HAND, "difficulty": DIFFICULTY, **change})


def test_grades_are_refused():
    with pytest.raises(InputError):
        characteristic_curves([[0, 1, 2]], [0.0, 0.0, 0.0])


def test_years_go_with_the_respondents_into_the_frame_and_the_figure():
    found = characteristic_curves(BY_HAND, DIFFICULTY, bins=2, years={"y": 2019, "x": 2012})
    years = found.to_frame().groupby("respondent")["year"].unique()
    assert years["x"] == [2012]
    assert years["y"] == [2019]
    names = {text.get_text() for text in found.plot().ax_.texts}
    assert {"x (2012)", "y (2019)"} <= names
    assert "year" not in characteristic_curves(BY_HAND, DIFFICULTY).to_frame().columns


@pytest.mark.parametrize(
    ("years", "match"),
    [
        ([2012, 2019], "should map names"),
        ({"x": "old"}, "years should be numbers"),
        ({"z": 1}, "none of the"),
    ],
)
def test_years_that_cannot_be_read_are_refused(years, match):
    with pytest.raises(InputError, match=match):
        characteristic_curves(BY_HAND, DIFFICULTY, years=years)


def test_a_numbered_series_goes_by_place_where_items_have_other_names():
    cells = np.random.default_rng(0).integers(2, size=(20, 30))
    table = pd.DataFrame(cells, columns=[str(k + 1) for k in range(30)])
    values = np.linspace(-1, 1, 30)
    by_series = characteristic_curves(table, pd.Series(values), bins=3).to_frame()
    by_array = characteristic_curves(table, values, bins=3).to_frame()
    pd.testing.assert_frame_equal(by_series, by_array)

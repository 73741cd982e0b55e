import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest

from ogive.difficulty.confidence import ConfidenceByDifficulty, confidence_by_difficulty
from ogive.errors import InputError
from ogive.results.plots.figure import Display

BY_HAND = {
    "probability": [0.95, 0.99, 0.6, 0.92, 0.3, 0.97],
    "right": [1, 0, 1, 0, 0, 0],
    "difficulty": [-2.0, -1.0, -1.5, 1.0, 2.0, -1.0],
}


def simulated(sureness=1.0, m=2000, seed=0):
    """Confidence is right at sureness 1, and too great on hard items below."""
    random = np.random.default_rng(seed)
    difficulty = random.normal(size=m)
    chance = expit(1.5 - difficulty)
    probability = expit(1.5 - sureness * difficulty)
    return probability, (random.uniform(size=m) < chance).astype(float), difficulty


def test_bins_by_hand():
    found = confidence_by_difficulty(**BY_HAND, bins=[-3, 0, 3])
    np.testing.assert_array_equal(found.n, [4, 2])
    np.testing.assert_allclose(found.probability, [(0.95 + 0.99 + 0.6 + 0.97) / 4, 0.61])
    np.testing.assert_allclose(found.accuracy, [0.5, 0.0])
    np.testing.assert_allclose(found.gap, found.probability - found.accuracy)
    wanted = binomtest(2, 4).proportion_ci(0.95, method="wilson")
    assert (found.accuracy_low[0], found.accuracy_high[0]) == pytest.approx(
        (wanted.low, wanted.high)
    )
    assert found.error_by_difficulty == pytest.approx((4 * found.gap[0] + 2 * found.gap[1]) / 6)
    # Confidence 0.9 and above: 3.83 said of 4, one right; 0.6 right; 0.3 wrong.
    assert found.calibration_error == pytest.approx((2.83 + 0.4 + 0.3) / 6)


def test_sure_and_wrong_lists_the_easiest_first_and_of_equals_the_surest():
    found = confidence_by_difficulty(**BY_HAND, bins=2)
    frame = found.sure_and_wrong
    assert frame.index.tolist() == ["item_2", "item_6", "item_4"]
    assert frame["probability"].tolist() == [0.99, 0.97, 0.92]
    assert len(confidence_by_difficulty(**BY_HAND, bins=2, sure=0.98).sure_and_wrong) == 1


def test_a_calibrated_model_is_found_calibrated_everywhere():
    found = confidence_by_difficulty(*simulated())
    assert ((found.gap_low < 0) & (found.gap_high > 0)).sum() >= 8  # of 10; 95 % each
    assert found.calibration_error_low < 0.01
    assert found.calibration_error < 2 * found.calibration_error_by_chance
    assert found.error_by_difficulty_low < 0.01


def test_one_that_is_too_sure_of_hard_items_is_found_out():
    found = confidence_by_difficulty(*simulated(0.2))
    assert found.gap_low[-1] > 0.2
    assert found.gap_high[0] < 0
    assert found.error_by_difficulty_low > 0.05
    assert "overconfident around a difficulty of" in found.meaning


def test_gaps_cover_the_truth_as_often_as_they_say():
    hits = []
    for seed in range(60):
        probability, right, difficulty = simulated(0.5, 400, seed)
        found = confidence_by_difficulty(probability, right, difficulty, bins=4, n_resamples=20)
        place = np.searchsorted(found.edges[1:-1], difficulty, side="right")
        gap = probability - expit(1.5 - difficulty)
        truth = np.array([gap[place == k].mean() for k in range(4)])
        hits.append((found.gap_low <= truth) & (truth <= found.gap_high))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.045)


@given(st.integers(0, 1000), st.integers(1, 10))
@settings(max_examples=20, deadline=None)
def test_order_does_not_matter_and_intervals_hold_their_values(seed, bins):
    probability, right, difficulty = simulated(0.5, 50, seed)
    found = confidence_by_difficulty(probability, right, difficulty, bins=bins, n_resamples=20)
    order = np.random.default_rng(seed).permutation(50)
    turned = confidence_by_difficulty(
        probability[order], right[order], difficulty[order], bins=bins, n_resamples=20
    )
    np.testing.assert_allclose(found.gap, turned.gap)
    assert found.calibration_error == pytest.approx(turned.calibration_error)
    for name in ("probability", "accuracy", "gap"):
        value, low, high = (getattr(found, f"{name}{end}") for end in ("", "_low", "_high"))
        assert (low <= value + 1e-12).all()
        assert (value <= high + 1e-12).all()
    assert found.calibration_error_low <= found.calibration_error <= found.calibration_error_high
    assert found.n.sum() == 50


def test_series_are_matched_by_name():
    names = ["a", "b", "c", "d"]
    probability = pd.Series([0.9, 0.8, 0.7, 0.6], index=names)
    right = pd.Series([1, 0, 1], index=["d", "c", "a"])
    difficulty = pd.Series([3.0, 1.0, 2.0], index=["c", "a", "d"])
    found = confidence_by_difficulty(probability, right, difficulty, bins=1)
    assert found.items == ("a", "c", "d")
    assert found.probability[0] == pytest.approx(2.2 / 3)
    assert found.notes == ("Left out (missing probability, right or difficulty): 1 item (b).",)
    with pytest.raises(InputError, match="share no item"):
        confidence_by_difficulty(probability, right.rename(str.upper), difficulty)
    with pytest.raises(InputError, match="more than one value"):
        confidence_by_difficulty(pd.concat([probability, probability]), right, difficulty)


def test_rows_that_are_only_numbered_are_those_that_pools_number():
    probability, right, difficulty = (pd.Series(column) for column in simulated(m=40))
    named = difficulty.rename(index="row_{}".format).sample(frac=1, random_state=0)
    found = confidence_by_difficulty(probability, right, named, bins=3, n_resamples=20)
    plain = confidence_by_difficulty(probability, right, difficulty, bins=3, n_resamples=20)
    np.testing.assert_array_equal(found.gap, plain.gap)
    assert found.items[:2] == ("row_0", "row_1")
    assert found.notes == ()
    fewer = confidence_by_difficulty(
        probability, right, named.drop("row_7"), bins=3, n_resamples=20
    )
    assert "1 item (row_7)" in fewer.notes[0]
    with pytest.raises(InputError, match="cannot be matched"):
        confidence_by_difficulty(probability, right, difficulty.rename(index="q{}".format))


def test_what_is_not_known_is_left_out_and_said():
    given = {**BY_HAND, "right": [1, np.nan, 1, 0, 0, 0]}
    found = confidence_by_difficulty(**given, bins=2)
    assert found.n.sum() == 5
    assert found.notes == ("Left out (a number is missing): 1 item.",)


def test_the_result_shows_itself_and_repeats_with_its_seed():
    found = confidence_by_difficulty(*simulated(0.5, 300), random_state=1)
    assert isinstance(found, ConfidenceByDifficulty)
    display = found.plot()
    assert isinstance(display, Display)
    assert {"probability", "accuracy"} <= {text.get_text() for text in display.ax_.texts}
    again = confidence_by_difficulty(*simulated(0.5, 300), random_state=1)
    assert again.calibration_error_high == found.calibration_error_high


def test_bad_input_is_told_what_is_wrong(subtests):
    cases = [
        ({"probability": [95, 99, 60, 92, 30, 97]}, "between 0 and 1"),
        ({"right": [1, 2, 1, 0, 0, 0]}, "right holds 2"),
        ({"right": [1, 0]}, r"right: \(2,\)"),
        ({"difficulty": [np.nan] * 6}, "No item has"),
        ({"difficulty": ["x"] * 6}, "difficulty should be numbers"),
        ({"sure": 1.5}, r"`sure` must be .*got 1.5"),
        ({"n_resamples": 1}, r"`n_resamples` must be .*got 1"),
        ({"confidence": 0}, r"`confidence` must be .*got 0"),
        ({"bins": 0}, r"`bins` must be .*got 0"),
    ]
    for changed, match in cases:
        with subtests.test(changed=changed, match=match), pytest.raises(InputError, match=match):
            confidence_by_difficulty(**{**BY_HAND, **changed})


def test_named_and_nameless_columns_do_not_mix():
    random = np.random.default_rng(0)
    named = pd.Series(random.random(60), index=[f"item_{k}" for k in range(60)])
    with pytest.raises(InputError, match="cannot be matched"):
        confidence_by_difficulty(random.random(60), (named > 0.5).astype(float), named)

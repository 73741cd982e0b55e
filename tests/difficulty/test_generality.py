import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import ogive as og
from ogive.difficulty.characteristic_curves import Generality, generality
from ogive.errors import InputError
from ogive.results.plots.figure import Display


def simulated(slopes, m=1500, seed=0):
    random = np.random.default_rng(seed)
    difficulty = random.normal(size=m)
    slopes = np.asarray(slopes, dtype=float)
    middle = np.linspace(-0.5, 0.5, slopes.size)
    chance = expit(-slopes[:, None] * (difficulty - middle[:, None]))
    return (random.uniform(size=chance.shape) < chance).astype(float), difficulty, middle


@pytest.mark.parametrize("n", [1, 20])
def test_a_step_by_hand(n):
    # Right on n items at -1, wrong on n at 1: slope log(2n + 1), see the test of the curves.
    difficulty = np.repeat([-1.0, 1.0], n)
    found = generality((difficulty < 0).astype(float)[None], difficulty, n_resamples=20)
    assert found.generality[0] == pytest.approx(np.log(2 * n + 1) * np.sqrt(3) / np.pi)
    assert found.middle[0] == pytest.approx(0.0, abs=1e-6)


def test_the_spread_is_the_deviation_of_what_is_lost_along_the_scale():
    cells, difficulty, _ = simulated([1.3])
    found = generality(cells, difficulty, n_resamples=20)
    grid = np.linspace(-60.0, 60.0, 240_001)
    fall = np.pi / np.sqrt(3) * found.generality[0]
    lost = -np.gradient(expit(-fall * (grid - found.middle[0])), grid)
    mean = np.trapezoid(grid * lost, grid)
    spread = np.sqrt(np.trapezoid((grid - mean) ** 2 * lost, grid))
    assert found.spread[0] == pytest.approx(spread, rel=1e-5)
    assert found.middle[0] == pytest.approx(mean, abs=1e-6)
    # And as the paper writes it for a scale from 0: 2 ∫ h ψ dh - (∫ ψ dh)², from an easy start.
    easy = grid >= -40
    h, success = grid[easy] + 40, expit(-fall * (grid[easy] - found.middle[0]))
    square = 2 * np.trapezoid(h * success, h) - np.trapezoid(success, h) ** 2
    assert found.spread[0] == pytest.approx(np.sqrt(square), rel=1e-4)


def test_known_generality_is_found_again_and_its_error_is_honest():
    slopes = np.tile([0.4, 1.0, 2.5], 20)
    cells, difficulty, middle = simulated(slopes)
    found = generality(cells, difficulty, n_resamples=100)
    truth = slopes * np.sqrt(3) / np.pi
    z = (found.generality - truth) / found.generality_se
    assert abs(z.mean()) < 3 / np.sqrt(60)
    assert 0.75 < z.std() < 1.25
    steep = slopes > 0.5
    np.testing.assert_allclose(found.middle[steep], middle[steep], atol=0.35)


def test_who_is_right_or_wrong_everywhere_has_no_known_generality():
    difficulty = np.arange(6.0)
    cells = pd.DataFrame(
        [[1] * 6, [0] * 6, [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [np.nan] * 6],
        index=["all", "none", "step", "turned", "absent"],
    )
    found = generality(cells, difficulty, n_resamples=20)
    frame = found.to_frame()
    assert frame["flag"].tolist() == [
        "right everywhere",
        "wrong everywhere",
        "falls at once",
        "does not fall",
        "too few items",
    ]
    lost = frame.loc[["all", "none", "absent"], ["generality", "generality_se"]]
    assert lost.isna().to_numpy().all()
    assert frame.loc["turned", "generality"] == 0
    assert np.isinf(frame.loc["turned", "spread"])
    assert 0 < frame.loc["step", "spread"] < 2
    assert len(found.notes) == 5


def test_a_step_of_repeated_answers_has_all_tries_right_and_then_none():
    shares = og.Responses([[1, 1, 0, 0], [1, 0.5, 0, 0], [1, 0.5, 0.5, 0]], tries=2)
    flags = generality(shares, difficulty=[-2.0, -1.0, 1.0, 2.0]).flags
    assert [flag == "falls at once" for flag in flags] == [True, False, False]


def test_where_nothing_falls_nobody_is_called_the_most_general():
    flat = pd.DataFrame(np.tile([1.0, 0.0], (3, 30)), index=["x", "y", "z"])
    found = generality(flat, np.repeat(np.arange(30.0), 2), n_resamples=20)
    assert found.flags == ("does not fall",) * 3
    assert found.meaning.startswith(
        "The success of 3 respondents (x, y, z) does not fall with diff"
    )
    assert "inf" not in found.meaning
    rising = generality([[0, 0, 0, 1, 1, 1]], np.arange(6.0), n_resamples=20)
    assert rising.meaning.startswith("The success of 1 respondent (respondent_1) does not fall")


def test_a_perfect_step_may_be_more_general_than_these_items_can_show():
    found = generality([[1, 1, 1, 0, 0, 0]], np.arange(6.0), n_resamples=20)
    assert "right on every item up to a difficulty of about 2.50" in found.meaning
    assert "even more general" in found.meaning
    assert "spread" not in found.meaning


@given(st.integers(0, 1000), st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
@settings(max_examples=20, deadline=None)
def test_another_unit_of_difficulty_divides_generality_by_it(seed, unit, origin):
    cells, difficulty, _ = simulated([0.8, 2.0], 60, seed)
    one = generality(cells, difficulty, n_resamples=20)
    other = generality(cells, unit * difficulty + origin, n_resamples=20)
    np.testing.assert_allclose(other.generality * unit, one.generality, rtol=1e-4)
    np.testing.assert_allclose(other.generality_se * unit, one.generality_se, rtol=1e-3, atol=1e-6)


def test_a_calibration_knows_the_difficulties():
    responses = og.simulate("2pl", n_respondents=80, n_items=60, random_state=0).responses
    calibration = og.calibrate(responses, "2pl")
    found = generality(responses, calibration=calibration, n_resamples=20)
    wanted = generality(responses, calibration.items, n_resamples=20)
    np.testing.assert_array_equal(found.generality, wanted.generality)


def test_the_result_shows_itself_and_repeats_with_its_seed():
    cells, difficulty, _ = simulated([0.5, 2.0], 300)
    table = pd.DataFrame(cells, index=["patchy", "regular"])
    found = generality(table, difficulty, n_resamples=30, random_state=3)
    assert isinstance(found, Generality)
    assert found.meaning.startswith("regular is the most general")
    assert isinstance(found.plot(), Display)
    again = generality(table, difficulty, n_resamples=30, random_state=3)
    pd.testing.assert_frame_equal(found.to_frame(), again.to_frame())


def test_items_without_a_difficulty_are_left_out_and_said():
    cells, difficulty, _ = simulated([1.0], 100)
    found = generality(cells, np.where(np.arange(100) < 10, np.nan, difficulty), n_resamples=20)
    assert found.n[0] == 90
    assert found.notes == ("Left out (no finite difficulty): 10 items.",)


def test_bad_input_is_told_what_is_wrong(subtests):
    cases = [
        ({}, "needs to know how hard"),
        ({"difficulty": [1.0, 1.0]}, "two different, finite"),
        ({"difficulty": [1.0]}, "shape"),
        ({"difficulty": [0.0, 1.0], "n_resamples": 3}, r"`n_resamples` must be .*got 3"),
    ]
    for arguments, match in cases:
        with (
            subtests.test(arguments=arguments, match=match),
            pytest.raises(InputError, match=match),
        ):
            generality([[0, 1], [1, 0]], **arguments)

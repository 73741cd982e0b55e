"""Regions and occupancy against direct evaluation of curves."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import ogive as og
from ogive.portfolios.strengths import (
    FittedCurves,
    ModelledCurves,
    entering_epsilon,
    occupancy,
    regions,
    within,
)
from ogive.stats.splines import fit_splines

DIFFICULTY = np.linspace(-1, 1, 101)
NAMES = pd.Index(["falling", "rising", "low"], name="algorithm")


@pytest.fixture(scope="module")
def splines():
    """Two lines that cross in the middle, and one below both."""
    series = np.column_stack([0.5 - 0.4 * DIFFICULTY, 0.5 + 0.4 * DIFFICULTY, 0 * DIFFICULTY])
    return fit_splines(DIFFICULTY, series)


@pytest.fixture(scope="module")
def noisy():
    random = np.random.default_rng(0)
    difficulty = random.normal(size=150)
    slopes = np.array([-1.0, -0.5, 0.2, -0.8])
    series = 0.5 + 0.2 * difficulty[:, None] * slopes + random.normal(0, 0.15, (150, 4))
    curves = FittedCurves(series, difficulty, fit_splines(difficulty, series))
    return curves, pd.Index(list("abcd"), name="algorithm")


def test_each_line_is_strong_on_its_side(splines):
    found = regions(splines, DIFFICULTY, NAMES, 0.0, best=True).set_index("algorithm")
    assert list(found.index) == ["falling", "rising"]
    assert found.loc["falling", "start"] == -1
    assert found.loc["rising", "end"] == 1
    assert found.loc["falling", "end"] == pytest.approx(0, abs=0.003)
    assert found.loc["rising", "start"] == pytest.approx(0, abs=0.003)


def test_epsilon_reaches_as_far_past_the_crossing_as_the_gap_is_small(splines):
    """The lines are 0.8 of the difficulty apart: 0.2 at a quarter."""
    found = regions(splines, DIFFICULTY, NAMES, 0.2, best=True).set_index("algorithm")
    assert found.loc["falling", "end"] == pytest.approx(0.25, abs=0.003)
    assert found.loc["falling", "problems"] == ((DIFFICULTY <= 0.25).sum())
    assert found.loc["falling", "share"] == pytest.approx(63 / 101)


def test_nobody_leads_where_all_are_as_bad_as_possible():
    """On the harder half all curves are 0: a tie of losers, not three best curves."""
    series = -DIFFICULTY[:, None] * [1.0, 0.5, 0.25]
    bounded = replace(fit_splines(DIFFICULTY, series), bounds=(0.0, 1.0))
    curves = bounded.at(DIFFICULTY)
    dead = (curves <= 1e-12).all(axis=1)
    assert dead.sum() > 40
    share = occupancy(FittedCurves(series, DIFFICULTY, bounded), NAMES, 0.0)["occupancy"]
    assert share["low"] == 0
    assert share.sum() == pytest.approx((~dead).mean())
    assert entering_epsilon(curves, (0.0, 1.0))[2] > 0
    strong = regions(bounded, DIFFICULTY, NAMES, 0.0, best=True)
    assert "low" not in set(strong["algorithm"])
    flat = np.zeros((5, 3))
    assert within(flat, 0.0, (0.0, 1.0)).all()  # all are alike everywhere: nobody stands out


def test_the_lowest_line_is_the_weakness_everywhere(splines):
    found = regions(splines, DIFFICULTY, NAMES, 0.0, best=False)
    assert found["algorithm"].tolist() == ["low"]
    assert found["share"].tolist() == [1.0]


def test_a_region_that_is_left_and_entered_again_is_two():
    places = np.linspace(0, 2 * np.pi, 200)
    splines = fit_splines(places, np.column_stack([np.cos(places), np.zeros(200)]))
    found = regions(splines, places, pd.Index(["wave", "flat"]), 0.0, best=True)
    assert found["algorithm"].tolist() == ["wave", "wave", "flat"]
    wave = found[found["algorithm"] == "wave"]
    np.testing.assert_allclose(wave["end"].iloc[0], np.pi / 2, atol=0.05)
    np.testing.assert_allclose(wave["start"].iloc[1], 3 * np.pi / 2, atol=0.05)


def test_occupancy_counts_the_problems_whose_difficulty_lies_in_a_strength(noisy):
    curves, names = noisy
    for epsilon in (0.0, 0.05):
        heights = curves.splines.at(curves.difficulty)
        expected = (heights >= heights.max(axis=1, keepdims=True) - epsilon).mean(axis=0)
        found = occupancy(curves, names, epsilon)
        np.testing.assert_array_equal(found["occupancy"], expected)
        by_region = regions(curves.splines, curves.difficulty, names, epsilon, best=True)
        total = by_region.groupby("algorithm")["share"].sum().reindex(names, fill_value=0)
        np.testing.assert_allclose(total, expected, atol=2 / 150)


def test_without_epsilon_occupancies_add_up_to_one(noisy):
    curves, names = noisy
    assert occupancy(curves, names, 0.0)["occupancy"].sum() == 1.0


def test_a_larger_epsilon_never_takes_occupancy_away(noisy):
    curves, names = noisy
    columns = [occupancy(curves, names, e)["occupancy"] for e in (0.0, 0.01, 0.1, 2.0)]
    assert (np.diff(columns, axis=0) >= 0).all()
    assert (columns[-1] == 1).all()


def test_intervals_hold_the_estimate_and_widen_with_the_level(noisy):
    curves, names = noisy
    narrow, wide = (
        occupancy(curves, names, 0.0, confidence=level)
        for level in (0.01, 0.99)  # the first is next to nothing around the middle of the draws
    )
    for frame in (narrow, wide):
        assert (frame["occupancy_low"] <= frame["occupancy"]).all()
        assert (frame["occupancy"] <= frame["occupancy_high"]).all()
        assert ((frame >= 0) & (frame <= 1)).all(axis=None)
    assert (wide["occupancy_low"] <= narrow["occupancy_low"]).all()
    assert (wide["occupancy_high"] >= narrow["occupancy_high"]).all()
    assert (wide["occupancy_high"] - wide["occupancy_low"]).max() > 0.1


def test_the_same_seed_gives_the_same_interval_and_another_one_another(noisy):
    curves, names = noisy
    one, two, other = (occupancy(curves, names, 0.0, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert not one.equals(other)


def test_curves_that_are_known_exactly_leave_no_doubt():
    series = np.column_stack([np.full(101, 0.3), np.full(101, 0.2), np.full(101, 0.1)])
    curves = FittedCurves(series, DIFFICULTY, fit_splines(DIFFICULTY, series))
    found = occupancy(curves, NAMES, 0.0)
    assert found["occupancy_low"].tolist() == found["occupancy_high"].tolist() == [1.0, 0.0, 0.0]


@settings(max_examples=25, deadline=None)
@given(arrays(float, (5, 4), elements=st.floats(0, 1)))
def test_a_curve_is_strong_somewhere_just_from_its_entering_epsilon(curves):
    entering = entering_epsilon(curves)
    for k, epsilon in enumerate(entering):
        assert within(curves, epsilon + 1e-12)[:, k].any()
        assert epsilon < 1e-9 or not within(curves, epsilon * (1 - 1e-6))[:, k].any()


def test_a_curve_that_nobody_knows_is_never_strong():
    curves = np.array([[0.2, np.nan], [0.3, np.nan]])
    assert entering_epsilon(curves).tolist() == [0.0, np.inf]
    assert within(curves, 1.0).tolist() == [[True, False], [True, False]]


def test_problems_that_are_all_alike_are_one_place():
    same = np.zeros(6)
    splines = fit_splines(same, np.tile([0.1, 0.3, 0.2], (6, 1)))
    found = regions(splines, same, NAMES, 0.0, best=True)
    assert found["algorithm"].tolist() == ["rising"]
    assert found["problems"].tolist() == [6]


def test_shares_of_regions_add_up_to_the_occupancy():
    """Both count problems where a curve is best; borders lay between problems and the grid."""
    random = np.random.default_rng(3)
    difficulty = np.sort(random.normal(size=300))
    rising = 0.5 + 0.1 * difficulty + random.normal(0, 0.02, 300)
    series = np.column_stack([rising, rising[::-1], np.full(300, 0.5)])
    splines = fit_splines(difficulty, series)
    curves = FittedCurves(series, difficulty, splines)
    for epsilon in (0.0, 0.02):
        found = regions(splines, difficulty, NAMES, epsilon, best=True)
        share = found.groupby("algorithm")["share"].sum().reindex(NAMES, fill_value=0.0)
        whole = occupancy(curves, NAMES, epsilon)["occupancy"]
        np.testing.assert_allclose(share, whole, atol=1e-12)


MIDDLE, RISE = np.array([1, 2, 2.5, 3, 4.0]), np.array([2.0, 1.5, 1.5, 0.5, -0.3])
TRUTH = {"A": 0.904, "E": 0.096}  # the curves cross where hardness is 1.305


def seconds(seed, n=60):
    random = np.random.default_rng(seed)
    hardness = random.normal(size=(n, 1))
    times = np.exp(MIDDLE + RISE * hardness + 0.5 * random.normal(size=(n, 5))).clip(max=100)
    return pd.DataFrame(times, columns=list("ABCDE"), index=[f"p{k}" for k in range(n)])


def portfolio(seed, **settings):
    return og.portfolio(seconds(seed), better="lower", cutoff=100, **settings)


def curves(**settings):
    return portfolio(0, **settings).candidates.curves


def test_intervals_hold_the_share_of_the_population():
    """Draws of curves at fixed difficulties held E in 14 of 30 simulations, and A in 20."""
    held = dict.fromkeys(TRUTH, 0)
    for seed in range(12):
        found = portfolio(seed).occupancy()
        for name, truth in TRUTH.items():
            low, high = found.loc[name, ["occupancy_low", "occupancy_high"]]
            held[name] += low <= truth <= high
    assert min(held.values()) >= 11


def test_the_interval_reaches_to_both_sides_of_a_leader():
    found = [portfolio(seed).occupancy().loc["A"] for seed in range(6)]
    below = np.mean([row["occupancy"] - row["occupancy_low"] for row in found])
    above = np.mean([row["occupancy_high"] - row["occupancy"] for row in found])
    assert above > 0.2 * below


def test_a_curve_that_leads_only_because_splines_are_smooth_does_not_surely_lead():
    """On easy problems the gambler is slower, by less than the spline can follow."""
    middle, rise = np.array([1.0, 1.8, 2.6, 3.2, 3.0, 4.8]), np.array([3, 1.6, 1.7, 0.5, 1.4, -0.5])
    scatter = np.array([0.6, 0.5, 0.5, 0.4, 2.0, 0.7])
    surely = 0
    for seed in range(3):
        random = np.random.default_rng(seed)
        hardness = random.normal(size=(300, 1))
        noise = scatter * random.normal(size=(300, 6))
        times = np.exp(middle + rise * hardness + noise).clip(max=600)
        found = og.portfolio(times, better="lower", cutoff=600).occupancy()
        surely += found.loc["algorithm_5", "occupancy_low"] > 0
        assert found.loc["algorithm_5", "occupancy"] > 0
    assert surely == 0


def test_expected_performance_is_that_of_the_simulation():
    found = portfolio(3, unsolved="keep")
    model = ModelledCurves(found.calibration, found.performances, found.splines)
    coords, abilities = found.calibration.coords, np.array([-1.0, 0.0, 1.0])
    expected = model._expected(coords, abilities)
    noise = np.random.default_rng(0).normal(size=(100_000, 1, 1))
    mean = coords[:, 0] * np.exp(coords[:, 2]) * abilities[:, None] + coords[:, 1]
    low, high = found.performances.cut.reach
    drawn = low + (high - low) / (1 + np.exp(-(mean + np.exp(coords[:, 2]) * noise)))
    drawn = np.where(drawn <= found.performances.cut.limit, found.performances.bounds[0], drawn)
    np.testing.assert_allclose(expected, drawn.clip(0, 1).mean(axis=0), atol=0.003)


@pytest.mark.parametrize("settings", [{"preset": "airt"}, {"model": "graded"}, {"penalty": 10}])
def test_every_kind_of_portfolio_has_intervals_that_hold_the_estimate(settings):
    found = portfolio(1, **settings).occupancy(0.01)
    assert (found["occupancy_low"] <= found["occupancy"]).all()
    assert (found["occupancy"] <= found["occupancy_high"]).all()
    assert found["occupancy_high"].max() > found["occupancy_low"].max()


def test_missing_runs_widen_the_interval():
    """Half of the runs: the spread is that of 150 problems, not of 300."""
    random = np.random.default_rng(0)
    places = np.sort(random.normal(size=300))
    cells = 0.5 + 0.1 * places[:, None] * [1.0, -1.0] + random.normal(0, 0.2, (300, 2))
    holes = np.where(random.random(cells.shape) < 0.5, np.nan, cells)
    widths = []
    for table in (cells, holes):
        low, high = FittedCurves(table, places, fit_splines(places, table)).interval(0.0)
        widths.append((high - low).mean())
    assert widths[1] > 1.2 * widths[0]


def test_a_missing_run_is_taken_from_the_problem_nearest_in_difficulty():
    cells = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    places = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    fitted = fit_splines(places, cells)
    holes = cells.copy()
    holes[[0, 3]] = np.nan
    places[3] = 3.4
    holed = FittedCurves(holes, places, fitted)
    assert holed._filled[:, 0].tolist() == [2.0, 2.0, 3.0, 5.0, 5.0, 6.0]


def test_draws_are_made_once_per_seed():
    fitted = curves()
    fitted.interval(0.0)
    first = fitted.kept[0]
    fitted.interval(0.01)
    assert fitted.kept[0] is first
    fitted.interval(0.0, random_state=1)
    assert set(fitted.kept) == {0, 1}


def test_intervals_are_finite_where_all_timeouts_were_on_problems_left_out():
    table = seconds(0).clip(upper=90)
    table.iloc[:3] = 100.0
    found = og.portfolio(table, better="lower", cutoff=100)
    assert not found.performances.unsolved.any(axis=None)
    assert np.isfinite(found.occupancy()).all(axis=None)

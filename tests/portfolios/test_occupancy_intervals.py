"""Intervals of occupancy against simulations whose best curves are known."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.portfolios.strengths import FittedCurves, ModelledCurves
from ogive.stats.splines import fit_splines

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

"""Which algorithms are kept, by each method."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.portfolios.airt import ChosenPortfolio
from ogive.portfolios.performances import virtual_best_shapley
from ogive.portfolios.portfolio_choice import AXES, METHODS, Candidates, choose, ranked
from ogive.portfolios.strengths import FittedCurves
from ogive.results.plots.figure import Display
from ogive.stats.intervals import t_reach
from ogive.stats.splines import fit_splines

NAMES = pd.Index(["falling", "rising", "near", "low"], name="algorithm")
DIFFICULTY = np.linspace(-1, 1, 101)
VALUES = np.column_stack(
    [
        0.5 - 0.4 * DIFFICULTY,
        0.4 + 0.4 * DIFFICULTY,
        0.48 - 0.4 * DIFFICULTY,  # just below the first everywhere
        0.0 * DIFFICULTY,
    ]
)


def candidates(values=VALUES, **settings):
    difficulty = DIFFICULTY[: len(values)]
    curves = FittedCurves(values, difficulty, fit_splines(difficulty, values))
    return Candidates(curves, 0.0, **settings)


def kept(method="airt", epsilon=0.0, size=None, given=None):
    return choose(given or candidates(), NAMES, method=method, epsilon=epsilon, size=size)


@pytest.mark.parametrize("method", METHODS)
def test_sentence_table_and_figure_have_one_interval_within_possible_values(method):
    import matplotlib.pyplot as plt

    random = np.random.default_rng(1)
    table = pd.DataFrame(VALUES, columns=NAMES) + random.normal(0, 0.1, (101, 4))
    found = og.portfolio(table).select(size=4, method=method)
    frame = found.to_frame()
    assert (frame["value_low"].between(0, frame["value"])).all()
    most = np.inf if method == "shapley" else 1.0
    assert (frame["value_high"].between(frame["value"], most)).all()
    named = tuple(frame.index[frame["value_low"] == 0])
    assert found.unsure == named
    assert named or method == "shapley"
    drawn = found.plot()
    bars = [
        segment
        for part in drawn.ax_.collections
        for segment in getattr(part, "get_segments", list)()
    ]
    ends = sorted((bar[0, 0], bar[1, 0]) for bar in bars)
    expected = sorted(frame[["value_low", "value_high"]].itertuples(index=False, name=None))
    np.testing.assert_allclose(ends, expected)
    assert drawn.ax_.get_xlabel() == f"{AXES[method]} (bar: interval)"
    plt.close(drawn.figure_)


def test_what_problems_scatter_about_0_is_unsure():
    values = np.tile([[1.0, 0.0, -1.0, -1.0], [0.0, 1.0, -1.0, -1.0]], (51, 1))[:101]
    values[:, 2] = np.where(np.arange(101) == 0, 2.0, -1.0)  # best on one problem
    found = choose(candidates(values), NAMES, method="topset", epsilon=0.0, size=3)
    assert found.unsure == ("near",)


def test_airt_keeps_those_that_lead_somewhere():
    found = kept()
    assert found.algorithms == ("falling", "rising")
    assert found.left_out == 2
    assert found.frame["rank"].tolist() == [1, 2]
    np.testing.assert_allclose(found.frame["value"], [57 / 101, 44 / 101], atol=0.011)
    np.testing.assert_allclose(found.frame["mean_performance"], [0.5, 0.4])


def test_a_larger_epsilon_keeps_those_that_are_close():
    assert set(kept(epsilon=0.03).algorithms) == {"falling", "rising", "near"}
    assert len(kept(epsilon=2.0).algorithms) == 4


def test_beyond_the_strong_ones_the_nearest_come_first_and_it_is_said():
    found = kept(size=4)
    assert found.algorithms == ("falling", "rising", "near", "low")
    assert found.notes == (
        "Never within epsilon = 0 of the best curve: near, low; ranked by how close they come.",
    )
    assert kept(size=2).notes == ()


def test_topset_counts_wins_and_shares_ties():
    values = np.array([[1.0, 1.0, 0.0, 0.0], [0.5, 0.2, 0.0, 0.0], [0.1, 0.9, 0.0, np.nan]])
    found = kept("topset", size=4, given=candidates(values))
    value = found.frame["value"]
    assert value["falling"] == pytest.approx(1.5 / 3)
    assert value["rising"] == pytest.approx(1.5 / 3)
    assert value["low"] == 0
    assert found.algorithms[0] == "rising"  # equal wins: the better mean first


def test_the_published_topset_gives_a_tie_to_the_first_column():
    values = np.array([[1.0, 1.0, 0.0, 0.0], [0.5, 0.2, 0.0, 0.0], [0.1, 0.9, 0.0, np.nan]])
    given = candidates(values, first_wins=True)
    found = kept("topset", size=4, given=given)
    np.testing.assert_allclose(found.frame["value"], [2 / 3, 1 / 3, 0, 0])
    assert found.algorithms == ("falling", "rising", "near", "low")


def test_shapley_ranks_by_shapley_values():
    found = kept("shapley", size=4)
    expected = pd.Series(virtual_best_shapley(VALUES, 0.0), NAMES).sort_values(ascending=False)
    assert found.algorithms == tuple(expected.index)
    np.testing.assert_allclose(found.frame["value"], expected)


def test_intervals_of_wins_and_shapley_values_are_of_their_mean_over_problems():
    wins = kept("topset", size=1).frame.iloc[0]
    share = wins["value"]
    reach = t_reach(np.array(100.0), 0.95) * np.sqrt(share * (1 - share) / 100)
    assert (wins["value_low"], wins["value_high"]) == pytest.approx((share - reach, share + reach))
    random = np.random.default_rng(0).random((400, 4))
    places = np.linspace(0, 1, 400)
    given = Candidates(FittedCurves(random, places, fit_splines(places, random)), 0.0)
    found = choose(given, NAMES, method="shapley", epsilon=0.0, size=4).frame
    bootstrap = [
        virtual_best_shapley(random[np.random.default_rng(k).integers(0, 400, 400)], 0.0)
        for k in range(200)
    ]
    spread = pd.Series(np.std(bootstrap, axis=0), NAMES)[found.index]
    width = found["value_high"] - found["value_low"]
    np.testing.assert_allclose(width / (2 * 1.966), spread, rtol=0.2)


@pytest.mark.parametrize("method", METHODS)
def test_an_algorithm_without_a_run_comes_last(method):
    values = VALUES.copy()
    values[:, 0] = np.nan
    order, _ = ranked(candidates(values), method, 0.0)
    assert order[-1] == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_portfolio_chooses_by_each_method_and_shows_it(method):
    import matplotlib.pyplot as plt

    table = pd.DataFrame(VALUES, columns=NAMES) + np.random.default_rng(0).normal(0, 0.05, (101, 4))
    found = og.portfolio(table).select(size=2, method=method)
    assert isinstance(found, ChosenPortfolio)
    assert set(found.algorithms) <= {"falling", "rising", "near"}
    assert "rising" in found.algorithms
    assert found.meaning.startswith(f"Keep {found.algorithms[0]}, {found.algorithms[1]}: 2 of 4")
    assert (found.frame["value_high"] > found.frame["value_low"]).all()
    assert found.to_frame() is found.frame
    drawn = found.plot()
    assert isinstance(drawn, Display)
    assert drawn.ax_.get_xlabel() == f"{AXES[method]} (bar: interval)"
    plt.close(drawn.figure_)


def test_a_missing_run_adds_to_a_portfolio_what_the_worst_one_adds():
    values = np.array([[0.9, 0.6, 0.6, np.nan], [0.8, 0.2, 0.4, 0.3], [0.5, 0.5, 0.9, 0.1]])
    filled = np.where(np.isnan(values), 0.6, values)
    found = ranked(candidates(values), "shapley", 0.0)[1]
    np.testing.assert_allclose(found, virtual_best_shapley(filled, 0.0))

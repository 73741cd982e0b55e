"""Glicko-2 against Glickman's example, against a plain loop, and against what must hold."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from ogive._progress import told_of_stages
from ogive.errors import InputError
from ogive.stats.glicko2 import (
    Games,
    Ratings,
    best_first,
    new_players,
    play,
    ranks,
    rate_period,
    round_robin,
)

SCALE = 400 / math.log(10)
FOUR = Ratings(
    np.array([1500.0, 1400, 1550, 1700]), np.array([200.0, 30, 100, 300]), np.full(4, 0.06)
)


def game(*rows):
    player, opponent, score = zip(*rows, strict=True)
    return Games(np.array(player), np.array(opponent), np.array(score, dtype=float))


THREE_GAMES = game((0, 1, 1), (0, 2, 0), (0, 3, 0))


def one_player(rating, deviation, volatility, games, tau):
    """Glickman's eight steps for one player, as he writes them; the root by Brent."""
    mu, phi = (rating - 1500) / SCALE, deviation / SCALE
    information = surplus = 0.0
    for opponent, spread, score in games:
        g = 1 / math.sqrt(1 + 3 * (spread / SCALE) ** 2 / math.pi**2)
        expected = 1 / (1 + math.exp(-g * (mu - (opponent - 1500) / SCALE)))
        information += g**2 * expected * (1 - expected)
        surplus += g * (score - expected)
    v, start = 1 / information, math.log(volatility**2)
    excess = (v * surplus) ** 2 - phi**2 - v

    def f(x):
        pull = math.exp(x) * (excess - math.exp(x)) / (2 * (phi**2 + v + math.exp(x)) ** 2)
        return pull - (x - start) / tau**2

    new = math.exp(brentq(f, start - 40, start + 40, xtol=1e-14) / 2)
    variance = 1 / (1 / (phi**2 + new**2) + information)
    return SCALE * (mu + variance * surplus) + 1500, SCALE * math.sqrt(variance), new


def some_players(random, count):
    return Ratings(
        random.normal(1500, 300, count),
        random.uniform(30, 350, count),
        random.uniform(0.03, 0.2, count),
    )


def some_outcomes(random, count, played=1.0):
    above = np.triu(random.choice([0.0, 0.5, 1.0], (count, count)), 1)
    outcomes = above + np.tril(1 - above.T, -1)
    idle = np.triu(random.random((count, count)) > played)
    outcomes[idle | idle.T] = np.nan
    return outcomes


def same(first, second, tolerance=1e-9):
    for name in ("rating", "deviation", "volatility"):
        np.testing.assert_allclose(
            getattr(first, name), getattr(second, name), rtol=tolerance, err_msg=name
        )


def test_glickmans_example_is_met_to_the_digits_that_he_carries():
    """Example of the Glicko-2 system (Glickman, 2012): prints 1464.06, 151.52 and 0.05999."""
    after = rate_period(FOUR, THREE_GAMES, tau=0.5)
    # He carries four decimals: mu' = -0.2069 and phi' = 0.8722, which he turns into points.
    mu, phi = (after.rating[0] - 1500) / SCALE, after.deviation[0] / SCALE
    assert round(mu, 4) == -0.2069
    assert round(phi, 4) == 0.8722
    assert round(173.7178 * round(mu, 4) + 1500, 2) == 1464.06
    assert round(173.7178 * round(phi, 4), 2) == 151.52
    assert math.floor(1e5 * after.volatility[0]) / 1e5 == 0.05999
    # Without his rounding on the way:
    assert after.rating[0] == pytest.approx(1464.0507, abs=1e-4)


def test_all_at_once_is_each_player_by_itself(subtests):
    for tau, seed in product([0.2, 0.5, 1.2], range(4)):
        with subtests.test(tau=tau, seed=seed):
            random = np.random.default_rng(seed)
            before, outcomes = some_players(random, 12), some_outcomes(random, 12, 0.7)
            after = rate_period(before, outcomes, tau)
            for k in range(12):
                games = [
                    (before.rating[j], before.deviation[j], outcomes[k, j])
                    for j in range(12)
                    if j != k and not np.isnan(outcomes[k, j])
                ]
                wanted = one_player(
                    before.rating[k], before.deviation[k], before.volatility[k], games, tau
                )
                found = after.rating[k], after.deviation[k], after.volatility[k]
                assert found == pytest.approx(wanted, rel=1e-8)


def test_a_table_and_a_list_of_games_say_the_same():
    random = np.random.default_rng(3)
    before, outcomes = some_players(random, 9), some_outcomes(random, 9, 0.6)
    rows = [
        (k, j, outcomes[k, j]) for k in range(9) for j in range(k) if not np.isnan(outcomes[k, j])
    ]
    same(rate_period(before, outcomes), rate_period(before, game(*rows)))


def test_two_equal_players_by_hand():
    """g = 1 / sqrt(1 + 3 phi² / pi²); E = 1/2; 1/v = g² / 4; the pull is g / 2."""
    after = rate_period(new_players(2), game((0, 1, 1)))
    phi = 350 / SCALE
    g = 1 / math.sqrt(1 + 3 * phi**2 / math.pi**2)
    variance = 1 / (1 / (phi**2 + after.volatility[0] ** 2) + g**2 / 4)
    assert after.rating[0] == pytest.approx(1500 + SCALE * variance * g / 2, rel=1e-12)
    assert after.rating.sum() == pytest.approx(3000)
    assert after.deviation[0] == pytest.approx(SCALE * math.sqrt(variance), rel=1e-12)


def test_who_plays_no_game_only_grows_less_sure():
    after = rate_period(FOUR, game((0, 1, 1)))
    idle = slice(2, None)
    np.testing.assert_array_equal(after.rating[idle], FOUR.rating[idle])
    np.testing.assert_array_equal(after.volatility[idle], FOUR.volatility[idle])
    wanted = np.hypot(FOUR.deviation[idle], SCALE * 0.06)
    np.testing.assert_allclose(after.deviation[idle], wanted)


@pytest.mark.parametrize("results", [np.full((4, 4), np.nan), Games(*np.empty((3, 0), dtype=int))])
def test_a_period_without_games_changes_no_rating(results):
    after = rate_period(FOUR, results)
    np.testing.assert_array_equal(after.rating, FOUR.rating)
    assert (after.deviation > FOUR.deviation).all()


@given(
    gap=st.floats(0, 1e5),
    deviation=st.floats(1e-3, 1e4),
    tau=st.floats(1e-3, 10),
    upset=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_extreme_ratings_stay_numbers(gap, deviation, tau, upset):
    before = Ratings(np.array([1500.0, 1500 + gap]), np.full(2, deviation), np.full(2, 0.06))
    after = rate_period(before, game((0, 1, float(upset))), tau)
    for values in (after.rating, after.deviation, after.volatility):
        assert np.isfinite(values).all()
    assert (after.deviation > 0).all()
    assert (after.volatility > 0).all()


def test_simulated_strengths_are_found_within_their_ranges():
    random = np.random.default_rng(5)
    strength = random.normal(0, 200, 40)
    strength -= strength.mean()
    chance = 1 / (1 + 10 ** ((strength - strength[:, None]) / 400))
    ratings = new_players(40)
    for _ in range(30):
        above = np.triu(random.random((40, 40)) < chance, 1).astype(float)
        ratings = rate_period(ratings, above + np.tril(1 - above.T, -1))
    assert np.corrcoef(ratings.rating, strength)[0, 1] > 0.98
    truth = 1500 + strength
    assert ((ratings.low < truth) & (truth < ratings.high)).mean() > 0.9


def test_a_surprise_raises_volatility_and_what_was_expected_does_not():
    before = Ratings(np.array([1500.0, 2300]), np.full(2, 60.0), np.full(2, 0.06))
    surprised = rate_period(before, game(*[(0, 1, 1)] * 5))
    expected = rate_period(before, game(*[(0, 1, 0)] * 5))
    assert (surprised.volatility > 0.06).all()
    assert (expected.volatility < 0.06).all()


def test_a_round_robin_is_decided_by_the_scores():
    outcomes = round_robin([3.0, 1.0, 1.0, np.nan])
    wanted = [
        [np.nan, 1, 1, np.nan],
        [0, np.nan, 0.5, np.nan],
        [0, 0.5, np.nan, np.nan],
        [np.nan] * 4,
    ]
    np.testing.assert_array_equal(outcomes, wanted)


def test_what_rounding_adds_does_not_decide_a_game_at_the_tolerance(subtests):
    for scores in [[0.81, 0.80], [0.3, 0.31], [80.02, 80.01]]:
        with subtests.test(scores=scores):
            assert round_robin(scores, tolerance=0.01)[0, 1] == 0.5
            assert round_robin(scores, tolerance=0.0099)[0, 1] in (0.0, 1.0)


@given(scores=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12), tolerance=st.floats(0, 1e3))
def test_the_two_sides_of_a_game_share_one_point(scores, tolerance):
    outcomes = round_robin(scores, tolerance)
    off = ~np.eye(len(scores), dtype=bool)
    np.testing.assert_array_equal((outcomes + outcomes.T)[off], 1.0)


def test_wrong_results_are_explained(subtests):
    for results, message in [
        (np.zeros((3, 3)), r"shape \(3, 3\), but there are 4 players"),
        (np.ones((4, 4)), r"results\[0, 1\] is 1 and results\[1, 0\] is 1.*share one point"),
        (np.where(np.eye(4, k=1) > 0, 1.0, np.nan), "results.1, 0. is nan"),
        (np.full((4, 4), 3.0), "scores 3, but a score is from 0"),
        (game((0, 4, 1)), "whole number from 0 to 3"),
        (game((0, -1, 1)), "whole number from 0 to 3"),
        (game((1, 1, 1)), "against itself"),
        (game((0, 1, 2)), "scores 2"),
        (game((0, 1, np.nan)), "has no score"),
        (Games(np.array([0, 1]), np.array([1]), np.array([1.0])), "three lists of one length"),
    ]:
        with subtests.test(results=results), pytest.raises(InputError, match=message):
            rate_period(FOUR, results)


def test_tau_must_be_above_zero(subtests):
    for tau in [0.0, -1.0, np.nan, np.inf]:
        with subtests.test(tau=tau), pytest.raises(InputError, match=r"`tau` must be"):
            rate_period(FOUR, THREE_GAMES, tau)


def test_wrong_ratings_are_explained(subtests):
    for name, value in [
        ("rating", np.nan),
        ("deviation", 0.0),
        ("deviation", np.inf),
        ("volatility", -0.1),
    ]:
        with subtests.test(name=name, value=value):
            columns = {"rating": np.full(4, 1500.0), "deviation": np.full(4, 50.0)}
            columns["volatility"] = np.full(4, 0.06)
            columns[name][2] = value
            with pytest.raises(InputError, match=f"{name} must hold finite numbers"):
                rate_period(Ratings(**columns), THREE_GAMES)
            with pytest.raises(InputError, match="one number per player"):
                rate_period(Ratings(np.zeros(4), np.ones(3), np.ones(4)), THREE_GAMES)


def test_what_is_given_is_not_changed():
    outcomes = round_robin([1.0, 2.0, 3.0, 4.0])
    kept, before = outcomes.copy(), FOUR.rating.copy()
    rate_period(FOUR, outcomes)
    np.testing.assert_array_equal(outcomes, kept)
    np.testing.assert_array_equal(FOUR.rating, before)


def test_large_tables_go_through_in_blocks():
    random = np.random.default_rng(0)
    before = some_players(random, 700)  # more than one block of rows
    outcomes = some_outcomes(random, 700, 0.05)
    after = rate_period(before, outcomes)
    rows, columns = np.nonzero(np.triu(~np.isnan(outcomes), 1))
    same(after, rate_period(before, Games(rows, columns, outcomes[rows, columns])))


SCORES = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 2.0], [5.0, np.nan, 4.0]])


def test_a_season_is_one_period_after_the_other():
    season = play(SCORES, "abc", "xyz", tau=0.3, start=new_players(3, 1000, 100, 0.1))
    ratings = new_players(3, 1000, 100, 0.1)
    for period, row in enumerate(SCORES):
        ratings = rate_period(ratings, round_robin(row), 0.3)
        np.testing.assert_array_equal(season.rating[period], ratings.rating)
    for name in ("rating", "deviation", "volatility"):
        np.testing.assert_array_equal(getattr(season.final, name), getattr(ratings, name))
    assert season.won.tolist() == [[2, 1, 0], [0, 0, 2], [1, 0, 0]]
    assert season.drawn.tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert season.lost.tolist() == [[0, 1, 2], [1, 1, 0], [0, 0, 1]]


def test_equal_ratings_share_their_rank_whatever_rounding_made_of_them():
    rating = np.array([1500.0, 1600.0, 1600.0 + 1e-9, 1400.0])
    assert ranks(rating).tolist() == [3, 1, 1, 4]
    assert best_first(rating).tolist() == [1, 2, 0, 3]


def test_a_tolerance_below_zero_is_refused():
    with pytest.raises(InputError, match=r"`tolerance` must be .*got -1"):
        play(SCORES, "abc", "xyz", tolerance=-1)


def test_the_range_is_two_deviations_each_way_and_new_players_stand_in_the_middle():
    assert FOUR.low.tolist() == [1100, 1340, 1350, 1100]
    assert FOUR.high.tolist() == [1900, 1460, 1750, 2300]
    fresh = new_players(2)
    assert fresh.rating.tolist() == [1500, 1500]
    assert fresh.deviation.tolist() == [350, 350]
    assert fresh.volatility.tolist() == [0.06, 0.06]


def test_a_long_lead_counts_as_a_hundred_units_and_no_more():
    """The variance of a game at that lead is exp(-100); a loss moves a sure player by all of it."""
    far = Ratings(np.array([1500.0, 1500 + 500 * SCALE]), np.full(2, 1e-3), np.full(2, 0.06))
    after = rate_period(far, game((1, 0, 1)))
    assert after.rating[1] == far.rating[1]
    weight = 1 / math.sqrt(1 + 3 * (1e-3 / SCALE) ** 2 / math.pi**2)
    spread = math.exp(-100) / (1 + math.exp(-100)) ** 2 * weight**2
    variance = 1 / (1 / ((1e-3 / SCALE) ** 2 + after.volatility[1] ** 2) + spread)
    assert after.deviation[1] == pytest.approx(SCALE * math.sqrt(variance), rel=1e-12)


def test_draws_by_a_tolerance_are_exact_at_any_size_of_scores():
    assert round_robin([1e6 + 1, 1e6], tolerance=1.0)[0, 1] == 0.5
    assert round_robin([1e6 + 1.001, 1e6], tolerance=1.0)[0, 1] == 1.0
    assert round_robin([2.0, 2.0 + 1e-15])[0, 1] == 0.0  # without one, the least lead counts
    assert np.isnan(round_robin([np.nan, np.nan], tolerance=0.1)).all()
    eps = np.spacing(1.0)
    assert round_robin([1.0, 0.5 - 3 * eps], tolerance=0.5)[0, 1] == 0.5
    assert round_robin([1.0, 0.5 - 6 * eps], tolerance=0.5)[0, 1] == 1.0


def test_a_score_that_misses_one_point_by_rounding_is_a_game_and_more_is_not():
    near = np.array([[np.nan, 0.3], [0.7 + 9e-10, np.nan]])
    rate_period(new_players(2), near)
    near[1, 0] = 0.7 + 2e-9
    with pytest.raises(InputError, match="share one point"):
        rate_period(new_players(2), near)
    with pytest.raises(InputError, match=r"A game scores -0\.1"):
        rate_period(new_players(2), np.array([[np.nan, 1.1], [-0.1, np.nan]]))


def test_ratings_that_run_away_are_refused_at_a_hundred_thousand_points():
    def at(apart):
        rating = np.array([1500.0 - apart, 1500.0 + apart])
        return Ratings(rating, np.full(2, 30.0), np.full(2, 0.06))

    nobody = np.array([[1.0, np.nan]])
    play(nobody, "ab", "x", start=at(99_999.0))
    with pytest.raises(InputError, match=r"ran away in period 1 \('x'\): 'a' .* as 0\.05, or"):
        play(nobody, "ab", "x", start=at(100_001.0))


def test_ratings_are_ranked_to_the_sixth_decimal():
    rating = np.array([1500.000002, 1500.000001, 1500.0000011])
    assert ranks(rating).tolist() == [1, 2, 2]
    assert best_first(rating).tolist() == [0, 1, 2]


def test_a_tolerance_of_nothing_is_allowed_and_one_without_end_is_not():
    assert play(SCORES, "abc", "xyz", tolerance=0.0).won.sum() == 6
    with pytest.raises(InputError, match=r"`tolerance` must be .*got inf"):
        play(SCORES, "abc", "xyz", tolerance=np.inf)


def test_periods_are_counted_while_they_are_played():
    said = []
    with told_of_stages(said.append):
        play(np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"], ["first", "second"])
    assert [text.partition(",")[0] for text in said] == ["0 of 2", "1 of 2"]

import numpy as np
import pytest

from itemwise.errors import InputError
from itemwise.ratings import best_first, new_players, play, ranks, rate_period, round_robin

SCORES = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 2.0], [5.0, np.nan, 4.0]])


def test_a_season_is_one_period_after_the_other():
    season = play(SCORES, "abc", "xyz", tau=0.3, start=new_players(3, 1000, 100, 0.1))
    ratings = new_players(3, 1000, 100, 0.1)
    for period, row in enumerate(SCORES):
        ratings = rate_period(ratings, round_robin(row), 0.3)
        np.testing.assert_array_equal(season.rating[period], ratings.rating)
    np.testing.assert_array_equal(season.final.deviation, ratings.deviation)
    assert season.won.tolist() == [[2, 1, 0], [0, 0, 2], [1, 0, 0]]
    assert season.drawn.tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert season.lost.tolist() == [[0, 1, 2], [1, 1, 0], [0, 0, 1]]


def test_equal_ratings_share_their_rank_whatever_rounding_made_of_them():
    rating = np.array([1500.0, 1600.0, 1600.0 + 1e-9, 1400.0])
    assert ranks(rating).tolist() == [3, 1, 1, 4]
    assert best_first(rating).tolist() == [1, 2, 0, 3]


def test_a_tolerance_below_zero_is_refused():
    with pytest.raises(InputError, match="tolerance is -1"):
        play(SCORES, "abc", "xyz", tolerance=-1)

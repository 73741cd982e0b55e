import numpy as np
import pytest

from itemwise.errors import InputError
from itemwise.ratings.points import points, points_within

NAN = np.nan
SCORES = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 2.0], [5.0, NAN, 4.0]])


def test_a_win_is_a_point_a_draw_half_and_who_is_missing_plays_no_game():
    found = points(SCORES)
    assert found.won.tolist() == [[2, 1, 0], [0.5, 0.5, 2], [1, 0, 0]]
    assert found.games.tolist() == [[2, 2, 2], [2, 2, 2], [1, 0, 1]]
    np.testing.assert_allclose(found.share, [3.5 / 5, 1.5 / 4, 2 / 5])


def test_who_played_no_game_has_half_of_the_points():
    assert points(SCORES[2:]).share.tolist() == [1, 0.5, 0]


def test_inside_a_group_only_its_own_games_count():
    found = points_within(SCORES, np.array([[0, 2], [2, 1]]))
    assert found.won[0].tolist() == points(SCORES[:, [0, 2]]).won.tolist()
    assert found.won[1].tolist() == points(SCORES[:, [2, 1]]).won.tolist()
    assert found.games[1].tolist() == [[1, 1], [1, 1], [0, 0]]


def test_the_tolerance_makes_draws_and_is_checked():
    assert points(np.array([[0.81, 0.80]]), 0.01).won.tolist() == [[0.5, 0.5]]
    with pytest.raises(InputError, match="tolerance is -1"):
        points(SCORES, -1)

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.benchmarking import period_choice
from ogive.benchmarking.period_choice import (
    _in_proportion,
    chance_of_ranking,
    grow,
    judge_by_halves,
    points,
    points_within,
)
from ogive.errors import InputError
from ogive.stats.metrics import correlation, kendall

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
    with pytest.raises(InputError, match=r"`tolerance` must be .*got -1"):
        points(SCORES, -1)


def some(seed, n_periods=7, n_players=6):
    random = np.random.default_rng(seed)
    return points(random.normal(size=n_players) + random.normal(size=(n_periods, n_players)))


def worth(table, rows):
    share = table[list(rows)].share
    return float(kendall(share, table.share) + 1e-6 * correlation(share, table.share))


def sets(table):
    steps = grow(table[None], len(table.won))[:, 0]
    return [set(np.flatnonzero(row).tolist()) for row in steps]


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_each_set_is_at_least_as_good_as_the_one_before_with_any_period_added(seed):
    table = some(seed)
    found = sets(table)
    assert [len(rows) for rows in found] == list(range(1, 8))
    everything = set(range(7))
    for before, after in zip([set(), *found], found, strict=False):
        best = max(worth(table, before | {k}) for k in everything - before)
        assert worth(table, after) >= best - 1e-9


def test_on_average_fewer_than_one_in_twenty_of_all_sets_are_better():
    better = []
    for seed in range(15):
        table = some(seed, n_periods=9)
        mine = worth(table, sets(table)[3])
        better.append(
            np.mean([worth(table, rows) > mine + 1e-9 for rows in combinations(range(9), 4)])
        )
    assert np.mean(better) < 0.05


def test_exchanges_find_what_growing_alone_misses(monkeypatch):
    tables = [some(seed) for seed in range(20)]
    grown = [worth(table, sets(table)[2]) for table in tables]
    monkeypatch.setattr(period_choice, "TRIES", 0)
    alone = [worth(table, sets(table)[2]) for table in tables]
    assert np.mean(grown) > np.mean(alone)


def test_steps_number_the_periods_from_one_without_a_gap():
    for seed in range(20):
        for size, row in enumerate(grow(some(seed)[None], 7)[:, 0], start=1):
            assert sorted(row[row > 0]) == list(range(1, size + 1))


def test_tables_are_searched_each_for_itself(monkeypatch):
    tables = [some(seed) for seed in range(5)]
    together = type(tables[0])(
        *(np.stack([getattr(t, k) for t in tables]) for k in ("won", "games"))
    )
    wanted = np.stack([grow(table[None], 4)[:, 0] for table in tables], axis=1)
    np.testing.assert_array_equal(grow(together, 4), wanted)
    monkeypatch.setattr(period_choice, "BLOCK_CELLS", 1)
    np.testing.assert_array_equal(grow(together, 4), wanted)


def test_the_period_that_ranks_like_all_is_taken_first():
    scores = np.array([[1.0, 2, 3, 4], [4.0, 3, 2, 1], [1.0, 2, 3, 4], [2.0, 1, 3, 4]])
    assert grow(points(scores)[None], 1)[0, 0].tolist() == pytest.approx([1, 0, 0, 0])


def scores_with(noise, seed=0, n_periods=20, n_players=10, strength=1.0):
    random = np.random.default_rng(seed)
    return strength * random.normal(size=n_players) + noise * random.normal(
        size=(n_periods, n_players)
    )


def judged(scores, sizes, n_resamples=60, random_state=0):
    return judge_by_halves(
        scores, sizes, tolerance=0.0, n_resamples=n_resamples, random_state=random_state
    )


def test_without_noise_every_part_agrees_in_full():
    found = judged(scores_with(0.0), [2, 10])
    for values in (found.held_out, found.random, found.ceiling, found.known, found.known_ceiling):
        np.testing.assert_allclose(values, 1.0)


def test_the_whole_as_a_part_is_the_ceiling():
    found = judged(scores_with(1.0), [20])
    np.testing.assert_array_equal(found.held_out[0], found.ceiling)
    np.testing.assert_array_equal(found.random[0], found.ceiling)
    np.testing.assert_array_equal(found.known[0], found.known_ceiling)


def test_less_than_the_whole_is_less_than_the_half():
    found = judged(scores_with(1.0), [19])
    assert (found.held_out[0] != found.ceiling).any()


def test_noise_agrees_with_nothing_held_out():
    means = [
        judged(scores_with(1.0, seed, strength=0.0), [10]).held_out.mean() for seed in range(30)
    ]
    assert abs(np.mean(means)) < 3 * np.std(means, ddof=1) / np.sqrt(len(means))


def test_informative_periods_are_found_and_beat_parts_drawn_by_lot():
    noise = np.where(np.arange(24) % 3 == 0, 0.2, 4.0)[:, None]
    gains = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        found = judged(random.normal(size=12) + noise * random.normal(size=(24, 12)), [6])
        gains.append((found.held_out[0] - found.random[0]).mean())
    assert np.mean(gains) > 3 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_players_that_were_looked_at_flatter_a_small_part():
    """All periods are alike, so that choosing can only fit flukes: no gain for other players."""
    found = [judged(scores_with(1.0, seed, 40, 16), [6]) for seed in range(6)]
    known = np.array([f.known[0].mean() - f.known_ceiling.mean() for f in found])
    held_out = np.array([f.held_out[0].mean() - f.ceiling.mean() for f in found])
    flattery = known - held_out
    assert flattery.mean() > 3 * flattery.std(ddof=1) / np.sqrt(len(found))


def test_with_three_players_periods_alone_are_split():
    found = judged(scores_with(1.0, n_players=3), [5])
    assert found.held_out is found.known
    assert found.ceiling is found.known_ceiling


def test_the_same_seed_gives_the_same_and_another_does_not():
    first, again, other = (judged(scores_with(1.0), [5], random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.held_out, again.held_out)
    assert (first.held_out != other.held_out).any()


def test_the_chance_of_a_ranking_is_small_for_strength_and_even_for_noise():
    assert chance_of_ranking(points(scores_with(0.5)), 0) == 0.001
    noise = [chance_of_ranking(points(scores_with(1.0, s, 4, 5, 0.0)), 0) for s in range(100)]
    assert np.mean(np.array(noise) < 0.05) <= 0.11  # 5 % with a deviation of 2 %
    assert 0.4 < np.mean(noise) < 0.65


def test_the_chance_of_a_ranking_agrees_with_friedmans_test():
    from scipy.stats import friedmanchisquare

    scores = scores_with(2.0, seed=4, n_periods=40, n_players=5, strength=0.2)
    wanted = friedmanchisquare(*scores.T).pvalue
    assert 0.01 < wanted < 0.9
    assert chance_of_ranking(points(scores), 0) == pytest.approx(wanted, abs=0.04)


def test_missing_scores_are_shuffled_among_those_who_played_only():
    scores = scores_with(1.0)
    scores[:, 0] = np.nan
    assert chance_of_ranking(points(scores), 0) == 0.001


def test_a_part_of_a_half_is_in_proportion_and_never_the_whole_or_nothing():
    # Of 20 periods half are 10: 1 of 20 is 0.5, rounded up; 19 would be 9.5, but is not the whole.
    wanted = {1: 1, 2: 1, 3: 2, 9: 5, 10: 5, 18: 9, 19: 9, 20: 10}
    assert {size: _in_proportion(size, 10, 20) for size in wanted} == wanted
    assert [_in_proportion(size, 1, 2) for size in (1, 2)] == [1, 1]
    assert [_in_proportion(size, 2, 3) for size in (1, 2, 3)] == [1, 1, 2]
    assert _in_proportion(1, 5, 100) == 1


def test_who_agrees_equally_is_told_apart_by_the_correlation_of_shares():
    scores = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])
    table = points(scores)
    agreements = [kendall(table[[k]].share, table.share) for k in range(4)]
    likeness = [correlation(table[[k]].share, table.share) for k in range(4)]
    best = max(range(4), key=lambda k: (round(float(agreements[k]), 9), likeness[k], -k))
    assert grow(table[None], 1)[0, 0].argmax() == best
    assert (grow(table[None], 4)[-1, 0] > 0).all()


def plainly_grown(table, largest):
    """The same search by loops over sets: add the best, then let five go in turn for a better."""
    found, taken = [], []
    everything = range(len(table.won))
    for size in range(1, largest + 1):
        outside = [k for k in everything if k not in taken]
        taken = [*taken, max(outside, key=lambda k: worth(table, [*taken, k]))]
        if 1 < size < len(everything):
            kept = {k: worth(table, [j for j in taken if j != k]) for k in sorted(taken)}
            for gone in sorted(kept, key=lambda k: -kept[k])[:5]:
                rest = [j for j in taken if j != gone]
                outside = [k for k in everything if k not in rest]
                best = max(outside, key=lambda k: worth(table, [*rest, k]))
                if worth(table, [*rest, best]) > worth(table, taken) + 1e-12:
                    taken = [best if j == gone else j for j in taken]
        found.append(list(taken))
    return found


def test_the_search_is_that_of_plain_loops():
    for seed in range(4):
        noise = points(np.random.default_rng(seed).normal(size=(9, 5)))
        for table in (some(seed, n_periods=9, n_players=7), noise):
            steps = grow(table[None], 8)[:, 0]
            for row, taken in zip(steps, plainly_grown(table, 8), strict=True):
                assert (
                    np.argsort(np.where(row > 0, row, 99), kind="stable")[: len(taken)].tolist()
                    == taken
                )


def test_periods_are_halved_so_that_the_larger_half_is_chosen_from():
    """With all periods alike but for who plays, agreement is that of the shares by hand."""
    scores = np.array([[1.0, 2, 3, 4], [1.0, 2, 4, 3], [2.0, 1, 3, 4]])
    found = judge_by_halves(scores, [1, 3], tolerance=0.0, n_resamples=4, random_state=3)
    random = np.random.default_rng(3)
    places = [random.permutation(3) for _ in range(4)]
    players = [random.permutation(4) for _ in range(4)]
    table = points(scores)
    for k in range(4):
        first, judge = table[places[k][:2]], table[places[k][2:]]
        ceiling = kendall(first.share[players[k]], judge.share[players[k]])
        assert found.known_ceiling[k] == pytest.approx(ceiling)
        turns = []
        for group in (players[k][:2], players[k][2:]):
            inside = points(scores[:, group])
            turns.append(kendall(inside[places[k][:2]].share, inside[places[k][2:]].share))
        assert found.ceiling[k] == pytest.approx(np.mean(turns))
        by_lot = []
        for group in (players[k][:2], players[k][2:]):
            inside = points(scores[:, group])
            by_lot.append(kendall(inside[places[k][:1]].share, inside[places[k][2:]].share))
        assert found.random[0, k] == pytest.approx(np.mean(by_lot))


def test_the_chance_of_a_ranking_counts_the_table_itself():
    """Two players and three games that one of them won: a quarter of all shuffles is as far."""
    table = points(np.array([[1.0, 0.0]] * 3))
    found = chance_of_ranking(table, 0)
    assert found == pytest.approx(1 / 4, abs=4 * np.sqrt(3 / 16 / 999))
    assert (found * 1000) == pytest.approx(round(found * 1000))
    drawn = points(np.ones((3, 4)))
    assert chance_of_ranking(drawn, 0) == 1.0

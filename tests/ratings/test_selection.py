from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itemwise.numerics.rankings import correlation, kendall
from itemwise.ratings import selection
from itemwise.ratings.points import points
from itemwise.ratings.selection import grow


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
    monkeypatch.setattr(selection, "TRIES", 0)
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
    monkeypatch.setattr(selection, "BLOCK_CELLS", 1)
    np.testing.assert_array_equal(grow(together, 4), wanted)


def test_the_period_that_ranks_like_all_is_taken_first():
    scores = np.array([[1.0, 2, 3, 4], [4.0, 3, 2, 1], [1.0, 2, 3, 4], [2.0, 1, 3, 4]])
    assert grow(points(scores)[None], 1)[0, 0].tolist() == pytest.approx([1, 0, 0, 0])

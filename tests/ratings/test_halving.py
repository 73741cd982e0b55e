import numpy as np
import pytest

from itemwise.ratings.halving import chance_of_ranking, judge_by_halves
from itemwise.ratings.points import points


def some(noise, seed=0, n_periods=20, n_players=10, strength=1.0):
    random = np.random.default_rng(seed)
    return strength * random.normal(size=n_players) + noise * random.normal(
        size=(n_periods, n_players)
    )


def judged(scores, sizes, n_resamples=60, random_state=0):
    return judge_by_halves(
        scores, sizes, tolerance=0.0, n_resamples=n_resamples, random_state=random_state
    )


def test_without_noise_every_part_agrees_in_full():
    found = judged(some(0.0), [2, 10])
    for values in vars(found).values():
        np.testing.assert_allclose(values, 1.0)


def test_the_whole_as_a_part_is_the_ceiling():
    found = judged(some(1.0), [20])
    np.testing.assert_array_equal(found.held_out[0], found.ceiling)
    np.testing.assert_array_equal(found.random[0], found.ceiling)
    np.testing.assert_array_equal(found.known[0], found.known_ceiling)


def test_less_than_the_whole_is_less_than_the_half():
    found = judged(some(1.0), [19])
    assert (found.held_out[0] != found.ceiling).any()


def test_noise_agrees_with_nothing_held_out():
    means = [judged(some(1.0, seed, strength=0.0), [10]).held_out.mean() for seed in range(30)]
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
    found = [judged(some(1.0, seed, 40, 16), [6]) for seed in range(6)]
    known = np.array([f.known[0].mean() - f.known_ceiling.mean() for f in found])
    held_out = np.array([f.held_out[0].mean() - f.ceiling.mean() for f in found])
    flattery = known - held_out
    assert flattery.mean() > 3 * flattery.std(ddof=1) / np.sqrt(len(found))


def test_with_three_players_periods_alone_are_split():
    found = judged(some(1.0, n_players=3), [5])
    assert found.held_out is found.known
    assert found.ceiling is found.known_ceiling


def test_the_same_seed_gives_the_same_and_another_does_not():
    first, again, other = (judged(some(1.0), [5], random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.held_out, again.held_out)
    assert (first.held_out != other.held_out).any()


def test_the_chance_of_a_ranking_is_small_for_strength_and_even_for_noise():
    assert chance_of_ranking(points(some(0.5)), 0) == 0.001
    noise = [chance_of_ranking(points(some(1.0, s, 4, 5, 0.0)), 0) for s in range(100)]
    assert np.mean(np.array(noise) < 0.05) <= 0.11  # 5 % with a deviation of 2 %
    assert 0.4 < np.mean(noise) < 0.65


def test_the_chance_of_a_ranking_agrees_with_friedmans_test():
    from scipy.stats import friedmanchisquare

    scores = some(2.0, seed=4, n_periods=40, n_players=5, strength=0.2)
    wanted = friedmanchisquare(*scores.T).pvalue
    assert 0.01 < wanted < 0.9
    assert chance_of_ranking(points(scores), 0) == pytest.approx(wanted, abs=0.04)


def test_missing_scores_are_shuffled_among_those_who_played_only():
    scores = some(1.0)
    scores[:, 0] = np.nan
    assert chance_of_ranking(points(scores), 0) == 0.001

"""Respondents beyond the scores seen: curves that reach the ends, chances, and expectations."""

import numpy as np
import pytest

from ogive.irt.replay_error import GRID, Placed, ScoreRange, item_curves, odds_beyond, score_edges


def drawn(n=400, m=40, seed=0, most=1.0):
    """Responses of a 2PL, in shares, and scores of the respondents with at most this score."""
    random = np.random.default_rng(seed)
    ability, difficulty = random.normal(size=n), random.normal(0, 1.5, m)
    chance = 1 / (1 + np.exp(-1.5 * (ability[:, None] - difficulty)))
    values = (random.random((n, m)) < chance).astype(float)
    kept = values.mean(axis=1) <= most
    return values[kept], values[kept].mean(axis=1)


def learned(values, score, n_items=40):
    """The range, if the measurement model goes on in straight lines as well."""
    return ScoreRange.learned(values, score, item_curves(values, score, GRID), n_items)


def test_curves_average_to_the_score_and_reach_the_ends():
    values, score = drawn()
    points = np.array([0.01, *np.linspace(*score_edges(score), 9), 0.99])
    found = item_curves(values, score, points)
    np.testing.assert_allclose(found.mean(axis=1), points, atol=0.02)
    ends = item_curves(values, score, np.array([0.0, 1.0]))
    assert (ends[0] == ends.min()).all()
    assert (ends[1] == ends.max()).all()


def test_curves_do_not_depend_on_which_scores_were_chosen():
    """Selection by the score biases a regression of the score, but not a curve over it."""
    whole, lower = drawn(4000), drawn(4000, most=0.6)
    points = np.array([0.4, 0.5])
    np.testing.assert_allclose(item_curves(*lower, points), item_curves(*whole, points), atol=0.03)


def test_curves_beyond_the_edge_are_straight_lines():
    values, score = drawn(most=0.6)
    high = score_edges(score)[1]
    edge, middle, end = item_curves(values, score, np.array([high, (1 + high) / 2, 1.0]))
    inside = (edge > 0.01) & (edge < 0.99)
    np.testing.assert_allclose(middle[inside], ((edge + end) / 2)[inside], atol=0.005)


def test_a_rare_outlier_is_no_edge():
    score = np.concatenate([np.linspace(0.2, 0.6, 999), [0.95]])
    assert score_edges(score)[1] < 0.61
    assert score_edges(score[::100])[1] == score[::100].max()


def test_stronger_respondents_are_found_and_expected_where_they_are(subtests):
    values, score = drawn(4000)
    known = score <= 0.7
    within = learned(values[known][:, ::2], score[known])
    stronger = score > 0.75
    placed = within.place(values[stronger][:, ::2], 0.9)
    with subtests.test("found"):
        assert placed.maybe_above.mean() > 0.85
        assert placed.maybe_below.max() < 1e-6
    with subtests.test("expected"):
        off = placed.if_above - score[stronger]
        assert abs(off.mean()) < 0.03
        plain = values[stronger][:, ::2].mean(axis=1) - score[stronger]
        assert np.abs(off).mean() < np.abs(plain).mean()
    with subtests.test("reached"):
        assert (placed.top >= score[stronger]).mean() > 0.9
    inside = (score > 0.3) & (score < 0.45)
    with subtests.test("inside"):
        held = within.place(values[inside][:, ::2], 0.9)
        assert held.above.mean() < 0.01
        np.testing.assert_allclose(held.mixed(score[inside]), score[inside], atol=0.1)


def test_placing_is_bayes_theorem_over_the_grid():
    values, score = drawn(200, 20, most=0.7)
    within = ScoreRange.learned(values[:, :6], score, np.tile(GRID[:, None] ** 2, 6), 20)
    row = np.array([[1.0, 0.0, 1.0, np.nan, 1.0, 1.0]])
    seen = ~np.isnan(row[0])
    ways = [
        np.prod(np.where(row[0][seen] == 1, curves[:, seen], 1 - curves[:, seen]), axis=1)
        for curves in (within.curves, within.modelled)
    ]
    chance = sum(way ** (1 / within.spread) for way in ways)
    above = np.where(within.edges[1] < GRID, 1 - GRID, 0.0)
    below = np.where(within.edges[0] > GRID, GRID, 0.0)
    parts = [
        (chance * within.inside).sum(),
        within.odds[0] * (chance * below).sum() / below.sum(),
        within.odds[1] * (chance * above).sum() / above.sum(),
    ]
    found = within.place(row, 0.9)
    assert found.above[0] == pytest.approx(parts[2] / sum(parts))
    assert found.below[0] == pytest.approx(parts[1] / sum(parts))
    # The score at a point is what was seen, and what the curves say of the other 15 items.
    scores = [
        (row[0][seen].sum() + 20 * GRID - curves[:, seen].sum(axis=1)) / 20
        for curves in (within.curves, within.modelled)
    ]
    scores = [np.clip(each, 4 / 20, 19 / 20) for each in scores]  # one answer was wrong
    for side, there in ((above, found.if_above), (below, found.if_below)):
        weights = [way ** (1 / within.spread) * side for way in ways]
        wanted = sum((w * s).sum() for w, s in zip(weights, scores, strict=True))
        assert there[0] == pytest.approx(wanted / sum(w.sum() for w in weights))


def test_responses_decide_how_curves_go_on():
    """Who fails hard items as the model expects stands lower than who solves some of them."""
    values, score = drawn(4000, most=0.5)
    easy_first = np.argsort(-values.mean(axis=0))
    modelled = np.zeros((GRID.size, 40))
    modelled[:, easy_first] = np.clip(GRID[:, None] * 40 - np.arange(40), 0, 1)
    both = ScoreRange.learned(values, score, modelled, 4000)
    straight = learned(values, score, 4000)
    row = np.zeros((1, 40))
    row[0, easy_first[:30]] = 1.0
    assert abs(both.place(row, 0.9).if_above[0] - 0.75) < 0.02
    assert straight.place(row, 0.9).if_above[0] != pytest.approx(0.75, abs=0.02)


def test_nothing_asked_says_nothing():
    values, score = drawn(200, 20, most=0.7)
    within = learned(values[:, :6], score)
    found = within.place(np.full((1, 6), np.nan), 0.9)
    assert found.maybe_above[0] == pytest.approx(0.25)
    assert found.above[0] == pytest.approx(within.odds[1] / (1 + within.odds.sum()))


def test_everything_seen_leaves_no_side():
    random = np.random.default_rng(0)
    score = np.concatenate([[0.0, 1.0], random.random(50)])
    values = (random.random((52, 5)) < score[:, None]).astype(float)
    found = learned(values, score).place(values, 0.95)
    assert not found.above.any()
    assert not found.below.any()
    assert np.isnan(found.top).all()


def test_what_was_learned_survives_as_arrays_and_rows_are_joined():
    values, score = drawn(100, 5, most=0.8)
    within = learned(values, score)
    again = ScoreRange.from_numbers(within.numbers())
    first, second = again.place(values, 0.9), within.place(values, 0.9)
    np.testing.assert_array_equal(first.above, second.above)
    joined = Placed.joined([first.rows(np.arange(60)), first.rows(np.arange(60, len(score)))])
    np.testing.assert_array_equal(joined.top, first.top)
    doubled = first.scaled(1.0, 3.0)
    np.testing.assert_allclose(doubled.if_above, 1 + 2 * first.if_above)
    np.testing.assert_array_equal(doubled.maybe_above, first.maybe_above)


def test_the_spread_is_that_of_responses_around_the_curve_at_the_nearest_point_of_the_grid():
    values, score = drawn(60, 30, most=0.9)
    values = np.clip(values, 0.2, 0.7)  # less than right and wrong would scatter
    curve = item_curves(values, score, GRID[np.abs(score[:, None] - GRID).argmin(axis=1)])
    wanted = ((values - curve) ** 2).sum() / (curve * (1 - curve)).sum()
    assert learned(values, score).spread == pytest.approx(wanted, rel=1e-9)


def test_the_odds_of_a_side_are_half_of_its_room_at_the_density_of_the_edge():
    score = np.linspace(0.02, 0.94, 2301)
    values = np.tile(score[:, None], 3)
    low, high = score_edges(score)
    found = learned(values, score)
    # Scores are even: as many lie in a stretch as it is long.
    wanted = np.array([low, 1 - high]) / (0.92 * 2)
    np.testing.assert_allclose(found.odds, wanted, rtol=0.02)


def test_who_was_asked_everything_is_placed_at_its_score():
    values, score = drawn(600)
    known = score <= 0.6
    within = learned(values[known], score[known])
    placed = within.place(values[score > 0.7], 0.9)
    np.testing.assert_allclose(placed.if_above, score[score > 0.7])
    np.testing.assert_allclose(placed.top, score[score > 0.7])


def test_odds_of_lying_beyond_are_those_of_the_density_that_goes_on(subtests):
    random = np.random.default_rng(1)
    score = 1 / (1 + np.exp(-0.8 - random.normal(size=2000)))
    with subtests.test("thinning out"):
        assert odds_beyond(score)[1] < 0.02
    with subtests.test("cut off: a tenth was above"):
        assert odds_beyond(score[score < np.quantile(score, 0.9)])[1] == pytest.approx(
            0.1, abs=0.04
        )
    with subtests.test("even up to the edge: a triangle as high, up to the end"):
        even = np.linspace(0.2, 0.8, 4001)
        np.testing.assert_allclose(odds_beyond(even), 0.2 / 0.6 / 2, rtol=0.1)


def test_thin_curves_are_nearly_the_same_and_some_items_keep_their_score():
    values, score = drawn(600, most=0.7)
    within = learned(values, score)
    thin = ScoreRange.from_numbers(within.thinned())
    np.testing.assert_allclose(thin.curves, within.curves, atol=0.02)
    again = ScoreRange.from_numbers(thin.thinned())
    np.testing.assert_array_equal(thin.curves, again.curves)
    rows = values[:5].copy()
    rows[:, 10:] = np.nan
    some = within.part(np.arange(10)).place(rows[:, :10], 0.9)
    np.testing.assert_allclose(some.if_above, within.place(rows, 0.9).if_above)

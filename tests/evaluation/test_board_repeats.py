"""Leaderboards of repeated answers: items count, not answers."""

import itertools
from math import comb

import numpy as np
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.evaluation.repeated_answers import passed, variances


def drawn(n, m, tries, random_state, spread=1.5):
    """Answers whose chances differ from item to item, and a little from model to model."""
    random = np.random.default_rng(random_state)
    place = spread * random.standard_normal(m)
    ability = np.linspace(0.5, -0.5, n)[:, None]
    chance = 1 / (1 + np.exp(-(ability + place)))
    right = random.binomial(tries, chance)
    return og.Responses(right / tries, tries=tries), chance


def test_gpqa_diamond_is_compared_over_items(shared):
    board = og.leaderboard(og.read_responses(shared / "data/llm/gpqa_diamond_scores.csv"))
    (pair,) = board.pairs.to_dict("records")
    assert 100 * pair["difference"] == pytest.approx(5.9, abs=0.05)
    assert 100 * np.array([pair["low"], pair["high"]]) == pytest.approx([0.4, 11.3], abs=0.05)
    assert pair["p"] == pytest.approx(0.036, abs=5e-4)
    frame = board.variances
    unpaired = 1.96 * np.hypot(*frame["accuracy_se"])
    ends = 100 * (pair["difference"] + unpaired * np.array([-1, 1]))
    assert ends == pytest.approx([-2.1, 13.8], abs=0.05)
    assert frame["times_naive"].tolist() == pytest.approx([1.85, 1.92], abs=0.005)


def test_some_and_all_of_k_answers_are_those_of_all_choices():
    random = np.random.default_rng(0)
    for tries, k in ((5, 2), (6, 6), (4, 1), (7, 3)):
        answers = random.integers(0, 2, tries)
        chosen = [answers[list(at)] for at in itertools.combinations(range(tries), k)]
        some, every = passed(np.array([[answers.sum()]]), np.array([[tries]]), k)
        assert some[0, 0] == pytest.approx(np.mean([one.any() for one in chosen]))
        assert every[0, 0] == pytest.approx(np.mean([one.all() for one in chosen]))


def test_the_estimate_is_the_published_one():
    for tries, right, k in itertools.product((5, 10), range(6), (1, 3, 5)):
        some, _ = passed(np.array([[right]]), np.array([[tries]]), k)
        published = 1 - comb(tries - right, k) / comb(tries, k)
        assert some[0, 0] == pytest.approx(published)


def test_fewer_tries_than_k_say_nothing():
    some, every = passed(np.array([[1.0, 0.0]]), np.array([[2, 0]]), 3)
    assert np.isnan(some).all()
    assert np.isnan(every).all()


def test_intervals_of_k_answers_hold_over_items():
    inside, counted = 0, 0
    for seed in range(24):
        table, _ = drawn(2, 80, 6, seed)
        frame = og.leaderboard(table).attempts.query("k == 3")
        ability = {"respondent_1": 0.5, "respondent_2": -0.5}
        points, weights = np.polynomial.hermite_e.hermegauss(41)
        for _, row in frame.iterrows():
            chance = 1 / (1 + np.exp(-(ability[row["respondent"]] + 1.5 * points)))
            weight = weights / weights.sum()
            for word, truth in (
                ("pass_at_k", weight @ (1 - (1 - chance) ** 3)),
                ("pass_hat_k", weight @ chance**3),
            ):
                inside += row[f"{word}_low"] <= truth <= row[f"{word}_high"]
                counted += 1
    assert 0.9 <= inside / counted <= 0.99


def test_variances_between_and_within_items_are_recovered():
    found = []
    for seed in range(20):
        table, chance = drawn(1, 300, 5, seed)
        one = variances(table.to_frame().to_numpy(), table.tries, table.spread)
        truth = (chance * (1 - chance)).mean(), chance.var(ddof=1)
        found.append((one.within[0] / truth[0], one.between[0] / truth[1]))
    assert np.mean(found, axis=0) == pytest.approx([1, 1], abs=0.03)


def test_scores_have_variances_too():
    random = np.random.default_rng(1)
    scores = random.normal(5, 2, 40)[:, None] + random.normal(0, 1, (40, 4))
    table = og.Responses([scores.mean(axis=1)], tries=4, spread=[scores.std(axis=1, ddof=1)])
    found = variances(table.to_frame().to_numpy(), table.tries, table.spread)
    assert found.within[0] == pytest.approx(scores.var(axis=1, ddof=1).mean())
    naive = scores.std(ddof=1) / np.sqrt(scores.size)
    assert found.naive_se[0] == pytest.approx(naive)
    board = og.leaderboard(table)
    assert "attempts" not in board.tables()
    with pytest.raises(InputError, match=r"these responses have scores\."):
        _ = board.attempts


def test_a_board_shows_what_repeated_answers_add():
    table, _ = drawn(3, 40, 4, 2)
    board = og.leaderboard(table)
    frame = board.to_frame()
    assert {"tries", "pass@4", "pass@4_low", "pass^4", "pass^4_high"} <= set(frame.columns)
    assert (frame["pass^4"] <= frame["accuracy"]).all()
    assert (frame["accuracy"] <= frame["pass@4"]).all()
    one = board.attempts.query("k == 1").set_index("respondent")
    assert one["pass_at_k"].tolist() == pytest.approx(frame["accuracy"].tolist())
    assert one["pass_at_k_low"].tolist() == pytest.approx(frame["accuracy_low"].tolist())
    assert {"attempts", "variances"} <= board.tables().keys()
    assert "ask more tries" in board.meaning  # these models differ by nothing but ability


def test_what_is_noise_of_tries_calls_for_more_tries():
    random = np.random.default_rng(3)
    right = random.binomial(2, 0.5, (2, 100))
    assert "ask more tries" in og.leaderboard(og.Responses(right / 2, tries=2)).meaning


def test_unequal_tries_show_the_k_that_all_have():
    table = og.Responses([[0.5, 1.0, 2 / 3], [0, 0.25, 1]], tries=[[2, 3, 3], [4, 4, 2]])
    assert og.leaderboard(table).attempts["k"].unique().tolist() == [1, 2]


def test_items_that_were_not_asked_do_not_count():
    nan = float("nan")
    table = og.Responses([[0.5, nan, 1.0], [0, 0.5, 1]], tries=[[2, 0, 2], [2, 2, 2]])
    found = og.leaderboard(table).attempts.query("k == 2").set_index("respondent")
    assert found.loc["respondent_1", "n_items"] == 2
    assert found.loc["respondent_1", "pass_at_k"] == 1


def test_without_repeated_answers_there_is_nothing_to_show():
    board = og.leaderboard(og.Responses([[1, 0, 1], [0, 0, 1]]))
    assert "tries" not in board.to_frame()
    for name in ("attempts", "variances"):
        with pytest.raises(InputError, match="one answer per item"):
            getattr(board, name)


def test_items_that_were_asked_once_do_not_make_every_k_one():
    table = og.Responses([[1 / 3, 2 / 3, 1, 0], [0, 1, 0, 1]], tries=[[3, 3, 1, 1], [3, 3, 1, 2]])
    found = og.leaderboard(table).attempts
    assert found["k"].unique().tolist() == [1, 2, 3]
    assert set(found["n_items"]) == {2}


def of_one_and_two_tries():
    """The first respondent was asked every item twice, the others once."""
    random = np.random.default_rng(4)
    tries = np.array([[2] * 60, [1] * 60, [1] * 60])
    return og.Responses(random.binomial(tries, 0.6) / tries, tries=tries)


def test_respondents_with_one_try_have_the_errors_that_are_known_and_no_others():
    table = of_one_and_two_tries()
    board = og.leaderboard(table)  # warnings are errors
    frame = board.variances.loc[["respondent_2", "respondent_3"]]
    accuracy = table.to_frame().loc[frame.index].mean(axis=1)
    plain = np.sqrt(accuracy * (1 - accuracy) / 59)
    for known in ("naive_se", "se_one_try"):
        assert frame[known].tolist() == pytest.approx(plain.tolist())
    assert frame["times_naive"].tolist() == pytest.approx((frame["accuracy_se"] / plain).tolist())
    for unknown in ("within_sd", "between_sd", "share_of_tries", "se_many_tries"):
        assert frame[unknown].isna().all()
    assert any("2 respondents were asked every item once" in note for note in board.notes)
    assert "Of the variance" not in board.meaning


def test_equal_answers_have_no_ratio_of_errors():
    tries = np.array([[2] * 5, [1] * 5])
    frame = og.leaderboard(og.Responses(np.array([[1.0] * 5, [1, 0, 1, 0, 1]]), tries=tries))
    assert np.isnan(frame.variances.loc["respondent_1", "times_naive"])


def test_respondents_asked_once_are_compared_exactly_beside_others():
    table = of_one_and_two_tries()
    pairs = og.leaderboard(table).pairs
    once = table.to_frame().loc[["respondent_2", "respondent_3"]]
    (alone,) = og.leaderboard(once.astype(int)).pairs.to_dict("records")
    both = {"respondent_2", "respondent_3"}
    (row,) = [
        each for each in pairs.to_dict("records") if {each["respondent"], each["other"]} == both
    ]
    for name in ("difference", "se", "low", "high", "p"):
        assert abs(row[name]) == pytest.approx(abs(alone[name])), name


def test_the_share_of_tries_is_that_of_one_mean_over_the_tries_it_had_with_an_interval():
    tries = 4
    table, _ = drawn(3, 150, tries, 5)
    right = table.values
    within = (right * (1 - right) * tries / (tries - 1)).mean(axis=1)
    share = (within / tries / np.var(right, axis=1, ddof=1)).mean()
    board = og.leaderboard(table)
    said = "Of the variance of one respondent's accuracy, tries make "
    assert f"{said}{share:.0%} (95 % interval " in board.meaning
    found = []
    for seed in range(60):
        other, _ = drawn(3, 150, tries, 100 + seed)
        found.append(variances(other.values, other.tries, other.spread).mean_share)
    shares, errors = np.array(found).T
    assert errors.mean() == pytest.approx(shares.std(ddof=1), rel=0.3)


def test_a_few_items_asked_again_claim_nothing_of_tries():
    """Two models with two repeated items each were said to owe all of their variance to tries."""
    random = np.random.default_rng(4)
    tries = np.ones((4, 60), dtype=int)
    tries[0, :2], tries[1, :1] = 4, 4
    board = og.leaderboard(og.Responses(random.binomial(tries, 0.6) / tries, tries=tries))
    assert "tries" not in board.meaning
    assert any(
        note.startswith("Too few items were asked again to say how much") for note in board.notes
    )
    tries[:2, :30] = 4
    more = og.leaderboard(og.Responses(random.binomial(tries, 0.6) / tries, tries=tries))
    assert "known from 2 of 4 respondents: of the others, fewer than 20 items" in more.meaning


def of_little_but_tries():
    """Three models whose chances of an item hardly differ: what sets them apart is chance."""
    random = np.random.default_rng(1)
    easy = random.normal(0, 1.2, 1000) + random.normal(0, 0.15, (3, 1000))
    chance = 1 / (1 + np.exp(-easy - np.array([[0.35], [0.1], [-0.25]])))
    return og.Responses(random.binomial(4, chance) / 4, tries=4)


def test_advice_on_tries_follows_the_difference_of_two_as_a_plan_does():
    """Two commands gave opposite advice: one meant single accuracies, the other differences."""
    table = of_little_but_tries()
    board, plan = og.leaderboard(table), og.plan(table)
    once = plan.within_share
    share, _ = board.repeated.variances.apart_share
    assert share == pytest.approx(once / (once + 4 * (1 - once)), abs=0.01)
    assert (
        "Of the variance of the difference of two neighbours over 4 tries per item, "
        f"{share:.0%} (95 % interval "
    ) in board.meaning
    assert "ask more tries, too; any number of tries shortens intervals of differences by" in (
        board.meaning
    )
    own, _ = board.repeated.variances.mean_share
    assert f"Of the variance of one respondent's accuracy, tries make {own:.0%}" in board.meaning
    assert f"its interval shortens by {1 - np.sqrt(1 - own):.0%} at most" in board.meaning


def test_the_share_of_tries_in_a_difference_has_an_error_over_items():
    found = []
    for seed in range(80):
        random = np.random.default_rng(seed)
        own = 1.5 * random.standard_normal(150) + 1.5 * random.standard_normal((3, 150))
        right = random.binomial(4, 1 / (1 + np.exp(-own)))
        found.append(og.leaderboard(og.Responses(right / 4, tries=4)).repeated.variances)
    shares, errors = np.array([each.apart_share for each in found]).T
    assert shares.max() < 0.9  # models differ from item to item, too
    assert errors.mean() == pytest.approx(shares.std(ddof=1), rel=0.3)
    assert shares.mean() > np.mean([each.mean_share[0] for each in found])


def test_neighbours_without_repeated_items_in_common_leave_the_share_of_one_accuracy():
    random = np.random.default_rng(3)
    tries = np.zeros((2, 70), dtype=int)
    tries[0, :45], tries[1, 25:] = 3, 3
    right = random.binomial(np.maximum(tries, 1), 0.5) / np.maximum(tries, 1)
    table = og.Responses(np.where(tries > 0, right, np.nan), tries=tries)
    board = og.leaderboard(table)
    assert board.repeated.variances.apart_share is not None
    tries[0, 30:] = 0
    few = og.leaderboard(og.Responses(np.where(tries > 0, right, np.nan), tries=tries))
    assert few.repeated.variances.apart_share is None
    assert "Of the variance of one respondent's accuracy over 3 tries per item" in few.meaning

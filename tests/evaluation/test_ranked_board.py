from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest, false_discovery_control, kendalltau, ttest_rel

import ogive as og
from ogive.errors import InputError
from ogive.evaluation.leaderboards import TIED, Leaderboard
from ogive.stats.multiplicity import holm

NAN = np.nan


def board_of(abilities, n_items=300, seed=0, **settings):
    return og.leaderboard(responses_of(abilities, n_items, seed), **settings)


def responses_of(abilities, n_items=300, seed=0):
    random = np.random.default_rng(seed)
    chance = expit(np.asarray(abilities)[:, None] - random.normal(size=n_items))
    names = [f"m{k}" for k in range(len(abilities))]
    return og.Responses((random.random(chance.shape) < chance).astype(float), respondents=names)


@pytest.fixture(scope="module")
def table():
    responses = responses_of([1.5, 0.1, 0.0, -1.5, -0.1])
    tasks = ["sums"] * 250 + ["verbs"] * 50
    return responses.described(items={"task": tasks, "page": np.arange(300) // 5})


@pytest.fixture(scope="module")
def board(table):
    return og.leaderboard(table)


def test_the_best_is_first_and_ties_are_shown_as_ties(board):
    frame = board.to_frame()
    assert isinstance(board, Leaderboard)
    assert frame.index[0] == "m0"
    assert frame.index[-1] == "m3"
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5]
    assert frame.loc["m0", ["rank_low", "rank_high"]].tolist() == [1, 1]
    assert frame.loc["m1", ["rank_low", "rank_high"]].tolist() == [2, 4]
    assert set(frame.loc["m1", "tied_with"].split(", ")) == {"m2", "m4"}
    assert board.leaders == ("m0",)
    assert "m0 has the highest accuracy on 300 items" in board.meaning
    assert (
        "significantly better than all others. 7 of 10 pairs differ significantly ("
        in board.meaning
    )


def test_who_cannot_be_told_from_the_first_leads_with_it():
    board = board_of([1.0, 1.0, 1.0, -1.0])
    assert set(board.leaders) == {"m0", "m1", "m2"}
    assert "2 others" in board.meaning
    assert "cannot be distinguished from it" in board.meaning


def test_accuracy_is_the_mean_response_with_an_interval_around_it(board, table):
    frame = board.to_frame()
    wanted = table.to_frame().mean(axis=1)
    np.testing.assert_allclose(frame["accuracy"], wanted[frame.index])
    assert (frame["accuracy_low"] < frame["accuracy"]).all()
    assert (frame["accuracy"] < frame["accuracy_high"]).all()
    narrow = og.leaderboard(table, confidence=0.5).to_frame()
    assert (narrow["accuracy_low"] > frame["accuracy_low"]).all()
    assert (narrow["ability_high"] < frame["ability_high"]).all()
    ranks = narrow["rank_high"] - narrow["rank_low"]
    assert (ranks <= frame["rank_high"] - frame["rank_low"]).all()


def test_pairs_are_tested_exactly_on_right_and_wrong(board, table):
    values = dict(zip(table.respondents, table.values, strict=True))
    for pair in board.pairs.itertuples():
        difference = values[pair.respondent] - values[pair.other]
        better, worse = int((difference > 0).sum()), int((difference < 0).sum())
        assert pair.p == pytest.approx(binomtest(better, better + worse).pvalue)
        assert pair.difference == pytest.approx(difference.mean())
        assert pair.se == pytest.approx(difference.std(ddof=1) / np.sqrt(300))
        assert pair.low < pair.difference < pair.high
    adjusted = false_discovery_control(board.pairs["p"])
    found = og.leaderboard(table, correction="bh")
    np.testing.assert_allclose(found.pairs["p_adjusted"], adjusted)
    np.testing.assert_allclose(board.pairs["p_adjusted"], holm(board.pairs["p"].to_numpy()))
    told = np.where(adjusted <= 0.05, "better", TIED)
    assert board.pairs["verdict"].tolist() == told.tolist()


def test_scores_are_compared_by_the_paired_t_test():
    scores = np.random.default_rng(1).beta(2, 2, size=(3, 40))
    scores[0] = 0.3 + 0.7 * scores[0]
    board = og.leaderboard(og.Responses(scores))
    values = dict(zip(("respondent_1", "respondent_2", "respondent_3"), scores, strict=True))
    for pair in board.pairs.itertuples():
        one, other = (values[name] for name in (pair.respondent, pair.other))
        wanted = ttest_rel(one, other)
        assert pair.p == pytest.approx(wanted.pvalue)
        low, high = wanted.confidence_interval(0.95)
        assert (pair.low, pair.high) == pytest.approx((low, high))


def test_the_same_grade_throughout_is_not_certain():
    drawn = np.random.default_rng(0).integers(0, 5, (6, 12)).astype(float)
    drawn[0], drawn[1] = 4, 0
    board = og.leaderboard(og.Responses(drawn, kind="graded"), by=None)
    frame = board.to_frame()
    assert frame.loc["respondent_1", "accuracy_low"] < 3.9
    assert frame.loc["respondent_2", "accuracy_high"] > 0.1
    assert frame.loc["respondent_1", "accuracy_high"] <= 4
    extremes = board.pairs[
        (board.pairs["respondent"] == "respondent_1") & (board.pairs["other"] == "respondent_2")
    ]
    assert extremes["low"].item() < 3.9


def test_intervals_of_single_pairs_beside_corrected_p_values_are_explained():
    """An interval may exclude 0 where the corrected test does not find a difference."""
    random = np.random.default_rng(1)
    cells = (random.random((12, 200)) < np.linspace(0.55, 0.75, 12)[:, None]).astype(float)
    board = og.leaderboard(og.Responses(cells))
    pairs = board.pairs
    apart = (pairs["low"] > 0) | (pairs["high"] < 0)
    assert (apart & (pairs["p_adjusted"] > 0.05)).any()
    assert any("95% intervals of single pairs; p_adjusted is corrected" in n for n in board.notes)
    two = og.leaderboard(og.Responses(cells[[0, 11]]))
    assert not any("of single pairs" in note for note in two.notes)


def test_grades_are_ranked_by_their_mean():
    board = og.leaderboard(og.simulate("graded", 5, 60, random_state=2).responses)
    assert board.calibration.model.name == "graded"
    assert (np.diff(board.reached.mean) <= 0).all()
    assert np.isfinite(board.ability).all()


def test_documents_make_standard_errors_larger_where_their_items_are_alike():
    random = np.random.default_rng(3)
    document = np.repeat(np.arange(30), 10)
    chance = expit(2.0 * random.normal(size=(4, 30)))[:, document]
    table = og.Responses((random.random(chance.shape) < chance).astype(float))
    told = og.leaderboard(table.described(items={"document": document}))
    naive = og.leaderboard(table)
    assert (told.pairs["se"] > 1.5 * naive.pairs["se"]).all()
    assert (told.reached.se > 1.5 * naive.reached.se).all()
    assert any("30 clusters" in note for note in told.notes)


def test_items_whose_document_is_not_known_stand_alone(table):
    nobody = [None] * table.n_items
    one = og.leaderboard(table.described(items={"document": nobody}))
    pd.testing.assert_frame_equal(one.pairs, og.leaderboard(table, cluster=None).pairs)


def test_clusters_may_be_a_fact_of_any_name(table):
    by_name = og.leaderboard(table, cluster="page")
    by_list = og.leaderboard(table, cluster=(np.arange(300) // 5).tolist())
    pd.testing.assert_frame_equal(by_name.pairs, by_list.pairs)


def test_tasks_may_be_weighed_alike(table):
    board = og.leaderboard(table, average="tasks")
    frame = table.to_frame().loc[list(board.respondents)]
    parts = frame.iloc[:, :250].mean(axis=1), frame.iloc[:, 250:].mean(axis=1)
    np.testing.assert_allclose(board.reached.mean, (parts[0] + parts[1]) / 2)
    assert "Accuracy is the mean over 2 tasks." in board.notes


def test_tasks_have_accuracies_of_their_own(board, table):
    tasks = board.tasks.set_index(["task", "respondent"])
    assert tasks.loc[("verbs", "m0"), "accuracy"] == table.to_frame().loc["m0"].iloc[250:].mean()
    assert tasks.loc[("sums", "m0"), "n_items"] == 250
    width = tasks["accuracy_high"] - tasks["accuracy_low"]
    assert width["verbs"].min() > width["sums"].max()


def test_without_known_tasks_all_items_are_one():
    board = board_of([1.0, 0.0, -1.0])
    assert board.tasks["task"].unique().tolist() == ["all items"]
    assert list(board_of([1.0, 0.0, -1.0], by=None).by_task) == ["all items"]
    with pytest.raises(InputError, match="no fact 'topic'"):
        board_of([1.0, 0.0], by="topic")


@pytest.fixture(scope="module")
def halves():
    """The able ones are asked mostly hard items, the others mostly easy ones."""
    random = np.random.default_rng(5)
    ability = np.linspace(1.5, -1.5, 30)
    hard = np.linspace(-3.0, 3.0, 600)
    whole = (random.random((30, 600)) < expit(ability[:, None] - hard)).astype(float)
    asked = expit(np.where(ability[:, None] > 0, 1.0, -1.0) * 2.0 * hard)
    return whole, np.where(random.random(whole.shape) < asked, whole, NAN)


def test_easy_items_favour_nobody(halves):
    whole, sparse = halves
    board = og.leaderboard(sparse)
    frame = board.to_frame().loc[[f"respondent_{k}" for k in range(1, 31)]]
    plain, wanted = np.nanmean(sparse, axis=1), whole.mean(axis=1)
    assert plain[:15].mean() < plain[15:].mean()  # who was asked easy items seems better
    assert kendalltau(plain, wanted).statistic < 0.2
    assert kendalltau(frame["accuracy"], wanted).statistic > 0.9
    assert np.abs(frame["accuracy"] - wanted).mean() < np.abs(plain - wanted).mean() / 10
    inside = (frame["accuracy_low"] <= wanted) & (wanted <= frame["accuracy_high"])
    assert inside.mean() > 0.95
    assert any("by the 1pl model" in note for note in board.notes)


def test_a_gap_more_leaves_less_to_know(halves):
    whole = halves[0][::5]
    complete = og.leaderboard(og.Responses(whole))
    gaps = np.where(np.random.default_rng(1).random(whole.shape) < 0.5, NAN, whole)
    part = og.leaderboard(og.Responses(gaps))
    assert part.reached.se.mean() > complete.reached.se.mean()
    assert part.pairs["n_shared"].between(80, 230).all()


def test_pairs_without_a_shared_item_are_not_tested():
    board = og.leaderboard([[1, 0, 1, NAN, NAN], [NAN, NAN, NAN, 1, 1], [1, 1, 0, 1, 0]])
    pairs = board.pairs[board.pairs["n_shared"] == 0]
    assert pairs["verdict"].tolist() == ["no shared items"]
    assert pairs["p"].isna().all()
    assert pairs["ability_difference_se"].notna().all()
    assert "Not tested (no shared items): 1 pair." in board.notes


def test_who_was_not_compared_is_not_called_tied():
    board = og.leaderboard([[1, 0, 1, NAN, NAN], [NAN, NAN, NAN, 1, 1], [1, 1, 0, 1, 0]])
    frame = board.to_frame()
    assert frame.loc["respondent_1", "tied_with"] == "respondent_3"
    assert frame.loc["respondent_1", "not_compared"] == "respondent_2"
    assert frame.loc["respondent_3", "not_compared"] == ""
    assert frame.loc["respondent_1", "accuracy_observed"] == pytest.approx(2 / 3)


def test_respondents_that_no_item_links_stand_on_separate_boards():
    """Three share four items, two share others, and one is alone with its own."""
    values = np.full((6, 9), NAN)
    values[0, 5:8], values[1, 5:8] = [1, 1, 1], [0, 1, 0]
    values[2:5, :5] = [[0, 0, 1, 0, 0], [1, 1, 1, 0, 1], [0, 1, 1, 0, 1]]
    values[5, 8] = 1
    board = og.leaderboard(values)
    frame = board.to_frame()
    assert frame.index.tolist() == [f"respondent_{k}" for k in (4, 5, 3, 1, 2, 6)]
    assert frame["board"].tolist() == [1, 1, 1, 2, 2, 3]
    assert frame["rank"].tolist() == [1, 2, 3, 1, 2, 1]
    assert frame["rank_high"].tolist() == [3, 3, 3, 2, 2, 1]
    np.testing.assert_allclose(frame["accuracy"], frame["accuracy_observed"])
    assert frame["ability"].isna().tolist() == [False] * 5 + [True]
    assert "respondent_1" not in board.leaders
    assert any("3 separate boards" in note for note in board.notes)
    assert board.meaning.startswith("respondent_4 has the highest accuracy of the first of 3")


def asked_one_task(seed):
    """Thirty respondents with an ability of their own in each of four tasks; six know one task."""
    random = np.random.default_rng(seed)
    task = np.repeat(np.arange(4), 60)
    ability = random.normal(size=30)[:, None] + 0.8 * random.normal(size=(30, 4))
    chance = expit(ability[:, task] - random.normal(size=task.size))
    whole = (random.random(chance.shape) < chance).astype(float)
    part = whole.copy()
    for row in range(6):
        part[row, task != row % 4] = NAN
    return whole.mean(axis=1)[:6], og.leaderboard(part, by=task.tolist(), cluster=None)


def test_one_task_leaves_the_accuracy_on_all_as_open_as_others_show():
    inside, wider = [], []
    for seed in range(8):
        truth, board = asked_one_task(seed)
        frame = board.to_frame().loc[[f"respondent_{k}" for k in range(1, 7)]]
        inside += list((frame["accuracy_low"] <= truth) & (truth <= frame["accuracy_high"]))
        wider.append(frame["accuracy_se"].mean())
    assert np.mean(inside) > 0.88  # of 48; by the model alone it is two thirds
    assert np.mean(wider) < 0.2
    assert any("24 respondents who answered nearly all items" in note for note in board.notes)


def test_odd_tables_have_a_board(subtests):
    cases = [
        [[1, 0, 1, 1]],
        [[1, 0, 1, 1], [1, 0, 1, 1]],
        [[1, 1, 1, 1]] * 3,
        [[0, 0, 0, 0], [1, 1, 1, 1], [NAN, NAN, NAN, 1]],
        [[0.5, 0.5, 0.5, 0.5], [0.2, 0.5, 1.0, 0.0]],
        [[0, 3, 2, 1], [2, 2, 2, 2], [NAN, 1, NAN, 0]],
        [[-1.5, 20.25, 3.0, 0.0], [1.0, 2.0, 3.0, 4.5]],
    ]
    for average, cluster, rows in product(["items", "tasks"], [None, [0, 0, 1, 1]], cases):
        with subtests.test(average=average, cluster=cluster, rows=rows):
            board = og.leaderboard(rows, by=["a", "a", "a", "b"], cluster=cluster, average=average)
            frame = board.to_frame()
            assert frame["accuracy"].notna().all()
            assert (frame["rank_low"] <= frame["rank"]).all()
            assert (frame["rank"] <= frame["rank_high"]).all()
            assert not (board.tests.p_adjusted <= 0.05).any()  # four items tell nobody apart
            assert repr(board)
            assert board.plot().ax_.has_data()


def test_one_item_and_one_respondent_are_enough():
    board = og.leaderboard([[1]])
    assert board.to_frame()["accuracy_low"].iloc[0] < 0.1
    assert "respondent_1 has an accuracy of 1.000" in board.meaning
    assert board.pairs.empty


def test_two_respondents_have_no_ability_and_it_is_said():
    board = board_of([1.0, -1.0])
    assert np.isnan(board.ability).all()
    assert any("Abilities are not estimated" in note for note in board.notes)
    assert board.pairs["verdict"].tolist() == ["better"]


def test_scores_with_nothing_in_common_have_a_board_of_accuracies_alone():
    """Pure noise had abilities with errors of 0.008."""
    noise = np.random.default_rng(0).random((10, 8)).round(3)
    board = og.leaderboard(noise)
    assert any(note.startswith("Ability is not identified") for note in board.notes)
    assert board.to_frame()[["ability", "ability_se"]].isna().all(axis=None)
    assert board.calibration is None
    few = og.leaderboard(og.simulate("continuous", 6, 8, random_state=0).responses)
    assert any("fewer than 10 respondents" in note for note in few.notes)
    assert few.to_frame()["ability"].isna().all()


def test_a_board_repeats_every_note_of_its_calibration():
    board = og.leaderboard(og.simulate("continuous", 15, 8, random_state=0).responses)
    assert len(board.calibration.notes) > 1
    assert set(board.calibration.notes) <= set(board.notes)


def test_a_calibration_of_other_responses_is_refused_not_ignored():
    """It was left unused without a word."""
    one, other = (og.simulate("1pl", 5, n, random_state=0).responses for n in (8, 9))
    with pytest.raises(InputError, match="of other respondents or items than responses"):
        og.leaderboard(one, calibration=og.calibrate(other, "1pl"))
    with pytest.raises(InputError, match="calibration is a Responses; give what"):
        og.leaderboard(one, calibration=one)


def test_who_answered_nothing_is_left_out_and_named():
    board = og.leaderboard([[1, 0, NAN], [NAN, NAN, NAN], [0, 1, NAN]])
    assert board.respondents == ("respondent_1", "respondent_3")
    assert "Left out for lack of responses: 1 respondent (respondent_2)." in board.notes
    assert "Left out for lack of responses: 1 item (item_3)." in board.notes
    with pytest.raises(InputError, match="nothing to analyse"):
        og.leaderboard([[NAN, NAN]])


def test_bad_settings_are_explained(subtests):
    cases = [
        ({"average": "models"}, r"`average` must be"),
        ({"correction": "sidak"}, r"`correction` must be"),
        ({"confidence": 95}, r"`confidence` must be .*got 95"),
        ({"alpha": 0}, r"`alpha` must be .*got 0"),
    ]
    for options, message in cases:
        with (
            subtests.test(options=options, message=message),
            pytest.raises(InputError, match=message),
        ):
            board_of([1.0, 0.0], **options)


def test_of_thousands_the_best_are_shown_and_ranks_are_by_all_pairs():
    random = np.random.default_rng(0)
    skill = np.sort(random.random(2100))[::-1]
    values = (random.random((2100, 250)) < skill[:, None]).astype(float)
    board = og.leaderboard(values)
    frame = board.to_frame()
    assert len(frame) == 2100
    assert len(board.pairs) == 200 * 199 // 2
    assert frame["tied_with"].notna().sum() == 200
    assert set(board.leaders) <= set(board.respondents[:200])
    real = 1 + np.array([int(name.removeprefix("respondent_")) - 1 for name in frame.index])
    assert ((frame["rank_low"] <= real) & (real <= frame["rank_high"])).all()
    assert (frame["rank_high"] - frame["rank_low"]).median() < 2100 * 0.45
    assert any("2,100 respondents make too many pairs to show" in note for note in board.notes)
    assert board.plot().ax_.has_data()


def test_a_list_of_groups_may_name_items_that_nobody_was_asked():
    values = [[1, 0, NAN, 1], [0, 1, NAN, 0], [1, 1, NAN, 0]]
    board = og.leaderboard(values, by=["a", "a", "b", "c"], cluster=["x", "x", "y", "z"])
    assert list(board.by_task) == ["a", "c"]
    with pytest.raises(InputError, match="cluster: "):
        og.leaderboard(values, cluster=["x", "y"])


def asked_the_easiest(seed, n_asked=20):
    """A complete table, and one in which ten of thirty were asked the easiest items alone."""
    whole = og.simulate("1pl", 30, 200, random_state=seed).responses
    values = whole.to_frame().to_numpy(copy=True)
    truth = values.mean(axis=1)
    hard = np.argsort(-values.mean(axis=0))[n_asked:]
    values[np.ix_(np.arange(10), hard)] = NAN
    return truth, og.Responses(values, whole.respondents)


def test_easy_items_alone_leave_the_accuracy_on_all_as_open_as_it_is():
    held, widths = [], []
    for seed in range(500, 512):
        truth, sparse = asked_the_easiest(seed)
        board = og.leaderboard(sparse)
        frame = board.to_frame().loc[list(sparse.respondents)].iloc[:10]
        low, high = frame["accuracy_low"], frame["accuracy_high"]
        held.extend((low <= truth[:10]) & (truth[:10] <= high))
        own = board.calibration.completed_scores(sparse)["score_se"].to_numpy()[:10]
        widths.append((frame["accuracy_se"] / own).mean())
    assert np.mean(held) > 0.95 - 2 * np.sqrt(0.05 * 0.95 / len(held))
    assert min(widths) > 0.95
    assert max(widths) < 1.4


def test_stricter_corrections_tell_fewer_apart():
    abilities = np.linspace(-0.7, 0.7, 8)
    told = [
        (board_of(abilities, correction=name).pairs["verdict"] != TIED).sum()
        for name in ("bh", "by", "holm")
    ]
    assert told[0] > told[1]
    assert told[0] > told[2]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_the_order_of_rows_and_columns_does_not_matter(seed):
    random = np.random.default_rng(seed)
    table = responses_of([1.0, 0.5, -0.5, -1.0], 60, seed)
    mixed = table.select(random.permutation(4), random.permutation(60))
    columns = ["rank", "rank_low", "rank_high", "accuracy", "accuracy_low"]
    one, other = (og.leaderboard(each).to_frame()[columns] for each in (table, mixed))
    pd.testing.assert_frame_equal(one.sort_index(), other.sort_index())


@pytest.mark.parametrize("kind", ["ranks", "pairs", "tasks"])
def test_every_figure_names_all(board, kind):
    ax = board.plot(kind).ax_
    assert [text.get_text() for text in ax.get_yticklabels()] == list(board.respondents)


def test_an_unknown_figure_is_refused(board):
    with pytest.raises(InputError, match="one of: ranks, pairs, tasks"):
        board.plot("scatter")


def test_thirty_language_models_are_distinguished(shared):
    frame = pd.read_csv(shared / "data" / "llm" / "helm_lite_binary_responses.csv.gz")
    values = frame.drop(columns=["scenario", "item"])
    responses = og.Responses(values.to_numpy().T, respondents=values.columns)
    board = og.leaderboard(responses, by=frame["scenario"].tolist())
    assert board.respondents[0] == "openai_gpt-4-0613"
    assert (board.rank_high - board.rank_low + 1).mean() < 4
    assert len(board.by_task) == 20


@pytest.mark.slow
def test_false_discoveries_and_rank_intervals_keep_what_they_promise():
    abilities = np.array([0.6, *[0.0] * 7])
    false_share, held = [], []
    for seed in range(150):
        random = np.random.default_rng(seed)
        chance = expit(abilities[:, None] - random.normal(size=(8, 300)))
        board = og.leaderboard((random.random(chance.shape) < chance).astype(float))
        best = np.array([name == "respondent_1" for name in board.respondents])
        pairs = board.pairs
        told = pairs["verdict"] != TIED
        equal = (pairs[["respondent", "other"]] != "respondent_1").all(axis=1)
        false_share.append((told & equal).sum() / max(told.sum(), 1))
        held.append(
            ((board.rank_low <= 2 - best) & (board.rank_high >= np.where(best, 1, 8))).all()
        )
    assert np.mean(false_share) < 0.05 + 2 * np.std(false_share) / np.sqrt(150)
    assert np.mean(held) > 0.95 - 2 * np.sqrt(0.05 * 0.95 / 150)


def test_percentages_of_whole_tasks_have_intervals_between_0_and_100_and_a_note():
    shares = np.array([[94.7, 65, 78.5], [86.7, 69, 80.5], [20, 8.1, 11.6], [71.3, 50, 62.5]])
    board = og.leaderboard(shares)
    frame = board.to_frame()
    assert frame["accuracy_low"].min() >= 0
    assert frame["accuracy_high"].max() <= 100
    assert any("look like percentages of whole tasks" in note for note in board.notes)
    times = og.leaderboard(shares * 10)  # not percentages: nothing is known of their bounds
    assert times.to_frame()["accuracy_high"].max() > 1000
    assert not any("percentages" in note for note in times.notes)


def test_one_lucky_answer_does_not_lead_a_board_nor_the_verdict_on_saturation():
    """A model that had answered one item of many was the first."""
    random = np.random.default_rng(6)
    values = (random.random((8, 40)) < np.linspace(0.75, 0.4, 8)[:, None]).astype(float)
    values[7] = np.nan
    values[7, 3] = 1.0
    board = og.leaderboard(values)
    assert board.respondents[-1] == "respondent_8"
    assert board.rank[-1] == 8
    assert board.meaning.startswith(board.respondents[0])
    assert any(
        note.startswith("Fewer than 5 items answered: ") and "respondent_8" in note
        for note in board.notes
    )
    first = og.item_health(values).saturation["first"].iloc[0]
    assert first == board.respondents[0]
    few = og.leaderboard(np.where(np.isnan(values[:, :4]), np.nan, values[:, :4]))
    assert not any("Fewer than" in note for note in few.notes)


def test_the_interval_of_a_difference_excludes_0_exactly_where_its_test_finds_one():
    """Of 120 pairs of a board, the interval of eight excluded 0 while p was above 0.05."""
    random = np.random.default_rng(2)
    cells = (random.random((40, 120)) < np.linspace(0.45, 0.8, 40)[:, None]).astype(float)
    for confidence in (0.95, 0.9, 0.99):
        pairs = og.leaderboard(og.Responses(cells), confidence=confidence).pairs
        apart = (pairs["low"] > 0) | (pairs["high"] < 0)
        np.testing.assert_array_equal(apart, pairs["p"] <= 1 - confidence)


def test_clusters_that_all_agree_have_an_interval_that_agrees_with_their_test():
    for n, apart in ((4, False), (5, False), (6, True)):
        values = np.stack([np.ones(2 * n), np.zeros(2 * n)])
        pages = np.repeat(np.arange(n), 2)
        pair = og.leaderboard(og.Responses(values), cluster=pages.tolist()).pairs.iloc[0]
        assert (pair["p"] <= 0.05) == apart
        assert (pair["low"] > 0) == apart


def test_boards_that_no_item_links_have_items_of_their_own():
    """They were said not to have been asked all items, and to have a predicted accuracy."""
    random = np.random.default_rng(0)
    values = np.full((12, 80), NAN)
    values[:6, :40] = random.random((6, 40)) < 0.7
    values[6:, 40:] = random.random((6, 40)) < 0.5
    board = og.leaderboard(og.Responses(values))
    told = " ".join(board.notes)
    np.testing.assert_array_equal(board.reached.mean, board.observed)
    assert "predicted" not in told
    assert "Each has items of its own, and accuracy is over these" in told
    values[2, :10] = NAN
    gap = " ".join(og.leaderboard(og.Responses(values)).notes)
    assert "Not asked all items of their board: 1 respondent (respondent_3)." in gap
    assert "predicted for all items of the board" in gap
    assert "Too few respondents" not in gap


def test_that_the_first_is_less_surely_ahead_than_the_second_is_said_where_it_occurs():
    """The second differs from the third on few items, the first on many."""
    second = np.r_[np.ones(60), np.zeros(40)]
    third = np.r_[np.ones(50), np.zeros(50)]
    first = np.r_[np.ones(36), np.zeros(14), np.zeros(10), np.ones(26), np.zeros(14)]
    scattered = np.stack([first, second, third])
    board = og.leaderboard(og.Responses(scattered, ["A", "B", "C"]))
    assert board.respondents == ("A", "B", "C")
    assert "cannot be distinguished" in board.meaning
    (note,) = [each for each in board.notes if "ranked below" in each]
    assert note.startswith("A cannot be distinguished from C, but B, ranked below A, can")
    plain = og.leaderboard(responses_of([1.5, 0.1, 0.0, -1.5]))
    assert not any("ranked below" in each for each in plain.notes)

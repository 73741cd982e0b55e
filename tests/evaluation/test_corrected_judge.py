import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.evaluation.judge_correction import CorrectedJudge

NAMES = ["m0", "m1", "m2"]
TRUTH = np.array([0.85, 0.7, 0.5])


def numbers(table):
    return table.to_frame().to_numpy(dtype=float)


def tables(n=600, n_human=100, seed=1, kind=(0.3, 0.0, 0.0)):
    """What a judge says of three models, and what people say of some of it.

    `kind`: how often the judge takes a wrong response of each model as right.
    """
    random = np.random.default_rng(seed)
    right = (random.random((3, n)) < TRUTH[:, None]).astype(float)
    judge = np.where((random.random((3, n)) < np.array(kind)[:, None]) & (right == 0), 1.0, right)
    judge = np.where(random.random((3, n)) < 0.03, 1 - judge, judge)
    items = [f"q{k}" for k in range(n)]
    chosen = np.sort(random.permutation(n)[:n_human])
    human = og.Responses(right[:, chosen], NAMES, [items[k] for k in chosen])
    return og.Responses(judge, NAMES, items), human


@pytest.fixture(scope="module")
def both():
    return tables()


@pytest.fixture(scope="module")
def found(both):
    return og.correct_judge(*both)


def test_the_board_is_what_people_would_say(found):
    frame = found.to_frame()
    assert isinstance(found, CorrectedJudge)
    assert frame.index.tolist() == NAMES
    assert (np.abs(frame["accuracy"] - TRUTH) < 4 * frame["accuracy_se"]).all()
    assert (frame["accuracy_low"] < frame["accuracy"]).all()
    assert (frame["accuracy"] < frame["accuracy_high"]).all()
    assert (frame["worth"] > 1.05 * frame["n_human"]).all()
    both = frame["accuracy_high"] - frame["accuracy_low"]
    assert (both < frame["accuracy_human_high"] - frame["accuracy_human_low"]).all()
    assert (frame["n_human"] == 100).all()
    assert "By human standards, m0 has the highest accuracy" in found.meaning
    assert "shorter than by human labels alone" in found.meaning


def test_a_judge_that_is_kind_to_one_model_is_found_out():
    found = og.correct_judge(*tables(n_human=300, kind=(0.0, 0.0, 0.6)))
    frame = found.to_frame()
    assert frame.loc["m2", "judge_biased"]
    assert not frame.loc["m1", "judge_biased"]
    assert frame.loc["m2", "accuracy_judge"] > 0.7
    assert frame.loc["m2", "accuracy_high"] < frame.loc["m2", "accuracy_judge"] - 0.1
    assert "The judge is significantly too kind to 1 respondent; its largest bias" in found.meaning
    assert "for m2" in found.meaning


def test_differences_are_paired_by_item(both, found):
    pairs = found.pairs.set_index(["respondent", "other"])
    assert pairs.loc[("m0", "m2"), "verdict"] == "better"
    assert (pairs["p_adjusted"] >= pairs["p"]).all()
    row = pairs.loc[("m0", "m1")]
    assert abs(row["difference"] - 0.15) < 4 * row["se"]
    values = numbers(both[1])
    alone = (values[0] - values[1]).std(ddof=1) / np.sqrt(100)
    assert row["se"] < alone


@pytest.mark.slow
def test_intervals_of_differences_hold(subtests):
    for n_human in (20, 50):
        held = []
        for seed in range(150):
            pairs = og.correct_judge(*tables(n=400, n_human=n_human, seed=seed)).pairs
            for pair in pairs.itertuples():
                true = TRUTH[int(pair.respondent[1])] - TRUTH[int(pair.other[1])]
                held.append(pair.low <= true <= pair.high)
        with subtests.test(n_human=n_human):
            assert np.mean(held) > 0.93


def test_labels_may_differ_from_model_to_model(both):
    judge, human = both
    values = numbers(human).copy()
    values[0, :80] = np.nan
    values[1] = np.nan
    found = og.correct_judge(judge, og.Responses(values, NAMES, human.items))
    frame = found.to_frame()
    assert frame["n_human"].to_dict() == {"m0": 20, "m2": 100}
    assert any("lack of human labels: 1 respondent (m1)" in note for note in found.notes)
    assert frame.loc["m0", "accuracy_se"] > frame.loc["m2", "accuracy_se"]


def test_documents_widen_the_intervals():
    judge, human = tables(n_human=600)
    repeated = og.Responses(
        np.repeat(numbers(judge), 4, axis=1), NAMES, [f"q{k}" for k in range(2400)]
    )
    truth = og.Responses(
        np.where(np.arange(2400) < 400, np.repeat(numbers(human), 4, axis=1), np.nan),
        NAMES,
        [f"q{k}" for k in range(2400)],
    )
    plain = og.correct_judge(repeated, truth).to_frame()
    told = repeated.described(items={"document": np.arange(2400) // 4})
    wide = og.correct_judge(told, truth).to_frame()
    assert wide["accuracy"].tolist() == pytest.approx(plain["accuracy"].tolist())
    assert (wide["accuracy_se"] > 1.5 * plain["accuracy_se"]).all()


def test_a_judge_may_use_another_scale(both):
    judge, human = both
    scaled = og.Responses(1 + 9 * numbers(judge), NAMES, judge.items, kind="continuous")
    found = og.correct_judge(scaled, human)
    same = og.correct_judge(judge, human).to_frame()["accuracy"]
    assert found.to_frame()["accuracy"].tolist() == pytest.approx(same.tolist(), abs=1e-9)
    assert found.to_frame()["judge_bias"].isna().all()
    assert any("different scales" in note for note in found.notes)


def test_labels_that_were_not_chosen_at_random_are_noted(both):
    judge, human = tables(n_human=600)
    picked = np.full(numbers(human).shape, np.nan)
    for row, scores in enumerate(numbers(judge)):
        wrong = np.flatnonzero(scores == 0)[:40]
        picked[row, wrong] = numbers(human)[row, wrong]
    chosen = og.correct_judge(judge, og.Responses(picked, NAMES, human.items))
    assert any("not chosen at random" in note for note in chosen.notes)
    assert not any("not chosen at random" in note for note in og.correct_judge(*both).notes)


def test_few_labels_are_noted():
    found = og.correct_judge(*tables(n_human=5))
    assert any("3 respondents (m0, m1, m2) have fewer than 10" in note for note in found.notes)
    one = og.correct_judge(*tables(n_human=1)).to_frame()
    assert one["accuracy_low"].isna().all()
    assert (one["rank_high"] == 3).all()


def test_labels_of_what_the_judge_did_not_score_are_left_out(both):
    judge, human = both
    more = human.to_frame().assign(other=1.0)
    found = og.correct_judge(judge, more)
    assert any("3 human labels of what the judge did not score" in note for note in found.notes)
    pd.testing.assert_frame_equal(found.board, og.correct_judge(judge, human).board)


def test_a_judge_that_never_varies_adds_nothing(both):
    judge, human = both
    found = og.correct_judge(og.Responses(np.ones((3, 600)), NAMES, judge.items), human)
    assert "The judge adds nothing to the human labels." in found.meaning
    frame = found.to_frame()
    assert frame["accuracy"].tolist() == pytest.approx(frame["accuracy_human"].tolist())


def test_tables_that_share_nothing_are_refused(both, subtests):
    judge, human = both
    other = og.Responses(numbers(human), NAMES, [f"x{k}" for k in range(100)])
    strangers = og.Responses(numbers(human), ["a", "b", "c"], human.items)
    for told, given, settings in (
        ("scored no common items", other, {}),
        ("scored no common respondents", strangers, {}),
        (r"`confidence` must be .*got 95", human, {"confidence": 95}),
        ("cluster: ", human, {"cluster": "page"}),
        (r"`correction` must be", human, {"correction": "none"}),
    ):
        with subtests.test(told), pytest.raises(InputError, match=told):
            og.correct_judge(judge, given, **settings)
    empty = human.to_frame().astype(float)
    empty[:] = np.nan
    with pytest.raises(InputError):
        og.correct_judge(judge, empty)


def test_tables_figures_and_text_come_with_it(found, tmp_path):
    assert set(found.tables()) == {"corrected_judge", "pairs"}
    for kind, draw in found.figures().items():
        draw().save(tmp_path / f"{kind}.png")
    assert set(found.figures()) == {"ranks", "pairs", "bias"}
    assert found.preview().shape == (3, 7)
    one = og.correct_judge(*(table.select(respondents=[0]) for table in tables()))
    assert set(one.figures()) == {"ranks", "bias"}
    assert "highest accuracy" in one.meaning


def test_of_a_judge_that_says_what_people_say_no_bias_is_claimed():
    scores = np.random.default_rng(3).beta(2, 2, size=(3, 60))
    items = [f"q{k}" for k in range(60)]
    judge = og.Responses(scores / 2, NAMES, items)
    for shift, biased in ((0.0, False), (0.25, True)):
        human = og.Responses(scores[:, :30] / 2 + shift, NAMES, items[:30])
        frame = og.correct_judge(judge, human).to_frame()
        assert (frame["judge_biased"] == biased).all()
        np.testing.assert_allclose(frame["judge_bias"], -shift, atol=1e-12)

"""Answers in the logs of a harness, here written by hand: no harness is needed."""

import json

import pytest

import ogive as og
from ogive.errors import FileError, HarnessError, InputError
from ogive.evaluation.harness_answers import (
    HarnessAnswers,
    could_not_run,
    reason,
    refuse_settings,
    task_called,
    tasks_by_name,
)

ITEMS = [f"sums/{k}" for k in range(6)]


@pytest.fixture
def facts():
    table = og.Responses([[0, 1, 0, 1, 0, 1], [1, 1, 0, 0, 1, 1]], items=ITEMS)
    hashes = [f"hash-{k}" for k in range(6)]
    return table.described(items={"task": ["sums"] * 6, "id": list(range(6)), "hash": hashes})


@pytest.fixture
def answers(facts, tmp_path):
    return HarnessAnswers("lm-eval", "small", facts, tmp_path / "runs")


def log(answers, scores, *, name="2026-01-01T00-00-00", hashes="hash-{}", model="small"):
    """Write the log of a run; returns its path."""
    home = answers.home("sums")
    rows = [
        {"doc_id": k, "doc": {}, "doc_hash": hashes.format(k), "exact_match": score}
        for k, score in scores.items()
    ]
    (home / f"results_{name}.json").write_text(json.dumps({"model_name": model}))
    path = home / f"samples_sums_{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def asked(answers, items, logs=(), failed=()):
    """One batch: what is not known is asked, and found in these logs."""
    samples = answers.samples(items)
    wanted = answers.to_ask(samples)
    if logs:
        answers.add("sums", logs)
    found = answers.responses(samples, dict.fromkeys(failed, "no answer."))
    return found, [sample.item for several in wanted.values() for sample in several]


def test_answers_are_those_of_the_logs(answers):
    path = log(answers, {0: 1.0, 1: 0.0})
    assert asked(answers, ITEMS[:2])[0] == {"sums/0": 1.0, "sums/1": 0.0}
    other = log(answers, {2: 1.0}, name="2026-01-02T00-00-00")
    found, wanted = asked(answers, ITEMS[1:3], [other])
    assert found == {"sums/1": 0.0, "sums/2": 1.0}
    assert wanted == ["sums/2"]  # and nothing that was answered before
    assert path.exists()


def test_a_log_that_was_cut_off_holds_what_it_holds(answers):
    path = log(answers, {0: 1.0, 1: 0.0})
    path.write_text(path.read_text() + '{"doc_id": 2, "do')
    assert answers.to_ask(answers.samples(ITEMS[:3])) == {"sums": answers.samples(ITEMS[2:3])}


def test_a_folder_without_readable_logs_is_a_folder_without_answers(answers):
    (answers.home("sums") / "samples_sums_2026-01-01T00-00-00.jsonl").write_text('{"doc_id": 2, "d')
    assert len(answers.to_ask(answers.samples(ITEMS[:3]))["sums"]) == 3


def test_logs_of_a_run_that_was_interrupted_are_read_again(answers):
    samples = answers.samples(ITEMS[:2])
    assert len(answers.to_ask(samples)["sums"]) == 2

    def stopped():
        with answers.kept("sums"):
            log(answers, {0: 1.0})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert answers.to_ask(samples) == {"sums": samples[1:]}


def test_another_question_behind_an_id_is_refused(answers):
    log(answers, {0: 1.0}, hashes="other-{}")
    with pytest.raises(HarnessError, match=r"Sample 0 of task 'sums' is not the question that"):
        asked(answers, ITEMS[:1])


def test_of_two_questions_behind_an_id_that_of_the_bank_is_taken(answers):
    log(answers, {0: 1.0}, hashes="other-{}")
    log(answers, {0: 0.0}, name="2026-01-02T00-00-00")
    assert asked(answers, ITEMS[:1])[0] == {"sums/0": 0.0}


def test_a_sample_that_was_neither_answered_nor_failed_is_an_error(answers):
    first = log(answers, {0: 1.0})
    with pytest.raises(HarnessError, match="has no sample '1' in lm-eval, which is 'sums/1'"):
        asked(answers, ITEMS[:2], [first])


def test_failures_are_none_once_something_was_answered(answers):
    log(answers, {0: 1.0})
    assert asked(answers, ITEMS[:2], failed=ITEMS[1:2])[0] == {"sums/0": 1.0, "sums/1": None}


def test_where_nothing_was_ever_answered_a_failure_is_an_error(answers):
    with pytest.raises(HarnessError, match="answered none of the last 1 item: no answer"):
        asked(answers, ITEMS[:1], failed=ITEMS[:1])


def test_three_failures_in_a_row_are_an_error_and_an_answer_ends_the_row(answers):
    log(answers, {0: 1.0, 3: 1.0})
    for item in ITEMS[1:3]:
        assert asked(answers, [item], failed=[item])[0] == {item: None}
    asked(answers, ITEMS[3:4])
    for item in ITEMS[1:3]:
        assert asked(answers, [item], failed=[item])[0] == {item: None}
    with pytest.raises(HarnessError, match="none of the last 3 items: no answer"):
        asked(answers, ITEMS[4:5], failed=ITEMS[4:5])


def test_shares_of_epochs_are_refused_where_the_bank_holds_right_and_wrong(answers):
    log(answers, {0: 0.5})
    with pytest.raises(InputError, match=r"'sums/0' is 0\.5, the mean of several epochs"):
        asked(answers, ITEMS[:1])


def test_scores_are_scores_where_the_bank_holds_scores(facts, tmp_path):
    frame = facts.item_facts  # without responses, the kind is not known
    answers = HarnessAnswers("lm-eval", "small", frame, tmp_path / "runs")
    log(answers, {0: 0.5})
    assert asked(answers, ITEMS[:1])[0] == {"sums/0": 0.5}


def test_answers_to_the_same_items_by_two_models_are_refused(answers, facts, tmp_path):
    log(answers, {0: 1.0})
    home = answers.home("sums") / "other"
    home.mkdir()
    row = {"doc_id": 0, "doc": {}, "doc_hash": "hash-0", "exact_match": 0.0}
    (home / "samples_sums_2026-01-02T00-00-00.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(FileError, match="the same items under several conditions"):
        asked(answers, ITEMS[:1])


def test_a_folder_belongs_to_one_model_and_harness(answers, facts, tmp_path):
    HarnessAnswers("lm-eval", "small", facts, tmp_path / "runs")  # as after a crash
    with pytest.raises(FileError, match="holds the answers of 'small' in lm-eval, but 'large'"):
        HarnessAnswers("lm-eval", "large", facts, tmp_path / "runs")
    with pytest.raises(FileError, match="'small' in Inspect is to be asked"):
        HarnessAnswers("Inspect", "small", facts, tmp_path / "runs")


def test_a_folder_with_other_files_is_refused(facts, tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(FileError, match="holds other files than those of an adaptive evaluation"):
        HarnessAnswers("lm-eval", "small", facts, tmp_path)


def test_tasks_are_found_by_their_names_in_the_facts(facts):
    assert tasks_by_name(None, facts) == {}
    assert tasks_by_name("sums.py", facts) == {"sums": "sums.py"}
    assert tasks_by_name({"sums": "x"}, facts) == {"sums": "x"}
    config = {"task": "sums", "dataset_path": "json"}  # a configuration, not a mapping of names
    assert tasks_by_name(config, facts) == {"sums": config}
    assert task_called("sums", {}) == "sums"
    with pytest.raises(InputError, match="Task 'logic' is to be asked, but tasks has only 1 task"):
        task_called("logic", {"sums": "x"})


def test_what_a_harness_said_becomes_one_sentence(subtests):
    cases = {
        "one two.": ValueError("one\n   two"),
        "first.": ExceptionGroup("group", [ExceptionGroup("more", [ValueError("first")])]),
        "no such task.": KeyError("no such task"),
        "KeyError.": KeyError(""),
        "red alert!": "\x1b[31mred[/bold] alert!",
    }
    for said, error in cases.items():
        with subtests.test(said):
            assert reason(error) == said
    assert len(reason("x" * 1000)) <= 301
    assert str(could_not_run("Inspect", "task 'a'", "no key")) == (
        "Inspect could not run task 'a': no key."
    )


def test_settings_are_a_mapping(subtests):
    assert refuse_settings(None, ["limit"]) == {}
    assert refuse_settings({"temperature": 0}, ["limit"]) == {"temperature": 0}
    with pytest.raises(InputError, match=r"`settings` must be a mapping.*got 'a=b'"):
        refuse_settings("a=b", ["limit"])

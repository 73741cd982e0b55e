import gzip
import json
import math
import os
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.data.logs import json_documents as json_lines
from ogive.data.logs.read_logs import read_logs
from ogive.data.response_files import read_responses
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import LARGEST

from .conftest import DATE, row


def test_a_folder_of_models_and_tasks_is_one_table(lm_eval, folder):
    lm_eval([1.0, 0.0], model="lab__one")
    lm_eval([0.0, 1.0], model="lab__two")
    lm_eval([1.0], model="lab__two", task="verbs")
    found = read_responses(folder)
    assert found.respondents == ("lab/one", "lab/two")
    assert found.items == ("sums/0", "sums/1", "verbs/0")
    np.testing.assert_array_equal(found.values, [[1, 0, math.nan], [0, 1, 1]])
    assert found.item_groups("task") == ("sums", "sums", "verbs")
    assert list(found.item_facts["hash"]) == ["hash0", "hash1", "hash0"]


def test_the_results_beside_tell_of_the_model(lm_eval, folder):
    results = {
        "model_name": "lab/real-name",
        "lm_eval_version": "0.4.9",
        "config": {"model_dtype": "torch.bfloat16", "model_num_parameters": 7},
    }
    lm_eval([1.0, 0.0], results=results)
    found = read_responses(folder)
    assert found.respondents == ("lab/real-name",)
    facts = found.respondent_facts.loc["lab/real-name"]
    assert (facts["version"], facts["precision"], facts["parameters"]) == ("0.4.9", "bfloat16", 7)


def test_where_lower_is_better_the_sign_is_turned(lm_eval, folder):
    lm_eval(
        [row(0, 2.5, "loss"), row(1, 0.5, "loss")],
        results={"higher_is_better": {"sums": {"loss": False}}},
    )
    reading = read_logs(folder)
    np.testing.assert_array_equal(reading.responses.values, [[-2.5, -0.5]])
    assert any("lower is better for loss" in note for note in reading.notes)


def test_of_two_filters_the_strict_one_is_kept(lm_eval, folder):
    rows = [row(n, 1.0, filter="flexible-extract") for n in range(3)]
    rows += [row(n, 0.0, filter="strict-match") for n in range(3)]
    lm_eval(rows)
    reading = read_logs(folder)
    assert reading.responses.values.sum() == 0
    assert "left out: 3 rows of another filter" in reading.meaning
    assert read_logs(folder, filter="flexible-extract").responses.values.sum() == 3


def test_old_logs_have_two_filters_without_their_names(lm_eval, folder):
    rows = [row(n, 1.0) for n in range(3)] + [row(n, 0.0) for n in range(3)]
    for one in rows:
        del one["filter"]
    lm_eval(rows)
    reading = read_logs(folder)
    assert reading.responses.values.tolist() == [[1, 1, 1]]
    assert reading.left_out == {"that are there twice, or of another filter without a name": 3}


def test_a_row_that_is_there_twice_is_not_called_another_filter(lm_eval, folder):
    lm_eval([row(0, 1.0), row(1, 0.0), row(0, 0.0)])
    reading = read_logs(folder)
    assert reading.responses.values.tolist() == [[1, 0]]
    assert reading.left_out == {"that are there twice": 1}


def test_versions_with_and_without_hashes_meet_by_number(lm_eval, folder):
    bare = [{k: v for k, v in row(float(n), 1.0).items() if k != "doc_hash"} for n in range(3)]
    lm_eval([1.0, 0.0, 1.0], model="a__a")
    lm_eval(bare, model="b__b")
    reading = read_logs(folder)
    assert reading.responses.items == ("sums/0", "sums/1", "sums/2")
    assert reading.responses.complete
    assert any("no content hash" in note for note in reading.notes)


def test_numbers_that_stand_for_several_contents_do_not_meet(lm_eval, folder):
    bare = {k: v for k, v in row(0, 1.0).items() if k != "doc_hash"}
    lm_eval([row(0, 1.0)], model="a__a")
    lm_eval([row(0, 0.0, doc_hash="other-content")], model="b__b")
    lm_eval([bare], model="c__c")
    assert read_logs(folder).responses.n_items == 3


def test_results_of_another_date_name_the_model_only_if_they_agree(lm_eval, folder):
    path = lm_eval([1.0, 0.0])
    other = path.with_name("results_2025-02-02T00-00-00.json")
    other.write_text('{"model_name": "lab/other"}')
    reading = read_logs(folder)
    assert reading.responses.respondents == ("lab/other",)
    assert "no results of its date" in reading.files.loc[0, "reason"]
    other.with_name("results_2025-03-02T00-00-00.json").write_text('{"model_name": "lab/third"}')
    reading = read_logs(folder)
    assert reading.responses.respondents == ("lab/one",)
    assert "results in the folder are of several models" in reading.files.loc[0, "reason"]


def test_the_same_document_twice_is_one_item(lm_eval, folder):
    lm_eval([row(0, 1.0), row(1, 0.0, doc_hash="hash0"), row(2, 1.0)])
    reading = read_logs(folder)
    assert reading.responses.items == ("sums/0", "sums/2")
    assert reading.left_out == {"with the content of an earlier row": 1}


def test_the_same_number_for_different_content_is_two_items(lm_eval, folder):
    lm_eval([row(0, 1.0), row(1, 1.0)], model="a__a")
    lm_eval([row(0, 0.0, doc_hash="other-content"), row(1, 0.0)], model="b__b")
    reading = read_logs(folder)
    assert reading.responses.items == ("sums/0#hash0", "sums/1", "sums/0#other-co")
    assert any("different content" in note for note in reading.notes)


def test_a_missing_score_was_never_asked_and_is_counted(lm_eval, folder):
    without = row(2, 0.0)
    del without["acc"]
    lm_eval([row(0, 1.0), row(1, math.nan), without, row(3, None), row(4, 0.0)])
    reading = read_logs(folder)
    assert reading.responses.items == ("sums/0", "sums/4")
    assert reading.left_out == {"without a score": 3}


@pytest.mark.parametrize("wanted", ["acc_norm", ["nonsense", "acc_norm"]])
def test_the_metric_can_be_named(lm_eval, folder, wanted):
    lm_eval([row(0, 0.0, acc_norm=1.0), row(1, 0.0, acc_norm=1.0)])
    assert read_logs(folder).responses.values.sum() == 0
    assert read_logs(folder, metric=wanted).responses.values.sum() == 2


def test_a_metric_that_is_not_there_is_refused_with_those_that_are(lm_eval):
    path = lm_eval([1.0, 0.0])
    with pytest.raises(FileError, match=r"no metric 'f1'; it has: acc\.") as caught:
        read_logs(path, metric="f1")
    assert str(path) in str(caught.value)


def test_a_metric_that_begins_late_is_found(lm_eval, folder):
    rows = [{k: v for k, v in row(n, 1.0).items() if n > 30 or k != "acc"} for n in range(40)]
    lm_eval(rows)
    reading = read_logs(folder)
    assert reading.responses.n_items == 9
    assert reading.left_out == {"without a score": 31}


def test_of_mixed_metrics_the_one_that_most_rows_have_is_read(lm_eval, folder):
    lm_eval([row(n, 1.0, "acc" if n < 6 else "exact_match") for n in range(10)])
    reading = read_logs(folder)
    assert reading.files.loc[0, "metric"] == "acc"
    assert reading.responses.n_items == 6
    assert "some rows have exact_match instead of acc" in reading.files.loc[0, "reason"]


def test_numbers_spelled_as_text_are_said_to_be(lm_eval):
    path = lm_eval([row(0, "1.0"), row(1, "0.0")])
    with pytest.raises(FileError, match="gives 'acc' as text, not a number"):
        read_logs(path)
    path = lm_eval([row(0, "1.0"), row(1, 0.0)])
    assert "acc is text, not a number" in read_logs(path).files.loc[0, "reason"]


def test_what_is_no_name_is_no_id(lm_eval, folder, subtests):
    for keep_text, name in product([False, True], ["", " ", "x" * 501, None]):
        with subtests.test(keep_text=keep_text, name=name):
            lm_eval(
                [row(name, 1.0, doc_hash=name), row(name, 1.0, doc_hash="known"), row("b", 0.0)]
            )
            reading = read_logs(folder, keep_text=keep_text)
            assert reading.left_out == {"without an id": 1}
            assert reading.responses.items == ("sums/known", "sums/b")


def test_truth_values_and_whole_numbers_are_scores(lm_eval, folder):
    lm_eval([row(0, True), row(1, 0), row(2, 1.0)])
    assert read_responses(folder).values.tolist() == [[1, 0, 1]]


def test_scores_between_make_the_table_continuous_and_it_is_said(lm_eval, folder):
    lm_eval([1.0, 0.0])
    lm_eval([row(0, 0.25, "f1"), row(1, 1.0, "f1")], task="summaries")
    reading = read_logs(folder)
    assert reading.responses.kind == "continuous"
    assert any(
        "(summaries) are not only 0 and 1, unlike those of 1 other task" in note
        for note in reading.notes
    )


def test_whole_grades_make_the_table_graded(lm_eval, folder):
    lm_eval([row(0, 3, "rating"), row(1, 0, "rating")])
    assert read_responses(folder).kind == "graded"


def test_a_log_cut_in_its_last_line_keeps_the_rest(lm_eval, folder):
    path = lm_eval([1.0, 0.0, 1.0])
    path.write_bytes(path.read_bytes()[:-40])
    reading = read_logs(folder)
    assert reading.responses.n_items == 2
    assert "the last line, 3, is cut short" in reading.files.loc[0, "reason"]
    assert reading.files.loc[0, "dropped"] == 1


def test_a_broken_line_in_the_middle_is_named_and_dropped(lm_eval, folder):
    path = lm_eval([1.0, 0.0, 1.0, 1.0])
    text = path.read_text().splitlines()
    text[1] = text[1][:30]
    path.write_text("\n".join(text) + "\n")
    reading = read_logs(folder)
    assert reading.responses.items == ("sums/0", "sums/2", "sums/3")
    assert "line 2" in reading.files.loc[0, "reason"]


def test_many_broken_lines_at_the_start_cost_themselves_alone(lm_eval, folder):
    path = lm_eval([1.0, 0.0])
    path.write_text('{"doc_id": \n' * 30 + path.read_text())
    reading = read_logs(folder)
    assert reading.responses.n_items == 2
    assert reading.left_out == {"on broken lines": 30}


def test_blank_lines_a_byte_order_mark_and_windows_ends_are_harmless(lm_eval, folder):
    path = lm_eval([1.0, 0.0])
    text = path.read_text().replace("\n", "\r\n\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_responses(folder).values.tolist() == [[1, 0]]


def test_a_cut_gzip_file_keeps_what_could_be_unpacked(lm_eval, folder):
    path = lm_eval([row(n, n % 2, padding=str(hash((n, "x"))) * 40) for n in range(2000)])
    packed = gzip.compress(path.read_bytes())
    path.unlink()
    (path.parent / f"{path.name}.gz").write_bytes(packed[: len(packed) * 3 // 4])
    reading = read_logs(folder)
    assert 0 < reading.responses.n_items < 2000
    assert "cut short" in reading.files.loc[0, "reason"]


def test_subject_and_document_become_facts(lm_eval, folder):
    docs = [{"subject": "algebra", "passage": "A"}, {"subject": "logic", "passage": "A"}]
    lm_eval([row(n, 1.0, doc=doc) for n, doc in enumerate(docs)])
    facts = read_responses(folder).item_facts
    assert list(facts["subject"]) == ["algebra", "logic"]
    assert facts["document"].nunique() == 1


def test_long_passages_are_documents_however_they_are_read(lm_eval, folder):
    lm_eval([row(0, 1.0, doc={"passage": "A" * 600}), row(1, 1.0, doc={"passage": "A" * 600})])
    by_block, by_line = (
        read_logs(folder, keep_text=keep).responses.item_facts for keep in (False, True)
    )
    assert by_block["document"].tolist() == by_line["document"].tolist()
    assert by_block["document"].notna().all()


def test_text_is_kept_only_when_asked_and_shortened(lm_eval, folder):
    lm_eval([row(0, 1.0, doc={"question": "why " * 1000}), row(1, 0.0)])
    assert "text" not in read_logs(folder).responses.item_facts
    facts = read_logs(folder, keep_text=True).responses.item_facts
    assert [len(text) for text in facts["text"]] == [2000, len("question 1")]
    assert list(facts["target"]) == ["yes", "yes"]


def test_types_that_change_on_the_way_are_read_line_by_line(lm_eval, folder, monkeypatch):
    monkeypatch.setattr(json_lines, "BLOCK", 200)
    rows = [row(n, 1.0) for n in range(6)]
    rows[3]["doc_id"], rows[4]["acc"], rows[5]["filter"] = "three", True, None
    lm_eval(rows)
    reading = read_logs(folder)
    assert "sums/three" in reading.responses.items
    assert reading.responses.n_items == 5
    assert reading.left_out == {"of another filter": 1}


def test_deep_nesting_costs_its_line_alone(lm_eval, folder):
    path = lm_eval([1.0, 0.0])
    deep = "[" * 200_000 + "]" * 200_000
    line = json.dumps(row(7, True)).replace('"yes"', deep)  # the truth value asks for line by line
    path.write_text(f"{path.read_text()}{line}\n")
    assert "sums/0" in read_logs(folder).responses.items


def test_a_line_without_an_end_is_refused(lm_eval, monkeypatch):
    monkeypatch.setattr(json_lines, "MAX_LINE", 1000)
    monkeypatch.setattr(json_lines, "BLOCK", 1000)
    path = lm_eval([row(0, 1.0), row(1, 1.0, padding="x" * 200_000)])
    with pytest.raises(FileError, match="line 1 has more than 1,000 bytes"):
        read_logs(path)


def test_file_names_of_other_encodings_are_harmless(lm_eval, folder, tmp_path):
    path = lm_eval([1.0, 0.0])
    path.rename(path.parent / os.fsdecode(b"samples_caf\xe9.jsonl"))
    reading = read_logs(folder)
    assert reading.responses.items == ("caf\\udce9/0", "caf\\udce9/1")
    reading.responses.save(tmp_path / "table.parquet")


ROWS = st.lists(
    st.tuples(
        st.text(min_size=1, max_size=8).filter(str.strip),
        st.one_of(st.none(), st.floats(), st.booleans(), st.integers(-5, 5)).filter(
            lambda score: score is None or not LARGEST < abs(score) < math.inf
        ),
        st.text(max_size=20),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda one: one[0],
)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(50, 2000))
def test_what_is_written_is_read(tmp_path_factory, rows, block):
    """Whatever the block size and the types, a finite score of an id comes back as it was."""
    path = tmp_path_factory.mktemp("logs") / "samples_task.jsonl"
    written = [row(name, score, doc_hash=name, target=text) for name, score, text in rows]
    path.write_text("".join(json.dumps(one) + "\n" for one in written))
    wanted = {
        f"task/{name}": float(score)
        for name, score, _ in rows
        if score is not None and math.isfinite(score)
    }
    before, json_lines.BLOCK = json_lines.BLOCK, block
    try:
        if not wanted:
            with pytest.raises(FileError):
                read_logs(path)
            return
        found = read_logs(path, metric="acc").responses
    finally:
        json_lines.BLOCK = before
    assert dict(zip(found.items, found.values[0].tolist(), strict=True)) == wanted


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 600))
def test_damaged_bytes_never_raise_anything_unexplained(tmp_path_factory, noise, at):
    path = tmp_path_factory.mktemp("logs") / "samples_task.jsonl"
    text = "".join(json.dumps(row(n, 1.0)) + "\n" for n in range(3)).encode()
    path.write_bytes(text[:at] + noise + text[at:])
    with suppress(FileError):  # anything else would be a surprise to the caller
        assert read_logs(path).responses.n_items >= 1


def test_other_prompts_make_another_respondent_even_without_results(lm_eval, folder):
    for date, prompt in ((DATE, "a"), ("2025-03-01T00-00-00.000000", "b")):
        for task in ("sums", "verbs"):
            rows = [row(k, 1.0, prompt_hash=f"{prompt}{task}{k}") for k in range(2)]
            lm_eval(rows, date=date, task=task)
    found = read_responses(folder)
    assert found.respondents == ("lab/one (prompt=1)", "lab/one (prompt=2)")
    assert found.complete


def test_groups_of_tasks_are_facts_of_items(lm_eval, folder):
    told = {"exams": ["science"], "science": ["sums"], "verbs": []}
    lm_eval([1.0], results={"model_name": "m", "group_subtasks": told})
    facts = read_responses(folder).item_facts
    assert facts[["group", "subgroup"]].to_numpy().tolist() == [["exams", "science"]]


def test_metrics_and_filters_that_are_not_read_are_named(lm_eval, folder):
    rows = [row(0, 1.0, acc_norm=0.0), row(0, 0.0, acc_norm=0.0, filter="loose")]
    lm_eval(rows)
    (note,) = [note for note in read_logs(folder).notes if note.startswith("Not read")]
    assert note == (
        "Not read: metric acc_norm (sums), filter loose (sums). Choose others with metric and "
        "filter."
    )


def results_of(model):
    return {"model_name": model, "config": {"model": "hf"}}


LATER = "2025-02-03T04-05-06.000007"


def test_the_same_content_with_another_date_is_the_same_run(lm_eval, folder):
    for date in (DATE, LATER):
        lm_eval([1, 0, 1], date=date, results=results_of("lab/one"))
    reading = read_logs(folder)
    assert reading.responses.tries is None
    assert any("they count once" in note for note in reading.notes)
    lm_eval([1, 1, 1], date=LATER, results=results_of("lab/one"))
    assert read_logs(folder).responses.tries.max() == 2  # other answers: another run


def test_a_copy_in_a_folder_without_results_is_no_new_model(lm_eval, folder):
    lm_eval([1, 0, 1], model="lab__one", results=results_of("lab/one"))
    lm_eval([1, 0, 1], model="backup")
    reading = read_logs(folder)
    assert reading.responses.respondents == ("lab/one",)
    assert reading.responses.tries is None
    assert any("backup" in note and "they count once" in note for note in reading.notes)
    renamed = read_logs(folder, rename={"backup": "other"})
    assert set(renamed.responses.respondents) == {"lab/one", "other"}


def test_equal_logs_that_only_folders_name_are_kept_and_noted(lm_eval, folder):
    lm_eval([1, 0, 1], model="lab__one")
    lm_eval([1, 0, 1], model="lab__two")
    reading = read_logs(folder)
    assert reading.responses.n_respondents == 2
    assert any("If one is a copy, take it out of the folder" in note for note in reading.notes)


def test_a_filter_that_no_log_has_is_refused(lm_eval, folder):
    names = ("strict-match", "flexible-extract")
    lm_eval([row(0, 1, filter=name) for name in names])
    for near in ("flexible-extrct", "flexible"):
        with pytest.raises(InputError, match=r"no log has it\. Did you mean 'flexible-extract'"):
            read_logs(folder, filter=near)
    with pytest.raises(InputError, match=r"There is: 'flexible-extract', 'strict-match'\."):
        read_logs(folder, filter="other")


def test_results_without_samples_say_how_to_get_them(tmp_path):
    path = tmp_path / "logs" / "results_2024-01-01.json"
    path.parent.mkdir()
    path.write_text('{"results": {"arc": {"acc,none": 0.5}}, "config": {}}')
    for place in (path, path.parent):
        with pytest.raises(FileError, match=r"means over tasks.*--log_samples.*samples_\*\.jsonl"):
            read_logs(place)

import json

import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def logs(tmp_path):
    """Two models on a task; the second log has a second filter."""
    for model, filters in (("lab__one", ["strict-match"]), ("lab__two", ["strict-match", "loose"])):
        folder = tmp_path / "logs" / model
        folder.mkdir(parents=True)
        rows = [
            {"doc_id": n, "doc": {"question": "why"}, "doc_hash": f"h{n}", "filter": name, "acc": 1}
            for name in filters
            for n in range(3)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "samples_sums_2025-01-01T00-00-00.000000.jsonl").write_text(text)
    return tmp_path / "logs"


def test_logs_become_a_table_with_facts(run, logs):
    done = run("read", logs, "--out", "responses.parquet")
    assert done.exit_code == 0, done.output
    table = og.read_responses("responses.parquet")
    assert table.respondents == ("lab/one", "lab/two")
    assert table.item_groups("task") == ("sums", "sums", "sums")
    assert "left out: 3 rows of another filter" in done.stdout


def test_json_is_one_document(run, logs):
    document = json.loads(run("read", logs, "--out", "responses.csv", "--json").stdout)
    assert document["left_out"] == {"of another filter": 3}
    assert [row["read"] for row in document["files"]] == [3, 3]


def test_options_reach_the_reader(run, logs):
    options = ("--filter", "loose", "--metric", "f1", "--metric", "acc", "--keep-text")
    done = run("read", logs, "--out", "responses.parquet", *options, "--files", "files.csv")
    assert done.exit_code == 0, done.output
    assert og.read_responses("responses.parquet").item_facts["text"].tolist() == ["why"] * 3
    assert pd.read_csv("files.csv")["read"].tolist() == [3, 3]


def test_a_csv_keeps_no_facts_and_that_is_said(run, logs):
    assert "A CSV keeps no facts (task" in run("read", logs, "--out", "responses.csv").stdout
    assert "keeps no facts" not in run("read", logs, "--out", "responses.parquet").stdout


def test_files_of_one_name_are_distinguished_by_their_folder(run, logs):
    done = run("read", logs, "--out", "responses.csv")
    assert "lab__one/samples_sums" in done.stdout
    assert "lab__two/samples_sums" in done.stdout


def test_a_folder_without_logs_is_bad_input(run, tmp_path):
    done = run("read", tmp_path, "--out", "responses.csv")
    assert done.exit_code == 3
    assert "without evaluation logs" in done.stderr


def test_models_are_named_and_variants_merged(run, logs):
    options = ("--name", "lab__one=us", "--name", "lab/two=them", "--variants", "merge")
    assert run("read", logs, "--out", "responses.csv", *options).exit_code == 0
    assert og.read_responses("responses.csv").respondents == ("us", "them")


def test_conditions_name_respondents(run, logs):
    assert run("read", logs, "--out", "responses.csv", "--variants", "filter").exit_code == 0
    found = og.read_responses("responses.csv").respondents
    assert found == ("lab/one (filter=strict-match)", "lab/two (filter=strict-match)")


def test_wrong_names_and_variants_are_explained(run, logs, subtests):
    for options, message in [
        (("--name", "x"), "it should be OLD=NEW"),
        (("--name", "x=y"), "no model, folder or file of the logs has that name"),
        (("--variants", "merge", "--variants", "shots"), "--variants merge stands alone"),
        (("--variants", "heat"), "the logs tell of: 'filter'"),
    ]:
        with subtests.test(message):
            done = run("read", logs, "--out", "responses.csv", *options)
            assert done.exit_code == 3
            assert message in done.stderr


def test_a_report_reads_a_folder_of_logs(run, logs, tmp_path):
    assert run("report", logs, "--out", "page.html").exit_code == 0
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run("report", empty)
    assert done.exit_code == 3
    assert "and no evaluation logs" in " ".join(done.output.split())

import json
from pathlib import Path

import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def table():
    responses = og.simulate("1pl", 5, 60, random_state=3, missing=0.1).responses
    return responses.described(items={"task": ["a", "b"] * 30, "page": list(range(30)) * 2})


@pytest.fixture
def path(tmp_path, table):
    table.save(tmp_path / "responses.parquet")
    return tmp_path / "responses.parquet"


def test_the_board_is_that_of_the_package(run, path, table):
    words = ("--cluster", "page", "--average", "tasks", "--model", "1pl", "--correction", "holm")
    done = run("leaderboard", path, *words, "--out", "board", "-q")
    assert done.exit_code == 0
    wanted = og.leaderboard(table, cluster="page", average="tasks", model="1pl", correction="holm")
    frame = wanted.to_frame()
    written = pd.read_csv("board/leaderboard.csv", index_col="respondent", keep_default_na=False)
    pd.testing.assert_frame_equal(written, frame, check_dtype=False)


def test_without_a_file_the_board_is_printed_as_csv(run, path):
    done = run("leaderboard", path)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("respondent,rank,rank_low,rank_high,accuracy,accuracy_se")
    assert len(lines) == 1 + 5
    assert "has the highest accuracy" in done.stderr


def test_a_folder_gets_tables_and_figures(run, path, tmp_path):
    done = run("leaderboard", path, "--out", "board", "--quiet")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert (tmp_path / "board" / "pairs.csv").exists()
    assert (tmp_path / "board" / "figures" / "ranks.png").exists()
    assert "Leaderboard" in (tmp_path / "board" / "report.html").read_text()


def test_json_is_one_document(run, path):
    document = json.loads(run("leaderboard", path, "--json").stdout)
    assert [row["rank"] for row in document["leaderboard"]] == [1, 2, 3, 4, 5]
    assert len(document["pairs"]) == 10
    assert document["pairs"][0]["respondent"] == document["leaderboard"][0]["respondent"]
    assert document["leaders"][0] == document["leaderboard"][0]["respondent"]


def test_bad_options_are_explained(subtests, run, path):
    cases = [
        (("--by", "topic"), 3, "no fact 'topic'"),
        (("--cluster", "book"), 3, "no fact 'book'"),
        (("--alpha", "2"), 3, "alpha must be"),
        (("--average", "models"), 2, "not one of items, tasks"),
        (("--out", "board.csv"), 3, "Name a folder"),
        (("--by", "task", "--by-prefix", "/"), 3, "Leave one of them out"),
        (("--by-prefix", "/"), 3, "no item name contains; the first name is 'item_1'"),
        (("--items", "no.csv"), 3, "There is no file 'no.csv'"),
    ]
    for words, code, message in cases:
        with subtests.test(words=words, code=code, message=message):
            done = run("leaderboard", path, *words)
            assert done.exit_code == code
            assert message in " ".join(done.stderr.replace("│", " ").split())


def test_that_no_task_is_known_is_said(run, scores):
    document = json.loads(run("leaderboard", scores, "--json").stdout)
    assert (
        "The tasks of the items are unknown: all items are treated as one task."
        in document["notes"]
    )
    done = run("leaderboard", scores, "--by", "task")
    assert done.exit_code == 3
    assert "Give a table of them with --items" in done.stderr


def test_tasks_come_from_names_or_from_a_table(run, table, tmp_path):
    names = [f"{task}/{k}" for k, task in enumerate(table.item_groups("task"))]
    og.Responses(table.values, table.respondents, names).save(tmp_path / "named.csv")
    facts = pd.DataFrame({"item": table.items, "topic": table.item_groups("task")})
    facts.to_csv("facts.csv", index=False)
    table.save(tmp_path / "plain.csv")
    words = ("--average", "tasks", "--json")
    wanted = [row["accuracy"] for row in iw_board(table)]
    for source in (
        ("named.csv", "--by-prefix", "/"),
        ("plain.csv", "--items", "facts.csv", "--by", "topic"),
    ):
        done = run("leaderboard", *source, *words)
        assert done.exit_code == 0, done.stderr
        board = json.loads(done.stdout)["leaderboard"]
        assert [row["accuracy"] for row in board] == pytest.approx(wanted)


def iw_board(table):
    return og.leaderboard(table, cluster=None, average="tasks").to_frame().to_dict("records")


def test_what_has_not_converged_has_its_own_exit_code(run, monkeypatch):
    from ogive.irt import predicted_accuracy as reached_accuracy

    monkeypatch.setattr(reached_accuracy, "LONGEST", 1)
    og.simulate("2pl", 12, 30, random_state=0).responses.save("r.csv")
    done = run("leaderboard", "r.csv", "--model", "2pl")
    assert done.exit_code == 4, done.output
    assert "did not converge" in done.stderr


def test_scores_below_zero_go_from_read_to_leaderboard(run, tmp_path):
    for model in range(3):
        folder = tmp_path / "logs" / f"lab__m{model}"
        folder.mkdir(parents=True)
        rows = [{"doc_id": k, "doc": {}, "acc": (k + model) % 4 - 1} for k in range(6)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "samples_sums_2025-01-01T00-00-00.000000.jsonl").write_text(text)
    assert run("read", tmp_path / "logs", "--out", "r.csv").exit_code == 0
    assert og.read_responses("r.csv").kind == "continuous"
    done = run("leaderboard", "r.csv")
    assert done.exit_code == 0, done.output


def test_a_long_table_of_epochs_has_a_board(run):
    rows = [
        f"m{model},q{item},{(model + item * epoch) % 2},{epoch}"
        for model in range(3)
        for item in range(8)
        for epoch in range(3)
    ]
    Path("long.csv").write_text("\n".join(["model,item,score,epoch", *rows]))
    done = run("leaderboard", "long.csv")
    assert done.exit_code == 0, done.output
    assert "repeated answers" in done.stderr


def test_items_without_the_prefix_are_counted(run, tmp_path):
    table = og.simulate("1pl", 5, 12, random_state=3).responses
    names = [f"math/{k}" for k in range(9)] + ["x", "y", "z"]
    og.Responses(table.values, items=names).save(tmp_path / "named.csv")
    done = run("leaderboard", "named.csv", "--by-prefix", "/")
    assert done.exit_code == 0
    assert "all but 3 items (x, y, z) without it" in done.stderr
    assert "task of these is 'unknown'" in done.stderr


def test_the_line_of_usage_names_arguments_as_help_does(run):
    done = run("leaderboard")
    assert "leaderboard [OPTIONS] RESPONSES\n" in done.stderr
    assert "Missing argument 'RESPONSES'" in done.stderr

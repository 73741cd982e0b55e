import json

import pandas as pd
import pytest

import ogive as og
from ogive.results.text_table import terminal_table


@pytest.fixture
def logs(tmp_path):
    """Responses that know the task of each item."""
    path = tmp_path / "logs.parquet"
    drawn = og.simulate("2pl", 120, 12, random_state=1).responses
    drawn.described(items={"task": ["sums", "verbs", "maps"] * 4}).save(path)
    return path


def test_correlations_are_those_of_the_package(run, logs):
    done = run("tasks", logs, "--quiet")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "task,other,correlation,se,low,high,n_respondents"
    wanted = og.task_scales(og.read_responses(logs)).correlations
    assert float(lines[1].split(",")[2]) == pytest.approx(wanted["correlation"].iloc[0])
    assert len(lines) == 1 + 3


def test_tables_and_the_heat_map_go_to_a_folder(run, logs, tmp_path):
    out = tmp_path / "new"
    done = run("tasks", logs, "--by", "task", "--out", out)
    assert done.exit_code == 0
    tables = {"tasks.csv", "abilities.csv", "joint_abilities.csv", "correlations.csv"}
    assert {path.name for path in out.glob("*.csv")} == tables
    assert {path.name for path in out.glob("*.*")} - tables == {"summary.json", "report.html"}
    assert len(list((out / "banks").iterdir())) == 3
    assert (out / "figures" / "correlations.png").exists()
    joint = pd.read_csv(out / "joint_abilities.csv")
    assert list(joint.columns) == ["respondent", "task", "ability", "ability_se", "n_items"]
    assert len(joint) == 120 * 3
    assert og.task_scales(og.read_responses(logs), "task").meaning in done.stdout


def test_json_is_one_document(run, logs):
    document = json.loads(run("tasks", logs, "--json", "--quiet").stdout)
    assert {row["task"] for row in document["tasks"]} == {"sums", "verbs", "maps"}
    assert len(document["correlations"]) == 3
    assert document["notes"] == [] or all(isinstance(note, str) for note in document["notes"])


def test_a_fact_that_no_item_has_is_refused_by_name(run, logs):
    done = run("tasks", logs, "--by", "subject")
    assert done.exit_code == 3
    assert "'subject'" in done.stderr


def test_the_correlation_is_shown_however_long_the_names_are(logs):
    """Of long names, the table kept the names and dropped what was asked for."""
    names = ["a_rather_long_name_of_the_first_task", "another_quite_long_name_of_a_task"]
    facts = {"task": [*names, "the_third_task_with_a_long_name"] * 4}
    found = og.task_scales(og.read_responses(logs).described(items=facts))
    for width in (60, 80):
        lines, _ = terminal_table(found.preview(), width)
        assert any("0.98 (0.60 to 1.00)" in line for line in lines)
        assert all(any(word in line for line in lines[:3]) for word in ("correlation", "other"))


def test_a_group_that_names_tell_is_offered_by_their_prefix(run, logs):
    """The message named --items and .parquet files only."""
    table = og.read_responses(logs)
    told = [f"{task}/{k}" for k, task in enumerate(table.item_groups("task"))]
    og.Responses(table.values, items=told).save("named.csv")
    og.Responses(table.values).save("plain.csv")
    for words, offer in ((("--by", "task"), "--by-prefix /"), ((), "--by-prefix")):
        done = run("tasks", "named.csv", *words, "--out", "found")
        assert done.exit_code == 3
        assert offer in " ".join(done.stderr.split())
    done = run("tasks", "plain.csv", "--by", "task", "--out", "found")
    assert "--by-prefix" not in done.stderr

"""Commands made from the signatures of studies: what they read, write and refuse."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.results.text_table import terminal_table


@pytest.fixture
def judged(tmp_path):
    """Scores of a judge, and of people for half of the items."""
    right = og.simulate("2pl", 4, 80, random_state=0).responses
    truth = right.to_frame().to_numpy(dtype=float)
    flipped = np.random.default_rng(0).random((4, 80)) < 0.1
    judge = og.Responses(np.where(flipped, 1 - truth, truth), right.respondents)
    judge.save(tmp_path / "judge.csv")
    right.select(items=slice(0, 40)).save(tmp_path / "human.csv")
    return tmp_path / "judge.csv", tmp_path / "human.csv"


def test_a_judge_is_corrected_by_a_table_of_people(run, judged, tmp_path):
    judge, human = judged
    out = tmp_path / "new"
    done = run("correct", judge, "--human", human, "--out", out)
    assert done.exit_code == 0
    frame = pd.read_csv(out / "corrected_judge.csv", index_col=0)
    wanted = og.correct_judge(og.read_responses(judge), og.read_responses(human))
    assert frame["accuracy"].to_numpy() == pytest.approx(wanted.board["accuracy"].to_numpy())
    assert wanted.meaning in done.stdout
    assert (out / "figures" / "bias.png").exists()


def test_a_table_that_is_not_there_is_named(run, judged, tmp_path):
    done = run("correct", judged[0], "--human", tmp_path / "nowhere.csv")
    assert done.exit_code == 3
    assert "nowhere.csv" in " ".join(done.stderr.split())


@pytest.fixture
def grouped(tmp_path):
    """Responses and the groups of their respondents, in two files."""
    drawn = og.simulate("2pl", 120, 8, random_state=1).responses
    drawn.save(tmp_path / "scores.csv")
    groups = pd.DataFrame({"respondent": drawn.respondents, "group": np.tile(["a", "b"], 60)})
    groups.to_csv(tmp_path / "groups.csv", index=False)
    return tmp_path / "scores.csv", tmp_path / "groups.csv"


def test_groups_come_from_a_table(run, grouped, tmp_path):
    scores, groups = grouped
    out = tmp_path / "new"
    done = run("differential", scores, "--groups", groups, "--reference", "b", "--out", out)
    assert done.exit_code == 0
    frame = pd.read_csv(out / "differential.csv")
    wanted = og.differential(og.read_responses(scores), np.tile(["a", "b"], 60), reference="b")
    assert frame["difference"].to_numpy() == pytest.approx(wanted.items["difference"].to_numpy())
    assert set(frame["group"]) == {"a"}
    assert wanted.meaning in done.stdout
    assert (out / "figures" / "differential.png").exists()


def test_groups_come_from_a_fact_of_the_respondents(run, grouped, tmp_path):
    scores, _ = grouped
    table = og.read_responses(scores).described(respondents={"kind": ["a", "b"] * 60})
    done = run("differential", table.save(tmp_path / "logs.parquet"), "--groups", "kind", "--quiet")
    assert done.exit_code == 0
    assert done.stdout.startswith("item,group,difference")


def test_groups_that_cannot_be_compared_are_refused_in_the_words_of_the_command(run, grouped):
    scores, groups = grouped
    frame = pd.read_csv(groups)
    for change, message in (
        ({"group": ["a"] * 119 + ["b"]}, "'b' has 1. Join groups, or leave small ones out of the"),
        ({"group": ["a"] * 60 + [None] * 60}, "--groups gives no group to 60 respondents"),
    ):
        frame.assign(**change).to_csv(groups, index=False)
        done = run("differential", scores, "--groups", groups)
        assert done.exit_code == 3
        assert message in " ".join(done.stderr.split())
        assert "responses.select" not in done.stderr


@pytest.fixture
def ratings(tmp_path):
    random = np.random.default_rng(0)
    respondent, item, judge = np.indices((2, 30, 2)).reshape(3, -1)
    better = 1.0 - respondent - 1.5 * judge + random.logistic(size=judge.size)
    columns = {"model": respondent, "item": item, "rubric": judge, "grade": (better > 0) * 1}
    pd.DataFrame(columns).to_csv(tmp_path / "ratings.csv", index=False)
    return tmp_path / "ratings.csv"


def test_ratings_become_a_folder(run, ratings, tmp_path):
    out = tmp_path / "new"
    done = run("facets", ratings, "--judge", "rubric", "--out", out)
    assert done.exit_code == 0
    wanted = og.facets(pd.read_csv(ratings))
    frame = pd.read_csv(out / "judges.csv", index_col=0)
    assert frame["severity"].to_numpy() == pytest.approx(wanted.judges["severity"].to_numpy())
    assert (out / "figures" / "severity.png").exists()


def test_a_column_that_is_not_there_is_named(run, ratings):
    done = run("facets", ratings, "--score", "points")
    assert done.exit_code == 3
    assert "--score is 'points', but the ratings have the columns model" in " ".join(
        done.stderr.split()
    )


def test_a_plan_needs_no_file(run, tmp_path):
    done = run("plan", "--accuracy", 0.7, "--difference", 0.05, "--out", tmp_path / "plan")
    assert done.exit_code == 0
    frame = pd.read_csv(tmp_path / "plan" / "evaluation_plan.csv")
    wanted = og.plan(accuracy=0.7, difference=0.05)
    pd.testing.assert_frame_equal(frame, wanted.to_frame())
    assert wanted.meaning in done.stdout
    assert (tmp_path / "plan" / "figures" / "evaluation_plan.png").exists()


def test_a_pilot_names_two_respondents(run, tmp_path):
    pilot = og.simulate("2pl", 4, 60, random_state=1).responses
    names = pilot.respondents[1:3]
    done = run(
        *("plan", pilot.save(tmp_path / "pilot.csv"), "--quiet"),
        *("--respondents", names[0], "--respondents", names[1]),
    )
    assert done.exit_code == 0
    row = done.stdout.splitlines()[1].split(",")
    wanted = og.plan(pilot, respondents=names).to_frame()
    assert float(row[2]) == pytest.approx(wanted["items"].iloc[0])


def test_without_anything_it_says_what_is_needed(run):
    done = run("plan")
    assert done.exit_code == 3
    assert "A plan needs responses of a pilot, or accuracy" in done.stderr


@pytest.fixture
def battles(tmp_path):
    random = np.random.default_rng(0)
    first = random.integers(0, 3, 120)
    second = (first + random.integers(1, 3, 120)) % 3
    winner = np.where(
        random.random(120) < 0.6, np.minimum(first, second), np.maximum(first, second)
    )
    names = np.array(["large", "middle", "small"])
    columns = {"model_a": names[first], "model_b": names[second], "winner": names[winner]}
    table = pd.DataFrame({**columns, "prompt": np.arange(120) // 4, "kind": np.arange(120) % 2})
    table.to_csv(tmp_path / "battles.csv", index=False)
    return tmp_path / "battles.csv"


def test_a_table_of_battles_becomes_a_folder(run, battles, tmp_path):
    out = tmp_path / "new"
    done = run("preferences", battles, "--by", "kind", "--out", out)
    assert done.exit_code == 0
    wanted = og.preferences(pd.read_csv(battles), by="kind")
    frame = pd.read_csv(out / "preferences.csv", index_col=0)
    assert frame["strength"].to_numpy() == pytest.approx(wanted.board["strength"].to_numpy())
    assert wanted.meaning in done.stdout
    for name in ("ranks", "pairs", "groups"):
        assert (out / "figures" / f"{name}.png").exists()


def test_clusters_may_be_named_or_left_out(run, battles):
    done = run("preferences", battles, "--cluster", "prompt", "--cluster", "kind", "--quiet")
    assert done.exit_code == 0
    assert done.stdout.startswith("respondent,rank,rank_low")
    done = run("preferences", battles, "--cluster", "none")
    assert "clusters of battles" not in done.stderr


def test_a_column_that_is_not_there_is_named_as_the_option(run, battles):
    done = run("preferences", battles, "--winner", "nobody")
    assert done.exit_code == 3
    assert "--winner is 'nobody', but the battles have the columns model_a" in " ".join(
        done.stderr.split()
    )


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

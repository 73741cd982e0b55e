import json

import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def recorded(tmp_path):
    """Responses of 120 models that know task and id of their items."""
    table = og.simulate("2pl", 120, 20, random_state=1).responses
    facts = {"task": ["arc"] * 12 + ["boolq"] * 8, "id": [*range(12), *range(8)]}
    path = tmp_path / "responses.parquet"
    table.described(items=facts).save(path)
    return path


@pytest.fixture
def others(tmp_path):
    path = tmp_path / "others.csv"
    og.simulate("2pl", 60, 20, random_state=1).responses.save(path)
    return path


@pytest.mark.slow
def test_figures_are_those_of_the_package(run, recorded):
    words = ("--budget", 4, "--budget", 8, "--cv", 2, "--out", "replay")
    done = run("adapt", recorded, *words)
    assert done.exit_code == 0, done.stderr
    wanted = og.replay_adaptively(og.read_responses(recorded), sizes=[4, 8], cv=2)
    found = pd.read_csv("replay/errors.csv")
    pd.testing.assert_frame_equal(found, wanted.errors, check_dtype=False)
    assert wanted.meaning in done.stdout


def test_responses_may_be_named_by_replay_alone(run, recorded):
    words = ("--budget", 4, "--cv", 2)
    alone = run("adapt", "--replay", recorded, *words)
    assert alone.exit_code == 0, alone.stderr
    assert alone.stdout == run("adapt", recorded, *words).stdout


def test_without_responses_there_is_nothing_to_replay(run):
    done = run("adapt")
    assert done.exit_code == 3
    assert "Name responses: ogive adapt RESPONSES" in done.stderr


def test_a_bank_is_replayed_on_responses_of_other_models(run, recorded, others, tmp_path):
    bank = og.calibrate(og.read_responses(recorded), "2pl").save(tmp_path / "bank.json")
    done = run("adapt", bank, "--replay", others, "--budget", 5, "--json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    wanted = og.replay_adaptively(og.load(bank), og.read_responses(others), sizes=[5])
    assert document["respondents"] == 60
    assert [row["mae"] for row in document["errors"]] == pytest.approx(list(wanted.errors["mae"]))


@pytest.mark.slow
@pytest.mark.usefixtures("rendered")
def test_selections_and_a_figure_are_written(run, recorded, tmp_path):
    words = ("--budget", 6, "--cv", 2, "--out", "replay", "-q")
    done = run("adapt", recorded, *words, "--lm-eval", "samples.json", "--inspect", "ids.json")
    assert done.exit_code == 0, done.stderr
    samples = json.loads((tmp_path / "samples.json").read_text())
    ids = json.loads((tmp_path / "ids.json").read_text())
    assert sum(map(len, samples.values())) == 6
    assert {task: sorted(listed) for task, listed in ids.items()} == samples
    assert (tmp_path / "replay" / "figures" / "mae.png").stat().st_size > 5_000


def test_what_cannot_be_done_is_explained(run, recorded, others, tmp_path):
    bank = og.calibrate(og.read_responses(recorded), "2pl").save(tmp_path / "bank.json")
    done = run("adapt", bank, "--budget", 5)
    assert (done.exit_code, "A bank alone" in done.stderr) == (3, True)
    done = run("adapt", bank, "--replay", others, "--budget", 5, "--lm-eval", "samples.json")
    assert (done.exit_code, "no fact 'task'" in done.stderr) == (3, True)
    done = run("adapt", recorded, "--lm-eval", recorded)
    assert done.exit_code == 3


def test_facts_of_a_selection_may_lie_in_a_table_beside_the_responses(run, others, tmp_path):
    facts = pd.DataFrame({"item": [f"item_{k}" for k in range(1, 21)], "task": "arc"})
    facts.assign(id=range(20)).to_csv("facts.csv", index=False)
    words = ("--budget", 3, "--cv", 2, "--items", "facts.csv", "--lm-eval", "samples.json")
    done = run("adapt", others, *words)
    assert done.exit_code == 0, done.stderr
    assert len(json.loads((tmp_path / "samples.json").read_text())["arc"]) == 3


@pytest.mark.slow
def test_confidence_is_that_of_the_intervals(run, others):
    words = ("adapt", others, "--budget", 3, "--cv", 2, "--json")
    half, most = (json.loads(run(*words, "--confidence", c).stdout) for c in (0.5, 0.99))
    assert half["errors"][0]["coverage"] < most["errors"][0]["coverage"]

import json

import pandas as pd
import pytest

import itemwise as iw


@pytest.fixture
def recorded(tmp_path):
    """Responses of 120 models that know task and id of their items."""
    table = iw.simulate("2pl", 120, 20, random_state=1).responses
    facts = {"task": ["arc"] * 12 + ["boolq"] * 8, "id": [*range(12), *range(8)]}
    path = tmp_path / "responses.parquet"
    table.described(items=facts).save(path)
    return path


@pytest.fixture
def others(tmp_path):
    path = tmp_path / "others.csv"
    iw.simulate("2pl", 60, 20, random_state=1).responses.save(path)
    return path


def test_figures_are_those_of_the_package(run, recorded):
    words = ("--budget", 4, "--budget", 8, "--folds", 2, "--out", "table.csv")
    done = run("adapt", recorded, *words)
    assert done.exit_code == 0, done.stderr
    wanted = iw.replay_adaptively(iw.read_responses(recorded), sizes=[4, 8], folds=2)
    found = pd.read_csv("table.csv")
    pd.testing.assert_frame_equal(found, wanted.figures, check_dtype=False)
    assert wanted.meaning in done.stdout


def test_a_bank_is_replayed_on_responses_of_other_models(run, recorded, others, tmp_path):
    bank = iw.calibrate(iw.read_responses(recorded), "2pl").save(tmp_path / "bank.json")
    done = run("adapt", bank, "--replay", others, "--budget", 5, "--json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    wanted = iw.replay_adaptively(iw.load(bank), iw.read_responses(others), sizes=[5])
    assert document["respondents"] == 60
    assert [row["mae"] for row in document["figures"]] == pytest.approx(list(wanted.figures["mae"]))


def test_responses_replayed_on_themselves_are_divided_into_folds(run, recorded):
    words = ("--budget", 4, "--folds", 2, "--json")
    alone, itself = (
        run("adapt", recorded, *words),
        run("adapt", recorded, "--replay", recorded, *words),
    )
    assert alone.stdout == itself.stdout
    assert alone.exit_code == 0


def test_selections_and_a_figure_are_written(run, recorded, tmp_path):
    words = ("--budget", 6, "--folds", 2, "--figure", "error.png", "-q")
    done = run("adapt", recorded, *words, "--lm-eval", "samples.json", "--inspect", "ids.json")
    assert done.exit_code == 0, done.stderr
    samples = json.loads((tmp_path / "samples.json").read_text())
    ids = json.loads((tmp_path / "ids.json").read_text())
    assert sum(map(len, samples.values())) == 6
    assert {task: sorted(listed) for task, listed in ids.items()} == samples
    assert (tmp_path / "error.png").stat().st_size > 5_000


def test_what_cannot_be_done_is_explained(run, recorded, others, tmp_path):
    bank = iw.calibrate(iw.read_responses(recorded), "2pl").save(tmp_path / "bank.json")
    done = run("adapt", bank, "--budget", 5)
    assert (done.exit_code, "A bank alone" in done.stderr) == (3, True)
    done = run("adapt", bank, "--replay", others, "--budget", 5, "--lm-eval", "samples.json")
    assert (done.exit_code, "no fact 'task'" in done.stderr) == (3, True)
    done = run("adapt", recorded, "--lm-eval", recorded)
    assert done.exit_code == 3

import json

import pandas as pd
import pytest

import itemwise as iw
from itemwise.estimation.calibrating import ENGINES
from itemwise.models import MODELS


def test_bank_and_abilities_are_those_of_the_package(run, scores):
    done = run("calibrate", scores, "--out", "bank.json", "--abilities", "ab.csv", "-m", "3pl")
    assert done.exit_code == 0
    assert "converged" in done.stdout
    wanted = iw.calibrate(iw.read_responses(scores), "3pl")
    pd.testing.assert_frame_equal(iw.load("bank.json").items, wanted.items)
    found = pd.read_csv("ab.csv", index_col="respondent")
    pd.testing.assert_frame_equal(found, wanted.abilities())


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_the_registry_is_a_choice(run, scores, model):
    assert run("calibrate", scores, "--model", model.upper(), "--out", "b.json").exit_code == 0
    assert iw.load("b.json").model.name == model


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_of_the_registry_is_a_choice(run, scores, engine):
    run("calibrate", scores, "--engine", engine, "--out", "b.parquet")
    assert iw.load("b.parquet").engine == engine


def test_settings_and_priors_reach_the_engine(run, scores):
    words = ("--priors", "none", "--tolerance", 1e-4, "--n-jobs", 2, "--max-iterations", 150)
    assert run("calibrate", scores, "--out", "b.json", *words).exit_code == 0
    wanted = iw.calibrate(iw.read_responses(scores), priors=None, tolerance=1e-4)
    assert iw.load("b.json").log_likelihood == pytest.approx(wanted.log_likelihood)


def test_without_a_file_the_items_are_printed_as_csv(run, scores):
    lines = run("calibrate", scores, "--quiet").stdout.splitlines()
    assert lines[0].startswith("item,discrimination,difficulty")
    assert len(lines) == 1 + 8


def test_json_is_one_document(run, scores):
    done = run("calibrate", scores, "--json", "--out", "b.json")
    document = json.loads(done.stdout)
    assert document["converged"] is True
    assert document["respondents"] == 120
    assert document["items"][0]["item"] == "item_1"
    assert document["out"] == "b.json"


def test_quiet_is_silent(run, scores):
    done = run("calibrate", scores, "--quiet", "--out", "b.json")
    assert (done.stdout, done.stderr) == ("", "")


def test_what_has_not_converged_is_written_and_has_its_own_exit_code(run, scores):
    done = run("calibrate", scores, "--model", "4pl", "--max-iterations", 1, "--out", "b.json")
    assert done.exit_code == 4
    assert "NOT converged" in done.stdout
    assert not iw.load("b.json").converged


def test_a_bank_that_exists_is_replaced(run, scores, tmp_path):
    (tmp_path / "b.json").write_text("old")
    assert run("calibrate", scores, "--out", "b.json").exit_code == 0
    assert len(iw.load("b.json").item_names) == 8

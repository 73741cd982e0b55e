import json

import pandas as pd
import pytest

import ogive as og
from ogive.irt.calibrating import ENGINES
from ogive.irt.models import MODELS


def test_bank_and_abilities_are_those_of_the_package(run, scores):
    done = run("calibrate", scores, "--out", "bank.json", "--abilities", "ab.csv", "-m", "3pl")
    assert done.exit_code == 0
    assert "converged" in done.stdout
    wanted = og.calibrate(og.read_responses(scores), "3pl")
    pd.testing.assert_frame_equal(og.load("bank.json").items, wanted.items)
    found = pd.read_csv("ab.csv", index_col="respondent")
    pd.testing.assert_frame_equal(found, wanted.abilities())


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_the_registry_is_a_choice(run, table, model):
    words = ("--model", model.upper(), "--out", "b.json")
    assert run("calibrate", table(model, missing=0.1), *words).exit_code == 0
    assert og.load("b.json").model.name == model


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_of_the_registry_is_a_choice(run, table, engine):
    path = table("continuous")
    assert run("calibrate", path, "--engine", engine, "--out", "b.parquet").exit_code in (0, 4)
    assert og.load("b.parquet").engine == engine


@pytest.mark.parametrize(
    ("model", "picked"), [("2pl", "2pl"), ("gpcm", "graded"), ("beta", "continuous")]
)
def test_without_a_model_the_kind_of_responses_decides_and_it_is_said(run, table, model, picked):
    done = run("calibrate", table(model), "--out", "b.json")
    assert f"Model '{picked}', chosen because" in done.stdout
    assert og.load("b.json").model.name == picked
    document = json.loads(run("calibrate", table(model), "--json").stdout)
    assert document["model"] == picked
    assert document["notes"][0].startswith(f"Model '{picked}'")


def test_a_preset_is_that_of_the_package(run, table):
    path = table("continuous")
    assert run("calibrate", path, "--preset", "airt", "--out", "b.json").exit_code == 0
    wanted = og.calibrate(og.read_responses(path), preset="airt")
    pd.testing.assert_frame_equal(og.load("b.json").items, wanted.items)


def test_a_population_of_any_shape_is_a_choice(run, scores):
    assert run("calibrate", scores, "--population", "histogram", "--out", "b.json").exit_code == 0
    found = og.load("b.json")
    wanted = og.calibrate(og.read_responses(scores), population="histogram")
    assert found.population.mass.tolist() == wanted.population.mass.tolist()


def test_settings_and_priors_reach_the_engine(run, scores):
    words = ("--priors", "none", "--tolerance", 1e-4, "--jobs", 2, "--max-iterations", 150)
    assert run("calibrate", scores, "--out", "b.json", *words).exit_code == 0
    wanted = og.calibrate(og.read_responses(scores), priors=None, tolerance=1e-4)
    assert og.load("b.json").log_likelihood == pytest.approx(wanted.log_likelihood)


def test_without_a_file_the_items_are_printed_as_csv(run, scores):
    lines = run("calibrate", scores, "--quiet").stdout.splitlines()
    assert lines[0].startswith("item,discrimination,difficulty")
    assert len(lines) == 1 + 8


def test_quiet_is_silent(run, scores):
    done = run("calibrate", scores, "--quiet", "--out", "b.json")
    assert (done.stdout, done.stderr) == ("", "")


def test_what_has_not_converged_is_written_and_has_its_own_exit_code(run, scores):
    done = run("calibrate", scores, "--model", "4pl", "--max-iterations", 1, "--out", "b.json")
    assert done.exit_code == 4
    assert "NOT converged" in done.stdout
    assert not og.load("b.json").converged

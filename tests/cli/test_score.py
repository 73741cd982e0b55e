import pandas as pd
import pytest

import ogive as og
from ogive.irt.abilities import METHODS
from ogive.irt.models import MODELS


@pytest.mark.parametrize("method", METHODS)
def test_abilities_are_those_of_the_package(run, bank, scores, method):
    assert run("score", bank, scores, "--method", method, "--out", "ab.csv").exit_code == 0
    wanted = og.load(bank).score(og.read_responses(scores), method)
    pd.testing.assert_frame_equal(pd.read_csv("ab.csv", index_col="respondent"), wanted)


def test_without_a_file_the_abilities_are_printed_as_csv(run, bank, scores):
    lines = run("score", bank, scores).stdout.splitlines()
    assert lines[0] == "respondent,ability,se,at_bound"
    assert len(lines) == 1 + 120


def test_items_that_the_bank_lacks_are_named(run, bank):
    assert run("simulate", "--items", 9, "--out", "nine.csv").exit_code == 0
    done = run("score", bank, "nine.csv")
    assert done.exit_code == 3
    assert "item_9" in done.stderr


@pytest.mark.parametrize("model", MODELS)
def test_respondents_of_every_model_are_scored(run, table, tmp_path, model):
    path = table(model, missing=0.1)
    saved = og.calibrate(og.read_responses(path), model).save(tmp_path / "bank.json")
    assert run("score", saved, path, "--out", "ab.csv").exit_code == 0
    wanted = og.load(saved).score(og.read_responses(path))
    pd.testing.assert_frame_equal(pd.read_csv("ab.csv", index_col="respondent"), wanted)

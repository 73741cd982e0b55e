import json

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.irt.models import MODELS

SMALL = ("--respondents", 30, "--items", 4, "--missing", 0.2, "--random-state", 3)


def test_responses_and_truth_are_those_of_the_package(run):
    done = run("simulate", "--model", "3pl", *SMALL, "--out", "r.csv", "--truth", "t.parquet")
    assert done.exit_code == 0
    wanted = og.simulate("3pl", 30, 4, missing=0.2, random_state=3)
    assert og.read_responses("r.csv") == wanted.responses
    found = pd.read_parquet("t.parquet").set_index("item")
    pd.testing.assert_frame_equal(found, wanted.truth.items, check_index_type=False)


def test_what_is_printed_can_be_read_back(run, tmp_path):
    words = ("--respondents", 20, "--items", 3, "--missing", 0.3, "--random-state", 3)
    (tmp_path / "r.csv").write_text(run("simulate", *words).stdout)
    assert og.read_responses("r.csv") == og.simulate("2pl", 20, 3, missing=0.3, random_state=3)[0]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_drawn_and_written(run, model):
    words = ("--model", model, *SMALL)
    assert run("simulate", *words, "--out", "r.parquet", "--truth", "t.csv").exit_code == 0
    wanted = og.simulate(model, 30, 4, missing=0.2, random_state=3)
    assert og.read_responses("r.parquet") == wanted.responses
    assert list(pd.read_csv("t.csv", index_col="item").columns) == list(wanted.truth.items.columns)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_printed_of_every_model_can_be_read_back(run, tmp_path, model):
    words = ("--model", model, *SMALL)
    done = run("simulate", *words)
    assert done.exit_code == 0
    (tmp_path / "r.csv").write_text(done.stdout)
    wanted = og.simulate(model, 30, 4, missing=0.2, random_state=3).responses
    found = og.read_responses("r.csv")
    assert found.kind == wanted.kind
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-6)
    assert ".0," not in done.stdout or wanted.kind == "continuous"


def test_every_model_is_one_document(subtests, run):
    for model in MODELS:
        with subtests.test(model=model):
            words = ("--model", model, "--items", 3, "--respondents", 5, "--random-state", 1)
            document = json.loads(run("simulate", *words, "--json").stdout)
            wanted = og.simulate(model, 5, 3, random_state=1).responses
            found = [list(row.values())[-3:] for row in document["responses"]]
            np.testing.assert_allclose(np.array(found, dtype=float), wanted.values, rtol=1e-6)

import json

import pandas as pd

import itemwise as iw


def test_responses_and_truth_are_those_of_the_package(run):
    words = ("--model", "3pl", "--respondents", 50, "--items", 7, "--missing", 0.2, "--seed", 3)
    done = run("simulate", *words, "--out", "r.csv", "--truth", "t.parquet")
    assert done.exit_code == 0
    wanted = iw.simulate("3pl", 50, 7, missing=0.2, random_state=3)
    assert iw.read_responses("r.csv") == wanted.responses
    found = pd.read_parquet("t.parquet").set_index("item")
    pd.testing.assert_frame_equal(found, wanted.truth.items, check_index_type=False)


def test_what_is_printed_can_be_read_back(run, tmp_path):
    words = ("--respondents", 20, "--items", 3, "--missing", 0.3, "--seed", 3)
    (tmp_path / "r.csv").write_text(run("simulate", *words).stdout)
    assert iw.read_responses("r.csv") == iw.simulate("2pl", 20, 3, missing=0.3, random_state=3)[0]


def test_json_is_one_document(run):
    document = json.loads(run("simulate", "--json", "--items", 3, "--respondents", 5).stdout)
    assert len(document["items"]) == 3
    assert len(document["responses"]) == 5

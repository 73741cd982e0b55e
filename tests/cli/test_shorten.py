import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def short(run, scores):
    done = run("shorten", scores, "--size", 3, "--cv", 2, "--out", "short.json")
    assert done.exit_code == 0, done.stderr
    return done


def test_the_short_form_is_that_of_the_package(run, short, scores, tmp_path):
    wanted = og.shorten(og.read_responses(scores), 3, cv=2)
    assert og.load(tmp_path / "short.json").items == wanted.items
    assert wanted.meaning in short.stdout


def test_a_saved_short_form_scores_a_table(run, short, scores, tmp_path):
    done = run("shorten", scores, "--score", "short.json", "--out", "told.csv")
    assert done.exit_code == 0, done.stderr
    wanted = og.load(tmp_path / "short.json").predict(og.read_responses(scores))
    pd.testing.assert_frame_equal(pd.read_csv("told.csv", index_col="respondent"), wanted)
    printed = run("shorten", scores, "--score", "short.json").stdout.splitlines()
    assert printed[0] == ",".join(["respondent", *wanted.columns])


def test_without_a_file_the_items_are_printed_as_csv(run, scores):
    lines = run("shorten", scores, "--size", 3, "--cv", 2, "--quiet").stdout.splitlines()
    assert lines[0].startswith("item,weight,discrimination")
    assert len(lines) == 4


def test_without_a_size_the_command_says_what_to_give(run, scores):
    done = run("shorten", scores)
    assert done.exit_code == 3
    assert "--size" in done.stderr

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from ogive.benchmarking.glicko_tournament import tournament
from ogive.cli.application import app

SCORES = "model,easy,hard,odd\nstrong,0.9,0.7,0.3\nfair,0.8,0.69,0.5\nweak,0.7,0.2,\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in a directory that holds scores.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text(SCORES)

    def invoke(*words):
        return CliRunner().invoke(app, ["tournament", *map(str, words)])

    return invoke


@pytest.fixture
def scores(tmp_path):
    return pd.read_csv(tmp_path / "scores.csv", index_col=0)


def test_ratings_are_those_of_the_package(run, scores):
    done = run("scores.csv", "--out", "ratings.csv", "--tolerance", 0.01, "--tau", 0.3)
    assert done.exit_code == 0
    wanted = tournament(scores, tolerance=0.01, tau=0.3)
    pd.testing.assert_frame_equal(
        pd.read_csv("ratings.csv", index_col="respondent"), wanted.to_frame()
    )
    assert wanted.meaning in done.stdout


def test_without_a_file_the_ratings_are_printed_as_csv(run):
    done = run("scores.csv")
    lines = done.stdout.splitlines()
    assert lines[0] == "respondent,rank,rating,low,high,deviation,volatility,won,drawn,lost,level"
    assert len(lines) == 1 + 3
    assert "leads" in done.stderr


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("odd\neasy\n", ["odd", "easy"]), ("easy,2\nhard,3\nodd,1\n", ["odd", "easy", "hard"])],
)
def test_the_order_comes_from_a_file(run, tmp_path, text, wanted):
    (tmp_path / "order.csv").write_text(text)
    assert json.loads(run("scores.csv", "--order", "order.csv", "--json").stdout)["items"] == wanted
    given = run("scores.csv", "--order", "given", "--json").stdout
    assert json.loads(given)["items"] == ["easy", "hard", "odd"]


@pytest.mark.usefixtures("rendered")
def test_history_and_figures_are_written(run, scores, tmp_path):
    done = run(
        *("scores.csv", "--out", "r.parquet", "--history", "h.csv"),
        *("--figure", "ratings.svg", "--bump", "ranks.png"),
    )
    assert done.exit_code == 0
    wanted = tournament(scores).history()
    pd.testing.assert_frame_equal(pd.read_csv("h.csv"), wanted, check_dtype=False)
    assert (tmp_path / "ratings.svg").stat().st_size > 1000
    assert (tmp_path / "ranks.png").read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_parquet("r.parquet")) == 3


def test_bad_options_are_explained(subtests, run):
    cases = [
        (("--order", "none.csv"), "no file 'none.csv'"),
        (("--order", "scores.csv"), "lines of 4 to 4 fields"),
        (("--tau", "0"), "tau must be"),
        (("--out", "scores.csv"), "also the input"),
        (("--out", "ratings.docx"), "must end in .csv or .parquet"),
        (("--bump", "ranks.docx"), "must end in .png"),
    ]
    for words, message in cases:
        with subtests.test(words=words, message=message):
            done = run("scores.csv", *words)
            assert done.exit_code == 3
            assert message in done.stderr


def test_an_unknown_item_in_the_order_is_named(run, tmp_path):
    (tmp_path / "order.txt").write_text("easy\nharder\n")
    done = run("scores.csv", "--order", "order.txt")
    assert done.exit_code == 3
    assert "'harder', which is not an item" in done.stderr

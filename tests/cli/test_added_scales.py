"""`--groups` and `--dimensions` beside a leaderboard, and in a report."""

import json

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.irt.dimensions import marginal_newton as dimension_climb

N_ITEMS = 12


@pytest.fixture(scope="module")
def table():
    """Families of 12, 12 and 1 models; two tasks that measure different things."""
    random = np.random.default_rng(0)
    family = ["old"] * 12 + ["new"] * 12 + ["alone"]
    sums, law = random.normal(np.where(np.array(family) == "new", 1.0, 0.0)), random.normal(size=25)
    ability = np.where(np.arange(N_ITEMS) < 6, sums[:, None], law[:, None])
    right = random.random(ability.shape) < 1 / (1 + np.exp(random.normal(0, 1, N_ITEMS) - ability))
    facts = {"family": family, "half": ["a", "b"] * 12 + ["a"]}
    tasks = {"task": ["sums"] * 6 + ["law"] * 6, "short": ["sums"] * 10 + ["law"] * 2}
    return og.Responses(right * 1.0).described(respondents=facts, items=tasks)


@pytest.fixture
def path(tmp_path, table):
    return table.save(tmp_path / "scores.parquet")


def test_a_report_has_a_section_of_groups_and_one_of_dimensions(run, path, tmp_path):
    words = ("--groups", "half", "--dimensions", "task", "--out", tmp_path / "page.html")
    done = run("report", path, *words)
    assert done.exit_code == 0, done.stderr
    assert "The mean of b is " in done.stdout
    assert "held-out answers" in done.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert ">Group scale<" in page
    assert ">Dimension scale<" in page


def test_a_leaderboard_gets_their_tables_and_sentences(run, path, table, tmp_path):
    groups = pd.DataFrame({"respondent": table.respondents, "group": ["a", "b"] * 12 + ["a"]})
    groups.to_csv(tmp_path / "groups.csv", index=False)
    words = ("--groups", tmp_path / "groups.csv", "--out", tmp_path / "board")
    done = run("leaderboard", path, *words, "--json")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    assert any(text.startswith("The mean of b is ") for text in said["meaning"])
    assert [row["group"] for row in said["group_scale"]] == ["a", "b"]
    written = pd.read_csv(tmp_path / "board" / "group_scale.csv", index_col="group")
    wanted = og.group_scale(table, "half", progress=False).populations
    np.testing.assert_allclose(written["mean"], wanted["mean"])
    assert (tmp_path / "board" / "leaderboard.csv").exists()


BAD = {
    "a group of one": (["--groups", "family"], "5 respondents or more, but 'alone' has 1"),
    "no such fact": (["--groups", "size"], "neither a file nor a fact of the respondents"),
    "two items": (["--dimensions", "short"], "law has 2 items"),
    "no such fact of items": (["--dimensions", "topic"], "Items have no fact 'topic'"),
}


def test_bad_groups_and_dimensions_are_one_clear_sentence(run, path, subtests):
    for name, (words, sentence) in BAD.items():
        for command in ("report", "leaderboard"):
            with subtests.test(name, command=command):
                done = run(command, path, *words, "--out", "new.html", "-q")
                assert done.exit_code not in (0, 1)
                assert sentence in done.stderr
                assert done.stderr.count("\n") == 1


def test_a_folder_or_a_bank_has_no_groups(run, path, tmp_path, table):
    bank = og.calibrate(table, "1pl", progress=False).save(tmp_path / "bank.json")
    done = run("report", bank, "--groups", "half", "--out", tmp_path / "page.html", "-q")
    assert "--groups and --dimensions are for responses" in done.stderr


def test_a_fit_of_dimensions_that_did_not_converge_ends_with_4(run, path, monkeypatch, subtests):
    """`report` did; `dimensions` and `leaderboard` ended with 0."""
    monkeypatch.setattr(dimension_climb, "MAX_ITER", 1)
    monkeypatch.setattr(dimension_climb._Newton.maximize, "__defaults__", (1,))
    for command, out in (("dimensions", "found"), ("leaderboard", "board"), ("report", "a.html")):
        with subtests.test(command):
            out = path.parent / out
            done = run(command, path, "--dimensions", "task", "--out", out, "-q")
            assert done.exit_code == 4, done.stderr

import numpy as np
import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def tables(tmp_path):
    """Responses and the groups of their respondents, in two files."""
    drawn = og.simulate("2pl", 120, 8, random_state=1).responses
    drawn.save(tmp_path / "scores.csv")
    groups = pd.DataFrame({"respondent": drawn.respondents, "group": np.tile(["a", "b"], 60)})
    groups.to_csv(tmp_path / "groups.csv", index=False)
    return tmp_path / "scores.csv", tmp_path / "groups.csv"


def test_groups_come_from_a_table(run, tables, tmp_path):
    scores, groups = tables
    out = tmp_path / "new"
    done = run("differential", scores, "--groups", groups, "--reference", "b", "--out", out)
    assert done.exit_code == 0
    frame = pd.read_csv(out / "differential.csv")
    wanted = og.differential(og.read_responses(scores), np.tile(["a", "b"], 60), reference="b")
    assert frame["difference"].to_numpy() == pytest.approx(wanted.items["difference"].to_numpy())
    assert set(frame["group"]) == {"a"}
    assert wanted.meaning in done.stdout
    assert (out / "figures" / "differential.png").exists()


def test_groups_come_from_a_fact_of_the_respondents(run, tables, tmp_path):
    scores, _ = tables
    table = og.read_responses(scores).described(respondents={"kind": ["a", "b"] * 60})
    done = run("differential", table.save(tmp_path / "logs.parquet"), "--groups", "kind", "--quiet")
    assert done.exit_code == 0
    assert done.stdout.startswith("item,group,difference")


def test_what_is_neither_a_fact_nor_a_table_is_refused(run, tables, tmp_path):
    scores, _ = tables
    done = run("differential", scores, "--groups", "nowhere")
    assert done.exit_code == 3
    assert "Error: --groups is 'nowhere', which is neither a file nor a fact" in " ".join(
        done.stderr.split()
    )
    (tmp_path / "odd.csv").write_text("model,kind\na,b\n")
    done = run("differential", scores, "--groups", tmp_path / "odd.csv")
    assert "--groups needs respondent and group" in " ".join(done.stderr.split())


def test_groups_that_cannot_be_compared_are_refused_in_the_words_of_the_command(run, tables):
    scores, groups = tables
    frame = pd.read_csv(groups)
    for change, message in (
        ({"group": ["a"] * 119 + ["b"]}, "'b' has 1. Join groups, or leave small ones out of the"),
        ({"group": ["a"] * 60 + [None] * 60}, "--groups gives no group to 60 respondents"),
    ):
        frame.assign(**change).to_csv(groups, index=False)
        done = run("differential", scores, "--groups", groups)
        assert done.exit_code == 3
        assert message in " ".join(done.stderr.split())
        assert "responses.select" not in done.stderr

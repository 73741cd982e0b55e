import numpy as np
import pandas as pd
import pytest

import itemwise as iw


@pytest.fixture
def tables(tmp_path):
    """Responses and the groups of their respondents, in two files."""
    drawn = iw.simulate("2pl", 120, 8, random_state=1).responses
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
    wanted = iw.differential(iw.read_responses(scores), np.tile(["a", "b"], 60), reference="b")
    assert frame["difference"].to_numpy() == pytest.approx(wanted.items["difference"].to_numpy())
    assert set(frame["group"]) == {"a"}
    assert wanted.meaning in done.stdout
    assert (out / "figures" / "differential.png").exists()


def test_groups_come_from_a_fact_of_the_respondents(run, tables, tmp_path):
    scores, _ = tables
    table = iw.read_responses(scores).described(respondents={"kind": ["a", "b"] * 60})
    done = run("differential", table.save(tmp_path / "logs.parquet"), "--groups", "kind", "--quiet")
    assert done.exit_code == 0
    assert done.stdout.startswith("item,group,difference")


def test_what_is_neither_a_fact_nor_a_table_is_refused(run, tables, tmp_path):
    scores, _ = tables
    done = run("differential", scores, "--groups", "nowhere")
    assert done.exit_code == 3
    assert "--groups is 'nowhere', which is neither a file nor a fact" in " ".join(
        done.stderr.split()
    )
    (tmp_path / "odd.csv").write_text("model,kind\na,b\n")
    done = run("differential", scores, "--groups", tmp_path / "odd.csv")
    assert "--groups needs respondent and group" in " ".join(done.stderr.split())

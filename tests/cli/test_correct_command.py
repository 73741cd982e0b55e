import numpy as np
import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def tables(tmp_path):
    """Scores of a judge, and of people for half of the items."""
    right = og.simulate("2pl", 4, 80, random_state=0).responses
    truth = right.to_frame().to_numpy(dtype=float)
    flipped = np.random.default_rng(0).random((4, 80)) < 0.1
    judge = og.Responses(np.where(flipped, 1 - truth, truth), right.respondents)
    judge.save(tmp_path / "judge.csv")
    right.select(items=slice(0, 40)).save(tmp_path / "human.csv")
    return tmp_path / "judge.csv", tmp_path / "human.csv"


def test_a_judge_is_corrected_by_a_table_of_people(run, tables, tmp_path):
    judge, human = tables
    out = tmp_path / "new"
    done = run("correct", judge, "--human", human, "--out", out)
    assert done.exit_code == 0
    frame = pd.read_csv(out / "corrected_judge.csv", index_col=0)
    wanted = og.correct_judge(og.read_responses(judge), og.read_responses(human))
    assert frame["accuracy"].to_numpy() == pytest.approx(wanted.board["accuracy"].to_numpy())
    assert wanted.meaning in done.stdout
    assert (out / "figures" / "bias.png").exists()


def test_a_table_that_is_not_there_is_named(run, tables, tmp_path):
    done = run("correct", tables[0], "--human", tmp_path / "nowhere.csv")
    assert done.exit_code == 3
    assert "nowhere.csv" in " ".join(done.stderr.split())

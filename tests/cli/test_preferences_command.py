import numpy as np
import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def battles(tmp_path):
    random = np.random.default_rng(0)
    first = random.integers(0, 3, 120)
    second = (first + random.integers(1, 3, 120)) % 3
    winner = np.where(
        random.random(120) < 0.6, np.minimum(first, second), np.maximum(first, second)
    )
    names = np.array(["large", "middle", "small"])
    columns = {"model_a": names[first], "model_b": names[second], "winner": names[winner]}
    table = pd.DataFrame({**columns, "prompt": np.arange(120) // 4, "kind": np.arange(120) % 2})
    table.to_csv(tmp_path / "battles.csv", index=False)
    return tmp_path / "battles.csv"


def test_a_table_of_battles_becomes_a_folder(run, battles, tmp_path):
    out = tmp_path / "new"
    done = run("preferences", battles, "--by", "kind", "--out", out)
    assert done.exit_code == 0
    wanted = og.preferences(pd.read_csv(battles), by="kind")
    frame = pd.read_csv(out / "preferences.csv", index_col=0)
    assert frame["strength"].to_numpy() == pytest.approx(wanted.board["strength"].to_numpy())
    assert wanted.meaning in done.stdout
    for name in ("ranks", "pairs", "groups"):
        assert (out / "figures" / f"{name}.png").exists()


def test_clusters_may_be_named_or_left_out(run, battles):
    done = run("preferences", battles, "--cluster", "prompt", "--cluster", "kind", "--quiet")
    assert done.exit_code == 0
    assert done.stdout.startswith("respondent,rank,rank_low")
    done = run("preferences", battles, "--cluster", "none")
    assert "clusters of battles" not in done.stderr


def test_a_column_that_is_not_there_is_named_as_the_option(run, battles):
    done = run("preferences", battles, "--winner", "nobody")
    assert done.exit_code == 3
    assert "--winner is 'nobody', but the battles have the columns model_a" in " ".join(
        done.stderr.split()
    )


def test_battles_need_no_prompt(run, battles, tmp_path):
    bare = tmp_path / "bare.csv"
    pd.read_csv(battles).drop(columns=["prompt", "kind"]).to_csv(bare, index=False)
    done = run("preferences", bare, "--quiet")
    assert done.exit_code == 0, done.stderr
    assert og.preferences(pd.read_csv(bare)).board["strength"].notna().all()

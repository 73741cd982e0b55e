"""Status, second measures and features in tables of runs are recognised, or asked about."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError


def long(**more):
    rows = [(f"p{k}", name) for k in range(12) for name in ("a", "b", "c")]
    frame = pd.DataFrame(rows, columns=["problem", "algorithm"])
    random = np.random.default_rng(0)
    return frame.assign(runtime=np.exp(random.normal(3, 1, 36)), **more)


def test_a_status_says_which_runs_did_not_end():
    status = np.where(np.arange(36) % 5 == 0, "timeout", "ok")
    runs = og.read_runs(long(status=status))
    assert ("p0", "a") in runs.attrs["failed"]
    assert len(runs.attrs["failed"]) == 8
    found = og.portfolio(runs, cutoff=200)
    assert found.performances.unsolved.to_numpy().sum() == 8
    assert found.performances.given.loc["p0", "a"] >= 200
    alone = og.portfolio(runs)
    assert any("8 runs timed out or failed, and no cut-off is known" in n for n in alone.notes)


def test_a_second_measure_is_asked_for_and_may_be_named():
    frame = long(memory=np.arange(36.0))
    with pytest.raises(InputError, match=r"holds 2 measures.*metric='runtime'"):
        og.read_runs(frame)
    assert og.read_runs(frame, metric="memory").loc["p1", "a"] == 3.0
    with pytest.raises(InputError, match="no measure 'cost'"):
        og.read_runs(frame, metric="cost")


def test_repetitions_are_no_measure():
    assert og.read_runs(long(repetition=1)).shape == (12, 3)


def wide():
    random = np.random.default_rng(1)
    table = pd.DataFrame(np.exp(random.normal(5, 1, (30, 4))), columns=list("abcd"))
    return table.assign(density=random.uniform(0, 0.5, 30)).rename_axis("problem").rename(str)


def test_a_column_on_another_scale_is_asked_about():
    table = wide()
    with pytest.raises(InputError, match=r"'density'.*features=\['density'\]"):
        og.read_runs(table)
    assert list(og.read_runs(table, features=["density"]).columns) == list("abcd")
    assert list(og.read_runs(table, features=[]).columns) == [*"abcd", "density"]
    with pytest.raises(InputError, match="has no 1 column"):
        og.read_runs(table, features=["weight"])


def test_columns_that_say_that_they_are_features_are_left_out():
    table = wide().rename(columns={"density": "feature_density"})
    assert list(og.read_runs(table).columns) == list("abcd")


def test_thousands_of_columns_are_read_as_whole_tables(monkeypatch):
    """Column by column, 100,000 of them took a minute."""
    names = [f"a{k}" for k in range(3_000)]
    frame = pd.DataFrame(np.ones((3, 3_000), dtype=int), columns=names)
    frame = frame.assign(a0=[True, False, True], a1=[np.inf, np.nan, 1.0])
    monkeypatch.setattr(pd.DataFrame, "apply", None)
    runs = og.read_runs(frame, layout="wide")
    assert runs.to_numpy().dtype == float
    assert runs["a0"].tolist() == [1, 0, 1]
    assert runs.iloc[:, 2:].eq(1).all(axis=None)

"""Plain tables of runs."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.data.datasets.runs import read_runs
from ogive.errors import InputError

WIDE = "problem,fast,slow,odd\np1,1.5,2,3\np2,4,,6\n7,7,8,9\n"


@pytest.fixture
def file(tmp_path):
    def write(text, name="runs.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_wide_table_has_its_problems_in_rows(file):
    table = read_runs(file(WIDE))
    assert list(table.index) == ["p1", "p2", "7"]
    assert list(table.columns) == ["fast", "slow", "odd"]
    assert table.loc["p1", "fast"] == 1.5
    assert np.isnan(table.loc["p2", "slow"])
    assert (table.index.name, table.columns.name) == ("problem", "algorithm")


@pytest.mark.parametrize("heads", ["problem,algorithm,value", "Instance_ID,Solver,par10"])
def test_a_long_table_is_the_same_table(file, heads):
    wide = read_runs(file(WIDE))
    rows = wide.reset_index().melt("problem").dropna().sample(frac=1, random_state=0)
    lines = [",".join(map(str, row)) for row in rows.itertuples(index=False)]
    long = read_runs(file("\n".join([heads, *lines]) + "\n"))
    pd.testing.assert_frame_equal(long.loc[wide.index, wide.columns], wide)
    assert list(long.index) == list(rows["problem"].unique())


def test_problems_without_names_are_numbered(file):
    table = read_runs(file("fast,slow\n1,2\n3,4\n"))
    assert list(table.index) == ["problem_1", "problem_2"]
    assert list(table.columns) == ["fast", "slow"]


def test_numbers_may_be_names_of_problems(file):
    assert list(read_runs(file("task_id,fast,slow\n31,1,2\n59,3,4\n")).index) == ["31", "59"]


def test_the_layout_can_be_told(file):
    path = file("problem,algorithm,value\n1,2,3\n4,5,6\n")
    assert read_runs(path).shape == (2, 2)
    assert list(read_runs(path, layout="wide").columns) == ["algorithm", "value"]


def test_what_cannot_be_read_is_explained(subtests, file):
    cases = [
        (
            "problem,algorithm,value\np,a,1\np,b,2\np,a,3\n",
            "auto",
            "more than one run of 'a' on 'p'",
        ),
        ("problem,algorithm,value\np,,1\n", "auto", "Row 1 .* nothing in column 'algorithm'"),
        ("problem,algorithm,x,y\np,a,1,2\n", "auto", "holds 2 measures"),
        ("problem,fast,slow\np,1,2\n", "long", "columns problem, algorithm and value"),
        ("problem,fast,slow\np,1,2\nq,timeout,2\n", "auto", "'fast' on 'q' is 'timeout'"),
        ("problem,algorithm,value\np,a,often\n", "auto", "'a' on 'p' is 'often'"),
        (WIDE, "square", r"`layout` must be .*got 'square'"),
    ]
    for text, layout, told in cases:
        with (
            subtests.test(text=text, layout=layout, told=told),
            pytest.raises(InputError, match=told),
        ):
            read_runs(file(text), layout=layout)


@pytest.mark.parametrize("head", ["problem", "", "solver run"])
def test_a_problem_without_a_name_is_said_and_not_called_nan(file, head):
    with pytest.raises(InputError, match=r"Row 2 of '.*' has nothing in column"):
        read_runs(file(f"{head},a,b,c\np1,2,3,4\n,3,4,5\np3,4,5,7\n"))


def test_what_is_no_path_and_no_size_is_said(file):
    with pytest.raises(InputError, match="path is None, but the path of a file is needed"):
        read_runs(None)
    with pytest.raises(InputError, match=r"`max_bytes` must be a number above 0.*got 'x'"):
        read_runs(file(WIDE), max_bytes="x")


def test_a_small_file_cannot_ask_for_a_huge_table(file):
    rows = "".join(f"p{k},a{k},1\n" for k in range(1000))
    with pytest.raises(InputError, match="1,000 problems and 1,000 algorithms"):
        read_runs(file("problem,algorithm,value\n" + rows), max_bytes=100_000)


def test_a_measure_that_is_named_says_which_values_are_good(subtests, file):
    cases = [
        ("runtime", {"measure": "runtime", "better": "lower"}),
        ("Time", {"measure": "Time", "better": "lower"}),
        ("accuracy", {"measure": "accuracy", "better": "higher"}),
        ("score", {}),
    ]
    for head, stated in cases:
        with subtests.test(head=head, stated=stated):
            rows = "".join(f"p{k},s{j},{1 + k * j}\n" for k in range(4) for j in range(3))
            assert read_runs(file(f"instance,solver,{head}\n{rows}")).attrs == stated


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

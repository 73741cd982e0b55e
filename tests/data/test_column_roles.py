"""Wide tables with columns that are no items, or with rows that are."""

import io

import pandas as pd
import pytest

from ogive.data.response_files import read_responses
from ogive.data.responses import Responses

TEXT = "model,params_b,q1,q2,License\nsmall,7,1,0,mit\nlarge,70.5,1,1,\n"


@pytest.fixture(params=["csv", "parquet", "frame"])
def read(request, tmp_path):
    """Read a table that is given as CSV, by way of every kind of wide table."""

    def made(text, **options):
        frame = pd.read_csv(io.StringIO(text), index_col=0)
        if request.param == "frame":
            return Responses.from_frame(frame, facts=options.get("layout") != "wide")
        path = tmp_path / f"wide.{request.param}"
        path.write_text(text) if request.param == "csv" else frame.to_parquet(path)
        return read_responses(path, **options)

    return made


def test_what_tells_of_models_is_no_item(read):
    found = read(TEXT)
    assert found.items == ("q1", "q2")
    assert found.kind == "binary"
    assert found.respondent_facts["params_b"].tolist() == [7, 70.5]
    assert found.respondent_groups("License") == ("mit", "unknown")
    (note,) = found.notes
    assert note.startswith("By name, 2 columns (params_b, License) tell of respondents")


def test_a_column_of_right_and_wrong_is_an_item_whatever_its_name(read):
    found = read("model,year,q1,average\na,1,0,0.5\nb,0,1,0.25\n")
    assert found.items == ("year", "q1")
    assert found.cells.tolist() == [[1, 0], [0, 1]]


def test_the_layout_can_be_forced(read):
    found = read("model,params_b,q1\na,7,1\nb,70,0\n", layout="wide")
    assert found.items == ("params_b", "q1")
    assert found.notes == ()


def test_rows_that_are_called_items_are_items(read):
    found = read("item,small,large\nq1,1,1\nq2,0,1\nq3,0,0\n")
    assert found.respondents == ("small", "large")
    assert found.items == ("q1", "q2", "q3")
    (note,) = found.notes
    assert "are called 'item': rows are items" in note


def test_what_ogive_writes_keeps_all_its_items(tmp_path):
    table = Responses([[0.5, 7], [0.25, 8]], items=["average", "params_b"])
    for ending in ("csv", "parquet"):
        found = read_responses(table.save(tmp_path / f"x.{ending}"))
        assert found == table
        assert found.notes == ()


def test_a_turned_frame_of_its_own_is_turned_back():
    table = Responses([[1, 0], [1, 1]], ["a", "b"], ["x", "y"])
    assert Responses.from_frame(table.to_frame().T) == table


def test_kinds_are_read_back_as_they_were(tmp_path, subtests):
    for values, kind in [
        ([[1, 0]], "continuous"),
        ([[-1, 3]], "continuous"),
        ([[1, 0]], "graded"),
        ([[1, 50]], "graded"),
        ([[1, 2]], "graded"),
        ([[float("nan"), float("nan")]], "continuous"),
    ]:
        with subtests.test(values=values, kind=kind):
            table = Responses(values, kind=kind)
            assert read_responses(table.save(tmp_path / "x.csv")) == table

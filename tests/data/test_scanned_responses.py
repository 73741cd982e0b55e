"""Responses in files that are larger than memory: found, read in blocks, or refused by name."""

import os
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ogive as og
from ogive.data.disk_rows import RowWriter
from ogive.data.scan import ScannedResponses
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import SeenCells


@pytest.fixture
def table():
    return og.simulate("2pl", 60, 6, random_state=3, missing=0.1).responses


def wide(table, folder, *cuts):
    """Write the table as several files."""
    frame = table.to_frame()
    frame.index.name = "respondent"
    ends = [0, *cuts, len(frame)]
    for k, (first, last) in enumerate(pairwise(ends)):
        frame.iloc[first:last].to_parquet(folder / f"part_{k}.parquet")
    return folder


def test_rows_of_all_files_come_in_the_order_of_names(table, tmp_path):
    scanned = og.scan_responses(f"{wide(table, tmp_path, 13, 40)}/*.parquet")
    assert scanned.shape == (60, 6)
    assert scanned.kind == "binary"
    assert scanned.n_missing == table.n_missing
    np.testing.assert_array_equal(scanned.opened.rows[:], table.cells)
    assert scanned.sample(60) == table


def test_a_folder_a_pattern_and_paths_find_the_same_files(table, tmp_path):
    folder = wide(table, tmp_path, 20)
    (folder / "notes.txt").write_text("nothing")
    ways = [folder, f"{folder}/*.parquet", sorted(folder.glob("*.parquet"))]
    assert len({og.scan_responses(way).files for way in ways}) == 1


@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_by_response_may_be_anywhere(table, tmp_path, shuffled, monkeypatch):
    long = table.to_long().astype({"respondent": str, "item": str})
    if shuffled:
        long = long.sample(frac=1, random_state=0)
        monkeypatch.setattr("ogive.data.scan.ROWS_IN_BUCKET", 50)
    long.iloc[:100].to_parquet(tmp_path / "a.parquet")
    long.iloc[100:].to_parquet(tmp_path / "b.parquet")
    found = og.scan_responses(tmp_path).sample(100)
    assert found.select(table.respondents, table.items) == table


def test_grades_and_scores_are_recognised_as_in_memory(tmp_path, subtests):
    shapes = {
        "binary": [[0, 1], [1, None]],
        "graded": [[0, 3], [2, 1]],
        "continuous": [[0.25, 1], [0.5, 0]],
    }
    for kind, values in shapes.items():
        with subtests.test(kind=kind):
            frame = pd.DataFrame(values, columns=["a", "b"])
            frame.to_parquet(tmp_path / "x.parquet")
            scanned = og.scan_responses(tmp_path / "x.parquet")
            in_memory = og.Responses.from_frame(frame)
            assert scanned.kind == kind == in_memory.kind
            np.testing.assert_array_equal(scanned.opened.rows[:], in_memory.cells)
    frame = pd.DataFrame({"a": [0, 50], "b": [100, 2]})
    frame.to_parquet(tmp_path / "x.parquet")
    assert og.scan_responses(tmp_path / "x.parquet").kind == "continuous"
    assert og.scan_responses(tmp_path / "x.parquet", kind="graded").kind == "graded"


def test_files_whose_items_differ_are_joined_and_it_is_said(tmp_path):
    pd.DataFrame({"a": [0, 1], "b": [1, 1]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"b": [0], "c": [1]}).to_parquet(tmp_path / "2.parquet")
    scanned = og.scan_responses(tmp_path)
    assert scanned.items == ("a", "b", "c")
    np.testing.assert_array_equal(scanned.opened.rows[:], [[0, 1, -1], [1, 1, -1], [-1, 0, 1]])
    assert scanned.notes == (
        "'1.parquet' lacks 1 item (c) of other files: there it counts as never asked.",
        "'2.parquet' lacks 1 item (a) of other files: there it counts as never asked.",
    )


def test_a_partition_without_rows_is_passed_over_and_it_is_said(table, tmp_path):
    wide(table, tmp_path)
    pd.DataFrame({"item_1": pd.Series([], dtype="int8")}).to_parquet(tmp_path / "empty.parquet")
    scanned = og.scan_responses(tmp_path)
    assert scanned.n_respondents == 60
    assert scanned.notes[-1] == "1 file (empty.parquet) without rows: nothing was read there."
    for path in tmp_path.glob("part*"):
        path.unlink()
    with pytest.raises(InputError, match="has any rows, so there is nothing to scan"):
        og.scan_responses(tmp_path)


def test_what_cannot_be_scanned_is_refused_in_one_sentence(table, tmp_path, subtests):
    numbers = pd.DataFrame({"a": [0, 1]})
    cases = {
        "There is no Parquet file at": {},
        "Column 'b' of '.*x.parquet' holds '(large_)?string', but responses are numbers": {
            "x": numbers.assign(b=["yes", "no"])
        },
        "has several responses, and repeated answers cannot be scanned": {
            "x": pd.DataFrame({"respondent": ["m", "m"], "item": ["i", "i"], "response": [0, 1]})
        },
        "one row per response, but '.*y.parquet' has one column per item": {
            "x": pd.DataFrame({"respondent": ["m"], "item": ["i"], "response": [0]}),
            "y": numbers,
        },
        "holds negative whole numbers, but grades are not negative": {
            "x": pd.DataFrame({"a": [0, -9]})
        },
        "Column 'item' of .* is of type list<.*>, which cannot name anything": {
            "x": pd.DataFrame({"respondent": ["m"], "item": [[1.0]], "response": [0]})
        },
        "holds an infinite number": {"x": pd.DataFrame({"a": [0.5, np.inf]})},
        "has one row per item, which cannot be scanned": {
            "x": pd.DataFrame({"item": ["i", "k"], "m": [0, 1]})
        },
        "has rows without item": {
            "x": pd.DataFrame({"respondent": ["m"], "item": [None], "response": [0]}).astype(
                {"item": "string"}
            )
        },
    }
    for said, files in cases.items():
        with subtests.test(said=said):
            folder = tmp_path / str(len(said))
            folder.mkdir()
            for name, frame in files.items():
                frame.to_parquet(folder / f"{name}.parquet", index=False)
            with pytest.raises((InputError, FileError), match=said):
                og.scan_responses(folder).kind  # noqa: B018 - reads the files
    pd.DataFrame({"a": [0, 2]}).to_parquet(tmp_path / "g.parquet")
    with pytest.raises(InputError, match="binary responses are 0 or 1"):
        og.scan_responses(tmp_path / "g.parquet", kind="binary").kind  # noqa: B018
    pd.DataFrame({"a": [0, 0.5]}).to_parquet(tmp_path / "h.parquet")
    with pytest.raises(InputError, match="so that they are not graded"):
        og.scan_responses(tmp_path / "h.parquet", kind="graded").kind  # noqa: B018


def test_a_damaged_file_is_named(table, tmp_path):
    path = wide(table, tmp_path, 30) / "part_1.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)  # its first page
    scanned = og.scan_responses(tmp_path)
    path.write_bytes(bytes(content))
    os.utime(path, ns=(0, scanned.files[1].stamp[1]))  # as if it had been so from the start
    with pytest.raises(FileError, match=r"part_1.parquet' is not an intact Parquet file"):
        scanned.kind  # noqa: B018 - reads the files


def test_a_file_that_changes_meanwhile_is_named(table, tmp_path):
    scanned = og.scan_responses(wide(table, tmp_path, 30))
    assert scanned.n_respondents == 60
    (tmp_path / "part_1.parquet").write_bytes((tmp_path / "part_0.parquet").read_bytes())
    with pytest.raises(FileError, match=r"part_1.parquet' changed while it was read"):
        scanned.sample(10)  # names are read again
    (tmp_path / "part_0.parquet").unlink()
    with pytest.raises(FileError, match=r"part_0.parquet' is no longer there"):
        scanned.sample(10)


def test_a_disk_without_room_is_said_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 10}))
    with pytest.raises(FileError, match=r"need .* of temporary space.*cache="):
        RowWriter(100, np.int8, tmp_path).check_room(1_000)
    with pytest.raises(FileError, match="cannot be kept in"):
        RowWriter(100, np.int8, tmp_path / "nowhere")


def test_stored_rows_are_read_as_an_array_is(tmp_path):
    cells = np.random.default_rng(0).integers(-1, 5, (1_000, 7)).astype(np.int8)
    writer = RowWriter(7, np.int8, tmp_path)
    writer.append(cells[:600])
    writer.append(cells[600:])
    rows = writer.finish()
    assert not list(tmp_path.iterdir())  # a file without a name
    for part in (slice(None), slice(10, 20), slice(990, 2_000), slice(0, 0), slice(3, None, 97)):
        np.testing.assert_array_equal(rows[part], cells[part])


def test_what_was_seen_of_two_parts_is_what_was_seen_of_both():
    draw = np.random.default_rng(0)
    codes = draw.integers(-1, 4, (50, 5)).astype(np.int8)
    scores = np.where(draw.random((50, 5)) < 0.2, np.nan, draw.integers(0, 9, (50, 5)) / 8)
    for of, cells in ((SeenCells.of_codes, codes), (SeenCells.of_scores, scores)):
        whole, parts = of(cells), of(cells[:20]).joined(of(cells[20:]))
        np.testing.assert_array_equal(whole.rows(), parts.rows())
        assert (whole.n_rows, whole.n_missing) == (parts.n_rows, parts.n_missing)


def test_what_needs_all_responses_says_so(table, tmp_path):
    scanned = og.scan_responses(wide(table, tmp_path))
    assert isinstance(scanned, ScannedResponses)
    assert repr(scanned) == "ScannedResponses: 1 file, not read yet"
    with pytest.raises(InputError, match="scanned ones are read in blocks"):
        scanned.observed  # noqa: B018
    with pytest.raises(InputError, match="The scanned responses are binary"):
        scanned.of_kind("graded")
    with pytest.raises(InputError, match="layout is 'items'"):
        og.scan_responses(tmp_path, layout="items")


def test_files_that_ogive_wrote_are_scanned_without_their_facts(table, tmp_path):
    described = table.described(respondents={"size": list(range(60))})
    path = described.save(tmp_path / "x.parquet")
    scanned = og.scan_responses(path)
    assert scanned.items == table.items
    np.testing.assert_array_equal(scanned.opened.rows[:], table.cells)
    assert pq.read_schema(path).names[1] == "size"
    assert pa.types.is_integer(pq.read_schema(path).field("size").type)

"""Tables of responses in files."""

import csv
import gzip
import io
import json
import re
import tracemalloc
from contextlib import suppress
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive as og
from ogive.data import text_files as text_module
from ogive.data.response_files import read_responses
from ogive.data.response_writing import write_responses
from ogive.data.responses import Responses
from ogive.errors import FileError, InputError, OgiveError
from ogive.evaluation.battles import read_battles
from ogive.evaluation.facet_estimates import read_ratings

NAN = float("nan")
WIDE = "model,q1,q2\na,1,0\nb,,1\n"
LONG = "respondent,item,response\na,q1,1\na,q2,0\nb,q2,1\n"
EXPECTED = Responses([[1, 0], [NAN, 1]], respondents=["a", "b"], items=["q1", "q2"])


@pytest.fixture
def write(tmp_path):
    def write(content, name="scores.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# What is understood


def test_csv_is_understood(write, subtests):
    for content in [
        WIDE,
        WIDE.replace(",", ";"),
        WIDE.replace(",", "\t"),
        WIDE.replace("\n", "\r\n"),
        WIDE.replace("\n", "\r"),
        "\ufeff" + WIDE,
        WIDE.rstrip("\n"),
        WIDE + "\n\n",
        "\n" + WIDE,
        WIDE.replace("model", ""),
        WIDE.replace("model", "Unnamed: 0"),
        WIDE.replace("model", " Subject "),
        WIDE.replace("model", "whatever"),
        WIDE.replace("1", "1.0").replace("q1.0", "q1"),
        WIDE.replace("a,1,0", "a,True,FALSE"),
        WIDE.replace("b,,1", "b,NA,1"),
        WIDE.replace("b,,1", '"b", nan ,1'),
        LONG,
        LONG.replace(",", ";"),
        LONG.replace("respondent,item,response", "Subject_ID,question,correct"),
        LONG.replace("respondent,item,response", "model,item_id,score"),
        "when,response,item,respondent\nmon,1,q1,a\ntue,0,q2,a\nwed,1,q2,b\n",
    ]:
        with subtests.test(content=content):
            assert read_responses(write(content)) == EXPECTED


def test_tab_separated_names_may_hold_commas(write):
    path = write("model\tq,1\tq,2\na\t1\t0\n", "scores.tsv")
    assert read_responses(path).items == ("q,1", "q,2")


@pytest.mark.parametrize("content", [WIDE, LONG])
def test_gzip_is_unpacked(write, content):
    assert read_responses(write(gzip.compress(content.encode()), "scores.csv.gz")) == EXPECTED


def test_the_delimiter_is_the_one_that_fits_both_lines(write):
    path = write("model;Is it a, b or c?;x\na;1;0\n")
    assert read_responses(path).items == ("Is it a, b or c?", "x")


def test_names_may_hold_anything_quoted(write):
    path = write('model,"a ""b"", c","two\nlines"\n"m,1",1,0\n')
    responses = read_responses(path)
    assert responses.items == ('a "b", c', "two\nlines")
    assert responses.respondents == ("m,1",)


def test_formulas_are_names_and_nothing_more(write):
    formula = '=HYPERLINK("http://evil","x")'
    quoted = '"' + formula.replace('"', '""') + '"'
    responses = read_responses(write(f"model,=1+1\n{quoted},1\n"))
    assert responses.respondents == (formula,)
    assert responses.items == ("=1+1",)
    with pytest.raises(InputError, match="not a number"):
        read_responses(write("model,q\na,=1+1\n"))


def test_a_numeric_first_column_is_an_item_unless_its_heading_says_otherwise(write):
    unnamed = read_responses(write("q1,q2\n1,0\n,1\n"))
    assert unnamed.respondents == ("respondent_1", "respondent_2")
    np.testing.assert_array_equal(unnamed.values, EXPECTED.values)
    assert read_responses(write("id,q1\n7,1\n8,0\n")).respondents == ("7", "8")


def test_a_first_column_of_scores_joins_grades(write):
    responses = read_responses(write("q1,q2\n0.5,1\n,0\n"))
    np.testing.assert_array_equal(responses.values, [[0.5, 1], [NAN, 0]])


def test_a_single_column_is_a_single_item(write):
    assert read_responses(write("q1\n1\n0\n")).items == ("q1",)


def test_kinds_are_inferred_or_given(write):
    path = write("model,q1,q2\na,0,3\n")
    assert read_responses(path).kind == "graded"
    assert read_responses(path, kind="continuous").kind == "continuous"
    with pytest.raises(InputError, match=r"In '.*scores\.csv': .*'q2' holds 3, but binary"):
        read_responses(path, kind="binary")
    assert read_responses(write("model,q1\na,0.25\nb,1\n")).kind == "continuous"


def test_the_layout_can_be_forced(write):
    path = write("model,item,score\na,1,0\nb,0,1\n")
    assert read_responses(path).items == ("1", "0")
    assert read_responses(path, layout="wide").items == ("item", "score")
    with pytest.raises(InputError, match="columns are 'model', 'q1', 'q2', but a long table has"):
        read_responses(write(WIDE), layout="long")
    with pytest.raises(InputError, match=r"`layout` must be .*got 'tall'"):
        read_responses(path, layout="tall")


def py_irt(*records):
    return "\n".join(json.dumps({"subject_id": s, "responses": r}) for s, r in records)


def test_json_lines_of_py_irt_are_understood(write):
    content = py_irt(("a", {"q1": 1, "q2": 0}), ("b", {"q2": True, "q1": None}))
    assert read_responses(write(content, "scores.jsonlines")) == EXPECTED
    packed = gzip.compress((content + "\n\n").encode())
    assert read_responses(write(packed, "scores.jsonl.gz")) == EXPECTED


def test_a_respondent_without_responses_is_kept(write):
    responses = read_responses(write(py_irt((1, {"q": 1}), (2, {})), "scores.jsonl"))
    assert responses.cells.tolist() == [[1], [-1]]
    assert responses.respondents == ("1", "2")


@pytest.mark.parametrize("index", [True, False])
def test_wide_parquet_is_understood(tmp_path, index):
    frame = EXPECTED.to_frame() if index else EXPECTED.to_frame().rename_axis("who").reset_index()
    frame.to_parquet(tmp_path / "scores.parquet")
    assert read_responses(tmp_path / "scores.parquet") == EXPECTED


def test_parquet_without_names_gets_default_names(tmp_path):
    pd.DataFrame({"q1": [True, False], "q2": [True, None]}).to_parquet(tmp_path / "scores.pq")
    responses = read_responses(tmp_path / "scores.pq")
    assert responses.respondents == ("respondent_1", "respondent_2")
    assert responses.cells.tolist() == [[1, 1], [0, -1]]


def test_long_parquet_is_understood(tmp_path):
    pd.read_csv(io.StringIO(LONG)).to_parquet(tmp_path / "scores.parquet")
    assert read_responses(tmp_path / "scores.parquet") == EXPECTED
    EXPECTED.to_long().rename(columns={"respondent": "model"}).to_parquet(tmp_path / "a.parquet")
    # The pair that was never asked has no row, so the order of items is that of appearance.
    assert read_responses(tmp_path / "a.parquet") == EXPECTED


def test_equal_names_in_parquet_are_refused_by_the_first_that_repeats(tmp_path):
    """A million of them take a kilobyte; to count them all took half a minute and gigabytes."""
    names = pa.array(["a", "b", *["c"] * 50_000])
    pq.write_table(pa.table({"model": names, "q": [1] * len(names)}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"must differ, but 'c' is at positions 3, 4\."):
        read_responses(tmp_path / "a.parquet")


def test_texts_of_a_long_parquet_file_are_numbers_or_name_their_cell(tmp_path):
    frame = pd.read_csv(io.StringIO(LONG)).astype({"response": str})
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_responses(tmp_path / "a.parquet") == EXPECTED
    frame.assign(response=["1", "no", "no"]).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="respondent 'a' and item 'q2' holds 'no'"):
        read_responses(tmp_path / "b.parquet")


def test_lists_in_a_long_parquet_file_are_ignored(tmp_path):
    table = pa.table(
        {"score": [1, 0], "tags": [["x"], []], "item": ["q", "q"], "model": ["a", "b"]}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    expected = Responses([[1], [0]], respondents=["a", "b"], items=["q"])
    assert read_responses(tmp_path / "a.parquet") == expected


# What is refused


CSV_ERRORS = {
    "empty": (b"", FileError, "is empty"),
    "blank": (b"\n\n \n", OgiveError, r"."),
    "only blank lines": (b"\n\n\n", FileError, "nothing but blank lines"),
    "no rows": (b"model,q1\n", FileError, "no rows below it"),
    "no rows, long": (b"respondent,item,response\n", InputError, "empty"),
    "no items": (b"model\na\nb\n", FileError, "only one column, 'model', and it holds names"),
    "utf-16": (WIDE.encode("utf-16"), FileError, "is UTF-16 text.*Save it as UTF-8"),
    "utf-16 without mark": (WIDE.encode("utf-16-le"), FileError, "binary file or UTF-16"),
    "latin-1": (WIDE.replace("a,", "é,").encode("latin-1"), FileError, "byte 0xe9.*iconv"),
    "binary": (bytes(range(256)) * 20, FileError, "binary file"),
    "noise": (np.random.default_rng(1).bytes(5000), OgiveError, r"."),
    "zip": (b"PK\x03\x04rest", FileError, "Excel workbook.*Export it as CSV"),
    "gzip by content": (gzip.compress(b"x"), FileError, r"compressed with gzip.*\.gz"),
    "parquet by content": (b"PAR1....", FileError, r"ends in \.parquet"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid x\n", FileError, "git lfs pull"),
    "short row": (b"model,q1,q2\na,1,0\nb,1\n", FileError, "line 3 has 2 fields.*line has 3"),
    "long row": (b"model,q1\na,1\nb,1,0\n", FileError, "line 3 has 3 fields"),
    "short row, semicolons": (b"model;q1;q2\na;1\n", FileError, "line 2 has 2 fields"),
    "other digits": ("model,q1\na,١\n".encode(), InputError, "not a number"),
    "open quote": (b'model,q1\n"a,1\n', FileError, "Check that every quote is closed"),
    "text after quote": (b'model,q1\n"a"b,1\n', FileError, "line 2 is not valid CSV"),
    "huge field": (b"model,q1\n" + b"a" * 200_000 + b",1\n", FileError, "field limit"),
    "text": (
        b"model,q1,q2\na,1,0\nb,1,oops\n",
        InputError,
        r"Line 3 .respondent 'b'., column 'q2' .*'oops'",
    ),
    "text, long": (
        b"model,item,score\na,q,1\nb,q,oops\n",
        InputError,
        "Line 3, column 'score' holds 'oops'",
    ),
    "decimal comma": (b"model;q1\na;0,5\n", InputError, "'0,5', which is not a number"),
    "underscore": (b"model,q1\na,1_0\n", InputError, "not a number"),
    "infinite": (b"model,q1\na,inf\n", InputError, "item 'q1' is infinite"),
    "infinite by size": (b"model,q1\na,1e999\n", InputError, "item 'q1' is infinite"),
    "negative": (b"model,q1\na,-1\n", InputError, "holds -1, but grades are not negative"),
    "same item twice": (b"model,q,q\na,1,1\n", InputError, r"In '.*csv'.*'q' is at pos"),
    "same respondent twice": (b"model,q\na,1\na,1\n", InputError, "'a' is at positions 1, 2"),
    "no heading": (b"1,0,1\n0,0,1\n", FileError, "should name the items"),
    "nobody": (b"model,item,score\n,q,1\n", InputError, "Line 2 has nothing in column 'model'"),
    "nothing asked": (b"model,item,score\na,,1\n", InputError, "nothing in column 'item'"),
}


def test_broken_csv_is_explained(write, subtests):
    for case, (content, error, message) in CSV_ERRORS.items():
        with subtests.test(case):
            with pytest.raises(error, match=message) as caught:
                read_responses(write(content))
            assert "scores.csv" in str(caught.value)
            assert len(str(caught.value)) < 600


def test_lines_are_counted_from_the_first_even_when_some_are_blank(write):
    with pytest.raises(InputError, match="Line 5 "):
        read_responses(write("\nmodel,q1\n\na,1\nb,x\n"))


def test_places_without_a_file_are_explained(tmp_path, write):
    with pytest.raises(FileError, match=r"no file 'a\.csv' in"):
        read_responses(tmp_path / "a.csv")
    with pytest.raises(FileError, match="is a directory"):
        read_responses(tmp_path)
    with pytest.raises(FileError, match=r"ends in '\.xlsx', but responses are read from \.csv"):
        read_responses(write("x", "scores.xlsx"))


def test_a_file_beyond_the_limit_is_not_read(tmp_path, subtests):
    for name in ["a.csv", "a.parquet", "a.jsonl"]:
        with subtests.test(name):
            with (tmp_path / name).open("wb") as file:
                file.truncate(3 * 1024**3)
            with pytest.raises(
                FileError, match=r"has 3\.0 GiB, and the limit is 2\.0 GiB.*max_bytes"
            ):
                read_responses(tmp_path / name)


def test_an_archive_that_unpacks_without_end_is_stopped(write):
    bomb = gzip.compress(b"model,q1\n" + b"a,1\n" * 1_000_000)
    path = write(bomb, "bomb.csv.gz")
    assert path.stat().st_size < 50_000
    with pytest.raises(FileError, match=r"(unpacks to more than|the limit is) 1\.0 MiB.*max_bytes"):
        read_responses(path, max_bytes=1024**2)


def test_a_line_without_end_is_stopped(write, monkeypatch):
    monkeypatch.setattr(text_module, "MAX_LINE", 1000)
    with pytest.raises(FileError, match="line of more than 1,000 characters"):
        read_responses(write("model,q1\n" + "1" * 5000))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda packed: packed[:-12], "cut short"),
        (lambda packed: packed[:20] + b"\xff" * 20 + packed[40:], "not an intact gzip file"),
        (lambda packed: b"plain text, no gzip", "not an intact gzip file"),
        (lambda packed: gzip.compress(b""), "is empty"),
    ],
)
def test_damaged_gzip_is_explained(write, damage, message):
    packed = gzip.compress((WIDE + "c,0,1\n" * 50).encode())
    with pytest.raises(FileError, match=message):
        read_responses(write(damage(packed), "scores.csv.gz"))


def test_a_small_file_cannot_ask_for_a_huge_table(write):
    rows = "".join(f"m{n},q{n},1\n" for n in range(2000))
    lines = py_irt(*((f"m{n}", {f"q{n}": 1}) for n in range(2000)))
    for content, name in [("model,item,score\n" + rows, "a.csv"), (lines, "a.jsonl")]:
        with pytest.raises(InputError, match=r"2,000 respondents and 2,000 items.*max_bytes"):
            read_responses(write(content, name), max_bytes=1024**2)


JSON_ERRORS = {
    "broken line": ('{"subject_id": "a", "responses": {}}\n{"subj', "line 2 is not valid JSON"),
    "no object": ("[1]", "line 1 is not an object"),
    "no responses": ('{"subject_id": "a"}', "line 1 lacks"),
    "responses as list": ('{"subject_id": "a", "responses": [1]}', "wrong type"),
    "subject as list": ('{"subject_id": ["a"], "responses": {}}', "wrong type"),
    "text": ('{"subject_id": "a", "responses": {"q": "1"}}', "Line 1, item 'q' holds '1'"),
    "nested": ('{"subject_id": "a", "responses": {"q": [1]}}', "Line 1, item 'q' holds"),
    "same item": ('{"subject_id": "a", "responses": {"q": 1, "q": 0}}', "'q' is repeated"),
    "deep": ("[" * 100_000, "line 1 is not valid JSON"),
    "nobody asked anything": (py_irt(("a", {})), "1 respondents × 0 items"),
    "infinite": ('{"subject_id": "a", "responses": {"q": Infinity}}', "item 'q' is infinite"),
}


def test_broken_json_lines_are_explained(write, subtests):
    for case, (content, message) in JSON_ERRORS.items():
        with subtests.test(case):
            with pytest.raises(OgiveError, match=message) as caught:
                read_responses(write(content, "scores.jsonl"))
            assert "scores.jsonl" in str(caught.value)


def parquet_bytes(table):
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


INTACT = parquet_bytes(pa.table({"model": ["a", "b"], "q": [1, 0]}))
PARQUET_ERRORS = {
    "text": (b"model,q\na,1\n", "not an intact Parquet file"),
    "cut short": (INTACT[:-20], "not an intact Parquet file"),
    "cut in the middle": (INTACT[:100] + INTACT[-8:], "not an intact Parquet file"),
    "nested": (
        parquet_bytes(pa.table({"model": ["a"], "q": [[1]]})),
        "Column 'q' of .* holds lists",
    ),
    "text in cells": (
        parquet_bytes(pa.table({"model": ["a", "b"], "p": [1, 0], "q": ["1", "oops"]})),
        "respondent 'b' and item 'q' holds 'oops'",
    ),
    "same column twice": (
        parquet_bytes(
            pa.Table.from_arrays([pa.array([1])] * 4, names=["model", "item", "item", "score"])
        ),
        "is repeated",
    ),
    "no columns": (parquet_bytes(pa.table({})), "no columns"),
    "no rows": (parquet_bytes(pa.table({"model": pa.array([], "string"), "q": [[]][0]})), "empty"),
}


def test_broken_parquet_is_explained(write, subtests):
    for case, (content, message) in PARQUET_ERRORS.items():
        with subtests.test(case):
            with pytest.raises(OgiveError, match=message) as caught:
                read_responses(write(content, "scores.parquet"))
            assert "scores.parquet" in str(caught.value)


def test_parquet_with_a_flipped_byte_never_escapes_as_another_error(write, subtests):
    for position in [10, 24, 29, *range(31, len(INTACT), 31)]:
        with subtests.test(position=position):
            damaged = bytearray(INTACT)
            damaged[position] ^= 0x80
            with suppress(OgiveError):
                read_responses(write(bytes(damaged), "scores.parquet"))


def test_damaged_metadata_name_the_file(write, subtests):
    for damage, frame in product(
        [b"{cut", b"\xff\xfe", b"[" * 100_000],
        [{"model": ["a"], "q": [1]}, {"model": ["a"], "item": ["q"], "score": [1]}],
    ):
        with subtests.test(damage=damage, frame=frame):
            table = pa.table(frame).replace_schema_metadata({b"pandas": damage})
            with pytest.raises(FileError, match=r"scores\.parquet"):
                read_responses(write(parquet_bytes(table), "scores.parquet"))


def test_a_parquet_file_that_unpacks_without_end_is_stopped(write):
    zeros = pa.table({f"q{n}": np.zeros(2_000_000, np.int8) for n in range(2)})
    path = write(parquet_bytes(zeros), "bomb.parquet")
    with pytest.raises(InputError, match="max_bytes"):
        read_responses(path, max_bytes=1024**2)


@settings(max_examples=150, deadline=None)
@given(content=st.binary(min_size=1, max_size=200) | st.text(max_size=100).map(str.encode))
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.csv.gz"])
def test_no_bytes_escape_as_another_error(tmp_path_factory, name, content):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    with suppress(OgiveError):
        read_responses(path)


# There and back


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
cells = {
    "binary": st.sampled_from([0, 1, NAN]),
    "graded": st.sampled_from([0, 1, 4, 127, 128, 1000, NAN]),
    "continuous": st.just(np.nan) | st.floats(-1e70, 1e70),
}


@st.composite
def tables(draw):
    kind = draw(st.sampled_from(sorted(cells)))
    rows = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    values = draw(
        st.lists(
            st.lists(cells[kind], min_size=len(columns), max_size=len(columns)),
            min_size=len(rows),
            max_size=len(rows),
        )
    )
    return Responses(np.array(values, dtype=float), rows, columns, kind=kind)


@settings(max_examples=40, deadline=None)
@given(responses=tables())
@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet"])
def test_what_is_written_is_read_back(tmp_path_factory, suffix, responses):
    path = tmp_path_factory.getbasetemp() / f"there-and-back{suffix}"
    write_responses(responses, path)
    # Parquet remembers the kind, text does not.
    kind = None if suffix == ".parquet" else responses.kind
    again = read_responses(path, kind=kind)
    assert again == responses
    assert again.cells.dtype == responses.cells.dtype


def test_items_may_be_called_like_columns_of_a_long_table(tmp_path, subtests):
    for suffix, items in product(
        [".csv", ".parquet"], [["item", "response", "model"], ["respondents"], [""]]
    ):
        with subtests.test(suffix, items=items):
            responses = Responses([[1] * len(items), [0] * len(items)], items=items)
            assert responses.save(tmp_path / f"a{suffix}") == tmp_path / f"a{suffix}"
            assert read_responses(tmp_path / f"a{suffix}") == responses


def test_other_tools_read_what_is_written(tmp_path):
    EXPECTED.save(tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv", index_col="respondents")
    assert Responses.from_frame(frame) == EXPECTED
    with (tmp_path / "a.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ["respondents", "q1", "q2"]


def test_the_same_responses_are_the_same_bytes(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        EXPECTED.save(tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_write_that_cannot_be_is_explained(tmp_path):
    with pytest.raises(FileError, match=r"ends in '\.pkl'"):
        EXPECTED.save(tmp_path / "a.pkl")
    with pytest.raises(FileError, match="there is no directory"):
        EXPECTED.save(tmp_path / "nowhere" / "a.csv")
    with pytest.raises(InputError, match="null character"):
        Responses([[1]], items=["a\0"]).save(tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


def test_a_wide_csv_is_read_in_little_memory(tmp_path):
    values = np.random.default_rng(0).integers(0, 2, (50, 20_000), dtype=np.int8)
    responses = Responses(values)
    responses.save(tmp_path / "wide.csv")
    tracemalloc.start()
    try:
        again = read_responses(tmp_path / "wide.csv")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert again == responses
    assert peak < 20_000_000  # a million cells and twenty thousand names


def test_rows_may_be_items(tmp_path, subtests):
    for heading, ending in product(["question", "", "respondents"], ["csv", "parquet"]):
        with subtests.test(f"{heading} {ending}"):
            frame = pd.DataFrame({heading: [1, 2, 3], "gpt": [1, 0, 1], "pythia": [0, None, 1]})
            path = tmp_path / f"table.{ending}"
            frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(
                path, index=False
            )
            found = read_responses(path, layout="items")
            wanted = Responses([[1, 0, 1], [0, np.nan, 1]], ["gpt", "pythia"], ["1", "2", "3"])
            assert found == wanted
            found.save(tmp_path / "own.parquet")  # which says itself how it lies
            assert read_responses(tmp_path / "own.parquet", layout="items") == wanted


def test_a_misspelled_heading_of_a_long_table_is_named(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text("responent,item,response\na,sums/1,1\nb,sums/1,0\n")
    with pytest.raises(InputError, match=r"'responent' may be misspelled\. Did you mean 'respond"):
        read_responses(file)
    file.write_text("responent,item,response\na,1,1\nb,2,0\n")  # reads as a wide table
    assert any("may be misspelled" in note for note in read_responses(file).notes)
    file.write_text("respondent,q1,q2\na,1,1\nb,1,0\n")
    assert not read_responses(file).notes


def test_a_table_whose_rows_look_like_items_is_noted(tmp_path):
    file = tmp_path / "turned.csv"
    rows = [f"{task}/{k},1,0,1" for task in ("sums", "verbs") for k in range(60)]
    file.write_text("\n".join([",lab/one,lab/two,org/three", *rows]))
    (note,) = read_responses(file).notes
    assert "120 respondents such as 'sums/0'" in note
    assert "layout='items'" in note
    assert not read_responses(file, layout="items").notes
    file.write_text("\n".join([",a,b,c", *(f"student {k},1,0,1" for k in range(120))]))
    assert not read_responses(file).notes


@pytest.mark.parametrize(
    "line",
    [
        '{"subject_id": "\\ud800", "responses": {"q": 1}}',
        '{"subject_id": "b", "responses": {"\\uDfff": 1}}',
        '{"respondent": "b", "item": "\\ud800", "response": 1}',
        '{"respondent": "b", "item": "q", "response": 1, "task": "\\ud800"}',
        '{"respondent": "b", "item": "q", "response": 1, "\\ud800": "task"}',
    ],
)
def test_half_a_character_is_refused_with_its_line(tmp_path, line):
    path = tmp_path / "a.jsonl"
    whole = line.replace("\\ud800", "\\ud83d\\ude00").replace("\\uDfff", "\\\\ud800")
    path.write_text(f"{whole}\n")
    assert read_responses(path).shape == (1, 1)
    path.write_text(f"{whole}\n{line}\n")
    with pytest.raises(
        FileError, match=r"a.jsonl', line 2 holds \\u\w+, which is half a character"
    ):
        read_responses(path)


HALVES = ["m\ud83d", "m\ud83e"] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model;q\na;87%\nb;12,5%\n", r"'87%'.*without the percent sign, as 0\.87"),
        ("model;q\na;1\nb;12,5 %\n", r"without the percent sign, as 0\.125"),
        ("model;q\na;0,5\nb;1\n", r"'0,5'.*decimal point, as 0\.5"),
        ('model,item,score\na,i,"0,25"\n', r"decimal point, as 0\.25"),
        ("model,q\na,#DIV/0!\nb,1\n", "a spreadsheet shows for an error"),
        ("model,q\na,1_000\nb,1\n", "'1_000', which is not a number"),
        ("model,q\na,0x10\nb,1\n", "'0x10', which is not a number"),
        ("model,q\na,1e999\nb,1\n", "is infinite"),
        ("sep=;\nmodel;q\na;1\n", "begins with 'sep=;'.*Remove this line"),
        ("model|q\na|1\nb|0\n", "only one column, 'model|q'.*commas, semicolons or tabs"),
        ("model,q,\na,1,\nb,0,\n", "its lines end with a delimiter"),
    ],
)
def test_what_spreadsheets_write_is_refused_with_what_to_do(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(OgiveError, match=words):
        og.read_responses(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model,q1,q1 ,q2\na,1,0,1\nb,0,1,1\n", "item names 'q1' and 'q1 ' look the same"),
        ("model,p,q\ncaf\u00e9,1,0\ncafe\u0301,0,1\n", "respondent names .*u0301.* look the same"),
    ],
)
def test_names_that_look_the_same_are_said(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    (note,) = og.read_responses(path).notes
    assert re.search(words, note)


@pytest.mark.parametrize(
    ("read", "columns"),
    [
        (
            lambda frame: read_battles(frame, None, None, None),
            {"model_a": HALVES, "model_b": ["x"] * 4, "winner": ["model_a"] * 4},
        ),
        (
            lambda frame: read_ratings(
                frame, dict.fromkeys(("respondent", "item", "judge", "score"))
            ),
            {"model": HALVES, "item": list("iijj"), "judge": list("uvuv"), "score": [0, 1, 1, 0]},
        ),
        (
            og.read_runs,
            {"problem": list("ppqq"), "solver": HALVES, "runtime": [1.0, 2.0, 3.0, 4.0]},
        ),
        (
            og.Responses.from_long,
            {"respondent": HALVES, "item": list("iijj"), "response": [0, 1, 1, 0]},
        ),
    ],
)
def test_half_a_character_in_a_frame_is_refused(read, columns):
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    with pytest.raises(InputError, match=r"'m\\ud83d'.* holds half a character"):
        read(frame)

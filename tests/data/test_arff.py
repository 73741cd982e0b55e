"""ARFF as WEKA, OpenML and ASlib write it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.data.table_files import read_table
from ogive.errors import FileError

DENSE = """% a comment
@RELATION 'two words'

@ATTRIBUTE 'sepal length' REAL
@attribute colour {red, 'dark blue', "it's"}
@attribute note string
@attribute class {yes,no}

@DATA
% another comment
5.1,'dark blue','a, b',yes
?, red, ?, no
1e3,"it's",'don\\'t',yes
"""


@pytest.fixture
def read(tmp_path):
    """Read this text as an ARFF file."""

    def read_text(text):
        path = tmp_path / "a.arff"
        path.write_text(text, encoding="utf-8")
        return read_table(path)

    return read_text


def test_names_types_quotes_and_missing_values(read):
    frame = read(DENSE)
    assert list(frame.columns) == ["sepal length", "colour", "note", "class"]
    np.testing.assert_array_equal(frame["sepal length"], [5.1, math.nan, 1000])
    assert list(frame["colour"]) == ["dark blue", "red", "it's"]
    assert list(frame["colour"].cat.categories) == ["red", "dark blue", "it's"]
    assert frame["note"].tolist()[::2] == ["a, b", "don't"]
    assert frame["note"].isna().tolist() == [False, True, False]


def test_a_sparse_row_leaves_out_zeros_and_first_values(read):
    frame = read(
        "@relation s\n@attribute a numeric\n@attribute b {x, y}\n@attribute 'c d' numeric\n"
        "@data\n{0 1.5, 2 ?}\n{1 y}\n{ }\n{1 'y', 2 3}\n"
    )
    np.testing.assert_array_equal(frame["a"], [1.5, 0, 0, 0])
    assert list(frame["b"]) == ["x", "y", "x", "y"]
    np.testing.assert_array_equal(frame["c d"], [math.nan, 0, 0, 3])


HEAD = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n"


def test_broken_files_name_the_line(read, subtests):
    for text, message in [
        ("width,class\n1,x\n", "line 1 is 'width,class'"),
        (HEAD, "ends before @data"),
        ("@relation r\n@data\n1\n", "declares no @attribute"),
        (HEAD + "@data\n", "no row below"),
        (HEAD + "@data\n1,x\n1\n", "line 6 has 1 fields, but 2 attributes"),
        (HEAD + "@data\none,x\n", "line 5: attribute 'a' is 'one', but it should be a number"),
        (HEAD + "@data\n1,x\n1,z\n", "line 6: attribute 'b' is 'z'.*one of 2 declared values"),
        (HEAD + "@data\n1,'x\n", "quote is not closed"),
        (HEAD + "@data\n{7 x}\n", "not a cell of a sparse row"),
        (HEAD + "@data\n{a x}\n", "not a cell of a sparse row"),
        (HEAD + "@attribute d date 'yyyy-MM-dd'\n@data\n1,x,2020-01-01\n", "'d' is of type .date"),
        (HEAD + "@attribute d relational\n@data\n1,x,y\n", "is of type 'relational'"),
        (HEAD + "@attribute a numeric\n@data\n1,x,1\n", "twice"),
        (
            HEAD + "@attribute c {u,v,u}\n@data\n1,x,u\n",
            "line 4: attribute 'c' .*'u'.*more than once",
        ),
        (HEAD + "@attribute\n@data\n1,x,1\n", "@attribute name type"),
    ]:
        with subtests.test(text=text), pytest.raises(FileError, match=message):
            read(text)


words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)


@settings(deadline=None, max_examples=50)
@given(st.lists(words, min_size=1, max_size=5))
def test_any_text_comes_back_through_its_quotes(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("arff") / "a.arff"
    quoted = ["'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" for text in texts]
    path.write_text("@relation r\n@attribute t string\n@data\n" + "\n".join(quoted), "utf-8")
    assert list(read_table(path)["t"]) == texts


def test_many_blocks_are_joined_in_order(read, monkeypatch):
    monkeypatch.setattr("ogive.data.arff._BLOCK_CELLS", 4)
    rows = "".join(f"{n},{'xy'[n % 2]}\n" for n in range(11))
    frame = read(HEAD + "@data\n" + rows)
    assert list(frame["a"]) == list(range(11))
    assert "".join(frame["b"]) == "xyxyxyxyxyx"


def test_short_sparse_rows_may_not_unpack_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("ogive.data.arff._BLOCK_CELLS", 100)
    head = "".join(f"@attribute a{n} numeric\n" for n in range(100))
    (tmp_path / "a.arff").write_text(f"@relation r\n{head}@data\n" + "{}\n" * 1_000)
    with pytest.raises(FileError, match="unpacks to more than"):
        read_table(tmp_path / "a.arff", max_bytes=100_000)

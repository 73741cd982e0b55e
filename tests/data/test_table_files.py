"""Tables from files, as hurried people make them."""

import gzip
import math
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.data.datasets.load import load_dataset
from ogive.data.table_files import name_of, read_table
from ogive.errors import FileError, InputError, OgiveError

ROWS = "width,colour,class\n1.5,red,yes\n2.5,blue,no\n,red,yes\n4,?,no\n"


@pytest.fixture
def write(tmp_path):
    """Write a file of this name and content."""

    def write_file(name, content):
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_file


def test_separated_values_are_read_whatever_separates_them(write, subtests):
    for case, (name, content) in {
        "csv": ("a.csv", ROWS),
        "gzip": ("a.csv.gz", ROWS),
        "semicolon": ("a.csv", ROWS.replace(",", ";")),
        "decimal comma": (
            "a.csv",
            ROWS.replace(",", ";").replace("1.5", "1,5").replace("2.5", "2,5"),
        ),
        "tsv": ("a.tsv", ROWS.replace(",", "\t")),
        "tsv.gz": ("a.tsv.gz", ROWS.replace(",", "\t")),
        "bom crlf": ("a.csv", "\ufeff" + ROWS.replace("\n", "\r\n")),
        "blanks": ("a.csv", ROWS.replace(",", ", ")),
    }.items():
        with subtests.test(case):
            dataset = load_dataset(write(name, content))
            assert dataset.name == "a"
            assert list(dataset.features.columns) == ["width", "colour"]
            assert list(dataset.target) == ["yes", "no", "yes", "no"]
            np.testing.assert_array_equal(dataset.features["width"], [1.5, 2.5, math.nan, 4])
            assert dataset.features["colour"].isna().tolist() == [False, False, False, True]


def test_parquet_keeps_types_and_forgets_the_index_of_pandas(tmp_path):
    frame = pd.DataFrame(
        {"x": [1.0, 2.0], "c": pd.Categorical(["a", "b"]), "class": ["n", "y"]}, index=[7, 9]
    )
    frame.to_parquet(tmp_path / "p.parquet")
    dataset = load_dataset(tmp_path / "p.parquet")
    assert list(dataset.features.columns) == ["x", "c"]
    assert list(dataset.target) == ["n", "y"]


def test_broken_files_say_what_is_wrong(write, subtests):
    for name, content, message in [
        ("a.csv", b"", "is empty"),
        ("a.csv", "\n\n", "nothing but blank lines"),
        ("a.csv", "a,b,class\n", "no row below"),
        ("a.csv", "a,b,class\n1,2,x\n1,2\n", "line 3 has 2 fields, but the first line has 3"),
        ("a.csv", "a,b,class\n1,2,x,9\n", "line 2 has 4 fields"),
        ("a.csv", 'a,class\n"1,x\n', "not valid CSV"),
        ("a.csv", "a,a,class\n1,2,x\n", "'a'.*more than once"),
        ("a.csv", "5.1,3.5,1.4,0.2,setosa\n4.9,3.0,1.4,0.2,other\n", "Add a line of names"),
        ("a.csv", "70,1,4,1,present\n67,0,3,1,absent\n", "Add a line of names"),
        ("a.csv", b"a,class\n\xe9,x\n", "not UTF-8"),
        ("a.csv", b"PK\x03\x04rest", "Excel"),
        ("a.xlsx", b"PK\x03\x04rest", "ends in '.xlsx'"),
        ("a.parquet", b"PAR1 and then nothing", "not an intact Parquet"),
    ]:
        with subtests.test(message), pytest.raises(FileError, match=message):
            load_dataset(write(name, content))


def test_a_data_set_is_named_after_its_file(subtests):
    for path, name in [
        ("x/heart.csv.gz", "heart"),
        ("a.b.parquet", "a.b"),
        ("UP.CSV", "UP"),
        (".csv", ".csv"),
    ]:
        with subtests.test(path):
            assert name_of(path) == name


def test_none_is_a_category_and_a_table_of_numbers_stays_numbers(write):
    dataset = load_dataset(write("a.csv", "alley,flag,class\nNone,True,1\nPave,False,2\n"))
    assert list(dataset.features["alley"]) == ["None", "Pave"]
    assert dataset.features["flag"].dtype == bool


def test_columns_numbered_by_pandas_are_names(write):
    dataset = load_dataset(write("a.csv", "0,1,2\n5,6,x\n7,8,y\n"), "2")
    assert list(dataset.target) == ["x", "y"]


def test_every_shared_table_is_read(shared):
    shapes = {
        "heart-statlog.csv": (270, 13),
        "htru2.csv.gz": (17898, 8),
        "letter.csv.gz": (20000, 16),
        "segment.csv.gz": (2310, 19),
        "vehicle.csv": (846, 18),
        "diabetes.csv": (768, 8),
        "kc1.csv#defects": (2109, 21),
        "liver-disorders.csv#selector": (345, 6),
    }
    for name, shape in shapes.items():
        assert load_dataset(f"{shared}/data/tabular/{name}").features.shape == shape
    # Without a header nothing is guessed at.
    with pytest.raises(InputError, match=r"no column 'label'.*add a line of names"):
        load_dataset(shared / "data/text/sst2_dev.tsv.gz", "label")


words = st.binary(max_size=40) | st.text("'\"{}\\,;?%@\n\r\t 01.ex", max_size=40).map(str.encode)


@settings(deadline=None)
@given(st.sampled_from([".csv", ".tsv", ".arff", ".parquet"]), words, words)
def test_no_content_raises_anything_but_a_clear_error(tmp_path_factory, ending, head, tail):
    path = tmp_path_factory.mktemp("any") / f"a{ending}"
    known = {".arff": b"@relation r\n@attribute class {0,1}\n@attribute x numeric\n@data\n1,1\n"}
    path.write_bytes(head + known.get(ending, b"x,class\n1,0\n2,1\n") + tail)
    with suppress(OgiveError):
        load_dataset(path)


@pytest.mark.parametrize("ending", ["csv", "arff"])
def test_a_hundred_thousand_columns_are_checked_in_one_pass(tmp_path, ending):
    names = [f"c{k}" for k in range(100_000)] + ["c7"]
    path = tmp_path / f"wide.{ending}"
    path.write_text(
        ",".join(names) + "\n" + ",".join("1" for _ in names)
        if ending == "csv"
        else "".join(f"@attribute {name} numeric\n" for name in names) + "@data\n"
    )
    with pytest.raises(FileError, match="c7"):
        read_table(path)

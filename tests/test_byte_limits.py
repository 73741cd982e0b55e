import gzip
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.naive_bayes import GaussianNB

import ogive as og
from ogive._files import VARIABLE, most_bytes
from ogive.data.table_files import read_table
from ogive.errors import FileError, InputError

LINES, LIMIT = 2_000_000, 100 * 1024**2
BOTH = f"pass a larger max_bytes, or set {VARIABLE}"


def test_what_is_given_counts_before_the_environment_and_this_before_the_usual(monkeypatch):
    assert most_bytes(None, 5) == 5
    monkeypatch.setenv(VARIABLE, " 70 ")
    assert most_bytes(None, 5) == 70
    assert most_bytes(3, 5) == 3


@pytest.mark.parametrize("told", ["0", "-1", "1e9", "4 GiB", "nan", "٣", "9" * 5000, "\udcff"])
def test_a_limit_of_the_environment_that_is_no_number_is_refused(monkeypatch, told):
    monkeypatch.setenv(VARIABLE, told)
    with pytest.raises(InputError, match=f"variable {VARIABLE} is .*whole number of bytes"):
        og.load("bank.json")


def test_the_environment_raises_a_limit_and_the_message_says_so(monkeypatch, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,0\n" * 1_000)
    monkeypatch.setenv(VARIABLE, "1000")
    with pytest.raises(FileError, match=BOTH):
        og.read_responses(path)
    monkeypatch.setenv(VARIABLE, "1000000")
    assert og.read_responses(path).shape == (1_000, 2)


@pytest.mark.parametrize("read", [og.read_responses, read_table])
@pytest.mark.parametrize(
    ("name", "first", "line"),
    [
        ("a.csv.gz", "respondent,item,response\n", "a,b,1\n"),
        ("a.tsv.gz", "a\tb\n", "1\t0\n"),
        ("a.csv.gz", "a,b\n1,0\n", "\n"),
        ("a.csv.gz", "a\n", "1\r"),
        ("a.jsonl.gz", "", '{"subject_id":"a","responses":{"b":1}}\n'),
    ],
)
def test_many_short_lines_are_refused_before_they_are_split(
    tmp_path, monkeypatch, read, name, first, line
):
    if "jsonl" in name and read is read_table:
        pytest.skip("a table is not JSON Lines")
    path = tmp_path / name
    path.write_bytes(gzip.compress((first + line * LINES).encode(), 1))
    monkeypatch.setattr("ogive.data.text_files._lines", None)  # nothing is split
    with pytest.raises(FileError, match=rf"has [\d,]+ lines or more, .*{BOTH}"):
        read(path, max_bytes=LIMIT)
    path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
    with pytest.raises(FileError, match=rf"has [12],\d{{3}},\d{{3}} lines or more, .*{BOTH}"):
        read(path.with_suffix(""), max_bytes=LIMIT)


def test_gzip_files_of_equal_lines_are_refused_early_and_those_of_coin_flips_are_read(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * LINES, 1))
    with pytest.raises(FileError, match=rf"1,000 times the size of the file.*{BOTH}"):
        og.read_responses(path, max_bytes=16 * LIMIT // 2)
    flips = np.random.default_rng(0).integers(0, 2, 1_000)
    path.write_bytes(gzip.compress("\n".join(["a", *map(str, flips)]).encode()))
    assert og.read_responses(path, max_bytes=1 << 18).shape == (1_000, 1)


@pytest.mark.parametrize(
    ("name", "first", "line", "words"),
    [
        ("a.csv", "model,q\n", "a,1\n", r"respondent names must differ, but \d+,\d{3} rows"),
        ("a.csv", "item,m\n", "a,1\n", r"item names must differ, but \d+,\d{3} rows"),
        ("a.csv", "model,item,score\n", "a,b,1\n", "more than 5,000 rows for each pair"),
        ("a.jsonl", "", '{"subject_id": "a", "responses": {"b": 1}}\n', "5,000 rows for each pair"),
    ],
)
def test_rows_that_repeat_the_same_names_are_refused_before_all_are_read(
    tmp_path, monkeypatch, name, first, line, words
):
    monkeypatch.setattr("ogive.data.long_tables.MOST_REPEATS", 5_000)
    path = tmp_path / name
    path.write_text(first + line * 100_000 + ("never read" if "pair" in words else "a,1\n"))
    with pytest.raises(InputError, match=words):
        og.read_responses(path)


def test_a_table_of_many_short_cells_is_refused_by_what_they_need(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{k}" for k in range(100)) + "\n" + ("1," * 99 + "1\n") * 500)
    with pytest.raises(FileError, match=f"rows of 100 cells or more.*{BOTH}"):
        read_table(path, max_bytes=1024**2)
    assert read_table(path).shape == (500, 100)


@pytest.mark.parametrize("long", [True, False])
def test_equal_rows_of_parquet_are_refused_before_they_are_read(tmp_path, monkeypatch, long):
    ones = pa.array(np.ones(LINES, np.int8))
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(LINES, np.int32)), ["a"])
    columns = {"respondent": names, "item": names, "response": ones} if long else {"a": ones}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", store_schema=False)
    monkeypatch.setattr("ogive.data.parquet_files._read_batches", None)  # nothing is read
    with pytest.raises(InputError, match=f"holds 2,000,000 rows .*{BOTH}"):
        og.read_responses(tmp_path / "a.parquet", max_bytes=72 * LINES)


@pytest.mark.parametrize(
    ("start", "limit", "words"),
    [
        ('{"schema": "ogive/gate", ', 1 << 28, r"256\.0 MiB"),
        ("{", 1 << 24, r"16\.0 MiB"),
        ('{"schema": "ogive/x", ', 1 << 24, r"16\.0 MiB"),
    ],
)
def test_a_large_document_that_holds_no_items_is_refused_before_it_is_parsed(
    tmp_path, monkeypatch, start, limit, words
):
    path = tmp_path / "gate.json"
    path.write_text(start + '"junk": [], "version": 1}')
    with pytest.raises(FileError, match=r'lacks|no "schema"|cannot read'):  # parsed, then refused
        og.load(path)
    os.truncate(path, limit + 1)
    monkeypatch.setattr("ogive._load.parsed_json", None)
    with pytest.raises(FileError, match=rf"the limit is {words}.*{BOTH}"):
        og.load(path)


@pytest.mark.slow
def test_a_gate_of_millions_of_cases_is_read_back_without_a_word_on_limits(tmp_path):
    random = np.random.default_rng(0)
    cases = random.normal(size=(200, 2))
    true = (cases[:, 0] + random.normal(size=200) > 0).astype(int)
    gate = og.CapabilityGate(GaussianNB(), target_accuracy=0.6, random_state=0).fit(cases, true)
    wrong = np.sort(random.uniform(0.5, 1, 500_000)).round(12)
    gate.rivals_ = replace(gate.rivals_, wrong=(wrong, wrong), held_out=(1_000_000,) * 2)
    path = gate.save(tmp_path / "gate.json")
    assert path.stat().st_size > 1 << 24
    assert np.array_equal(og.load(path).rivals_.wrong[1], wrong)


def test_a_small_gate_may_need_only_so_much_memory(tmp_path):
    path = tmp_path / "gate.json"
    junk = "[" * 20_000_000 + "," * 25_000_000
    path.write_text('{"schema": "ogive/gate", "junk": "' + junk + '"}')
    with pytest.raises(FileError, match=r"the limit is 2\.0 GiB"):
        og.load(path)

"""Files that commands read: banks, responses, orders, and files with odd names."""

import io
import os
import sys

import pytest

import ogive as og
from ogive.cli import application as command_table
from ogive.cli.sources import bank_or_responses, read_order
from ogive.errors import FileError, InputError


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_bank_is_known_by_what_it_holds(tmp_path, scores, ending):
    bank = og.calibrate(og.read_responses(scores)).save(tmp_path / f"bank.{ending}")
    assert isinstance(bank_or_responses(bank, "auto", None), og.Calibration)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_all_else_is_responses_of_the_kind_that_is_said(tmp_path, scores, ending):
    path = tmp_path / f"table.{ending}"
    og.read_responses(scores).save(path)
    assert bank_or_responses(path, "auto", None).kind == "binary"
    assert bank_or_responses(path, "wide", "graded").kind == "graded"


def test_a_damaged_bank_is_refused_as_a_bank(tmp_path, bank):
    bank.write_text(bank.read_text()[:-50])
    with pytest.raises(FileError, match="not valid JSON"):
        bank_or_responses(bank, "auto", None)


def test_a_file_that_is_missing_is_said_to_be(tmp_path):
    with pytest.raises(FileError, match="There is no file"):
        bank_or_responses(tmp_path / "no.parquet", "auto", None)


@pytest.fixture
def strange(tmp_path, scores):
    """A table in a file whose name is no UTF-8."""
    path = tmp_path / os.fsdecode(b"a\xff.csv")
    try:
        return scores.rename(path)
    except OSError:
        pytest.skip("this file system knows only names that are UTF-8")


def test_a_name_of_a_file_need_not_be_text(run, strange):
    ended = run("report", strange, "--out", "page.html")
    assert ended.exit_code == 0, ended.output
    assert "Report: page.html" in ended.output


def test_such_a_name_is_printed_with_an_escape(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "utf-8", "strict"))
    monkeypatch.setattr(command_table, "app", lambda **_: sys.stdout.write("a\udcff"))
    command_table.run()
    sys.stdout.flush()
    assert written.getvalue() == b"a\\udcff"


def test_a_link_to_itself_is_neither_read_nor_replaced(run, tmp_path, bank):
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    for words in (["score", loop, loop], ["score", bank, loop], ["link", loop, bank]):
        ended = run(*words)
        assert ended.exit_code == 3
        assert "leads back to itself" in " ".join(ended.output.split())
    with pytest.raises(FileError, match="leads back to itself"):
        og.load(bank).save(loop)
    assert loop.is_symlink()


def test_an_order_is_read_from_a_file(subtests, tmp_path_factory):
    cases = [
        ("b\na\n", ["b", "a"]),
        ("item\nb\n\na\n", ["b", "a"]),
        ('"b, c",2\na,1\n', {"b, c": 2.0, "a": 1.0}),
        ("\ufeffdataset,difficulty\r\nb,-2\r\na,1e3\r\n", {"b": -2.0, "a": 1000.0}),
    ]
    for text, wanted in cases:
        with subtests.test(text=text, wanted=wanted):
            tmp_path = tmp_path_factory.mktemp("case")
            path = tmp_path / "order.csv"
            path.write_bytes(text.encode())
            assert read_order(path) == wanted


def test_a_wrong_order_file_is_explained(subtests, tmp_path_factory):
    cases = [
        ("name\n", "names no item"),
        ("a,1\nb\n", "lines of 1 to 2 fields"),
        ("a,1,2\n", "lines of 3 to 3 fields"),
        ("a,hard\n", "'hard', which is not a number"),
        ("a,1\na,2\n", "'a' more than once"),
    ]
    for text, message in cases:
        with subtests.test(text=text, message=message):
            tmp_path = tmp_path_factory.mktemp("case")
            path = tmp_path / "order.csv"
            path.write_text(text)
            with pytest.raises(InputError, match=message):
                read_order(path)


def test_an_order_file_that_is_no_text_is_a_file_error(tmp_path):
    path = tmp_path / "order.csv"
    for content in (b"", b"\xff\xfea\x00", b"caf\xe9\n"):
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"order\.csv"):
            read_order(path)
    with pytest.raises(FileError, match="no file"):
        read_order(tmp_path / "none.csv")

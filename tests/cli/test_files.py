import io
import os
import sys

import pytest

import ogive as og
from ogive.cli import application as command_table
from ogive.cli.sources import bank_or_responses
from ogive.errors import FileError


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

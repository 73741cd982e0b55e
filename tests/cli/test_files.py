import pytest

import itemwise as iw
from itemwise.cli.command_arguments import bank_or_responses
from itemwise.errors import FileError


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_bank_is_known_by_what_it_holds(tmp_path, scores, ending):
    bank = iw.calibrate(iw.read_responses(scores)).save(tmp_path / f"bank.{ending}")
    assert isinstance(bank_or_responses(bank, "auto", None), iw.Calibration)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_all_else_is_responses_of_the_kind_that_is_said(tmp_path, scores, ending):
    path = tmp_path / f"table.{ending}"
    iw.read_responses(scores).save(path)
    assert bank_or_responses(path, "auto", None).kind == "binary"
    assert bank_or_responses(path, "wide", "graded").kind == "graded"


def test_a_damaged_bank_is_refused_as_a_bank(tmp_path, bank):
    bank.write_text(bank.read_text()[:-50])
    with pytest.raises(FileError, match="not valid JSON"):
        bank_or_responses(bank, "auto", None)


def test_a_file_that_is_missing_is_said_to_be(tmp_path):
    with pytest.raises(FileError, match="There is no file"):
        bank_or_responses(tmp_path / "no.parquet", "auto", None)

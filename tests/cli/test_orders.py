import pytest

from ogive.cli.sources import read_order
from ogive.errors import FileError, InputError


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

"""The journal of an evaluation: damaged lines, and disks that are full."""

import pytest

from ogive.errors import FileError
from ogive.evaluation.adaptive_evaluation import ResponseJournal

resource = pytest.importorskip("resource", reason="Windows cannot limit the size of files")


@pytest.fixture
def full():
    """A function after which no file grows beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_said_and_what_was_saved_is_found_again(tmp_path, full):
    path = tmp_path / "journal.jsonl"

    def evaluate():
        with ResponseJournal(path, {"seed": 0}) as journal:
            journal.add("a", 1.0)
            full(path.stat().st_size + 10)  # room for a part of a line
            journal.add("b", 0.0)

    with pytest.raises(FileError, match=r"response to 'b' could not be saved in .*journal\.jsonl"):
        evaluate()
    full(resource.RLIM_INFINITY)
    with ResponseJournal(path, {"seed": 0}) as journal:
        assert journal.responses == [("a", 1.0)]
        journal.add("b", 0.0)
    with ResponseJournal(path, {"seed": 0}) as journal:
        assert journal.responses == [("a", 1.0), ("b", 0.0)]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", "true", '"1"', "[]"])
def test_a_response_that_is_no_finite_number_is_refused(tmp_path, value):
    path = tmp_path / "journal.jsonl"
    ResponseJournal(path, {"seed": 0}).__exit__()
    with path.open("a") as file:
        file.write(f'{{"item": "a", "response": {value}}}\n')
    with pytest.raises(FileError, match=r"line 2 is not a response"):
        ResponseJournal(path, {"seed": 0})

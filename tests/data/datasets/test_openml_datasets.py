"""OpenML through a stand-in: what is kept, what is checked, what happens when it fails."""

import json

import pytest

from ogive.data.datasets.load import load_dataset, load_datasets
from ogive.data.datasets.openml import RemoteDataset, RemoteTask, cache_folder
from ogive.errors import FileError, InputError, MissingExtraError

ARFF = b"""@relation toy
@attribute row numeric
@attribute x numeric
@attribute colour {red, blue}
@attribute class {yes, no}
@data
1,0.5,red,yes
2,?,blue,no
3,1.5,red,yes
4,2.5,blue,no
"""


class StandIn:
    """A server in memory that counts how often it is asked, and may be out of reach."""

    def __init__(self):
        self.asked, self.reachable, self.content, self.target = [], True, ARFF, "class"

    def dataset(self, number):
        self._ask("dataset", number)
        if number > 900:
            raise InputError(f"OpenML returned no data set {number}: Unknown dataset (code 111).")
        return RemoteDataset(f"toy-{number}", self.target, ("row", "not there"), self.content)

    def task(self, number):
        self._ask("task", number)
        return RemoteTask(number + 100, "colour" if number == 7 else "class")

    def suite(self, name):
        self._ask("suite", name)
        return () if name == "empty" else (3, 7)

    def _ask(self, *question):
        if not self.reachable:
            raise FileError("OpenML could not be reached.")
        self.asked.append(question)


@pytest.fixture
def server():
    return StandIn()


@pytest.fixture
def load(tmp_path, server):
    """Load with a cache in a folder of this test."""

    def load_one(source, target=None, **kw):
        return load_dataset(source, target, cache=tmp_path, server=server, **kw)

    return load_one


def test_a_data_set_has_its_target_and_no_row_numbers(load):
    dataset = load("openml:61")
    assert dataset.name == "toy-61"
    assert dataset.source == "OpenML data set 61"
    assert list(dataset.features.columns) == ["x", "colour"]
    assert list(dataset.target) == ["yes", "no", "yes", "no"]
    assert load("openml:61", name="mine").name == "mine"


def test_the_target_may_be_chosen_and_a_task_has_its_own(load):
    assert list(load("openml:61", "colour").target) == ["red", "blue", "red", "blue"]
    assert load("openml-task:7").target.name == "colour"
    assert load("openml-task:8").target.name == "class"
    with pytest.raises(InputError, match="Did you mean 'colour'"):
        load("openml:61", "color")


def test_after_the_first_time_no_network_is_needed(load, server, tmp_path):
    first = load_datasets(["openml-suite:99", "openml:61"], cache=tmp_path, server=server)
    asked = len(server.asked)
    server.reachable = False
    again = load_datasets(["openml-suite:99", "openml:61"], cache=tmp_path, server=server)
    assert [d.name for d in again] == [d.name for d in first] == ["toy-103", "toy-107", "toy-61"]
    assert len(server.asked) == asked == 1 + 2 + 3


@pytest.mark.parametrize("damaged", ["dataset-61.arff", "dataset-61.json"])
def test_a_damaged_copy_is_fetched_again(load, server, tmp_path, damaged):
    load("openml:61")
    path = tmp_path / "openml" / damaged
    path.write_bytes(path.read_bytes()[:-20])
    assert len(load("openml:61")) == 4
    assert server.asked == [("dataset", 61)] * 2
    server.reachable = False
    assert len(load("openml:61")) == 4


@pytest.mark.parametrize("damaged", ["dataset-61.arff", "dataset-61.json"])
def test_a_damaged_copy_without_a_network_names_the_file(load, server, tmp_path, damaged):
    load("openml:61")
    (tmp_path / "openml" / damaged).write_bytes(b"something else")
    server.reachable = False
    with pytest.raises(FileError, match=rf"cache is damaged.*{damaged}.*could not be reached"):
        load("openml:61")


def test_a_lost_file_is_fetched_again(load, server, tmp_path):
    load("openml:61")
    (tmp_path / "openml" / "dataset-61.arff").unlink()
    assert len(load("openml:61")) == 4


def test_a_value_edited_in_the_copy_is_noticed(load, server, tmp_path):
    load("openml:61")
    path = tmp_path / "openml" / "dataset-61.arff"
    path.write_bytes(path.read_bytes().replace(b"0.5", b"9.5"))
    assert load("openml:61").features["x"][0] == 0.5


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("suite-99.json", {"tasks": "37"}),
        ("suite-99.json", {"tasks": [3, None]}),
        ("task-3.json", {"dataset": "../103"}),
        ("task-3.json", {"target": True}),
        ("dataset-103.json", {"left_out": 5}),
        ("dataset-103.json", {"left_out": [["x"]]}),
        ("dataset-103.json", {"sha256": None}),
    ],
)
def test_a_document_with_other_values_than_were_kept_is_damaged(server, tmp_path, file, change):
    def load_suite():
        return load_datasets("openml-suite:99", cache=tmp_path, server=server)

    load_suite()
    path = tmp_path / "openml" / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    server.reachable = False
    with pytest.raises(FileError, match=f"cache is damaged.*{file}' says {next(iter(change))} is"):
        load_suite()
    server.reachable = True
    assert [dataset.name for dataset in load_suite()] == ["toy-103", "toy-107"]


def test_half_a_download_is_not_taken_for_a_whole_one(load, server, tmp_path):
    server.content = ARFF[:-5]
    with pytest.raises(FileError, match="cut short"):
        load("openml:61")
    server.content = ARFF
    assert len(load("openml:61")) == 4


def test_what_was_finished_stays(server, tmp_path):
    with pytest.raises(InputError, match="Unknown dataset"):
        load_datasets(["openml:61", "openml:999"], cache=tmp_path, server=server)
    server.reachable = False
    assert len(load_dataset("openml:61", cache=tmp_path, server=server)) == 4


def test_an_id_is_a_whole_number(subtests, load, server):
    for source in ["openml:iris", "openml:-1", "openml:", "openml-task:1.5"]:
        with subtests.test(source=source):
            with pytest.raises(InputError, match="Give a whole number"):
                load(source)
            assert server.asked == []


@pytest.mark.parametrize("name", ["../../etc", "a/b", ""])
def test_a_suite_has_a_plain_name(server, tmp_path, name):
    with pytest.raises(InputError, match="is not an OpenML suite"):
        load_datasets(f"openml-suite:{name}", cache=tmp_path, server=server)


def test_an_empty_suite_says_so(server, tmp_path):
    with pytest.raises(InputError, match="holds no tasks"):
        load_datasets("openml-suite:empty", cache=tmp_path, server=server)


@pytest.mark.parametrize("stated", [None, "y1,y2"])
def test_without_a_single_stated_target_one_must_be_named(load, server, stated):
    server.target = stated
    with pytest.raises(InputError, match="target='class'"):
        load("openml:61")
    assert load("openml:61", "class").target.name == "class"


def test_the_cache_holds_plain_text_only(load, tmp_path):
    load("openml-task:7")
    names = sorted(path.name for path in (tmp_path / "openml").iterdir())
    assert names == ["dataset-107.arff", "dataset-107.json", "task-7.json"]
    assert json.loads((tmp_path / "openml" / "task-7.json").read_text())["dataset"] == 107


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    assert cache_folder(tmp_path / "there") == tmp_path / "there"
    monkeypatch.delenv("OGIVE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / ".cache" / "ogive"


def test_a_full_disk_says_so_and_keeps_nothing(load, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ogive._files.os.fsync", full)
    with pytest.raises(FileError, match="no space left"):
        load("openml:61")
    assert list((tmp_path / "openml").iterdir()) == []


def test_a_disk_that_fills_up_keeps_what_was_finished(load, server, monkeypatch):
    load("openml:61")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as filled:
        filled.setattr("ogive._files.os.fsync", full)
        with pytest.raises(FileError, match=r"no space left on the disk for '.*dataset-62"):
            load("openml:62")
    server.reachable = False
    assert len(load("openml:61")) == 4


def test_without_the_package_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "openml", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[openml\]"):
        load_dataset("openml:61", cache=tmp_path)

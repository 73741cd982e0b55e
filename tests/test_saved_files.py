"""One `load` for everything that is saved."""

import json
import zipfile
from itertools import product

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive._load import KINDS, load_only
from ogive.errors import FileError, InputError
from ogive.irt.adaptive.rules import (
    AnyOf,
    AtLeast,
    Budget,
    DifficultyPercentile,
    StandardError,
    StepRule,
)
from ogive.irt.adaptive.selectors import ContentBalance, MaximumInformation, Randomesque

X = np.random.default_rng(0).normal(size=(200, 2))
LABELS = (X.sum(axis=1) > 0).astype(int)
TABLE = og.simulate("2pl", 60, 12, random_state=1).responses


@pytest.fixture(scope="module")
def bank():
    return og.calibrate(TABLE)


@pytest.fixture(scope="module")
def made(bank):
    """One of each kind, with the name it is saved under."""
    pytest.importorskip("skops")
    return {
        "calibration": (bank, "bank.json"),
        "gate": (og.CapabilityGate().fit(X, LABELS), "gate.json"),
        "difficulty-regressor": (og.DifficultyRegressor("stepwise").fit(X, X[:, 0]), "d.skops"),
        "algorithm-selector": (og.AlgorithmSelector("survival").fit(X[:40], X[:40]), "s.skops"),
        "short-benchmark": (og.shorten(TABLE, 4, cv=2), "short.json"),
        "adaptive-test": (og.AdaptiveTest(bank, stopper=Budget(3)), "test.json"),
        "responses": (TABLE, "responses.parquet"),
    }


def test_every_kind_but_the_deep_one_is_tried_here(made):
    assert {*made, "deep-difficulty-regressor"} == set(KINDS)


def test_a_file_is_read_by_what_it_says_it_is(subtests, made, tmp_path_factory):
    for kind in [kind for kind in KINDS if not kind.startswith("deep")]:
        with subtests.test(kind=kind):
            tmp_path = tmp_path_factory.mktemp("case")
            thing, name = made[kind]
            path = thing.save(tmp_path / name)
            assert path == tmp_path / name
            again = og.load(path)
            assert type(again) is type(thing)
            assert type(load_only(kind, path)) is type(thing)
            if path.suffix == ".json":  # the ending does not matter, nor do spaces before it
                (tmp_path / "other").write_bytes(b"\xef\xbb\xbf \n" + path.read_bytes())
                if kind != "gate":  # whose model lies beside it
                    assert type(og.load(str(tmp_path / "other"))) is type(thing)


def test_a_file_that_was_cut_short_is_refused_by_its_name(subtests, made, tmp_path_factory):
    for kind, share in product(
        [kind for kind in KINDS if not kind.startswith("deep")], [0.3, 0.99]
    ):
        with subtests.test(kind=kind, share=share):
            tmp_path = tmp_path_factory.mktemp("case")
            thing, name = made[kind]
            path = thing.save(tmp_path / name)
            path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
            with pytest.raises((FileError, InputError), match=name):
                og.load(path)


def test_a_file_of_a_later_release_asks_for_an_upgrade(subtests, made, tmp_path_factory):
    for kind in ["calibration", "gate", "short-benchmark", "adaptive-test"]:
        with subtests.test(kind=kind):
            tmp_path = tmp_path_factory.mktemp("case")
            thing, name = made[kind]
            path = thing.save(tmp_path / name)
            path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
            with pytest.raises(FileError, match=r"newer Ogive.*Update Ogive"):
                og.load(path)


def test_what_was_loaded_does_what_was_saved(made, tmp_path):
    paths = {kind: thing.save(tmp_path / name) for kind, (thing, name) in made.items()}
    found = {kind: og.load(path) for kind, path in paths.items()}
    pd.testing.assert_frame_equal(found["calibration"].items, made["calibration"][0].items)
    assert found["responses"] == TABLE
    np.testing.assert_array_equal(found["gate"].predict(X), made["gate"][0].predict(X))
    assert found["adaptive-test"].digest == made["adaptive-test"][0].digest


def test_what_it_cannot_read_is_named(subtests, tmp_path_factory):
    cases = [
        ("notes.txt", b"just text", "not a file that Ogive saved.*load reads a calibration"),
        ("scores.csv", b"model,a\nm,1\n", "read_responses"),
        ("list.json", b"[1]", "not a file that Ogive saved"),
        ("other.json", b'{"a": 1}', "is JSON, but not a file that Ogive wrote"),
        ("summary.json", b'{"schema": "ogive/report", "version": 1}', "'ogive/report', whi"),
        ("settings.json", b'{"schema": "ogive/deep-difficulty-regressor"}', "Load its folder"),
        ("cut.json", b'{"schema": "ogive/gate"', "not valid JSON"),
        ("empty.json", b"", "is empty"),
        ("bad.parquet", b"PAR1 nonsense", "is not an intact Parquet file"),
        ("bad.skops", b"PK\x03\x04 nonsense", "not a whole archive"),
        ("gate.json", b'{"schema": "ogive/gate"}', "no usable format version"),
    ]
    for name, content, message in cases:
        with subtests.test(name=name, content=content, message=message):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / name).write_bytes(content)
            with pytest.raises(FileError, match=rf"(?s){name}.*{message}"):
                og.load(tmp_path / name)


def test_tables_and_archives_of_others_are_refused(tmp_path):
    pd.DataFrame({"a": [1.0]}).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(FileError, match=r"Parquet table that Ogive did not save.*read_respon"):
        og.load(tmp_path / "table.parquet")
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("log.json", "{}")
    with pytest.raises(FileError, match="a zip archive, but not one of skops"):
        og.load(tmp_path / "logs.zip")


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileError, match=r"no file 'nowhere\.json'"):
        og.load(tmp_path / "nowhere.json")
    with pytest.raises(FileError, match=r"is a folder, but not one that DeepDifficultyRegressor"):
        og.load(tmp_path)
    with pytest.raises(InputError, match="path of a file is needed"):
        og.load(None)


def test_a_limit_on_the_size_holds_for_all(made, tmp_path):
    for thing, name in made.values():
        path = thing.save(tmp_path / name)
        with pytest.raises(FileError, match=r"the limit is 100 bytes.*max_bytes"):
            og.load(path, max_bytes=100)


def test_options_of_deep_regressors_are_refused_for_other_files(made, tmp_path):
    path = made["calibration"][0].save(tmp_path / "bank.json")
    with pytest.raises(InputError, match=r"are for deep.*bank\.json' holds a calibration"):
        og.load(path, device="cpu")


def test_the_wrong_kind_is_named_where_one_is_needed(made, tmp_path):
    path = made["gate"][0].save(tmp_path / "gate.json")
    with pytest.raises(FileError, match=r"holds a capability gate, but a calibration"):
        load_only("calibration", path)


# Adaptive tests

GROUPS = {name: "ab"[k % 2] for k, name in enumerate(TABLE.items)}
PARTS = {
    "names": ("percentile", "score", "map", ["budget", "error"]),
    "objects": (DifficultyPercentile(30), Randomesque(3), StepRule(noise=0.0), StandardError(0.4)),
    "nested": (
        "mean",
        ContentBalance(GROUPS, {"a": 2.0, "b": 1.0}, MaximumInformation()),
        "eap",
        AnyOf((Budget(6), AtLeast(2, StandardError(0.5)))),
    ),
}


@pytest.mark.parametrize("parts", PARTS)
def test_an_adaptive_test_asks_the_same_after_loading(bank, parts, tmp_path):
    if parts == "names":  # a budget is 20 items
        bank = og.calibrate(og.simulate("2pl", 60, 25, random_state=1).responses)
    test = og.AdaptiveTest(bank, *PARTS[parts], random_state=5)
    again = og.load(test.save(tmp_path / "test.json"))
    assert again.parts == test.parts
    assert again.digest == test.digest
    sessions = test.start(3), again.start(3)
    while (item := sessions[0].next_item()) is not None:
        assert sessions[1].next_item() == item
        for session in sessions:
            session.answer(item, 1)
    assert sessions[0].ability == sessions[1].ability


class Own:
    def begin(self, bank):
        return 0.0


def test_a_test_with_a_part_of_ones_own_is_not_saved(bank, tmp_path):
    with pytest.raises(InputError, match="The initializer is a Own, which is not a part of Ogive"):
        og.AdaptiveTest(bank, Own()).save(tmp_path / "test.json")
    with pytest.raises(InputError, match=r"Use \.json"):
        og.AdaptiveTest(bank).save(tmp_path / "test.skops")
    assert not list(tmp_path.iterdir())


def test_an_edited_test_is_refused(subtests, bank, tmp_path_factory):
    cases = [
        {"selector": {"os.system": {}}},
        {"selector": {"Budget": {"max_items": 3}}},
        {"selector": 7},
        {"stopper": {"Budget": {"max_items": -3}}},
        {"stopper": {"Budget": {"nonsense": 3}}},
        {"stopper": {"Budget": 3}},
        {"stopper": {"Budget": {"max_items": 10**6}}},
        {"initializer": "nowhere"},
        {"calibration": {}},
        {"random_state": "x"},
    ]
    for change in cases:
        with subtests.test(change=change):
            tmp_path = tmp_path_factory.mktemp("case")
            path = og.AdaptiveTest(bank, stopper=Budget(3)).save(tmp_path / "test.json")
            path.write_text(json.dumps(json.loads(path.read_text()) | change))
            with pytest.raises(
                FileError, match=r"test\.json' is not an adaptive test that this Ogive"
            ):
                og.load(path)


def test_an_archive_that_does_not_unpack_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", bytes(range(256)) * 8)
    content = bytearray(path.read_bytes())
    content[45:60] = b"\xff" * 15  # the packed bytes
    path.write_bytes(content)
    with pytest.raises(FileError, match="is not a whole archive"):
        og.load(path)

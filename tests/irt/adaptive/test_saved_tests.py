"""Adaptive tests as files: what was written is what is read."""

import json

import numpy as np
import pytest

from ogive import load
from ogive.errors import FileError, InputError
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import (
    AnyOf,
    AtLeast,
    Budget,
    DifficultyPercentile,
    StandardError,
    StepRule,
)
from ogive.irt.adaptive.selectors import ContentBalance, NearestByLot, Randomesque


def written_and_read(test, path):
    test.save(path)
    return load(path)


def test_parts_come_back_with_their_settings(ladder, tmp_path, subtests):
    groups = {name: "ab"[k % 2] for k, name in enumerate(ladder.item_names)}
    cases = {
        "names": {"initializer": "percentile", "selector": "nearest", "stopper": "budget"},
        "settings": {
            "initializer": DifficultyPercentile(30),
            "selector": Randomesque(7),
            "estimator": StepRule(first=2.0, noise=0.05),
            "stopper": AtLeast(3, StandardError(0.4)),
            "random_state": 5,
        },
        "lists": {"stopper": ["error", Budget(9)], "selector": NearestByLot(2)},
        "inside each other": {
            "selector": ContentBalance(groups, {"a": 2.0, "b": 1}, Randomesque(3)),
            "stopper": AnyOf((Budget(np.int64(8)), StandardError(0.5))),
        },
    }
    for case, settings in cases.items():
        with subtests.test(case):
            test = AdaptiveTest(ladder, **settings)
            again = written_and_read(test, tmp_path / "test.json")
            assert again.parts == test.parts
            assert again.digest == test.digest
            assert again.random_state == test.random_state


def test_only_json_is_written(ladder, tmp_path):
    with pytest.raises(InputError, match=r"its ending is '.csv'. Use .json"):
        AdaptiveTest(ladder).save(tmp_path / "test.csv")
    assert AdaptiveTest(ladder).save(tmp_path / "test.JSON").exists()


class Mine:
    """A selector from elsewhere."""

    def choose(self, state, free):
        del state
        return free.argmax(axis=1)


def test_parts_from_elsewhere_cannot_be_saved(ladder, tmp_path):
    test = AdaptiveTest(ladder, selector=Mine())
    with pytest.raises(InputError, match="The selector is a Mine, which is not a part of Ogive"):
        test.save(tmp_path / "test.json")


def test_what_is_no_part_is_said_with_its_file(ladder, tmp_path, subtests):
    path = tmp_path / "test.json"
    AdaptiveTest(ladder, selector=Randomesque(2)).save(path)
    document = json.loads(path.read_text())
    for wrong, said in {
        "two": ({"Randomesque": {}, "Budget": {}}, "not the name of a part with settings"),
        "number": (3, "its selector is 3, not the name"),
        "unknown": ({"Best": {}}, "its selector is 'Best', which is unknown here"),
        "no settings": ({"Randomesque": 3}, "its selector is 'Randomesque', which is unknown"),
        "bad setting": ({"Randomesque": {"among": 0}}, "among is 0"),
    }.values():
        with subtests.test(said):
            path.write_text(json.dumps({**document, "selector": wrong}))
            with pytest.raises(FileError, match=said):
                load(path)

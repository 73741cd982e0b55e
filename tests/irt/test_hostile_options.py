"""Options of a model in an edited bank: refused when it is loaded, not when it is used."""

import json

import pytest

import ogive as og
from ogive.errors import FileError

CASES = [
    ("graded", "categories", [2147483648] * 3),
    ("graded", "categories", [2, 2]),
    ("graded", "categories", "many"),
    ("graded", "lowest", "x"),
    ("graded", "lowest", 10**400),
    ("gpcm", "lowest", [None] * 3),
    ("continuous", "inside", [[0, 1], [0, 1]]),
    ("continuous", "bounds", [[0, 1], [0, 1]]),
    ("continuous", "bounds", [1, 0]),
    ("beta", "inside", [-1, 0.5]),
    ("beta", "inside", [0.5, 2.5]),
    ("beta", "bounds", [0, 10]),
]


def test_an_option_that_cannot_be_is_refused_on_loading(tmp_path, subtests):
    for model, option, value in CASES:
        with subtests.test(model=model, option=option, value=value):
            responses = og.simulate(model, 40, 3, random_state=1).responses
            path = og.calibrate(responses, model).save(tmp_path / "bank.json")
            document = json.loads(path.read_text())
            document["model"]["options"][option] = value
            path.write_text(json.dumps(document))
            with pytest.raises(FileError, match="is not a calibration that this Ogive can use"):
                og.load(path)

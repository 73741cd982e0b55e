"""A share of the campaign of `make fuzz`: damaged samples of every reader, from fixed seeds."""

import sys
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from itemwise.errors import ItemwiseError

SCRIPTS = Path(__file__).parents[2] / "scripts"
if not SCRIPTS.exists():
    pytest.skip("the campaign lies in the repository", allow_module_level=True)
sys.path.insert(0, str(SCRIPTS))
from hostile_mutations import damaged  # noqa: E402
from hostile_readers import READERS  # noqa: E402

INPUTS = 12


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_as_something_or_refused_with_a_reason(name, tmp_path):
    reader = READERS[name]
    target, path = reader.make(tmp_path)
    good = target.read_bytes()
    reader.use(path)
    others = {each: each.read_bytes() for each in target.parent.iterdir() if each.is_file()}
    refused = 0
    for seed in range(INPUTS):
        for each, content in others.items():
            each.write_bytes(content)
        target.write_bytes(damaged(good, seed))
        if reader.sign is not None:
            with suppress(Exception):  # what cannot be signed stays as it is
                reader.sign(path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                reader.use(path)
        except ItemwiseError as error:
            refused += 1
            assert "\n" not in str(error)[:-1]  # noqa: PT017 - one sentence or two
    assert refused or name in ("lm-eval, results", "Every Eval Ever")  # much of them is optional


def test_the_same_seed_makes_the_same_damage():
    content = b'{"a": [1, 2.5, "x"], "b": null}\n' * 3
    assert [damaged(content, seed) for seed in range(50)] == [
        damaged(content, seed) for seed in range(50)
    ]
    assert len({damaged(content, seed) for seed in range(50)}) > 40

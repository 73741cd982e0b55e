"""A share of the campaign of `make fuzz`: damaged samples of every reader, from fixed seeds."""

import json
import os
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from ogive.errors import OgiveError

SCRIPTS = Path(__file__).parents[2] / "scripts"
if not SCRIPTS.exists():
    pytest.skip("the campaign lies in the repository", allow_module_level=True)
sys.path.insert(0, str(SCRIPTS))
from attacks import clear, met_by  # noqa: E402
from hostile_attacks import ATTACKS, SMALL  # noqa: E402
from hostile_coverage import lines_of, words_of  # noqa: E402
from hostile_mutations import damaged  # noqa: E402
from hostile_readers import READERS  # noqa: E402
from hostile_samples import prepared  # noqa: E402

INPUTS = 4


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_as_something_or_refused_with_a_reason(name, tmp_path):
    reader = READERS[name]
    ready = prepared(reader.samples[:1], reader.use, tmp_path / "samples")
    (sample,) = ready.samples
    originals = ready.restore(0)
    words = words_of(reader.modules)
    for seed in range(INPUTS):
        target = sample.targets[seed % len(sample.targets)]
        for path, content in originals.items():
            path.write_bytes(damaged(content, seed, words) if path == target else content)
        if reader.sign is not None:
            with suppress(Exception):  # what cannot be signed stays as it is
                reader.sign(sample.path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                reader.use(sample.path)
        except OgiveError as error:
            assert "\n" not in str(error)[:-1]  # noqa: PT017 - one sentence or two
    if hasattr(os, "fork"):
        assert _of_attacks(name, ready, tmp_path / "told") == []


def _of_attacks(name, ready, told):
    """What failed when the first file was something else; in a child, which may hang or abort."""
    child = os.fork()
    if not child:
        try:
            signal.alarm(60)
            told.write_text(json.dumps(_failures(name, ready)))
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    return json.loads(told.read_text()) if not status else [f"signal {status & 127}"]


def _failures(name, ready):
    sample, (target, *_) = ready.samples[0], ready.samples[0].targets
    failed = []
    for attack, made in ATTACKS.items():
        good = ready.restore(0)[target]
        user = os.geteuid()
        if made.make(target, good, SMALL.get(made.size, 0)):
            met = met_by(name, READERS[name], sample.path, attack)
            os.seteuid(user)
            failed += [(attack, met["why"])] * (met["outcome"] == "failed")
        clear(target)
    return failed


def test_every_reader_names_the_modules_whose_lines_are_counted():
    few = [name for name, reader in READERS.items() if len(lines_of(reader.modules)) < 20]
    assert few == []


def test_the_same_seed_makes_the_same_damage():
    content = b'{"a": [1, 2.5, "x"], "b": null}\n' * 3
    assert [damaged(content, seed) for seed in range(50)] == [
        damaged(content, seed) for seed in range(50)
    ]
    assert len({damaged(content, seed) for seed in range(50)}) > 40

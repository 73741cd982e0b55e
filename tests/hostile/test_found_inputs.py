"""Files that once did harm: each is refused, or read as what it is."""

import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

import ogive as og
from ogive.errors import OgiveError

HERE = Path(__file__).parent
SCRIPTS = HERE.parents[1] / "scripts"
FOUND = sorted(path for path in (HERE / "found").rglob("*") if path.is_file())


def use(path):
    """What a person does first with a file of responses."""
    for read in (og.read_responses, og.scan_responses):
        try:
            read(path)
        except OgiveError as error:
            assert path.name in str(error)  # noqa: PT017


@pytest.mark.skipif(not hasattr(os, "fork"), reason="an abort can only be seen from outside")
@pytest.mark.parametrize("path", sorted(HERE.glob("*.parquet")), ids=lambda path: path.stem)
def test_a_changed_byte_of_a_footer_does_not_end_the_process(path):
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        done = 1
        try:
            use(path)
            done = 0
        finally:
            os._exit(done)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not SCRIPTS.exists(), reason="the campaign lies in the repository")
@pytest.mark.parametrize("found", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_the_campaign_found_is_read_or_refused(found, tmp_path):
    """A file found/<reader>/<number of the sample>-<why>-<file of the sample>."""
    sys.path.insert(0, str(SCRIPTS))
    from hostile_readers import READERS

    number, _, name = found.name.split("-", 2)
    (reader,) = (READERS[key] for key in READERS if slug(key) == found.parent.name)
    sample = reader.samples[int(number)](tmp_path)
    (target,) = (path for path in sample.targets if path.name == name)
    target.write_bytes(found.read_bytes())
    if reader.sign is not None:
        reader.sign(sample.path)
    with warnings.catch_warnings(), suppress(OgiveError):
        warnings.simplefilter("error", RuntimeWarning)
        reader.use(sample.path)


def slug(name):
    return name.replace(" ", "-").replace(",", "")

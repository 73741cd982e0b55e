"""Files that once did harm: each is refused, or read as what it is."""

import os
from pathlib import Path

import pytest

import itemwise as iw
from itemwise.errors import ItemwiseError

HERE = Path(__file__).parent


def use(path):
    """What a person does first with a file of responses."""
    for read in (iw.read_responses, iw.scan_responses):
        try:
            read(path)
        except ItemwiseError as error:
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

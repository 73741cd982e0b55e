"""Names that `ogive.irt` asks of `ogive.data` exist there."""

import re
from pathlib import Path

import ogive
from ogive.irt.response_matrix import from_data, is_opened, is_scanned


def test_every_name_that_is_asked_for_exists(subtests):
    text = "".join(p.read_text() for p in (Path(ogive.__file__).parent / "irt").rglob("*.py"))
    asked = set(re.findall(r'from_data\("(\w+)", "(\w+)"\)', text))
    assert ("responses", "as_responses") in asked
    for module, name in asked:
        with subtests.test(f"{module}.{name}"):
            assert from_data(module, name) is not None


def test_tables_in_memory_are_not_scanned():
    table = ogive.Responses([[1, 0], [0, 1]])
    assert not is_scanned(table)
    assert not is_opened(table.cells)

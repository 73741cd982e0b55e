"""The house has no import cycles, and every module has a name of its own."""

from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

import itemwise


def test_no_modules_import_each_other():
    """Imports inside functions count; those for type checkers only do not."""
    graph = grimp.build_graph("itemwise", exclude_type_checking_imports=True, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_no_two_modules_have_the_same_name():
    files = Path(itemwise.__file__).parent.rglob("*.py")
    names = Counter(file.name for file in files if file.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []

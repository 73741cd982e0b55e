"""The house has no import cycles."""

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


@pytest.fixture(scope="module")
def graph():
    """Imports inside functions count; those for type checkers only do not."""
    return grimp.build_graph("itemwise", exclude_type_checking_imports=True, cache_dir=None)


def test_no_modules_import_each_other(graph):
    clean = [name for name in graph.modules if not name.startswith("itemwise.learning.")]
    imports = {name: graph.find_modules_directly_imported_by(name) for name in clean}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))

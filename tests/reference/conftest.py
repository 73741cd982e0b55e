"""The tables that the tests make themselves."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def made():
    """The module `made_tables`, which stands beside this file."""
    path = Path(__file__).with_name("made_tables.py")
    spec = importlib.util.spec_from_file_location("made_tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

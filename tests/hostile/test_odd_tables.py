"""A share of the campaign of odd tables: see scripts/odd_tables.py."""

import sys
from pathlib import Path

import pytest

from itemwise.models import MODELS

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from odd_tables import tally


@pytest.mark.parametrize("model", ["2pl", "continuous"])
def test_whatever_is_not_finite_has_a_reason_and_nothing_warns(model):
    assert model in MODELS
    found = tally(model, n_tables=8, seed=3)
    assert not found.failures + found.warned + found.silent
    assert found.tables - found.refused > 0

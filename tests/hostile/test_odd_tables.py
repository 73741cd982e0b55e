"""A share of the campaign of odd tables: see scripts/odd_tables.py."""

import sys
from pathlib import Path

import numpy as np
import pytest

import ogive as og
from ogive.irt.models import MODELS

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from odd_tables import odd_table, tally, unexplained


@pytest.mark.parametrize("model", MODELS)
def test_whatever_is_not_finite_has_a_reason_and_nothing_warns(model):
    found = tally(model, n_tables=4, seed=0)
    assert not found.failures + found.warned + found.silent
    assert found.tables - found.refused > 0


def test_items_with_as_many_parameters_as_respondents_end_soon_and_say_why():
    """Of the slowest in the campaign: three respondents, 90 items and no priors."""
    _, cells = odd_table("binary", np.random.default_rng([0, 0]))
    found = og.calibrate(cells, "3pl", priors=None)
    assert cells.shape == (3, 90)
    assert not found.converged
    assert found.iterations <= 40
    assert any("for 3 respondents, and no priors" in note for note in found.notes)
    assert unexplained(found) == []

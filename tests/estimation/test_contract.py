"""What every engine promises, over the registries of engines and models."""

import numpy as np
import pytest

from itemwise import calibrate, load, simulate
from itemwise.estimation import ENGINES
from itemwise.models import MODELS

TABLES = {
    "ordinary": simulate("3pl", 120, 6, missing=0.1, random_state=1).responses.values,
    "Guttman": np.tril(np.ones((9, 8))),
    "half right": np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]] * 5),
    "more items than respondents": simulate("2pl", 15, 110, random_state=1).responses.values,
}
# The joint engine fits every item by itself, so it takes no model that shares a parameter.
SHARING = {name for name, model in MODELS.items() if any(c.shared for c in model().coordinates)}
PAIRS = [(e, m) for e in ENGINES for m in MODELS if not (e == "joint" and m in SHARING)]


@pytest.fixture(params=TABLES)
def table(request):
    return TABLES[request.param]


@pytest.fixture(params=PAIRS, ids="-".join)
def cal(request, table):
    engine, model = request.param
    return calibrate(table, model, engine=engine)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_every_fit_survives_save_and_load(cal, tmp_path, suffix):
    found = load(cal.save(tmp_path / f"bank{suffix}"))
    np.testing.assert_array_equal(found.coords, cal.coords)
    assert found.model == cal.model
    assert found.items.equals(cal.items)
    assert found.score(cal.responses).equals(cal.abilities())
    assert (found.engine, found.flags, found.notes) == (cal.engine, cal.flags, cal.notes)


def test_every_fit_lies_inside_the_bounds_of_its_model(cal):
    np.testing.assert_array_equal(cal.model.bounded(cal.coords), cal.coords)


def test_every_fit_converges_or_says_that_it_did_not(cal):
    assert cal.converged != any("Not converged after" in note for note in cal.notes)


def test_every_fit_counts_its_respondents_and_flags_every_item(cal, table):
    assert cal.n_respondents == len(table)
    assert len(cal.flags) == table.shape[1]

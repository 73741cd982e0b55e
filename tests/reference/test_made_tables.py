"""Against programs of other people, on tables that are made here: see `made_tables.py`.

All have 121 nodes, so that what is left is where each stops: mirt (the Rust package of PyPI, not
R's) and statsmodels within 1e-4 of our figures, girth within some hundredths.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from ogive import calibrate
from ogive.irt.models.continuous import Continuous

FIGURES = json.loads(Path(__file__).with_name("made_tables.json").read_text())
STEPS = ["difficulty_1", "difficulty_2", "difficulty_3"]


@pytest.fixture(scope="module")
def tables(made):
    """By model."""
    binary, grades = made.binary(), made.grades()
    found = {"2pl": binary, "3pl": binary, "graded": grades, "gpcm": grades}
    return {**found, "continuous": made.shares()}


@pytest.fixture(scope="module")
def fitted(tables):
    models = {name: name for name in tables} | {"continuous": Continuous(bounds=(0, 1))}
    return {
        name: calibrate(table, models[name], priors=None, tolerance=1e-10)
        for name, table in tables.items()
    }


def difficulties(cal, ending=""):
    names = STEPS if STEPS[0] in cal.items else ["difficulty"]
    return cal.items[[f"{name}{ending}" for name in names]].to_numpy()


def theirs_of(figures, ending=""):
    (name,) = {"difficulty", "thresholds", "steps"} & set(figures)
    found = np.array(figures[f"{name}{ending}"])
    return found.reshape(len(found), -1)


def test_the_tables_are_those_that_the_programs_saw(tables):
    """Whole numbers throughout: these sums, weighted by place, hold on every machine."""
    sums = {}
    for name, table in tables.items():
        cells = np.rint(10_000 * table).astype(np.int64).ravel()
        sums[name] = int((cells * np.arange(1, cells.size + 1)).sum())
    binary, grades = 56_097_990_000, 61_876_570_000
    assert sums == {
        "2pl": binary,
        "3pl": binary,
        "graded": grades,
        "gpcm": grades,
        "continuous": 5_517_836_623,
    }


def test_log_likelihoods_are_those_of_another_program(fitted, subtests):
    for name in ("2pl", "3pl", "graded", "gpcm"):
        with subtests.test(name):
            assert fitted[name].converged
            expected = FIGURES[name]["mirt"]["log_likelihood"]
            assert fitted[name].log_likelihood == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("program", "slopes", "places"), [("mirt", 2e-4, 2e-4), ("girth", 0.005, 0.03)]
)
def test_items_are_those_of_two_other_programs(fitted, program, slopes, places, subtests):
    for name in ("2pl", "graded", "gpcm"):
        with subtests.test(name):
            cal, theirs = fitted[name], FIGURES[name][program]
            expected = theirs["discrimination"]
            np.testing.assert_allclose(cal.items["discrimination"], expected, rtol=0, atol=slopes)
            np.testing.assert_allclose(difficulties(cal), theirs_of(theirs), rtol=0, atol=places)


def test_standard_errors_of_items_are_those_of_another_program(fitted, subtests):
    for name in ("2pl", "graded", "gpcm"):
        with subtests.test(name):
            cal, theirs = fitted[name], FIGURES[name]["mirt"]
            expected = theirs["discrimination_se"]
            np.testing.assert_allclose(cal.items["discrimination_se"], expected, rtol=1e-3)
            np.testing.assert_allclose(
                difficulties(cal, "_se"), theirs_of(theirs, "_se"), rtol=1e-3
            )


def test_abilities_are_those_of_another_program(fitted, subtests):
    for name in ("2pl", "graded", "gpcm"):
        for method in ("EAP", "MAP"):
            with subtests.test(name, method=method):
                theirs = FIGURES[name]["mirt"]
                ours = (
                    fitted[name]
                    .abilities(method.lower(), items_known=True)
                    .iloc[: len(theirs[method])]
                )
                np.testing.assert_allclose(ours["ability"], theirs[method], rtol=0, atol=1e-3)
                np.testing.assert_allclose(ours["se"], theirs[f"{method}_se"], rtol=2e-3)


def test_the_continuous_model_is_the_factor_analysis_of_log_odds(fitted):
    """One factor by maximum likelihood: log-odds = mean + loading * ability + an error."""
    cal, theirs = fitted["continuous"], FIGURES["continuous"]["statsmodels"]
    mean, loading, unique = (np.array(theirs[k]) for k in ("mean", "loading", "uniqueness"))
    near = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(cal.items["discrimination"], loading / np.sqrt(unique), **near)
    np.testing.assert_allclose(cal.items["difficulty"], -mean / loading, **near)
    np.testing.assert_allclose(1 / cal.items["scaling"], loading, **near)
    base = cal.model.log_base(cal.responses.cells, np.ones(cal.responses.n_respondents))
    expected = theirs["log_likelihood_of_log_odds"]
    assert cal.log_likelihood - base == pytest.approx(expected, abs=1e-6)

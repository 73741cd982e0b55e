"""Against the AIRT paper and R's airt 0.2.3: the continuous model on two algorithm portfolios.

Respondents are problems, items are algorithms. The printed figures come from an EM that stops
early; `..._exactML_factanal.csv` holds the maximum itself, by factor analysis of the log-odds.
"""

import numpy as np
import pandas as pd
import pytest

from ogive import calibrate, read_aslib
from ogive.irt.models.continuous import Continuous

TIMED_OUT = 6000.0
WEKA, CSP = "airt_weka_minmax", "airt_cspobj_recip1p"
SCENARIOS = [WEKA, CSP]
AS_AIRT = Continuous(bounds="table", at_bounds=0.01)


@pytest.fixture(scope="module")
def performance(shared):
    """Accuracy of 30 classifiers; and speed of 22 solvers, 1 / (1 + seconds)."""
    weka = read_aslib(shared / "data" / "aslib" / "OPENML-WEKA-2017").performance
    csp = read_aslib(shared / "data" / "aslib" / "CSP-Minizinc-Obj-2016", "time")
    late = csp.status == "timeout"
    speed = 1 / (1 + csp.performance.mask(late, TIMED_OUT))
    often = late.sum(axis=1)
    return {
        WEKA: weka.rename(columns=lambda name: name.replace("weka.", "")),
        CSP: speed[often < often.max()],
    }


@pytest.fixture(scope="module")
def published(performance):
    return {name: calibrate(table, preset="airt") for name, table in performance.items()}


@pytest.fixture(scope="module")
def best(performance):
    """The maximum without priors; solvers that tell little need more than the default tolerance."""
    settings = {"priors": None, "tolerance": 1e-10}
    return {name: calibrate(table, AS_AIRT, **settings) for name, table in performance.items()}


@pytest.fixture(scope="module")
def airt(shared):
    def frame(scenario, ending, index="algorithm"):
        path = shared / "reference" / f"{scenario}_{ending}.csv"
        return pd.read_csv(path, dtype={index: str}).set_index(index)

    return frame


def preset_gives_the_algorithms(ours, theirs):
    assert list(ours.index) == list(theirs.index)
    for found, expected in [
        (ours["discrimination"], theirs["alpha_a"]),
        (ours["difficulty"], theirs["beta_b"]),
        (1 / ours["scaling"], theirs["gamma_alpha"]),
        (1 / ours["discrimination"].abs(), theirs["consistency"]),
        (-ours["difficulty"], theirs["difficulty_limit"]),
        (ours["discrimination"] < 0, theirs["anomalous"]),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def preset_gives_the_difficulty_of_problems(scored, theirs):
    """airt turns maximum-likelihood abilities and gives them mean 0 and deviation 1."""
    ability = scored["ability"]
    assert list(scored.index) == list(theirs.index)
    np.testing.assert_allclose(
        -(ability - ability.mean()) / ability.std(), theirs["difficulty"], atol=2e-9
    )
    np.testing.assert_allclose(scored["se"], theirs["se"], rtol=1e-9)


def test_the_preset_gives_the_figures_of_airt_and_of_the_paper(
    shared, performance, published, airt, subtests
):
    with subtests.test("the tables are those of the paper"):
        assert performance[WEKA].shape == (105, 30)
        assert performance[CSP].shape == (99, 22)
        assert not any(table.isna().any(axis=None) for table in performance.values())
    for scenario in SCENARIOS:
        cal = published[scenario]
        with subtests.test("algorithms", scenario=scenario):
            preset_gives_the_algorithms(cal.items, airt(scenario, "algorithms"))
        with subtests.test("difficulty of problems", scenario=scenario):
            theirs = airt(scenario, "difficulty", "instance")
            preset_gives_the_difficulty_of_problems(cal.abilities("ml", items_known=True), theirs)
        with subtests.test("it says that it stops early, with every error", scenario=scenario):
            assert any("need not be near the maximum" in note for note in cal.notes)
            assert np.isfinite(cal.items.drop(columns="flag")).all(axis=None)
    with subtests.test("consistency and difficulty limit as printed"):
        # All 30 algorithms, in the order of the table; half of the last digit is rounding.
        path = shared / "data" / "paper_tables" / "003_table4_openml_weka_airt_metrics.csv"
        printed, items = pd.read_csv(path), published[WEKA].items
        own = items.index.str.replace("MultilayerPerceptron", "MLP")
        pairs = zip(own, printed["algorithm"], strict=True)
        assert [ours.endswith(name) for ours, name in pairs] == [True] * 30
        half = {"rtol": 0, "atol": 0.0005 + 1e-9}
        consistency = 1 / items["discrimination"].abs()
        np.testing.assert_allclose(consistency, printed["consistency"], **half)
        np.testing.assert_allclose(-items["difficulty"], printed["difficulty_limit"], **half)
        np.testing.assert_array_equal(items["discrimination"] < 0, printed["anomalous"])


def items_are_near(items, theirs, **tolerance):
    np.testing.assert_allclose(items["discrimination"], theirs["alpha_a"], **tolerance)
    np.testing.assert_allclose(items["difficulty"], theirs["beta_b"], **tolerance)
    np.testing.assert_allclose(1 / items["scaling"], theirs["gamma_alpha"], **tolerance)


def test_em_finds_the_maximum_that_factor_analysis_finds(
    performance, published, best, airt, subtests
):
    for scenario in SCENARIOS:
        theirs, cal = airt(scenario, "exactML_factanal"), best[scenario]
        with subtests.test("items", scenario=scenario):
            assert cal.converged
            items_are_near(cal.items, theirs, rtol=1e-4, atol=1e-4)
            assert np.isfinite(cal.items.drop(columns="flag")).all(axis=None)
        with subtests.test("log-likelihood of the log-odds", scenario=scenario):
            base = cal.model.log_base(cal.responses.cells, np.ones(cal.responses.n_respondents))
            expected = theirs["marginal_LL"].iloc[0]
            assert cal.log_likelihood - base == pytest.approx(expected, abs=1e-6)
        with subtests.test("the published algorithms lie below it", scenario=scenario):
            assert published[scenario].log_likelihood < cal.log_likelihood
    with subtests.test("the default settings are enough for the 30 classifiers"):
        cal = calibrate(performance[WEKA], AS_AIRT, priors=None)
        items_are_near(cal.items, airt(WEKA, "exactML_factanal"), atol=1e-4)
    with subtests.test("the published discriminations of classifiers are too small"):
        # By 1.27, which two decimals say to 0.005.
        ratio = best[WEKA].items["discrimination"] / published[WEKA].items["discrimination"]
        assert ratio.median() == pytest.approx(1.27, abs=0.005)

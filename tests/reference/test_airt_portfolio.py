"""The AIRT paper's tables from the portfolio study, and R's mgcv for its curves.

Every table is of `preset="airt"`, which stops the estimation where the paper's program does.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.stats.splines import fit_splines

WEKA, CSP = "OPENML-WEKA-2017", "CSP-Minizinc-Obj-2016"
HALF_A_DIGIT = 0.0005 + 1e-9
OCCUPANCIES = [(0.0, "lto_eps0"), (0.01, "lto_eps0.01")]  # epsilon, column of the tables
# The mean member of portfolios of five. The paper looks at epsilon = 0.05 in the scenarios of
# solvers, and at 0.01 in the one of classifiers; its folds are its own, ten at random.
AS_PRINTED = {
    "preset": "airt",
    "epsilon": 0.05,
    "sizes": [5],
    "methods": ["airt", "topset"],
    "cv": 10,
}


@pytest.fixture(scope="module")
def aslib(shared):
    return lambda name, *measure: og.read_aslib(shared / "data" / "aslib" / name, *measure)


@pytest.fixture(scope="module")
def printed(shared):
    def table(name, index):
        return pd.read_csv(shared / "data" / "paper_tables" / f"003_{name}.csv").set_index(index)

    return table


@pytest.fixture(scope="module")
def weka(aslib):
    return og.portfolio(aslib(WEKA), preset="airt")


@pytest.fixture(scope="module")
def solvers(aslib):
    """Times of 22 solvers; timeouts count as 6000, five times the cut-off, without the problem
    that most solvers leave unsolved."""
    scenario = aslib(CSP, "time")
    late = (scenario.status == "timeout").sum(axis=1)
    kept = late < late.max()
    return replace(scenario, performance=scenario.performance[kept], status=scenario.status[kept])


@pytest.fixture(scope="module")
def csp(solvers):
    return og.portfolio(solvers, penalty=5, transform="reciprocal", preset="airt")


def aligned(printed_table, found):
    """The printed rows under our names, which end as they do."""
    own = found.index.str.replace("weka.", "", regex=False)
    own = own.str.replace("MultilayerPerceptron", "MLP")
    pairs = zip(own, printed_table.index, strict=True)
    assert all(ours.endswith(theirs) for ours, theirs in pairs)
    return printed_table.set_axis(found.index)


def table_4_consistency_and_difficulty_limit(weka, printed):
    theirs = aligned(printed("table4_openml_weka_airt_metrics", "algorithm"), weka.algorithms)
    for name in ("consistency", "difficulty_limit"):
        np.testing.assert_allclose(weka.algorithms[name], theirs[name], rtol=0, atol=HALF_A_DIGIT)
    assert not weka.algorithms["anomalous"].any()


def table_4_occupancy(weka, printed, epsilon, column):
    """One problem of 105 is 0.0095; where a curve crosses another moves by one problem at most."""
    theirs = aligned(printed("table4_openml_weka_airt_metrics", "algorithm"), weka.algorithms)
    found = weka.occupancy(epsilon)
    np.testing.assert_allclose(found["occupancy"], theirs[column], rtol=0, atol=0.0101)
    same = (found["occupancy"] - theirs[column]).abs() <= HALF_A_DIGIT
    assert same.sum() >= {0.0: 26, 0.01: 22}[epsilon]


def table_5_goodness(weka, printed, measure):
    theirs = aligned(printed("table5_openml_weka_model_goodness", "algorithm"), weka.goodness)
    np.testing.assert_allclose(weka.goodness[measure], theirs[measure], rtol=0, atol=HALF_A_DIGIT)


def tables_4_and_5_of_classifiers(weka, printed, subtests):
    with subtests.test("table 4, consistency and difficulty limit"):
        table_4_consistency_and_difficulty_limit(weka, printed)
    for epsilon, column in OCCUPANCIES:
        with subtests.test("table 4, occupancy", epsilon=epsilon):
            table_4_occupancy(weka, printed, epsilon, column)
    for measure in ("mse", "aucdf", "auaec", "aupec"):
        with subtests.test("table 5", measure=measure):
            table_5_goodness(weka, printed, measure)


def table_2_occupancy_in_the_printed_order_and_to_the_printed_digit(csp, printed, epsilon, column):
    assert csp.performances.given.shape == (99, 22)
    theirs = printed("table2_csp_lto", "algorithm")[column]
    theirs = theirs[theirs > 0].sort_values(ascending=False, kind="stable")
    found = csp.occupancy(epsilon)["occupancy"]
    found = found[found > 0].sort_values(ascending=False, kind="stable")
    np.testing.assert_allclose(found[theirs.index], theirs, rtol=0, atol=HALF_A_DIGIT)
    assert set(found.index) == set(theirs.index)
    # Those that are printed alike may stand either way.
    np.testing.assert_allclose(found, theirs, rtol=0, atol=HALF_A_DIGIT)


def test_tables_2_4_and_5(weka, csp, solvers, printed, subtests):
    tables_4_and_5_of_classifiers(weka, printed, subtests)
    for epsilon, column in OCCUPANCIES:
        with subtests.test("occupancy", epsilon=epsilon):
            table_2_occupancy_in_the_printed_order_and_to_the_printed_digit(
                csp, printed, epsilon, column
            )
    with subtests.test("the solvers that time out are those that the scenario says"):
        late = solvers.status == "timeout"
        assert (csp.performances.given.to_numpy()[late] == 6000).all()
        in_time = solvers.performance.to_numpy()[~late]
        np.testing.assert_array_equal(csp.performances.given.to_numpy()[~late], in_time)


def test_curves_are_close_to_those_of_mgcv(shared, weka, csp, subtests):
    """Not equal: mgcv shrinks the two directions that a bend leaves free by different factors,
    and which two these are is up to the linear algebra; ours shrinks both alike."""
    for tag, study, farthest, typical in [
        ("airt_weka_minmax", weka, 0.0075, 0.0011),
        ("airt_cspobj_recip1p", csp, 0.0032, 0.0003),
    ]:
        with subtests.test(tag):
            table = study.performances.modelled
            table = table.rename(columns=lambda name: name.replace("weka.", ""))
            theirs = pd.read_csv(shared / "reference" / f"{tag}_spline_curves.csv")
            problems = pd.read_csv(
                shared / "reference" / f"{tag}_difficulty.csv", dtype={"instance": str}
            ).set_index("instance")["difficulty"]
            names = list(theirs.columns[1:])
            splines = fit_splines(problems[table.index].to_numpy(), table[names].to_numpy())
            away = np.abs(splines.at(theirs["difficulty"].to_numpy()) - theirs[names].to_numpy())
            assert away.max() < farthest
            assert np.median(away.max(axis=0)) < typical


def gaps(comparison, definition="mean member"):
    frame = comparison.frame
    rows = frame[(frame["size"] == 5) & (frame["definition"] == definition)]
    return rows.set_index("method")["gap"]


def test_table_6_solvers_of_logic_programs(aslib, printed):
    found = gaps(og.compare_portfolios(aslib("ASP-POTASSCO"), **AS_PRINTED))
    theirs = printed("table6_mpg_first_half", "aslib_scenario").loc["ASP-POTASSCO"]
    assert found["airt"] == pytest.approx(theirs["airt_mpg"], rel=0.03)
    assert found["topset"] == pytest.approx(theirs["topset_mpg"], rel=0.03)


@pytest.mark.slow
def test_table_6_other_solvers(aslib, printed, subtests):
    """Of 100 problems, topset over five passes lies 5 % below to 4 % above the printed figure,
    as the folds happen to fall: hence thirty."""
    for scenario, repeats in [("CSP-Minizinc-Time-2016", 30), ("GRAPHS-2015", 5)]:
        with subtests.test(scenario):
            found = gaps(og.compare_portfolios(aslib(scenario), **AS_PRINTED, n_resamples=repeats))
            theirs = printed("table6_mpg_first_half", "aslib_scenario").loc[scenario]
            assert found["airt"] == pytest.approx(theirs["airt_mpg"], rel=0.03)
            assert found["topset"] == pytest.approx(theirs["topset_mpg"], rel=0.03)


@pytest.mark.slow
def test_table_6_classifiers(shared, aslib, printed):
    """The printed 0.0553 of airt does not follow: the authors' own output has 0.0357, beside the
    0.0556 of topset that is printed. An epsilon of 0.01 gives both."""
    settings = AS_PRINTED | {"epsilon": 0.01}
    found = gaps(og.compare_portfolios(aslib(WEKA), **settings, n_resamples=30))
    output = pd.read_csv(shared / "data/airt_scripts_output/openml_weka_mean_gap_par10.csv")
    of_five = output[output["num_algos"] == 5][["airt_mu", "topset_mu"]].mean()
    theirs = printed("table6_mpg_first_half", "aslib_scenario").loc[WEKA]
    assert of_five["topset_mu"] == pytest.approx(theirs["topset_mpg"], abs=0.00005)
    assert of_five["airt_mu"] == pytest.approx(0.0357, abs=0.00005)
    assert theirs["airt_mpg"] == 0.0553
    assert found["topset"] == pytest.approx(of_five["topset_mu"], rel=0.03)
    assert found["airt"] == pytest.approx(of_five["airt_mu"], rel=0.03)

"""Against R's mirt 1.45.1: several dimensions, options, groups, and ability that depends on facts.

mirt was asked about tables that are made here (`made_tables.py`) and about SAT12 and Science, which
come with it. Its calls: `mirt(x, mirt.model("F1=...\\nF2=...\\nCOV=F1*F2"), "graded")`, `bfactor`,
`mirt(x, 1, "nominal")`, `multipleGroup(invariance = c("slopes", "intercepts", "free_means",
"free_var"))` and `mirt(x, 1, "2PL", covdata, ~ fact)`, with 61 nodes a dimension (121 for one) and
TOL 1e-7; bifactor 31 nodes and 1e-6. It prints three digits.
"""

import numpy as np
import pandas as pd
import pytest

import ogive as og

DIGITS = 1e-3
NATS = 0.01


def unpenalised(table, dimensions, structure="correlated"):
    return og.dimension_scale(
        table, dimensions, structure=structure, priors=None, cv=None, progress=False
    )


def test_two_correlated_dimensions(made):
    found = unpenalised(made.two_dimensions(), ["one"] * 5 + ["other"] * 5)
    assert found.log_likelihood == pytest.approx(-2982.202089, abs=NATS)
    loadings = [1.002, 1.296, 1.653, 1.558, 1.595, 0.684, 1.119, 1.801, 1.300, 1.766]
    errors = [0.184, 0.212, 0.272, 0.253, 0.272, 0.153, 0.190, 0.319, 0.214, 0.310]
    at_nothing = [0.963, 0.582, -0.296, -0.975, -1.683, 0.882, 0.458, 0.129, -0.623, -1.430]
    np.testing.assert_array_less(
        np.abs(found.loadings["loading"] - loadings), 0.02 * np.array(errors)
    )
    np.testing.assert_allclose(found.loadings["se"], errors, atol=2 * DIGITS)
    np.testing.assert_allclose(found.thresholds["threshold"], at_nothing, atol=2 * DIGITS)
    row = found.correlations.iloc[0]
    assert (row["correlation"], row["se"]) == pytest.approx((0.399, 0.068), abs=DIGITS)


def test_two_correlated_dimensions_of_grades(made):
    found = unpenalised(made.grades_of_two_dimensions(), ["one"] * 4 + ["other"] * 4)
    assert found.log_likelihood == pytest.approx(-3071.674914, abs=NATS)
    loadings = [1.161, 1.832, 1.920, 2.215, 1.408, 1.358, 2.078, 2.200]
    errors = [0.168, 0.247, 0.260, 0.313, 0.198, 0.185, 0.293, 0.325]
    first = [1.416, 1.115, 0.665, -0.132, 1.564, 1.201, 0.605, -0.328]
    np.testing.assert_array_less(
        np.abs(found.loadings["loading"] - loadings), 0.02 * np.array(errors)
    )
    np.testing.assert_allclose(found.loadings["se"], errors, atol=2 * DIGITS)
    above = found.thresholds.query("step == 1")["threshold"]
    np.testing.assert_allclose(above, first, atol=2 * DIGITS)
    row = found.correlations.iloc[0]
    assert (row["correlation"], row["se"]) == pytest.approx((0.469, 0.060), abs=DIGITS)


def test_a_general_dimension_and_two_specific_ones(made):
    """Nearly flat along the loadings of the third item: only its height is comparable."""
    found = unpenalised(made.two_dimensions(), ["one"] * 5 + ["other"] * 5, "bifactor")
    assert found.log_likelihood == pytest.approx(-2976.962149, abs=NATS)


def test_options_of_multiple_choice(made):
    chosen = pd.DataFrame(made.options()).astype(str).add_prefix("item ")
    table = og.Responses.from_choices(chosen, ["0"] * 6)
    found = og.calibrate(table, "nominal", priors=None, tolerance=1e-10, progress=False)
    assert found.log_likelihood == pytest.approx(-4878.469130, abs=1e-4)
    first = [
        [0.250151842611, 0.2160481026300, 0.2161312023046, 0.3176688524539],
        [0.625808819599, 0.1015567784289, 0.0750140764325, 0.1976203255397],
        [0.888377847354, 0.0270885302957, 0.0147735930441, 0.0697600293066],
    ]
    last = [
        [0.00881166236676, 0.3223856236620, 0.3215372883368, 0.347265425634],
        [0.25868128410425, 0.2953138390302, 0.1873365085579, 0.258668368308],
        [0.92991524942850, 0.0331255527191, 0.0133654843104, 0.023593713542],
    ]
    np.testing.assert_allclose(chances(found, "item 0"), first, atol=1e-4)
    np.testing.assert_allclose(chances(found, "item 5"), last, atol=1e-4)


def chances(calibration, item, abilities=(-2.0, 0.0, 2.0)):
    """Of each option, the right one first, at some abilities."""
    row, ability = calibration.items.loc[item], np.array(abilities)
    odds = [row[f"slope_{k}"] * ability + row[f"intercept_{k}"] for k in (1, 2, 3)]
    weights = np.exp(np.stack([0 * ability, *odds], axis=1))
    return weights / weights.sum(axis=1, keepdims=True)


def test_two_groups_on_one_scale(made):
    """Ours have weak priors of items, which mirt's have not."""
    table, second = made.grouped()
    found = og.group_scale(table, np.where(second, "b", "a").tolist(), progress=False)
    row = found.populations.loc["b"]
    assert row["mean"] == pytest.approx(0.559, abs=2 * DIGITS)
    assert row["mean_se"] == pytest.approx(0.106, abs=DIGITS)
    assert row["sd"] == pytest.approx(np.sqrt(1.223), abs=3 * DIGITS)
    assert row["sd_se"] == pytest.approx(0.240 / 2 / np.sqrt(1.223), abs=DIGITS)
    assert found.likelihood_ratio == pytest.approx(2 * (2739.182374 - 2734.122866), abs=NATS)
    assert found.df == 14


def test_ability_that_depends_on_a_fact(made):
    """mirt's unit is the standard deviation that the fact leaves; ours have weak priors of items.

    Its standard error, 0.0102, is no witness: it is smaller than the curvature of its own
    likelihood says.
    """
    table, fact = made.explained()
    facts = pd.DataFrame({"fact": fact})
    found = og.explain_ability(table, facts, model="2pl", progress=False)
    row = found.coefficients.loc["fact"]
    assert row["coefficient"] / found.residual_sd == pytest.approx(0.2246093, abs=0.1 * row["se"])


@pytest.fixture
def sat12(shared):
    return pd.read_csv(shared / "reference" / "data" / "SAT12.csv")


@pytest.mark.slow
def test_bifactor_of_sat12(sat12):
    """In halves, and in the three groups of mirt's own example."""
    halves = ["one"] * 16 + ["other"] * 16
    assert unpenalised(sat12, halves, "bifactor").log_likelihood == pytest.approx(
        -9450.314822, abs=NATS
    )
    groups = "23233212111313121133113133132312"
    assert unpenalised(sat12, list(groups), "bifactor").log_likelihood == pytest.approx(
        -9435.051023, abs=NATS
    )


def test_options_of_science(shared):
    """Grades, taken as options without an order."""
    grades = pd.read_csv(shared / "reference" / "data" / "Science.csv").astype(str)
    table = og.Responses.from_choices(grades, ["1"] * 4)
    found = og.calibrate(table, "nominal", priors=None, tolerance=1e-10, progress=False)
    assert found.log_likelihood == pytest.approx(-1608.452003, abs=1e-4)

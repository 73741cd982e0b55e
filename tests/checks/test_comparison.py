"""Comparison of models: against mirt, against scipy, and on responses whose model is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, kstest

from ogive import FourPL, Normal, OnePL, ThreePL, TwoPL, calibrate, load, simulate
from ogive.checks.model_fit import compare_models, is_nested
from ogive.errors import InputError

COLUMNS = [
    *("log_likelihood", "n_parameters", "aic", "bic", "delta_aic", "weight", "converged"),
    *("lr_against", "lr", "lr_df", "lr_p"),
]


@pytest.fixture(scope="module")
def steep():
    """Items of very different discrimination."""
    items = {"discrimination": np.tile([0.4, 2.0], 4), "difficulty": np.linspace(-1, 1, 8)}
    return simulate("2pl", 1200, items=items, random_state=6).responses


@pytest.fixture(scope="module")
def found(steep):
    return compare_models(steep)


def test_criteria_are_those_of_mirt(witness, subtests):
    tags = ["LSAT6_Rasch", "LSAT6_2PL", "LSAT7_2PL"]
    for mirt in witness.at_hand([*tags, "SAT12_Rasch", "SAT12_2PL", "sim2pl_1000x50_2PL"]):
        with subtests.test(mirt.tag):
            ours = {"Rasch": "1pl", "2PL": "2pl"}[mirt.model]
            row = compare_models(mirt.responses, [ours]).to_frame().loc[ours]
            assert row["n_parameters"] == mirt.fit["npar"]
            # mirt stops 0.0005 nats early
            assert row["aic"] == pytest.approx(mirt.fit["AIC"], abs=0.002)
            assert row["bic"] == pytest.approx(mirt.fit["BIC"], abs=0.002)


def test_one_row_a_model_in_the_order_given(found):
    frame = found.to_frame()
    assert list(frame.index) == ["1pl", "2pl", "3pl"]
    assert frame.index.name == "model"
    assert list(frame.columns) == COLUMNS
    assert list(found.calibrations) == ["1pl", "2pl", "3pl"]


def test_weights_are_those_of_akaike(found):
    frame = found.to_frame()
    assert frame["weight"].sum() == pytest.approx(1)
    one, two = frame.loc["2pl"], frame.loc["3pl"]
    assert one["weight"] / two["weight"] == pytest.approx(np.exp((two["aic"] - one["aic"]) / 2))
    assert frame["delta_aic"].min() == 0


def test_a_model_is_tested_against_the_largest_one_nested_in_it(found):
    frame = found.to_frame()
    assert frame["lr_against"].tolist()[1:] == ["1pl", "2pl"]
    assert frame["lr"].isna().tolist() == [True, False, False]
    two, one = frame.loc["2pl"], frame.loc["1pl"]
    assert two["lr"] == pytest.approx(2 * (two["log_likelihood"] - one["log_likelihood"]))
    assert two["lr_df"] == 7
    assert two["lr_p"] == pytest.approx(chi2.sf(two["lr"], 7))
    skipping = compare_models(found.calibrations["1pl"].responses, ("3pl", "1pl")).steps
    assert skipping["3pl"].against == "1pl"


def test_the_model_behind_the_responses_is_found(found):
    assert found.best == "2pl"
    assert found.to_frame().loc["2pl", "lr_p"] < 1e-6
    assert "2pl predicts best" in found.meaning
    assert "beyond 1pl is more than chance (likelihood ratio, p < 0.001)" in found.meaning


@pytest.mark.slow
def test_likelihood_ratios_are_uniform_where_the_smaller_model_holds():
    tables = [simulate("1pl", 400, 6, random_state=seed).responses for seed in range(80)]
    p = [compare_models(table, ("1pl", "2pl")).steps["2pl"].p for table in tables]
    assert kstest(p, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_bounds_make_the_test_of_guessing_conservative_but_not_blind():
    tables = [simulate("2pl", 1000, 8, random_state=seed).responses for seed in range(40)]
    steps = [compare_models(table, ("2pl", "3pl")).steps["3pl"] for table in tables]
    p = np.array([step.p for step in steps])
    # At a level of 0.05, six or more of 40 have chance 0.01. Of these 40, about half should lie
    # below 0.5; with 8 degrees of freedom, whatever is at its bound, an eighth does.
    assert (p < 0.05).sum() < 6
    assert (p < 0.5).mean() > 0.35


def test_a_flat_item_that_passes_for_a_steep_one_is_not_tested():
    """Some tables of the 2PL make a step of a flat item: much gained, nothing determined."""
    items = {"discrimination": np.tile([0.4, 2.0], 4), "difficulty": np.linspace(-1, 1, 8)}
    responses = simulate("2pl", 1200, items=items, random_state=5).responses
    found = compare_models(responses, ("2pl", "3pl"))
    assert found.calibrations["3pl"].coords[:, 0].max() > 10
    assert found.steps["3pl"].lr > 20
    assert np.isnan(found.steps["3pl"].p)
    assert "what they gain may be spurious: 3pl" in found.meaning


def test_nesting_follows_from_the_coordinates(subtests):
    for small, large, nested in [
        (OnePL(), TwoPL(), True),
        (OnePL(discrimination=1), TwoPL(), True),
        (TwoPL(), ThreePL(), True),
        (OnePL(), FourPL(), True),
        (TwoPL(), OnePL(), False),
        (TwoPL(), TwoPL(), False),
        (OnePL(), OnePL(discrimination=1), False),
    ]:
        with subtests.test(small=small, large=large, nested=nested):
            assert is_nested(small, large) is nested


def test_no_test_where_priors_hold_the_likelihood_below_its_maximum(steep):
    found = compare_models(steep, ("1pl", "2pl"), priors="default")
    assert np.isnan(found.to_frame().loc["2pl", "lr_p"])
    assert "not at their maximum likelihood, hence without tests: 1pl, 2pl" in found.meaning
    one = compare_models(steep, ("1pl", "2pl"), priors={"intercept": Normal(0, 1)})
    assert np.isnan(one.steps["2pl"].p)


def test_settings_reach_the_engine_and_what_did_not_converge_is_said(steep):
    found = compare_models(steep, ("1pl", "2pl"), max_iterations=1)
    assert not found.to_frame()["converged"].any()
    assert np.isnan(found.steps["2pl"].p)
    assert "not converged, so that what they gain may be spurious: 1pl, 2pl" in found.meaning


def test_weights_of_respondents_reach_every_model(witness):
    frame = witness("LSAT7_2PL").responses.to_frame()
    rows, times = np.unique(frame.to_numpy(), axis=0, return_counts=True)
    short = compare_models(rows, ("1pl", "2pl"), weights=times).to_frame()
    whole = compare_models(frame, ("1pl", "2pl")).to_frame()
    pd.testing.assert_frame_equal(short, whole, rtol=1e-6)


def test_calibrations_of_the_same_table_are_taken_as_they_are(steep):
    two = calibrate(steep, "2pl", priors=None)
    found = compare_models(steep, ("1pl", two))
    assert found.calibrations["2pl"] is two
    assert found.steps["2pl"].p < 1e-6


def test_bic_may_prefer_another_model(witness):
    assert "BIC, which asks more of a large model, prefers 1pl" in (
        compare_models(witness("LSAT7_2PL").responses, ("1pl", "2pl")).meaning
    )


def test_poor_tables_have_a_defined_result(subtests):
    for case, values in {
        "constant": np.ones((40, 3)),
        "one item": np.r_[np.ones((20, 1)), np.zeros((20, 1))],
        "one respondent": [[1, 0, 1]],
        "missing": np.where(
            np.arange(120).reshape(40, 3) % 7, np.arange(120).reshape(40, 3) % 2, np.nan
        ),
    }.items():
        with subtests.test(case):
            found = compare_models(values, ("1pl", "2pl"))
            assert np.isfinite(found.to_frame()[["aic", "bic", "weight"]]).all(axis=None)
            assert found.meaning.endswith(".")
            assert found.plot().ax_.has_data()


def test_one_model_is_no_comparison_but_no_error(steep):
    assert "Only the 2pl model was tried" in compare_models(steep, "2pl").meaning


def test_what_cannot_be_compared_is_refused(steep, found, tmp_path):
    other = calibrate(steep.select(items=slice(0, 4)), "2pl")
    with pytest.raises(InputError, match="comes from other responses"):
        compare_models(steep, ("1pl", other))
    weighted = calibrate(steep, "2pl", weights=np.full(steep.n_respondents, 2.0))
    with pytest.raises(InputError, match="same responses with other weights"):
        compare_models(steep, ("1pl", weighted))
    bank = load(other.save(tmp_path / "bank.json"))
    with pytest.raises(InputError, match="loaded from a file"):
        compare_models(steep, ("1pl", bank))
    with pytest.raises(InputError, match=r"responses are graded, but the 1pl model"):
        compare_models(np.tile([0, 1, 2], (20, 2)), ("1pl", "2pl"))
    with pytest.raises(InputError, match="'2pl' more than once"):
        compare_models(steep, ("2pl", "2PL"))
    with pytest.raises(InputError, match="no model '5pl'"):
        compare_models(steep, ("2pl", "5pl"))
    for none in ((), 2):
        with pytest.raises(InputError, match=r"models is .*; name some"):
            compare_models(steep, none)
    with pytest.raises(InputError, match="no argument 'model'"):
        compare_models(steep, model="2pl")
    with pytest.raises(InputError, match="give its attribute 'responses'"):
        compare_models(found.calibrations["2pl"])

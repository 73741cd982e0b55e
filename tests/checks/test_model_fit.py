"""Goodness of fit: against its definition, against mirt, and on responses whose model is known."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, kstest, ncx2

import ogive
from ogive import FourPL, Normal, OnePL, Responses, ThreePL, TwoPL, calibrate, load, simulate
from ogive.checks.model_fit import compare_models, is_nested, model_fit
from ogive.errors import InputError

RASCH = OnePL(discrimination=1)
FITS = [
    *("LSAT6_Rasch", "LSAT6_2PL", "LSAT7_Rasch", "LSAT7_2PL"),
    *("SAT12_Rasch", "SAT12_2PL", "sim2pl_1000x50_2PL"),
]


@pytest.fixture(scope="module")
def grades():
    """Four items of four grades, 400 respondents."""
    return simulate("graded", 400, 4, random_state=0).responses


def by_definition(cal, statistic):
    """The statistic from all response patterns, with numerical derivatives of each probability."""
    model, cells = cal.model, cal.cells()
    n_items, grades = cells.shape[1], range(model.n_categories)
    patterns = np.array(list(product(grades, repeat=n_items)))
    nodes = np.linspace(*cal.population.reach(8.0), 401)
    density = np.exp(-0.5 * ((nodes - cal.population.mean) / cal.population.sd) ** 2)

    def chances(coords):
        prob = np.exp(model.log_prob(coords, nodes))
        each = [prob[patterns[:, i], i] for i in range(n_items)]
        return np.prod(each, axis=0) @ density / density.sum()

    pairs = [(i, j) for i in range(n_items) for j in range(i + 1, n_items)]
    singles = [patterns[:, i] == k for i in range(n_items) for k in grades[1:]]
    if statistic == "m2":
        both = [
            (patterns[:, i] == k) & (patterns[:, j] == m)
            for i, j in pairs
            for k in grades[1:]
            for m in grades[1:]
        ]
    else:
        both = [patterns[:, i] * patterns[:, j] for i, j in pairs]
        singles = list(patterns.T) if statistic == "m2*" else singles
    sums = np.array([*singles, *both], dtype=float)
    prob = chances(cal.coords)
    seen = np.array([(cells == pattern).all(axis=1).mean() for pattern in patterns])
    residual = sums @ (seen - prob)
    inverse = np.linalg.inv(sums @ (np.diag(prob) - np.outer(prob, prob)) @ sums.T)
    slopes = []
    for place in zip(*np.nonzero(~model.at_bound(cal.coords)), strict=True):
        step = np.zeros(cal.coords.shape)
        step[place] = 1e-5
        slopes.append(sums @ (chances(cal.coords + step) - chances(cal.coords - step)) / 2e-5)
    slopes = np.array(slopes).T
    middle = np.linalg.inv(slopes.T @ inverse @ slopes)
    weight = inverse - inverse @ slopes @ middle @ slopes.T @ inverse
    return len(cells) * residual @ weight @ residual, sums.shape[0] - slopes.shape[1]


@pytest.fixture(scope="module")
def some():
    return calibrate(simulate("2pl", 600, 6, random_state=3).responses, "2pl", priors=None)


def test_m2_is_what_its_definition_says(some):
    value, df = by_definition(some, "m2")
    found = model_fit(some)
    assert found.value == pytest.approx(value, rel=1e-6)  # numerical derivatives: 1e-9 or so
    assert found.df == df == 21 - 12


def test_m2_with_priors_and_guessing_is_what_its_definition_says():
    cal = calibrate(simulate("3pl", 1500, 7, random_state=2).responses, "3pl")
    value, df = by_definition(cal, "m2")
    found = model_fit(cal)
    assert found.value == pytest.approx(value, rel=1e-6)
    assert found.df == df == 28 - 21


def test_guessing_at_its_bound_is_not_a_free_number():
    cal = calibrate(simulate("2pl", 800, 6, random_state=1).responses, "3pl", priors=None)
    held = cal.model.at_bound(cal.coords).sum()
    value, df = by_definition(cal, "m2")
    assert held > 0
    assert model_fit(cal).df == df == 21 - 18 + held
    assert model_fit(cal).value == pytest.approx(value, rel=1e-5)


def test_figures_are_those_of_mirt(witness, subtests):
    models = {"Rasch": [RASCH, "1pl"], "2PL": ["2pl"]}
    pairs = [(mirt, model) for mirt in witness.at_hand(FITS) for model in models[mirt.model]]
    for mirt, model in pairs:
        with subtests.test(f"{mirt.tag}-{model}"):
            found, theirs = model_fit(mirt.ours(model)), mirt.fit
            assert found.df == theirs["M2_df"]
            # mirt stops some 1e-5 of M2 before the maximum; the rest follows from M2.
            assert found.value == pytest.approx(theirs["M2"], rel=3e-5)
            # mirt writes 1e-35 as 0
            assert found.p == pytest.approx(theirs["M2_p"], rel=1e-3, abs=2e-16)
            assert found.rmsea == pytest.approx(theirs["RMSEA"], abs=2e-6)
            assert found.srmsr == pytest.approx(theirs["SRMSR"], abs=5e-6)
            assert found.tli == pytest.approx(theirs["TLI"], abs=5e-6)
            assert found.cfi == pytest.approx(theirs["CFI"], abs=5e-6)


def test_3pl_and_grades_fit_about_as_in_mirt(shared, witness, subtests):
    with subtests.test("3PL"):
        # mirt counts a guessing of zero as free; per degree of freedom the misfit is about the
        # same. About: at mirt's own items M2 is 557.03 by its definition, not the 545.80 it gives.
        mirt = witness("SAT12_3PL")
        cal = mirt.ours()
        found = model_fit(cal)
        assert found.df == mirt.fit["M2_df"] + cal.model.at_bound(cal.coords).sum()
        assert found.rmsea == pytest.approx(mirt.fit["RMSEA"], abs=1e-3)
        assert found.srmsr == pytest.approx(mirt.fit["SRMSR"], abs=1e-4)
    with subtests.test("graded"):
        mirt = witness("Science_graded")
        found = model_fit(mirt.ours())
        assert (found.statistic, found.df) == ("c2", mirt.fit["C2_df"])
        # of the last steps to the maximum
        assert found.value == pytest.approx(mirt.fit["C2"], rel=1e-4)
        assert found.p == pytest.approx(mirt.fit["C2_p"], rel=1e-3)
        assert "C2 = 19.2 on 2 degrees" in found.meaning
    for tag in ("Science_graded", "Science_gpcm"):
        # mirt's C2 of the gpcm, 16.34, is not the 19.04 that all 256 patterns give.
        for statistic in ("m2", "c2"):
            with subtests.test(f"{tag} by definition", statistic=statistic):
                agrees_with_its_definition(witness(tag).ours(), statistic)


def agrees_with_its_definition(cal, statistic):
    value, df = by_definition(cal, statistic)
    found = model_fit(cal, statistic=statistic)
    assert found.value == pytest.approx(value, rel=1e-5)
    assert found.df == df


@pytest.mark.slow
def test_graded_statistics_are_what_their_definitions_say(grades, subtests):
    for statistic, model in product(["m2", "c2"], ["graded", "gpcm"]):
        with subtests.test(f"{statistic} {model}"):
            agrees_with_its_definition(calibrate(grades, model, priors=None), statistic)


def test_m2_star_is_taken_where_it_leaves_degrees_of_freedom(grades):
    assert model_fit(calibrate(grades, "graded", priors=None), statistic="m2*").df == 0
    long = simulate("graded", 500, 12, random_state=0).responses
    assert model_fit(calibrate(long, "graded")).statistic == "m2*"


@pytest.mark.slow
@pytest.mark.parametrize("model", ["1pl", "2pl"])
def test_p_values_are_uniform_where_the_model_holds(model):
    tables = [simulate(model, 500, 8, random_state=seed).responses for seed in range(80)]
    p = [model_fit(calibrate(one, model, priors=None)).p for one in tables]
    assert kstest(p, "uniform").pvalue > 0.01


def test_a_model_that_does_not_hold_is_found_out():
    spread = {"discrimination": [0.4, 0.4, 0.4, 2.5, 2.5, 2.5], "difficulty": np.zeros(6)}
    responses = simulate("2pl", 1500, items=spread, random_state=0).responses
    poor, good = (model_fit(calibrate(responses, model)) for model in ("1pl", "2pl"))
    assert poor.p < 1e-6 < 0.01 < good.p
    assert poor.rmsea > good.rmsea
    assert poor.srmsr > good.srmsr
    assert "does not explain the rest" in poor.meaning


def test_the_rmsea_interval_inverts_the_noncentral_chi_square(witness):
    found = model_fit(witness("LSAT7_Rasch").ours())
    for end, share in ((found.rmsea_low, 0.95), (found.rmsea_high, 0.05)):
        excess = end**2 * found.df * (found.n_respondents - 1)
        assert ncx2.cdf(found.value, found.df, excess) == pytest.approx(share, abs=1e-6)
    assert found.rmsea_low < found.rmsea < found.rmsea_high


def test_the_rasch_model_in_another_unit_fits_as_well(witness):
    responses = witness("LSAT7_Rasch").responses
    frames = [model_fit(calibrate(responses, model)).to_frame() for model in ("1pl", RASCH)]
    pd.testing.assert_frame_equal(*frames, rtol=1e-6)


def test_weights_count_as_repeated_rows(witness):
    responses = witness("LSAT7_2PL").responses
    rows, times = np.unique(responses.values, axis=0, return_counts=True)
    short = calibrate(Responses(rows, items=responses.items), "2pl", weights=times)
    found, whole = model_fit(short), model_fit(calibrate(responses, "2pl"))
    pd.testing.assert_frame_equal(found.to_frame(), whole.to_frame(), rtol=1e-5)


def test_incomplete_rows_are_left_out_and_said():
    values = simulate("2pl", 400, 6, random_state=0).responses.to_frame().to_numpy(copy=True)
    values[:150, 2] = np.nan
    cal = calibrate(values, "2pl")
    found = model_fit(cal)
    assert found.n_respondents == 250
    assert found.n_incomplete == 150
    assert "left out: 150 respondents without a response to every item" in found.meaning
    complete = Responses(values[150:], items=cal.item_names)
    assert found.value == pytest.approx(model_fit(cal, complete).value)


@pytest.mark.parametrize("priors", [None, "default"])
def test_items_that_tell_nobody_apart_are_left_out(priors):
    values = simulate("2pl", 400, 7, random_state=0).responses.to_frame().to_numpy(copy=True)
    values[:, 0], values[:, 1] = 1.0, np.nan
    cal = calibrate(Responses(values, items=list("abcdefg")), "2pl", priors=priors)
    found = model_fit(cal)
    assert found.items_left_out == ("a", "b")
    assert found.df == 15 - 10
    assert np.isfinite(found.to_frame().select_dtypes("number")).all(axis=None)
    assert "2 items (a, b) with the same response from all" in found.meaning


def test_too_few_items_leave_nothing_to_test(subtests):
    for n_items in [1, 2, 3]:
        with subtests.test(n_items=n_items):
            found = model_fit(
                calibrate(simulate("2pl", 100, n_items, random_state=0).responses, "2pl")
            )
            assert found.df == 0
            assert np.isnan([found.value, found.p, found.rmsea, found.rmsea_high, found.cfi]).all()
            assert "no degree of freedom is left" in found.meaning
            assert "No figure" in page(found)


def page(found):
    from ogive.results.base import _html

    return _html(found).decode()


def test_all_items_alike_is_no_crash():
    found = model_fit(calibrate(np.tile([1.0, 0.0, 1.0], (50, 1)), "2pl"))
    assert found.df == 0
    assert np.isnan(found.srmsr)


def test_duplicated_items_have_a_defined_result():
    values = simulate("2pl", 300, 4, random_state=0).responses.to_frame().to_numpy(copy=True)
    found = model_fit(calibrate(np.column_stack([values, values]), "2pl"))
    assert found.p < 1e-6
    assert np.isfinite(found.rmsea_high)


def test_what_cannot_be_tested_is_refused(some, tmp_path):
    with pytest.raises(InputError, match=r"needs a calibration, got Responses"):
        model_fit(some.responses)
    with pytest.raises(InputError, match="choose one of auto, m2"):
        model_fit(some, statistic="chi2")
    with pytest.raises(InputError, match=r"12 respondents; model_fit needs at least 30"):
        model_fit(some, some.responses.select(respondents=slice(0, 12)))
    bank = load(some.save(tmp_path / "bank.json"))
    with pytest.raises(InputError, match="loaded from a file"):
        model_fit(bank)
    assert model_fit(bank, some.responses).value == pytest.approx(model_fit(some).value)
    sparse = some.responses.to_frame().to_numpy(copy=True)
    sparse[np.arange(600), np.arange(600) % 6] = np.nan
    with pytest.raises(InputError, match="0 complete rows"):
        model_fit(some, Responses(sparse, items=some.item_names))
    other = Responses(some.responses.values, items=list("uvwxyz"))
    with pytest.raises(InputError, match="not in this calibration"):
        model_fit(some, other)


def test_a_table_too_wide_is_refused_before_it_fills_the_memory():
    responses = ogive.simulate("1pl", 60, 140, random_state=0).responses
    with pytest.raises(InputError, match=r"140 items have 9,870 margins.*select\(items"):
        model_fit(calibrate(responses, "1pl"))


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

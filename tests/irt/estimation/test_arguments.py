"""What cannot be used is refused, with the place and the remedy named."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from ogive import EM, Beta, Normal, Responses, TwoPL, calibrate, simulate
from ogive.errors import InputError
from ogive.irt.models import MODELS
from ogive.irt.models.beta import BetaResponse
from ogive.irt.models.continuous import Continuous
from ogive.irt.models.graded import Graded
from ogive.irt.models.nominal import PartialCredit

VALUES = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])


def test_bad_arguments_are_named(subtests):
    for arguments, message in [
        ({"model": "5pl"}, r"no model '5pl'.*1pl, 2pl, 3pl, 4pl, graded, gpcm"),
        ({"engine": "foo"}, r"no engine 'foo'.*em, joint, shojima"),
        ({"speed": 3}, r"no argument 'speed'.*em engine.*tolerance"),
        ({"engine": "joint", "device": "cpu"}, r"no argument 'device'.*joint engine"),
        ({"engine": EM(), "tolerance": 1e-3}, r"tolerance: give settings inside.*EM\(tolerance"),
        ({"tolerance": -1e-6}, r"`tolerance` must be greater than 0, got -1e-06"),
        ({"tolerance": float("nan")}, r"must be greater than 0, got nan"),
        ({"max_iterations": 0}, r"`max_iterations` must be .*, got 0"),
        ({"max_iterations": 2.5}, r"`max_iterations` must be .*, got 2.5"),
        ({"max_iterations": "9"}, r"`max_iterations` must be .*, got '9'"),
        ({"tolerance": "1"}, r"`tolerance` must be greater than 0, got '1'"),
        ({"n_jobs": "2"}, r"`n_jobs` must be 1 or more.*got '2'"),
        ({"population": "gamma"}, r"`population` must be 'normal', .*, got 'gamma'"),
        ({"engine": "joint", "population": "histogram"}, r"no argument 'population'.*joint"),
        ({"preset": "mirt"}, r"no preset 'mirt'. Presets are: airt"),
        ({"preset": 3}, r"no preset 3. Presets are: airt"),
        ({"preset": "airt"}, r"responses are binary, but the continuous model"),
        ({"preset": "airt", "model": "2pl"}, r"preset='airt' has a model and an engine of its own"),
        (
            {"preset": "airt", "engine": "joint"},
            r"preset='airt' has a model and an engine of its own",
        ),
        ({"model": TwoPL}, r"model is the class TwoPL; call it: TwoPL\(\)"),
        (
            {"engine": EM},
            r"`engine` must be ",
        ),
        ({"engine": 3}, r"`engine` must be a name \(em, joint, shojima\).*got 3"),
        ({"engine": None}, r"`engine` must be a name \(em, joint, shojima\).*got None"),
        ({"priors": "none"}, r"`priors` must be None for none.*got 'none'"),
        ({"priors": {"discrimination": Beta(2, 2)}}, r"prior of discrimination is Beta.*Normal"),
        ({"priors": {"luck": Beta(2, 2)}}, r"priors names 'luck'.*1pl.*discrimination, intercept"),
        ({"priors": {"guessing": Beta(2, 2)}}, r"priors names 'guessing'.*1pl"),
        ({"weights": [1.0, 2.0]}, r"weights has shape \(2,\).*3 respondents"),
        ({"weights": [[1.0, 2.0, 3.0]]}, r"weights has shape \(1, 3\).*3 respondents"),
        ({"weights": [1.0, -1.0, 1.0]}, r"weights must be finite, not negative"),
        ({"weights": [1.0, np.nan, 1.0]}, r"weights must be finite"),
        ({"weights": [1.0, np.inf, 1.0]}, r"weights must be finite"),
        ({"weights": [0.0, 0.0, 0.0]}, r"weights must be .*not all zero"),
        ({"weights": ["a", "b", "c"]}, r"weights must be numbers.*'a'"),
    ]:
        with (
            subtests.test(arguments=arguments),
            pytest.raises(InputError, match=message),
        ):
            calibrate(VALUES, **arguments)


def test_priors_of_another_kind_are_refused(subtests):
    for priors in ["strong", 3, {"discrimination": "wide"}]:
        with (
            subtests.test(priors=priors),
            pytest.raises(InputError, match="prior"),
        ):
            calibrate(VALUES, priors=priors)


@pytest.mark.parametrize("n_jobs", [0, -2])
def test_a_number_of_workers_that_cannot_be_is_refused(n_jobs):
    with pytest.raises(InputError, match=f"`n_jobs` must be .*got {n_jobs}"):
        calibrate(VALUES, n_jobs=n_jobs)


def test_a_device_that_is_not_there_is_named():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(InputError, match="device is 'cuda'"):
        calibrate(VALUES, device="cuda")


def test_a_device_that_torch_does_not_know_is_named():
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="device is 'abacus'"):
        calibrate(VALUES, device="abacus")


def test_a_device_without_double_precision_is_named():
    torch = pytest.importorskip("torch")
    if torch.backends.mps.is_available():
        pytest.skip("there is an MPS device here")
    with pytest.raises(InputError, match=r"device is 'mps'.*Use 'cpu' or 'cuda'"):
        calibrate(VALUES, device="mps")


TABLES = {
    "binary": VALUES,
    "graded": [[0, 1, 2], [2, 1, 0]],
    "continuous": [[0.2, 0.7], [0.1, 0.9]],
}
REMEDIES = {
    "binary": "0 and 1 only",
    "graded": r"Responses\(values, kind='graded'\)",
    "nominal": r"Responses\.from_choices\(choices, key\)",
    "continuous": r"Responses\(values, kind='continuous'\)",
}
SUITS = {"binary": "2pl", "graded": "graded", "continuous": "continuous"}


def test_responses_of_another_kind_are_refused_with_a_remedy(model_names, subtests):
    for kind, model_name in product(TABLES, model_names):
        with subtests.test(model_name, kind=kind):
            wanted = MODELS[model_name].kind
            if wanted == kind:
                assert calibrate(TABLES[kind], model_name).model.name == model_name
                continue
            with pytest.raises(
                InputError,
                match=rf"responses are {kind}.*{model_name} model explains {wanted} ones.*"
                rf"model='{SUITS[kind]}' or 'auto'.*{REMEDIES[wanted]}",
            ):
                calibrate(TABLES[kind], model_name)


def test_a_table_may_be_declared_to_be_of_the_kind_that_a_model_explains():
    """Right and wrong are two grades; two grades are the 2PL."""
    declared = Responses(simulate("2pl", 200, 6, random_state=1).responses.values, kind="graded")
    graded, binary = calibrate(declared, "graded"), calibrate(declared.values, "2pl")
    assert graded.model.categories == (2,) * 6
    assert graded.log_likelihood == pytest.approx(binary.log_likelihood, rel=1e-6)
    np.testing.assert_allclose(graded.items["difficulty"], binary.items["difficulty"], atol=1e-3)


def test_what_is_no_table_is_refused(subtests):
    for case, (values, message) in {
        "text": ([["a", "b"], ["c", "d"]], "'a'"),
        "infinite": ([[1.0, np.inf], [0.0, 1.0]], "inf"),
        "one row": ([1.0, 0.0, 1.0], "two dimensions"),
        "cube": (np.zeros((2, 2, 2)), "two dimensions"),
        "no rows": (np.zeros((0, 3)), "empty"),
        "no columns": (np.zeros((3, 0)), "empty"),
        "text path": (
            "scores.csv",
            r"not a path. Read it: ogive.read_responses\('scores.csv'\)",
        ),
        "path": (
            Path("scores.csv"),
            r"not a path. Read it: ogive.read_responses\('scores.csv'\)",
        ),
        "simulation": (
            simulate("2pl", 5, 3, random_state=0),
            "not a Simulation; give its attribute 'responses'",
        ),
        "sparse": (csr_array(VALUES), r"not a sparse matrix.*matrix.toarray\(\)"),
        "number": (7, "two dimensions"),
        "none": (None, "two dimensions"),
    }.items():
        with (
            subtests.test(case),
            pytest.raises(InputError, match=message),
        ):
            calibrate(values)


def test_the_cell_that_cannot_be_used_is_named():
    frame = pd.DataFrame({"q1": [1, 0], "q2": [1.0, np.inf]}, index=["ann", "bob"])
    with pytest.raises(InputError, match=r"(?s)bob.*q2|q2.*bob"):
        calibrate(frame)


def test_names_of_models_and_engines_may_be_written_large():
    cal = calibrate(VALUES, "2PL", engine="EM")
    assert cal.model.name == "2pl"
    assert cal.engine == "em"


def test_a_prior_stronger_than_the_default_counts():
    table = simulate("3pl", 300, 12, random_state=0).responses
    found = calibrate(table, "3pl", priors={"guessing": Beta(500, 1500)})
    assert found.converged
    assert abs(found.items["guessing"] - 0.25).max() < 0.02


def test_single_priors_are_replaced():
    cal = calibrate(VALUES, "3pl", priors={"guessing": Beta(2, 5), "discrimination": Normal(1, 1)})
    priors = [coordinate.prior for coordinate in cal.model.coordinates]
    assert priors == [Normal(1, 1), Normal(0, 5), Beta(2, 5)]


def test_a_simulation_refuses_what_cannot_be(subtests):
    for arguments, message in [
        ({"n_respondents": 0}, r"`n_respondents` must be .*got 0"),
        ({"n_items": -1}, r"`n_items` must be .*got -1"),
        ({"n_items": 2.5}, r"`n_items` must be .*got 2.5"),
        ({"n_items": True}, r"`n_items` must be .*got True"),
        ({"missing": 1.0}, r"`missing` must be .*got 1.0"),
        ({"missing": -0.1}, r"`missing` must be .*got -0.1"),
        ({"abilities": [0.0, np.nan]}, "finite"),
        ({"abilities": [[0.0]]}, r"shape \(1, 1\)"),
        ({"abilities": [0.0, 1.0], "n_respondents": 3}, "n_respondents is 3, but 2"),
        ({"items": {"difficulty": [0.0]}}, "items lacks discrimination"),
        ({"items": {"discrimination": [1.0], "difficulty": [np.inf]}}, "not finite"),
        ({"items": {"discrimination": [21.0], "difficulty": [0.0]}}, r"outside the bounds.*2pl"),
        (
            {"items": {"discrimination": [1.0], "difficulty": [0.0], "guessing": [0.2]}},
            "items has guessing, which the 2pl model does not know",
        ),
        (
            {"items": {"discrimination": [1.0], "difficulty": [0.0], "slip": [0.2]}},
            "items has slip, which the 2pl model does not know",
        ),
        (
            {"items": {"discrimination": [1.0, 2.0, 1.0], "difficulty": [0.0, 1.0]}},
            "columns of numbers of one length",
        ),
        ({"items": {"discrimination": ["a"], "difficulty": [0.0]}}, "columns of numbers"),
        ({"missing": "some"}, r"`missing` must be .*got 'some'"),
        ({"random_state": "seed"}, "random_state is 'seed'"),
        (
            {"items": {"discrimination": [1.0], "difficulty": [0.0]}, "n_items": 2},
            "n_items is 2, but 1",
        ),
    ]:
        with (
            subtests.test(message),
            pytest.raises(InputError, match=message),
        ):
            simulate("2pl", **arguments)


def test_a_simulation_follows_its_seed_and_its_truth():
    one, same, other = (simulate("3pl", 50, 6, missing=0.2, random_state=s) for s in (1, 1, 2))
    assert one.responses == same.responses
    assert one.responses != other.responses
    assert one.truth.items.shape == (6, 4)
    assert one.truth.abilities.shape == (50, 1)
    assert list(one.truth.items.index) == list(one.responses.items)


def test_simulated_shares_are_the_models_chances():
    items = {"discrimination": [1.0, -2.0], "difficulty": [0.5, 0.0], "guessing": [0.2, 0.1]}
    responses, truth = simulate(
        "3pl", abilities=np.full(40_000, 0.3), items=items, missing=0.25, random_state=0
    )
    a, b, c = (truth.items[k].to_numpy() for k in ("discrimination", "difficulty", "guessing"))
    expected = c + (1 - c) / (1 + np.exp(-a * (0.3 - b)))
    np.testing.assert_allclose(np.nanmean(responses.values, axis=0), expected, atol=0.012)
    assert responses.n_missing / responses.cells.size == pytest.approx(0.25, abs=0.006)


def test_impossible_items_are_not_simulated(subtests):
    for case, impossible in {
        "guessing above": {
            "discrimination": [1.0],
            "difficulty": [0.0],
            "guessing": [1.2],
            "slip": [0.0],
        },
        "guessing below": {
            "discrimination": [1.0],
            "difficulty": [0.0],
            "guessing": [-0.1],
            "slip": [0.0],
        },
        "slip above": {
            "discrimination": [1.0],
            "difficulty": [0.0],
            "guessing": [0.2],
            "slip": [0.9],
        },
        "too steep": {
            "discrimination": [-25.0],
            "difficulty": [0.0],
            "guessing": [0.2],
            "slip": [0.0],
        },
    }.items():
        with (
            subtests.test(case),
            pytest.raises(InputError, match=r"items lie outside the bounds of the 4pl model"),
        ):
            simulate("4pl", 10, items=impossible)


def test_a_1pl_is_not_simulated_with_unequal_discriminations():
    unequal = {"discrimination": [1.0, 2.0], "difficulty": [0.0, 1.0]}
    with pytest.raises(InputError, match=r"1pl model has one discrimination for all items"):
        simulate("1pl", 10, items=unequal)
    equal = {"discrimination": 1.5, "difficulty": [0.0, 1.0]}
    assert simulate("1pl", 10, items=equal).truth.items["discrimination"].tolist() == [1.5, 1.5]


def test_a_simulation_keeps_the_names_of_given_frames():
    items = pd.DataFrame({"discrimination": [1.0, 2.0], "difficulty": 0.0}, index=["q", "r"])
    abilities = pd.DataFrame({"ability": [0.0, 1.0, 2.0]}, index=["ann", "bob", "eve"])
    for given in (abilities, abilities["ability"]):
        responses, truth = simulate("2pl", abilities=given, items=items, random_state=0)
        assert responses.items == ("q", "r")
        assert responses.respondents == ("ann", "bob", "eve")
        assert list(truth.items.index) == ["q", "r"]
        assert list(truth.abilities.index) == ["ann", "bob", "eve"]
        assert truth.abilities["ability"].tolist() == [0.0, 1.0, 2.0]


def test_a_simulation_names_what_has_no_names():
    items = pd.DataFrame({"discrimination": [1.0, 2.0], "difficulty": 0.0})
    responses, _ = simulate("2pl", abilities=[0.0, 1.0], items=items, random_state=0)
    assert responses.items == ("item_1", "item_2")
    assert responses.respondents == ("respondent_1", "respondent_2")


def test_a_truth_can_be_simulated_again():
    _, truth = simulate("3pl", 20, 4, random_state=1)
    again = simulate("3pl", abilities=truth.abilities, items=truth.items, random_state=2)
    pd.testing.assert_frame_equal(again.truth.items, truth.items)
    pd.testing.assert_frame_equal(again.truth.abilities, truth.abilities)


def test_a_series_of_weights_must_name_the_respondents():
    frame = pd.DataFrame(VALUES, index=["ann", "bob", "eve"])
    weights = pd.Series([1.0, 2.0, 3.0], index=["ann", "bob", "eve"])
    for wrong in (weights[::-1], weights.rename({"bob": "bib"}), weights.iloc[:2]):
        with pytest.raises(InputError, match=r"weights has an index that differs.*reindex"):
            calibrate(frame, weights=wrong)
    named = calibrate(frame, weights=weights)
    plain = calibrate(frame, weights=weights.to_numpy())
    unnamed = calibrate(frame, weights=weights.reset_index(drop=True))
    np.testing.assert_array_equal(named.coords, plain.coords)
    np.testing.assert_array_equal(unnamed.coords, plain.coords)


SCORES = np.array([[0.2, 0.7, 0.4], [0.1, 0.9, 0.3], [0.6, 0.5, 0.8]])
GRADES = np.array([[0, 1, 2], [2, 1, 0], [1, 2, 1], [0, 0, 2]])


def test_responses_outside_of_what_a_model_was_told_are_named(subtests):
    for case, (values, model, message) in {
        "above": (
            SCORES,
            Continuous(bounds=(0.0, 0.8)),
            r"item_2.*response 0\.9.*outside the bounds 0 and",
        ),
        "below": (
            SCORES,
            Continuous(bounds=(0.15, 1)),
            r"item_1.*response 0\.1.*outside the bounds 0\.15",
        ),
        "negative beta": (
            SCORES - 0.3,
            "beta",
            r"item_1.*-0\.1.*outside the bounds 0 and 1 of the beta model",
        ),
        "percent beta": (
            100 * SCORES,
            "beta",
            r"outside the bounds 0 and 1.*Give probabilities.*continuous",
        ),
        "two pairs": (SCORES, Continuous(bounds=((0, 1), (0, 1))), r"bounds has 2 pairs.*3 items"),
        "grade above": (
            GRADES,
            Graded(categories=2),
            r"item_3.*grade 2.*2 categories go from 0 to 1",
        ),
        "grade above in one": (
            GRADES,
            PartialCredit(categories=(3, 3, 2)),
            r"item_3.*grade 2.*2 categories",
        ),
        "two numbers": (GRADES, Graded(categories=(3, 3)), r"categories has 2 numbers.*3 items"),
        "grade below": (GRADES, Graded(categories=3, lowest=1), r"grade 0.*from 1 to 3"),
    }.items():
        with (
            subtests.test(case),
            pytest.raises(InputError, match=rf"(?s){message}"),
        ):
            calibrate(values, model)


def test_options_that_cannot_be_are_refused(subtests):
    for case, (make, message) in {
        "bounds turned": (lambda: Continuous(bounds=(1, 0)), r"`bounds` must be "),
        "bounds infinite": (lambda: Continuous(bounds=(0, np.inf)), r"`bounds` must be "),
        "bounds unknown": (
            lambda: Continuous(bounds="wide"),
            r"`bounds` must be ",
        ),
        "no move": (
            lambda: Continuous(at_bounds=0),
            r"`at_bounds` must be 'midway', or a number above 0.*got 0",
        ),
        "move unknown": (lambda: Continuous(at_bounds="near"), r"`at_bounds` must be .*got 'near'"),
        "move true": (lambda: BetaResponse(at_bounds=True), r"`at_bounds` must be .*got True"),
        "one grade": (lambda: Graded(categories=1), r"categories is 1; an item has from 2 to 500"),
        "one grade in one": (
            lambda: Graded(categories=(3, 1)),
            r"categories is \(3, 1\); an item has from 2 to 500",
        ),
        "half a grade": (
            lambda: Graded(categories=(3, 2.5)),
            r"categories has 2.5, which is no whole number",
        ),
    }.items():
        with (
            subtests.test(case),
            pytest.raises(InputError, match=message),
        ):
            make()


@pytest.mark.parametrize("model", ["continuous", "beta"])
def test_scores_that_are_all_right_or_wrong_are_no_scores(model):
    whole = Responses(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), kind="continuous")
    with pytest.raises(InputError, match=r"exactly 0 or 1.*kind='binary'.*'2pl'"):
        calibrate(whole, model)


def test_the_published_engine_refuses_what_was_not_published():
    holed = SCORES.copy()
    holed[0, 0] = np.nan
    for arguments in ({"responses": holed}, {"responses": SCORES, "weights": [1.0, 2.0, 1.0]}):
        with pytest.raises(InputError, match=r"needs every cell and knows no weights.*'em'"):
            calibrate(**arguments, preset="airt")


def test_a_preset_takes_settings_of_its_engine():
    cal = calibrate(SCORES, preset="airt", max_iterations=2)
    assert (cal.iterations, cal.converged) == (2, False)
    with pytest.raises(InputError, match=r"no argument 'device', and neither has the shojima"):
        calibrate(SCORES, preset="airt", device="cpu")

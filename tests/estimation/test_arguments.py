"""What cannot be used is refused, with the place and the remedy named."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from itemwise import EM, Beta, Normal, Responses, TwoPL, calibrate, simulate
from itemwise.errors import InputError

VALUES = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "5pl"}, r"no model '5pl'.*1pl, 2pl, 3pl, 4pl"),
        ({"engine": "foo"}, r"no engine 'foo'.*em, joint"),
        ({"speed": 3}, r"no argument 'speed'.*em engine.*tolerance"),
        ({"engine": "joint", "device": "cpu"}, r"no argument 'device'.*joint engine"),
        ({"engine": EM(), "tolerance": 1e-3}, r"tolerance: give settings inside.*EM\(tolerance"),
        ({"tolerance": -1e-6}, r"tolerance is -1e-06.*above 0"),
        ({"tolerance": 0}, r"tolerance is 0.*above 0"),
        ({"tolerance": float("nan")}, r"tolerance is nan.*above 0"),
        ({"max_iterations": 0}, r"max_iterations is 0; give a whole number from 1"),
        ({"max_iterations": 2.5}, r"max_iterations is 2.5; give a whole number from 1"),
        ({"max_iterations": "9"}, r"max_iterations is '9'; give a whole number from 1"),
        ({"tolerance": "1"}, r"tolerance is '1'; give a number above 0"),
        ({"n_jobs": "2"}, r"n_jobs is '2'; give 1 or more"),
        ({"model": TwoPL}, r"model is the class TwoPL; call it: TwoPL\(\)"),
        (
            {"engine": EM},
            r"engine is <class.*give a name \(em, joint\) or an engine such as EM\(\)",
        ),
        ({"engine": 3}, r"engine is 3; give a name \(em, joint\)"),
        ({"engine": None}, r"engine is None; give a name \(em, joint\)"),
        ({"priors": "none"}, r"priors is 'none'; give None for none"),
        ({"priors": {"discrimination": Beta(2, 2)}}, r"prior of discrimination is Beta.*Normal"),
        ({"priors": {"luck": Beta(2, 2)}}, r"priors names 'luck'.*2pl.*discrimination, intercept"),
        ({"priors": {"guessing": Beta(2, 2)}}, r"priors names 'guessing'.*2pl"),
        ({"weights": [1.0, 2.0]}, r"weights has shape \(2,\).*3 respondents"),
        ({"weights": [[1.0, 2.0, 3.0]]}, r"weights has shape \(1, 3\).*3 respondents"),
        ({"weights": [1.0, -1.0, 1.0]}, r"weights must be finite, not negative"),
        ({"weights": [1.0, np.nan, 1.0]}, r"weights must be finite"),
        ({"weights": [1.0, np.inf, 1.0]}, r"weights must be finite"),
        ({"weights": [0.0, 0.0, 0.0]}, r"weights must be .*not all zero"),
        ({"weights": ["a", "b", "c"]}, r"weights must be numbers.*'a'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        calibrate(VALUES, **arguments)


@pytest.mark.parametrize("priors", ["strong", 3, {"discrimination": "wide"}], ids=str)
def test_priors_of_another_kind_are_refused(priors):
    with pytest.raises(InputError, match="prior"):
        calibrate(VALUES, priors=priors)


@pytest.mark.parametrize("n_jobs", [0, -2])
def test_a_number_of_workers_that_cannot_be_is_refused(n_jobs):
    with pytest.raises(InputError, match=f"n_jobs is {n_jobs}"):
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


@pytest.mark.parametrize(
    ("values", "kind"), [([[0, 1, 2], [2, 1, 0]], "graded"), ([[0.2, 0.7], [0.1, 1]], "continuous")]
)
def test_responses_of_another_kind_are_refused_with_a_remedy(model_name, values, kind):
    with pytest.raises(InputError, match=rf"responses are {kind}.*{model_name}.*0 and 1 only"):
        calibrate(Responses(values), model_name)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([["a", "b"], ["c", "d"]], "'a'"),
        ([[1.0, np.inf], [0.0, 1.0]], "inf"),
        ([1.0, 0.0, 1.0], "two dimensions"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (np.zeros((0, 3)), "empty"),
        (np.zeros((3, 0)), "empty"),
        ("scores.csv", r"not a path. Read it: itemwise.read_responses\('scores.csv'\)"),
        (Path("scores.csv"), r"not a path. Read it: itemwise.read_responses\('scores.csv'\)"),
        (simulate("2pl", 5, 3, random_state=0), "not a Simulation; give its attribute 'responses'"),
        (csr_array(VALUES), r"not a sparse matrix.*matrix.toarray\(\)"),
        (7, "two dimensions"),
        (None, "two dimensions"),
    ],
    ids=[
        "text", "infinite", "one row", "cube", "no rows", "no columns", "text path", "path",
        "simulation", "sparse", "number", "none",
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        calibrate(values)


def test_the_cell_that_cannot_be_used_is_named():
    frame = pd.DataFrame({"q1": [1, 0], "q2": [1.0, np.inf]}, index=["ann", "bob"])
    with pytest.raises(InputError, match=r"(?s)bob.*q2|q2.*bob"):
        calibrate(frame)


def test_names_of_models_and_engines_may_be_written_large():
    cal = calibrate(VALUES, "2PL", engine="EM")
    assert cal.model.name == "2pl"
    assert cal.engine == "em"


def test_single_priors_are_replaced():
    cal = calibrate(VALUES, "3pl", priors={"guessing": Beta(2, 5), "discrimination": Normal(1, 1)})
    priors = [coordinate.prior for coordinate in cal.model.coordinates]
    assert priors == [Normal(1, 1), Normal(0, 5), Beta(2, 5)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_respondents": 0}, "n_respondents is 0"),
        ({"n_items": -1}, "n_items is -1"),
        ({"n_items": 2.5}, "n_items is 2.5"),
        ({"n_items": True}, "n_items is True"),
        ({"missing": 1.0}, "missing is 1.0"),
        ({"missing": -0.1}, "missing is -0.1"),
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
        ({"missing": "some"}, "missing is 'some'"),
        ({"random_state": "seed"}, "random_state is 'seed'"),
        (
            {"items": {"discrimination": [1.0], "difficulty": [0.0]}, "n_items": 2},
            "n_items is 2, but 1",
        ),
    ],
    ids=str,
)
def test_a_simulation_refuses_what_cannot_be(arguments, message):
    with pytest.raises(InputError, match=message):
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


@pytest.mark.parametrize(
    "impossible",
    [
        {"discrimination": [1.0], "difficulty": [0.0], "guessing": [1.2], "slip": [0.0]},
        {"discrimination": [1.0], "difficulty": [0.0], "guessing": [-0.1], "slip": [0.0]},
        {"discrimination": [1.0], "difficulty": [0.0], "guessing": [0.2], "slip": [0.9]},
        {"discrimination": [-25.0], "difficulty": [0.0], "guessing": [0.2], "slip": [0.0]},
    ],
    ids=["guessing above", "guessing below", "slip above", "too steep"],
)
def test_impossible_items_are_not_simulated(impossible):
    with pytest.raises(InputError, match=r"items lie outside the bounds of the 4pl model"):
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

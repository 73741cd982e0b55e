"""What cannot be used is refused, with the place and the remedy named."""

import numpy as np
import pandas as pd
import pytest

from itemwise import EM, Beta, Normal, Responses, calibrate, simulate
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
        ({"max_iterations": 0}, r"max_iterations is 0.*1 or more"),
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


NOT_CHECKED = pytest.mark.xfail(reason="priors are not checked to be priors", strict=True)


@pytest.mark.parametrize(
    "priors",
    [
        "strong",
        pytest.param(3, marks=NOT_CHECKED),
        pytest.param({"discrimination": "wide"}, marks=NOT_CHECKED),
    ],
    ids=str,
)
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
        ("responses.csv", "two dimensions"),
        (7, "two dimensions"),
        (None, "two dimensions"),
    ],
    ids=["text", "infinite", "one row", "cube", "no rows", "no columns", "path", "number", "none"],
)
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

"""Frames of polars go wherever frames of pandas go, with the same result."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import ogive as og
from ogive.data.foreign_frames import as_pandas, with_row_names
from ogive.errors import InputError


@pytest.fixture(scope="module")
def pl():
    return pytest.importorskip("polars", reason="polars is not installed")


def test_what_is_no_frame_stays_as_it_is(subtests):
    for given in (None, [1, 2], {"a": 1}, np.eye(2), "a.csv", pd.DataFrame({"a": [1]}), 3.0):
        with subtests.test(kind=type(given).__name__):
            assert as_pandas(given) is given


def test_a_frame_that_cannot_be_converted_says_why():
    class Broken:
        def to_pandas(self):
            raise RuntimeError("no memory\nmore")

    with pytest.raises(InputError, match=r"Broken could not be turned .* RuntimeError, no memory"):
        as_pandas(Broken())


def test_a_first_column_of_text_names_the_rows(pl):
    frame = pl.DataFrame({"model": ["a", "b"], "q1": [1, None], "q2": [0, 1]})
    assert with_row_names(frame).index.tolist() == ["a", "b"]
    found = og.Responses.from_frame(frame)
    assert (found.respondents, found.items) == (("a", "b"), ("q1", "q2"))
    assert not found.complete
    assert with_row_names(frame.drop("model")).index.tolist() == [0, 1]


def test_arrow_streams_are_read_without_to_pandas(pl):
    class Stream:
        def __init__(self, frame):
            self.frame = frame

        def __arrow_c_stream__(self, requested_schema=None):
            return self.frame.__arrow_c_stream__(requested_schema)

    assert as_pandas(Stream(pl.DataFrame({"a": [1, 2]})))["a"].tolist() == [1, 2]


def table(n=30, m=8):
    cells = og.simulate("1pl", n, m, random_state=1).responses.to_frame()
    return cells.astype(int).set_axis([f"model {k}" for k in range(n)], axis=0)


def other(pl, frame, index="model"):
    return pl.from_pandas(frame.rename_axis(index).reset_index())


def test_tables_of_responses_may_come_from_polars(pl, subtests):
    frame = table()
    given = other(pl, frame)
    with subtests.test("calibrate"):
        one, two = (og.calibrate(cells, "1pl") for cells in (frame, given))
        pd.testing.assert_frame_equal(one.items, two.items)
        pd.testing.assert_frame_equal(one.abilities(), two.abilities())
        pd.testing.assert_frame_equal(one.score(frame), one.score(given))
    with subtests.test("tournament"):
        one, two = (og.tournament(cells).to_frame() for cells in (frame, given))
        pd.testing.assert_frame_equal(one, two)
    with subtests.test("long"):
        long = given.unpivot(index="model")
        found = og.Responses.from_long(long, "model", "variable", "value")
        assert found == og.Responses.from_frame(frame)
        message = "one row per response"
        renamed = long.rename({"model": "respondent", "variable": "item", "value": "response"})
        with pytest.raises(InputError, match=message):
            og.calibrate(renamed)
    with subtests.test("predictions"):
        said = pl.DataFrame({"good": ["a", "b"], "bad": ["b", "a"]})
        found = og.Responses.from_predictions(pl.Series(["a", "b"]), said)
        assert found.cells.tolist() == [[1, 1], [0, 0]]
    with subtests.test("facts"):
        facts = pl.DataFrame({"item": list(frame.columns), "task": ["a", "b"] * 4})
        found = og.Responses.from_frame(given).described(items=facts)
        assert found.item_groups("task") == ("a", "b") * 4
    with subtests.test("portfolio"):
        runs = pd.DataFrame(np.random.default_rng(0).random((30, 4)), columns=list("abcd"))
        runs.index = [f"p{k}" for k in range(30)]
        one, two = (
            og.portfolio(cells, better="higher").to_frame()
            for cells in (runs, other(pl, runs, "problem"))
        )
        pd.testing.assert_frame_equal(one, two)


def test_features_may_come_from_polars(pl, subtests):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(80, 3)), columns=list("abc"))
    X["kind"] = np.where(X["a"] > 0, "u", "v")
    y = (X["a"] + random.normal(size=80) * 0.3 > 0).astype(int)
    there, labels = pl.from_pandas(X), pl.Series(y.tolist())
    with subtests.test("CaseDifficulty"):
        one, two = og.CaseDifficulty().fit(X, y), og.CaseDifficulty().fit(there, labels)
        np.testing.assert_array_equal(one.transform(X), two.transform(there))
        np.testing.assert_array_equal(one.transform(X), one.transform(there))
        pd.testing.assert_frame_equal(one.indices(X), two.indices(there))
    with subtests.test("DifficultyRegressor"):
        one = og.DifficultyRegressor("knn", cv=2).fit(X, X["b"])
        two = og.DifficultyRegressor("knn", cv=2).fit(there, there["b"])
        np.testing.assert_array_equal(one.predict(X), two.predict(there))
    with subtests.test("CapabilityGate"):
        numbers = ["a", "b", "c"]
        gates = [
            og.CapabilityGate(LogisticRegression()).fit(rows, classes)
            for rows, classes in ((X[numbers], y), (there[numbers], labels))
        ]
        one, two = (gate.decide(X[numbers]) for gate in gates)
        pd.testing.assert_frame_equal(one, two)
        pd.testing.assert_frame_equal(gates[0].decide(there[numbers]), one)
    with subtests.test("evaluate_difficulty"):
        one, two = (
            og.evaluate_difficulty(rows, target, regressors=["knn"], cv=2, n_resamples=1)
            for rows, target in ((X[["a", "b"]], X["c"]), (there[["a", "b"]], there["c"]))
        )
        pd.testing.assert_frame_equal(one.to_frame(), two.to_frame())

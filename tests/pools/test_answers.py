import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from itemwise.errors import InputError
from itemwise.pools import Answers, run_pool


def table():
    labels = {"a": ["cat", "dog", "dog"], "b": ["cat", None, "cat"], "c": [None, None, None]}
    return pd.DataFrame(labels, index=["x", "y", "z"])


def test_predictions_made_elsewhere_become_responses():
    answers = Answers.from_predictions(table(), ["cat", "dog"])
    assert answers.items == ("x", "y", "z")
    assert answers.predictions.tolist() == [[0, 1, 1], [0, -1, 0], [-1, -1, -1]]
    assert list(answers.failures) == ["c"]
    responses = answers.responses([0, 1, 0])
    assert responses.respondents == ("a", "b")
    np.testing.assert_array_equal(responses.values, [[1, 1, 0], [1, np.nan, 1]])
    np.testing.assert_array_equal(answers.accuracy([0, 1, 0]), [2 / 3, 1, np.nan])


def test_whole_numbers_that_a_gap_made_floats_are_still_labels():
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0]})
    assert Answers.from_predictions(frame, ["1", "2"]).predictions.tolist() == [[0, -1, 1]]


def test_some_members_can_be_chosen():
    responses = Answers.from_predictions(table(), ["cat", "dog"]).responses([0, 1, 0], ["b"])
    assert responses.respondents == ("b",)


def test_members_show_themselves_with_their_uncertainty(split, tmp_path):
    answers = run_pool(split, {"bayes": GaussianNB()}, cv=3)
    frame = answers.to_frame()
    assert list(frame) == ["cv_accuracy", "cv_accuracy_se", "failure", "remarks"]
    assert "bayes" in repr(answers)
    answers.plot()
    assert answers.save(tmp_path / "answers.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("frame", "classes", "message"),
    [
        (pd.DataFrame({"a": ["cow"]}), ["cat"], r"'a' predicts 'cow'.*none of the classes \(cat\)"),
        (pd.DataFrame({"a": []}), ["cat"], "one row per item"),
        ([["cat"]], ["cat"], "should be a DataFrame"),
        (pd.DataFrame({"a": ["cat"]}), ["cat", "cat"], "distinct labels"),
        (pd.DataFrame([["cat", "cat"]], columns=["a", "a"]), ["cat"], "Two columns .*'a'"),
        (pd.DataFrame({"a": ["x", "x"]}, index=[1, 1]), ["x"], "Two rows .*'1'"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(frame, classes, message):
    with pytest.raises(InputError, match=message):
        Answers.from_predictions(frame, classes)


def test_responses_need_a_true_code_for_each_item_and_a_member_that_answered():
    answers = Answers.from_predictions(table(), ["cat", "dog"])
    with pytest.raises(InputError, match=r"y_true has shape \(2,\), but there are 3 items"):
        answers.responses([0, 1])
    with pytest.raises(InputError, match="no member 'd'"):
        answers.responses([0, 1, 0], ["d"])
    with pytest.raises(InputError, match=r"Every member failed.*predicts nothing"):
        answers.responses([0, 1, 0], ["c"])

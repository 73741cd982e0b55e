import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ogive.data.pools.pool import Answers
from ogive.data.pools.runner import run_pool
from ogive.errors import InputError


@pytest.fixture
def answers():
    return Answers(
        members=("a", "b", "c"),
        items=("x", "y", "z"),
        predictions=np.array([[0, 1, 1], [0, -1, 0], [-1, -1, -1]]),
        cv_accuracy=np.full(3, np.nan),
        cv_accuracy_se=np.full(3, np.nan),
        failures={"c": "it predicts nothing"},
    )


def test_predictions_become_responses(answers):
    responses = answers.responses([0, 1, 0])
    assert responses.respondents == ("a", "b")
    np.testing.assert_array_equal(responses.values, [[1, 1, 0], [1, np.nan, 1]])
    np.testing.assert_array_equal(answers.accuracy([0, 1, 0]), [2 / 3, 1, np.nan])


def test_some_members_can_be_chosen(answers):
    assert answers.responses([0, 1, 0], ["b"]).respondents == ("b",)


def test_members_show_themselves_with_their_uncertainty(split, tmp_path):
    answers = run_pool(split, {"bayes": GaussianNB()}, cv=3)
    frame = answers.to_frame()
    assert list(frame) == ["cv_accuracy", "cv_accuracy_se", "failure", "remarks"]
    assert "bayes" in repr(answers)
    answers.plot()
    assert answers.save(tmp_path / "answers.html").stat().st_size > 1000


def test_responses_need_a_true_code_for_each_item_and_a_member_that_answered(answers):
    with pytest.raises(InputError, match=r"y_true has shape \(2,\), but there are 3 items"):
        answers.responses([0, 1])
    with pytest.raises(InputError, match="no member 'd'"):
        answers.responses([0, 1, 0], ["d"])
    with pytest.raises(InputError, match=r"Every member failed.*predicts nothing"):
        answers.responses([0, 1, 0], ["c"])

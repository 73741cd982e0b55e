"""The probabilities of members: kept with the answers, stored compactly, never a reason to fail."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

import ogive as og
from ogive.data.pools.members import Member, pack_scores, unpack_scores
from ogive.data.pools.runner import dataset_answers, run_pool


class Odd(DecisionTreeClassifier):
    """A tree whose probabilities are whatever `spoil` makes of them."""

    def __init__(self, spoil=None):
        super().__init__(max_depth=2)
        self.spoil = spoil

    def predict_proba(self, X):
        found = super().predict_proba(X)
        return self.spoil(found) if self.spoil is not None else found


def answered(split, pool, **kw):
    return run_pool(split, pool, cv=0, progress=False, **kw)


def test_scores_are_those_of_the_members_out_of_their_training_part(split):
    pool = {"logistic": LogisticRegression(), "ridge": RidgeClassifier()}
    found = answered(split, pool)
    expected = LogisticRegression().fit(split.X_train, split.y_train).predict_proba(split.X_test)
    assert list(found.scores) == ["logistic"]
    np.testing.assert_allclose(found.scores["logistic"], expected, atol=5e-4)


def test_a_stored_member_has_the_same_scores(split, tmp_path):
    pool = {"logistic": LogisticRegression()}
    fresh = answered(split, pool, folder=tmp_path).scores["logistic"]
    again = answered(split, pool, folder=tmp_path).scores["logistic"]
    np.testing.assert_array_equal(again, fresh)


@pytest.mark.slow
def test_a_worker_returns_them_too(split):
    pool = {"majority": DummyClassifier()}
    found = answered(split, pool, time_limit=60.0)
    np.testing.assert_array_equal(
        found.scores["majority"], answered(split, pool).scores["majority"]
    )


def test_a_class_that_was_never_seen_has_no_probability(splits):
    split = splits()
    seen = split.y_train < 2
    split = type(split)(
        split.name,
        *(split.train[seen], split.test, split.X_train[seen], split.X_test),
        *(split.y_train[seen], split.y_test, split.classes),
    )
    found = answered(split, {"tree": DecisionTreeClassifier(max_depth=2)}).scores["tree"]
    assert found.shape == (30, 3)
    assert (found[:, 2] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-3)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda p: 2 * p, "do not sum to one"),
        (lambda p: np.full_like(p, np.nan), "no probability"),
        (lambda p: p[:, :1], "has shape"),
        (lambda p: 1 / 0, "ZeroDivisionError"),
    ],
    ids=["sum", "nan", "shape", "error"],
)
def test_bad_probabilities_are_left_out_and_the_answers_stay(split, spoil, reason):
    found = answered(split, [Member("odd", lambda _split, _seed: Odd(spoil))])
    assert not found.failures
    assert found.scores == {}
    assert reason in found.remarks["odd"]


def test_packing_keeps_half_precision():
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 7).astype(np.float16)
    np.testing.assert_array_equal(unpack_scores(pack_scores(scores), 7, 3), scores)
    assert unpack_scores("", 7, 3) is None
    with pytest.raises(ValueError, match="reshape"):
        unpack_scores(pack_scores(scores), 8, 3)


def test_a_whole_data_set_is_scored_while_held_out():
    iris = og.load_dataset("sklearn:iris")
    found = dataset_answers(
        iris, {"tree": DecisionTreeClassifier(max_depth=2)}, cv=3, progress=False
    )
    scores = found.scores["tree"]
    assert scores.shape == (150, 3)
    assert (scores.argmax(axis=1) == found.predictions[0]).mean() > 0.99

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from ogive.data.datasets.dataset import Dataset
from ogive.data.pools.runner import dataset_answers, dataset_responses
from ogive.errors import InputError

POOL = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}


def blobs(n=60, labels=None, test=None):
    random = np.random.default_rng(0)
    y = np.arange(n) % 3 if labels is None else np.asarray(labels)
    X = random.normal(size=(len(y), 3)) + 1.5 * pd.factorize(y)[0][:, None]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return Dataset("blobs", frame, pd.Series(y, name="class"), "drawn", test)


class Memory(GaussianNB):
    """Refuses rows that it has seen."""

    def fit(self, X, y):
        self.seen_ = set(X.itertuples(index=False))
        return super().fit(X, y)

    def predict(self, X):
        assert not any(row in self.seen_ for row in X.itertuples(index=False))
        return super().predict(X)


class Sometimes(GaussianNB):
    """Learns from an even number of rows only."""

    def fit(self, X, y):
        if len(y) % 2:
            raise ValueError("no odd numbers")
        return super().fit(X, y)


def test_every_instance_is_an_item_in_its_own_order():
    data = blobs()
    found = dataset_responses(data, POOL, cv=4)
    assert found.shape == (2, 60)
    assert found.complete
    assert found.items == tuple(f"row_{k}" for k in range(60))
    assert found.respondents == ("bayes", "tree")


def test_nobody_is_asked_what_it_has_learnt():
    answers = dataset_answers(blobs(), {"memory": Memory()}, cv=3)
    assert not answers.failures
    assert (answers.predictions >= 0).all()


def test_responses_are_those_of_scikit_learns_own_cross_validation():
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    data = blobs(90)
    X, y = data.features.to_numpy(), data.target.to_numpy()
    # Bayes does not mind how columns are scaled.
    wanted = cross_val_predict(
        GaussianNB(), X, y, cv=StratifiedKFold(5, shuffle=True, random_state=7)
    )
    found = dataset_responses(data, {"bayes": GaussianNB()}, cv=5, random_state=7)
    np.testing.assert_array_equal(found.cells[0], wanted == y)


def test_a_test_part_of_the_data_set_plays_no_role():
    plain = dataset_responses(blobs(), POOL, cv=3)
    assert dataset_responses(blobs(test=np.arange(5)), POOL, cv=3) == plain


def test_a_second_run_resumes_from_its_folders(tmp_path):
    first = dataset_responses(blobs(), POOL, cv=3, folder=tmp_path / "kept")
    folders = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert folders == ["fold_1", "fold_2", "fold_3"]
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(times) == 6
    assert dataset_responses(blobs(), POOL, cv=3, folder=tmp_path / "kept") == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == times


def test_an_instance_alone_in_its_class_is_never_asked():
    data = blobs(labels=["a"] * 10 + ["b"] * 10 + ["c"])
    answers = dataset_answers(data, POOL, cv=2)
    assert (answers.predictions[:, 20] == -1).all()
    assert (answers.predictions[:, :20] >= 0).all()
    assert "Never asked (only member of its class): 1 item (row_20)." in answers.notes
    found = dataset_responses(data, POOL, cv=2)
    assert (found.cells[:, 20] == -1).all()


def test_who_fails_in_a_fold_is_not_asked_there_and_who_fails_in_all_is_left_out():
    data = blobs(61)  # 3 folds train on 40, 41 and 41 rows
    pool = {"sometimes": Sometimes(), "never": DummyClassifier(strategy="constant", constant=9)}
    answers = dataset_answers(data, {**POOL, **pool}, cv=3)
    assert "never" in answers.failures
    assert "failed in fold" in answers.remarks["sometimes"]
    with pytest.warns(UserWarning, match=r"never failed in every fold .*and 1 more; see .notes"):
        found = dataset_responses(data, {**POOL, **pool}, cv=3)
    assert found.respondents == ("bayes", "tree", "sometimes")
    never, sometimes = found.notes
    assert never.startswith("never failed in every fold and was left out: ValueError")
    assert sometimes.startswith("sometimes is partly missing: failed in fold")
    missing = found.cells[2] == -1
    assert 0 < missing.sum() < 61


def test_accuracy_is_that_over_folds():
    answers = dataset_answers(blobs(), POOL, cv=4)
    right = answers.responses(blobs().target.to_numpy()).cells.mean(axis=1)
    np.testing.assert_allclose(answers.cv_accuracy, right)  # folds of 15 each
    assert (answers.cv_accuracy_se > 0).all()


def test_some_members_may_be_chosen_and_progress_is_told_over_all_folds():
    told = []
    found = dataset_responses(
        blobs(), POOL, cv=3, members=["tree"], progress=lambda *said: told.append(said)
    )
    assert found.respondents == ("tree",)
    assert told[-1][:2] == (6, 6)
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)


def test_folds_are_two_or_more(subtests):
    for folds in [1, 0, 2.5, True]:
        with subtests.test(folds=folds), pytest.raises(InputError, match=r"`cv` must be"):
            dataset_responses(blobs(), POOL, cv=folds)


def test_more_folds_than_instances_are_refused():
    with pytest.raises(InputError, match="Give fewer folds"):
        dataset_responses(blobs(9), POOL, cv=10)


def test_a_table_is_no_data_set():
    with pytest.raises(InputError, match="should be a Dataset"):
        dataset_responses(np.eye(3), POOL)

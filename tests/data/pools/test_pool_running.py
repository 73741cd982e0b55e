import os
import re
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from ogive.data.pools.member_runs import Task, answer, folds_of
from ogive.data.pools.members import Member, Part
from ogive.data.pools.pool import find_pool
from ogive.data.pools.runner import run_pool
from ogive.errors import InputError


class Odd(ClassifierMixin, BaseEstimator):
    """A classifier that does one wrong thing."""

    def __init__(self, deed="fail"):
        self.deed = deed

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.deed == "fail":
            raise ArithmeticError("first line\nsecond line")
        if self.deed == "exit":
            raise SystemExit(3)
        if self.deed == "die":
            os._exit(9)
        if self.deed == "hang":
            sum(range(10**11))  # in compiled code, where no signal is heard
        if self.deed == "spoil":
            X[:] = 0
        if self.deed == "warn":
            warnings.warn("oh", RuntimeWarning, stacklevel=1)
        if self.deed == "chat":
            os.write(1, b"reading ...\n")
        return self

    def predict(self, X):
        n = len(X) - (self.deed == "short")
        return np.full(n, {"unknown": 7, "text": "class 0", "nan": np.nan}.get(self.deed, 0))


SMALL = {
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(3),
    "perceptron": MLPClassifier((3,), max_iter=3),
    "broken": Odd("fail"),
}


def test_every_member_answers_the_test_part_as_scikit_learn_would(split):
    answers = run_pool(split, SMALL, cv=3)
    own = GaussianNB().fit(split.X_train, split.y_train).predict(split.X_test)
    np.testing.assert_array_equal(answers.predictions[0], own)
    assert answers.items[0] == f"row_{split.test[0]}"
    assert answers.responses(split.y_test).respondents == ("bayes", "tree", "forest", "perceptron")


def test_cross_validation_is_the_mean_over_folds_with_its_standard_error(split):
    answers = run_pool(split, {"bayes": GaussianNB()}, cv=5, random_state=4)
    accuracies = [
        GaussianNB()
        .fit(split.X_train[a], split.y_train[a])
        .score(split.X_train[b], split.y_train[b])
        for a, b in folds_of(split.y_train, 5, 4)
    ]
    assert answers.cv_accuracy[0] == pytest.approx(np.mean(accuracies), rel=1e-14)
    expected = np.std(accuracies, ddof=1) / np.sqrt(5)
    assert answers.cv_accuracy_se[0] == pytest.approx(expected, rel=1e-12)


def test_artificial_members_keep_their_places_in_cross_validation(split):
    answers = run_pool(split, "artificial", cv=4)
    assert dict(zip(answers.members, answers.cv_accuracy, strict=True))["optimal"] == 1
    assert dict(zip(answers.members, answers.cv_accuracy, strict=True))["pessimal"] == 0


def test_without_folds_nothing_is_cross_validated(split):
    answers = run_pool(split, {"bayes": GaussianNB()}, cv=0)
    assert np.isnan(answers.cv_accuracy).all()
    assert not answers.remarks


@pytest.mark.slow
def test_the_number_of_workers_changes_no_byte(split, same):
    alone = run_pool(split, SMALL, cv=3)
    assert same(alone, run_pool(split, SMALL, cv=3, n_jobs=2))
    assert same(alone, run_pool(split, SMALL, cv=3, time_limit=60))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_other_backends_of_joblib_change_no_byte(split, same, backend):
    # Threads answer through workers; multiprocessing, like ray, returns whole lists only.
    pool = {name: SMALL[name] for name in ("bayes", "tree", "perceptron")}
    with parallel_config(backend=backend, n_jobs=2):
        there = run_pool(split, pool, cv=2)
    assert same(run_pool(split, pool, cv=2), there)


def test_a_seed_decides_and_neither_order_nor_company_matter(split):
    forest = RandomForestClassifier(2, max_depth=2)
    alone = run_pool(split, {"forest": forest}, cv=0)
    among = run_pool(split, {"tree": DecisionTreeClassifier(), "forest": forest}, cv=0)
    np.testing.assert_array_equal(alone.predictions[0], among.predictions[1])
    others = [run_pool(split, {"forest": forest}, cv=0, random_state=k) for k in range(1, 6)]
    assert any((other.predictions != alone.predictions).any() for other in others)


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("fail", "ArithmeticError: first line"),
        ("exit", "SystemExit: 3"),
        ("unknown", "It predicts 7, but it learned the classes as the codes 0 to 2"),
        ("text", "It predicts 'class 0', but it learned the classes as the codes 0 to 2"),
        ("nan", "It predicts nan, but it learned the classes as the codes 0 to 2"),
        ("short", "It predicts 29 labels for 30 items"),
    ],
)
def test_a_member_that_fails_is_recorded_and_skipped(split, deed, reason):
    answers = run_pool(split, {"odd": Odd(deed), "bayes": GaussianNB()}, cv=2)
    assert (answers.predictions[0] == -1).all()
    assert np.isnan(answers.cv_accuracy[0])
    assert answers.responses(split.y_test).respondents == ("bayes",)
    assert len(answers.failures["odd"].splitlines()) == 1
    assert re.search(reason, answers.failures["odd"])
    (note,) = answers.notes
    assert note.startswith("1 member (odd) of 2 failed and was left out; odd: ")


def test_a_member_that_cannot_be_made_fails_like_one_that_cannot_be_fitted(split):
    def broken(part, seed):
        raise RuntimeError("no such thing")

    answers = run_pool(split, [Member("odd", broken)], cv=2)
    assert answers.failures == {"odd": "RuntimeError: no such thing"}


def test_a_fit_that_never_ends_is_stopped_and_what_a_member_prints_gets_between_no_answers(split):
    pool = {"odd": Odd("hang"), "bayes": GaussianNB(), "talks": Odd("chat")}
    answers = run_pool(split, pool, cv=0, time_limit=2.0)  # the others need a hundredth of it
    assert answers.failures == {"odd": "stopped at the time limit of 2 s"}
    assert (answers.predictions[1] >= 0).all()
    assert (answers.predictions[2] == 0).all()


@pytest.mark.slow
def test_a_member_that_takes_its_worker_down_is_found_and_skipped(split, same):
    pool = {"bayes": GaussianNB(), "odd": Odd("die"), "tree": DecisionTreeClassifier()}
    answers = run_pool(split, pool, cv=2, n_jobs=2)
    assert answers.failures == {"odd": "its process ended with status 9"}
    assert same(answers, run_pool(split, pool, cv=2, time_limit=60))


def test_a_member_that_changes_its_data_harms_no_other(split):
    before = split.X_train.copy()
    answers = run_pool(split, {"odd": Odd("spoil"), "bayes": GaussianNB()}, cv=2)
    alone = run_pool(split, {"bayes": GaussianNB()}, cv=2)
    np.testing.assert_array_equal(split.X_train, before)
    np.testing.assert_array_equal(answers.predictions[1], alone.predictions[0])
    assert answers.cv_accuracy[1] == alone.cv_accuracy[0]


def test_warnings_are_counted_in_words_and_not_shown(split):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = run_pool(split, {"odd": Odd("warn"), "few": SMALL["perceptron"]}, cv=2)
    assert not caught
    assert answers.remarks["odd"] == "RuntimeWarning (3 times)"
    assert "1 member (odd): RuntimeWarning" in answers.notes
    assert "1 member (few): stopped before convergence (ConvergenceWarning)" in answers.notes


def test_folds_that_lack_a_class_are_skipped_and_said(splits):
    split = splits()
    split.y_train[:] = np.where(np.arange(60) < 30, 0, 1)
    split.y_train[0] = 2
    answers = run_pool(split, {"bayes": GaussianNB()}, cv=4)
    assert answers.remarks["bayes"].startswith("1 of 4 folds skipped: a class had no member")
    assert np.isfinite(answers.cv_accuracy[0])


def test_fewer_folds_where_no_class_has_as_many_members(splits):
    split = splits(n=15, n_test=6)
    answers = run_pool(split, {"guess": DummyClassifier()}, cv=10)
    largest = np.bincount(split.y_train).max()
    assert f"{largest} folds instead of 10" in answers.remarks["guess"]


def test_perceptrons_that_stop_early_on_purpose_do_not_warn_of_it(split):
    first = find_pool("mlp").members[0]
    outcome = answer(Task(first, Part.of(split), 0, 0))
    assert outcome.remarks == ()


def test_deep_perceptrons_can_be_fitted(split):
    members = find_pool("mlp-deep").members
    for member in (members[2], members[-1]):
        make = member.make
        short = Member(
            member.name, lambda part, seed, make=make: make(part, seed).set_params(max_iter=2)
        )
        outcome = answer(Task(short, Part.of(split), 0, 0))
        assert len(outcome.predictions) == 30


@pytest.mark.parametrize("n_jobs", [0, 1.5, True])
def test_a_number_of_jobs_that_means_nothing_is_refused(split, n_jobs):
    with pytest.raises(InputError, match=r"`n_jobs` must be a whole number other.*got .*"):
        run_pool(split, SMALL, n_jobs=n_jobs)


def test_progress_says_what_is_done_and_what_runs(split):
    told = []
    run_pool(split, SMALL, cv=2, progress=lambda *state: told.append(state))
    assert told == [
        (0, 5, "bayes"),
        (1, 5, "tree"),
        (2, 5, "forest"),
        (3, 5, "perceptron"),
        (4, 5, "broken"),
        (5, 5, ""),
    ]


def test_settings_that_make_no_sense_are_refused(subtests, split):
    cases = [
        ({"cv": 1}, r"`cv` must be .*got 1"),
        ({"cv": 2.5}, r"`cv` must be .*got 2.5"),
        ({"time_limit": 0}, r"`time_limit` must be .*got 0"),
        ({"time_limit": float("nan")}, r"`time_limit` must be .*got nan"),
        ({"random_state": -1}, r"`random_state` must be .*got -1"),
        ({"random_state": None}, r"`random_state` must be .*got None"),
    ]
    for setting, message in cases:
        with (
            subtests.test(setting=setting, message=message),
            pytest.raises(InputError, match=message),
        ):
            run_pool(split, SMALL, **setting)


def test_a_split_whose_parts_do_not_match_is_refused(split):
    split.y_test[0] = 3
    with pytest.raises(InputError, match="test part of 'blobs' has the codes 0 to 3"):
        run_pool(split, SMALL)


@pytest.mark.parametrize(
    "settings", [{"time_limit": 60}, pytest.param({"n_jobs": 2}, marks=pytest.mark.slow)]
)
def test_nothing_in_the_working_directory_is_run(split, tmp_path, monkeypatch, settings):
    """A data set may come in a folder with a file named like a module."""
    (tmp_path / "struct.py").write_text("open('harm', 'w')\nraise SystemExit")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONSAFEPATH", "1" if "n_jobs" in settings else "")  # as commands do
    members = {"one": DummyClassifier(), "two": DummyClassifier()}
    found = run_pool(split, members, cv=0, progress=False, **settings)
    assert not found.failures
    assert not (tmp_path / "harm").exists()

"""The published sets of classifiers."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from ogive.data.pools.members import Member
from ogive.data.pools.pool import find_pool
from ogive.data.pools.published_pools import (
    ALGORITHMS,
    GRIDS,
    GridSearch,
    artificial_classifiers,
    misplaced,
    real_classifiers,
    tuned_classifiers,
)
from ogive.data.pools.runner import run_pool
from ogive.data.study_tables import is_artificial

NAMES = ["optimal", "SVM", "MLP", "majority", "random 1", "pessimal"]


def test_the_names_of_the_papers_pool_are_known():
    assert is_artificial([member.name for member in artificial_classifiers()]).all()
    assert not is_artificial([member.name for member in real_classifiers()]).any()


def test_who_is_out_of_place_is_named(subtests):
    cases = [
        ([6, 5, 4, 3, 2, 1], ()),
        ([5, 5, 4, 1, 1, 1], ()),
        ([4, 5, 6, 3, 2, 1], ("optimal",)),
        ([6, 5, 4, 3, 1, 2], ("pessimal",)),
        ([6, 5, 4, 4, 2, 1], ("majority",)),
        ([6, 2, 5, 3, 4, 1], ("majority", "random 1")),
    ]
    for strength, wrong in cases:
        with subtests.test(strength=strength, wrong=wrong):
            assert misplaced(NAMES, np.array(strength, dtype=float)) == wrong


def test_without_artificial_respondents_nothing_is_said():
    assert misplaced(["SVM", "random forest"], np.array([1.0, 2.0])) is None


def test_without_real_respondents_guessing_has_no_place_to_miss():
    assert misplaced(["optimal", "majority"], np.array([2.0, 1.0])) == ()


NEIGHBOURS = GridSearch("nearest neighbours", {"n_neighbors": (1, 5, 9), "p": (2, 1)})
MEMBERS = {member.name: member for member in tuned_classifiers()}


@pytest.fixture
def sized():
    """Two-dimensional instances of classes with the given numbers of members."""

    def make(*sizes):
        y = np.repeat(np.arange(len(sizes)), sizes)
        return np.random.default_rng(0).normal(size=(len(y), 2)) + 3 * y[:, None], y

    return make


def test_the_algorithms_are_those_of_the_random_configurations():
    assert list(MEMBERS) == list(GRIDS) == list(ALGORITHMS)
    assert [member.name for member in find_pool("tuned").members] == list(ALGORITHMS)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", GRIDS)
def test_every_setting_of_every_grid_can_be_trained(algorithm, split):
    grid = GRIDS[algorithm]
    first = {name: options[:1] for name, options in grid.items()}
    pool = [
        Member(f"{name}={option}", GridSearch(algorithm, {**first, name: (option,)}, cv=2))
        for name, options in grid.items()
        for option in options
    ]
    answers = run_pool(split, pool, cv=0)
    (note,) = answers.notes
    assert note.startswith(f"{len(pool)} members (")
    assert note.endswith("): tuned")  # no failures, no warnings
    assert all(name in answers.remarks[name] for name in answers.members)
    assert answers.accuracy(split.y_test).min() > 0.4  # a third by guessing


def test_the_best_settings_are_those_of_scikit_learn_and_are_told(split):
    tuned = NEIGHBOURS(split, 3).fit(split.X_train, split.y_train)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    search = GridSearchCV(KNeighborsClassifier(), NEIGHBOURS.grid, cv=folds)
    search.fit(split.X_train, split.y_train)
    np.testing.assert_array_equal(tuned.predict(split.X_test), search.predict(split.X_test))
    words = ", ".join(f"{name}={value}" for name, value in search.best_params_.items())
    assert tuned.remarks == (f"tuned ({search.best_score_:.3f} right in 5 folds: {words})",)


@pytest.mark.slow
def test_the_runner_passes_on_which_settings_were_chosen(split, tmp_path, same):
    pool = [MEMBERS["nearest neighbours"], MEMBERS["LDA"], MEMBERS["linear SVM"]]
    answers = run_pool(split, pool, cv=2, folder=tmp_path)
    # Folds of 24 rows cannot try 25 neighbours; that is no reason to warn.
    assert answers.notes == ("3 members (nearest neighbours, LDA, linear SVM): tuned",)
    assert "shrinkage=" in answers.remarks["LDA"]
    assert "in 5 folds" in answers.to_frame().loc["nearest neighbours", "remarks"]
    assert same(answers, run_pool(split, pool, cv=2, folder=tmp_path))


def test_a_seed_decides(split):
    forest = GridSearch("random forest", {"n_estimators": (3, 5)})

    def chosen(seed):
        tuned = forest(split, seed).fit(split.X_train, split.y_train)
        return tuned.classifier.predict_proba(split.X_test).tobytes()

    assert chosen(1) == chosen(1) != chosen(2)


def test_small_classes_make_the_folds_fewer(subtests, sized, split):
    for sizes, folds in [((20, 20), 5), ((20, 4), 4), ((20, 2, 9), 2), ((20, 6, 1), 5)]:
        with subtests.test(sizes=sizes, folds=folds):
            X, y = sized(*sizes)
            tuned = NEIGHBOURS(split, 0).fit(X, y)
            assert f"in {folds} folds" in tuned.remarks[0]
            assert tuned.classifier.classes_.tolist() == list(range(len(sizes)))


@pytest.mark.parametrize("sizes", [(20, 1), (9, 0), (1, 1, 1)])
def test_without_two_classes_to_tell_apart_the_first_settings_serve(sized, split, sizes):
    tuned = NEIGHBOURS(split, 0).fit(*sized(*sizes))
    assert tuned.remarks[0].startswith("not tuned")
    assert (tuned.classifier.n_neighbors, tuned.classifier.p) == (1, 2)

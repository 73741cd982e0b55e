import numpy as np

from ogive.data.pools.published_pools import artificial_classifiers, misplaced, real_classifiers
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

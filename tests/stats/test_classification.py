import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.stats.metrics import auc_error, auc_of_scores, classic_metrics, confusion_counts

few_and_slow = settings(max_examples=40, deadline=None)  # a call of scikit-learn takes milliseconds
NAMES = ["accuracy", "f1", "precision", "recall", "auc", "specificity"]


@st.composite
def labelled(draw, most_classes=4, least_classes=2):
    """True codes, those that two models predict, and the number of classes."""
    k = draw(st.integers(least_classes, most_classes))
    n = draw(st.integers(1, 25))
    rows = st.lists(st.integers(0, k - 1), min_size=n, max_size=n)
    true, *predicted = draw(st.lists(rows, min_size=3, max_size=3))
    return np.array(true), np.array(predicted), k


@st.composite
def drawn(draw):
    """The same, and how often each item is drawn in four resamples; some draw nothing."""
    true, predicted, k = draw(labelled())
    rows = st.lists(st.integers(0, 3), min_size=len(true), max_size=len(true))
    return true, predicted, k, np.array(draw(st.lists(rows, min_size=4, max_size=4)))


def metrics_of(true, predicted, k, positive=None):
    return classic_metrics(confusion_counts(true, predicted, k), positive)


def by_scikit_learn(true, predicted, positive):
    """Metrics of one class against all others, with as few calls as possible: each is slow."""
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support, roc_auc_score

    yes, said = true == positive, predicted == positive
    precision, recall, f1, members = precision_recall_fscore_support(
        yes, said, labels=[False, True], zero_division=0
    )
    return {
        "accuracy": accuracy_score(yes, said),
        "f1": f1[1],
        "precision": precision[1],
        "recall": recall[1],
        "auc": roc_auc_score(yes, said) if members.all() else 0.0,
        "specificity": recall[0],
    }


def test_two_classes_by_hand():
    counts = np.array([[50.0, 10.0], [5.0, 35.0]])  # 35 hits, 5 misses, 10 false alarms
    found = classic_metrics(counts)
    wanted = {
        "accuracy": 85 / 100,
        "f1": 70 / 85,
        "precision": 35 / 45,
        "recall": 35 / 40,
        "auc": (35 / 40 + 50 / 60) / 2,
        "specificity": 50 / 60,
    }
    assert list(found) == NAMES
    assert found == pytest.approx(wanted, rel=1e-14)
    turned = classic_metrics(counts, positive=0)
    assert (turned["recall"], turned["specificity"]) == (found["specificity"], found["recall"])


def test_three_classes_by_hand():
    counts = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 5.0]])
    found = classic_metrics(counts)
    assert found["accuracy"] == pytest.approx(8 / 10)
    assert found["recall"] == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    assert found["precision"] == pytest.approx((1 + 1 / 2 + 5 / 6) / 3)
    assert found["specificity"] == pytest.approx((1 + 7 / 8 + 4 / 5) / 3)
    assert found["auc"] == pytest.approx((found["recall"] + found["specificity"]) / 2)


@few_and_slow
@given(labelled())
def test_counts_are_those_of_scikit_learn(case):
    from sklearn.metrics import confusion_matrix

    true, predicted, k = case
    for counts, row in zip(confusion_counts(true, predicted, k), predicted, strict=True):
        np.testing.assert_array_equal(counts, confusion_matrix(true, row, labels=range(k)))


@few_and_slow
@given(labelled(most_classes=3))
def test_each_class_against_all_others_is_as_in_scikit_learn(case):
    true, predicted, k = case
    for positive in range(k):
        found = metrics_of(true, predicted, k, positive)
        for model, row in enumerate(predicted):
            wanted = by_scikit_learn(true, row, positive)
            assert {name: found[name][model] for name in NAMES} == pytest.approx(wanted, abs=1e-14)


@given(labelled(most_classes=2))
def test_of_two_classes_the_second_is_positive(case):
    found, wanted = metrics_of(*case), metrics_of(*case, positive=1)
    np.testing.assert_array_equal([*found.values()], [*wanted.values()])


@few_and_slow
@given(labelled(least_classes=3))
def test_means_over_classes_are_those_of_scikit_learn_over_classes_with_members(case):
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    true, predicted, k = case
    found, there = metrics_of(true, predicted, k), np.unique(true)
    for model, row in enumerate(predicted):
        *means, _ = precision_recall_fscore_support(
            true, row, labels=there, average="macro", zero_division=0
        )
        each = [by_scikit_learn(true, row, code) for code in there]
        wanted = {
            "accuracy": accuracy_score(true, row),
            **dict(zip(("precision", "recall", "f1"), means, strict=True)),
            **{name: np.mean([one[name] for one in each]) for name in ("auc", "specificity")},
        }
        assert {name: found[name][model] for name in NAMES} == pytest.approx(wanted, abs=1e-14)


@given(drawn())
def test_weights_are_the_same_as_repeated_items(case):
    true, predicted, k, weights = case
    counts = confusion_counts(true, predicted, k, weights)
    aucs = auc_of_scores(true, predicted.astype(float), weights)
    assert counts.shape == (4, 2, k, k)
    assert aucs.shape == (4, 2)
    for resample, row in enumerate(weights):
        once, answers = np.repeat(true, row), np.repeat(predicted, row, axis=1)
        np.testing.assert_array_equal(counts[resample], confusion_counts(once, answers, k))
        wanted = auc_of_scores(once, answers.astype(float))
        np.testing.assert_allclose(aucs[resample], wanted, atol=1e-14)


@given(labelled())
def test_an_item_without_answer_is_counted_nowhere(case):
    true, predicted, k = case
    silent = predicted.copy()
    silent[0, ::2] = -1
    found = confusion_counts(true, silent, k)
    rest = confusion_counts(true[1::2], predicted[:, 1::2], k)
    np.testing.assert_array_equal(found[0], rest[0])
    np.testing.assert_array_equal(found[1], confusion_counts(true, predicted, k)[1])


def test_a_share_of_nothing_is_zero_and_no_warning():
    for counts in (np.zeros((2, 2)), np.zeros((3, 3))):
        assert all(value == 0 for value in classic_metrics(counts).values())
    nobody_is_positive = classic_metrics(np.array([[6.0, 2.0], [0.0, 0.0]]))
    assert nobody_is_positive["specificity"] == 0.75
    assert nobody_is_positive["recall"] == nobody_is_positive["auc"] == 0
    assert auc_of_scores(np.zeros(3, int), np.ones((2, 3))).tolist() == [0, 0]


scores = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.1, 0.5, 1.0]), min_size=12, max_size=12)


@given(
    st.lists(st.booleans(), min_size=12, max_size=12).filter(lambda labels: len(set(labels)) == 2),
    st.lists(scores, min_size=2, max_size=2),
)
def test_auc_of_scores_counts_pairs_and_half_of_ties(labels, rows):
    true = np.array(labels).astype(int)
    found = auc_of_scores(true, np.array(rows))
    for auc, row in zip(found, rows, strict=True):
        up = [s for s, label in zip(row, labels, strict=True) if label]
        down = [s for s, label in zip(row, labels, strict=True) if not label]
        wins = [(a > b) + (a == b) / 2 for a in up for b in down]
        assert auc == pytest.approx(np.mean(wins), abs=1e-14)


def test_auc_of_scores_is_that_of_scikit_learn_with_weights():
    from sklearn.metrics import roc_auc_score

    random = np.random.default_rng(0)
    true = random.integers(2, size=60)
    values = np.round(true + random.normal(size=(3, 60)), 1)  # ties within and between classes
    weights = random.multinomial(60, np.full(60, 1 / 60), size=5)
    found = auc_of_scores(true, values, weights)
    for resample, model in np.ndindex(5, 3):
        wanted = roc_auc_score(true, values[model], sample_weight=weights[resample])
        assert found[resample, model] == pytest.approx(wanted, abs=1e-13)


@given(labelled(most_classes=2))
def test_auc_of_labels_is_that_of_labels_as_scores(case):
    true, predicted, _ = case
    found = auc_of_scores(true, predicted.astype(float))
    np.testing.assert_allclose(metrics_of(*case)["auc"], found, atol=1e-14)


def test_the_error_of_the_area_is_how_far_areas_of_new_samples_stray(subtests):
    for shift in [0.0, 1.0, 2.0]:
        with subtests.test(shift=shift):
            rng = np.random.default_rng(0)
            true = np.repeat([1, 0], [40, 80])
            drawn = rng.normal(size=(400, 120)) + shift * true
            areas = auc_of_scores(true, drawn)
            errors = [auc_error(true, scores) for scores in drawn]
            assert np.mean(errors) == pytest.approx(areas.std(ddof=1), rel=0.15)


def test_a_perfect_order_of_few_is_not_certain_and_one_class_has_no_error():
    perfect = auc_error(np.repeat([0, 1], 10), np.arange(20.0))
    assert 0 < auc_error(np.repeat([0, 1], 1000), np.arange(2000.0)) < perfect < 0.1
    assert np.isnan(auc_error(np.ones(3), np.arange(3.0)))


def test_a_class_of_one_counts_in_the_means_and_a_class_of_none_does_not():
    counts = np.array([[3, 1, 0], [0, 1, 0], [0, 0, 0]])  # rows: true; the third has no members
    recall = classic_metrics(counts)["recall"]
    assert recall == pytest.approx((3 / 4 + 1 / 1) / 2)


def test_the_error_of_the_area_by_hand():
    true, scores = np.array([1, 1, 1, 0, 0]), np.array([0.9, 0.5, 0.2, 0.5, 0.1])
    # Positive items win 1, 3/4 and 1/2 of their comparisons, negative ones 1/2 and 1.
    positive, negative = [1.0, 0.75, 0.5, 0.5], [0.5, 1.0, 0.5]
    wanted = np.var(positive, ddof=1) / 4 + np.var(negative, ddof=1) / 3
    assert auc_error(true, scores) == pytest.approx(np.sqrt(wanted))
    assert np.isnan(auc_error(np.zeros(3), np.arange(3.0)))

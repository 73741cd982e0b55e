import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import kendalltau, norm, spearmanr

from ogive.errors import InputError
from ogive.results.plots.marks import robust_limits
from ogive.stats.metrics import (
    COLUMNS,
    _gaps,
    auc_error,
    auc_of_scores,
    calibration_error,
    classic_metrics,
    confidence_bins,
    confusion_counts,
    correlation,
    correlation_interval,
    edges_by_quantile,
    edges_by_width,
    error_by_chance,
    error_interval,
    error_scores,
    error_unit,
    grouped_se,
    is_constant,
    kendall,
    mean_interval,
    pair_signs,
    places,
    prediction_error,
    prediction_figures,
    rank_agreement,
    runs_within,
    spearman,
    sums_by_bin,
)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_agreement_is_that_of_scipy_with_ties(pairs):
    x, y = np.array(pairs, dtype=float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert kendall(x, y) == spearman(x, y) == correlation(x, y) == 0
        return
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert correlation(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def test_many_rankings_are_compared_at_once():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(4, 3, 7)), random.normal(size=(4, 1, 7))
    found = kendall(x, y)
    assert found.shape == (4, 3)
    assert found[2, 1] == kendall(x[2, 1], y[2, 0])
    assert spearman(x, np.broadcast_to(y, x.shape))[2, 1] == spearman(x[2, 1], y[2, 0])


def test_signs_say_who_of_a_pair_is_above():
    assert pair_signs(np.array([3.0, 1.0, 1.0])).tolist() == [1, 1, 0]


def test_slices_hold_neighbours_that_are_close():
    assert runs_within(np.array([1.0, 1.8, 2.6, 4.0]), 1.0) == [(0, 2), (1, 3)]


def test_what_is_just_as_far_as_the_reach_is_apart():
    assert runs_within(np.array([1.0, 2.0]), 1.0) == []
    assert runs_within(np.array([0.1, 0.3]), 0.3 - 0.1) == []


@given(st.lists(st.integers(0, 40), min_size=1, max_size=15), st.integers(1, 20))
def test_each_close_pair_is_in_a_slice_and_no_slice_in_another(numbers, reach):
    values = np.sort(np.array(numbers, dtype=float))
    runs = runs_within(values, reach)
    for a in range(len(values)):
        for b in range(a + 1, len(values)):
            together = any(start <= a and b < stop for start, stop in runs)
            assert together == (values[b] - values[a] < reach)
    for start, stop in runs:
        assert not any((s, t) != (start, stop) and s <= start and stop <= t for s, t in runs)


def test_the_interval_of_a_correlation_is_that_of_fisher_and_wider_for_ranks():
    drawn = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 40)
    theirs = stats.pearsonr(*drawn.T)
    found = correlation_interval(theirs.statistic, 40, ranks=False)
    assert found == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    # Bonett and Wright (2000): variance (1 + r²/2) / (n - 3) on Fisher's scale.
    low, high = correlation_interval(0.6, 40, ranks=True)
    reach = stats.norm.ppf(0.975) * np.sqrt(1.18 / 37)
    assert np.arctanh([low, high]) == pytest.approx(np.arctanh(0.6) + reach * np.array([-1, 1]))


def test_three_pairs_or_a_line_say_nothing_on_how_far_a_correlation_holds():
    for r, n in [(0.5, 3), (1.0, 40), (-1.0, 40), (np.nan, 40)]:
        assert np.isnan(correlation_interval(r, n, ranks=False)).all()
    assert np.isfinite(correlation_interval(0.5, 4, ranks=True)).all()


def test_a_correlation_next_to_one_still_has_an_interval_and_turns_with_its_sign():
    low, high = correlation_interval(1 - 1e-11, 40, ranks=False)
    assert 0.999999 < low < high < 1
    down = correlation_interval(-0.3, 12, ranks=True)
    assert down == pytest.approx(tuple(-x for x in correlation_interval(0.3, 12, ranks=True)[::-1]))


def test_agreement_of_two_rankings_is_unknown_where_one_ranks_nobody():
    x, y = np.array([1.0, 3.0, 2.0, 2.0]), np.array([0.1, 0.2, 0.4, 0.3])
    found = rank_agreement(x, y)
    assert found["kendall"] == pytest.approx(stats.kendalltau(x, y).statistic)
    assert found["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic)
    for one, other in ((x, np.ones(4)), (np.ones(4), y)):
        assert np.isnan([*rank_agreement(one, other).values()]).all()


def test_predictions_are_measured_in_deviations_of_the_truth():
    truth, found = np.array([1.0, 2.0, 6.0]), np.array([2.0, 2.0, 4.0])
    figures = prediction_figures(found, truth)
    assert figures["nrmse"] == pytest.approx(np.sqrt(5 / 3) / truth.std())
    assert figures["spearman"] == pytest.approx(stats.spearmanr(found, truth).statistic)
    assert prediction_figures(np.full(3, 3.0), truth) == {
        "nrmse": pytest.approx(1.0),
        "spearman": 0,
    }
    assert np.isnan([*prediction_figures(found, np.full(3, 0.1)).values()]).all()


def test_nothing_is_not_constant_and_one_value_is():
    assert is_constant(np.array([0.1] * 7))
    assert is_constant(np.array([2.0]))
    assert not is_constant(np.empty(0))
    assert not is_constant(np.array([1.0, 1.0, np.nextafter(1.0, 2.0)]))


numbers = st.lists(st.floats(-100, 100), min_size=1, max_size=40).map(np.array)


@given(numbers, st.integers(1, 12), st.sampled_from([edges_by_quantile, edges_by_width]))
def test_every_value_lies_in_a_bin_and_equal_values_in_the_same(values, n_bins, edges_of):
    edges = edges_of(values, n_bins)
    place = places(values, edges)
    assert place.min() >= 0
    assert place.max() < n_bins
    order = np.argsort(values, kind="stable")
    assert (np.diff(place[order]) >= 0).all()
    assert all(len(set(place[values == value])) == 1 for value in values)


def test_bins_by_quantile_hold_equally_many():
    values = np.random.default_rng(0).normal(size=100)
    assert np.bincount(places(values, edges_by_quantile(values, 10))).tolist() == [10] * 10


def test_bins_by_width_are_equally_wide_but_for_what_lies_far_out():
    values = np.append(np.linspace(0, 10, 101), [1e6, -1e6])
    edges = edges_by_width(values, 5)
    assert (edges[0], edges[-1]) == (-1e6, 1e6)
    assert np.ptp(np.diff(edges[1:-1])) < 1e-9
    np.testing.assert_allclose(edges_by_width(values[:101], 5), [0, 2, 4, 6, 8, 10])


def test_values_outside_and_missing_ones_lie_in_no_bin():
    found = places(np.array([-1.0, 0.0, 1.0, 2.0, 3.0, np.nan]), np.array([0.0, 1.0, 2.0]))
    assert found.tolist() == [-1, 0, 1, 1, -1, -1]


def test_sums_by_hand():
    cells = np.array([[1.0, 0.0, np.nan, 1.0], [1.0, 1.0, 1.0, 1.0]])
    n, right = sums_by_bin(cells, np.array([0, 0, 1, -1]), 2)
    assert n.tolist() == [[2, 0], [2, 1]]
    assert right.tolist() == [[1, 0], [2, 1]]


@given(numbers)
def test_robust_limits_lie_within_the_values_and_hold_their_middle(values):
    low, high = robust_limits(values)
    assert values.min() <= low <= np.median(values) <= high <= values.max()


def test_robust_limits_leave_far_values_out():
    values = np.append(np.random.default_rng(0).normal(size=200), [1e6, np.inf, np.nan])
    assert robust_limits(values)[1] < 10
    mostly_equal = np.append(np.zeros(90), [*np.linspace(0, 1, 15), 1e6])
    assert robust_limits(mostly_equal)[1] < 10


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


RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.random(50)
PREDICTED = TRUTH + RANDOM.normal(0.05, 0.1, 50)
ALONE = np.arange(50)


def test_figures_are_those_by_hand():
    found = prediction_error(PREDICTED, TRUTH, ALONE, np.full(50, 0.15))
    error = PREDICTED - TRUTH
    assert tuple(found) == COLUMNS
    assert found["mae"] == pytest.approx(np.abs(error).mean())
    assert found["mae_se"] == pytest.approx(np.abs(error).std(ddof=1) / np.sqrt(50))
    assert found["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    assert found["bias_se"] == pytest.approx(error.std(ddof=1) / np.sqrt(50))
    assert found["kendall"] == pytest.approx(kendalltau(PREDICTED, TRUTH).statistic)
    assert found["spearman"] == pytest.approx(spearmanr(PREDICTED, TRUTH).statistic)
    assert found["coverage"] == (np.abs(error) <= 0.15).mean()
    assert found["width"] == pytest.approx(0.3)


def test_copies_do_not_make_standard_errors_smaller():
    once = prediction_error(PREDICTED, TRUTH, ALONE)
    twice = prediction_error(*(np.tile(x, 2) for x in (PREDICTED, TRUTH, ALONE)))
    for name in ("mae", "mae_se", "rmse_se", "bias_se"):
        assert twice[name] == pytest.approx(once[name])


def test_nothing_is_said_where_nothing_varies_or_one_is_alone():
    found = prediction_error(np.ones(3), TRUTH[:3], np.arange(3))
    assert np.isnan([found["kendall"], found["spearman"], found["coverage"], found["width"]]).all()
    assert np.isnan(grouped_se(TRUTH, np.zeros(50, dtype=int)))


def test_bins_are_equally_wide_and_the_last_holds_one():
    given = np.array([0.0, 0.05, 0.1, 0.55, 0.999, 1.0])
    np.testing.assert_array_equal(confidence_bins(given), [0, 0, 1, 5, 9, 9])


def test_the_error_by_hand():
    # Bins: (0.9, 0.95) with one right, gap 0.425; (0.6) right, gap -0.4. Weighted 2/3 and 1/3.
    confidence, right = np.array([0.9, 0.95, 0.6]), np.array([1.0, 0.0, 1.0])
    found = calibration_error(confidence, right, confidence_bins(confidence))
    assert found == pytest.approx((2 * 0.425 + 0.4) / 3)


@pytest.mark.parametrize(
    ("name", "chance"),
    [
        ("right", lambda c: c),
        ("too sure", lambda c: 0.5 + 0.6 * (c - 0.5)),
        ("a little too sure", lambda c: c - 0.05),
    ],
)
def test_intervals_cover_the_true_error(name, chance):
    random = np.random.default_rng(0)
    many = np.maximum(random.beta(4, 1.5, 200_000), 0.1)
    true = calibration_error(many, chance(many), confidence_bins(many))
    hits = []
    for _ in range(100):
        confidence = np.maximum(random.beta(4, 1.5, 300), 0.1)
        right = (random.uniform(size=300) < chance(confidence)).astype(float)
        place = confidence_bins(confidence)
        low, high = error_interval(confidence, right, place, 0.95, 200, random)
        hits.append(low <= true <= high)
        assert low <= calibration_error(confidence, right, place) <= high
    assert np.mean(hits) >= 0.89  # of 100: three standard errors below 95 %


def test_error_by_chance_is_what_a_calibrated_model_shows():
    random = np.random.default_rng(0)
    confidence = np.full(400, 0.8)
    # One bin: the mean distance of a share of 400 from 0.8, sqrt(2 / pi) of its deviation.
    wanted = np.sqrt(2 / np.pi * 0.8 * 0.2 / 400)
    found = error_by_chance(confidence, confidence_bins(confidence), 4000, random)
    assert found == pytest.approx(wanted, rel=0.05)


def test_a_mean_has_the_interval_of_student():
    from scipy.stats import ttest_1samp

    values = np.array([0.2, 0.5, 0.9, 0.4])
    wanted = ttest_1samp(values, 0.0).confidence_interval(0.9)
    mean, low, high = mean_interval(values, 0.9, 0.0, 1.0)
    assert (mean, low, high) == pytest.approx((0.5, wanted.low, wanted.high))
    assert mean_interval(values, 0.999, 0.3, 0.6)[1:] == (0.3, 0.6)
    assert mean_interval(values[:1], 0.9, 0.0, 1.0) == (0.2, 0.0, 1.0)


class Given:
    """In place of a random generator: the same numbers in every column."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def normal(self, size):
        assert size[0] == len(self.values)
        return np.repeat(self.values[:, None], size[1], axis=1)


def test_the_ends_of_an_interval_are_errors_that_would_just_show_this_one(subtests):
    """In one bin: the distance of a normal number from 0."""
    confidence, right = np.full(40, 0.8), np.repeat([1.0, 0.0], [25, 15])
    place, error = confidence_bins(confidence), 0.8 - 25 / 40
    sd = right.std(ddof=1) / np.sqrt(40)
    numbers = norm.ppf((np.arange(4000) + 0.5) / 4000)
    for level in (0.8, 0.95):
        with subtests.test(level=level):
            found = error_interval(confidence, right, place, level, 4000, Given(numbers))
            tail = (1 - level) / 2

            def beyond(true, tail=tail):
                return norm.sf((error - true) / sd) + norm.cdf((-error - true) / sd) - tail

            def within(true, tail=tail):
                return norm.cdf((error - true) / sd) - norm.cdf((-error - true) / sd) - tail

            step = (error + 3 * sd * np.sqrt(2 / np.pi)) / 200
            low, high = brentq(beyond, 0.0, error), brentq(within, error, 1.0)
            assert low - 1e-4 < found[0] < low + step
            assert high - step < found[1] < high + 1e-4


def test_without_any_noise_an_interval_is_its_error_and_perfect_bins_have_none():
    confidence, right = np.array([0.9, 0.9, 0.2, 0.2]), np.array([1.0, 0.0, 0.0, 1.0])
    place = confidence_bins(confidence)
    found = error_interval(confidence, right, place, 0.95, 5, Given(np.zeros(5)))
    assert found == pytest.approx((0.35, 0.35))
    even = error_interval(
        np.full(2, 0.5), np.array([1.0, 0.0]), np.zeros(2, int), 0.9, 5, Given(np.zeros(5))
    )
    assert even == (0.0, 0.0)


def test_an_error_less_than_that_of_noise_alone_may_be_none():
    confidence, right = np.full(4, 0.51), np.array([1.0, 0.0, 1.0, 0.0])
    found = error_interval(confidence, right, np.zeros(4, dtype=int), 0.95, 2, Given([-9.0, 9.0]))
    assert found[0] == 0.0
    assert found[1] == pytest.approx(0.01)


def test_gaps_and_their_noise_by_hand():
    confidence, right = np.array([0.9, 0.95, 0.6, 0.1, 0.3]), np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    place = np.array([3, 3, 1, 0, 0])  # the bin at 2 is empty
    gap, noise = _gaps(confidence, right, place, 2, Given([1.0, -2.0]))
    np.testing.assert_allclose(gap, np.array([0.1 - 0.7, -0.4, 0.0, -0.1 + 0.95]) / 5)
    # Two items: the variance of a sum is twice that of one; alone, that of its probability.
    variance = np.array(
        [2 * np.var([0.1, -0.7], ddof=1), 0.24, 0, 2 * np.var([-0.1, 0.95], ddof=1)]
    )
    np.testing.assert_allclose(noise, np.outer([1, -2], np.sqrt(variance)) / 5)


def test_errors_of_root_mean_squares_and_coverage_by_hand():
    predicted, truth = np.array([1.0, 2.0, 4.0]), np.array([0.0, 2.5, 2.0])
    found = prediction_error(predicted, truth, np.arange(3), np.array([1.0, 0.1, 1.5]))
    square = np.array([1.0, 0.25, 4.0])
    assert found["rmse_se"] == pytest.approx(
        square.std(ddof=1) / np.sqrt(3) / (2 * np.sqrt(square.mean()))
    )
    assert found["bias"] == pytest.approx(2.5 / 3)
    assert found["coverage"] == pytest.approx(1 / 3)  # the first lies on the end of its interval
    assert found["coverage_se"] == pytest.approx(np.std([1, 0, 0], ddof=1) / np.sqrt(3))
    assert found["width"] == pytest.approx(2 * 2.6 / 3)
    exact = prediction_error(truth, truth, np.arange(3))
    assert (exact["rmse"], exact["rmse_se"]) == (0.0, 0.0)


def test_values_of_a_group_count_as_their_sum():
    values, groups = np.array([1.0, 3.0, 4.0, 8.0, 9.0]), np.array([0, 0, 2, 5, 5])
    sums = np.array([1 + 3 - 10, 4 - 5, 8 + 9 - 10.0])
    wanted = np.sqrt((sums**2).sum() * 3 / 2) / 5
    assert grouped_se(values, groups) == pytest.approx(wanted)
    assert np.isfinite(grouped_se(values, groups // 5))


def test_bins_may_be_of_any_number():
    assert confidence_bins(np.array([0.24, 0.25, 0.74, 1.0]), 4).tolist() == [0, 1, 2, 3]


def test_the_unit_is_the_median_error_of_the_median():
    target = np.array([3.0, 9.0, 1.0, 2.0, 50.0])  # the median is 3; errors 0, 6, 2, 1, 47
    assert error_unit(target) == 2.0
    assert error_unit(np.array([0.0, 0.0, 0.0, 0.0, 10.0])) == 2.0  # the mean error
    with pytest.raises(InputError, match="the same value in every row"):
        error_unit(np.full(5, 3.0))


def test_a_score_falls_with_the_error_and_its_log_odds_are_minus_its_logarithm():
    errors = np.array([-8.0, 1.0, 2.0, 4.0, np.nan])
    scores = error_scores(errors, 2.0)
    np.testing.assert_allclose(scores[:4], [1 / 5, 2 / 3, 1 / 2, 1 / 3])
    assert np.isnan(scores[4])
    np.testing.assert_allclose(np.log(scores / (1 - scores))[:4], -np.log(np.abs(errors[:4]) / 2))


def test_scores_stay_inside_and_depend_on_nothing_else():
    far = error_scores(np.array([0.0, 1e300, 1e-300]), 1.0)
    np.testing.assert_allclose(far, [1 / 1.05, 1 / 21, 1 / 1.05])
    errors = np.random.default_rng(0).normal(size=50)
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(
        error_scores(errors[order], 0.7), error_scores(errors, 0.7)[order]
    )

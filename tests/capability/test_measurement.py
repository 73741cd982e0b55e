"""The capability of a classifier is found with few cases, by two rules."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from ogive import CaseDifficulty, measure_capability
from ogive.capability.class_tests import (
    MIN_SLOPE,
    UNKNOWN,
    SuccessCurve,
    learn_curve,
    run_class_tests,
)
from ogive.errors import InputError


@pytest.fixture(scope="module")
def found(two_classes):
    return measure_capability(
        LogisticRegression(), *two_classes, rule=["information", "steps"], n_resamples=20
    )


def success(n=600, middle=0.5, slope=3.0, seed=0):
    """Difficulties, and whether a classifier with that success curve is right."""
    random = np.random.default_rng(seed)
    difficulty = random.normal(size=n)
    return difficulty, random.random(n) < 1 / (1 + np.exp(-slope * (middle - difficulty)))


def test_a_success_curve_is_learnt_from_its_cases():
    curve = learn_curve(*success(2_000))
    assert abs(curve.middle - 0.5) < 0.15
    assert abs(curve.slope - 3.0) < 0.6
    assert 0.25 < curve.sd < 0.3


def test_few_cases_or_success_that_does_not_fall_leave_a_weak_curve():
    assert learn_curve(np.arange(5.0), np.ones(5, dtype=bool)) is UNKNOWN
    difficulty, right = success()
    assert learn_curve(difficulty, ~right).slope == MIN_SLOPE


def test_all_right_puts_the_middle_beyond_the_cases():
    curve = learn_curve(np.linspace(-2, 1, 50), np.ones(50, dtype=bool))
    assert curve.middle > 1
    assert curve.sd > 0.5


def test_a_test_by_information_finds_the_middle_and_asks_no_case_twice():
    difficulty, right = success()
    tests = run_class_tests(
        difficulty, right, curve=SuccessCurve(3.0, 0.0, 1.0), budget=40, max_se=1e-9
    )
    assert abs(tests.mlc - 0.5) < 0.3
    assert not tests.trace["case"].duplicated().any()
    assert (tests.used == 40).all()
    np.testing.assert_array_equal(tests.trace["right"], right[tests.trace["case"]])
    assert tests.trace["estimate"].iloc[-1] == tests.estimates[0]


def test_a_test_by_information_strays_less_than_one_by_steps():
    difficulty, right = success()
    steps = run_class_tests(difficulty, right, rule="steps")
    curve = SuccessCurve(3.0, 0.0, 1.0)
    longest = int(steps.used.mean())
    modern = run_class_tests(difficulty, right, curve=curve, budget=longest, max_se=1e-9)
    assert modern.between < steps.between / 2
    assert (steps.used >= 5).all()


def test_the_first_case_of_the_step_rule_is_rather_easy():
    difficulty, right = success()
    trace = run_class_tests(difficulty, right, rule="steps", n_resamples=1).trace
    assert abs(trace["difficulty"].iloc[0] - np.percentile(difficulty, 25)) < 0.05


def test_cases_with_the_same_features_are_drawn_by_lot():
    tests = [
        run_class_tests(np.zeros(50), np.ones(50, dtype=bool), n_resamples=1, random_state=seed)
        for seed in range(4)
    ]
    assert len({test.trace["case"].iloc[0] for test in tests}) > 1


@pytest.mark.parametrize("rule", ["information", "steps"])
def test_the_traced_test_is_the_first_of_the_repeated_ones(rule):
    difficulty, right = success()
    alone, several = (
        run_class_tests(difficulty, right, rule=rule, n_resamples=n_resamples)
        for n_resamples in (1, 4)
    )
    assert alone.estimates[0] == several.estimates[0]
    assert alone.used[0] == several.used[0] == len(several.trace)
    assert len(set(several.estimates)) > 1


def test_agreeing_tests_are_not_surer_than_each_of_them():
    tests = run_class_tests(np.zeros(30), np.ones(30, dtype=bool))
    assert tests.between < 1e-9
    assert tests.mlc_se == pytest.approx(tests.errors.mean())


def test_each_class_and_rule_has_a_row_with_its_cost(found, two_classes):
    frame = found.to_frame()
    assert list(frame.index) == ["other", "star"] * 2
    assert list(frame["rule"]) == ["information"] * 2 + ["steps"] * 2
    assert (frame["mlc_se"] > 0).all()
    assert (frame["cases_used"] <= frame["cases"]).all()
    np.testing.assert_allclose(frame["share"], frame["cases_used"] / 400)
    assert (frame["cases_below"] + frame["cases_above"] == frame["cases"]).all()
    assert (frame["seconds"] > 0).all()


def test_accuracy_is_higher_below_the_limit_than_above(found):
    rows = found.classes[found.classes["cases_above"] > 0]
    assert len(rows)
    assert (rows["accuracy_below"] > rows["accuracy_above"]).all()
    assert (rows["accuracy_below_low"] < rows["accuracy_below"]).all()


def test_the_classic_metrics_are_those_of_scikit_learn(found):
    from sklearn import metrics

    true, predicted = (found.cases[name] == "star" for name in ("class", "prediction"))
    for name in ("accuracy", "precision", "recall", "f1"):
        score = getattr(metrics, f"{name}_score")
        assert found.metrics.loc[name, "value"] == pytest.approx(score(true, predicted))
    assert (found.metrics["se"] > 0).all()


def test_the_area_under_the_curve_is_that_of_the_scores(two_classes, three_classes):
    from sklearn.metrics import roc_auc_score

    for X, y in (two_classes, three_classes):
        model = LogisticRegression().fit(X, y)
        found = measure_capability(model, X, y, rule="steps", n_resamples=1)
        sure = model.predict_proba(X)
        wanted = roc_auc_score(
            y, sure[:, 1] if len(model.classes_) == 2 else sure, multi_class="ovr"
        )
        assert found.metrics.loc["auc", "value"] == pytest.approx(wanted)
        assert 0 < found.metrics.loc["auc", "se"] < 0.1
    margins = measure_capability(RidgeClassifier(), *two_classes, rule="steps", n_resamples=1)
    assert margins.metrics.loc["auc", "value"] > 0.8


def test_a_classifier_that_is_always_right_is_not_said_to_be_certain():
    X = np.repeat([[-1.0, -1.0], [1.0, 1.0]], 60, axis=0) + np.tile([[0.0], [0.5]], (60, 1))
    found = measure_capability(GaussianNB(), X, np.repeat([0, 1], 60), n_resamples=2)
    assert (found.metrics["value"] == 1).all()
    assert (found.metrics["se"] > 0).all()
    said = (
        "The classifier (GaussianNB) is right on 100.0% of 36 test cases (95 % interval: 90.4% to"
    )
    assert said in found.meaning
    assert "By the rule 'information', the limit lies beyond" in " ".join(found.notes)
    hardest = found.classes["hardest"].iloc[0]
    assert f"; extrapolated, the hardest case seen has {hardest:.2f})" in found.meaning


def test_the_trace_is_drawn_with_the_limits_of_the_table(found):
    for rule in ("information", "steps"):
        limits = found.classes.loc[found.classes["rule"] == rule, "mlc"]
        words = "\n".join(text.get_text() for text in found.plot(rule=rule).ax_.texts)
        assert all(f"MLC {limit:.2f}" in words.replace("−", "-") for limit in limits)


def test_trace_and_cases_bear_the_names_of_the_cases(two_classes):
    X, y = two_classes
    named = X.set_axis([f"case {k}" for k in range(len(X))])
    found = measure_capability(GaussianNB(), named, y, n_resamples=2)
    assert set(found.trace["case"]) <= set(found.cases.index) <= set(named.index)
    asked = found.cases.loc[found.trace["case"]]
    np.testing.assert_array_equal(asked["right"], found.trace["right"])
    np.testing.assert_array_equal(asked["class"], found.trace["class"])


def test_plain_lists_will_do(three_classes):
    X, y = three_classes
    found = measure_capability(GaussianNB(), X.tolist(), y.tolist(), n_resamples=2)
    assert set(found.trace["case"]) <= set(range(240))
    assert CaseDifficulty().fit(X.tolist(), y.tolist()).indices(X.tolist()).shape == (240, 6)


def test_same_seed_same_result(two_classes):
    first, second = (
        measure_capability(GaussianNB(), *two_classes, n_resamples=3, random_state=5).tables()
        for _ in range(2)
    )
    for name, table in first.items():  # all that is written to files and pages
        pd.testing.assert_frame_equal(table, second[name])


def test_accuracy_falls_with_difficulty(found):
    rows = found.accuracy_by_difficulty()
    for _, part in rows.groupby("class"):
        assert part["accuracy"].iloc[0] > part["accuracy"].iloc[-1]
    assert ((rows["low"] <= rows["accuracy"]) & (rows["accuracy"] <= rows["high"])).all()


def test_a_fitted_classifier_sets_cases_aside_and_a_bare_predictor_will_do(two_classes):
    X, y = two_classes

    class Threshold:
        def predict(self, X):
            return np.where(X["a"] > X["b"], "star", "other")

    found = measure_capability(Threshold(), X, y, n_resamples=2)
    assert "set aside" in " ".join(found.notes)
    assert 0.6 * len(X) < len(found.cases) < 0.8 * len(X)
    steps = measure_capability(Threshold(), X, y, rule="steps", n_resamples=2)
    assert len(steps.cases) == len(X)


def test_several_classes_are_measured_one_against_the_rest(three_classes):
    found = measure_capability(GaussianNB(), *three_classes, n_resamples=3)
    assert list(found.classes.index) == [0, 1, 2]
    assert found.metrics.loc["accuracy", "value"] > 0.8


def test_a_rare_class_is_measured_with_what_there_is(two_classes):
    X, y = two_classes
    keep = np.r_[0:200, 200:208]
    found = measure_capability(GaussianNB(), X.iloc[keep], y[keep], n_resamples=2)
    assert found.classes.loc["star", "cases_used"] <= found.classes.loc["star", "cases"]
    assert "slope of 1" in " ".join(found.notes)


class Failing(GaussianNB):
    def predict(self, X):
        raise RuntimeError("out of order")


class Foreign(GaussianNB):
    def predict(self, X):
        return np.full(len(X), "comet")


class Square(GaussianNB):
    def predict(self, X):
        return np.zeros((len(X), 2))


def test_a_classifier_that_fails_is_named(subtests, two_classes):
    cases = [
        (Failing(), r"Failing failed to .*RuntimeError: out of order\. Try"),
        (Foreign(), "Foreign predicts 1 label .comet."),
        (Square(), "shape"),
        ("naive bayes", "cannot predict"),
        (GaussianNB, "cannot predict"),
    ]
    for classifier, why in cases:
        with subtests.test(classifier=classifier, why=why), pytest.raises(InputError, match=why):
            measure_capability(classifier, *two_classes, rule="steps", n_resamples=1)


def test_a_class_without_test_cases_is_named(two_classes):
    X, y = two_classes
    scale = CaseDifficulty().fit(X, y)
    only = y == "star"
    model = GaussianNB().fit(X, y)
    with pytest.raises(InputError, match="no case of other among the test cases"):
        measure_capability(model, X[only], y[only], case_difficulty=scale)


def test_features_that_differ_from_those_of_the_scale_are_named(two_classes):
    X, y = two_classes
    scale = CaseDifficulty().fit(X, y)
    with pytest.raises(InputError, match=r"lack 1 feature \(d\)"):
        measure_capability(GaussianNB(), X.drop(columns="d"), y, case_difficulty=scale)


def test_settings_that_cannot_be_used_are_named(subtests, two_classes):
    cases = [
        ({"rule": "luck"}, "rule"),
        ({"rule": []}, "rule"),
        ({"rule": 3}, "rule"),
        ({"rule": ["steps", "steps"]}, "rule"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"budget": 0}, "budget"),
        ({"max_se": 0}, "max_se"),
        ({"case_difficulty": "easy"}, "case_difficulty"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": 2**70}, r"`random_state` must be"),
    ]
    for settings, why in cases:
        with subtests.test(settings=settings, why=why), pytest.raises(InputError, match=why):
            measure_capability(GaussianNB(), *two_classes, **settings)


def test_an_unknown_figure_or_rule_is_refused(found):
    with pytest.raises(InputError, match="trace, cases, density, accuracy"):
        found.plot("luck")
    with pytest.raises(InputError, match="information, steps"):
        found.plot("trace", rule="luck")


def test_accuracy_along_difficulty_is_drawn(found):
    import matplotlib.pyplot as plt

    assert found.plot("accuracy").ax_.get_ylabel() == "accuracy"
    plt.close("all")

"""Closed gap: between the single best algorithm and a perfect choice."""

from threading import Lock

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import ogive as og
from ogive import AlgorithmSelector, evaluate_selectors
from ogive.data.datasets.aslib import AslibScenario
from ogive.errors import InputError
from ogive.results.plots.figure import Display

TREE = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
QUICK = {
    "by difficulty": AlgorithmSelector("difficulty", regressor=TREE),
    "by performance": AlgorithmSelector("performance", regressor=TREE),
}


class Oracle(BaseEstimator):
    """The feature says which column to take, counted from the best on purpose wrong by `off`."""

    def __init__(self, off=0):
        self.off = off

    def fit(self, X, y):
        self.names_ = list(y.columns)
        return self

    def predict(self, X):
        best = np.asarray(X)[:, 0].astype(int)
        return [self.names_[(place + self.off) % len(self.names_)] for place in best]


class First:
    """Neither settings nor scikit-learn: takes the first algorithm."""

    def fit(self, X, y):
        self.name = y.columns[0]
        return self

    def predict(self, X):
        return [self.name] * len(X)


class Locked(First):
    """Holds what cannot be copied."""

    def __init__(self):
        self.lock = Lock()


class Silent:
    """Learns and never tells."""

    def fit(self, X, y):
        return self


def drawn(n=60, seed=0):
    """Runtimes without order, and a feature that names the quickest."""
    random = np.random.default_rng(seed)
    names = [f"p{k}" for k in range(n)]
    table = pd.DataFrame(random.uniform(1, 100, (n, 3)), index=names, columns=list("abc"))
    features = pd.DataFrame({"best": table.to_numpy().argmin(axis=1)}, index=names)
    return features, table


def crossing(n=120, seed=0):
    random = np.random.default_rng(seed)
    hard = random.uniform(-2, 2, (n, 1))
    curve = hard * [2.0, 0.5, 1.0] + [-1.0, 0.0, 1.5] + 0.05 * random.normal(size=(n, 3))
    return hard, 1 / (1 + np.exp(curve))


def test_a_perfect_selector_closes_the_gap_and_the_single_best_does_not():
    features, table = drawn()
    made = {"perfect": Oracle(), "wrong": Oracle(1)}
    found = evaluate_selectors(table, features, selectors=made, better="lower")
    frame = found.to_frame()
    assert list(frame.index) == ["virtual best", "single best", "perfect", "wrong"]
    assert frame.loc[["virtual best", "perfect"], "closed_gap"].tolist() == [1.0, 1.0]
    assert frame.loc["single best", "closed_gap"] == 0.0
    assert frame.loc["wrong", "closed_gap"] < 0
    assert frame.loc["perfect", "closed_gap_se"] == pytest.approx(0, abs=1e-12)
    assert found.meaning.startswith("The selector 'perfect' closes 100% (100% to 100%) of the gap")


def test_means_and_closed_gap_by_hand():
    features, table = drawn()
    folds = pd.Series(np.arange(60) % 4, index=table.index)
    found = evaluate_selectors(
        table, features, selectors={"wrong": Oracle(1)}, cv=folds, better="lower"
    )
    values = table.to_numpy()
    single = np.empty(60)
    for fold in range(4):
        held = folds.to_numpy() == fold
        single[held] = values[held, values[~held].mean(axis=0).argmin()]
    wrong = values[np.arange(60), (features["best"] + 1) % 3]
    best = values.min(axis=1)
    row = found.to_frame().loc["wrong"]
    assert row["performance"] == pytest.approx(wrong.mean())
    gap = (single - wrong).mean() / (single - best).mean()
    assert row["closed_gap"] == pytest.approx(gap)
    left = [
        (single - wrong)[folds != k].sum() / (single - best)[folds != k].sum() for k in range(4)
    ]
    assert row["closed_gap_se"] == pytest.approx(
        np.sqrt(3 / 4 * np.sum((left - np.mean(left)) ** 2))
    )
    more, error = found.difference("wrong", "single best")
    assert (more, error) == pytest.approx((gap, row["closed_gap_se"]))


def test_runs_beyond_the_cut_off_count_ten_times_and_the_hopeless_are_counted():
    features, table = drawn()
    table.iloc[:2] = 99.5
    found = evaluate_selectors(
        table, features, selectors={"wrong": Oracle(1)}, better="lower", cutoff=90
    )
    late = table.to_numpy() >= 90
    scored = np.where(late, 900, table)
    frame = found.to_frame()
    assert frame.loc["virtual best", "performance"] == pytest.approx(scored.min(axis=1).mean())
    assert frame.loc["virtual best", "solved"] == pytest.approx(1 - 2 / 60)
    assert any(note.startswith("No algorithm solves 2 problems") for note in found.notes)
    assert "No costs of computing features are known, so none are charged." in found.notes


def test_a_choice_without_a_run_counts_as_the_worst_of_its_problem():
    features, table = drawn()
    best = int(features.loc["p0", "best"])
    other = (best + 1) % 3
    table.iloc[0, other] = np.nan
    settings = {"selectors": {"wrong": Oracle(1)}, "better": "lower"}
    found = evaluate_selectors(table, features, **settings)
    assert found.achieved.loc["p0", "wrong"] == table.loc["p0"].max()
    found = evaluate_selectors(table, features, cutoff=200, **settings)
    assert found.achieved.loc["p0", "wrong"] == table.loc["p0"].max()
    assert any(note.startswith("Missing: 1 of 180 runs.") for note in found.notes)


def test_who_never_ran_on_the_other_problems_is_not_the_single_best():
    features, table = drawn()
    folds = pd.Series(np.arange(60) // 20, index=table.index)
    table["a"] = table["a"].where(folds == 1)
    settings = {"selectors": {"x": Oracle()}, "cv": folds, "better": "lower"}
    found = evaluate_selectors(table, features, **settings)
    assert "a" not in set(found.choices["single best"][folds == 1])


def test_a_crash_is_no_fast_run_where_no_cut_off_is_known():
    features, table = drawn()
    status = table.map(lambda _: "ok")
    table["c"], status["c"] = 0.01, "crash"
    scenario = AslibScenario(
        name="tiny",
        measure="time",
        better="lower",
        kind="runtime",
        cutoff=None,
        performance=table,
        status=status,
        features=features,
        folds=None,
        notes=(),
    )
    found = evaluate_selectors(scenario, selectors={"x": Oracle()})
    assert "c" not in set(found.choices["single best"])
    assert found.achieved["virtual best"].min() >= 1
    assert any("no cut-off is known" in note for note in found.notes)


@pytest.mark.slow
def test_selectors_close_the_gap_where_difficulty_decides():
    hard, accuracy = crossing()
    found = evaluate_selectors(accuracy, hard, selectors=QUICK, cv=4)
    frame = found.to_frame()
    assert (frame.loc[list(QUICK), "closed_gap"] > 0.9).all()
    assert frame.loc["by difficulty", "algorithms"] == 2
    assert set(found.choices["by difficulty"]) == {"algorithm_1", "algorithm_2"}


@pytest.mark.slow
def test_features_that_say_nothing_gain_nothing():
    random = np.random.default_rng(1)
    _, accuracy = crossing()
    found = evaluate_selectors(accuracy, random.normal(size=(120, 2)), selectors=QUICK, cv=4)
    assert (found.to_frame().loc[list(QUICK), "closed_gap"] < 0.5).all()
    assert "not a significant gain" in found.meaning


@pytest.mark.slow
def test_the_same_seed_gives_the_same_and_workers_do_not_matter():
    hard, accuracy = crossing(60)
    made = {"by difficulty": AlgorithmSelector("difficulty", regressor=TREE)}
    with parallel_config(backend="threading"):
        one, other = (
            evaluate_selectors(accuracy, hard, selectors=made, cv=3, random_state=2, n_jobs=jobs)
            for jobs in (None, 2)
        )
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())


def test_features_are_matched_by_name():
    features, table = drawn()
    made = {"perfect": Oracle()}
    found = evaluate_selectors(table, features.iloc[::-1], selectors=made, better="lower")
    assert found.to_frame().loc["perfect", "closed_gap"] == 1.0


def test_where_one_is_always_best_there_is_no_gap():
    features, table = drawn()
    table["a"] = 0.5 * table.min(axis=1)
    found = evaluate_selectors(table, features, selectors={"x": Oracle()}, better="lower")
    assert found.to_frame()["closed_gap"].isna().all()
    assert "a selector can gain nothing" in found.meaning
    with pytest.raises(InputError, match="nothing to draw"):
        found.plot()


def test_a_gap_that_lies_in_one_fold_is_told_without_an_error():
    features, table = drawn()
    folds = pd.Series(np.arange(60) // 20, index=table.index)
    table["a"] = 0.5 * table.min(axis=1)
    table.loc["p0":"p4", "b"] = 0.1 * table["a"]
    features["best"] = np.where(np.arange(60) < 4, 1, 0)
    found = evaluate_selectors(table, features, selectors={"x": Oracle()}, cv=folds, better="lower")
    row = found.to_frame()[["closed_gap", "closed_gap_se"]].loc["x"]
    saved = 0.9 * table["a"].iloc[:5]
    assert row["closed_gap"] == pytest.approx(saved.iloc[:4].sum() / saved.sum())
    assert np.isnan(row["closed_gap_se"])
    assert f"closes {row['closed_gap']:.0%} of the gap" in found.meaning
    assert "all of the gap lies in one fold" in found.meaning
    plt.close(found.plot().figure_)


def test_it_is_drawn_and_saved(tmp_path):
    features, table = drawn()
    found = evaluate_selectors(table, features, selectors={"wrong": Oracle(1)}, better="lower")
    display = found.plot()
    assert isinstance(display, Display)
    assert display.ax_.get_xlabel() == "closed gap (bar: interval)"
    assert found.save(tmp_path / "found.csv").read_text().startswith("selector,performance,")


def test_what_cannot_be_used_is_refused(subtests):
    cases = [
        ({"X": None}, "There are no features"),
        ({"X": np.zeros((5, 2))}, r"X has shape \(5, 2\), but there are 60 problems"),
        ({"selectors": {}}, "map names to selectors"),
        ({"selectors": {"single best": Oracle()}}, "'single best' is a reserved name"),
        ({"selectors": {"x": AlgorithmSelector}}, "Give an AlgorithmSelector instance"),
        ({"cv": 1}, "`cv` must be a whole number of at least 2.*got 1"),
        ({"cv": 61}, "cv is 61, but there are 60 problems"),
        (
            {"cv": pd.Series([1, 2], index=["p0", "p1"])},
            r"cv has no fold for 58 problems \(p2",
        ),
        ({"random_state": -1}, r"`random_state` must be .*got -1"),
        ({"cutoff": -1.0}, r"`cutoff` must be .*got -1.0"),
        ({"penalty": "x"}, "`penalty` must be a number, 1 or more.*got 'x'"),
        ({"selectors": {"x": Locked()}}, "'x' cannot be copied, but each fold needs a fresh one"),
        ({"selectors": {"x": Silent()}}, "The selector 'x' has no predict"),
        ({"selectors": {"x": LinearRegression()}}, "'x' should return the name of an algor"),
    ]
    for change, message in cases:
        with subtests.test(change=change, message=message):
            features, table = drawn()
            settings = {"X": features, "selectors": {"x": Oracle()}, "better": "lower", **change}
            with pytest.raises(InputError, match=message):
                evaluate_selectors(table, **settings)


def test_answers_that_are_no_algorithm_are_refused():
    class Strange(Oracle):
        def predict(self, X):
            return ["nobody"] * len(X)

    features, table = drawn()
    with pytest.raises(InputError, match="'x' should return the name of an algorithm"):
        evaluate_selectors(table, features, selectors={"x": Strange()}, better="lower")


@pytest.mark.slow
def test_references_of_a_scenario_are_those_that_its_runs_give(shared):
    scenario = og.read_aslib(shared / "data" / "aslib" / "CSP-Minizinc-Time-2016")
    found = evaluate_selectors(scenario, selectors=QUICK)
    frame = found.to_frame()
    best = scenario.performance.min(axis=1).mean()  # recorded as PAR10
    assert frame.loc["virtual best", "performance"] == pytest.approx(best)
    assert frame.loc["virtual best", "solved"] == pytest.approx(0.83)
    assert found.folds.nunique() == 10
    assert any("No algorithm solves 17 problems" in note for note in found.notes)


@pytest.mark.slow
def test_performance_of_each_closes_more_than_one_difficulty(shared):
    scenario = og.read_aslib(shared / "data" / "aslib" / "BNSL-2016")
    found = evaluate_selectors(scenario, selectors=QUICK)
    more, error = found.difference("by performance", "by difficulty")
    assert more > 1.96 * error
    assert found.to_frame().loc["by difficulty", "closed_gap"] > 0.3


def test_a_selector_needs_no_more_than_fit_and_predict():
    features, table = drawn()
    found = evaluate_selectors(table, features, selectors={"x": First()}, better="lower")
    assert set(found.choices["x"]) == {table.columns[0]}


def test_a_portfolio_is_not_the_table_that_is_needed():
    features, table = drawn()
    with pytest.raises(InputError, match=r"performance is a Portfolio\. Give the table of runs"):
        evaluate_selectors(og.portfolio(table, better="lower"), features, selectors={"x": First()})

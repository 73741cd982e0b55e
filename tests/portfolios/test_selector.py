"""AlgorithmSelector keeps the contract of scikit-learn, and picks what is known to be best."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

import ogive as og
from ogive import AlgorithmSelector
from ogive.errors import InputError

TREE = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)


def crossing(n=150, seed=0):
    """Feature 'hard' is the difficulty: 'quick' is best on easy problems, 'steady' on hard ones."""
    random = np.random.default_rng(seed)
    hard = random.uniform(-2, 2, n)
    steps = {"quick": (2.0, -1.0), "steady": (0.5, 0.0), "poor": (1.0, 1.5)}
    table = {
        name: 1 / (1 + np.exp(slope * hard + level + 0.05 * random.normal(size=n)))
        for name, (slope, level) in steps.items()
    }
    names = [f"p{k}" for k in range(n)]
    features = pd.DataFrame({"noise": random.normal(size=n), "hard": hard}, index=names)
    return features, pd.DataFrame(table, index=names)


def right_choice(features):
    return np.where(features["hard"] < 2 / 3, "quick", "steady")


class OfThree(AlgorithmSelector):
    """Makes a table of the one column that checks of scikit-learn give."""

    def fit(self, X, y):
        if y is None or np.iscomplexobj(y):
            return super().fit(X, y)
        y = np.asarray(y, dtype=float).reshape(-1, 1)
        return super().fit(X, np.column_stack([y, np.sin(3 * y), np.cos(y)]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        AlgorithmSelector(),
        OfThree("difficulty", regressor=TREE),
        OfThree("performance", regressor=TREE),
    ],
)
def test_the_contract_of_scikit_learn_is_kept(estimator):
    check_estimator(estimator, on_skip=None)


@pytest.mark.parametrize("call", ["predict", "rank", "predict_performance", "sureness"])
def test_before_it_is_fitted_every_question_says_so(call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(AlgorithmSelector(), call)([[0.0]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["auto", "survival", "pairwise", "difficulty", "performance"])
def test_the_better_of_two_that_cross_is_picked_on_new_problems(kind):
    features, table = crossing()
    selector = AlgorithmSelector(kind, regressor=TREE).fit(features[:100], table[:100])
    new = features[100:]
    clear = (new["hard"] - 2 / 3).abs() > 0.3  # nearer, both are as good
    assert (selector.predict(new) == right_choice(new))[clear].mean() > 0.95


@pytest.mark.parametrize("kind", ["survival", "pairwise", "difficulty", "performance"])
def test_runtimes_are_turned(kind):
    features, table = crossing()
    selector = AlgorithmSelector(kind, better="lower", regressor=TREE)
    selector.fit(features, 10 ** (3 * (1 - table)))
    clear = (features["hard"] - 2 / 3).abs() > 0.3
    assert (selector.predict(features) == right_choice(features))[clear].mean() > 0.95


def test_curves_are_of_means_and_not_of_logarithms():
    """'risky' is mostly ten times as fast, but one time in five takes a thousand times as long."""
    random = np.random.default_rng(0)
    hard = random.uniform(0, 1, 300)
    base = np.exp(hard) * 100
    risky = np.where(random.uniform(size=300) < 0.2, 1000 * base, base / 10)
    table = np.column_stack([risky, base, 3 * base * np.exp(0.1 * random.normal(size=300))])
    assert np.log(risky).mean() < np.log(base).mean() < np.log(risky.mean())
    selector = AlgorithmSelector("difficulty", better="lower", regressor=TREE).fit(
        hard[:, None], table
    )
    assert (selector.predict(hard[:, None]) == 1).mean() > 0.9


@pytest.mark.parametrize("kind", ["difficulty", "performance"])
def test_a_small_portfolio_is_all_that_is_chosen_from(kind):
    features, table = crossing()
    selector = AlgorithmSelector(kind, portfolio_size=2, regressor=TREE).fit(features, table)
    assert list(selector.algorithms_) == ["quick", "steady"]
    alone = AlgorithmSelector(kind, portfolio_size=1, regressor=TREE).fit(features, table)
    assert set(alone.predict(features)) == {"quick"}


def test_difficulty_comes_with_intervals():
    features, table = crossing()
    selector = AlgorithmSelector("difficulty", regressor=TREE).fit(features, table)
    low, high = selector.regressor_.predict_interval(features)
    assert (low < high).all()
    rank = np.corrcoef(selector.regressor_.predict(features), features["hard"])[0, 1]
    assert rank > 0.95  # higher is harder


@pytest.mark.parametrize("kind", ["survival", "pairwise", "difficulty", "performance"])
def test_gaps_text_and_other_orders_of_columns_are_fine(kind):
    features, table = crossing()
    features["colour"] = np.where(features["noise"] > 0, "red", "blue")
    features.loc["p3", "noise"] = np.nan
    table.loc["p5", "poor"] = np.nan
    table.loc["p7"] = np.nan
    made = AlgorithmSelector(kind, regressor=TREE)
    selector = made.fit(features, table.iloc[::-1])  # by name
    assert "Left out (no runs): 1 problem." in selector.notes_
    assert list(selector.feature_names_in_) == ["noise", "hard", "colour"]
    turned = features[["colour", "hard", "noise"]]
    np.testing.assert_array_equal(selector.predict(turned), selector.predict(features))
    assert str(clone(selector).get_params()) == str(made.get_params())


@pytest.mark.slow
def test_an_algorithm_that_hardly_ran_is_never_picked(subtests):
    for size, kind in product([None, 2, 4], ["difficulty", "performance"]):
        with subtests.test(size=size, kind=kind):
            features, table = crossing()
            table.insert(0, "lucky", np.nan)
            table.loc[["p3", "p4"], "lucky"] = 1.0
            selector = AlgorithmSelector(kind, portfolio_size=size, regressor=TREE).fit(
                features, table
            )
            assert "lucky" not in selector.algorithms_
            assert set(selector.predict(features)) == {"quick", "steady"}


def test_an_algorithm_without_runs_is_never_picked():
    features, table = crossing()
    table.insert(0, "absent", np.nan)
    for kind in ("difficulty", "performance"):
        selector = AlgorithmSelector(kind, regressor=TREE).fit(features, table)
        assert list(selector.algorithms_) == ["quick", "steady", "poor"]
        assert set(selector.predict(features)) == {"quick", "steady"}
        assert any("absent" in note or "no runs" in note for note in selector.notes_)


def test_wrong_settings_are_named(subtests):
    cases = [
        ({"kind": "features"}, "`kind` must be one of: auto, pairwise.*got 'features'"),
        ({"better": "more"}, r"`better` must be"),
        ({"scale": "root"}, r"`scale` must be"),
        ({"epsilon": "x"}, "`epsilon` must be a number, 0 or more.*got 'x'"),
        ({"portfolio_size": 4}, "size is 4, but there are 3 algorithms"),
        ({"kind": "difficulty", "regressor": "forest"}, "There is no regressor 'forest'"),
    ]
    for change, message in cases:
        with subtests.test(change=change, message=message):
            features, table = crossing(40)
            with pytest.raises(InputError, match=message):
                AlgorithmSelector(**change).fit(features, table)


def test_tables_that_cannot_be_used_are_refused():
    features, table = crossing(40)
    made = AlgorithmSelector("difficulty", regressor=TREE)
    with pytest.raises(InputError, match="one dimension, but it should be a table"):
        made.fit(features, table["quick"])
    with pytest.raises(InputError, match="2 algorithms, but a portfolio needs at least 3"):
        made.fit(features, table[["quick", "poor"]])
    with pytest.raises(InputError, match="y names the item 'q0'"):
        made.fit(features, table.set_axis([f"q{k}" for k in range(40)]))
    with pytest.raises(InputError, match="down to -1"):
        made.set_params(scale="log").fit(features, table - 1.5 + 0.5 * (table > 2))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AlgorithmSelector().fit(features.to_numpy()[:30], table.to_numpy())


def test_where_features_say_nothing_the_single_best_is_picked_and_a_note_says_so():
    random = np.random.default_rng(0)
    table = np.array([10.0, 11.0, 12.0]) + random.normal(size=(120, 3))
    selector = AlgorithmSelector(better="lower").fit(random.normal(size=(120, 2)), table)
    assert selector.way_ == "single"
    assert set(selector.predict(random.normal(size=(9, 2)))) == {int(table.mean(axis=0).argmin())}
    saved = r"Choosing does not pay: in inner folds it saves (0|-?[\d.]+ ± [\d.]+) per problem"
    assert any(re.match(saved, note) for note in selector.notes_)
    assert np.isnan(selector.sureness(random.normal(size=(4, 2)))).all()


def test_predictions_a_ranking_and_how_sure_it_is():
    features, table = crossing()
    selector = AlgorithmSelector().fit(features, table)
    new = features.iloc[:20]
    expected = selector.predict_performance(new)
    assert list(expected.columns) == ["quick", "steady", "poor"]
    assert list(expected.index) == list(new.index)
    apart = (expected - table.iloc[:20]).abs().mean()
    assert (apart < 0.1).all()
    ranking = selector.rank(new)
    assert (ranking[:, 0] == selector.predict(new)).all()
    assert all(set(row) == {"quick", "steady", "poor"} for row in ranking)
    sure = selector.sureness(new)
    near = (new["hard"] - 2 / 3).abs() < 0.4
    assert ((sure > 0) & (sure <= 1)).all()
    assert sure[~near].mean() > sure[near].mean()


@pytest.mark.parametrize("kind", ["auto", "pairwise", "difficulty", "performance"])
def test_a_selector_comes_back_from_its_file(kind, tmp_path):
    features, table = crossing(60)
    regressor = {"regressor": "knn"} if kind in ("difficulty", "performance") else {}
    selector = AlgorithmSelector(kind, **regressor).fit(features, table)
    found = og.load(selector.save(tmp_path / "selector.skops"))
    np.testing.assert_array_equal(found.predict(features), selector.predict(features))
    pd.testing.assert_frame_equal(
        found.predict_performance(features), selector.predict_performance(features)
    )
    assert found.notes_ == selector.notes_
    with pytest.raises(InputError, match="not fitted yet"):
        AlgorithmSelector().save(tmp_path / "empty.skops")


@pytest.mark.slow
def test_two_algorithms_are_enough():
    features, table = crossing()
    two = table[["quick", "steady"]]
    selector = AlgorithmSelector().fit(features, two)
    clear = (features["hard"] - 2 / 3).abs() > 0.3
    assert (selector.predict(features) == right_choice(features))[clear].mean() > 0.95
    found = og.evaluate_selectors(two, features, cv=3)
    assert found.to_frame().loc["auto", "closed_gap"] > 0.5

"""DifficultyRegressor keeps the contract of scikit-learn, and its intervals their promise."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from ogive import DifficultyRegressor
from ogive.difficulty.regressor import PRESETS, StepwiseRegressor
from ogive.errors import InputError


def draw(n=200, seed=0, noise=0.5):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, X[:, 0] - 0.5 * X[:, 1] + noise * random.normal(size=n)


def mixed(n=120, seed=0):
    """Numbers, categories, dates, gaps, a constant column and one that counts the rows."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "length": random.normal(size=n),
            "colour": random.choice(["red", "green", "blue"], n),
            "long": random.random(n) < 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 99, n), "D"),
            "row": range(n),
            "constant": 1.0,
        }
    )
    y = frame["length"] + 2.0 * (frame["colour"] == "red") + 0.1 * random.normal(size=n)
    frame.loc[::9, "length"] = np.nan
    frame.loc[::7, "colour"] = None
    return frame, y


SMALL = [
    DifficultyRegressor("stepwise"),
    DifficultyRegressor("knn"),
    DifficultyRegressor(LinearRegression(), test_size=0.2),
    DifficultyRegressor(RandomForestRegressor(4, random_state=0), cv=2),
]


@pytest.mark.parametrize("estimator", [StepwiseRegressor(), StepwiseRegressor("bic"), *SMALL])
def test_the_contract_of_scikit_learn_is_kept(estimator):
    check_estimator(estimator, on_skip=None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elastic-net", "gbm", "rf"])
def test_it_is_kept_by_presets_that_take_longer(name):
    check_estimator(DifficultyRegressor(name), on_skip=None)


def test_every_preset_learns_from_mixed_columns_with_gaps(subtests):
    for name in PRESETS:
        with subtests.test(name=name):
            frame, y = mixed()
            made = DifficultyRegressor(name, test_size=0.3).fit(frame[:90], y[:90])
            assert made.score(frame[90:], y[90:]) > 0.3
            assert made.notes_ == ["Left out 2 columns (row: an identifier, constant: constant)."]


@pytest.mark.parametrize(
    "settings",
    [pytest.param({"cv": 5}, marks=pytest.mark.slow), {"test_size": 0.3}, {"test_size": 18}],
)
def test_intervals_hold_as_often_as_they_say_over_many_draws(settings):
    held = []
    for seed in range(120):
        X, y = draw(60 + 30, seed)
        made = DifficultyRegressor("stepwise", random_state=seed, **settings)
        made.fit(X[:60], y[:60])
        held.append([covered(made, X[60:], y[60:], share) for share in (0.5, 0.8, 0.9)])
    error = np.std(held, axis=0, ddof=1) / np.sqrt(len(held))
    assert (np.mean(held, axis=0) > [0.5, 0.8, 0.9] - 2 * error).all()
    assert (np.mean(held, axis=0) < [0.6, 0.87, 0.95]).all()  # nor wider than they must be


@pytest.mark.slow
def test_intervals_of_an_unsteady_regressor_with_heavy_tails_hold_too():
    held = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        X = random.normal(size=(80, 2))
        y = np.sin(3 * X[:, 0]) + 0.3 * random.standard_t(2, size=80)
        tree = DecisionTreeRegressor(random_state=0)
        made = DifficultyRegressor(tree, random_state=seed).fit(X[:40], y[:40])
        held.append(covered(made, X[40:], y[40:], 0.9))
    assert np.mean(held) > 0.9 - 2 * np.std(held, ddof=1) / np.sqrt(len(held))


def covered(made, X, y, confidence):
    low, high = made.predict_interval(X, confidence)
    return np.mean((low <= y) & (y <= high))


def test_higher_confidence_means_wider_intervals_around_the_prediction():
    X, y = draw()
    made = DifficultyRegressor("knn").fit(X, y)
    low, high = made.predict_interval(X)
    lower, higher = made.predict_interval(X, 0.99)
    assert (lower <= low).all()
    assert (high <= higher).all()
    assert (higher - lower > high - low).all()


def test_too_few_items_for_the_confidence_give_infinite_intervals():
    X, y = draw(8)
    low, high = DifficultyRegressor("stepwise", confidence=0.9).fit(X, y).predict_interval(X)
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()


def test_a_constant_target_is_predicted_with_no_doubt(subtests):
    for name in PRESETS:
        with subtests.test(name=name):
            X, _ = draw(30)
            made = DifficultyRegressor(name).fit(X, np.full(30, 1.5))
            np.testing.assert_array_equal(made.predict(X), 1.5)
            for bound in made.predict_interval(X):
                np.testing.assert_array_equal(bound, 1.5)
            said = "All items are equally hard (1.5), so that difficulty is predicted, without"
            assert made.notes_ == [f"{said} a measure of error."]
            assert np.isnan(list(made.held_out_figures(np.full(30, 1.5)).values())).all()


def test_gaps_in_an_array_are_filled_with_the_median():
    X, y = draw()
    holes = X.copy()
    holes[::5, 0] = np.nan
    filled = np.where(np.isnan(holes), np.nanmedian(holes, axis=0), holes)
    one, other = (DifficultyRegressor("stepwise", test_size=0.2).fit(Z, y) for Z in (holes, X))
    assert one.score(holes, y) < other.score(X, y)
    made = DifficultyRegressor(LinearRegression(), cv=2).fit(holes, y)
    whole = LinearRegression().fit(filled, y)
    np.testing.assert_allclose(made.predict(holes), whole.predict(filled))


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    X, y = draw()
    one, again, other = (
        DifficultyRegressor(RandomForestRegressor(5, random_state=1), random_state=seed)
        .fit(X, y)
        .predict_interval(X)[0]
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_held_out_predictions_come_from_a_regressor_that_never_saw_the_item():
    X, y = draw(40)
    made = DifficultyRegressor(RandomForestRegressor(5, random_state=0)).fit(X, y)
    errors = np.sort(np.abs(made.held_out_ - y))
    np.testing.assert_allclose(errors, np.sort(np.concatenate(made.residuals_)))
    assert np.mean(errors) > np.mean(np.abs(made.predict(X) - y))


def test_a_frame_may_be_followed_by_rows_with_unknown_categories_and_empty_columns():
    frame, y = mixed()
    made = DifficultyRegressor("stepwise").fit(frame, y)
    new = frame.iloc[:3].assign(colour=["violet", None, "red"], length=[None, None, None])
    assert np.isfinite(made.predict(new)).all()


def test_columns_that_change_their_kind_are_refused():
    frame, y = mixed()
    made = DifficultyRegressor("stepwise").fit(frame, y)
    with pytest.raises(InputError, match=r"'length' held numbers when .* but holds text now"):
        made.predict(frame.assign(length="long"))
    with pytest.raises(InputError, match=r"'colour' held text when .* but holds numbers now"):
        made.predict(frame.assign(colour=3.0))


def test_columns_are_known_by_name_in_any_order_and_among_others():
    frame, y = mixed()
    made = DifficultyRegressor("stepwise").fit(frame, y)
    moved = frame[frame.columns[::-1]].assign(new=1.0)
    np.testing.assert_array_equal(made.predict(moved), made.predict(frame))
    np.testing.assert_array_equal(made.predict_interval(moved), made.predict_interval(frame))
    wrong = frame.rename(columns={"length": "Length"})
    with pytest.raises(InputError, match=r"lack 1 column \(length\).*new: 1 column \(Length\)"):
        made.predict(wrong)
    with pytest.raises(InputError, match="'length' more than once"):
        made.predict(pd.concat([frame, frame["length"]], axis=1))


def test_columns_whose_names_are_numbers_are_known_by_name_too():
    X, y = draw()
    made = DifficultyRegressor("stepwise").fit(pd.DataFrame(X), y)
    moved = pd.DataFrame(X)[list(range(X.shape[1]))[::-1]]
    np.testing.assert_array_equal(made.predict(moved), made.predict(pd.DataFrame(X)))
    with pytest.raises(InputError, match="lack"):
        made.predict(pd.DataFrame(X).add_prefix("x"))


def test_what_cannot_be_learnt_from_is_refused():
    frame, y = mixed()
    with pytest.raises(InputError, match="no usable column"):
        DifficultyRegressor().fit(frame[["constant", "row"]], y)
    with pytest.raises(InputError, match="'length' more than once"):
        DifficultyRegressor().fit(frame[["length", "length"]], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DifficultyRegressor().fit(frame, y.to_numpy()[:-1])
    with pytest.raises(ValueError, match="NaN"):
        DifficultyRegressor().fit(frame, y.where(y > 0).to_numpy())
    with pytest.raises(InputError, match="4 items, but at least 5"):
        DifficultyRegressor().fit(frame[:4], y[:4])
    with pytest.raises(ValueError, match="infinity"):
        DifficultyRegressor().fit(np.full((9, 1), np.inf), np.arange(9.0))
    with pytest.raises(ValueError, match="convert string to float"):
        DifficultyRegressor().fit([["a"], ["b"]] * 5, np.arange(10.0))


def test_wrong_settings_are_refused(subtests):
    cases = [
        ({"regressor": "forest"}, "no regressor 'forest'.*stepwise, elastic-net"),
        ({"regressor": "elasticnet"}, "Did you mean 'elastic-net'"),
        ({"regressor": 3}, "`regressor` must be an unfitted scikit-learn regressor.*got 3"),
        ({"regressor": LogisticRegression()}, "the classifier LogisticRegression"),
        ({"confidence": 1.0}, "`confidence` must be from 0.5.*got 1.0"),
        ({"confidence": 0.2}, r"`confidence` must be .*got 0.2"),
        ({"cv": 1}, r"`cv` must be .*got 1"),
        ({"cv": 0.2}, r"`cv` must be .*got 0.2"),
        ({"test_size": 1.5}, "`test_size` must be a share of the items.*got 1.5"),
        ({"test_size": 0}, r"`test_size` must be .*got 0"),
    ]
    for settings, told in cases:
        with subtests.test(settings=settings, told=told), pytest.raises(InputError, match=told):
            DifficultyRegressor(**settings).fit(*draw(30))


def test_rows_go_as_they_are_to_a_regressor_that_prepares_them_itself():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["short"] * 20 + ["a rather long text"] * 20
    y = np.r_[np.zeros(20), np.ones(20)]
    made = DifficultyRegressor(make_pipeline(CountVectorizer(), LinearRegression()), prepare=False)
    found = made.fit(texts, y).predict(["short", "a rather long text"])
    np.testing.assert_allclose(found, [0, 1], atol=1e-8)


def test_importing_the_package_of_learning_loads_no_scikit_learn():
    code = "import sys, ogive, ogive.difficulty; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_difficulties_that_are_named_follow_their_names():
    X, y = draw()
    frame = pd.DataFrame(X).add_prefix("x")
    named = pd.Series(y, index=[f"row_{k}" for k in range(len(y))])
    plain = DifficultyRegressor("stepwise").fit(frame, y)
    shuffled = DifficultyRegressor("stepwise").fit(frame, named.sample(frac=1, random_state=0))
    np.testing.assert_allclose(shuffled.predict(frame), plain.predict(frame))


def test_so_do_those_of_rows_that_go_as_they_are():
    frame = pd.DataFrame({"x": np.arange(40.0)}, index=[f"item {k}" for k in range(40)])
    named = frame["x"].sample(frac=1, random_state=0)
    made = DifficultyRegressor(LinearRegression(), prepare=False).fit(frame, named)
    np.testing.assert_allclose(made.predict(frame), frame["x"])


def test_a_date_a_day_is_a_feature_and_no_identifier():
    days = pd.date_range("2024-01-01", periods=60)
    y = np.arange(60.0)
    for column in (days, days.strftime("%Y-%m-%d"), days.date, days.strftime("%Y-%m-%dT%H:%MZ")):
        frame = pd.DataFrame({"when": column, "row": range(60)})
        made = DifficultyRegressor("stepwise").fit(frame, y)
        assert made.notes_ == ["Left out 1 column (row: an identifier)."]
        np.testing.assert_allclose(made.predict(frame), y, atol=1e-6)


def test_text_that_is_a_date_in_some_rows_only_stays_text():
    frame = pd.DataFrame({"when": ["2024-01-01", "never"] * 20, "never": ["2023-02-30", "b"] * 20})
    y = np.tile([1.0, 0.0], 20)
    made = DifficultyRegressor("stepwise").fit(frame, y)
    assert made.categories_ == ["when", "never"]
    np.testing.assert_allclose(made.predict(frame[frame["when"] != "never"]), 1.0, atol=1e-6)


def test_rows_without_a_difficulty_are_left_out_and_counted():
    X, y = draw()
    frame = pd.DataFrame(X).add_prefix("x")
    some = pd.Series(y, index=[f"row_{k}" for k in range(len(y))]).drop(["row_1", "row_5"])
    found = DifficultyRegressor("stepwise").fit(frame, some)
    assert any("Left out (no difficulty): 2 items" in note for note in found.notes_)


def test_difficulties_of_other_items_are_refused():
    X, y = draw()
    other = pd.Series(y, index=[f"item_{k}" for k in range(len(y))])
    with pytest.raises(InputError, match="y names the item 'item_0'"):
        DifficultyRegressor("stepwise").fit(pd.DataFrame(X).add_prefix("x"), other)


@pytest.mark.parametrize("prepare", [True, False])
def test_columns_of_another_kind_of_frame_may_come_in_another_order(prepare):
    polars = pytest.importorskip("polars")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    y = X["a"] - 2 * X["b"]
    other = polars.from_pandas(X[["c", "b", "a"]])
    one = DifficultyRegressor("knn", cv=2, prepare=prepare).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), one.predict(other))
    two = DifficultyRegressor("knn", cv=2, prepare=prepare).fit(other, polars.Series(y.tolist()))
    np.testing.assert_array_equal(two.predict(X), two.predict(other))
    with pytest.raises(InputError, match=r"lack 1 column \(a\)"):
        two.predict(X[["b", "c"]])

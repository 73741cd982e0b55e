from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr, wilcoxon
from scipy.stats import t as student
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor

from ogive import DifficultyRegressor, evaluate_difficulty
from ogive.errors import InputError
from ogive.results.plots.figure import Display

QUICK = {"line": LinearRegression(), "mean": DummyRegressor(), "steps": "stepwise"}


def items(n=100, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n, 3)), columns=["a", "b", "c"])
    y = pd.Series(2 * X["a"] + random.normal(size=n), name="2pl")
    return X, y


def row(found, **names):
    frame = found.to_frame()
    for name, value in names.items():
        frame = frame[frame[name] == value]
    (only,) = frame.itertuples()
    return only


def test_figures_are_those_of_a_cross_validation_by_hand():
    X, y = items()
    found = evaluate_difficulty(X, y, regressors=QUICK, cv=4, n_resamples=1, random_state=3)
    errors, ranks = [], []
    for train, test in KFold(4, shuffle=True, random_state=3).split(X):
        line = LinearRegression().fit(X.iloc[train], y.iloc[train])
        guess, truth = line.predict(X.iloc[test]), y.iloc[test].to_numpy()
        errors.append(np.sqrt(np.mean((guess - truth) ** 2)) / np.std(truth))
        ranks.append(spearmanr(guess, truth).statistic)
    line = row(found, regressor="line")
    assert line.nrmse == pytest.approx(np.mean(errors))
    assert line.nrmse_sd == pytest.approx(np.std(errors, ddof=1))
    assert line.spearman == pytest.approx(np.mean(ranks))
    assert line.spearman_low < line.spearman < line.spearman_high
    assert line.n == 100


def test_the_mean_is_useless_and_has_an_error_of_about_one():
    found = evaluate_difficulty(*items(), regressors=QUICK)
    mean = row(found, regressor="mean")
    assert 1 <= mean.nrmse < 1.1
    assert mean.spearman == 0
    assert not mean.best


def test_others_are_held_against_the_best_by_wilcoxon():
    found = evaluate_difficulty(*items(), regressors=QUICK)
    frame = found.to_frame()
    best = frame.loc[frame["best"], "regressor"].item()
    assert frame["nrmse"].idxmin() == frame["best"].idxmax()
    errors = {name: part["nrmse"].to_numpy() for name, part in found.folds.groupby("regressor")}
    wanted = wilcoxon(errors["mean"], errors[best]).pvalue
    mean = row(found, regressor="mean")
    assert mean.p == pytest.approx(wanted)
    assert mean.p <= mean.p_adjusted < 0.05
    assert np.isnan(frame.loc[frame["best"], "p"].item())
    assert "p-values are too small" in found.notes[-1]


def test_the_least_error_of_many_is_judged_as_the_least_of_many():
    """An interval that just ends below 1 is no finding once thirty were tried."""
    found = evaluate_difficulty(*items(), regressors={"line": LinearRegression()})
    end = row(found).nrmse_high
    near = found.folds.assign(nrmse=found.folds["nrmse"] + 0.99 - end)
    many = [near.assign(regressor=f"line {k}", nrmse=near["nrmse"] + k / 1e9) for k in range(30)]
    assert ": significantly better" in replace(found, folds=near).meaning
    assert ": not significantly better" in replace(found, folds=pd.concat(many)).meaning


def test_too_few_folds_say_nothing_of_others():
    found = evaluate_difficulty(*items(), regressors=QUICK, cv=3, n_resamples=1)
    assert "; folds are too few to say whether others are worse." in found.meaning
    assert "not significantly worse" not in found.meaning


def test_intervals_do_not_shrink_because_folds_are_drawn_again():
    X, y = items()
    once, often = (
        row(evaluate_difficulty(X, y, regressors=["stepwise"], n_resamples=k), regressor="stepwise")
        for k in (1, 6)
    )
    width = once.spearman_high - once.spearman_low
    assert often.spearman_high - often.spearman_low == pytest.approx(width, rel=0.15)


def test_items_of_negative_discrimination_leave_training_and_never_tests():
    X, y = items()
    negative = np.arange(100) % 5 == 0
    twisted = y.where(~negative, -y)
    found = evaluate_difficulty(X, twisted, regressors=["stepwise"], negative=negative)
    whole = row(found, training="all items")
    without = row(found, training="without negative")
    assert whole.n == without.n == 100
    assert without.spearman > whole.spearman - 0.05
    direct = evaluate_difficulty(X, twisted, regressors=["stepwise"])
    assert row(direct, training="all items").nrmse == whole.nrmse
    assert "With negative discrimination: 20 items." in found.notes


def test_several_targets_stand_in_one_table_and_gaps_are_left_out():
    X, y = items()
    targets = pd.DataFrame({"1pl": y, "average_error": -y.where(y < 2)})
    found = evaluate_difficulty(X, targets, regressors=QUICK)
    table = found.table()
    assert list(table.index.get_level_values("target")) == ["1pl", "average_error"]
    assert list(table.columns.get_level_values(0).unique()) == list(QUICK)
    assert table.loc[("1pl", "all items"), ("mean", "NRMSE")].startswith("1.0")
    lost = int((y >= 2).sum())
    assert row(found, target="average_error", regressor="line").n == 100 - lost
    assert any(f"average_error: left out (no finite value): {lost} i" in n for n in found.notes)


def test_errors_have_an_interval_that_counts_shared_training_items():
    """The corrected resampled t-test by hand: 5 folds, drawn twice."""
    found = evaluate_difficulty(*items(), regressors=QUICK)
    errors = found.folds.loc[found.folds["regressor"] == "line", "nrmse"]
    reach = student.ppf(0.975, 9) * errors.std() * np.sqrt(1 / 10 + 1 / 4)
    line = row(found, regressor="line")
    assert line.nrmse_low == pytest.approx(errors.mean() - reach)
    assert line.nrmse_high == pytest.approx(errors.mean() + reach)
    ax = found.plot().ax_
    (bars,) = [each for each in ax.collections if hasattr(each, "get_segments")]
    first, last = bars.get_segments()[0][:, 0]
    assert (first, last) == pytest.approx((line.nrmse_low, line.nrmse_high))


def test_folds_of_equal_items_leave_the_others_their_interval():
    """One fold without an error made the interval 'nan to nan'."""
    found = evaluate_difficulty(*items(), regressors=QUICK)
    folds = found.folds.assign(nrmse=found.folds["nrmse"].where(found.folds["fold"] > 0))
    part = replace(found, folds=folds)
    line = row(part, regressor="line")
    kept = folds.loc[folds["regressor"] == "line", "nrmse"].dropna()
    reach = student.ppf(0.975, 7) * kept.std() * np.sqrt(1 / 8 + 1 / 4)
    assert line.nrmse_high == pytest.approx(line.nrmse + reach)
    assert "significantly better" in part.meaning
    single = replace(found, folds=folds[folds["fold"].isin([0, 1]) & (folds["repeat"] == 0)])
    assert "standard deviations, where always predicting" in single.meaning
    assert "nan" not in single.meaning


@pytest.mark.slow
@pytest.mark.parametrize(("n", "cv", "n_resamples"), [(60, 5, 1), (100, 5, 2), (100, 10, 1)])
def test_intervals_of_errors_hold_what_they_promise(n, cv, n_resamples):
    """Truth: the mean error over many tables. Folds counted as independent hold less."""
    rows, reach = [], student.ppf(0.975, cv * n_resamples - 1) / np.sqrt(cv * n_resamples)
    for seed in range(400):
        given = {"cv": cv, "n_resamples": n_resamples, "progress": False}
        knn = {"knn": KNeighborsRegressor(7)}
        rows.append(row(evaluate_difficulty(*items(n, seed), regressors=knn, **given)))
    found = pd.DataFrame(rows)
    truth = found["nrmse"].mean()
    held = ((found["nrmse_low"] <= truth) & (truth <= found["nrmse_high"])).mean()
    independent = ((found["nrmse"] - truth).abs() <= reach * found["nrmse_sd"]).mean()
    assert independent < held
    assert held > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)


def test_it_shows_itself(tmp_path):
    found = evaluate_difficulty(*items(), regressors=QUICK)
    assert isinstance(found.plot(), Display)
    assert isinstance(found.plot("nrmse"), Display)
    assert found.save(tmp_path / "table.csv").read_text().count("\n") == 4
    with pytest.raises(InputError, match="one of: spearman, nrmse"):
        found.plot("r2")


def test_rows_are_matched_by_name():
    X, y = items()
    X.index = [f"row_{k}" for k in range(100)]
    y.index = X.index
    plain = evaluate_difficulty(X, y, regressors=["stepwise"]).to_frame()
    mixed = evaluate_difficulty(X, y.sample(frac=1, random_state=0), regressors=["stepwise"])
    pd.testing.assert_frame_equal(plain, mixed.to_frame())
    with pytest.raises(InputError, match=r"targets names the item 0, but the rows are 'row_0'"):
        evaluate_difficulty(X, y.reset_index(drop=True), regressors=["stepwise"])


def test_the_regressor_inside_a_wrapper_is_judged():
    X, y = items()
    inside = evaluate_difficulty(X, y, regressors={"m": LinearRegression()})
    wrapped = evaluate_difficulty(X, y, regressors={"m": DifficultyRegressor(LinearRegression())})
    pd.testing.assert_frame_equal(inside.folds, wrapped.folds)


def test_the_result_does_not_depend_on_the_number_of_workers():
    X, y = items(60)
    one, two = (evaluate_difficulty(X, y, regressors=["stepwise"], n_jobs=k) for k in (1, 2))
    pd.testing.assert_frame_equal(one.folds, two.folds)


@pytest.mark.parametrize("value", [1.0, 0.1])  # the mean of many 0.1 is not 0.1
def test_a_constant_target_has_no_figures_and_no_winner(value):
    X, y = items(60)
    flat = np.full(60, value)
    found = evaluate_difficulty(X, flat, regressors=["stepwise", "knn"], n_resamples=1)
    frame = found.to_frame()
    assert frame[["nrmse", "spearman", "p"]].isna().all(axis=None)
    assert not frame["best"].any()
    said = f"difficulty: all items are equally hard ({value:g}), so that difficulty is predicted"
    assert said in found.notes[0]
    assert (
        found.meaning == "In every target all items are equally hard: there is nothing to predict."
    )
    assert (found.table() == "–").all(axis=None)
    with pytest.raises(InputError, match="nothing to draw"):
        found.plot()
    both = evaluate_difficulty(X, {"flat": flat, "2pl": y}, regressors=["stepwise"], n_resamples=1)
    assert both.meaning.startswith("stepwise predicts 2pl")
    assert isinstance(both.plot(), Display)
    assert isinstance(both.plot("nrmse"), Display)


def test_what_cannot_be_evaluated_is_refused(subtests):
    cases = [
        ({"cv": 30}, "known for 100 items, but 30 folds need at least 120"),
        ({"cv": 1}, "`cv` must be a whole number of at least 2.*got 1"),
        ({"n_resamples": 0}, r"`n_resamples` must be .*got 0"),
        ({"regressors": ["forest"]}, "There is no regressor 'forest'"),
        ({"regressors": []}, "regressors is empty"),
        ({"targets": np.ones(7)}, r"targets has shape \(7,\), but there are 100 items"),
        ({"targets": ["hard"] * 100}, "targets should be numbers"),
        ({"X": [["a"]] * 100}, "X should be numbers"),
        ({"X": np.full((100, 2), np.inf)}, "infinite"),
        ({"X": np.ones(100)}, "shape"),
        ({"negative": np.ones(100)}, "negative holds float64"),
        ({"negative": np.ones(100, dtype=bool)}, "fewer than 4 are left"),
    ]
    for change, told in cases:
        with subtests.test(change=change, told=told):
            X, y = items()
            given = {"X": X.to_numpy(), "targets": y.to_numpy(), "regressors": ["knn"], **change}
            with pytest.raises(InputError, match=told):
                evaluate_difficulty(given.pop("X"), given.pop("targets"), **given)


def test_gaps_and_text_columns_are_evaluated_too():
    X, y = items()
    X = X.assign(kind=np.where(X["b"] > 0, "long", "short"))
    X.loc[::6, "a"] = np.nan
    found = evaluate_difficulty(X, y, regressors=["stepwise"], n_resamples=1)
    assert row(found, regressor="stepwise").spearman > 0.5

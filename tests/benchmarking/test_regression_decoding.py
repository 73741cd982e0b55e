import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import ogive as og
from ogive.data.pools.members import Member
from ogive.data.pools.pool import Pool, find_pool
from ogive.data.pools.runner import dataset_answers
from ogive.errors import InputError

SETS = ["sklearn:diabetes", "sklearn:friedman1", "sklearn:friedman2"]
POOL = {
    "mean": DummyRegressor(),
    "linear": LinearRegression(),
    **{f"ridge {a:g}": Ridge(a) for a in (1, 100, 10000)},
    **{f"tree {d}": DecisionTreeRegressor(max_depth=d) for d in (1, 2, 3, 5, 8, 12)},
    **{f"{k} neighbours": KNeighborsRegressor(k) for k in (1, 2, 4, 8, 16, 32, 64)},
}


@pytest.fixture(scope="module")
def decoding():
    perfect = Member("perfect", lambda split, _seed: Known(split), "perfect")
    members = (*find_pool(POOL).members, perfect)
    return og.decode_regression(SETS, Pool("own", members), progress=False)


class Known:
    """Predicts almost the truth."""

    def __init__(self, split):
        self.answers = split.y_test + 0.2 * (split.y_test.mean() - split.y_test)

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.answers


def test_three_data_sets_are_decoded(decoding):
    assert list(decoding.calibrations) == ["diabetes", "friedman1", "friedman2"]
    assert len(decoding.regressors) == 3 * (len(POOL) + 1)
    assert not decoding.failures
    assert not any("rank regressors differently" in note for note in decoding.notes)
    assert (decoding.datasets["respondents"] == len(POOL) + 1).all()


def test_ability_follows_the_error_on_every_data_set(decoding, subtests):
    for name, rows in decoding.regressors.groupby("dataset"):
        with subtests.test(dataset=name):
            assert rows.loc[rows["ability"].idxmax(), "respondent"] == "perfect"
            assert spearmanr(rows["ability"], -rows["mae"])[0] > 0.85


@pytest.fixture(scope="module", params=[pytest.param("beta", marks=pytest.mark.slow), "graded"])
def other(request):
    return og.decode_regression(SETS, POOL, model=request.param, max_test_size=40, progress=False)


def test_other_models_rank_regressors_by_their_errors_too(other, subtests):
    assert other.calibrations["diabetes"].model.name == other.model
    for name, rows in other.regressors.groupby("dataset"):
        with subtests.test(dataset=name):
            assert spearmanr(rows["ability"], rows["score"])[0] > 0.85
            slopes = other.calibrations[name].items["discrimination"]
            assert (slopes > 0).mean() > 0.9
            assert (rows["ability_se"] > 0).all()
    assert other.items["difficulty_se"].notna().mean() > 0.9


def test_data_sets_are_described_by_errors_whatever_the_model(other):
    plain = og.decode_regression(SETS, POOL, max_test_size=40, progress=False)
    pd.testing.assert_frame_equal(plain.datasets, other.datasets)
    assert plain.meaning == other.meaning


def test_errors_and_scores_are_those_of_scikit_learn(decoding):
    split = og.split_dataset(og.load_dataset("sklearn:diabetes"))
    said = LinearRegression().fit(split.features_train, split.y_train).predict(split.features_test)
    error = np.abs(said - split.y_test)
    unit = np.median(np.abs(split.y_train - np.median(split.y_train)))
    row = decoding.regressors.set_index(["dataset", "respondent"]).loc[("diabetes", "linear")]
    assert row["mae"] == pytest.approx(error.mean())
    assert row["mae_se"] == pytest.approx(error.std(ddof=1) / np.sqrt(error.size))
    assert row["score"] == pytest.approx(np.mean(1 / (1 + np.clip(error / unit, 0.05, 20))))
    assert decoding.units["diabetes"] == unit


def test_every_estimate_has_its_uncertainty(decoding):
    for name in ("ability", "score", "mae"):
        assert (decoding.regressors[f"{name}_se"] > 0).all()
    frame = decoding.to_frame()
    assert frame["score"].is_monotonic_increasing
    assert (frame["relative_error_low"] < frame["relative_error"]).all()
    assert (frame["relative_error"] < frame["relative_error_high"]).all()
    assert (decoding.items["difficulty_se"] > 0).all()


def test_a_result_shows_and_keeps_itself(decoding, tmp_path):
    decoding.plot("friedman1").save(tmp_path / "scores.png")
    og.write_report(tmp_path / "page.html", decoding)
    assert og.tournament(decoding.scores()).to_frame().index[0] == "perfect"
    assert "| diabetes | mae |" in og.model_card(decoding, "linear", task="tabular-regression")
    with pytest.raises(InputError, match=r"`dataset` must be .*got 'x'"):
        decoding.plot("x")
    with pytest.raises(InputError, match=r"`column` must be .*got 'x'"):
        decoding.scores("x")


def test_a_run_resumes_from_its_folder(tmp_path):
    pool = {name: POOL[name] for name in ("linear", "tree 2")}
    first = og.decode_regression(SETS[:1], pool, folder=tmp_path, progress=False)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(times) == 2
    again = og.decode_regression(SETS[:1], pool, folder=tmp_path, progress=False)
    pd.testing.assert_frame_equal(first.regressors, again.regressors)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == times


@pytest.mark.slow
def test_workers_change_no_byte():
    split = og.split_dataset(og.load_dataset("sklearn:diabetes"))
    pool = {"linear": LinearRegression(), "tree": DecisionTreeRegressor(max_depth=3)}
    here, there = (
        og.run_pool(split, pool, cv=2, time_limit=limit, progress=False) for limit in (None, 60)
    )
    assert here.predictions.tobytes() == there.predictions.tobytes()
    np.testing.assert_array_equal(here.cv_accuracy, there.cv_accuracy)
    assert (here.cv_accuracy_se > 0).all()


def houses(n=60):
    random = np.random.default_rng(0)
    size = random.normal(size=n)
    kind = pd.Categorical(np.where(random.random(n) < 0.5, "flat", "house"))
    price = 3 * size + 2 * (kind == "house") + random.normal(size=n)
    return pd.DataFrame({"size": size, "kind": kind, "price": price})


def test_own_regressors_get_the_columns_as_they_are_and_pools_numbers():
    boosted = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
    own = {"boosted": boosted, "linear": LinearRegression()}
    found = og.decode_regression(
        {"houses": houses()}, own | {"mean": DummyRegressor()}, target="price", progress=False
    )
    assert found.regressors["respondent"].tolist() == ["boosted", "mean"]
    assert "TablePreparation" in found.failed["houses"]["linear"]


def test_skewed_numbers_and_many_zeros_have_a_unit(subtests):
    frame = houses(120)
    skewed = np.exp(frame["price"])
    for what, price in {"skewed": skewed, "zeros": skewed.where(skewed > 5, 0.0)}.items():
        with subtests.test(what):
            columns = frame[["size"]].assign(price=price)
            found = og.decode_regression({"d": columns}, POOL, target="price", progress=False)
            rows = found.regressors
            assert 0 < found.units["d"] < np.inf
            assert spearmanr(rows["ability"], rows["score"])[0] > 0.8
            # A few huge prices decide the mean error, and the result says so.
            assert spearmanr(rows["ability"], -rows["mae"])[0] < 0.5
            assert any("rank regressors differently" in note for note in found.notes)


def test_every_instance_of_a_data_set_is_scored_while_it_is_held_out():
    data = og.load_dataset(houses(), "price", kind="numbers")
    pool = {"mean": DummyRegressor(), "seven": DummyRegressor(strategy="constant", constant=7.0)}
    answers = dataset_answers(data, pool, cv=4, progress=False)
    assert (answers.predictions[1] == 7.0).all()
    found = og.dataset_responses(data, pool, cv=4, progress=False)
    assert (found.kind, found.shape) == ("continuous", (2, 60))
    error = np.abs(7.0 - data.target.to_numpy())
    wanted = 1 / (1 + np.clip(error / answers.unit, 0.05, 20))
    np.testing.assert_allclose(found.to_frame().loc["seven"], wanted)


def test_bad_input_is_explained(subtests):
    frame = houses()
    classes = frame.assign(price=np.where(frame["size"] > 0, "high", "low"))
    gap = frame.assign(price=frame["price"].where(frame.index != 3))
    endless = frame.assign(price=frame["price"].where(frame.index != 3, np.inf))
    cases = {
        "classes": ({"h": classes}, POOL, "regressors predict numbers"),
        "a missing number": ({"h": gap}, POOL, "is missing in 1 row, first in row 4"),
        "an infinite number": ({"h": endless}, POOL, "is infinite in row 4"),
        "one number": ({"h": frame.assign(price=1.0)}, POOL, "the same in every row"),
        "classifiers": (
            {"h": frame},
            {"nb": GaussianNB()},
            r"1 member \(nb\) of the pool is a classifier\. Give regressors",
        ),
        "a set of classes": (["sklearn:iris"], POOL, "with classes, but regressors predict"),
        "too few rows": ({"h": frame.head(3)}, POOL, "too few to split"),
    }
    for what, (sources, pool, message) in cases.items():
        target = None if isinstance(sources, list) else "price"
        with subtests.test(what), pytest.raises(InputError, match=message):
            og.decode_regression(sources, pool, target=target, progress=False)
    with pytest.raises(InputError, match="by one of: 'continuous', 'beta', 'graded'"):
        og.decode_regression({"h": frame}, POOL, model="3pl", target="price")
    with pytest.raises(InputError, match="use decode_regression, with a Dataset of"):
        og.compare_classifiers(frame, POOL, POOL, target="price")
    for study in (og.compare_classifiers, lambda set_: og.decode_benchmark([set_], progress=False)):
        with pytest.raises(InputError, match=r"has numbers to predict, but .* needs classes"):
            study("sklearn:diabetes")
    with pytest.raises(InputError, match="has classes to predict, but 1 member"):
        og.decode_benchmark(["sklearn:iris"], [LinearRegression()], progress=False)

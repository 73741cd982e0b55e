"""Regressors on three data sets: cells by hand, sentences, and what goes wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import ogive as og
from ogive.errors import InputError

POOL = {
    "mean": DummyRegressor(),
    **{f"ridge {a:g}": Ridge(a) for a in (1, 100, 10000)},
    **{f"tree {d}": DecisionTreeRegressor(max_depth=d) for d in (1, 2, 4, 8)},
    **{f"{k} neighbours": KNeighborsRegressor(k) for k in (1, 3, 9, 27)},
}
MODELS = {
    "linear": LinearRegression(),
    "tree": DecisionTreeRegressor(max_depth=3),
    "middle": DummyRegressor(strategy="median"),
}
SETS = ["diabetes", "friedman1", "friedman2"]


@pytest.fixture(scope="module", params=SETS)
def found(request):
    source = f"sklearn:{request.param}"
    return og.compare_regressors(source, MODELS, POOL, max_test_size=80, progress=False)


def test_figures_are_those_of_scikit_learn_and_ability_follows_errors(found):
    split = og.split_dataset(og.load_dataset(f"sklearn:{found.dataset}"), max_test_size=80)
    said = LinearRegression().fit(split.features_train, split.y_train).predict(split.features_test)
    row = found.to_frame().loc["linear"]
    assert row["mae"] == pytest.approx(mean_absolute_error(split.y_test, said))
    assert row["bias"] == pytest.approx(np.mean(said - split.y_test))
    frame = found.to_frame()
    assert spearmanr(frame["ability"], frame["score"])[0] == pytest.approx(1)
    assert (frame.filter(like="_se") >= 0).all(axis=None)
    assert frame.index[-1] == "middle"


def test_cells_are_those_of_a_plain_count(found):
    grade = np.digitize(found.truth, found.edges)
    guess = np.digitize(found.predictions[0], found.edges)
    cells = found.cells[found.cells["model"] == found.models[0]]
    assert cells["count"].sum() == found.truth.size
    for _, cell in cells.iterrows():
        true, said = found.grades.index(cell["true"]), found.grades.index(cell["predicted"])
        inside = (grade == true) & (guess == said)
        assert cell["count"] == inside.sum()
        assert cell["score"] == pytest.approx(found.scores[0, inside].mean())
    same = cells.loc[cells["true"] == cells["predicted"], "count"].sum() / found.truth.size
    assert found.to_frame().loc[found.models[0], "same_grade"] == pytest.approx(same)


def test_a_constant_regressor_has_one_column_of_cells(found):
    cells = found.cells[found.cells["model"] == "middle"]
    assert len(set(cells["predicted"])) == 1
    # Small numbers are overestimated, large ones underestimated.
    assert cells.iloc[0]["bias"] > 0 > cells.iloc[-1]["bias"]


def test_the_sentence_separates_by_the_one_rule(found):
    assert f"{found.to_frame().index[0]} has the highest mean score" in found.meaning
    assert "in the grade of the truth" in found.meaning


def prices(n=60):
    random = np.random.default_rng(0)
    size = random.normal(size=n)
    return pd.DataFrame({"size": size, "price": 3 * size + random.normal(size=n)})


def test_fitted_ones_and_predictions_from_elsewhere_may_be_mixed(tmp_path):
    frame = prices()
    split = og.split_dataset(og.load_dataset(frame, "price", kind="numbers"))
    train = frame.iloc[split.train]
    fitted = LinearRegression().fit(train[["size"]], train["price"])
    truth = frame["price"].iloc[split.test]
    models = {"fitted": fitted, "oracle": truth.to_numpy(), "mean": DummyRegressor()}
    found = og.compare_regressors(
        frame, models, POOL, target="price", bins=2, folder=tmp_path, progress=False
    )
    assert found.to_frame().index[0] == "oracle"
    assert found.to_frame().loc["oracle", "same_grade"] == 1
    assert len(found.grades) == 2
    named = pd.Series(truth.to_numpy(), index=[f"row_{k}" for k in split.test])
    again = og.compare_regressors(
        frame, {"oracle": named[::-1]}, POOL, target="price", progress=False
    )
    assert again.to_frame().loc["oracle", "mae"] == 0
    og.write_report(tmp_path / "page.html", found)


def test_bad_input_is_explained(subtests):
    frame = prices()
    n_test = len(og.split_dataset(og.load_dataset(frame, "price", kind="numbers")).test)
    cases = {
        "nothing": (None, {}, "models is None"),
        "one grade": (MODELS, {"bins": 1}, "of at least 2"),
        "too few": ({"m": [1.0, 2.0]}, {}, "one number for each"),
        "text": ({"m": ["high"] * n_test}, {}, "should be numbers"),
        "a gap": ({"m": [np.nan] + [1.0] * (n_test - 1)}, {}, "has no finite number for row_"),
    }
    for what, (models, settings, message) in cases.items():
        with subtests.test(what), pytest.raises(InputError, match=message):
            og.compare_regressors(frame, models, POOL, target="price", progress=False, **settings)
    with pytest.raises(InputError, match="has classes to predict"):
        og.compare_regressors("sklearn:iris", MODELS, POOL, progress=False)

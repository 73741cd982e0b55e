import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from ogive import DifficultyRegressor, explain_difficulty
from ogive.errors import InputError
from ogive.results.plots.figure import Display


def items(n=240, seed=0):
    """Blur makes items hard and says nothing of their class, which shows in the height."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "blur": random.normal(size=n),
            "height": random.normal(size=n),
            "colour": random.choice(["red", "green", "blue"], n),
            "noise": random.normal(size=n),
        },
        index=[f"row_{k}" for k in range(n)],
    )
    difficulty = frame["blur"] + 1.0 * (frame["colour"] == "red") + 0.1 * random.normal(size=n)
    labels = np.where(frame["height"] > 0, "tall", "small")
    return frame, difficulty, labels


@pytest.fixture(scope="module")
def forest():
    return explain_difficulty(RandomForestRegressor(40, random_state=0), *items())


@pytest.mark.slow
def test_what_makes_items_hard_is_told_from_what_tells_their_class(forest):
    frame = forest.to_frame()
    assert frame.index[0] == "blur"
    assert frame["task_permutation"].idxmax() == frame["task_impurity"].idxmax() == "height"
    assert frame.loc["blur", "permutation"] > 0.3
    assert frame.loc["colour", "permutation"] > 3 * frame.loc["colour", "permutation_sd"]
    assert abs(frame.loc["noise", "permutation"]) < 0.1
    assert frame[["impurity", "task_impurity"]].sum().tolist() == pytest.approx([1, 1])


@pytest.mark.slow
def test_items_of_the_importance_are_held_out(forest):
    assert len(forest.held_out) == 72
    assert 0.7 < forest.score < 1
    assert forest.task_score > 0.85


def test_an_item_is_explained_by_what_pushes_it_up_and_down(forest):
    frame, _, _ = items()
    hardest = frame["blur"].idxmax()
    found = forest.of_item(hardest)
    assert found.index[0] == "blur"
    assert found.loc["blur", "push"] > 0.5
    assert found.loc["blur", "usual"] == pytest.approx(frame["blur"].median())
    assert found.loc["blur", "value"] == frame["blur"].max()
    easiest = frame["blur"].idxmin()
    assert forest.of_item(easiest).loc["blur", "push"] < -0.5
    place = frame.index.get_loc(easiest)
    pd.testing.assert_frame_equal(forest.of_item(place), forest.of_item(easiest))


def test_a_usual_value_pushes_nowhere():
    frame, difficulty, _ = items()
    X = frame[["blur", "height", "noise"]].to_numpy(copy=True)
    X[0] = np.median(X, axis=0)
    X = np.vstack([X, X[0]])  # an even number of rows would put the median between two of them
    found = explain_difficulty("stepwise", X, np.append(difficulty, difficulty.iloc[0]))
    np.testing.assert_allclose(found.of_item(0)["push"], 0, atol=0.05)
    assert list(found.features) == ["feature 1", "feature 2", "feature 3"]


def test_pushes_of_a_linear_model_are_its_slopes_times_the_distance():
    frame, difficulty, _ = items()
    numbers = frame[["blur", "height"]]
    found = explain_difficulty("stepwise", numbers, difficulty)
    one, other = found.of_item(3).loc["blur"], found.of_item(8).loc["blur"]
    slopes = [part["push"] / (part["value"] - part["usual"]) for part in (one, other)]
    assert slopes[0] == pytest.approx(slopes[1])
    assert slopes[0] == pytest.approx(1.0, abs=0.15)


def test_without_labels_or_trees_the_rest_is_left_out():
    frame, difficulty, _ = items()
    found = explain_difficulty(DifficultyRegressor("stepwise"), frame, difficulty)
    assert list(found.to_frame().columns) == ["permutation", "permutation_sd", "impurity"]
    assert found.to_frame()["impurity"].isna().all()
    assert "no importance by impurity" in found.notes[-1]
    assert "class" not in found.meaning
    with pytest.raises(InputError, match="has no trees"):
        found.plot("impurity")


def test_it_shows_itself(forest, tmp_path):
    assert isinstance(forest.plot(), Display)
    ax = forest.plot("impurity").ax_
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["difficulty", "class"]
    assert forest.save(tmp_path / "why.csv").read_text().count("\n") == 5
    with pytest.raises(InputError, match="one of: permutation, impurity"):
        forest.plot("gain")


def test_items_are_found_by_the_names_that_pools_give_to_rows():
    frame, difficulty, _ = items(60)
    named = explain_difficulty("stepwise", frame, difficulty, n_resamples=2)
    numbered = explain_difficulty(
        "stepwise", frame.reset_index(drop=True), difficulty.to_numpy(), n_resamples=2
    )
    for item in ("row_3", 3):
        pd.testing.assert_frame_equal(numbered.of_item(item), named.of_item("row_3"))
    for wrong in ("row_60", "row_-1", -1, True, [3], None):
        with pytest.raises(InputError, match="There is no item"):
            numbered.of_item(wrong)


def test_one_class_is_not_explained():
    frame, difficulty, _ = items(60)
    found = explain_difficulty("stepwise", frame, difficulty, ["tall"] * 60, n_resamples=2)
    assert "class" not in found.meaning
    assert "task_permutation" not in found.to_frame()
    assert found.notes[-1] == "The class is not explained: at least two classes are needed."


def test_an_empty_label_is_no_class():
    frame, difficulty, labels = items(60)
    some = [np.nan if k % 6 == 0 else label for k, label in enumerate(labels)]
    found = explain_difficulty("stepwise", frame, difficulty, some, n_resamples=2)
    assert found.notes[-1] == "Left out for the class (no label): 10 items."
    assert found.task_score > 0.7
    again = explain_difficulty(
        "stepwise", frame, difficulty, pd.Series(some, frame.index), n_resamples=2
    )
    assert again.notes[-1] == found.notes[-1]


def test_the_orders_of_one_feature_are_not_compared():
    frame, difficulty, labels = items(60)
    found = explain_difficulty("stepwise", frame[["blur"]], difficulty, labels, n_resamples=2)
    assert "for the class" in found.meaning
    assert "Spearman" not in found.meaning


def test_what_cannot_be_explained_is_refused(forest):
    frame, difficulty, labels = items()
    with pytest.raises(InputError, match="equally hard"):
        explain_difficulty("rf", frame, np.ones(240))
    with pytest.raises(
        InputError,
        match="difficulty of 10 items is known, but training and testing need at least 20",
    ):
        explain_difficulty("rf", frame[:10], difficulty[:10])
    with pytest.raises(InputError, match=r"labels has shape \(3,\)"):
        explain_difficulty("rf", frame, difficulty, labels[:3])
    with pytest.raises(InputError, match=r"`test_size` must be a number between 0.*got 2"):
        explain_difficulty("rf", frame, difficulty, test_size=2)
    with pytest.raises(InputError, match="There is no item 'row_999'"):
        forest.of_item("row_999")

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ogive import compare_classifiers, split_dataset
from ogive.classifiers.classifier_comparison import ClassifierComparison
from ogive.classifiers.predictions import MEASURES
from ogive.data.datasets.dataset import Dataset
from ogive.data.datasets.load import load_dataset
from ogive.errors import InputError
from ogive.results.plots.figure import Display

POOL = {
    **{f"tree of {n}": DecisionTreeClassifier(max_depth=n) for n in range(1, 9)},
    **{f"{n} neighbours": KNeighborsClassifier(n) for n in range(1, 25, 2)},
    **{f"bayes {n}": GaussianNB(var_smoothing=10.0**-n) for n in range(1, 9)},
    **{f"guess {n}": DummyClassifier(strategy="stratified", random_state=n) for n in range(4)},
}
MODELS = {"logistic": LogisticRegression(), "tree": DecisionTreeClassifier(), "bayes": GaussianNB()}


@pytest.fixture(scope="module")
def sick():
    """Two classes that overlap, some of them called by text."""
    random = np.random.default_rng(0)
    ill = random.random(240) < 0.4
    columns = random.normal(size=(240, 4)) + 0.9 * ill[:, None]
    frame = pd.DataFrame(columns, columns=list("abcd"))
    return frame.assign(label=np.where(ill, "present", "absent"))


def compare(frame, models=MODELS, **given):
    settings = {"target": "label", "model": "2pl", "n_resamples": 100, **given}
    return compare_classifiers(frame, models, POOL, **settings)


@pytest.fixture(scope="module")
def comparison(sick):
    return compare(sick)


def test_all_models_are_read_with_and_without_doubtful_items(comparison):
    assert isinstance(comparison, ClassifierComparison)
    frame = comparison.to_frame()
    assert set(frame.index) == set(MODELS)
    assert frame["accuracy"].is_monotonic_decreasing
    for measure in MEASURES:
        assert {measure, f"{measure}_rank_low", f"{measure}_filtered"} <= set(frame.columns)
    assert comparison.curves.predictions.classes == ("absent", "present")
    assert comparison.curves.positive == "present"


def test_items_are_the_instances_of_the_test_part(comparison, sick):
    test = split_dataset(load_dataset(sick, "label")).test
    assert comparison.curves.predictions.items == tuple(f"row_{k}" for k in test)
    labels = sick["label"].iloc[test].tolist()
    assert comparison.curves.items["class"].tolist() == labels
    assert len(comparison.curves.calibration.responses.respondents) == len(POOL)


def test_fitted_classifiers_are_asked_and_not_fitted_again(sick):
    split = split_dataset(load_dataset(sick, "label"))
    train = sick.iloc[split.train]
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        train.drop(columns="label"), train["label"]
    )
    found = compare(sick, {"mine": fitted})
    predicted = fitted.predict(sick.drop(columns="label").iloc[split.test])
    expected = np.mean(predicted == sick["label"].iloc[split.test])
    assert found.curves.measures.loc["mine", "accuracy"] == pytest.approx(expected)
    assert found.ranks is None


def test_fitted_classifiers_of_one_kind_are_all_kept(sick):
    split = split_dataset(load_dataset(sick, "label"))
    train = sick.iloc[split.train]
    few, many = (
        DecisionTreeClassifier(max_depth=n).fit(train.drop(columns="label"), train["label"])
        for n in (1, 6)
    )
    found = compare(sick, [few, many])
    assert len(found.curves.models) == 2
    with pytest.raises(InputError, match="Two models are called 'DecisionTreeClassifier"):
        compare(sick, [few, few])


def test_fitted_and_unfitted_classifiers_and_labels_may_be_mixed(sick):
    split = split_dataset(load_dataset(sick, "label"))
    features, labels = sick.drop(columns="label"), sick["label"]
    few = split.train[:12]
    stump = DecisionTreeClassifier(max_depth=1).fit(features.iloc[few], labels.iloc[few])
    expected = np.mean(stump.predict(features.iloc[split.test]) == labels.iloc[split.test])
    oracle = labels.iloc[split.test].to_numpy()
    found = compare(sick, {"stump": stump, "bayes": GaussianNB(), "oracle": oracle})
    accuracy = found.curves.measures["accuracy"]
    assert accuracy["stump"] == pytest.approx(expected)
    assert accuracy["oracle"] == 1
    assert set(accuracy.index) == {"stump", "bayes", "oracle"}


def test_labels_of_another_type_and_missing_ones_are_explained(sick, subtests):
    labels = sick["label"].iloc[split_dataset(load_dataset(sick, "label")).test].tolist()
    cases = {
        "codes": ([0] * len(labels), "These look like codes: give the labels themselves"),
        "another word": (["ill"] * len(labels), "is 'ill', which is none of the classes"),
        "nothing": ([None, *labels[1:]], "has no label for"),
        "NaN": ([np.nan, *labels[1:]], "has no label for"),
    }
    for what, (given, message) in cases.items():
        with subtests.test(what), pytest.raises(InputError, match=message):
            compare(sick, {"mine": given})


def test_rows_may_be_numbered_by_their_place_in_the_data_set(sick):
    split = split_dataset(load_dataset(sick, "label"))
    labels = sick["label"].iloc[split.test]
    found = compare(sick, pd.DataFrame({"oracle": labels}).sample(frac=1, random_state=0))
    assert found.curves.measures.loc["oracle", "accuracy"] == 1


def test_notes_of_the_calibration_reach_the_reader(sick):
    pool = {"one": GaussianNB(), "two": DecisionTreeClassifier(max_depth=1)}
    found = compare_classifiers(
        sick, GaussianNB(), pool, target="label", model="2pl", n_resamples=10
    )
    assert any("Only 2 respondents" in note for note in found.notes)
    assert found.curves.models == ("GaussianNB",)


def test_an_empty_list_is_explained(sick):
    with pytest.raises(InputError, match="models is empty"):
        compare(sick, {})


def test_predictions_from_elsewhere_are_taken_as_they_are(sick, comparison):
    given = comparison.curves.predictions
    classes = np.array(given.classes, dtype=object)
    frame = pd.DataFrame(
        {name: classes[row] for name, row in zip(given.models, given.predicted, strict=True)},
        index=list(given.items),
    )
    found = compare(sick, frame.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(found.to_frame(), comparison.to_frame())


def test_a_run_that_goes_on_ends_as_one_that_never_stopped(sick, comparison, tmp_path):
    def stop(done, _total, _running):
        if done == len(POOL) + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(sick, folder=tmp_path, progress=stop)
    assert len(list((tmp_path / "pool").glob("*.json"))) == len(POOL)
    assert len(list((tmp_path / "models").glob("*.json"))) == 1
    told = []
    again = compare(sick, folder=tmp_path, progress=lambda done, *_: told.append(done))
    assert told[0] == len(POOL)
    pd.testing.assert_frame_equal(again.to_frame(), comparison.to_frame())


def test_progress_runs_over_pool_and_models(sick):
    told = []
    compare(sick, progress=lambda *state: told.append(state))
    total = len(POOL) + len(MODELS)
    assert told[-1][:2] == (total, total)
    assert any(word.startswith("pool: ") for _, _, word in told)
    assert any(word.startswith("models: ") for _, _, word in told)


def test_every_figure_is_drawn(subtests, comparison):
    cases = [
        ("cells", {}),
        ("cells", {"model": "tree", "filtered": True}),
        ("measures", {}),
        ("items", {"space": "3d"}),
        ("histogram", {"value": "guessing"}),
    ]
    for kind, settings in cases:
        with subtests.test(kind=kind, settings=settings):
            assert isinstance(comparison.plot(kind, **settings), Display)


def test_a_failing_model_is_left_out_with_its_reason(sick):
    found = compare(sick, {**MODELS, "wide": KNeighborsClassifier(10_000)})
    assert "wide" not in found.curves.models
    assert found.failures["wide"].startswith("ValueError")


def test_nothing_to_compare_is_an_error(sick):
    with pytest.raises(InputError, match=r"All models failed, .* 'wide': ValueError"):
        compare(sick, {"wide": KNeighborsClassifier(10_000)})


def test_a_fitted_classifier_of_other_columns_is_explained(sick):
    other = LogisticRegression().fit(np.eye(2), [0, 1])
    with pytest.raises(InputError, match="'m' is already fitted, but cannot predict from the col"):
        compare(sick, {"m": other})


def test_wrong_predictions_are_refused_before_anything_is_trained(sick, tmp_path):
    with pytest.raises(InputError, match="prediction of 'm' holds 3 labels, but there are 72"):
        compare(sick, pd.DataFrame({"m": ["absent"] * 3}), folder=tmp_path / "new")
    with pytest.raises(InputError, match="no class 'maybe'"):
        compare(sick, positive="maybe", folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_unknown_name_of_models_is_explained(sick):
    with pytest.raises(InputError, match=r"There is no pool 'tunned'.*Did you mean 'tuned'"):
        compare(sick, "tunned")


def test_a_class_that_is_absent_from_the_test_part_is_no_obstacle():
    features = pd.DataFrame({"x": np.arange(40.0)})
    target = pd.Series(["no"] * 30 + ["yes"] * 10)
    data = Dataset("absent", features, target, "made", test=np.arange(12))
    pool = {"stump": DecisionTreeClassifier(max_depth=1), "most": DummyClassifier()}
    found = compare_classifiers(data, pool, pool, model="1pl", n_resamples=20, progress=False)
    assert found.curves.to_frame()["accuracy"].tolist() == [1.0, 1.0]
    assert "1 label (yes) not in the test part: never asked" in found.notes

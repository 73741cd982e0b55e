"""Data sets from frames, pairs, names; targets that are wrong."""

import numpy as np
import pandas as pd
import pytest

from ogive.data.datasets.dataset import Dataset, split_dataset
from ogive.data.datasets.load import load_dataset, load_datasets
from ogive.errors import FileError, InputError


@pytest.fixture
def frame():
    return pd.DataFrame({"x": [0.5, 1.5, 2.0, 9.0], "Species": ["a", "b", "a", "b"]})


def test_a_frame_needs_its_target_named(frame):
    dataset = load_dataset(frame, "Species", name="flowers")
    assert (dataset.name, list(dataset.features), list(dataset.target)) == (
        "flowers",
        ["x"],
        ["a", "b", "a", "b"],
    )
    assert load_dataset(dataset) is dataset


@pytest.mark.parametrize("wrong", ["species", "Specie", "SPECIES "])
def test_a_misspelt_target_gets_a_suggestion(frame, wrong):
    with pytest.raises(InputError, match="Did you mean 'Species'"):
        load_dataset(frame, wrong)


def test_without_a_target_the_columns_are_shown(frame):
    with pytest.raises(InputError, match=r"Which column.*'x', 'Species'.*target='Species'"):
        load_dataset(frame)
    with pytest.raises(InputError, match=r"no column 'zzz'.*2 columns"):
        load_dataset(frame, "zzz")


def test_numbers_among_the_names_hint_at_a_missing_header(frame):
    with pytest.raises(InputError, match="add a line of names"):
        load_dataset(frame.rename(columns={"x": "3"}), "zzz")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a", "a", "a"], "'y'.*is 'a' in every row"),
        (["a", None, "b", None], "missing in 2 rows, first in row 2"),
        ([1.0, np.nan, 2.0, 1.0], "missing in 1 row"),
    ],
)
def test_targets_that_are_constant_or_missing_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        load_dataset(pd.DataFrame({"x": [1, 2, 4, 7], "y": labels}), "y")


def test_a_measurement_is_no_class():
    numbers = np.linspace(0, 1, 500)
    with pytest.raises(InputError, match=r"500 distinct numbers.*regression"):
        load_dataset(pd.DataFrame({"x": numbers, "y": numbers}), "y")
    with pytest.raises(InputError, match="regression"):
        load_dataset(pd.DataFrame({"x": numbers, "y": np.arange(500)}), "y")
    whole = load_dataset(pd.DataFrame({"x": numbers, "y": np.arange(500) % 100}), "y")
    assert whole.target.nunique() == 100
    as_text = load_dataset(pd.DataFrame({"x": numbers, "y": numbers.astype(str)}), "y")
    assert as_text.target.nunique() == 500


def test_a_target_alone_is_no_data_set():
    with pytest.raises(InputError, match="no column besides its target"):
        load_dataset(pd.DataFrame({"class": ["a", "b"]}))


def test_a_column_twice_is_refused():
    twice = pd.DataFrame([[1, 2, "a"], [3, 4, "b"]], columns=["x", "x", "class"])
    with pytest.raises(InputError, match=r"1 column \(x\) more than once"):
        load_dataset(twice)


def test_a_given_test_part_is_kept(frame, tmp_path):
    train = pd.concat([frame] * 3)
    train.to_csv(tmp_path / "train.csv", index=False)
    shuffled = frame[["Species", "x"]]
    dataset = load_dataset((tmp_path / "train.csv", shuffled), "Species")
    split = split_dataset(dataset, max_test_size=2)
    assert dataset.name == "train"
    assert split.test.tolist() == [12, 13, 14, 15]
    assert split.y_test.tolist() == [0, 1, 0, 1]


def test_parts_need_the_same_columns(frame):
    with pytest.raises(InputError, match=r"test part lacks 1 column \(x\)"):
        load_dataset((frame, frame[["Species"]]), "Species")
    with pytest.raises(InputError, match="training part, test part"):
        load_dataset((frame, frame["Species"]))


def test_a_problem_of_one_part_names_the_part_and_its_row(frame):
    gap = pd.DataFrame({"x": [1.0, 2.0], "Species": ["a", None]})
    with pytest.raises(InputError, match="test part of 'data' is missing in 1 row, first in row 2"):
        load_dataset((frame, gap), "Species")
    twice = frame[["x", "x", "Species"]]
    for parts, which in (((frame, twice), "test"), ((twice, twice), "training")):
        with pytest.raises(InputError, match=rf"{which} part of 'data' has 1 column \(x\) more"):
            load_dataset(parts, "Species")


def test_classes_that_only_the_test_part_has_are_refused(frame):
    test = pd.DataFrame({"x": [1.0], "Species": ["new"]})
    with pytest.raises(InputError, match=r"1 label \(new\) that the training part lacks"):
        split_dataset(load_dataset((frame, test), "Species"))


def test_a_class_that_the_test_part_lacks_is_noted(frame):
    test = pd.DataFrame({"x": [1.0, 2.0], "Species": ["a", "a"]})
    split = split_dataset(load_dataset((frame, test), "Species"))
    assert split.notes == ("1 label (b) not in the test part: never asked",)


def test_labels_that_read_the_same_are_refused(frame):
    with pytest.raises(InputError, match="labels that read the same, such as 1 and '1'"):
        load_dataset(frame.assign(Species=[1, "1", 2, 2]), "Species")


def test_a_training_part_of_one_class_is_refused(frame):
    one_class = frame["Species"].to_numpy() == "a"
    dataset = Dataset("d", frame[["x"]], frame["Species"], "here", np.flatnonzero(~one_class))
    with pytest.raises(InputError, match=r"1 label \(b\) that the training part lacks"):
        split_dataset(dataset)


def test_a_test_part_is_a_real_part(subtests, frame):
    cases = [
        ([9], "names position 9"),
        ([0, -1], "names position -1"),
        ([0, 0], "more than once"),
        ([0, 1, 2, 3], "holds 4 of 4"),
        ([], "list of positions|holds 0"),
        ([0.5], "list of positions"),
    ]
    for test, message in cases:
        with subtests.test(test=test, message=message), pytest.raises(InputError, match=message):
            Dataset("d", frame[["x"]], frame["Species"], "here", np.array(test))


def test_sets_of_scikit_learn_are_the_same_each_time(subtests):
    for name in ["iris", "wine", "breast_cancer", "digits", "moons", "blobs"]:
        with subtests.test(name=name):
            first, second = (load_dataset(f"sklearn:{name}") for _ in range(2))
            pd.testing.assert_frame_equal(first.features, second.features)
            assert list(first.target) == list(second.target)
            assert first.name == name


def test_an_unknown_set_of_scikit_learn_names_those_there_are():
    with pytest.raises(InputError, match=r"Did you mean 'sklearn:iris'.*iris, wine"):
        load_dataset("sklearn:irsi")
    assert load_dataset("sklearn:diabetes").kind == "numbers"
    with pytest.raises(InputError, match="its own target"):
        load_dataset("sklearn:iris", "class")


def test_several_sources_at_once(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    path = f"{tmp_path}/a.csv"
    named = load_datasets({"first": f"{path}#Species", "second": "sklearn:wine"})
    assert [dataset.name for dataset in named] == ["first", "second"]
    mapped = load_datasets([path, "sklearn:iris"], {"a": "Species"})
    assert [dataset.name for dataset in mapped] == ["a", "iris"]
    assert [dataset.name for dataset in load_datasets("sklearn:iris")] == ["iris"]


def test_two_sets_of_one_name_are_refused():
    with pytest.raises(InputError, match=r"'iris'.*more than once"):
        load_datasets(["sklearn:iris", "sklearn:iris"])
    with pytest.raises(InputError, match="no data set"):
        load_datasets([])


def test_two_targets_for_one_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="Give one of them"):
        load_dataset(f"{tmp_path}/a.csv#y", "z")


def test_a_misspelt_source_gets_a_suggestion():
    with pytest.raises(InputError, match="Did you mean 'sklearn:iris'"):
        load_dataset("sk-learn:iris")
    with pytest.raises(InputError, match="Did you mean 'openml:61'"):
        load_dataset("OpenML:61")
    with pytest.raises(InputError, match="Did you mean 'sklearn:digits'"):
        load_dataset("digits")
    with pytest.raises(FileError, match="There is no file"):
        load_dataset("C:nowhere.csv")


@pytest.mark.parametrize("source", ["a\0b.csv", "x" * 5000 + ".csv#class"])
def test_what_can_be_no_path_is_no_file(source):
    with pytest.raises(FileError, match=r"cannot be read|There is no file"):
        load_dataset(source)


def test_a_data_set_says_what_it_is(frame):
    target = frame["Species"]
    dataset = Dataset("d", frame[["x"]], target, "here", np.array([1]))
    assert repr(dataset) == (
        "Dataset 'd': 4 instances, 1 of them given as test part, 1 feature, 2 classes; here"
    )
    with pytest.raises(InputError, match="name of a data set"):
        Dataset(" ", frame[["x"]], target, "here")
    with pytest.raises(InputError, match="4 rows of features and 3 labels"):
        Dataset("d", frame[["x"]], target[:3], "here")


def test_something_else_is_no_source():
    with pytest.raises(InputError, match="cannot be made from int"):
        load_dataset(61)
    with pytest.raises(InputError, match="load_datasets"):
        load_dataset("openml-suite:99")


def test_one_name_of_a_target_is_for_those_that_need_one(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("x,kind\n" + "\n".join(f"{k},{k % 2}" for k in range(20)))
    mine, iris = load_datasets([path, "sklearn:iris"], target="kind")
    assert mine.target.name == "kind"
    assert iris.name == "iris"


def test_a_name_in_a_mapping_renames_a_data_set(frame):
    given = load_dataset(frame, "Species")
    (found,) = load_datasets({"flowers": given})
    assert found.name == "flowers"


def test_categories_stay_categories_where_the_parts_have_different_ones():
    train = pd.DataFrame({"c": pd.Categorical(["a", "b", "a", "b"]), "class": [0, 1, 0, 1]})
    test = pd.DataFrame({"c": pd.Categorical(["b", "new"]), "class": [0, 1]})
    found = load_dataset((train, test)).features["c"]
    assert found.cat.categories.tolist() == ["a", "b", "new"]
    assert found.tolist() == ["a", "b", "a", "b", "b", "new"]


def test_frames_of_other_libraries_are_read(frame):
    pl = pytest.importorskip("polars")
    other = pl.DataFrame({"x": frame["x"].tolist(), "Species": frame["Species"].tolist()})
    other = other.with_columns(c=pl.Series(["u", "v", "u", "v"], dtype=pl.Categorical))
    for given in (other, other.lazy(), other.to_arrow()):
        found = load_dataset(given, "Species")
        assert found.features["x"].tolist() == frame["x"].tolist()
        assert isinstance(found.features["c"].dtype, pd.CategoricalDtype)
    assert len(load_datasets(other, "Species")) == 1
    assert len(load_dataset((other, other), "Species")) == 8

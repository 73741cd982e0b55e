"""Data sets: metadata by OpenML's definitions, splits, columns as numbers."""

from decimal import Decimal
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.data.datasets.dataset import Dataset, metadata, split_dataset
from ogive.data.datasets.load import load_dataset
from ogive.errors import InputError

# OpenML's definitions: the target is a feature, entropy in bits, percentages to 100.
IRIS = {
    "NumberOfClasses": 3,
    "NumberOfInstances": 150,
    "NumberOfFeatures": 5,
    "ClassEntropy": log2(3),
    "Dimensionality": 5 / 150,
    "PercentageOfInstancesWithMissingValues": 0,
    "MajorityClassPercentage": 100 / 3,
    "MinorityClassPercentage": 100 / 3,
}
HEART = {
    "NumberOfClasses": 2,
    "NumberOfInstances": 270,
    "NumberOfFeatures": 14,
    "ClassEntropy": 150 / 270 * log2(270 / 150) + 120 / 270 * log2(270 / 120),
    "Dimensionality": 14 / 270,
    "PercentageOfInstancesWithMissingValues": 0,
    "MajorityClassPercentage": 100 * 150 / 270,
    "MinorityClassPercentage": 100 * 120 / 270,
}


def test_iris_has_three_equal_classes():
    assert metadata(load_dataset("sklearn:iris")) == pytest.approx(IRIS)


def test_classes_of_unequal_size_are_counted_as_in_heart_statlog():
    features = pd.DataFrame(np.arange(270.0 * 13).reshape(270, 13)).add_prefix("x")
    target = pd.Series(["absent"] * 150 + ["present"] * 120, name="class")
    assert metadata(Dataset("heart", features, target, "here")) == pytest.approx(HEART)


def test_rows_with_any_missing_value_are_counted_once():
    features = pd.DataFrame({"x": [np.nan, 1, 2, 3], "y": [None, "a", None, "b"]})
    found = metadata(Dataset("d", features, pd.Series(list("aabb"), name="class"), "here"))
    assert found["PercentageOfInstancesWithMissingValues"] == 50


def dataset_of(counts, seed=0):
    """A data set with so many members of each class, in random order."""
    labels = np.repeat([f"c{at}" for at in range(len(counts))], counts)
    generator = np.random.default_rng(seed)
    generator.shuffle(labels)
    features = pd.DataFrame({"x": generator.normal(size=len(labels))})
    return Dataset("drawn", features, pd.Series(labels, name="class"), "a test")


several = st.lists(st.integers(2, 60), min_size=2, max_size=12)


@settings(deadline=None, max_examples=25)
@given(several, st.floats(0.01, 0.99), st.integers(12, 80), st.integers(0, 9))
def test_a_split_divides_the_instances_and_shows_each_class_to_both_parts(
    counts, share, most, seed
):
    dataset = dataset_of(counts)
    split = split_dataset(dataset, test_size=share, max_test_size=most, random_state=seed)
    together = np.sort(np.concatenate([split.train, split.test]))
    np.testing.assert_array_equal(together, np.arange(len(dataset)))
    assert len(split.test) <= most
    assert set(split.y_test) == set(split.y_train) == set(range(len(counts)))
    labels = dataset.target.to_numpy()
    assert [split.classes[code] for code in split.y_test] == list(labels[split.test])
    assert [split.classes[code] for code in split.y_train] == list(labels[split.train])
    again = split_dataset(dataset, test_size=share, max_test_size=most, random_state=seed)
    assert split.test.tobytes() == again.test.tobytes()
    assert split.X_train.tobytes() == again.X_train.tobytes()


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(20, 90), min_size=2, max_size=6))
def test_classes_keep_their_shares(counts):
    split = split_dataset(dataset_of(counts))
    shares = np.bincount(split.y_test) - 0.3 * np.array(counts)
    assert np.abs(shares).max() <= 1.5


def test_thirty_percent_and_at_most_five_hundred_by_default():
    assert len(split_dataset(dataset_of([60, 40])).test) == 30
    assert len(split_dataset(dataset_of([2000, 1000])).test) == 500
    assert len(split_dataset(dataset_of([2000, 1000]), max_test_size=None).test) == 900


@pytest.mark.parametrize("share", [0.02, 0.95])
def test_a_rare_class_is_in_the_smaller_part_too(share):
    split = split_dataset(dataset_of([2, 40]), test_size=share)
    assert set(split.y_train) == set(split.y_test) == {0, 1}


def test_another_seed_draws_another_test_part():
    dataset = dataset_of([60, 40])
    one, two = (set(split_dataset(dataset, random_state=seed).test) for seed in (0, 1))
    assert one != two


def test_a_class_with_one_member_stays_in_training_with_a_note():
    split = split_dataset(dataset_of([10, 1, 8]))
    assert 1 in split.y_train
    assert 1 not in split.y_test
    assert split.notes == ("1 label (c1) with one member: in the training part only",)


@pytest.mark.parametrize("counts", [[1, 1], [5, 1], [1, 1, 1]])
def test_too_small_to_split_says_so(counts):
    with pytest.raises(InputError, match="too small to split"):
        split_dataset(dataset_of(counts))


def test_more_classes_than_test_instances_allowed():
    with pytest.raises(InputError, match="Set max_test_size to 5 or more"):
        split_dataset(dataset_of([4] * 5), max_test_size=3)


def test_a_share_is_between_nothing_and_all(subtests):
    for share in [0, 1, -0.1, 1.5, True, float("nan")]:
        with subtests.test(share=share), pytest.raises(InputError, match="between 0 and 1"):
            split_dataset(dataset_of([5, 5]), test_size=share)


def test_a_whole_number_is_the_number_of_test_instances():
    dataset = dataset_of([2000, 1000])
    assert len(split_dataset(dataset, test_size=700).test) == 700
    with pytest.raises(InputError, match="number from 2 to 2,998"):
        split_dataset(dataset, test_size=2999)


def test_max_test_size_is_at_least_two():
    with pytest.raises(InputError, match="2 or more"):
        split_dataset(dataset_of([5, 5]), max_test_size=1)


def test_heart_statlog_is_split_as_in_paper_001(shared):
    """270 rows of 13 features: 150 absent, 120 present."""
    from sklearn.model_selection import train_test_split

    dataset = load_dataset(shared / "data/tabular/heart-statlog.csv")
    split = split_dataset(dataset)
    present = (dataset.target == "present").to_numpy().astype(int)
    assert np.bincount(present).tolist() == [150, 120]
    assert metadata(dataset)["NumberOfFeatures"] == 14  # and the class
    train, test = train_test_split(np.arange(270), stratify=present, random_state=0, test_size=0.3)
    np.testing.assert_array_equal(split.train, train)
    np.testing.assert_array_equal(split.test, test)
    assert split.classes == ("absent", "present")
    assert (len(split.test), split.y_test.sum()) == (81, 36)


def test_labels_of_any_type_become_codes_in_a_plain_order():
    features = pd.DataFrame({"x": [0.5, 0.1, 0.7, 0.2, 0.9, 0.3]})
    for labels, classes in (
        ([10.0, 9.0, 2.0] * 2, ("2", "9", "10")),
        ([True, False, True] * 2, ("False", "True")),
        (["b", "a", "c"] * 2, ("a", "b", "c")),
        (pd.Categorical(["10", "9", "2"] * 2), ("2", "9", "10")),
    ):
        target = pd.Series(labels, name="class")
        assert split_dataset(Dataset("d", features, target, "here")).classes == classes


N = 100


def split_of(test=None, **columns):
    """The split of a data set with these columns and two classes."""
    target = pd.Series(["a", "b"] * (N // 2), name="class")
    return split_dataset(Dataset("d", pd.DataFrame(columns), target, "a test", test))


def numbers():
    return np.random.default_rng(0).normal(size=N)


def test_numbers_are_scaled_by_the_training_part():
    split = split_of(x=5 + 3 * numbers())
    assert split.X_train.mean() == pytest.approx(0, abs=1e-12)
    assert split.X_train.std() == pytest.approx(1)
    assert split.X_test.mean() != pytest.approx(0, abs=1e-6)
    assert split.X_train.dtype == np.float64
    assert split.preprocessing == "1 numeric column: scaled to mean 0 and standard deviation 1"


def test_nothing_is_learnt_from_the_test_part():
    test = np.arange(70, 100)
    values = numbers()
    shifted = values.copy()
    shifted[test] = 1e6
    one, two = split_of(test, x=values), split_of(test, x=shifted)
    np.testing.assert_array_equal(one.X_train, two.X_train)


def test_missing_numbers_become_the_median():
    values = np.round(numbers(), 2)
    values[[3, 50, 97]] = np.nan
    split = split_of(np.arange(70, 100), x=values)
    known = values[:70][~np.isnan(values[:70])]
    filled = np.where(np.isnan(values[:70]), np.median(known), values[:70])
    expected = (filled - filled.mean()) / filled.std()
    np.testing.assert_allclose(split.X_train[:, 0], expected)
    assert "replaced by the median" in split.preprocessing


def test_infinite_values_count_as_missing():
    values = numbers()
    values[2] = np.inf
    split = split_of(x=values)
    assert np.isfinite(split.X_train).all()
    assert "1 column (x) with infinite values: read as missing" in split.preprocessing


TEXT = "string" if pd.__version__ < "3" else "str"  # in which a missing value is none


@pytest.mark.parametrize("kind", [object, "category", TEXT])
def test_categories_become_a_column_each_and_unknown_ones_none(kind):
    colours = np.array(["red", "blue"] * (N // 2), dtype=object)
    colours[5] = None
    colours[99] = "never seen in training"
    split = split_of(np.arange(70, 100), c=pd.Series(colours).astype(kind), x=numbers())
    assert split.X_train.shape == (70, 3)
    assert split.X_test[-1, 1:].tolist() == [0, 0]
    assert set(np.unique(split.X_train[:, 1:])) == {0, 1}
    assert "1 categorical column: missing values replaced by the most" in split.preprocessing


def test_many_categories_share_columns():
    codes = np.arange(N) % 30
    split = split_of(c=[f"k{code}" for code in codes], x=numbers())
    assert split.X_train.shape[1] == 1 + 20


def test_truth_values_and_dates_become_numbers():
    random = np.random.default_rng(0)
    flags = random.random(N) > 0.5
    days = pd.date_range("2020-01-01", periods=N).to_numpy().copy()
    random.shuffle(days)
    zoned = pd.Series(days).dt.tz_localize("Europe/Berlin")
    gaps = pd.Series(days - days.min())
    loose = pd.Series([None, *flags[1:].tolist()], dtype=object)
    nullable = pd.Series([pd.NA, *range(1, N)], dtype="Int64") % 7
    exact = pd.Series([Decimal(n) / 3 for n in range(N, 0, -1)], dtype=object)
    split = split_of(f=flags, d=days, z=zoned, g=gaps, l=loose, n=nullable, e=exact)
    assert split.preprocessing.startswith("7 numeric columns")
    assert np.isfinite(split.X_train).all()
    assert np.corrcoef(split.X_train[:, 1], split.X_train[:, 3])[0, 1] == pytest.approx(1)


def test_columns_that_say_nothing_are_left_out_and_named():
    split = split_of(
        x=numbers(),
        same=np.ones(N),
        none=np.full(N, np.nan),
        row=np.arange(N) + 1,
        patient_id=np.random.default_rng(1).permutation(10 * N)[:N],
        text=[f"a sentence of its own, {n}" for n in range(N)],
        half=["only", None] * (N // 2),
    )
    assert split.X_train.shape[1] == 1
    for reason in (
        "same: constant",
        "none: empty",
        "row: an identifier",
        "patient_id: an identifier",
        "text: free text or an identifier",
        "half: constant",
    ):
        assert reason in split.preprocessing


def test_whole_numbers_that_differ_are_kept_under_an_ordinary_name():
    split = split_of(price=np.random.default_rng(1).permutation(10 * N)[:N], fluid=numbers())
    assert split.X_train.shape[1] == 2


def test_no_usable_column_says_why():
    with pytest.raises(InputError, match=r"no column that a classifier could use.*same: constant"):
        split_of(same=np.ones(N)).X_train  # noqa: B018 - numbers are made when asked for


def test_complex_numbers_are_refused():
    with pytest.raises(InputError, match="complex"):
        split_of(x=numbers() + 1j).X_train  # noqa: B018

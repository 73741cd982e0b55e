"""Columns of every kind become numbers, learnt from the training part only."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from itemwise.datasets import Dataset, split_dataset
from itemwise.errors import InputError

N = 100
GENERATOR = np.random.default_rng(0)


def split_of(test=None, **columns):
    """The split of a data set with these columns and two classes."""
    target = pd.Series(["a", "b"] * (N // 2), name="class")
    return split_dataset(Dataset("d", pd.DataFrame(columns), target, "a test", test))


def numbers():
    return GENERATOR.normal(size=N)


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
    assert split.notes == ("1 column (x) with infinite values: read as missing",)


@pytest.mark.parametrize("kind", [object, "category", "str"])
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
    flags = GENERATOR.random(N) > 0.5
    days = pd.date_range("2020-01-01", periods=N).to_numpy().copy()
    GENERATOR.shuffle(days)
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
        patient_id=GENERATOR.permutation(10 * N)[:N],
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
    split = split_of(price=GENERATOR.permutation(10 * N)[:N], fluid=numbers())
    assert split.X_train.shape[1] == 2


def test_no_usable_column_says_why():
    with pytest.raises(InputError, match=r"no column that a classifier could use.*same: constant"):
        split_of(same=np.ones(N))


def test_complex_numbers_are_refused():
    with pytest.raises(InputError, match="complex"):
        split_of(x=numbers() + 1j)

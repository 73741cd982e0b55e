"""Metadata by OpenML's definitions, against counts that are known."""

from math import log2

import numpy as np
import pandas as pd
import pytest

from ogive.data.datasets.dataset import Dataset, metadata
from ogive.data.datasets.load import load_dataset

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

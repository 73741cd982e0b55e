import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def two_classes():
    """Four features that all tell the same, two of them upside down; 400 cases of two classes."""
    random = np.random.default_rng(0)
    y = np.repeat(["other", "star"], 200)
    middle = np.where(y == "star", 1.0, -1.0)[:, None] * [1, -1, 1, -1]
    X = pd.DataFrame(middle + 2.0 * random.normal(size=(400, 4)), columns=["a", "b", "c", "d"])
    return X, y


@pytest.fixture(scope="session")
def three_classes():
    """Features on which one class lies between the others."""
    random = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 80)
    return (y - 1.0)[:, None] * 2 + random.normal(size=(240, 3)), y

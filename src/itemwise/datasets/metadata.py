"""What is known of a data set before any model has seen it, by the names that OpenML uses."""

from __future__ import annotations

import numpy as np

from itemwise.datasets.dataset import Dataset
from itemwise.datasets.labels import coded


def metadata(dataset: Dataset) -> dict[str, float]:
    """Eight of OpenML's qualities, computed here.

    As OpenML does, the target counts as a feature, entropy is in bits, and percentages run
    from 0 to 100.
    """
    codes, classes = coded(dataset.target)
    shares = np.bincount(codes, minlength=len(classes)) / len(codes)
    n_features = dataset.features.shape[1] + 1
    incomplete = dataset.features.isna().to_numpy().any(axis=1)
    return {
        "NumberOfClasses": float(len(classes)),
        "NumberOfInstances": float(len(dataset)),
        "NumberOfFeatures": float(n_features),
        "ClassEntropy": float(-(shares * np.log2(shares)).sum()),
        "Dimensionality": n_features / len(dataset),
        "PercentageOfInstancesWithMissingValues": float(100 * incomplete.mean()),
        "MajorityClassPercentage": float(100 * shares.max()),
        "MinorityClassPercentage": float(100 * shares.min()),
    }

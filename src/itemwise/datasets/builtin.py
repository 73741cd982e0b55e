"""The data sets that come with scikit-learn: no file, no network."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.datasets.dataset import Dataset
from itemwise.errors import InputError
from itemwise.words import shown

if TYPE_CHECKING:
    import pandas as pd

SHIPPED = ("iris", "wine", "breast_cancer", "digits")
DRAWN: dict[str, dict[str, Any]] = {  # settings of make_<name>; always the same instances
    "moons": {"n_samples": 500, "noise": 0.3, "random_state": 0},
    "circles": {"n_samples": 500, "noise": 0.2, "factor": 0.5, "random_state": 0},
    "blobs": {"n_samples": 500, "centers": 5, "cluster_std": 2.0, "random_state": 0},
}


def builtin_dataset(name: str) -> Dataset:
    """A set that ships with scikit-learn, or one that it draws with a fixed seed."""
    if name in SHIPPED:
        return _shipped(name)
    if name in DRAWN:
        return _drawn(name)
    near = difflib.get_close_matches(name, (*SHIPPED, *DRAWN), n=1)
    hint = f"Did you mean 'sklearn:{near[0]}'?" if near else ""
    known = ", ".join((*SHIPPED, *DRAWN))
    raise InputError(
        f"scikit-learn brings no classification set {shown(name)}. {hint} There are: {known}."
    )


def _shipped(name: str) -> Dataset:
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    classes = np.asarray([str(label) for label in bunch.target_names], dtype=object)
    target: pd.Series[Any] = pd.Series(classes[bunch.target.to_numpy()], name="class")
    return Dataset(name, bunch.data, target, f"scikit-learn, load_{name}")


def _drawn(name: str) -> Dataset:
    import pandas as pd
    from sklearn import datasets

    features, target = getattr(datasets, f"make_{name}")(**DRAWN[name])
    frame = pd.DataFrame(features, columns=[f"x{at + 1}" for at in range(features.shape[1])])
    settings = ", ".join(f"{key}={value}" for key, value in DRAWN[name].items())
    return Dataset(
        name, frame, pd.Series(target, name="class"), f"scikit-learn, make_{name}({settings})"
    )

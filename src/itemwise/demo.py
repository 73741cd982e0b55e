"""The demonstration: the data sets that come with scikit-learn, decoded; some labels are wrong.

An instance with a wrong label is one that good classifiers miss as often as bad ones, or more. The
demonstration changes a few labels of the handwritten digits on purpose and sees whether they are
found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from itemwise.datasets import Dataset, load_datasets, split_dataset
from itemwise.responses.naming import row_name
from itemwise.studies import BenchmarkDecoding, decode_benchmark
from itemwise.tour import Stop, Tour, tour

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.files import PathLike
    from itemwise.progress import Progress

NAMES = ("iris", "wine", "breast_cancer", "digits", "moons", "circles", "blobs")
MISLABELLED, N_MISLABELLED = "digits", 12
TWO_CLASSES = "breast_cancer"
POOL = "paper"


@dataclass(frozen=True, eq=False)
class Demonstration:
    """A decoded benchmark, and the instances whose labels were changed beforehand."""

    decoding: BenchmarkDecoding
    changed: tuple[str, ...]
    datasets: Mapping[str, Dataset]

    @property
    def suspects(self) -> pd.DataFrame:
        """Suspects of the data set with changed labels; `changed` says which those are."""
        found = self.decoding.suspects
        found = found[found["dataset"] == MISLABELLED].set_index("item")
        columns = ["evidence", "share_right_strong", "share_right_weak"]
        return found[columns].assign(changed=found.index.isin(list(self.changed)))

    def tour(self) -> Tour:
        """Every other study, asked of the data set with changed labels or one of two classes."""
        return tour(self._stop(MISLABELLED), self._stop(TWO_CLASSES))

    def _stop(self, name: str) -> Stop:
        found = self.decoding
        return Stop(self.datasets[name], found.calibrations[name], found.responses[name])

    @property
    def meaning(self) -> str:
        """How many of the changed labels were found."""
        found = self.suspects["changed"]
        return (
            f"{len(self.changed)} labels of {MISLABELLED} were changed on purpose: {found.sum()} "
            f"of them are among its {len(found)} suspects."
        )


def demonstrate(
    folder: PathLike | None = None,
    *,
    n_jobs: int = -1,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> Demonstration:
    """Decode the data sets, after some labels were changed."""
    datasets = {one.name: one for one in load_datasets([f"sklearn:{name}" for name in NAMES])}
    datasets[MISLABELLED], changed = mislabelled(datasets[MISLABELLED], random_state)
    decoding = decode_benchmark(
        datasets,
        POOL,
        cv=0,  # cross-validation would take ten times as long
        folder=folder,
        n_jobs=n_jobs,
        random_state=random_state,
        progress=progress,
    )
    return Demonstration(decoding, changed, datasets)


def mislabelled(dataset: Dataset, random_state: int) -> tuple[Dataset, tuple[str, ...]]:
    """The data set with some labels of its test part changed, and the names of these instances."""
    random = np.random.default_rng(random_state)
    test = split_dataset(dataset, random_state=random_state).test
    places = np.sort(random.choice(test, N_MISLABELLED, replace=False))
    target = dataset.target.copy()
    for place in places:
        others = target.unique()[target.unique() != target.iloc[place]]
        target.iloc[place] = others[random.integers(len(others))]
    words = f"{dataset.source}; {N_MISLABELLED} labels changed"
    changed = replace(dataset, target=target, test=test, source=words)
    return changed, tuple(row_name(place) for place in places)

"""Where instances come from: files, frames, scikit-learn, OpenML; how they are split and coded."""

from __future__ import annotations

from itemwise.datasets.dataset import Dataset
from itemwise.datasets.loading import load_dataset, load_datasets
from itemwise.datasets.metadata import metadata
from itemwise.datasets.publishing import Publication, publish_suite
from itemwise.datasets.splitting import Split, split_dataset

__all__ = [
    "Dataset",
    "Publication",
    "Split",
    "load_dataset",
    "load_datasets",
    "metadata",
    "publish_suite",
    "split_dataset",
]

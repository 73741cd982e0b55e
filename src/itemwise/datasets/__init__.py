"""Data sets from files, scikit-learn, OpenML and ASlib, and how they are split."""

from __future__ import annotations

from itemwise.datasets.aslib import AslibScenario, read_aslib
from itemwise.datasets.dataset import Dataset, metadata
from itemwise.datasets.dataset_split import Split, split_dataset
from itemwise.datasets.loading import load_dataset, load_datasets
from itemwise.datasets.openml_runs import openml_performance
from itemwise.datasets.plain_runs import read_runs
from itemwise.datasets.publishing import Publication, publish_suite

__all__ = [
    "AslibScenario",
    "Dataset",
    "Publication",
    "Split",
    "load_dataset",
    "load_datasets",
    "metadata",
    "openml_performance",
    "publish_suite",
    "read_aslib",
    "read_runs",
    "split_dataset",
]

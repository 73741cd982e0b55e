"""Data sets from files, scikit-learn, OpenML and ASlib, and how they are split."""

from __future__ import annotations

from ogive.datasets.aslib import AslibScenario, read_aslib
from ogive.datasets.dataset import Dataset, metadata
from ogive.datasets.dataset_split import Split, split_dataset
from ogive.datasets.loading import load_dataset, load_datasets
from ogive.datasets.openml_runs import openml_performance
from ogive.datasets.plain_runs import read_runs
from ogive.datasets.publishing import Publication, publish_suite

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

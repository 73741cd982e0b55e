"""Load data sets from a file, a frame, scikit-learn or OpenML."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ogive._files import PathLike, is_there
from ogive.data.datasets.dataset import CLASSES, NUMBERS, Dataset, check_complete, target_column
from ogive.data.datasets.openml import Server, openml_dataset, openml_task, suite_tasks
from ogive.data.foreign_frames import as_pandas
from ogive.data.table_files import name_of, read_table
from ogive.errors import InputError
from ogive.results.numbers import listed, repeated, shown

SHIPPED = ("iris", "wine", "breast_cancer", "digits")
DRAWN: dict[str, dict[str, Any]] = {  # arguments of make_<name>, with fixed seeds
    "moons": {"n_samples": 500, "noise": 0.3, "random_state": 0},
    "circles": {"n_samples": 500, "noise": 0.2, "factor": 0.5, "random_state": 0},
    "blobs": {"n_samples": 500, "centers": 5, "cluster_std": 2.0, "random_state": 0},
}
PREDICTED: dict[str, dict[str, Any]] = {  # numbers to predict: shipped, or drawn by make_<name>
    "diabetes": {},
    "friedman1": {"n_samples": 500, "noise": 1.0, "random_state": 0},
    "friedman2": {"n_samples": 500, "noise": 100.0, "random_state": 0},
}
BUILTIN = (*SHIPPED, *DRAWN, *PREDICTED)
_SUITE = "openml-suite"
_OWN_TARGET = ("sklearn:", "openml")


def load_dataset(
    source: Any,
    target: str | None = None,
    *,
    kind: str = CLASSES,
    name: str | None = None,
    cache: PathLike | None = None,
    server: Server | None = None,
) -> Dataset:
    """Load a data set from `source`, whose column `target` holds the class, or a number.

    With `kind="numbers"`, the target is a number to predict (regression).

    `source` is the path of a .csv, .tsv, .parquet or .arff file (text also as .gz); a frame of
    pandas or polars; a pair (training part, test part) of paths or frames; "sklearn:digits";
    "openml:61"; "openml-task:31"; or a `Dataset`. A path may name its target: "kc1.csv#defects".
    The default target is the column class, target or label.

    Files from OpenML are kept in the folder `cache`, in that of OGIVE_CACHE, or in the usual
    cache folder of the system; afterwards no network is needed. A damaged copy is fetched again.

    `name` replaces the name in the source; `server` replaces OpenML, for example in tests.

    >>> import ogive as og
    >>> import pandas as pd
    >>> og.load_dataset("sklearn:iris")
    Dataset 'iris': 150 instances, 4 features, 3 classes; scikit-learn, load_iris
    >>> frame = pd.DataFrame({"size": [1, 2, 3, 4], "kind": ["a", "a", "b", "b"]})
    >>> og.load_dataset(frame, target="kind", name="toy").features.shape
    (4, 1)
    """
    if isinstance(source, Dataset):
        return source if name is None else replace(source, name=name)
    source = as_pandas(source)
    if isinstance(source, pd.DataFrame):
        return _from_frame(source, target, name or "data", "a frame", kind)
    if isinstance(source, tuple):
        return _from_parts(source, target, name, kind)
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"A data set cannot be made from {type(source).__name__}. Give a path, a frame, a pair "
            "(training part, test part), 'sklearn:iris' or 'openml:61'."
        )
    loaded = _by_prefix(source, target, cache, server, kind)
    if loaded is None:
        path, target = _path_and_target(source, target)
        origin = f"the file '{path}'"
        return _from_frame(read_table(path), target, name or name_of(path), origin, kind)
    return loaded if name is None else replace(loaded, name=name)


def load_datasets(
    sources: Any,
    target: str | Mapping[str, str] | None = None,
    *,
    kind: str = CLASSES,
    cache: PathLike | None = None,
    server: Server | None = None,
) -> list[Dataset]:
    """Load several data sets: `sources` is a list, or a mapping from names to sources.

    "openml-suite:99" means all tasks of a suite. `target` names the target of all, or maps the name
    of each data set to its target; `kind`, `cache` and `server` are as in `load_dataset`.

    >>> import ogive as og
    >>> [len(dataset) for dataset in og.load_datasets(["sklearn:iris", "sklearn:wine"])]
    [150, 178]
    """
    if isinstance(sources, Mapping):
        given = list(sources.items())
    else:
        sources = as_pandas(sources)
        single = isinstance(sources, str | os.PathLike | pd.DataFrame | Dataset | tuple)
        given = [(None, source) for source in ([sources] if single else sources)]
    datasets = []
    expanded: list[tuple[str | None, Any]] = []
    for name, source in given:
        if isinstance(source, str) and source.startswith(f"{_SUITE}:"):
            tasks = suite_tasks(source.partition(":")[2], cache=cache, server=server)
            expanded += [(None, f"openml-task:{task}") for task in tasks]
        else:
            expanded.append((name, source))
    for name, source in expanded:
        chosen = None if isinstance(target, Mapping) else target
        if isinstance(target, Mapping):
            is_path = name is None and isinstance(source, str | os.PathLike)
            known_as = name_of(_path_and_target(source, None)[0]) if is_path else name or ""
            chosen = target.get(known_as)
        if isinstance(target, str) and str(source).startswith(_OWN_TARGET):
            chosen = None  # it has its own target
        loaded = load_dataset(source, chosen, kind=kind, name=name, cache=cache, server=server)
        datasets.append(loaded)
    if not datasets:
        raise InputError("There is no data set in the list. Give at least one.")
    names = [dataset.name for dataset in datasets]
    if twice := sorted(map(shown, repeated(names))):
        raise InputError(
            f"{listed(twice, 'data set name')} used more than once. Give a mapping from names "
            "to sources, or leave the second out."
        )
    return datasets


def _by_prefix(
    source: PathLike,
    target: str | None,
    cache: PathLike | None,
    server: Server | None,
    kind: str,
) -> Dataset | None:
    """Return a data set of scikit-learn or OpenML; None for a path."""
    if not isinstance(source, str) or _exists(source):
        return None
    if source in BUILTIN:
        raise InputError(f"There is no file {shown(source)}. Did you mean 'sklearn:{source}'?")
    prefix, colon, rest = source.partition(":")
    if not colon:
        return None
    if prefix == _SUITE:
        raise InputError(f"{shown(source)} means several data sets. Use load_datasets.")
    if prefix == "sklearn":
        if target is not None:
            raise InputError(f"{shown(source)} has its own target. Leave target out.")
        return _builtin_dataset(rest)
    loaders: dict[str, Callable[..., Dataset]] = {
        "openml": openml_dataset,
        "openml-task": openml_task,
    }
    if prefix in loaders:
        return loaders[prefix](rest, target, kind=kind, cache=cache, server=server)
    near = difflib.get_close_matches(prefix.lower(), ("sklearn", *loaders, _SUITE), n=1)
    if near:
        raise InputError(f"{shown(source)} is not known. Did you mean '{near[0]}:{rest}'?")
    return None


def _exists(path: PathLike) -> bool:
    try:
        return is_there(Path(path))
    except (OSError, ValueError):  # too long for a name, or not a name at all
        return False


def _path_and_target(source: PathLike, target: str | None) -> tuple[PathLike, str | None]:
    """Return a path, and the target that may follow it: kc1.csv#defects."""
    path, mark, named = str(source).rpartition("#")
    if not mark or not named or _exists(source):
        return source, target
    if target is not None and target != named:
        raise InputError(
            f"{shown(str(source))} names the target {shown(named)}, but target is {shown(target)}. "
            "Give one of them."
        )
    return path, named


def _from_frame(
    frame: pd.DataFrame, target: str | None, name: str, source: str, kind: str
) -> Dataset:
    column = target_column(list(frame.columns), target, f"'{name}'")
    rows = frame.reset_index(drop=True)
    _check_columns(rows, f"'{name}'")
    return Dataset(name, rows.drop(columns=[column]), rows[column], source, kind=kind)


def _from_parts(parts: tuple[Any, ...], target: str | None, name: str | None, kind: str) -> Dataset:
    """Return a training and a test part with the same columns; the test part stays as it is."""
    parts = tuple(map(as_pandas, parts))
    if len(parts) != 2 or not all(isinstance(p, str | os.PathLike | pd.DataFrame) for p in parts):
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise InputError(
            f"A pair should be (training part, test part), each a path or a frame with the target "
            f"in it, but it is ({kinds})."
        )
    frames = []
    for part in parts:
        if isinstance(part, pd.DataFrame):
            frames.append(part)
        else:
            path, target = _path_and_target(part, target)
            name = name or name_of(path)
            frames.append(read_table(path))
    train, test = frames
    for part, other, which in ((train, test, "test"), (test, train, "training")):
        lacking = [str(name) for name in part.columns if name not in other.columns]
        if lacking:
            raise InputError(
                f"The {which} part lacks {listed(lacking, 'column')}. Both parts need the same."
            )
    name = name or "data"
    column: Any = target_column(list(train.columns), target, f"'{name}'")
    for part, which in ((train, "training"), (test, "test")):
        _check_columns(part, f"The {which} part of '{name}'")
        check_complete(part[column], f"The target {shown(column)} of the {which} part of '{name}'")
    both = pd.concat(_same_categories(train, test[train.columns]), ignore_index=True)
    whole = _from_frame(both, target, name, "a training and a test part", kind)
    positions = np.arange(len(train), len(both), dtype=np.intp)
    return replace(whole, test=positions)


def _same_categories(train: pd.DataFrame, test: pd.DataFrame) -> list[pd.DataFrame]:
    """Return both parts, with categories of either in both: otherwise they would become text."""
    parts = [train.copy(), test.copy()]
    for column in train.columns:
        kinds = [part[column].dtype for part in parts]
        if all(isinstance(kind, pd.CategoricalDtype) for kind in kinds) and kinds[0] != kinds[1]:
            found = parts[0][column].cat.categories
            union = found.append(parts[1][column].cat.categories.difference(found, sort=False))
            for part in parts:
                part[column] = part[column].cat.set_categories(union)
    return parts


def _check_columns(frame: pd.DataFrame, what: str) -> None:
    """Refuse repeated names."""
    twice = sorted({str(name) for name in frame.columns[frame.columns.duplicated()]})
    if twice:
        raise InputError(f"{what} has {listed(twice, 'column')} more than once. Rename them.")


def _builtin_dataset(name: str) -> Dataset:
    """Return a data set that ships with scikit-learn, or that it draws with a fixed seed."""
    from sklearn import datasets

    if name not in BUILTIN:
        near = difflib.get_close_matches(name, BUILTIN, n=1)
        hint = f"Did you mean 'sklearn:{near[0]}'?" if near else ""
        raise InputError(
            f"scikit-learn has no data set {shown(name)}. {hint} Known: {', '.join(BUILTIN)}."
        )
    if name in SHIPPED:
        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        classes = np.asarray([str(label) for label in bunch.target_names], dtype=object)
        target: pd.Series[Any] = pd.Series(classes[bunch.target.to_numpy()], name="class")
        return Dataset(name, bunch.data, target, f"scikit-learn, load_{name}")
    if name == "diabetes":
        bunch = datasets.load_diabetes(as_frame=True, scaled=False)
        source = f"scikit-learn, load_{name}"
        return Dataset(name, bunch.data, bunch.target, source, kind=NUMBERS)
    arguments, kind, what = (
        (DRAWN[name], CLASSES, "class") if name in DRAWN else (PREDICTED[name], NUMBERS, "target")
    )
    features, values = getattr(datasets, f"make_{name}")(**arguments)
    frame = pd.DataFrame(features, columns=[f"x{at + 1}" for at in range(features.shape[1])])
    settings = ", ".join(f"{key}={value}" for key, value in arguments.items())
    source = f"scikit-learn, make_{name}({settings})"
    return Dataset(name, frame, pd.Series(values, name=what), source, kind=kind)

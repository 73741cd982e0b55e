"""Data sets, tasks and suites of OpenML (Vanschoren et al., 2014), with a cache.

The package `openml` pickles what it parses. Only its downloads are used here, into a fresh folder
each time, and the ARFF files, whose checksums OpenML publishes, are read by this package. The cache
holds plain ARFF and JSON, so that no network is needed afterwards.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pandas as pd

from ogive._files import (
    PathLike,
    is_there,
    make_folder,
    most_bytes,
    read_json,
    readable_file,
    require_keys,
    write_bytes,
    write_json,
)
from ogive.data.arff import read_arff
from ogive.data.datasets.dataset import CLASSES, Dataset, target_column
from ogive.errors import FileError, InputError, MissingExtraError, OgiveError
from ogive.results.numbers import shown

MAX_BYTES = 4 * 1024**3
_PACKAGE_LOCK = threading.Lock()  # the settings of the package `openml` are global
_SUITE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Types of the values of cached documents; [type] means a list of such values.
_DATASET = {"name": str, "target": str | None, "left_out": [str], "sha256": str}
_TASK = {"dataset": int, "target": str}
_SUITE = {"tasks": [int]}

T = TypeVar("T")


@dataclass(frozen=True)
class RemoteDataset:
    """The description of a data set on OpenML, and its ARFF file."""

    name: str
    target: str | None
    left_out: tuple[str, ...]  # columns that OpenML marks as row ids or to be ignored
    content: bytes


@dataclass(frozen=True)
class RemoteTask:
    """A task: a data set, and the column to predict."""

    dataset: int
    target: str


class Server(Protocol):
    """Everything that needs the network; failures are `FileError`, unknown ids `InputError`."""

    def dataset(self, number: int) -> RemoteDataset:
        """Return a data set with its file."""

    def task(self, number: int) -> RemoteTask:
        """Return a supervised classification task."""

    def suite(self, name: str) -> tuple[int, ...]:
        """Return the tasks of a suite, by its number or alias."""


class OpenMLServer:
    """OpenML itself, at the address that the package `openml` is configured for."""

    def dataset(self, number: int) -> RemoteDataset:
        """Download the description and the ARFF file, whose checksum is compared."""
        with _downloading(f"data set {number}") as openml:
            found = openml.datasets.get_dataset(
                number,
                download_data=True,
                download_qualities=False,
                download_features_meta_data=False,
            )
            row_id = [found.row_id_attribute] if found.row_id_attribute else []
            return RemoteDataset(
                name=str(found.name),
                target=found.default_target_attribute,
                left_out=(*(found.ignore_attribute or []), *row_id),
                content=Path(found.data_file).read_bytes(),
            )

    def task(self, number: int) -> RemoteTask:
        """Ask which data set and target a task is about."""
        with _downloading(f"task {number}") as openml:
            found = openml.tasks.get_task(
                number,
                download_splits=False,
                download_data=False,
                download_qualities=False,
                download_features_meta_data=True,
            )
            if not isinstance(found, openml.OpenMLClassificationTask):
                raise InputError(
                    f"OpenML task {number} is of the type {shown(found.task_type)}, but "
                    "'Supervised Classification' is needed. Name another task."
                )
            return RemoteTask(int(found.dataset_id), str(found.target_name))

    def suite(self, name: str) -> tuple[int, ...]:
        """Ask which tasks are in a suite."""
        with _downloading(f"suite {name}") as openml:
            found = openml.study.get_suite(int(name) if name.isdigit() else name)
            return tuple(int(task) for task in found.tasks or ())


@contextmanager
def _downloading(what: str) -> Iterator[Any]:
    """Yield the package `openml` with an empty cache folder; explain its errors."""
    try:
        import openml
    except ImportError as error:
        raise MissingExtraError("openml", "openml") from error
    with _PACKAGE_LOCK, tempfile.TemporaryDirectory() as folder, _only_checked_files():
        usual, key = openml.config.get_config_as_dict()["cachedir"], openml.config.apikey
        openml.config.set_root_cache_directory(folder)
        try:
            yield openml
        except OgiveError:
            raise
        except Exception as error:  # the package raises whatever its own parts raise
            # The first line, without what the package appends if it knows no more, and the API key.
            reason = str(getattr(error, "message", error)).strip().partition("\n")[0]
            reason = reason.removesuffix(" - None")
            reason = reason.replace(key, "(API key)") if key else reason
            if isinstance(error, openml.exceptions.OpenMLServerException):
                raise InputError(
                    f"OpenML returned no {what}: {reason} (code {error.code}). "
                    "Check the number at https://www.openml.org."
                ) from error
            if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
                raise FileError(
                    f"There is no space left on the disk for OpenML {what}, in '{folder}'. Nothing "
                    "of it was kept; free some space, or set TMPDIR to another folder."
                ) from error
            raise FileError(
                f"OpenML {what} could not be downloaded: {type(error).__name__}, {shown(reason)}. "
                "Nothing of it was kept; check the network and try again."
            ) from (None if key and key in str(error) else error)
        finally:
            openml.config.set_root_cache_directory(usual)


@contextmanager
def _only_checked_files() -> Iterator[None]:
    """Ask for ARFF: Parquet copies have no checksum and come over plain HTTP."""
    name = "OPENML_SKIP_PARQUET"
    before = os.environ.get(name)
    os.environ[name] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _number_of(text: str, noun: str) -> int:
    """Return the number of a data set or task of OpenML."""
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise InputError(
            f"{shown(text)} is not the number of an OpenML {noun}. Give a whole number, like 61."
        )
    return int(text)


def openml_dataset(
    number: str,
    target: str | None = None,
    *,
    kind: str = CLASSES,
    cache: PathLike | None = None,
    server: Server | None = None,
) -> Dataset:
    """Load a data set by number, from the cache if it holds an intact copy."""
    dataset = _number_of(number, "data set")
    path = cache_folder(cache) / "openml" / f"dataset-{dataset}.arff"
    described = path.with_suffix(".json")

    def from_cache() -> tuple[dict[str, Any], pd.DataFrame] | None:
        document = _read_document(described, "openml-dataset", _DATASET)
        if document is None:
            return None
        with readable_file(path, most_bytes(None, MAX_BYTES)).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != document["sha256"]:
            raise FileError(
                f"'{path}' is not the file that was downloaded: its content has changed. Delete it."
            )
        return document, read_arff(path, most_bytes(None, MAX_BYTES))

    def fetch() -> tuple[dict[str, Any], pd.DataFrame]:
        remote = (server or OpenMLServer()).dataset(dataset)
        make_folder(path.parent)
        write_bytes(path, remote.content)
        document = {
            "name": remote.name,
            "target": remote.target,
            "left_out": list(remote.left_out),
            "sha256": hashlib.sha256(remote.content).hexdigest(),
        }
        # The document is written last, and only for a readable file: it marks the copy as complete.
        frame = read_arff(path, most_bytes(None, MAX_BYTES))
        write_json(described, "openml-dataset", 1, document)
        return document, frame

    document, frame = _cached_or_fetched(from_cache, fetch)
    stated = document["target"]
    if target is None and (not stated or str(stated) not in frame.columns):
        what = f"the target {shown(stated)}, which is not one column," if stated else "no target"
        raise InputError(
            f"OpenML states {what} for data set {dataset}. Name a column, for example "
            f"target={shown(frame.columns[-1])}."
        )
    source = f"OpenML data set {dataset}"
    name = str(document["name"])
    column = target_column(list(frame.columns), target or str(stated), f"{source} ('{name}')")
    left_out = [each for each in document["left_out"] if each in frame.columns and each != column]
    features = frame.drop(columns=[column, *left_out])
    return Dataset(name, features, frame[column], source, kind=kind)


def openml_task(
    number: str,
    target: str | None = None,
    *,
    kind: str = CLASSES,
    cache: PathLike | None = None,
    server: Server | None = None,
) -> Dataset:
    """Load the data set of a task, with the target of the task."""
    task = _number_of(number, "task")

    def fetch() -> dict[str, Any]:
        remote = (server or OpenMLServer()).task(task)
        return {"dataset": remote.dataset, "target": remote.target}

    document = _cached_document(cache, "task", str(task), _TASK, fetch)
    stated, number = str(document["target"]), str(document["dataset"])
    dataset = openml_dataset(number, target or stated, kind=kind, cache=cache, server=server)
    # With another target it is another task.
    return replace(dataset, task=task) if target in (None, stated) else dataset


def suite_tasks(
    name: str, *, cache: PathLike | None = None, server: Server | None = None
) -> tuple[int, ...]:
    """Return the numbers of the tasks of a suite; OpenML-CC18 is suite 99."""
    if not _SUITE_NAME.fullmatch(name):
        raise InputError(
            f"{shown(name)} is not an OpenML suite. Give its number or alias, like openml-suite:99."
        )

    def fetch() -> dict[str, Any]:
        return {"tasks": list((server or OpenMLServer()).suite(name))}

    tasks: list[int] = _cached_document(cache, "suite", name, _SUITE, fetch)["tasks"]
    if not tasks:
        raise InputError(f"OpenML suite {name} holds no tasks. Name another suite.")
    return tuple(tasks)


def _cached_document(
    cache: PathLike | None,
    noun: str,
    name: str,
    types: Mapping[str, Any],
    fetch: Callable[[], dict[str, Any]],
) -> dict[str, Any]:
    """Return a document of the cache, after fetching it if it is missing or damaged there."""
    path = cache_folder(cache) / "openml" / f"{noun}-{name}.json"

    def fetch_and_keep() -> dict[str, Any]:
        document = fetch()
        make_folder(path.parent)
        write_json(path, f"openml-{noun}", 1, document)
        return document

    return _cached_or_fetched(lambda: _read_document(path, f"openml-{noun}", types), fetch_and_keep)


def _cached_or_fetched(cached: Callable[[], T | None], fetch: Callable[[], T]) -> T:
    """Read from the cache, or fetch what is missing or damaged there."""
    damage: FileError | None = None
    try:
        found = cached()
        if found is not None:
            return found
    except FileError as error:
        damage = error
    try:
        return fetch()
    except (FileError, MissingExtraError) as error:
        if damage is None:
            raise
        raise FileError(
            f"The cache is damaged: {damage} Fetching it again failed: {error}"
        ) from error


def _read_document(path: Path, kind: str, types: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read a document from the cache; None if there is none. A damaged one is a `FileError`."""
    if not is_there(path):
        return None
    document = read_json(path, kind, 1, max_bytes=most_bytes(None, 1 << 24))
    require_keys(path, document, types)
    for key, wanted in types.items():
        if not _is_of_type(document[key], wanted):
            raise FileError(f"'{path}' says {key} is {shown(document[key])}. Delete it.")
    return document


def _is_of_type(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(value, list) and all(_is_of_type(one, wanted[0]) for one in value)
    return isinstance(value, wanted) and not isinstance(value, bool)


def cache_folder(cache: PathLike | None = None) -> Path:
    """Return the given folder, that of OGIVE_CACHE, or the usual cache folder of the system."""
    given = cache or os.environ.get("OGIVE_CACHE")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser() / "ogive"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/ogive").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "ogive"

"""Data sets, tasks and suites, with a cache.

What OpenML sends (Vanschoren et al., 2014): data sets, tasks, suites and evaluations.

The package `openml` pickles what it parses. Only its downloads are used here, into a fresh folder
each time, and the ARFF files, whose checksums OpenML publishes, are read by this package.

Data sets, tasks and suites of OpenML, kept in a cache for work without a network.
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
from ogive.results.numbers import counted, shown

ONE_AT_A_TIME = threading.Lock()  # the settings of the package `openml` are global
ALIAS = re.compile(r"[A-Za-z0-9_.-]{1,64}")


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

    def evaluations(
        self, tasks: list[int], measure: str, flows: list[int] | None, limit: int
    ) -> pd.DataFrame:
        """Values of a measure, one row per run: run_id, task_id, flow_id, flow_name, value."""


class OpenMLServer:
    """OpenML itself, at the address that the package `openml` is configured for."""

    def dataset(self, number: int) -> RemoteDataset:
        """Return download the description and the ARFF file, whose checksum is compared."""
        with _downloading(f"data set {number}") as openml:
            found = openml.datasets.get_dataset(
                number,
                download_data=True,
                download_qualities=False,
                download_features_meta_data=False,
            )
            ignored = found.ignore_attribute or []
            row_id = found.row_id_attribute
            return RemoteDataset(
                name=str(found.name),
                target=found.default_target_attribute,
                left_out=(*ignored, *([row_id] if row_id else [])),
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

    def evaluations(
        self, tasks: list[int], measure: str, flows: list[int] | None, limit: int
    ) -> pd.DataFrame:
        """List the values of runs of flows on tasks, at most `limit` of them."""
        with _downloading(f"runs of {counted(len(tasks), 'task')}") as openml:
            found: pd.DataFrame = openml.evaluations.list_evaluations(
                measure, tasks=tasks, flows=flows, size=limit, output_format="dataframe"
            )
            return found


def openml_package() -> Any:
    """Import the package `openml`, or explain how to install it."""
    try:
        import openml
    except ImportError as error:
        raise MissingExtraError("openml", "openml") from error
    return openml


def said_by(error: Exception, key: str | None) -> str:
    """Return the first line of an error of the package `openml`, without the API key."""
    text = str(getattr(error, "message", error)).strip().partition("\n")[0]
    text = text.removesuffix(" - None")  # appended by the package if it knows no more
    return text.replace(key, "(API key)") if key else text


@contextmanager
def _downloading(what: str) -> Iterator[Any]:
    """The package `openml` with an empty cache folder; its errors are explained."""
    openml = openml_package()
    with ONE_AT_A_TIME, tempfile.TemporaryDirectory() as folder, _checked_files_only():
        usual, key = openml.config.get_config_as_dict()["cachedir"], openml.config.apikey
        openml.config.set_root_cache_directory(folder)
        try:
            yield openml
        except OgiveError:
            raise
        except openml.exceptions.OpenMLServerException as error:
            raise InputError(
                f"OpenML returned no {what}: {said_by(error, key)} (code {error.code}). "
                "Check the number at https://www.openml.org."
            ) from error
        except Exception as error:  # the package raises whatever its own parts raise
            said = said_by(error, key)
            if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
                raise FileError(
                    f"There is no space left on the disk for OpenML {what}, in '{folder}'. Nothing "
                    "of it was kept; free some space, or set TMPDIR to another folder."
                ) from error
            raise FileError(
                f"OpenML {what} could not be downloaded: {type(error).__name__}, {shown(said)}. "
                "Nothing of it was kept; check the network and try again."
            ) from (None if key and key in str(error) else error)
        finally:
            openml.config.set_root_cache_directory(usual)


@contextmanager
def _checked_files_only() -> Iterator[None]:
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


def number_of(text: str, noun: str) -> int:
    """Return the number of a data set or task of OpenML."""
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise InputError(
            f"{shown(text)} is not the number of an OpenML {noun}. Give a whole number, like 61."
        )
    return int(text)


Found = TypeVar("Found")

_DATASET = {"name": str, "target": str | None, "left_out": [str], "sha256": str}
_TASK = {"dataset": int, "target": str}
_SUITE = {"tasks": [int]}


def openml_dataset(
    number: str,
    target: str | None = None,
    *,
    kind: str = CLASSES,
    cache: PathLike | None = None,
    server: Server | None = None,
) -> Dataset:
    """Load a data set by number, from the cache if it holds an intact copy."""
    dataset = number_of(number, "data set")
    folder = cache_folder(cache) / "openml"
    path = folder / f"dataset-{dataset}.arff"
    described = folder / f"dataset-{dataset}.json"

    def from_cache() -> tuple[dict[str, Any], pd.DataFrame] | None:
        document = kept(described, "openml-dataset", _DATASET)
        if document is None:
            return None
        check_file(path, document["sha256"])
        return document, read_arff(path, most_bytes(None, MAX_BYTES))

    def fetch() -> tuple[dict[str, Any], pd.DataFrame]:
        remote = (server or OpenMLServer()).dataset(dataset)
        payload = {
            "name": remote.name,
            "target": remote.target,
            "left_out": list(remote.left_out),
            "sha256": keep_file(path, remote.content),
        }
        # The document is written last, and only for a readable file: it marks the copy as complete.
        frame = read_arff(path, most_bytes(None, MAX_BYTES))
        keep(described, "openml-dataset", payload)
        return payload, frame

    return _as_dataset(dataset, *_cached_or_fetched(from_cache, fetch), target, kind)


def openml_task(
    number: str,
    target: str | None = None,
    *,
    kind: str = CLASSES,
    cache: PathLike | None = None,
    server: Server | None = None,
) -> Dataset:
    """Load the data set of a task, with the target of the task."""
    task = number_of(number, "task")
    path = cache_folder(cache) / "openml" / f"task-{task}.json"

    def fetch() -> dict[str, Any]:
        remote = (server or OpenMLServer()).task(task)
        payload = {"dataset": remote.dataset, "target": remote.target}
        keep(path, "openml-task", payload)
        return payload

    document = _cached_or_fetched(lambda: kept(path, "openml-task", _TASK), fetch)
    stated = str(document["target"])
    number = str(document["dataset"])
    dataset = openml_dataset(number, target or stated, kind=kind, cache=cache, server=server)
    # With another target it is another task.
    return replace(dataset, task=task) if target in (None, stated) else dataset


def suite_tasks(
    name: str, *, cache: PathLike | None = None, server: Server | None = None
) -> tuple[int, ...]:
    """Return the numbers of the tasks of a suite; OpenML-CC18 is suite 99."""
    if not ALIAS.fullmatch(name):
        raise InputError(
            f"{shown(name)} is not an OpenML suite. Give its number or alias, like openml-suite:99."
        )
    path = cache_folder(cache) / "openml" / f"suite-{name}.json"

    def fetch() -> dict[str, Any]:
        payload = {"tasks": list((server or OpenMLServer()).suite(name))}
        keep(path, "openml-suite", payload)
        return payload

    document = _cached_or_fetched(lambda: kept(path, "openml-suite", _SUITE), fetch)
    tasks: tuple[int, ...] = tuple(document["tasks"])
    if not tasks:
        raise InputError(f"OpenML suite {name} holds no tasks. Name another suite.")
    return tasks


def _cached_or_fetched(cached: Callable[[], Found | None], fetch: Callable[[], Found]) -> Found:
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


def _as_dataset(
    number: int, document: dict[str, Any], frame: pd.DataFrame, target: str | None, kind: str
) -> Dataset:
    stated = document["target"]
    if target is None and (not stated or str(stated) not in frame.columns):
        told = f"the target {shown(stated)}, which is not one column," if stated else "no target"
        raise InputError(
            f"OpenML states {told} for data set {number}. Name a column, for example "
            f"target={shown(frame.columns[-1])}."
        )
    what = f"OpenML data set {number} ('{document['name']}')"
    column = target_column(list(frame.columns), target or str(stated), what)
    left_out = [name for name in document["left_out"] if name in frame.columns and name != column]
    return Dataset(
        name=str(document["name"]),
        features=frame.drop(columns=[column, *left_out]),
        target=frame[column],
        source=f"OpenML data set {number}",
        kind=kind,
    )


MAX_BYTES = 4 * 1024**3


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


def keep(path: Path, kind: str, payload: dict[str, Any]) -> None:
    """Write a document to the cache."""
    make_folder(path.parent)
    write_json(path, kind, 1, payload)


def kept(path: Path, kind: str, shape: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read a document from the cache; None if there is none. A damaged one is a `FileError`.

    `shape` gives the type of each value; [type] means a list of such values.
    """
    if not is_there(path):
        return None
    document = read_json(path, kind, 1, max_bytes=most_bytes(None, 1 << 24))
    require_keys(path, document, shape)
    for key, wanted in shape.items():
        if not _fits(document[key], wanted):
            raise FileError(f"'{path}' says {key} is {shown(document[key])}. Delete it.")
    return document


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(value, list) and all(_fits(one, wanted[0]) for one in value)
    return isinstance(value, wanted) and not isinstance(value, bool)


def keep_file(path: Path, content: bytes) -> str:
    """Write a file to the cache; returns its SHA-256 for the document that describes it."""
    make_folder(path.parent)
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def check_file(path: Path, sha256: str) -> None:
    """Refuse a file that differs from what was downloaded."""
    with readable_file(path, most_bytes(None, MAX_BYTES)).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise FileError(
            f"'{path}' is not the file that was downloaded: its content has changed. Delete it."
        )

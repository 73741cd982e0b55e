"""What OpenML sends (Vanschoren et al., 2014): data sets, tasks, suites and evaluations.

The package `openml` pickles what it parses. Only its downloads are used here, into a fresh folder
each time, and the ARFF files, whose checksums OpenML publishes, are read by this package.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ogive.errors import FileError, InputError, MissingExtraError, OgiveError
from ogive.words import counted, shown

if TYPE_CHECKING:
    import pandas as pd

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
        """A data set with its file."""

    def task(self, number: int) -> RemoteTask:
        """A supervised classification task."""

    def suite(self, name: str) -> tuple[int, ...]:
        """The tasks of a suite, by its number or alias."""

    def evaluations(
        self, tasks: list[int], measure: str, flows: list[int] | None, limit: int
    ) -> pd.DataFrame:
        """Values of a measure, one row per run: run_id, task_id, flow_id, flow_name, value."""


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
    """The first line of an error of the package `openml`, without the API key."""
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
    """The number of a data set or task of OpenML."""
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise InputError(
            f"{shown(text)} is not the number of an OpenML {noun}. Give a whole number, like 61."
        )
    return int(text)

"""The known formats of logs, and the files that are logs by their names and first bytes.

A new format is one module and one entry in `LOG_FORMATS`.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ogive.errors import FileError, InputError
from ogive.files import readable_file
from ogive.responses.logs.every_eval_ever import EveryEvalEver
from ogive.responses.logs.helm import Helm
from ogive.responses.logs.inspect_ai import InspectAI
from ogive.responses.logs.lm_eval import LmEval
from ogive.responses.logs.log_runs import LogFormat
from ogive.responses.logs.openml_predictions import OpenMLPredictions
from ogive.tables.text_tables import check_beginning
from ogive.words import shown

LOG_FORMATS: dict[str, type[LogFormat]] = {
    EveryEvalEver.name: EveryEvalEver,
    LmEval.name: LmEval,
    InspectAI.name: InspectAI,
    Helm.name: Helm,
    OpenMLPredictions.name: OpenMLPredictions,
}

ENDINGS = (".jsonl", ".json", ".eval", ".arff", ".ndjson", ".jsonlines")
TABLES = (".csv", ".tsv", ".parquet")
_BEGINNING = 1 << 14
_TABLE = (
    "'{}' is a table, not an evaluation log. If it holds responses, there is nothing to read from "
    "logs: use it as it is, with leaderboard, report and the others."
)
SUMMARY = (
    "'{}' holds results of lm-eval, which are means over tasks, not answers to single items. Run "
    "lm_eval with --log_samples, and give the folder with its samples_*.jsonl."
)
_UNKNOWN = "'{}' is not a known log. Known formats: {}. Give a log, or a folder of logs."


@dataclass(frozen=True)
class LogFile:
    """A file, and the format of its log, or why it cannot be read."""

    path: Path
    size: int = 0
    format: LogFormat | None = None
    reason: str = ""


def is_log(path: Path, max_bytes: int) -> bool:
    """Whether one of the formats recognises this file."""
    formats = [make() for make in LOG_FORMATS.values()]
    return _may_be_log(path) and _inspected(path, formats, max_bytes).format is not None


def _may_be_log(path: Path) -> bool:
    """Whether the name has the ending of a log."""
    return path.name.lower().removesuffix(".gz").endswith(ENDINGS)


def find_logs(paths: Iterable[Path], max_bytes: int) -> list[LogFile]:
    """The logs among these files and in these folders, in order of their names.

    A file that was named explicitly must be a log. Unreadable files of a folder are reported, but
    JSON documents of another kind are skipped.
    """
    formats = [make() for make in LOG_FORMATS.values()]
    found: dict[Path, LogFile] = {}
    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where access is denied
            found.setdefault(path, _inspected(path, formats, max_bytes))
            continue
        closed: list[OSError] = []
        for file in _files(path, closed):
            one = _inspected(file, formats, max_bytes)
            if one.format or (one.reason and not _may_be_skipped(file)):
                found.setdefault(file, one)
        for error in closed:
            folder = Path(error.filename or path)
            reason = (
                f"The directory '{folder}' cannot be read: {error.strerror}. Check permissions."
            )
            found.setdefault(folder, LogFile(folder, reason=reason))
    return list(found.values())


def is_summary(path: Path) -> bool:
    """Whether a file has the name of lm-eval's results, which hold no answers."""
    return path.name.startswith("results_") and path.name.endswith(".json")


def _files(folder: Path, closed: list[OSError]) -> Iterator[Path]:
    """All files that may be logs, without hidden folders and links to folders."""
    for directory, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(directory, name)
            if not name.startswith(".") and _may_be_log(path):
                yield path


def _may_be_skipped(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(".json")


def _inspected(path: Path, formats: Iterable[LogFormat], max_bytes: int) -> LogFile:
    try:
        file = readable_file(path, max_bytes)
        beginning = _beginning(file)
        for known in formats:
            if known.recognises(file, beginning):
                return LogFile(path, file.stat().st_size, known)
        if path.name.lower().removesuffix(".gz").endswith(TABLES):
            return LogFile(path, reason=_TABLE.format(path))
        if is_summary(path) and b'"results"' in beginning:
            return LogFile(path, reason=SUMMARY.format(path))
        check_beginning(path, beginning)
    except FileError as error:
        return LogFile(path, reason=str(error))
    return LogFile(path, reason=_UNKNOWN.format(path, ", ".join(LOG_FORMATS)))


def _beginning(path: Path) -> bytes:
    """The first bytes, unpacked."""
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".gz":
                return gzip.GzipFile(fileobj=file).read1(_BEGINNING)
            return file.read(_BEGINNING)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"'{path}' cannot be unpacked: {error}. Copy it again.") from error


def as_paths(given: object) -> list[Path]:
    """Return one path or several as a list."""
    several = [given] if isinstance(given, str | os.PathLike) else given
    if not isinstance(several, Iterable) or isinstance(several, bytes):
        raise InputError(f"paths is {shown(given)}, but the path of a log or a folder is needed.")
    paths = []
    for one in several:
        if not isinstance(one, str | os.PathLike):
            raise InputError(f"One of the paths is {shown(one)}, which is not a path.")
        paths.append(Path(one))
    if not paths:
        raise InputError("There are no paths. Give the path of a log or of a folder.")
    return paths

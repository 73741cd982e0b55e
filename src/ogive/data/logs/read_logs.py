"""Evaluation logs of language models, from files and folders, as one table.

Logs are found by their names and first bytes; of a folder that grows, only what changed is read
again. A new format is one module and one entry in `LOG_FORMATS`.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pandas as pd

from ogive._files import most_bytes, readable_file
from ogive._progress import Progress, Wanted, telling
from ogive.data.logs.every_eval_ever import EveryEvalEver
from ogive.data.logs.helm import Helm
from ogive.data.logs.inspect_ai import InspectAI
from ogive.data.logs.lm_eval import LmEval
from ogive.data.logs.merge_runs import merge_runs
from ogive.data.logs.openml_predictions import OpenMLPredictions
from ogive.data.logs.respondents import checked_rename, checked_variants
from ogive.data.logs.runs import MAX_BYTES, Epochs, Items, LogFormat, LogSettings, Run
from ogive.data.responses import Responses
from ogive.data.text_files import check_beginning
from ogive.errors import FileError, InputError, OgiveError
from ogive.results.base import Result
from ogive.results.numbers import clean, counted, joined, meant, shown

if TYPE_CHECKING:
    from ogive._files import PathLike
    from ogive.results.plots.figure import Display


_FORMATS: tuple[type[LogFormat], ...] = (EveryEvalEver, LmEval, InspectAI, Helm, OpenMLPredictions)
LOG_FORMATS: dict[str, type[LogFormat]] = {str(each.name): each for each in _FORMATS}

ENDINGS = (".jsonl", ".json", ".eval", ".arff", ".ndjson", ".jsonlines")
TABLES = (".csv", ".tsv", ".parquet")
_BEGINNING = 1 << 14  # bytes by which formats recognise their files
_TABLE = (
    "'{}' is a table, not an evaluation log. If it holds responses, there is nothing to read from "
    "logs: use it as it is, with leaderboard, report and the others."
)
SUMMARY = (
    "'{}' holds results of lm-eval, which are means over tasks, not answers to single items. Run "
    "lm_eval with --log_samples, and give the folder with its samples_*.jsonl."
)
_UNKNOWN = "'{}' is not a known log. Known formats: {}. Give a log, or a folder of logs."
MOST_UNREAD = 8  # scores that are named
_COLUMNS = ("file", "format", "model", "task", "metric", "rows", "read", "dropped", "reason")

Stamp = tuple[tuple[str, int, int], ...]  # names, sizes and times of files


@dataclass(frozen=True)
class LogFile:
    """A file, and the format of its log, or why it cannot be read."""

    path: Path
    size: int = 0
    format: LogFormat | None = None
    reason: str = ""


def is_log(path: Path, max_bytes: int) -> bool:
    """Return True if one of the formats recognises this file."""
    formats = [make() for make in LOG_FORMATS.values()]
    return (
        _plain_name(path).endswith(ENDINGS)
        and _inspect(path, formats, max_bytes).format is not None
    )


def find_logs(paths: Iterable[Path], max_bytes: int) -> list[LogFile]:
    """Return the logs among these files and in these folders, in order of their names.

    A file that was named explicitly must be a log. Unreadable files of a folder are reported, but
    JSON documents of another kind are skipped.
    """
    formats = [make() for make in LOG_FORMATS.values()]
    found: dict[Path, LogFile] = {}
    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where access is denied
            found.setdefault(path, _inspect(path, formats, max_bytes))
            continue
        errors: list[OSError] = []
        for file in _files(path, errors):
            log = _inspect(file, formats, max_bytes)
            if log.format or (log.reason and not _plain_name(file).endswith(".json")):
                found.setdefault(file, log)
        for error in errors:
            folder = Path(error.filename or path)
            reason = (
                f"The directory '{folder}' cannot be read: {error.strerror}. Check permissions."
            )
            found.setdefault(folder, LogFile(folder, reason=reason))
    return list(found.values())


def _plain_name(path: Path) -> str:
    return path.name.lower().removesuffix(".gz")


def _files(folder: Path, errors: list[OSError]) -> Iterator[Path]:
    """Yield all files that may be logs, without hidden folders and links to folders."""
    for directory, folders, names in os.walk(folder, onerror=errors.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(directory, name)
            if not name.startswith(".") and _plain_name(path).endswith(ENDINGS):
                yield path


def _inspect(path: Path, formats: Iterable[LogFormat], max_bytes: int) -> LogFile:
    try:
        file = readable_file(path, max_bytes)
        beginning = _beginning(file)
        for known in formats:
            if known.recognises(file, beginning):
                return LogFile(path, file.stat().st_size, known)
        if _plain_name(path).endswith(TABLES):
            return LogFile(path, reason=_TABLE.format(path))
        is_summary = path.name.startswith("results_") and path.name.endswith(".json")
        if is_summary and b'"results"' in beginning:
            return LogFile(path, reason=SUMMARY.format(path))
        check_beginning(path, beginning)
    except FileError as error:
        return LogFile(path, reason=str(error))
    return LogFile(path, reason=_UNKNOWN.format(path, ", ".join(LOG_FORMATS)))


def _beginning(path: Path) -> bytes:
    """Return the first bytes, unpacked."""
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".gz":
                return gzip.GzipFile(fileobj=file).read1(_BEGINNING)
            return file.read(_BEGINNING)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"'{path}' cannot be unpacked: {error}. Copy it again.") from error


def _as_paths(given: object) -> list[Path]:
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


@dataclass
class KnownLogs:
    """The runs of logs as they were read, and the items that they share."""

    items: Items = field(default_factory=Items)
    _runs: dict[Path, tuple[Stamp, list[Run]]] = field(default_factory=dict)
    _stamps: dict[Path, Stamp] = field(default_factory=dict)

    def update(self, files: Sequence[LogFile]) -> None:
        """Find out which logs have changed.

        If one did not only grow, its items may have other facts than before, so that all logs
        are read again.
        """
        logs = {file.path for file in files if file.format is not None}
        documents = {  # which may describe the logs beside them
            folder: stamp_of(sorted(path for path in folder.glob("*.json") if path not in logs))
            for folder in {path.parent for path in logs}
        }
        stamps = {path: stamp_of([path]) + documents[path.parent] for path in logs}
        for path, before in self._stamps.items():
            now = stamps.get(path, ())
            if before and now and before[0] != now[0] and now[0][1] <= before[0][1]:
                self.items, self._runs = Items(), {}
                break
        self._stamps = stamps
        self._runs = {path: known for path, known in self._runs.items() if path in logs}

    def runs(self, file: LogFile, read: Callable[[], list[Run]]) -> list[Run]:
        """Return the runs of a log, by `read` if it has changed.

        They are copies, because merging runs changes their counts and conditions.
        """
        stamp = self._stamps.get(file.path, ())
        known, runs = self._runs.get(file.path, ((), []))
        if not stamp or known != stamp:
            runs = read()
            self._runs[file.path] = stamp, runs
        return [
            replace(
                run,
                left_out=Counter(run.left_out),
                remarks=list(run.remarks),
                conditions=dict(run.conditions),
            )
            for run in runs
        ]


def stamp_of(files: Iterable[Path]) -> Stamp:
    """Return the name, size and time of files, by which a change is seen."""
    stamps = []
    for path in files:
        try:
            stat = path.stat()
        except OSError:  # removed in the meantime
            continue
        stamps.append((str(path), stat.st_size, stat.st_mtime_ns))
    return tuple(stamps)


def read_logs(
    paths: PathLike | Iterable[PathLike],
    *,
    metric: str | Sequence[str] | None = None,
    filter: str | None = None,  # noqa: A002 - the word of the harness
    epochs: Epochs = "mean",
    variants: str | Sequence[str] = "separate",
    rename: Mapping[str, str] | None = None,
    keep_text: bool = False,
    keep_choices: bool = False,
    max_bytes: int | None = None,
    progress: Progress | bool = True,
) -> LogReading:
    """Read evaluation logs at `paths`, or in folders, into one table: models × items.

    It reads sample logs of the lm-evaluation-harness and Inspect AI (.json and .eval), run folders
    of HELM, Every Eval Ever, and predictions of OpenML runs. Items are named task/id. An item is
    what was asked: within a task, items are matched by the content of question and answer if a log
    has it, and the same id with another question is another item. Facts of items are task, id,
    and, if the logs have them, subject, document, split, group, arguments of the task and hash;
    with `keep_text` also text (the first 2,000 characters) and target.

    With `keep_choices`, `choices` of the result is the table of options that models chose, for
    `distractors` and the nominal model, where logs tell: None if none does. The right option is
    the one that was scored as right.

    `metric` names the score to read, or several, of which the first that a log has is used; by
    default, each format has its usual one. `filter` names the lm-eval filter to read, by default a
    strict one or the first. What was not read is named in `notes`.

    If a model was asked an item several times, in epochs or in several runs, the answers are
    repeated ones: with `epochs` "mean", `responses.tries` counts them. "grades" makes the number
    correct of them, "first" keeps the first of the newest run. A log that is there twice counts
    once.

    Conditions (shots, temperature, prompt, arguments of task and model, filter, version) are facts
    of respondents, or of items where each task has its own. If a model was asked the same item
    under several, `variants` "separate" makes each a respondent of its own, "merge" takes them as
    repeated answers, and a list names the conditions that make respondents. `rename` maps models,
    or the folders or files of logs, to the names that they get: some harnesses write the same name
    for all models of a kind.

    An unreadable file in a folder is left out and listed in `files` and `notes`; a file that was
    named explicitly raises an error. `max_bytes` limits each file and its unpacked size.
    `progress` is True (a bar in a terminal or a notebook), False, or a callable that takes bytes
    read, bytes in all, and the name of the file.

    The table is the attribute `responses` of the result; its frame has one row per file, model and
    task.

    >>> import ogive as og
    >>> from pathlib import Path
    >>> _ = Path("samples_sums_2026-01-31T12-00-00.jsonl").write_text('''
    ... {"doc_id": 0, "acc": 1.0, "doc": {}, "arguments": {}, "target": "4", "filter": "none"}
    ... {"doc_id": 1, "acc": 0.0, "doc": {}, "arguments": {}, "target": "9", "filter": "none"}
    ... '''.strip())
    >>> og.read_logs(".").responses.to_frame().to_numpy().tolist()
    [[1.0, 0.0]]
    """
    max_bytes = most_bytes(max_bytes, MAX_BYTES)
    if epochs not in get_args(Epochs):
        raise InputError(f"`epochs` must be 'mean', 'grades' or 'first', got {shown(epochs)}.")
    if filter is not None and not isinstance(filter, str):
        raise InputError(f"`filter` must be the name of a filter, got {shown(filter)}.")
    metrics = (metric,) if isinstance(metric, str) else () if metric is None else metric
    if not isinstance(metrics, Sequence) or not all(isinstance(name, str) for name in metrics):
        raise InputError(f"`metric` must be a name or a list of names, got {shown(metric)}.")
    wanted = LogSettings(
        metrics=tuple(metrics),
        filter=filter,
        epochs=epochs,
        keep_text=bool(keep_text),
        max_bytes=max_bytes,
        variants=checked_variants(variants),
        rename=checked_rename(rename),
        keep_choices=bool(keep_choices),
    )
    return logs_at(_as_paths(paths), wanted, KnownLogs(), progress=progress)


def logs_at(
    given: Sequence[Path], wanted: LogSettings, known: KnownLogs, *, progress: Wanted = False
) -> LogReading:
    """Read logs as `read_logs` does; logs that are `known` and unchanged are not read again."""
    files = find_logs(given, wanted.max_bytes)
    known.update(files)
    with _byte_progress(progress) as report:
        runs, refused = _read_all(files, given, wanted, known, report)
    _check_filter(wanted.filter, runs)
    if not any(run.items for run in runs):
        raise FileError(_why_nothing(given, files, runs, refused))
    table, choices = merge_runs(runs, known.items, wanted)
    notes = list(map(clean, _notes(runs, refused)))
    left_out = sum((run.left_out for run in runs), Counter[str]())
    return LogReading(
        responses=table.described(notes=notes),
        files=_files_frame(files, runs, refused),
        left_out=dict(left_out.most_common()),
        refused={clean(str(path)): clean(why) for path, why in refused.items()},
        notes=(*table.notes, *notes),
        choices=choices,
    )


@contextmanager
def _byte_progress(progress: Wanted) -> Iterator[Progress]:
    if callable(progress):
        yield progress
        return
    with telling(progress, "Reading logs") as report:
        yield in_mebibytes(report)


def in_mebibytes(report: Progress) -> Progress:
    """Turn progress in bytes into progress in MiB, as a bar shows it."""
    return lambda done, total, name: report(done >> 20, (total or 0) >> 20, f"MiB, {name}")


def _read_all(
    files: Sequence[LogFile],
    given: Sequence[Path],
    wanted: LogSettings,
    known: KnownLogs,
    report: Progress,
) -> tuple[list[Run], dict[Path, str]]:
    """Read all logs, and say why some were refused; a log named explicitly must be readable."""
    runs: list[Run] = []
    refused: dict[Path, str] = {}
    total, done = sum(file.size for file in files), 0

    def read(file: LogFile, done: int) -> list[Run]:
        if file.format is None:
            raise FileError(file.reason)

        def on_bytes(size: int) -> None:
            report(done + min(size, file.size), total, file.path.name)

        return list(file.format.read(file.path, wanted, known.items, on_bytes))

    for file in files:
        try:
            runs += known.runs(file, partial(read, file, done))
        except Exception as error:
            if file.path in given:
                raise
            refused[file.path] = str(error)
            if not isinstance(error, OgiveError):
                reason = f"{type(error).__name__}: {error}"
                refused[file.path] = (
                    f"'{file.path}' cannot be read ({reason:.200}). It is not an intact log."
                )
        done += file.size
    return runs, refused


def _why_nothing(
    given: Sequence[Path], files: Sequence[LogFile], runs: Sequence[Run], refused: dict[Path, str]
) -> str:
    """Explain why there is no table."""
    where = ", ".join(f"'{path}'" for path in given[:3])
    if not files:
        folders = (path for path in given if path.is_dir())
        summary = next((file for one in folders for file in one.rglob("results_*.json")), None)
        if summary is not None:
            return SUMMARY.format(summary)
        return (
            f"{where} is a directory without evaluation logs. Logs end in .jsonl, .json, "
            ".eval or .arff. Name another directory, or a file."
        )
    why = [f"'{run.file}': {_reason(run)}" for run in runs] + list(refused.values())
    more = f" ({len(why) - 3:,} more like these)" if len(why) > 3 else ""
    return (
        f"{where} holds {counted(len(files), 'log')}, but no scored rows. {' '.join(why[:3])}{more}"
    )


def _notes(runs: Sequence[Run], refused: dict[Path, str]) -> list[str]:
    """Return notes on refused files, on scores that were not read, and on single logs."""
    notes = []
    if refused:
        more = " The others are listed in files." if len(refused) > 1 else ""
        first = next(iter(refused.values()))
        notes.append(f"{counted(len(refused), 'file')} could not be read. {first}{more}")
    tasks: dict[tuple[str, str], dict[str, None]] = {}
    for run in runs:
        for what, names in run.unread.items():
            for name in names:
                tasks.setdefault((what, name), {})[run.task] = None
    if tasks:
        scores = [
            f"{what} {name} ({next(iter(of)) if len(of) == 1 else counted(len(of), 'task')})"
            for (what, name), of in list(tasks.items())[:MOST_UNREAD]
        ]
        more = f" and {len(tasks) - MOST_UNREAD} more" if len(tasks) > MOST_UNREAD else ""
        choose = "Choose others with metric and filter."
        notes.append(f"Not read: {', '.join(scores)}{more}. {choose}")
    remarks = [f"'{run.file}': {'; '.join(run.remarks)}." for run in runs if run.remarks]
    notes += remarks[:5]  # the frame of files has them all
    if len(remarks) > 5:
        notes.append(f"{counted(len(remarks) - 5, 'more remark')} on logs: see files.")
    return notes


def _reason(run: Run) -> str:
    left_out = [f"{counted(rows, 'row')} {why}" for why, rows in run.left_out.items() if rows]
    return "; ".join([*left_out, *run.remarks])


def _check_filter(wanted: str | None, runs: Sequence[Run]) -> None:
    """Refuse a filter that no log has, if logs name theirs."""
    known = {str(run.conditions["filter"]) for run in runs if run.conditions.get("filter")}
    known.update(name for run in runs for name in run.unread.get("filter", ()))
    if wanted is None or not known or wanted in known:
        return
    names = sorted(known)
    raise InputError(
        f"filter is {shown(wanted)}, but no log has it.{meant(wanted, names)} There is: "
        f"{', '.join(map(shown, names[:8]))}."
    )


def _files_frame(
    files: Sequence[LogFile], runs: Sequence[Run], refused: dict[Path, str]
) -> pd.DataFrame:
    """Return one row per run, and one per file that was refused."""
    by_file: dict[Path, list[Run]] = {}
    for run in runs:
        by_file.setdefault(run.file, []).append(run)
    rows: list[tuple[object, ...]] = []
    for file in files:
        if file.path in refused:
            name = file.format.name if file.format else ""
            why = clean(refused[file.path])
            rows.append((clean(str(file.path)), name, "", "", "", 0, 0, 0, why))
        for run in by_file.get(file.path, []):
            dropped = sum(run.left_out.values())
            head = (clean(str(run.file)), run.format, run.model, run.task, run.metric)
            rows.append((*head, run.rows, run.rows - dropped, dropped, clean(_reason(run))))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


@dataclass(frozen=True, eq=False, repr=False)
class LogReading(Result):
    """The responses in evaluation logs, and what was left out."""

    responses: Responses
    files: pd.DataFrame  # one row per file, model and task
    left_out: Mapping[str, int]  # rows, by why
    refused: Mapping[str, str]  # files that could not be read, and why
    notes: tuple[str, ...]
    choices: Responses | None = None  # which options were chosen; see `keep_choices`

    def to_frame(self) -> pd.DataFrame:
        """Return one row per file, model and task: its rows, how many were read, why not all."""
        return self.files.copy()

    @property
    def n_refused(self) -> int:
        """The number of files that could not be read."""
        return len(self.refused)

    @property
    def meaning(self) -> str:
        """Summarise what was read, and what was left out."""
        tasks = set(self.responses.item_groups("task"))
        n_files = self.files.loc[self.files["read"] > 0, "file"].nunique()
        summary = (
            f"Read {counted(self.responses.n_respondents, 'model')} on "
            f"{counted(len(tasks), 'task')}, {counted(self.responses.n_items, 'item')}, "
            f"from {counted(n_files, 'file')}"
        )
        left_out = [f"{counted(rows, 'row')} {why}" for why, rows in self.left_out.items()]
        if self.n_refused:
            left_out.append(f"{counted(self.n_refused, 'file')} that could not be read")
        return f"{summary}; left out: {joined(left_out)}." if left_out else f"{summary}."

    def plot(self, **kw: Any) -> Display:
        """Plot how many items of each task each model was asked."""
        from ogive.results.plots.matrices import HeatMapDisplay

        models = self.responses.respondents
        short = [model.rpartition("/")[2] for model in models]  # without the organisation
        names = short if len(set(short)) == len(short) else list(models)
        asked = pd.DataFrame(self.responses.observed.T, columns=names)
        tasks = pd.Index(self.responses.item_groups("task"))
        counts = asked.groupby(tasks, sort=False).sum().T.replace(0, float("nan"))
        return HeatMapDisplay(counts.rename_axis(columns="task (items asked)"), low=0.0).plot(**kw)

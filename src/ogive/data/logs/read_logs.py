"""Read_logs: find, recognise and read again what changed.

The known formats of logs, and the files that are logs by their names and first bytes.

A new format is one module and one entry in `LOG_FORMATS`.

Logs that were read before: of a folder that grows, only what changed is read again.

Evaluation logs of language models, from files and folders, as one table.
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
from ogive.data.logs.merge_runs import merged
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
    """Return True if one of the formats recognises this file."""
    formats = [make() for make in LOG_FORMATS.values()]
    return _may_be_log(path) and _inspected(path, formats, max_bytes).format is not None


def _may_be_log(path: Path) -> bool:
    """Return True if the name has the ending of a log."""
    return path.name.lower().removesuffix(".gz").endswith(ENDINGS)


def find_logs(paths: Iterable[Path], max_bytes: int) -> list[LogFile]:
    """Return the logs among these files and in these folders, in order of their names.

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
    """Return True if a file has the name of lm-eval's results, which hold no answers."""
    return path.name.startswith("results_") and path.name.endswith(".json")


def _files(folder: Path, closed: list[OSError]) -> Iterator[Path]:
    """Yield all files that may be logs, without hidden folders and links to folders."""
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
    """Return the first bytes, unpacked."""
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


Stamp = tuple[tuple[str, int, int], ...]  # names, sizes and times of files


@dataclass
class KnownLogs:
    """The runs of logs as they were read, and the items that they share."""

    items: Items = field(default_factory=Items)
    _runs: dict[Path, tuple[Stamp, list[Run]]] = field(default_factory=dict)
    _stamps: dict[Path, Stamp] = field(default_factory=dict)

    def look(self, found: Sequence[LogFile]) -> None:
        """See which logs have changed.

        One that did not only grow may tell something else of its items than before, so that all
        of them are read again.
        """
        logs = {one.path for one in found if one.format is not None}
        folders = {path.parent for path in logs}
        beside = {folder: stamp_of(_documents(folder, logs)) for folder in folders}
        stamps = {path: stamp_of([path]) + beside[path.parent] for path in logs}
        if any(_rewritten(stamp, stamps.get(path, ())) for path, stamp in self._stamps.items()):
            self.items, self._runs = Items(), {}
        self._stamps = stamps
        self._runs = {path: known for path, known in self._runs.items() if path in logs}

    def runs(self, one: LogFile, read: Callable[[], list[Run]]) -> list[Run]:
        """Return the runs of a log, by `read` unless it is as it was."""
        stamp = self._stamps.get(one.path, ())
        known, runs = self._runs.get(one.path, ((), []))
        if not stamp or known != stamp:
            runs = read()
            self._runs[one.path] = stamp, runs
        return [_copied(run) for run in runs]


def stamp_of(files: Iterable[Path]) -> Stamp:
    """Return the name, size and time of files, by which a change is seen."""
    found = []
    for path in files:
        try:
            known = path.stat()
        except OSError:  # removed in the meantime
            continue
        found.append((str(path), known.st_size, known.st_mtime_ns))
    return tuple(found)


def _documents(folder: Path, logs: set[Path]) -> list[Path]:
    """Return documents beside logs, which may tell of them, but not those that are logs."""
    return sorted(path for path in folder.glob("*.json") if path not in logs)


def _rewritten(before: Stamp, now: Stamp) -> bool:
    """Whether a log changed otherwise than by growing; the first file of a stamp is the log."""
    if not before or not now or before[0] == now[0]:
        return False
    return now[0][1] <= before[0][1]


def _copied(run: Run) -> Run:
    """Return a run whose counts and conditions may be changed, as a merge of runs does."""
    return replace(
        run,
        left_out=Counter(run.left_out),
        remarks=list(run.remarks),
        conditions=dict(run.conditions),
    )


MOST_UNREAD = 8  # scores that are named
_COLUMNS = ("file", "format", "model", "task", "metric", "rows", "read", "dropped", "reason")


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
    wanted = replace(
        _checked(metric, filter, epochs, keep_text, most_bytes(max_bytes, MAX_BYTES)),
        variants=checked_variants(variants),
        rename=checked_rename(rename),
        keep_choices=bool(keep_choices),
    )
    return logs_at(as_paths(paths), wanted, KnownLogs(), progress=progress)


def logs_at(
    given: Sequence[Path], wanted: LogSettings, known: KnownLogs, *, progress: Wanted = False
) -> LogReading:
    """Read logs as `read_logs` does; what is `known` and has not changed is not read again."""
    found = find_logs(given, wanted.max_bytes)
    known.look(found)
    with _bytes_told(progress) as told:
        runs, refused = _all_runs(found, given, wanted, known, told)
    _check_filter(wanted.filter, runs)
    if not any(run.places for run in runs):
        raise FileError(_nothing(given, found, runs, refused))
    table, choices = merged(runs, known.items, wanted, wanted.max_bytes)
    said = *_refusals(refused), *_unread(runs), *_remarks(runs)
    more = [clean(note) for note in said]
    left_out = sum((run.left_out for run in runs), Counter[str]())
    return LogReading(
        responses=table.described(notes=more),
        files=_log_reading_files(found, runs, refused),
        left_out=dict(left_out.most_common()),
        refused={clean(str(path)): clean(why) for path, why in refused.items()},
        notes=(*table.notes, *more),
        choices=choices,
    )


@contextmanager
def _bytes_told(progress: Wanted) -> Iterator[Progress]:
    if callable(progress):
        yield progress
        return
    with telling(progress, "Reading logs") as report:
        yield in_mebibytes(report)


def in_mebibytes(report: Progress) -> Progress:
    """Turn progress in bytes into progress in MiB, as a bar shows it."""
    return lambda done, total, name: report(done >> 20, (total or 0) >> 20, f"MiB, {name}")


def _all_runs(
    found: Sequence[LogFile],
    given: Sequence[Path],
    wanted: LogSettings,
    known: KnownLogs,
    progress: Progress,
) -> tuple[list[Run], dict[Path, str]]:
    """The runs of all logs, and why some were refused; a log named explicitly must be readable."""
    runs: list[Run] = []
    refused: dict[Path, str] = {}
    total, done = sum(one.size for one in found), 0
    for one in found:
        try:
            read = partial(_runs, one, wanted, known.items, done, total, progress)
            runs += known.runs(one, read)
        except OgiveError as error:
            if one.path in given:
                raise
            refused[one.path] = str(error)
        except Exception as error:
            if one.path in given:
                raise
            reason = f"{type(error).__name__}: {error}"
            refused[one.path] = (
                f"'{one.path}' cannot be read ({reason:.200}). It is not an intact log."
            )
        done += one.size
    return runs, refused


def _checked(
    metric: object, wanted_filter: object, epochs: object, keep_text: object, max_bytes: int
) -> LogSettings:
    if epochs not in get_args(Epochs):
        raise InputError(
            f"epochs is {shown(epochs)}, but it should be 'mean', 'grades' or 'first'."
        )
    if wanted_filter is not None and not isinstance(wanted_filter, str):
        raise InputError(
            f"filter is {shown(wanted_filter)}, but it should be the name of a filter."
        )
    metrics = (metric,) if isinstance(metric, str) else () if metric is None else metric
    if not isinstance(metrics, Sequence) or not all(isinstance(name, str) for name in metrics):
        raise InputError(f"metric is {shown(metric)}, but it should be a name or a list of names.")
    return LogSettings(tuple(metrics), wanted_filter, epochs, bool(keep_text), max_bytes)  # type: ignore[arg-type]


def _runs(
    one: LogFile, wanted: LogSettings, items: Items, done: int, total: int, progress: Progress
) -> list[Run]:
    """Return the runs of a log; progress is reported as its bytes are read."""
    if one.format is None:
        raise FileError(one.reason)

    def passed(size: int) -> None:
        progress(done + min(size, one.size), total, one.path.name)

    return list(one.format.read(one.path, wanted, items, passed))


def _nothing(
    given: Sequence[Path], found: Sequence[LogFile], runs: Sequence[Run], refused: dict[Path, str]
) -> str:
    """Explain why there is no table."""
    where = ", ".join(f"'{path}'" for path in given[:3])
    if not found:
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
        f"{where} holds {counted(len(found), 'log')}, but no scored rows. {' '.join(why[:3])}{more}"
    )


def _refusals(refused: dict[Path, str]) -> list[str]:
    if not refused:
        return []
    more = " The others are listed in files." if len(refused) > 1 else ""
    first = next(iter(refused.values()))
    return [f"{counted(len(refused), 'file')} could not be read. {first}{more}"]


def _unread(runs: Sequence[Run]) -> list[str]:
    """Return one note on all scores that the logs hold beside those that were read."""
    tasks: dict[tuple[str, str], dict[str, None]] = {}
    for run in runs:
        for what, names in run.unread.items():
            for name in names:
                tasks.setdefault((what, name), {})[run.task] = None
    if not tasks:
        return []
    told = [
        f"{what} {name} ({next(iter(of)) if len(of) == 1 else counted(len(of), 'task')})"
        for (what, name), of in list(tasks.items())[:MOST_UNREAD]
    ]
    more = f" and {len(tasks) - MOST_UNREAD} more" if len(tasks) > MOST_UNREAD else ""
    return [f"Not read: {', '.join(told)}{more}. Choose others with metric and filter."]


def _remarks(runs: Sequence[Run]) -> list[str]:
    """Return remarks on single logs; the frame of files has them all."""
    said = [f"'{run.file}': {'; '.join(run.remarks)}." for run in runs if run.remarks]
    more = [f"{counted(len(said) - 5, 'more remark')} on logs: see files."] if len(said) > 5 else []
    return said[:5] + more


def _reason(run: Run) -> str:
    left = [f"{counted(rows, 'row')} {why}" for why, rows in run.left_out.items() if rows]
    return "; ".join([*left, *run.remarks])


def _check_filter(wanted: str | None, runs: Sequence[Run]) -> None:
    """Refuse a filter that no log has, where logs name theirs."""
    known = {str(run.conditions["filter"]) for run in runs if run.conditions.get("filter")}
    known.update(name for run in runs for name in run.unread.get("filter", ()))
    if wanted is None or not known or wanted in known:
        return
    names = sorted(known)
    raise InputError(
        f"filter is {shown(wanted)}, but no log has it.{meant(wanted, names)} There is: "
        f"{', '.join(map(shown, names[:8]))}."
    )


def _log_reading_files(
    found: Sequence[LogFile], runs: Sequence[Run], refused: dict[Path, str]
) -> pd.DataFrame:
    """Return one row per run, and one per file that was refused."""
    by_file: dict[Path, list[Run]] = {}
    for run in runs:
        by_file.setdefault(run.file, []).append(run)
    rows: list[tuple[object, ...]] = []
    for one in found:
        if one.path in refused:
            name = one.format.name if one.format else ""
            rows.append((clean(str(one.path)), name, "", "", "", 0, 0, 0, clean(refused[one.path])))
        for run in by_file.get(one.path, []):
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
        """One row per file, model and task: its rows, how many were read, and why not all."""
        return self.files.copy()

    @property
    def n_refused(self) -> int:
        """The number of files that could not be read."""
        return len(self.refused)

    @property
    def meaning(self) -> str:
        """Summarise what was read, and what was left out."""
        tasks = set(self.responses.item_groups("task"))
        used = self.files.loc[self.files["read"] > 0, "file"].nunique()
        said = (
            f"Read {counted(self.responses.n_respondents, 'model')} on "
            f"{counted(len(tasks), 'task')}, {counted(self.responses.n_items, 'item')}, "
            f"from {counted(used, 'file')}"
        )
        left = [f"{counted(rows, 'row')} {why}" for why, rows in self.left_out.items()]
        if self.n_refused:
            left.append(f"{counted(self.n_refused, 'file')} that could not be read")
        return f"{said}; left out: {joined(left)}." if left else f"{said}."

    def plot(self, **kw: Any) -> Display:
        """Plot how many items of each task each model was asked."""
        from ogive.results.plots.matrices import HeatMapDisplay

        asked = pd.DataFrame(self.responses.observed.T, columns=_short(self.responses.respondents))
        tasks = pd.Index(self.responses.item_groups("task"))
        counts = asked.groupby(tasks, sort=False).sum().T.replace(0, float("nan"))
        named = counts.rename_axis(columns="task (items asked)")
        return HeatMapDisplay(named, low=0.0).plot(**kw)


def _short(models: Sequence[str]) -> list[str]:
    """Return model names without their organisation, if they are still distinct."""
    short = [model.rpartition("/")[2] for model in models]
    return short if len(set(short)) == len(short) else list(models)

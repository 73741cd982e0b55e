"""Logs that were read before: of a folder that grows, only what changed is read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ogive.responses.logs.log_formats import LogFile
from ogive.responses.logs.log_runs import Items, Run

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

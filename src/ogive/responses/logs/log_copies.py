"""Logs with the content of another: a copy under another name is not another run."""

from __future__ import annotations

import filecmp
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from ogive.responses.logs.log_runs import Run
from ogive.words import listed


def same_content(one: Path, other: Path) -> bool:
    """Whether two files are equal byte by byte; not if one is gone."""
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def adopt_copies(runs: Sequence[Run]) -> list[str]:
    """Give a log that only its folder names the model of a log with the same content.

    It then counts as a copy. Where both have only their folders' names, which of them is right is
    not known: both are kept, and a note says so.
    """
    unsure = []
    for one, other in _equal_runs(runs):
        if other.named and not one.named:
            one.model, one.named = other.model, True
            one.about, one.origin = dict(other.about), other.origin
            one.conditions, one.of_task = dict(other.conditions), dict(other.of_task)
        elif not one.named and one.model != other.model:
            unsure.append(f"'{one.file}' and '{other.file}'")
    if not unsure:
        return []
    note = (
        f"The same content, under the names of two folders: {listed(unsure, 'pair')} of logs. If "
        "one is a copy, take it out of the folder."
    )
    return [note]


def _equal_runs(runs: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    """Pairs of runs of equal files, of which the first may be without results beside it."""
    alike: dict[tuple[str, str, bytes], list[Run]] = defaultdict(list)
    for run in runs:
        alike[run.format, run.task, bytes(memoryview(run.scores))].append(run)
    for several in alike.values():
        known = sorted(several, key=lambda run: not run.named)
        for at, one in enumerate(known):
            if one.named:
                continue
            equal = (other for other in known[:at] if same_content(one.file, other.file))
            if (first := next(equal, None)) is not None:
                yield one, first

"""The runner: members in parallel, and each finished one stored at once."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ogive.arguments import as_number, whole_number
from ogive.datasets import Split
from ogive.errors import FileError, InputError
from ogive.files import PathLike, tidy_folder
from ogive.numerics.error_scores import error_unit
from ogive.parallel import one_by_one
from ogive.pools import workers
from ogive.pools.answers import NO_ANSWER, Answers
from ogive.pools.member_scores import unpacked
from ogive.pools.members import Part, check_kinds
from ogive.pools.outcomes import Outcome, Store, Task
from ogive.pools.pool import find_pool
from ogive.progress import Progress, Wanted, resumed, telling
from ogive.responses.names_and_facts import row_name
from ogive.words import counted, listed

NAMES_SHOWN = 2


def run_pool(
    split: Split,
    pool: Any,
    *,
    folder: PathLike | None = None,
    cv: int = 10,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> Answers:
    """Fit every member of a pool on the training part, and predict the test part with it.

    `split` comes from `split_dataset`. `pool` is a name in `ogive.pools.POOLS`, or a list or
    mapping of scikit-learn classifiers, or of regressors if the split has numbers to predict.
    Each member is also cross-validated on the training part
    with `cv` folds (0: not at all). Your own classifiers get the columns as they are, in a frame,
    and labels as codes 0, 1, ... in the order of `split.classes`. The package's own get numbers,
    filled, scaled and encoded; `make_pipeline(ogive.TablePreparation(), ...)` does the same for
    yours.

    With a `folder`, each finished member is stored at once, and an interrupted run resumes.
    `time_limit` is the number of seconds that one member may take in all; with it, each member
    runs in a process of its own, which may crash without harm. Members run with joblib, so
    `joblib.parallel_config` sets `n_jobs` and the backend, including a dask cluster.

    `progress` is True (a bar in a terminal or a notebook), False, or a callable that takes members
    done, members in all, and the names of those that run.

    The same `random_state` gives the same answers. The frame has one row per member: cv_accuracy,
    cv_accuracy_se, failure, remarks.

    >>> import ogive as og
    >>> from sklearn.dummy import DummyClassifier
    >>> split = og.split_dataset(og.load_dataset("sklearn:iris"))
    >>> found = og.run_pool(split, {"majority": DummyClassifier()}, cv=0, progress=False)
    >>> found.members, len(found.items)
    (('majority',), 45)
    """
    chosen = find_pool(pool)
    _check(cv, time_limit, random_state, n_jobs)
    parts = {
        prepared: Part.of(split, prepared=prepared)
        for prepared in sorted({member.prepared for member in chosen.members})
    }
    check_kinds(chosen.members, next(iter(parts.values())))
    tasks = [
        Task(member, parts[member.prepared], int(cv), int(random_state))
        for member in chosen.members
    ]
    with ExitStack() as stack:
        store = None if folder is None else Store(stack.enter_context(tidy_folder(folder)))
        return _run(tasks, store, time_limit, n_jobs, progress)


def _run(
    tasks: list[Task],
    store: Store | None,
    time_limit: float | None,
    n_jobs: int | None,
    progress: Wanted,
) -> Answers:
    """Read what is stored, and let all other members answer."""
    outcomes, notes = _stored(store, tasks, time_limit)
    waiting = [place for place in range(len(tasks)) if place not in outcomes]
    try:
        with (
            telling(progress, "Running classifiers") as told,
            closing(_answered_by_all(tasks, waiting, time_limit, n_jobs)) as answered,
        ):
            resumed(told, len(outcomes))
            watch = _Watch(tasks, outcomes, n_jobs, told)
            watch.report()
            for place, outcome in answered:
                if store is not None:
                    store.write(tasks[place], outcome)
                outcomes[place] = outcome
                watch.report()
    finally:
        workers.dismiss()
    return _assembled(tasks, outcomes, notes)


def _check(cv: Any, time_limit: Any, random_state: Any, n_jobs: Any) -> None:
    if n_jobs is not None and (not _whole(n_jobs) or n_jobs == 0):
        raise InputError(
            f"n_jobs is {n_jobs!r}, but it should be a whole number other than 0; -1 means all "
            "cores."
        )
    if not _whole(cv) or cv < 0 or cv == 1:
        raise InputError(f"cv is {cv!r}, but it should be 2 or more, or 0 for none.")
    if time_limit is not None and not 0 < as_number(time_limit) <= threading.TIMEOUT_MAX:
        raise InputError(
            f"time_limit is {time_limit!r}, but it should be a number of seconds above 0, or None."
        )
    whole_number(random_state, "random_state", 0, 2**32 - 1)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _stored(
    store: Store | None, tasks: list[Task], time_limit: float | None
) -> tuple[dict[int, Outcome], list[str]]:
    """The members that an earlier run finished, and notes on what else is in its folder."""
    outcomes: dict[int, Outcome] = {}
    notes: list[str] = []
    if store is None:
        return outcomes, notes
    damaged = 0
    for place, task in enumerate(tasks):
        try:
            outcome = store.read(task)
        except FileError:
            damaged += 1
            continue
        # A member that was stopped at another time limit is tried again.
        if outcome is not None and outcome.time_limit in (None, time_limit):
            outcomes[place] = outcome
    if damaged:
        notes.append(f"{counted(damaged, 'stored member')} in '{store.folder}' damaged: run again")
    if strangers := store.strangers(tasks):
        notes.append(
            f"{counted(strangers, 'stored member')} in '{store.folder}' ignored: "
            "from another pool, data set, seed, setting or version"
        )
    return outcomes, notes


def _answered_by_all(
    tasks: list[Task], waiting: list[int], time_limit: float | None, n_jobs: int | None
) -> Generator[tuple[int, Outcome], None, None]:
    """Outcomes as they come; once a member crashed its worker, each gets a process of its own."""
    left = set(waiting)
    try:
        with closing(_answered(tasks, waiting, time_limit, n_jobs)) as answered:
            for place, outcome in answered:
                left.remove(place)
                yield place, outcome
    except BrokenExecutor:
        yield from _answered(tasks, sorted(left), time_limit, n_jobs, apart=True)


def _answered(
    tasks: list[Task],
    waiting: list[int],
    time_limit: float | None,
    n_jobs: int | None,
    *,
    apart: bool = False,
) -> Generator[tuple[int, Outcome], None, None]:
    """Outcomes as they come, with the position of their task."""
    from joblib import delayed

    if not waiting:
        return
    calls = [delayed(_answer)(place, tasks[place], time_limit, apart=apart) for place in waiting]
    # One member per batch: a batch is returned only when all of it is done.
    yield from one_by_one(calls, n_jobs, ordered=False, batch_size=1)


def _answer(
    place: int, task: Task, time_limit: float | None, *, apart: bool
) -> tuple[int, Outcome]:
    return place, workers.answer_within(task, time_limit, apart=apart)


@dataclass
class _Watch:
    """Reports the progress of one run."""

    tasks: list[Task]
    outcomes: dict[int, Outcome]
    n_jobs: int | None
    progress: Progress

    def report(self) -> None:
        """Report the members done, and those that run."""
        self.progress(len(self.outcomes), len(self.tasks), self._running())

    def _running(self) -> str:
        """Members start in the order of the pool, so the first unfinished ones run."""
        from joblib import effective_n_jobs

        names = [t.member.name for k, t in enumerate(self.tasks) if k not in self.outcomes]
        running = names[: effective_n_jobs(self.n_jobs)]
        more = f" and {len(running) - NAMES_SHOWN} more" if len(running) > NAMES_SHOWN else ""
        return ", ".join(running[:NAMES_SHOWN]) + more


def _assembled(tasks: list[Task], outcomes: dict[int, Outcome], notes: list[str]) -> Answers:
    ordered = [(task.member.name, outcomes[place]) for place, task in enumerate(tasks)]
    part, n_items = tasks[0].part, len(tasks[0].part.test)
    absent: float = NO_ANSWER if part.classes else np.nan
    scores = {
        name: unpacked(outcome.scores, n_items, len(part.classes)) for name, outcome in ordered
    }
    return Answers(
        members=tuple(name for name, _ in ordered),
        items=tuple(row_name(position) for position in tasks[0].part.test),
        predictions=np.array(
            [outcome.predictions or (absent,) * n_items for _, outcome in ordered]
        ),
        unit=None if part.classes else error_unit(part.y_train),
        cv_accuracy=np.array([_or_nan(outcome.cv_accuracy) for _, outcome in ordered]),
        cv_accuracy_se=np.array([_or_nan(outcome.cv_accuracy_se) for _, outcome in ordered]),
        failures={name: o.failure for name, o in ordered if o.failure is not None},
        remarks={name: "; ".join(o.remarks) for name, o in ordered if o.remarks},
        notes=(*notes, *_in_words(ordered)),
        scores={name: each for name, each in scores.items() if each is not None},
    )


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def _in_words(outcomes: list[tuple[str, Outcome]]) -> list[str]:
    """Notes on members that failed, and on those with remarks: how many, and the first few."""
    notes = []
    if failed := {name: o.failure for name, o in outcomes if o.failure is not None}:
        first, reason = next(iter(failed.items()))
        notes.append(
            f"{listed(list(failed), 'member')} of {len(outcomes)} failed and "
            f"{'was' if len(failed) == 1 else 'were'} left out; {first}: {reason}"
        )
    remarks: dict[str, list[str]] = {}
    for name, outcome in outcomes:
        for remark in sorted({remark.partition(" (")[0] for remark in outcome.remarks}):
            remarks.setdefault(remark, []).append(name)
    said = {"ConvergenceWarning": "stopped before convergence (ConvergenceWarning)"}
    return notes + [
        f"{listed(names, 'member')}: {said.get(text, text)}"
        for text, names in sorted(remarks.items())
    ]


@dataclass
class CombinedProgress:
    """Reports the progress of several runs as one: members done, of the members of all runs."""

    total: int  # members of all runs
    progress: Progress
    done: int = 0  # members of the runs before

    def of(self, name: str, members: int) -> Progress:
        """The callable to pass to `run_pool` for one of the runs."""
        before = self.done
        self.done += members
        return _OneRun(self, name, before)


@dataclass
class _OneRun:
    """One of several runs: it counts from where the runs before it end."""

    combined: CombinedProgress
    name: str
    before: int

    def __call__(self, done: int, _total: int | None, running: str) -> None:
        message = f"{self.name}: {running}" if running else self.name
        self.combined.progress(self.before + done, self.combined.total, message)

    def resumed(self, steps: int) -> None:
        """Pass on how many members are from an earlier run."""
        resumed(self.combined.progress, steps)

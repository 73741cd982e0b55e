"""Run pools on a split, or on a whole data set by folds; interrupted runs resume."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Generator, Iterable
from concurrent.futures import BrokenExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive._files import PathLike, tidy_folder
from ogive._processes import one_by_one
from ogive._progress import Progress, Wanted, resumed, telling
from ogive._validation import as_number, whole_number
from ogive.data.datasets.dataset import NUMBERS, Dataset, Split, coded, split_dataset
from ogive.data.names import row_name
from ogive.data.pools import member_runs
from ogive.data.pools.member_runs import Outcome, Store, Task, folds_of
from ogive.data.pools.members import Part, check_kinds, unpack_scores
from ogive.data.pools.pool import NO_ANSWER, Answers, find_pool
from ogive.errors import FileError, InputError
from ogive.results.numbers import counted, listed
from ogive.stats.metrics import error_unit

if TYPE_CHECKING:
    from ogive.data.responses import Responses

    Positions = NDArray[np.intp]


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

    `split` comes from `split_dataset`. `pool` is a name in `ogive.data.pools.pool.POOLS`, or a list
    or mapping of scikit-learn classifiers, or of regressors if the split has numbers to predict.
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
    if folder is None:
        return _run(tasks, None, time_limit, n_jobs, progress)
    with tidy_folder(folder) as home:
        return _run(tasks, Store(home), time_limit, n_jobs, progress)


def _run(
    tasks: list[Task],
    store: Store | None,
    time_limit: float | None,
    n_jobs: int | None,
    progress: Wanted,
) -> Answers:
    """Read what is stored, and let all other members answer."""
    from joblib import effective_n_jobs

    outcomes, notes = _stored(store, tasks, time_limit)
    waiting = [place for place in range(len(tasks)) if place not in outcomes]
    try:
        with (
            telling(progress, "Running classifiers") as report,
            closing(_outcomes(tasks, waiting, time_limit, n_jobs)) as answered,
        ):

            def report_members() -> None:
                # Members start in the order of the pool, so the first unfinished ones run.
                names = [t.member.name for k, t in enumerate(tasks) if k not in outcomes]
                running = names[: effective_n_jobs(n_jobs)]
                n_more = len(running) - NAMES_SHOWN
                more = f" and {n_more} more" if n_more > 0 else ""
                report(len(outcomes), len(tasks), ", ".join(running[:NAMES_SHOWN]) + more)

            resumed(report, len(outcomes))
            report_members()
            for place, outcome in answered:
                if store is not None:
                    store.write(tasks[place], outcome)
                outcomes[place] = outcome
                report_members()
    finally:
        member_runs.dismiss()
    return _assembled(tasks, outcomes, notes)


def _check(cv: Any, time_limit: Any, random_state: Any, n_jobs: Any) -> None:
    def whole(value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool)

    if n_jobs is not None and (not whole(n_jobs) or n_jobs == 0):
        raise InputError(
            f"`n_jobs` must be a whole number other than 0, got {n_jobs!r}. -1 means all cores."
        )
    if not whole(cv) or cv < 0 or cv == 1:
        raise InputError(f"`cv` must be 2 or more, or 0 for none, got {cv!r}.")
    if time_limit is not None and not 0 < as_number(time_limit) <= threading.TIMEOUT_MAX:
        raise InputError(
            f"`time_limit` must be a number of seconds above 0, or None, got {time_limit!r}."
        )
    whole_number(random_state, "random_state", 0, 2**32 - 1)


def _stored(
    store: Store | None, tasks: list[Task], time_limit: float | None
) -> tuple[dict[int, Outcome], list[str]]:
    """Return the members that an earlier run finished, and notes on what else is in its folder."""
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
    if foreign := store.count_foreign(tasks):
        notes.append(
            f"{counted(foreign, 'stored member')} in '{store.folder}' ignored: "
            "from another pool, data set, seed, setting or version"
        )
    return outcomes, notes


def _outcomes(
    tasks: list[Task],
    waiting: list[int],
    time_limit: float | None,
    n_jobs: int | None,
    *,
    apart: bool = False,
) -> Generator[tuple[int, Outcome], None, None]:
    """Yield outcomes as they come, with the position of their task.

    Once a member crashed its worker, the others get a process of their own each (`apart`).
    """
    from joblib import delayed

    calls = [
        delayed(_outcome_at)(place, tasks[place], time_limit, apart=apart) for place in waiting
    ]
    left = set(waiting)
    try:
        # One member per batch: a batch is returned only when all of it is done.
        with closing(one_by_one(calls, n_jobs, ordered=False, batch_size=1)) as answered:
            for place, outcome in answered if waiting else ():
                left.remove(place)
                yield place, outcome
    except BrokenExecutor:
        if apart:
            raise
        yield from _outcomes(tasks, sorted(left), time_limit, n_jobs, apart=True)


def _outcome_at(
    place: int, task: Task, time_limit: float | None, *, apart: bool
) -> tuple[int, Outcome]:
    return place, member_runs.answer_within(task, time_limit, apart=apart)


def _assembled(tasks: list[Task], outcomes: dict[int, Outcome], notes: list[str]) -> Answers:
    ordered = [(task.member.name, outcomes[place]) for place, task in enumerate(tasks)]
    part, n_items = tasks[0].part, len(tasks[0].part.test)
    absent: float = NO_ANSWER if part.classes else np.nan
    scores = {
        name: unpack_scores(outcome.scores, n_items, len(part.classes)) for name, outcome in ordered
    }
    return Answers(
        members=tuple(name for name, _ in ordered),
        items=tuple(row_name(position) for position in part.test),
        predictions=np.array([o.predictions or (absent,) * n_items for _, o in ordered]),
        unit=None if part.classes else error_unit(part.y_train),
        cv_accuracy=np.array([o.cv_accuracy for _, o in ordered], dtype=np.float64),
        cv_accuracy_se=np.array([o.cv_accuracy_se for _, o in ordered], dtype=np.float64),
        failures={name: o.failure for name, o in ordered if o.failure is not None},
        remarks={name: "; ".join(o.remarks) for name, o in ordered if o.remarks},
        notes=(*notes, *_member_notes(ordered)),
        scores={name: each for name, each in scores.items() if each is not None},
    )


def _member_notes(outcomes: list[tuple[str, Outcome]]) -> list[str]:
    """Return notes on members that failed, and on remarks: how many members, and the first few."""
    notes = []
    if failed := {name: o.failure for name, o in outcomes if o.failure is not None}:
        first, reason = next(iter(failed.items()))
        notes.append(
            f"{listed(list(failed), 'member')} of {len(outcomes)} failed and "
            f"{'was' if len(failed) == 1 else 'were'} left out; {first}: {reason}"
        )
    members: dict[str, list[str]] = {}
    for name, outcome in outcomes:
        for remark in sorted({remark.partition(" (")[0] for remark in outcome.remarks}):
            members.setdefault(remark, []).append(name)
    words = {"ConvergenceWarning": "stopped before convergence (ConvergenceWarning)"}
    return notes + [
        f"{listed(names, 'member')}: {words.get(remark, remark)}"
        for remark, names in sorted(members.items())
    ]


@dataclass
class CombinedProgress:
    """Reports the progress of several runs as one: members done, of the members of all runs."""

    total: int  # members of all runs
    progress: Progress
    done: int = 0  # members of the runs before

    def of(self, name: str, members: int) -> Progress:
        """Return the callable to pass to `run_pool` for one of the runs."""
        before = self.done
        self.done += members
        return _OneRun(self, name, before)


@dataclass
class _OneRun:
    """One of several runs: it counts on from the end of the runs before it."""

    combined: CombinedProgress
    name: str
    before: int

    def __call__(self, done: int, _total: int | None, running: str) -> None:
        message = f"{self.name}: {running}" if running else self.name
        self.combined.progress(self.before + done, self.combined.total, message)

    def resumed(self, steps: int) -> None:
        """Pass on how many members are from an earlier run."""
        resumed(self.combined.progress, steps)


FAILED, NEVER = "failed in fold", "Never asked"


def dataset_responses(
    dataset: Dataset,
    pool: Any,
    *,
    cv: int = 5,
    folder: PathLike | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | bool = True,
    members: Iterable[str] | None = None,
) -> Responses:
    """Return right and wrong of a pool on every instance of a data set; items are row_0, row_1, ...

    Of regressors, where the data set has numbers to predict, the responses are scores of errors.

    The `dataset` is divided into `cv` folds, and the `pool` predicts each fold after learning from
    the others. `folder`, `time_limit`, `n_jobs`, `random_state` and `progress` are those of
    `run_pool`. `members` selects some of the pool, such as those that calibrate. Members that
    failed are left out, with a warning; the notes of the table say why.

    >>> import ogive as og
    >>> from sklearn.dummy import DummyClassifier
    >>> iris = og.load_dataset("sklearn:iris")
    >>> og.dataset_responses(iris, {"majority": DummyClassifier()}, cv=2, progress=False)
    Responses: 1 respondent × 150 items, binary, complete
    """
    answers = dataset_answers(
        dataset,
        pool,
        cv=cv,
        folder=folder,
        time_limit=time_limit,
        n_jobs=n_jobs,
        random_state=random_state,
        progress=progress,
    )
    table = answers.responses(target_values(dataset), members)
    notes = [
        f"{name} failed in every fold and was left out: {reason}"
        for name, reason in answers.failures.items()
    ]
    notes += [
        f"{name} is partly missing: {remark}"
        for name, remark in answers.remarks.items()
        if FAILED in remark and name not in answers.failures
    ]
    if notes:
        first = f"{notes[0]} (and {len(notes) - 1} more; see .notes)" if notes[1:] else notes[0]
        warnings.warn(first, stacklevel=2)
    never = (note for note in answers.notes if note.startswith(NEVER))
    return table.described(notes=[*notes, *never])


def dataset_answers(
    dataset: Dataset,
    pool: Any,
    *,
    cv: int = 5,
    folder: PathLike | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> Answers:
    """Predict every instance of a data set with a pool, each while it is held out.

    The `cv` folds are stratified by class; a test part that comes with the data set is ignored. The
    only member of a class cannot be predicted without having been seen, so it stays in the training
    parts and is never asked. With a `folder`, `run_pool` stores what it finished in one folder per
    fold, and resumes. `cv_accuracy` is the mean accuracy over folds.
    """
    if not isinstance(dataset, Dataset):
        raise InputError(
            f"dataset is a {type(dataset).__name__}, but it should be a Dataset. "
            "Load one with ogive.load_dataset."
        )
    chosen = find_pool(pool)
    truth = target_values(dataset)
    whole_number(cv, "cv", 2)
    numbers = truth.dtype.kind == "f"
    asked = np.arange(truth.size) if numbers else np.flatnonzero(np.bincount(truth)[truth] > 1)
    if cv > asked.size:
        raise InputError(
            f"cv is {cv}, but '{dataset.name}' has {counted(asked.size, 'instance')} that can be "
            "asked. Give fewer folds."
        )
    folds = folds_of(truth[asked], int(cv), random_state)
    tests = [asked[np.sort(held_out)] for _, held_out in folds]
    parts = []
    with (
        telling(progress, "Running classifiers") as told,
        nullcontext() if folder is None else tidy_folder(folder),
    ):
        combined = CombinedProgress(len(tests) * len(chosen.members), told)
        for k, test in enumerate(tests):
            answers = run_pool(
                split_dataset(replace(dataset, test=test)),
                chosen,
                folder=None if folder is None else Path(folder) / f"fold_{k + 1}",
                cv=0,
                time_limit=time_limit,
                n_jobs=n_jobs,
                random_state=random_state,
                progress=combined.of(f"fold {k + 1}", len(chosen.members)),
            )
            parts.append((test, answers))
    return _joined(parts, truth)


def target_values(dataset: Dataset) -> NDArray[Any]:
    """Return codes of classes, or the numbers to predict."""
    if dataset.kind == NUMBERS:
        return dataset.target.to_numpy(dtype=np.float64)
    return coded(dataset.target)[0]


def _joined(parts: list[tuple[Positions, Answers]], codes: NDArray[Any]) -> Answers:
    """Return the answers of all folds, in the order of the data set; units become their median."""
    first = parts[0][1]
    members, n_items = first.members, codes.size
    units = [answers.unit for _, answers in parts if answers.unit is not None]
    absent, kind = (np.nan, np.float64) if units else (NO_ANSWER, np.int64)
    predictions = np.full((len(members), n_items), absent, dtype=kind)
    asked = np.zeros(n_items, dtype=bool)
    for test, answers in parts:
        predictions[:, test] = answers.predictions
        asked[test] = True
    accuracies = np.array([answers.accuracy(codes[test]) for test, answers in parts])
    n_folds = np.isfinite(accuracies).sum(axis=0)
    unknown = np.full(len(members), np.nan)
    sums = np.nansum(accuracies, axis=0)
    mean = np.divide(sums, n_folds, out=unknown.copy(), where=n_folds > 0)
    squares = np.nansum((accuracies - mean) ** 2, axis=0)
    variance = np.divide(squares, n_folds * (n_folds - 1.0), out=unknown.copy(), where=n_folds > 1)
    remarks: dict[str, str] = {}
    for name in members:
        texts = [answers.remarks.get(name, "") for _, answers in parts]
        texts += [
            f"{FAILED} {k + 1}: {answers.failures[name]}"
            for k, (_, answers) in enumerate(parts)
            if name in answers.failures
        ]
        if text := "; ".join(dict.fromkeys(filter(None, texts))):
            remarks[name] = text
    scores: dict[str, NDArray[np.float16]] = {}
    for name in first.scores:
        if all(name in answers.scores for _, answers in parts):
            n_classes = first.scores[name].shape[1]
            scores[name] = np.full((n_items, n_classes), np.nan, dtype=np.float16)
            for test, answers in parts:
                scores[name][test] = answers.scores[name]
    notes = [
        f"Fold {k + 1}: {note}" for k, (_, answers) in enumerate(parts) for note in answers.notes
    ]
    if lonely := [row_name(k) for k in np.flatnonzero(~asked)]:
        notes.append(f"{NEVER} (only member of its class): {listed(lonely, 'item')}.")
    return Answers(
        members=members,
        items=tuple(row_name(k) for k in range(n_items)),
        predictions=predictions,
        cv_accuracy=mean,
        cv_accuracy_se=np.sqrt(variance),
        failures={
            name: first.failures[name] for name, n in zip(members, n_folds, strict=True) if n == 0
        },
        unit=float(np.median(units)) if units else None,
        remarks=remarks,
        notes=tuple(notes),
        scores=scores,
    )

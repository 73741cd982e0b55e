"""The outcome of one member: its answers and accuracy, or why it failed; its file; its time limit.

Each finished member is stored as one small JSON file, so that an interrupted run resumes. The file
name is a digest of everything its content depends on: split, member and settings, seed, folds and
library versions. A file of another run therefore has another name, and is ignored. A damaged file
is written again.

A signal cannot interrupt a fit that is inside compiled code, and dask runs members in threads. So a
member with a time limit is fitted by a worker: a child process that waits for tasks, does one after
the other, and is killed when one takes too long. A worker ends with its parent, as soon as the
current fit lets Python run.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import math
import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive._files import read_json, write_json
from ogive._processes import Child, as_child, heeded, raise_swallowed, receive, send
from ogive.data.pools.members import (
    Member,
    Part,
    class_scores,
    pack_scores,
    same_everywhere,
    unpack_scores,
)
from ogive.errors import FileError, InputError
from ogive.results.numbers import counted
from ogive.stats.metrics import error_scores, error_unit

LONGEST_REASON = 200


@dataclass(frozen=True)
class Outcome:
    """The result of one member; `predictions` is empty if it failed."""

    predictions: tuple[float, ...] = ()  # codes, or numbers
    cv_accuracy: float | None = None
    cv_accuracy_se: float | None = None
    failure: str | None = None
    remarks: tuple[str, ...] = ()
    time_limit: float | None = None  # seconds; set if this limit is why it failed
    passing: bool = False  # a failure that may not occur again, so it is not stored
    scores: str = ""  # class probabilities, packed; empty if the member gives none


@dataclass(frozen=True, eq=False)
class Task:
    """One member with everything it needs to answer, in whatever process."""

    member: Member
    part: Part
    cv: int
    random_state: int

    @property
    def seed(self) -> int:
        """A seed that depends on the name, so that pool and order do not matter."""
        text = f"{self.random_state} {self.member.name}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def answer(task: Task) -> Outcome:
    """Fit a member, predict the test part, and cross-validate it, all in one thread."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    with (
        heeded(),
        threadpool_limits(limits=1),
        parallel_config(backend="sequential"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            predictions, remarks, scores = _predict(task, task.part.copy(), scored=True)
        except (Exception, SystemExit) as error:
            reason = one_line(error).rstrip(".")
            if task.part.untidy:
                reason += (
                    ". It got the columns as they are, with text or missing values; to fill, scale "
                    "and encode them, put ogive.TablePreparation() before it in a pipeline"
                )
            return Outcome(failure=reason, passing=isinstance(error, MemoryError))
        fold_accuracies, fold_remarks = _cross_validated(task)
    mean, se = _mean_and_se(fold_accuracies)
    counts = Counter(warning.category.__name__ for warning in caught)
    met = [f"{kind} ({counted(n, 'time')})" for kind, n in sorted(counts.items())]
    return Outcome(
        tuple(predictions.tolist()),
        mean,
        se,
        remarks=(*remarks, *fold_remarks, *met),
        scores=scores,
    )


def one_line(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
    first = same_everywhere((str(error).strip().splitlines() or [""])[0])
    text = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 1]}…"


def _predict(
    task: Task, part: Part, *, scored: bool = False
) -> tuple[NDArray[Any], tuple[str, ...], str]:
    """Return the answers of a member, the `remarks` it makes, and if `scored`, probabilities."""
    predictor = task.member.make(part, task.seed)
    predictor.fit(part.X_train, part.y_train)
    raise_swallowed()  # networks of scikit-learn swallow it, and stay half trained
    codes = _checked(predictor.predict(part.X_test), len(part.test), len(part.classes))
    given = getattr(predictor, "remarks", ())
    remarks = given if isinstance(given, tuple) else ()
    if not scored or not hasattr(predictor, "predict_proba"):
        return codes, remarks, ""
    try:
        return codes, remarks, pack_scores(class_scores(predictor, part))
    except (Exception, SystemExit) as error:
        return codes, (*remarks, f"no probabilities: {one_line(error)}"), ""


def _checked(given: Any, n_items: int, n_classes: int) -> NDArray[Any]:
    """Return predictions as codes, or as numbers without classes; refuse anything else."""
    found = np.asarray(given)
    if found.size != n_items or found.shape[0] != n_items:
        raise InputError(
            f"It predicts {counted(found.size, 'label')} for {counted(n_items, 'item')}."
        )
    found = found.reshape(-1)  # some libraries return a column
    if not n_classes:
        numbers = found.astype(np.float64)
        if not np.isfinite(numbers).all():
            odd = found[~np.isfinite(numbers)][:1].tolist()[0]
            raise InputError(f"It predicts {odd!r:.40}, but a finite number is needed.")
        return numbers
    known = np.isin(found, np.arange(n_classes))
    if not known.all():
        raise InputError(
            f"It predicts {found[~known][:1].tolist()[0]!r:.40}, but it learned the classes as the "
            f"codes 0 to {n_classes - 1}, and these are what it should predict."
        )
    return found.astype(np.int64)


def _cross_validated(task: Task) -> tuple[list[float], list[str]]:
    """Return accuracy in each usable fold, and remarks on folds that were left out."""
    accuracies, n_skipped, problems = [], 0, []
    y = task.part.y_train
    folds = list(folds_of(y, task.cv, task.random_state))
    n_present = np.unique(y).size
    for learn, held_out in folds:
        part = task.part.fold(learn, held_out)
        if part.classes and np.unique(part.y_train).size < n_present:
            n_skipped += 1
            continue
        try:
            predictions, _, _ = _predict(task, part)
            if part.classes:
                right = predictions == part.y_test
            else:
                right = error_scores(predictions - part.y_test, error_unit(part.y_train))
            accuracies.append(float(np.mean(right)))
        except (Exception, SystemExit) as error:
            problems.append(one_line(error))
    remarks = []
    of_folds = f"of {counted(len(folds), 'fold')}"
    if task.cv and not folds:
        remarks.append("not cross-validated: no class has two members")
    elif len(folds) < task.cv:
        remarks.append(f"{len(folds)} folds instead of {task.cv}: no class has more members")
    if n_skipped:
        remarks.append(f"{n_skipped} {of_folds} skipped: a class had no member to learn from")
    if problems:
        remarks.append(f"{len(problems)} {of_folds} failed: {problems[0]}")
    return accuracies, remarks


def folds_of(
    y: NDArray[Any], cv: int, random_state: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield folds of codes, stratified, or of numbers, at random; the same for every member.

    There are fewer folds if no class has as many members.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = y.dtype.kind != "f"
    n_folds = min(cv, int(np.bincount(y).max()) if classes else len(y))
    if n_folds < 2:
        return
    kind = StratifiedKFold if classes else KFold
    splitter = kind(n_folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        # A class may have fewer members than there are folds: each fold is checked later.
        warnings.simplefilter("ignore", UserWarning)
        rows = list(splitter.split(np.zeros((len(y), 1)), y))
    yield from rows


def _mean_and_se(accuracies: list[float]) -> tuple[float | None, float | None]:
    """Return the mean over folds and its standard error, as if folds were independent."""
    n = len(accuracies)
    mean = math.fsum(accuracies) / n if n else None
    if mean is None or n < 2:
        return mean, None
    squares = math.fsum((accuracy - mean) ** 2 for accuracy in accuracies)
    return mean, math.sqrt(squares / (n - 1) / n)


KIND, FORMAT = "pool-member", 2
VERSIONS_THAT_MATTER = ("numpy", "scipy", "scikit-learn")
BYTES_OF_A_CODE, BYTES_OF_A_SCORE = 32, 3  # the first also of a number
BYTES_OF_THE_REST = 1 << 20


@dataclass(frozen=True)
class Store:
    """A folder of finished members of one split."""

    folder: Path

    def path(self, task: Task) -> Path:
        """Return the file of a task."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", task.member.name).strip("-")[:40] or "member"
        return self.folder / f"{slug}-{_digest(self._header(task))[:20]}.json"

    def read(self, task: Task) -> Outcome | None:
        """Return the outcome, or None if it is not stored; a damaged file is a `FileError`."""
        path = self.path(task)
        if not path.exists():
            return None
        of_an_item = BYTES_OF_A_CODE + BYTES_OF_A_SCORE * len(task.part.classes)
        most = of_an_item * len(task.part.test) + BYTES_OF_THE_REST
        document = read_json(path, KIND, FORMAT, max_bytes=most)
        if document.get("run") != self._header(task):
            raise FileError(f"'{path}' holds a different run than its name says. Delete it.")
        return _outcome(path, document, task)

    def write(self, task: Task, outcome: Outcome) -> None:
        """Store an outcome atomically, unless another try may change it."""
        if outcome.passing:
            return
        content = {
            "predictions": " ".join(map(repr, outcome.predictions)),
            "scores": outcome.scores,
            "cv_accuracy": outcome.cv_accuracy,
            "cv_accuracy_se": outcome.cv_accuracy_se,
            "failure": outcome.failure,
            "remarks": list(outcome.remarks),
            "time_limit": outcome.time_limit,
        }
        payload = {"run": self._header(task), "outcome": content, "sha256": _digest(content)}
        write_json(self.path(task), KIND, FORMAT, payload)

    def count_foreign(self, tasks: list[Task]) -> int:
        """Return how many stored members in the folder belong to other tasks."""
        own = {self.path(task).name for task in tasks}
        files = (path.name for path in self.folder.glob("*.json"))
        return sum(
            bool(re.search(r"-[0-9a-f]{20}\.json$", name)) for name in files if name not in own
        )

    def _header(self, task: Task) -> dict[str, Any]:
        return {
            "data_set": task.part.name,
            "split": task.part.digest,
            "member": task.member.name,
            "settings": task.member.settings,
            "cv": task.cv,
            "random_state": task.random_state,
            "versions": _versions(),
        }


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in VERSIONS_THAT_MATTER}


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _outcome(path: Path, document: dict[str, Any], task: Task) -> Outcome:
    """Return the stored outcome, after its digest and values were checked."""
    content = document.get("outcome")
    if not isinstance(content, dict) or document.get("sha256") != _digest(content):
        raise FileError(f"'{path}' was changed after it was written. Delete it.")
    as_read: Callable[[str], float] = int if task.part.classes else float
    try:
        outcome = Outcome(
            predictions=tuple(map(as_read, content["predictions"].split())),
            cv_accuracy=_number(content["cv_accuracy"]),
            cv_accuracy_se=_number(content["cv_accuracy_se"]),
            failure=None if content["failure"] is None else str(content["failure"]),
            remarks=tuple(map(str, content["remarks"])),
            time_limit=_number(content["time_limit"]),
            scores=str(content["scores"]),
        )
        unpack_scores(outcome.scores, len(task.part.test), len(task.part.classes))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FileError(f"'{path}' is not a stored member: {error}. Delete it.") from error
    expected = 0 if outcome.failure is not None else len(task.part.test)
    codes = set(range(len(task.part.classes)))
    known = set(outcome.predictions) <= codes if codes else np.isfinite(outcome.predictions).all()
    if len(outcome.predictions) != expected or not known:
        raise FileError(f"'{path}' does not hold the predictions asked for. Delete it.")
    return outcome


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is not a number")
    return float(value)


START = "from ogive.data.pools.member_runs import serve; serve()"


def answer_within(task: Task, time_limit: float | None, *, apart: bool = False) -> Outcome:
    """Run a task here if that is safe, and in a worker otherwise, or if `apart`.

    Counting warnings is not safe in threads, so members run here only in the main thread.
    """
    main = threading.current_thread() is threading.main_thread()
    if time_limit is None and main and not apart:
        return answer(task)
    return _Worker.ready().ask(task, time_limit)


def dismiss() -> None:
    """End the idle workers of this process."""
    while True:
        try:
            worker = _idle.pop()
        except IndexError:
            return
        worker.end()


class _Worker(Child):
    """One child process."""

    def __init__(self) -> None:
        super().__init__(START)

    @classmethod
    def ready(cls) -> _Worker:
        """Return an idle worker, or a new one."""
        while True:
            try:
                worker = _idle.pop()
            except IndexError:
                return cls()
            if worker.alive():
                return worker
            worker.end()  # it died while it waited

    def ask(self, task: Task, time_limit: float | None) -> Outcome:
        """Return the outcome of a task; the worker is killed at the time limit."""
        import cloudpickle

        late = threading.Event()
        timer: threading.Timer | None = None
        served = False
        try:
            self.receive()  # it is ready: its start does not count as the member's time
            if time_limit is not None:
                timer = threading.Timer(time_limit, self._stop, [late])
                timer.daemon = True
                timer.start()
            self.send(cloudpickle.dumps(task))
            outcome = _received_outcome(self.receive())
            if timer is not None:  # it may be killing the worker at this moment
                timer.cancel()
                timer.join()
            served = not late.is_set()
        except (EOFError, OSError):
            outcome = self._failure(late, time_limit)
        finally:
            if timer is not None:
                timer.cancel()
            if served:
                _idle.append(self)
            else:
                self.end()
        return outcome

    def _stop(self, late: threading.Event) -> None:
        late.set()
        self.kill()

    def _failure(self, late: threading.Event, time_limit: float | None) -> Outcome:
        if late.is_set():
            return Outcome(
                failure=f"stopped at the time limit of {time_limit:g} s", time_limit=time_limit
            )
        status = self.process.wait()
        return Outcome(failure=f"its process ended with status {status}", passing=True)


_idle: list[_Worker] = []
atexit.register(dismiss)


def serve() -> None:
    """Work on tasks from standard input until it closes."""
    import cloudpickle

    tasks, outcomes = as_child()
    import sklearn.model_selection  # noqa: F401 - now, not during the first member's time

    while True:
        send(outcomes, b"ready")
        try:
            content = receive(tasks)
        except EOFError:
            return
        try:
            outcome = answer(cloudpickle.loads(content))
        except (Exception, SystemExit) as error:
            outcome = Outcome(failure=one_line(error))
        send(outcomes, json.dumps(asdict(outcome)).encode())


def _received_outcome(content: bytes) -> Outcome:
    given = json.loads(content)
    given["predictions"] = tuple(given["predictions"])
    given["remarks"] = tuple(given["remarks"])
    return Outcome(**given)

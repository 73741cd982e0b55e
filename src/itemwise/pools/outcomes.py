"""What became of one member: its answers, its cross-validated accuracy, or why it failed."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.pools.members import Member, Part, same_everywhere
from itemwise.words import counted

LONGEST_REASON = 200


@dataclass(frozen=True)
class Outcome:
    """What one member did; `predictions` is empty where it failed."""

    predictions: tuple[int, ...] = ()
    cv_accuracy: float | None = None
    cv_accuracy_se: float | None = None
    failure: str | None = None
    remarks: tuple[str, ...] = ()
    time_limit: float | None = None  # seconds, where that is why it failed
    passing: bool = False  # a failure that another try may not meet, so it is not stored


@dataclass(frozen=True, eq=False)
class Task:
    """One member with all that it needs to answer, wherever that happens."""

    member: Member
    part: Part
    folds: int
    random_state: int

    @property
    def seed(self) -> int:
        """Drawn for the name, so that a member does the same in every pool and every order."""
        text = f"{self.random_state} {self.member.name}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def answer(task: Task) -> Outcome:
    """Fit a member, ask it the test part, and cross-validate it; whatever it does, one thread."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    with (
        threadpool_limits(limits=1),
        parallel_config(backend="sequential"),
        _counted_warnings() as met,
    ):
        try:
            predictions, said = _asked(task, task.part.copy())
        except (Exception, SystemExit) as error:
            return Outcome(failure=one_line(error), passing=isinstance(error, MemoryError))
        fold_accuracies, remarks = _cross_validated(task)
    mean, se = _mean_and_se(fold_accuracies)
    return Outcome(
        tuple(predictions.tolist()), mean, se, remarks=(*said, *remarks, *_warnings_in_words(met))
    )


def one_line(error: BaseException) -> str:
    """The kind of an error and the first line of what it says."""
    first = same_everywhere((str(error).strip().splitlines() or [""])[0])
    text = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 1]}…"


def _asked(task: Task, part: Part) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The answers of a member, and what it has to say of itself in `remarks`, if anything."""
    predictor = task.member.make(part, task.seed)
    predictor.fit(part.X_train, part.y_train)
    codes = _codes(predictor.predict(part.X_test), len(part.test), len(part.classes))
    remarks = getattr(predictor, "remarks", ())
    return codes, remarks if isinstance(remarks, tuple) else ()


def _codes(given: Any, n_items: int, n_classes: int) -> NDArray[np.int64]:
    """Predictions as codes, one for each item; refused where they are anything else."""
    found = np.asarray(given)
    if found.size != n_items or found.shape[0] != n_items:
        raise InputError(
            f"It predicts {counted(found.size, 'label')} for {counted(n_items, 'item')}."
        )
    found = found.reshape(-1)  # some libraries return a column
    known = np.isin(found, np.arange(n_classes))
    if not known.all():
        raise InputError(
            f"It predicts {found[~known][0]!r:.40}, but the classes have the codes 0 to "
            f"{n_classes - 1}."
        )
    return found.astype(np.int64)


def _cross_validated(task: Task) -> tuple[list[float], list[str]]:
    """Accuracy in each usable fold, and in words why folds were left out."""
    accuracies, lacking, problems = [], 0, []
    folds = list(fold_rows(task.part.y_train, task.folds, task.random_state))
    present = np.unique(task.part.y_train).size
    for learn, hold in folds:
        part = task.part.fold(learn, hold)
        if np.unique(part.y_train).size < present:
            lacking += 1
            continue
        try:
            predictions, _ = _asked(task, part)
            accuracies.append(float(np.mean(predictions == part.y_test)))
        except (Exception, SystemExit) as error:
            problems.append(one_line(error))
    remarks = []
    if task.folds and len(folds) < task.folds:
        remarks.append(
            f"{len(folds)} folds instead of {task.folds}: no class has more members"
            if folds
            else "not cross-validated: no class has two members"
        )
    if lacking:
        remarks.append(f"{_folds(lacking, folds)} skipped: a class had no member to learn from")
    if problems:
        remarks.append(f"{_folds(len(problems), folds)} failed: {problems[0]}")
    return accuracies, remarks


def _folds(n: int, folds: list[Any]) -> str:
    return f"{n} of {counted(len(folds), 'fold')}"


def fold_rows(
    codes: NDArray[np.int64], folds: int, random_state: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Stratified folds, the same for every member; fewer where no class fills as many."""
    from sklearn.model_selection import StratifiedKFold

    n_folds = min(folds, int(np.bincount(codes).max()))
    if n_folds < 2:
        return
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        # A class with fewer members than folds: its folds are looked at one by one.
        warnings.simplefilter("ignore", UserWarning)
        rows = list(splitter.split(np.zeros((len(codes), 1)), codes))
    yield from rows


def _mean_and_se(accuracies: list[float]) -> tuple[float | None, float | None]:
    """Mean over folds and its standard error, as if folds were independent."""
    n = len(accuracies)
    mean = math.fsum(accuracies) / n if n else None
    if mean is None or n < 2:
        return mean, None
    squares = math.fsum((accuracy - mean) ** 2 for accuracy in accuracies)
    return mean, math.sqrt(squares / (n - 1) / n)


@contextmanager
def _counted_warnings() -> Iterator[Counter[str]]:
    """Keep warnings from the user, and count them by their kind."""
    met: Counter[str] = Counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield met
    met.update(warning.category.__name__ for warning in caught)


def _warnings_in_words(met: Counter[str]) -> list[str]:
    return [f"{kind} ({counted(n, 'time')})" for kind, n in sorted(met.items())]

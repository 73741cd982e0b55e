"""Responses to a whole data set: every instance is an item, predicted while it is held out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.arguments import whole_number
from ogive.datasets import Dataset, split_dataset
from ogive.datasets.dataset import NUMBERS, coded
from ogive.errors import InputError
from ogive.files import tidy_folder
from ogive.pools.answers import NO_ANSWER, Answers
from ogive.pools.outcomes import folds_of
from ogive.pools.pool import find_pool
from ogive.pools.pool_running import CombinedProgress, run_pool
from ogive.progress import Progress, telling
from ogive.responses.names_and_facts import row_name
from ogive.words import counted, listed

if TYPE_CHECKING:
    from ogive.files import PathLike
    from ogive.responses import Responses

    Positions = NDArray[np.intp]


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
    """Right and wrong of a pool on every instance of a data set; items are row_0, row_1, ...

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
    return table.described(notes=_said(answers))


def _said(answers: Answers) -> list[str]:
    """Notes on what is missing in the table, and why; members that failed are warned of."""
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
        warnings.warn(first, stacklevel=3)
    return [*notes, *(note for note in answers.notes if note.startswith(NEVER))]


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
    tests = _tests(dataset.name, truth, cv, random_state)
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
    """Codes of classes, or the numbers to predict."""
    if dataset.kind == NUMBERS:
        return dataset.target.to_numpy(dtype=np.float64)
    return coded(dataset.target)[0]


def _tests(name: str, truth: NDArray[Any], cv: int, random_state: int) -> list[Positions]:
    """The test part of each fold; the only member of a class is in none."""
    whole_number(cv, "cv", 2)
    numbers = truth.dtype.kind == "f"
    asked = np.arange(truth.size) if numbers else np.flatnonzero(np.bincount(truth)[truth] > 1)
    if cv > asked.size:
        raise InputError(
            f"cv is {cv}, but '{name}' has {counted(asked.size, 'instance')} that can be asked. "
            "Give fewer folds."
        )
    rows = folds_of(truth[asked], int(cv), random_state)
    return [asked[np.sort(hold)] for _, hold in rows]


def _joined(parts: list[tuple[Positions, Answers]], codes: NDArray[Any]) -> Answers:
    """The answers of all folds, in the order of the data set; the median of units of errors."""
    members = parts[0][1].members
    units = [answers.unit for _, answers in parts if answers.unit is not None]
    absent, kind = (np.nan, np.float64) if units else (NO_ANSWER, np.int64)
    predictions = np.full((len(members), codes.size), absent, dtype=kind)
    for test, answers in parts:
        predictions[:, test] = answers.predictions
    accuracies = np.array([answers.accuracy(codes[test]) for test, answers in parts])
    there = np.isfinite(accuracies).sum(axis=0)
    mean = np.divide(
        np.nansum(accuracies, axis=0), there, out=np.full(len(members), np.nan), where=there > 0
    )
    squares = np.nansum((accuracies - mean) ** 2, axis=0)
    error = np.sqrt(
        np.divide(
            squares,
            there * (there - 1.0),
            out=np.full(len(members), np.nan),
            where=there > 1,
        )
    )
    return Answers(
        members=members,
        items=tuple(row_name(k) for k in range(codes.size)),
        predictions=predictions,
        cv_accuracy=mean,
        cv_accuracy_se=error,
        failures={
            name: next(answers.failures[name] for _, answers in parts)
            for row, name in enumerate(members)
            if there[row] == 0
        },
        unit=float(np.median(units)) if units else None,
        remarks=_remarks(parts),
        notes=tuple(_notes(parts, predictions)),
        scores=_scores(parts, codes.size),
    )


def _scores(parts: list[tuple[Positions, Answers]], n_items: int) -> dict[str, NDArray[np.float16]]:
    """The probabilities of all folds, for members that gave them in each."""
    found = {}
    for name in parts[0][1].scores:
        if all(name in answers.scores for _, answers in parts):
            n_classes = parts[0][1].scores[name].shape[1]
            found[name] = np.full((n_items, n_classes), np.nan, dtype=np.float16)
            for test, answers in parts:
                found[name][test] = answers.scores[name]
    return found


def _remarks(parts: list[tuple[Positions, Answers]]) -> dict[str, str]:
    """The distinct remarks on each member, and the folds in which it failed."""
    found = {}
    for name in parts[0][1].members:
        said = [answers.remarks.get(name, "") for _, answers in parts]
        said += [
            f"{FAILED} {k + 1}: {answers.failures[name]}"
            for k, (_, answers) in enumerate(parts)
            if name in answers.failures
        ]
        if text := "; ".join(dict.fromkeys(filter(None, said))):
            found[name] = text
    return found


def _notes(parts: list[tuple[Positions, Answers]], predictions: NDArray[Any]) -> list[str]:
    notes = [
        f"Fold {k + 1}: {note}" for k, (_, answers) in enumerate(parts) for note in answers.notes
    ]
    asked = np.zeros(predictions.shape[1], dtype=bool)
    asked[np.concatenate([test for test, _ in parts])] = True
    if lonely := [row_name(k) for k in np.flatnonzero(~asked)]:
        notes.append(f"{NEVER} (only member of its class): {listed(lonely, 'item')}.")
    return notes

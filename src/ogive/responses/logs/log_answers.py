"""The answers in runs: which of them are copies, and which respondent and item they belong to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.responses.logs.log_copies import same_content
from ogive.responses.logs.log_runs import Epochs, Run, age
from ogive.words import listed, shown

OLDER_RUN = "of an older run of the same model and task"
COPIED = "that another log holds, too"
Ints = NDArray[np.int64]


@dataclass
class Answers:
    """The scored rows of a run, and the respondent they belong to."""

    run: Run
    respondent: str
    places: Ints
    scores: NDArray[np.float64]
    numbers: Ints | None = None  # of the epoch of each row, where logged

    @classmethod
    def of(cls, run: Run, respondent: str, same: Ints) -> Answers:
        """The rows of a run; `same` maps the items of logs to those of the table."""
        places = same[np.frombuffer(run.places, dtype=np.int64)]
        scores = np.frombuffer(run.scores, dtype=np.float64)
        numbers = np.frombuffer(run.numbers, dtype=np.int64)
        return cls(
            run, respondent, places, scores, numbers if numbers.size == places.size else None
        )

    def keep(self, which: NDArray[np.bool_], why: str) -> None:
        """Keep these rows, and count the others as left out."""
        if not which.all():
            self.run.left_out[why] += int((~which).sum())
            self.places, self.scores = self.places[which], self.scores[which]
            self.numbers = None if self.numbers is None else self.numbers[which]

    def tries(self) -> Ints:
        """The number of each row among those of its item: as logged, or by order."""
        if self.numbers is not None:
            return self.numbers
        order = np.argsort(self.places, kind="stable")
        ordered = self.places[order]
        begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        lengths = np.diff(np.r_[begins, ordered.size])
        found = np.empty_like(ordered)
        found[order] = np.arange(ordered.size) - np.repeat(begins, lengths)
        return found


def _together(answers: Sequence[Answers]) -> dict[tuple[str, str], list[Answers]]:
    """Answers of a respondent to a task, from the newest run to the oldest."""
    found: dict[tuple[str, str], list[Answers]] = defaultdict(list)
    for one in sorted(answers, key=lambda one: age(one.run), reverse=True):
        if one.places.size:
            found[one.respondent, one.run.task].append(one)
    return found


def drop_copies(answers: Sequence[Answers]) -> list[str]:
    """Of a run that is logged twice, or was taken up again, every answer counts once."""
    copied: list[str] = []
    for several in _together(answers).values():
        for at, one in enumerate(several):
            for newer in several[:at]:
                if not _is_copy(one, newer):
                    continue
                kept = ~np.isin(_keys(one), _keys(newer))
                if not kept.all():
                    one.keep(kept, COPIED)
                    copied.append(str(one.run.file))
    if not copied:
        return []
    files = [f"'{file}'" for file in dict.fromkeys(copied)]
    hold = "holds" if len(files) == 1 else "hold"
    return [f"{listed(files, 'log')} {hold} answers that another log has, too; they count once."]


def _is_copy(one: Answers, newer: Answers) -> bool:
    """Whether two logs are of the same run: by what the harness calls it, or byte for byte."""
    if one.run.origin and one.run.origin == newer.run.origin:
        return True
    if one.run.conditions != newer.run.conditions or not np.array_equal(one.scores, newer.scores):
        return False
    return same_content(one.run.file, newer.run.file)


def _keys(one: Answers) -> Ints:
    return one.places * (1 << 20) + one.tries()


def reruns(answers: Sequence[Answers]) -> list[str]:
    """A note on respondents who answered the same items in several runs."""
    twice = []
    for (respondent, task), several in _together(answers).items():
        seen = np.concatenate([np.unique(one.places) for one in several])
        if len(several) > 1 and np.unique(seen).size < seen.size:
            twice.append(f"{respondent} on {task}")
    if not twice:
        return []
    note = (
        f"Several logs hold {listed(twice, 'pair')} of a model and a task; their answers count as "
        "repeated ones. If they are of different models, name these with rename."
    )
    return [note]


def keep_first(answers: Sequence[Answers]) -> None:
    """Of several answers to an item, keep the first of the newest run."""
    for several in _together(answers).values():
        seen = np.empty(0, dtype=np.int64)
        for one in several:
            first = np.zeros(one.places.size, dtype=np.bool_)
            first[np.unique(one.places, return_index=True)[1]] = True
            one.keep(first, f"of later {one.run.repeats}")
            one.keep(~np.isin(one.places, seen), OLDER_RUN)
            seen = np.union1d(seen, one.places)


def grades(answers: Sequence[Answers]) -> None:
    """Make the number correct of each item, of which all need the same number of tries."""
    most: dict[str, int] = {}
    for (_, task), several in _together(answers).items():
        places = np.concatenate([one.places for one in several])
        scores = np.concatenate([one.scores for one in several])
        if not np.isin(scores, (0.0, 1.0)).all():
            odd = scores[~np.isin(scores, (0.0, 1.0))][0]
            raise InputError(
                f"epochs is 'grades', which counts correct answers, but task {shown(task)} in "
                f"'{several[0].run.file}' has the score {odd:g}. Use epochs='mean' or 'first'."
            )
        found, inverse, counts = np.unique(places, return_inverse=True, return_counts=True)
        totals = np.bincount(inverse.reshape(-1), scores, found.size)
        full = counts == counts.max()
        number = most.setdefault(task, int(counts.max()))
        if number != counts.max():
            fewer, more = sorted((number, int(counts.max())))
            raise InputError(
                f"epochs is 'grades', but task {shown(task)} has {fewer} {several[0].run.repeats} "
                f"of one model and {more} of another, so that their grades differ in meaning. "
                "Use epochs='mean' or 'first'."
            )
        for one in several:
            one.keep(
                np.isin(one.places, found[full]),
                f"of items that lack some of the {one.run.repeats}",
            )
        newest = several[0]
        for one in several[1:]:
            one.places, one.scores = one.places[:0], one.scores[:0]
        newest.places, newest.scores = found[full], totals[full]


def epoch_notes(answers: Sequence[Answers], epochs: Epochs) -> list[str]:
    """Notes on tasks with several epochs."""
    several: dict[str, set[int]] = defaultdict(set)
    words: dict[str, str] = {}
    for one in answers:
        if one.places.size:
            most = int(np.unique(one.places, return_counts=True)[1].max())
            several[one.run.task].add(most)
            words[one.run.task] = one.run.repeats
    repeated: dict[str, list[str]] = defaultdict(list)
    for task, found_in_task in several.items():
        if max(found_in_task) > 1:
            repeated[words[task]].append(task)
    became = (
        "are repeated answers"
        if epochs == "mean"
        else "were counted: a grade is the number correct"
    )
    return [
        f"{word.capitalize()} of {listed(tasks, 'task')} {became}."
        for word, tasks in repeated.items()
    ]

"""Who answered: names of models, the conditions they were asked under, epochs and copies of logs.

Conditions are what a harness says of how it asked: shots, temperature, prompt, arguments of task
and model, filter, version. A model asked the same item under two conditions is two respondents,
unless the caller says otherwise.
"""

from __future__ import annotations

import filecmp
import fnmatch
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ogive.data.logs.runs import Epochs, Run, run_order
from ogive.data.names import UNKNOWN, Fact
from ogive.errors import InputError
from ogive.results.numbers import listed, shown

SEPARATE, MERGE = "separate", "merge"
Variants = str | Sequence[str]
Ints = NDArray[np.int64]

PROMPT = "prompt"
LAST = ("solver", PROMPT, "task_version", "version")  # conditions that name variants only if needed
DEFAULT = "default"  # the value of a condition that a log with other conditions leaves out

OLDER_RUN = "of an older run of the same model and task"
COPIED = "that another log holds, too"


def checked_variants(variants: object) -> Variants:
    """Return variants, if they are one of the words or a list of conditions."""
    if variants in (SEPARATE, MERGE):
        return str(variants)
    names = list(variants) if isinstance(variants, list | tuple) else []
    if names and all(isinstance(name, str) for name in names):
        return names
    raise InputError(
        "`variants` must be 'separate', 'merge', or a list of conditions that name respondents, "
        f"such as ['shots'], got {shown(variants)}."
    )


def checked_rename(rename: object) -> Mapping[str, str]:
    """Return the new names, if they are texts by text."""
    if rename is None:
        return {}
    if not isinstance(rename, Mapping) or not all(
        isinstance(text, str) and text for pair in rename.items() for text in pair
    ):
        raise InputError(
            f"rename is {shown(rename)}, but it should map names to new ones, such as "
            "{'old': 'new'}; an old name is that of a model, a folder or a file."
        )
    return rename


def rename_models(runs: Sequence[Run], rename: Mapping[str, str]) -> None:
    """Give runs the names that a caller has for their models, files or folders."""
    used = set()
    for run in runs:
        for old, new in rename.items():
            if old == run.model or _is_at(run, old):
                run.model = new
                used.add(old)
                break
    if unused := [old for old in rename if old not in used]:
        models = list(dict.fromkeys(run.model for run in runs))
        raise InputError(
            f"rename names {shown(unused[0])}, but no model, folder or file of the logs has that "
            f"name. The models are: {', '.join(map(shown, models[:10]))}."
        )


def _is_at(run: Run, place: str) -> bool:
    """Return True if a text names the file of a run or a folder above it; * is a wildcard."""
    path = run.file.as_posix()
    if fnmatch.fnmatchcase(path, place) or path.endswith(f"/{place}"):
        return True
    return place.rstrip("/") in (*run.file.parts, *(one.as_posix() for one in run.file.parents))


def name_respondents(runs: Sequence[Run], variants: Variants) -> tuple[list[str], list[str]]:
    """Return the name of the respondent of each run, and notes on how they were named."""
    _number_prompts(runs)
    if not isinstance(variants, str):
        _check_conditions(runs, variants)
        return [_name_by_conditions(run, variants) for run in runs], []
    by_model: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_model[run.model].append(run)
    split = {model: _Variants.of(model_runs) for model, model_runs in by_model.items()}
    split = {model: found for model, found in split.items() if found.names}
    if not split:
        return [run.model for run in runs], []
    model, found = next(iter(split.items()))
    own = [run for run in by_model[model] if run.task in found.tasks]
    how = "; ".join(f"{name}: {', '.join(_values(own, name)[:4])}" for name in found.names[:3])
    asked = (
        f"{listed(list(split), 'model')} {'was' if len(split) == 1 else 'were'} asked the same "
        f"items under different conditions ({model}: {how})"
    )
    if variants == MERGE:
        note = f"{asked}, and were merged: their answers are repeated ones."
        return [run.model for run in runs], [note]
    once = [
        run.task
        for model, found in split.items()
        for run in by_model[model]
        if run.task not in found.tasks
    ]
    tasks = listed(list(dict.fromkeys(once)), "task")
    rest = (
        f" What was asked in one way only, {tasks}, counts for the variant that is most like it, "
        "or for the oldest."
    )
    note = (
        f"{asked}: each variant is a respondent of its own.{rest if once else ''} "
        "variants='merge' counts them as repeated answers; variants=['...'] names the conditions "
        "that matter."
    )
    return [split[run.model].name(run) if run.model in split else run.model for run in runs], [note]


def _number_prompts(runs: Sequence[Run]) -> None:
    """Make prompts a condition where runs of a model and a task show different ones.

    A run knows the prompts of its first items only; runs that share none of these cannot differ.
    """
    by_model_and_task: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.prompts:
            by_model_and_task[run.model, run.task].append(run)
    for alike in by_model_and_task.values():
        kinds: list[dict[str, str]] = []
        for run in sorted(alike, key=run_order):
            fits = (
                k
                for k, kind in enumerate(kinds)
                if all(kind.get(item, prompt) == prompt for item, prompt in run.prompts.items())
            )
            number = next(fits, len(kinds))
            if number == len(kinds):
                kinds.append({})
            kinds[number].update(run.prompts)
            run.conditions[PROMPT] = 1 + number
    several = {run.model for run in runs if run.conditions.get(PROMPT, 1) != 1}
    for run in runs:
        if run.model not in several:
            run.conditions.pop(PROMPT, None)


@dataclass(frozen=True)
class _Variants:
    """The runs of a model, as variants of it that were asked the same items."""

    names: tuple[str, ...]  # the conditions that separate them; empty if nothing does
    tasks: frozenset[str]  # in which they do
    keys: tuple[tuple[Fact, ...], ...]  # the values of each variant, the oldest first

    @classmethod
    def of(cls, runs: Sequence[Run]) -> _Variants:
        """Find the conditions in which runs with a shared item differ."""
        pairs = _conflicts(runs)
        unlike = [_unlike_conditions(*pair) for pair in pairs]
        names = (
            sorted(  # plain conditions first; those that follow from others, or say little, last
                dict.fromkeys(name for names in unlike for name in names),
                key=lambda name: 1 + LAST.index(name) if name in LAST else 0,
            )
        )
        for name in reversed(names):  # keep the first conditions that separate all pairs
            fewer = [one for one in names if one != name]
            if all(set(differing) & set(fewer) for differing in unlike):
                names = fewer
        tasks = frozenset(run.task for run, _ in pairs)
        ordered = sorted((run for run in runs if run.task in tasks), key=run_order)
        keys = dict.fromkeys(_values_of(run, names) for run in ordered)
        return cls(tuple(names), tasks, tuple(keys))

    def name(self, run: Run) -> str:
        """Return the name of the variant of a run.

        A task that was asked in one way only belongs to the variant that it has most in common
        with, or else to the oldest: as a respondent of its own it would be linked to nothing.
        """
        key = _values_of(run, self.names)
        if run.task not in self.tasks:
            alike = [sum(a == b for a, b in zip(key, one, strict=True)) for one in self.keys]
            key = self.keys[alike.index(max(alike))]
        values = ", ".join(f"{name}={value}" for name, value in zip(self.names, key, strict=True))
        return f"{run.model} ({values})"


def _conflicts(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Return pairs of runs of a task that share an item and differ in a condition."""
    pairs = []
    by_task: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_task[run.task].append(run)
    for alike in by_task.values():
        items = [set(run.items) for run in alike] if len(alike) > 1 else []
        for at, run in enumerate(alike):
            pairs += [
                (alike[before], run)
                for before in range(at)
                if _unlike_conditions(run, alike[before])
                and not items[at].isdisjoint(items[before])
            ]
    return pairs


def _unlike_conditions(one: Run, other: Run) -> list[str]:
    """Return the conditions in which two runs differ.

    A condition that a log leaves out is a default if it has other conditions, else unknown.
    """
    names = []
    for name in dict.fromkeys([*one.conditions, *other.conditions]):
        first, second = one.conditions.get(name), other.conditions.get(name)
        if first == second:
            continue
        silent = one if first is None else other if second is None else None
        if silent is None or (name not in LAST and _tells_conditions(silent)):
            names.append(name)
    return names


def _tells_conditions(run: Run) -> bool:
    return any(name not in (PROMPT, "filter") for name in run.conditions)


def _values_of(run: Run, names: Sequence[str]) -> tuple[Fact, ...]:
    missing = DEFAULT if _tells_conditions(run) else UNKNOWN
    values = (run.conditions.get(name) for name in names)
    return tuple(missing if value is None else value for value in values)


def _values(runs: Sequence[Run], name: str) -> list[str]:
    """Return the distinct values of a condition as text."""
    return [str(value) for (value,) in dict.fromkeys(_values_of(run, (name,)) for run in runs)]


def _name_by_conditions(run: Run, names: Iterable[str]) -> str:
    known = {name: run.conditions.get(name) for name in names}
    values = [f"{name}={value}" for name, value in known.items() if value is not None]
    return f"{run.model} ({', '.join(values)})" if values else run.model


def _check_conditions(runs: Sequence[Run], wanted: Sequence[str]) -> None:
    known = dict.fromkeys(
        name for run in runs for name, value in run.conditions.items() if value is not None
    )
    if unknown := [name for name in wanted if name not in known]:
        names = ", ".join(map(shown, known)) if known else "none"
        raise InputError(
            f"variants names the condition {shown(unknown[0])}, but the logs tell of: {names}."
        )


def same_content(one: Path, other: Path) -> bool:
    """Return True if two files are equal byte by byte; False if one is gone."""
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def adopt_copies(runs: Sequence[Run]) -> list[str]:
    """Give a log that only its folder names the model of a log with the same content.

    It then counts as a copy. If both have only their folders' names, which of them is right is
    not known: both are kept, and a note says so.
    """
    unsure = []
    for one, other in _equal_runs(runs):
        if other.has_model_name and not one.has_model_name:
            one.model, one.has_model_name = other.model, True
            one.model_facts, one.run_id = dict(other.model_facts), other.run_id
            one.conditions, one.task_facts = dict(other.conditions), dict(other.task_facts)
        elif not one.has_model_name and one.model != other.model:
            unsure.append(f"'{one.file}' and '{other.file}'")
    if not unsure:
        return []
    note = (
        f"The same content, under the names of two folders: {listed(unsure, 'pair')} of logs. If "
        "one is a copy, take it out of the folder."
    )
    return [note]


def _equal_runs(runs: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    """Yield pairs of runs of equal files; the first of a pair is named after its folder."""
    alike: dict[tuple[str, str, bytes], list[Run]] = defaultdict(list)
    for run in runs:
        alike[run.format, run.task, bytes(memoryview(run.scores))].append(run)
    for several in alike.values():
        ordered = sorted(several, key=lambda run: not run.has_model_name)
        for at, one in enumerate(ordered):
            if one.has_model_name:
                continue
            equal = (other for other in ordered[:at] if same_content(one.file, other.file))
            if (first := next(equal, None)) is not None:
                yield one, first


@dataclass
class Answers:
    """The scored rows of a run, and the respondent they belong to."""

    run: Run
    respondent: str
    items: Ints
    scores: NDArray[np.float64]
    epochs: Ints | None = None  # the number of the epoch of each row, if logged

    @classmethod
    def of(cls, run: Run, respondent: str, table_items: Ints) -> Answers:
        """Return the rows of a run; `table_items` maps the items of logs to those of the table."""
        items = table_items[np.frombuffer(run.items, dtype=np.int64)]
        scores = np.frombuffer(run.scores, dtype=np.float64)
        epochs = np.frombuffer(run.epoch_numbers, dtype=np.int64)
        return cls(run, respondent, items, scores, epochs if epochs.size == items.size else None)

    def keep(self, which: NDArray[np.bool_], why: str) -> None:
        """Keep these rows, and count the others as left out."""
        if not which.all():
            self.run.left_out[why] += int((~which).sum())
            self.items, self.scores = self.items[which], self.scores[which]
            self.epochs = None if self.epochs is None else self.epochs[which]

    def keys(self) -> Ints:
        """Return a number for the item and epoch of each row; epochs as logged, or by order."""
        epochs = self.epochs
        if epochs is None:
            order = np.argsort(self.items, kind="stable")
            ordered = self.items[order]
            begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
            lengths = np.diff(np.r_[begins, ordered.size])
            epochs = np.empty_like(ordered)
            epochs[order] = np.arange(ordered.size) - np.repeat(begins, lengths)
        return self.items * (1 << 20) + epochs


def _by_respondent_and_task(answers: Sequence[Answers]) -> dict[tuple[str, str], list[Answers]]:
    """Return the answers of a respondent to a task, from the newest run to the oldest."""
    groups: dict[tuple[str, str], list[Answers]] = defaultdict(list)
    for one in sorted(answers, key=lambda one: run_order(one.run), reverse=True):
        if one.items.size:
            groups[one.respondent, one.run.task].append(one)
    return groups


def drop_copies(answers: Sequence[Answers]) -> list[str]:
    """Count every answer of a run that is logged twice, or was taken up again, only once."""
    copied: list[str] = []
    for group in _by_respondent_and_task(answers).values():
        for at, one in enumerate(group):
            for newer in group[:at]:
                if not _is_copy(one, newer):
                    continue
                kept = ~np.isin(one.keys(), newer.keys())
                if not kept.all():
                    one.keep(kept, COPIED)
                    copied.append(f"'{one.run.file}'")
    if not copied:
        return []
    files = list(dict.fromkeys(copied))
    hold = "holds" if len(files) == 1 else "hold"
    return [f"{listed(files, 'log')} {hold} answers that another log has, too; they count once."]


def _is_copy(one: Answers, newer: Answers) -> bool:
    """Return True if two logs are of one run: by the harness's name for it, or byte for byte."""
    if one.run.run_id and one.run.run_id == newer.run.run_id:
        return True
    if one.run.conditions != newer.run.conditions or not np.array_equal(one.scores, newer.scores):
        return False
    return same_content(one.run.file, newer.run.file)


def rerun_notes(answers: Sequence[Answers]) -> list[str]:
    """Return a note on respondents who answered the same items in several runs."""
    twice = []
    for (respondent, task), group in _by_respondent_and_task(answers).items():
        items = np.concatenate([np.unique(one.items) for one in group])
        if len(group) > 1 and np.unique(items).size < items.size:
            twice.append(f"{respondent} on {task}")
    if not twice:
        return []
    note = (
        f"Several logs hold {listed(twice, 'pair')} of a model and a task; their answers count as "
        "repeated ones. If they are of different models, name these with rename."
    )
    return [note]


def keep_first(answers: Sequence[Answers]) -> None:
    """Keep, of several answers to an item, the first of the newest run."""
    for group in _by_respondent_and_task(answers).values():
        answered = np.empty(0, dtype=np.int64)
        for one in group:
            first = np.zeros(one.items.size, dtype=np.bool_)
            first[np.unique(one.items, return_index=True)[1]] = True
            one.keep(first, f"of later {one.run.repeats}")
            one.keep(~np.isin(one.items, answered), OLDER_RUN)
            answered = np.union1d(answered, one.items)


def count_correct(answers: Sequence[Answers]) -> None:
    """Make the number correct of each item its grade; all need the same number of tries."""
    tries_of_task: dict[str, int] = {}
    for (_, task), group in _by_respondent_and_task(answers).items():
        newest = group[0]
        items = np.concatenate([one.items for one in group])
        scores = np.concatenate([one.scores for one in group])
        if not np.isin(scores, (0.0, 1.0)).all():
            odd = scores[~np.isin(scores, (0.0, 1.0))][0]
            raise InputError(
                f"epochs is 'grades', which counts correct answers, but task {shown(task)} in "
                f"'{newest.run.file}' has the score {odd:g}. Use epochs='mean' or 'first'."
            )
        distinct, inverse, counts = np.unique(items, return_inverse=True, return_counts=True)
        totals = np.bincount(inverse.reshape(-1), scores, distinct.size)
        most = int(counts.max())
        if tries_of_task.setdefault(task, most) != most:
            fewer, more = sorted((tries_of_task[task], most))
            raise InputError(
                f"epochs is 'grades', but task {shown(task)} has {fewer} {newest.run.repeats} "
                f"of one model and {more} of another, so that their grades differ in meaning. "
                "Use epochs='mean' or 'first'."
            )
        full = counts == most
        for one in group:
            why = f"of items that lack some of the {one.run.repeats}"
            one.keep(np.isin(one.items, distinct[full]), why)
            one.items, one.scores = one.items[:0], one.scores[:0]
        newest.items, newest.scores = distinct[full], totals[full]


def epoch_notes(answers: Sequence[Answers], epochs: Epochs) -> list[str]:
    """Return notes on tasks with several epochs."""
    word_of_task: dict[str, str] = {}
    repeated: dict[str, bool] = {}
    for one in answers:
        if one.items.size:
            task = one.run.task
            word_of_task[task] = one.run.repeats
            several = np.unique(one.items).size < one.items.size
            repeated[task] = repeated.get(task, False) or several
    tasks_of_word: dict[str, list[str]] = defaultdict(list)
    for task in repeated:
        if repeated[task]:
            tasks_of_word[word_of_task[task]].append(task)
    meaning = (
        "are repeated answers"
        if epochs == "mean"
        else "were counted: a grade is the number correct"
    )
    return [
        f"{word.capitalize()} of {listed(tasks, 'task')} {meaning}."
        for word, tasks in tasks_of_word.items()
    ]

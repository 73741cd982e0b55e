"""Who answered: names, conditions, epochs, copies.

Who answered: models by name, and apart where they were asked the same items differently.

Conditions are what a harness says of how it asked: shots, temperature, prompt, arguments of task
and model, filter, version. A model asked the same item under two conditions is two respondents,
unless the caller says otherwise.

Logs with the content of another: a copy under another name is not another run.

The answers in runs: which of them are copies, and which respondent and item they belong to.
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

from ogive.data.logs.runs import Epochs, Run, age
from ogive.data.names import UNKNOWN, Fact
from ogive.errors import InputError
from ogive.results.numbers import listed, shown

SEPARATE, MERGE = "separate", "merge"
Variants = str | Sequence[str]
Rename = Mapping[str, str]
PROMPT = "prompt"
LAST = ("solver", PROMPT, "task_version", "version")
DEFAULT = "default"


@dataclass(frozen=True)
class Named:
    """The respondent of each run, and what to say of how they were named."""

    names: list[str]
    notes: list[str]


def checked_variants(variants: object) -> Variants:
    """Return variants, if they are one of the words or a list of conditions."""
    if variants in (SEPARATE, MERGE):
        return str(variants)
    several = list(variants) if isinstance(variants, list | tuple) else []
    if several and all(isinstance(name, str) for name in several):
        return several
    raise InputError(
        f"variants is {shown(variants)}, but it should be 'separate', 'merge', or a list of "
        "conditions that name respondents, such as ['shots']."
    )


def checked_rename(rename: object) -> Rename:
    """Return the new names, if they are texts by text."""
    if rename is None:
        return {}
    if not isinstance(rename, Mapping) or not all(
        isinstance(one, str) and one for pair in rename.items() for one in pair
    ):
        raise InputError(
            f"rename is {shown(rename)}, but it should map names to new ones, such as "
            "{'old': 'new'}; an old name is that of a model, a folder or a file."
        )
    return rename


def renamed(runs: Sequence[Run], rename: Rename) -> None:
    """Give runs the names that a caller has for their models, files or folders."""
    used = set()
    for run in runs:
        for old, new in rename.items():
            if old == run.model or _is_at(run, old):
                run.model = new
                used.add(old)
                break
    unused = [old for old in rename if old not in used]
    if unused:
        there = list(dict.fromkeys(run.model for run in runs))
        raise InputError(
            f"rename names {shown(unused[0])}, but no model, folder or file of the logs has that "
            f"name. The models are: {', '.join(map(shown, there[:10]))}."
        )


def _is_at(run: Run, old: str) -> bool:
    """Whether a text names the file of a run, or a folder that it is in; * stands for anything."""
    path = run.file.as_posix()
    if fnmatch.fnmatchcase(path, old) or path.endswith(f"/{old}"):
        return True
    return old.rstrip("/") in (*run.file.parts, *(one.as_posix() for one in run.file.parents))


def respondents(runs: Sequence[Run], variants: Variants) -> Named:
    """Return the name of the respondent of each run."""
    _name_prompts(runs)
    by_model: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_model[run.model].append(run)
    if not isinstance(variants, str):
        _check_conditions(runs, variants)
        return Named([_name(run, variants) for run in runs], [])
    parted = {model: _Parted.of(several) for model, several in by_model.items()}
    parted = {model: found for model, found in parted.items() if found.names}
    if variants == MERGE:
        return Named([run.model for run in runs], _said_of_merged(by_model, parted))
    names = [parted[run.model].name(run) if run.model in parted else run.model for run in runs]
    return Named(names, _said_of_separate(by_model, parted))


def _name_prompts(runs: Sequence[Run]) -> None:
    """Make prompts a condition where runs of a model and a task show different ones.

    A run knows the prompts of its first items only; runs that share none of these cannot differ.
    """
    together: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.prompts:
            together[run.model, run.task].append(run)
    for several in together.values():
        several.sort(key=age)
        kinds: list[dict[str, str]] = []
        for run in several:
            for kind in kinds:
                if all(kind.get(item, prompt) == prompt for item, prompt in run.prompts.items()):
                    break
            else:
                kinds.append(kind := {})
            kind.update(run.prompts)
            run.conditions[PROMPT] = 1 + next(k for k, one in enumerate(kinds) if one is kind)
    several_kinds = {run.model for run in runs if run.conditions.get(PROMPT, 1) != 1}
    for run in runs:
        if run.model not in several_kinds:
            run.conditions.pop(PROMPT, None)


@dataclass(frozen=True)
class _Parted:
    """The runs of a model, as variants of it that were asked the same items."""

    names: tuple[str, ...]  # the conditions that separate them; empty if nothing does
    tasks: frozenset[str]  # in which they do
    keys: tuple[tuple[Fact, ...], ...]  # the values of each variant, the oldest first

    @classmethod
    def of(cls, runs: Sequence[Run]) -> _Parted:
        """Find the conditions in which runs with a shared item differ."""
        pairs = _conflicts(runs)
        every = dict.fromkeys(name for one, other in pairs for name in _unlike(one, other))
        names = _enough(pairs, sorted(every, key=_order))
        tasks = frozenset(one.task for one, _ in pairs)
        several = sorted((run for run in runs if run.task in tasks), key=age)
        keys = dict.fromkeys(_values_of(run, names) for run in several)
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
        told = ", ".join(f"{name}={value}" for name, value in zip(self.names, key, strict=True))
        return f"{run.model} ({told})"


def _conflicts(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Return pairs of runs of a task that share an item and differ in a condition."""
    found = []
    by_task: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_task[run.task].append(run)
    for several in by_task.values():
        items = [set(run.places) for run in several] if len(several) > 1 else []
        for at, run in enumerate(several):
            found += [
                (several[before], run)
                for before in range(at)
                if _unlike(run, several[before]) and not items[at].isdisjoint(items[before])
            ]
    return found


def _order(name: str) -> int:
    """Return plain conditions first; what follows from others, or says little, last."""
    return 1 + LAST.index(name) if name in LAST else 0


def _enough(pairs: Sequence[tuple[Run, Run]], names: list[str]) -> list[str]:
    """Return the first of these conditions that separate all pairs."""
    unlike = [set(_unlike(one, other)) for one, other in pairs]
    kept = list(names)
    for name in reversed(names):
        fewer = [one for one in kept if one != name]
        if all(differ & set(fewer) for differ in unlike):
            kept = fewer
    return kept


def _unlike(one: Run, other: Run) -> list[str]:
    """Return the conditions in which two runs differ.

    What a log does not tell is a default if it tells of other conditions, and unknown otherwise.
    """
    found = []
    for name in dict.fromkeys([*one.conditions, *other.conditions]):
        first, second = one.conditions.get(name), other.conditions.get(name)
        if first == second:
            continue
        silent = one if first is None else other if second is None else None
        if silent is None or (name not in LAST and _tells(silent)):
            found.append(name)
    return found


def _tells(run: Run) -> bool:
    """Return True if a log tells how its model was asked."""
    return any(name not in (PROMPT, "filter") for name in run.conditions)


def _values_of(run: Run, names: Sequence[str]) -> tuple[Fact, ...]:
    silent = DEFAULT if _tells(run) else UNKNOWN
    told = (run.conditions.get(name) for name in names)
    return tuple(silent if value is None else value for value in told)


def _name(run: Run, conditions: Iterable[str]) -> str:
    told = [f"{name}={run.conditions[name]}" for name in conditions if _has(run, name)]
    return f"{run.model} ({', '.join(told)})" if told else run.model


def _has(run: Run, name: str) -> bool:
    return run.conditions.get(name) is not None


def _check_conditions(runs: Sequence[Run], wanted: Sequence[str]) -> None:
    known = dict.fromkeys(name for run in runs for name in run.conditions if _has(run, name))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        there = ", ".join(map(shown, known)) if known else "none"
        raise InputError(
            f"variants names the condition {shown(unknown[0])}, but the logs tell of: {there}."
        )


def _values(runs: Sequence[Run], name: str) -> list[str]:
    return [str(value) for (value,) in dict.fromkeys(_values_of(run, (name,)) for run in runs)]


def _said_of_separate(
    by_model: Mapping[str, Sequence[Run]], parted: Mapping[str, _Parted]
) -> list[str]:
    if not parted:
        return []
    once = [
        run.task
        for model, found in parted.items()
        for run in by_model[model]
        if run.task not in found.tasks
    ]
    tasks = listed(list(dict.fromkeys(once)), "task")
    rest = (
        f" What was asked in one way only, {tasks}, counts for the variant that is most like it, "
        "or for the oldest."
    )
    note = (
        f"{_were_asked(by_model, parted)}: each variant is a respondent of its own."
        f"{rest if once else ''} variants='merge' counts them as repeated answers; "
        "variants=['...'] names the conditions that matter."
    )
    return [note]


def _said_of_merged(
    by_model: Mapping[str, Sequence[Run]], parted: Mapping[str, _Parted]
) -> list[str]:
    if not parted:
        return []
    return [f"{_were_asked(by_model, parted)}, and were merged: their answers are repeated ones."]


def _were_asked(by_model: Mapping[str, Sequence[Run]], parted: Mapping[str, _Parted]) -> str:
    model, found = next(iter(parted.items()))
    own = [run for run in by_model[model] if run.task in found.tasks]
    how = "; ".join(f"{name}: {', '.join(_values(own, name)[:4])}" for name in found.names[:3])
    many = "was" if len(parted) == 1 else "were"
    return (
        f"{listed(list(parted), 'model')} {many} asked the same items under different "
        f"conditions ({model}: {how})"
    )


def same_content(one: Path, other: Path) -> bool:
    """Return True if two files are equal byte by byte; not if one is gone."""
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
    """Yield pairs of runs of equal files, of which the first may be without results beside it."""
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
        """Return the rows of a run; `same` maps the items of logs to those of the table."""
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
        """Return the number of each row among those of its item: as logged, or by order."""
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
    """Return answers of a respondent to a task, from the newest run to the oldest."""
    found: dict[tuple[str, str], list[Answers]] = defaultdict(list)
    for one in sorted(answers, key=lambda one: age(one.run), reverse=True):
        if one.places.size:
            found[one.respondent, one.run.task].append(one)
    return found


def drop_copies(answers: Sequence[Answers]) -> list[str]:
    """Return of a run that is logged twice, or was taken up again, every answer counts once."""
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
    """Return a note on respondents who answered the same items in several runs."""
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
    """Return notes on tasks with several epochs."""
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

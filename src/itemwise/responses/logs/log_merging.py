"""Runs of many models on many tasks become one table."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.responses.logs.log_runs import Epochs, Items, Run
from itemwise.responses.names_and_facts import Fact
from itemwise.responses.response_table import Responses
from itemwise.responses.stored_cells import Kind
from itemwise.responses.triples import Triples, check_cells
from itemwise.words import counted, listed, shown

OLDER_RUN = "of an older run of the same model and task"
MOST_GRADES = 20
_TABLE_BYTES = 2 * 1024**3


@dataclass
class RunScores:
    """The scores of a run: one per item, and the number of rows behind it."""

    run: Run
    places: NDArray[np.int64]
    scores: NDArray[np.float64]
    rows: NDArray[np.int64]

    def keep(self, which: NDArray[np.bool_], why: str) -> None:
        """Keep these items, and count the rows of the others as left out."""
        if not which.all():
            self.run.left_out[why] += int(self.rows[~which].sum())
            self.places, self.scores = self.places[which], self.scores[which]
            self.rows = self.rows[which]


def merged(runs: Sequence[Run], items: Items, epochs: Epochs, max_bytes: int) -> Responses:
    """Merge all runs into one table, with facts about its items and models."""
    same, hash_notes = _same_items(runs, items)
    answers = [_reduced(run, same, epochs) for run in sorted(runs, key=_age)]
    notes = [*hash_notes, *_epoch_notes(answers, epochs), *_drop_older(answers)]
    answers = [one for one in answers if one.places.size]
    used = np.unique(np.concatenate([one.places for one in answers]))
    there = {one.run.model for one in answers}
    models = list(dict.fromkeys(run.model for run in runs if run.model in there))
    check_cells(len(models), used.size, min(max_bytes, _TABLE_BYTES))
    names, clash = _item_names(items, used)
    row = {model: at for at, model in enumerate(models)}
    scores = np.concatenate([one.scores for one in answers])
    triples = Triples(
        models,
        names,
        np.concatenate([np.full(one.places.size, row[one.run.model]) for one in answers]),
        np.searchsorted(used, np.concatenate([one.places for one in answers])),
        scores,
    )
    table = Responses.from_triples(triples, _kind(scores))
    notes = [*_kind_notes(answers, table.kind), *notes, *clash, *_metric_notes(answers)]
    return table.described(
        items=_item_facts(items, used),
        respondents=_model_facts([one.run for one in answers], models),
        notes=[*notes, *_version_notes(answers), *_source_notes(answers)],
    )


def _age(run: Run) -> tuple[float, str]:
    """Sort key: older runs first; without a date, by name."""
    return moment(run.date), str(run.file)


def _same_items(runs: Sequence[Run], items: Items) -> tuple[NDArray[np.int64], list[str]]:
    """Map items without a hash to the hashed item of the same id, and equal hashes to one item.

    The first applies within a task of one harness whose hashed items have distinct ids: older
    versions of the harness wrote no hash. The second joins questions that shuffling numbered
    differently; not where one run asked both, because then they differ in what is not logged.
    """
    same = np.arange(len(items))
    together: dict[tuple[str, str], set[int]] = defaultdict(set)
    for run in runs:
        together[run.format, run.task].update(run.places)
    joined_tasks = []
    for (_, task), places in together.items():
        hashed = {_label(items, place): place for place in places if items.hashes[place]}
        bare = [place for place in places if not items.hashes[place]]
        unique = len(hashed) + len(bare) == len(places)
        found = [place for place in bare if unique and _label(items, place) in hashed]
        same[found] = [hashed[_label(items, place)] for place in found]
        if found:
            joined_tasks.append(task)
    _join_renumbered(runs, items, same)
    if not joined_tasks:
        return same, []
    note = (
        f"In {listed(joined_tasks, 'task')} some logs have no content hash; their items were "
        "matched by id."
    )
    return same, [note]


def _label(items: Items, place: int) -> tuple[str, str]:
    """The id of an item and the arguments of its task."""
    return items.ids[place], items.arguments.get(place, "")


def _join_renumbered(runs: Sequence[Run], items: Items, same: NDArray[np.int64]) -> None:
    """Join items of equal content and different ids, unless a run asked two of them."""
    alike: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, (task, content) in enumerate(zip(items.tasks, items.hashes, strict=True)):
        if content is not None:
            alike[task, content].append(place)
    several = {key: places for key, places in alike.items() if len(places) > 1}
    if not several:
        return
    group = {place: key for key, places in several.items() for place in places}
    for run in runs:
        seen: dict[tuple[str, str], int] = {}
        for place in set(run.places) & group.keys():
            key = group[place]
            if seen.setdefault(key, place) != place:
                several.pop(key, None)
    for places in several.values():
        same[places] = places[0]


def _reduced(run: Run, same: NDArray[np.int64], epochs: Epochs) -> RunScores:
    """One score per item: the mean of its epochs, the number correct, or the first."""
    places = same[np.frombuffer(run.places, dtype=np.int64)]
    scores = np.frombuffer(run.scores, dtype=np.float64)
    found, first, inverse, counts = np.unique(
        places, return_index=True, return_inverse=True, return_counts=True
    )
    inverse = inverse.reshape(-1)
    if epochs == "first":
        run.left_out[f"of later {run.repeats}"] += places.size - found.size
        return RunScores(run, found, scores[first], np.ones_like(found))
    totals = np.bincount(inverse, scores, found.size).astype(np.float64)
    if epochs == "mean" or not found.size:
        return RunScores(run, found, totals / np.maximum(counts, 1), counts)
    if not np.isin(scores, (0.0, 1.0)).all():
        odd = scores[~np.isin(scores, (0.0, 1.0))][0]
        raise InputError(
            f"epochs is 'grades', which counts correct answers, but task {shown(run.task)} in "
            f"'{run.file}' has the score {odd:g}. Use epochs='mean' or 'first'."
        )
    answers = RunScores(run, found, totals, counts)
    answers.keep(counts == counts.max(), f"of items that lack some of the {run.repeats}")
    return answers


def _epoch_notes(answers: Sequence[RunScores], epochs: Epochs) -> list[str]:
    """Notes on tasks with several epochs; for grades, all runs need the same number."""
    several: dict[str, set[int]] = defaultdict(set)
    words: dict[str, str] = {}
    for one in answers:
        if one.rows.size:
            several[one.run.task].add(int(one.rows.max()))
            words[one.run.task] = one.run.repeats
    unequal = [task for task, found in several.items() if len(found) > 1]
    if epochs == "grades" and unequal:
        task = unequal[0]
        found = sorted(several[task])
        raise InputError(
            f"epochs is 'grades', but task {shown(task)} has {found[0]} {words[task]} in one log "
            f"and {found[-1]} in another, so that their grades differ in meaning. "
            "Use epochs='mean' or 'first'."
        )
    became = "averaged" if epochs == "mean" else "counted: a grade is the number correct"
    repeated: dict[str, list[str]] = defaultdict(list)
    for task, found_in_task in several.items():
        if max(found_in_task) > 1:
            repeated[words[task]].append(task)
    return [
        f"{word.capitalize()} of {listed(tasks, 'task')} were {became}."
        for word, tasks in repeated.items()
    ]


def _drop_older(answers: Sequence[RunScores]) -> list[str]:
    """Of two runs of a model and a task with the same item, keep the newer."""
    together: dict[tuple[str, str], list[RunScores]] = defaultdict(list)
    for one in answers:
        together[one.run.model, one.run.task].append(one)
    twice = []
    for (model, task), several in together.items():
        newer = several[-1].places
        for one in reversed(several[:-1]):
            kept = ~np.isin(one.places, newer)
            newer = np.union1d(newer, one.places)
            if not kept.all():
                one.keep(kept, OLDER_RUN)
                twice.append(f"{model} on {task}")
    if not twice:
        return []
    pairs = list(dict.fromkeys(twice))
    note = (
        f"Several logs hold {listed(pairs, 'pair')} of a model and a task; for items that occur "
        "in several, the newest log is used."
    )
    return [note]


def _item_names(items: Items, used: NDArray[np.int64]) -> tuple[list[str], list[str]]:
    """Task and id; with the arguments of the task, or a part of the content hash, if two share it.

    The note names both, because a reader who expects one item should know that there are two.
    """
    names = [f"{items.tasks[place]}/{items.ids[place]}" for place in used]
    shared: dict[str, list[int]] = defaultdict(list)
    for at, name in enumerate(names):
        shared[name].append(at)
    shared = {name: places for name, places in shared.items() if len(places) > 1}
    taken = set(names)
    for name, places in shared.items():
        for longer in _longer_names(items, name, [int(used[at]) for at in places]):
            if len(set(longer)) == len(longer) and not taken & set(longer):
                break
        taken.update(longer)
        for at, new in zip(places, longer, strict=True):
            names[at] = new
    if not shared:
        return names, []
    first, places = next(iter(shared.items()))
    note = (
        f"{listed(list(shared), 'name')} {'refers' if len(shared) == 1 else 'refer'} to questions "
        f"of different content in different logs, which are items of their own: {shown(first)} is "
        f"now {' and '.join(shown(names[at]) for at in places[:2])}."
    )
    return names, [note]


def _longer_names(items: Items, name: str, places: Sequence[int]) -> Iterator[list[str]]:
    """Ways to tell items of one name apart, the plainest first."""
    if all(items.arguments.get(place) for place in places):
        yield [
            f"{items.tasks[place]}({items.arguments[place]})/{items.ids[place]}" for place in places
        ]
    for length in (8, None):
        yield [f"{name}#{(items.hashes[place] or 'id')[:length]}" for place in places]
    yield [f"{name}#{place}" for place in places]


def _item_facts(items: Items, used: NDArray[np.int64]) -> dict[str, list[Fact]]:
    places = used.tolist()
    facts: dict[str, list[Fact]] = {
        "task": [items.tasks[place] for place in places],
        "id": [items.ids[place] for place in places],
    }
    told: dict[str, list[Fact]] = {
        name: [known.get(place) for place in places] for name, known in items.facts.items()
    }
    told["hash"] = [items.hashes[place] for place in places]
    told["arguments"] = [items.arguments.get(place) for place in places]
    return facts | {
        name: column for name, column in told.items() if any(v is not None for v in column)
    }


def _model_facts(runs: Sequence[Run], models: Sequence[str]) -> dict[str, list[Fact]]:
    """Facts about each model; several values are joined, of dates the latest is kept."""
    told: dict[str, dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for name, value in run.about.items():
            if value is not None and value not in told[name][run.model]:
                told[name][run.model].append(value)
    return {
        name: [_one(name, by_model.get(model, [])) for model in models]
        for name, by_model in told.items()
    }


def _one(name: str, values: Sequence[Fact]) -> Fact:
    if len(values) < 2:
        return values[0] if values else None
    texts = [str(value) for value in values]
    return max(texts, key=moment) if name == "date" else ", ".join(texts)


def _kind(scores: NDArray[np.float64]) -> Kind:
    if np.isin(scores, (0.0, 1.0)).all():
        return "binary"
    whole = (scores == np.floor(scores)).all() and scores.min() >= 0
    return "graded" if whole and scores.max() <= MOST_GRADES else "continuous"


def _kind_notes(answers: Sequence[RunScores], kind: str) -> list[str]:
    """A note on tasks whose scores are not 0 and 1, and the resulting kind."""
    if kind == "binary":
        return []
    odd: set[str] = set()
    plain: set[str] = set()
    for one in answers:
        (plain if np.isin(one.scores, (0.0, 1.0)).all() else odd).add(one.run.task)
    plain -= odd
    note = f"The scores of {listed(sorted(odd), 'task')} are not only 0 and 1"
    beside = f", unlike those of {counted(len(plain), 'other task')}" if plain else ""
    return [f"{note}{beside}: the table is {kind}."]


def _metric_notes(answers: Sequence[RunScores]) -> list[str]:
    return [
        f"Task {shown(task)} is scored by {' in some logs and '.join(sorted(found))} in others; "
        "choose one with metric."
        for task, found in _several_by_task((one.run.task, one.run.metric) for one in answers)
    ]


def _version_notes(answers: Sequence[RunScores]) -> list[str]:
    pairs = {
        (one.run.format, str(one.run.about["version"]))
        for one in answers
        if one.run.about.get("version")
    }
    notes = []
    for source, several in groupby(sorted(pairs), key=lambda pair: pair[0]):
        versions = [version for _, version in several]
        if len(versions) > 1:
            notes.append(
                f"The logs come from {listed(versions, 'version')} of {source}, which may ask or "
                "score differently."
            )
    return notes


def _source_notes(answers: Sequence[RunScores]) -> list[str]:
    """Notes on tasks from several harnesses, which may number items differently."""
    return [
        f"Task {shown(task)} comes from logs of {' and '.join(sorted(found))}; items with the "
        "same id or content hash were merged."
        for task, found in _several_by_task((one.run.task, one.run.format) for one in answers)
    ]


def _several_by_task(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, set[str]]]:
    """The tasks with more than one value, and their values."""
    values: dict[str, set[str]] = defaultdict(set)
    for task, value in pairs:
        values[task].add(value)
    return [(task, found) for task, found in sorted(values.items()) if len(found) > 1]


_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d)[:-](\d\d)(?:[:-](\d\d)(\.\d{1,9})?\d*)?)?"
    r"\s*(?:Z|([+-])(\d\d)[:-]?(\d\d))?",
    re.ASCII,
)


def moment(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 date, UTC without a time zone; -inf for other text.

    Logs also write dashes in the time.

    >>> moment("2024-01-01T10:00:00-05:00") - moment("2024-01-01T12-00-00")
    10800.0
    """
    match = _DATE.match(text)
    if match is None:
        return -math.inf
    day, hour, minute, second, fraction, sign, away_hours, away_minutes = match.groups()
    try:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC)
        clock = timedelta(hours=int(hour or 0), minutes=int(minute or 0), seconds=int(second or 0))
        away = timedelta(hours=int(away_hours or 0), minutes=int(away_minutes or 0))
    except ValueError:  # a 31st of February
        return -math.inf
    seconds = clock - away if sign == "+" else clock + away
    return start.timestamp() + seconds.total_seconds() + float(fraction or 0)

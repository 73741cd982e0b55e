"""Runs become one table with facts and choices.

What runs tell of respondents and items: facts, and under which conditions these met.

The options that models chose, where logs tell, as one table of choices.

Runs of many models on many tasks become one table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.data.logs.respondents import (
    Answers,
    adopt_copies,
    drop_copies,
    epoch_notes,
    grades,
    keep_first,
    renamed,
    reruns,
    respondents,
)
from ogive.data.logs.runs import (
    ANSWERS,
    SPENT,
    Items,
    LogSettings,
    Run,
    age,
    moment,
    part,
    shortened,
)
from ogive.data.long_tables import Triples, check_cells
from ogive.data.names import Fact
from ogive.data.responses import Responses
from ogive.irt.response_codes import Kind
from ogive.results.numbers import clean, counted, listed, shown

Values = dict[str, list[Fact]]  # by owner


@dataclass(frozen=True, eq=False)
class Told:
    """Facts by column, in the order of the table."""

    of_items: dict[str, list[Fact]]
    of_respondents: dict[str, list[Fact]]

    @classmethod
    def of(
        cls, answers: Sequence[Answers], names: Sequence[str], items: Items, used: NDArray[np.int64]
    ) -> Told:
        """Return a fact of respondents; of items if a respondent has several and each task has one.

        Shots, for example, often differ from task to task, and are the same for all models.
        """
        by_name, by_task = _collected(answers)
        tasks = [items.tasks[place] for place in used.tolist()]
        found = cls({}, {})
        for name, values in by_name.items():
            several = any(len(one) > 1 for one in values.values())
            if several and all(len(one) == 1 for one in by_task[name].values()):
                found.of_items[name] = [(by_task[name].get(task) or [None])[0] for task in tasks]
            else:
                found.of_respondents[name] = [_one(name, values.get(who, [])) for who in names]
        for name in dict.fromkeys(name for one in answers for name in one.run.of_task):
            known = {one.run.task: one.run.of_task.get(name) for one in answers}
            found.of_items[name] = [known.get(task) for task in tasks]
        for name in SPENT:
            spent = _means(answers, name)
            if spent:
                found.of_respondents[name] = [spent.get(who) for who in names]
        models = {one.respondent: one.run.model for one in answers}
        if any(respondent != model for respondent, model in models.items()):
            found.of_respondents["model"] = [models[name] for name in names]
        return found


def _collected(answers: Sequence[Answers]) -> tuple[dict[str, Values], dict[str, Values]]:
    """Return all values of each fact, by respondent and by task."""
    by_name: dict[str, Values] = defaultdict(lambda: defaultdict(list))
    by_task: dict[str, Values] = defaultdict(lambda: defaultdict(list))
    for one in answers:
        for name, value in one.run.told.items():
            owners = (by_name[name], one.respondent), (by_task[name], one.run.task)
            for values, owner in owners if value is not None else ():
                if value not in values[owner]:
                    values[owner].append(value)
    return by_name, by_task


def _means(answers: Sequence[Answers], name: str) -> dict[str, Fact]:
    """Return what an answer of each respondent took on average, where logs tell."""
    sums: dict[str, tuple[float, float]] = {}
    for one in answers:
        total, count = sums.get(one.respondent, (0.0, 0.0))
        used = one.run.used
        sums[one.respondent] = total + used.get(name, 0.0), count + used.get(name + ANSWERS, 0.0)
    return {who: round(total / count, 6) for who, (total, count) in sums.items() if count}


def _one(name: str, values: Sequence[Fact]) -> Fact:
    """Return several values are joined; of dates the latest is kept."""
    if len(values) < 2:
        return values[0] if values else None
    texts = [str(value) for value in values]
    return max(texts, key=moment) if name == "date" else ", ".join(texts)


LONGEST = 80  # characters of an option that are kept


def as_label(option: object) -> str | None:
    """Return an option as text, short and without control characters."""
    text = shortened(option if isinstance(option, str) else None)
    return clean(text[:LONGEST]).strip() or None if text else None


def lettered(letter: object, choices: object) -> str | None:
    """The option that a letter names, among the texts of all; None if it names none of them."""
    if not isinstance(choices, list) or not isinstance(letter, str):
        return None
    at = ord(letter.strip()[:1].upper() or "?") - ord("A")
    return as_label(str(choices[at])) if 0 <= at < len(choices) else None


def likeliest(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the option with the highest log-likelihood and the target, in a row of lm-eval.

    They are named by their texts; by their numbers where options have one text.
    """
    found = row.get("filtered_resps")
    if not isinstance(found, list) or len(found) < 2:
        return None, None
    try:
        values = [float(one[0]) for one in found]
    except (TypeError, ValueError, IndexError, KeyError):
        return None, None
    best = int(np.argmax(values))
    texts = [as_label(part(row, "arguments", f"gen_args_{k}", "arg_1")) for k in range(len(values))]
    distinct = None not in texts and len(set(texts)) == len(texts)
    labels = [str(text) if distinct else str(k + 1) for k, text in enumerate(texts)]
    target = str(row.get("target", "")).strip()
    if target in labels:
        return labels[best], target
    number = int(target) if target.isdecimal() else len(labels)
    return labels[best], labels[number] if number < len(labels) else None


def chosen_options(
    answers: Sequence[Answers],
    items: Items,
    same: NDArray[np.int64],
    used: NDArray[np.int64],
    item_names: Sequence[str],
) -> Responses | None:
    """Return who chose what, if logs tell it; the right option is told, or was scored as right.

    Of several answers to an item, the newest log counts. An item without a single right option is
    left out.
    """
    from ogive.data.responses import Responses

    chosen: dict[str, dict[int, str]] = {}
    right: dict[int, set[str]] = {}
    for one in sorted(answers, key=lambda one: age(one.run)):
        mine = chosen.setdefault(one.respondent, {})
        mine.update({int(same[place]): label for place, label in one.run.chosen.items()})
        correct = set(one.places[one.scores == 1.0].tolist())
        for place, label in one.run.chosen.items():
            if int(same[place]) in correct:
                right.setdefault(int(same[place]), set()).add(label)
    told = {int(same[place]): label for place, label in items.keys.items()}
    scored = {place: next(iter(labels)) for place, labels in right.items() if len(labels) == 1}
    several = {place for place, labels in right.items() if len(labels) > 1}
    keys = {place: label for place, label in (told | scored).items() if place not in several}
    asked = {place for mine in chosen.values() for place in mine}
    names = {int(place): name for place, name in zip(used, item_names, strict=True)}
    kept = [place for place in names if place in asked and place in keys]
    if not kept:
        return None
    rows = {
        respondent: [mine.get(place) for place in kept]
        for respondent, mine in chosen.items()
        if mine
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[names[place] for place in kept])
    table = Responses.from_choices(frame, [keys[place] for place in kept])
    lost = len(asked & names.keys()) - len(kept)
    note = f"{counted(lost, 'item')} without one right option that is known: left out of choices."
    return table.described(notes=[note] if lost else [])


MOST_GRADES = 20
_TABLE_BYTES = 2 * 1024**3


def merged(
    runs: Sequence[Run], items: Items, wanted: LogSettings, max_bytes: int
) -> tuple[Responses, Responses | None]:
    """Merge all runs into one table, with facts about its items and respondents; and choices."""
    unsure = adopt_copies(runs)
    renamed(runs, wanted.rename)
    same, notes = _same_items(runs, items)
    named = respondents(runs, wanted.variants)
    answers = [Answers.of(run, name, same) for run, name in zip(runs, named.names, strict=True)]
    notes += [*unsure, *named.notes, *drop_copies(answers)]
    if wanted.epochs == "first":
        keep_first(answers)
    else:
        notes += [*epoch_notes(answers, wanted.epochs), *reruns(answers)]
    if wanted.epochs == "grades":
        grades(answers)
    answers = [one for one in answers if one.places.size]
    used = np.unique(np.concatenate([one.places for one in answers]))
    names = list(dict.fromkeys(one.respondent for one in answers))
    check_cells(len(names), used.size, min(max_bytes, _TABLE_BYTES))
    item_names, clash = _item_names(items, used)
    row = {name: at for at, name in enumerate(names)}
    scores = np.concatenate([one.scores for one in answers])
    triples = Triples(
        names,
        item_names,
        np.concatenate([np.full(one.places.size, row[one.respondent]) for one in answers]),
        np.searchsorted(used, np.concatenate([one.places for one in answers])),
        scores,
    )
    table = _table(triples)
    notes = [*_kind_notes(answers, table.kind), *notes, *clash, *_metric_notes(answers)]
    facts = Told.of(answers, names, items, used)
    whole = table.described(
        items=_item_facts(items, used) | facts.of_items,
        respondents=facts.of_respondents,
        notes=[*notes, *_version_notes(answers), *_source_notes(answers)],
    )
    if not wanted.keep_choices:
        return whole, None
    return whole, chosen_options(answers, items, same, used, item_names)


def _table(triples: Triples) -> Responses:
    """Return the table of all answers; of its kind, single scores decide, not their means."""
    kind = _kind(triples.responses)
    if kind == "graded" and triples.repeated(triples.responses) is not None:
        kind = "continuous"
    return Responses.from_triples(triples, kind)


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
    """Return the id of an item and the arguments of its task."""
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
    """Yield ways to name items that share a name, the plainest first."""
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


def _kind(scores: NDArray[np.float64]) -> Kind:
    if np.isin(scores, (0.0, 1.0)).all():
        return "binary"
    whole = (scores == np.floor(scores)).all() and scores.min() >= 0
    return "graded" if whole and scores.max() <= MOST_GRADES else "continuous"


def _kind_notes(answers: Sequence[Answers], kind: str) -> list[str]:
    """Return a note on tasks whose scores are not 0 and 1, and the resulting kind."""
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


def _metric_notes(answers: Sequence[Answers]) -> list[str]:
    return [
        f"Task {shown(task)} is scored by {' in some logs and '.join(sorted(found))} in others; "
        "choose one with metric."
        for task, found in _several_by_task((one.run.task, one.run.metric) for one in answers)
    ]


def _version_notes(answers: Sequence[Answers]) -> list[str]:
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


def _source_notes(answers: Sequence[Answers]) -> list[str]:
    """Return notes on tasks from several harnesses, which may number items differently."""
    return [
        f"Task {shown(task)} comes from logs of {' and '.join(sorted(found))}; items with the "
        "same id or content hash were merged."
        for task, found in _several_by_task((one.run.task, one.run.format) for one in answers)
    ]


def _several_by_task(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, set[str]]]:
    """Return the tasks with more than one value, and their values."""
    values: dict[str, set[str]] = defaultdict(set)
    for task, value in pairs:
        values[task].add(value)
    return [(task, found) for task, found in sorted(values.items()) if len(found) > 1]

"""Runs of many models on many tasks become one table, with facts, and with the options chosen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.data.logs.respondents import (
    Answers,
    Ints,
    adopt_copies,
    count_correct,
    drop_copies,
    epoch_notes,
    keep_first,
    name_respondents,
    rename_models,
    rerun_notes,
)
from ogive.data.logs.runs import SPENT, Items, LogSettings, Run, run_order, timestamp
from ogive.data.long_tables import LongTable, check_cells
from ogive.data.names import Fact
from ogive.data.responses import Responses
from ogive.irt.response_codes import Kind
from ogive.results.numbers import counted, listed, shown

MOST_GRADES = 20  # the highest whole score that makes a table graded
_TABLE_BYTES = 2 * 1024**3
# Notes on tasks that are scored differently, or whose items may be numbered differently.
_METRICS = "Task {task} is scored by {metrics} in others; choose one with metric."
_FORMATS = (
    "Task {task} comes from logs of {formats}; items with the same id or content hash were merged."
)


def merge_runs(
    runs: Sequence[Run], items: Items, wanted: LogSettings
) -> tuple[Responses, Responses | None]:
    """Merge all runs into one table with facts, and if wanted, into one of the options chosen."""
    # 1. Find out which items and which respondents are the same.
    unsure_copies = adopt_copies(runs)
    rename_models(runs, wanted.rename)
    table_items, notes = _equal_items(runs, items)
    respondents, variant_notes = name_respondents(runs, wanted.variants)
    answers = [
        Answers.of(run, name, table_items) for run, name in zip(runs, respondents, strict=True)
    ]
    # 2. Leave out copies, and treat repeated answers as asked.
    notes += [*unsure_copies, *variant_notes, *drop_copies(answers)]
    if wanted.epochs == "first":
        keep_first(answers)
    else:
        notes += [*epoch_notes(answers, wanted.epochs), *rerun_notes(answers)]
    if wanted.epochs == "grades":
        count_correct(answers)
    answers = [one for one in answers if one.items.size]
    # 3. Make one long table of what is left.
    used = np.unique(np.concatenate([one.items for one in answers]))
    names = list(dict.fromkeys(one.respondent for one in answers))
    check_cells(len(names), used.size, min(wanted.max_bytes, _TABLE_BYTES))
    item_names, clash_notes = _name_items(items, used)
    row = {name: at for at, name in enumerate(names)}
    long = LongTable(
        names,
        item_names,
        np.concatenate([np.full(one.items.size, row[one.respondent]) for one in answers]),
        np.searchsorted(used, np.concatenate([one.items for one in answers])),
        np.concatenate([one.scores for one in answers]),
    )
    kind = _kind_of(long.responses)
    if kind == "graded" and long.repeated(long.responses) is not None:  # means are no grades
        kind = "continuous"
    table = Responses.from_long_table(long, kind)
    # 4. Describe it.
    notes = [*_kind_notes(answers, table.kind), *notes, *clash_notes]
    notes += [*_mixture_notes(answers, "metric", _METRICS), *_version_notes(answers)]
    notes += _mixture_notes(answers, "format", _FORMATS)
    item_facts, respondent_facts = _facts(answers, names, items, used)
    table = table.described(items=item_facts, respondents=respondent_facts, notes=notes)
    if not wanted.keep_choices:
        return table, None
    return table, _chosen_options(answers, items, table_items, used, item_names)


def _equal_items(runs: Sequence[Run], items: Items) -> tuple[Ints, list[str]]:
    """Map items without a hash to the hashed item of the same id, and equal hashes to one item.

    The first applies within a task of one harness whose hashed items have distinct ids: older
    versions of the harness wrote no hash. The second joins questions that shuffling numbered
    differently; not if one run asked both, because then they differ in what is not logged.
    """

    def label(item: int) -> tuple[str, str]:
        return items.ids[item], items.arguments.get(item, "")

    table_items = np.arange(len(items))
    items_of_task: dict[tuple[str, str], set[int]] = defaultdict(set)
    for run in runs:
        items_of_task[run.format, run.task].update(run.items)
    matched_tasks = []
    for (_, task), members in items_of_task.items():
        hashed = {label(item): item for item in members if items.hashes[item]}
        bare = [item for item in members if not items.hashes[item]]
        if len(hashed) + len(bare) == len(members):  # the labels of hashed items are distinct
            matched = [item for item in bare if label(item) in hashed]
            table_items[matched] = [hashed[label(item)] for item in matched]
            if matched:
                matched_tasks.append(task)
    by_content: dict[tuple[str, str], list[int]] = defaultdict(list)
    for item, (task, content) in enumerate(zip(items.tasks, items.hashes, strict=True)):
        if content is not None:
            by_content[task, content].append(item)
    alike = {key: members for key, members in by_content.items() if len(members) > 1}
    key_of = {item: key for key, members in alike.items() for item in members}
    for run in runs if alike else ():
        asked: dict[tuple[str, str], int] = {}
        for item in set(run.items) & key_of.keys():
            if asked.setdefault(key_of[item], item) != item:
                alike.pop(key_of[item], None)
    for equal in alike.values():
        table_items[equal] = equal[0]
    if not matched_tasks:
        return table_items, []
    note = (
        f"In {listed(matched_tasks, 'task')} some logs have no content hash; their items were "
        "matched by id."
    )
    return table_items, [note]


def _name_items(items: Items, used: Ints) -> tuple[list[str], list[str]]:
    """Name items by task and id, and by arguments of the task or content hash if two share these.

    The note names both, because a reader who expects one item should know that there are two.
    """
    names = [f"{items.tasks[item]}/{items.ids[item]}" for item in used]
    at_name: dict[str, list[int]] = defaultdict(list)
    for at, name in enumerate(names):
        at_name[name].append(at)
    shared = {name: places for name, places in at_name.items() if len(places) > 1}
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


def _longer_names(items: Items, name: str, sharing: Sequence[int]) -> Iterator[list[str]]:
    """Yield lists of names for items that share a name, the plainest first."""
    if all(items.arguments.get(item) for item in sharing):
        yield [f"{items.tasks[k]}({items.arguments[k]})/{items.ids[k]}" for k in sharing]
    for length in (8, None):
        yield [f"{name}#{(items.hashes[item] or 'id')[:length]}" for item in sharing]
    yield [f"{name}#{item}" for item in sharing]


def _facts(
    answers: Sequence[Answers], names: Sequence[str], items: Items, used: Ints
) -> tuple[dict[str, list[Fact]], dict[str, list[Fact]]]:
    """Return facts of items and of respondents, by column.

    A condition is a fact of respondents; of items if a respondent has several values and each task
    has one. Shots, for example, often differ from task to task, and are equal for all models.
    """
    numbers = used.tolist()
    known = {name: [facts.get(k) for k in numbers] for name, facts in items.facts.items()}
    known["hash"] = [items.hashes[k] for k in numbers]
    known["arguments"] = [items.arguments.get(k) for k in numbers]
    tasks: list[Fact] = [items.tasks[k] for k in numbers]
    of_items: dict[str, list[Fact]] = {"task": tasks, "id": [items.ids[k] for k in numbers]}
    of_items |= {
        name: column for name, column in known.items() if any(v is not None for v in column)
    }
    of_respondents: dict[str, list[Fact]] = {}
    by_respondent = _values_by((one.respondent, one.run) for one in answers)
    by_task = _values_by((one.run.task, one.run) for one in answers)
    for name, values in by_respondent.items():
        several = any(len(one) > 1 for one in values.values())
        if several and all(len(one) == 1 for one in by_task[name].values()):
            of_items[name] = [(by_task[name].get(str(task)) or [None])[0] for task in tasks]
        else:
            of_respondents[name] = [_joined(name, values.get(who, [])) for who in names]
    for name in dict.fromkeys(name for one in answers for name in one.run.task_facts):
        by_run = {one.run.task: one.run.task_facts.get(name) for one in answers}
        of_items[name] = [by_run.get(str(task)) for task in tasks]
    for name in SPENT:
        means = _means(answers, name)
        if means:
            of_respondents[name] = [means.get(who) for who in names]
    models = {one.respondent: one.run.model for one in answers}
    if any(respondent != model for respondent, model in models.items()):
        of_respondents["model"] = [models[name] for name in names]
    return of_items, of_respondents


def _values_by(pairs: Iterable[tuple[str, Run]]) -> dict[str, dict[str, list[Fact]]]:
    """Return the distinct values of each fact of runs, by the owner of the run."""
    by_name: dict[str, dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for owner, run in pairs:
        for name, value in run.facts.items():
            values = by_name[name]
            if value is not None and value not in values[owner]:
                values[owner].append(value)
    return by_name


def _means(answers: Sequence[Answers], name: str) -> dict[str, Fact]:
    """Return the mean tokens or cost of an answer of each respondent, if logs tell."""
    sums: dict[str, tuple[float, float]] = {}
    for one in answers:
        total, count = sums.get(one.respondent, (0.0, 0.0))
        sums[one.respondent] = (
            total + one.run.spent.get(name, 0.0),
            count + one.run.n_spent.get(name, 0),
        )
    return {who: round(total / count, 6) for who, (total, count) in sums.items() if count}


def _joined(name: str, values: Sequence[Fact]) -> Fact:
    """Join several values of a fact; of dates, return the latest."""
    if len(values) < 2:
        return values[0] if values else None
    texts = [str(value) for value in values]
    return max(texts, key=timestamp) if name == "date" else ", ".join(texts)


def _chosen_options(
    answers: Sequence[Answers],
    items: Items,
    table_items: Ints,
    used: Ints,
    item_names: Sequence[str],
) -> Responses | None:
    """Return the options chosen, if logs tell them; the right one is told, or scored as right.

    Of several answers to an item, the newest log counts. An item without a single right option is
    left out.
    """
    chosen: dict[str, dict[int, str]] = {}
    right: dict[int, set[str]] = defaultdict(set)
    for one in sorted(answers, key=lambda one: run_order(one.run)):
        choices = {int(table_items[item]): label for item, label in one.run.choices.items()}
        chosen.setdefault(one.respondent, {}).update(choices)
        correct = set(one.items[one.scores == 1.0].tolist())
        for item, label in one.run.choices.items():
            if int(table_items[item]) in correct:
                right[int(table_items[item])].add(label)
    stated = {int(table_items[item]): label for item, label in items.keys.items()}
    scored = {item: next(iter(labels)) for item, labels in right.items() if len(labels) == 1}
    keys = {k: label for k, label in (stated | scored).items() if len(right.get(k, ())) < 2}
    asked = {item for choices in chosen.values() for item in choices}
    names = {int(item): name for item, name in zip(used, item_names, strict=True)}
    kept = [item for item in names if item in asked and item in keys]
    if not kept:
        return None
    rows = {who: [choices.get(k) for k in kept] for who, choices in chosen.items() if choices}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[names[item] for item in kept])
    table = Responses.from_choices(frame, [keys[item] for item in kept])
    lost = len(asked & names.keys()) - len(kept)
    note = f"{counted(lost, 'item')} without one right option that is known: left out of choices."
    return table.described(notes=[note] if lost else [])


def _kind_of(scores: NDArray[np.float64]) -> Kind:
    """Return the kind of a table of these scores: single scores decide, not their means."""
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
    beside = f", unlike those of {counted(len(plain), 'other task')}" if plain else ""
    tasks = listed(sorted(odd), "task")
    return [f"The scores of {tasks} are not only 0 and 1{beside}: the table is {kind}."]


def _version_notes(answers: Sequence[Answers]) -> list[str]:
    pairs = {
        (one.run.format, str(one.run.model_facts["version"]))
        for one in answers
        if one.run.model_facts.get("version")
    }
    notes = []
    for source, group in groupby(sorted(pairs), key=lambda pair: pair[0]):
        versions = [version for _, version in group]
        if len(versions) > 1:
            notes.append(
                f"The logs come from {listed(versions, 'version')} of {source}, which may ask or "
                "score differently."
            )
    return notes


def _mixture_notes(answers: Sequence[Answers], attribute: str, words: str) -> list[str]:
    """Return notes on tasks whose runs differ in an attribute; `words` say what that means."""
    values: dict[str, set[str]] = defaultdict(set)
    for one in answers:
        values[one.run.task].add(getattr(one.run, attribute))
    return [
        words.format(
            task=shown(task),
            metrics=" in some logs and ".join(sorted(distinct)),
            formats=" and ".join(sorted(distinct)),
        )
        for task, distinct in sorted(values.items())
        if len(distinct) > 1
    ]

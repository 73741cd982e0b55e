"""What runs tell of respondents and items: facts, and under which conditions these met."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.responses.logs.log_answers import Answers
from ogive.responses.logs.log_dates import moment
from ogive.responses.logs.log_runs import ANSWERS, SPENT, Items
from ogive.responses.names_and_facts import Fact

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
        """A fact of respondents; of items if a respondent has several and each task has one.

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
    """All values of each fact, by respondent and by task."""
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
    """What an answer of each respondent took on average, where logs tell."""
    sums: dict[str, tuple[float, float]] = {}
    for one in answers:
        total, count = sums.get(one.respondent, (0.0, 0.0))
        used = one.run.used
        sums[one.respondent] = total + used.get(name, 0.0), count + used.get(name + ANSWERS, 0.0)
    return {who: round(total / count, 6) for who, (total, count) in sums.items() if count}


def _one(name: str, values: Sequence[Fact]) -> Fact:
    """Several values are joined; of dates the latest is kept."""
    if len(values) < 2:
        return values[0] if values else None
    texts = [str(value) for value in values]
    return max(texts, key=moment) if name == "date" else ", ".join(texts)

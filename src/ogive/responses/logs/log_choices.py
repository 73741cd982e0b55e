"""The options that models chose, where logs tell, as one table of choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.responses.logs.log_answers import Answers
from ogive.responses.logs.log_runs import Items, age
from ogive.responses.logs.log_values import part, shortened
from ogive.words import clean, counted

if TYPE_CHECKING:
    from ogive.responses.response_table import Responses

LONGEST = 80  # characters of an option that are kept


def as_label(option: object) -> str | None:
    """An option as text, short and without control characters."""
    text = shortened(option if isinstance(option, str) else None)
    return clean(text[:LONGEST]).strip() or None if text else None


def lettered(letter: object, choices: object) -> str | None:
    """The option that a letter names, among the texts of all; None if it names none of them."""
    if not isinstance(choices, list) or not isinstance(letter, str):
        return None
    at = ord(letter.strip()[:1].upper() or "?") - ord("A")
    return as_label(str(choices[at])) if 0 <= at < len(choices) else None


def likeliest(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The option with the highest log-likelihood and the target, in a row of lm-eval.

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
    """Who chose what, if logs tell it; the right option is told, or was scored as right.

    Of several answers to an item, the newest log counts. An item without a single right option is
    left out.
    """
    import pandas as pd

    from ogive.responses.response_table import Responses

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

"""Choices among options as codes: 0 for the right option, 1, 2, ... for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.responses.stored_cells import NEVER_ASKED, NOMINAL
from ogive.words import listed, shown

if TYPE_CHECKING:
    import pandas as pd

    from ogive.responses.response_table import Responses

KEY = "key"  # the fact that holds the right option of an item
OPTION = "option_"  # and those that hold its other options, numbered from 1
MOST_OPTIONS = 500


class Choices(NamedTuple):
    """Codes of what was chosen, and the options of each item, the right one first."""

    codes: NDArray[np.int16]
    respondents: list[str]
    items: list[str]
    facts: dict[str, list[Any]]
    notes: tuple[str, ...]


def coded_choices(choices: pd.DataFrame, key: Any, options: Any = None) -> Choices:
    """Number the options of each item from the right one on."""
    if not hasattr(choices, "columns"):
        raise InputError(
            f"choices is of type {type(choices).__name__}; give a frame with one row per "
            "respondent and one column per item, which holds the option that was chosen."
        )
    items = [str(name) for name in choices.columns]
    right = _keys(key, items)
    known = _known_options(options, items)
    codes = np.full(choices.shape, NEVER_ASKED, dtype=np.int16)
    facts: dict[str, list[Any]] = {KEY: [right[name] for name in items]}
    for column, name in enumerate(items):
        chosen = [as_option(value) for value in choices.iloc[:, column]]
        seen = {label for label in chosen if label is not None}
        others = _ordered(known.get(name), seen, right[name], name)
        place = {label: k for k, label in enumerate([right[name], *others])}
        codes[:, column] = [NEVER_ASKED if label is None else place[label] for label in chosen]
        for k, label in enumerate(others, start=1):
            facts.setdefault(f"{OPTION}{k}", [None] * len(items))[column] = label
    return Choices(codes, [str(name) for name in choices.index], items, facts, _notes(codes, items))


def option_names(facts: Mapping[str, Sequence[Any]], item: int, count: int) -> list[str]:
    """What the options of an item are called, the right one first; numbers where nothing is."""
    told = [facts.get(KEY), *(facts.get(f"{OPTION}{k}") for k in range(1, count))]
    found = [None if column is None else column[item] for column in told]
    return [f"option {k}" if label is None else str(label) for k, label in enumerate(found)]


def option_frame(choices: Responses) -> pd.DataFrame:
    """Choices as text, one row per respondent, after a row with the key."""
    import pandas as pd

    facts = {str(name): list(column) for name, column in choices.item_facts.items()}
    columns = {}
    for place, item in enumerate(choices.items):
        codes = choices.cells[:, place]
        labels = option_names(facts, place, int(codes.max(initial=0)) + 1)
        columns[item] = [labels[0], *(None if code < 0 else labels[code] for code in codes)]
    return pd.DataFrame(columns, index=pd.Index([KEY, *choices.respondents], name="respondent"))


def as_option(value: Any) -> str | None:
    """An option as text; None where nothing was chosen. Whole floats are whole numbers."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value).strip() or None


def turned(values: NDArray[np.float64], kind: str, wanted: str) -> NDArray[np.float64]:
    """Choices as right and wrong; nothing else can become choices, or be made of them."""
    if kind == NOMINAL and wanted == "binary":
        return np.where(np.isnan(values), np.nan, (values == 0) * 1.0)
    if np.isnan(values).all():
        return values
    raise InputError(
        f"The responses are {kind} and cannot become {wanted}: options have no order. Choices are "
        "made with Responses.from_choices, and become right or wrong with of_kind('binary')."
    )


def _keys(key: Any, items: Sequence[str]) -> dict[str, str]:
    """The right option of each item."""
    if hasattr(key, "items"):
        told = {str(name): as_option(value) for name, value in key.items()}
    elif isinstance(key, Iterable) and not isinstance(key, str):
        each = [as_option(value) for value in key]
        if len(each) != len(items):
            raise InputError(
                f"key has {len(each):,} entries, but there are {len(items):,} items. Give the "
                "right option of each."
            )
        told = dict(zip(items, each, strict=True))
    else:
        raise InputError(
            f"key is {shown(key)}; give the right option of each item, as a list or a mapping."
        )
    found = {name: told.get(name) for name in items}
    lacking = [name for name, label in found.items() if label is None]
    if lacking:
        raise InputError(
            f"key has no right option for {listed(lacking, 'item')}. Add it, or leave them out."
        )
    return {name: label for name, label in found.items() if label is not None}


def _known_options(options: Any, items: Sequence[str]) -> dict[str, list[str]]:
    """Options that are given: the same for all items, or by item."""
    if options is None:
        return {}
    if isinstance(options, Mapping):
        each = {str(name): list(values) for name, values in options.items()}
    elif isinstance(options, Iterable) and not isinstance(options, str):
        each = {name: list(options) for name in items}
    else:
        raise InputError(
            f"options is {shown(options)}; give a list such as ['A', 'B', 'C'], or one for each "
            "item, as a mapping."
        )
    return {
        name: [label for label in map(as_option, values) if label is not None]
        for name, values in each.items()
    }


def _ordered(known: list[str] | None, seen: set[str], right: str, item: str) -> list[str]:
    """The wrong options of an item: as given, or those that were chosen, in order."""
    if known is not None:
        strangers = sorted((seen | {right}) - set(known))
        if strangers:
            raise InputError(
                f"Item {shown(item)} has the option {shown(strangers[0])}, which is not among its "
                f"options: {', '.join(known[:8])}. Correct it, or add it to options."
            )
        return [label for label in dict.fromkeys(known) if label != right]
    others = seen - {right}
    if len(others) >= MOST_OPTIONS:
        raise InputError(
            f"Item {shown(item)} has {len(others) + 1:,} different answers, but options are at "
            f"most {MOST_OPTIONS}. Free text is no choice among options."
        )
    numbers = all(label.isdigit() for label in others)
    return sorted(others, key=lambda label: (len(label) if numbers else 0, label))


def _notes(codes: NDArray[np.int16], items: Sequence[str]) -> tuple[str, ...]:
    """What was chosen by nobody."""
    asked = (codes >= 0).any(axis=0)
    found = (codes == 0).any(axis=0) | ~asked
    never = [name for name, seen in zip(items, found, strict=True) if not seen]
    if not never:
        return ()
    return (f"Nobody chose the right option of {listed(never, 'item')}: check the key.",)

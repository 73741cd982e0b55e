"""Items to ask first, and selections in the formats of lm-eval and Inspect."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from ogive.adaptive import AdaptiveTest, Selector
from ogive.arguments import whole_number
from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.files import PathLike, write_bytes
from ogive.models import AUTO, MeasurementModel
from ogive.responses import Responses, Table, as_responses
from ogive.responses.names_and_facts import as_facts
from ogive.studies.evaluation.adaptive_replay import bank_from
from ogive.tables.foreign_frames import with_row_names
from ogive.words import listed, meant

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["first_items", "inspect_sample_ids", "lm_eval_samples"]

SampleIds: TypeAlias = "dict[str, list[int | str]]"


def first_items(
    source: Calibration | Table,
    size: int,
    *,
    selector: Selector | str = "score",
    model: str | MeasurementModel = AUTO,
    random_state: int = 0,
) -> list[str]:
    """Choose the `size` items to ask first, when nothing is known about a model yet.

    `source` is a bank, or responses from which one is calibrated (`model`, as in
    `replay_adaptively`); `selector` and `random_state` are those of `AdaptiveTest`. Returns the
    names of the items, the most informative first. `lm_eval_samples` and `inspect_sample_ids`
    write them in the formats of these tools.

    >>> import ogive as og
    >>> table = og.simulate("2pl", 300, 20, random_state=0).responses
    >>> len(og.first_items(table, 5))
    5
    """
    whole_number(size, "size", 1)
    whole_number(random_state, "random_state", 0)
    bank = source if isinstance(source, Calibration) else bank_from(as_responses(source), model)
    test = AdaptiveTest(bank, selector=selector, random_state=random_state)
    return list(test.start().next_items(size))


def lm_eval_samples(
    items: Iterable[str],
    facts: Responses | pd.DataFrame,
    path: PathLike | None = None,
    *,
    task: str = "task",
    id: str = "id",  # noqa: A002 - the name of the fact
) -> dict[str, list[int]]:
    """Return document numbers by task, for `--samples` of lm-evaluation-harness.

    `facts` are responses with the facts `task` and `id` (the `doc_id`) of their items, or a frame
    with these columns and items as its index. With a `path`, the JSON file that
    `lm_eval --samples PATH` reads is written.

    >>> import ogive as og
    >>> import pandas as pd
    >>> known = pd.DataFrame({"task": ["arc", "arc", "boolq"], "id": [7, 2, 4]}, list("abc"))
    >>> og.lm_eval_samples(["c", "b", "a"], known)
    {'boolq': [4], 'arc': [2, 7]}
    """
    found: dict[str, list[int]] = {}
    for name, (group, sample) in known_samples(items, facts, task, id).items():
        try:
            number = int(sample)
            whole = number == float(sample) and number >= 0
        except (TypeError, ValueError):
            whole = False
        if not whole:
            raise InputError(
                f"The {id} of {name!r} is {sample!r:.60}, but lm-eval identifies documents by "
                f"number (doc_id, from 0). Name the fact that holds it: id='doc_id'."
            )
        found.setdefault(group, []).append(number)
    ordered = {group: sorted(numbers) for group, numbers in found.items()}
    _write(ordered, path)
    return ordered


def inspect_sample_ids(
    items: Iterable[str],
    facts: Responses | pd.DataFrame,
    path: PathLike | None = None,
    *,
    task: str = "task",
    id: str = "id",  # noqa: A002 - the name of the fact
) -> SampleIds:
    """Return sample ids by task, for Inspect's `eval(sample_id=ids[task])` or `--sample-id`.

    `facts` are responses with the facts `task` and `id` of their items, or a frame with these
    columns and items as its index. Ids stay numbers or text. With a `path`, they are written as
    JSON.

    >>> import ogive as og
    >>> import pandas as pd
    >>> known = pd.DataFrame({"task": ["gpqa", "gpqa"], "id": ["rec1", "rec9"]}, ["a", "b"])
    >>> og.inspect_sample_ids(["b"], known)
    {'gpqa': ['rec9']}
    """
    found: SampleIds = {}
    for group, sample in known_samples(items, facts, task, id).values():
        found.setdefault(group, []).append(sample)
    _write(found, path)
    return found


def known_samples(
    items: Iterable[str], facts: Any, task: str, key: str
) -> dict[str, tuple[str, Any]]:
    """Task and id of each item, in the order given."""
    names = [items] if isinstance(items, str) else list(dict.fromkeys(items))
    if not names:
        raise InputError("items is empty; give the names of the items to ask.")
    told = told_facts(facts)
    columns = dict(told.items())
    for column in (task, key):
        if column not in columns:
            raise InputError(
                f"Items have no fact {column!r}; known facts: {', '.join(columns) or 'none'}. "
                "Read the responses from logs, or add it: "
                f"responses.described(items={{{column!r}: [...]}}).{meant(column, columns)}"
            )
    index = getattr(told, "index", None)
    there = {str(name): k for k, name in enumerate(index if index is not None else facts.items)}
    lost = [name for name in names if name not in there]
    if lost:
        raise InputError(f"{listed(lost, 'item')} not found among the facts. Check the names.")
    groups, samples = list(columns[task]), list(columns[key])
    found = {name: (groups[there[name]], samples[there[name]]) for name in names}
    empty = [name for name, pair in found.items() if None in pair]
    if empty:
        raise InputError(f"{listed(empty, 'item')} without {task} or {key}; leave them out.")
    return {name: (str(group), sample) for name, (group, sample) in found.items()}


def told_facts(facts: Any) -> Any:
    """Columns of facts, with None for missing values and Python numbers."""
    if isinstance(facts, Responses):
        return facts._item_facts  # noqa: SLF001 - a frame turns whole numbers into floats
    facts = with_row_names(facts)
    if not hasattr(facts, "columns"):
        raise InputError(
            f"facts is {type(facts).__name__}; give responses with facts of their items, or a "
            "frame with items as its index."
        )
    import pandas as pd

    names = [str(name) for name in facts.index]
    return pd.DataFrame(as_facts(facts, names, "item"), index=names, dtype=object)


def _write(found: Any, path: PathLike | None) -> None:
    if path is not None:
        write_bytes(path, (json.dumps(found, ensure_ascii=False) + "\n").encode())

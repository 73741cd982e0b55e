"""Facts of items on the command line: those of the file, of a table beside it, or in names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from itemwise.errors import InputError

if TYPE_CHECKING:
    from itemwise.responses import Responses

TASK = "task"


def read_grouped(
    path: Path,
    layout: str,
    kind: str | None,
    items: Path | None,
    by: str | None = None,
    by_prefix: str | None = None,
) -> tuple[Responses, str | None]:
    """Responses with the facts of --items, and the fact by which items are grouped, if any is."""
    if by is not None and by_prefix is not None:
        raise InputError("--by and --by-prefix both group the items. Leave one of them out.")
    from itemwise.responses import read_responses

    table = with_facts(read_responses(path, layout=layout, kind=kind), items)
    if by_prefix is not None:
        return _by_prefix(table, by_prefix), TASK
    if by is not None:
        check_facts(table, [by], "--by")
    return table, by


def with_facts(table: Responses, items: Path | None) -> Responses:
    """The table with the facts that a file tells of its items."""
    if items is None:
        return table
    from itemwise.tables.table_files import read_table

    frame = read_table(items)
    if "item" not in frame:
        there = ", ".join(map(str, frame.columns[:10]))
        raise InputError(
            f"--items is '{items}', which has no column 'item' to name them. Its columns: {there}."
        )
    try:
        return table.described(
            items=frame.set_index(frame["item"].astype(str)).drop(columns="item")
        )
    except InputError as error:
        raise InputError(f"--items is '{items}'. {error}") from error


def check_facts(table: Responses, names: Sequence[str], option: str) -> None:
    """Refuse facts that are not known, saying where they may come from."""
    known = [str(name) for name in table.item_facts]
    for name in names:
        if name not in known:
            raise InputError(
                f"There is no fact '{name}' of items, as {option} asks for; known are: "
                f"{', '.join(known) or 'none'}. Give a table of them with --items (columns item, "
                f"{name}), or a .parquet file that keeps them."
            )


def _by_prefix(table: Responses, separator: str) -> Responses:
    """What stands before the separator in the name of an item is its task."""
    parts = [name.partition(separator) for name in table.items]
    if not separator or not any(mark for _, mark, _ in parts):
        raise InputError(
            f"--by-prefix is '{separator}', which is in no name of an item; the first is "
            f"'{table.items[0]}'. Give what separates the task from the rest."
        )
    return table.described(items={TASK: [task if mark else None for task, mark, _ in parts]})

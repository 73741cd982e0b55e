"""Groups and dimensions beside a leaderboard or a report: the options, and what they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.cli.command_arguments import check_facts
from ogive.errors import InputError
from ogive.numerics.linked_parts import linked_parts
from ogive.progress import at_stage

if TYPE_CHECKING:
    from ogive.responses import Responses
    from ogive.results import Result

GROUPS = (
    "Fact of the respondents that groups them, or a table with the columns respondent and group."
)
DIMENSIONS = "Fact of the items that names their dimension, such as task."

AddedGroups = Annotated[
    str | None,
    typer.Option("--groups", help=f"{GROUPS} Adds the mean of each group.", show_default="none"),
]
AddedDimensions = Annotated[
    str | None,
    typer.Option(
        "--dimensions",
        help=f"{DIMENSIONS} Adds an ability per dimension, and whether they pay.",
        show_default="none",
    ),
]
ADDED = {"groups": (AddedGroups, None), "dimensions": (AddedDimensions, None)}


def added_scales(table: Responses, groups: str | None, dimensions: str | None) -> list[Result]:
    """Groups of respondents on one scale, and several abilities, where they are asked for."""
    if groups is None and dimensions is None:
        return []
    option = "--dimensions" if groups is None else "--groups"
    if linked_parts(table.observed)[0].any():
        raise InputError(
            f"{option} needs one scale, but parts of the table share no item and no respondent. "
            "Analyse each part by itself."
        )
    named = None if groups is None else groups_named(table, groups)
    if dimensions is not None:
        check_facts(table, [dimensions], "--dimensions")
    found: list[Result] = []
    if named is not None:
        from ogive.studies import group_scale

        at_stage("groups on one scale")
        found.append(group_scale(table, named, progress=False))
    if dimensions is not None:
        from ogive.studies import dimension_scale

        at_stage("several dimensions")
        found.append(dimension_scale(table, dimensions, progress=False))
    return found


def groups_named(table: Responses, given: str) -> Any:
    """Return the fact of the respondents, or the groups that a table gives them."""
    if given in (known := list(table.respondent_facts)):
        return given
    if not Path(given).is_file():
        raise InputError(
            f"--groups is '{given}', which is neither a file nor a fact of the respondents; known "
            f"facts: {', '.join(map(str, known)) or 'none'}. "
            "Give a table with the columns respondent and group."
        )
    from ogive.tables.table_files import read_table

    frame = read_table(Path(given))
    if not {"respondent", "group"} <= set(frame.columns):
        raise InputError(
            f"'{given}' has the columns {', '.join(map(str, frame.columns[:10]))}; --groups needs "
            "respondent and group."
        )
    return dict(zip(frame["respondent"].astype(str), frame["group"], strict=True))

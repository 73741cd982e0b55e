"""Typed signature and numpydoc text become options.

Groups and dimensions beside a leaderboard or a report: the options, and what they ask for.

Commands made from the signature of a study: read a table, call, show, write.

The table holds responses, or one row per something else if the first argument is not `responses`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from ogive._progress import at_stage
from ogive._studies import STUDIES
from ogive.cli.output import Console, say_if_long
from ogive.cli.sources import (
    By,
    ByPrefix,
    Items,
    Jobs,
    Json,
    Kind,
    Layout,
    ModelOrAuto,
    OptionalScores,
    Priors,
    Quiet,
    RandomState,
    Scores,
    check_facts,
    check_sources,
    choice,
    finish,
    read_bank,
    read_grouped,
    report_folder,
)
from ogive.errors import InputError
from ogive.irt.models import AUTO
from ogive.stats.linked_parts import linked_parts

if TYPE_CHECKING:
    from ogive.data.responses import Responses
    from ogive.results.base import Result


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
        from ogive.irt.group_scale import group_scale

        at_stage("groups on one scale")
        found.append(group_scale(table, named, progress=False))
    if dimensions is not None:
        from ogive.irt.dimensions.dimension_scale import dimension_scale

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
    from ogive.data.table_files import read_table

    frame = read_table(Path(given))
    if not {"respondent", "group"} <= set(frame.columns):
        raise InputError(
            f"'{given}' has the columns {', '.join(map(str, frame.columns[:10]))}; --groups needs "
            "respondent and group."
        )
    return dict(zip(frame["respondent"].astype(str), frame["group"], strict=True))


CalibrationFile = Annotated[
    Path | None,
    typer.Option(help="Item bank of these items.", show_default="calibrated here"),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder for tables, figures, item banks and a page."),
]
Groups = Annotated[str, typer.Option("--groups", help=GROUPS)]
Dimensions = Annotated[str, typer.Option("--dimensions", help=DIMENSIONS)]
FactNames = Annotated[
    list[str] | None,
    typer.Option(
        "--facts", help="Fact that may explain it; repeatable.", show_default="all numbers"
    ),
]
HumanFile = Annotated[
    Path,
    typer.Option("--human", help="The same table as people scored it, where they did."),
]
# Parameters that mean the same in every study, and parameters that are not options.
KNOWN: dict[str, tuple[Any, Any]] = {
    "by": (By, None),
    "calibration": (CalibrationFile, None),
    "dimensions": (Dimensions, inspect.Parameter.empty),
    "facts": (FactNames, None),
    "groups": (Groups, inspect.Parameter.empty),
    "human": (HumanFile, inspect.Parameter.empty),
    "model": (ModelOrAuto, AUTO),
    "n_jobs": (Jobs, -1),
    "priors": (Priors, "default"),
    "random_state": (RandomState, 0),
}
NO_OPTION = ("progress",)
Rows = Annotated[Path, typer.Argument(help="Table: .csv, .tsv, .parquet or .arff.")]
NONE = "none"
BEFORE = {"responses": (Scores, inspect.Parameter.empty)}
NOT_NEEDED = {"responses": (OptionalScores, None)}
AFTER = {
    "by_prefix": (ByPrefix, None),
    "items": (Items, None),
    "out": (Out, None),
    "layout": (Layout, "auto"),
    "kind": (Kind, None),
    "quiet": (Quiet, False),
    "json": (Json, False),
}


def study_command(name: str) -> Callable[..., None]:
    """Return the command of a study that takes a table of responses first."""
    function = STUDIES[name].load(name)
    first, *others = inspect.signature(function).parameters.values()
    parameters = {each.name: each for each in others}
    rows = first.name not in BEFORE
    described = _described(function)
    known = {} if rows else KNOWN
    options = {
        each.name: option
        for each in parameters.values()
        if (option := _option(each, described, _choices(function, each), known)) is not None
    }
    if "model" in options:  # a study that fits its own takes another only in memory
        options.pop("calibration", None)
    if "calibration" in options:
        options.setdefault("model", KNOWN["model"])
    before = BEFORE if first.default is inspect.Parameter.empty else NOT_NEEDED
    if rows:
        before = {first.name: (Rows, inspect.Parameter.empty)}
    after = {word: AFTER[word] for word in ("out", "quiet", "json")} if rows else AFTER
    run = _run_rows if rows else _run

    def command(**given: Any) -> None:
        run(name, function, given, set(options) & set(parameters))

    added = {**ADDED} if name == "leaderboard" else {}
    whole = before | options | added | after
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                word, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
            for word, (annotation, default) in whole.items()
        ]
    )
    command.__annotations__ = {word: annotation for word, (annotation, _) in whole.items()}
    command.__doc__ = _help(function)
    return command


def _run(
    name: str, function: Callable[..., Any], given: Mapping[str, Any], passed: set[str]
) -> None:
    """Read, call and finish."""
    source, bank, model = given["responses"], given.get("calibration"), given.get("model", AUTO)
    if bank is not None and model != AUTO:
        raise InputError("--model does not apply with --calibration. Leave one of them out.")
    check_sources(source, given["items"], bank, given.get("human"))
    folder = None if given["out"] is None else report_folder(given["out"], source)
    console = Console(given["quiet"], given["json"])
    table, by = None, None
    if source is not None:
        table, by = read_grouped(
            source,
            given["layout"],
            given["kind"],
            given["items"],
            given.get("by"),
            given["by_prefix"],
            console,
        )
    defaults = inspect.signature(function).parameters
    arguments = {word: given[word] for word in passed - {"by", "calibration"}}
    for word, value in list(arguments.items()):
        if value is None:
            del arguments[word]
        elif word == "groups" and table is not None:
            arguments["groups"] = groups_named(table, value)
        elif word == "dimensions" and table is not None:
            check_facts(table, [value], "--dimensions")
        elif word == "human":
            arguments["human"] = read_grouped(value, given["layout"], None, None)[0]
        elif table and _is_fact(defaults[word]) and value != defaults[word].default:
            check_facts(table, [value], f"--{word.replace('_', '-')}")
    for word in passed & {"n_jobs", "priors"}:
        arguments[word] = None if given[word] in (-1, NONE) else given[word]
    if by is not None:
        arguments["by"] = by
    if table is not None:
        say_if_long(console, name, table)
    told = _title(name) if source is None else f"{_title(name)}: {source.name}"
    with console.progress(told) as report:
        if "progress" in defaults:
            arguments["progress"] = report
        if "calibration" in passed and (bank is not None or model != AUTO):
            arguments["calibration"] = _calibration(bank, table, model)
        if "model" not in defaults:
            arguments.pop("model", None)
        words = [None if word in passed else given.get(word) for word in ADDED]
        beside = [] if table is None else added_scales(table, *words)  # refuses before the work
        found = function(table, **arguments)
    asked = sorted(passed | {*ADDED} & given.keys())
    settings = {word: given[word] for word in asked if given[word] is not None}
    finish(console, found, folder, _title(found.name()), settings, beside)


def _run_rows(
    name: str, function: Callable[..., Any], given: Mapping[str, Any], passed: set[str]
) -> None:
    """Read rows, call and finish."""
    from ogive.data.table_files import read_table

    source = given[next(iter(inspect.signature(function).parameters))]
    check_sources(source)
    folder = None if given["out"] is None else report_folder(given["out"], source)
    console = Console(given["quiet"], given["json"])
    defaults = inspect.signature(function).parameters
    arguments = {word: given[word] for word in passed if given[word] is not None}
    for word, value in arguments.items():
        if isinstance(value, list):
            arguments[word] = None if value == [NONE] else value
    with console.progress(f"{_title(name)}: {source.name}") as report:
        if "progress" in defaults:
            arguments["progress"] = report
        found = function(read_table(source), **arguments)
    settings = {word: given[word] for word in sorted(passed) if given[word] is not None}
    finish(console, found, folder, _title(found.name()), settings)


def _calibration(bank: Path | None, table: Any, model: str) -> Any:
    if bank is not None:
        return read_bank(bank)
    from ogive.irt.calibrating import calibrate

    return calibrate(table, model)


def _choices(function: Callable[..., Any], parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return the values of a parameter that is annotated by the name of a `Literal`."""
    alias = function.__globals__.get(str(parameter.annotation))
    return get_args(alias) if get_origin(alias) is Literal else ()


def _option(
    parameter: inspect.Parameter,
    described: Mapping[str, str],
    names: tuple[str, ...],
    known: Mapping[str, tuple[Any, Any]],
) -> tuple[Any, Any] | None:
    """Return the annotation and the default of an option; None where a command has none."""
    name, default = parameter.name, parameter.default
    if name in NO_OPTION:
        return None
    if name in known:
        return known[name]
    text = described.get(name, "")
    if names:
        flag = f"--{name.replace('_', '-')}"
        return Annotated[str, choice(flag, names=names, text=text)], default
    if str(parameter.annotation) == "str | Sequence[str] | None":
        kind: Any = list[str]
        default = [NONE] if default is None else [default]
    elif isinstance(default, bool | int | float | str):
        kind = type(default)
    elif isinstance(default, tuple) and default:
        kind, default = list[type(default[0])], list(default)  # type: ignore[misc]
    elif default is inspect.Parameter.empty:
        kind = {"int": int, "float": float, "str": str}.get(str(parameter.annotation))
    else:
        plain = {
            "int | None": int,
            "float | None": float,
            "str | None": str,
            "Sequence[str] | None": list[str],
        }
        kind = plain.get(str(parameter.annotation))
        kind = None if kind is None else kind | None
    if kind is None:
        return None
    if default is inspect.Parameter.empty:
        return Annotated[kind, typer.Option(f"--{name.replace('_', '-')}", help=text)], default
    return Annotated[kind, typer.Option(help=text)], default


def _is_fact(parameter: inspect.Parameter) -> bool:
    """Return True if a parameter names a fact of items."""
    return str(parameter.annotation) == "object"


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _help(function: Callable[..., Any]) -> str:
    """Return what the docstring says before its sections."""
    text = inspect.getdoc(function) or ""
    return re.split(r"\n\n(?:[A-Z][a-z]+\n-{3,}|>>> )", text, maxsplit=1)[0]


def _described(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each parameter in a numpydoc docstring."""
    text = inspect.getdoc(function) or ""
    found = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n[A-Z][a-z]+\n-+|\Z)", text, re.M | re.S)
    described: dict[str, str] = {}
    for entry in re.finditer(r"^(\w[\w, ]*)\n((?: +.*\n?)+)", found[1] if found else "", re.M):
        for name in entry[1].split(", "):
            described[name] = " ".join(entry[2].split())
    return described

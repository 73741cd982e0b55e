"""Commands from signatures: typed parameters and their numpydoc text become options.

A study that takes a table first is a command by its signature alone: read, call, show, write.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from ogive._progress import at_stage
from ogive._studies import STUDIES
from ogive.cli.output import Console, finish, say_if_long
from ogive.cli.sources import (
    BY,
    BY_PREFIX,
    ITEMS,
    JOBS,
    JSON,
    MODEL,
    PRIORS,
    QUIET,
    READING,
    SCORES,
    SEED,
    UNSET,
    Parameter,
    argument,
    check_facts,
    check_files,
    groups_named,
    input_file,
    option,
    output_folder,
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

REQUIRED = inspect.Parameter.empty
NONE = "none"  # the word for None where options have a default


class Call(SimpleNamespace):
    """A command that runs: what was given, by name, and the function that it calls."""

    def __init__(self, given: Mapping[str, Any], function: Any, arguments: dict[str, Any]) -> None:
        super().__init__(**given)
        self.console = Console(given["quiet"], given["json"])
        self.function = function
        self.arguments = arguments  # options that the function has, unless they are None

    def settings(self, *names: str) -> dict[str, Any]:
        """Return what was given for some parameters, by name."""
        return {name: getattr(self, name) for name in names}

    def read_responses(self) -> Responses:
        """Read the responses, of the layout and kind that were given."""
        from ogive.data.response_files import read_responses

        return read_responses(self.responses, **self.settings("layout", "kind"))


@dataclass(frozen=True)
class Command:
    """A command: its parameters, and what it does with a call."""

    run: Callable[[Any], None]
    parameters: Mapping[str, Parameter]
    function: str = ""  # the function whose signature completes the parameters, "module:name"
    text: str = ""  # help, unless it is the docstring of `run`

    def callback(self) -> Callable[..., None]:
        """Return the function from which typer makes the command."""
        function = resolve_name(self.function) if self.function else None
        known = inspect.signature(function).parameters if function else {}
        parameters = {
            name: each if each.kind is not UNSET else _completed(each, known[name], function)
            for name, each in self.parameters.items()
        } | {"quiet": QUIET, "json": JSON}

        def command(**given: Any) -> None:
            check_files(parameters, given)
            arguments = {
                name: None if name == "priors" and given[name] == NONE else given[name]
                for name, each in parameters.items()
                if name in known and not (each.argument or each.reads or each.endings)
                if given[name] is not None
            }
            self.run(Call(given, function, arguments))

        signature = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=REQUIRED if each.default is UNSET else each.default,
                annotation=each.annotation(name),
            )
            for name, each in parameters.items()
        ]
        command.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in signature}
        command.__doc__ = self.text or self.run.__doc__
        return command


def command(function: str = "", /, **parameters: Parameter | str) -> Callable[[Any], Command]:
    """Make a command of what runs a `Call`.

    A parameter that is only a text takes type, choices and default from the `function`.
    """
    written = {
        name: each if isinstance(each, Parameter) else Parameter(each)
        for name, each in parameters.items()
    }
    return partial(Command, parameters=written, function=function)


def _completed(
    written: Parameter, parameter: inspect.Parameter, function: Callable[..., Any] | None
) -> Parameter:
    """Return a parameter with the type, the choices and the default of the function's own."""
    made = _from_annotation(parameter, function)
    if made is None:
        raise TypeError(f"`{parameter.name}` has no type that an option can have")
    kind, default, names = made
    return replace(
        written,
        kind=kind,
        default=default if written.default is UNSET else written.default,
        names=written.names or names,
    )


def _from_annotation(
    parameter: inspect.Parameter, function: Callable[..., Any] | None
) -> tuple[Any, Any, tuple[str, ...]] | None:
    """Return type, default and choices of an option; None if a command has none for it."""
    stated, default = str(parameter.annotation), parameter.default
    alias = getattr(function, "__globals__", {}).get(stated.removesuffix(" | None"))
    if get_origin(alias) is Literal:
        return str, default, get_args(alias)
    if stated == "str | Sequence[str] | None":
        return list[str], [NONE] if default is None else [default], ()
    if isinstance(default, bool | int | float | str):
        return type(default), default, ()
    if isinstance(default, tuple) and default:
        return list[type(default[0])], list(default), ()  # type: ignore[misc]
    plain = {"int": int, "float": float, "str": str, "Sequence[str]": list[str]}
    kind = plain.get(stated if default is REQUIRED else stated.removesuffix(" | None"))
    if kind is None or (default is REQUIRED and kind == list[str]):
        return None
    return kind, UNSET if default is REQUIRED else default, ()


# Groups and dimensions, also beside a leaderboard or a report.

GROUPS_TEXT = (
    "Fact of the respondents that groups them, or a table with the columns respondent and group."
)
DIMENSIONS_TEXT = "Fact of the items that names their dimension, such as task."
ADDED = {
    "groups": option(f"{GROUPS_TEXT} Adds the mean of each group.", str, show_default=NONE),
    "dimensions": option(
        f"{DIMENSIONS_TEXT} Adds an ability per dimension, and whether they pay.",
        str,
        show_default=NONE,
    ),
}


def added_scales(table: Responses, groups: str | None, dimensions: str | None) -> list[Result]:
    """Return groups of respondents on one scale, and several abilities, if they are asked for."""
    if groups is None and dimensions is None:
        return []
    if linked_parts(table.observed)[0].any():
        raise InputError(
            f"{'--dimensions' if groups is None else '--groups'} needs one scale, but parts of the "
            "table share no item and no respondent. Analyse each part by itself."
        )
    named = None if groups is None else groups_named(table, groups)
    if dimensions is not None:
        check_facts(table, [dimensions], "--dimensions")
    scales: list[Result] = []
    if named is not None:
        from ogive.irt.group_scale import group_scale

        at_stage("groups on one scale")
        scales.append(group_scale(table, named, progress=False))
    if dimensions is not None:
        from ogive.irt.dimensions.dimension_scale import dimension_scale

        at_stage("several dimensions")
        scales.append(dimension_scale(table, dimensions, progress=False))
    return scales


# Studies.

# Parameters that mean the same in every study of responses.
KNOWN: dict[str, Parameter] = {
    "by": BY,
    "calibration": input_file("Item bank of these items.", show_default="calibrated here"),
    "dimensions": option(DIMENSIONS_TEXT, str, UNSET),
    "facts": option("Fact that may explain it; repeatable.", list[str], show_default="all numbers"),
    "groups": option(GROUPS_TEXT, str, UNSET),
    "human": input_file("The same table as people scored it, where they did.", UNSET),
    "model": MODEL,
    "n_jobs": JOBS,
    "priors": PRIORS,
    "random_state": SEED,
}
OUT = output_folder("Folder for tables, figures, item banks and a page.")
OPTIONAL_SCORES = argument(
    "Responses: .csv, .tsv, .parquet or .jsonl.", Path, None, show_default=False
)


def study_command(name: str) -> Command:
    """Return the command of a study that takes a table first.

    The table holds responses if the first argument is called so, otherwise one row per something
    else.
    """
    function = STUDIES[name].load(name)
    first, *others = inspect.signature(function).parameters.values()
    responses = first.name == "responses"
    described = _described(function)
    options: dict[str, Parameter] = {}
    for each in others:
        if responses and each.name in KNOWN:
            options[each.name] = KNOWN[each.name]
        elif each.name != "progress" and (made := _from_annotation(each, function)) is not None:
            kind, default, names = made
            options[each.name] = Parameter(described.get(each.name, ""), kind, default, names)
    passed = {*options}
    if "model" in options:  # a study that fits its own takes another only in memory
        options.pop("calibration", None)
        passed.discard("calibration")
    elif "calibration" in options:
        options["model"] = MODEL
    if not responses:
        table = argument("Table: .csv, .tsv, .parquet or .arff.")
        parameters = {first.name: table, **options, "out": OUT}
        run = partial(_run_rows, name, function, passed)
    else:
        table = SCORES if first.default is REQUIRED else OPTIONAL_SCORES
        added = ADDED if name == "leaderboard" else {}
        reading = {"by_prefix": BY_PREFIX, "items": ITEMS, "out": OUT, **READING}
        parameters = {first.name: table, **options, **added, **reading}
        run = partial(_run_study, name, function, passed)
    help_text = re.split(
        r"\n\n(?:[A-Z][a-z]+\n-{3,}|>>> )", inspect.getdoc(function) or "", maxsplit=1
    )[0]
    return Command(run, parameters, text=help_text)


def _run_study(name: str, function: Callable[..., Any], passed: set[str], call: Call) -> None:
    """Read responses, call the study, and finish; `passed` names what the study takes."""
    given, source, console = vars(call), call.responses, call.console
    bank, model = given.get("calibration"), given.get("model", AUTO)
    if bank is not None and model != AUTO:
        raise InputError("--model does not apply with --calibration. Leave one of them out.")
    folder = report_folder(call.out, source)
    table: Any = None
    by = None
    if source is not None:
        table, by = read_grouped(
            source, call.layout, call.kind, call.items, given.get("by"), call.by_prefix, console
        )
    known = inspect.signature(function).parameters
    arguments = {
        word: given[word] for word in passed - {"by", "calibration"} if given[word] is not None
    }
    for word, value in arguments.items():
        if word == "groups" and table is not None:
            arguments[word] = groups_named(table, value)
        elif word == "human":
            arguments[word] = read_grouped(value, call.layout, None)[0]
        elif word in ("n_jobs", "priors") and value in (-1, NONE):
            arguments[word] = None
        elif table is not None and (
            word == "dimensions"
            or (str(known[word].annotation) == "object" and value != known[word].default)
        ):
            check_facts(table, [value], f"--{word.replace('_', '-')}")
    if by is not None:
        arguments["by"] = by
    if table is not None:
        say_if_long(console, name, table)
    title = _title(name) if source is None else f"{_title(name)}: {source.name}"
    with console.progress(title) as report:
        if "progress" in known:
            arguments["progress"] = report
        if bank is not None:
            arguments["calibration"] = read_bank(bank)
        elif "calibration" in passed and model != AUTO:
            from ogive.irt.calibrating import calibrate

            arguments["calibration"] = calibrate(table, model)
        words = [None if word in passed else given.get(word) for word in ADDED]
        beside = [] if table is None else added_scales(table, *words)
        result = function(table, **arguments)
    asked = sorted(passed | {*ADDED} & given.keys())
    settings = {word: given[word] for word in asked if given[word] is not None}
    finish(console, result, folder, _title(result.name()), settings, beside)


def _run_rows(name: str, function: Callable[..., Any], passed: set[str], call: Call) -> None:
    """Read rows, call the study, and finish."""
    from ogive.data.table_files import read_table

    given, known = vars(call), inspect.signature(function).parameters
    source = given[next(iter(known))]
    folder = report_folder(call.out, source)
    settings = {word: given[word] for word in sorted(passed) if given[word] is not None}
    arguments = {word: None if value == [NONE] else value for word, value in settings.items()}
    with call.console.progress(f"{_title(name)}: {source.name}") as report:
        if "progress" in known:
            arguments["progress"] = report
        result = function(read_table(source), **arguments)
    finish(call.console, result, folder, _title(result.name()), settings)


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _described(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each parameter in a numpydoc docstring."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n[A-Z][a-z]+\n-+|\Z)", text, re.M | re.S)
    described: dict[str, str] = {}
    for entry in re.finditer(r"^(\w[\w, ]*)\n((?: +.*\n?)+)", section[1] if section else "", re.M):
        for name in entry[1].split(", "):
            described[name] = " ".join(entry[2].split())
    return described

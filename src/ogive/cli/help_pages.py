"""Help of commands as plain text: examples first, no type names, choices never broken."""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ogive.cli.command_examples import examples_of
from ogive.words import meant

WIDEST = 100  # signs of a line; longer ones are hard to read
FLAGS = 28  # signs of the column of flags
MARGIN = 2
CSV, DEBUG = "--csv", "--debug"
OPTIONS = "[OPTIONS]"
CSV_HELP = "Print the table as CSV, also in a terminal."
# Commands whose result is no single table.
WITHOUT_TABLE = frozenset(
    {"difficulty fit", "gate fit", "publish", "read", "report", "serve", "view"}
)


class HelpedCommand(TyperCommand):
    """A command whose help is a plain page."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002 (as of typer)
        """Return what follows the name of the command in its line of usage, as help writes it.

        The error below that line, such as "Missing argument", then calls arguments the same.
        """
        for each in _arguments(self):
            each.metavar = _word(each)
        return [OPTIONS, *map(_usage, _arguments(self))]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        formatter.write(help_page(ctx))


class HelpedGroup(TyperGroup):
    """A group of commands whose help is a plain page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        formatter.write(help_page(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; guess what a mistyped one means, which older versions of typer do not."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            said = getattr(error, "message", "")
            if args and said and "Did you mean" not in said:
                error.message = f"{said}{meant(args[0], self.list_commands(ctx))}"  # type: ignore[attr-defined]
            raise


def help_page(ctx: Any) -> str:
    """Return the help of the command, or the group of commands, of a context."""
    command = ctx.command
    width = min(shutil.get_terminal_size().columns, WIDEST)
    options = [each for each in command.get_params(ctx) if each.param_type_name == "option"]
    arguments = _arguments(command)
    named = ctx.command_path.partition(" ")[2]
    group = hasattr(command, "list_commands")
    usage = [ctx.command_path, OPTIONS, *map(_usage, arguments)]
    parts = [" ".join(["Usage:", *usage, *(["COMMAND ..."] if group else [])])]
    parts.append(_prose(command.help or "", width))
    if examples := examples_of(named):
        shown = [_broken(line, width) for line in examples]
        parts.append("\n".join([_head("Examples:"), *shown]))
    if group:
        parts += [_listed(head, rows, width) for head, rows in _commands(ctx, command)]
    if arguments:
        rows = [(_word(each), _said(each)) for each in arguments]
        parts.append(_listed("Arguments:", rows, width))
    rows = [(_flags(each), _said(each)) for each in options if not each.hidden]
    if not group and named not in WITHOUT_TABLE:
        rows.insert(-1, (f"    {CSV}", CSV_HELP))
    parts.append(_listed("Options:", rows, width))
    if command.epilog:
        parts.append(_prose(command.epilog, width))
    return "\n\n".join(parts) + "\n"


def _arguments(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "argument"]


def _head(text: str) -> str:
    return typer.style(text, bold=True)


def _prose(text: str, width: int) -> str:
    """Paragraphs, broken between words."""
    paragraphs = re.split(r"\n\s*\n", _plain(inspect.cleandoc(text)))
    return "\n\n".join(
        textwrap.fill(" ".join(each.split()), width, break_on_hyphens=False) for each in paragraphs
    )


def _plain(text: str) -> str:
    """Text without marks of code: `by` is written 'by'."""
    return re.sub(r"``?([^`]+)``?", r"'\1'", text)


def _broken(line: str, width: int) -> str:
    """An example; one that is too long goes on in the next line, as a shell takes it."""
    lines = textwrap.wrap(line, width - MARGIN - 2, break_long_words=False, break_on_hyphens=False)
    indents = [" " * MARGIN, *[" " * (MARGIN + 4)] * (len(lines) - 1)]
    return " \\\n".join(indent + part for indent, part in zip(indents, lines, strict=True))


def _listed(head: str, rows: Sequence[tuple[str, str]], width: int) -> str:
    """Names and what they are; a name that is too long has a line of its own."""
    column = min(FLAGS, max((len(name) for name, _ in rows), default=0)) + 2 * MARGIN
    lines = [_head(head)]
    for name, said in rows:
        wrapped = textwrap.wrap(
            said, max(width - column, 20), break_on_hyphens=False, break_long_words=False
        )
        first = " " * MARGIN + name
        if len(first) + MARGIN > column or not wrapped:
            lines.append(first)
        else:
            lines.append(first.ljust(column) + wrapped.pop(0))
        lines += [" " * column + line for line in wrapped]
    return "\n".join(lines)


def _commands(ctx: Any, group: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The commands of a group below their headings."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        head = getattr(command, "rich_help_panel", None)
        first = inspect.cleandoc(command.help or "").split("\n\n")[0]
        row = (name, _plain(" ".join(first.split())))
        panels.setdefault(head if isinstance(head, str) else "Commands", []).append(row)
    for head, rows in panels.items():
        yield f"{head}:", rows


def _word(parameter: Any) -> str:
    return str(parameter.name).strip("_").upper().replace("_", "-")


def _usage(argument: Any) -> str:
    word = _word(argument) + ("..." if argument.nargs == -1 else "")
    return word if argument.required else f"[{word}]"


def _flags(option: Any) -> str:
    """The flags of an option, short ones first, and what to give it."""
    every = [*option.opts, *option.secondary_opts]
    brief = [flag for flag in every if not flag.startswith("--")]
    long = [flag for flag in every if flag.startswith("--")]
    flags = ", ".join([*brief, *long]) if brief else "    " + ", ".join(long)
    if option.is_flag:
        return flags
    metavar = option.metavar
    return f"{flags} {metavar if metavar and '|' not in metavar else _word(option)}"


def _said(parameter: Any) -> str:
    """What a parameter is, what may be given, and what it is if it is left out."""
    said = [_plain(parameter.help or "")]
    if parameter.metavar and "|" in parameter.metavar:
        said.append(f"One of {', '.join(parameter.metavar.split('|'))}.")
    shown, default = parameter.show_default, parameter.default
    if isinstance(shown, str):
        said.append(f"[default: {shown}]")
    elif parameter.required:
        said.append("[required]")
    elif shown and not callable(default) and default not in (None, False, "", (), []):
        values = default if isinstance(default, list | tuple) else [default]
        said.append(f"[default: {', '.join(map(str, values))}]")
    return " ".join(filter(None, said))

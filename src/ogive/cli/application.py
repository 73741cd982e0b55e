"""The command line: plain help, commands that are loaded when they run, readable errors."""

from __future__ import annotations

import errno
import inspect
import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ogive import __version__
from ogive._processes import INTERRUPTED, begins, heeded
from ogive._progress import heartbeat, hushed
from ogive._studies import STUDIES
from ogive.cli.output import (
    at_the_end,
    csv_wanted,
    in_command_prose,
    in_command_words,
    own_words,
    tell,
)
from ogive.cli.registry import GROUPS, HOMES, SYNONYMS, WITHOUT_TABLE, contents, examples_of
from ogive.errors import OgiveError
from ogive.results.numbers import meant
from ogive.results.text_table import harmless

WIDEST = 100  # signs of a line; longer ones are hard to read
FLAGS = 28  # signs of the column of flags
MARGIN = 2  # signs before a name
CSV, DEBUG = "--csv", "--debug"
OPTIONS = "[OPTIONS]"
CSV_HELP = "Print the table as CSV, also in a terminal."


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
            message = getattr(error, "message", "")
            if args and message and "Did you mean" not in message:
                error.message = f"{message}{meant(args[0], self.list_commands(ctx))}"  # type: ignore[attr-defined]
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
        rows = [(_word(each), _description(each)) for each in arguments]
        parts.append(_listed("Arguments:", rows, width))
    rows = [(_flags(each), _description(each)) for each in options if not each.hidden]
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
    """Return paragraphs, broken between words."""
    paragraphs = re.split(r"\n\s*\n", _plain(inspect.cleandoc(text)))
    return "\n\n".join(
        textwrap.fill(" ".join(each.split()), width, break_on_hyphens=False) for each in paragraphs
    )


def _plain(text: str) -> str:
    """Return text without marks of code: `by` is written 'by'."""
    return re.sub(r"``?([^`]+)``?", r"'\1'", text)


def _broken(line: str, width: int) -> str:
    """Return an example; one that is too long goes on in the next line, as a shell takes it."""
    lines = textwrap.wrap(line, width - MARGIN - 2, break_long_words=False, break_on_hyphens=False)
    indents = [" " * MARGIN, *[" " * (MARGIN + 4)] * (len(lines) - 1)]
    return " \\\n".join(indent + part for indent, part in zip(indents, lines, strict=True))


def _listed(head: str, rows: Sequence[tuple[str, str]], width: int) -> str:
    """Return names and what they are; a name that is too long has a line of its own."""
    column = min(FLAGS, max((len(name) for name, _ in rows), default=0)) + 2 * MARGIN
    lines = [_head(head)]
    for name, text in rows:
        wrapped = textwrap.wrap(
            text, max(width - column, 20), break_on_hyphens=False, break_long_words=False
        )
        first = " " * MARGIN + name
        if len(first) + MARGIN > column or not wrapped:
            lines.append(first)
        else:
            lines.append(first.ljust(column) + wrapped.pop(0))
        lines += [" " * column + line for line in wrapped]
    return "\n".join(lines)


def _commands(ctx: Any, group: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the commands of a group below their headings."""
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
    """Return the flags of an option, short ones first, and what to give it."""
    every = [*option.opts, *option.secondary_opts]
    brief = [flag for flag in every if not flag.startswith("--")]
    long = [flag for flag in every if flag.startswith("--")]
    flags = ", ".join([*brief, *long]) if brief else "    " + ", ".join(long)
    if option.is_flag:
        return flags
    metavar = option.metavar
    return f"{flags} {metavar if metavar and '|' not in metavar else _word(option)}"


def _description(parameter: Any) -> str:
    """Return what a parameter is, what may be given, and what it is if it is left out."""
    parts = [_plain(parameter.help or "")]
    if parameter.metavar and "|" in parameter.metavar:
        parts.append(f"One of {', '.join(parameter.metavar.split('|'))}.")
    shown, default = parameter.show_default, parameter.default
    if isinstance(shown, str):
        parts.append(f"[default: {shown}]")
    elif parameter.required:
        parts.append("[required]")
    elif shown and not callable(default) and default not in (None, False, "", (), []):
        values = default if isinstance(default, list | tuple) else [default]
        parts.append(f"[default: {', '.join(map(str, values))}]")
    return " ".join(filter(None, parts))


EXIT_CODES = (
    "Exit codes: 0 fine; 2 wrong usage; 3 bad input, explained on stderr; "
    "4 result written, but not converged; 130 interrupted."
)


def loaded(name: str) -> Any:
    """Return a command, or a group of commands."""
    group = name in GROUPS
    if group:
        line = next(lines[name] for lines in contents().values() if name in lines)
        made = typer.Typer(cls=HelpedGroup, add_completion=False, no_args_is_help=True, help=line)
        for each in HOMES:
            if each.startswith(f"{name} "):
                made.command(each.split()[1], cls=HelpedCommand)(_callback(each))
    else:
        made = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        made.command(name, cls=HelpedCommand, epilog=EXIT_CODES)(_callback(name))
    command = typer.main.get_command(made)
    command.name, command.epilog = name, EXIT_CODES
    return command


def _callback(name: str) -> Callable[..., None]:
    """Return the function of a command, by its module or as a study."""
    if name in HOMES:
        module = import_module(f"ogive.cli.{HOMES[name]}")
        command = getattr(module, name.replace(" ", "_"))
    else:
        from ogive.cli.signature import study_command

        command = study_command(next(k for k, each in STUDIES.items() if each.command == name))
    callback: Callable[..., None] = command.callback()
    return callback


BOTH = {DEBUG, CSV}  # options that may follow any command
SILENT = frozenset({"--quiet", "-q", "--json", "serve", "view"})  # where nobody waits for words
NAME = "name"
BAD_INPUT = 3
# Errors that name no file and come from writing: a full disk, a closed or broken stream.
UNWRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
NO_MEMORY = ("failed to map segment", "can't start new thread", "Cannot allocate memory")
QUIET_TRACKER = (
    "ignore:resource_tracker:UserWarning"  # it cleans up after an interrupt, and says so
)
CALLED = {  # words of Python that the command line shortens or calls otherwise
    "n_jobs": "jobs",
    "n_respondents": "respondents",
    "n_items": "items",
    "metric": "measure",
    "sizes": "budget",
    "rename": "name",
}


class Commands(HelpedGroup):
    """The group of all commands: lists them without imports, and explains what one raises."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all names, in the order of the headings."""
        del ctx
        return [name for lines in contents().values() for name in lines]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the line of a command, which is all that help needs."""
        del ctx
        for panel, lines in contents().items():
            if cmd_name in lines:
                return TyperCommand(cmd_name, help=lines[cmd_name], rich_help_panel=panel)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command itself, once it is asked for by name."""
        asked, known = args[0], self.list_commands(ctx)
        if asked not in known and not asked.startswith("-"):
            meaning = SYNONYMS.get(asked.lower(), asked)
            ctx.fail(f"No such command '{asked}'.{meant(meaning, known)}")
        name, command, rest = super().resolve_command(ctx, args)
        two_words = f"{name} {rest[0]}" if rest else ""
        if name not in GROUPS and two_words in HOMES:
            return two_words, loaded(two_words), rest[1:]
        return name, command if name is None else loaded(name), rest

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take --debug and --csv out of the arguments, wherever they appear."""
        end = args.index("--") if "--" in args else len(args)
        words = [word for word in args[:end] if not word.startswith("-")]
        names = {" ".join(words[:1]), " ".join(words[:2])}  # of the command, as far as it is known
        taken = {DEBUG} if names & WITHOUT_TABLE else BOTH
        ctx.meta[DEBUG], ctx.meta[CSV] = (flag in taken & set(args[:end]) for flag in (DEBUG, CSV))
        ctx.meta[SILENT] = not SILENT.isdisjoint(args[:end])
        ctx.meta[NAME] = f"ogive {' '.join(words[:1])}"
        rest = [word for word in args[:end] if word not in taken] + args[end:]
        remaining: list[str] = super().parse_args(ctx, rest)
        return remaining

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with (
            begins(),
            report_errors(debug=ctx.meta[DEBUG], options=partial(_options_of, ctx)),
            ExitStack() as end,
        ):
            before = at_the_end.set(end)
            end.callback(at_the_end.reset, before)
            end.callback(csv_wanted.reset, csv_wanted.set(ctx.meta[CSV]))
            own = partial(in_command_prose, options=partial(_options_of, ctx))
            end.callback(own_words.reset, own_words.set(own))
            if sys.stderr.isatty() and not ctx.meta[SILENT]:
                end.enter_context(heartbeat(harmless(ctx.meta[NAME])))
            return super().invoke(ctx)


def _options_of(ctx: Any) -> dict[str, str]:
    """Return the flag of each parameter of the command that was asked for, as Python calls it."""
    name = ctx.invoked_subcommand
    command = None if name is None else loaded(name)
    every = [command, *getattr(command, "commands", {}).values()]
    flags = {
        parameter.name: max(parameter.opts, key=len)
        for each in every
        for parameter in getattr(each, "params", ())
        if parameter.param_type_name == "option"
    }
    return flags | {long: flags[short] for long, short in CALLED.items() if short in flags}


@contextmanager
def report_errors(
    *, debug: bool = False, options: Callable[[], Mapping[str, str]] = dict
) -> Iterator[None]:
    """Turn expected errors into a message and an exit code; bugs keep their traceback.

    With `debug`, errors keep theirs as well. `options` returns the flags of the command, by which
    messages call its arguments.
    """
    try:
        with heeded():
            yield
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has stopped
        _forget_stdout()
        raise typer.Exit from None
    except (OgiveError, OSError) as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, OSError) and error.filename is None and error.errno in UNWRITTEN:
            raise _stop(_unwritten(error), BAD_INPUT) from None
        raise _stop(in_command_words(error, options()), BAD_INPUT) from None
    except (MemoryError, ImportError, RuntimeError) as error:
        if not _lacks_memory(error):
            raise
        raise _stop(
            "There is not enough memory. Close other programs, or give fewer respondents or items.",
            BAD_INPUT,
        ) from None
    except KeyboardInterrupt:
        tell("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _lacks_memory(error: BaseException | None) -> bool:
    """Return True if memory is what is missing, also if the system says it in its own words."""
    if error is None:
        return False
    lacks = isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY)
    return lacks or _lacks_memory(error.__cause__ or error.__context__)


@contextmanager
def resumable(*, kept: bool = True) -> Iterator[None]:
    """Say after Ctrl-C that finished work is kept, if it is."""
    try:
        yield
    except KeyboardInterrupt:
        if kept:
            tell("Finished classifiers are kept: the same command resumes from here.", err=True)
        raise


def _stop(message: str, code: int) -> typer.Exit:
    tell(f"Error: {message}", err=True)
    return typer.Exit(code)


def _unwritten(error: OSError) -> str:
    """Say that standard output takes no more, as on a full disk."""
    _forget_stdout()
    return f"The output cannot be written: {error.strerror or error}. Write it somewhere else."


def _open_streams() -> None:
    """Let what is written to a closed stream (`>&-`) go nowhere; others would take its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


class _BestEffortStderr(FileIO):
    """Standard error: what a full disk does not take is lost, and the work goes on."""

    def write(self, data: Any) -> int:
        """Write what can be written."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _lose_unwritten() -> None:
    """Let a full or broken standard error end no command; its exit code still tells."""
    if type(sys.stderr) is TextIOWrapper:
        sys.stderr = TextIOWrapper(
            BufferedWriter(_BestEffortStderr(sys.stderr.fileno(), "w", closefd=False)),
            encoding=sys.stderr.encoding,
            errors="backslashreplace",
            line_buffering=True,
        )


def _forget_stdout() -> None:
    """Discard buffered output, so that Python does not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=Commands,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"ogive {__version__}")
        raise typer.Exit


@app.callback()
def ogive(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[  # taken out of the line by `Commands`, wherever it appears
        bool, typer.Option("--debug", help="Show the traceback of errors; may follow any command.")
    ] = False,
) -> None:
    """Evaluate machine-learning models with Item Response Theory.

    Accuracy says how many items a model solved. Ogive says which ones,
    how hard they were, and how sure you can be.
    More on each command: ogive COMMAND --help
    """


def run() -> None:
    """Run the command that was asked for."""
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # workers import nothing from where they start
    known = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{known},{QUIET_TRACKER}" if known else QUIET_TRACKER
    _open_streams()
    _lose_unwritten()
    if isinstance(sys.stdout, TextIOWrapper):  # which, unlike stderr, refuses some names of files
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with hushed():  # commands show their own progress, unless --quiet
            app(prog_name="ogive")
    except OSError as error:  # of help and --version, which no command has printed
        if error.errno not in UNWRITTEN:
            raise
        tell(f"Error: {_unwritten(error)}", err=True)
        sys.exit(BAD_INPUT)

"""`ogive` and the table of its commands: listed without imports, run with readable errors."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ogive import __version__
from ogive.cli.command_syntax import in_command_prose, in_command_words
from ogive.cli.console import at_the_end, csv_wanted, own_words, tell
from ogive.cli.help_pages import CSV, DEBUG, WITHOUT_TABLE, HelpedCommand, HelpedGroup
from ogive.cli.terminal_tables import harmless
from ogive.errors import OgiveError
from ogive.interrupts import INTERRUPTED, begins, heeded
from ogive.progress import heartbeat, hushed
from ogive.studies import STUDIES
from ogive.words import meant

EXIT_CODES = (
    "Exit codes: 0 fine; 2 wrong usage; 3 bad input, explained on stderr; "
    "4 result written, but not converged; 130 interrupted."
)
CONTENTS: dict[str, dict[str, str]] = {
    "One scale for items and respondents": {
        "calibrate": "Put the items and respondents of a table on one scale.",
        "score": "Place new respondents on the scale of an item bank.",
        "diagnose": "Diagnose the calibration of a table.",
        "simulate": "Simulate responses from a model with known parameters.",
    },
    "Classifiers and benchmarks": {
        "decode": "Decode a benchmark: which data sets are hard, which instances are suspect, "
        "who is strongest.",
        "tournament": "Rate respondents by Glicko-2: every item is a round robin, the higher "
        "score wins.",
        "confusion": "Look inside the confusion matrix: which items each of several classifiers "
        "gets right.",
        "difficulty": "Predict the difficulty of items from their features.",
        "publish": "Publish chosen data sets as a benchmark suite on OpenML.",
    },
    "Language models": {
        "read": "Read evaluation logs of language models into one table of responses.",
        "shorten": "Choose a few items that predict the score on all of them, and measure the "
        "error.",
        "adapt": "Replay recorded responses adaptively: how well a few items predict the score "
        "on all items.",
        "evaluate": "Ask a model the most informative items, in Inspect or lm-eval, and predict "
        "its accuracy.",
        "link": "Put a new version of a benchmark, or new items, on the scale of an old item bank.",
    },
    "Algorithms": {
        "portfolio": "Compare algorithms on problems: who is consistent, who leads where, and "
        "which few to keep.",
    },
    "Models in use": {
        "capability": "Find up to what case difficulty a classifier can be trusted, class by "
        "class, with few cases.",
        "gate": "Let a model decide the cases it is capable of, and people the others.",
        "serve": "Serve a gate over HTTP: which cases the model may decide, and which go to a "
        "person.",
    },
    "Results": {
        "report": "Make one page of results that opens anywhere: headline, tables, figures, item "
        "explorer.",
        "view": "Explore responses, logs or an item bank in the browser, while they are still "
        "written.",
        "demo": "Decode the data sets of scikit-learn, some of their labels changed on purpose.",
    },
}

# The module of each command that is written by hand, and its name there if it differs.
HOMES = {
    "adapt": "evaluation_commands",
    "calibrate": "scale_commands",
    "capability": "capability_commands",
    "confusion": "confusion_commands",
    "decode": "decode_commands",
    "demo": "decode_commands",
    "diagnose": "scale_commands",
    "difficulty": "difficulty_commands:group",
    "evaluate": "harness_commands",
    "gate": "gate_commands:group",
    "link": "evaluation_commands",
    "portfolio": "portfolio_commands",
    "portfolio evaluate": "selection_commands:evaluate",
    "portfolio select": "selection_commands:select",
    "publish": "decode_commands",
    "read": "log_commands",
    "report": "report_commands",
    "score": "scale_commands",
    "serve": "gate_commands",
    "shorten": "evaluation_commands",
    "simulate": "scale_commands",
    "tournament": "tournament_commands",
    "view": "view_commands",
}

# What people may call a command, where the name that looks most alike is another one.
SAID = {
    **dict.fromkeys(("compare", "rank", "ranking", "board", "significance"), "leaderboard"),
    **dict.fromkeys(("fit", "irt", "estimate", "model", "train"), "calibrate"),
    **dict.fromkeys(("arena", "elo", "battles", "bradley-terry", "pairwise"), "preferences"),
    **dict.fromkeys(("abilities", "ability", "place"), "score"),
    **dict.fromkeys(("adaptive", "cat", "replay"), "adapt"),
    **dict.fromkeys(("app", "explore", "explorer", "open", "show", "watch"), "view"),
    **dict.fromkeys(("check", "fitness"), "diagnose"),
    **dict.fromkeys(("convert", "import", "logs"), "read"),
    **dict.fromkeys(("equate", "anchor"), "link"),
    **dict.fromkeys(("example", "tutorial"), "demo"),
    **dict.fromkeys(("fairness", "bias", "dif"), "differential"),
    **dict.fromkeys(("generate", "sample"), "simulate"),
    **dict.fromkeys(("glicko", "ratings"), "tournament"),
    **dict.fromkeys(("html", "page"), "report"),
    **dict.fromkeys(("judge", "judges", "raters"), "facets"),
    **dict.fromkeys(("labels", "suspects", "mislabels"), "decode"),
    **dict.fromkeys(("power", "samplesize"), "plan"),
    **dict.fromkeys(("short", "subset", "select"), "shorten"),
    **dict.fromkeys(("algorithms", "solvers"), "portfolio"),
    **dict.fromkeys(("handoff", "triage", "reject"), "gate"),
}


def contents() -> dict[str, dict[str, str]]:
    """Return all commands by heading: those written by hand, and those of the registry."""
    found = {panel: dict(lines) for panel, lines in CONTENTS.items()}
    for study in STUDIES.values():
        if study.command:
            found.setdefault(study.panel, {}).setdefault(study.command, study.help)
    return found


class Contents(HelpedGroup):
    """A group that lists its commands without importing them, and imports one when it is run."""

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
            ctx.fail(f"No such command '{asked}'.{meant(SAID.get(asked.lower(), asked), known)}")
        name, found, rest = super().resolve_command(ctx, args)
        two_words = f"{name} {rest[0]}" if rest else ""
        if two_words in HOMES:
            return two_words, loaded(two_words), rest[1:]
        return name, found if name is None else loaded(name), rest


def loaded(name: str) -> Any:
    """Return a command, or a group of commands."""
    alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    if name in HOMES:
        module, _, member = HOMES[name].partition(":")
        found = getattr(import_module(f"ogive.cli.{module}"), member or name)
        if isinstance(found, typer.Typer):
            alone = found
        else:
            alone.command(name, cls=HelpedCommand, epilog=EXIT_CODES)(found)
    else:
        from ogive.cli.study_commands import study_command

        function = next(each for each, study in STUDIES.items() if study.command == name)
        alone.command(name, cls=HelpedCommand, epilog=EXIT_CODES)(study_command(function))
    made = typer.main.get_command(alone)
    made.name, made.epilog = name, EXIT_CODES
    return made


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


class Commands(Contents):
    """The group of all commands; explains what any of them raises."""

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
        found: list[str] = super().parse_args(ctx, rest)
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with (
            begins(),
            explained(debug=ctx.meta[DEBUG], options=partial(_options_of, ctx)),
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
    found = {
        parameter.name: max(parameter.opts, key=len)
        for each in every
        for parameter in getattr(each, "params", ())
        if parameter.param_type_name == "option"
    }
    return found | {long: found[short] for long, short in CALLED.items() if short in found}


@contextmanager
def explained(
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
    """Whether memory is what is missing, by the words of the system where it is told otherwise."""
    if error is None:
        return False
    told = isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY)
    return told or _lacks_memory(error.__cause__ or error.__context__)


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


class _Lossy(FileIO):
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
            BufferedWriter(_Lossy(sys.stderr.fileno(), "w", closefd=False)),
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
    """Item Response Theory for machine-learning models.

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

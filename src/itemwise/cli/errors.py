"""What a person at a terminal sees when something goes wrong: one line, and an exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from itemwise.cli.console import tell
from itemwise.cli.contents import Contents
from itemwise.errors import ItemwiseError

BAD_INPUT = 3
INTERRUPTED = 130
DEBUG = "--debug"
_LAYOUT = re.compile(r"(?:pass )?layout='(\w+)'")  # as one says it in Python


class Commands(Contents):
    """The group of all commands; explains what any of them raises."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take --debug out of the line, wherever a person in a hurry has put it."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[DEBUG] = DEBUG in args[:end]
        rest = [word for word in args[:end] if word != DEBUG] + args[end:]
        found: list[str] = super().parse_args(ctx, rest)
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with explained(debug=ctx.meta[DEBUG]):
            return super().invoke(ctx)


@contextmanager
def explained(*, debug: bool = False) -> Iterator[None]:
    """Turn what a caller can act on into a message and an exit code; bugs keep their traceback.

    With `debug`, errors keep theirs as well.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        _forget_stdout()
        raise typer.Exit from None
    except (ItemwiseError, OSError) as error:
        if debug:
            traceback.print_exc()
        raise _stop(str(error), BAD_INPUT) from None
    except MemoryError:
        raise _stop(
            "There is not enough memory. Close other programs, or give fewer respondents or items.",
            BAD_INPUT,
        ) from None
    except KeyboardInterrupt:
        tell("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def resumable(*, kept: bool = True) -> Iterator[None]:
    """Say after Ctrl-C that nothing finished is lost, where it is `kept`."""
    try:
        yield
    except KeyboardInterrupt:
        if kept:
            tell("Finished classifiers are kept: the same command goes on from here.", err=True)
        raise


def _stop(message: str, code: int) -> typer.Exit:
    tell("Error: " + _LAYOUT.sub(r"use --layout \1", message), err=True)
    return typer.Exit(code)


def _forget_stdout() -> None:
    """Send what is still buffered nowhere, or Python complains about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

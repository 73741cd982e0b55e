"""What a person at a terminal sees when something goes wrong: one line, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from itemwise.errors import ItemwiseError

BAD_INPUT = 3
NOT_CONVERGED = 4
INTERRUPTED = 130


class Commands(TyperGroup):
    """The group of all commands; explains what any of them raises."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with explained():
            return super().invoke(ctx)


@contextmanager
def explained() -> Iterator[None]:
    """Turn what a caller can act on into a message and an exit code; bugs keep their traceback."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        _forget_stdout()
        raise typer.Exit from None
    except (ItemwiseError, OSError) as error:
        raise _stop(str(error), BAD_INPUT) from None
    except MemoryError:
        raise _stop(
            "There is not enough memory. Close other programs, or give fewer respondents or items.",
            BAD_INPUT,
        ) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _stop(message: str, code: int) -> typer.Exit:
    typer.echo(f"Error: {message}", err=True)
    return typer.Exit(code)


def _forget_stdout() -> None:
    """Send what is still buffered nowhere, or Python complains about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

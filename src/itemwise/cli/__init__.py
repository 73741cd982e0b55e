"""The command line: reads a file, calls a function, writes a file; no logic.

Only typer and the table of contents are imported here; a command is imported when it runs, and
imports the rest itself, so that `itemwise --help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from itemwise import __version__
from itemwise.cli.command_table import EXIT_CODES, Commands
from itemwise.progress import hushed

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
        typer.echo(f"itemwise {__version__}")
        raise typer.Exit


@app.callback()
def itemwise(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[  # taken out of the line by `Commands`, wherever it stands
        bool, typer.Option("--debug", help="Show the traceback of errors; may follow any command.")
    ] = False,
) -> None:
    """Item Response Theory for machine-learning models.

    Accuracy says how many items a model solved. Itemwise says which ones,
    how hard they were, and how sure you can be.
    More on each command: itemwise COMMAND --help
    """


def main() -> None:
    """Run the command line."""
    with hushed():  # commands say themselves what they show, and --quiet means it
        app(prog_name="itemwise")

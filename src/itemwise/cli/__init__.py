"""The command line: reads a file, calls a function, writes a file; no logic.

Only typer, rich and the names of models and engines are imported here; commands import the rest
when they run, so that `itemwise --help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from itemwise import __version__
from itemwise.cli.calibrate import calibrate
from itemwise.cli.capability import capability
from itemwise.cli.confusion import confusion
from itemwise.cli.decode import decode
from itemwise.cli.demo import demo
from itemwise.cli.diagnose import diagnose
from itemwise.cli.difficulty import group as difficulty
from itemwise.cli.errors import Commands
from itemwise.cli.gate import group as gate
from itemwise.cli.portfolio import portfolio
from itemwise.cli.publish import publish
from itemwise.cli.score import score
from itemwise.cli.serve import serve
from itemwise.cli.simulate import simulate
from itemwise.cli.tournament import tournament

EXIT_CODES = (
    "Exit codes: 0 fine; 2 wrong usage; 3 bad input, explained on stderr; "
    "4 result written, but not converged; 130 interrupted."
)

app = typer.Typer(
    cls=Commands,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
COMMANDS = (
    *(calibrate, score, diagnose, decode, confusion, portfolio, capability),
    *(tournament, publish, simulate, demo),
)
for command in COMMANDS:
    app.command(epilog=EXIT_CODES)(command)
app.command(epilog=EXIT_CODES)(serve)
app.add_typer(difficulty, name="difficulty", epilog=EXIT_CODES)
app.add_typer(gate, name="gate", epilog=EXIT_CODES)


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
) -> None:
    """Item Response Theory for machine-learning models.

    Accuracy says how many items a model solved. Itemwise says which ones, how hard they were,
    and how sure you can be.
    """


def main() -> None:
    """Run the command line."""
    app(prog_name="itemwise")

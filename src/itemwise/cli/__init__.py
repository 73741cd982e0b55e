"""The command line: reads a file, calls a function, writes a file; no logic.

Only typer and the table of commands are imported here; a command is imported when it runs, and
imports the rest itself, so that `itemwise --help` answers at once.
"""

from __future__ import annotations

from itemwise.cli.command_table import app, main

__all__ = ["app", "main"]

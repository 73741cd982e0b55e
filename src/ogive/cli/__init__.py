"""The command line: reads a file, calls a function, writes a file; no logic.

Nothing is imported here; a command is imported when it runs, and imports the rest itself, so that
`ogive --help` answers at once, and Ctrl-C is heeded from the beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive._lazy import lazily
from ogive._processes import end_at_once

if TYPE_CHECKING:
    from ogive.cli.application import app as app

__all__ = ["app", "main"]


__getattr__ = lazily(__name__, {"app": "application"})


def main() -> None:
    """Run the command line."""
    end_at_once()
    from ogive.cli.application import run

    run()

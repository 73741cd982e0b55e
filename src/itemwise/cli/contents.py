"""The table of contents: every command in one line, so that help imports none of them.

A command `name` is the function `name`, or the group of commands `group`, of the module
`itemwise.cli.name`; the first line of its help is the line that stands here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

EXIT_CODES = (
    "Exit codes: 0 fine; 2 wrong usage; 3 bad input, explained on stderr; "
    "4 result written, but not converged; 130 interrupted."
)
CONTENTS: dict[str, dict[str, str]] = {
    "One scale for items and respondents": {
        "calibrate": "Put the items and respondents of a table on one scale.",
        "score": "Place new respondents on the scale of an item bank.",
        "diagnose": "Say whether a calibration of a table can be believed.",
        "simulate": "Draw responses from a model whose truth is known.",
    },
    "Classifiers and benchmarks": {
        "decode": "Decode a benchmark: which data sets are hard, which instances are suspect, "
        "who is strongest.",
        "tournament": "Rate respondents by Glicko-2: every item is a round robin, the higher "
        "score wins.",
        "confusion": "Open the confusion matrix: which of several classifiers earns its hits, "
        "and on which items.",
        "difficulty": "Predict the difficulty of items from their features.",
        "publish": "Publish chosen data sets as a benchmark suite on OpenML.",
    },
    "Language models": {
        "read": "Read evaluation logs of language models into one table of responses.",
        "leaderboard": "Rank respondents, with intervals of accuracy, ability and rank, and say "
        "who is really better.",
        "health": "Say which items of a benchmark need a look, and how much it still tells.",
        "shorten": "Choose a few items that predict the score on all of them, and say how far off "
        "they are.",
        "adapt": "Simulate adaptive evaluation on recorded responses: how well a few items "
        "foretell all.",
        "tasks": "Say which tasks measure the same: one scale a task, and correlations between "
        "them.",
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
    "Show it": {
        "report": "Make one page of results that opens anywhere: headline, tables, figures, item "
        "explorer.",
        "demo": "Decode the data sets of scikit-learn, some of their labels changed on purpose.",
    },
}


class Contents(TyperGroup):
    """A group that lists its commands from the table, and imports one when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the table."""
        del ctx
        return [name for lines in CONTENTS.values() for name in lines]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The line of a command, which is all that help needs."""
        del ctx
        for panel, lines in CONTENTS.items():
            if cmd_name in lines:
                return TyperCommand(cmd_name, help=lines[cmd_name], rich_help_panel=panel)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command itself, once it is asked for by name."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else loaded(name), rest


def loaded(name: str) -> Any:
    """A command, or a group of commands, from its module."""
    module = import_module(f"itemwise.cli.{name}")
    if hasattr(module, "group"):
        made = typer.main.get_command(module.group)
    else:
        alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        alone.command(name, epilog=EXIT_CODES)(getattr(module, name))
        made = typer.main.get_command(alone)
    made.name, made.epilog = name, EXIT_CODES
    return made

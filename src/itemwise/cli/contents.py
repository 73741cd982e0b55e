"""The table of contents: every command in one line, so that help imports none of them.

A command of `CONTENTS` is the function of that name, or the group of commands `group`, in the
module of that name; all others are made from the registry of studies. The first line of a
command's help is the line in the table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from itemwise.studies import STUDIES

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
        "shorten": "Choose a few items that predict the score on all of them, and say how far off "
        "they are.",
        "adapt": "Simulate adaptive evaluation on recorded responses: how well a few items "
        "foretell all.",
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


def contents() -> dict[str, dict[str, str]]:
    """Return all commands by heading: those written by hand, and those of the registry."""
    found = {panel: dict(lines) for panel, lines in CONTENTS.items()}
    for study in STUDIES.values():
        if study.command:
            found.setdefault(study.panel, {}).setdefault(study.command, study.help)
    return found


class Contents(TyperGroup):
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
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else loaded(name), rest


def loaded(name: str) -> Any:
    """Return a command, or a group of commands."""
    alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    if any(name in lines for lines in CONTENTS.values()):
        module = import_module(f"itemwise.cli.{name}")
        if hasattr(module, "group"):
            alone = module.group
        else:
            alone.command(name, epilog=EXIT_CODES)(getattr(module, name))
    else:
        from itemwise.cli.study_commands import study_command

        function = next(each for each, study in STUDIES.items() if study.command == name)
        alone.command(name, epilog=EXIT_CODES)(study_command(function))
    made = typer.main.get_command(alone)
    made.name, made.epilog = name, EXIT_CODES
    return made

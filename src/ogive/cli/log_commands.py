"""The command `ogive read`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ogive.cli.command_arguments import (
    RESPONSES,
    TABLE,
    Json,
    Quiet,
    check_targets,
    choice,
    write_table,
)
from ogive.cli.console import Console
from ogive.errors import InputError
from ogive.responses.logs.log_variants import MERGE, SEPARATE
from ogive.words import shown

if TYPE_CHECKING:
    from ogive.responses import LogReading

MOST_FILES = 20  # that are shown

Logs = Annotated[
    list[Path],
    typer.Argument(help="Logs, or folders: lm-eval, Inspect, HELM, Every Eval Ever, OpenML."),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", help="Table of responses to write; .parquet keeps the facts, too."),
]
Files = Annotated[
    Path | None,
    typer.Option(
        "--files",
        help="Table of the log files to write: what was read from each, and what was not.",
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        help="Score to read; if repeated, the first that a log contains.", show_default="usual"
    ),
]
Filter = Annotated[
    str | None,
    typer.Option("--filter", help="Filter of lm-eval to read.", show_default="strict or first"),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variants",
        help="separate or merge what a model answered under different conditions; or, repeatable, "
        "the conditions that make respondents, such as shots.",
        show_default="separate",
    ),
]
Name = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="OLD=NEW",
        help="New name of a model, or of the models in a folder or file; repeatable.",
    ),
]
KeepText = Annotated[
    bool, typer.Option("--keep-text", help="Keep the text and the target of each item.")
]

ChoicesOut = Annotated[
    Path | None,
    typer.Option(
        "--choices", help="Table of the options that models chose to write, where logs tell."
    ),
]


def read(
    logs: Logs,
    out: Out,
    metric: Metric = None,
    filter_: Filter = None,
    epochs: Annotated[
        str,
        choice(
            names=("mean", "grades", "first"),
            text="How to combine several responses of a model to the same item; mean keeps their "
            "number, too.",
        ),
    ] = "mean",
    variants: Variants = None,
    name: Name = None,
    keep_text: KeepText = False,
    choices: ChoicesOut = None,
    files: Files = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Read evaluation logs of language models into one table of responses.

    Folders are searched for logs. What is left out is counted, with the reason.
    """
    check_targets(
        {"--out": (out, RESPONSES), "--files": (files, TABLE), "--choices": (choices, TABLE)},
        sources=logs,
    )
    rename = _pairs(name or [])
    from ogive.responses import read_logs
    from ogive.responses.logs.log_reading import in_mebibytes

    console = Console(quiet, json)
    with console.progress("Reading logs") as report:
        found = read_logs(
            logs,
            metric=metric or None,
            filter=filter_,
            epochs=epochs,  # type: ignore[arg-type]
            variants=_variants(variants or []),
            rename=rename,
            keep_text=keep_text,
            keep_choices=choices is not None,
            progress=in_mebibytes(report),
        )
    found.responses.save(out)
    lost = [] if out.suffix.lower() == ".parquet" else _lost(found)
    verdict, *others = found.sentences()
    console.say(verdict)
    _show(console, found)
    console.say(f"Responses: {out}")
    if choices is not None:
        _write_choices(console, found, choices)
    if files is not None:
        write_table(found.files.set_index("file"), files)
        console.say(f"Files: {files}")
    for text in (*others, *lost):
        console.say(text)
    console.document(_document(found) | {"notes": [*found.notes, *lost], "out": out})


def _write_choices(console: Console, found: LogReading, path: Path) -> None:
    """Write options and key, or say that there are none."""
    from ogive.responses.chosen_options import option_frame

    if found.choices is None:
        console.say("Choices: the logs do not say which option was chosen.")
        return
    write_table(option_frame(found.choices), path)
    console.say(f"Choices: {path}")


def _variants(given: list[str]) -> str | list[str]:
    """One of the words, or the conditions; none is the default."""
    words = [word for word in given if word in (SEPARATE, MERGE)]
    if words and len(given) > 1:
        raise InputError(f"--variants {words[0]} stands alone; leave the others out.")
    return (words or [SEPARATE])[0] if words or not given else given


def _pairs(given: list[str]) -> dict[str, str]:
    """New names by old ones; the last = separates, because paths may hold others."""
    found = {}
    for text in given:
        old, sign, new = text.rpartition("=")
        if not sign or not old or not new:
            raise InputError(f"--name is {shown(text)}, but it should be OLD=NEW.")
        found[old] = new
    return found


def _lost(found: LogReading) -> list[str]:
    """A remark on facts that a plain table does not keep."""
    facts = dict.fromkeys([*found.responses.item_facts, *found.responses.respondent_facts])
    if not facts:
        return []
    return [f"A CSV keeps no facts ({', '.join(facts)}); name a .parquet file to keep them."]


def _show(console: Console, found: LogReading) -> None:
    """Show the files by name, unless there are many."""
    if len(found.files) <= MOST_FILES:
        counts = found.files[["rows", "read", "dropped", "task", "model", "format"]]
        console.show(counts.set_index(found.files["file"].map(_distinct(found.files["file"]))))


def _distinct(files: Iterable[str]) -> dict[str, str]:
    """The name of each file, with its folder where others have the same name."""
    often = Counter(Path(file).name for file in files)
    return {
        file: "/".join(Path(file).parts[-1 if often[Path(file).name] == 1 else -2 :])
        for file in files
    }


def _document(found: LogReading) -> dict[str, object]:
    return {
        "models": found.responses.respondents,
        "items": found.responses.n_items,
        "kind": found.responses.kind,
        "meaning": found.sentences(),
        "left_out": found.left_out,
        "notes": found.notes,
        "files": found.files,
    }

"""The command `ogive view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ogive.cli.command_arguments import Json, ModelOrAuto, Quiet
from ogive.cli.console import Console
from ogive.models import AUTO

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="Responses (.csv, .tsv, .parquet, .jsonl), evaluation logs or folders of them, an "
        "item bank, or a folder that a command wrote."
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free port.")]
Browser = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
]


def view(
    paths: Paths,
    model: ModelOrAuto = AUTO,
    port: Port = 0,
    browser: Browser = True,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Explore responses, logs or an item bank in the browser, while they are still written.

    The page is served on this machine only (127.0.0.1), to whoever has the address with its token;
    nothing is sent elsewhere. Responses are calibrated in the background. Files that change are
    read again. Further logs can be dropped onto the page. Ctrl-C ends it.
    """
    from ogive.serving.viewer import check_installed
    from ogive.serving.viewer import view as run
    from ogive.viewing.view_session import ViewSession

    check_installed()
    console, session = Console(quiet, json), ViewSession(paths, model)
    with console.progress("Reading"):
        session.look()

    def ready(address: str) -> None:
        rows, items = session.opened.shape
        console.say(f"{rows:,} models, {items:,} items: {address}")
        console.remark("Ctrl-C ends it.")
        console.document({"address": address, "respondents": rows, "items": items})

    run(session, port=port, browser=browser, ready=ready)
    console.say("Ended.")

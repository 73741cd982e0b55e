"""`itemwise publish`."""

from __future__ import annotations

from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.options import Json, Quiet

Sources = Annotated[
    list[str], typer.Argument(help="Tasks of OpenML, like openml-task:31.", show_default=False)
]
Name = Annotated[str, typer.Option(help="Name of the suite.")]
Description = Annotated[str, typer.Option(help="What the suite is for, and how it was chosen.")]
Alias = Annotated[str | None, typer.Option(help="Second name, for addresses: my-suite.")]
Send = Annotated[
    bool,
    typer.Option("--send", help="Publish it. The API key is taken from OPENML_APIKEY."),
]
Address = Annotated[
    str | None,
    typer.Option("--server", help="Another OpenML, like https://test.openml.org/api/v1/xml."),
]


def publish(
    datasets: Sources,
    name: Name,
    description: Description,
    alias: Alias = None,
    send: Send = False,
    server: Address = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Publish chosen data sets as a benchmark suite on OpenML.

    Without --send nothing leaves this machine: what would be published is shown.
    """
    from itemwise.datasets import publish_suite

    console = Console(quiet, json)
    done = publish_suite(
        datasets,
        name=name,
        description=description,
        alias=alias,
        dry_run=not send,
        server=server,
    )
    console.say(f"Name: {done.name}")
    console.say(f"Alias: {done.alias or 'none'}")
    console.say(f"Description: {done.description}")
    console.show(done.to_frame())
    console.say(done.meaning)
    if not send:
        console.say("Publish it with --send: the suite will be public and in your name.")
    console.document(
        {
            "name": done.name,
            "description": done.description,
            "alias": done.alias,
            "tasks": done.tasks,
            "server": done.server,
            "suite": done.suite,
            "address": done.address,
            "meaning": [done.meaning],
        }
    )

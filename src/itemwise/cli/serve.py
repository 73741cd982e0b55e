"""`itemwise serve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.options import Json, Quiet

KEY = "ITEMWISE_API_KEY"
HERE = ("127.0.0.1", "::1", "localhost")

Saved = Annotated[Path, typer.Argument(help="Gate that CapabilityGate.save wrote, .json.")]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")]
MostRows = Annotated[int, typer.Option(min=1, help="Most rows in a request.")]
MostBytes = Annotated[int, typer.Option(min=1, help="Most bytes in a request.")]


def serve(
    gate: Saved,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    max_rows: MostRows = 1_000,
    max_bytes: MostBytes = 1_048_576,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Serve a gate over HTTP: which cases the model may decide, and which go to a person.

    The documentation of the service is at /docs. Where the environment variable ITEMWISE_API_KEY is
    set, requests need it in the header X-API-Key. SIGTERM and Ctrl-C let running requests finish.
    """
    from itemwise.saved_files import load_only
    from itemwise.serving import RequestLimits
    from itemwise.serving import serve as run

    console = Console(quiet, json)
    limits = RequestLimits(rows=max_rows, body_bytes=max_bytes)
    key = os.environ.get(KEY)
    loaded = load_only("gate", gate)

    def ready(address: str) -> None:
        console.say(f"Serving {gate} at {address}, documentation at {address}/docs")
        if key is None and host not in HERE:
            console.remark(f"Anyone who reaches {host} can use it: set {KEY} to ask for a key.")
        console.document(
            {"address": address, "features": dict(loaded.kinds_), "key": key is not None}
        )

    run(loaded, host=host, port=port, limits=limits, api_key=key, ready=ready)

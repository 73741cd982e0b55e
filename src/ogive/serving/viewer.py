"""Run `ogive view`: read, open the browser, and serve until Ctrl-C."""

from __future__ import annotations

import secrets
import webbrowser
from collections.abc import Callable
from importlib.util import find_spec

from ogive.errors import MissingExtraError
from ogive.serving.contract import RequestLimits
from ogive.serving.server import run_app
from ogive.serving.view_application import make_view_app
from ogive.viewing.view_session import ViewSession

HOST = "127.0.0.1"
SHUTDOWN_SECONDS = 1  # nobody waits for a request that is lost


def check_installed() -> None:
    """Refuse to begin without the packages that serve, before anything is read."""
    for name in ("starlette", "uvicorn"):
        if find_spec(name) is None:
            raise MissingExtraError(name, "serve")


def view(
    session: ViewSession,
    *,
    port: int = 0,
    browser: bool = True,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Show what a session has read, on this machine only, until SIGTERM or Ctrl-C.

    `ready` is called with the address, which ends with the token; only who knows it sees anything.
    """
    token = secrets.token_urlsafe(32)
    title = ", ".join(path.name or str(path) for path in session.paths)

    def opened(address: str) -> None:
        whole = f"{address}/#token={token}"
        if ready is not None:
            ready(whole)
        if browser:
            webbrowser.open(whole)

    run_app(
        make_view_app(session, token, title),
        host=HOST,
        port=port,
        limits=RequestLimits(),
        ready=opened,
        graceful=SHUTDOWN_SECONDS,
    )

"""`ogive view`: one page and the data that it asks for, on this machine and behind a token."""

from __future__ import annotations

import hmac
import re
import secrets
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ogive._files import size_for_people
from ogive.capability.http_requests import RefusalError, RequestLimits, answer, as_json
from ogive.capability.http_service import HEADERS, MAX_HEADER_BYTES, hung_up, run_app
from ogive.errors import MissingExtraError, OgiveError
from ogive.reporting.page_assets import SCRIPTS, asset, filled, policy_of, script_of, text
from ogive.reporting.session import ViewSession

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ogive.reporting.app_scales import ShownScale


HOST = "127.0.0.1"
SHUTDOWN_SECONDS = 1  # nobody waits for a request that is lost
MAX_DROPPED_BYTES = 1024**3
TOKEN = b"x-ogive-token"
LOCAL = {"127.0.0.1", "localhost", "[::1]"}
_BATCH = re.compile(r"[0-9a-f-]{36}")
_STALE = "The data have changed in the meantime; the page reads them again."

Endpoint = Callable[["Request"], Awaitable["Response"]]


def make_view_app(session: ViewSession, token: str, title: str) -> Starlette:
    """Return the application. All but the empty page needs `token` in the header X-Ogive-Token.

    Requests that name another host are refused, so that no foreign page can reach it by a name
    that it points here; the page itself may fetch nothing from elsewhere.
    """
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.middleware import Middleware
    except ImportError as error:
        raise MissingExtraError("starlette", "serve") from error

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        session.start()
        yield
        session.close()

    async def unknown(_request: Request, error: Any) -> Response:
        return answer(RefusalError(error.status_code, "There is nothing here."))

    return Starlette(
        routes=_routes(session, title),
        middleware=[Middleware(ViewGuard, token=token.encode())],
        exception_handlers={HTTPException: unknown},
        lifespan=lifespan,
    )


class ViewGuard:
    """ASGI middleware: only this machine, by its own name, and only with the token."""

    def __init__(self, app: ASGIApp, token: bytes) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, unless it is refused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS, *_PRIVATE]
            await send(message)

        refused = self._refused(scope)
        try:
            await (answer(refused) if refused else self._app)(scope, receive, sent)
        except RefusalError as refusal:
            await answer(refusal)(scope, receive, sent)
        except Exception as error:
            if not hung_up(error):
                raise

    def _refused(self, scope: Scope) -> RefusalError | None:
        headers = scope["headers"]
        if sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
            return RefusalError(431, "The headers of the request are too long.")
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) != 1 or re.sub(r":\d+$", "", hosts[0]) not in LOCAL:
            return RefusalError(403, "This server answers only to the address that it printed.")
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return RefusalError(403, "This server answers only to its own page.")
        if scope["path"] == "/":
            return None
        given = [value for name, value in headers if name == TOKEN]
        if len(given) == 1 and hmac.compare_digest(given[0], self._token):
            return None
        return RefusalError(401, "The token is missing or wrong.")


_PRIVATE = [
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


def _routes(session: ViewSession, title: str) -> list[Any]:
    from starlette.responses import HTMLResponse, Response
    from starlette.routing import Route

    script = script_of((*SCRIPTS[:-1], "live.js", SCRIPTS[-1]))
    values = {
        "title": text(title),
        "style": f"{asset('page.css')}\n{asset('view.css')}",
        "explorer": asset("explorer.html") + asset("compare.html"),
        "models": asset("models.html"),
        "script": script,
    }
    page = filled(asset("view.html"), values)
    policy = policy_of(script, "connect-src 'self'", "frame-ancestors 'none'")

    async def shell(_request: Request) -> Response:
        return HTMLResponse(page, headers={"content-security-policy": policy})

    async def state(_request: Request) -> Response:
        return as_json(session.state())

    async def data(_request: Request) -> Response:
        return Response(session.snapshot.document, media_type="application/json")

    asked: dict[str, Callable[[ShownScale, Request], Any]] = {
        "/item": lambda scale, request: scale.item(_number(request, "row", scale.n_items)),
        "/respondent": lambda scale, request: scale.respondent(
            _number(request, "place", scale.n_respondents)
        ),
        "/suspects": lambda scale, _: scale.suspects(),
        "/search": lambda scale, request: {
            "rows": scale.search(request.query_params.get("words", "")[:1000])
        },
    }
    return [
        Route("/", shell, methods=["GET"]),
        Route("/state", state, methods=["GET"]),
        Route("/data", data, methods=["GET"]),
        *(Route(path, _telling(session, tell), methods=["GET"]) for path, tell in asked.items()),
        Route("/drop", _drop(session), methods=["POST"]),
        Route("/open", _open(session), methods=["POST"]),
    ]


def _telling(session: ViewSession, tell: Callable[[ShownScale, Request], Any]) -> Any:
    def endpoint(request: Request) -> Response:  # not async: it runs beside other requests
        version, number = (_number(request, name) for name in ("version", "scale"))
        scale = session.scale(version, number)
        if scale is None:
            return answer(RefusalError(409, _STALE))
        return as_json(tell(scale, request))

    return endpoint


def _number(request: Request, name: str, below: int | None = None) -> int:
    """Return a whole number from the query of a request."""
    given = request.query_params.get(name, "")
    if not (given.isascii() and given.isdigit() and len(given) < 12):
        raise RefusalError(422, f"{name} should be a whole number.")
    if below is not None and int(given) >= below:
        raise RefusalError(422, f"{name} is {given}, but there are {below:,}.")
    return int(given)


def _drop(session: ViewSession) -> Endpoint:
    async def drop(request: Request) -> Response:
        batch, inside = _batch(request), _inside(request)
        try:
            path = session.dropped_path(batch, inside)
            try:
                size = await _written(request, path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise RefusalError(
                507,
                f"The file cannot be kept: {error.strerror or error}. Name it in the command line "
                "instead.",
            ) from None
        return as_json({"bytes": size})

    return drop


async def _written(request: Request, path: Path) -> int:
    """Write the body of a request to a file, unless it is too large."""
    size = 0
    with path.open("wb") as file:
        async for part in request.stream():
            size += len(part)
            if size > MAX_DROPPED_BYTES:
                most = size_for_people(MAX_DROPPED_BYTES)
                raise RefusalError(
                    413, f"The file is larger than {most}. Name it in the command line instead."
                )
            file.write(part)
    return size


def _open(session: ViewSession) -> Endpoint:
    async def opened(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        batch = _batch(request)
        try:
            message = await run_in_threadpool(session.add, batch)
        except (OgiveError, OSError) as error:
            return answer(RefusalError(422, session.in_own_words(str(error), batch)))
        return as_json({"said": message})

    return opened


def _batch(request: Request) -> str:
    given = request.query_params.get("batch", "")
    if not _BATCH.fullmatch(given):
        raise RefusalError(422, "batch should be a UUID.")
    return given


def _inside(request: Request) -> Path:
    """Return a path that stays below the folder that it is put into."""
    given = PurePosixPath(request.query_params.get("path", ""))
    parts = [re.sub(r"[^\w .+=@()-]", "_", part)[:120] for part in given.parts]
    outside = given.is_absolute() or any(part.strip(". ") == "" for part in parts)
    if not parts or len(parts) > 12 or outside:
        raise RefusalError(422, "The name of the file cannot be used.")
    return Path(*parts)


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

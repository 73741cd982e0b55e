"""Clients that send or read too slowly, or say too much, with both parsers of uvicorn."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

from ogive.capability.http_service import _draining, impatient  # noqa: E402

SECONDS, MOST, DRAIN = 0.3, 5, 0.1
LARGE = b" " * 20_000_000  # more than the buffers of both sides


async def app(scope, receive, send):
    """Read the body; answer /large with much, and others with the names of their headers."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    names = [name.decode() for name, _ in scope["headers"]]
    body = LARGE if scope["path"] == "/large" else json.dumps(names).encode()
    length = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(params=["h11", "httptools"])
def parser(request, monkeypatch):
    module = pytest.importorskip(f"uvicorn.protocols.http.{request.param}_impl")
    name = {"h11": "H11Protocol", "httptools": "HttpToolsProtocol"}[request.param]
    monkeypatch.setattr("uvicorn.protocols.http.auto.AutoHTTPProtocol", getattr(module, name))


@asynccontextmanager
async def serving():
    """Run a server in this loop, and yield it with its port."""
    protocol = impatient(SECONDS, MOST)
    config = uvicorn.Config(app, http=protocol, ws="none", lifespan="off", log_config=None)
    server = _draining(config, DRAIN)
    config.load()
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await server.startup(sockets=[listening])
        await server.on_tick(0)
        server.port = listening.getsockname()[1]
        yield server
        await server.shutdown(sockets=[listening])


async def connected(server, sent):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def until(happened):
    async with asyncio.timeout(20):
        while not happened():
            await asyncio.sleep(0.01)


GET = b"GET / HTTP/1.1\r\nHost: gate\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: gate\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
TRAILER = b"X-API-Key: k\r\n\r\n"


def test_what_follows_the_body_does_not_count_as_headers(parser):
    async def asked():
        async with serving() as server:
            reader, writer = await connected(server, CHUNKED + TRAILER)
            first = await reader.readuntil(b"]")
            writer.write(CHUNKED)
            await asyncio.sleep(0.05)
            writer.write(TRAILER)
            second = await reader.readuntil(b"]")
            writer.close()
            return first, second

    for answer in asyncio.run(asked()):
        assert json.loads(answer.split(b"\r\n\r\n")[1]) == ["host", "transfer-encoding"]


def test_a_client_that_never_reads_its_answer_is_closed(parser):
    async def asked():
        async with serving() as server:
            sent = GET.replace(b"/", b"/large", 1)
            with socket.create_connection(("127.0.0.1", server.port)) as deaf:
                deaf.sendall(sent)
                await until(lambda: server.server_state.connections)
                await until(lambda: not server.server_state.connections)
                await until(lambda: not server.server_state.tasks)

    asyncio.run(asked())


def test_clients_that_finish_neither_head_nor_body_make_room(parser):
    async def asked():
        async with serving() as server:
            slow = CHUNKED[:-6], GET[:-10]
            waiting = [await connected(server, slow[i % 2]) for i in range(2 * MOST)]
            reader, writer = await connected(server, GET)
            answer = await reader.readuntil(b"]")
            n_open = len(server.server_state.connections)
            for _, one in [*waiting, (reader, writer)]:
                one.close()
            return answer, n_open

    answer, n_open = asyncio.run(asked())
    assert b" 200 " in answer
    assert n_open <= MOST


def test_a_connection_that_is_kept_is_told_when_the_service_ends(parser):
    async def asked():
        async with serving() as server:
            reader, writer = await connected(server, GET)
            before = await reader.readuntil(b"]")
            ending = asyncio.create_task(server.shutdown())
            await asyncio.sleep(DRAIN / 4)
            writer.write(GET)
            after = await reader.read()
            writer.close()
            await ending
            return before, after

    before, after = asyncio.run(asked())
    assert b"connection: close" not in before
    assert b"connection: close" in after

"""The service as a process: hostile bytes on its socket, and its end."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from ogive.capability.http_service import _listening, serve
from ogive.errors import InputError, MissingExtraError

CODE = """
import json, os, pathlib, re, runpy, sys, time
from ogive.capability.http_requests import RequestLimits
from ogive.capability.http_service import serve

folder = pathlib.Path(sys.argv[2])

class Slow(runpy.run_path(sys.argv[1])["StandIn"]):
    def decide(self, X):
        if (X["age"] == 99).any():
            (folder / "begun").touch()
            while not (folder / "go on").exists():
                time.sleep(0.01)
        if (X["age"] == 98).any():
            re.match("(a+)+$", "a" * 50 + "b")  # for years, and no other thread runs meanwhile
        if (X["age"] == 97).any():
            os._exit(1)
        return super().decide(X)

limits = RequestLimits(seconds=0.5, body_bytes=50_000, **json.loads(sys.argv[3]))
serve(Slow(), port=0, limits=limits, api_key="k", ready=lambda text: print(text, flush=True))
print("ended", flush=True)
"""
GOOD = json.dumps({"rows": [{"age": 30, "sex": "f"}]}).encode()
SIZE = len(GOOD)


SLOW = json.dumps({"rows": [{"age": 99, "sex": "f"}]}).encode()


@contextmanager
def running(folder, **limits):
    """A server whose gate, asked for an age of 99, says that it has begun and waits to go on."""
    words = [sys.executable, "-c", CODE, str(Path(__file__).with_name("conftest.py")), str(folder)]
    words.append(json.dumps(limits))
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found, process.stderr.read()
            process.port = int(found[1])
            process.begun, process.go_on = folder / "begun", folder / "go on"
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("gate")) as process:
        yield process


@pytest.fixture(scope="module")
def port(server):
    return server.port


def wait_for(happened):
    """Wait until something has happened, which on a busy machine may take a while."""
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline, "waited for in vain"
        time.sleep(0.01)


def is_closed(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=10).close()
    except ConnectionError:
        return True
    return False


def head(length=SIZE, method="POST", path="/decide", key="k", more=""):
    return (
        f"{method} {path} HTTP/1.1\r\nHost: gate\r\nX-API-Key: {key}\r\n{more}"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def talk(port, sent, seconds=10):
    """What comes back, until the answer is complete or the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        got = b""
        try:
            connection.sendall(sent)
            while b"\r\n\r\n" not in got or len(got.split(b"\r\n\r\n", 1)[1]) < _length(got):
                part = connection.recv(65_536)
                if not part:
                    break
                got += part
        except ConnectionError:
            pass
        return got


def _length(got):
    found = re.search(rb"content-length: (\d+)", got.lower())
    return int(found[1]) if found else 10**9


def status(got):
    return int(got.split(b" ", 2)[1]) if got else 0


def chunks(size, count):
    return (b"%x\r\n" % size + b" " * size + b"\r\n") * count


HOSTILE = {
    "announced huge": (head(10**15), 413),
    "chunked huge": (
        head().replace(b"Content-Length: %d" % SIZE, b"Transfer-Encoding: chunked")
        + chunks(10_000, 20),
        413,
    ),
    "slow body": (head() + GOOD[:-3], 408),
    "garbage": (b"\x00\x01\x02\r\n\r\n", 400),
    "long header": (head(more=f"X-Long: {'a' * 200_000}\r\n") + GOOD, 400),
    "two lengths": (head(more="Content-Length: 3\r\n") + GOOD, 400),
    "length and chunks": (head(more="Transfer-Encoding: chunked\r\n") + GOOD, 400),
    "headers": (head(more="".join(f"X-{i}: {'a' * 1_000}\r\n" for i in range(40))) + GOOD, 431),
    "negative length": (head(-1), 400),
    "wrong key": (head(key="j") + GOOD, 401),
    "odd path": (head(path="/../../etc/passwd") + GOOD, 404),
    "odd method": (head(method="BREW") + GOOD, 405),
    "upgrade": (
        head(method="GET", path="/x", more="Connection: upgrade\r\nUpgrade: websocket\r\n") + GOOD,
        404,
    ),
    "deep": (head(40_000) + b"[" * 40_000, 400),
    "NaN": (head(24) + b'{"rows": [{"age": NaN}]}', 400),
}


def test_hostile_requests_are_refused_and_leave_it_serving(port):
    with ThreadPoolExecutor(len(HOSTILE)) as threads:
        found = dict(
            zip(HOSTILE, threads.map(lambda one: talk(port, one[0]), HOSTILE.values()), strict=True)
        )
    answers = {name: status(got) for name, got in found.items()}
    # What never reaches the application is refused by uvicorn, whose two parsers differ.
    assert answers.pop("odd method") in (400, 405)
    assert answers.pop("long header") in (400, 431)
    assert answers == {name: HOSTILE[name][1] for name in answers}
    assert not any(b"Traceback" in got or b".py" in got for got in found.values())
    assert status(talk(port, head() + GOOD)) == 200


def test_a_sender_that_hangs_up_leaves_it_serving(port):
    for sent in (head() + GOOD[:10], head() + GOOD, head()[:30]):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(sent)
    assert status(talk(port, head() + GOOD)) == 200


def test_the_server_does_not_say_what_it_is(port):
    assert b"uvicorn" not in talk(port, head() + GOOD).lower()


def test_answers_are_not_held_back_by_the_network():
    """An answer goes out in two parts, and with Nagle's delay the second waits for 40 ms."""

    async def delayed():
        found = asyncio.get_running_loop().create_future()

        def connected(_, writer):
            option = (socket.IPPROTO_TCP, socket.TCP_NODELAY)
            found.set_result(not writer.get_extra_info("socket").getsockopt(*option))
            writer.close()

        with _listening("127.0.0.1", 0) as listening:
            address = listening.getsockname()
            async with await asyncio.start_server(connected, sock=listening):
                _, writer = await asyncio.open_connection(*address)
                writer.close()
                return await found

    assert not asyncio.run(delayed())


def test_others_are_answered_while_the_gate_thinks(server):
    with ThreadPoolExecutor(1) as thread:
        thinking = thread.submit(talk, server.port, head(len(SLOW)) + SLOW, 60)
        try:
            wait_for(server.begun.exists)
            assert status(talk(server.port, head(0, "GET", "/health"))) == 200
            assert not thinking.done()
        finally:
            server.go_on.touch()
        assert status(thinking.result()) == 200


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to catch")
def test_it_finishes_running_requests_before_it_ends(tmp_path):
    with running(tmp_path) as process, ThreadPoolExecutor(11) as thread:
        assert status(talk(process.port, head() + GOOD)) == 200
        assert status(talk(process.port, aged(13), 60)) == 500  # what the model raises is logged
        asked = thread.submit(talk, process.port, head(len(SLOW)) + SLOW, 60)
        try:
            wait_for(process.begun.exists)
            others = [thread.submit(talk, process.port, head() + GOOD, 60) for _ in range(10)]
            time.sleep(0.5)  # until they are accepted
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: is_closed(process.port))
            assert not asked.done()
        finally:
            process.go_on.touch()
        assert [status(one.result()) for one in (asked, *others)] == 11 * [200]
        assert process.wait(timeout=60) == 0
        assert "ended" in process.stdout.read()
        logged = [json.loads(line) for line in process.stderr]
        assert [one["level"] for one in logged] == ["error"]
        assert "no luck" in logged[0]["traceback"]


def aged(age):
    content = json.dumps({"rows": [{"age": age, "sex": "f"}]}).encode()
    return head(len(content)) + content


@pytest.mark.slow
def test_two_hundred_connections_at_once_are_answered(tmp_path):
    with running(tmp_path) as process, ThreadPoolExecutor(200) as threads:
        found = list(threads.map(lambda _: talk(process.port, head() + GOOD, 60), range(1_000)))
    assert {status(got) for got in found} == {200}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_stays_flat_over_many_requests(tmp_path):
    def resident(process):
        told = Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", told)[1]) / 1024

    with running(tmp_path) as process, ThreadPoolExecutor(8) as threads:

        def ask(count):
            sent = [head() + GOOD, head(key="j") + GOOD, head(3) + b"[1]", aged(13)]
            got = threads.map(lambda i: talk(process.port, sent[i % 4], 60), range(count))
            assert {status(one) for one in got} == {200, 401, 422, 500}
            return resident(process)

        draining = threads.submit(process.stderr.read)
        before, after = ask(1_000), ask(4_000)
        process.kill()
        draining.result()
    assert after - before < 10


@pytest.mark.slow
def test_a_model_that_hangs_or_dies_is_started_again(tmp_path):
    with running(tmp_path, answer_seconds=4) as process:

        def asked(path):
            return status(talk(process.port, head(0, "GET", path), 60))

        wait_for(lambda: asked("/ready") == 200)
        for age, refused in ((98, 503), (97, 500)):
            assert status(talk(process.port, aged(age), 60)) == refused
            assert asked("/health") == 200
            wait_for(lambda: asked("/ready") == 200)
            assert status(talk(process.port, head() + GOOD, 60)) == 200


@pytest.mark.slow
def test_requests_behind_a_model_that_hangs_or_dies_are_answered(tmp_path):
    with running(tmp_path, answer_seconds=2) as process, ThreadPoolExecutor(12) as threads:
        for age, refused in ((98, 503), (97, 500)):
            asked = threads.map(
                lambda one: talk(process.port, aged(one), 60), [age, *range(20, 30)]
            )
            assert [status(got) for got in asked] == [refused, *10 * [200]]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to catch")
def test_a_model_that_hangs_does_not_keep_it_from_ending(tmp_path):
    with running(tmp_path, answer_seconds=2) as process, ThreadPoolExecutor(1) as thread:
        asked = thread.submit(talk, process.port, aged(98), 60)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert status(asked.result()) == 503


def test_a_taken_port_is_named(gate):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"Port {port} .* Choose another --port"):
            serve(gate, port=port)


def test_an_unknown_host_is_named(gate):
    with pytest.raises(InputError, match=r"'no\.such\.host\.invalid'"):
        serve(gate, host="no.such.host.invalid")


def test_without_uvicorn_the_extra_is_named(gate, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[serve\]"):
        serve(gate)

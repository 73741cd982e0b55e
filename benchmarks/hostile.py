"""Requests that a service should refuse: hand-made ones, and ones that its schema forbids."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

Random = np.random.Generator
Make = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of hostile request, made from the bytes of a good one."""

    name: str
    make: Make
    hang_up: bool = False  # closes the connection without waiting for an answer
    slow: bool = False  # leaves the request unfinished and waits


def with_body(good: bytes, body: bytes) -> bytes:
    """Replace the body of a request."""
    head = good.split(b"\r\n\r\n", 1)[0].rsplit(b"\r\n", 1)[0]
    return head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def edited(change: Callable[[list[dict[str, Any]], Random], Any]) -> Make:
    """Make a good request with changed rows."""

    def make(good: bytes, random: Random) -> bytes:
        rows = json.loads(good.split(b"\r\n\r\n", 1)[1])["rows"]
        changed = change(rows, random)
        return with_body(good, json.dumps({"rows": rows if changed is None else changed}).encode())

    return make


def value(choices: list[Any]) -> Make:
    """Make a good request with one of several values in a field of a row."""

    def change(rows: list[dict[str, Any]], random: Random) -> None:
        row = rows[random.integers(len(rows))]
        row[str(random.choice(list(row)))] = choices[random.integers(len(choices))]

    return edited(change)


def drop_field(rows: list[dict[str, Any]], random: Random) -> None:
    row = rows[random.integers(len(rows))]
    del row[str(random.choice(list(row)))]


def add_field(rows: list[dict[str, Any]], random: Random) -> None:
    rows[random.integers(len(rows))]["x" * int(random.integers(1, 500))] = 1


def nested(good: bytes, random: Random) -> bytes:
    depth = int(random.integers(5, 200_000))
    sign = [b"[", b'{"rows":'][random.integers(2)]
    return with_body(good, (b'{"rows":' + sign * depth)[:900_000])


def noise(good: bytes, random: Random) -> bytes:
    return with_body(good, random.bytes(int(random.integers(1, 5_000))))


def chunked(good: bytes, _random: Random) -> bytes:
    head = good.split(b"\r\n\r\n", 1)[0].rsplit(b"\r\n", 1)[0]
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 20


def replaced(old: bytes, new: bytes) -> Make:
    """Make a good request with a part replaced."""
    return lambda good, _random: good.replace(old, new, 1)


def body(content: bytes) -> Make:
    """Make a good request with another body."""
    return lambda good, _random: with_body(good, content)


def cut(good: bytes, random: Random) -> bytes:
    return good[: int(random.integers(1, len(good)))]


KINDS = [
    Kind("NaN or infinity", value([float("nan"), float("inf"), float("-inf")])),
    Kind("wrong type", value(["1", True, None, [], {}, [1], {"a": 1}, ""])),
    Kind("number too large", value([1e300, -1e31, 10**400, 10**40])),
    Kind("number of 5,000 digits", body(b'{"rows": [' + b"1" * 5_000 + b"]}")),
    Kind("number beyond float", body(b'{"rows": [{"mean radius": 1e999}]}')),
    Kind("field missing", edited(drop_field)),
    Kind("field unknown", edited(add_field)),
    Kind("no rows", edited(lambda rows, _random: rows.clear())),
    Kind("too many rows", edited(lambda rows, _random: [rows[0]] * 1_001)),
    Kind("rows of the wrong type", edited(lambda rows, _random: [1, "a", None, [], [rows]])),
    Kind("not an object", body(b"[1, 2, 3]")),
    Kind("empty body", body(b"")),
    Kind("deep nesting", nested),
    Kind("300,000 lists", body(b'{"rows": [' + b"[]," * 300_000 + b"[]]}")),
    Kind("random bytes", noise),
    Kind("huge body, announced", replaced(b"Content-Length: ", b"Content-Length: 99999")),
    Kind("huge body, chunked", chunked),
    Kind("wrong key", replaced(b"X-API-Key: a", b"X-API-Key: b")),
    Kind("no key", replaced(b"X-API-Key", b"X-Other")),
    Kind("other content type", replaced(b"application/json", b"text/xml")),
    Kind("compressed", replaced(b"Host:", b"Content-Encoding: gzip\r\nHost:")),
    Kind("unknown path", replaced(b"/decide", b"/../../etc/passwd")),
    Kind("other method", replaced(b"POST", b"DELETE")),
    Kind("unknown method", replaced(b"POST", b"BREW")),
    Kind("not HTTP", lambda _good, random: random.bytes(2_000) + b"\r\n\r\n"),
    Kind("header of 100 kB", replaced(b"Host:", b"X-Long: " + b"a" * 100_000 + b"\r\nHost:")),
    Kind(
        "two lengths",
        replaced(b"Content-Length", b"Transfer-Encoding: chunked\r\nContent-Length"),
    ),
    Kind("cut short", cut, hang_up=True),
    Kind("slow head", lambda good, _random: good[:60], slow=True),
    Kind("slow body", lambda good, _random: good[:-20], slow=True),
]


def without_key(address: str) -> dict[str, Any]:
    """Return the schema without its key; otherwise most requests would fail on the key."""
    from urllib.request import urlopen

    with urlopen(address) as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
    del found["components"]["securitySchemes"]
    del found["paths"]["/decide"]["post"]["security"]
    return found


def from_schema(port: int, key: str, wanted: int) -> list[tuple[str, int]]:
    """Send the requests with which schemathesis violates the schema; return their statuses."""
    if find_spec("schemathesis") is None:
        print("schemathesis is not installed: no requests from the schema.")
        return []
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis import GenerationMode

    address = f"http://127.0.0.1:{port}"
    schema = schemathesis.openapi.from_dict(without_key(f"{address}/openapi.json"))
    found: list[tuple[str, int]] = []
    operation = schema["/decide"]["POST"]
    checks = settings(
        max_examples=wanted,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    @checks
    @given(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def ask(case: Any) -> None:
        if len(found) < wanted:
            answer = case.call(base_url=address, headers={"X-API-Key": key})
            found.append(("by schemathesis", answer.status_code))

    ask()
    return found

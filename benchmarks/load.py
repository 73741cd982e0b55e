"""Requests at a fixed rate, good and hostile ones, and what they cost the service."""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from hostile import KINDS

KEY = "a key for this run"
VARIANTS = 4  # of each kind of hostile request, made before the clock starts
PATIENCE = 60  # seconds for an answer
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def request(content: Any, key: str = KEY) -> bytes:
    """Return the bytes of a good request."""
    body = json.dumps(content).encode()
    head = (
        f"POST /decide HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def answered(reader: asyncio.StreamReader) -> int:
    """Read the next answer completely and return its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = re.search(rb"content-length: (\d+)", head)
    if length:
        await reader.readexactly(int(length[1]))
    return int(head.split(b" ", 2)[1])


async def send(port: int, made: bytes, *, hang_up: bool = False) -> int:
    """Send bytes on a new connection and return the status, or 0 if it was closed."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return -1
    try:
        writer.write(made)
        if hang_up:
            return 0
        await writer.drain()
        return int((await asyncio.wait_for(reader.readline(), PATIENCE)).split(b" ", 2)[1])
    except (ConnectionError, IndexError):
        return 0
    finally:
        writer.close()


@dataclass
class Found:
    """What became of the requests."""

    seconds: list[float] = field(default_factory=list)  # of good ones, from when they were due
    statuses: list[int] = field(default_factory=list)  # of good ones; 0: the connection ended
    hostile: list[int] = field(default_factory=list)
    wall: float = 0.0
    memory: list[tuple[float, float]] = field(default_factory=list)  # MB of service and model


class Load:
    """Sends good requests on connections that stay open, and each hostile one on its own."""

    def __init__(self, port: int, bodies: list[bytes], connections: int) -> None:
        random = np.random.default_rng(3)
        self._port, self._bodies, self._connections = port, bodies, connections
        self._hostile = [
            (kind.make(bodies[0], random), kind.hang_up) for kind in KINDS for _ in range(VARIANTS)
        ]
        self._free: asyncio.LifoQueue[Connection] | asyncio.Queue[Connection] = asyncio.Queue()
        self.found = Found()

    async def open(self) -> None:
        """Open all connections together."""
        made = await asyncio.gather(*(self._connected() for _ in range(self._connections)))
        for one in made:
            self._free.put_nowait(one)

    async def at_rate(self, rate: float, n_requests: int, share: float, service: int) -> Found:
        """Send at a fixed rate, whatever the service does; a share of the requests is hostile."""
        random, found = np.random.default_rng(4), self.found
        bad = random.random(n_requests) < share
        kinds = random.integers(len(self._hostile), size=n_requests)
        watching = asyncio.create_task(self._watch(service, n_requests / rate / 20))
        begin, tasks = perf_counter(), []
        for place in range(n_requests):
            due = begin + place / rate
            if (early := due - perf_counter()) > 0:
                await asyncio.sleep(early)
            one = self._attack(kinds[place]) if bad[place] else self._ask(due, place)
            tasks.append(asyncio.create_task(one))
        last_sent = perf_counter()
        await asyncio.gather(*tasks)
        found.wall = last_sent - begin
        watching.cancel()
        return found

    async def together(self, rounds: int) -> Found:
        """Send one request on every connection at the same moment, several times."""
        for place in range(rounds):
            due = perf_counter()
            await asyncio.gather(*(self._ask(due, place) for _ in range(self._connections)))
        return self.found

    async def _connected(self) -> Connection:
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def _ask(self, due: float, place: int) -> None:
        reader, writer = await self._free.get()
        try:
            writer.write(self._bodies[place % len(self._bodies)])
            status = await asyncio.wait_for(answered(reader), PATIENCE)
        except (OSError, EOFError):
            status = 0
            reader, writer = await self._connected()
        self.found.seconds.append(perf_counter() - due)
        self.found.statuses.append(status)
        self._free.put_nowait((reader, writer))

    async def _attack(self, kind: int) -> None:
        made, hang_up = self._hostile[kind]
        self.found.hostile.append(await send(self._port, made, hang_up=hang_up))

    async def _watch(self, service: int, every: float) -> None:
        while True:
            self.found.memory.append(memory(service))
            await asyncio.sleep(every)


def family(service: int) -> list[int]:
    """Return the service and the process of its model (Linux)."""
    children = Path(f"/proc/{service}/task/{service}/children")
    spawned = [
        int(one)
        for task in Path(f"/proc/{service}/task").glob("*/children")
        for one in task.read_text().split()
    ]
    return [service, *spawned] if children.exists() else []


def memory(service: int) -> tuple[float, float]:
    """Return the resident memory of the service, and of the process of its model, in MB."""
    sizes = [0.0, 0.0]
    for place, process in enumerate(family(service)[:2]):
        told = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
        sizes[place] = int(told[1]) / 1024 if told else 0.0
    return sizes[0], sizes[1]


def cpu_seconds(service: int) -> tuple[float, float]:
    """Return what the service, and the process of its model, have computed so far."""
    spent = [0.0, 0.0]
    for place, process in enumerate(family(service)[:2]):
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        spent[place] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    return spent[0], spent[1]

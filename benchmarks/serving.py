"""The gate over HTTP: speed under a steady load, and behaviour under hostile requests.

    python benchmarks/serving.py             # 500 requests per second of 10 rows each
    python benchmarks/serving.py --hostile   # 10,000 requests that should be refused

`itemwise serve` runs in its own process with a gate fitted on eight features of scikit-learn's
breast cancer data; this process sends the requests. A request is timed from the moment it should
have been sent, so a service that falls behind cannot hide it. Requests that violate the schema of
the service are made by schemathesis if it is installed (pip install schemathesis).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import numpy as np

from common import machine, print_table
from hostile import KINDS, from_schema

RATE, SECONDS, ROWS, CONNECTIONS = 500, 20, 10, 32
HOSTILE, BY_SCHEMA, AT_ONCE, GOOD_EVERY = 10_000, 1_500, 16, 100
KEY = "a key for this run"
RUN = "from itemwise.cli import main; main()"


def save_gate(folder: Path) -> tuple[Path, list[dict[str, float]]]:
    """Write a gate to a file, and return rows for it to decide."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import itemwise as iw

    data, target = load_breast_cancer(return_X_y=True, as_frame=True)
    data = data.iloc[:, :8]
    gate = iw.CapabilityGate(make_pipeline(StandardScaler(), LogisticRegression()))
    path = folder / "gate.json"
    gate.fit(data, target).save(path)
    return path, data.to_dict("records")


@contextmanager
def served(path: Path) -> Iterator[int]:
    """Run a service and yield its port."""
    words = [sys.executable, "-c", RUN, "serve", str(path), "--port", "0"]
    environment = {**os.environ, "ITEMWISE_API_KEY": KEY}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found is None:
                raise SystemExit(f"The service did not start: {line}")
            yield int(found[1])
        finally:
            process.terminate()
            process.wait(timeout=60)
    print(f"Exit code after SIGTERM: {process.returncode}")


def request(body: bytes, *, path: str = "/decide", key: str = KEY) -> bytes:
    """Return the bytes of a good request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key}\r\n"
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


async def load(port: int, rows: list[dict[str, float]]) -> tuple[list[float], list[int], float]:
    """Send at a fixed rate; return the time and status of each request, and the total time."""
    random = np.random.default_rng(1)
    chosen = random.integers(len(rows), size=(200, ROWS))
    bodies = [
        request(json.dumps({"rows": [rows[i] for i in places]}).encode()) for places in chosen
    ]
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    spent: list[float] = []
    statuses: list[int] = []

    async def one(due: float, body: bytes) -> None:
        reader, writer = await free.get()
        writer.write(body)
        statuses.append(await answered(reader))
        spent.append(perf_counter() - due)
        free.put_nowait((reader, writer))

    begin, tasks = perf_counter(), []
    for place in range(RATE * SECONDS):
        due = begin + place / RATE
        if (early := due - perf_counter()) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.create_task(one(due, bodies[place % len(bodies)])))
    await asyncio.gather(*tasks)
    return spent, statuses, perf_counter() - begin


async def attack(port: int, good: bytes) -> list[tuple[str, int]]:
    """Send hand-made hostile requests; return kind and status, 0 if the connection was closed."""
    random = np.random.default_rng(2)
    quick = [kind for kind in KINDS if not kind.slow]
    slow = [kind for kind in KINDS if kind.slow for _ in range(AT_ONCE)]
    plan = [quick[i % len(quick)] for i in range(HOSTILE - BY_SCHEMA - len(slow))]
    gate = asyncio.Semaphore(AT_ONCE)
    seeds = random.integers(2**32, size=len(plan))

    async def one(place: int) -> tuple[str, int]:
        async with gate:
            if place % GOOD_EVERY == 0:
                status = await send(port, good)
                if status != 200:
                    raise SystemExit(f"A good request got {status} after {place} hostile ones.")
            kind = plan[place]
            made = kind.make(good, np.random.default_rng(seeds[place]))
            return kind.name, await send(port, made, hang_up=kind.hang_up)

    async def wait(name: str, made: bytes) -> tuple[str, int]:
        return name, await send(port, made)

    waits = [wait(kind.name, kind.make(good, random)) for kind in slow]
    return list(await asyncio.gather(*map(one, range(len(plan))), *waits))


async def send(port: int, made: bytes, *, hang_up: bool = False) -> int:
    """Send bytes on a new connection and return the status, or 0 if it was closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(made)
        if hang_up:
            return 0
        await writer.drain()
        return int((await asyncio.wait_for(reader.readline(), 60)).split(b" ", 2)[1])
    except (ConnectionError, IndexError):
        return 0
    finally:
        writer.close()


def show_load(path: Path, rows: list[dict[str, float]]) -> None:
    with served(path) as port:
        asyncio.run(send(port, request(json.dumps({"rows": rows[:ROWS]}).encode())))
        spent, statuses, wall = asyncio.run(load(port, rows))
    quantiles = np.quantile(spent, [0.5, 0.99, 1.0]) * 1000
    errors = sum(status != 200 for status in statuses)
    header = ["requests", "rows each", "requests/s", "p50 ms", "p99 ms", "longest ms", "errors"]
    row = [len(spent), ROWS, f"{len(spent) / wall:.0f}", *(f"{q:.1f}" for q in quantiles), errors]
    print_table(f"Steady load ({machine()})", header, [row])


def show_attack(path: Path, rows: list[dict[str, float]]) -> None:
    with served(path) as port:
        good = request(json.dumps({"rows": rows[:ROWS]}).encode())
        begin = perf_counter()
        found = asyncio.run(attack(port, good))
        found += from_schema(port, KEY, BY_SCHEMA)
        spent = perf_counter() - begin
        after = asyncio.run(send(port, good))
    names = sorted({name for name, _ in found})
    table = []
    for name in names:
        own = [status for kind, status in found if kind == name]
        seen = ", ".join(
            f"{status or 'closed'}: {own.count(status)}" for status in sorted(set(own))
        )
        table.append([name, len(own), seen])
    print_table(f"Hostile requests ({machine()})", ["kind", "requests", "answers"], table)
    refused = sum(400 <= status < 500 for _, status in found)
    closed = sum(status == 0 for _, status in found)
    print(
        f"\n{len(found):,} requests in {spent:.0f} s: {refused:,} refused, {closed} closed, "
        f"{len(found) - refused - closed} answered otherwise; a good request afterwards: {after}."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hostile", action="store_true")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        saved, cases = save_gate(Path(folder))
        (show_attack if wanted.hostile else show_load)(saved, cases)

"""The gate over HTTP: speed under a steady load, and behaviour under hostile requests.

    python benchmarks/serving.py load       # 500 requests per second of 10 rows, 5 % hostile
    python benchmarks/serving.py together   # a request on each of 200 connections at one moment
    python benchmarks/serving.py refusals   # 10,000 requests that should be refused

`ogive serve` runs in processes of its own with a gate fitted on eight features of scikit-learn's
breast cancer data; this process sends the requests. A request is timed from the moment it should
have been sent, so a service that falls behind cannot hide it. With `--cores 2`, the service has two
cores of its own, and this process the others. Requests that violate the schema of the service are
made by schemathesis if it is installed (pip install schemathesis).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np

from common import machine, print_table
from hostile import KINDS, from_schema
from load import KEY, Found, Load, cpu_seconds, request, send

ROWS, ROUNDS = 10, 50
HOSTILE, BY_SCHEMA, AT_ONCE, GOOD_EVERY = 10_000, 1_500, 16, 100
RUN = "from ogive.cli import main; main()"


@dataclass(frozen=True)
class Service:
    """A running service."""

    port: int
    process: int


def save_gate(folder: Path) -> tuple[Path, list[bytes]]:
    """Write a gate to a file, and return requests for it to decide."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import ogive as og

    data, target = load_breast_cancer(return_X_y=True, as_frame=True)
    data = data.iloc[:, :8]
    gate = og.CapabilityGate(make_pipeline(StandardScaler(), LogisticRegression()))
    path = folder / "gate.json"
    gate.fit(data, target).save(path)
    rows = data.to_dict("records")
    chosen = np.random.default_rng(1).integers(len(rows), size=(200, ROWS))
    return path, [request({"rows": [rows[i] for i in places]}) for places in chosen]


@contextmanager
def served(path: Path, n_cores: int | None) -> Iterator[Service]:
    """Run a service, on cores of its own where there are enough."""
    words = [sys.executable, "-c", RUN, "serve", str(path), "--port", "0"]
    cores = sorted(os.sched_getaffinity(0))
    if n_cores is not None:
        os.sched_setaffinity(0, cores[:n_cores])  # children keep it
    environment = {**os.environ, "OGIVE_API_KEY": KEY}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    if n_cores is not None:
        os.sched_setaffinity(0, cores[n_cores:] or cores)
    with process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found is None:
                raise SystemExit(f"The service did not start: {line}")
            yield Service(int(found[1]), process.pid)
        finally:
            process.terminate()
            process.wait(timeout=60)
            os.sched_setaffinity(0, cores)
    print(f"Exit code after SIGTERM: {process.returncode}")


def where(n_cores: int | None) -> str:
    """Describe the machine, and what the service has of it."""
    parsers = [name for name in ("uvloop", "httptools") if find_spec(name)]
    alone = n_cores is not None and n_cores < len(os.sched_getaffinity(0))
    share = f"{n_cores} cores of its own" if alone else "cores shared with the client"
    return f"{machine()}, {' and '.join(parsers) or 'h11'}; the service has {share}"


def times(found: Found) -> list[str]:
    """Return median, 99 % and maximum of the times of good requests, in ms."""
    return [f"{q:.1f}" for q in np.quantile(found.seconds, [0.5, 0.99, 1.0]) * 1000]


def show_load(path: Path, bodies: list[bytes], wanted: argparse.Namespace) -> None:
    n_requests = round(wanted.rate * wanted.seconds)

    async def run(service: Service) -> tuple[Found, list[float]]:
        load = Load(service.port, bodies, wanted.connections)
        await load.open()
        await load.together(3)  # everything is loaded
        load.found = Found()
        before = cpu_seconds(service.process)
        found = await load.at_rate(wanted.rate, n_requests, wanted.share, service.process)
        spent = np.subtract(cpu_seconds(service.process), before)
        return found, list(spent)

    with served(path, wanted.cores) as service:
        found, spent = asyncio.run(run(service))
    errors = sum(status != 200 for status in found.statuses)
    header = ["good requests", "rows each", "connections", "requests/s", "p50 ms", "p99 ms"]
    header += ["longest ms", "errors", "CPU s of service", "of model"]
    row = [len(found.seconds), ROWS, wanted.connections, f"{n_requests / found.wall:.0f}"]
    row += [*times(found), errors, *(f"{one:.1f}" for one in spent)]
    print_table(f"Steady load ({where(wanted.cores)})", header, [row])
    refused = sum(400 <= status < 500 for status in found.hostile)
    closed = sum(status == 0 for status in found.hostile)
    print(
        f"\n{len(found.hostile):,} hostile requests among them: {refused:,} refused, {closed:,} "
        f"closed, {len(found.hostile) - refused - closed} answered otherwise."
    )
    table = [
        [f"{round(n_requests * i / 20):,}", *(f"{one:.1f}" for one in found.memory[i])]
        for i in (1, 2, 5, 10, 15, 19)
        if i < len(found.memory)
    ]
    print_table("Memory", ["after requests", "service, MB", "model, MB"], table)


def show_together(path: Path, bodies: list[bytes], wanted: argparse.Namespace) -> None:
    async def run(service: Service) -> Found:
        load = Load(service.port, bodies, wanted.connections)
        await load.open()
        return await load.together(ROUNDS)

    with served(path, wanted.cores) as service:
        found = asyncio.run(run(service))
    errors = sum(status != 200 for status in found.statuses)
    header = ["connections", "rounds", "requests", "p50 ms", "p99 ms", "longest ms", "errors"]
    row = [wanted.connections, ROUNDS, len(found.seconds), *times(found), errors]
    print_table(f"Requests at one moment ({where(wanted.cores)})", header, [row])


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


def show_refusals(path: Path, bodies: list[bytes], wanted: argparse.Namespace) -> None:
    with served(path, wanted.cores) as service:
        begin = perf_counter()
        found = asyncio.run(attack(service.port, bodies[0]))
        found += from_schema(service.port, KEY, BY_SCHEMA)
        spent = perf_counter() - begin
        after = asyncio.run(send(service.port, bodies[0]))
    names = sorted({name for name, _ in found})
    table = []
    for name in names:
        own = [status for kind, status in found if kind == name]
        seen = ", ".join(
            f"{status or 'closed'}: {own.count(status)}" for status in sorted(set(own))
        )
        table.append([name, len(own), seen])
    header = ["kind", "requests", "answers"]
    print_table(f"Hostile requests ({where(wanted.cores)})", header, table)
    refused = sum(400 <= status < 500 for _, status in found)
    closed = sum(status == 0 for _, status in found)
    print(
        f"\n{len(found):,} requests in {spent:.0f} s: {refused:,} refused, {closed} closed, "
        f"{len(found) - refused - closed} answered otherwise; a good request afterwards: {after}."
    )


PARTS = {"load": show_load, "together": show_together, "refusals": show_refusals}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rate", type=float, default=500, help="requests per second")
    parser.add_argument("--seconds", type=float, default=20, help="200 are 100,000 requests")
    parser.add_argument("--share", type=float, default=0.05, help="of hostile requests")
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--cores", type=int, help="for the service alone")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        saved, bodies = save_gate(Path(folder))
        for part in wanted.parts:
            PARTS[part](saved, bodies, wanted)


if __name__ == "__main__":
    main()

"""Tables larger than memory, and a cluster on one machine, compared with the same job in memory.

python benchmarks/scale.py                                  # 2,000,000 × 200, some minutes
python benchmarks/scale.py --respondents 20000000 --limit 1.5   # the size of the promise
python benchmarks/scale.py --only cluster

Each job runs in a process of its own: responses of a 2PL in Parquet files, one row per respondent,
to items with standard errors and abilities in a Parquet file. The one that scans may not allocate
more than `--limit` GB (RLIMIT_DATA); both tell the most memory that they had (ru_maxrss).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import ogive as og
from common import machine, print_table

ROWS_OF_A_FILE, ROWS_AT_ONCE = 500_000, 50_000
DRAWN = 8  # files; drawing takes longer than all that is measured
N_WORKERS = 4


def write_files(folder: Path, n_respondents: int, n_items: int) -> None:
    """Responses of a 2PL, in files of int8 columns; after `DRAWN` files they begin again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(0)
    slope, place = draw.lognormal(0.0, 0.3, n_items), draw.standard_normal(n_items)
    items = [(f"item_{k + 1}", pa.int8()) for k in range(n_items)]
    schema = pa.schema([("respondent", pa.string()), *items])
    for number, first in enumerate(range(0, n_respondents, ROWS_OF_A_FILE)):
        last = min(first + ROWS_OF_A_FILE, n_respondents)
        again = None
        if number >= DRAWN:
            again = pq.ParquetFile(_file(folder, ROWS_OF_A_FILE * (number % DRAWN)))
        with pq.ParquetWriter(_file(folder, first), schema) as file:
            for group, start in enumerate(range(first, last, ROWS_AT_ONCE)):
                n = min(ROWS_AT_ONCE, last - start)
                names = pa.array([f"r{k}" for k in range(start, start + n)])
                if again is not None:
                    columns = again.read_row_group(group).slice(0, n).columns[1:]
                else:
                    ability = draw.standard_normal(n)[:, None]
                    chance = 1 / (1 + np.exp(-slope * (ability - place)))
                    cells = (draw.random((n, n_items)) < chance).astype(np.int8)
                    columns = [pa.array(np.ascontiguousarray(c)) for c in cells.T]
                file.write_table(pa.table([names, *columns], schema=schema))


def _file(folder: Path, first: int) -> Path:
    return folder / f"{first:012d}.parquet"


def in_memory(folder: Path) -> og.Responses:
    """Return all files as one table."""
    import pyarrow.parquet as pq

    paths = sorted(folder.glob("*.parquet"))
    facts = [pq.read_metadata(path) for path in paths]
    n_items = facts[0].num_columns - 1
    cells = np.empty((sum(fact.num_rows for fact in facts), n_items), dtype=np.int8)
    names, first = [], 0
    for path, fact in zip(paths, facts, strict=True):
        table = pq.read_table(path)
        names += table.column(0).to_pylist()
        for k, column in enumerate(table.columns[1:]):
            cells[first : first + fact.num_rows, k] = column.to_numpy()
        first, items = first + fact.num_rows, table.column_names[1:]
    return og.Responses.from_codes(cells, names, items)


def job(folder: Path, *, scanned: bool) -> dict[str, Any]:
    """Read, calibrate, look at the items, write the abilities; CPU seconds of each, and memory."""
    told: dict[str, Any] = {}
    begin, before = time.perf_counter(), time.process_time()

    def lap(name: str) -> None:
        nonlocal before
        now = time.process_time()
        told[name], before = now - before, now

    responses = og.scan_responses(folder) if scanned else in_memory(folder)
    told["kind"] = responses.kind  # a scan reads the files now
    lap("read")
    bank = og.calibrate(responses, "2pl", progress=False)
    lap("calibrate")
    told["first"] = bank.items.iloc[0, :2].tolist()
    lap("items")
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        bank.write_abilities(Path(out) / "abilities.parquet", None if scanned else responses)
    lap("abilities")
    told["iterations"] = bank.iterations
    told["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    told["wall"] = time.perf_counter() - begin
    return told


def in_a_process(folder: Path, *, scanned: bool, limit: float | None) -> dict[str, Any]:
    """Return the job, in a process that may allocate `limit` GB."""
    words = [sys.executable, __file__, "--job", "scanned" if scanned else "memory", str(folder)]
    if limit:
        words += ["--limit", str(limit)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(found.stderr[-2_000:])
    return dict(json.loads(found.stdout.splitlines()[-1]))


def larger_than_memory(n_respondents: int, n_items: int, limit: float | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "responses"
        folder.mkdir()
        write_files(folder, n_respondents, n_items)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
        found = {
            "scanned": in_a_process(folder, scanned=True, limit=limit),
            "in memory": in_a_process(folder, scanned=False, limit=None),
        }
    steps = ("read", "calibrate", "items", "abilities")
    rows = [
        (
            what,
            *(f"{told[step]:.1f}" for step in steps),
            f"{sum(told[step] for step in steps):.1f}",
            f"{told['wall']:.1f}",
            f"{told['memory']:.2f}",
        )
        for what, told in found.items()
    ]
    allowed = f", the scan limited to {limit:g} GB" if limit else ""
    print_table(
        f"{n_respondents:,} × {n_items}, 2PL, {size:.2f} GB of Parquet{allowed}",
        ("CPU seconds", *steps, "all", "on the clock", "most memory GB"),
        rows,
    )
    one, other = (np.array(told["first"]) for told in found.values())
    print(f"Largest difference of the first item's parameters: {np.abs(one - other).max():.1g}.")


def constants(n_respondents: int = 50_000, n_items: int = 200) -> None:
    """Measure one E-step per core and response, and what goes to a worker and back."""
    import cloudpickle

    from ogive.irt.encoded_responses import Encoded, encode
    from ogive.irt.estimation.e_step import expect
    from ogive.irt.estimation.em_engine import EM
    from ogive.irt.estimation.objective import Problem
    from ogive.irt.models import find_model
    from ogive.stats.array_backend import workers

    rows, sent = [], []
    gather = Encoded.gather

    def noted(self: Encoded, run: Any, over: Any, **settings: Any) -> Any:
        found = gather(self, run, over, **settings)
        sent.append((len(cloudpickle.dumps(over)), sum(np.asarray(part).nbytes for part in found)))
        return found

    for name in ("2pl", "3pl", "graded"):
        responses = og.simulate(name, n_respondents, n_items, random_state=0).responses
        model = find_model(name).fitted_to(responses.cells, responses.items)
        data = encode(responses.cells, model)
        with workers(1) as run:
            found = EM(max_iterations=3).maximize(Problem(data, model, run))
            times = []
            for reading in (data.in_single(), data):
                begin = time.process_time()
                expect(reading, model, found.coords, found.nodes, run)
                times.append((time.process_time() - begin) * 1e9 / responses.cells.size)
            Encoded.gather = noted  # type: ignore[method-assign]
            expect(data, model, found.coords, found.nodes, run)
            Encoded.gather = gather  # type: ignore[method-assign]
        there, back = sent[-1]
        rows.append((name, *(f"{each:.1f}" for each in times), f"{there:,}", f"{back:,}"))
    print_table(
        f"One E-step, {n_items} items, one core",
        ("model", "CPU s per 1e9, single", "double", "bytes to a part", "bytes back"),
        rows,
    )


def cluster() -> None:
    from distributed import Client, LocalCluster

    from ogive.irt.estimation.cluster import WorkerRows

    passes: list[tuple[float, float]] = []
    gather = WorkerRows.gather_sums

    def timed(self: WorkerRows, *given: Any, **settings: Any) -> Any:
        begin, busy = time.perf_counter(), time.process_time()
        found = gather(self, *given, **settings)
        passes.append((time.perf_counter() - begin, time.process_time() - busy))
        return found

    WorkerRows.gather_sums = timed  # type: ignore[method-assign]
    rows = []
    small = og.simulate("2pl", 16_384, 30, random_state=0).responses
    large = og.simulate("3pl", 131_072, 100, random_state=0).responses
    for n_workers, table, model in (
        (N_WORKERS, small, "2pl"),
        (1, large, "3pl"),
        (2, large, "3pl"),
    ):
        local = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0")
        with local, Client(local) as client:
            for _ in range(2):  # the second time, workers know the package
                passes.clear()
                begin = time.perf_counter()
                bank = og.calibrate(table, model, client=client, progress=False)
                whole = time.perf_counter() - begin
            steps = np.array(passes[1 : bank.iterations + 1]) * 1e3
            size = f"{table.n_respondents:,} × {table.n_items}"
            best, here = steps[:, 0].min(), np.median(steps[:, 1])
            rows.append((n_workers, model, size, f"{best:.0f}", f"{here:.0f}", f"{whole:.1f}"))
    print_table(
        "Workers of one machine, one thread each",
        ("workers", "model", "table", "best E-step ms", "CPU ms here", "calibrate s"),
        rows,
    )
    one, two = (float(row[3]) for row in rows[1:])
    print(f"Two workers are {one / two:.2f} times as fast as one.")


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--respondents", type=int, default=2_000_000)
    words.add_argument("--items", type=int, default=200)
    words.add_argument("--limit", type=float)
    words.add_argument("--only", choices=("memory", "constants", "cluster"))
    words.add_argument("--job", nargs=2)
    told = words.parse_args()
    if told.job:
        if told.limit:
            most = int(told.limit * 1e9)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        print(json.dumps(job(Path(told.job[1]), scanned=told.job[0] == "scanned")))
        return
    print(f"\n## Scale\n\n{machine()}.")
    if told.only in (None, "memory"):
        larger_than_memory(told.respondents, told.items, told.limit)
    if told.only in (None, "constants"):
        constants()
    if told.only in (None, "cluster"):
        cluster()


if __name__ == "__main__":
    main()

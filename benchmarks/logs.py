"""Reading evaluation logs: a million rows of lm-eval, compared with parsing each line with json.

python benchmarks/logs.py [ROWS]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import ogive as og
from common import in_own_process, machine, peak_gigabytes, print_table

ROWS, TASKS, ITEMS = 1_000_000, 20, 1_000
WORDS = ("which", "of", "the", "following", "is", "most", "likely", "to", "explain", "a", "change")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    print(f"# Reading logs\n\n{machine()}")
    with tempfile.TemporaryDirectory() as folder:
        size = write(Path(folder), rows)
        found = {job: in_own_process("logs.py", job, folder) for job in ("read_responses", "json")}
    table = [(job, *figures(one, size)) for job, one in found.items()]
    header = ("how", "rows", "seconds", "CPU seconds", "rows/s", "MB/s", "peak GB")
    print_table(f"{rows:,} rows of lm-eval, {size / 1e9:.2f} GB", header, table)


def figures(one: dict[str, float], size: int) -> tuple[str, ...]:
    rows, seconds = one["rows"], one["seconds"]
    speeds = f"{rows / seconds:,.0f}", f"{size / seconds / 1e6:.0f}"
    return f"{rows:,}", f"{seconds:.1f}", f"{one['processor']:.1f}", *speeds, f"{one['peak']:.2f}"


def write(folder: Path, rows: int) -> int:
    """Write sample logs of as many models as needed, on 20 tasks of 1,000 items."""
    draws = np.random.default_rng(0)
    for model in range(-(-rows // (TASKS * ITEMS))):
        home = folder / f"lab__model-{model}"
        home.mkdir()
        for task in range(TASKS):
            count = min(ITEMS, rows - (model * TASKS + task) * ITEMS)
            if count > 0:
                right = draws.random(count) < 0.6
                lines = (row(task, item, float(right[item])) for item in range(count))
                name = f"samples_task_{task}_2025-01-01T00-00-00.000000.jsonl"
                (home / name).write_text("\n".join(map(json.dumps, lines)) + "\n")
    return sum(file.stat().st_size for file in folder.rglob("*.jsonl"))


def row(task: int, item: int, score: float) -> dict[str, Any]:
    """Return one document of about a kilobyte."""
    text = " ".join(WORDS[(item * 7 + task + k) % len(WORDS)] for k in range(30))
    asked = {f"gen_args_{k}": {"arg_0": f"Question: {text}?", "arg_1": f" {k}"} for k in range(2)}
    hashed = f"{task:08x}{item:08x}".rjust(64, "0")
    return {
        "doc_id": item,
        "doc": {"question": text, "subject": f"subject {item % 5}", "choices": ["0", "1"]},
        "target": "0",
        "arguments": asked,
        "resps": [[["-12.25", "False"]], [["-13.5", "False"]]],
        "filtered_resps": [["-12.25", "False"], ["-13.5", "False"]],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": hashed,
        "prompt_hash": hashed,
        "target_hash": hashed,
        "acc": score,
    }


def timed(job: str, folder: Path) -> dict[str, float]:
    """Read all files in one way, in this process alone."""
    begin, used = perf_counter(), process_time()
    if job == "json":
        rows = 0
        for file in sorted(folder.rglob("*.jsonl")):
            with file.open("rb") as lines:
                rows += sum(json.loads(line)["acc"] is not None for line in lines)
    else:
        table = og.read_responses(folder)
        rows = table.n_respondents * table.n_items - table.n_missing
    seconds, processor = perf_counter() - begin, process_time() - used
    return {"seconds": seconds, "processor": processor, "rows": rows, "peak": peak_gigabytes()}


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(timed(sys.argv[1], Path(sys.argv[2]))))
    else:
        main()

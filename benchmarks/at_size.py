"""Commands at the size of real benchmarks: CPU seconds, peak memory, and the longest silence.

python benchmarks/at_size.py [--folder FOLDER] [--tables NAME ...] [--commands NAME ...]
                             [--stop SECONDS]

Each command runs in its own process and writes all its tables, figures and its page. It is stopped
after 300 CPU seconds, unless told otherwise, or when it asks for more than 16 GB. The seconds are
those of all its threads, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from time import monotonic
from typing import IO

import numpy as np
from scipy.special import expit

import ogive as og
from common import SHARED, machine, print_table

MOST_SECONDS, MOST_BYTES = 300, 16 * 10**9  # of one command
COMMANDS = ("report", "diagnose", "health", "leaderboard", "tasks")
RUN = "import sys; from ogive.cli import main; sys.exit(main())"
N_TASKS = 14
SHARE_TURNED, SHARE_SOLVED, SHARE_COPIED = 0.02, 0.01, 0.005  # of the items


def questions(n_respondents: int, n_items: int, n_tasks: int = N_TASKS) -> og.Responses:
    """Draw answers to items of several tasks: half of them can be guessed, some are bad."""
    rng = np.random.default_rng(n_respondents + n_items)
    common = rng.normal(0.0, 1.0, (n_respondents, 1))
    skill = np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(0.0, 1.0, (n_respondents, n_tasks))
    task = np.sort(rng.integers(n_tasks, size=n_items))
    slope = np.exp(rng.normal(0.1, 0.45, n_items))
    slope[rng.random(n_items) < SHARE_TURNED] *= -1
    where = rng.normal(-0.3, 1.3, n_items)
    guess = rng.uniform(0.1, 0.3, n_items) * (rng.random(n_items) < 0.5)
    cells = np.empty((n_respondents, n_items), dtype=np.int8)
    for k in range(n_items):
        chance = guess[k] + (1 - guess[k]) * expit(slope[k] * (skill[:, task[k]] - where[k]))
        cells[:, k] = rng.random(n_respondents) < chance
    cells[:, rng.random(n_items) < SHARE_SOLVED] = 1
    for k in np.flatnonzero(rng.random(n_items - 1) < SHARE_COPIED):
        cells[:, k + 1] = cells[:, k]
    names = [f"task {t}/{k}" for k, t in enumerate(task)]
    who = [f"model {k}" for k in range(n_respondents)]
    table = og.Responses(cells, respondents=who, items=names)
    return table.described(items={"task": [f"task {t}" for t in task]})


def helm() -> og.Responses:
    """Read HELM-lite: right and wrong answers of thirty language models."""
    import pandas as pd

    frame = pd.read_csv(SHARED / "data" / "llm" / "helm_lite_binary_responses.csv.gz")
    items = frame["scenario"] + "/" + frame["item"].astype(str)
    values = frame.drop(columns=["scenario", "item"])
    table = og.Responses(values.to_numpy().T, respondents=values.columns, items=items)
    return table.described(items={"task": frame["scenario"].tolist()})


def mmlu() -> og.Responses:
    """Read MMLU as metabench shortened it: 102 questions of 41 subjects, 14 of them usable."""
    import pandas as pd

    path = SHARED / "data" / "llm" / "metabench_mmlu_3pl_responses.csv.gz"
    frame = pd.read_csv(path, index_col="respondent")
    table = og.Responses(frame.to_numpy(), items=frame.columns)
    return table.described(items={"task": [name.split(".")[0] for name in frame.columns]})


TABLES = {
    "HELM-lite, 30 × 5,001": helm,
    "MMLU, 4,278 × 102": mmlu,
    "200 × 20,000": lambda: questions(200, 20_000),
    "2,000 × 500": lambda: questions(2000, 500),
    "4,278 × 102": lambda: questions(4278, 102),
    "2,211 × 12,032": lambda: questions(2211, 12_032),
}


def measured(command: str, table: Path, folder: Path, stop: int) -> tuple[str, str, str]:
    """Return CPU seconds, peak memory in GB, and the longest time without a word, in seconds."""
    out = folder / ("page.html" if command == "report" else f"{command}-{table.stem}")
    words = [command, str(table), "--out", str(out)]
    began = monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=partial(_limited, stop),
    )
    said = [(began, b"")]
    reader = threading.Thread(target=_listen, args=(process.stderr, said))
    reader.start()
    _, status, used = os.wait4(process.pid, 0)
    reader.join()
    moments = [moment for moment, _ in said] + [monotonic()]
    silence = f"{max(np.diff(moments)):.0f}"
    seconds, memory = f"{used.ru_utime + used.ru_stime:.0f}", f"{used.ru_maxrss / 1e6:.1f}"
    if os.WIFSIGNALED(status):
        return f"> {stop}", memory, silence
    if (code := os.waitstatus_to_exitcode(status)) not in (0, 4):
        last = said[-1][1].decode(errors="replace").strip()
        return f"failed after {seconds} ({code}): {last[:80]}", memory, silence
    return seconds, memory, silence


def _limited(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def _listen(stream: IO[bytes], said: list[tuple[float, bytes]]) -> None:
    said.extend((monotonic(), line) for line in stream)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="Where the tables lie, or are written.")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS))
    parser.add_argument("--stop", type=int, default=MOST_SECONDS, help="CPU seconds.")
    given = parser.parse_args()
    print(f"\n## Commands at the size of real benchmarks\n\n{machine()}.")
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = given.folder or Path(place)
        folder.mkdir(exist_ok=True, parents=True)
        for number, (name, make) in enumerate(TABLES.items()):
            if name not in given.tables:
                continue
            path = folder / f"table_{number}.parquet"
            if not path.exists():
                make().save(path)
            for command in given.commands:
                with tempfile.TemporaryDirectory() as results:
                    found = measured(command, path, Path(results), given.stop)
                    rows.append((f"`{command}`", name, *found))
                print("  ", *rows[-1], file=sys.stderr, flush=True)
    heads = ("command", "table", "CPU seconds", "peak memory, GB", "longest silence, s")
    print_table("Commands", heads, rows)


if __name__ == "__main__":
    main()

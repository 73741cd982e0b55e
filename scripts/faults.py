"""Commands killed at random moments, on full disks and in folders that may not be written.

    python scripts/faults.py --kills 20 --commands decode shorten

After each fault the command is run again: it must end with the files of a run that nobody
disturbed, byte by byte, and leave nothing half-written.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

import itemwise as iw

LINE = "from itemwise.cli import main; main()"
COMMANDS = {
    "decode": ["decode", "few.csv#kind", "--pool", "real", "--jobs", "1", "--out", "out"],
    "shorten": ["shorten", "scores.csv", "--items", "4", "--out", "out"],
    "adapt": ["adapt", "scores.csv", "--out", "out"],
    "report": ["report", "scores.csv", "--out", "out.html"],
    "calibrate": ["calibrate", "scores.csv", "--out", "out.json"],
    "gate fit": ["gate", "fit", "cases.csv#kind", "--out", "out.json"],
}
SAME, CLEAN = "same bytes", "clear error"


def main() -> int:
    """Print one line per command and fault."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--kills", type=int, default=100, help="for each command")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--commands", nargs="*", default=list(COMMANDS))
    given = words.parse_args()
    failed = 0
    print(
        f"{'command':12}{'fault':18}{'times':>6}{'same bytes':>12}{'clear error':>12}{'failed':>8}"
    )
    for name in given.commands:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder), COMMANDS[name])
            for fault, found in bench.faults(given.kills, random.Random(given.seed)):  # noqa: S311
                rest = found.total() - found[SAME] - found[CLEAN]
                failed += rest
                counts = f"{found.total():6}{found[SAME]:12}{found[CLEAN]:12}{rest:8}"
                print(f"{name:12}{fault:18}{counts}", flush=True)
                for odd in set(found) - {SAME, CLEAN}:
                    print("   ", odd)
    return 1 if failed else 0


class Bench:
    """One command, run undisturbed once, to compare with."""

    def __init__(self, home: Path, words: list[str]) -> None:
        self.home, self.words = home, words
        self.env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        _write_inputs(home)
        begin = time.monotonic()
        done = self.run()
        self.seconds = time.monotonic() - begin
        if done.returncode not in (0, 4):
            raise SystemExit(f"{words} fails by itself: {done.stderr.decode()}")
        self.whole = self.files()

    def faults(self, kills: int, random_: random.Random):
        """Yield each fault and what became of it."""
        yield "SIGKILL", Counter(self.killed(random_) for _ in range(kills))
        yield "full disk", Counter(self.full(size) for size in (0, 100, 5_000, 100_000))
        yield "two at once", Counter([self.two()])
        if os.geteuid():
            yield "read-only folder", Counter([self.read_only()])

    def run(self, **more) -> subprocess.CompletedProcess[bytes]:
        """Run the command, and wait for it."""
        words = [sys.executable, "-c", LINE, *self.words]
        return subprocess.run(
            words, cwd=self.home, env=self.env, capture_output=True, check=False, **more
        )

    def killed(self, random_: random.Random) -> str:
        """Kill at a random moment, and run again."""
        self.forget()
        words = [sys.executable, "-c", LINE, *self.words]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(words, cwd=self.home, env=self.env, stdout=quiet, stderr=quiet) as p:
            try:
                p.wait(random_.uniform(0.2, self.seconds))
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
        return self.again()

    def full(self, size: int) -> str:
        """No file may grow beyond `size`, as on a disk that is full; then there is room again."""
        self.forget()
        limit = (size, resource.RLIM_INFINITY)
        done = self.run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        if b"Traceback" in done.stderr:
            return f"traceback: {done.stderr.decode().strip().splitlines()[-1]}"
        return self.again()

    def two(self) -> str:
        """The same command twice at the same time, in the same folder."""
        self.forget()
        words = [sys.executable, "-c", LINE, *self.words]
        quiet = subprocess.DEVNULL
        both = [
            subprocess.Popen(words, cwd=self.home, env=self.env, stdout=quiet, stderr=quiet)
            for _ in range(2)
        ]
        for one in both:
            one.wait()
        return self.again()

    def read_only(self) -> str:
        """The folder may not be written."""
        self.forget()
        self.home.chmod(0o555)
        try:
            done = self.run()
        finally:
            self.home.chmod(0o755)
        said = done.stderr.startswith(b"Error") or b"\nError" in done.stderr
        return CLEAN if said and b"Traceback" not in done.stderr else "no clear error"

    def again(self) -> str:
        """Run it again without a fault, and compare all files."""
        done = self.run()
        if b"Traceback" in done.stderr:
            return f"traceback: {done.stderr.decode().strip().splitlines()[-1]}"
        found = self.files()
        if found == self.whole:
            return SAME
        other = {name for name in {*found, *self.whole} if found.get(name) != self.whole.get(name)}
        return f"other files: {sorted(other)[:3]}"

    def files(self) -> dict[str, str]:
        """Checksums of all that the command has written; parts are swept after a while."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            if path.is_file() and path.name not in INPUTS and not path.name.endswith(".part"):
                found[str(path.relative_to(self.home))] = hashlib.sha256(
                    path.read_bytes()
                ).hexdigest()
        return found

    def forget(self) -> None:
        """Remove everything but the inputs."""
        for path in self.home.iterdir():
            if path.name not in INPUTS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


INPUTS = ("scores.csv", "few.csv", "cases.csv")


def _write_inputs(home: Path) -> None:
    drawn = iw.simulate("2pl", 60, 12, random_state=0).responses
    drawn.to_frame().rename_axis("model").to_csv(home / "scores.csv")
    random_ = np.random.default_rng(0)
    few = pd.DataFrame({"x": random_.normal(size=40).round(3)})
    few.assign(kind=np.where(few["x"] > 0, "a", "b")).to_csv(home / "few.csv", index=False)
    cases = pd.DataFrame(random_.normal(size=(120, 2)).round(3), columns=["a", "b"])
    cases.assign(kind=np.where(cases["a"] > 0, "yes", "no")).to_csv(home / "cases.csv", index=False)


if __name__ == "__main__":
    sys.exit(main())

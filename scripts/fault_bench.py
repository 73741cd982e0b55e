"""Commands on small inputs, and what a run leaves: for `faults.py`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pandas as pd

CHILD = Path(__file__).with_name("faulty_child.py")
DATE = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC")  # when a page was made
JOURNAL = ".jsonl"
ENDED_WELL = (0, 4)  # 4: not converged
LONGEST = 600.0  # seconds of any run

COMMANDS = {
    "decode": "decode in/few.csv#kind --pool real --cv 0 --jobs 1 --out out/found",
    "decode --jobs 2": "decode in/few.csv#kind --pool real --cv 2 --jobs 2 --out out/found",
    "demo": "demo --jobs 1 --out out/found",
    "adapt": "adapt in/scores.csv --budget 4 --cv 2 --out out/found",
    "evaluate_adaptively": "evaluate_adaptively",
    "shorten": "shorten in/scores.csv --size 4 --out out/found.json",
    "report": "report in/scores.csv --out out/found.html",
    "gate fit": "gate fit in/cases.csv#kind --compare-size 0 --out out/found.json",
}
# What lies there before: the results of the same command on other data, which are replaced.
BEFORE = {
    "adapt": "adapt in/others.csv --budget 5 --cv 2 --out out/found",
    "shorten": "shorten in/others.csv --size 5 --out out/found.json",
    "report": "report in/others.csv --out out/found.html",
    "gate fit": "gate fit in/other_cases.csv#kind --compare-size 0 --out out/found.json",
}


def write_inputs(folder: Path) -> None:
    """Write small tables, and an item bank."""
    import ogive as og

    folder.mkdir()
    for name, seed in (("scores", 0), ("others", 1)):
        drawn = og.simulate("2pl", 60, 12, random_state=seed).responses
        drawn.to_frame().rename_axis("model").to_csv(folder / f"{name}.csv")
        if name == "scores":
            og.calibrate(drawn, "2pl").save(folder / "bank.json")
    random = np.random.default_rng(0)
    few = pd.DataFrame({"x": random.normal(size=40).round(3)})
    few.assign(kind=np.where(few["x"] > 0, "a", "b")).to_csv(folder / "few.csv", index=False)
    for name in ("cases", "other_cases"):
        cases = pd.DataFrame(random.normal(size=(60, 2)).round(3), columns=["a", "b"])
        noisy = cases["a"] + random.normal(size=60) > 0
        cases.assign(kind=np.where(noisy, "yes", "no")).to_csv(folder / f"{name}.csv", index=False)


@dataclass
class Ended:
    """How a run ended."""

    code: int
    said: str  # on standard error
    seconds: float = 0.0

    @property
    def well(self) -> bool:
        """Whether the results were written."""
        return self.code in ENDED_WELL

    @property
    def clearly(self) -> bool:
        """Whether it ended well, or with an error in one line that the package wrote."""
        errors = [line for line in self.said.splitlines() if line.startswith("Error: ")]
        return self.well or (self.code in (2, 3) and len(errors) == 1 and not self.loudly)

    @property
    def loudly(self) -> bool:
        """Whether it wrote a traceback, or words of Python that nobody asked for."""
        return "Traceback" in self.said or "Exception ignored" in self.said

    def __str__(self) -> str:
        last = (self.said.strip().splitlines() or [""])[-1]
        return f"status {self.code}, {'traceback, ' if self.loudly else ''}{last[:160]!r}"


Files = dict[str, bytes]


@dataclass
class Place:
    """A working directory: inputs in `in`, results in `out`."""

    home: Path
    words: list[str]
    env: dict[str, str]
    before: Files = field(default_factory=dict)  # results that lie there before
    begun: float = 0.0

    def start(self, **fault: object) -> tuple[subprocess.Popen[bytes], int]:
        """Start the command in a process group of its own; the pipe says when it begins."""
        begun, begins = os.pipe()
        told = json.dumps({"words": self.words, "ready": begins, **fault})
        with (self.home / "said.txt").open("wb") as said:
            child = subprocess.Popen(
                [sys.executable, "-P", str(CHILD), told],
                cwd=self.home,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=[begins],
                start_new_session=True,
            )
        os.close(begins)
        self.begun = time.monotonic()
        return child, begun

    def end(self, child: subprocess.Popen[bytes], begun: int) -> Ended:
        """Wait until it has ended."""
        try:
            code = child.wait(LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return Ended(-signal.SIGKILL, f"ran for more than {LONGEST:.0f} s")
        finally:
            os.close(begun)
        said = (self.home / "said.txt").read_text(errors="replace")
        return Ended(code, said, time.monotonic() - self.begun)

    def run(self, **fault: object) -> Ended:
        """Run the command, and wait for it."""
        return self.end(*self.start(**fault))

    def run_until(
        self, seconds: float, number: signal.Signals, twice: float | None = None, **fault: object
    ) -> Ended:
        """Send a signal to the whole group so many seconds after the command began.

        It is sent again `twice` seconds later, if that is given.
        """
        child, begun = self.start(**fault)
        os.read(begun, 1)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, number)
            if twice is not None:
                time.sleep(twice)
                with suppress(ProcessLookupError):  # it has ended
                    os.killpg(child.pid, number)
        return self.end(child, begun)

    def files(self) -> Files:
        """Return all that lies in `out`; dates of pages are left out."""
        out = self.home / "out"
        return {
            str(path.relative_to(out)): DATE.sub(b"DATE", path.read_bytes())
            for path in sorted(out.rglob("*"))
            if path.is_file()
        }


@dataclass
class Bench:
    """One command, and what it leaves if nobody disturbs it."""

    name: str
    base: Path
    env: dict[str, str]
    seconds: float = 0.0
    changes: int = 0
    memory: int = 0  # bytes of addresses
    resident: int = 0  # bytes of memory
    code: int = 0
    whole: Files = field(default_factory=dict)
    before: Files = field(default_factory=dict)  # results that lie there before

    def prepare(self) -> Bench:
        """Run it undisturbed, and what lies there before."""
        with self.place() as place:
            ended = place.run(told="told.json")
            if not ended.well:
                raise SystemExit(f"{self.name} fails by itself: {ended.said}")
            told = json.loads((place.home / "told.json").read_text())
            self.changes, self.code = told["changes"], ended.code
            self.memory, self.resident = told["memory"], told["resident"]
            self.whole = place.files()
        with self.place() as place:
            place.words = BEFORE.get(self.name, COMMANDS[self.name]).split()
            if not (ended := place.run()).well:
                raise SystemExit(f"{self.name} fails on other data: {ended.said}")
            self.seconds = ended.seconds  # of the second run: files of Python are compiled
            if self.name in BEFORE:
                self.before = place.files()
        return self

    @contextmanager
    def place(self, *, before: bool = False) -> Iterator[Place]:
        """Make a new working directory, with results of earlier runs if `before`."""
        home = Path(mkdtemp(dir=self.base))
        home.chmod(0o755)
        (home / "in").symlink_to(self.base / "in")
        (home / "out").mkdir()
        place = Place(home, COMMANDS[self.name].split(), self.env)
        try:
            if before:
                self.fill(place)
            yield place
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def fill(self, place: Place) -> None:
        """Put the results of earlier runs there."""
        place.before = self.before
        for name, content in self.before.items():
            path = place.home / "out" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def harmed(self, place: Place) -> str:
        """Return what is wrong after a fault: files are as before or as after a whole run."""
        found = place.files()
        for name, content in found.items():
            if name.endswith(".part"):
                continue  # swept by the next run
            known = (place.before.get(name), self.whole.get(name.replace(".next.", ".")))
            begun = name.endswith(JOURNAL) and self.whole[name].startswith(content)
            if content not in known and not begun:
                return f"{name} is damaged or not of this command"
        if lost := [name for name in place.before if name not in found and name in self.whole]:
            return f"{lost[0]} was lost"
        if self.name in ("shorten", "gate fit") and "found.json" in found:
            return _unusable(place.home / "out" / "found.json")
        return ""

    def again(self, place: Place) -> str:
        """Return what is wrong after another run without a fault; usually nothing."""
        ended = place.run()
        if ended.code != self.code or ended.loudly:
            return f"the next run: {ended}"
        return self.different(place)

    def different(self, place: Place) -> str:
        """Return which files are not as an undisturbed run leaves them."""
        found = place.files()
        other = [
            name for name in {**found, **self.whole} if found.get(name) != self.whole.get(name)
        ]
        if other:
            return f"other files: {sorted(other)[:3]}"
        asked = place.home / "asked.txt"
        if asked.exists() and len(asked.read_text().split()) > self.most_asked:
            return "items were asked again"
        return ""

    @property
    def most_asked(self) -> int:
        """Items that are asked, and one that a fault may have lost."""
        return len(self.whole.get(f"asked{JOURNAL}", b"").splitlines())


def _unusable(path: Path) -> str:
    import ogive as og

    try:
        og.load(path)
    except Exception as error:
        return f"{path.name} cannot be loaded: {error}"
    return ""

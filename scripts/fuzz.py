"""Damage samples of every reader and loader, and see that nothing but clear errors comes of it.

    python scripts/fuzz.py --inputs 2000 --seed 1 --readers bank gate

Each input is read in a child process, so that a crash, a hang and a flood of memory are seen.
Inputs that reach lines of the reader that no other has reached are damaged further. The same seed
makes the same inputs, however many --jobs there are; a run that was stopped goes on where it was,
and one with more --inputs goes on from there. What is found lies in `found` of the folder --out,
the table in its table.txt.
"""

# ruff: noqa: E402 - variables are set before NumPy and Arrow are loaded
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # threads of 16 processors would fill the addresses
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

import argparse
import gc
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from hostile_coverage import lines_of, words_of
from hostile_place import FAILED, READ, REFUSED, Lane, Place
from hostile_readers import READERS, Reader
from hostile_samples import prepared
from hostile_work import Order, keep, made, work

LANES = 4  # of each reader: so many of its inputs are read at a time
BLOCK = 500  # inputs of one child
HANGS = 60  # seconds on the clock for one input


def main() -> int:
    """Run the campaign, print the table, and say whether anything was found."""
    given = _words().parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    os.fsync = lambda _: None  # what is written here need not outlive a power cut
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
    with tempfile.TemporaryDirectory(dir=base) as scratch:
        campaign = Campaign(given, Path(scratch))
        ended = campaign.run()
    print(campaign.table())
    return 1 if campaign.failures or not ended else 0


def _words() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--inputs", type=int, default=1_000, help="for each reader")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--jobs", type=int, default=1, help="children at a time")
    words.add_argument("--seconds", type=float, default=float("inf"), help="then stop")
    words.add_argument("--readers", nargs="*", default=[], help="words in their names; all if none")
    words.add_argument("--out", type=Path, default=Path("fuzz-found"))
    return words


@dataclass
class Track:
    """One lane of one reader."""

    order: Order
    lane_file: Path
    lane: Lane
    place: Place = field(default_factory=Place)
    watched: tuple[int, float] = (-1, 0.0)  # the input that was read last, and since when


class Campaign:
    """All lanes of all readers, and the children at work on them."""

    def __init__(self, given: argparse.Namespace, scratch: Path) -> None:
        self.given, self.scratch = given, scratch
        self.skipped: list[str] = []
        (given.out / "lanes").mkdir(parents=True, exist_ok=True)
        self.tracks: list[Track] = []
        for name, reader in READERS.items():
            if not given.readers or any(word in name for word in given.readers):
                try:
                    self.tracks += list(self._tracks(name, reader))
                except ImportError as error:
                    self.skipped.append(f"{name} is left out: {error}.")
        self.children: dict[int, Track] = {}

    def _tracks(self, name: str, reader: Reader) -> Iterator[Track]:
        slug = name.replace(" ", "-").replace(",", "")
        first = prepared(reader.samples, reader.use, self.scratch / f"{slug}-0")
        words = tuple(words_of(reader.modules))
        for k in range(LANES):
            own = first.copied(self.scratch / f"{slug}-{k}") if k else first
            originals = tuple(own.restore(number) for number in range(len(own.samples)))
            seed = f"{self.given.seed} {name} {k}"
            end = (self.given.inputs + LANES - 1 - k) // LANES
            order = Order(name, reader, originals, own.samples, words, seed, end, self.given.out)
            path = self.given.out / "lanes" / f"{slug}-{self.given.seed}-{k}.json"
            yield Track(order, path, Lane.read(path))

    def run(self) -> bool:
        """Return True if all inputs were read before the time was up."""
        gc.collect()
        gc.freeze()  # children then share what is here
        until = time.monotonic() + self.given.seconds
        shown = time.monotonic()
        while True:
            busy = {id(track) for track in self.children.values()}
            free = [one for one in self.tracks if id(one) not in busy and _left(one)]
            if time.monotonic() < until:
                free.sort(key=lambda one: one.lane.done)
                for track in free[: self.given.jobs - len(self.children)]:
                    self._start(track)
            if not self.children:
                return not free
            self._wait()
            if time.monotonic() > shown + 10:
                shown = time.monotonic()
                self._write_table()

    def _start(self, track: Track) -> None:
        lane, whole = track.lane, track.order
        order = Order(**{**vars(whole), "end": min(lane.done + BLOCK, whole.end)})
        track.place.tell(lane)
        track.watched = (-1, 0.0)
        child = os.fork()
        if not child:
            code = 1
            try:
                work(order, lane, track.place, track.lane_file)
            except BaseException:
                import traceback

                (self.given.out / "broken.txt").write_text(traceback.format_exc())
            finally:
                os._exit(code)
        self.children[child] = track

    def _wait(self) -> None:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            self._look()
            time.sleep(0.005)
            return
        track = self.children.pop(child)
        if not status:
            track.lane = Lane.read(track.lane_file)
            return
        lane = track.place.into(track.lane)  # with the corpus of the block before
        reason = signal.Signals(os.WTERMSIG(status)).name if status < 256 else "ended"
        keep(track.order, lane, made(track.order, lane), f"{reason}")
        lane.done += 1
        lane.write(track.lane_file)

    def _look(self) -> None:
        """End children that have been at one input for too long on the clock."""
        now = time.monotonic()
        for child, track in self.children.items():
            if track.place.done != track.watched[0]:
                track.watched = (track.place.done, now)
            elif now - track.watched[1] > HANGS:
                os.kill(child, signal.SIGKILL)

    @property
    def failures(self) -> int:
        """Of all lanes."""
        return sum(track.lane.met[FAILED] for track in self.tracks)

    def _write_table(self) -> None:
        (self.given.out / "table.txt").write_text(self.table() + "\n")

    def table(self) -> str:
        """Return one line per reader, and one for all."""
        head = f"{'reader':22}{'inputs':>10}{'read':>9}{'refused':>9}{'failed':>7}"
        lines = [f"{head}{'lines':>9}{'ms each':>9}{'slowest s':>11}{'MiB':>6}"]
        total = [0, 0, 0, 0]
        for name in dict.fromkeys(track.order.name for track in self.tracks):
            lanes = [track.lane for track in self.tracks if track.order.name == name]
            counts = [sum(lane.met[k] for lane in lanes) for k in (READ, REFUSED, FAILED)]
            counts = [sum(lane.done for lane in lanes), *counts]
            total = [a + b for a, b in zip(total, counts, strict=True)]
            there = lines_of(READERS[name].modules)
            reached = {(module, line) for lane in lanes for module, line in lane.lines}
            share = f"{100 * len(reached & there) / len(there):8.1f}%"
            each = 1e3 * sum(lane.seconds for lane in lanes) / max(counts[0], 1)
            slowest, most = max(lane.slowest for lane in lanes), max(lane.memory for lane in lanes)
            figures = f"{share}{each:9.1f}{slowest:11.2f}{most >> 20:6,}"
            lines.append(f"{name:22}{_counts(counts)}{figures}")
        lines.append(f"{'all':22}{_counts(total)}")
        last = max((track.lane.last_failure for track in self.tracks), default=-1)
        calm = sum(max(track.lane.done - 1 - last, 0) for track in self.tracks)
        lines.append(f"Inputs since the last failure: {calm:,}.")
        self._say(lines)
        return "\n".join([*lines, *self.skipped])

    def _say(self, lines: list[str]) -> None:
        broken = self.given.out / "broken.txt"
        if broken.exists():
            lines.append(f"A child broke in the campaign itself: see {broken}.")


def _left(track: Track) -> bool:
    return track.lane.done < track.order.end


def _counts(counts: list[int]) -> str:
    return f"{counts[0]:10,}{counts[1]:9,}{counts[2]:9,}{counts[3]:7,}"


if __name__ == "__main__":
    sys.exit(main())

"""One child of the campaign: a block of inputs of one lane of a reader, grown from its corpus."""

from __future__ import annotations

import base64
import mmap
import os
import random
import resource
import signal
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hostile_coverage import Watch
from hostile_mutations import damaged
from hostile_place import FAILED, READ, REFUSED, Lane, Place
from hostile_readers import Reader
from hostile_samples import Sample

import ogive as og

SECONDS = 10  # of processor time for one input
MEMORY = 2 * 1024**3  # of addresses, more than at the start
MOST_RESIDENT = 500 * 1024**2  # bytes, more than at the start
LARGEST_KEPT = 64 * 1024  # an input that reaches new lines is damaged further if it is small


@dataclass(frozen=True)
class Order:
    """What a child is to do."""

    name: str
    reader: Reader
    originals: tuple[dict[Path, bytes], ...]  # the files of each sample
    samples: tuple[Sample, ...]
    words: tuple[str, ...]  # what the reader looks for
    seed: str
    end: int  # the number of the first input that is left to another child
    out: Path


def made(order: Order, lane: Lane) -> tuple[int, int, bytes]:
    """Return the next input: sample, target, content; the same for the same lane and number."""
    random_ = random.Random(f"{order.seed} {lane.done}")  # noqa: S311
    if lane.corpus and random_.random() < 0.5:
        which, target, kept = random_.choice(lane.corpus)
        content = base64.b64decode(kept)
    else:
        which = random_.randrange(len(order.samples))
        target = random_.randrange(len(order.samples[which].targets))
        content = order.originals[which][order.samples[which].targets[target]]
    other = b""
    if lane.corpus and random_.random() < 0.5:
        other = base64.b64decode(random_.choice(lane.corpus)[2])
    return which, target, damaged(content, random_.getrandbits(60), order.words, other)


def work(order: Order, lane: Lane, place: Place, lane_file: Path) -> None:
    """Read the inputs of a block, then end the process."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resident = _resident()
    watch = Watch(order.reader.modules)
    watch.seen = {(name, line) for name, line in lane.lines}
    if not lane.done:
        for sample in order.samples:
            order.reader.use(sample.path)
        watch.take()
    begin = time.process_time()
    while lane.done < order.end:
        place.tell(lane)
        which, target, content = made(order, lane)
        read_one(order, lane, (which, target, content))
        above = _resident() - resident
        if above > max(lane.memory, MOST_RESIDENT):
            keep(order, lane, (which, target, content), f"{above >> 20} MiB of memory")
        lane.memory = max(lane.memory, above)
        if watch.take() and len(content) <= LARGEST_KEPT:
            lane.corpus.append([which, target, base64.b64encode(content).decode()])
        lane.done += 1
    lane.seconds += time.process_time() - begin
    lane.lines = [[name, line] for name, line in sorted(watch.seen)]
    lane.write(lane_file)
    os._exit(0)


def read_one(order: Order, lane: Lane, given: tuple[int, int, bytes]) -> None:
    """Read an input, and count what came of it."""
    which, target, content = given
    sample = order.samples[which]
    for path, old in order.originals[which].items():
        path.write_bytes(content if path == sample.targets[target] else old)
    if order.reader.sign is not None and lane.done % 4:
        with suppress(Exception):  # what cannot be signed stays as it is
            order.reader.sign(sample.path)
    begin = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)  # kills a child that does not end
    try:
        order.reader.use(sample.path)
        lane.met[READ] += 1
    except og.OgiveError:
        lane.met[REFUSED] += 1
    except BaseException:
        keep(order, lane, given, traceback.format_exc(limit=-6))
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    lane.slowest = max(lane.slowest, time.process_time() - begin)


def _resident() -> int:
    """Return the most memory that the process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def keep(order: Order, lane: Lane, given: tuple[int, int, bytes], why: str) -> None:
    """Count a failure, and keep an input once per kind of failure."""
    lane.met[FAILED] += 1
    lane.last_failure = lane.done
    which, target, content = given
    lines = why.strip().splitlines()
    place = next((line.strip() for line in reversed(lines) if line.strip().startswith("File")), "")
    key = f"{hash_of(lines[-1].partition(':')[0] + place):08d}"
    home = order.out / "found" / order.name.replace(" ", "-").replace(",", "")
    home.mkdir(parents=True, exist_ok=True)
    damaged_file = order.samples[which].targets[target]
    path = home / f"{key}-{damaged_file.name}"
    if not path.exists():
        path.write_bytes(content)
        said = f"sample {which}, input {order.seed} {lane.done}, file {damaged_file}\n{why}\n"
        path.with_name(f"{path.name}.why").write_text(said)


def hash_of(text: str) -> int:
    """Return a number below 10**8 that does not change from run to run."""
    import zlib

    return zlib.crc32(text.encode(errors="replace")) % 10**8

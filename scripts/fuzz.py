"""Damage samples of every reader and loader, and see that nothing but clear errors comes of it.

    python scripts/fuzz.py --inputs 2000 --seed 1 --readers bank gate

Each input is read in a child process, so that a crash, a hang and a flood of memory are seen. What
is found lies in the folder of --out, small enough for tests/hostile/.
"""

from __future__ import annotations

import argparse
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import itemwise as iw

sys.path.insert(0, str(Path(__file__).parent))
from hostile_mutations import damaged
from hostile_readers import READERS, Reader, fresh

SECONDS = 10  # of processor time for one input
MEMORY = 2 * 1024**3  # more than at the start
READ, REFUSED, FAILED = range(3)


def main() -> int:
    """Run the campaign and print one line per reader."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--inputs", type=int, default=1_000, help="for each reader")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--readers", nargs="*", default=[], help="words in their names; all if none")
    words.add_argument("--out", type=Path, default=Path("fuzz-found"))
    given = words.parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    os.fsync = lambda _: None  # what is written here need not outlive a power cut
    total: Counter[int] = Counter()
    print(f"{'reader':22}{'inputs':>9}{'read':>8}{'refused':>9}{'failed':>8}{'slowest s':>11}")
    for name, reader in READERS.items():
        if given.readers and not any(word in name for word in given.readers):
            continue
        counts, slowest = campaign(name, reader, given.seed, given.inputs, given.out)
        total.update(counts)
        figures = f"{counts.total():9,}{counts[READ]:8,}{counts[REFUSED]:9,}{counts[FAILED]:8,}"
        print(f"{name:22}{figures}{slowest:11.2f}", flush=True)
    print(f"{'all':22}{total.total():9,}{total[READ]:8,}{total[REFUSED]:9,}{total[FAILED]:8,}")
    return 1 if total[FAILED] else 0


def campaign(name: str, reader: Reader, seed: int, n: int, out: Path) -> tuple[Counter[int], float]:
    """What became of `n` inputs, and how long the slowest took."""
    shared = mmap.mmap(-1, 64)  # position, seconds of the slowest, counts
    with tempfile.TemporaryDirectory() as folder:
        home = fresh(Path(folder) / "sample")
        target, path = reader.make(home)
        good = target.read_bytes()
        reader.use(path)
        done = 0
        counts: Counter[int] = Counter()
        while done < n:
            child = os.fork()
            if not child:
                _work(name, reader, (target, path, good), seed, range(done, n), shared, out)
            _, status = os.waitpid(child, 0)
            at, *met = struct.unpack("qqqq", shared[:32])
            if status:
                reason = signal.Signals(os.WTERMSIG(status)).name if status < 256 else "exit"
                _keep(out, name, damaged(good, seed * 10**9 + at), f"{reason} at {at}", target)
                met[FAILED] += 1
                done = at + 1
                shared[:32] = struct.pack("qqqq", at, *met)
            else:
                done = n
            counts = Counter(dict(enumerate(met)))
    return counts, struct.unpack("d", shared[32:40])[0]


def _work(
    name: str,
    reader: Reader,
    sample: tuple[Path, Path, bytes],
    seed: int,
    inputs: range,
    shared: mmap.mmap,
    out: Path,
) -> None:
    target, path, good = sample
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, *met = struct.unpack("qqqq", shared[:32])
    slowest = struct.unpack("d", shared[32:40])[0]
    others = {each: each.read_bytes() for each in target.parent.iterdir() if each.is_file()}
    for at in inputs:
        shared[:32] = struct.pack("qqqq", at, *met)
        content = damaged(good, seed * 10**9 + at)
        for each, old in others.items():
            each.write_bytes(old)
        target.write_bytes(content)
        if reader.sign is not None and at % 4:
            with suppress(Exception):  # what cannot be signed stays as it is
                reader.sign(path)
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)  # kills a child that hangs
        try:
            reader.use(path)
            met[READ] += 1
        except iw.ItemwiseError:
            met[REFUSED] += 1
        except BaseException:
            met[FAILED] += 1
            _keep(out, name, content, traceback.format_exc(limit=-4), target)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        slowest = max(slowest, time.process_time() - begin)
        shared[32:40] = struct.pack("d", slowest)
    shared[:32] = struct.pack("qqqq", inputs[-1], *met)
    os._exit(0)


def _keep(out: Path, name: str, content: bytes, why: str, target: Path) -> None:
    """Keep an input, once per kind of failure."""
    kind = why.strip().splitlines()
    place = next((line.strip() for line in reversed(kind) if line.strip().startswith("File")), "")
    key = f"{abs(hash((kind[-1][:60], place))) % 10**8:08d}"
    home = out / name.replace(" ", "-").replace(",", "")
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{key}{target.suffix}"
    if not path.exists():
        path.write_bytes(content)
        path.with_suffix(path.suffix + ".why").write_text(why)


if __name__ == "__main__":
    sys.exit(main())

"""Give every reader pipes, devices, bombs, deep nesting and the like; print time and memory.

    python scripts/attacks.py --jobs 4

Each is read in a child process. It must be refused with an error of the package, or be read, within
SECONDS of processor time and MEMORY; a refusal for size must name the argument that raises it.
"""

# ruff: noqa: E402 - variables are set before NumPy and Arrow are loaded
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

import argparse
import json
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from hostile_attacks import ATTACKS, LARGE, SMALL
from hostile_readers import READERS, Reader
from hostile_samples import Prepared, prepared

import ogive as og

SECONDS = 60  # of processor time
MEMORY = 4 << 30  # of addresses, more than at the start
Result = dict[str, Any]


def main() -> int:
    """Run all, print two tables, and say whether anything failed."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--jobs", type=int, default=1, help="children at a time")
    words.add_argument("--readers", nargs="*", default=[], help="words in their names; all if none")
    words.add_argument("--attacks", nargs="*", default=[], help="words in their names; all if none")
    words.add_argument("--small", action="store_true", help="small sizes, as in the tests")
    given = words.parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    cases = [
        (name, attack)
        for attack in ATTACKS
        for name in READERS
        if not given.readers or any(word in name for word in given.readers)
        if not given.attacks or any(word in attack for word in given.attacks)
    ]
    found = _all(cases, given.jobs, SMALL if given.small else LARGE)
    _print(found, "reader")
    _print(found, "attack")
    failed = [each for each in found if each["outcome"] == "failed"]
    for each in failed:
        print(f"\n{each['reader']}, {each['attack']}: {each['why']}")
    return 1 if failed else 0


def _all(cases: list[tuple[str, str]], jobs: int, sizes: dict[str, int]) -> list[Result]:
    found: list[Result] = []
    children: dict[int, tuple[str, str, Path]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        ready = {
            name: prepared(READERS[name].samples, READERS[name].use, Path(scratch) / str(k))
            for k, name in enumerate(dict.fromkeys(name for name, _ in cases))
        }
        Path(scratch).chmod(0o755)
        while cases or children:
            if cases and len(children) < jobs:
                name, attack = cases.pop(0)
                told = Path(scratch) / f"{len(cases)}.json"
                child = os.fork()
                if not child:
                    try:
                        own = ready[name].copied(told.with_suffix(".d"))
                        told.write_text(json.dumps(attacked(name, attack, sizes, own)))
                    finally:
                        os._exit(0)
                children[child] = (name, attack, told)
                continue
            child, status = os.wait()
            name, attack, told = children.pop(child)
            if status or not told.exists():
                reason = signal.Signals(status & 127).name if status & 127 else "no result"
                found.append(_result(name, attack, "failed", SECONDS, 0, reason))
            else:
                found += json.loads(told.read_text())
            shutil.rmtree(told.with_suffix(".d"), ignore_errors=True)
    return found


def attacked(name: str, attack: str, sizes: dict[str, int], own: Prepared) -> list[Result]:
    """Return what became of each file of each sample; a file is left as it was."""
    found = []
    for number, sample in enumerate(own.samples):
        for target in sample.targets:
            own.restore(number)
            found.append(_one(name, attack, sizes, sample.path, target))
            clear(target)
        own.restore(number)
    return [each for each in found if each is not None]


def clear(target: Path) -> None:
    """Remove whatever an attack left."""
    if target.is_dir() and not target.is_symlink():
        target.rmdir()
    else:
        target.unlink(missing_ok=True)


def _one(name: str, attack: str, sizes: dict[str, int], path: Path, target: Path) -> Result | None:
    """Return in a child of its own, so that memory is its own and another user does no harm."""
    made = ATTACKS[attack]
    told = target.with_name(f"{target.name}.told")
    with told.open("w+") as file:
        told.unlink()
        child = os.fork()
        if not child:
            code = 1
            try:
                used = int(Path("/proc/self/statm").read_text().split()[0])
                used = used * resource.getpagesize() + MEMORY
                if made.make(target, target.read_bytes(), sizes.get(made.size, 0)):
                    resource.setrlimit(resource.RLIMIT_AS, (used, used))
                    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
                    signal.alarm(10 * SECONDS)
                    json.dump(met_by(name, READERS[name], path, attack), file)
                    file.flush()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if status:
            reason = signal.Signals(status & 127).name if status & 127 else "the attack broke"
            return _result(name, attack, "failed", SECONDS, 0, reason)
        file.seek(0)
        text = file.read()
    return json.loads(text) if text else None


def met_by(name: str, reader: Reader, path: Path, attack: str) -> Result:
    """Return what becomes of a file, in this process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    outcome, why = "read", ""
    try:
        reader.use(path)
    except og.OgiveError as error:
        outcome, why = "refused", str(error)
        if ("limit is" in why or "the limit" in why) and "max_bytes" not in why:
            outcome = "failed"
    except BaseException:
        outcome, why = "failed", traceback.format_exc(limit=-4)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return _result(name, attack, outcome, time.process_time() - begin, memory, why)


def _result(name: str, attack: str, outcome: str, seconds: float, memory: int, why: str) -> Result:
    told = {"reader": name, "attack": attack, "outcome": outcome, "why": why}
    return {**told, "seconds": seconds, "memory": memory}


def _print(found: list[Result], by: str) -> None:
    other = "attack" if by == "reader" else "reader"
    print(f"{by:22}{'files':>6}{'read':>6}{'refused':>9}{'failed':>8}", end="")
    print(f"{'slowest s':>11} {'with':21}{'MiB':>6} with")
    for name in dict.fromkeys(each[by] for each in found):
        of = [each for each in found if each[by] == name]
        met = [
            sum(each["outcome"] == word for each in of) for word in ("read", "refused", "failed")
        ]
        slow, large = (max(of, key=lambda each: each[word]) for word in ("seconds", "memory"))
        print(f"{name:22}{len(of):6}{met[0]:6}{met[1]:9}{met[2]:8}", end="")
        print(f"{slow['seconds']:11.2f} {slow[other]:21}", end="")
        print(f"{large['memory'] >> 10:6,} {large[other]}")
    print()


if __name__ == "__main__":
    sys.exit(main())

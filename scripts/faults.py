"""Commands that are killed, interrupted, short of disk or memory, or not alone.

    python scripts/faults.py --jobs 2 --kills 15 --only decode shorten

After each fault, every file must be as it was before or as an undisturbed run leaves it; what the
command says must be a sentence; and the same command, run again, must end with the files of an
undisturbed run, byte by byte (but for the date on a page), and with nothing half-written.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from fault_bench import COMMANDS, Bench, Ended, Files, Place, write_inputs
from fault_disks import CAN_MOUNT, disk, how_full, mounted, remount

SAME, CLEAR, NOT_BEGUN = "same bytes", "clear error", "not begun"
YEAR = 365 * 86_400
WITH_WORKERS = "decode --jobs 2"
Random = random.Random


def main() -> int:
    """Print one line per command and fault."""
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--jobs", type=int, default=2, help="faults at the same time")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--only", nargs="*", default=list(COMMANDS), choices=COMMANDS)
    words.add_argument("--faults", nargs="*", default=list(FAULTS), choices=FAULTS)
    words.add_argument("--share", type=float, default=1.0, help="of the trials of each fault")
    words.add_argument("--seconds", type=float, default=3600.0, help="begin nothing after these")
    words.add_argument("--markdown", type=Path, help="write the table to this file as well")
    given = words.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ogive-faults-") as base:
        Path(base).chmod(0o755)
        found = campaign(Path(base), given)
    lines = [row(["command", "fault", "times", SAME, CLEAR, "failed"])]
    failed, left_out = [], 0
    for (name, fault), outcomes in found.items():
        left_out += outcomes.pop(NOT_BEGUN, 0)
        odd = outcomes.total() - outcomes[SAME] - outcomes[CLEAR]
        counts = outcomes.total(), outcomes[SAME], outcomes[CLEAR], odd
        lines.append(row([name, fault, *counts]))
        failed += [(name, fault, *one) for one in outcomes.items() if one[0] not in (SAME, CLEAR)]
    total = sum(found.values(), Counter())
    odd = total.total() - total[SAME] - total[CLEAR]
    lines.append(row(["all", "", total.total(), total[SAME], total[CLEAR], odd]))
    print("\n".join(lines))
    print(f"\n{time.monotonic() - begin:.0f} s; full disk: {how_full()}; seed {given.seed}")
    if left_out:
        print(f"{left_out} trials were not begun within {given.seconds:.0f} s")
    for name, fault, outcome, n in failed:
        print(f"{name}, {fault}, {n} times: {outcome}")
    if given.markdown:
        given.markdown.write_text(as_markdown(lines))
    return 1 if failed else 0


def row(cells: list[object]) -> str:
    """Return one line of the table."""
    widths = (21, 25, 6, 12, 13, 8)
    return "".join(
        f"{cell!s:{'<' if k < 2 else '>'}{width}}"
        for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )


def as_markdown(lines: list[str]) -> str:
    """Return the table as a block of text, as the page on security shows it."""
    return "\n".join(["```text", *lines, "```", ""])


def campaign(base: Path, given: argparse.Namespace) -> dict[tuple[str, str], Counter[str]]:
    """Try all faults on all commands, several at a time; outcomes by command and fault."""
    write_inputs(base / "in")
    config = base / "matplotlib"
    config.mkdir()
    config.chmod(0o777)
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    source = str(Path(__file__).parents[1] / "src")
    env = {
        **os.environ,
        **one_thread,
        "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]),
        "PYTHONHASHSEED": "0",
        "MPLCONFIGDIR": str(config),
        "TMPDIR": str(base),
    }
    with ThreadPoolExecutor(given.jobs) as pool:
        benches = [Bench(name, base, env) for name in given.only]
        list(pool.map(Bench.prepare, benches))
        tell("undisturbed: " + ", ".join(f"{one.name} {one.seconds:.1f} s" for one in benches))
        trials = [
            Trial(bench, fault, f"{given.seed} {bench.name} {fault} {k}", k)
            for bench in benches
            for fault in given.faults
            for k in range(how_often(fault, bench, given.share))
        ]
        found = {(each.bench.name, each.fault): Counter[str]() for each in trials}
        end = time.monotonic() + given.seconds
        # All faults in turn, so that none is left out if time is short; slow commands first.
        trials.sort(key=lambda each: (each.number, -each.bench.seconds))
        running = {pool.submit(each.outcome, end): each for each in trials}
        for n, done in enumerate(as_completed(running), 1):
            trial, outcome = running[done], done.result()
            found[trial.bench.name, trial.fault][outcome] += 1
            if outcome not in (SAME, CLEAR, NOT_BEGUN):
                tell(f"{trial.seed}: {outcome}")
            if n % 25 == 0:
                tell(f"{n} of {len(trials)}")
    return found


def tell(words: str) -> None:
    """Say how far it is."""
    print(words, file=sys.stderr, flush=True)


@dataclass
class Trial:
    """One fault in one command."""

    bench: Bench
    fault: str
    seed: str
    number: int

    def outcome(self, end: float) -> str:
        """Return what became of it, if it is not too late to begin."""
        if time.monotonic() > end:
            return NOT_BEGUN
        random_ = Random(self.seed)
        try:
            return FAULTS[self.fault][1](self.bench, random_, self.number)
        except Exception as error:
            return f"the trial itself failed: {type(error).__name__}: {error}"


def killed(bench: Bench, random_: Random, number: int) -> str:
    """SIGKILL to the process group at a random moment; every second time over older results."""
    longest = bench.seconds
    while True:
        with bench.place(before=number % 2 == 1) as place:
            ended = place.run_until(random_.uniform(0.0, longest), signal.SIGKILL)
            if ended.code == -signal.SIGKILL:
                return bench.harmed(place) or bench.again(place) or SAME
        longest = 0.9 * min(longest, ended.seconds)  # it was faster than undisturbed


def killed_at_change(bench: Bench, random_: Random, number: int) -> str:
    """Return SIGKILL when a file is about to be opened, renamed, removed."""
    with bench.place(before=number % 2 == 1) as place:
        place.run(die_at=random_.randrange(bench.changes))
        return bench.harmed(place) or bench.again(place) or SAME


def interrupted(bench: Bench, random_: Random, number: int) -> str:
    """Ctrl-C in a terminal: all processes of the group get SIGINT; of every four, one twice."""
    with bench.place(before=number % 2 == 1) as place:
        twice = random_.uniform(0.0, 0.3) if number % 4 == 3 else None
        ended = place.run_until(random_.uniform(0.0, bench.seconds), signal.SIGINT, twice)
        if ended.loudly or not (ended.well or ended.code in (130, -signal.SIGINT)):
            return f"after Ctrl-C: {ended}"
        if ended.code == 130 and ended.said.splitlines()[-1:] != ["Interrupted."]:
            return f"after Ctrl-C, no word: {ended}"
        if not twice and any(name.endswith(".part") for name in place.files()):
            return "Ctrl-C left a .part"
        return bench.harmed(place) or bench.again(place) or SAME


def out_of_disk(bench: Bench, random_: Random, number: int) -> str:
    """Return there is room for a part of the files; then there is room again."""
    sizes = [len(content) for content in bench.whole.values()]
    with bench.place() as place, disk(place) as limit:
        before = number % 2 == 1
        if before:
            bench.fill(place)
        room = random_.random() * sum(sizes)
        ended = place.run(**limit.allow(int(room), max(sizes), place))
        if not ended.clearly:
            return f"on a full disk: {ended}"
        if wrong := bench.harmed(place):
            return wrong
        if any(name.endswith(".part") for name in place.files()):
            return "a full disk left a .part"
        limit.enlarge(place)
        return bench.again(place) or (SAME if ended.well else CLEAR)


def read_only_disk(bench: Bench, random_: Random, number: int) -> str:
    """Return a file system that is read only."""
    del random_
    with bench.place() as place, mounted(place):
        if number % 2:
            bench.fill(place)
        earlier = place.files()
        remount(place, "ro")
        ended = place.run()
        remount(place, "rw")
        return refused(bench, place, ended, earlier)


def read_only_folder(bench: Bench, random_: Random, number: int) -> str:
    """Return a folder that an ordinary user may not write."""
    del random_
    with bench.place(before=number % 2 == 1) as place:
        earlier, out = place.files(), place.home / "out"
        out.chmod(0o555)
        for path in out.rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        ended = place.run(without_rights=os.geteuid() == 0)  # root may write everywhere
        out.chmod(0o755)
        for path in out.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        return refused(bench, place, ended, earlier)


def refused(bench: Bench, place: Place, ended: Ended, earlier: Files) -> str:
    """Return a clear error and no changed file; then it may write."""
    if ended.well or not ended.clearly:
        return f"read only: {ended}"
    if place.files() != earlier:
        return "read only, but files changed"
    (place.home / "asked.txt").unlink(missing_ok=True)
    return bench.again(place) or CLEAR


def two_at_once(bench: Bench, random_: Random, number: int) -> str:
    """Return the same command twice in one folder, the second a moment later."""
    with bench.place(before=number % 2 == 1) as place:
        first, begun = place.start()
        time.sleep(random_.uniform(0.0, bench.seconds / 2))
        other = Place(place.home, place.words, place.env)
        second = other.run()
        ended = place.end(first, begun)
        for one in (ended, second):
            if not one.clearly:
                return f"two at once: {one}"
        if wrong := bench.different(place):
            return f"two at once: {wrong}"
        return bench.again(place) or (SAME if ended.well and second.well else CLEAR)


def clock_set_back(bench: Bench, random_: Random, number: int) -> str:
    """Killed, and when it runs again, all files are from the future; its clock goes back, too."""
    with bench.place(before=number % 2 == 1) as place:
        place.run(die_at=random_.randrange(bench.changes))
        later = time.time() + YEAR
        for path in [place.home / "out", *(place.home / "out").rglob("*")]:
            os.utime(path, (later, later))
        ended = place.run(clock_jumps=float(YEAR))
        if ended.code != bench.code or ended.loudly:
            return f"the clock set back: {ended}"
        return bench.different(place) or bench.again(place) or SAME


def out_of_memory(bench: Bench, random_: Random, number: int) -> str:
    """Return no more memory is given than a part of what it takes.

    OpenBLAS asks again, for ever or ten times, and then ends the process with a line of its own:
    no Python can catch that. It is killed after a while, as the kernel would.
    """
    with bench.place(before=number % 2 == 1) as place:
        limit = int(bench.memory * random_.uniform(0.5, 0.98))
        ended = place.run_until(2 * bench.seconds + 5, signal.SIGKILL, memory=limit)
        given_up = "OpenBLAS error: Memory allocation" in ended.said
        if ended.loudly or (ended.code > 0 and not (ended.clearly or given_up)):
            return f"out of memory: {ended}"
        return bench.harmed(place) or bench.again(place) or (SAME if ended.well else CLEAR)


def killed_for_memory(bench: Bench, random_: Random, number: int) -> str:
    """Return the kernel kills the command when it takes more memory than there is."""
    most = random_.uniform(0.3, 0.99) * bench.resident
    with bench.place(before=number % 2 == 1) as place:
        child, begun = place.start()
        while child.poll() is None:
            if memory_of(child.pid) > most:
                os.killpg(child.pid, signal.SIGKILL)
                break
            time.sleep(0.005)
        place.end(child, begun)
        return bench.harmed(place) or bench.again(place) or SAME


def memory_of(pid: int) -> int:
    """Return bytes of memory that a process takes."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * resource.getpagesize()


def worker_killed(bench: Bench, random_: Random, number: int) -> str:
    """Return the kernel kills one worker process for memory; the command goes on."""
    del number
    with bench.place() as place:
        child, begun = place.start()
        victims: list[int] = []
        while child.poll() is None and not victims:
            time.sleep(0.01)
            victims = [pid for pid in children(child.pid) if is_worker(pid)]
        time.sleep(random_.uniform(0.0, bench.seconds / 2))
        for pid in victims[:1]:
            if child.poll() is None and is_worker(pid):
                os.kill(pid, signal.SIGKILL)
        ended = place.end(child, begun)
        if not ended.well or ended.loudly:
            return f"a worker was killed: {ended}"
        return bench.different(place) or bench.again(place) or SAME


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    told = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        return [int(each) for each in told.read_text().split()]
    except OSError:
        return []


def is_worker(pid: int) -> bool:
    """Return True if a process is a worker of joblib, not what keeps track of its memory."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"popen_loky" in words


def how_often(fault: str, bench: Bench, share: float) -> int:
    """Return trials of a fault; none where it cannot happen."""
    if fault == "worker killed" and bench.name != WITH_WORKERS:
        return 0
    if fault == "read-only file system" and not CAN_MOUNT:
        return 0
    return max(1, round(FAULTS[fault][0] * share))


FAULTS: dict[str, tuple[int, Callable[[Bench, Random, int], str]]] = {
    "SIGKILL": (15, killed),
    "SIGKILL at a change": (6, killed_at_change),
    "Ctrl-C": (8, interrupted),
    "full disk": (4, out_of_disk),
    "read-only file system": (2, read_only_disk),
    "read-only folder": (2, read_only_folder),
    "two at once": (2, two_at_once),
    "clock set back": (2, clock_set_back),
    "too little memory": (2, out_of_memory),
    "killed for memory": (2, killed_for_memory),
    "worker killed": (4, worker_killed),
}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())

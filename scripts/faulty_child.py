"""The child of `faults.py`: one command, run with a limit or a clock that goes wrong.

    python faulty_child.py '{"words": ["report", "in/scores.csv"]}'

Limits are set here and not before the start, since they would hold for Python's own start as well.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.link"}
WRITING = os.O_WRONLY | os.O_RDWR
CAPABILITIES_3 = 0x20080522  # the format of the call
BUDGET, SECONDS_OF_AN_ANSWER = 10, 0.05


def main() -> None:
    """Prepare the fault, say that the command begins, and run it."""
    given = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would ignore it
    if given.get("without_rights"):
        drop_rights()
    for name, kind in (("file_bytes", resource.RLIMIT_FSIZE), ("memory", resource.RLIMIT_AS)):
        if name in given:
            resource.setrlimit(kind, (given[name], resource.RLIM_INFINITY))
    if given.get("clock_jumps"):
        jump_back(given["clock_jumps"])
    changes = Changes(given.get("die_at"))
    sys.addaudithook(changes.met)
    if "ready" in given:
        os.write(given["ready"], b".")
    try:
        run(given["words"])
    finally:
        if "told" in given:
            told = {"changes": changes.n, "memory": kept("VmPeak"), "resident": kept("VmHWM")}
            Path(given["told"]).write_text(json.dumps(told))


def kept(name: str) -> int:
    """Return bytes that the system says this process has taken at most."""
    _, _, rest = Path("/proc/self/status").read_text().partition(f"{name}:")
    return int(rest.split()[0]) * 1024


def drop_rights() -> None:
    """Permissions hold for root from now on, as for anybody else."""
    import ctypes

    header = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "the rights of root cannot be dropped")


class Changes:
    """Counts changes of files in the working directory; at one of them the process is killed."""

    def __init__(self, die_at: int | None) -> None:
        self.n, self.die_at = 0, die_at
        self.home = f"{Path.cwd()}/"

    def met(self, event: str, args: tuple) -> None:
        """Count an event of Python that is about to change a file."""
        if event == "open":
            path, _, flags = args
            if not isinstance(path, str | os.PathLike) or not (flags or 0) & WRITING:
                return
        elif event in CHANGES:
            path = args[0]
        else:
            return
        if not os.path.abspath(os.fsdecode(path)).startswith(self.home):  # noqa: PTH100 - quick
            return
        if self.n == self.die_at:
            os.killpg(0, signal.SIGKILL)
        self.n += 1


def jump_back(seconds: float) -> None:
    """Let the clock go back half a second from now."""
    real, start = time.time, time.monotonic()
    time.time = lambda: real() - (seconds if time.monotonic() > start + 0.5 else 0.0)


def run(words: list[str]) -> None:
    """Run a command line; `evaluate_adaptively` and a small `demo` are not available as such."""
    if find_spec("matplotlib") is None:
        draw_nothing()
    try:
        if words == ["evaluate_adaptively"]:
            evaluate()
            return
        if words[0] == "demo":
            make_demo_small()
    except KeyboardInterrupt:  # as the package is imported
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    sys.argv = ["ogive", *words]
    from ogive.cli import main as command_line

    command_line()


def make_demo_small() -> None:
    """Two small data sets and twelve classifiers, and few resamples."""
    from ogive.reporting import demo

    demo.NAMES, demo.MISLABELLED, demo.TWO_CLASSES = ("iris", "moons"), "iris", "moons"
    demo.N_MISLABELLED, demo.POOL, demo.CASES = 3, "real", 2
    demo.SHORT, demo.BUDGETS = 10, (5,)


def evaluate() -> None:
    """Ask a model that is slow to answer, with a journal, and save the result."""
    import typer

    import ogive as og
    from ogive.cli.application import report_errors

    def ask(item: str) -> int:
        with Path("asked.txt").open("a") as file:
            file.write(f"{item}\n")
        time.sleep(SECONDS_OF_AN_ANSWER)
        return int(item < "item_06")

    try:
        with report_errors():
            bank = og.load("in/bank.json")
            found = og.evaluate_adaptively(
                bank, ask, budget=BUDGET, method="adaptive", journal="out/asked.jsonl",
                progress=False,
            )  # fmt: skip
            found.save("out/found.csv")
    except typer.Exit as end:
        sys.exit(end.exit_code)


def draw_nothing() -> None:
    """Where matplotlib is not installed, write the data of a figure in its place."""
    from unittest.mock import MagicMock

    from ogive.reporting import sections
    from ogive.reporting import sections as pictures
    from ogive.results.plots import figure as display

    display.Display.plot = lambda self, *_, **__: self
    display.Display.ax_ = display.Display.figure_ = MagicMock()
    display.Display._rendered = lambda self, *_: self.frame.to_csv().encode()  # noqa: SLF001
    pictures.picture_of = sections.picture_of = lambda *_: "<svg/>"


if __name__ == "__main__":
    main()

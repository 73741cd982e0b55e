"""Count how many small changes of the numeric code the tests notice.

    make mutation                     # a sample of 400 mutants, one and the same for a seed
    python scripts/mutation.py --sample 50 --random-state 1 stats

Cosmic Ray makes the mutants: a sign, a comparison or a number changed. Each is tried against the
tests that run its line, those of its own room first; it is killed when one of them fails or takes
too long. Changes in annotations only are left out: they do not change what the program does.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ogive"
ROOMS = ("irt", "stats")
TESTS = (*ROOMS, "reference")  # folders of tests that run code of the rooms
# Operators of Cosmic Ray that are left out: they need arguments, or a float breaks at once.
LEFT_OUT = ("NoOp", "Variable", "ExceptionReplacer", "_Bit", "Shift", "Invert")
ENOUGH = 15.0  # seconds of tests for one mutant, by what they took before: of a core, not a clock
CLOCK = "MUTATION_SECONDS"  # the file in which a run with this module as a plugin notes them
PRELOADED = ("numpy", "scipy.optimize", "scipy.stats", "pandas", "pytest")
PATIENCE = 20  # a mutant that takes so many times longer is killed


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: Path
    line: int
    operator: str
    code: str  # of the whole file


@dataclass(frozen=True)
class Trial:
    """The tests of one mutant, under way in a process of their own."""

    number: int
    mutant: Mutant
    home: Path  # the copy of the package that holds the mutant
    process: int
    deadline: float


def main() -> int:
    """Return sample, try and count."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("rooms", nargs="*", default=list(ROOMS))
    arguments.add_argument("--sample", type=int, default=400)
    arguments.add_argument("--random-state", type=int, default=0)
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--out", type=Path, default=Path("mutation.json"))
    arguments.add_argument("--covered", type=Path, help="keep which test runs which line here")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        covered = tests_of_lines(given.covered or Path(place))
    mutants = sampled(given.rooms, given.sample, random.Random(given.random_state))  # noqa: S311
    unchanged = [replace(mutant, code=mutant.path.read_text("utf-8")) for mutant in mutants[:2]]
    if "killed" in tried(unchanged, covered, given.workers):
        raise SystemExit("Tests fail without any change: nothing can be counted.")
    verdicts = tried(mutants, covered, given.workers)
    report(mutants, verdicts, given.out)
    return 0


def tests_of_lines(place: Path) -> dict[tuple[str, int], list[tuple[float, str]]]:
    """The tests that run each line, with their seconds, measured unless they lie in `place`."""
    import coverage

    data, times = place / "coverage", place / "seconds.json"
    if not times.exists():
        measure(data, times)
    seconds: dict[str, float] = json.loads(times.read_text("utf-8"))
    kept = coverage.CoverageData(str(data))
    kept.read()
    found: dict[tuple[str, int], list[tuple[float, str]]] = {}
    for path in kept.measured_files():
        for line, contexts in kept.contexts_by_lineno(path).items():
            tests = {each.partition("|")[0].partition("[")[0] for each in contexts if each}
            found[path, line] = sorted((seconds.get(test, 1.0), test) for test in tests)
        everywhere = sorted(
            {each for (file, _), them in found.items() if file == path for each in them}
        )
        own = lines_of_functions(Path(path).read_text("utf-8"))
        for line in kept.lines(path) or []:
            if line not in own:  # runs when the module is imported: any test may depend on it
                found[path, line] = everywhere
    return found


def lines_of_functions(code: str) -> set[int]:
    """Return the lines that run when a function is called."""
    called = (
        statement
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
    )
    return {line for each in called for line in range(each.lineno, (each.end_lineno or 0) + 1)}


def measure(data: Path, times: Path) -> None:
    """Run the tests once, and note the lines that each of them runs."""
    folders = [str(ROOT / "tests" / name) for name in TESTS]
    data.parent.mkdir(parents=True, exist_ok=True)
    settings = data.parent / "coveragerc"
    settings.write_text(f"[run]\ndata_file = {data}\nsource = {SOURCE}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:xdist"]
    command += [f"--cov={SOURCE}", f"--cov-config={settings}", "--cov-context=test"]
    command += ["--cov-report=", "-p", Path(__file__).stem, *folders]
    given = environment(ROOT / "src", Path(__file__).parent)
    subprocess.run(command, cwd=ROOT, check=True, env={**given, CLOCK: str(times)})


# As a plugin of that run, this module notes how long each test computes, all of its cases together:
# how busy the machine is does not change it.
_seconds: dict[str, float] = defaultdict(float)


def pytest_runtest_logstart(nodeid: str) -> None:
    """Begin to count."""
    _seconds[nodeid.partition("[")[0]] -= time.process_time()


def pytest_runtest_logfinish(nodeid: str) -> None:
    """End it."""
    _seconds[nodeid.partition("[")[0]] += time.process_time()


def pytest_sessionfinish() -> None:
    """Keep them."""
    Path(os.environ[CLOCK]).write_text(json.dumps(_seconds), encoding="utf-8")


def sampled(rooms: list[str], count: int, chance: random.Random) -> list[Mutant]:
    """Return mutants chosen at random among all that change what the program does."""
    from cosmic_ray.ast import get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    places: dict[tuple[Path, tuple[int, int]], list[tuple[str, int]]] = defaultdict(list)
    names = [name for name in operator_names() if not any(each in name for each in LEFT_OUT)]
    for path in sorted(p for room in rooms for p in (SOURCE / room).rglob("*.py")):
        nodes = walked(get_ast(path.read_text(encoding="utf-8")))
        for name in names:
            operator = get_operator(name)()
            where = [place for node in nodes for place in operator.mutation_positions(node)]
            for occurrence, (start, _) in enumerate(where):
                places[path, start].append((name, occurrence))
    found: list[Mutant] = []
    for path, start in chance.sample(sorted(places), len(places)):
        if len(found) == count:
            break
        name, occurrence = chance.choice(places[path, start])
        before = path.read_text(encoding="utf-8")
        after = mutate_code(before, get_operator(name)(), occurrence)
        if after is not None and meaning(after) not in ("", meaning(before)):
            found.append(Mutant(path, start[0], name.partition("/")[2], after))
    return found


def walked(node: object) -> list[object]:
    """Return the nodes of a tree, in the order in which Cosmic Ray counts them."""
    found = [node]
    for child in getattr(node, "children", ()):
        found += walked(child)
    return found


def meaning(code: str) -> str:
    """Return what a program does: its tree without annotations; nothing, if it is no program."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
    return ast.dump(tree)


def tried(
    mutants: list[Mutant], covered: dict[tuple[str, int], list[tuple[float, str]]], workers: int
) -> list[str]:
    """Return whether each mutant was killed, survived, or is not covered.

    Each is tried in a fork of this process, which has loaded what every test needs already.
    """
    for name in PRELOADED:
        importlib.import_module(name)
    verdicts: dict[int, str] = {}
    waiting = list(enumerate(mutants))[::-1]
    running: dict[int, Trial] = {}
    with tempfile.TemporaryDirectory() as place:
        homes = [Path(place) / str(k) for k in range(workers)]
        for home in homes:
            shutil.copytree(ROOT / "src", home, ignore=shutil.ignore_patterns("__pycache__"))
        while waiting or running:
            while waiting and homes:
                number, mutant = waiting.pop()
                tests = covered.get((str(mutant.path), mutant.line), [])
                if tests:
                    trial = begun(number, mutant, tests, homes.pop())
                    running[trial.process] = trial
                else:
                    verdicts[number] = "not covered"
            time.sleep(0.02)
            for trial in list(running.values()):
                said = verdict(trial)
                if said is not None:
                    del running[trial.process]
                    homes.append(trial.home)
                    verdicts[trial.number] = said
                    where = trial.mutant.path.relative_to(SOURCE)
                    print(len(verdicts), said, where, trial.mutant.line, flush=True)
    return [verdicts[number] for number in range(len(mutants))]


def begun(number: int, mutant: Mutant, tests: list[tuple[float, str]], home: Path) -> Trial:
    """Start the tests of a mutant: those of its own room, then the others, each fastest first."""
    chosen, total = [], 0.0
    room = f"tests/{mutant.path.parent.name}/"
    for seconds, test in sorted(tests, key=lambda each: (not each[1].startswith(room), each)):
        total += seconds
        if chosen and total > ENOUGH:
            break
        chosen.append(test)
    path = home / mutant.path.relative_to(ROOT / "src")
    path.write_text(mutant.code, encoding="utf-8")
    process = os.fork()
    if process == 0:
        _run_tests(chosen, home)
    deadline = time.monotonic() + PATIENCE * (ENOUGH / 3 + total)
    return Trial(number, mutant, home, process, deadline)


def _run_tests(tests: list[str], home: Path) -> None:
    """In a process of its own, which ends with the verdict of the tests."""
    os.setsid()
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silent, stream)
    os.chdir(ROOT)
    os.environ.update(environment(home))
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(home))
    code = 1
    try:
        import pytest

        options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
        options += ["-p", "no:xdist", "-p", "no:randomly"]
        code = int(pytest.main([*options, *tests]))
    finally:
        os._exit(code)


def verdict(trial: Trial) -> str | None:
    """Return what became of a trial; None while it runs."""
    ended, status = os.waitpid(trial.process, os.WNOHANG)
    if not ended:
        if time.monotonic() < trial.deadline:
            return None
        os.killpg(trial.process, signal.SIGKILL)
        os.waitpid(trial.process, 0)
    shutil.copy(trial.mutant.path, trial.home / trial.mutant.path.relative_to(ROOT / "src"))
    return "survived" if ended and status == 0 else "killed"


def environment(*places: Path) -> dict[str, str]:
    """Return the variables of a run whose package lies in the first of `places`."""
    path = os.pathsep.join(map(str, places))
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def report(mutants: list[Mutant], verdicts: list[str], out: Path) -> None:
    """Print the share killed by room, and write every mutant that was not."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, verdict in zip(mutants, verdicts, strict=True):
        rooms[mutant.path.relative_to(SOURCE).parts[0]][verdict] += 1
        rooms["all"][verdict] += 1
    for room, counts in sorted(rooms.items()):
        share = counts["killed"] / counts.total()
        print(f"{room:12} {counts.total():4} mutants, {share:.0%} killed, {dict(counts)}")
    left = [
        {"file": str(m.path.relative_to(SOURCE)), "line": m.line, "operator": m.operator, "is": v}
        for m, v in zip(mutants, verdicts, strict=True)
        if v != "killed"
    ]
    out.write_text(json.dumps(left, indent=1) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())

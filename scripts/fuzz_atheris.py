"""The campaign of fuzz.py, steered by atheris (libFuzzer): branches and comparisons guide it.

    python scripts/fuzz_atheris.py --inputs 2000 --seed 1 --readers bank gate

Half of the inputs are libFuzzer's own mutations, the others those of fuzz.py; which file of which
sample is damaged is told by the first two bytes. What counts as a failure, and where it is kept, is
the same. *Features* are what libFuzzer counts: branches, comparisons and how often they are met,
after the samples and at the end. Without atheris it says so, and ends well.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import signal
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from hostile_place import Lane, Place

LONGEST = 1 << 16  # bytes of an input
FEATURES = re.compile(r"ft: (\d+)")


def main() -> int:
    """Fuzz reader after reader, print the table, and say whether anything was found."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--inputs", type=int, default=1_000, help="for each reader")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--readers", nargs="*", default=[], help="words in their names; all if none")
    words.add_argument("--out", type=Path, default=Path("fuzz-found"))
    given = words.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed here (pip install atheris): left out.")
        return 0
    given.out.mkdir(parents=True, exist_ok=True)
    head = f"{'reader':22}{'inputs':>9}{'read':>9}{'refused':>9}{'failed':>8}{'features':>16}"
    print(head, flush=True)
    failed = 0
    for name in _names(given.readers):
        done, read, refused, found, features = _fuzzed(name, given)
        print(f"{name:22}{done:9,}{read:9,}{refused:9,}{found:8,}{features:>16}", flush=True)
        failed += found
    return 1 if failed else 0


def _names(wanted: list[str]) -> list[str]:
    """The readers, asked of a child: here nothing of the package is imported uninstrumented."""
    child_end, parent_end = os.pipe()
    child = os.fork()
    if not child:
        from hostile_readers import READERS

        os.write(parent_end, "\n".join(READERS).encode())
        os._exit(0)
    os.close(parent_end)
    os.waitpid(child, 0)
    with os.fdopen(child_end) as told:
        names = told.read().split("\n")
    return [name for name in names if not wanted or any(word in name for word in wanted)]


def _fuzzed(name: str, given: argparse.Namespace) -> tuple[int, int, int, int, str]:
    """Inputs, read, refused, failed, and features, of one reader in a child of its own."""
    place = Place()
    with tempfile.TemporaryDirectory() as scratch:
        said = Path(scratch) / "said.txt"
        child = os.fork()
        if not child:
            try:
                _fuzz(name, given, Path(scratch), place)
            except BaseException:
                import traceback

                (given.out / "broken.txt").write_text(traceback.format_exc())
            os._exit(1)
        _, status = os.waitpid(child, 0)
        counts = FEATURES.findall(said.read_text(errors="replace")) if said.exists() else []
    done, read, refused, failed, _ = place.told
    if status:  # killed or ended by the library itself: libFuzzer leaves the input beside
        reason = signal.Signals(status & 127).name if status & 127 else f"exit {status >> 8}"
        print(f"{name}: ended by {reason} at input {done:,}.", flush=True)
        failed += 1
    return done, read, refused, failed, f"{counts[0]} to {counts[-1]}" if counts else ""


def _fuzz(name: str, given: argparse.Namespace, scratch: Path, place: Place) -> None:
    """Instrument the package, prepare samples, and let libFuzzer run; it ends the process."""
    import atheris

    told = os.open(scratch / "said.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(told, 1)
    os.dup2(told, 2)
    with atheris.instrument_imports(include=["ogive"]):
        from hostile_coverage import words_of
        from hostile_mutations import damaged
        from hostile_readers import READERS
        from hostile_samples import prepared
        from hostile_work import Order, read_one

        reader = READERS[name]
        ready = prepared(reader.samples, reader.use, scratch / "samples")
    warnings.simplefilter("error", RuntimeWarning)
    originals = tuple(ready.restore(number) for number in range(len(ready.samples)))
    spots = [(k, t) for k, sample in enumerate(ready.samples) for t in range(len(sample.targets))]
    words, lane = tuple(words_of(reader.modules)), Lane()
    order = Order(
        name, reader, originals, ready.samples, words, f"atheris {given.seed}", 0, given.out
    )
    corpus = scratch / "corpus"
    corpus.mkdir()
    for number, (which, target) in enumerate(spots):
        content = originals[which][ready.samples[which].targets[target]]
        (corpus / f"{number}").write_bytes(number.to_bytes(2, "little") + content)

    def one(data: bytes) -> None:
        place.tell(lane)
        if len(data) > 2:
            which, target = spots[int.from_bytes(data[:2], "little") % len(spots)]
            read_one(order, lane, (which, target, data[2:]))
        lane.done += 1
        place.tell(lane)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        if seed % 2 or len(data) < 3:
            return bytes(atheris.Mutate(data, most))
        return (data[:2] + damaged(data[2:], seed, words))[:most]

    settings = [f"-runs={given.inputs}", f"-seed={given.seed}", f"-max_len={LONGEST}"]
    settings += ["-timeout=60", "-rss_limit_mb=0", f"-artifact_prefix={given.out}/"]
    atheris.Setup(["fuzz", *settings, str(corpus)], one, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
